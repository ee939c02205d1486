#!/bin/sh
# Every system call that touches a file fails in turn (strace injects EIO,
# ENOSPC, EMFILE): the answer is the right one, one line (3), or a report with a
# warning (4); the input is unchanged, the output is the old one whole, the new
# one whole or none, and nothing else is left that is not told.
# STEP=1 tries every call.
# usage: io_faults.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
if ! strace -o /dev/null -e inject=write:error=EIO:when=9 true 2>/dev/null; then skipped "strace is not here, or may not trace"; exit; fi
python3 "$tests/faults/calls.py" "$b" "$work" "${STEP:-5}"
