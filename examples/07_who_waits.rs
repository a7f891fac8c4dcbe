//! A program that hangs, and how to find out why: two threads want two accounts, each in its own order.
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

use layby::sema::Semaphore;
use std::{
    process::ExitCode,
    sync::{Arc, Barrier},
    thread,
    time::Duration,
};

struct Account {
    owner: &'static str,
    access: Semaphore,
}

impl Account {
    fn of(owner: &'static str) -> Arc<Self> {
        Arc::new(Self { owner, access: Semaphore::new(1) })
    }
}

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Err(error) = layby::dump_waiters_on_signal(libc::SIGUSR1) {
        eprintln!("no report by signal: {error}");
    }

    let accounts = [Account::of("alice"), Account::of("bob")];
    let done = Arc::new(Semaphore::new(0));
    let both_hold_one = Arc::new(Barrier::new(2));
    for (name, from, to) in [("there", 0, 1), ("back", 1, 0)] {
        let (from, to) = (Arc::clone(&accounts[from]), Arc::clone(&accounts[to]));
        let (done, both_hold_one) = (Arc::clone(&done), Arc::clone(&both_hold_one));
        let transfer = move || {
            let _from = from.access.acquire();
            both_hold_one.wait();
            let _to = to.access.acquire();
            done.post();
        };
        thread::Builder::new().name(name.to_owned()).spawn(transfer).expect("a thread");
    }

    // The watchdog.
    if done.take_many_timeout(2, Duration::from_secs(1)) {
        println!("nothing hangs");
        return ExitCode::FAILURE;
    }
    let waiters = layby::waiters();
    print!("{waiters}");
    for account in &accounts {
        for waiter in waiters.iter().filter(|waiter| waiter.key().is_within(&**account)) {
            let thread = waiter.thread_name().unwrap_or("without a name");
            println!("thread {thread} waits for the account of {}", account.owner);
        }
    }
    ExitCode::SUCCESS
}
