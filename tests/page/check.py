# What a person reads of each trace: see tests/suite/page.sh.
# usage: check.py PROGRAM OUT TRACE...
import json, os, subprocess, sys

program, out, files = sys.argv[1], sys.argv[2], sys.argv[3:]
passed = failed = 0

KEYS = {
    "": ["schema_version", "verdict", "header", "findings", "all_done_ms", "fine", "trust", "missing"],
    "verdict": ["word", "of", "because"],
    "header": ["file", "recorded_ms", "gpus", "processes", "product", "judged"],
    "finding": ["key", "severity", "title", "price", "headroom_ms", "pct_of_judged", "confidence", "place", "evidence", "recommendation"],
}


def check_brief(text, report):
    b = json.loads(text)
    yield "--brief has 5 KB", len(text.encode()) <= 5120
    yield "--brief: its keys", list(b) == KEYS[""]
    yield "--brief: keys of the verdict", list(b["verdict"]) == KEYS["verdict"]
    yield "--brief: keys of the header", list(b["header"]) == KEYS["header"]
    yield "--brief: mixed of two", len(b["verdict"]["of"]) == 2 * (b["verdict"]["word"] == "mixed")
    yield "--brief: at most five findings", len(b["findings"]) <= 5
    known = {f["key"]: f for f in report["findings"]}
    for f in b["findings"]:
        yield "--brief: keys of a finding", list(f) == KEYS["finding"]
        full = known.get(f["key"])
        yield f"--brief: {f['key']} is in report.json", full is not None or f["key"].endswith("…")
        yield f"--brief: {f['key']} has its price", not full or f["headroom_ms"] == full["headroom_ms"] or full["price"] is None
    judged, steady = b["header"]["judged"], report["windows"]["steady"]
    yield "--brief: the judged window", not judged or [judged["start_ns"], judged["end_ns"]] == [steady["start_ns"], steady["end_ns"]]


def check_page(page, stdout):
    yield "45 lines", len(page) <= 45
    yield "lines of 160 characters", all(len(line) <= 160 for line in stdout)


for path in files:
    env = dict(os.environ, LC_ALL="C", NO_COLOR="1")
    run = lambda *a: subprocess.run([program, path, *a], capture_output=True, text=True, encoding="utf8", env=env)
    p, brief = run("--out", out, "--no-html"), run("--brief")
    if p.returncode not in (0, 4):
        continue
    with open(f"{out}/report.json") as f:
        report = json.load(f)
    with open(f"{out}/report.md", encoding="utf8") as f:
        lines = f.read().split("\n")
    page = lines[:next((i for i, line in enumerate(lines) if line.startswith("## ")), len(lines))]
    for check in check_brief(brief.stdout, report), check_page(page, p.stdout.split("\n")):
        for what, holds in check:
            passed += bool(holds)
            if not holds:
                failed += 1
                print(f"FAIL page: {os.path.basename(path)}: {what}")
print(f"page: {passed} passed, {failed} failed")
sys.exit(failed != 0)
