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
    /// 0 if it has none, so that nobody need ask before keys are compared and hashed.
    ticket: u64,
    kind: Kind,
}

/// What is named, and who makes the key. What waits under the crate's own keys cannot be reached by a user's.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
enum Kind {
    Address,
    Ticket,
    CratesAddress,
    CratesTicket,
}

impl Kind {
    /// What [`Key::packed`] has made of it. (A match, and not a table: the compiler sees that there is nothing to do.)
    #[inline]
    fn unpacked(bits: u8) -> Self {
        match bits % 4 {
            0 => Self::Address,
            1 => Self::Ticket,
            2 => Self::CratesAddress,
            _ => Self::CratesTicket,
        }
    }

    /// By one bit: of the two that have a ticket it is set.
    #[inline]
    fn has_ticket(self) -> bool {
        const { assert!(Self::Ticket as u8 & Self::CratesTicket as u8 & 1 == 1) };
        const { assert!((Self::Address as u8 | Self::CratesAddress as u8) & 1 == 0) };
        self as u8 & 1 == 1
    }

    fn as_made_by_user(self) -> Self {
        if self.has_ticket() { Self::Ticket } else { Self::Address }
    }
}

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
        Self { address: location.addr(), ticket: 0, kind: Kind::Address }
    }

    /// Like [`ticket`](Self::ticket), but for a location that may be gone, or that is no [`Location`](super::Location).
    #[inline]
    pub fn ticket_at<T: ?Sized>(location: *const T, ticket: u64) -> Self {
        Self { address: location.addr(), ticket, kind: Kind::Ticket }
    }

    /// The key of a primitive of this crate, which may be gone.
    #[inline]
    pub(crate) fn of_primitive<T: ?Sized>(primitive: *const T) -> Self {
        Self { address: primitive.addr(), ticket: 0, kind: Kind::CratesAddress }
    }

    /// The key of a ticket of a primitive of this crate, which may be gone.
    #[inline]
    pub(crate) fn ticket_of_primitive<T: ?Sized>(primitive: *const T, ticket: u64) -> Self {
        Self { address: primitive.addr(), ticket, kind: Kind::CratesTicket }
    }

    /// The key that a user would make of the same location and ticket: for reports, which hand keys out.
    pub(super) fn as_made_by_user(self) -> Self {
        Self { kind: self.kind.as_made_by_user(), ..self }
    }

    /// The address and the ticket, if it is the key of a ticket of a primitive of this crate.
    pub(super) fn ticket_of_a_primitive(self) -> Option<(usize, u64)> {
        (self.kind == Kind::CratesTicket).then_some((self.address, self.ticket))
    }

    /// How many bits the last of [`packed`](Self::packed) has.
    pub(super) const PACKED_BITS: u32 = 2;

    /// The address, the ticket if it has one, or 0, and the rest, for where there is little room.
    #[inline]
    pub(super) fn packed(self) -> (usize, u64, u8) {
        (self.address, self.ticket, self.kind as u8)
    }

    /// What was [`packed`](Self::packed).
    #[inline]
    pub(super) fn unpacked(address: usize, ticket: u64, rest: u8) -> Self {
        Self { address, ticket, kind: Kind::unpacked(rest) }
    }

    /// The address.
    #[inline]
    #[must_use]
    pub fn location(self) -> usize {
        self.address
    }

    /// The ticket, if it has one.
    #[inline]
    #[must_use]
    pub fn ticket_number(self) -> Option<u64> {
        self.kind.has_ticket().then_some(self.ticket)
    }

    /// The ticket, for who knows that it has one.
    #[inline]
    pub(crate) fn ticket_or_0(self) -> u64 {
        self.ticket
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
        self.address == first.address && self.kind == first.kind && tickets.contains(&self.ticket)
    }

    /// The hash from which a table takes as many low bits as it needs: for a location Mix32A of its address, for a ticket
    /// TWAHash of the same and the ticket.
    ///
    /// The paper's TWAHash takes the address as it is. Semaphores on the stacks of threads, or at one place of their pages,
    /// have their low bits in common, and would share one slot for each ticket. Mixed, they do not, and the tickets of
    /// one location march as before.
    #[inline]
    pub(crate) fn hash(self) -> u32 {
        // Of no ticket it is Mix32A.
        twa_hash(mix_address(self.address), self.ticket as u32)
    }

    /// Where a bank of tasks has it: tickets that follow each other are neighbours there, and so are the words of an array. As with the
    /// hash, as many low bits are taken as are needed.
    #[inline]
    pub(super) fn row(self) -> Row {
        if self.kind.has_ticket() {
            return Row(spread(self.address).wrapping_add(self.ticket as u32));
        }
        Row(if IN_A_MODEL { 0 } else { row_of_address(self.address) })
    }

    /// The hash of the key of the ticket that is `distance` behind this one's, at the same location, made of this one's.
    #[inline]
    pub(crate) const fn hash_behind(hash: u32, distance: u32) -> u32 {
        twa_hash(hash, distance)
    }
}

