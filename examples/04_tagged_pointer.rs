//! Waiting on a tagged pointer: a settings record that is replaced as a whole, and a lock bit in the same word.
//!
//! A futex compares 32 bits; here the condition is any function of a whole pointer, mask included.
//!
//! `cargo run --example 04_tagged_pointer`

use layby::{location_wake_all, wait_until};
use std::{
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
    thread,
};

#[derive(Debug)]
struct Settings {
    version: u32,
    greeting: &'static str,
}

static FIRST: Settings = Settings { version: 1, greeting: "hello" };
static SECOND: Settings = Settings { version: 2, greeting: "good morning" };
static THIRD: Settings = Settings { version: 3, greeting: "good night" };

/// The low bit of an aligned pointer is free: set while somebody is preparing the next version.
const BUSY: usize = 1;

struct Current(AtomicPtr<Settings>);

impl Current {
    /// Where the word points, without its tag.
    fn pointer(&self) -> *mut Settings {
        self.0.load(Ordering::Acquire).map_addr(|address| address & !BUSY)
    }

    /// Waits until nobody prepares a version, and sets the bit.
    fn begin(&self) {
        let tag = |word: *mut Settings| (word.addr() & BUSY == 0).then(|| word.map_addr(|address| address | BUSY));
        wait_until(&self.0, || self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, tag).is_ok());
    }

    /// Publishes a version and clears the bit, in one store.
    fn publish(&self, settings: &'static Settings) {
        self.0.store(ptr::from_ref(settings).cast_mut(), Ordering::Release);
        location_wake_all(&self.0);
    }

    /// Waits until the pointer differs from `seen`, whatever the bit does meanwhile.
    fn changed_from(&self, seen: *mut Settings) -> *mut Settings {
        wait_until(&self.0, || self.pointer() != seen);
        self.pointer()
    }
}

fn main() {
    let versions = [&FIRST, &SECOND, &THIRD];
    let name_of = |pointer: *mut Settings| versions.into_iter().find(|settings| ptr::eq(*settings, pointer)).unwrap();
    let current = Current(AtomicPtr::new(ptr::from_ref(&FIRST).cast_mut()));
    thread::scope(|s| {
        s.spawn(|| {
            let mut seen = ptr::null_mut();
            while !ptr::eq(seen, &THIRD) {
                // A reader may miss a version, never the last one.
                seen = current.changed_from(seen);
                let Settings { version, greeting } = name_of(seen);
                println!("reader: version {version}, \"{greeting}\"");
            }
        });
        // Two writers; the bit lets them in one after the other, each publishing the version after the current one.
        for _ in 0..2 {
            s.spawn(|| {
                current.begin();
                let next = versions[name_of(current.pointer()).version as usize];
                println!("writer: publishing version {}", next.version);
                current.publish(next);
            });
        }
    });
    assert_eq!(name_of(current.pointer()).version, 3);
}
