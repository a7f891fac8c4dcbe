//! The reader-writer lock's word. A writer beside anybody else is a race on the cell, which loom reports; a wake-up that is lost is a
//! deadlock.

use crate::bell::{Bell, block_on, poll};
use crate::explore::explore_run;
use layby::rwlock::RawRwLock;
use loom::cell::UnsafeCell;
use loom::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use loom::thread;
use std::pin::pin;
use std::time::Instant;

/// A lock, a count of writers that it protects, and one that nothing protects.
struct Shared {
    lock: RawRwLock,
    written: UnsafeCell<usize>,
    /// How many have written, by their own count.
    writers: AtomicUsize,
    inside: AtomicUsize,
}

// SAFETY: the cell is accessed by who holds the lock only, which is what loom checks.
#[allow(unsafe_code)]
unsafe impl Sync for Shared {}

#[allow(unsafe_code)]
impl Shared {
    fn look(&self) -> usize {
        // SAFETY: we read.
        self.written.with(|written| unsafe { *written })
    }

    fn count(&self) {
        self.writers.fetch_add(1, Ordering::Relaxed);
        // SAFETY: we write.
        self.written.with_mut(|written| unsafe { *written += 1 });
    }

    fn end_reading(&self) {
        self.look();
        // SAFETY: a model unlocks what it has locked; and so below.
        unsafe { self.lock.release_read() };
    }

    fn end_writing(&self) {
        self.count();
        // SAFETY: as above.
        unsafe { self.lock.release_write() };
    }

    fn downgrade(&self) {
        // SAFETY: called by those who write.
        unsafe { self.lock.downgrade() };
    }

    fn try_upgrade(&self) -> bool {
        // SAFETY: called by those who read.
        unsafe { self.lock.try_upgrade() }
    }
}

type Role = fn(&Shared);

/// Runs the roles side by side. At rest nobody is inside or in line, and all who wrote have counted.
fn model(preemptions: usize, roles: &'static [Role]) {
    model_from(preemptions, |_| (), roles);
}

/// Like [`model`], with what has happened `before`.
fn model_from(preemptions: usize, before: Role, roles: &'static [Role]) {
    explore_run(preemptions, move || {
        let (written, writers, inside) = (UnsafeCell::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let shared = Arc::new(Shared { lock: RawRwLock::new(), written, writers, inside });
        before(&shared);
        let start = |role: &Role| {
            let (shared, role) = (Arc::clone(&shared), *role);
            thread::spawn(move || role(&shared))
        };
        let threads: Vec<_> = roles.iter().map(start).collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(shared.lock.try_acquire_write(), "somebody is inside or in line: {:?}", shared.lock);
        assert_eq!(shared.look(), shared.writers.load(Ordering::Relaxed));
    });
}

fn read(shared: &Shared) {
    shared.lock.acquire_read();
    shared.end_reading();
}

fn write(shared: &Shared) {
    shared.lock.acquire_write();
    shared.end_writing();
}

fn timed_read(shared: &Shared) {
    if shared.lock.acquire_read_deadline(Instant::now()) {
        shared.end_reading();
    }
}

fn timed_write(shared: &Shared) {
    if shared.lock.acquire_write_deadline(Instant::now()) {
        shared.end_writing();
    }
}

fn try_both(shared: &Shared) {
    if shared.lock.try_acquire_read() {
        shared.end_reading();
    }
    if shared.lock.try_acquire_write() {
        shared.end_writing();
    }
}

fn write_then_read(shared: &Shared) {
    shared.lock.acquire_write();
    shared.count();
    shared.downgrade();
    shared.end_reading();
}

fn read_then_write_if_alone(shared: &Shared) {
    shared.lock.acquire_read();
    if shared.try_upgrade() { shared.end_writing() } else { shared.end_reading() }
}

/// Enters as a reader and stays until there are two inside.
fn read_together(shared: &Shared) {
    shared.lock.acquire_read();
    shared.inside.fetch_add(1, Ordering::Relaxed);
    layby::location_wake_all(&shared.inside);
    layby::wait_until(&shared.inside, || shared.inside.load(Ordering::Relaxed) == 2);
    shared.end_reading();
}

fn read_in_a_task(shared: &Shared) {
    block_on(pin!(shared.lock.acquire_read_async()), &Bell::new());
    shared.end_reading();
}

fn write_in_a_task(shared: &Shared) {
    block_on(pin!(shared.lock.acquire_write_async()), &Bell::new());
    shared.end_writing();
}

/// Is dropped, with what it was given.
fn begin_to_write_in_a_task(shared: &Shared) {
    let mut future = Box::pin(shared.lock.acquire_write_async());
    if poll(future.as_mut(), &Bell::new()).is_ready() {
        shared.end_writing();
    }
}

fn expire(_: &Shared) {
    layby::model::expire_deadlines();
}

#[test]
fn a_writer_against_a_reader() {
    model(3, &[write, read]);
}

#[test]
fn a_writer_against_a_writer() {
    model(3, &[write, write]);
}

#[test]
fn a_writer_against_two_readers() {
    model(1, &[write, read, read]);
}

#[test]
fn two_writers_against_a_reader() {
    model(1, &[write, read, write]);
}

/// When a writer leaves, both readers in line are let in, though each stays until the other has come.
#[test]
fn two_readers_enter_together() {
    model_from(1, |shared| shared.lock.acquire_write(), &[Shared::end_writing, read_together, read_together]);
}

#[test]
fn trying_against_a_writer_and_a_reader() {
    model(1, &[write, try_both, read]);
}

/// Whoever gives up leaves nothing in line, and holds up nobody.
#[test]
fn a_writer_gives_up_before_a_reader() {
    model_from(1, |shared| shared.lock.acquire_read(), &[Shared::end_reading, timed_write, read, expire]);
}

#[test]
fn a_writer_gives_up_behind_a_writer() {
    model_from(0, |shared| shared.lock.acquire_write(), &[Shared::end_writing, timed_write, read, expire]);
}

#[test]
fn a_reader_gives_up_before_a_writer() {
    model_from(0, |shared| shared.lock.acquire_write(), &[Shared::end_writing, timed_read, write, expire]);
}

#[test]
fn a_writer_that_goes_on_reading_against_a_writer() {
    model(3, &[write_then_read, write]);
}

#[test]
fn a_writer_that_goes_on_reading_against_a_reader_and_a_writer() {
    model(1, &[write_then_read, read, write]);
}

#[test]
fn a_reader_that_goes_on_writing_against_a_reader() {
    model(3, &[read_then_write_if_alone, read]);
}

#[test]
fn tasks_against_each_other() {
    model(2, &[write_in_a_task, read_in_a_task]);
}

#[test]
fn a_task_that_reads_and_a_reader_enter_when_a_writer_leaves() {
    model_from(1, |shared| shared.lock.acquire_write(), &[Shared::end_writing, read_in_a_task, read]);
}

#[test]
fn a_future_that_writes_is_dropped_before_a_reader() {
    model_from(1, |shared| shared.lock.acquire_read(), &[Shared::end_reading, begin_to_write_in_a_task, read]);
}