/// Half of each bank of a table with 4,096 slots for threads: so far apart are the two halves of a word of eight bytes. In a table of
/// another size they may share a slot.
const HALVES: u32 = 1 << 11 | 1 << 15 | 1 << 19 | 1 << 23;

/// The words of eight bytes one by one, so that those of an array are each alone, and eight of them on a line of slots; but
///
/// - in another order in each page, for those who wait on their stacks, or in objects of one page each, may all do so in one place of it;
/// - and in another order of pages after two megabytes, for stacks begin a power of two apart. (Where that is 16 megabytes or more, a bank
///   of 4,096 slots keeps the 512 places of the first rule, and no more.)
///
/// Only bits of the same page, or of pages further on, are changed by that: no two words become one.
#[inline]
fn row_of_address(address: usize) -> u32 {
    let within_pages = spread(address >> 12) >> 23;
    let among_pages = (address >> 21 << 9) as u32;
    let half = (address as u32 & 4).wrapping_mul(HALVES / 4);
    (address >> 3) as u32 ^ within_pages ^ among_pages ^ half
}

/// A place in every bank of tasks: see [`Key::row`].
#[derive(Clone, Copy)]
pub(super) struct Row(pub(super) u32);

/// A number for an address, such that addresses at equal distances have numbers that are evenly far apart: the product with the golden
/// ratio, folded, for the bits in its middle are not even. A task finds its slot with a third of the instructions that Mix32A takes. Of a million tasks each
/// waits for memory when it looks for its slot, and the processor goes ahead to the next meanwhile, by so many instructions as it has room for.
#[inline]
fn spread(address: usize) -> u32 {
    const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
    let product = (address as u64).wrapping_mul(GOLDEN_RATIO);
    if IN_A_MODEL { 0 } else { (product >> 32 ^ product >> 44) as u32 }
}

/// A few bits of a key with this hash that its slot does not tell: not 0, and below `limit`, a power of two.
#[inline]
pub(super) fn fingerprint(hash: u32, limit: usize) -> usize {
    let bits = if IN_A_MODEL { hash } else { hash >> 16 };
    (bits as usize & (limit - 1)).max(1)
}

