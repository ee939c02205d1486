#!/bin/sh
# The trace is cut, emptied, overwritten, replaced or deleted while the program reads it, the
# output folder is removed while the program writes it, and two runs write to one folder. The
# program must neither crash nor hang. It gives the right answer, an error of one line (exit code
# 3), or a report that says that the file was changed (exit code 4). ROUNDS=1000 runs longer.
# usage: changes.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
(cd "$tests/bench" && "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -o "$work/gen" gen*.c -lsqlite3 -lm) || exit 1
"$work/gen" --kernels 30000 "$work/big.sqlite" >/dev/null || exit 1
"$work/gen" --kernels 20000 --seed 9 "$work/other.sqlite" >/dev/null || exit 1
python3 "$tests/faults/changes.py" "$b" "$work" "${ROUNDS:-60}"
