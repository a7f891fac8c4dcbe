//! What the crate is compared with, written with the simulator's atomics.

use crate::turnstile::Turnstile;
use layby::coherence::{
    atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering},
    pause,
};
use layby::sys::{Backend as _, Native};
use std::ptr;

/// A value on a pair of lines of its own.
#[repr(align(128))]
struct Apart<T>(T);

/// A ticket lock with its two words on lines of their own. All waiters spin on `serving`.
pub struct TicketLock {
    next: Apart<AtomicU64>,
    serving: Apart<AtomicU64>,
}

impl Turnstile for TicketLock {
    const NAME: &'static str = "ticket-lock";

    fn new() -> Self {
        Self { next: Apart(AtomicU64::new(0)), serving: Apart(AtomicU64::new(0)) }
    }

    fn pass(&self, inside: impl FnOnce()) {
        let ticket = self.next.0.fetch_add(1, Ordering::Relaxed);
        while self.serving.0.load(Ordering::Acquire) != ticket {
            pause();
        }
        inside();
        self.serving.0.store(ticket + 1, Ordering::Release);
    }
}

/// The lock of Mellor-Crummey and Scott: each waiter spins on a node of its own.
pub struct McsLock {
    tail: Apart<AtomicPtr<McsNode>>,
}

#[repr(align(128))]
struct McsNode {
    next: AtomicPtr<McsNode>,
    locked: AtomicU32,
}

impl Turnstile for McsLock {
    const NAME: &'static str = "mcs-lock";

    fn new() -> Self {
        Self { tail: Apart(AtomicPtr::new(ptr::null_mut())) }
    }

    #[allow(unsafe_code)]
    fn pass(&self, inside: impl FnOnce()) {
        let node = McsNode { next: AtomicPtr::new(ptr::null_mut()), locked: AtomicU32::new(0) };
        // A real program reuses its nodes, so their initialization is a store and must be counted.
        node.next.store(ptr::null_mut(), Ordering::Relaxed);
        node.locked.store(1, Ordering::Relaxed);
        let address = ptr::from_ref(&node).cast_mut();
        let before = self.tail.0.swap(address, Ordering::AcqRel);
        // SAFETY: the thread before us stays in this function until it has unlocked us, and for that it waits for this store.
        if let Some(before) = unsafe { before.as_ref() } {
            before.next.store(address, Ordering::Release);
            while node.locked.load(Ordering::Acquire) != 0 {
                pause();
            }
        }
        inside();
        if node.next.load(Ordering::Acquire).is_null() {
            let last = self.tail.0.compare_exchange(address, ptr::null_mut(), Ordering::Release, Ordering::Relaxed);
            if last.is_ok() {
                return;
            }
            while node.next.load(Ordering::Acquire).is_null() {
                pause();
            }
        }
        // SAFETY: the thread behind us waits in this function until this store.
        unsafe { (*node.next.load(Ordering::Acquire)).locked.store(0, Ordering::Release) };
    }
}

/// A semaphore like glibc's: a value and a count of waiters in 8 bytes, and the kernel's queue. Late arrivals can overtake.
#[repr(align(128))]
pub struct FutexSemaphore {
    value: AtomicU32,
    waiters: AtomicU32,
}

impl Turnstile for FutexSemaphore {
    const NAME: &'static str = "futex-semaphore";

    fn new() -> Self {
        Self { value: AtomicU32::new(1), waiters: AtomicU32::new(0) }
    }

    fn pass(&self, inside: impl FnOnce()) {
        let try_take = || {
            let take = |value: u32| value.checked_sub(1);
            self.value.fetch_update(Ordering::Acquire, Ordering::Relaxed, take).is_ok()
        };
        if !try_take() {
            self.waiters.fetch_add(1, Ordering::SeqCst);
            while !try_take() {
                Native::wait(&self.value, 0, None);
            }
            self.waiters.fetch_sub(1, Ordering::SeqCst);
        }
        inside();
        self.value.fetch_add(1, Ordering::SeqCst);
        if self.waiters.load(Ordering::SeqCst) != 0 {
            Native::wake(&raw const self.value);
        }
    }
}
