//! Where and how favourably a thread runs. What the system does not allow is left as it is.

#![allow(unsafe_code, reason = "the system's calls")]

use crate::common::Random;
use std::{mem, thread};

/// Puts the calling thread on one CPU, half of the time.
pub(crate) fn pin(random: &mut Random) {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    if random.one_in(2) {
        // SAFETY: an all-zero set is a valid, empty one; the CPU is below its size.
        unsafe {
            let mut set: libc::cpu_set_t = mem::zeroed();
            libc::CPU_SET(random.below(cpus.min(64)), &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }
}

/// Gives the calling thread some priority and class.
pub(crate) fn favour(random: &mut Random) {
    let nice = random.choose(&[0, 0, 5, 10]);
    let class = match random.below(16) {
        0 => libc::SCHED_IDLE,
        1..5 => libc::SCHED_BATCH,
        _ => libc::SCHED_OTHER,
    };
    // SAFETY: 0 is the calling thread; an all-zero parameter is right for these classes.
    unsafe {
        let parameter: libc::sched_param = mem::zeroed();
        libc::sched_setscheduler(0, class, &raw const parameter);
        libc::setpriority(libc::PRIO_PROCESS, 0, nice);
    }
}
