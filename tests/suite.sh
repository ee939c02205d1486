# shellcheck shell=sh disable=SC2034
# Every suite sources this file. It sets $b (the build folder, named by $1), $prog (the program in
# it), $fix (the fixtures in it), $tests (the folder of the tests), $root (the folder around that),
# $traces (real traces, which need not exist) and $work (an empty folder, which is the working
# directory of the suite and is removed at the end).
set -u
suite=$(basename "$0" .sh)
tests=$(cd "$(dirname "$0")/.." && pwd)
root=$(dirname "$tests")
b=$(cd "$1" && pwd)
prog=$b/nsys-explain fix=$b/fixtures
traces=${NSX_TRACES:-$root/../shared/traces}
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1
pass=0 fail=0 skip=0
ok() { pass=$((pass + 1)); }
bad() { fail=$((fail + 1)); echo "FAIL $suite: $*"; }
holds() { # WHAT COMMAND...: the command must succeed; if it fails, its output is shown
	what=$1; shift
	if "$@" >"$work/log" 2>&1; then ok; else bad "$what"; head -n 20 "$work/log"; fi
}
not() { ! "$@"; }
part_skipped() { echo "skipped: $*"; skip=$((skip + 1)); } # WHY: counts it; the suite goes on
# finish prints the last line of a suite. A suite that cannot run here calls `skipped WHY` and exits.
finish() { echo "$suite: $pass passed, $fail failed, $skip skipped"; [ "$fail" -eq 0 ]; }
skipped() { echo "skipped: $*"; skip=1; finish; }
