#!/bin/bash
# The section Steps has the figures of a brute force computation, to the nanosecond, on made-up
# engines, on the fixtures with steps, and on captures of a real GPU (measured/README.md). The query
# of each section agrees on the made-up engines too. So do the digests of replicas and their comparison.
# usage: steps.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
ln -s "$tests/fixtures/_schema" _schema
check() { # TRACE
	"$prog" "$1" --out report >/dev/null && [ -s report/tables/steps.csv ] &&
		python3 "$tests/brute/brute.py" "$1" report --only steps
}
for seed in $(seq 1 20); do
	python3 "$tests/brute/engines.py" "$seed" >engine.sql && "$b/mkfixture" engine.sql engine.sqlite
	holds "the engine of seed $seed" check "$work/engine.sqlite"
	holds "the query of seed $seed" "$b/tests/property/prop_sql" engine.sqlite
done
for name in steps_vllm steps_sglang steps_trtllm steps_layers steps_numbered steps_stalled steps_drafts kinds_before; do
	holds "$name" check "$fix/$name.sqlite"
done
# Digests and their comparison have the steps of each replica.
replicas() { # TRACE...
	rm -rf fleet
	for f; do "$prog" digest "$f" -q -o "$f.nsxd" || return; done
	"$prog" fleet "${@/%/.nsxd}" -q -o fleet && python3 "$tests/brute/replicas.py" fleet "$@"
}
for seed in 41 42 83; do
	for i in 1 2; do
		python3 "$tests/brute/engines.py" "$seed$i" "${i}00" >engine.sql && "$b/mkfixture" engine.sql "replica$i.sqlite"
	done
	holds "replicas of seed $seed" replicas replica1.sqlite replica2.sqlite
done
for how in 'none engines=2' 'gpu_slow engines=3' 'load engines=2' 'apart engines=4' 'cpu_late engines=2 tp=2'; do
	rm -rf served
	# shellcheck disable=SC2086 # words
	python3 "$tests/fleet/serve.py" served $how
	holds "engines that serve: $how" replicas served/traces/*.sqlite
done
for f in "$tests"/measured/*.sql; do
	cp "$f" measured.sql && "$b/mkfixture" measured.sql measured.sqlite
	holds "$(basename "$f")" check "$work/measured.sqlite"
done
finish
