#!/bin/sh
# Inputs that once broke a fuzz target, replayed.
# usage: replay.sh BUILD_DIR
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
pass=0 fail=0
for t in "$1"/replay/fuzz_*; do
	name=$(basename "$t")
	if "$t" "$here/fuzz/corpus/$name" >/dev/null 2>&1; then pass=$((pass + 1))
	else fail=$((fail + 1)); echo "FAIL $name"; fi
done
echo "replay: $pass passed, $fail failed"
[ $fail -eq 0 ]
