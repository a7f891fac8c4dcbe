//! Everything at once: threads that do, one after the other and at random, what the programs of `fuzz` do not have in their
//! alphabet: a reader-writer lock, a mutex that is handed over, `Once`, a pool that is shut down, waits on several
//! locations, and the futures of all of them, which are dropped at any time. All wait in one table of few slots.
//!
//! There is no reference: that nobody is inside who must not be is checked in place, and that nobody sleeps for ever is the
//! scheduler's business, for everybody's steps end. Blind to the order in which waiters are served.

#![allow(unsafe_code, reason = "words are unlocked by who has locked them")]

use crate::schedules::both_ways;
use layby::model::expire_deadlines;
use layby::mutex::RawMutex;
use layby::once::Once;
use layby::rwlock::RawRwLock;
use layby::sema::Pool;
use layby::wait_table::global;
use layby::{Cancel, Closed, Key, Limit, Stopped, WaitError};
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

/// How many schedules of each kind; arbitrary.
const SCHEDULES: usize = 2000;
const THREADS: usize = 4;
const STEPS: usize = 4;

fn one_of(n: usize) -> usize {
    thread_rng().gen_range(0..n)
}

/// A task's waker: a thread waits for it.
struct Bell {
    rung: Mutex<bool>,
    bell: Condvar,
}

impl Wake for Bell {
    fn wake(self: std::sync::Arc<Self>) {
        *self.rung.lock().unwrap() = true;
        self.bell.notify_one();
    }
}

/// Polls a future when it is woken until it is ready; or a few times, and drops it: `None`.
fn polled<F: Future>(mut future: Pin<&mut F>, polls: Option<usize>) -> Option<F::Output> {
    let bell = std::sync::Arc::new(Bell { rung: Mutex::new(false), bell: Condvar::new() });
    let waker = Waker::from(bell.clone());
    for poll in 0.. {
        if polls.is_some_and(|polls| poll == polls) {
            return None;
        }
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        if polls.is_none() {
            let rung = bell.rung.lock().unwrap();
            *bell.bell.wait_while(rung, |rung| !*rung).unwrap() = false;
        } else {
            thread::yield_now();
        }
    }
    unreachable!("it has been polled without end")
}

/// All there is; each word with what its holders check.
struct Scene {
    rwlock: RawRwLock,
    /// Readers inside; a writer is many.
    inside: AtomicIsize,
    mutex: RawMutex,
    holders: AtomicIsize,
    once: Once,
    done: AtomicUsize,
    pool: Pool,
    flags: [AtomicBool; 2],
    /// How many take a token by a wake of one, as a condition variable's waiters do, and the tokens that there are.
    tokens: AtomicUsize,
    cancel: Cancel,
}

const WRITER: isize = 1000;

impl Scene {
    fn new() -> Self {
        Self {
            rwlock: RawRwLock::new(),
            inside: AtomicIsize::new(0),
            mutex: RawMutex::new(),
            holders: AtomicIsize::new(0),
            once: Once::new(),
            done: AtomicUsize::new(0),
            pool: Pool::new(2),
            flags: [(); 2].map(|()| AtomicBool::new(false)),
            tokens: AtomicUsize::new(0),
            cancel: Cancel::new(),
        }
    }

