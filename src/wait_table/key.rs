//! What a waiter waits on: an address, or an address and a ticket. Pure arithmetic.

use crate::sync::IN_A_MODEL;
use core::{fmt, ops::RangeInclusive};

/// A location, or a location and a ticket: what waiters wait on and notifiers notify.
///
/// A key is a name. It keeps nothing alive, reads nothing, and may outlive what it names. Two different keys may share
/// a slot of the table; a wake-up of one disturbs the other only if two threads choose among the slot's waiters at a time.
///
/// The crate's own primitives wait under keys that nobody else can make: to wait or wake at the address of a mutex, or of
/// an object that begins with one, does not reach the mutex's waiters.
///
/// ```
/// use layby::{Key, Location};
/// use std::sync::atomic::AtomicU32;
///
/// let x = AtomicU32::new(0);
/// assert_eq!(Key::address(&x), x.key());
/// assert_ne!(Key::ticket(&x, 1), Key::ticket(&x, 2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a key is a name, and does nothing by itself"]
pub struct Key {
    address: usize,
    kind: Kind,
    maker: Maker,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Address,
    Ticket(u64),
}

/// Who makes the key. What waits under the crate's own keys cannot be reached by a user's.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Maker {
    User,
    Crate,
}

/// The bits of a packed key.
const HAS_TICKET: u8 = 1;
const IS_THE_CRATES: u8 = 2;

impl Key {
    /// The key of the place where `location` is, whatever it is: its address, hashed by the paper's Mix32A.
    ///
    /// Of a reference to a pointer it is the pointer's own address: `Key::address(&arc)` names this one of several handles, and a
    /// wake-up by way of another misses it. [`Location::key`](super::Location::key) is what to call for the pointee's, or
    /// `Key::address(&*arc)`.
    ///
    /// # Panics
    /// If `location` has no size. Such things have no place of their own: two of them may have one address, and a wake-up of
    /// one would go to those who wait on the other.
    ///
    /// ```should_panic
    /// struct Door;
    /// layby::Key::address(&Door);
    /// ```
    #[inline]
    #[track_caller]
    pub fn address<T: ?Sized>(location: &T) -> Self {
        assert_has_size(location);
        Self::address_at(location)
    }

    /// Like [`address`](Self::address), but for a location that may be gone. The address is taken for what it is, and its
    /// type may have no size.
    #[inline]
    pub fn address_at<T: ?Sized>(location: *const T) -> Self {
        Self { address: location.addr(), kind: Kind::Address, maker: Maker::User }
    }

    /// Like [`ticket`](Self::ticket), but for a location that may be gone, or that is no [`Location`](super::Location).
    #[inline]
    pub fn ticket_at<T: ?Sized>(location: *const T, ticket: u64) -> Self {
        Self { address: location.addr(), kind: Kind::Ticket(ticket), maker: Maker::User }
    }

    /// The key of a primitive of this crate, which may be gone.
    #[inline]
    pub(crate) fn of_primitive<T: ?Sized>(primitive: *const T) -> Self {
        Self { address: primitive.addr(), kind: Kind::Address, maker: Maker::Crate }
    }

    /// The key of a ticket of a primitive of this crate, which may be gone.
    #[inline]
    pub(crate) fn ticket_of_primitive<T: ?Sized>(primitive: *const T, ticket: u64) -> Self {
        Self { address: primitive.addr(), kind: Kind::Ticket(ticket), maker: Maker::Crate }
    }

    /// The key that a user would make of the same location and ticket: for reports, which hand keys out.
    pub(super) fn as_made_by_user(self) -> Self {
        Self { maker: Maker::User, ..self }
    }

    /// How many bits the last of [`packed`](Self::packed) has.
    pub(super) const PACKED_BITS: u32 = 2;

    /// The address, the ticket if it has one, and the rest, for where there is little room.
    #[inline]
    pub(super) fn packed(self) -> (usize, u64, u8) {
        let (ticket, has_ticket) = match self.kind {
            Kind::Address => (0, 0),
            Kind::Ticket(ticket) => (ticket, HAS_TICKET),
        };
        let is_the_crates = if self.maker == Maker::Crate { IS_THE_CRATES } else { 0 };
        (self.address, ticket, has_ticket | is_the_crates)
    }

    /// What was [`packed`](Self::packed).
    #[inline]
    pub(super) fn unpacked(address: usize, ticket: u64, rest: u8) -> Self {
        let kind = if rest & HAS_TICKET == 0 { Kind::Address } else { Kind::Ticket(ticket) };
        let maker = if rest & IS_THE_CRATES == 0 { Maker::User } else { Maker::Crate };
        Self { address, kind, maker }
    }

