#!/bin/sh
# Golden cases. tests/golden/ID/CASE.cmd has one line of arguments. CASE.out is the expected stdout,
# CASE.err the expected stderr (no file: empty), CASE.rc the exit code (no file: 0). If the command
# writes a report to the folder o, CASE.TABLE.csv is the expected o/tables/TABLE.csv.
# The word @NAME stands for the built fixture NAME.sqlite.
# usage: golden.sh PROGRAM FIXTURE_DIR [--update] [PATTERN]   (ID/CASE, globs)
set -u
here=$(cd "$(dirname "$0")" && pwd)
prog=$(realpath "$1"); fix=$(realpath "$2"); shift 2
update=; [ "${1:-}" = --update ] && { update=1; shift; }
pattern=${1:-*/*}
pass=0 fail=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
LC_ALL=C TZ=Asia/Kathmandu NO_COLOR=1; export LC_ALL TZ NO_COLOR
for cmd in "$here"/golden/$pattern.cmd; do
	[ -f "$cmd" ] || { echo "no golden case matches '$pattern'"; exit 1; }
	base=${cmd%.cmd}; name=${base#"$here"/golden/}
	# The fixture is given by a relative name, so that the output has no path of this machine.
	line=$(sed "s/@\([A-Za-z0-9_]*\)/\1.sqlite/g" "$cmd")
	for f in $(grep -o '@[A-Za-z0-9_]*' "$cmd" | tr -d @); do
		ln -sf "$fix/$f.sqlite" "$f.sqlite"
	done
	eval "set -- $line"
	rm -rf o
	"$prog" "$@" >out 2>err; rc=$?
	# The version is left out, because it changes. So are the queries: they would repeat in every
	# case, and prop_sql tests them.
	sed -i -e 's/"generated_at": "[^"]*"/"generated_at": "-"/' \
		-e 's/"sqlite_version": "[^"]*"/"sqlite_version": "-"/' \
		-e 's/^\(    "version": "\)[0-9.]*"/\10.1.0"/' \
		-e 's/"size_bytes": [0-9]*/"size_bytes": "-"/' \
		-e 's/^\( *"[a-z_0-9]*": "\)CREATE TEMP VIEW .*"/\1CREATE ..."/' \
		-e 's/^- Generated at (UTC): .*/- Generated at (UTC): -/' \
		-e 's/^Generated at (UTC): [^ ]* by nsys-explain .*/Generated at (UTC): -/' out
	if [ -n "$update" ]; then
		cp out "$base.out"
		rm -f "$base.err" "$base.rc"
		[ -s err ] && cp err "$base.err"
		[ $rc -ne 0 ] && echo $rc >"$base.rc"
		for csv in "$base".*.csv; do
			[ -f "$csv" ] && cp "o/tables/${csv#"$base".}" "$csv"
		done
		continue
	fi
	want_err=/dev/null; [ -f "$base.err" ] && want_err=$base.err
	want_rc=0; [ -f "$base.rc" ] && want_rc=$(cat "$base.rc")
	same=1
	for csv in "$base".*.csv; do
		[ ! -f "$csv" ] || diff -u "$csv" "o/tables/${csv#"$base".}" || same=
	done
	if diff -u "$base.out" out && diff -u "$want_err" err && [ "$rc" = "$want_rc" ] && [ -n "$same" ]; then
		pass=$((pass + 1))
	else
		fail=$((fail + 1)); echo "FAIL golden $name (exit $rc, wanted $want_rc)"
	fi
done
[ -n "$update" ] && exit 0
echo "golden: $pass passed, $fail failed"
[ $fail -eq 0 ]
