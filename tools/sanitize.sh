#!/bin/bash
# Builds the unit tests with sanitizers, each in a build directory of its own, and runs them:
# addresses and undefined behaviour (asan, in build/asan), threads (tsan, in build/tsan).
#   tools/sanitize.sh [asan|tsan]...   default: both
set -uo pipefail
cd "$(dirname "$0")/.."

export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1

# ThreadSanitizer's shadow memory does not fit every random address layout: use a fixed one where
# the kernel lets us.
fixed_layout() {
    if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

run_tests() {
    local folder=$1
    shift
    fixed_layout ctest --test-dir "$folder" --output-on-failure --no-tests=error "$@"
}

# The unit tests that need an MPI library have no threads of their own, so tsan goes without them.
# The MPI libraries leak, so leaks are looked for only without them.
with_mpi='^unit\..*\.(mpich|openmpi)'

# Simulated programs under an orchestrator: minutes of the same code as the model's and the policies'
# tests, which are run.
long='unit\.testbed_orchestra_test'

test_asan() {
    cmake --build --preset asan &&
        run_tests build/asan -R '^unit\.' -E "$with_mpi|$long" --parallel "$(nproc)" &&
        ASAN_OPTIONS=detect_leaks=0 run_tests build/asan -R "$with_mpi"
}

test_tsan() {
    cmake --build --preset tsan && run_tests build/tsan -R '^unit\.' -E "$with_mpi" --parallel "$(nproc)"
}

[ $# -gt 0 ] || set -- asan tsan
failed=0
for preset in "$@"; do
    echo "sanitize: $preset"
    cmake --preset "$preset" >/dev/null && "test_$preset" || failed=1
done
exit "$failed"
