#!/bin/sh
# Lists the first five findings of each fixture and measured capture, or of the traces given: the
# key, the severity, the price as a share of the judged window, and the place. A diff of this list
# shows the effect of a change of the rules. The list is a record: no test fails because of it.
# usage: told.sh BUILD_DIR [TRACE...] >told.tsv
set -eu
b=$(realpath "$1"); shift
tests=$(realpath "$(dirname "$0")")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ $# -eq 0 ]; then
	ln -s "$tests/fixtures/_schema" "$tmp/_schema"
	for f in "$tests"/measured/*.sql "$tests"/measured/*.sql.gz; do
		name=$(basename "${f%.gz}" .sql)
		case $f in *.gz) gzip -dc "$f" ;; *) cat "$f" ;; esac >"$tmp/$name.sql"
		"$b/mkfixture" "$tmp/$name.sql" "$tmp/measured.$name.sqlite"
	done
	set -- "$b"/fixtures/*.sqlite "$tmp"/*.sqlite
fi
# shellcheck disable=SC2016 # its own shell expands $0 to $2
for f; do [ ! -e "$f" ] || echo "$f"; done |
	xargs -P "$(nproc)" -I{} sh -c '
	n=$(basename "{}" .sqlite)
	"$0" "{}" --json 2>/dev/null | python3 "$1/told.py" "$n" >"$2/$n.tsv" || :' \
	"$b/nsys-explain" "$tests" "$tmp"
printf 'trace\tnth\tkey\tseverity\tprice\tshare\tplace\n'
cat "$tmp"/*.tsv
