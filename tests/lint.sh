#!/bin/sh
# Runs suite/lint.sh, and clang-tidy, which takes minutes. .clang-tidy lists the checks.
# usage: lint.sh BUILD_DIR
set -u
cd "$(dirname "$0")/.." || exit 1
mkdir -p "$1"
tests/suite/lint.sh "$1"; rc=$?
if command -v clang-tidy >/dev/null; then
	find src -name '*.c' ! -name main_mpi.c -print0 | xargs -0 -P2 -I{} clang-tidy --quiet {} -- -std=c11 \
		-D_GNU_SOURCE '-DNSX_VERSION="x"' -Isrc -Iinclude >"$1/tidy.log" 2>&1 || rc=1
	# On stderr clang-tidy counts warnings in system headers; any other output there is a failure.
	grep -vE '^[0-9]+ warnings? (generated|treated as errors?)' "$1/tidy.log" && rc=1
else
	echo "skipped: clang-tidy is not here"
fi
[ $rc -eq 0 ] && echo "lint: clean"
exit $rc
