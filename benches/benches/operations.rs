//! The single operations, against their peers: without contention in CPU time, between threads by the clock on the wall.

use criterion::{Bencher, BenchmarkId, Criterion, criterion_group, criterion_main};
use layby::eventcount::EventCount;
use layby::mutex::{RawFairMutex, RawMutex};
use layby::paper::{TicketSemaphore, TwaArraySemaphore, TwaChainSemaphore, TwaMonitorSemaphore};
use layby::sema::Semaphore;
use layby::sys::Native;
use layby::{Key, WaitTable};
use layby_bench::bars::wake;
use layby_bench::broadcast::{Listeners, broadcast};
use layby_bench::contender::PostTake;
use layby_bench::contender::async_ones::{AsyncLock, Asyncband, EventListener, Saa, Tokio};
use layby_bench::contender::glibc::SemT;
use layby_bench::contender::locks::{ParkingLotCondvar, ParkingLotMutex, Raw, StdCondvar, StdMutex};
use layby_bench::contender::word_wait::{AtomicWait, Counting, Futex};
use layby_bench::crowd::{Broadcast, Counter, Crowd};
use layby_bench::herd::Herd;
use layby_bench::workload::{
    hand_over_chain, ping_pong, repeat_alone, two_fetch_adds, uncontended, uncontended_exclusion,
};
use layby_bench::{pipeline, shapes};
use std::hint::black_box;
use std::time::Duration;

type Workload = (&'static str, fn(u64) -> Duration);

fn group(criterion: &mut Criterion, title: &str, workloads: &[Workload]) {
    let mut group = criterion.benchmark_group(title);
    group.sample_size(20);
    for &(name, workload) in workloads {
        group.bench_function(name, |b| b.iter_custom(workload));
    }
    group.finish();
}

fn alone<R>(b: &mut Bencher<'_>, mut operation: impl FnMut() -> R) {
    b.iter_custom(|n| repeat_alone(n, || drop(black_box(operation()))));
}

fn no_contention(criterion: &mut Criterion) {
    group(
        criterion,
        "take + post, no contention",
        &[
            ("two bare fetch_adds", two_fetch_adds),
            ("layby Semaphore", uncontended::<Semaphore>),
            ("layby TicketSemaphore", uncontended::<TicketSemaphore>),
            ("layby TwaArraySemaphore", uncontended::<TwaArraySemaphore>),
            ("layby TwaChainSemaphore", uncontended::<TwaChainSemaphore>),
            ("layby TwaMonitorSemaphore", uncontended::<TwaMonitorSemaphore>),
            ("glibc", uncontended::<SemT>),
            ("raw futex", uncontended::<Counting<Futex>>),
            ("atomic-wait", uncontended::<Counting<AtomicWait>>),
            ("std Mutex + Condvar", uncontended::<StdCondvar>),
            ("parking_lot Mutex + Condvar", uncontended::<ParkingLotCondvar>),
            ("tokio", uncontended::<Tokio>),
            ("saa", uncontended::<Saa>),
            ("asyncband", uncontended::<Asyncband>),
            ("async-lock", uncontended::<AsyncLock>),
            ("event-listener", uncontended::<EventListener>),
        ],
    );
    group(
        criterion,
        "mutex, no contention",
        &[
            ("layby Mutex", uncontended_exclusion::<Raw<RawMutex>>),
            ("layby FairMutex", uncontended_exclusion::<Raw<RawFairMutex>>),
            ("parking_lot Mutex", uncontended_exclusion::<ParkingLotMutex>),
            ("std Mutex", uncontended_exclusion::<StdMutex>),
        ],
    );
    let mut forms = criterion.benchmark_group("forms of take, no contention");
    let semaphore = Semaphore::new(8);
    forms.bench_function("try_take + post", |b| alone(b, || semaphore.try_take().then(|| semaphore.post())));
    forms.bench_function("take_timeout + post", |b| {
        alone(b, || semaphore.take_timeout(Duration::from_secs(1)).then(|| semaphore.post()));
    });
    forms.bench_function("take_many(4) + post_many(4)", |b| {
        alone(b, || {
            semaphore.take_many(4);
            semaphore.post_many(4);
        });
    });
    forms.bench_function("acquire, permit dropped", |b| alone(b, || drop(semaphore.acquire())));
    forms.finish();
}

fn waking_nobody(criterion: &mut Criterion) {
    group(
        criterion,
        "wake with nobody waiting",
        &[
            ("location_wake_all", wake::wake_all),
            ("location_wake_all_seqcst", wake::wake_all_seqcst),
            ("parking_lot_core::unpark_all", wake::unpark_all),
            ("event_listener notify", wake::notify),
        ],
    );
    let eventcount = EventCount::new();
    criterion.bench_function("EventCount advance, nobody waiting", |b| alone(b, || eventcount.advance()));
}

fn between_threads(criterion: &mut Criterion) {
    group(
        criterion,
        "ping-pong",
        &[
            ("layby Semaphore", ping_pong::<Semaphore>),
            ("layby TwaChainSemaphore", ping_pong::<TwaChainSemaphore>),
            ("layby TwaMonitorSemaphore", ping_pong::<TwaMonitorSemaphore>),
            ("glibc", ping_pong::<SemT>),
            ("raw futex", ping_pong::<Counting<Futex>>),
            ("tokio", ping_pong::<Tokio>),
        ],
    );
    group(
        criterion,
        "a token around 8 threads",
        &[
            ("layby Semaphore", |n| hand_over_chain::<Semaphore>(8, n)),
            ("glibc", |n| hand_over_chain::<SemT>(8, n)),
            ("tokio", |n| hand_over_chain::<Tokio>(8, n)),
        ],
    );
}

/// An entry of a pipeline, of every shape and peer.
fn pipelines(criterion: &mut Criterion) {
    let with = |ours: pipeline::Passing, peers: &[Workload]| [&[("layby", ours)], peers].concat();
    let shapes = [
        ("producer and one stage, batch 1", with(pipeline::layby_two::<1>, &pipeline::peers_of_two::<1>())),
        ("producer and one stage, batch 16", with(pipeline::layby_two::<16>, &pipeline::peers_of_two::<16>())),
        ("producer and two stages, batch 1", with(pipeline::layby_three::<1>, &pipeline::peers_of_three::<1>())),
        ("producer and two stages, batch 16", with(pipeline::layby_three::<16>, &pipeline::peers_of_three::<16>())),
        ("three producers and one stage", with(shapes::layby_producers, &shapes::peers_of_producers())),
        ("diamond of four stages", with(shapes::layby_diamond, &shapes::peers_of_diamond())),
    ];
    for (title, contenders) in shapes {
        group(criterion, &format!("pipeline, {title}"), &contenders);
    }
}

fn letting_all_go(criterion: &mut Criterion) {
    group(
        criterion,
        "one advance lets 16 threads go",
        &[
            ("layby EventCount", |n| broadcast::<EventCount>(16, n)),
            ("std Mutex + Condvar", |n| broadcast::<Broadcast>(16, n)),
            ("event-listener", |n| broadcast::<Listeners>(16, n)),
        ],
    );
}

fn among_many(criterion: &mut Criterion) {
    let mut posts = criterion.benchmark_group("CPU time of one post among N waiters");
    posts.sample_size(10);
    for waiters in [1, 10, 100, 1000] {
        posts.bench_function(BenchmarkId::new("layby Semaphore", waiters), |b| post_among::<Semaphore>(b, waiters));
        posts.bench_function(BenchmarkId::new("glibc", waiters), |b| post_among::<SemT>(b, waiters));
        posts.bench_function(BenchmarkId::new("tokio", waiters), |b| post_among::<Tokio>(b, waiters));
    }
    posts.finish();
    let mut advances = criterion.benchmark_group("from advance to its one waiter, among N");
    advances.sample_size(10);
    for waiters in [10, 100, 1000] {
        advances.bench_function(BenchmarkId::new("layby EventCount", waiters), |b| targeted::<EventCount>(b, waiters));
        advances.bench_function(BenchmarkId::new("condvar broadcast", waiters), |b| targeted::<Broadcast>(b, waiters));
    }
    advances.finish();
}

fn post_among<S: PostTake + 'static>(b: &mut Bencher<'_>, waiters: usize) {
    let herd = Herd::<S>::gather(waiters);
    b.iter_custom(|n| herd.serve(n).in_post);
}

