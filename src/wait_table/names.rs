//! What is waited for by name, for reports: the stages of a pipeline have names, and who waits for one is shown with it.
//!
//! Names live on the heap, and go with their pipeline. A report may be made at any time, in a signal handler, too: it
//! cannot keep a pipeline from being dropped, and to follow a pointer to a name would be to read what may be gone. So names are
//! copied to *plates* in a static, which are there for good, and which a report reads without a lock.
//!
//! Wrong, if a plate were read as it is:
//!
//! ```text
//! report                              drops its pipeline             makes another
//! plate 3 is that of the key
//! reads the first half of the name
//!                                     takes plate 3 down
//!                                                                    writes plate 3 anew
//! reads the second half                                              (half of each name)
//! ```
//!
//! - **P1.** A plate is written by whoever has made its version odd while it was free; then the version is even again, and the plate is
//!   its own until it takes it down.
//! - **P2.** What was read counts if the version was even, and the same before and after.
//!
//! A plate is taken down before what it names is freed, so nobody else's name is at the same address. A report that has seen
//! a waiter just before may find its name gone, or, if another pipeline has come to be at that address meanwhile, another's.
//!
//! All accesses are `SeqCst`: they are as if one after the other, and as rare as pipelines and reports are. Models do not see them.

#![forbid(unsafe_code)]

use super::Key;
use crate::sync::{atomic::Ordering, unchecked_atomic::AtomicUsize};
use crate::sys::thread_id::Name;

/// How many names there can be at a time; what comes later is shown without. Arbitrary: 16 KiB, of which the operating system
/// provides what has been used.
const MOST: usize = 256;

static PLATES: [Plate; MOST] = [const { Plate::blank() }; MOST];

/// All plates from this one on have never been written.
static EVER_USED: AtomicUsize = AtomicUsize::new(0);

const WORDS: usize = Name::MOST_BYTES / size_of::<usize>();

struct Plate {
    version: AtomicUsize,
    /// Of what is named; 0 if the plate is free.
    address: AtomicUsize,
    ticket: AtomicUsize,
    length: AtomicUsize,
    name: [AtomicUsize; WORDS],
}

/// Says in reports what those wait for who wait under `key`, a ticket of a primitive, until it is [taken down](take_down).
#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
pub(crate) fn put_up(key: Key, name: &str) {
    if let Some(place) = key.ticket_of_a_primitive()
        && let Some(plate) = PLATES.iter().position(|plate| plate.try_write(place, name.as_bytes()))
    {
        EVER_USED.fetch_max(plate + 1, Ordering::SeqCst);
    }
}

/// Takes down all that names tickets of this primitive. To be called by the primitive's drop.
#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
pub(crate) fn take_down<T: ?Sized>(primitive: *const T) {
    for plate in used().iter().filter(|plate| get(&plate.address) == primitive.addr()) {
        set(&plate.address, 0);
    }
}

/// What those wait for who wait under `key`, if that has a name. Allocates nothing and never waits.
pub(super) fn name_of(key: Key) -> Option<Name> {
    let place = key.ticket_of_a_primitive()?;
    used().iter().find_map(|plate| plate.read(place))
}

fn used() -> &'static [Plate] {
    &PLATES[..get(&EVER_USED)]
}

fn get(word: &AtomicUsize) -> usize {
    word.load(Ordering::SeqCst)
}

#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
fn set(word: &AtomicUsize, value: usize) {
    word.store(value, Ordering::SeqCst);
}

impl Plate {
    const fn blank() -> Self {
        Self {
            version: AtomicUsize::new(0),
            address: AtomicUsize::new(0),
            ticket: AtomicUsize::new(0),
            length: AtomicUsize::new(0),
            name: [const { AtomicUsize::new(0) }; WORDS],
        }
    }

    /// Writes it, if it is free (P1).
    #[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
    fn try_write(&self, (address, ticket): (usize, u64), name: &[u8]) -> bool {
        let version = get(&self.version);
        if !version.is_multiple_of(2) || get(&self.address) != 0 {
            return false;
        }
        if self.version.compare_exchange(version, version + 1, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return false;
        }
        let name = &name[..name.len().min(Name::MOST_BYTES)];
        let mut bytes = [0; Name::MOST_BYTES];
        bytes[..name.len()].copy_from_slice(name);
        let (words, _) = bytes.as_chunks();
        self.name.iter().zip(words).for_each(|(word, bytes)| set(word, usize::from_ne_bytes(*bytes)));
        set(&self.length, name.len());
        set(&self.ticket, ticket as usize);
        set(&self.address, address);
        set(&self.version, version.wrapping_add(2));
        true
    }

    /// The name on it, if it is that of this address and ticket (P2).
    fn read(&self, (address, ticket): (usize, u64)) -> Option<Name> {
        let version = get(&self.version);
        if !version.is_multiple_of(2) || get(&self.address) != address || get(&self.ticket) as u64 != ticket {
            return None;
        }
        let mut bytes = [0; Name::MOST_BYTES];
        let (words, _) = bytes.as_chunks_mut();
        self.name.iter().zip(words).for_each(|(word, bytes)| *bytes = get(word).to_ne_bytes());
        let name = Name::of_bytes(bytes, get(&self.length));
        (get(&self.version) == version).then_some(name)
    }
}
