#!/usr/bin/env bash
# The test suite on another architecture of Linux: cross-compiled, and run under qemu-user (i686 runs natively).
# Usage: ci/cross.sh ARCH [cargo test's arguments]   ARCH: arm64, i686, armhf, riscv64, s390x
# Needs: Debian 12 and root on a new machine (200 MB of packages: a second rustc with its std sources, a C compiler and
# C library for the target, qemu).
# Takes, on two cores busy with other work: 46 s for arm64, 51 s for i686; the first time 123 s and 98 s more, for std.
# Blind to: weak memory orders (qemu runs on the host's order). It tests word size, endianness, the C library's types and
# the instructions that are chosen.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
arch=${1:?usage: ci/cross.sh ARCH [cargo test arguments]}
shift
case $arch in
    arm64) target=aarch64-unknown-linux-gnu gnu=aarch64-linux-gnu qemu=aarch64 debian=arm64 ;;
    i686) target=i686-unknown-linux-gnu gnu=i686-linux-gnu qemu= debian=i386 ;;
    armhf) target=armv7-unknown-linux-gnueabihf gnu=arm-linux-gnueabihf qemu=arm debian=armhf ;;
    riscv64) target=riscv64gc-unknown-linux-gnu gnu=riscv64-linux-gnu qemu=riscv64 debian=riscv64 ;;
    s390x) target=s390x-unknown-linux-gnu gnu=s390x-linux-gnu qemu=s390x debian=s390x ;;
    *) echo "unknown architecture: $arch" >&2; exit 2 ;;
esac

if [ -n "$qemu" ]; then
    debian_rust "gcc-$gnu" "libc6-dev-$debian-cross" qemu-user
    runner="qemu-$qemu -L /usr/$gnu"
    echo "SKIPPED: tests/fork.rs, fork_handlers.rs: qemu-user 7.2 fails assertions of its own when a forked child of threads starts a thread"
    without=(-Zprofile-rustflags --config 'profile.dev.package.layby.rustflags=["--cfg=layby_no_fork"]')
    export LAYBY_TEST_SCALE=${LAYBY_TEST_SCALE:-10} # counts shrink in emulation, meaning does not
else
    debian_rust "gcc-$gnu" "libc6-dev-$debian-cross"
    without=()
    runner="/usr/$gnu/lib/ld-linux.so.2 --library-path /usr/$gnu/lib"
fi
variable=CARGO_TARGET_$(tr a-z- A-Z_ <<<"$target")
# Twice: cargo starts the tests by it, and some tests start themselves once more.
export "${variable}_LINKER=$gnu-gcc" "${variable}_RUNNER=$runner" "LAYBY_TEST_RUNNER=$runner"

run() { limited cargo test -Zbuild-std --target "$target" --target-dir "$BUILD/cross" "${without[@]}" "$@"; }
if [ "$arch" = arm64 ]; then
    export LAYBY_TEST_POLITE_WAIT=Wfe # which qemu executes, as nothing at all, and does not announce
fi

say "the suite on $arch"
run "$@"

if [ "$arch" = arm64 ] && [ $# = 0 ]; then
    say "spinners on arm64 that wait by WFE"
    announced=$BUILD/event_stream.so
    "$gnu-gcc" -shared -fPIC -o "$announced" ci/event_stream.c
    export "${variable}_RUNNER=$runner -E LD_PRELOAD=$announced"
    run --test backends --test paper
fi
