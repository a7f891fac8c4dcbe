//! However a graph ends, its threads have returned within a millisecond of CPU time, all of them together: nobody spins on, and
//! nobody is woken again and again. And nothing is lost that was promised.
//!
//! CPU time and not time: what else the machine does is of no account. The best of a few attempts: a thread that runs on while the
//! one that ends the graph has lost its CPU is of no account either.

#![allow(unsafe_code, reason = "the C library's clocks")]

use crate::all_asleep;
use crate::common::{divisor, eventually, watchdog};
use layby::pipeline::{Closed, Graph, Handle, Reason, Stage};
use std::mem::MaybeUninit;
use std::os::unix::thread::JoinHandleExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const LIMIT: Duration = Duration::from_millis(1);
const ATTEMPTS: usize = 20;

fn ends_soon(attempt: impl Fn() -> Duration) {
    let _watchdog = watchdog();
    let limit = LIMIT * divisor() as u32;
    let mut took = vec![];
    while took.len() < ATTEMPTS {
        took.push(attempt());
        if *took.last().unwrap() <= limit {
            return;
        }
    }
    panic!("more than {limit:?} in all attempts: {took:?}");
}

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = MaybeUninit::uninit();
    // SAFETY: there is room for it.
    assert_eq!(unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) }, 0);
    // SAFETY: the call has succeeded.
    let time = unsafe { time.assume_init() };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A thread that returns, too, how much CPU time it has taken.
type Thread<R> = JoinHandle<(R, Duration)>;

fn spawn<R: Send + 'static>(name: &str, work: impl FnOnce() -> R + Send + 'static) -> Thread<R> {
    let work = || (work(), read(libc::CLOCK_THREAD_CPUTIME_ID));
    thread::Builder::new().name(name.into()).spawn(work).unwrap()
}

/// The CPU time of a thread that has not been joined.
fn clock_of<R>(thread: &Thread<R>) -> libc::clockid_t {
    let mut clock = MaybeUninit::uninit();
    // SAFETY: the thread has not been joined, and there is room for the clock.
    assert_eq!(unsafe { libc::pthread_getcpuclockid(thread.as_pthread_t() as _, clock.as_mut_ptr()) }, 0);
    // SAFETY: the call has succeeded.
    unsafe { clock.assume_init() }
}

/// What a thread returned, and the CPU time it took since `before`.
fn join<R>(thread: Thread<R>, before: Duration) -> (R, Duration) {
    let (result, after) = thread.join().unwrap();
    (result, after - before)
}

/// The CPU time of the calling thread.
fn own<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let before = read(libc::CLOCK_THREAD_CPUTIME_ID);
    let result = work();
    (result, read(libc::CLOCK_THREAD_CPUTIME_ID) - before)
}

fn reason<R: std::fmt::Debug>(closed: Result<R, Closed>) -> Reason {
    closed.unwrap_err().reason().clone()
}

/// Everybody sleeps: two producers for room, the first stage for entries, the last for the second, which is given to `end`.
fn asleep(prefix: &str, expected: &Reason, end: impl FnOnce(Stage<u64>, &Handle)) -> Duration {
    let mut graph = Graph::new(2, || 0);
    let [first, second, last] = ["first", "second", "last"].map(|name| graph.stage(name));
    let producer = graph.multi_producer();
    let handle = producer.handle();
    let names = [1, 2, 3, 4].map(|n| format!("{prefix} {n}"));
    let [a, b, c, d] = names.each_ref().map(String::as_str);
    let stages = [(a, first), (b, last)].map(|(name, stage)| spawn(name, move || stage.run(|_| ())));
    let producers = [(c, producer.clone()), (d, producer)].map(|(name, mut producer)| {
        spawn(name, move || (0..).find_map(|n| producer.publish(|entry| *entry = n).err()).map_or(Ok(0), Err))
    });
    let threads: Vec<_> = stages.into_iter().chain(producers).collect();
    all_asleep(&[a, b, c, d]);
    eventually(|| handle.published() == 2);
    let before: Vec<_> = threads.iter().map(|thread| read(clock_of(thread))).collect();
    let ((), mut total) = own(|| end(second, &handle));
    for (thread, before) in threads.into_iter().zip(before) {
        let (ended, took) = join(thread, before);
        assert_eq!(reason(ended), *expected);
        total += took;
    }
    total
}

