#!/usr/bin/env bash
# The test suite on Windows: built for x86_64-pc-windows-gnu and run under Wine, once with WaitOnAddress as the platform's
# backend and once with Park; before that, clippy for x86_64-pc-windows-msvc.
# Usage: ci/windows.sh [cargo test's arguments]      e.g. ci/windows.sh --test backends -- --nocapture
#   LAYBY_WINDOWS="msvc native park": which of the three parts to run (default all)
# Needs: Debian 12 and root on a new machine (310 MB of packages: a second rustc with its std sources, MinGW, Wine).
# Takes, on two cores busy with other work: 110 s; 175 s when the crate has changed; the first time 250 s more, for std.
# Blind to: the coarse timer of real Windows (Wine uses Linux's timers) and whatever else Wine does differently.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
parts=" ${LAYBY_WINDOWS:-msvc native park} "
source ci/wine.sh

export LAYBY_TEST_SCALE=${LAYBY_TEST_SCALE:-5} # no timeout is shorter than a millisecond here

run_suite() {
    # Wine runs the destructors of an ending process's thread-locals for DLLs only: see tests/process_exit.
    on_windows build --manifest-path ci/process_exit_dll/Cargo.toml
    LAYBY_TEST_DLL="Z:$BUILD/windows/x86_64-pc-windows-gnu/debug/process_exit_dll.dll" on_windows test "$@"
}

if [[ $parts == *" msvc "* ]]; then
    say "clippy for x86_64-pc-windows-msvc"
    RUSTFLAGS="-D warnings" cargo clippy --all-targets -Zbuild-std --target x86_64-pc-windows-msvc --target-dir "$BUILD/windows"
fi
if [[ $parts == *" native "* ]]; then
    start_wine
    say "the suite under Wine, through WaitOnAddress"
    run_suite "$@"
fi
if [[ $parts == *" park "* ]]; then
    start_wine
    # Without the examples of the documentation, which the other part has had.
    [ $# != 0 ] || set -- --lib --tests
    say "the suite under Wine, through Park"
    # As flags of the one package: as RUSTFLAGS they would build std once more.
    RUSTDOCFLAGS="--cfg layby_park" run_suite -Zprofile-rustflags \
        --config 'profile.dev.package.layby.rustflags=["--cfg=layby_park"]' "$@"
fi
