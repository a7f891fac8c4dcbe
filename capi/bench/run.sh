#!/usr/bin/env bash
# Builds and runs bench.cpp against a library that capi/install.sh has installed: with the static library and with the shared one; and, if
# clang and libc++ are there, with libc++ in place of libstdc++.
# Usage: capi/bench/run.sh [--quick] PREFIX      e.g. capi/install.sh /tmp/layby && capi/bench/run.sh /tmp/layby
# Takes: 90 s on a quiet machine, which it wants; --quick: a second, and its figures mean nothing.
set -euo pipefail
quick=
[ "${1:-}" != --quick ] || { quick=$1 && shift; }
prefix=${1:?usage: capi/bench/run.sh [--quick] PREFIX}
cd "$(dirname "$0")"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
flags="-std=c++20 -O2 -Wall -Wextra $(pkg-config --cflags layby)"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

g++ $flags bench.cpp -o "$out/static" "$prefix/lib/liblayby.a" $(pkg-config --libs --static layby | sed 's/-llayby//')
g++ $flags bench.cpp -o "$out/shared" $(pkg-config --libs layby) -Wl,-rpath,"$prefix/lib" -lpthread
echo "= libstdc++, layby linked statically"
"$out/static" $quick
echo "= libstdc++, layby as a shared library"
"$out/shared" $quick
if command -v clang++ >/dev/null && clang++ -stdlib=libc++ $flags bench.cpp -o "$out/libc++" "$prefix/lib/liblayby.a" \
    $(pkg-config --libs --static layby | sed 's/-llayby//') 2>"$out/log"; then
    echo "= libc++, layby linked statically"
    "$out/libc++" $quick
else
    echo "SKIPPED: libc++: clang++ and libc++-dev are not installed"
fi