/// Not by `panic!`, whose report with a backtrace takes longer than a millisecond.
fn unwind() {
    resume_unwind(Box::new(()));
}

#[test]
fn a_close_while_all_sleep() {
    ends_soon(|| asleep("cpu close", &Reason::Closed, |_second, handle| handle.close()));
}

#[test]
fn a_dropped_stage_while_all_sleep() {
    ends_soon(|| asleep("cpu drop", &Reason::Dropped("second".into()), |second, _| drop(second)));
}

#[test]
fn a_panic_while_all_sleep() {
    let expected = Reason::Panicked("second".into());
    ends_soon(|| {
        asleep("cpu panic", &expected, |second, _| {
            assert!(catch_unwind(AssertUnwindSafe(|| second.run(|_| unwind()))).is_err());
        })
    });
}

/// What was published is worked on by all: only then do they return.
#[test]
fn dropped_producers_while_all_sleep() {
    ends_soon(|| {
        let mut graph = Graph::new(8, || 0);
        let [first, second, last] = ["first", "second", "last"].map(|name| graph.stage(name));
        let mut producer = graph.multi_producer();
        let first = spawn("cpu finish 1", move || first.run(|entry| *entry += 100));
        let last = spawn("cpu finish 2", move || {
            let mut seen = vec![];
            last.run(|entry| seen.push(*entry)).map(|_| seen)
        });
        producer.publish_batch(5, |batch| batch.zip(0..).for_each(|(entry, n)| *entry = n)).unwrap();
        let handle = producer.handle();
        eventually(|| handle.stages()[0].position == 5);
        all_asleep(&["cpu finish 1", "cpu finish 2"]);
        let before = (read(clock_of(&first)), read(clock_of(&last)));
        let (worked, mut total) = own(|| {
            drop(producer);
            second.run(|entry| *entry += 1000)
        });
        assert_eq!(worked, Ok(5));
        let (worked, took) = join(first, before.0);
        total += took;
        assert_eq!(worked, Ok(5));
        let (seen, took) = join(last, before.1);
        assert_eq!(seen, Ok(vec![1100, 1101, 1102, 1103, 1104]));
        total + took
    });
}

/// Everybody is busy when the second stage's closure ends the graph, at entry number 1,000.
fn busy(expected: &Reason, end: impl Fn(&Handle)) -> Duration {
    let mut graph = Graph::new(64, || 0);
    let [first, second, last] = ["first", "second", "last"].map(|name| graph.stage(name));
    let mut producer = graph.single_producer();
    let handle = producer.handle();
    let publishing = spawn("busy producer", move || {
        (0..).find_map(|n| Some((n, producer.publish(|entry| *entry = n).err()?))).unwrap()
    });
    let working = [("busy first", first), ("busy last", last)].map(|(name, stage)| {
        spawn(name, move || {
            let mut next = 0;
            let ended = stage.run(|entry| {
                assert_eq!(*entry, next, "none is missing, none comes twice");
                next += 1;
            });
            (next, ended.unwrap_err())
        })
    });
    let threads: Vec<_> = [publishing].into_iter().chain(working).collect();
    let clocks: Vec<_> = threads.iter().map(clock_of).collect();
    let (mut before, mut own_before) = (vec![], Duration::ZERO);
    _ = catch_unwind(AssertUnwindSafe(|| {
        second.run(|entry| {
            if *entry == 1000 {
                before = clocks.iter().map(|clock| read(*clock)).collect();
                own_before = read(libc::CLOCK_THREAD_CPUTIME_ID);
                end(&handle);
            }
        })
    }));
    let mut total = read(libc::CLOCK_THREAD_CPUTIME_ID) - own_before;
    let mut done = vec![];
    for (thread, before) in threads.into_iter().zip(before) {
        let ((n, closed), took) = join(thread, before);
        assert_eq!(closed.reason(), expected);
        done.push(n);
        total += took;
    }
    let [published, first, last] = done[..] else { unreachable!("three threads") };
    assert_eq!(published, handle.published(), "what was published counts, and what was refused does not");
    assert!(published >= first && first > 1000 && first >= last, "{published} {first} {last}");
    total
}

#[test]
fn a_close_in_the_middle() {
    ends_soon(|| busy(&Reason::Closed, Handle::close));
}

#[test]
fn a_panic_in_the_middle() {
    ends_soon(|| busy(&Reason::Panicked("second".into()), |_| unwind()));
}
