//! What is counted in bytes.

use super::measure::{Bound, Effort, Finding};
use layby::WaitTable;
use layby::eventcount::{EventCount, Sequencer};
use layby::mutex::{FairMutex, Mutex};
use layby::rwlock::RwLock;
use layby::sema::Semaphore;
use layby::wait_table::Slots;

/// The same in every round.
fn fact(what: &str, unit: &str, most: f64, is: usize) -> Finding {
    Finding::new(what, unit, Bound::AtMost(most), vec![is as f64])
}

pub fn sizes(_: Effort) -> Vec<Finding> {
    const KIB: usize = 1024;
    vec![
        fact("size of Semaphore", "bytes", 16.0, size_of::<Semaphore>()),
        fact("size of EventCount", "bytes", 8.0, size_of::<EventCount>()),
        fact("size of Sequencer", "bytes", 8.0, size_of::<Sequencer>()),
        fact("size of Mutex<()>", "bytes", 8.0, size_of::<Mutex<()>>()),
        fact("size of FairMutex<()>", "bytes", 16.0, size_of::<FairMutex<()>>()),
        fact("size of RwLock<()>", "bytes", 16.0, size_of::<RwLock<()>>()),
        fact("global table, static", "KiB", 32.0, size_of::<Slots<{ WaitTable::DEFAULT_SLOTS }>>() / KIB),
    ]
}
