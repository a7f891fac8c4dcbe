#!/usr/bin/env bash
# The test suite under Miri, an interpreter that knows what is undefined behaviour: counts scaled down, under both models of
# borrowing, Stacked Borrows and Tree Borrows, with loads that may return what is no longer the newest (weak memory), strict
# provenance, and several seeds, each another schedule. And faults that it must report: an element that is not pinned, an
# order that is missing.
# Usage: ci/miri.sh [seeded | short | SEEDS [cargo miri test's arguments]]   without: the faults, and 2 seeds of each model. SEEDS
# may be FROM..TO: the first seed is of the whole suite under both models, those that follow of what threads do to each other, each under
# one model: the one half under Stacked Borrows, the other under Tree Borrows. short, for .ci/run: the
# faults, and one seed of what frees what it waits for, of tasks, threads that end, atomics.
# Needs: rustup and a nightly toolchain, to which it adds the components miri and rust-src; skipped without.
# Takes, of CPU time: the faults 17 s; the first time a minute more, for std; short a few minutes; of the suite fifteen minutes by
# the first seed, for each model, then one or two for each seed that follows; fails if a part takes many times as long. A failure names its seed: MIRIFLAGS=-Zmiri-seed=… with the flags that are
# printed here does it again.
# Blind to: what needs fork, signals or /proc; the C library and the kernel, for which Miri has its own; how unlikely a
# schedule is. Time is virtual, so that nobody waits for a deadline.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

nightly=${LAYBY_NIGHTLY:-nightly}
command -v rustup >/dev/null || skip "Miri comes with rustup, which is not installed"
rustup run "$nightly" rustc --version >/dev/null 2>&1 || skip "Miri needs a nightly toolchain: there is no $nightly"
rustup run "$nightly" cargo miri --version >/dev/null 2>&1 ||
    rustup component add miri rust-src --toolchain "$nightly" >"$BUILD/miri-components.log" 2>&1 ||
    { tail -n 3 "$BUILD/miri-components.log"; skip "the components miri and rust-src cannot be had for $nightly"; }
unset RUSTFLAGS RUSTDOCFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET RUSTC
export CARGO_TARGET_DIR=$BUILD/miri
rustup run "$nightly" cargo miri setup >"$BUILD/miri-setup.log" 2>&1 ||
    { tail -n 3 "$BUILD/miri-setup.log"; skip "Miri's own std cannot be built"; }

case ${1:-2} in
    seeded) seeds= ;;
    short) seeds=0..1 ;;
    *..*) seeds=$1 ;;
    *[!0-9]*) echo "usage: ci/miri.sh [seeded | short | SEEDS [cargo miri test's arguments]]" >&2; exit 2 ;;
    *) seeds=0..${1:-2} ;;
