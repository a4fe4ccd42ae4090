#!/bin/bash
# Makes sure that the Debian packages of debian-packages.txt, or of another list that is given, are
# there: installs what is missing when run as root, else prints the command that does and fails. Fast
# when nothing is missing.
set -euo pipefail

list=${1:-$(dirname "$0")/debian-packages.txt}
packages=$(sed 's/#.*//' "$list" | awk 'NF { print $1 }')

list_missing() {
    local installed
    # shellcheck disable=SC2086  # a list of words
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $packages 2>/dev/null |
        awk '$1 == "installed" { print $2 }' || true)
    comm -23 <(sort -u <<<"$packages") <(sort -u <<<"$installed") | tr '\n' ' '
}

# Mirrors fail now and then: three tries, further and further apart.
retry() {
    local try
    for try in 1 2 3; do
        "$@" && return 0
        echo "setup: '$*' failed (try $try of 3)" >&2
        sleep $((try * 5))
    done
    return 1
}

if ! command -v dpkg-query >/dev/null; then
    echo "setup: this is no Debian system; see $list for what is needed." >&2
    exit 1
fi
missing=$(list_missing)
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
    echo "setup: packages are missing. Please run this, then try again:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing" >&2
    exit 1
fi

echo "setup: installing $missing"
export DEBIAN_FRONTEND=noninteractive
retry apt-get update -q
# shellcheck disable=SC2086  # a list of words
retry apt-get install -q -y --no-install-recommends $missing </dev/null
missing=$(list_missing)
if [ -n "$missing" ]; then
    echo "setup: still missing: $missing" >&2
    exit 1
fi
