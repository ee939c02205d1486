#!/bin/sh
# Databases made to deceive: each known column set to NULL, text, a blob, a fraction, the ends of
# int64, or -1 (which means "none" inside the program); generated columns, virtual tables, endless
# views, thousands of columns, masses of strings, and names that would become a line, a heading or an
# escape sequence in a report. The program must end in bounded time with exit code 0 or 4, without a
# crash, with sums that are possible for a trace, and with the same report for 1 and 4 threads.
# LONG=1 tries every column in every fixture below and ten times the masses.
# usage: hostile.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
python3 "$tests/faults/hostile.py" "$b" "$work" "$root/src/schema/fields.def" "${LONG:-}"
