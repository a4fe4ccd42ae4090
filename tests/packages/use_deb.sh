#!/bin/bash
# Run by mmdebstrap in a system that it has just made, as use_deb.sh ROOT, with MATERIAL naming a folder
# that has the package and a program for each MPI: installs the package, runs the programs under it, and
# removes it.
set -euo pipefail
root=$1
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
files() { (cd "$root" && find usr etc opt ! -type d ! -name '*.pyc' | sort); }
fail() { echo "failed: $*" >&2; exit 1; }

cp -r "$MATERIAL" "$root/material"
# What it needs from Debian, so that it is the only one that comes and goes below.
inside apt-get satisfy -q -y --no-install-recommends \
    "mpich, openmpi-bin, $(dpkg-deb --field "$MATERIAL"/unisono_*.deb Depends)"
files > "$root/before"
inside apt-get install -q -y --no-install-recommends "/material/$(basename "$MATERIAL"/unisono_*.deb)"

inside unisono --version
inside unisono doctor /tmp
inside ldconfig -p | grep libunisono-mpich.so || fail "the linker's cache does not know it"
for mpi in mpich openmpi; do
    words=(-n 2)
    [ "$mpi" = mpich ] || words+=(--oversubscribe --allow-run-as-root)
    echo '*:unisono_strategy=independent' > "$root/etc/unisono.conf"
    said=$(inside unisono run -- "mpiexec.$mpi" "${words[@]}" "/material/program.$mpi" /tmp/data)
    [ "$said" = unisono_strategy=independent ] || fail "$mpi: /etc/unisono.conf is not obeyed: $said"
    cmp "$root/tmp/data" "$MATERIAL/expected" || fail "$mpi: wrong bytes"
done

inside apt-get remove -q -y unisono
[ -e "$root/etc/unisono.conf" ] || fail "what the site wrote is gone"
[ ! -e "$root/usr/lib/unisono" ] || fail "/usr/lib/unisono is left"
inside apt-get purge -q -y unisono
files | diff "$root/before" - || fail "the package left files behind, or took some along"
echo "use_deb.sh: passed"
