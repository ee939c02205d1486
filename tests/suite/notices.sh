#!/bin/sh
# shellcheck disable=SC2086  # options of a case are several words
# Findings and gates in the formats of pipelines: annotations of GitHub, the code quality report of
# GitLab, JUnit XML and SARIF. Each keeps the main rules of its format, whatever names a trace
# contains, and all give the same findings.
# usage: notices.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
cat >check.py <<'P'
import json, re, sys, urllib.parse
import xml.etree.ElementTree as ET
lines = [l.rstrip("\n") for l in open("lines", encoding="utf-8", newline="\n") if l.startswith("::")]
found = [re.fullmatch(r"::(error|warning|notice) title=([^:,]+)::(.+)", l) for l in lines]
assert all(found), lines
titles = [urllib.parse.unquote(m[2]) for m in found]
errors = sum(m[1] == "error" for m in found)
quality = json.load(open("gl-code-quality-report.json"))
for q in quality:
    assert q["description"] and q["check_name"] and re.fullmatch("[0-9a-f]{16}", q["fingerprint"]), q
    assert q["severity"] in ("info", "minor", "major", "critical", "blocker"), q
    assert q["location"]["path"] and q["location"]["lines"]["begin"] >= 1, q
assert len({q["fingerprint"] for q in quality}) == len(quality)
sarif = json.load(open("r.sarif"))
assert sarif["version"] == "2.1.0" and sarif["$schema"].endswith("sarif-2.1.0.json") and len(sarif["runs"]) == 1
run = sarif["runs"][0]
rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
assert run["tool"]["driver"]["name"] == "nsys-explain" and len(set(rules)) == len(rules)
for r in run["results"]:
    assert r["ruleId"] in rules and r["level"] in ("none", "note", "warning", "error") and r["message"]["text"], r
    place = r["locations"][0]["physicalLocation"]
    assert place["region"]["startLine"] >= 1 and re.fullmatch(r"[!-~]+", place["artifactLocation"]["uri"]), place
    assert all(isinstance(x, str) for x in r["partialFingerprints"].values())
suites = ET.parse("r.xml").getroot()
assert not re.search("[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", open("r.xml", encoding="utf-8").read()), "hidden or turned text"
assert suites.tag == "testsuites" and [s.tag for s in suites] == ["testsuite"]
suite = suites[0]
cases = suite.findall("testcase")
count = lambda tag: sum(c.find(tag) is not None for c in cases)
assert suite.get("name") and all(c.get("name") and c.get("classname") for c in cases)
assert [int(suite.get(k)) for k in ("tests", "failures", "errors", "skipped")] == [len(cases), count("failure"), 0, count("skipped")]
told = len(found)
assert len(quality) == len(run["results"]) == told <= len(cases), (len(quality), len(run["results"]), told)
assert errors == count("failure") == sum(r["level"] == "error" for r in run["results"]) == sum(q["severity"] == "major" for q in quality)
for t, q, r in zip(titles, quality, run["results"]):
    assert t == q["description"] and r["message"]["text"].startswith(t), (t, q, r)
assert [told, errors, len(cases), count("skipped")] == [int(x) if x != "-" else y for x, y in
    zip(sys.argv[1:], (told, errors, len(cases), count("skipped")))], (told, errors, len(cases), count("skipped"))
P
python=
for p in python3 /usr/bin/python3; do
	if "$p" -c 'import jsonschema' 2>/dev/null; then python=$p; break; fi
done
[ -n "$python" ] || part_skipped 'no python3 with jsonschema (python3-jsonschema): SARIF is not held against its standard'
tell() { # EXIT_CODE ARGUMENT...: runs the program; its exit code must be EXIT_CODE
	want=$1; shift
	rm -f lines r.xml r.sarif gl-code-quality-report.json
	"$prog" "$@" -q --annotations github --junit r.xml --sarif r.sarif >lines 2>err; rc=$?
	"$prog" "$@" -q --annotations gitlab >out 2>&1
	if [ $rc = "$want" ]; then ok; else bad "$*: exit $rc: $(cat err)"; fi
	[ -z "$python" ] || holds "SARIF of $*" "$python" "$tests/sarif.py" r.sarif
}
# The columns are findings reported, errors, test cases and skipped test cases.
tell 1 "$fix/launch_bound.sqlite" --out r --no-html --fail-on medium; holds 'findings that fail' python3 check.py - 1 - 0
tell 0 "$fix/launch_bound.sqlite" --out r --no-html; holds 'findings' python3 check.py - 0 - 0
tell 1 "$fix/launch_bound.sqlite" --out r --no-html --expect 'idle < 5 %' --expect 'compute < 90 %' --expect 'kernel:/t[x]*ny/ < 90 %'; holds 'an expectation that is not met' python3 check.py - 2 5 0
tell 1 diff "$fix/diff_before.sqlite" "$fix/diff_one_more.sqlite" -o d --gate step:+3% --gate launches:+9; holds 'a gate that fails' python3 check.py 2 1 3 0
tell 0 diff "$fix/diff_before.sqlite" "$fix/diff_renamed.sqlite" -o d --gate step:+3%; holds 'gates that pass' python3 check.py 0 0 2 0
tell 1 diff "$fix/diff_before.sqlite" "$fix/diff_clocks.sqlite" -o d --gate compute:+0%; holds 'a regression' python3 check.py - 1 2 0
tell 0 diff "$fix/diff_before.sqlite" "$fix/diff_slower.sqlite" -o d --gate compute:+0% --lenient; holds 'what is undecided, tolerated' python3 check.py - 0 2 1
for t in "$fix"/hostile_*.sqlite; do
	"$prog" "$t" --brief >out 2>&1 || continue
	tell 0 "$t" --out r --no-html; holds "$(basename "$t")" python3 check.py - 0 - 0
done
turned=$(printf 'a\342\200\256b.sqlite'); cp "$fix/launch_bound.sqlite" "$turned"
tell 0 "$turned" --out r --no-html; holds 'a name that turns text round' python3 check.py - 0 - 0
echo mine >mine; printf '[]' >gl-code-quality-report.json
for wrong in '--junit mine' '--sarif mine' '--annotations gitlab' '--annotations github --md' '--annotations bitbucket'; do
	"$prog" diff "$fix/diff_before.sqlite" "$fix/diff_renamed.sqlite" -o e $wrong >out 2>err; rc=$?
	if [ $rc -ge 2 ] && [ "$(wc -l <err)" = 1 ] && [ "$(cat mine)" = mine ] && [ ! -d e ]; then ok; else bad "$wrong: exit $rc: $(cat err)"; fi
done
finish
