//! Futures that are forgotten, with their places in line: nobody else gets in for it, not even where their queue has been.

use crate::common::{a_granted_ticket_was_given_up, task::poll_once};
use layby::mutex::{FairMutex, LockAsync};
use layby::rwlock::{RwLock, RwLockAsync};
use layby::sema::Semaphore;
use std::{future::Future, mem, pin::pin, task::Poll, time::Duration};

const SHORT: Duration = Duration::from_millis(20);

/// Gives up `abandoned` places in line before one that is forgotten.
fn give_up_before_a_forgotten_one<F: Future>(abandoned: usize, wait: impl Fn() -> F) {
    a_granted_ticket_was_given_up();
    let mut waits: Vec<_> = (0..=abandoned).map(|_| Box::pin(wait())).collect();
    for future in &mut waits {
        assert!(poll_once(future.as_mut()).is_pending());
    }
    mem::forget(waits.pop());
}

#[test]
fn a_mutex_made_in_its_place_excludes() {
    let mut mutex = FairMutex::new(());
    mem::forget(mutex.lock());
    give_up_before_a_forgotten_one(1, || mutex.lock_async());
    mutex = FairMutex::new(());
    drop(mutex.lock());
    let first = mutex.lock();
    assert!(mutex.try_lock_for(SHORT).is_none());
    drop(first);
    assert!(mutex.try_lock().is_some());
}

/// As above, but the ticket is drawn by a `try_lock`.
#[test]
fn a_mutex_made_in_its_place_and_only_tried_excludes() {
    let mut mutex = FairMutex::new(());
    mem::forget(mutex.lock());
    give_up_before_a_forgotten_one(1, || mutex.lock_async());
    mutex = FairMutex::new(());
    drop(mutex.try_lock());
    let first = mutex.try_lock();
    assert!(first.is_some() && mutex.try_lock_for(SHORT).is_none());
}

/// It comes with tickets drawn, in the middle of those that were given up.
#[test]
fn a_mutex_moved_to_its_place_excludes() {
    let mut mutex = FairMutex::new(());
    mem::forget(mutex.lock());
    give_up_before_a_forgotten_one(4, || mutex.lock_async());
    let used = FairMutex::new(());
    (0..3).for_each(|_| drop(used.lock()));
    mutex = used;
    drop(mutex.lock());
    let first = mutex.lock();
    assert!(mutex.try_lock_for(SHORT).is_none());
    drop(first);
    assert!(mutex.try_lock().is_some());
}

/// It comes locked for good, and with its next ticket behind those that were given up.
#[test]
fn a_mutex_moved_to_its_place_stays_locked() {
    let mut mutex = FairMutex::new(());
    mem::forget(mutex.lock());
    give_up_before_a_forgotten_one(2, || mutex.lock_async());
    let used = FairMutex::new(());
    (0..2).for_each(|_| drop(used.lock()));
    mem::forget(used.lock());
    mutex = used;
    assert!(mutex.try_lock_for(SHORT).is_none());
    assert!(poll_once(pin!(mutex.lock_async())).is_pending());
    assert!(mutex.try_lock().is_none());
}

/// It comes locked for good, and the one ticket that was given up is its last: whoever waits may find that granted, and get in, but
/// nobody beside it.
#[test]
fn a_mutex_moved_to_its_place_is_unlocked_once_at_most() {
    let mut mutex = FairMutex::new(());
    mem::forget(mutex.lock());
    give_up_before_a_forgotten_one(0, || mutex.lock_async());
    give_up_before_a_forgotten_one(1, || mutex.lock_async());
    let used = FairMutex::new(());
    (0..2).for_each(|_| drop(used.lock()));
    mem::forget(used.lock());
    mutex = used;
    for _ in 0..3 {
        let inside = [(); 3].map(|()| mutex.try_lock_for(SHORT));
        assert!(inside.iter().flatten().count() <= 1, "{inside:?}");
    }
}

