#!/usr/bin/env bash
# The test suite on Windows: built for x86_64-pc-windows-gnu and run under Wine, once with WaitOnAddress as the platform's
# backend and once with Park; before that, check and clippy for x86_64-pc-windows-msvc.
# Usage: ci/windows.sh [cargo test's arguments]      e.g. ci/windows.sh --test backends -- --nocapture
#   LAYBY_WINDOWS="msvc native park": which of the three parts to run (default all)
# Needs: Debian 12 and root on a new machine (310 MB of packages: a second rustc with its std sources, MinGW, Wine).
# Takes, on two cores busy with other work: 110 s; 175 s when the crate has changed; the first time 250 s more, for std.
# Blind to: the coarse timer of real Windows (Wine uses Linux's timers) and whatever else Wine does differently.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
parts=" ${LAYBY_WINDOWS:-msvc native park} "
debian_rust rust-web-clippy gcc-mingw-w64-x86-64-win32 wine64

wine=/usr/lib/wine/wine64
export WINEPREFIX=$BUILD/wine WINEDEBUG=${WINEDEBUG:--all} WINEDLLOVERRIDES='mscoree,mshtml,winemenubuilder.exe='
unset DISPLAY WAYLAND_DISPLAY
export LAYBY_TEST_SCALE=${LAYBY_TEST_SCALE:-5} # no timeout is shorter than a millisecond here

# Rust's std takes random numbers from bcryptprimitives.dll, which Wine 8 lacks: without it a program ends in silence
# with status 53.
add_missing_dll() {
    local dll=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
    [ ! -e "$dll" ] || return 0
    x86_64-w64-mingw32-gcc -O2 -shared -o "$dll" -x c - -ladvapi32 <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG); /* RtlGenRandom */
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count)
{
    while (count) {
        ULONG part = count > 0x10000000 ? 0x10000000 : (ULONG)count;
        if (!SystemFunction036(bytes, part)) return FALSE;
        bytes += part;
        count -= part;
    }
    return TRUE;
}
C
}

start_wine() {
    [ -d "$WINEPREFIX" ] || "$wine" wineboot -i >/dev/null 2>&1
    add_missing_dll
    # Programs of a run that failed must not outlive it; this is the server of our prefix alone.
    trap '/usr/lib/wine/wineserver64 -k 2>/dev/null || true' EXIT
    export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
    export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine
}

on_windows() { limited cargo "$1" -Zbuild-std --target x86_64-pc-windows-gnu --target-dir "$BUILD/windows" "${@:2}"; }

run_suite() {
    # Wine runs the destructors of an ending process's thread-locals for DLLs only: see tests/process_exit.
    on_windows build --manifest-path ci/process_exit_dll/Cargo.toml
    LAYBY_TEST_DLL="Z:$BUILD/windows/x86_64-pc-windows-gnu/debug/process_exit_dll.dll" on_windows test "$@"
}

if [[ $parts == *" msvc "* ]]; then
    for command in "check" "clippy --all-targets"; do
        say "cargo $command for x86_64-pc-windows-msvc"
        RUSTFLAGS="-D warnings" cargo $command -Zbuild-std --target x86_64-pc-windows-msvc --target-dir "$BUILD/windows"
    done
fi
if [[ $parts == *" native "* ]]; then
    start_wine
    say "the suite under Wine, through WaitOnAddress"
    run_suite "$@"
fi
if [[ $parts == *" park "* ]]; then
    start_wine
    say "the suite under Wine, through Park"
    # As flags of the one package: as RUSTFLAGS they would build std once more.
    RUSTDOCFLAGS="--cfg layby_park" run_suite -Zprofile-rustflags \
        --config 'profile.dev.package.layby.rustflags=["--cfg=layby_park"]' "$@"
fi
