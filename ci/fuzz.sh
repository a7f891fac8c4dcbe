#!/usr/bin/env bash
# Fuzzing by coverage: the byte programs of tests/shuttle/fuzz, made by libFuzzer, which keeps those that reach new code.
# Usage: ci/fuzz.sh MINUTES
# Begins with the corpus of tests/shuttle/fuzz and with what earlier runs kept in target/ci/fuzz. A failure leaves the program,
# made small, and the command that repeats it; the line of digits then belongs into tests/shuttle/fuzz/corpus.
# Needs: a nightly toolchain, cargo-fuzz (installs it), a C++ compiler; skipped without. One minute to build.
# Blind to: what the models are blind to under shuttle. Not in .ci/run, where tests/shuttle/fuzz makes its programs at random.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
minutes=${1:?usage: ci/fuzz.sh MINUTES}

nightly=${LAYBY_NIGHTLY:-nightly}
command -v rustup >/dev/null || skip "cargo-fuzz needs a nightly toolchain of rustup's, which is not installed"
rustup run "$nightly" rustc --version >/dev/null 2>&1 || skip "cargo-fuzz needs a nightly toolchain: there is no $nightly"
command -v c++ >/dev/null || skip "libFuzzer needs a C++ compiler"
command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked >"$BUILD/cargo-fuzz.log" 2>&1 ||
    { tail -n 3 "$BUILD/cargo-fuzz.log"; skip "cargo-fuzz cannot be installed"; }

kept=$BUILD/fuzz/corpus
mkdir -p "$kept"
for program in tests/shuttle/fuzz/corpus/*.hex; do
    python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(open(sys.argv[1]).read()))' "$program" \
        >"$kept/$(basename "$program" .hex)"
done

say "programs by coverage, for $minutes minutes"
# No sanitizer: shuttle switches stacks, of which they know nothing.
RUSTFLAGS="--cfg layby_shuttle" rustup run "$nightly" cargo fuzz run --sanitizer none --target-dir "$BUILD/fuzz/target" programs \
    "$kept" -- -max_total_time=$((60 * minutes)) -max_len=320 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$BUILD/fuzz/" || {
    failed=$(ls -t "$BUILD"/fuzz/crash-* "$BUILD"/fuzz/oom-* "$BUILD"/fuzz/timeout-* 2>/dev/null | head -n 1)
    [ -n "$failed" ] || exit 1
    say "made small"
    LAYBY_FUZZ_HEX=$(python3 -c 'import sys; print(open(sys.argv[1], "rb").read().hex())' "$failed") \
        RUSTFLAGS="--cfg layby_shuttle" cargo test --release --target-dir "$BUILD/layby_shuttle" --test shuttle \
        fuzz::random_programs -- --nocapture || true
    exit 1
}
say "what was kept is made small"
RUSTFLAGS="--cfg layby_shuttle" rustup run "$nightly" cargo fuzz cmin --sanitizer none --target-dir "$BUILD/fuzz/target" programs "$kept"
