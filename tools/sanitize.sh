#!/bin/bash
# Builds the unit tests with sanitizers, each in a build directory of its own, and runs them:
# addresses and undefined behaviour (asan, in build/asan), threads (tsan, in build/tsan).
#   tools/sanitize.sh [asan|tsan]...   default: both
set -uo pipefail
cd "$(dirname "$0")/.."

export ASAN_OPTIONS=detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1

# ThreadSanitizer's shadow memory does not fit every random address layout: use a fixed one where
# the kernel lets us.
fixed_layout() {
    if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

run_with() {
    local preset=$1
    echo "sanitize: $preset"
    cmake --preset "$preset" >/dev/null &&
        cmake --build "build/$preset" --target unit_tests &&
        fixed_layout ctest --test-dir "build/$preset" -R "^unit\." --output-on-failure --no-tests=error
}

[ $# -gt 0 ] || set -- asan tsan
failed=0
for preset in "$@"; do
    run_with "$preset" || failed=1
done
exit "$failed"
