//! The counters of a line: 64 bits where the target has such atomics, otherwise 32.
//!
//! Everything compares tickets by their distance, so that a wrap does no harm as long as no two living tickets are half
//! the range apart, which [`MAX_DISTANCE`] sees to. The wide counter wraps too, if many permits are put in and taken at a
//! time: five times [`MAX_DISTANCE`] are enough.

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

/// The most permits, and the most tickets ahead of the grants. Half of what the comparison could bear: as many tickets
/// that wait may be given back just when as many permits are there.
pub(crate) const MAX_DISTANCE: Word = Distance::MAX as Word / 2;

/// [`MAX_DISTANCE`] as users see it.
#[allow(clippy::unnecessary_cast, reason = "a word is 32 bits wide on some targets")]
pub(crate) const MAX_PERMITS: u64 = MAX_DISTANCE as u64;

/// The key under which the holder of `ticket` waits.
#[inline]
#[allow(clippy::useless_conversion, reason = "a word is 32 bits wide on some targets")]
pub(crate) fn key_of<T>(line: *const T, ticket: Word) -> Key {
    Key::ticket_at(line, u64::from(ticket))
}

/// How far `later` lies behind `earlier` in line; negative if it is before it.
#[inline]
pub(crate) const fn distance(earlier: Word, later: Word) -> Distance {
    later.wrapping_sub(earlier).cast_signed()
}

/// Whether ticket `a` comes before ticket `b`.
#[inline]
pub(crate) const fn before(a: Word, b: Word) -> bool {
    distance(a, b) > 0
}
