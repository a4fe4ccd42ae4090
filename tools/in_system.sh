#!/bin/bash
# Runs a command in a folder that has a Debian system, which is its root then:
#   tools/in_system.sh FOLDER COMMAND...
# Mounts and the process table are its own; what the command leaves running ends with it.
set -euo pipefail

# Tests mount things there, so that the folder must be the root of a mount namespace.
# shellcheck disable=SC2016  # $1 and $@ are those of the inner shell
exec unshare --mount --propagation private --pid --fork --kill-child bash -c '
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
    exec chroot . env -i HOME=/root PATH="$PATH" LANG=C.UTF-8 TERM="${TERM:-dumb}" "$@"' bash "$@"
