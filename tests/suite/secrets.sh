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
} >>out 2>&1
planted=$(strings -n 8 "$f" | grep -o 'SECRET_MARKER_[0-9]*' | sort -u | wc -l)
if [ "$planted" -lt 10 ]; then echo "secrets: only $planted markers in the fixture"; exit 1; fi
found=$(grep -rho 'SECRET_MARKER_[0-9]*' . | sort -u | tr '\n' ' ')
if [ -z "$found" ]; then echo "secrets: $planted passed, 0 failed"
else echo "FAIL: in the output: $found"; echo "secrets: 0 passed, 1 failed"; exit 1; fi
