#!/usr/bin/env bash
# The coherence simulator: its tests, and a check that it runs the real code: changed constants in src/ change its counts.
#
#   ci/coherence.sh            both
#   ci/coherence.sh tests      the tests only
#   ci/coherence.sh constants  the constants only
#   ci/coherence.sh variants   the table of sim/README.md, "What the model changed": every variant at T = 8, 64 and 512
#
# Needs: the Rust toolchain. Takes: 2 minutes; the variants 5.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
unset CARGO_TARGET_DIR
build=$BUILD/coherence
export RUSTFLAGS="--cfg layby_coherence"

# name | file | what | instead: a change of the source, tried on a copy of it
variants='
tickets 1 slot apart       | src/wait_table/key.rs  | ticket.wrapping_mul(17) | ticket.wrapping_mul(1)
tickets 8 slots apart      | src/wait_table/key.rs  | ticket.wrapping_mul(17) | ticket.wrapping_mul(8)
tickets 9 slots apart      | src/wait_table/key.rs  | ticket.wrapping_mul(17) | ticket.wrapping_mul(9)
tickets 33 slots apart     | src/wait_table/key.rs  | ticket.wrapping_mul(17) | ticket.wrapping_mul(33)
1 is near                  | src/ticket_queue/waiting.rs | else { 4 };  | else { 1 };
2 are near                 | src/ticket_queue/waiting.rs | else { 4 };  | else { 2 };
3 are near                 | src/ticket_queue/waiting.rs | else { 4 };  | else { 3 };
8 are near                 | src/ticket_queue/waiting.rs | else { 4 };  | else { 8 };
a slot is a line           | src/wait_table/pop_stack.rs | pub(super) struct Slot<E> { | #[repr(align(64))] pub(super) struct Slot<E> {
ticket and grant apart     | src/ticket_queue/word.rs | pub(crate) use crate::sync::atomic::AtomicU64 as AtomicWord; | #[repr(align(64))] pub(crate) struct AtomicWord(crate::sync::atomic::AtomicU64); impl AtomicWord { pub(crate) const fn new(value: u64) -> Self { Self(crate::sync::atomic::AtomicU64::new(value)) } } impl core::ops::Deref for AtomicWord { type Target = crate::sync::atomic::AtomicU64; fn deref(\&self) -> \&Self::Target { \&self.0 } }
all spinners look around   | src/sys/spinners.rs    | if self.was_full.get() { | if true {
2048 buckets               | src/paper/array.rs     | else { 8192 }; | else { 2048 };
far ones poll grant        | src/ticket_queue/waiting.rs | self.ahead < self.cpus | false
'

run_tests() {
    say "tests"
    limited cargo test --release -p layby -p layby-sim --lib --test coherence --target-dir "$build"
}

# counts SOURCE CPUS...: the counts of that source, as CSV
counts() {
    # A directory for each: cargo would put both programs in the same place.
    local source=$1 target=$build
    [ "$source" = . ] || target=$build/variants
    shift
    cargo build --quiet --release -p layby-sim --manifest-path "$source/Cargo.toml" --target-dir "$target" || exit
    limited "$target/release/layby-sim" rounds 1 64 1 "$@"
}

# with_variant FILE WHAT INSTEAD: a copy of the source with that change, in $copy
with_variant() {
    copy=$build/variant
    rm -rf "$copy"
    copy_package "$copy"
    if ! grep -q -- "$2" "$1"; then
        echo "$1 has no '$2' to change: the table in ci/coherence.sh is out of date"
        exit 1
    fi
    sed -i "s~$2~$3~" "$copy/$1"
}

# each_variant COMMAND: calls it with the name of each variant, whose source is in $copy
each_variant() {
    local name file what instead trim='s/^ *//; s/ *$//'
    while IFS='|' read -r name file what instead; do
        [ -n "$name" ] || continue
        with_variant "$(sed "$trim" <<<"$file")" "$(sed "$trim" <<<"$what" | sed 's/[[*]/\\&/g')" "$(sed "$trim" <<<"$instead")"
        "$1" "$(sed "$trim" <<<"$name")"
    done <<<"$variants"
}

# The variants that must change the counts: one of the hash, one of the queue, one of the policy.
noticed="tickets 1 slot apart|8 are near|far ones poll grant"

must_differ() {
    [[ "|$noticed|" == *"|$1|"* ]] || return 0
    local changed
    changed=$(counts "$copy" 32)
    if [ "$changed" = "$unchanged" ]; then
        echo "the simulator does not notice: $1"
        exit 1
    fi
    echo "noticed: $1"
}

run_constants() {
    say "constants"
    unchanged=$(counts . 32)
    each_variant must_differ
}

show_variant() {
    local csv
    csv=$(counts "$copy" 8 64 512)
    awk -F, -v name="$1" '
        $1 == "twa" || $1 == "twa-array" || $1 == "ticket" { figures[$1] = figures[$1] " " $3 ": " $8 ", " $12 ";" }
        END { for (who in figures) printf "%-24s %-10s invalidations and latency at T =%s\n", name, who, figures[who] }' <<<"$csv" | sort
}

show_variants() {
    copy=. show_variant "as it is"
    each_variant show_variant
}

case ${1:-all} in
    all)
        run_tests
        run_constants
        ;;
    tests) run_tests ;;
    constants) run_constants ;;
    variants) show_variants ;;
    *) echo "usage: ci/coherence.sh [tests|constants|variants]" && exit 2 ;;
esac
