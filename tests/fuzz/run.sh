#!/bin/sh
# Runs libFuzzer targets, FUZZTIME seconds each, one after the other; new inputs
# go to BUILD_DIR/corpus, crashes to tests/fuzz/corpus/TARGET (to be replayed by
# `make check` from then on). Prints executions per target.
# usage: run.sh BUILD_DIR TARGET...
set -u
b=$1; shift
here=$(dirname "$0")
fail=0
for t in "$@"; do
	mkdir -p "$b/corpus/$t" "$here/corpus/$t"
	seeds=; [ "$t" = fuzz_open ] && seeds=$b/fixtures
	# shellcheck disable=SC2086
	"$b/fuzz/$t" -max_total_time="${FUZZTIME:-60}" -timeout=20 -rss_limit_mb=2048 \
		-print_final_stats=1 -artifact_prefix="$here/corpus/$t/" \
		"$b/corpus/$t" "$here/corpus/$t" $seeds >"$b/$t.log" 2>&1 || { fail=1; tail -n 40 "$b/$t.log"; }
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$b/$t.log")
	cov=$(grep -o 'cov: [0-9]*' "$b/$t.log" | tail -n1)
	echo "$t: ${runs:-?} executions, $cov edges"
done
exit $fail