    /// A limit that will be reached, at some moment.
    fn limit(&self) -> Limit<'_> {
        if one_of(2) == 0 { Limit::from(Instant::now()) } else { Limit::from(&self.cancel) }
    }

    fn reads(&self) {
        assert!(self.inside.fetch_add(1, Ordering::SeqCst) < WRITER, "a reader beside a writer");
        thread::yield_now();
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }

    fn writes(&self) {
        assert_eq!(self.inside.fetch_add(WRITER, Ordering::SeqCst), 0, "a writer is not alone");
        thread::yield_now();
        self.inside.fetch_sub(WRITER, Ordering::SeqCst);
    }

    /// By a reader, who leaves.
    fn goes_on_as_reader(&self) {
        self.reads();
        // SAFETY: the caller has locked it for reading; what is locked here is unlocked here.
        unsafe {
            if one_of(3) == 0 && self.rwlock.try_upgrade() {
                self.goes_on_as_writer();
            } else {
                self.rwlock.release_read();
            }
        }
    }

    /// By a writer, who leaves.
    fn goes_on_as_writer(&self) {
        self.writes();
        // SAFETY: the caller has locked it for writing.
        unsafe {
            if one_of(2) == 0 {
                self.rwlock.release_write();
            } else {
                self.rwlock.downgrade();
                self.reads();
                self.rwlock.release_read();
            }
        }
    }

    fn reads_or_writes(&self) {
        let (lock, is_writer) = (&self.rwlock, one_of(2) == 0);
        let is_locked = match (one_of(4), is_writer) {
            (0, false) => lock.acquire_read_within(self.limit()).is_ok(),
            (0, true) => lock.acquire_write_within(self.limit()).is_ok(),
            (1, false) => polled(pin!(lock.acquire_read_async()), Some(one_of(3))).is_some(),
            (1, true) => polled(pin!(lock.acquire_write_async()), Some(one_of(3))).is_some(),
            (2, false) => polled(pin!(lock.acquire_read_async()), None).is_some(),
            (2, true) => polled(pin!(lock.acquire_write_async()), None).is_some(),
            (_, false) => {
                lock.acquire_read();
                true
            }
            (_, true) => {
                lock.acquire_write();
                true
            }
        };
        match is_writer {
            _ if !is_locked => {}
            false => self.goes_on_as_reader(),
            true => self.goes_on_as_writer(),
        }
    }

    fn locks(&self) {
        let is_locked = match one_of(4) {
            0 => self.mutex.acquire_within(self.limit()).is_ok(),
            1 => polled(pin!(self.mutex.acquire_async()), Some(one_of(3))).is_some(),
            2 => polled(pin!(self.mutex.acquire_async()), None).is_some(),
            _ => {
                self.mutex.acquire();
                true
            }
        };
        if is_locked {
            assert_eq!(self.holders.fetch_add(1, Ordering::SeqCst), 0, "two holders");
            thread::yield_now();
            self.holders.fetch_sub(1, Ordering::SeqCst);
            // SAFETY: it is locked.
            unsafe { if one_of(2) == 0 { self.mutex.release() } else { self.mutex.release_fair() } }
        }
    }

    fn does_it_once(&self) {
        if one_of(2) == 0 {
            self.once.call_once(|| {
                thread::yield_now();
                assert_eq!(self.done.fetch_add(1, Ordering::SeqCst), 0, "twice");
            });
            assert_eq!(self.done.load(Ordering::SeqCst), 1);
        } else {
            let is_done = self.once.wait_within(self.limit()).is_ok();
            assert!(!is_done || self.done.load(Ordering::SeqCst) == 1);
        }
    }

    /// Two permits are never wanted by all at once: who cannot have a second one does not wait for it, unless the pool is closed.
    fn borrows(&self) {
        let borrowed = match one_of(4) {
            0 => self.pool.acquire_within(self.limit()),
            1 => {
                polled(pin!(self.pool.acquire_async()), Some(one_of(3))).unwrap_or(Err(Closed)).map_err(WaitError::from)
            }
            2 => polled(pin!(self.pool.acquire_async()), None).expect("until it is ready").map_err(WaitError::from),
            _ => self.pool.acquire().map_err(WaitError::from),
        };
        if let Ok(permit) = borrowed {
            thread::yield_now();
            let _second = self.pool.acquire_within(self.limit());
            drop(permit);
        }
    }

    /// One of the flags is set by the last thread.
    fn waits_for_any(&self) {
        let keys = [0, 1].map(|flag| Key::address(&self.flags[flag]));
        let is_set = || self.flags.iter().any(|flag| flag.load(Ordering::SeqCst));
        let ended = match one_of(3) {
            0 => global().wait_until_any_within(&keys, self.limit(), is_set),
            1 => polled(
                pin!(global().wait_until_async(keys[0], || self.flags[0].load(Ordering::SeqCst))),
                Some(one_of(3)),
            )
            .ok_or(Stopped::TimedOut),
            _ => {
                global().wait_until_any(&keys, is_set);
                Ok(())
            }
        };
        assert!(ended.is_err() || is_set());
    }

    /// Takes a token, of which the last thread makes enough for all who insist; who gives up passes nothing by.
    fn takes_a_token(&self) {
        let try_take =
            || self.tokens.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        let is_empty = || self.tokens.load(Ordering::SeqCst) == 0;
        let key = Key::address(&self.tokens);
        while !try_take() {
            match one_of(3) {
                0 => global().wait_if(key, is_empty),
                1 => _ = global().wait_if_within(key, self.limit(), is_empty),
                _ => _ = polled(pin!(global().wait_if_async(key, is_empty)), Some(2)),
            }
        }
    }

    fn step(&self) {
        match one_of(6) {
            0 | 1 => self.reads_or_writes(),
            2 => self.locks(),
            3 => self.does_it_once(),
            4 => self.borrows(),
            _ => self.waits_for_any(),
        }
    }

    /// What the others may wait for.
    fn provides(&self) {
        let key = Key::address(&self.tokens);
        for step in 0..THREADS {
            self.tokens.fetch_add(1, Ordering::SeqCst);
            if step % 2 == 0 {
                global().wake_one(key)
            } else {
                global().wake_all(key)
            };
        }
        let flag = &self.flags[one_of(2)];
        flag.store(true, Ordering::SeqCst);
        global().wake_all(flag);
        self.flags[0].store(true, Ordering::SeqCst);
        global().wake_all(&self.flags[0]);
        self.cancel.cancel();
        if one_of(2) == 0 {
            self.pool.shutdown();
        } else {
            polled(pin!(self.pool.shutdown_async()), None);
        }
    }
}

#[test]
fn nobody_sleeps_for_ever_and_nobody_is_where_it_must_not_be() {
    both_ways(SCHEDULES, || {
        let scene = Arc::new(Scene::new());
        let mut threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let scene = scene.clone();
                thread::spawn(move || {
                    (0..STEPS).for_each(|_| scene.step());
                    scene.takes_a_token();
                    (0..STEPS).for_each(|_| scene.step());
                })
            })
            .collect();
        threads.push(thread::spawn(expire_deadlines));
        let providing = scene.clone();
        threads.push(thread::spawn(move || providing.provides()));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(!scene.mutex.is_acquired() && !scene.rwlock.is_acquired());
        assert_eq!((scene.pool.waiters(), scene.tokens.load(Ordering::SeqCst)), (0, 0));
    });
}
