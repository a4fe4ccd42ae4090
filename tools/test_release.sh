#!/bin/bash
# Runs make targets on the last commit in a new system of a Debian release, as a stranger's machine:
#   tools/test_release.sh RELEASE TARGET...
# The system is a folder, which is gone at the end.
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
tools/in_system.sh "$system" make -C /unisono "$@"