/// A crowd grows smaller with every advance: one is gathered anew for every ten.
fn targeted<C: Counter>(b: &mut Bencher<'_>, waiters: u64) {
    b.iter_custom(|n| {
        let mut left = n;
        let mut time = Duration::ZERO;
        while left > 0 {
            let advances = left.min(10);
            time += Crowd::<C>::gather(waiters).advance(advances).time;
            left -= advances;
        }
        time
    });
}

/// A thread waits and another wakes it, while 0, 1 or 7 strangers wait on other keys: in one slot all collide.
fn collisions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("wake_all of one key, strangers in the table");
    group.sample_size(10);
    for slots in [1, 4096] {
        for strangers in [0, 7] {
            group.bench_function(format!("{slots} slots, {strangers} strangers"), |b| {
                b.iter_custom(|n| wake_among_strangers(slots, strangers, n));
            });
        }
    }
    group.finish();
}

fn wake_among_strangers(slots: usize, strangers: usize, n: u64) -> Duration {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
    let table: WaitTable<Native> = WaitTable::with_slots(slots);
    let (over, turn) = (AtomicBool::new(false), AtomicU64::new(0));
    let stranger_words: Vec<AtomicU64> = (0..strangers).map(|_| AtomicU64::new(0)).collect();
    let wait_for = |value: u64| table.wait_until(&turn, || turn.load(SeqCst) >= value);
    let go = |value: u64| {
        turn.store(value, SeqCst);
        table.wake_all_seqcst(Key::address(&turn));
    };
    std::thread::scope(|scope| {
        for word in &stranger_words {
            let (table, over) = (&table, &over);
            scope.spawn(move || table.wait_until(word, || over.load(SeqCst)));
        }
        scope.spawn(|| {
            for round in 0..n {
                wait_for(2 * round + 1);
                go(2 * round + 2);
            }
        });
        let time = layby_bench::workload::repeat(1, || {
            for round in 0..n {
                go(2 * round + 1);
                wait_for(2 * round + 2);
            }
        });
        over.store(true, SeqCst);
        for word in &stranger_words {
            table.wake_all(word);
        }
        time
    })
}

criterion_group!(
    benches,
    no_contention,
    waking_nobody,
    between_threads,
    pipelines,
    letting_all_go,
    among_many,
    collisions
);
criterion_main!(benches);
