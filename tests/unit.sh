#!/bin/sh
# Runs unit and property test programs; each prints cmocka's lines.
# usage: unit.sh BUILD_DIR [PATTERN]
set -u
b=$1; pattern=${2:-*}
pass=0 fail=0
for t in "$b"/tests/unit/$pattern "$b"/tests/property/$pattern; do
	case $t in *.d | *.o | *.gcno | *.gcda) continue ;; esac
	[ -f "$t" ] || continue
	case $t in */prop_sql) continue ;; esac # needs traces: sql.sh
	if "$t" "$b/fixtures" >"$b/unit.out" 2>&1; then
		n=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$b/unit.out" | tail -n1)
		pass=$((pass + ${n:-1}))
	else
		cat "$b/unit.out"; echo "FAIL $t"; fail=$((fail + 1))
	fi
done
[ $((pass + fail)) -gt 0 ] || { echo "no unit test matches '$pattern'"; exit 1; }
echo "unit: $pass passed, $fail failed"
[ $fail -eq 0 ]
