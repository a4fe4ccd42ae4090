#!/bin/sh
# Builds mpi4py from its source distribution for one MPI, and keeps it and its own tests.
# usage: build_mpi4py.sh BUILD_DIRECTORY mpich|openmpi [PYTHON]
# Result: BUILD_DIRECTORY/mpi4py/MPI/mpi4py (the package) and BUILD_DIRECTORY/mpi4py/source/test.
# Does nothing if that is there. Exit status 77 (skipped) if the package cannot be had, e.g. offline.
set -eu

version=4.0.3
build=$1
mpi=$2
python=${3:-python3}
cache=$build/mpi4py
archive=$cache/mpi4py-$version.tar.gz
log=$cache/$mpi.log

mkdir -p "$cache"
exec 9> "$cache/lock"
flock 9  # the tests of both MPIs may start at once, and share the source
[ -e "$cache/$mpi/done-$version" ] && exit 0

if [ ! -e "$archive" ]; then
    "$python" -m pip download --quiet --no-deps --no-binary mpi4py --dest "$cache" \
        "mpi4py==$version" > "$log" 2>&1 || { tail -n 5 "$log" >&2; exit 77; }
fi
if [ ! -d "$cache/source" ]; then
    mkdir "$cache/unpacking"
    tar -xzf "$archive" -C "$cache/unpacking" --strip-components=1
    mv "$cache/unpacking" "$cache/source"
fi

# Not optimised: the generated C file takes ten minutes and 4 GB otherwise, and no test times it.
rm -rf "$cache/$mpi"
CFLAGS='-O0 -g0' MPICC=mpicc.$mpi "$python" -m pip install --quiet --no-deps --no-binary mpi4py \
    --target "$cache/$mpi" "$archive" > "$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
touch "$cache/$mpi/done-$version"
