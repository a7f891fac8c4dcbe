//! Which thread this is, and what another one is called: for reports.
//!
//! | platform | the number | the name |
//! |---|---|---|
//! | Linux, Android | the kernel's thread id, as in `ps -L` and gdb's LWP | the kernel's, at most 15 bytes |
//! | Windows | the kernel's thread id | its description |
//! | other Unixes | the address that `pthread_self` returns | unknown |
//! | others, and models | none: 0 | unknown |

use core::fmt;

/// As much of a name as a report shows: of a thread, or of what it waits for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Name {
    bytes: [u8; Name::MOST_BYTES],
    len: usize,
}

impl Name {
    pub(crate) const MOST_BYTES: usize = 32;

    /// The first `len` of these bytes, which may end in the middle of a character.
    pub(crate) fn of_bytes(bytes: [u8; Name::MOST_BYTES], len: usize) -> Self {
        Self { bytes, len: len.min(Self::MOST_BYTES) }
    }

    pub(crate) fn as_str(&self) -> &str {
        let whole = &self.bytes[..self.len];
        // The kernel cuts names by bytes, and so do we.
        whole.utf8_chunks().next().map_or("", |chunk| chunk.valid())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

pub(crate) use platform::{current, name_of};

#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
mod platform {
    use super::Name;
    use crate::sys::{files, fork::Birth};
    use core::{cell::Cell, ffi::CStr, fmt::Write};

    std::thread_local! {
        /// The id, and the process in which the kernel was asked: a fork's child has another.
        static ID: Cell<Option<(Birth, usize)>> = const { Cell::new(None) };
    }

    /// The calling thread; asked of the kernel once.
    #[inline]
    pub(crate) fn current() -> usize {
        match ID.get() {
            Some((born, id)) if born.is_of_this_process() => id,
            _ => ask(),
        }
    }

    #[cold]
    fn ask() -> usize {
        // SAFETY: always allowed.
        let id = unsafe { libc::syscall(libc::SYS_gettid) } as usize;
        ID.set(Some((Birth::now(), id)));
        id
    }

    /// The name of a thread of this process, if it is still there. Nothing but system calls, which leave `errno` as it was:
    /// for signal handlers too.
    pub(crate) fn name_of(thread: usize) -> Option<Name> {
        if cfg!(miri) {
            // It has no /proc, and says so at length each time.
            return None;
        }
        let mut path = Path { bytes: [0; 40], len: 0 };
        write!(path, "/proc/self/task/{thread}/comm\0").ok()?;
        let path = CStr::from_bytes_until_nul(&path.bytes).ok()?;
        let mut name = Name::default();
        name.len = files::read(path, &mut name.bytes)?.saturating_sub(1); // without the line feed
        Some(name)
    }

    struct Path {
        bytes: [u8; 40],
        len: usize,
    }

    impl Write for Path {
        fn write_str(&mut self, part: &str) -> core::fmt::Result {
            let end = self.len + part.len();
            self.bytes.get_mut(self.len..end).ok_or(core::fmt::Error)?.copy_from_slice(part.as_bytes());
            self.len = end;
            Ok(())
        }
    }
}

#[cfg(all(windows, not(layby_model)))]
mod platform {
    use super::Name;
    use core::{char, mem, ptr};
    use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, LocalFree};
    use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};
    use windows_sys::Win32::System::Threading::{GetCurrentThreadId, OpenThread, THREAD_QUERY_LIMITED_INFORMATION};

    #[inline]
    pub(crate) fn current() -> usize {
        // SAFETY: always allowed.
        unsafe { GetCurrentThreadId() as usize }
    }

