#!/bin/sh
# No secret goes from a trace into a report. Markers are planted wherever an export keeps the
# environment, commands, hosts, users and paths.
# usage: secrets.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
f=$b/fixtures/secrets.sqlite
"$b/nsys-explain" "$f" --out o >out 2>&1 || { cat out; exit 1; }
{
	"$b/nsys-explain" schema "$f"
	"$b/nsys-explain" "$f" --print-schema --out p
	"$b/nsys-explain" convert "$f" -o t.json
	"$b/nsys-explain" convert "$f" -o t.pftrace
	"$b/nsys-explain" digest "$f" -o t.nsxd
	"$b/nsys-explain" fleet "$f" "$f" -o job
	"$b/nsys-explain" diff "$f" "$f" -o change
	"$b/nsys-explain" "$f" --metrics t.txt
	"$b/nsys-explain" ask "$f" idle
} >>out 2>&1
python3 -c "import json; json.load(open('t.json'))" || { echo "FAIL: t.json is no JSON"; exit 1; }
planted=$(strings -n 8 "$f" | grep -o 'SECRET_MARKER_[0-9]*' | sort -u | wc -l)
if [ "$planted" -lt 10 ]; then echo "secrets: only $planted markers in the fixture"; exit 1; fi
found=$(grep -raho 'SECRET_MARKER_[0-9]*' . | sort -u | tr '\n' ' ')
if [ -z "$found" ]; then echo "secrets: $planted passed, 0 failed"
else echo "FAIL: in the output: $found"; echo "secrets: 0 passed, 1 failed"; exit 1; fi
