//! Where there are no children.

use crate::worker::Worker;
use layby::wait_table::Home;
use std::sync::atomic::AtomicBool;

pub(crate) fn children() -> usize {
    0
}

pub(crate) fn fork_until<H: Home>(_stop: &AtomicBool, _worker: Worker<'_>) {}
