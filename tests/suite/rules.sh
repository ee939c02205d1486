#!/bin/sh
# Each rule that concludes something has findings on a capture that was measured on a GPU, or on two
# real captures; otherwise rules.tsv says why the rule stays. Each id of finding.def has a line there,
# and has findings on the captures that the line names: those of measured/ and examples/, and of ../shared
# if that exists.
# usage: rules.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
ln -s "$tests/fixtures/_schema" _schema
shared=$(dirname "$traces")
sed -nE 's/^NSX_(FINDING\(|CAUSE\(\w+, )(\w+),.*/\2/p' "$root/src/report/finding.def" | sort -u >ids
sed 1d "$tests/rules.tsv" | cut -f 1 | sort >lines
holds 'each id of finding.def has one line in rules.tsv' diff ids lines
# A line is ID CAPTURES WHY. It has either enough captures or a reason, not both.
few() {
	awk -F '\t' 'NR > 1 { n = split($2, v, " "); real = 0
		for (i = 1; i <= n; i++) real += v[i] ~ /^measured/ ? 2 : v[i] ~ /^(traces|reports|examples)/
		if ((real >= 2) != ($3 == "")) print $1 ": " $2 ": " $3 }' "$tests/rules.tsv" | grep .
}
holds 'a rule has enough captures, or says why it has not' not few
told() { # CAPTURE: writes the ids of its findings to the file ids.CAPTURE
	out=ids.$(echo "$1" | tr / .) name=${1#measured/} file=$shared/$1
	case $1 in
	examples/*) file=$root/$1 ;;
	measured/*)
		file=$name.sqlite
		if [ -e "$tests/measured/$name.sql" ]; then cp "$tests/measured/$name.sql" .
		else gzip -dc "$tests/measured/$name.sql.gz" >"$name.sql"; fi
		"$b/mkfixture" "$name.sql" "$file" || return ;;
	esac
	[ ! -e "$file" ] || "$prog" "$file" --json 2>/dev/null |
		python3 -c 'import json, sys; print(*(f["id"] for f in json.load(sys.stdin)["findings"]), sep="\n")' >"$out"
}
sed 1d "$tests/rules.tsv" | cut -f 2 | tr ' ' '\n' | grep . | sort -u >captures
while read -r capture; do
	told "$capture"
	out=ids.$(echo "$capture" | tr / .)
	[ -e "$out" ] || { part_skipped "$capture, which is not here"; continue; }
	awk -F '\t' -v c="$capture" 'index(" " $2 " ", " " c " ") { print $1 }' "$tests/rules.tsv" >here
	while read -r id; do holds "$id speaks on $capture" grep -qx "$id" "$out"; done <here
done <captures
finish
