#!/bin/bash
# Builds the unit tests with sanitizers, each in a build directory of its own, and runs them:
# addresses and undefined behaviour (asan, in build/asan), threads (tsan, in build/tsan).
#   tools/sanitize.sh [--build] [asan|tsan|tsan-mpi]...   default: asan tsan; --build: runs none
# tsan-mpi: whole MPI programs with threads, helpers' and their own; 20 seconds, but minutes to build
# without a compiler's cache, so it is left to who changes what threads share.
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

# They wait rather than compute.
parallel=$((2 * $(nproc)))

build_asan() { cmake --build --preset asan; }
build_tsan() { cmake --build --preset tsan; }
build_tsan_mpi() { cmake --build build/tsan --target unisono-mpich semantics.mpich; }

test_asan() {
    run_tests build/asan -R '^unit\.' -E "$with_mpi|$long" --parallel "$parallel" &&
        ASAN_OPTIONS=detect_leaks=0 run_tests build/asan -R "$with_mpi"
}

test_tsan() {
    run_tests build/tsan -R '^unit\.' -E "$with_mpi" --parallel "$parallel"
}

# Some suites on two ranks of MPICH: run_semantics OPTIONS WORDS [K=V]... UCX calls the C library where
# it ends threads, which the sanitizer cannot bear.
run_semantics() {
    local options=$1 words=$2
    shift 2
    # shellcheck disable=SC2086 # several words
    fixed_layout env "TSAN_OPTIONS=$TSAN_OPTIONS suppressions=$PWD/tools/thread_sanitizer.supp $options" \
        UCX_MEM_EVENTS=n UCX_MEM_MMAP_HOOK_MODE=none UNISONO_TUNE=off "$@" \
        timeout 120 mpiexec.mpich -n 2 env "LD_PRELOAD=$PWD/build/tsan/lib/libunisono-mpich.so" \
        build/tsan/programs/semantics.mpich --under unisono $words
}

# Nonblocking and split calls, on one node and between pretended ones.
run_nonblocking() { run_semantics "" "--threads single nonblocking pending_call" "$@"; }

# The program's own threads. What MPICH does for several at once would be taken for races.
run_threads() {
    local traces
    traces=$(mktemp -d)
    run_semantics ignore_noninstrumented_modules=1 thread UNISONO_REPORT=json UNISONO_REPORT_FILE=/dev/null \
        UNISONO_REPORT_CALLS=true UNISONO_REPORT_TIMELINE=true "UNISONO_REPORT_TRACES=$traces" "$@"
    local result=$?
    rm -rf "$traces"
    return "$result"
}

test_tsan_mpi() {
    run_nonblocking && run_nonblocking UNISONO_TOPOLOGY=nodes=2 UNISONO_OVERLAP=enable &&
        run_threads && run_threads UNISONO_TOPOLOGY=nodes=2 UNISONO_STRATEGY=two_phase
}

only_build=false
if [ "${1-}" = --build ]; then
    only_build=true
    shift
fi
[ $# -gt 0 ] || set -- asan tsan
failed=0
for kind in "$@"; do
    echo "sanitize: $kind"
    cmake --preset "${kind%-mpi}" >/dev/null && "build_${kind/-/_}" &&
        { $only_build || "test_${kind/-/_}"; } || failed=1
done
exit "$failed"
