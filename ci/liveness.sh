#!/usr/bin/env bash
# That something good happens: the models of ci/liveness/ with SPIN. ci/liveness.py says what they are.
# Usage: ci/liveness.sh [run SCENARIO PROPERTY [MUTANT]]
# Needs: python3, SPIN and a C compiler (Debian's packages spin and gcc, which it installs), or it is skipped; 2 GB of memory for
# each core. Takes: four minutes on two cores.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "python3 is not installed"
{ command -v spin && command -v cc; } >/dev/null || need spin gcc libc6-dev
exec python3 ci/liveness.py "$@"
