#!/bin/sh
# `schema` and the report agree for every fixture and real trace. Where `schema` says that an
# analysis cannot run, the report has no result of it. Otherwise there is a result, unless the
# report says that the contents of the rows prevent one, which `schema` does not read.
# usage: schema.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
# shellcheck source=../inputs.sh
. "$tests/inputs.sh"
python3 - "$b/nsys-explain" "$@" <<'P'
import json, os, re, subprocess, sys
program, files = sys.argv[1], sys.argv[2:]
ROWS = re.compile(
    "nothing repeats|no kernel began in the window|no kernel in the window has an API call"
    "|is a usable sample inside|has no GPU work, or no API calls|NVTX ranges of NCCL")
# The tables of these analyses have rows, but no valid one.
ALL_DEFECTS = {"edges_2_63", "edges_full_span", "hostile_types", "no_lengths"}
NESTED = {"nvtx_by_pid": "by_pid.nvtx", "nvtx_start_end": "nvtx.start_end",
          "nvtx_kernel_phases_by_pid": "by_pid.nvtx_kernel_phases"}
# These values are null if there is no range of that kind.
NULL = {"steps", "nvtx_start_end"}
ELSEWHERE = {"input", "schema", "windows", "findings"}
passed = failed = 0

def run(*words):
    r = subprocess.run([program, *words], capture_output=True, text=True)
    return json.loads(r.stdout) if r.returncode == 0 else None

def section(metrics, path):
    for key in path.split("."):
        metrics = metrics.get(key) if isinstance(metrics, dict) else None
    return metrics

for f in files:
    name = os.path.basename(f)[:-len(".sqlite")]
    schema, report = run("schema", f, "--json"), run(f, "--json")
    if not schema or not report:
        continue
    for a in schema["analyses"]:
        if a["id"] in ELSEWHERE:
            continue
        s = section(report["metrics"], NESTED.get(a["id"], a["id"]))
        has = s is not None and (not isinstance(s, dict) or s.get("present", True))
        reason = s.get("reason") or "" if isinstance(s, dict) else ""
        if has == a["can_run"] or a["can_run"] and (
                ROWS.search(reason) or name in ALL_DEFECTS or s is None and a["id"] in NULL):
            passed += 1
        else:
            failed += 1
            print(f"FAIL {name}: {a['id']}: schema says {a['can_run']} {a['missing']}, "
                  f"the report {has} {reason}")
print(f"schema: {passed} passed, {failed} failed")
sys.exit(failed > 0)
P