/// It comes locked for good, and with its next ticket in the middle of those that were given up: as above, whoever gives up.
#[test]
fn a_mutex_moved_to_its_place_is_unlocked_once_at_most_whoever_gives_up() {
    let mut mutex = FairMutex::new(());
    mem::forget(mutex.lock());
    give_up_before_a_forgotten_one(0, || mutex.lock_async());
    give_up_before_a_forgotten_one(3, || mutex.lock_async());
    let used = FairMutex::new(());
    (0..2).for_each(|_| drop(used.lock()));
    mem::forget(used.lock());
    mutex = used;
    assert!(count_inside(&mutex, 3) <= 1);
}

#[test]
fn a_reader_writer_lock_made_in_its_place_excludes() {
    let mut lock = RwLock::new(());
    mem::forget(lock.write());
    give_up_before_a_forgotten_one(1, || lock.write_async());
    lock = RwLock::new(());
    drop(lock.write());
    let first = lock.write();
    assert!(lock.try_write_for(SHORT).is_none() && lock.try_read_for(SHORT).is_none());
    drop(first);
    assert!(lock.try_write().is_some());
}

#[test]
fn a_semaphore_made_in_its_place_has_the_permits_that_are_posted() {
    let mut semaphore = Semaphore::new(0);
    give_up_before_a_forgotten_one(1, || semaphore.take_async());
    semaphore = Semaphore::new(0);
    let (mut first, mut second) = (pin!(semaphore.take_async()), pin!(semaphore.take_async()));
    assert!(poll_once(first.as_mut()).is_pending() && poll_once(second.as_mut()).is_pending());
    semaphore.post();
    assert!(poll_once(first).is_ready() && poll_once(second).is_pending());
    assert_eq!(semaphore.available(), 0);
}

/// What is granted beyond the tickets that are drawn, of which the next has been given up in the queue that was there before.
#[test]
fn a_mutex_made_in_its_place_and_given_up_excludes() {
    let mut mutex = FairMutex::new(());
    mem::forget(mutex.lock());
    give_up_before_a_forgotten_one(0, || mutex.lock_async());
    give_up_before_a_forgotten_one(1, || mutex.lock_async());
    mutex = FairMutex::new(());
    {
        let held = mutex.lock();
        let mut granted = pin!(mutex.lock_async());
        assert!(poll_once(granted.as_mut()).is_pending());
        drop(held);
    }
    let first = mutex.try_lock();
    assert!(first.is_some() && mutex.try_lock().is_none());
}

/// The same: one ticket before those that are granted.
#[test]
fn a_reader_writer_lock_made_in_its_place_and_given_up_excludes() {
    let mut lock = RwLock::new(());
    mem::forget(lock.write());
    give_up_before_a_forgotten_one(0, || lock.write_async());
    give_up_before_a_forgotten_one(1, || lock.read_async());
    lock = RwLock::new(());
    drop(lock.read());
    {
        let held = lock.write();
        let mut granted = pin!(lock.read_async());
        assert!(poll_once(granted.as_mut()).is_pending());
        drop(held);
    }
    let reader = lock.try_read();
    assert!(reader.is_some() && lock.try_write().is_none());
}

#[test]
fn a_semaphore_made_in_its_place_has_no_more_than_is_posted() {
    let posts = [Semaphore::post, Semaphore::post_conservatively, |semaphore: &Semaphore| semaphore.post_many(1)];
    for (post, before) in posts.into_iter().flat_map(|post| [(post, 0), (post, 1)]) {
        let mut semaphore = Semaphore::new(0);
        (0..before).for_each(|_| give_up_before_a_forgotten_one(0, || semaphore.take_async()));
        give_up_before_a_forgotten_one(1, || semaphore.take_async());
        semaphore = Semaphore::new(1);
        post(&semaphore);
        assert_eq!(semaphore.available(), 2);
    }
}

