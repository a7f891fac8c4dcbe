//! What the process has of the system's: memory, threads, files. None may grow from round to round.
//!
//! The heap is counted to the byte by an allocator of our own, when no thread of a round is left. What may grow by
//! right is the second bank of markers, 128 KiB, when three queues that give up meet in one bucket: [`HEAP_TOLERANCE`] for the whole
//! run. An element that is lost in every round, 128 bytes, exceeds it after 1,536 rounds, which is less than ten minutes. What does not come from the
//! heap (stacks, the C library's own) is seen in the resident set, on which the system has its own ideas:
//! [`RESIDENT_TOLERANCE`].

#![allow(unsafe_code, reason = "a global allocator")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    fmt, fs,
    sync::atomic::{AtomicIsize, Ordering},
    thread,
    time::Duration,
};

const HEAP_TOLERANCE: isize = 192 << 10;
const RESIDENT_TOLERANCE: isize = 32 << 20;

struct CountingAllocator;

static IN_USE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[derive(Clone, Copy)]
pub(crate) struct Resources {
    heap: isize,
    resident: isize,
    threads: usize,
    files: usize,
}

impl Resources {
    /// What there is now; 0 for what the platform does not tell.
    pub(crate) fn now() -> Self {
        let entries = |directory| fs::read_dir(directory).map_or(0, Iterator::count);
        Self {
            heap: IN_USE.load(Ordering::Relaxed),
            resident: resident().unwrap_or(0),
            threads: entries("/proc/self/task"),
            files: entries("/proc/self/fd"),
        }
    }

    /// Fails if there is more now than there was at `self`, by more than is tolerated. Returns what there is.
    pub(crate) fn assert_no_growth(&self) -> Self {
        let mut now = Self::now();
        // A thread that has been joined may still be listed for a moment.
        for _ in 0..1000 {
            if now.threads <= self.threads {
                break;
            }
            thread::sleep(Duration::from_millis(1));
            now = Self::now();
        }
        assert!(now.threads <= self.threads && now.files <= self.files, "grown from {self} to {now}");
        assert!(now.heap - self.heap <= HEAP_TOLERANCE, "grown from {self} to {now}");
        assert!(now.resident - self.resident <= RESIDENT_TOLERANCE, "grown from {self} to {now}");
        now
    }
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { heap, resident, threads, files } = self;
        write!(f, "heap {heap} B, resident {} KiB, {threads} threads, {files} files", resident >> 10)
    }
}

/// The resident set in bytes.
fn resident() -> Option<isize> {
    // In pages, of 4 KiB on nearly all machines; where they are larger, this sees less.
    const PAGE: isize = 4 << 10;
    let sizes = fs::read_to_string("/proc/self/statm").ok()?;
    sizes.split(' ').nth(1)?.parse().ok().map(|pages: isize| pages * PAGE)
}
