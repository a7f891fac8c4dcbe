#!/usr/bin/env bash
# Everything that can be said without running the crate: that the tables of mutants and the models fit the source, who may use
# whom in src, format, lints in all worlds, documentation, the package, and two gates: unsafe code only in the files listed here,
# operating systems only in src/sys.
# Needs: the Rust toolchain with rustfmt and clippy; python3 for the first three, or they are skipped; rustup and a network for
# the oldest Rust, or that is skipped. Takes: 2 minutes the first time.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

if command -v python3 >/dev/null; then
    say "mutants"
    python3 ci/mutants.py check
    python3 ci/mutants.py verification --check
    say "models for SPIN"
    python3 ci/liveness.py check
    say "architecture"
    python3 ci/architecture.py
    python3 ci/architecture.py seeded
    say "front page"
    python3 ci/front_page.py
else
    echo "SKIPPED: the tables of mutants, the models and the architecture: python3 is not installed"
fi

say "format"
cargo fmt --all --check

say "lints"
cargo clippy --workspace --all-targets --features layby-bench/png -- -D warnings
cargo clippy -p layby-bench --all-targets -- -D warnings
cargo clippy --all-targets --features counters -- -D warnings
# What returns something and does nothing says so. Not in models, whose atomics clippy does not take for what can change.
cargo clippy --all-features -- -D warnings -D clippy::must_use_candidate
# Not the examples: their statics are constants, which a model's atomics cannot be.
for world in layby_loom layby_shuttle layby_coherence; do
    say "lints, --cfg $world"
    RUSTFLAGS="--cfg $world" cargo clippy -p layby -p layby-sim -p model_checked --lib --bins --tests --target-dir "$BUILD/$world" -- -D warnings
done

say "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --all-features

say "a model with --cfg loom alone"
if refused=$(RUSTFLAGS="--cfg loom" cargo check --target-dir "$BUILD/loom_alone" 2>&1) || ! grep -q 'add `--cfg layby_loom`' <<<"$refused"; then
    echo "it is not refused, or not for that: $refused"
    exit 1
fi

say "without default features"
cargo clippy --no-default-features -- -D warnings
cargo test --no-default-features --doc
for target in x86_64-unknown-linux-gnu x86_64-pc-windows-gnu; do
    found=$(cargo tree --no-default-features -e normal --prefix none --target $target | cut -d' ' -f1 | sort -u | tr '\n' ' ')
    case $found in
    "layby libc once_cell " | "layby once_cell windows-link windows-sys ") ;;
    *) echo "without default features, on $target, it depends on: $found" && exit 1 ;;
    esac
done
oldest=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml).0
say "without default features, Rust $oldest"
if command -v rustup >/dev/null && rustup toolchain install "$oldest" --profile minimal --no-self-update >"$BUILD/rustup.log" 2>&1; then
    RUSTUP_TOOLCHAIN=$oldest cargo build --no-default-features --target-dir "$BUILD/oldest"
else
    echo "SKIPPED: Rust $oldest cannot be installed; clippy's incompatible_msrv has looked at the calls"
fi

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
allowed='sim/driver/src/peers.rs
sim/driver/src/turnstile.rs
src/debugger.rs
src/mutex/barging.rs
src/mutex/condvar.rs
src/mutex/fair.rs
src/mutex/futures.rs
src/mutex/guards.rs
src/paper/address_wait.rs
src/paper/chain.rs
src/pipeline/ring.rs
src/rwlock/futures.rs
src/rwlock/guards.rs
src/rwlock/raw.rs
src/sync/mod.rs
src/sys/mod.rs
src/wait_table/element.rs
src/wait_table/gate.rs
src/wait_table/group.rs
src/wait_table/linked.rs
src/wait_table/local.rs
src/wait_table/pop_stack.rs
src/wait_table/publication.rs
src/wait_table/task/banks.rs
src/wait_table/task/element.rs
src/wait_table/task/future.rs
src/wait_table/task/mod.rs
src/wait_table/task/wakers.rs'
if opened=$(grep -rlE 'allow\((.*, *)?unsafe_code' src sim examples 2>/dev/null | grep -vxF "$allowed"); then
    echo "unsafe code is opened in files that are not on the list of ci/check.sh:"
    echo "$opened"
    exit 1
fi

say "operating systems"
named='\b(target_os|target_family|target_vendor|target_env|unix|windows|libc|windows_sys)\b'
# A slice's `.windows(2)` is not one.
if found=$(grep -rnE "$named" src --include='*.rs' | grep -v '^src/sys/' | grep -vE '^[^:]+:[0-9]+: *//|\.windows\('); then
    echo "operating systems are named outside src/sys:"
    echo "$found"
    exit 1
fi
echo "all clear"
