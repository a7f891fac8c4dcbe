#!/bin/sh
# Models: every loom model, shuttle's deep schedules, programs made of bytes, the litmus tests, the explorer, and every
# mutant, which must be caught.
#
#   ci/model.sh                 all of it, as `.ci/run` has time for: of each loom model 5,000 executions, and if there are more, also
#                               all that it does with one preemption less
#   ci/model.sh models          the loom models only, and whole; each prints its bound, its executions and its seconds
#   ci/model.sh explorer        the independent explorers of the ticket queue's and the lanes' protocols only
#   ci/model.sh litmus          the litmus tests in the language's memory model only
#   ci/model.sh shuttle         shuttle only
#   ci/model.sh example         the package that model-checks what it builds on the crate
#   ci/model.sh mutants [NAME…] all mutants, or those named
#
# Takes, on two cores: the loom models three minutes in `.ci/run`, and whole half an hour, for each execution maps its stacks anew,
# which is slow on some virtual machines (as much system time as user time); the mutants 6 to 10, of which much is watchdogs;
# shuttle 1; the explorers half a minute, the litmus tests 1 second.
#
# Needs: the Rust toolchain; python3 for the explorer, the litmus tests and the mutants, or they are skipped.
#
# By hand: RUSTFLAGS='--cfg layby_loom' cargo test --release --test loom -- --nocapture
# A mutant by hand: ci/mutants.py diff no_flush | git apply, and the same; then git apply -R
set -eu
cd "$(dirname "$0")/.."
build=${CARGO_TARGET_DIR:-$PWD/target}/model
unset CARGO_TARGET_DIR
export CARGO_PROFILE_RELEASE_DEBUG=0

# The mutants are the rows of ci/mutants/*.txt; ci/mutants.py says what is in a row.
# What a mutant may take until it is caught. One that hangs is not counted as caught: loom reports its deadlocks, and the
# ordinary tests have watchdogs, which are less patient here.
mutant_seconds=90
watchdog_seconds=10
# Of random programs more than without a mutant, of which now and then none meets it.
mutant_programs=400000

in_world() { # loom, shuttle or real; cargo arguments…
    world=$1
    shift
    flags=
    test "$world" = real || flags="--cfg layby_$world"
    RUSTFLAGS=$flags CARGO_TARGET_DIR="$build/$world" cargo "$@"
}

run_models() {
    echo "== loom models"
    # One process for each subject: what an execution has instead of statics is never freed, and adds up to gigabytes.
    for subject in $(sed -n 's/^mod \(.*\);$/\1/p' tests/loom/main.rs); do
        in_world loom test --release --test loom -- --nocapture "$subject::" || return
    done
}

# Twice, as one of its users would.
run_example() {
    echo "== examples/model_checked"
    for world in loom shuttle; do
        in_world $world test --release -p model_checked || return
    done
}

run_python() { # headline, script
    echo "== $1"
    if command -v python3 >/dev/null; then
        python3 "$2"
    else
        echo "SKIPPED: $1: python3 is not installed"
    fi
}

run_explorer() {
    run_python "explorer of the ticket queue's protocol" ci/abandon_model.py &&
        run_python "explorer of a lane's protocol" ci/lane_model.py
}

run_litmus() { run_python "litmus tests" ci/litmus.py; }

run_shuttle() {
    echo "== shuttle"
    in_world shuttle test --release --test shuttle -- --nocapture
}

# The models that no row of the table names: one that no mutant has ever made fail proves nothing.
unnamed_models() {
    grep -E '^(loom|shuttle)' "$build/binaries" | while read -r name binary; do
        "$binary" --list --format terse | sed -n "s/^\(.*\): test\$/$name \1/p"
    done | grep -v '^loom litmus::' | sort -u >"$build/models" # the litmus tests have twins of their own
    cut -d' ' -f2- "$build/chosen" | sort -u | comm -13 - "$build/models" |
        sed 's/^\(.*\) \(.*\)$/no mutant is named for the model \1::\2/'
}

world_of() { # test binary
    case $1 in
    loom*) echo loom ;;
    shuttle*) echo shuttle ;;
    litmus) echo none ;;
    *) echo real ;;
    esac
}

# All mutants are built into one binary for each file of tests, from one copy of the package. The models' other crates are
# not built again: the copy has the target directories of the original.
build_mutants() { # test binaries, may have *: prints "name path" for each
    for world in loom shuttle real; do
        targets=
        for name; do
            test "$(world_of "$name")" != $world || targets="$targets $(test "$name" = lib && echo --lib || echo "--test $name")"
        done
        test -z "$targets" && continue
        # The ordinary tests with debug assertions, the models as fast as they go.
        profile=$(test $world = real || echo --release)
        # shellcheck disable=SC2086
        in_world $world test $profile --manifest-path "$build/mutated/Cargo.toml" --no-run $targets 2>"$build/$world.log" ||
            { cat "$build/$world.log" >&2; exit 2; }
        # "Executable tests/name.rs (path/name-0123456789abcdef)"; the unit tests are named by the package.
        sed -n 's/.*Executable .*(\(.*\/\(.*\)-[0-9a-f]*\))$/\2 \1/p' "$build/$world.log" | sed 's/^layby /lib /'
    done
}

