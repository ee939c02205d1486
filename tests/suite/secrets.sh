#!/bin/sh
# A trace with a marker in every place that holds private text: none of them
# may appear in anything that any command prints or writes.
# usage: secrets.sh BUILD_DIR
set -u
prog=$(realpath "$1")/nsys-explain
trace=$(realpath "$1")/fixtures/secrets.sqlite
pass=0 fail=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
clean() { # WHAT: no marker in anything written so far
	if grep -rq SECRET_MARKER .; then
		fail=$((fail + 1)); echo "FAIL $1 prints: $(grep -rhao 'SECRET_MARKER_[0-9]*' . | sort -u | tr '\n' ' ')"
		rm -rf ./*
	else
		pass=$((pass + 1))
	fi
}
run() { # ARGUMENTS
	"$prog" "$@" >out 2>err || { fail=$((fail + 1)); echo "FAIL $*: $(cat err)"; }
	clean "$*"
}
# The file does hold them.
grep -aq SECRET_MARKER_01 "$trace" || { fail=$((fail + 1)); echo "FAIL the fixture has no marker"; }
run "$trace" --out report -v
run "$trace" --json
run "$trace" --md
run "$trace" --print-schema --out schema
run schema "$trace"
run schema --json "$trace"
for id in $("$prog" passes | grep -v '^ '); do
	run "$trace" --explain "$id"
done
if "$prog" help convert >/dev/null 2>&1; then
	run convert "$trace" -o chrome.json
fi
echo "secrets: $pass passed, $fail failed"
[ $fail -eq 0 ]
