#!/bin/sh
# Sums that must hold on every fixture and real trace, as a whole and in windows. The causes of idle
# time add up to the partition's idle time, and so do the gaps by length. Barriers cost no more than
# the idle time, and the GPU is busy and idle during a barrier no longer than it lasts. No mean or
# quantile of a counter exceeds its maximum.
# usage: sums.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
# shellcheck source=../inputs.sh
. "$tests/inputs.sh"
python3 - "$b/nsys-explain" "$work/out" "$@" <<'P'
import csv, json, os, subprocess, sys
program, out, files = sys.argv[1], sys.argv[2], sys.argv[3:]
passed = failed = 0
PASSES = "gpu_idle,barriers,launch_storm,partition,gpu_metrics"

def rows(name):
    with open(f"{out}/tables/{name}.csv", newline="") as f:
        return list(csv.DictReader(f))

def checks(m):
    """Yields (name, left, right): left must equal right, or not exceed it."""
    idle = sum(d["idle_ns"] for d in m["partition"]["devices"]) / 1e6
    g = m["gpu_idle"]
    yield "causes = idle", sum(float(r["total_ms"]) for r in rows("gpu_idle_by_cause")), idle
    yield "devices = idle", sum(d["idle_ms"] for d in g["devices"]), idle
    yield "gaps and edges = idle", sum(r["total_ms"] for r in g["histogram"]) + sum(
        d["edge_idle_ms"] for d in g["devices"]), idle
    yield "launch-bound <= idle", m["launch_storm"].get("launch_bound_ms") or 0, idle
    barriers = rows("barriers")
    yield "barrier cost <= idle", sum(float(r["cost_ms"]) for r in barriers), idle
    for r in barriers:
        if r["gpu_busy_ms"]:
            yield ("busy and idle <= " + r["api_name"],
                   float(r["gpu_busy_ms"]) + float(r["gpu_idle_ms"]), float(r["total_time_ms"]))
    for r in rows("gpu_metrics") if m["gpu_metrics"]["present"] else []:
        for lower, upper in ("p50", "p95"), ("p95", "max"), ("mean", "max"):
            if r[lower]:
                yield (f"{lower} <= {upper} of {r['metric_name']}, {r['scope']}",
                       float(r[lower]), float(r[upper] or "nan"))

for f in files:
    for window in (None, "0.0001..0.02"):
        command = [program, f, "--out", out, "-q", "--pass", PASSES]
        if subprocess.run(command + (["--window", window] if window else []),
                          stderr=subprocess.DEVNULL).returncode:
            continue
        with open(f"{out}/report.json") as r:
            m = json.load(r)["metrics"]
        if not m["partition"]["present"]:
            continue
        for what, left, right in checks(m):
            slack = 1e-6 + 1e-9 * abs(right)
            if left <= right + slack and ("<=" in what or left >= right - slack):
                passed += 1
            else:
                failed += 1
                print(f"FAIL {os.path.basename(f)} {window}: {what}: {left} and {right}")
print(f"sums: {passed} passed, {failed} failed")
sys.exit(failed > 0)
P