/// What two semaphores have left there, one after the other, overlaps; the mutex comes locked for good, with others in line.
#[test]
fn a_mutex_moved_to_where_two_have_been_is_unlocked_once_at_most() {
    enum Place {
        Semaphore(Semaphore),
        Mutex(FairMutex<()>),
    }
    let mut place = Box::new(Place::Semaphore(Semaphore::new(5)));
    if let Place::Semaphore(made) = &*place {
        made.take_many(5);
        give_up_before_a_forgotten_one(5, || made.take_async());
    }
    let moved = Semaphore::new(8);
    moved.take_many(7);
    *place = Place::Semaphore(moved);
    if let Place::Semaphore(moved) = &*place {
        moved.take();
        let mut given_up = Box::pin(moved.take_async());
        assert!(poll_once(given_up.as_mut()).is_pending());
        let mut several = Box::pin(moved.take_many_async(4));
        assert!(poll_once(several.as_mut()).is_pending());
        mem::forget(several);
    }
    let used = FairMutex::new(());
    (0..5).for_each(|_| drop(used.lock()));
    mem::forget(used.lock());
    (6..=9).for_each(|_| give_up_before_a_forgotten_one(0, || used.lock_async()));
    *place = Place::Mutex(used);
    let Place::Mutex(mutex) = &*place else { unreachable!() };
    let mut first = Box::pin(mutex.lock_async());
    let inside = poll_once(first.as_mut());
    assert!(inside.is_pending() || mutex.try_lock().is_none(), "two inside");
}

/// How many of so many who wait get in, each of whom gives up in the end.
fn count_inside(mutex: &FairMutex<()>, waits: usize) -> usize {
    let mut waits: Vec<_> = (0..waits).map(|_| Box::pin(mutex.lock_async())).collect();
    let mut inside = Vec::new();
    while !waits.is_empty() {
        waits.retain_mut(|wait| match poll_once(wait.as_mut()) {
            Poll::Ready(guard) => {
                inside.push(guard);
                false
            }
            Poll::Pending => true,
        });
        waits.pop();
    }
    inside.len()
}

/// Where a mutex is that comes locked for good, after `uses`, and with `waits` who gave up before one that was forgotten, and where a
/// semaphore was before of which `abandoned` were given up.
fn moved(abandoned: usize, uses: usize, waits: usize) -> Box<Place> {
    let mut place = Box::new(Place::Semaphore(Semaphore::new(0)));
    if let Place::Semaphore(made) = &*place {
        give_up_before_a_forgotten_one(abandoned, || made.take_async());
    }
    let used = FairMutex::new(());
    (0..uses).for_each(|_| drop(used.lock()));
    mem::forget(used.lock());
    (0..waits).for_each(|_| give_up_before_a_forgotten_one(0, || used.lock_async()));
    *place = Place::Mutex(used);
    place
}

enum Place {
    Semaphore(Semaphore),
    Mutex(FairMutex<()>),
}

impl Place {
    fn mutex(&self) -> &FairMutex<()> {
        let Self::Mutex(mutex) = self else { unreachable!() };
        mutex
    }
}

/// So many have been given up there that there is one marker for several.
#[test]
fn a_mutex_moved_to_where_many_have_been_is_unlocked_once_at_most() {
    assert!(count_inside(moved(100, 40, 5).mutex(), 60) <= 1);
}

/// Those who give up fill a block that has been begun by others.
#[test]
fn a_mutex_moved_to_where_a_block_was_begun_is_unlocked_once_at_most() {
    let place = moved(2, 1, 0);
    let mut waits: Vec<_> = (0..31).map(|_| Box::pin(place.mutex().lock_async())).collect();
    waits.iter_mut().for_each(|wait| assert!(poll_once(wait.as_mut()).is_pending()));
    waits.drain(..30);
    let mut inside: Vec<_> = waits.into_iter().map(|mut wait| poll_once(wait.as_mut())).collect();
    inside.extend((0..3).map(|_| poll_once(Box::pin(place.mutex().lock_async()).as_mut())));
    assert!(inside.iter().filter(|wait| wait.is_ready()).count() <= 1);
}