    /// The name of a thread of this process, if it is still there and has one.
    pub(crate) fn name_of(thread: usize) -> Option<Name> {
        type GetThreadDescription = unsafe extern "system" fn(HANDLE, *mut *mut u16) -> i32;
        // SAFETY:
        // - the strings end with a NUL, and kernelbase.dll is never unloaded;
        // - the function is looked up because the first Windows that has it has it there only; this is its signature;
        // - the handle is closed once; the description ends with a NUL and is freed once, as is documented.
        unsafe {
            let kernel = GetModuleHandleA(c"kernelbase.dll".as_ptr().cast());
            let found = GetProcAddress(kernel, c"GetThreadDescription".as_ptr().cast())?;
            let description_of = mem::transmute::<unsafe extern "system" fn() -> isize, GetThreadDescription>(found);
            let handle = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, 0, thread as u32);
            if handle.is_null() {
                return None;
            }
            let mut description = ptr::null_mut();
            let result = description_of(handle, &raw mut description);
            CloseHandle(handle);
            if result < 0 || description.is_null() {
                return None;
            }
            let mut end = 0;
            while *description.add(end) != 0 {
                end += 1;
            }
            let name = from_wide(core::slice::from_raw_parts(description, end));
            LocalFree(description.cast());
            (name.len > 0).then_some(name)
        }
    }

    /// As many whole characters as there is room for.
    fn from_wide(wide: &[u16]) -> Name {
        let mut name = Name::default();
        for character in char::decode_utf16(wide.iter().copied()) {
            let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
            let end = name.len + character.len_utf8();
            let Some(room) = name.bytes.get_mut(name.len..end) else { break };
            character.encode_utf8(room);
            name.len = end;
        }
        name
    }
}

#[cfg(any(layby_model, not(any(target_os = "linux", target_os = "android", windows))))]
mod platform {
    use super::Name;

    #[cfg(all(unix, not(layby_model)))]
    pub(crate) fn current() -> usize {
        // SAFETY: always allowed.
        unsafe { libc::pthread_self() as usize }
    }

    #[cfg(any(layby_model, not(unix)))]
    pub(crate) fn current() -> usize {
        0
    }

    pub(crate) fn name_of(_thread: usize) -> Option<Name> {
        None
    }
}

#[cfg(all(test, any(target_os = "linux", target_os = "android", windows), not(layby_model)))]
mod tests {
    use super::*;

    #[cfg_attr(miri, ignore = "no /proc to look in")]
    #[test]
    fn a_thread_has_a_number_of_its_own_and_its_name() {
        let named = std::thread::Builder::new().name("a-wörker".into());
        let thread = named.spawn(|| (current(), name_of(current()).map(|name| name.as_str().to_owned()))).unwrap();
        let (id, name) = thread.join().unwrap();
        assert_ne!(id, current());
        assert_eq!(name.as_deref(), Some("a-wörker"));
    }

    /// Linux keeps 15 bytes, which may end in the middle of a character.
    #[cfg_attr(miri, ignore = "no /proc to look in")]
    #[test]
    fn a_name_that_is_too_long_is_cut_between_characters() {
        let long = "ö".repeat(30);
        let thread = std::thread::Builder::new().name(long.clone());
        let name = thread.spawn(|| name_of(current()).unwrap()).unwrap().join().unwrap();
        assert!(name.as_str().len() >= 14 && long.starts_with(name.as_str()), "{name:?}");
    }

    #[test]
    fn a_thread_that_does_not_exist_has_no_name() {
        assert!(name_of(usize::try_from(i32::MAX).unwrap()).is_none());
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[cfg_attr(miri, ignore = "no /proc to look in")]
    #[test]
    fn looking_for_a_name_leaves_errno_alone() {
        let errno = || std::io::Error::last_os_error().raw_os_error();
        // SAFETY: there is no such signal, so that the call does nothing but fail.
        assert_eq!(unsafe { libc::raise(-1) }, -1);
        assert_eq!(errno(), Some(libc::EINVAL));
        assert!(name_of(usize::try_from(i32::MAX).unwrap()).is_none());
        assert_eq!(errno(), Some(libc::EINVAL));
    }
}
