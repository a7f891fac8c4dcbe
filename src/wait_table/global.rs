//! The one static table, and the functions that use it.

use super::{Armed, Key, Limit, Location, WaitOutcome, WaitTable};
use crate::error::Stopped;
use crate::sync::{fence_before_peek, fence_before_peek_seqcst, world_static};
use crate::sys::Native;
use core::marker::PhantomData;
use std::time::{Duration, Instant};

#[cfg(not(layby_model))]
static SLOTS: super::Slots<{ WaitTable::DEFAULT_SLOTS }> = super::Slots::new();

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
/// The table is a constant, and not what a function returns: a mutex whose waiters were once in this table and once in that
/// would let two in. A constant cannot contain a table, only refer to one in a static:
///
/// ```compile_fail,E0492
/// use layby::{WaitTable, wait_table::{Home, Slots}};
///
/// static SLOTS: Slots<64> = Slots::new();
/// struct Private;
/// impl Home for Private {
///     type Backend = layby::sys::Native;
///     const TABLE: &'static WaitTable = &WaitTable::from_slots(&SLOTS);
/// }
/// ```
///
/// Nor is one home as good as another, though the compiler may take the one's type for the other's:
///
/// ```compile_fail,E0308
/// #![allow(coherence_leak_check)]
/// use layby::{WaitTable, mutex::FairMutexIn, wait_table::{Global, Home, Slots}};
/// use std::marker::PhantomData;
///
/// struct W<T>(PhantomData<T>);
/// type Sub = W<for<'a> fn(&'a u8)>;
/// type Super = W<fn(&'static u8)>;
///
/// static SLOTS: Slots<64> = Slots::new();
/// static TABLE: WaitTable = WaitTable::from_slots(&SLOTS);
/// impl Home for Sub {
///     type Backend = layby::sys::Native;
///     const TABLE: &'static WaitTable = &TABLE;
/// }
/// impl Home for Super {
///     type Backend = layby::sys::Native;
///     const TABLE: &'static WaitTable = Global::TABLE;
/// }
///
/// fn elsewhere(mutex: &FairMutexIn<u8, Sub>) -> &FairMutexIn<u8, Super> {
///     mutex
/// }
/// ```
///
/// And none of its methods can be overridden:
///
/// ```compile_fail,E0050
/// use layby::{WaitTable, wait_table::{Global, Home}};
///
/// struct Blind;
/// impl Home for Blind {
///     type Backend = layby::sys::Native;
///     const TABLE: &'static WaitTable = Global::TABLE;
///     fn is_occupied(_hash: u32) -> bool { false }
/// }
/// ```
///
/// ```
/// use layby::sys::Spin;
/// use layby::wait_table::{Home, Slots, WaitTable};
///
/// struct Private;
/// impl Home for Private {
///     type Backend = Spin;
///     const TABLE: &'static WaitTable<Spin> = {
///         static SLOTS: Slots<64, Spin> = Slots::new();
///         static TABLE: WaitTable<Spin> = WaitTable::from_slots(&SLOTS);
///         &TABLE
///     };
/// }
/// let semaphore = layby::sema::Semaphore::<Private>::new_in(1);
/// semaphore.take();
/// ```
pub trait Home: Send + Sync + 'static {
    /// How the table's waiters sleep.
    type Backend: crate::sys::Backend;

    /// The table.
    #[cfg(not(layby_model))]
    const TABLE: &'static WaitTable<Self::Backend>;

    /// The table, the same one at every call. A model checker's tables cannot be built in a constant.
    #[cfg(layby_model)]
    fn table() -> &'static WaitTable<Self::Backend>;

    /// The notifier's peek at the slot of a key with this hash, for a home that can do it faster than its table. Nobody
    /// else can name [`Peek`], so nobody else's code runs here: a post that unwound would leave a marker behind.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    fn is_occupied(hash: u32, _: sealed::Peek) -> bool {
        table_of::<Self>().is_occupied(hash)
    }
}

mod sealed {
    /// What only this crate can call, and override, [`Home::is_occupied`](super::Home::is_occupied) with.
    #[derive(Debug, Clone, Copy)]
    pub struct Peek;
}
pub(crate) use sealed::Peek;

