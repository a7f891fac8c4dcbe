#!/usr/bin/env bash
# Unmodified programs on the preload library, each with it and without: our own tests of POSIX semaphores, CPython's tests of its
# locks, which are sem_t, and a Java virtual machine whose collectors are woken by them. Every outcome must be the same in both;
# docs/preload.md says what differs and why.
# Needs: gcc; a python3 whose locks are semaphores, with its test suite (or Debian's, which is installed); java and javac, or that
# part is left out. Takes: 90 seconds.
#   ci/preload.sh          all of it
#   ci/preload.sh long     more of CPython's tests, and each longer: ten minutes
#   ci/preload.sh bench    measures instead, with the library and without by turns: three minutes on a quiet machine
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need gcc libc6-dev
here=capi/preload
work=$BUILD/preload
mkdir -p "$work"

say "the library"
cargo build --release -p layby-preload
library=$(realpath -m "${CARGO_TARGET_DIR:-target}")/release/liblayby_preload.so

# preloaded COMMAND...: with the library; what reached it is added to $report.
report=$work/report
rm -f "$report"
preloaded() { LD_PRELOAD=$library LAYBY_PRELOAD_REPORT=$report limited "$@"; }
plain() { limited "$@"; }

# reached WHAT: how often WHAT happened in all processes since the last call.
reached() {
    [ -f "$report" ] || { echo 0; return; }
    awk -v what="$1" '{ for (i = 1; i < NF; i++) if ($i == what) sum += $(i + 1) } END { print sum + 0 }' "$report"
}

# has_reached SUITE: that the suite has waited on the library.
has_reached() {
    echo "$1: $(reached semaphores) semaphores, $(reached waits) waits, $(reached sleeps) sleeps, ended by time $(reached timed_out)," \
        "by a signal $(reached interrupted), by a cancellation $(reached cancelled); left to the C library $(reached left)"
    [ "$(reached sleeps)" -gt 0 ] || { echo "$1: it never slept on the library"; exit 1; }
    rm -f "$report"
}

# python_with_semaphores: one that has the tests, too.
python_with_semaphores() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -c 'import sys, test.test_threadsignals; sys.exit(sys.thread_info.lock != "semaphore")' 2>/dev/null; then
            "$python" -c 'import sys; print(sys.executable)'
            return
        fi
    done
}

if [ "${1:-}" = bench ]; then
    python=$(python_with_semaphores)
    gcc -O2 -pthread "$here/bench/semaphores.c" -o "$work/semaphores"
    say "C"
    python3 "$here/bench/compare.py" "$library" 5 "$work/semaphores"
    say "$("${python:-python3}" --version)"
    python3 "$here/bench/compare.py" "$library" 5 "${python:-python3}" "$here/bench/locks.py"
    exit
fi

gcc -O1 -Wall -Wextra -Werror -fPIC -shared "$here/tests/atfork_library.c" -o "$work/libatfork.so"
for name in calls cancel fork memory atfork; do
    libraries=()
    [ "$name" != atfork ] || libraries=(-L"$work" -latfork -Wl,-rpath,"$(realpath "$work")")
    gcc -O1 -Wall -Wextra -Werror -fexceptions -pthread "$here/tests/$name.c" -o "$work/$name" "${libraries[@]}"
    say "$name"
    plain "$work/$name" >"$work/$name.without" || { cat "$work/$name.without"; echo "without the library"; exit 1; }
    preloaded "$work/$name" >"$work/$name.with" || { cat "$work/$name.with"; exit 1; }
    diff "$work/$name.without" "$work/$name.with"
    cat "$work/$name.with"
    has_reached "$name"
done

say "order: without, with"
gcc -O1 -pthread "$here/tests/order.c" -o "$work/order"
plain "$work/order"
preloaded "$work/order" | tee "$work/order.with"
grep -q '^equals: 1. 2. 3.$' "$work/order.with"
rm -f "$report"

# Python, with the library and without at the same time. What differs runs again, alone: tests that wait for a time fail on a busy
# machine now and then.
modules=(test_thread test_threading test_threading_local test_threadsignals test_queue test_sched)
[ "${1:-}" != long ] || modules+=(test_fork1 test_signal test_logging test_threadedtempfile test_contextlib test_asyncio)
python=$(python_with_semaphores)
if [ -z "$python" ]; then
    need libpython3.11-testsuite
    python=$(python_with_semaphores)
fi
if [ -n "$python" ]; then
    say "CPython: $("$python" --version), ${modules[*]}"
    outcomes=$(realpath "$here/tests/outcomes.py")
    (cd "$work" && plain "$python" "$outcomes" "$work/python.without" "${modules[@]}" >"$work/python.without.log" 2>&1) &
    (cd "$work" && preloaded "$python" "$outcomes" "$work/python.with" "${modules[@]}" >"$work/python.with.log" 2>&1)
    wait $!
    mapfile -t differ < <(diff "$work/python.without" "$work/python.with" | sed -n 's/^[<>] [a-z]* //p' | sort -u)
    if [ ${#differ[@]} != 0 ]; then
        echo "again, alone: ${differ[*]}"
        (cd "$work" && plain "$python" "$outcomes" "$work/again.without" "${modules[@]}" -- "${differ[@]}")
        (cd "$work" && preloaded "$python" "$outcomes" "$work/again.with" "${modules[@]}" -- "${differ[@]}")
        diff "$work/again.without" "$work/again.with"
    fi
    cut -d' ' -f1 "$work/python.with" | sort | uniq -c
    grep '^failed' "$work/python.with" | sed 's/$/, with and without/' || true
    has_reached CPython
else
    echo "SKIPPED: CPython: no python3 here whose locks are semaphores, with its tests"
fi

if command -v java >/dev/null && command -v javac >/dev/null; then
    javac -d "$work" "$here/tests/Worker.java"
    # jvm WAY COLLECTOR: what it prints, and whether it answers SIGQUIT, whose handler posts.
    jvm() {
        local way=$1 log=$work/jvm.$1 java
        coproc { "$way" java -Xmx64m "-XX:+$2" -cp "$work" Worker >"$log" 2>&1; }
        local input=${COPROC[1]} process=$COPROC_PID
        until grep -q '^sum' "$log"; do kill -0 "$process" && sleep 0.05 || break; done
        java=$(pgrep -n -f "^java .*$2 .*Worker$") && kill -QUIT "$java"
        until grep -q 'Full thread dump' "$log"; do kill -0 "$process" && sleep 0.05 || break; done
        eval "exec $input>&-"
        wait "$process"
        grep -E '^sum|^Full thread dump' "$log"
    }
    for collector in UseParallelGC UseG1GC; do
        say "Java virtual machine, $collector"
        jvm plain "$collector" >"$work/jvm.lines.without"
        jvm preloaded "$collector" >"$work/jvm.lines.with"
        diff "$work/jvm.lines.without" "$work/jvm.lines.with"
        cat "$work/jvm.lines.with"
        has_reached "$collector"
    done
else
    echo "SKIPPED: the Java virtual machine: java and javac are not installed"
fi
echo "all clear"
