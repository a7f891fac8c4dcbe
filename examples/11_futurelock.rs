//! A lock that nobody holds and nobody gets: *futurelock* ([Oxide RFD 609](https://rfd.shared.oxide.computer/rfd/0609)), and how a
//! program can tell.
//!
//! A request wants to note something in a journal. If that takes too long it notes that instead, and lets the first attempt wait on
//! in the meantime. The lock serves in order: when it comes free it is given to the first attempt, whose future is kept and not
//! polled. The second waits behind it, for as long as the program runs. So it is with every lock that serves in order, tokio's
//! among them, and with every channel or semaphore with a line.
//!
//! The report says so: a task that was woken, and has not been polled since. The remedy is to give up what is not polled: drop the
//! future, or poll both.
//!
//! `cargo run --example 11_futurelock`

use layby::{
    Cancel,
    mutex::{FairMutex, LockAsync},
    sema::Semaphore,
    wait_table::Activity,
    wait_until_async,
};
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    process::ExitCode,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread,
    time::Duration,
};

static JOURNAL: FairMutex<Vec<&str>> = FairMutex::new(Vec::new());
static PATIENCE_IS_OVER: Cancel = Cancel::new();
static GIVE_UP: Cancel = Cancel::new();
static DONE: Semaphore = Semaphore::new(0);

async fn raised(flag: &Cancel) {
    wait_until_async(flag, || flag.is_cancelled()).await;
}

/// Like `select! { () = &mut attempt => true, () = other => false }`: `attempt` is borrowed, and lives on.
async fn is_first(mut attempt: Pin<&mut impl Future<Output = ()>>, other: impl Future<Output = ()>) -> bool {
    let mut other = pin!(other);
    poll_fn(|context| {
        if attempt.as_mut().poll(context).is_ready() {
            return Poll::Ready(true);
        }
        other.as_mut().poll(context).map(|()| false)
    })
    .await
}

async fn request() {
    let mut attempt = Box::pin(async { JOURNAL.lock_async().await.push("served") });
    if !is_first(attempt.as_mut(), raised(&PATIENCE_IS_OVER)).await {
        // The mistake: `attempt` is still in line, and nobody polls it. `drop(attempt)` here, and all is well. So that this
        // program ends, another flag mends it late.
        let mut excuse = pin!(async { JOURNAL.lock_async().await.push("served late") });
        if !is_first(excuse.as_mut(), raised(&GIVE_UP)).await {
            drop(attempt);
            excuse.await;
        }
    }
    DONE.post();
}

fn main() -> ExitCode {
    let backup = JOURNAL.lock();
    thread::spawn(|| block_on(request()));
    // The backup takes longer than the request likes to wait; then the journal is free again.
    wait_for_tasks(1);
    PATIENCE_IS_OVER.cancel();
    wait_for_tasks(2);
    drop(backup);

    // The watchdog.
    if DONE.take_timeout(Duration::from_millis(300)) {
        println!("nothing hangs");
        return ExitCode::FAILURE;
    }
    let report = layby::waiters();
    print!("{report}");
    let for_the_journal = || report.iter().filter(|waiter| waiter.key().is_within(&JOURNAL));
    let Some(idle) = for_the_journal().find(|waiter| waiter.activity() == Activity::Woken) else {
        println!("nobody has the journal who does not know");
        return ExitCode::FAILURE;
    };
    let (since, made) = (idle.woken().unwrap_or_default(), idle.location().expect("it is a task's"));
    println!("the journal was given to the future made at {made}, which has not been polled for {since:?};");
    for behind in for_the_journal().filter(|waiter| waiter.activity() == Activity::Parked) {
        println!("behind it waits the one made at {}", behind.location().expect("it is a task's"));
    }

    GIVE_UP.cancel();
    DONE.take();
    println!("it is dropped, and the journal has {:?}", *JOURNAL.lock());
    ExitCode::SUCCESS
}

/// Until so many are in line for the journal.
fn wait_for_tasks(n: usize) {
    while layby::waiters().iter().filter(|waiter| waiter.key().is_within(&JOURNAL)).count() < n {
        thread::yield_now();
    }
}

/// An executor of one task.
fn block_on(future: impl Future<Output = ()>) {
    struct Unpark(thread::Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let (mut future, waker) = (pin!(future), Waker::from(Arc::new(Unpark(thread::current()))));
    while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        thread::park();
    }
}
