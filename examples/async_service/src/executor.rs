//! An executor written by hand: one thread, and tasks that are polled when they have been woken.

use std::{
    collections::VecDeque,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

/// What an executor runs.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Polls a future on this thread until it is ready.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let (mut future, waker) = (pin!(future), Waker::from(Arc::new(Unpark(thread::current()))));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Runs tasks on this thread to their ends.
pub fn run(tasks: Vec<Task>) {
    let woken = Arc::new(Woken { numbers: Mutex::new((0..tasks.len()).collect()), executor: thread::current() });
    let waker = |number| Waker::from(Arc::new(WakeOne { number, woken: Arc::clone(&woken) }));
    let mut tasks: Vec<_> = tasks.into_iter().enumerate().map(|(number, task)| Some((task, waker(number)))).collect();
    let mut left = tasks.len();
    while left > 0 {
        let Some(number) = woken.next() else {
            thread::park();
            continue;
        };
        // One that has ended may be woken once more.
        let is_ready = tasks[number].as_mut().is_some_and(|(task, waker)| {
            let mut context = Context::from_waker(waker);
            task.as_mut().poll(&mut context).is_ready()
        });
        if is_ready {
            tasks[number] = None;
            left -= 1;
        }
    }
}

/// The numbers of those tasks that are to be polled.
struct Woken {
    numbers: Mutex<VecDeque<usize>>,
    executor: Thread,
}

impl Woken {
    fn next(&self) -> Option<usize> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn add(&self, number: usize) {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).push_back(number);
        self.executor.unpark();
    }
}

struct WakeOne {
    number: usize,
    woken: Arc<Woken>,
}

impl Wake for WakeOne {
    fn wake(self: Arc<Self>) {
        self.woken.add(self.number);
    }
}
