#!/usr/bin/env bash
# Targets that are not run: `cargo check` with warnings denied, std included. Most go through Park.
# Usage: ci/others.sh [TARGET...]
# Needs: Debian 12 and root on a new machine (150 MB of packages: a second rustc with its std sources).
# Takes: 4 minutes the first time, 10 seconds again.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
debian_rust
targets=("$@")
[ $# -gt 0 ] || targets=(
    aarch64-apple-darwin x86_64-unknown-freebsd x86_64-unknown-netbsd x86_64-unknown-openbsd x86_64-unknown-illumos
    wasm32-unknown-unknown wasm32-wasip1-threads
    aarch64-linux-android x86_64-unknown-linux-musl aarch64-pc-windows-msvc i686-pc-windows-msvc
)

failed=()
for target in "${targets[@]}"; do
    say "cargo check for $target"
    std=std,panic_unwind
    [[ $target != wasm32-* ]] || std=std,panic_abort
    RUSTFLAGS="-D warnings" cargo check -q -Zbuild-std="$std" --target "$target" --target-dir "$BUILD/others" || failed+=("$target")
done
[ ${#failed[@]} -eq 0 ] || { echo "does not build for: ${failed[*]}"; exit 1; }
