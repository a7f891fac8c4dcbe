//! A program that hangs, and how to find out why: two threads lock two mutexes in opposite order, as threads do.
//!
//! ```sh
//! cargo run --example 07_who_waits
//! ```
//!
//! A watchdog sees that nothing happens any more and prints who waits on what. In a program without one:
//!
//! ```sh
//! kill -USR1 PID                                                  # if it called dump_waiters_on_signal
//! gdb -p PID -batch -ex 'call (void)layby_dump_waiters_v0_1()'    # in any case
//! ```

use layby::{mutex::Mutex, sema::Semaphore};
use std::{process::ExitCode, sync::Barrier, thread, time::Duration};

static PARENTS: Mutex<u32> = Mutex::new(0);
static CHILDREN: Mutex<u32> = Mutex::new(0);
static BOTH_HOLD_ONE: Barrier = Barrier::new(2);
static DONE: Semaphore = Semaphore::new(0);

/// Locks one mutex, then the other; the other thread has it by then.
fn transfer(from: &'static Mutex<u32>, to: &'static Mutex<u32>) {
    let mut from = from.lock();
    BOTH_HOLD_ONE.wait();
    *from += 1;
    *to.lock() += 1;
    DONE.post();
}

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Err(error) = layby::dump_waiters_on_signal(libc::SIGUSR1) {
        eprintln!("no report by signal: {error}");
    }

    let spawn = |name: &str, from, to| {
        thread::Builder::new().name(name.to_owned()).spawn(move || transfer(from, to)).expect("a thread")
    };
    spawn("down", &PARENTS, &CHILDREN);
    spawn("up", &CHILDREN, &PARENTS);

    // The watchdog.
    if DONE.take_many_timeout(2, Duration::from_secs(1)) {
        println!("nothing hangs");
        return ExitCode::FAILURE;
    }
    let waiters = layby::waiters();
    print!("{waiters}");
    for (name, mutex) in [("PARENTS", &PARENTS), ("CHILDREN", &CHILDREN)] {
        for waiter in waiters.iter().filter(|waiter| waiter.key().is_within(mutex)) {
            println!("{name} is wanted by {}", waiter.thread_name().unwrap_or("a thread without a name"));
        }
    }
    ExitCode::SUCCESS
}