    /// The address.
    pub fn location(self) -> usize {
        self.address
    }

    /// The ticket, if it has one.
    #[inline]
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
    /// assert!(Key::ticket_at(&pair.1, 7).is_within(&pair));
    /// assert!(!Key::address(&pair.1).is_within(&pair.0));
    /// ```
    pub fn is_within<T: ?Sized>(self, object: &T) -> bool {
        let offset = self.address.wrapping_sub(core::ptr::from_ref(object).addr());
        offset < size_of_val(object).max(1)
    }

    /// Whether this is the key of one of `tickets` at the location of `first`, a ticket's key itself.
    pub(super) fn is_among(self, first: Self, tickets: &RangeInclusive<u64>) -> bool {
        self.address == first.address
            && self.maker == first.maker
            && matches!(self.kind, Kind::Ticket(ticket) if tickets.contains(&ticket))
    }

    /// The hash from which a table takes as many low bits as it needs: for a location Mix32A of its address, for a ticket
    /// TWAHash of the same and the ticket.
    ///
    /// The paper's TWAHash takes the address as it is. Semaphores on the stacks of threads, or at one place of their pages,
    /// have their low bits in common, and would share one slot for each ticket. Mixed, they do not, and the tickets of
    /// one location march as before.
    #[inline]
    pub(crate) fn hash(self) -> u32 {
        let mixed = mix_address(self.address);
        match self.kind {
            Kind::Address => mixed,
            Kind::Ticket(ticket) => twa_hash(mixed, ticket as u32),
        }
    }

    /// A few bits of the key that the slot does not tell: not 0, and below `limit`, a power of two.
    #[inline]
    pub(super) fn fingerprint(self, limit: usize) -> usize {
        let bits = if IN_A_MODEL { self.hash() } else { self.hash() >> 16 };
        (bits as usize & (limit - 1)).max(1)
    }
}

/// The paper hashes the low 32 bits of an address. A model must do the same in every execution, wherever the allocator puts
/// things.
#[inline]
fn mix_address(address: usize) -> u32 {
    match address as u32 {
        _ if IN_A_MODEL => 0,
        0 => mix32a(STAND_IN_FOR_NULL),
        address => mix32a(address),
    }
}

/// Things of no size share addresses. For a type whose size is known, the compiler leaves nothing of this.
#[inline(always)]
#[track_caller]
fn assert_has_size<T: ?Sized>(location: &T) {
    assert!(
        size_of_val(location) != 0,
        "a `{}` of no size has no address of its own to be waited on",
        core::any::type_name::<T>()
    );
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
pub(crate) const fn twa_hash(address: u32, ticket: u32) -> u32 {
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

    #[cfg_attr(miri, ignore = "arithmetic, thousands of times")]
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

    #[cfg_attr(miri, ignore = "arithmetic, two million times")]
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
        let is_within = |offset| Key::address_at(pair.as_ptr().wrapping_add(offset)).is_within(&pair);
        assert_eq!([usize::MAX, 0, 1, 2].map(is_within), [false, true, true, false]);
        let nothing = (); // What has no bytes has a place.
        assert!(Key::address_at(&raw const nothing).is_within(&nothing));
    }

    #[test]
    fn the_tickets_of_a_location_are_among_them_and_nothing_else() {
        let [here, there] = &[0_u8; 2];
        let is_among = |key: Key| key.is_among(Key::ticket_at(here, 1), &(1..=3));
        assert_eq!(
            [0, 1, 2, 3, 4].map(|ticket| is_among(Key::ticket_at(here, ticket))),
            [false, true, true, true, false]
        );
        assert!(!is_among(Key::ticket_at(there, 2)) && !is_among(Key::address(here)));
        assert!(!is_among(Key::ticket_of_primitive(here, 2)));
    }

    #[test]
    fn what_is_packed_is_there_when_it_is_unpacked() {
        let here = &0_u8;
        for key in [
            Key::address(here),
            Key::ticket_at(here, u64::MAX),
            Key::of_primitive(here),
            Key::ticket_of_primitive(here, 0),
        ] {
            let (address, ticket, rest) = key.packed();
            assert!(u32::from(rest) < 1 << Key::PACKED_BITS && Key::unpacked(address, ticket, rest) == key);
        }
    }

    #[test]
    fn null_and_its_stand_in_share_a_slot() {
        assert_eq!(Key::address_at(core::ptr::null::<u8>()).hash(), mix32a(0xD1CE));
    }
}
