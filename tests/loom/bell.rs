//! What polls tasks in a model, and waits for their wakers.

use loom::sync::{Condvar, Mutex};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// A task's waker: a thread waits for it.
pub(crate) struct Bell {
    rung: Mutex<bool>,
    bell: Condvar,
}

impl Bell {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { rung: Mutex::new(false), bell: Condvar::new() })
    }

    pub(crate) fn wait(&self) {
        let mut rung = self.rung.lock().unwrap();
        while !*rung {
            rung = self.bell.wait(rung).unwrap();
        }
        *rung = false;
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.rung.lock().unwrap() = true;
        self.bell.notify_one();
    }
}

pub(crate) fn poll<F: Future>(future: Pin<&mut F>, bell: &Arc<Bell>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&Waker::from(Arc::clone(bell))))
}

pub(crate) fn poll_once(future: Pin<&mut (impl Future + ?Sized)>) {
    let _ = future.poll(&mut Context::from_waker(Waker::noop()));
}

/// Polls whenever it is woken, and only then.
pub(crate) fn block_on<F: Future>(mut future: Pin<&mut F>, bell: &Arc<Bell>) -> F::Output {
    loop {
        if let Poll::Ready(output) = poll(future.as_mut(), bell) {
            return output;
        }
        bell.wait();
    }
}
