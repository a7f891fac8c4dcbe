#!/usr/bin/env bash
# Everything that can be said without running the crate: that the tables of mutants fit the source, who may use whom in src,
# format, lints in all worlds, documentation, the package, and two gates: unsafe code only in the files listed here,
# operating systems only in src/sys.
# Needs: the Rust toolchain with rustfmt and clippy; python3 for the first two, or they are skipped. Takes: 1 minute the first
# time.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

if command -v python3 >/dev/null; then
    say "mutants"
    python3 ci/mutants.py check
    python3 ci/mutants.py verification --check
    say "architecture"
    python3 ci/architecture.py
else
    echo "SKIPPED: the tables of mutants and the architecture: python3 is not installed"
fi

say "format"
cargo fmt --all --check

say "lints"
cargo clippy --workspace --all-targets -- -D warnings
cargo clippy --all-targets --features counters -- -D warnings
for world in layby_loom layby_shuttle layby_coherence; do
    say "lints, --cfg $world"
    RUSTFLAGS="--cfg $world" cargo clippy -p layby -p layby-sim --all-targets --target-dir "$BUILD/$world" -- -D warnings
done

say "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps

say "package"
cargo package --allow-dirty
packaged=$(cargo package --list --allow-dirty)
for file in src/lib.rs README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE; do
    grep -qx "$file" <<<"$packaged" || { echo "the package lacks $file"; exit 1; }
done
if grep -E '^(\.ci|ci|benches|sim)/' <<<"$packaged"; then
    echo "the package holds what its users do not need"
    exit 1
fi

say "unsafe code"
allowed='examples/pipeline/mod.rs
sim/driver/src/peers.rs
src/debugger.rs
src/mutex/condvar.rs
src/mutex/guards.rs
src/sync/mod.rs
src/sys/mod.rs
src/wait_table/element.rs
src/wait_table/local.rs
src/wait_table/pop_stack.rs
src/wait_table/publication.rs'
if opened=$(grep -rlE 'allow\((.*, *)?unsafe_code' src sim examples 2>/dev/null | grep -vxF "$allowed"); then
    echo "unsafe code is opened in files that are not on the list of ci/check.sh:"
    echo "$opened"
    exit 1
fi

say "operating systems"
named='\b(target_os|target_family|target_vendor|target_env|unix|windows|libc|windows_sys)\b'
if found=$(grep -rnE "$named" src --include='*.rs' | grep -v '^src/sys/' | grep -vE '^[^:]+:[0-9]+: *//'); then
    echo "operating systems are named outside src/sys:"
    echo "$found"
    exit 1
fi
echo "all clear"
