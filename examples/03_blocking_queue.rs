//! A bounded queue whose ends block, and that can be closed. Waiters of the two ends wait on two different locations,
//! so a push never wakes another pusher.
//!
//! `cargo run --example 03_blocking_queue`

use layby::{Key, location_wake_all, wait_until};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard},
    thread,
};

struct BlockingQueue<T> {
    state: Mutex<State<T>>,
    capacity: usize,
    /// Names to wait on; a location need not be what changes.
    not_empty: u8,
    not_full: u8,
}

struct State<T> {
    items: VecDeque<T>,
    closed: bool,
}

impl<T> BlockingQueue<T> {
    fn new(capacity: usize) -> Self {
        let state = State { items: VecDeque::with_capacity(capacity), closed: false };
        Self { state: Mutex::new(state), capacity, not_empty: 0, not_full: 0 }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap()
    }

    /// Waits for room.
    fn push(&self, item: T) {
        let mut item = Some(item);
        // The condition does the work: it may lock, and it leaves nothing behind when it fails.
        wait_until(Key::address(&self.not_full), || {
            let mut state = self.state();
            if state.items.len() < self.capacity {
                state.items.extend(item.take());
            }
            item.is_none()
        });
        location_wake_all(Key::address(&self.not_empty));
    }

    /// Waits for an item; `None` when the queue is closed and empty.
    fn pop(&self) -> Option<T> {
        let mut item = None;
        wait_until(Key::address(&self.not_empty), || {
            let mut state = self.state();
            item = state.items.pop_front();
            item.is_some() || state.closed
        });
        location_wake_all(Key::address(&self.not_full));
        item
    }

    fn close(&self) {
        self.state().closed = true;
        location_wake_all(Key::address(&self.not_empty));
    }
}

fn main() {
    const ITEMS: u64 = 10_000;
    let queue = BlockingQueue::new(16);
    let sums = thread::scope(|s| {
        let consumers = [(); 3].map(|()| s.spawn(|| std::iter::from_fn(|| queue.pop()).sum::<u64>()));
        let producers = [0, 1].map(|odd| {
            let queue = &queue;
            s.spawn(move || (odd..ITEMS).step_by(2).for_each(|item| queue.push(item)))
        });
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        queue.close();
        consumers.map(|consumer| consumer.join().unwrap())
    });
    let total: u64 = sums.iter().sum();
    println!("three consumers got {sums:?}, together {total}");
    assert_eq!(total, (0..ITEMS).sum());
}
