//! Which threads may wait, so that `pthread_cancel` finds the one that it cancels.
//!
//! glibc marks a thread as cancelled, and sends no signal unless cancellation is asynchronous: whoever sleeps in a call that is
//! not its own sleeps on. So after that our `pthread_cancel` raises the thread's flag, by which its wait ends.
//!
//! ```text
//! waiter                                        pthread_cancel
//! on the list                                   mark the thread
//! lower the flag                                on the list? raise its flag, wake
//! marked? unwind
//! wait until there is a permit or the flag is raised
//! ```
//!
//! If the flag is raised before it is lowered, the thread was marked before, and sees that. If the thread comes on the list only
//! after it was looked for there, it was marked before, too.
//!
//! A thread comes on the list when it first has to wait, and leaves it when it ends; cancelling a thread that has ended is an
//! error of the program's already.

use crate::{c_library, signals::SignalsBlocked, sleep::Thread};
use core::{
    cell::{Cell, UnsafeCell},
    ffi::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicU32, Ordering},
};
use libc::pthread_t;

/// A thread's place on the list.
pub(crate) struct Listed {
    /// Set first: a signal handler that comes in between leaves it at that.
    asked_for: Cell<bool>,
    next: Cell<*const Thread>,
    id: Cell<pthread_t>,
}

impl Listed {
    pub(crate) const fn new() -> Self {
        Self { asked_for: Cell::new(false), next: Cell::new(ptr::null()), id: Cell::new(0) }
    }
}

/// The list, and its lock, one that does not allocate. Whoever has it is not interrupted: a handler may fork, and the child would begin a
/// list anew that its one thread is about to change.
struct Threads {
    lock: UnsafeCell<libc::pthread_mutex_t>,
    /// Of whoever has the lock.
    blocked: Cell<Option<SignalsBlocked>>,
    /// Whoever has the lock.
    first: Cell<*const Thread>,
}

// SAFETY: the list is used by who has the lock.
unsafe impl Sync for Threads {}

static THREADS: Threads = Threads {
    lock: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
    blocked: Cell::new(None),
    first: Cell::new(ptr::null()),
};

fn lock() {
    let blocked = SignalsBlocked::begin();
    // SAFETY: a mutex that has been initialised, and is never destroyed.
    unsafe { libc::pthread_mutex_lock(THREADS.lock.get()) };
    THREADS.blocked.set(Some(blocked));
}

/// The caller has locked it.
fn unlock() {
    let blocked = THREADS.blocked.take();
    // SAFETY: as above.
    unsafe { libc::pthread_mutex_unlock(THREADS.lock.get()) };
    blocked.into_iter().for_each(SignalsBlocked::end);
}

/// Has its destructor called at a thread's end. 32 keys are there without an allocation.
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

pub(crate) fn prepare() {
    let mut key = 0;
    // SAFETY: a live key to write to, and a function that is there for as long as the process.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(at_end)) } == 0 {
        KEY.store(key, Ordering::Relaxed);
    }
}

/// A child begins: of the threads on the list it has at most the calling one, and another may have had the lock. (The caller had not:
/// nobody forks who has it.)
pub(crate) fn begin_process() {
    // SAFETY: there is no other thread; what they have left in the lock is nobody's.
    unsafe {
        THREADS.lock.get().write(libc::PTHREAD_MUTEX_INITIALIZER);
        THREADS.blocked.as_ptr().write(None);
    }
    let this = Thread::current();
    // SAFETY: the thread's own.
    let listed = unsafe { &(*this).listed };
    listed.next.set(ptr::null());
    THREADS.first.set(if listed.id.get() == 0 { ptr::null() } else { this });
}

/// Puts the calling thread on the list, once.
pub(crate) fn enlist(thread: &Thread) {
    let listed = &thread.listed;
    if listed.asked_for.replace(true) {
        return;
    }
    let this = ptr::from_ref(thread);
    // SAFETY: a key that was created, or none, and then it fails.
    if unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), this.cast()) } != 0 {
        // It could not leave the list, and so it stays off it: it is not cancelled while it waits.
        return;
    }
    // SAFETY: always allowed.
    listed.id.set(unsafe { libc::pthread_self() });
    lock();
    listed.next.set(THREADS.first.replace(this));
    unlock();
}

/// The thread ends. If it waits once more, in another destructor, it is not on the list.
extern "C" fn at_end(thread: *mut c_void) {
    let thread = thread.cast_const().cast::<Thread>();
    lock();
    let mut place = &THREADS.first;
    while !place.get().is_null() {
        // SAFETY: those on the list are there until they have left it.
        let next = unsafe { &(*place.get()).listed.next };
        if place.get() == thread {
            place.set(next.get());
            break;
        }
        place = next;
    }
    unlock();
}

/// Ends the wait of a thread, if it waits, for it to look whether it is cancelled.
fn stop(id: pthread_t) {
    lock();
    let mut thread = THREADS.first.get();
    while !thread.is_null() {
        // SAFETY: as above; the others use of it what is on the list, and its flag.
        let (listed, cancel) = unsafe { (&(*thread).listed, &(*thread).cancel) };
        // SAFETY: two threads that have not ended.
        if unsafe { libc::pthread_equal(listed.id.get(), id) } != 0 {
            cancel.cancel();
            break;
        }
        thread = listed.next.get();
    }
    unlock();
}

/// `pthread_cancel`, which also ends the thread's wait in this library.
///
/// # Safety
/// As for the C library's: a thread that has not been joined or, if it is detached, has not ended.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cancel(thread: pthread_t) -> c_int {
    // SAFETY: by the caller's promise. The calling thread may cancel itself, and unwind from here.
    let result = unsafe { c_library::pthread_cancel.get()(thread) };
    if result == 0 {
        stop(thread);
    }
    result
}