esac
form=${1:-}
[ $# = 0 ] || shift

export LAYBY_TEST_SCALE=${LAYBY_TEST_SCALE:-100000}
# Leaks are not looked for: lingering waits ask for a table that is never dropped, so the tests leak theirs. Isolated, so that a
# seed is the whole of what differs; what is not there then, such as /proc, is not there for the program either. More
# preemption than by default, since few instructions lie between a grant and the return.
flags="-Zmiri-strict-provenance -Zmiri-ignore-leaks -Zmiri-isolation-error=hide -Zmiri-preemption-rate=0.03"
flags+=" -Zmiri-env-forward=LAYBY_TEST_SCALE -Zmiri-env-forward=LAYBY_TEST_PATIENCE"
models=("" -Zmiri-tree-borrows)
untestable=(starving:: counters_wrap a_hundred_markers_at_once a_semaphore_moves_between_waits crowd:: times::)
# The same tests on other backends; --test backends has what those must do.
again=(by_park:: by_spinning::)
binaries=(atomic backends cancel condvar_order eventcount freed mutex once paper pipeline reduced rwlock sema sema_alloc tasks thread_exit
    wait_table)
# These take half of the time, and hardly differ from seed to seed.
long=(a_storm_leaves_all_cells_empty a_table_grows_for_many_keys a_waker_that_panics_loses_no_lock nothing_is_lost_by_parking)
# What threads do to each other: by every seed. The rest of the suite, which hardly differs from seed to seed, by the first.
storms=(a_count_that a_crowd_is_cancelled a_fair_mutex a_mutex a_pool_is_shared a_semaphore a_storm a_thread_ends against_
    every_form_works exclude_each_other free_it free_the_count frees_at_once hand_over in_one_graph is_lost lose_and lose_nothing loses_n
    many_readers_or_one_writer nothing_is_lost one_at_a_time one_of_many random_graphs elements_linger threads_and_tasks threads_end wake_one_never)

# Runs cargo miri test: interpreted MIRIFLAGS ARGUMENTS...
interpreted() {
    RUSTFLAGS="--cfg layby_no_fork" MIRIFLAGS="$flags $1" limited rustup run "$nightly" cargo miri test "${@:2}"
}

# A copy of the package with a fault, and what Miri must say of it: seeded FAULT REPORT ARGUMENTS...
seeded() {
    local fault=$1 report=$2 copy=$BUILD/miri-$1 log=$BUILD/miri-$1.log model
    shift 2
    rm -rf "$copy"
    copy_package "$copy"
    seed_"$fault" "$copy/src"
    ! diff -rq src "$copy/src" >/dev/null || { echo "the fault $fault changes nothing: has the source changed?"; exit 1; }
    for model in "${models[@]}"; do
        say "a seeded fault, $fault ${model:+under tree borrows}"
        # One of a few seeds will do: the one that misses it is another schedule.
        # Not where the original is built: cargo would take the one for the other.
        if interpreted "$model -Zmiri-many-seeds=0..8" --target-dir "$BUILD/miri-seeded" --manifest-path "$copy/Cargo.toml" "$@" >"$log" 2>&1; then
            echo "the seeded fault $fault was not found"
            exit 1
        fi
        grep -qE "$report" "$log" || { tail -n 40 "$log"; echo "it failed, but not by '$report'"; exit 1; }
        grep -oEm1 "$report" "$log" | sed 's/^/found: /'
    done
}

# An element that a `&mut` to its thread-local claims for itself: src/wait_table/element.rs, "Never unique".
seed_unpinned() {
    sed -i '/^\/\/\/ Does not compile if an element is/,/^};$/d; s/\bnot_unique: PhantomPinned/not_unique: ()/; s/marker::PhantomPinned, //' \
        "$1/wait_table/element.rs"
}

# A push that does not release the element's fields: the mutant `relaxed_push` of ci/mutants.
seed_relaxed_push() {
    sed -i 's/compare_exchange_weak(seen.0, ours.0, Ordering::Release,/compare_exchange_weak(seen.0, ours.0, Ordering::Relaxed,/' \
        "$1/wait_table/pop_stack.rs"
}

if [ $# = 0 ]; then
    seeded unpinned '(Stacked|Tree) Borrows rules it violated' --test thread_exit a_thread_ends_with_a_lingering_element_beside_another
    seeded relaxed_push 'Data race detected' --test wait_table every_form_works_on_a_table_in_a_static
    [ -n "$seeds" ] || exit 0
    whole=1
    echo "SKIPPED: signals, fork, fork_handlers, soak, process_exit: Miri has neither signals nor fork nor Windows"
    echo "SKIPPED: litmus, allocation, counters: about the processor, the allocator, and the feature of that name"
    echo "SKIPPED: thousands of threads, the names of threads, processes of their own: ignored in the tests, each with its reason"
    echo "SKIPPED: ${untestable[*]}: by real time, which Miri's is not, or by counts that do not shrink"
    echo "SKIPPED: ${again[*]}: the same on other backends"
    set -- --no-fail-fast --lib "${binaries[@]/#/--test=}" -- "${untestable[@]/#/--skip=}" "${again[@]/#/--skip=}"
    if [ "$form" = short ]; then
        echo "SKIPPED: the rest of the suite, for its time: ci/miri.sh runs it"
        # Of the tasks those of the wait table: what the primitives' tasks count does not shrink.
        set -- --test atomic --test freed --test tasks --test thread_exit -- \
            --skip=events:: --skip=every_poll:: --skip=locks:: --skip=mixed:: --skip=pool:: --skip=ported:: --skip=reports:: --skip=sema:: --skip=hostile_sema::
    fi
fi
# The suite under one model: suite MODEL SEEDS ARGUMENTS...
suite() {
    say "the suite under Miri, ${1:+tree borrows, }seeds $2: MIRIFLAGS='$flags $1'"
    LAYBY_CI_LIMIT=${LAYBY_CI_LIMIT:-$((900 + 300 * (${2#*..} - ${2%..*})))} interpreted "$1 -Zmiri-many-seeds=$2" "${@:3}"
}

# What threads do to each other, under one model: storm MODEL SEEDS. By exact names: to compare forty filters with the name of every test
# takes Miri twice as long as the tests themselves.
storm() {
    local binary names
    say "what threads do to each other, ${1:+tree borrows, }seeds $2: MIRIFLAGS='$flags $1'"
    for binary in "${binaries[@]}"; do
        names=$(interpreted "" -q --test "$binary" -- --list | sed -n 's/: test$//p' |
            grep -F "${storms[@]/#/-e}" | grep -vF "${untestable[@]/#/-e}" "${again[@]/#/-e}" "${long[@]/#/-e}") || continue
        echo "$binary:" $names
        LAYBY_CI_LIMIT=${LAYBY_CI_LIMIT:-$((900 + 100 * (${2#*..} - ${2%..*})))} \
            interpreted "$1 -Zmiri-many-seeds=$2" -q --test "$binary" -- --exact $names
    done
}

first=${seeds%..*} end=${seeds#*..}
if [ "$form" != short ] && [ -n "${whole:-}" ] && [ "$end" -gt $((first + 2)) ]; then
    half=$((first + 1 + (end - first) / 2))
    # One seed has work for one CPU.
    parts=()
    for model in "${models[@]}"; do
        suite "$model" "$first..$((first + 1))" "$@" >"$BUILD/miri-first$model.log" 2>&1 &
        parts+=($!)
    done
    for nth in "${!parts[@]}"; do
        wait "${parts[nth]}" && status=0 || status=$?
        cat "$BUILD/miri-first${models[nth]}.log"
        [ $status = 0 ] || exit $status
    done
    storm "${models[0]}" "$((first + 1))..$half"
    storm "${models[1]}" "$half..$end"
else
    for model in "${models[@]}"; do suite "$model" "$seeds" "$@"; done
fi
