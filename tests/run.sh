#!/bin/sh
# All tests, suite by suite; each suite ends with "NAME: N passed, N failed
# [, N skipped]". The last line is the sum.
# usage: run.sh BUILD_DIR
set -u
b=$1
here=$(dirname "$0")
pass=0 fail=0 skip=0
suite() {
	echo "== $*"
	"$@" 2>&1 | tee "$b/suite.out"
	line=$(grep -E '^([a-z_]+: )?[0-9]+ passed, [0-9]+ failed' "$b/suite.out" | tail -n1)
	if [ -z "$line" ]; then
		echo "FAIL: $* did not finish"; fail=$((fail + 1)); return
	fi
	# shellcheck disable=SC2046
	set -- $(echo "$line" | sed 's/^[a-z_]*: //; s/[a-z,]//g')
	pass=$((pass + $1)); fail=$((fail + $2)); skip=$((skip + ${3:-0}))
}
suite "$here/unit.sh" "$b"
suite "$here/golden.sh" "$b/nsys-explain" "$b/fixtures"
for s in "$here"/suite/*.sh; do
	[ -f "$s" ] || continue
	# What is killed, or may not write, would spoil gcov's counts of the others.
	case $s in
	*/signals.sh | */damage.sh | */replay.sh | */io_faults.sh) GCOV_PREFIX=$(realpath "$b")/killed; export GCOV_PREFIX ;;
	*) unset GCOV_PREFIX ;;
	esac
	suite "$s" "$b"
done
suite "$here/traces.sh" "$b"
echo "$pass passed, $fail failed, $skip skipped"
[ "$fail" -eq 0 ]