/// Says which home or backend a type is for, and that no other will do.
///
/// `PhantomData<fn() -> H>` would not: a home may be a subtype of another, as `W<for<'a> fn(&'a u8)>` is of `W<fn(&'static u8)>`, and
/// each have a table of its own. Then a future could be published in the one, and on its drop be looked for in the other.
pub(crate) type Invariant<T> = PhantomData<fn(T) -> T>;

/// The table of a home.
#[cfg(not(layby_model))]
#[inline(always)]
pub(crate) fn table_of<H: Home + ?Sized>() -> &'static WaitTable<H::Backend> {
    H::TABLE
}

/// The table of a home.
#[cfg(layby_model)]
pub(crate) fn table_of<H: Home + ?Sized>() -> &'static WaitTable<H::Backend> {
    H::table()
}

/// The home of everything that does not say otherwise: [the global table](global).
#[derive(Debug, Clone, Copy)]
pub struct Global;

impl Home for Global {
    type Backend = Native;

    #[cfg(not(layby_model))]
    const TABLE: &'static WaitTable<Native> = global();

    #[cfg(layby_model)]
    fn table() -> &'static WaitTable<Native> {
        global()
    }

    /// A crate knows the address of another crate's static, but not its value: through the table, it would have to load
    /// where the slots are and how many.
    #[cfg(not(layby_model))]
    #[inline(always)]
    fn is_occupied(hash: u32, _: Peek) -> bool {
        SLOTS.is_occupied(hash)
    }
}

/// Waits on `location` in the loop form: `while !condition() { location_wait(&x) }`. May return early.
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
pub fn location_wait(location: impl Location) {
    global().location_wait(location);
}

/// Like [`location_wait`], but gives up at `deadline` ([how late](crate::wait_table#deadlines)).
/// [`Woken`](WaitOutcome::Woken) means: check the condition again.
///
/// ```
/// use layby::{WaitOutcome, location_wait_deadline};
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::time::{Duration, Instant};
///
/// let never = AtomicBool::new(false);
/// let deadline = Instant::now() + Duration::from_millis(10);
/// while !never.load(Ordering::Relaxed) {
///     if location_wait_deadline(&never, deadline) == WaitOutcome::TimedOut {
///         break;
///     }
/// }
/// assert!(Instant::now() >= deadline);
/// ```
pub fn location_wait_deadline(location: impl Location, deadline: Instant) -> WaitOutcome {
    global().location_wait_deadline(location, deadline)
}

/// Wakes every thread that waits on `location`; returns how many of its waiting elements were notified. See
/// [`WaitTable::wake_all`].
#[inline]
#[doc(alias("wake_all", "notify_all", "broadcast", "unpark_all", "futex_wake"))]
pub fn location_wake_all(location: impl Location) -> usize {
    fence_before_peek();
    wake_if_occupied(location.key())
}

/// Like [`location_wake_all`], but without its fence, for callers that changed the condition by a `SeqCst` store or
/// read-modify-write. See [`WaitTable::wake_all_seqcst`].
#[inline]
pub fn location_wake_all_seqcst(location: impl Location) -> usize {
    fence_before_peek_seqcst();
    wake_if_occupied(location.key())
}

