//! The type of a queue's counters: 64 bits where the target has such atomics, otherwise 32.
//!
//! Tickets are compared by their distance, so a counter may wrap as long as no two living tickets are half its range apart,
//! which [`MAX_DISTANCE`] guarantees. Even the wide counter can wrap, if many permits are put in and taken at a time: five
//! times [`MAX_DISTANCE`] is enough.

use crate::wait_table::Key;
#[cfg(any(not(target_has_atomic = "64"), layby_narrow))]
pub(crate) use narrow::*;

#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
pub(crate) use wide::*;

#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
mod wide {
    pub(crate) use crate::sync::atomic::AtomicU64 as AtomicWord;
    pub(crate) type Word = u64;
    pub(crate) type Distance = i64;
}

#[cfg(any(not(target_has_atomic = "64"), layby_narrow))]
mod narrow {
    pub(crate) use crate::sync::atomic::AtomicU32 as AtomicWord;
    pub(crate) type Word = u32;
    pub(crate) type Distance = i32;
}

/// Whether single takes and posts could overflow the counters, so that each must be checked. 64 bits cannot be filled one
/// by one in practice.
pub(crate) const NARROW: bool = Word::BITS < 64;

/// The most permits that can be there, and the most tickets that can wait. Half of what the comparison could bear: all the
/// waiting tickets may be given back just when that many permits are there.
pub(crate) const MAX_DISTANCE: Word = Distance::MAX as Word / 2;

/// [`MAX_DISTANCE`] as users see it.
#[allow(clippy::unnecessary_cast, reason = "a word is 32 bits wide on some targets")]
pub(crate) const MAX_PERMITS: u64 = MAX_DISTANCE as u64;

/// `permits` as the counters count them.
///
/// # Panics
/// If there are more than [`MAX_PERMITS`].
pub(crate) const fn word_of(permits: u64) -> Word {
    assert!(permits <= MAX_PERMITS, "layby: more permits than a semaphore can hold");
    permits as Word
}

/// Panics if one counter, which is `ahead` of the other, cannot be moved on by `n`; `doing` says what that would have been.
#[inline]
pub(crate) fn check_room(doing: &str, n: Word, ahead: Distance) {
    assert!(
        n <= MAX_DISTANCE && ahead <= (MAX_DISTANCE - n).cast_signed(),
        "layby: {doing} {n} permits would overflow the semaphore"
    );
}

/// The key under which the holder of `ticket` waits.
#[inline]
#[allow(clippy::useless_conversion, reason = "a word is 32 bits wide on some targets")]
pub(crate) fn key_of<T>(queue: *const T, ticket: Word) -> Key {
    Key::ticket_at(queue, u64::from(ticket))
}

/// How far `later` lies behind `earlier`; negative if it is before it.
#[inline]
pub(crate) const fn distance(earlier: Word, later: Word) -> Distance {
    later.wrapping_sub(earlier).cast_signed()
}

/// Whether ticket `a` comes before ticket `b`.
#[inline]
pub(crate) const fn before(a: Word, b: Word) -> bool {
    distance(a, b) > 0
}
