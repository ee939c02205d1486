#!/bin/sh
# What must hold of findings, on every fixture and real trace: keys are unique,
# each evidence row leads to a cell that holds its value, disjoint headrooms do
# not exceed the judged window, what is not replayed has none and no ceiling, and
# the gate of --fail-on does not depend on the sections shown.
# usage: findings.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
# shellcheck source=../inputs.sh
. "$tests/inputs.sh"
python3 - "$b/nsys-explain" "$work/out" "$@" <<'P'
import csv, json, os, subprocess, sys
program, out, files = sys.argv[1], sys.argv[2], sys.argv[3:]
passed = failed = rows_seen = 0

def cell_holds(row):
    with open(f"{out}/tables/{row['table']}", newline="") as f:
        table = list(csv.DictReader(f))
    want = [p.split("=", 1) for p in row["key"].split(", ") if "=" in p]
    if any(row["column"] not in r for r in table[:1]):
        return False
    for r in table:
        if all(r.get(k) == v for k, v in want):
            cell = r[row["column"]]
            try:
                return float(cell) == float(row["values"])
            except ValueError:
                return cell == row["values"]
    # a name may hold what separates the parts of a key
    return any(r[row["column"]] == row["values"] or
               number(r[row["column"]]) == number(row["values"]) for r in table)

def number(text):
    try:
        return float(text)
    except ValueError:
        return None

def checks(r):
    fs = r["findings"]
    w = r["windows"]["steady"] or r["windows"]["full"] or {"start_ns": 0, "end_ns": 0}
    length = ((w["end_ns"] or 0) - (w["start_ns"] or 0)) / 1e6
    keys = [f["key"] for f in fs]
    yield "keys are unique", len(keys) == len(set(keys))
    yield "sum of disjoint headrooms", sum(f["headroom_disjoint_ms"] or 0 for f in fs) <= length * (1 + 1e-9)
    for f in fs:
        if f["price"] != "replayed":
            yield f["key"] + ": not replayed, but disjoint or a ceiling", f["headroom_disjoint_ms"] is None and f["speedup_ceiling"] is None
        if f["headroom_ms"] is not None:
            yield f["key"] + ": range", 0 <= f["headroom_low_ms"] <= f["headroom_high_ms"] and f["headroom_ms"] <= length * (1 + 1e-9)
        if f["price"] in (None, "assumed"):
            yield f["key"] + ": assumed and high", f["severity"] != "high" or f["category"] == "capture"
        for row in f["evidence_rows"]:
            global rows_seen
            rows_seen += 1
            yield f"{f['key']}: {row['table']} {row['key']} {row['column']}", cell_holds(row)

for path in files:
    env = dict(os.environ, LC_ALL="C")
    p = subprocess.run([program, path, "--out", out, "--force", "-q", "--fail-on", "medium"], capture_output=True, text=True, env=env)
    q = subprocess.run([program, path, "--json", "--pass", "windows", "--fail-on", "medium"], capture_output=True, text=True, env=env)
    if p.returncode not in (0, 1, 4):
        continue
    passed += p.returncode == q.returncode
    if p.returncode != q.returncode:
        failed += 1
        print(f"FAIL findings: {os.path.basename(path)}: exit {p.returncode}, with other sections {q.returncode}")
    with open(f"{out}/report.json") as f:
        for what, holds in checks(json.load(f)):
            passed += bool(holds)
            if not holds:
                failed += 1
                print(f"FAIL findings: {os.path.basename(path)}: {what}")
if rows_seen < 20:
    failed += 1
    print(f"FAIL findings: only {rows_seen} evidence rows were seen")
print(f"{rows_seen} evidence rows lead to their cells")
print(f"findings: {passed} passed, {failed} failed")
sys.exit(failed != 0)
P