/// Wakes the thread that has waited longest on `location` by [`wait_if`], and all that wait on it in other forms; returns how
/// many of its waiting elements were notified. See [`WaitTable::wake_one`].
#[doc(alias("wake_one", "notify_one", "signal", "unpark_one", "futex_wake"))]
pub fn location_wake_one(location: impl Location) -> usize {
    global().wake_one(location)
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
pub fn wait_until(location: impl Location, condition: impl FnMut() -> bool) {
    global().wait_until(location, condition);
}

/// Waits until `condition` holds or `deadline` has passed: `false` if it passed and the condition still did not hold. See
/// [`WaitTable::wait_until_deadline`].
#[must_use = "says whether the condition held"]
pub fn wait_until_deadline(location: impl Location, deadline: Instant, condition: impl FnMut() -> bool) -> bool {
    global().wait_until_deadline(location, deadline, condition)
}

/// Waits until `condition` holds or `timeout` has passed: `false` if it passed and the condition still did not hold. See
/// [`WaitTable::wait_until_timeout`].
///
/// ```
/// use layby::wait_until_timeout;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::time::Duration;
///
/// let x = AtomicU32::new(0);
/// assert!(!wait_until_timeout(&x, Duration::from_millis(1), || x.load(Ordering::Relaxed) == 1));
/// assert!(wait_until_timeout(&x, Duration::MAX, || x.load(Ordering::Relaxed) == 0));
/// ```
#[must_use = "says whether the condition held"]
pub fn wait_until_timeout(location: impl Location, timeout: Duration, condition: impl FnMut() -> bool) -> bool {
    global().wait_until_timeout(location, timeout, condition)
}

/// Waits until `attempt` returns something, and returns that. See [`WaitTable::wait_for`].
///
/// ```
/// use layby::{location_wake_all, wait_for};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let tokens = AtomicU32::new(0);
/// let try_take = || tokens.fetch_update(Ordering::Acquire, Ordering::Relaxed, |n| n.checked_sub(1)).ok();
/// std::thread::scope(|s| {
///     s.spawn(|| assert_eq!(wait_for(&tokens, try_take), 1));
///     tokens.fetch_add(1, Ordering::Release);
///     location_wake_all(&tokens);
/// });
/// ```
pub fn wait_for<T>(location: impl Location, attempt: impl FnMut() -> Option<T>) -> T {
    global().wait_for(location, attempt)
}

/// Like [`wait_for`], but gives up at `deadline`. See [`WaitTable::wait_for_deadline`].
#[must_use = "it may hold what was waited for"]
pub fn wait_for_deadline<T>(
    location: impl Location,
    deadline: Instant,
    attempt: impl FnMut() -> Option<T>,
) -> Option<T> {
    global().wait_for_deadline(location, deadline, attempt)
}

/// Like [`wait_for`], but waits for at most `timeout`. See [`WaitTable::wait_for_timeout`].
///
/// ```
/// use layby::wait_for_timeout;
/// use std::{sync::atomic::{AtomicU32, Ordering}, time::Duration};
///
/// let x = AtomicU32::new(0);
/// let attempt = || Some(x.load(Ordering::Relaxed)).filter(|&value| value != 0);
/// assert_eq!(wait_for_timeout(&x, Duration::from_millis(1), attempt), None);
/// x.store(7, Ordering::Relaxed);
/// assert_eq!(wait_for_timeout(&x, Duration::MAX, attempt), Some(7));
/// ```
#[must_use = "it may hold what was waited for"]
pub fn wait_for_timeout<T>(
    location: impl Location,
    timeout: Duration,
    attempt: impl FnMut() -> Option<T>,
) -> Option<T> {
    global().wait_for_timeout(location, timeout, attempt)
}

/// Like [`wait_for`], but gives up when `limit` is reached. See [`WaitTable::wait_for_within`].
///
/// # Errors
/// How the limit was reached, if no attempt succeeded.
pub fn wait_for_within<'a, T>(
    location: impl Location,
    limit: impl Into<Limit<'a>>,
    attempt: impl FnMut() -> Option<T>,
) -> Result<T, Stopped> {
    global().wait_for_within(location, limit, attempt)
}

/// Waits until `condition` holds or `limit` is reached: a deadline, a timeout, a [`Cancel`](super::Cancel), or several of
/// them. See [`WaitTable::wait_until_within`].
///
/// # Errors
/// How the limit was reached, if the condition still did not hold then.
///
/// ```
/// use layby::{Cancel, Limit, Stopped, wait_until_within};
/// use std::{sync::atomic::{AtomicU32, Ordering}, time::Duration};
///
/// let (x, cancel) = (AtomicU32::new(0), Cancel::new());
/// let limit = Limit::from(Duration::from_millis(1)).or(&cancel);
/// assert_eq!(wait_until_within(&x, limit, || x.load(Ordering::Relaxed) == 1), Err(Stopped::TimedOut));
/// assert_eq!(wait_until_within(&x, limit, || x.load(Ordering::Relaxed) == 0), Ok(()));
/// ```
pub fn wait_until_within<'a>(
    location: impl Location,
    limit: impl Into<Limit<'a>>,
    condition: impl FnMut() -> bool,
) -> Result<(), Stopped> {
    global().wait_until_within(location, limit, condition)
}

