#!/bin/sh
# Lists which lines and branches of the library (src without main.c) a run of the tests reached. A
# file that was compiled several times counts once. BUILD_DIR/coverage.csv has a row per file, the
# least covered first, and the sum in the last line.
# usage: coverage.sh BUILD_DIR
set -u
b=$(cd "$1" && pwd)
cd "$(dirname "$0")/.." || exit 1
csv=$b/coverage.csv
# Programs that run at the same time may garble a count; such a line is left out. A file of counts
# that a killed program left incomplete would stop gcovr.
gcovr --gcov-ignore-parse-errors --root . --filter src/ --exclude 'src/main\.c' --csv "$csv" \
	--json-summary "$b/coverage.json" "$b/src" "$b"/faults*/src || exit 1
find src -name '*.c' ! -path src/main.c | while read -r f; do
	grep -q "^$f," "$csv" || { echo "FAIL $f is not in the table"; exit 1; }
done || exit 1
python3 - "$b/coverage.json" "$csv" <<'P'
import csv, json, sys
with open(sys.argv[2]) as f:
    head, *rows = csv.reader(f)
rows.sort(key=lambda r: (float(r[3]), r[0]))
with open(sys.argv[2], "w") as f:
    csv.writer(f, lineterminator="\n").writerows([head, *rows])
for r in rows[:20]:
    print(f"{100 * float(r[3]):5.1f} %  {int(r[1]) - int(r[2]):4} lines not reached  {r[0]}")
with open(sys.argv[1]) as f:
    x = json.load(f)
print(f"all files: {sys.argv[2]}")
print(f"coverage: {x['line_percent']} % of {x['line_total']} lines, "
      f"{x['branch_percent']} % of {x['branch_total']} branches")
sys.exit(x["line_percent"] < 90)
P
