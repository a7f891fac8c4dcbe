#!/usr/bin/env bash
# Builds the library for C and C++ and installs it: the static and the shared library, the headers, the file for pkg-config.
# Usage: capi/install.sh [PREFIX]      default /usr/local; with DESTDIR set, the files go below that
#   LAYBY_CARGO_BUILD="..."   arguments for `cargo build`, such as `--target aarch64-unknown-linux-gnu`
#   CC                        the compiler that links the shared library (default cc)
# Needs: cargo, a C compiler, pkg-config to use what is installed. For Linux and other systems with ELF; for Windows: docs/c.md.
set -euo pipefail
prefix=$(realpath -m "${1:-/usr/local}")
cd "$(dirname "$0")"
read -ra arguments <<<"${LAYBY_CARGO_BUILD:-}"

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
# What a program must link besides, if it links the static library.
private=$(cargo rustc --release --lib --crate-type staticlib "${arguments[@]}" -- --print native-static-libs 2>&1 | tee >(cat >&2) |
    sed -n 's/^note: native-static-libs: //p')
[ -n "$private" ] || private='-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc' # nothing was built anew, so nothing was printed
archive=$target/release/liblayby.a
for ((i = 0; i + 1 < ${#arguments[@]}; i++)); do
    [ "${arguments[i]}" != --target ] || archive=$target/${arguments[i + 1]}/release/liblayby.a
done

root=${DESTDIR:-}$prefix
install -d "$root/lib/pkgconfig" "$root/include"
install -m 644 include/layby.h include/layby.hpp include/layby_tsan.h "$root/include"
install -m 644 "$archive" "$root/lib/liblayby.a"
# nodelete: a thread may be waiting in it, and fork's handlers are in it.
"${CC:-cc}" -shared -o "$root/lib/liblayby.so.0" -Wl,-soname,liblayby.so.0 -Wl,--version-script=layby.map \
    -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -Wl,--gc-sections -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,-s \
    -Wl,--as-needed $private
ln -sf liblayby.so.0 "$root/lib/liblayby.so"
sed "s~@PREFIX@~$prefix~; s~@VERSION@~$version~; s~@PRIVATE@~$private~" layby.pc.in >"$root/lib/pkgconfig/layby.pc"
echo "installed layby $version in $root"
