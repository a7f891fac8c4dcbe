#!/usr/bin/env bash
# Targets that are not run: `cargo check` with warnings denied, std included. Most go through Park.
# Usage: ci/others.sh [TARGET...|all]: without an argument, one target of each kind
# Needs: Debian 12 and root on a new machine (150 MB of packages: a second rustc with its std sources).
# Takes: 4 minutes the first time, 10 seconds again.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
debian_rust
one_of_each_kind=(
    aarch64-apple-darwin x86_64-unknown-freebsd wasm32-unknown-unknown aarch64-linux-android x86_64-unknown-linux-musl
)
more=(
    x86_64-unknown-netbsd x86_64-unknown-openbsd x86_64-unknown-illumos wasm32-wasip1-threads aarch64-pc-windows-msvc
    i686-pc-windows-msvc
)
case ${1:-} in
    '') targets=("${one_of_each_kind[@]}") ;;
    all) targets=("${one_of_each_kind[@]}" "${more[@]}") ;;
    *) targets=("$@") ;;
esac

failed=()
for target in "${targets[@]}"; do
    say "cargo check for $target"
    std=std,panic_unwind
    [[ $target != wasm32-* ]] || std=std,panic_abort
    RUSTFLAGS="-D warnings" cargo check -q -Zbuild-std="$std" --target "$target" --target-dir "$BUILD/others" || failed+=("$target")
done
[ ${#failed[@]} -eq 0 ] || { echo "does not build for: ${failed[*]}"; exit 1; }
