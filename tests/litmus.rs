//! The cores of the protocols' pairs on the machine at hand: each thread writes its own word and then reads the
//! other's, and that both read the old value must never be seen. What the language says about them is in
//! `ci/litmus.py`, test by test; what loom says, in `tests/loom/litmus.rs`.
//!
//! Blind to: all that this machine's processors happen not to do, so it proves nothing by passing. That it looks where it
//! should is shown by the twin without any order, on a machine that is known to show the forbidden outcome.

#![cfg(not(layby_model))]
#![allow(unsafe_code, reason = "a block of assembly that stands for a fence")]

mod common;

#[cfg(target_arch = "x86_64")]
use common::watchdog;
use common::{eventually, scaled};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering::*, fence};
use std::thread;

/// One side: writes the first word, returns what it reads of the second.
type Side = fn(&AtomicU32, &AtomicU32) -> u32;

/// Pairs of words that both threads walk through at the same time; arbitrary, a few thousand cache lines.
const PAIRS: usize = 2048;

#[derive(Default)]
#[repr(align(128))]
struct Word(AtomicU32);

/// Returns when both threads are here. Awake, so that they set off at the same moment: whoever had to be woken would
/// walk far behind the other.
fn meet(arrived: &AtomicU32) {
    arrived.fetch_add(1, AcqRel);
    let both_are_here = || arrived.load(Acquire) == 2;
    for _ in 0..10_000 {
        if both_are_here() {
            return;
        }
        spin_loop();
    }
    eventually(both_are_here);
}

/// How often both sides read the old value.
fn both_old(left: Side, right: Side) -> usize {
    let mut seen = 0;
    for _ in 0..scaled(40) {
        let words: Vec<[Word; 2]> = (0..PAIRS).map(|_| Default::default()).collect();
        let arrived = AtomicU32::new(0);
        let walk = |side: Side, mine: usize| -> Vec<u32> {
            meet(&arrived);
            words.iter().map(|pair| side(&pair[mine].0, &pair[1 - mine].0)).collect()
        };
        let (left, right) = thread::scope(|s| {
            let other = s.spawn(|| walk(right, 1));
            (walk(left, 0), other.join().unwrap())
        });
        seen += left.iter().zip(&right).filter(|read| matches!(read, (0, 0))).count();
    }
    seen
}

fn store_fence_load(mine: &AtomicU32, other: &AtomicU32) -> u32 {
    mine.store(1, Relaxed);
    fence(SeqCst);
    other.load(Relaxed)
}

/// A waiter: `Slot::push`, fence A, its condition.
fn publish_fence_check(mine: &AtomicU32, other: &AtomicU32) -> u32 {
    mine.fetch_add(1, Release);
    fence(SeqCst);
    other.load(Relaxed)
}

/// The same on x86, where the push is a fence.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn publish_check(mine: &AtomicU32, other: &AtomicU32) -> u32 {
    let seen = mine.load(Relaxed);
    assert!(mine.compare_exchange(seen, seen + 1, Release, Relaxed).is_ok(), "nobody else writes there");
    // SAFETY: there is nothing in it.
    unsafe { std::arch::asm!("", options(nostack, preserves_flags)) };
    other.load(Relaxed)
}

fn seqcst_update_then_load(mine: &AtomicU32, other: &AtomicU32) -> u32 {
    mine.fetch_add(1, SeqCst);
    other.load(SeqCst)
}

#[cfg(target_arch = "x86_64")]
fn store_then_load(mine: &AtomicU32, other: &AtomicU32) -> u32 {
    mine.store(1, Relaxed);
    other.load(Relaxed)
}

/// `wait_against_wake`, `prepare_against_announce`: fence A and fence B.
#[test]
fn fences_on_both_sides() {
    assert_eq!(both_old(store_fence_load, store_fence_load), 0);
    assert_eq!(both_old(publish_fence_check, store_fence_load), 0);
}

/// The same, with the push for fence A.
#[test]
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn a_locked_instruction_is_a_fence() {
    assert_eq!(both_old(publish_check, store_fence_load), 0);
    assert_eq!(both_old(publish_check, seqcst_update_then_load), 0);
}

/// `wake_after_a_seqcst_update`, `wait_against_…`: fence A, and a SeqCst change instead of fence B.
#[test]
fn a_fence_against_a_seqcst_update() {
    assert_eq!(both_old(publish_fence_check, seqcst_update_then_load), 0);
}

/// `take_against_post`, `marker_against_…`, `sleeper_against_change`: SeqCst on both sides.
#[test]
fn seqcst_updates_on_both_sides() {
    assert_eq!(both_old(seqcst_update_then_load, seqcst_update_then_load), 0);
}

/// The twin. Two processors of this kind have store buffers; one has nobody to hide its own from.
#[test]
#[cfg(target_arch = "x86_64")]
fn without_any_order_the_outcome_is_seen() {
    let _watchdog = watchdog();
    let alone = thread::available_parallelism().map_or(1, usize::from) == 1;
    eventually(|| alone || both_old(store_then_load, store_then_load) > 0);
}
