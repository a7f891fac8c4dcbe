//! Very many tasks that wait: enqueue, cancel, and wake + poll, of the wait table and of tokio's semaphore in one interleaved run;
//! what a poll costs that finds nothing; and what a report costs of so many.
//!
//! On one thread: n futures are polled once each, half of them are dropped in random order, the others are woken and polled one
//! by one. `cargo run --release -p layby-bench --bin tasks [ROUNDS [N]]`
//!
//! | contender | its waiters have |
//! |---|---|
//! | layby, tickets | the keys of n tickets of one location, as a semaphore's have |
//! | layby, addresses | n locations |
//! | tokio | one semaphore |

use layby::{Key, WaitTable};
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const SMALL: usize = 1_000;

/// Nanoseconds for one of them.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    enqueue: f64,
    cancel: f64,
    wake: f64,
}

/// Futures that stay where they are, each of which can be dropped on its own.
struct Pinned<F>(Box<[Option<F>]>);

impl<F: Future> Pinned<F> {
    fn new(futures: impl Iterator<Item = F>) -> Self {
        Self(futures.map(Some).collect())
    }

    fn at(&mut self, index: usize) -> Pin<&mut Option<F>> {
        // SAFETY: the slice is never moved out of its box.
        unsafe { Pin::new_unchecked(&mut self.0[index]) }
    }

    fn poll(&mut self, index: usize) -> Poll<F::Output> {
        self.at(index).as_pin_mut().unwrap().poll(&mut Context::from_waker(Waker::noop()))
    }
}

/// Of the thread's own time on a CPU: there is no other thread, and others' programs do not count.
fn each<R>(count: usize, work: impl FnOnce() -> R) -> f64 {
    let start = thread_time();
    black_box(work());
    (thread_time() - start).as_secs_f64() * 1e9 / count as f64
}

fn thread_time() -> Duration {
    // SAFETY: an all-zero timespec is a valid one, and the clock is there on every Unix.
    let now = unsafe {
        let mut now: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now);
        now
    };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// The same random half for everybody, in random order; and who is left, in order.
fn halves(n: usize) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..n).collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for last in (1..n).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(last, (state % (last as u64 + 1)) as usize);
    }
    let mut stay = order.split_off(n / 2);
    stay.sort_unstable();
    (order, stay)
}

fn run<F: Future>(n: usize, futures: impl Iterator<Item = F>, mut wake: impl FnMut(usize)) -> Costs {
    let (leave, stay) = halves(n);
    let mut futures = Pinned::new(futures);
    let enqueue = each(n, || (0..n).for_each(|index| assert!(futures.poll(index).is_pending())));
    let cancel = each(leave.len(), || leave.iter().for_each(|&index| futures.at(index).set(None)));
    let wake = each(stay.len(), || {
        for &index in &stay {
            wake(index);
            assert!(futures.poll(index).is_ready());
        }
    });
    Costs { enqueue, cancel, wake }
}

/// What is compared: its name, and a run with so many tasks.
type Contender = (&'static str, fn(usize) -> Costs);

fn tickets(n: usize) -> Costs {
    let (table, grant) = (WaitTable::<layby::sys::Native>::new(), AtomicU64::new(0));
    let key = |ticket: usize| Key::ticket(&grant, ticket as u64);
    let futures = (0..n).map(|ticket| {
        let grant = &grant;
        table.wait_until_async(key(ticket), move || grant.load(Ordering::SeqCst) > ticket as u64)
    });
    run(n, futures, |ticket| {
        grant.store(ticket as u64 + 1, Ordering::SeqCst);
        table.wake_all_seqcst(key(ticket));
    })
}

fn addresses(n: usize) -> Costs {
    let table = WaitTable::<layby::sys::Native>::new();
    let flags: Vec<AtomicU64> = (0..n).map(|_| AtomicU64::new(0)).collect();
    let futures = flags.iter().map(|flag| table.wait_until_async(flag, move || flag.load(Ordering::Relaxed) != 0));
    run(n, futures, |index| {
        flags[index].store(1, Ordering::SeqCst);
        table.wake_all_seqcst(&flags[index]);
    })
}

fn tokio(n: usize) -> Costs {
    let semaphore = tokio::sync::Semaphore::new(0);
    let futures = (0..n).map(|_| async { semaphore.acquire().await.unwrap().forget() });
    run(n, futures, |_| semaphore.add_permits(1))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn of(runs: &[Costs]) -> Costs {
    let field = |get: fn(&Costs) -> f64| median(runs.iter().map(get).collect());
    Costs { enqueue: field(|run| run.enqueue), cancel: field(|run| run.cancel), wake: field(|run| run.wake) }
}

/// Of a future that waits already, and of one that is polled for the first time and dropped.
fn polls() {
    const COUNT: usize = 1_000_000;
    let table: WaitTable = WaitTable::new();
    let again = {
        let mut future = Pinned::new(std::iter::once(table.wait_until_async(&table, || black_box(false))));
        each(COUNT, || (0..COUNT).for_each(|_| assert!(black_box(future.poll(0)).is_pending())))
    };
    let first = each(COUNT, || {
        for _ in 0..COUNT {
            let mut future = std::pin::pin!(table.wait_until_async(&table, || black_box(false)));
            assert!(black_box(future.as_mut().poll(&mut Context::from_waker(Waker::noop()))).is_pending());
        }
    });
    println!("a pending poll: {again:.1} ns; the first one and the drop: {first:.1} ns");
}

/// Of so many waiters: a list of all, and a visit to each that allocates nothing.
fn reports(n: usize) {
    let table: WaitTable = WaitTable::new();
    let key = |ticket: usize| Key::ticket(&table, ticket as u64);
    let mut futures = Pinned::new((0..n).map(|ticket| table.wait_until_async(key(ticket), || false)));
    (0..n).for_each(|index| assert!(futures.poll(index).is_pending()));
    let list = each(1, || assert_eq!(table.waiters().len(), n)) / 1e9;
    let visit = each(1, || assert_eq!(table.for_each_waiter(|waiter| _ = black_box(waiter)), 0)) / 1e9;
    println!("a report of {n} waiters: {list:.2} s as a list, {visit:.2} s without allocating");
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().expect("a number"));
    let (rounds, large) = (arguments.next().unwrap_or(5), arguments.next().unwrap_or(1_000_000));
    let contenders: [Contender; 3] = [("layby, tickets", tickets), ("layby, addresses", addresses), ("tokio", tokio)];
    let mut runs = vec![[Vec::new(), Vec::new()]; contenders.len()];
    let pause = || std::thread::sleep(Duration::from_millis(1));
    for _ in 0..rounds {
        for ((_, run), runs) in contenders.iter().zip(&mut runs) {
            runs[0].push(of(&(0..101).map(|_| run(SMALL)).collect::<Vec<_>>()));
            runs[1].push(run(large));
            pause();
        }
    }
    println!("nanoseconds each, medians of {rounds} rounds   enqueue  cancel  wake + poll");
    for ((name, _), runs) in contenders.iter().zip(&runs) {
        for (n, runs) in [SMALL, large].into_iter().zip(runs) {
            let Costs { enqueue, cancel, wake } = of(runs);
            println!("{name:<20} {n:>9}             {enqueue:>10.1} {cancel:>7.1} {wake:>12.1}");
        }
    }
    polls();
    reports(large);
}
