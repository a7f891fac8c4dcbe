//! Services in which blocking threads and the tasks of several runtimes share what layby guards.
//!
//! | | |
//! |---|---|
//! | `cargo run -p async_service --bin connection_pool` | request handlers in tasks and reports in threads share one connection pool; an orderly shutdown |
//! | `cargo run -p async_service --bin rate_limiter` | so many calls a second for a client that calls from tasks and from threads |
//! | `cargo run -p async_service --bin admissions -- 10000000` | so many admissions by one semaphore, of which three in ten are cancelled; what came out is counted and checked |
//! | `cargo test -p async_service` | all of layby's futures on tokio, on smol's executor and on one written by hand, beside threads |

pub mod executor;
pub mod order;
pub mod runtimes;

use std::{future::poll_fn, task::Poll};

/// Lets other tasks run, on any executor.
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
