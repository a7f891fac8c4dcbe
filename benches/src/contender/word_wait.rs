//! Semaphores over "wait while this word holds that value", as futex(7) and Drepper's "Futexes are tricky" build them.

use super::PostTake;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};

/// How to wait on a word: what a futex, atomic-wait and `layby::atomic` have in common.
pub trait WordWait: Send + Sync {
    fn wait(word: &AtomicU32, expected: u32);
    fn wake_one(word: &AtomicU32);
    fn wake_all(word: &AtomicU32);
}

/// Linux's futex, by system call.
#[cfg(target_os = "linux")]
pub struct Futex;

#[cfg(target_os = "linux")]
impl Futex {
    fn wake(word: &AtomicU32, count: i32) {
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: a wake uses the address only as a name.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, count) };
    }
}

#[cfg(target_os = "linux")]
impl WordWait for Futex {
    fn wait(word: &AtomicU32, expected: u32) {
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        let no_timeout = std::ptr::null::<libc::timespec>();
        // SAFETY: the word is alive for the whole call; a null timeout means forever.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, no_timeout) };
    }

    fn wake_one(word: &AtomicU32) {
        Self::wake(word, 1);
    }

    fn wake_all(word: &AtomicU32) {
        Self::wake(word, i32::MAX);
    }
}

/// The crate atomic-wait.
pub struct AtomicWait;

impl WordWait for AtomicWait {
    fn wait(word: &AtomicU32, expected: u32) {
        atomic_wait::wait(word, expected);
    }

    fn wake_one(word: &AtomicU32) {
        atomic_wait::wake_one(word);
    }

    fn wake_all(word: &AtomicU32) {
        atomic_wait::wake_all(word);
    }
}

/// The same signatures in this crate, over the wait table.
pub struct LaybyAtomic;

impl WordWait for LaybyAtomic {
    fn wait(word: &AtomicU32, expected: u32) {
        layby::atomic::wait(word, expected);
    }

    fn wake_one(word: &AtomicU32) {
        layby::atomic::wake_one(word);
    }

    fn wake_all(word: &AtomicU32) {
        layby::atomic::wake_all(word);
    }
}

/// Takes a permit if there is one.
#[inline]
pub fn take_one(value: &AtomicU32) -> bool {
    value.try_update(Ordering::SeqCst, Ordering::SeqCst, |permits| permits.checked_sub(1)).is_ok()
}

/// Value and number of waiters: waits at once if there is no permit. Barging.
///
/// A word wait knows no waiters, so a post would have to ask the kernel each time were they not counted here.
pub struct Counting<W> {
    value: AtomicU32,
    waiters: AtomicU32,
    how: PhantomData<W>,
}

impl<W: WordWait> PostTake for Counting<W> {
    fn with_permits(permits: u32) -> Self {
        Self { value: AtomicU32::new(permits), waiters: AtomicU32::new(0), how: PhantomData }
    }

    #[inline]
    fn take(&self) {
        if !take_one(&self.value) {
            self.waiters.fetch_add(1, Ordering::SeqCst);
            while !take_one(&self.value) {
                W::wait(&self.value, 0);
            }
            self.waiters.fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[inline]
    fn post(&self) {
        self.value.fetch_add(1, Ordering::SeqCst);
        if self.waiters.load(Ordering::SeqCst) != 0 {
            W::wake_one(&self.value);
        }
    }
}

/// A ticket semaphore that waits on its grant word: FIFO, and every post wakes all who sleep.
pub struct Ticket<W> {
    ticket: AtomicU32,
    grant: AtomicU32,
    waiters: AtomicU32,
    how: PhantomData<W>,
}

impl<W: WordWait> PostTake for Ticket<W> {
    fn with_permits(permits: u32) -> Self {
        Self { ticket: AtomicU32::new(0), grant: AtomicU32::new(permits), waiters: AtomicU32::new(0), how: PhantomData }
    }

    #[inline]
    fn take(&self) {
        let ticket = self.ticket.fetch_add(1, Ordering::Relaxed);
        let granted = |grant: u32| grant.wrapping_sub(ticket) as i32 > 0;
        if !granted(self.grant.load(Ordering::Acquire)) {
            self.waiters.fetch_add(1, Ordering::SeqCst);
            loop {
                let grant = self.grant.load(Ordering::SeqCst);
                if granted(grant) {
                    break;
                }
                W::wait(&self.grant, grant);
            }
            self.waiters.fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[inline]
    fn post(&self) {
        self.grant.fetch_add(1, Ordering::SeqCst);
        if self.waiters.load(Ordering::SeqCst) != 0 {
            W::wake_all(&self.grant);
        }
    }
}
