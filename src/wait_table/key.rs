//! What a waiter waits on: an address, or an address and a ticket. Pure arithmetic.

use crate::sync::IN_A_MODEL;
use core::{fmt, ops::RangeInclusive};

/// A location, or a location and a ticket: what waiters wait on and notifiers notify.
///
/// A key is a name. It keeps nothing alive, reads nothing, and may outlive what it names. Two different keys may share
/// a slot of the table; then a wake-up of one is a spurious wake-up of the other.
///
/// ```
/// use layby::Key;
/// use std::sync::atomic::AtomicU32;
///
/// let x = AtomicU32::new(0);
/// assert_eq!(Key::address(&x), (&x).into());
/// assert_ne!(Key::ticket(&x, 1), Key::ticket(&x, 2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    address: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Address,
    Ticket(u64),
}

impl Key {
    /// The key of a location: its address, hashed by the paper's Mix32A.
    #[inline]
    pub fn address<T: ?Sized>(location: &T) -> Self {
        Self::from(core::ptr::from_ref(location))
    }

    /// The key of a ticket at a location, hashed by the paper's TWAHash: address + ticket * 17.
    ///
    /// Consecutive tickets of one location march through all slots of the table before they repeat, and never share a
    /// cache line with their neighbours.
    #[inline]
    pub fn ticket<T: ?Sized>(location: &T, ticket: u64) -> Self {
        Self::ticket_at(core::ptr::from_ref(location), ticket)
    }

    /// Like [`ticket`](Self::ticket), but for a location that may be gone.
    #[inline]
    pub fn ticket_at<T: ?Sized>(location: *const T, ticket: u64) -> Self {
        Self { address: location.addr(), kind: Kind::Ticket(ticket) }
    }

    /// The address.
    pub fn location(self) -> usize {
        self.address
    }

    /// The ticket, if it has one.
    pub fn ticket_number(self) -> Option<u64> {
        match self.kind {
            Kind::Address => None,
            Kind::Ticket(ticket) => Some(ticket),
        }
    }

    /// Whether the location is `object` or a part of it: of the semaphore, mutex or eventcount itself, or of whatever
    /// holds it.
    ///
    /// ```
    /// # use layby::Key;
    /// let pair = (1, 2);
    /// assert!(Key::ticket(&pair.1, 7).is_within(&pair));
    /// assert!(!Key::address(&pair.1).is_within(&pair.0));
    /// ```
    pub fn is_within<T: ?Sized>(self, object: &T) -> bool {
        let offset = self.address.wrapping_sub(core::ptr::from_ref(object).addr());
        offset < size_of_val(object).max(1)
    }

    /// Whether this is the key of one of `tickets` at `location`.
    pub(super) fn is_among<T: ?Sized>(self, location: *const T, tickets: &RangeInclusive<u64>) -> bool {
        self.address == location.addr() && matches!(self.kind, Kind::Ticket(ticket) if tickets.contains(&ticket))
    }

    /// The hash from which a table takes as many low bits as it needs.
    #[inline]
    pub(crate) fn hash(self) -> u32 {
        // The paper hashes the low 32 bits of an address.
        let address = self.address as u32;
        match self.kind {
            // A model must do the same in every execution, wherever the allocator puts things.
            Kind::Address if IN_A_MODEL => 0,
            Kind::Address => mix32a(if address == 0 { STAND_IN_FOR_NULL } else { address }),
            Kind::Ticket(ticket) => twa_hash(address, ticket as u32),
        }
    }
}

/// An address converts to its key, so that `location_wake_all(&x)` can be written.
impl<T: ?Sized> From<&T> for Key {
    #[inline]
    fn from(location: &T) -> Self {
        Self::address(location)
    }
}

/// A raw address will do, even one whose object is gone: a key is a name only.
impl<T: ?Sized> From<*const T> for Key {
    #[inline]
    fn from(location: *const T) -> Self {
        Self { address: location.addr(), kind: Kind::Address }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Address => write!(f, "{:#x}", self.address),
            Kind::Ticket(ticket) => write!(f, "{:#x}, ticket {ticket}", self.address),
        }
    }
}

/// The paper's replacement for the address 0.
const STAND_IN_FOR_NULL: u32 = 0xD1CE;

/// The paper's Mix32A, constant for constant.
const fn mix32a(v: u32) -> u32 {
    const MIX32_KA: u32 = 0x9abe_94e3;
    let v = (v ^ (v >> 16)).wrapping_mul(MIX32_KA);
    let v = (v ^ (v >> 16)).wrapping_mul(MIX32_KA);
    v ^ (v >> 16)
}

/// The paper's TWAHash. 17 is coprime with every power of two, and 17 slots of 8 bytes are more than two cache lines.
const fn twa_hash(address: u32, ticket: u32) -> u32 {
    address.wrapping_add(ticket.wrapping_mul(17))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mix32a_is_the_papers() {
        // Computed from the listing's C++ with a C compiler.
        assert_eq!(mix32a(0), 0);
        assert_eq!(mix32a(1), 2_983_866_797);
        assert_eq!(mix32a(0xD1CE), 1_073_099_167);
        assert_eq!(mix32a(0xdead_beef), 1_043_062_691);
    }

    #[test]
    fn tickets_visit_every_slot_before_repeating() {
        for size in [1_u32, 2, 64, 4096] {
            let mut seen = vec![false; size as usize];
            for ticket in 0..size {
                let index = (twa_hash(0xffff_fff0, ticket) & (size - 1)) as usize;
                assert!(!core::mem::replace(&mut seen[index], true), "slot {index} of {size} twice");
            }
        }
    }

    #[test]
    fn adjacent_tickets_never_share_a_cache_line() {
        const SLOTS_PER_LINE: u32 = 64 / 8;
        for address in (0..4096_u32).step_by(8) {
            for ticket in 0..4096_u32 {
                let line = |t: u32| (twa_hash(address, t) & 4095) / SLOTS_PER_LINE;
                assert_ne!(line(ticket), line(ticket + 1));
            }
        }
    }

    #[test]
    fn within_is_from_the_first_byte_to_the_last() {
        let pair = [1_u8, 2];
        let is_within = |offset| Key::from(pair.as_ptr().wrapping_add(offset)).is_within(&pair);
        assert_eq!([usize::MAX, 0, 1, 2].map(is_within), [false, true, true, false]);
        // What has no bytes has a place.
        assert!(Key::address(&()).is_within(&()));
    }

    #[test]
    fn the_tickets_of_a_location_are_among_them_and_nothing_else() {
        let [here, there] = &[0_u8; 2];
        let is_among = |key: Key| key.is_among(here, &(1..=3));
        assert_eq!([0, 1, 2, 3, 4].map(|ticket| is_among(Key::ticket(here, ticket))), [false, true, true, true, false]);
        assert!(!is_among(Key::ticket(there, 2)) && !is_among(Key::address(here)));
    }

    #[test]
    fn null_and_its_stand_in_share_a_slot() {
        assert_eq!(Key::from(core::ptr::null::<u8>()).hash(), mix32a(0xD1CE));
    }
}
