#!/bin/sh
# Every real trace, and every case of a public bug report, gives exit code 0, the same bytes with 1
# and 4 threads, the figures of a brute force computation, and as first finding the one that
# leaders.tsv names. The input is not changed, and no file is created beside it. Every file that is
# no export gives exit code 3, one line, and no output folder.
# usage: traces.sh BUILD_DIR
set -u
SOURCE_DATE_EPOCH=1767225600; export SOURCE_DATE_EPOCH # reports of one trace are the same bytes
here=$(cd "$(dirname "$0")" && pwd)
prog=$(realpath "$1")/nsys-explain
traces=${NSX_TRACES:-$here/../../shared/traces}
pass=0 fail=0
if [ ! -d "$traces" ]; then
	echo "no real traces at hand"; echo "traces: 0 passed, 0 failed, 1 skipped"
	exit 0
fi
traces=$(cd "$traces" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
ok() { pass=$((pass + 1)); }
bad() { fail=$((fail + 1)); echo "FAIL $*"; }
cases=${NSX_CASES:-$here/../../shared/cases}
if [ -d "$cases" ]; then # they include the tables of the fixtures
	mkdir "$work/cases" && cp -r "$here/fixtures/_schema" "$cases"/*.sql "$work/cases" || exit 1
	for f in "$work"/cases/*.sql; do "$(dirname "$prog")/mkfixture" "$f" "${f%.sql}.sqlite" || exit 1; done
fi
before=$(find "$traces" -type f -exec cksum {} + | sort)
for f in "$traces"/*.sqlite "$work"/cases/*.sqlite; do
	[ -e "$f" ] || continue
	name=$(basename "$f" .sqlite)
	"$prog" "$f" --out "$work/$name" --threads 1 >/dev/null 2>"$work/err"; rc=$?
	[ $rc -eq 0 ] || { bad "$name: exit $rc: $(cat "$work/err")"; continue; }
	"$prog" "$f" --out "$work/again" --threads 4 >/dev/null 2>&1
	if diff -r -I '"generated_at"' -I 'Generated at (UTC)' -I '>generated 20' "$work/$name" "$work/again" >/dev/null; then
		ok
	else
		bad "$name: 1 and 4 threads give different reports"
	fi
	rm -rf "$work/again"
	if python3 "$here/brute/brute.py" "$f" "$work/$name" >"$work/out" 2>&1; then
		ok
	else
		bad "$name: brute force disagrees"; tail -n 12 "$work/out"
	fi
done
grep -v '^#' "$here/leaders.tsv" >"$work/leaders"
while read -r name key; do
	[ -f "$work/$name/report.json" ] || continue
	first=$(python3 -c "import json, sys
print(next(f['key'] for f in json.load(open(sys.argv[1]))['findings'] if f['category'] != 'capture').split(':')[0])" "$work/$name/report.json")
	if [ "$first" = "$key" ]; then ok
	else bad "$name: '$first' comes first, not '$key'"; fi
done <"$work/leaders"
for f in "$traces"/not_nsys/*; do
	"$prog" "$f" --out "$work/no" >/dev/null 2>"$work/err"; rc=$?
	if [ $rc -eq 3 ] && [ ! -e "$work/no" ] && [ "$(wc -l <"$work/err")" -eq 1 ]; then ok
	else bad "$(basename "$f"): exit $rc"; fi
done
after=$(find "$traces" -type f -exec cksum {} + | sort)
if [ "$before" = "$after" ]; then ok; else bad "the traces were changed"; fi
echo "traces: $pass passed, $fail failed"
[ $fail -eq 0 ]
