//! A bounded queue whose ends block, over any structure that can try: here a `VecDeque` in a mutex, for which a lock-free queue
//! will do as well. An item is for one consumer, so one is woken for each; pushers and poppers do not wake their own kind.

use super::sync::{Mutex, MutexGuard};
use layby::eventcount::WaitPoint;
use std::collections::VecDeque;

pub struct BoundedQueue<T> {
    items: Mutex<VecDeque<T>>,
    capacity: usize,
    not_empty: WaitPoint,
    not_full: WaitPoint,
}

impl<T> BoundedQueue<T> {
    pub fn new(capacity: usize) -> Self {
        let items = Mutex::new(VecDeque::with_capacity(capacity));
        Self { items, capacity, not_empty: WaitPoint::new(), not_full: WaitPoint::new() }
    }

    /// Waits for room.
    pub fn push(&self, item: T) {
        let mut item = Some(item);
        // The condition does the work. When it has held it is not called again.
        self.not_full.wait_until(|| {
            let mut items = self.items();
            if items.len() < self.capacity {
                items.extend(item.take());
            }
            item.is_none()
        });
        self.not_empty.notify_one();
    }

    /// Waits for an item.
    pub fn pop(&self) -> T {
        let item = self.not_empty.wait_for(|| self.items().pop_front());
        self.not_full.notify_one();
        item
    }

    fn items(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.items.lock().expect("nobody panics inside")
    }
}
