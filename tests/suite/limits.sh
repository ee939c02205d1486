#!/bin/sh
# Too few file descriptors, too little memory, no more threads, files that may
# not grow, a disk that is full: the answer is the right one, one line (3), or a
# report with a warning (4), and what is asserted of io_faults holds.
# STEP=1 tries more sizes.
# usage: limits.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
own=
unshare -rm true 2>/dev/null && own='unshare -rm' # may mount a small disk
$own python3 "$tests/faults/limits.py" "$b" "$work" "${STEP:-5}"
