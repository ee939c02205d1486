#!/bin/sh
# Runs libFuzzer targets one after the other, FUZZTIME seconds each. New inputs go to
# BUILD_DIR/corpus, and crashes to tests/fuzz/corpus/TARGET, which `make check` replays from then on.
# Prints wall and CPU time, executions and edges for each target.
# usage: run.sh BUILD_DIR TARGET...
set -u
b=$1; shift
here=$(dirname "$0")

fuzz() {
	t=$1
	mkdir -p "$b/corpus/$t" "$here/corpus/$t"
	dict=; [ -f "$b/seeds/$t.dict" ] && dict=-dict=$b/seeds/$t.dict
	seeds=; [ -d "$b/seeds/$t" ] && seeds=$b/seeds/$t
	# Targets that run the whole program are too slow to grow inputs from short ones.
	len=; [ "$t" = fuzz_rows ] && len="-max_len=400 -len_control=0"
	# shellcheck disable=SC2086
	( "$b/fuzz/$t" -max_total_time="${FUZZTIME:-60}" -timeout=60 -report_slow_units=60 -rss_limit_mb=2048 $dict $len \
		-print_final_stats=1 -artifact_prefix="$here/corpus/$t/" \
		"$b/corpus/$t" "$here/corpus/$t" $seeds >"$b/$t.log" 2>&1; echo $? >"$b/$t.rc"
	times >"$b/$t.times" )
	rc=$(cat "$b/$t.rc")
	[ "$rc" -eq 0 ] || tail -n 40 "$b/$t.log"
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$b/$t.log")
	wall=$(sed -n 's/^Done .* in \([0-9]*\) second.*/\1/p' "$b/$t.log")
	cov=$(grep -o 'cov: [0-9]*' "$b/$t.log" | tail -n1)
	cpu=$(sed -n 2p "$b/$t.times")
	echo "$t: ${wall:-?} s, CPU (user system) $cpu, ${runs:-?} executions, $cov edges"
	return "$rc"
}

fail=0
for t in "$@"; do
	fuzz "$t" || fail=1
done
exit $fail
