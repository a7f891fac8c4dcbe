//! The tests that the standard library and parking_lot have of their own reader-writer locks, by meaning.

use crate::common::{Random, scaled, watchdog};
use layby::rwlock::{RwLock, RwLockReadGuard};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

#[test]
fn smoke() {
    let lock = RwLock::new(());
    drop(lock.read());
    drop(lock.write());
    drop((lock.read(), lock.read()));
    drop(lock.write());
}

/// std's `frob`.
#[test]
fn many_threads_at_random() {
    let _watchdog = watchdog();
    let lock = Arc::new(RwLock::new(()));
    let (done, all_done) = mpsc::channel::<()>();
    for thread in 0..10 {
        let (lock, done) = (Arc::clone(&lock), done.clone());
        thread::spawn(move || {
            let mut random = Random::of(&[thread]);
            for _ in 0..scaled(1000) {
                if random.one_in(10) { drop(lock.write()) } else { drop(lock.read()) }
            }
            drop(done);
        });
    }
    drop(done);
    let _ = all_done.recv();
}

fn panics(body: impl FnOnce() + Send + 'static) {
    let panicked = thread::spawn(move || {
        body();
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(panicked.join().is_err());
}

#[test]
fn a_panic_unlocks_and_does_not_poison() {
    let _watchdog = watchdog();
    struct LocksOnDrop(Arc<RwLock<i32>>);
    impl Drop for LocksOnDrop {
        fn drop(&mut self) {
            *self.0.write() += 1;
        }
    }
    let lock = Arc::new(RwLock::new(1));
    for reads in [false, true] {
        let theirs = Arc::clone(&lock);
        let panicked = thread::spawn(move || {
            let _later = LocksOnDrop(Arc::clone(&theirs));
            let _guards = if reads { (Some(theirs.read()), None) } else { (None, Some(theirs.write())) };
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(panicked.join().is_err());
    }
    assert_eq!(*lock.read(), 3);
    let theirs = Arc::clone(&lock);
    panics(move || *theirs.write() += 1);
    assert_eq!(*lock.write(), 4);
}

/// std's `test_rw_arc`: readers see a negative number never, though a writer makes it one.
#[test]
fn readers_see_what_a_writer_has_finished() {
    let _watchdog = watchdog();
    let lock = RwLock::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            for _ in 0..10 {
                let mut number = lock.write();
                let before = *number;
                *number = -1;
                thread::yield_now();
                *number = before + 1;
            }
        });
        let readers = [(); 5].map(|()| s.spawn(|| assert!(*lock.read() >= 0)));
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
    assert_eq!(*lock.read(), 10);
}

#[test]
fn trying_against_holders() {
    let lock = RwLock::new(0_isize);
    let reading = lock.read();
    assert!(lock.try_write().is_none() && lock.try_read().is_some());
    drop(reading);
    let writing = lock.write();
    assert!(lock.try_write().is_none() && lock.try_read().is_none());
    assert!(lock.is_locked() && lock.is_locked_exclusive());
    drop(writing);
    assert!(!lock.is_locked() && !lock.is_locked_exclusive());
}

#[test]
fn gives_back_what_it_holds() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let lock = RwLock::new(Counted(Arc::clone(&dropped)));
    let held = lock.into_inner();
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    drop(held);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    let mut lock = RwLock::new(String::from("a"));
    lock.get_mut().push('b');
    assert_eq!(lock.into_inner(), "ab");
}

#[test]
fn drops_what_it_holds_even_when_locked() {
    let held = Arc::new(());
    let lock = RwLock::new(Arc::clone(&held));
    std::mem::forget(lock.read());
    drop(lock);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn protects_unsized_data() {
    let lock: &RwLock<[i32]> = &RwLock::new([1, 2, 3]);
    lock.write()[1] = 20;
    assert_eq!(*lock.read(), [1, 20, 3]);
}

#[test]
fn says_whether_it_is_locked() {
    let lock = RwLock::new([7_u8]);
    assert_eq!(format!("{lock:?}"), "RwLock { data: [7] }");
    let reading = lock.read();
    assert_eq!(format!("{lock:?}"), "RwLock { data: [7] }");
    drop(reading);
    let _writing = lock.write();
    assert_eq!(format!("{lock:?}"), "RwLock { data: <locked> }");
}

#[test]
fn guards_are_sync_and_can_be_sent() {
    fn requires<T: Send + Sync>(_: &T) {}
    let lock = RwLock::new(5);
    let (reading, writing) = (lock.read(), RwLock::new(6));
    let writing = writing.write();
    requires(&reading);
    requires(&writing);
    thread::scope(|s| {
        s.spawn(move || drop(reading));
    });
    assert!(!lock.is_locked(), "unlocked by the other thread");
}

/// parking_lot's `test_rw_write_is_locked` and its like: a waiting writer keeps new readers out, so readers who come and go all the
/// time do not keep it out.
#[test]
fn readers_who_come_all_the_time_do_not_keep_a_writer_out() {
    let _watchdog = watchdog();
    let lock = RwLock::new(false);
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                while !*lock.read() {
                    let one = lock.read();
                    thread::yield_now();
                    drop(one);
                }
            });
        }
        for _ in 0..20 {
            drop(lock.write());
        }
        *lock.write() = true;
    });
}

/// parking_lot's `test_rwlock_recursive`, as it is here: a second `read` fails or waits behind a writer, and does not hang if it
/// has a limit.
#[test]
fn a_second_read_behind_a_writer_fails_by_its_limit() {
    let _watchdog = watchdog();
    let lock = RwLock::new(1);
    thread::scope(|s| {
        let reading = lock.read();
        s.spawn(|| *lock.write() += 1);
        while lock.try_read().is_some() {
            thread::yield_now();
        }
        assert!(lock.try_read_for(Duration::from_millis(1)).is_none());
        assert_eq!(*reading, 1);
    });
    assert_eq!(*lock.read(), 2);
}

#[test]
fn can_be_unlocked_for_a_while() {
    let lock = RwLock::new(0);
    let mut reading = lock.read();
    RwLockReadGuard::unlocked(&mut reading, || *lock.write() += 1);
    assert_eq!(*reading, 1);
    assert!(lock.try_write().is_none());
}
