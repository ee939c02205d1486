#!/bin/sh
# Each evidence row of a finding names a cell: its table has a row of that key
# whose column holds the value, to the digit. On every fixture and real trace.
# usage: evidence.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
# shellcheck source=../inputs.sh
. "$tests/inputs.sh"
python3 - "$b/nsys-explain" "$work/out" "$@" <<'P'
import csv, json, os, re, shutil, subprocess, sys
program, out, files = sys.argv[1], sys.argv[2], sys.argv[3:]
csv.field_size_limit(1 << 30)
passed = failed = 0

def same(cell, value):
    """5 and 5.0 are one number; digits are not rounded."""
    try:
        return float(cell) == float(value)
    except ValueError:
        return cell == value

def cell(e):
    """What is wrong with an evidence row; None: nothing."""
    path = os.path.join(out, "tables", e["table"])
    if not os.path.exists(path):
        return "no such table"
    with open(path, newline="", encoding="utf-8", errors="replace") as f:
        rows = list(csv.DictReader(f))
    if rows and e["column"] not in rows[0]:
        return "no such column"
    names = "|".join(map(re.escape, rows[0])) if rows else "$"
    keys = re.findall(rf"(?:^|, )({names})=(.*?)(?=, (?:{names})=|$)", e.get("key") or "", re.S)
    rows = [r for r in rows if all(same(r[k], v) for k, v in keys)]
    if not rows:
        return "no such row"
    return None if any(same(r[e["column"]], str(e["values"])) for r in rows) else (
        "the column has " + ", ".join(r[e["column"]] for r in rows[:3]))

for f in files:
    shutil.rmtree(out, ignore_errors=True)
    if subprocess.run([program, f, "--out", out, "-q"], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode:
        continue
    with open(os.path.join(out, "report.json"), encoding="utf-8") as r:
        report = json.load(r)
    for x in report["findings"] + (report["metrics"].get("findings_minor") or []):
        for e in x.get("evidence_rows") or []:
            wrong = cell(e)
            passed += wrong is None
            failed += wrong is not None
            if wrong:
                print(f"FAIL {os.path.basename(f)} {x['id']}: {e['table']} {e.get('key')} "
                      f"{e['column']} = {e['values']}: {wrong}")
print(f"evidence: {passed} passed, {failed} failed")
sys.exit(failed > 0)
P
