#!/bin/sh
# Queries: each gives the rows of its analysis (prop_sql), and what --explain
# prints runs in the sqlite3 shell as it is.
# usage: sql.sh BUILD_DIR
set -u
here=$(dirname "$0")
b=$1
traces=${NSX_TRACES:-$here/../../../shared/traces}
pass=0 fail=0 skip=0
set -- "$b"/fixtures/*.sqlite
[ -d "$traces" ] && set -- "$@" "$traces"/*.sqlite
if "$b/tests/property/prop_sql" "$@"; then
	pass=$((pass + $#))
else
	fail=$((fail + 1))
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if command -v sqlite3 >/dev/null; then
	for name in synthetic era_v2020 variant_names no_tables_2021 view_as_table; do
		f=$b/fixtures/$name.sqlite
		for id in $("$b/nsys-explain" passes | grep -v '^ '); do
			"$b/nsys-explain" "$f" --explain "$id" >"$work/sql" || { fail=$((fail + 1)); echo "FAIL --explain $id $name"; continue; }
			if sqlite3 -readonly -bail "$f" <"$work/sql" >"$work/out" 2>"$work/err" && [ ! -s "$work/err" ]; then
				pass=$((pass + 1))
			else
				fail=$((fail + 1)); echo "FAIL sqlite3 $name $id: $(cat "$work/err")"
			fi
		done
	done
else
	skip=1; echo "the sqlite3 shell is not here"
fi
echo "sql: $pass passed, $fail failed, $skip skipped"
[ $fail -eq 0 ]
