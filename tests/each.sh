#!/bin/sh
# Runs a command on every fixture and every real trace. The trace replaces the argument @ or, if
# there is none, is the last argument. Exit codes 0, 3 and 4 are valid, and so is the refusal to
# compare a trace without GPU work; any other is a failure.
# usage: each.sh "COMMAND ..." FIXTURE_DIR
set -u
cmd=$1; fix=$2
traces=${NSX_TRACES:-$(dirname "$0")/../../shared/traces}
pass=0 fail=0 skip=0
[ -d "$traces" ] || { skip=1; echo "no real traces at hand: only fixtures"; }
for f in "$fix"/*.sqlite "$traces"/*.sqlite "$traces"/not_nsys/*.sqlite; do
	[ -f "$f" ] || continue
	# shellcheck disable=SC2086  # a command is words
	case $cmd in
	*' @ '*) ${cmd%% @ *} "$f" ${cmd#* @ } ;;
	*) $cmd "$f" ;;
	esac >/dev/null 2>"${TMPDIR:-/tmp}/each.$$"
	rc=$?
	[ $rc -eq 2 ] && grep -q 'it has no GPU work$' "${TMPDIR:-/tmp}/each.$$" && rc=3
	case $rc in
	0 | 3 | 4) pass=$((pass + 1)) ;;
	*) fail=$((fail + 1)); echo "FAIL exit $rc: $f"; tail -n 20 "${TMPDIR:-/tmp}/each.$$" ;;
	esac
done
rm -f "${TMPDIR:-/tmp}/each.$$"
echo "each: $pass passed, $fail failed, $skip skipped"
[ $fail -eq 0 ]