# One row: prints whether the test fails with the mutant. Without it, it must pass.
run_mutant() { # mutant, test binary, test
    binary=$(sed -n "s/^$2 //p" "$build/binaries")
    log=$build/mutants/$1.$2.$3
    status=0
    start=$(date +%s)
    if test "$2" = litmus; then
        python3 ci/litmus.py "$3" "$1" >"$log" 2>&1 || status=$?
    else
        # What real threads do, and which schedules shuttle draws, is left to chance: they may meet a mutant the second time, or the third.
        attempts=$(test "$1" = none || test "$(world_of "$2")" = loom && echo 1 || echo 3)
        while test $attempts -gt 0 && test $status = 0; do
            LAYBY_MUTANT=$1 LAYBY_TEST_PATIENCE=$watchdog_seconds LAYBY_FUZZ_PROGRAMS=$mutant_programs \
                timeout "$mutant_seconds" "$binary" --exact "$3" >"$log" 2>&1 || status=$?
            attempts=$((attempts - 1))
        done
        grep -q '^running 1 test' "$log" || status="no such test"
        # A deadlock is reported from the small stack of a model's thread. If that overflows, the process hangs afterwards.
        if test "$status" = 124 && grep -qE '^test result: FAILED|has overflowed its stack' "$log"; then status=101; fi
    fi
    # 101: a test failed. 134: loom's deadlock, found while destructors ran, or a watchdog. 139: a chain that is not ours was
    # walked. 124: it hung.
    case $status in
    101 | 134 | 139) caught="$2::$3" ;;
    *) caught="NOT CAUGHT by $2::$3 ($status)" ;;
    esac
    printf '%-30s| %s, %d s\n' "$1" "$caught" $(($(date +%s) - start))
}

at_once() { # how many at a time; rows on the standard input
    CARGO_TARGET_DIR=${build%/model} xargs -r -P "$1" -L 1 sh "$0" one-mutant
}

run_mutants() { # names, or none for all
    echo "== mutants"
    if ! command -v python3 >/dev/null; then
        echo "SKIPPED: mutants: python3 is not installed"
        return
    fi
    mkdir -p "$build/mutants"
    chosen=$build/chosen
    # A row that does not fit the source is told before anything is built.
    python3 ci/mutants.py instrument "$build/mutated"
    # The models' binaries have the same names, and may be younger than the copy: cargo would take them for the mutants'.
    touch "$build/mutated/src/lib.rs"
    python3 ci/mutants.py rows "$@" >"$chosen"
    # With all mutants all models are built, so that one without a mutant is noticed.
    models=$(test $# != 0 || echo 'loom shuttle')
    named=$(cut -d' ' -f2 "$chosen" | sort -u | if test $# = 0; then grep -vE '^(loom|shuttle)'; else cat; fi)
    # shellcheck disable=SC2086
    (set -f && build_mutants $models $named) >"$build/binaries"
    if test $# = 0; then unnamed_models; fi >"$build/disagreements"
    checkers='^[^ ]+ (loom|shuttle|litmus)'
    cpus=$(nproc)
    grep -E "$checkers" "$chosen" | at_once "$cpus" | tee "$build/caught"
    # Of the ordinary tests most hang until their watchdogs fire, so more of them at once. Without a mutant they must pass, though
    # their watchdogs are impatient; of the models we know that already.
    grep -vE "$checkers" "$chosen" | at_once $((4 * cpus)) | tee -a "$build/caught"
    grep -vE "$checkers" "$chosen" | sed 's/^[^ ]*/none/' | sort -u | at_once "$cpus" | grep -v 'NOT CAUGHT.*(0)' >>"$build/disagreements" || true
    cat "$build/disagreements"
    echo "$(grep -vc 'NOT CAUGHT' "$build/caught" || true) of $(wc -l <"$chosen") are caught"
    ! grep -q 'NOT CAUGHT' "$build/caught" && ! test -s "$build/disagreements"
}

# The explorer and the litmus tests, which have one thread, beside the models.
run_all() {
    mkdir -p "$build"
    { run_explorer && run_litmus; } >"$build/python.log" 2>&1 &
    beside=$!
    status=0
    { LAYBY_MODEL_EXECUTIONS=5000 run_models && run_shuttle && run_example; } || status=$?
    wait $beside || status=$?
    cat "$build/python.log"
    test $status = 0 && run_mutants
}

what=${1:-all}
test $# = 0 || shift
case $what in
all) run_all ;;
explorer) run_explorer ;;
litmus) run_litmus ;;
models) run_models ;;
shuttle) run_shuttle ;;
example) run_example ;;
mutants) run_mutants "$@" ;;
one-mutant) run_mutant "$@" ;;
*) echo "usage: ci/model.sh [models|explorer|litmus|shuttle|example|mutants [NAME...]]" >&2; exit 2 ;;
esac
