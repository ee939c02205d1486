#!/bin/sh
# The section Steps has the figures of a brute force computation, to the nanosecond, on made-up
# engines, on the fixtures with steps, and on captures of a real GPU (measured/README.md). The query
# of each section agrees on the made-up engines too.
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
for f in "$tests"/measured/*.sql; do
	cp "$f" measured.sql && "$b/mkfixture" measured.sql measured.sqlite
	holds "$(basename "$f")" check "$work/measured.sqlite"
done
finish