/// Waits until `condition` holds, which may depend on several locations: a wake-up of any of them has it checked. See
/// [`WaitTable::wait_until_any`].
///
/// ```
/// use layby::{Location, location_wake_all, wait_until_any};
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let (left, right) = (AtomicBool::new(false), AtomicBool::new(false));
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         wait_until_any(&[left.key(), right.key()], || left.load(Ordering::Relaxed) || right.load(Ordering::Relaxed));
///     });
///     right.store(true, Ordering::Relaxed);
///     location_wake_all(&right);
/// });
/// ```
///
/// # Panics
/// If there is no location.
#[doc(alias = "select")]
#[track_caller]
pub fn wait_until_any(locations: &[Key], condition: impl FnMut() -> bool) {
    global().wait_until_any(locations, condition);
}

/// Like [`wait_until_any`], but gives up at `deadline`: `false` if it passed and the condition still did not hold. See
/// [`WaitTable::wait_until_any_deadline`].
#[must_use = "says whether the condition held"]
pub fn wait_until_any_deadline(locations: &[Key], deadline: Instant, condition: impl FnMut() -> bool) -> bool {
    global().wait_until_any_deadline(locations, deadline, condition)
}

/// Like [`wait_until_any`], but waits for at most `timeout`: `false` if it passed and the condition still did not hold. See
/// [`WaitTable::wait_until_any_timeout`].
#[must_use = "says whether the condition held"]
pub fn wait_until_any_timeout(locations: &[Key], timeout: Duration, condition: impl FnMut() -> bool) -> bool {
    global().wait_until_any_timeout(locations, timeout, condition)
}

/// Like [`wait_until_any`], but gives up when `limit` is reached. See [`WaitTable::wait_until_any_within`].
///
/// # Errors
/// How the limit was reached, if the condition still did not hold then.
pub fn wait_until_any_within<'a>(
    locations: &[Key],
    limit: impl Into<Limit<'a>>,
    condition: impl FnMut() -> bool,
) -> Result<(), Stopped> {
    global().wait_until_any_within(locations, limit, condition)
}

/// If `still` holds, waits for a wake-up of `location`; may return early. The form that [`location_wake_one`] wakes one by
/// one. See [`WaitTable::wait_if`].
///
/// ```
/// use layby::{location_wake_one, wait_if};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let tokens = AtomicU32::new(0);
/// let try_take = || tokens.fetch_update(Ordering::Acquire, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok();
/// std::thread::scope(|s| {
///     for _ in 0..2 {
///         s.spawn(|| {
///             while !try_take() {
///                 wait_if(&tokens, || tokens.load(Ordering::Relaxed) == 0);
///             }
///         });
///     }
///     for _ in 0..2 {
///         tokens.fetch_add(1, Ordering::Release);
///         location_wake_one(&tokens); // one token, one thread
///     }
/// });
/// ```
#[doc(alias = "futex_wait")]
pub fn wait_if(location: impl Location, still: impl FnOnce() -> bool) {
    global().wait_if(location, still);
}

/// Like [`wait_if`], but gives up at `deadline`. See [`WaitTable::wait_if_deadline`].
///
/// ```
/// use layby::{WaitOutcome, wait_if_deadline};
/// use std::sync::atomic::AtomicU32;
/// use std::time::{Duration, Instant};
///
/// let x = AtomicU32::new(0);
/// let deadline = Instant::now() + Duration::from_millis(1);
/// assert_eq!(wait_if_deadline(&x, deadline, || false), WaitOutcome::Woken);
/// while wait_if_deadline(&x, deadline, || true) == WaitOutcome::Woken {}
/// assert!(Instant::now() >= deadline);
/// ```
pub fn wait_if_deadline(location: impl Location, deadline: Instant, still: impl FnOnce() -> bool) -> WaitOutcome {
    global().wait_if_deadline(location, deadline, still)
}

/// Like [`wait_if`], but gives up when `limit` is reached. See [`WaitTable::wait_if_within`].
///
/// # Errors
/// How the limit was reached. A wake-up that has been used up is never reported as one.
pub fn wait_if_within<'a>(
    location: impl Location,
    limit: impl Into<Limit<'a>>,
    still: impl FnOnce() -> bool,
) -> Result<(), Stopped> {
    global().wait_if_within(location, limit, still)
}

/// Arms the calling thread for `location`: check the condition, then [wait](Armed::wait). See [`Armed`].
pub fn arm(location: impl Location) -> Armed {
    global().arm(location)
}

/// The table's own peek and wake, with the home's faster peek.
#[inline(always)]
fn wake_if_occupied(key: Key) -> usize {
    if Global::is_occupied(key.hash(), Peek) | global().is_alert() { global().wake_if_current(key) } else { 0 }
}
