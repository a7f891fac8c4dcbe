//! For tests of tasks: wakers that count, and a small executor.

use super::{eventually, watchdog};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Counts how often it is woken.
pub(crate) struct Woken(AtomicUsize);

impl Woken {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(0)))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns when it has been woken so often, which it has as a rule. But another thread that is choosing in the same slot of the
    /// global table, for another test, wakes it in our stead, and some time later.
    pub(crate) fn reaches(&self, times: usize) {
        if self.count() < times {
            let _watchdog = watchdog();
            eventually(|| self.count() >= times);
        }
        assert_eq!(self.count(), times);
    }

    /// How many wakers there are.
    pub(crate) fn clones(self: &Arc<Self>) -> usize {
        Arc::strong_count(self) - 1
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn poll<F: Future + ?Sized>(future: Pin<&mut F>, woken: &Arc<Woken>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&Waker::from(Arc::clone(woken))))
}

pub(crate) fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls a future on this thread until it is ready.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
