#!/bin/sh
# Rules for findings, on every fixture and real trace:
# - keys are unique;
# - each evidence row, of minor findings as well, names a cell: its table has one row with that key,
#   and the cell has the value to the digit; the HTML page has that cell, too;
# - disjoint headrooms do not exceed the judged window;
# - the first remedy of the waterfall wins as much as it wins alone;
# - a finding that is not replayed has no disjoint headroom and no ceiling;
# - the gate of --fail-on does not depend on the sections shown;
# - findings of programs without GPU work agree with brute force, on programs of random threads.
# usage: findings.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
# shellcheck source=../inputs.sh
. "$tests/inputs.sh"
for f in "$traces"/../reports/*.nsys-rep "$traces"/../reports/*.qdrep; do
	[ ! -f "$f" ] || set -- "$@" "$f"
done
python3 - "$b" "$tests/brute/blame.py" "$work/out" "$@" <<'P'
import csv, json, os, re, subprocess, sys
build, blame, out, files = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
program = build + "/nsys-explain"
csv.field_size_limit(1 << 30)
passed = failed = rows_seen = 0

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
    if len(rows) > 1:
        return f"{len(rows)} such rows"
    return None if any(same(r[e["column"]], str(e["values"])) for r in rows) else (
        "the column has " + ", ".join(r[e["column"]] for r in rows[:3]))

def checks(r):
    fs = r["findings"]
    w = r["windows"]["steady"] or r["windows"]["full"] or {"start_ns": 0, "end_ns": 0}
    length = ((w["end_ns"] or 0) - (w["start_ns"] or 0)) / 1e6
    keys = [f["key"] for f in fs]
    yield "keys are unique", len(keys) == len(set(keys))
    yield "sum of disjoint headrooms", sum(f["headroom_disjoint_ms"] or 0 for f in fs) <= length * (1 + 1e-9)
    for step in (r["metrics"].get("what_if") or {}).get("waterfall") or []:
        alone = next(f["headroom_ms"] for f in fs if f["key"] == step["finding"])
        yield "the first remedy wins what it wins alone", step["step"] > 1 or step["gain_ms"] == alone
    for f in fs:
        if f["price"] != "replayed":
            yield f["key"] + ": not replayed, but disjoint or a ceiling", f["headroom_disjoint_ms"] is None and f["speedup_ceiling"] is None
        if f["headroom_ms"] is not None:
            yield f["key"] + ": range", 0 <= f["headroom_low_ms"] <= f["headroom_high_ms"] and f["headroom_ms"] <= length * (1 + 1e-9)
        if f["price"] in (None, "assumed"):
            yield f["key"] + ": assumed and high", f["severity"] != "high" or f["category"] == "capture" or f["id"] == "other_phase"  # measured, and not judged
    for f in fs + (r["metrics"].get("findings_minor") or []):
        for row in f.get("evidence_rows") or []:
            global rows_seen
            rows_seen += 1
            wrong = cell(row)
            yield f"{f['id']}: {row['table']} {row.get('key')} {row['column']} = {row['values']}: {wrong}", wrong is None

def links(page):
    ids = set(re.findall(' id="([^"]*)"', page))
    for to, proof in re.findall('href="#([^"]*)">(tables/)?', page):
        yield "the page's link to " + to, to in ids and to.startswith("e-") >= bool(proof)

for path in files:
    env = dict(os.environ, LC_ALL="C")
    p = subprocess.run([program, path, "--out", out, "--force", "-q", "--fail-on", "medium"], capture_output=True, text=True, env=env)
    q = subprocess.run([program, path, "--json", "--pass", "windows", "--fail-on", "medium"], capture_output=True, text=True, env=env)
    if p.returncode not in (0, 1, 4):
        continue
    told = "nsys-explain: --fail-on medium: " in p.stderr
    passed += told == (p.returncode == 1)
    if told != (p.returncode == 1):
        failed += 1
        print(f"FAIL findings: {os.path.basename(path)}: exit {p.returncode}, and on stderr '{p.stderr}'")
    passed += p.returncode == q.returncode
    if p.returncode != q.returncode:
        failed += 1
        print(f"FAIL findings: {os.path.basename(path)}: exit {p.returncode}, with other sections {q.returncode}")
    with open(f"{out}/report.json") as f, open(f"{out}/report.html", errors="replace") as page:
        for what, holds in [*checks(json.load(f)), *links(page.read())]:
            passed += bool(holds)
            if not holds:
                failed += 1
                print(f"FAIL findings: {os.path.basename(path)}: {what}")
for seed in range(1, 31):
    with open("threads.sql", "w") as f:
        subprocess.run([sys.executable, blame, "make", str(seed)], stdout=f, check=True)
    subprocess.run([build + "/mkfixture", "threads.sql", "threads.sqlite"], check=True)
    with open("threads.json", "w") as f:
        subprocess.run([program, "threads.sqlite", "--json"], stdout=f, check=True)
    p = subprocess.run([sys.executable, blame, "check", "threads.sqlite", "threads.json"], capture_output=True, text=True)
    passed += p.returncode == 0
    if p.returncode:
        failed += 1
        print(f"FAIL findings: threads of seed {seed}: {p.stdout}{p.stderr}")
if rows_seen < 20:
    failed += 1
    print(f"FAIL findings: only {rows_seen} evidence rows were seen")
print(f"{rows_seen} evidence rows lead to their cells")
print(f"findings: {passed} passed, {failed} failed")
sys.exit(failed != 0)
P
