#!/bin/sh
# The fuzz targets without a fuzzer: seeds, inputs that once broke a target, and
# a number of random changes to both, the same ones every time.
# usage: [CHANGES=n] replay.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
for t in "$b"/replay/fuzz_*; do
	case $t in *.*) continue ;; esac # what a compiler left beside a target
	name=$(basename "$t")
	input=$b/$name.input log=$b/$name.log
	case $name in # whole runs are slow
	fuzz_open | fuzz_rows) n=${CHANGES:-200} ;;
	fuzz_ask | fuzz_mcp | fuzz_sql) n=${CHANGES:-1000} ;;
	*) n=${CHANGES:-5000} ;;
	esac
	if "$t" "$n" "$input" "$b/seeds/$name" "$tests/fuzz/corpus/$name" >"$log" 2>&1
	then ok; else bad "$name on $input"; tail -n 20 "$log"; fi
done
finish
