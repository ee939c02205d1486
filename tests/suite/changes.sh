#!/bin/sh
# The trace is cut, emptied, written over, replaced or deleted while it is read;
# the output folder is taken away while it is written; two runs write to one
# folder: no crash, no hang, and the answer is right, one line (3), or a report
# that says that the file was changed (4). ROUNDS=1000 for the long version.
# usage: changes.sh BUILD_DIR
set -u
b=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
(cd "$here/bench" && "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -o "$work/gen" gen*.c -lsqlite3 -lm) || exit 1
"$work/gen" --kernels 30000 "$work/big.sqlite" >/dev/null || exit 1
"$work/gen" --kernels 20000 --seed 9 "$work/other.sqlite" >/dev/null || exit 1
python3 "$here/faults/changes.py" "$b" "$work" "${ROUNDS:-60}"
