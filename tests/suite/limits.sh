#!/bin/sh
# Too few file descriptors, too little memory, no more threads, files that may not grow, a full
# disk. The program gives the right answer, an error of one line (exit code 3), or a report with a
# warning (exit code 4). Input and output must be as in io_faults.sh.
# STEP=1 tries more sizes.
# usage: limits.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
own=
unshare -rm true 2>/dev/null && own='unshare -rm' # a namespace in which a small disk can be mounted
$own python3 "$tests/faults/limits.py" "$b" "$work" "${STEP:-5}"
