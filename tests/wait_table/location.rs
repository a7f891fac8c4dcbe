//! What is one location, and what has none. That guards and plain structs are refused is in the examples of `Location`.

use crate::common::{leaked, watchdog};
use layby::{Key, Location, WaitTable, location_wake_all, mutex::Mutex, sema::Semaphore, wait_until};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    ptr::NonNull,
    rc::Rc,
    sync::{
        Arc,
        atomic::{self, AtomicBool, AtomicPtr, AtomicU32, Ordering},
    },
    thread,
};

/// As the functions that wait and wake see it.
fn key_of(location: impl Location) -> Key {
    location.key()
}

struct Queue(u32);

impl Location for Queue {}

#[test]
#[expect(clippy::needless_borrows_for_generic_args, reason = "what is tested")]
fn a_reference_stands_for_what_it_refers_to() {
    let mut x = AtomicU32::new(0);
    let key = Key::address(&x);
    assert_eq!([key_of(&x), key_of(&&x), key_of(&&&x), x.key()], [key; 4]);
    assert_eq!([key_of(Pin::new(&x)), key_of(&Pin::new(&x))], [key; 2]);
    assert_eq!([key_of(&raw const x), key_of(&raw mut x), key_of(NonNull::from(&x))], [key; 3]);
    assert_eq!([key_of(&mut x), key_of(&&mut x), key_of(Pin::new(&mut x))], [key; 3]);
    assert_eq!([key_of(key), key_of(&key)], [key; 2]);
}

#[test]
fn an_owner_stands_for_what_it_owns() {
    let arc = Arc::new(AtomicU32::new(0));
    let key = Key::address(&*arc);
    assert_eq!([key_of(&arc), key_of(&*arc), key_of(arc.clone()), key_of(Arc::as_ptr(&arc))], [key; 4]);
    assert_eq!(key_of(Pin::new(&arc)), key);
    assert_ne!(Key::address(&arc), key, "the address of the handle, for who asks for it");
    let rc = Rc::new(Queue(0));
    assert_eq!([key_of(&rc), key_of(rc.clone())], [Key::address(&*rc); 2]);
    let boxed = Box::new(Queue(0));
    let key = Key::address(&*boxed);
    assert_eq!([key_of(&boxed), key_of(&*boxed), key_of(&boxed.0 as *const u32)], [key; 3]);
    assert_eq!(key_of(Box::into_pin(boxed)), key, "moved, but not the queue");
}

#[test]
fn a_trait_object_is_where_its_object_is() {
    let queue = Queue(0);
    assert_eq!(key_of(&queue as &dyn Location), Key::address(&queue));
    let boxed: Box<dyn Location> = Box::new(AtomicBool::new(false));
    assert_eq!(key_of(&boxed), Key::address(&*boxed));
}

macro_rules! every_atomic {
    ($($atomic:ident),+) => { [$({
        let x = atomic::$atomic::default();
        key_of(&x) == Key::address(&x)
    }),+] };
}

#[test]
fn every_atomic_is_where_it_is() {
    let are = every_atomic!(
        AtomicBool,
        AtomicU8,
        AtomicI8,
        AtomicU16,
        AtomicI16,
        AtomicU32,
        AtomicI32,
        AtomicUsize,
        AtomicIsize
    );
    assert_eq!(are, [true; 9]);
    #[cfg(target_has_atomic = "64")]
    assert_eq!(every_atomic!(AtomicU64, AtomicI64), [true; 2]);
    // Not what it points to, which changes.
    let mut target = Queue(0);
    let pointer = AtomicPtr::new(&raw mut target);
    assert_eq!(key_of(&pointer), Key::address(&pointer));
    let table = WaitTable::with_slots(1);
    assert_eq!(key_of(&table), Key::address(&table));
}

#[test]
fn what_has_no_size_is_refused() {
    struct Nothing;
    impl Location for Nothing {}
    let says_so = |refused: Box<dyn Any + Send>, what: &str| {
        let message = refused.downcast::<String>().expect("a message with a type in it");
        assert!(message.contains(what) && message.contains("no size"), "{message}");
    };
    says_so(catch_unwind(|| Key::address(&Nothing)).expect_err("no address"), "Nothing");
    says_so(catch_unwind(|| Key::ticket(&Nothing, 7)).expect_err("no tickets"), "Nothing");
    says_so(catch_unwind(|| Key::address(&[0_u8; 2][2..])).expect_err("an empty slice"), "[u8]");
    says_so(catch_unwind(|| location_wake_all(&Nothing)).expect_err("nobody can wait there"), "Nothing");
    assert_ne!(Key::address(&[0_u8; 2][1..]), Key::address_at(std::ptr::null::<u8>()));
    // An address is an address.
    assert_eq!(key_of(std::ptr::null::<()>()), Key::address_at(std::ptr::null::<Queue>()));
}

/// Each thread has a handle of its own, at an address of its own.
#[test]
fn a_wake_by_one_handle_reaches_who_waits_by_another() {
    let _watchdog = watchdog();
    let here = Arc::new(AtomicU32::new(0));
    let there = Arc::clone(&here);
    let waiter = thread::spawn(move || wait_until(&there, || there.load(Ordering::Relaxed) == 1));
    here.store(1, Ordering::Relaxed);
    location_wake_all(&here);
    waiter.join().unwrap();
}

/// Whoever waits there may wait in vain, and that is all.
#[test]
fn a_key_may_change_or_panic() {
    struct Fickle(AtomicU32);
    impl Location for Fickle {
        fn key(&self) -> Key {
            match self.0.fetch_add(1, Ordering::Relaxed) {
                calls if calls < 3 => Key::ticket(&self.0, calls.into()),
                calls => panic!("call {calls}"),
            }
        }
    }
    let _watchdog = watchdog();
    let table = leaked(1);
    let fickle = Fickle(AtomicU32::new(0));
    table.wait_if(&fickle, || {
        assert_eq!(table.wake_all(&fickle), 0, "not the key that is waited on");
        assert_eq!(table.wake_all(Key::ticket(&fickle.0, 0)), 1, "that is");
        true
    });
    table.location_wait(&fickle);
    assert!(catch_unwind(AssertUnwindSafe(|| table.wait_if(&fickle, || true))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| table.wake_all(&fickle))).is_err());
    assert_eq!(table.wake_all(Key::ticket(&fickle.0, 2)), 1, "what was published is under the key of then");
    assert!(format!("{table:?}").contains("occupied: 0"), "{table:?}");
}

/// Not even by the key that a report shows.
#[test]
fn no_key_reaches_who_waits_for_a_primitive() {
    let _watchdog = watchdog();
    let (semaphore, mutex) = (Semaphore::new(0), Mutex::new(()));
    let guard = mutex.lock();
    thread::scope(|s| {
        s.spawn(|| semaphore.take());
        s.spawn(|| drop(mutex.lock()));
        for object in [&semaphore as &dyn Any, &mutex] {
            let is_ours = |key: &Key| key.is_within(object);
            let key = loop {
                match layby::waiters().iter().map(|waiter| waiter.key()).find(is_ours) {
                    Some(key) => break key,
                    None => thread::yield_now(),
                }
            };
            assert_eq!([location_wake_all(key), location_wake_all(Key::address(object))], [0; 2]);
        }
        drop(guard);
        semaphore.post();
    });
}
