#!/bin/sh
# Too few file descriptors, too little memory, no more threads, files that may
# not grow, a disk that is full: the answer is the right one, one line (3), or a
# report with a warning (4), and what is asserted of io_faults holds.
# STEP=1 tries more sizes.
# usage: limits.sh BUILD_DIR
set -u
b=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
own=
unshare -rm true 2>/dev/null && own='unshare -rm' # may mount a small disk
$own python3 "$here/faults/limits.py" "$b" "$work" "${STEP:-5}"
