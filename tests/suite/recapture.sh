#!/bin/sh
# The reports of traces made by nsys 2023.4.4 contain command lines for nsys. The real 2023.4.4, if
# available, must understand each of them. README.md names only options of the table.
# usage: recapture.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
nsys_dir=$(realpath -m "${NSX_NSYS_DIR:-$b/nsys}")
real=$nsys_dir/target-linux-x64/nsys
get=$root/../shared/tools/get-nsys
if ! [ -x "$real" ] && { ! [ -x "$get" ] || ! real=$("$get" "$nsys_dir" 2>/dev/null); }; then real=; fi
HOME=$work TMPDIR=$work; export HOME TMPDIR
python3 - "$b" "$root" "$real" <<'P'
import glob, json, re, shutil, sqlite3, subprocess, sys
b, here, real = sys.argv[1:]
passed = failed = skipped = 0

def check(what, holds):
    global passed, failed
    passed += bool(holds)
    failed += not holds
    if not holds:
        print(f"FAIL recapture: {what}")

def made_by(path, version, system=None):
    """t.sqlite: that trace, as if that version had made it (on that system)."""
    shutil.copy(path, "t.sqlite")
    db = sqlite3.connect("t.sqlite")
    try:
        db.execute("UPDATE META_DATA_EXPORT SET value = ? WHERE name = 'EXPORT_PRODUCT_VERSION'", (version,))
        changed = db.execute("SELECT changes()").fetchone()[0]
        if system:
            db.execute("INSERT INTO META_DATA_CAPTURE(name, value) VALUES('DEVICE_TYPE', ?)", (system,))
            db.execute("UPDATE DIAGNOSTIC_EVENT SET text = 'event source Perf' WHERE rowid = 1")
        db.commit()
        return changed
    except sqlite3.Error:
        return 0
    finally:
        db.close()

def explain(*options):
    return subprocess.run([b + "/nsys-explain", "t.sqlite", *options], capture_output=True, text=True)

lines = set()
for path in sorted(glob.glob(b + "/fixtures/*.sqlite")):
    if not made_by(path, "2023.4.4.54"):
        continue
    p = explain("--json")
    if p.returncode not in (0, 4):
        continue
    r = json.loads(p.stdout)
    lines.update(re.findall(r'nsys (?:profile|export) [^"`]*', json.dumps(r["metrics"]["capture_quality"]) + json.dumps(r["findings"]) +
                            json.dumps(r["metrics"]["nvlink_during_nccl"].get("capture_instructions", []))))
check("10 lines and more", len(lines) >= 10)
gaps = b + "/fixtures/capture_gaps.sqlite"
made_by(gaps, "2023.4.4.54")
call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": "nsys_capture", "arguments": {"trace": "t.sqlite"}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}
topics = subprocess.run([b + "/nsys-explain", "mcp", "--root", "."], input=json.dumps(call) + "\n", capture_output=True, text=True).stdout
topics = re.findall(r'nsys profile [^"\\`]*(?=[`"])', topics)
check(f"a capture for each preset: {len(topics)}", len(topics) == 7)
lines.update(x.strip() for x in topics)

# One command line records everything that is missing, also for an nsys that cannot trace graphs by
# node, and on Windows, where nsys refuses to trace OS calls and NCCL.
made_by(gaps, "2021.5.2.53")
check("a line of 2021.5", (json.loads(explain("--json").stdout)["metrics"]["capture_quality"].get("recapture") or "").startswith(
    "nsys profile --trace=cuda,nvtx,osrt --gpu-metrics-device=all"))
made_by(gaps, "2026.2.1.210", "Windows")
page = explain("--md").stdout + explain("--json").stdout
check("lines of Windows", "--trace=cuda,nvtx " in page and "as administrator" in page and not re.search(r"--trace=\S*(osrt|nccl)|capture --preset|/proc/", page))
seen = set() # each option is tried once only, because a run takes seconds
for line in sorted(lines, key=lambda x: (-len(x), x)):
    check(f"no comment where the version is known: {line}", "#" not in line)
    new = set(line.split()) - seen
    seen |= new
    if not real:
        skipped += 1
    if not real or not new:
        continue
    # This machine may have no GPU, so options that need one or its counter sets are left out.
    line = line.replace("device=all", "device=none").replace("=<supported-set>", "=help")
    argv = [real] + line.replace("COMMAND", "true").split()[1:]
    p = subprocess.run(argv, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    said = p.stdout + p.stderr
    check(f"nsys refuses '{line}': {said[:200]}", not re.search(r"unrecogni|ambiguous|illegal|invalid|not a valid|usage:", said, re.I))
table = open(here + "/src/schema/recapture.c").read()
readme = "".join(open(here + name).read() for name in ("/README.md", "/docs/capture.md")).replace("\\\n", " ")
for line in re.findall(r"^nsys (?:profile|export) .*", readme, re.M):
    for option in re.findall(r"--[a-z-]+(?:=[^ ]+)?", line.split(" -- ")[0]):
        check(f"README: {option} is not in the table", option in table or option == "--type" or option.startswith("--trace="))
print(f"recapture: {passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed != 0)
P
