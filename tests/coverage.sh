#!/bin/sh
# Sums gcov's line and branch counts over the library.
# usage: coverage.sh BUILD_DIR
set -u
b=$1
find "$b/src" -name '*.gcda' -exec gcov -n -b {} + 2>/dev/null |
awk '/^File .src\// { keep = 1; next } /^File/ { keep = 0 }
keep && /^Lines executed/ { split($0, a, /[:% ]+/); l += a[4]; c += a[3] * a[4] / 100 }
keep && /^Taken at least once/ { split($0, a, /[:% ]+/); br += a[7]; t += a[6] * a[7] / 100 }
END { if (!l) { print "no coverage data"; exit 1 }
printf "coverage: %.1f %% of %d lines, %.1f %% of %d branches\n", 100 * c / l, l, br ? 100 * t / br : 0, br }'
