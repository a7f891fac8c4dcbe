//! Where no signals are sent.

use crate::common::Random;
use std::sync::atomic::AtomicBool;

pub(crate) const ARE_SENT: bool = false;

pub(crate) fn this_thread() -> usize {
    0
}

pub(crate) fn send_until(_stop: &AtomicBool, _random: Random) {}
