#!/bin/sh
# The fuzz targets without a fuzzer: seeds, inputs that once broke a target, and
# a number of random changes to both, the same ones every time.
# usage: [CHANGES=n] replay.sh BUILD_DIR
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
pass=0 fail=0
for t in "$1"/replay/fuzz_*; do
	case $t in *.*) continue ;; esac # what a compiler left beside a target
	name=$(basename "$t")
	input=$1/$name.input log=$1/$name.log
	case $name in # whole runs are slow
	fuzz_open | fuzz_rows) n=${CHANGES:-200} ;;
	*) n=${CHANGES:-5000} ;;
	esac
	if "$t" "$n" "$input" "$1/seeds/$name" "$here/fuzz/corpus/$name" >"$log" 2>&1
	then pass=$((pass + 1))
	else
		fail=$((fail + 1))
		echo "FAIL $name on $input"; tail -n 20 "$log"
	fi
done
echo "replay: $pass passed, $fail failed"
[ $fail -eq 0 ]
