#!/usr/bin/env bash
# The test suite natively, every example, and tasks on real runtimes: debug and release, on all CPUs and on one, with Park as the
# platform's backend, with the feature `counters`, and, where they matter, with counters of 32 bits.
# Usage: ci/test.sh [TIMES]: how often each of them runs (default 1); e.g. ci/test.sh 50 before a release
# Needs: the Rust toolchain; taskset (util-linux) for the run on one CPU. Takes: 6 minutes for one time.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
times=${1:-1}

repeat() {
    local what=$1 i
    shift
    for ((i = 1; i <= times; i++)); do
        say "$what, $i of $times"
        limited "$@"
    done
}

# `.ci/run` has just done so.
[ -n "${LAYBY_SUITE_HAS_RUN:-}" ] || repeat "debug" cargo test
for example in examples/*.rs; do
    repeat "$example" cargo run --quiet --example "$(basename "$example" .rs)"
done
repeat "tasks on real runtimes" cargo test -p async_service
for service in connection_pool rate_limiter admissions; do
    repeat "examples/async_service, $service" cargo run --quiet -p async_service --bin "$service"
done
# Without the examples of the documentation, which the first run has had.
tests=(--lib --tests)
repeat "release" cargo test --release "${tests[@]}"
if command -v taskset >/dev/null && taskset -c 0 true; then
    repeat "debug, one CPU" taskset -c 0 cargo test "${tests[@]}"
    repeat "release, one CPU" taskset -c 0 cargo test --release "${tests[@]}"
else
    echo "SKIPPED: one CPU: taskset is not installed"
fi
repeat "with counters" cargo test --features counters --lib --test counters --test wait_table --test sema --test mutex
# The counters of targets without 64-bit atomics, where ticket queues, and what is built on them, differ.
RUSTFLAGS="${RUSTFLAGS:-} --cfg layby_narrow" repeat "with narrow counters" \
    cargo test --target-dir "$BUILD/narrow" --lib --test sema --test sema_alloc --test paper --test mutex --test reduced --test rwlock --test fork
flags="${RUSTFLAGS:-} --cfg layby_park"
RUSTFLAGS=$flags repeat "through Park" cargo test --target-dir "$BUILD/park" "${tests[@]}"
