#!/usr/bin/env bash
# A soak: random mixes of all primitives on more threads than CPUs, with signals, forks, pinning and priorities. After each
# round the books are checked: permits, order, nothing on any chain, no marker left, no growth in memory, threads or files.
# Usage: ci/soak.sh MINUTES [SEED [ROUND]]    with ROUND: that round only, over and over
# Prints a line for each round. A failure prints who is where, and the seed and the round with which to come back.
# Needs: the Rust toolchain. Takes: what you give it, and half a minute to build.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
minutes=${1:?usage: ci/soak.sh MINUTES [SEED [ROUND]]}
seed=${2:-$(($(date +%s) % 1000000))}
[ -z "${3:-}" ] || export LAYBY_ROUND=$3
export LAYBY_SEED=$seed LAYBY_SOAK_SECONDS=$((minutes * 60))
say "a soak of $minutes minutes with seed $seed"
cargo test --release --test soak -- --nocapture
