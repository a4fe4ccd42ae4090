#!/bin/bash
# Runs make targets on the last commit in a new system of a Debian release, as a stranger's machine:
#   tools/test_release.sh RELEASE TARGET...
# The system is a folder, and its processes have a process table of their own: both are gone at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

release=$1
shift
if [ "$(id -u)" -ne 0 ]; then
    echo "test_release: only root can make a system of its own" >&2
    exit 1
fi
system=$(mktemp -d --tmpdir "unisono-$release-XXXXXX")
trap 'rm -rf --one-file-system "$system"' EXIT
mmdebstrap --variant=apt --include=make,git,mount,ca-certificates "$release" "$system"
git clone --quiet --no-hardlinks . "$system/unisono"

# Its folder becomes the root of a mount namespace, as tests mount things there.
# shellcheck disable=SC2016  # $1 and $@ are those of the inner shell
unshare --mount --propagation private --pid --fork --kill-child bash -c '
    set -e
    mount --bind "$1" "$1"
    cd "$1"
    shift
    mount -t proc proc proc
    mount --rbind /sys sys
    mount --bind /dev dev
    mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
    mount -t tmpfs tmpfs dev/shm
    mount -t tmpfs tmpfs run
    pivot_root . .
    umount --lazy .
    exec chroot . env -i HOME=/root PATH="$PATH" LANG=C.UTF-8 TERM="${TERM:-dumb}" \
        make -C /unisono "$@"' bash "$system" "$@"
