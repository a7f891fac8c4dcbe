//! Promise 8 (README): a taker may free the semaphore as soon as it has its permit, while `post_conservatively` returns.
//!
//! A touch of freed memory is seen under AddressSanitizer or valgrind. Without them these tests see what the new owner
//! of the memory would see: permits from nowhere, and those that got lost.
//!
//! Where the poster is held up at its wake-up, all that it does after that is checked each time. The few instructions
//! between its grant and that are left to chance: a wrong load there was not seen in 20,000 rounds under
//! AddressSanitizer. `tests/loom/ticket_queue.rs` has a model for them.

#![allow(unsafe_code, reason = "semaphores that are freed while somebody else still returns from them")]

use crate::common::{Tally, eventually, home, scaled, watchdog};
use layby::{
    sema::Semaphore,
    sys::{AtomicU32, Backend, Native},
    wait_table::Home,
};
use std::{
    ptr,
    sync::{
        Mutex,
        atomic::{AtomicPtr, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

/// A semaphore without an owner that the compiler knows of.
struct Shared<H: Home>(*const Semaphore<H>);

impl<H: Home> Clone for Shared<H> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<H: Home> Copy for Shared<H> {}

// SAFETY: a semaphore is `Sync`, and who frees it is agreed upon in each test.
unsafe impl<H: Home> Send for Shared<H> {}

impl<H: Home> Shared<H> {
    fn new(permits: u64) -> Self {
        Self(Box::into_raw(Box::new(Semaphore::new_in(permits))))
    }

    /// # Safety
    /// Nobody has freed it, and whoever may free it does so only after this post.
    unsafe fn post(self) {
        // SAFETY: alive until the permit is out, and `post_conservatively` does not touch it after that.
        unsafe { (*self.0).post_conservatively() }
    }

    /// # Safety
    /// Nobody else uses it any more, except to return from a post.
    unsafe fn free(self) {
        // SAFETY: made by `Box`, freed once.
        drop(unsafe { Box::from_raw(self.0.cast_mut()) });
    }

    /// # Safety
    /// It is not freed while the reference is used.
    unsafe fn get<'a>(self) -> &'a Semaphore<H> {
        // SAFETY: the caller's.
        unsafe { &*self.0 }
    }
}

#[test]
fn a_taker_frees_at_once() {
    let _watchdog = watchdog();
    let handed: AtomicPtr<Semaphore> = AtomicPtr::new(ptr::null_mut());
    let rounds = scaled(20_000);
    thread::scope(|s| {
        s.spawn(|| {
            for _ in 0..rounds {
                let mut semaphore = ptr::null_mut();
                eventually(|| {
                    semaphore = handed.swap(ptr::null_mut(), Ordering::Acquire);
                    !semaphore.is_null()
                });
                // SAFETY: it is freed by the taker, which waits for this post.
                unsafe { Shared(semaphore.cast_const()).post() };
            }
        });
        for _ in 0..rounds {
            let semaphore = Shared::new(0);
            handed.store(semaphore.0.cast_mut(), Ordering::Release);
            // SAFETY: we free it, and after the take only the poster is left, on its way out.
            unsafe {
                semaphore.get().take();
                assert_eq!((semaphore.get().available(), semaphore.get().waiters()), (0, 0));
                semaphore.free();
            }
        }
    });
}

/// As above, with somebody before the taker who has given up: the poster takes out the marker, and passes the permit on.
#[test]
fn a_taker_behind_an_abandoned_ticket_frees_at_once() {
    let _watchdog = watchdog();
    for _ in 0..scaled(500) {
        let semaphore = Shared::<layby::wait_table::Global>::new(0);
        thread::scope(|s| {
            // SAFETY: freed after all calls but the post have returned.
            let line = unsafe { semaphore.get() };
            let gives_up = s.spawn(|| line.take_timeout(Duration::from_micros(200)));
            eventually(|| line.waiters() == 1 || gives_up.is_finished());
            let (left, has_left) = mpsc::channel();
            s.spawn(move || {
                line.take();
                has_left.recv().unwrap();
                // SAFETY: the one who gave up has left, and the poster is on its way out.
                unsafe { semaphore.free() };
            });
            assert!(!gives_up.join().unwrap());
            left.send(()).unwrap();
            // SAFETY: freed by the taker, after this post has let it go.
            unsafe { semaphore.post() };
        });
    }
}

/// Holds a waker back, after it has woken, for as long as the test wants.
#[derive(Debug)]
struct SlowToReturn;

/// Held by a test while a slow poster must not return.
static HOLD: Mutex<()> = Mutex::new(());
/// Held by the tests with a slow poster, whose counts are shared.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
static SLEEPS: Tally = Tally::new();

// SAFETY: the word is not written to; nothing unwinds, and nothing waits in a table.
unsafe impl Backend for SlowToReturn {
    const NAME: &'static str = "slow to return";

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        SLEEPS.add();
        Native::wait(word, expected, deadline);
    }

    fn wake(word: *const AtomicU32) {
        Native::wake(word);
        if thread::current().name() == Some("slow poster") {
            drop(HOLD.lock());
        }
    }
}

home!(SlowHome, SlowToReturn, 1);

/// A taker sleeps, is let go by a slow poster, and `then` runs when it has its permit and the poster has not returned.
///
/// # Safety
/// Like [`Shared::post`]: what `then` does to the semaphore is what a taker may do.
unsafe fn while_the_poster_is_held(place: Shared<SlowHome>, then: impl FnOnce()) {
    thread::scope(|s| {
        let held = HOLD.lock().unwrap();
        let before = SLEEPS.get();
        // SAFETY: the caller's.
        let semaphore = unsafe { place.get() };
        let taker = s.spawn(|| semaphore.take());
        // Asleep, so that it must be woken: the poster is held where it has just done so.
        SLEEPS.reaches(before + 1);
        let post_slowly = move || {
            // The whole of it, which is `Send`, not the pointer in it.
            let whole = place;
            // SAFETY: the caller's.
            unsafe { whole.post() };
        };
        let slow = thread::Builder::new().name("slow poster".to_owned()).spawn_scoped(s, post_slowly).unwrap();
        taker.join().unwrap();
        then();
        drop(held);
        slow.join().unwrap();
    });
}

#[test]
fn a_taker_frees_while_the_poster_is_held() {
    let _watchdog = watchdog();
    let _alone = ONE_AT_A_TIME.lock();
    for _ in 0..scaled(100) {
        let semaphore = Shared::<SlowHome>::new(0);
        // SAFETY: freed once, by the thread that got the only permit.
        unsafe { while_the_poster_is_held(semaphore, || semaphore.free()) };
    }
}

/// A poster is held up on its way out until a new semaphore stands where the old one was, with an abandoned ticket of
/// the same number. That ticket is none of its business.
#[test]
fn a_new_semaphore_in_the_old_ones_place_is_left_alone() {
    let _watchdog = watchdog();
    let _alone = ONE_AT_A_TIME.lock();
    let place = Shared::<SlowHome>::new(0);
    // SAFETY: the place is freed at the end of the test; what stands there is replaced when nobody but the slow poster
    // is inside, which is what `post_conservatively` allows.
    let semaphore = unsafe { place.get() };
    // The old one: ticket 0 is granted in passing, ticket 1 by the slow poster.
    semaphore.post();
    semaphore.take();
    thread::scope(|s| {
        let mut others: Vec<thread::ScopedJoinHandle<'_, bool>> = Vec::new();
        let in_its_place = || {
            // SAFETY: as above.
            unsafe { ptr::write(place.0.cast_mut(), Semaphore::new_in(0)) };
            // The new one: 0 and 1 give up, 1 long before 0; 2 waits.
            for patience in [Duration::from_millis(300), Duration::from_millis(50), Duration::MAX] {
                let before = semaphore.waiters();
                let thread = s.spawn(move || semaphore.take_timeout(patience));
                others.push(thread);
                // On a slow machine those who came first may have given up by now.
                eventually(|| semaphore.waiters() > before || others.iter().any(|thread| thread.is_finished()));
            }
            assert!(!others.remove(1).join().unwrap());
        };
        // SAFETY: as above.
        unsafe { while_the_poster_is_held(place, in_its_place) };
        assert!(!others.remove(0).join().unwrap(), "a permit from nowhere");
        semaphore.post();
        assert!(others.remove(0).join().unwrap());
        assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
    });
    // SAFETY: all threads are gone.
    unsafe { place.free() };
}
