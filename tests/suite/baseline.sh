#!/bin/sh
# Baselines: set, list, show, accept, and diff --against. Promised gains are written to a ledger and
# summed up.
# usage: baseline.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
says() { # PATTERN COMMAND...: it must succeed, and its output must match
	pattern=$1; shift
	if "$@" >out 2>err && grep -q -- "$pattern" out; then ok; else bad "$*: exit $?: $(cat out err)"; fi
}
refuses() { # PATTERN COMMAND...: it must end with exit code 2 and one line that matches
	pattern=$1; shift
	"$@" >out 2>err; rc=$?
	if [ $rc = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q -- "$pattern" err; then ok; else bad "$*: exit $rc: $(cat out err)"; fi
}
drifting() { # NAME NS: runs of one program that differ
	sed "s|8000 + 1000|8000 + $2|" "$tests/fixtures/_diff/loop.sql" >"$1_loop.sql"
	sed "s|^-- @include _diff/loop.sql|UPDATE op SET len = $3;\n-- @include $1_loop.sql|" "$tests/fixtures/diff_before.sql" >"$1.sql"
	"$b/mkfixture" "$1.sql" "$1.sqlite"
}
ln -s "$tests"/fixtures/_* .
for i in 1 2 3; do drifting "a$i" "${i}000" len; drifting "b$i" "${i}500" 'len * 6 / 5'; done

says "no baseline" "$prog" baseline list
says '^main: 3 runs, median step 80[0-9] µs to 80[0-9] µs; set 20.*Z: the first$' "$prog" baseline set main a1.sqlite a2.sqlite a3.sqlite --why 'the first'
says '^main: 3 runs' "$prog" baseline list
says '^  run3.nsxd: 19 steps of embed, median 80' "$prog" baseline show main
refuses 'already: nsys-explain baseline accept' "$prog" baseline set main b1.sqlite
# --against gives the same as its digests, even if the traces were deleted.
for i in 1 2 3; do "$prog" digest "a$i.sqlite" -o "a$i.nsxd" -q; done
"$prog" diff a1.nsxd,a2.nsxd,a3.nsxd b1.sqlite,b2.sqlite,b3.sqlite --json >p.json
rm a?.sqlite
"$prog" diff --against main b1.sqlite,b2.sqlite b3.sqlite --json >q.json
holds 'the same as against its digests' python3 - <<'P'
import json
p, q = json.load(open("p.json")), json.load(open("q.json"))
assert p["shift"] == q["shift"] and p["verdict"] == q["verdict"] == "regression", (p["shift"], q["shift"])
assert q["shift"]["ci_kind"] == "ci_between_captures"
P
"$prog" diff --against main b1.sqlite --gate step:+3% -o d -q 2>err; rc=$?
if [ $rc = 1 ] && grep -q 'gate step:+3%: fail' err && grep -q 'main 1' d/diff.md; then ok; else bad "a gate against a baseline: exit $rc: $(cat err)"; fi
says '^main: 1 run, ' "$prog" baseline accept main b1.sqlite --why slower
says '^before: 3 runs, .*: the first$' "$prog" baseline show main
says '^No change: both sides are the same' "$prog" diff --against main b1.sqlite -o d
if [ "$(ls nsys-explain-baselines/main)" = 'baseline.json
run1.nsxd' ]; then ok; else bad "what is replaced stays: $(ls nsys-explain-baselines/main)"; fi
says '^other: 1 run' "$prog" baseline set other b2.sqlite --store s
says '^other: 1 run' "$prog" baseline list --store s
says 'Wrote report' "$prog" diff --against other b1.sqlite --store s -o d

# A comparison with a baseline gives the same as one of the captures, whether something repeats in
# them or not.
as_captures() { # NAME BEFORE AFTER
	"$prog" baseline set "$1" "$2" --store s >out 2>err
	"$prog" diff "$2" "$3" -o d | grep -v '^On average\|^Of this\|^In all\|^Wrote' >captures
	"$prog" diff --against "$1" "$3" --store s -o d | grep -v '^On average\|^Of this\|^In all\|^Wrote' >against
	if [ -s captures ] && cmp -s captures against; then ok; else bad "against $1: $(cat out err; diff captures against)"; fi
}
for pair in diff_before:diff_heavy diff_sync:diff_before overlap_partition:copy_bound overlap_partition:overlap_partition; do
	as_captures "${pair%:*}.${pair#*:}" "$fix/${pair%:*}.sqlite" "$fix/${pair#*:}.sqlite"
done
pairs=$traces/../pairs # in which findings have a place
for name in item_sync-40 pageable_h2d-40 small_grids-40; do
	if [ -f "$pairs/$name.sqlite" ]; then as_captures "$name" "$pairs/$name.without.sqlite" "$pairs/$name.sqlite"; else part_skipped "no $name"; fi
done
# A digest of version 8, which lacks four columns, is read, and keeps its hash when it is written
# again.
"$prog" digest "$fix/diff_ranks.sqlite" -o old.nsxd -q
sqlite3 old.nsxd 'ALTER TABLE finding DROP COLUMN place; ALTER TABLE whole DROP COLUMN judged_ns;
	ALTER TABLE kind DROP COLUMN sizes; ALTER TABLE rank DROP COLUMN gpu_label; PRAGMA user_version = 8'
says '^No change: both sides are the same capture' "$prog" diff old.nsxd "$fix/diff_ranks.sqlite" -o d
"$prog" fleet old.nsxd -q --partial again.nsxd
says '^No change: both sides are the same capture' "$prog" diff again.nsxd old.nsxd -o d
sqlite3 old.nsxd 'PRAGMA user_version = 7'
"$prog" diff old.nsxd "$fix/diff_ranks.sqlite" -o d >out 2>err; rc=$?
if [ $rc = 3 ] && grep -q 'of version 7, known are 8 to' err; then ok; else bad "version 7: exit $rc: $(cat out err)"; fi
says '^overlap_partition.copy_bound: 1 run, whole ' "$prog" baseline show overlap_partition.copy_bound --store s

refuses "no baseline 'absent'" "$prog" diff --against absent b1.sqlite
refuses "no baseline 'absent'" "$prog" baseline accept absent b1.sqlite
refuses 'give the captures after' "$prog" diff --against main
refuses 'give the captures after' "$prog" diff --against main --before b1.sqlite --after b2.sqlite
refuses 'is no name for a baseline' "$prog" baseline set ../up b1.sqlite
refuses 'is no name for a baseline' "$prog" diff --against .. b1.sqlite
refuses 'set, list, show or accept first' "$prog" baseline keep main
refuses 'give a name and 1 to' "$prog" baseline set main
echo mine >nsys-explain-baselines/main/run1.nsxd # a file that the user changed is not replaced
"$prog" baseline accept main b2.sqlite >out 2>err; rc=$?
if [ $rc = 3 ] && grep -q mine nsys-explain-baselines/main/run1.nsxd; then ok; else bad "what is the user's was replaced: exit $rc: $(cat err)"; fi
echo '{"baseline": {"runs": [{"file": "../x", "steps": 1, "median_ns": 1}]}}' >s/other/baseline.json
"$prog" baseline show other --store s >out 2>err; rc=$?
if [ $rc = 3 ] && grep -q 'set the baseline anew' err; then ok; else bad "a damaged record: exit $rc: $(cat err)"; fi

# The ledger gets one line per promise, in the words of verify. A file that is no ledger is left
# unchanged.
"$prog" verify "$fix/diff_sync.sqlite" "$fix/diff_before.sqlite" --ledger won.tsv >out; rc=$?
lines=$(grep -c '^Promise ' out)
"$prog" diff "$fix/diff_sync.sqlite" "$fix/diff_before.sqlite" --ledger won.tsv -o d -q
if [ "$lines" -gt 0 ] && [ "$(wc -l <won.tsv)" = $((2 * lines)) ] && [ "$(sort -u won.tsv | wc -l)" = "$lines" ]; then ok; else bad "ledger: $(cat out won.tsv)"; fi
# What several promises won together is divided among them.
"$prog" verify "$fix/mpi_ranges.sqlite" "$fix/mpi_wait.sqlite" --ledger both.tsv >out
if [ "$(cut -f 3 both.tsv | paste -sd' ' -)" = '49.35 37.01' ]; then ok; else bad "ledger of two: $(cat out both.tsv)"; fi
printf 'a:x\t10\t8\tkept\na:y\t10\t2\tnot kept\nb\t50\t50\tkept\na\t10\t9\tkept\n' >two.tsv
"$prog" ledger two.tsv >out
if [ "$(awk 'NR > 1 {print $1, $2, $3, $5}' out)" = 'a 3 67 0.80
b 1 100 1.00' ]; then ok; else bad "ledger: $(cat out)"; fi
echo 'notes' >notes.txt
refuses 'line 1 is not as verify' "$prog" verify "$fix/diff_sync.sqlite" "$fix/diff_before.sqlite" --ledger notes.txt
refuses 'line 1 is not as verify' "$prog" ledger two.tsv notes.txt
if [ "$(cat notes.txt)" = notes ]; then ok; else bad 'notes of the user were changed'; fi

# verify says what was won only if both sides did the same work, and only of findings that exist.
refuses 'so none is number 99' "$prog" verify "$fix/diff_sync.sqlite" "$fix/diff_before.sqlite" --finding 99
"$prog" verify "$fix/diff_batch.sqlite" "$fix/diff_before.sqlite" >out; rc=$?
if [ $rc = 1 ] && grep -q 'what was won is not known' out; then ok; else bad "other work: exit $rc: $(cat out)"; fi
finish
