#!/usr/bin/env bash
# Fuzzing by coverage: the byte programs of tests/shuttle/fuzz, made by libFuzzer, which keeps those that reach new code.
# Usage: ci/fuzz.sh MINUTES [programs|pipelines]
# Without a name one after the other, each for so long. Begins with the corpus of each and with what earlier runs kept in
# target/ci/fuzz; says where what it has kept is, to be put into the corpus. A failure leaves the program, made small, and the command
# that repeats it; the line of digits then belongs into that corpus.
# Needs: a nightly toolchain, cargo-fuzz (installs it), a C++ compiler; skipped without. One minute to build.
# Blind to: what the models are blind to under shuttle. Not in .ci/run, where tests/shuttle/fuzz makes its programs at random.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
minutes=${1:?usage: ci/fuzz.sh MINUTES [programs|pipelines]}
targets=${2:-programs pipelines}

nightly=${LAYBY_NIGHTLY:-nightly}
command -v rustup >/dev/null || skip "cargo-fuzz needs a nightly toolchain of rustup's, which is not installed"
rustup run "$nightly" rustc --version >/dev/null 2>&1 || skip "cargo-fuzz needs a nightly toolchain: there is no $nightly"
command -v c++ >/dev/null || skip "libFuzzer needs a C++ compiler"
command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked >"$BUILD/cargo-fuzz.log" 2>&1 ||
    { tail -n 3 "$BUILD/cargo-fuzz.log"; skip "cargo-fuzz cannot be installed"; }

# target, the directory of its corpus, its test
fuzz() {
    local target=$1 corpus=$2 test=$3 kept=$BUILD/fuzz/$1/corpus program failed
    mkdir -p "$kept"
    # A line for each program, in files and back again.
    python3 - "$corpus" "$kept" <<'EOF'
import pathlib, sys
corpus, kept = map(pathlib.Path, sys.argv[1:])
for file in corpus.glob("*.hex"):
    for number, line in enumerate(file.read_text().split()):
        (kept / f"{file.stem}-{number}").write_bytes(bytes.fromhex(line))
EOF

    say "$target by coverage, for $minutes minutes"
    # No sanitizer: shuttle switches stacks, of which they know nothing. Much memory: a program's world is never freed, and takes 9 KiB.
    RUSTFLAGS="--cfg layby_shuttle" rustup run "$nightly" cargo fuzz run --sanitizer none --target-dir "$BUILD/fuzz/target" \
        "$target" "$kept" -- -max_total_time=$((60 * minutes)) -max_len=320 -rss_limit_mb=8192 -print_final_stats=1 \
        -artifact_prefix="$BUILD/fuzz/$target/" || {
        failed=$(ls -t "$BUILD/fuzz/$target"/crash-* "$BUILD/fuzz/$target"/oom-* "$BUILD/fuzz/$target"/timeout-* 2>/dev/null | head -n 1)
        [ -n "$failed" ] || exit 1
        say "made small"
        LAYBY_FUZZ_HEX=$(python3 -c 'import sys; print(open(sys.argv[1], "rb").read().hex())' "$failed") \
            RUSTFLAGS="--cfg layby_shuttle" cargo test --release --target-dir "$BUILD/layby_shuttle" --test shuttle \
            "fuzz::$test" -- --nocapture || true
        exit 1
    }
    say "what was kept is made small"
    RUSTFLAGS="--cfg layby_shuttle" rustup run "$nightly" cargo fuzz cmin --sanitizer none --target-dir "$BUILD/fuzz/target" \
        "$target" "$kept"
    python3 - "$kept" >"$BUILD/fuzz/$target/by_coverage.hex" <<'EOF'
import pathlib, sys
print("\n".join(sorted((file.read_bytes().hex() for file in pathlib.Path(sys.argv[1]).iterdir()), key=lambda line: (len(line), line))))
EOF
    echo "kept: $(wc -l <"$BUILD/fuzz/$target/by_coverage.hex") programs, in $BUILD/fuzz/$target/by_coverage.hex; they belong into $corpus"
}

for target in $targets; do
    case $target in
        programs) fuzz programs tests/shuttle/fuzz/corpus random_programs ;;
        pipelines) fuzz pipelines tests/shuttle/fuzz/pipelines/corpus random_pipelines ;;
        *) echo "neither programs nor pipelines: $target"; exit 1 ;;
    esac
done
