//! Tasks, threads and groups that wait for the same tokens, in a table that lives for the round: futures that are polled by
//! another thread than before, for nothing, or no more; threads with deadlines and cancellations.

use super::Game;
use crate::{tables::assert_empty, worker::Worker};
use layby::{Cancel, Key, WaitTable};
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

type Task<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

pub(crate) struct Tasks {
    all: usize,
    free: AtomicUsize,
    /// A second location of the same tokens, which is woken for nothing.
    idle: AtomicUsize,
    table: WaitTable,
    /// Cancelled, and made anew, by whoever comes by.
    cancel: Mutex<Arc<Cancel>>,
}

impl Tasks {
    pub(crate) fn new(all: usize, slots: usize) -> Self {
        let (free, idle) = (AtomicUsize::new(all), AtomicUsize::new(0));
        Self { all, free, idle, table: WaitTable::with_slots(slots), cancel: Mutex::default() }
    }

    fn try_take(&self) -> bool {
        self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1)).is_ok()
    }

    fn keys(&self) -> [Key; 2] {
        [Key::address(&self.free), Key::address(&self.idle)]
    }

    /// What a player does with a token.
    fn give_back(&self, worker: &mut Worker<'_>) {
        worker.linger();
        assert!(self.free.fetch_add(1, Ordering::Relaxed) < self.all, "a token too many");
        if worker.random.one_in(4) {
            self.table.wake_all(&self.free);
        } else {
            self.table.wake_one(&self.free);
        }
        match worker.random.below(16) {
            0 => _ = self.table.wake_all(&self.idle),
            1 => _ = self.table.waiters(),
            2 => std::mem::take(&mut *self.cancel.lock().unwrap()).cancel(),
            _ => {}
        }
    }

    fn take_by_thread(&self, worker: &mut Worker<'_>) -> bool {
        let (soon, cancel) = (worker.soon(), Arc::clone(&self.cancel.lock().unwrap()));
        let take = || self.try_take();
        match worker.random.below(5) {
            0 => worker.at(|| self.table.wait_until(&self.free, take)),
            1 => worker.at(|| self.table.wait_until_any(&self.keys(), take)),
            2 => return worker.at(|| self.table.wait_until_any_within(&self.keys(), soon, take).is_ok()),
            3 => return worker.at(|| self.table.wait_until_timeout(&self.free, soon, take)),
            _ => return worker.at(|| self.table.wait_until_within(&self.free, &*cancel, take).is_ok()),
        }
        true
    }

    /// A task that ends with a token.
    fn task(&self, worker: &mut Worker<'_>) -> Task<'_> {
        if worker.random.one_in(2) {
            return Box::pin(self.table.wait_until_async(&self.free, || self.try_take()));
        }
        Box::pin(async {
            while !self.try_take() {
                self.table.wait_if_async(&self.free, || self.free.load(Ordering::Relaxed) == 0).await;
            }
        })
    }

    /// A small executor: runs a few tasks at once, and drops those that are not done when they are not wanted any more.
    fn run_tasks(&self, worker: &mut Worker<'_>) {
        let mut tasks: Vec<_> = (0..worker.random.below(6) + 1).map(|_| self.task(worker)).collect();
        let mut waker = Unpark::waker();
        while !tasks.is_empty() {
            let mut waits = true;
            let mut next = 0;
            while let Some(task) = tasks.get_mut(next) {
                if worker.random.one_in(32) {
                    waker = Unpark::waker();
                }
                if task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                    drop(tasks.swap_remove(next));
                    self.give_back(worker);
                    waits = false;
                } else {
                    next += 1;
                }
            }
            if worker.random.one_in(4) {
                tasks.pop();
            }
            if waits && !tasks.is_empty() {
                let (is_patient, soon) = (worker.random.one_in(2), worker.soon());
                worker.at(|| if is_patient { thread::park() } else { thread::park_timeout(soon) });
            }
        }
    }

    /// A future that is polled by one thread, and dropped or awaited by another.
    fn hand_over(&self, worker: &mut Worker<'_>) {
        let mut task = self.task(worker);
        if poll_once(&mut task).is_pending() {
            let is_patient = worker.random.one_in(2);
            let done = worker.at(|| {
                thread::scope(|s| s.spawn(move || is_patient && block_on(task)).join().expect("it takes a token"))
            });
            if !done {
                return;
            }
        }
        self.give_back(worker);
    }
}

fn poll_once(task: &mut Task<'_>) -> Poll<()> {
    task.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn block_on(mut task: Task<'_>) -> bool {
    let waker = Unpark::waker();
    while task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        thread::park();
    }
    true
}

/// Unparks the thread that made it.
struct Unpark(Thread);

impl Unpark {
    fn waker() -> Waker {
        Waker::from(Arc::new(Self(thread::current())))
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Game for Tasks {
    fn play(&self, worker: &mut Worker<'_>) {
        match worker.random.below(8) {
            0..3 => {
                if self.take_by_thread(worker) {
                    self.give_back(worker);
                }
            }
            3 => self.hand_over(worker),
            _ => self.run_tasks(worker),
        }
    }

    fn check(self: Box<Self>) {
        assert_eq!(self.free.into_inner(), self.all);
        assert_empty(&self.table);
    }
}
