#!/bin/sh
# The trace is cut, emptied, written over, replaced or deleted while it is read;
# the output folder is taken away while it is written; two runs write to one
# folder: no crash, no hang, and the answer is right, one line (3), or a report
# that says that the file was changed (4). ROUNDS=1000 for the long version.
# usage: changes.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
(cd "$tests/bench" && "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -o "$work/gen" gen*.c -lsqlite3 -lm) || exit 1
"$work/gen" --kernels 30000 "$work/big.sqlite" >/dev/null || exit 1
"$work/gen" --kernels 20000 --seed 9 "$work/other.sqlite" >/dev/null || exit 1
python3 "$tests/faults/changes.py" "$b" "$work" "${ROUNDS:-60}"
