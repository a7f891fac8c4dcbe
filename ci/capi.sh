#!/usr/bin/env bash
# The library for C and C++: that its header fits it; installed below a prefix, its examples and tests with gcc and g++, through the
# shared and the static library; under ThreadSanitizer, which must report nothing but a race that is seeded, and AddressSanitizer;
# with MinGW under Wine; and the benchmark for a moment.
# Usage: ci/capi.sh [linux|sanitizers|windows|bench]...      without arguments: all four
# Needs: gcc, g++, pkg-config; for windows what ci/windows.sh needs, and MinGW's g++ (Debian 12 and root on a new machine).
# Takes, on two cores busy with other work: 80 s after ci/windows.sh; the first time 200 s more, for std on Windows.
# Blind to: other compilers; MSVC; what gcc's ThreadSanitizer cannot see, which is all that happens inside the library.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
parts=" ${*:-linux sanitizers windows bench} "
out=$BUILD/capi
prefix=$out/prefix
mkdir -p "$out"
warnings="-Wall -Wextra -Wpedantic -Wshadow -Werror"
portable="semaphore location eventcount"

for tool in gcc g++ pkg-config; do
    command -v $tool >/dev/null || skip "needs $tool"
done

# compile OUTPUT SOURCE FLAGS...: with the compiler and the standard that the name of the source asks for.
compile() {
    case $2 in
    *.c) ${CC:-gcc} -std=gnu11 -g -O2 $warnings -o "$out/$1" "$2" "${@:3}" ;;
    *) ${CXX:-g++} -std=c++20 -g -O2 $warnings -o "$out/$1" "$2" "${@:3}" ;;
    esac
}

run() {
    echo "$1"
    LAYBY_CI_LIMIT=120 limited "$out/$1" >"$out/$1.log" 2>&1 || { tail -n 30 "$out/$1.log"; echo "$1 failed"; exit 1; }
}

say "header and library"
cargo test -q -p layby-capi
capi/install.sh "$prefix"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
cflags=$(pkg-config --cflags layby)
shared="$(pkg-config --libs layby) -Wl,-rpath,$prefix/lib -lpthread"
static="$prefix/lib/liblayby.a $(pkg-config --libs --static layby | sed 's/-llayby//')"

# layby_dump_waiters_v0_1 is the crate's own, for debuggers.
declared=$(tr '\n' ' ' <"$prefix/include/layby.h" | sed 's~/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/~~g' | grep -o 'layby_[a-z_]*(' | tr -d '(' | sort -u | grep -v '_t$')
exported=$(nm -D --defined-only "$prefix/lib/liblayby.so" | awk '$2 == "T" { print $3 }' | sort)
if wrong=$(diff <(echo "$declared" | sed 's/$/@@LAYBY_0.1/') <(grep -v '^layby_dump_waiters_v' <<<"$exported")); then
    echo "$(wc -l <<<"$declared") functions, each with its version"
else
    echo "the shared library exports something else than the header declares: $wrong"
    exit 1
fi

if [[ $parts == *" linux "* ]]; then
    say "the three commands of docs/c.md"
    commands=$(sed -n '/^```sh$/,/^```$/{/^```/d;p}' docs/c.md | head -n 3 | sed "s#~/.local#$prefix#g")
    ln -sfn "$PWD/capi" "$out/capi"
    (cd "$out" && bash -ec "$commands" 2>&1 | tail -n 4)
    say "the header alone"
    for standard in c11 c17 gnu11; do
        gcc -std=$standard $warnings $cflags -x c -fsyntax-only - <<<'#include <layby.h>'
    done
    for standard in c++11 c++17 c++20; do
        g++ -std=$standard $warnings $cflags -x c++ -fsyntax-only - <<<'#include <layby.h>'
    done
    for source in capi/examples/*.c capi/examples/*.cpp capi/tests/*.c capi/tests/*.cpp; do
        name=$(basename "${source%.*}")
        for library in shared static; do
            compile "$name-$library" "$source" $cflags ${!library}
            run "$name-$library"
        done
    done
fi

if [[ $parts == *" sanitizers "* ]]; then
    say "under ThreadSanitizer"
    # Not posix.c: ThreadSanitizer holds signals back, and its own locks do not survive a fork.
    for name in races $portable; do
        compile "$name-thread" "capi/tests/$name.c" -fsanitize=thread $cflags $shared
        run "$name-thread"
    done
    compile cpp-thread capi/tests/cpp.cpp -fsanitize=thread $cflags $shared
    run cpp-thread
    compile seeded-thread capi/tests/races.c -DSEEDED_RACE -fsanitize=thread $cflags $shared
    if "$out/seeded-thread" >"$out/seeded-thread.log" 2>&1 || ! grep -q 'data race' "$out/seeded-thread.log"; then
        echo "the seeded race was not found"
        exit 1
    fi
    echo "found: a seeded race"
    say "under AddressSanitizer and UBSan"
    for name in $portable; do
        compile "$name-address" "capi/tests/$name.c" -fsanitize=address,undefined $cflags $shared
        run "$name-address"
    done
    compile cpp-address capi/tests/cpp.cpp -fsanitize=address,undefined $cflags $shared
    run cpp-address
fi

if [[ $parts == *" bench "* ]]; then
    say "the benchmark, for a moment"
    capi/bench/run.sh --quick "$prefix"
fi

if [[ $parts == *" windows "* ]]; then
    say "MinGW and Wine"
    # A shell of its own: skipping it is not skipping all.
    set +e
    (
        set -e
        source ci/wine.sh
        need g++-mingw-w64-x86-64-posix
        start_wine
        on_windows build -p layby-capi
        library=$BUILD/windows/x86_64-pc-windows-gnu/debug/liblayby.a
        # The posix variant: its libstdc++ has threads.
        export CC=x86_64-w64-mingw32-gcc-posix CXX=x86_64-w64-mingw32-g++-posix
        for source in capi/tests/{semaphore,location,eventcount}.c capi/tests/cpp.cpp capi/examples/{01_hello,02_ring}.c capi/examples/04_pool.cpp; do
            name=$(basename "${source%.*}").exe
            compile "$name" "$source" $cflags -static "$library" -lkernel32 -lntdll -luserenv -lws2_32 -ldbghelp -lpthread
            echo "$name"
            limited "$wine" "$out/$name" >"$out/$name.log" 2>&1 || { tail -n 30 "$out/$name.log"; echo "$name failed"; exit 1; }
        done
    )
    status=$?
    [ $status = 0 ] || [ $status = $SKIPPED ] || exit $status
fi
