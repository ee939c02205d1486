#!/bin/sh
# Every JSON document that tests hold or programs give is as `schema-json` says,
# and one with another key or type is not, by an independent validator.
# usage: json_schema.sh BUILD_DIR
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
b=$(cd "$1" && pwd)
python3 -c 'import jsonschema' 2>/dev/null || {
	echo 'json_schema: skipped, no jsonschema for Python'; exit 0; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$b/fixtures" || exit 1
p=$b/nsys-explain
for f in *.sqlite; do
	"$p" -q --json "$f" >"$work/${f%.sqlite}.report" 2>/dev/null
	"$p" -q --brief "$f" >"$work/${f%.sqlite}.brief" 2>/dev/null
done
"$p" -q --json synthetic.sqlite --pass input,windows,findings,per_pid,kernel_shape,launch_storm >"$work/part.report"
echo '{"all": "step"}' >"$work/map"
"$p" -q --json two_rank_straggler.sqlite --phase-map "$work/map" --window 0..1 >"$work/phases.report"
"$p" -q two_rank_straggler.sqlite -o "$work/folder" >/dev/null && cp "$work/folder/report.json" "$work/folder.report"
for after in diff_slower diff_template; do
	"$p" diff diff_before.sqlite $after.sqlite --json >"$work/$after.diff"
done
"$p" diff synthetic.sqlite synthetic.sqlite --json >"$work/same.diff"
"$p" diff --unit window synthetic.sqlite ties.sqlite --json >"$work/window.diff"
for set in nccl_three_ranks two_rank_straggler replay_late_rank; do
	"$p" fleet $set.sqlite -o "$work/fleet_$set" >/dev/null 2>&1 &&
		cp "$work/fleet_$set/report.json" "$work/$set.fleet"
done
python3 - "$p" "$here" "$work" <<'P'
import copy, glob, json, os, subprocess, sys
import jsonschema
program, here, work = sys.argv[1:]
passed = failed = 0

def schema(name):
    text = subprocess.run([program, "schema-json", name], capture_output=True, text=True).stdout
    s = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(s)
    return jsonschema.Draft202012Validator(s)

def check(what, good):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAIL json_schema:", what)

def is_valid(kind, what, document):
    e = next(valid[kind].iter_errors(document), None)
    check("%s: %s" % (what, e and "%s at %s" % (e.message[:200], list(e.absolute_path))), not e)

def parts(x):
    """Members of all objects, and the first of each list."""
    for k, v in list(x.items() if isinstance(x, dict) else enumerate(x[:1])):
        yield x, k
        if isinstance(v, (dict, list)) and k not in ("sql", "capabilities", "tables"):
            yield from parts(v)

names = subprocess.run([program, "schema-json"], capture_output=True, text=True).stdout.split()
valid = {n: schema(n) for n in names}
for f in sorted(os.listdir(work)):
    kind = f.rpartition(".")[2]
    if kind in valid and os.path.getsize(os.path.join(work, f)):
        d = json.load(open(os.path.join(work, f)))
        if "error" not in d:
            is_valid(kind, f, d)
        if kind == "report":
            is_valid("findings", f + " findings", d.get("findings", []))
for f in sorted(glob.glob(here + "/../examples/*/report.json")):
    d = json.load(open(f))
    is_valid("fleet" if "fleet" in d["metrics"] else "report", f, d)
for f in sorted(glob.glob(here + "/golden/*/*.out")):
    text = open(f).read()
    if text.startswith("{") and not text.startswith('{\n  "error"'):
        d = json.loads(text.replace('"size_bytes": "-"', '"size_bytes": 0'))
        kind = "brief" if '"header"' in text else "diff" if '"same_capture"' in text else "report"
        is_valid("fleet" if "fleet" in d.get("metrics", {}) else kind, f, d)
for f, kind in (("part.report", "report"), ("synthetic.brief", "brief"), ("diff_slower.diff", "diff"),
                ("two_rank_straggler.fleet", "fleet")):
    d = json.load(open(os.path.join(work, f)))
    for x, k in parts(d):
        was = x[k]
        x[k] = [[]]
        check("%s: %s may not be %s" % (f, k, x[k]), not valid[kind].is_valid(d))
        x[k] = was
    for x in [d] + [x[k] for x, k in parts(d) if isinstance(x[k], dict)]:
        x["no such key"] = 1
        check("%s: no such key" % f, not valid[kind].is_valid(d))
        del x["no such key"]
print("json_schema: %d passed, %d failed" % (passed, failed))
sys.exit(failed > 0)
P
