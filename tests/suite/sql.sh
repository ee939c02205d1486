#!/bin/sh
# Each query gives the rows of its analysis (prop_sql), and the SQL that --explain prints runs in
# the sqlite3 shell unchanged.
# usage: sql.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
# shellcheck source=../inputs.sh
. "$tests/inputs.sh"
if "$b/tests/property/prop_sql" "$@"; then
	pass=$((pass + $#))
else
	fail=$((fail + 1))
fi
if command -v sqlite3 >/dev/null; then
	for name in synthetic era_v2020 variant_names no_tables_2021 view_as_table; do
		f=$b/fixtures/$name.sqlite
		for id in $("$b/nsys-explain" passes | grep -v '^ '); do
			"$b/nsys-explain" "$f" --explain "$id" >"$work/sql" || { bad "--explain $id $name"; continue; }
			if sqlite3 -readonly -bail "$f" <"$work/sql" >"$work/out" 2>"$work/err" && [ ! -s "$work/err" ]; then ok
			else bad "sqlite3 $name $id: $(cat "$work/err")"; fi
		done
	done
else
	skip=1; echo "the sqlite3 shell is not here"
fi
finish
