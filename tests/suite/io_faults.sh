#!/bin/sh
# Every system call that touches a file fails in turn (strace injects EIO,
# ENOSPC, EMFILE). The program then gives the right answer, an error of one line (exit code 3), or
# a report with a warning (exit code 4). The input is unchanged. The output is the complete old
# one, the complete new one, or none. Any other file that is left is named in a message.
# STEP=1 tries every call.
# usage: io_faults.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
if ! strace -o /dev/null -e inject=write:error=EIO:when=9 true 2>/dev/null; then skipped "strace is not here, or may not trace"; exit; fi
python3 "$tests/faults/calls.py" "$b" "$work" "${STEP:-5}"
