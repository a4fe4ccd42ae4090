#!/bin/bash
# Lays out all C and C++ sources of the repository with clang-format.
#   tools/format.sh           changes the files
#   tools/format.sh --check   changes nothing; lists the files that differ and fails
# Exit code 77: another version is there.
set -euo pipefail
cd "$(dirname "$0")/.."

# The layout depends on the version: one version decides.
formatter=$(command -v clang-format-14 || command -v clang-format)
if ! "$formatter" --version | grep -q 'version 14\.'; then
    echo "format: needs clang-format 14, and this is $("$formatter" --version)"
    exit 77
fi
mapfile -d '' -t files < <(git ls-files -z -- '*.c' '*.h' '*.cpp' '*.hpp')

if [ "${1:-}" != --check ]; then
    "$formatter" -i "${files[@]}"
    exit 0
fi
differing=0
for file in "${files[@]}"; do
    if ! "$formatter" "$file" | cmp -s - "$file"; then
        echo "$file: differs from clang-format"
        differing=$((differing + 1))
    fi
done
echo "format: $((${#files[@]} - differing)) of ${#files[@]} files in order"
if [ "$differing" -gt 0 ]; then
    echo "format: 'make format' mends the others"
    exit 1
fi
