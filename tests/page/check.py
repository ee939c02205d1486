# What a person reads of each trace: see tests/suite/page.sh.
# usage: check.py PROGRAM OUT TRACE...
import json, os, re, statistics, subprocess, sys

program, out, files = sys.argv[1], sys.argv[2], sys.argv[3:]
passed = failed = 0
lengths = []

KEYS = {
    "": ["schema_version", "verdict", "header", "findings", "all_done_ms", "dearest", "not_judged", "fine", "trust", "missing"],
    "verdict": ["word", "of", "because"],
    "header": ["file", "recorded_ms", "gpus", "processes", "product", "judged"],
    "finding": ["key", "severity", "title", "price", "headroom_ms", "headroom_low_ms", "pct_of_judged", "confidence", "place", "evidence", "recommendation"],
}


def check_brief(text, report):
    b = json.loads(text)
    yield "--brief has 5 KB", len(text.encode()) <= 5120
    yield "--brief: its keys", [k for k in b if k != "steps"] == KEYS[""]
    yield "--brief: keys of the verdict", list(b["verdict"]) == KEYS["verdict"]
    yield "--brief: keys of the header", list(b["header"]) == KEYS["header"]
    yield "--brief: mixed of two", len(b["verdict"]["of"]) == 2 * (b["verdict"]["word"] == "mixed")
    yield "--brief: at most five findings", len(b["findings"]) <= 5
    known = {f["key"]: f for f in report["findings"]}
    for f in b["findings"]:
        yield "--brief: keys of a finding", list(f) == KEYS["finding"]
        full = known.get(f["key"])
        yield f"--brief: {f['key']} is in report.json", full is not None or f["key"].endswith("…")
        yield f"--brief: {f['key']} has its price", not full or [f[k] for k in ("headroom_ms", "headroom_low_ms")] == [full[k] for k in ("headroom_ms", "headroom_low_ms")] or full["price"] is None
    judged, steady = b["header"]["judged"], report["windows"]["steady"]
    yield "--brief: the judged window", not judged or [judged["start_ns"], judged["end_ns"]] == [steady["start_ns"], steady["end_ns"]]


# PLURAL finds "1 calls", but not "1 process", "GPU 1 waits" or "1.1 calls".
PLURAL = re.compile(r"(?<!GPU )(?<![Rr]ank )(?<![\d.,:])\b1 (?!process|pass\b|less\b|access\b|was\b|is\b|has\b|this\b)(?!us\b|ms\b|ns\b|s\b)[a-z]+s\b")
IDS = ["host_code", "unknown_unmatched", "page_migration", "other_api", "launch_to_start", "launch_call", "blocking_copy", "os_wait", "implicit_sync", "blocking_memcpy",
       "cpu_launcher_gap", "sync_api", "_v3020", "_v7000"]


def check_body(lines):
    """Checks sentences and tables up to the appendix. The title is left out, because it is a file's name."""
    body = lines[1:next((i for i, line in enumerate(lines) if line == "## Appendix"), len(lines))]
    seen = set()
    for i, line in enumerate(body):
        name = line[:60]
        words = re.sub(r"`[^`]*`", "", line)  # names are as the program gave them
        yield f"plural: {PLURAL.findall(words)} in '{line[:120]}'", not PLURAL.search(words)
        for word in IDS:
            yield f"'{word}' in '{line[:120]}'", not re.search(rf"{word}(?![a-z])", line)
        if line.startswith("|"):
            yield f"two rows read alike: {line}", line not in seen or line.startswith("|---") or line.startswith("|:")
            seen.add(line)
        else:
            seen.clear()
        if line.startswith("## "):
            first = next((x for x in body[i + 1:] if x), "")
            yield f"'{name}' begins with its answer", first and first[0] not in "|#"


# DIGITS finds a number with a unit and more than three significant digits.
DIGITS = re.compile(r"(?<![\w.,-])(?:\d{4,}(?:\.\d+)?|\d{3}\.\d+|\d{2}\.\d{2,}|\d\.\d{3,}) (?:[nµum]?s|[kMGT]?B)\b")


def check_whole(lines, page):
    """Checks the whole page, with the appendix."""
    headings, told = {line[3:].lower() for line in lines if line.startswith("## ")}, {}
    for line in page:
        if line.startswith("Not in this trace: "):
            for subject in line.rstrip(" .")[len("Not in this trace: "):].split(", "):
                yield f"'{subject}' is missing and has a section", subject.lower() not in headings
    for i, line in enumerate(lines):
        line = re.sub(r"`[^`]*`|^- \*\*\[\w+\] .*?\*\*", "", line)  # not names and titles
        yield f"digits: {DIGITS.findall(line)} in '{line[:120]}'", not DIGITS.search(line)
        for sentence in re.split(r"(?<=[.;:→]) ", line) if i >= len(page) and line[:1] not in "|*" else []:
            if len(sentence) >= 60:
                yield f"said in the lines {told.get(sentence)} and {i}: {sentence}", told.get(sentence, i) >= i - 1
                told[sentence] = i  # neighbours tell of several GPUs or processes in like words


def check_page(page, stdout):
    yield "45 lines", len(page) <= 45
    yield "lines of 160 characters", all(len(line) <= 160 for line in stdout)
    cut = [line for line in stdout if line.endswith("…")]
    yield f"no sentence is cut: {cut}", not cut
    for a, b, c in zip(page, page[1:], page[2:]):
        place = re.match(r"   from `([^`]*)`", b)
        yield f"a place is said once: {a}", not place or place[1] not in a


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
    lengths.append(len(lines))
    for check in check_body(lines), check_whole(lines, page), check_brief(brief.stdout, report), check_page(page, p.stdout.split("\n")):
        for what, holds in check:
            passed += bool(holds)
            if not holds:
                failed += 1
                print(f"FAIL page: {os.path.basename(path)}: {what}")
# Half of all reports have 150 lines or fewer, and none has more than 400.
for what, holds in ("150 lines", statistics.median(lengths) <= 150), ("400 lines", max(lengths) <= 400):
    passed += holds
    failed += not holds
    if not holds:
        print(f"FAIL page: {what}: {sorted(lengths)}")
print(f"page: {passed} passed, {failed} failed")
sys.exit(failed != 0)
