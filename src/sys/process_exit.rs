//! How a process ends.
//!
//! Most systems run the destructors of the thread that calls `exit` while the other threads go on. Windows kills the
//! others first, wherever they are: a killed notifier never sets the gates of the elements in its hands, so a destructor
//! that waited for it would keep the process from ending. But neither can a killed thread reach an element any more.

/// Whether the process is ending and its other threads have been killed.
#[cfg(windows)]
#[inline]
pub(crate) fn others_were_killed() -> bool {
    #[link(name = "ntdll")]
    unsafe extern "system" {
        /// Documented, but in no header, and so not in windows-sys; a BOOLEAN.
        fn RtlDllShutdownInProgress() -> u8;
    }
    // SAFETY: it takes nothing and reads one variable of the loader's.
    unsafe { RtlDllShutdownInProgress() != 0 }
}

#[cfg(not(windows))]
#[inline]
pub(crate) fn others_were_killed() -> bool {
    false
}
