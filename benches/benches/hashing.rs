//! The cost of finding a slot: Mix32A each time, against the paper's Lookup, which keeps the last address and its slot
//! in a thread-local (one entry), and against TWAHash.

use criterion::{Bencher, Criterion, criterion_group, criterion_main};
use layby_bench::contender::Aligned;
use layby_bench::workload::repeat_alone;
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

const SLOTS: usize = 4096;
static TABLE: Aligned<[AtomicUsize; SLOTS]> = Aligned([const { AtomicUsize::new(0) }; SLOTS]);

/// The paper's, as in the library.
#[inline(always)]
fn mix32a(v: u32) -> u32 {
    const KA: u32 = 0x9abe_94e3;
    let v = (v ^ (v >> 16)).wrapping_mul(KA);
    let v = (v ^ (v >> 16)).wrapping_mul(KA);
    v ^ (v >> 16)
}

#[inline(always)]
fn direct(address: usize) -> &'static AtomicUsize {
    &TABLE.0[mix32a(address as u32) as usize & (SLOTS - 1)]
}

#[inline(always)]
fn twa(address: usize, ticket: u32) -> &'static AtomicUsize {
    &TABLE.0[(address as u32).wrapping_add(ticket.wrapping_mul(17)) as usize & (SLOTS - 1)]
}

thread_local! {
    static LAST: Cell<(usize, &'static AtomicUsize)> = const { Cell::new((0, &TABLE.0[0])) };
}

#[inline(always)]
fn cached(address: usize) -> &'static AtomicUsize {
    LAST.with(|last| {
        let (of, slot) = last.get();
        if of == address {
            slot
        } else {
            let slot = direct(address);
            last.set((address, slot));
            slot
        }
    })
}

/// The look of a notifier. Its result decides the next address, so that the latency of the lookup shows, not only how
/// many can be under way at once.
fn chained(look: impl Fn(usize) -> &'static AtomicUsize, address: &mut usize) {
    *address |= look(black_box(*address)).load(Ordering::Relaxed);
}

fn alone<R>(b: &mut Bencher<'_>, mut operation: impl FnMut() -> R) {
    b.iter_custom(|n| repeat_alone(n, || drop(black_box(operation()))));
}

fn hashing(criterion: &mut Criterion) {
    let words = Aligned([0_u64; 64]);
    let base = std::ptr::from_ref(&words).addr();
    let mut latency = criterion.benchmark_group("slot lookup, latency, one address");
    let mut address = base;
    latency.bench_function("no hash: the slot is known", |b| alone(b, || chained(|_| &TABLE.0[7], &mut address)));
    latency.bench_function("Mix32A each time", |b| alone(b, || chained(direct, &mut address)));
    latency.bench_function("singleton cache", |b| alone(b, || chained(cached, &mut address)));
    latency.bench_function("TWAHash", |b| alone(b, || chained(|address| twa(address, 5), &mut address)));
    latency.finish();

    let mut turns = criterion.benchmark_group("slot lookup, throughput");
    for distinct in [1_usize, 2, 8] {
        let mut each = 0_usize;
        let mut next = move || {
            each = each.wrapping_add(1);
            base + 8 * (each % distinct)
        };
        turns.bench_function(format!("Mix32A each time, {distinct} addresses in turn"), |b| {
            alone(b, || direct(black_box(next())).load(Ordering::Relaxed));
        });
        turns.bench_function(format!("singleton cache, {distinct} addresses in turn"), |b| {
            alone(b, || cached(black_box(next())).load(Ordering::Relaxed));
        });
    }
    turns.finish();

    let mut wakes = criterion.benchmark_group("the library's own wake, nobody waiting");
    wakes.bench_function("location_wake_all_seqcst, address", |b| {
        alone(b, || layby::location_wake_all_seqcst(layby::Key::address(black_box(&words.0[0]))));
    });
    wakes.bench_function("location_wake_all_seqcst, ticket", |b| {
        alone(b, || layby::location_wake_all_seqcst(layby::Key::ticket_at(black_box(&words.0[0]), black_box(5))));
    });
    wakes.bench_function("location_wake_all, address", |b| {
        alone(b, || layby::location_wake_all(layby::Key::address(black_box(&words.0[0]))));
    });
    wakes.finish();

    // With the paper's cache; `arm` of one address finds its element where it is, of two it moves it.
    let mut arms = criterion.benchmark_group("the library's own arm");
    for distinct in [1_usize, 2] {
        let mut each = 0_usize;
        arms.bench_function(format!("arm, {distinct} addresses in turn"), |b| {
            alone(b, || {
                each = each.wrapping_add(1);
                drop(layby::arm(layby::Key::address(black_box(&words.0[each % distinct]))));
            });
        });
    }
    arms.finish();
}

criterion_group!(benches, hashing);
criterion_main!(benches);
