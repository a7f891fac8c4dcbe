//! The mutexes' words. A waiter of the barging mutex starves at its first wake-up for nothing here.
//!
//! Two holders at once are a race on the cell, which loom reports.

use crate::explore::explore_run;
use layby::mutex::{RawFairMutex, RawMutex};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::time::Instant;

/// What both words have in common.
trait Lock: Send + Sync + Sized + 'static {
    type Ticket;
    fn new() -> Self;
    fn lock(&self) -> Self::Ticket;
    fn lock_timed(&self) -> Option<Self::Ticket>;
    fn try_lock(&self) -> Option<Self::Ticket>;
    fn unlock(&self, ticket: Self::Ticket);
}

impl Lock for RawMutex {
    type Ticket = ();
    fn new() -> Self {
        RawMutex::new()
    }
    fn lock(&self) {
        self.acquire();
    }
    fn lock_timed(&self) -> Option<()> {
        self.acquire_deadline(Instant::now()).then_some(())
    }
    fn try_lock(&self) -> Option<()> {
        self.try_acquire().then_some(())
    }
    #[allow(unsafe_code)]
    fn unlock(&self, (): ()) {
        // SAFETY: a model unlocks what it has locked.
        unsafe { self.release() };
    }
}

/// A barging mutex that is always unlocked fairly.
struct Handed(RawMutex);

impl Lock for Handed {
    type Ticket = ();
    fn new() -> Self {
        Self(RawMutex::new())
    }
    fn lock(&self) {
        self.0.acquire();
    }
    fn lock_timed(&self) -> Option<()> {
        self.0.lock_timed()
    }
    fn try_lock(&self) -> Option<()> {
        self.0.try_lock()
    }
    #[allow(unsafe_code)]
    fn unlock(&self, (): ()) {
        // SAFETY: as above.
        unsafe { self.0.release_fair() };
    }
}

impl Lock for RawFairMutex {
    type Ticket = layby::mutex::Ticket;
    fn new() -> Self {
        RawFairMutex::new()
    }
    fn lock(&self) -> Self::Ticket {
        self.acquire()
    }
    fn lock_timed(&self) -> Option<Self::Ticket> {
        self.acquire_deadline(Instant::now())
    }
    fn try_lock(&self) -> Option<Self::Ticket> {
        self.try_acquire()
    }
    #[allow(unsafe_code)]
    fn unlock(&self, ticket: Self::Ticket) {
        // SAFETY: as above.
        unsafe { self.release(ticket) };
    }
}

/// A lock, and a count that it protects: loom sees every access that is not ordered.
struct Counter<L> {
    lock: L,
    count: UnsafeCell<u32>,
}

// SAFETY: the cell is accessed by who holds the lock only, which is what loom checks.
#[allow(unsafe_code)]
unsafe impl<L: Sync> Sync for Counter<L> {}

impl<L: Lock> Counter<L> {
    /// Counts, holding the lock, and unlocks.
    #[allow(unsafe_code)]
    fn count(&self, ticket: L::Ticket) {
        // SAFETY: we hold the lock.
        self.count.with_mut(|count| unsafe { *count += 1 });
        self.lock.unlock(ticket);
    }
}

/// A thread of a model: how it tries to lock.
type Way<L> = fn(&L) -> Option<<L as Lock>::Ticket>;

/// Runs threads side by side, each locking in its way, and checks the count of those that got the lock.
fn model<L: Lock>(preemptions: usize, ways: &'static [Way<L>], expire: bool)
where
    L::Ticket: 'static,
{
    explore_run(preemptions, move || {
        let counter = Arc::new(Counter { lock: L::new(), count: UnsafeCell::new(0) });
        let mut threads: Vec<_> = ways
            .iter()
            .map(|way| {
                let counter = counter.clone();
                thread::spawn(move || match way(&counter.lock) {
                    Some(ticket) => {
                        counter.count(ticket);
                        1
                    }
                    None => 0,
                })
            })
            .collect();
        if expire {
            threads.push(thread::spawn(|| {
                layby::model::expire_deadlines();
                0
            }));
        }
        let counted: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        let after = counter.lock.try_lock().expect("nobody holds it any more");
        #[allow(unsafe_code)]
        // SAFETY: we hold the lock.
        counter.count.with(|count| assert_eq!(unsafe { *count }, counted));
        counter.lock.unlock(after);
    });
}

fn lock<L: Lock>(lock: &L) -> Option<L::Ticket> {
    Some(lock.lock())
}

/// Locks twice, so that there is a release to wait for and a newcomer to be overtaken by.
fn twice<L: Lock>(lock: &L) -> Option<L::Ticket> {
    let first = lock.lock();
    lock.unlock(first);
    Some(lock.lock())
}

#[test]
fn unlock_against_lock() {
    model::<RawMutex>(3, &[lock, twice], false);
}

#[test]
fn unlock_against_two_locks() {
    model::<RawMutex>(2, &[lock, lock, lock], false);
}

#[test]
fn try_lock_against_lock() {
    model::<RawMutex>(3, &[lock, RawMutex::try_lock, lock], false);
}

#[test]
fn timed_lock_against_unlock() {
    model::<RawMutex>(2, &[lock, RawMutex::lock_timed], true);
}

/// Who gives up must not take the wake-up of who stays.
#[test]
fn timed_lock_against_lock_and_unlock() {
    model::<RawMutex>(2, &[lock, lock, RawMutex::lock_timed], true);
}

#[test]
fn a_hand_over_against_a_lock() {
    model::<Handed>(3, &[lock, twice], false);
}

#[test]
fn a_hand_over_against_two_locks() {
    model::<Handed>(2, &[lock, lock, lock], false);
}

#[test]
fn a_hand_over_against_a_timed_lock() {
    model::<Handed>(3, &[lock, Handed::lock_timed], true);
}

/// Who is woken for the hand-over may give up: the lock is not kept for one who has left, nor for one who has been served. The lock
/// is held from the beginning, and then unlocked once fairly and once not.
#[test]
fn a_hand_over_to_one_who_may_give_up() {
    explore_run(4, || {
        let mutex = Arc::new(RawMutex::new());
        mutex.acquire();
        let [ours, theirs] = [(); 2].map(|()| Arc::clone(&mutex));
        let threads = [
            thread::spawn(move || {
                #[allow(unsafe_code)]
                // SAFETY: locked above.
                unsafe {
                    ours.release_fair();
                }
            }),
            thread::spawn(move || {
                if theirs.lock_timed().is_some() {
                    theirs.unlock(());
                }
            }),
            thread::spawn(layby::model::expire_deadlines),
        ];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(mutex.try_acquire(), "it is kept for one who has left");
    });
}

#[test]
fn fair_unlock_against_lock() {
    model::<RawFairMutex>(3, &[lock, twice], false);
}

#[test]
fn fair_unlock_against_two_locks() {
    model::<RawFairMutex>(2, &[lock, lock, lock], false);
}

#[test]
fn fair_try_lock_against_lock() {
    model::<RawFairMutex>(2, &[lock, RawFairMutex::try_lock, lock], false);
}

#[test]
fn fair_timed_lock_against_unlock() {
    model::<RawFairMutex>(2, &[lock, RawFairMutex::lock_timed], true);
}

#[test]
fn fair_timed_lock_against_lock_and_unlock() {
    model::<RawFairMutex>(1, &[lock, lock, RawFairMutex::lock_timed], true);
}