/// The paper hashes the low 32 bits of an address. A model must do the same in every execution, wherever the allocator puts
/// things.
#[inline]
fn mix_address(address: usize) -> u32 {
    if IN_A_MODEL {
        return 0;
    }
    // Mixed in one place, whichever it is: that is not done again for the next ticket.
    mix32a(if address as u32 == 0 { STAND_IN_FOR_NULL } else { address as u32 })
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
        match self.ticket_number() {
            None => write!(f, "{:#x}", self.address),
            Some(ticket) => write!(f, "{:#x}, ticket {ticket}", self.address),
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
    fn tickets_in_a_row_are_neighbours() {
        let here = &0_u8;
        for ticket in [0, 1, 12_345, u64::from(u32::MAX)] {
            let [this, next] = [ticket, ticket + 1].map(|ticket| Key::ticket_at(here, ticket).row().0);
            assert_eq!(next, this.wrapping_add(1));
        }
    }

    fn row_of(address: usize) -> u32 {
        Key::address_at(core::ptr::without_provenance::<u32>(address)).row().0
    }

    fn count_rows(addresses: impl Iterator<Item = usize>, slots: u32) -> usize {
        addresses.map(|address| row_of(address) % slots).collect::<std::collections::HashSet<_>>().len()
    }

    #[cfg_attr(layby_model, ignore = "a model has no addresses")]
    #[test]
    fn eight_words_are_on_one_line() {
        for start in [usize::MAX / 3 / 64 * 64, 4096] {
            let lines: std::collections::HashSet<_> = (0..8).map(|nth| row_of(start + nth * 8) / 8).collect();
            assert_eq!(lines.len(), 1);
        }
    }

    #[cfg_attr(any(layby_model, miri), ignore = "a model has no addresses, and this is arithmetic, thousands of times")]
    #[test]
    fn words_and_halves_of_an_array_are_alone() {
        for start in [usize::MAX / 3 / 4096 * 4096, 0x5555_0ff8] {
            // If the array begins within a page, its last page and its first share a stretch of the bank.
            let alone = count_rows((0..65_536).map(|nth| start + nth * 8), 65_536);
            assert!(alone == 65_536 || start % 4096 != 0 && alone > 65_000, "{alone} of 65,536 words");
            let alone = count_rows((0..65_536).map(|nth| start + nth * 4), 65_536);
            assert!(alone > 55_000, "{alone} of 65,536 halves");
        }
    }

    #[cfg_attr(layby_model, ignore = "a model has no addresses")]
    #[test]
    fn one_place_of_many_pages_has_many_rows() {
        // As of semaphores on threads' stacks.
        for distance in [4096, 1 << 16, 1 << 20, 1 << 21, 1 << 23] {
            let rows = count_rows((0..200).map(|nth| 0x1234_0040 + nth * distance), 4096);
            assert!(rows > 160, "{rows} at a distance of {distance}");
        }
    }

    #[cfg_attr(layby_model, ignore = "a model has no addresses")]
    #[test]
    fn tickets_of_different_locations_are_apart() {
        for distance in [16, 64, 4096, 1 << 21, 1 << 23] {
            let row_of =
                |nth: usize| Key::ticket_at(core::ptr::without_provenance::<u8>(0x5555_0000 + nth * distance), 0);
            let rows: std::collections::HashSet<_> = (0..200).map(|nth| row_of(nth).row().0 % 4096).collect();
            assert!(rows.len() > 175, "{} at a distance of {distance}", rows.len());
        }
    }

    /// With as many queues as slots nearly two thirds of the slots are in use, as by chance: a bank that fills unevenly grows late.
    #[cfg_attr(any(layby_model, miri), ignore = "a model has no addresses, and this is arithmetic, thousands of times")]
    #[test]
    fn tickets_of_an_array_of_queues_fill_a_bank_evenly() {
        for slots in [1 << 12, 1 << 16] {
            for distance in [16, 24, 32, 40, 48, 56, 64, 80, 112, 128, 200, 256, 384, 2048, 4096, 65_536] {
                // On 32 bits the last of these come round to the first addresses.
                let address_of = |nth: usize| 0x1234_5670_usize.wrapping_add(nth.wrapping_mul(distance));
                let key = |nth| Key::ticket_at(core::ptr::without_provenance::<u8>(address_of(nth)), 0);
                let rows: std::collections::HashSet<_> =
                    (0..slots).map(|nth| key(nth).row().0 as usize % slots).collect();
                assert!(rows.len() * 2 > slots, "{} of {slots} at a distance of {distance}", rows.len());
            }
        }
    }

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
