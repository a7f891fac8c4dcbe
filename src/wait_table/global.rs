//! The one static table, and the functions that use it.

use super::{Armed, Key, WaitOutcome, WaitTable};
use crate::sync::{fence_before_peek, fence_before_peek_seqcst, world_static};
use crate::sys::Native;
use std::time::{Duration, Instant};

#[cfg(not(layby_model))]
static SLOTS: super::Slots<{ WaitTable::<Native>::DEFAULT_SLOTS }> = super::Slots::new();

world_static! {
    /// The global table: 4096 slots in 32 KiB of static memory, page-aligned, on the platform's own backend.
    pub fn global() -> &'static WaitTable<Native> {
        const { WaitTable::from_slots(&SLOTS) }
        model { WaitTable::with_slots(4) }
    }
}

/// Where a primitive's waiters wait: the type that stands for a static table.
///
/// A primitive with a `Home` costs no memory for it. [`Global`] is every primitive's default; one of your own keeps its
/// waiters apart from all others, or puts them on another backend.
///
/// ```
/// use layby::sys::{Park};
/// use layby::wait_table::{Home, Slots, WaitTable};
///
/// struct Private;
/// impl Home for Private {
///     type Backend = Park;
///     fn table() -> &'static WaitTable<Park> {
///         static SLOTS: Slots<64> = Slots::new();
///         static TABLE: WaitTable<Park> = WaitTable::from_slots(&SLOTS);
///         &TABLE
///     }
/// }
/// let semaphore = layby::sema::Semaphore::<Private>::new_in(1);
/// semaphore.take();
/// ```
pub trait Home: Send + Sync + 'static {
    /// How the table's waiters sleep.
    type Backend: crate::sys::Backend;

    /// The table, the same one at every call.
    fn table() -> &'static WaitTable<Self::Backend>;

    /// The notifier's peek at the slot of a key with this hash, for a home that can do it faster than its table.
    #[doc(hidden)]
    #[inline(always)]
    fn is_occupied(hash: u32) -> bool {
        Self::table().is_occupied(hash)
    }
}

/// The home of everything that does not say otherwise: [the global table](global).
#[derive(Debug, Clone, Copy)]
pub struct Global;

impl Home for Global {
    type Backend = Native;

    #[inline(always)]
    fn table() -> &'static WaitTable<Native> {
        global()
    }

    /// A crate knows the address of another crate's static, but not its value: through the table, it would have to load
    /// where the slots are and how many.
    #[cfg(not(layby_model))]
    #[inline(always)]
    fn is_occupied(hash: u32) -> bool {
        SLOTS.is_occupied(hash)
    }
}

/// Waits on `key` in the loop form: `while !condition() { location_wait(&x) }`. May return early.
///
/// ```
/// use layby::{location_wait, location_wake_all};
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static READY: AtomicBool = AtomicBool::new(false);
/// let waiter = std::thread::spawn(|| {
///     while !READY.load(Ordering::Relaxed) {
///         location_wait(&READY);
///     }
/// });
/// READY.store(true, Ordering::Relaxed);
/// location_wake_all(&READY);
/// waiter.join().unwrap();
/// ```
pub fn location_wait(key: impl Into<Key>) {
    global().location_wait(key);
}

/// Like [`location_wait`], but gives up at `deadline`. [`Woken`](WaitOutcome::Woken) means: check the condition again.
///
/// ```
/// use layby::{WaitOutcome, location_wait_deadline};
/// use std::time::{Duration, Instant};
///
/// let never = false;
/// let deadline = Instant::now() + Duration::from_millis(10);
/// while !never {
///     if location_wait_deadline(&never, deadline) == WaitOutcome::TimedOut {
///         break;
///     }
/// }
/// assert!(Instant::now() >= deadline);
/// ```
pub fn location_wait_deadline(key: impl Into<Key>, deadline: Instant) -> WaitOutcome {
    global().location_wait_deadline(key, deadline)
}

/// Wakes every thread that waits on `key`; returns how many waiting elements were notified. See
/// [`WaitTable::wake_all`].
#[inline]
pub fn location_wake_all(key: impl Into<Key>) -> usize {
    fence_before_peek();
    wake_if_occupied(key.into().hash())
}

/// Like [`location_wake_all`], but without its fence, for callers that changed the condition by a `SeqCst` store or
/// read-modify-write. See [`WaitTable::wake_all_seqcst`].
#[inline]
pub fn location_wake_all_seqcst(key: impl Into<Key>) -> usize {
    fence_before_peek_seqcst();
    wake_if_occupied(key.into().hash())
}

/// Waits until `condition` holds. See [`WaitTable::wait_until`].
///
/// ```
/// use layby::{location_wake_all, wait_until};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let sum = AtomicU32::new(0);
/// std::thread::scope(|s| {
///     s.spawn(|| wait_until(&sum, || sum.load(Ordering::Relaxed) >= 3));
///     for _ in 0..3 {
///         sum.fetch_add(1, Ordering::Relaxed);
///         location_wake_all(&sum);
///     }
/// });
/// ```
pub fn wait_until(key: impl Into<Key>, condition: impl FnMut() -> bool) {
    global().wait_until(key, condition);
}

/// Waits until `condition` holds or `deadline` has passed: `false` if it passed and the condition still did not hold.
pub fn wait_until_deadline(key: impl Into<Key>, deadline: Instant, condition: impl FnMut() -> bool) -> bool {
    global().wait_until_deadline(key, deadline, condition)
}

/// Waits until `condition` holds or `timeout` has passed: `false` if it passed and the condition still did not hold.
///
/// ```
/// use layby::wait_until_timeout;
/// use std::time::Duration;
///
/// let x = 0;
/// assert!(!wait_until_timeout(&x, Duration::from_millis(1), || x == 1));
/// assert!(wait_until_timeout(&x, Duration::MAX, || x == 0));
/// ```
pub fn wait_until_timeout(key: impl Into<Key>, timeout: Duration, condition: impl FnMut() -> bool) -> bool {
    global().wait_until_timeout(key, timeout, condition)
}

/// Arms the calling thread for `key`: check the condition, then [wait](Armed::wait). See [`Armed`].
pub fn arm(key: impl Into<Key>) -> Armed {
    global().arm(key)
}

/// The table's own peek and wake, with the home's faster peek.
#[inline(always)]
fn wake_if_occupied(hash: u32) -> usize {
    if Global::is_occupied(hash) { global().wake_if_current(hash) } else { 0 }
}
