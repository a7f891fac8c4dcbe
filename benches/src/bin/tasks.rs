//! Very many tasks that wait: enqueue, cancel, and wake + poll, of the wait table and of tokio's semaphore in one interleaved run;
//! what a poll costs that finds nothing; and what a report costs of so many.
//!
//! On one thread: n futures are polled once each, half of them are dropped in random order, the others are woken and polled one
//! by one. `cargo run --release -p layby-bench --bin tasks [ROUNDS [N]]`
//!
//! Twice: with futures that lie in memory in the order in which they begin to wait, and with futures that lie anywhere, as those of a
//! program's tasks do. The first is the best case of a list, whose neighbours are then neighbours in memory.
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

/// Where futures lie in memory, by the order in which they begin to wait.
#[derive(Clone, Copy, PartialEq)]
enum Places {
    InOrder,
    Anywhere,
}

impl Places {
    fn of(self, n: usize) -> Vec<usize> {
        let mut places: Vec<usize> = (0..n).collect();
        if self == Self::Anywhere {
            shuffle(&mut places, 0x9e37_79b9_7f4a_7c15);
        }
        places
    }
}

/// Futures that stay where they are, each of which can be dropped on its own.
struct Pinned<F>(Box<[Option<F>]>);

impl<F: Future> Pinned<F> {
    /// The first of them is at the first of these places, and so on.
    fn new(places: &[usize], futures: impl Iterator<Item = F>) -> Self {
        let mut there: Box<[Option<F>]> = places.iter().map(|_| None).collect();
        for (&place, future) in places.iter().zip(futures) {
            there[place] = Some(future);
        }
        Self(there)
    }

    fn at(&mut self, place: usize) -> Pin<&mut Option<F>> {
        // SAFETY: the slice is never moved out of its box.
        unsafe { Pin::new_unchecked(&mut self.0[place]) }
    }

    fn poll(&mut self, place: usize) -> Poll<F::Output> {
        self.at(place).as_pin_mut().unwrap().poll(&mut Context::from_waker(Waker::noop()))
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

fn shuffle(order: &mut [usize], seed: u64) {
    let mut state = seed;
    for last in (1..order.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(last, (state % (last as u64 + 1)) as usize);
    }
}

/// The same random half for everybody, in random order; and who is left, in order.
fn halves(n: usize) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..n).collect();
    shuffle(&mut order, 0x2545_f491_4f6c_dd1d);
    let mut stay = order.split_off(n / 2);
    stay.sort_unstable();
    (order, stay)
}

/// Where the futures lie is looked up beforehand: the look-up would be one more load from anywhere in memory.
fn run<F: Future>(places: Places, futures: impl ExactSizeIterator<Item = F>, mut wake: impl FnMut(usize)) -> Costs {
    let n = futures.len();
    let places = places.of(n);
    let (leave, stay) = halves(n);
    let leave: Vec<usize> = leave.into_iter().map(|index| places[index]).collect();
    let stay: Vec<(usize, usize)> = stay.into_iter().map(|index| (index, places[index])).collect();
    let mut futures = Pinned::new(&places, futures);
    let enqueue = each(n, || places.iter().for_each(|&place| assert!(futures.poll(place).is_pending())));
    let cancel = each(leave.len(), || leave.iter().for_each(|&place| futures.at(place).set(None)));
    let wake = each(stay.len(), || {
        for &(index, place) in &stay {
            wake(index);
            assert!(futures.poll(place).is_ready());
        }
    });
    Costs { enqueue, cancel, wake }
}

/// What is compared: its name, and a run with so many tasks in such places.
type Contender = (&'static str, fn(usize, Places) -> Costs);

fn tickets(n: usize, places: Places) -> Costs {
    let (table, grant) = (WaitTable::<layby::sys::Native>::new(), AtomicU64::new(0));
    let key = |ticket: usize| Key::ticket(&grant, ticket as u64);
    let futures = (0..n).map(|ticket| {
        let grant = &grant;
        table.wait_until_async(key(ticket), move || grant.load(Ordering::SeqCst) > ticket as u64)
    });
    run(places, futures, |ticket| {
        grant.store(ticket as u64 + 1, Ordering::SeqCst);
        table.wake_all_seqcst(key(ticket));
    })
}

fn addresses(n: usize, places: Places) -> Costs {
    let table = WaitTable::<layby::sys::Native>::new();
    let flags: Vec<AtomicU64> = (0..n).map(|_| AtomicU64::new(0)).collect();
    let futures = flags.iter().map(|flag| table.wait_until_async(flag, move || flag.load(Ordering::Relaxed) != 0));
    run(places, futures, |index| {
        flags[index].store(1, Ordering::SeqCst);
        table.wake_all_seqcst(&flags[index]);
    })
}

fn semaphore(n: usize, places: Places) -> Costs {
    let semaphore = layby::sema::Semaphore::new(0);
    run(places, (0..n).map(|_| semaphore.take_async()), |_| semaphore.post())
}

fn tokio(n: usize, places: Places) -> Costs {
    let semaphore = tokio::sync::Semaphore::new(0);
    let futures = (0..n).map(|_| async { semaphore.acquire().await.unwrap().forget() });
    run(places, futures, |_| semaphore.add_permits(1))
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
        let mut future = Pinned::new(&[0], std::iter::once(table.wait_until_async(&table, || black_box(false))));
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
    let waits = (0..n).map(|ticket| table.wait_until_async(key(ticket), || false));
    let mut futures = Pinned::new(&Places::InOrder.of(n), waits);
    (0..n).for_each(|index| assert!(futures.poll(index).is_pending()));
    let list = each(1, || assert_eq!(table.waiters().len(), n)) / 1e9;
    let visit = each(1, || assert_eq!(table.for_each_waiter(|waiter| _ = black_box(waiter)), 0)) / 1e9;
    println!("a report of {n} waiters: {list:.2} s as a list, {visit:.2} s without allocating");
}

fn compare(contenders: &[Contender], places: Places, rounds: usize, large: usize) {
    let mut runs = vec![[Vec::new(), Vec::new()]; contenders.len()];
    for _ in 0..rounds {
        for ((_, run), runs) in contenders.iter().zip(&mut runs) {
            runs[0].push(of(&(0..101).map(|_| run(SMALL, places)).collect::<Vec<_>>()));
            runs[1].push(run(large, places));
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    for ((name, _), runs) in contenders.iter().zip(&runs) {
        for (n, runs) in [SMALL, large].into_iter().zip(runs) {
            let Costs { enqueue, cancel, wake } = of(runs);
            println!("  {name:<20} {n:>9}              {enqueue:>10.1} {cancel:>7.1} {wake:>12.1}");
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().expect("a number"));
    let (rounds, large) = (arguments.next().unwrap_or(5), arguments.next().unwrap_or(1_000_000));
    let contenders: [Contender; 4] = [
        ("layby, tickets", tickets),
        ("layby, addresses", addresses),
        ("layby, semaphore", semaphore),
        ("tokio", tokio),
    ];
    println!("nanoseconds each, medians of {rounds} rounds      enqueue  cancel  wake + poll");
    for (name, places) in [("in order", Places::InOrder), ("anywhere", Places::Anywhere)] {
        println!("futures {name}");
        compare(&contenders, places, rounds, large);
    }
    polls();
    reports(large);
}
