# shellcheck shell=sh disable=SC2034
# Sourced by suites, with what all of them begin with: $b, the build that $1 names,
# its program $prog and its fixtures $fix; $tests and $root, the folder of the tests
# and the one around it; $traces, which need not be there; and $work, an empty
# folder in which the suite stands and which goes away at the end.
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
holds() { # WHAT COMMAND...: it succeeds, or what it says is shown
	what=$1; shift
	if "$@" >"$work/log" 2>&1; then ok; else bad "$what"; head -n 20 "$work/log"; fi
}
not() { ! "$@"; }
part_skipped() { echo "skipped: $*"; skip=$((skip + 1)); } # WHY: the rest goes on
# The last line of a suite; of one that cannot run here: skipped WHY; exit.
finish() { echo "$suite: $pass passed, $fail failed, $skip skipped"; [ "$fail" -eq 0 ]; }
skipped() { echo "skipped: $*"; skip=1; finish; }
