#!/bin/sh
# Every system call that touches a file fails in turn (strace injects EIO,
# ENOSPC, EMFILE): the answer is the right one, one line (3), or a report with a
# warning (4); the input is unchanged, the output is the old one whole, the new
# one whole or none, and nothing else is left that is not told.
# STEP=1 tries every call.
# usage: io_faults.sh BUILD_DIR
set -u
b=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
if ! strace -o /dev/null -e inject=write:error=EIO:when=9 true 2>/dev/null; then
	echo "strace is not here, or may not trace"
	echo "io_faults: 0 passed, 0 failed, 1 skipped"
	exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python3 "$here/faults/calls.py" "$b" "$work" "${STEP:-5}"
