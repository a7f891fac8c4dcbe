//! The type of a queue's counters: 64 bits where the target has such atomics, otherwise 32.
//!
//! Tickets are compared by their distance, so a counter may wrap as long as no two living tickets are half its range apart,
//! which [`MAX_DISTANCE`] guarantees of those who wait. (A future that has been granted its ticket, and is not polled while half of the
//! range is granted to others, does not know any more that it was: SECURITY.md.) Even the wide counter can wrap, if many permits are put in and taken at a time: nine
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

/// The most permits that can be put in, and the most tickets that can wait. A quarter of what the comparison could bear:
///
/// - all the waiting tickets may be given back just when that many permits are there, which makes half of it (those that have been granted
///   to futures, and are given back unpolled, come on top: SECURITY.md);
/// - single posts to a wide counter are not checked. The other half is room for 2^62 of them on top.
pub(crate) const MAX_DISTANCE: Word = Distance::MAX as Word / 4;

/// [`MAX_DISTANCE`] as users see it.
#[allow(clippy::unnecessary_cast, reason = "a word is 32 bits wide on some targets")]
pub(crate) const MAX_PERMITS: u64 = MAX_DISTANCE as u64;

/// `permits` as the counters count them.
///
/// # Panics
/// If there are more than [`MAX_PERMITS`].
#[track_caller]
#[inline]
pub(crate) const fn word_of(permits: u64) -> Word {
    // A constant cannot be made with a message that has numbers in it.
    let too_many = if NARROW {
        "layby: more permits than a semaphore can hold, which is 2^29 - 1"
    } else {
        "layby: more permits than a semaphore can hold, which is 2^61 - 1"
    };
    assert!(permits <= MAX_PERMITS, "{}", too_many);
    permits as Word
}

/// Panics if one counter, which is `ahead` of the other, cannot be moved on by `n`; `doing` says what that would have been.
#[inline]
#[track_caller]
pub(crate) fn check_room(doing: &str, n: Word, ahead: Distance) {
    let room = room(MAX_DISTANCE, ahead);
    assert!(n <= room, "layby: {doing} {n} permits would overflow the semaphore, which has room for {room}");
}

/// By how much one counter, which is `ahead` of the other, can be moved on at once, so that it is not more than `limit` ahead.
#[inline]
pub(super) fn room(limit: Word, ahead: Distance) -> Word {
    // In signed numbers: `ahead` is negative if the other is ahead.
    let room = limit.cast_signed().saturating_sub(ahead);
    if room < 0 {
        0
    } else if room > limit.cast_signed() {
        limit
    } else {
        room.cast_unsigned()
    }
}

/// The key under which the holder of `ticket` waits.
#[inline]
#[allow(clippy::useless_conversion, reason = "a word is 32 bits wide on some targets")]
pub(crate) fn key_of<T>(queue: *const T, ticket: Word) -> Key {
    Key::ticket_of_primitive(queue, u64::from(ticket))
}

/// The ticket whose holder waits under `key`, if that is a key of this queue.
#[inline]
pub(crate) fn ticket_of<T>(queue: *const T, key: Key) -> Option<Word> {
    let ticket = key.ticket_number()? as Word;
    (key == key_of(queue, ticket)).then_some(ticket)
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
