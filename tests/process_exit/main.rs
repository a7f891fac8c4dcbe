//! A process ends when it is told to, whatever its other threads were doing.
//!
//! Windows kills the other threads and then runs the destructors of the last one's thread-locals. Wine does so for DLLs
//! only, so `ci/windows.sh` builds the same code as a DLL, and names it in `LAYBY_TEST_DLL`.

#![cfg(all(windows, not(layby_model)))]
#![allow(unsafe_code)]

#[allow(unreachable_pub, reason = "the DLL exports it")]
mod dll;

use std::{
    env,
    ffi::{CString, c_char, c_void},
    mem,
    process::Command,
    thread,
    time::{Duration, Instant},
};

const CHILD: &str = "LAYBY_TEST_PROCESS_EXIT";
const DLL: &str = "LAYBY_TEST_DLL";
const CODE: i32 = 7;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn LoadLibraryA(path: *const c_char) -> *mut c_void;
    fn GetProcAddress(library: *mut c_void, name: *const c_char) -> *const c_void;
}

/// [`dll::exit_in_a_notifiers_hands`], of the DLL if there is one.
fn exit_function() -> extern "C" fn(i32) -> ! {
    let Ok(path) = env::var(DLL) else {
        return dll::exit_in_a_notifiers_hands;
    };
    let path = CString::new(path).unwrap();
    // SAFETY: both strings end with a zero; the function has this type in tests/process_exit/dll.rs.
    unsafe {
        let library = LoadLibraryA(path.as_ptr());
        assert!(!library.is_null(), "the DLL does not load");
        let exit = GetProcAddress(library, c"exit_in_a_notifiers_hands".as_ptr());
        assert!(!exit.is_null(), "the DLL lacks its function");
        mem::transmute::<*const c_void, extern "C" fn(i32) -> !>(exit)
    }
}

#[test]
fn a_process_ends_with_an_element_in_a_killed_notifiers_hands() {
    if env::var_os(CHILD).is_some() {
        exit_function()(CODE);
    }
    let this_test = ["--exact", "a_process_ends_with_an_element_in_a_killed_notifiers_hands"];
    let mut child = Command::new(env::current_exe().unwrap()).args(this_test).env(CHILD, "1").spawn().unwrap();
    let watchdog = Instant::now() + Duration::from_secs(60);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > watchdog {
            child.kill().unwrap();
            panic!("the process does not end");
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(CODE));
}
