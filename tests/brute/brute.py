#!/usr/bin/env python3
"""Recomputes the numbers of a report from the raw tables of its trace, and compares.

    brute.py TRACE.sqlite REPORT_DIR [--only GROUP,GROUP] [--skip GROUP,...] [--all]
    brute.py --figures TRACE.sqlite [--only GROUP,GROUP]

It shares no code with the program; READING.md beside this file has its definitions. Prints a line
for each figure that differs, then `brute: N figures compared, M differ`. The exit code is 1 if a
figure differs, or if none was compared although the trace has events; 2 for wrong arguments; 3 for
a trace that it cannot read. Without --all at most five differences of one column are printed.
"""

import json
import os
import sqlite3
import sys
from types import SimpleNamespace

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import fig_barriers as barriers                                        # noqa: E402
import fig_comm as comm                                                # noqa: E402
import fig_device as device                                            # noqa: E402
import fig_host as host                                                # noqa: E402
import fig_kernels as kernels                                          # noqa: E402
import fig_memory as memory                                            # noqa: E402
import fig_metrics as metrics                                          # noqa: E402
import fig_nvtx as nvtx                                                # noqa: E402
import fig_process as process                                          # noqa: E402
import fig_steps as steps                                              # noqa: E402
from compare import Report                                             # noqa: E402
from rawtrace import Trace                                             # noqa: E402
from value import Choice, plain                                                # noqa: E402


def windows(t):
    if not t.window:
        return {}
    spans = [(x.s, x.e) for x in t.api + t.osrt if x.s >= 0] + [
        (x.s, x.e or x.s) for x in t.nvtx if x.s >= 0 and (x.stacked or x.loose or x.type == 34)]
    ranges = "of NVTX rows only ranges and marks"
    return {"start_ns": Choice(t.window[0], other={} if t.ops or not spans else {
                ranges: min(s for s, _ in spans)}),
            "end_ns": Choice(t.window[1], other={} if t.ops or not spans else {
                ranges: max(e for _, e in spans)})}


def totals(t):
    return {"total_kernel_time_ns": sum(k.e - k.s for k in t.kernels)} if t.kernels else {}


def mode(t):
    return {"mode": memory.graph_mode(t)} if t.ops or t.api else {}


def table(group, name, make, *keys, **how):
    """Rows of tables/name."""
    return SimpleNamespace(group=group, where=name, make=make, run=lambda r, f: r.rows(
        name, r.table(name), f, keys, **how))


def listed(group, path, make, *keys, **how):
    """Rows of a list in report.json, below metrics."""
    return SimpleNamespace(group=group, where=path, make=make, run=lambda r, f: r.rows(
        path, r.at(path), f, keys, **how))


def scalars(group, path, make, **how):
    """Single values of report.json."""
    return SimpleNamespace(group=group, where=path, make=make, run=lambda r, f: r.scalars(
        path, f, **how))


def special(group, where, make, run):
    return SimpleNamespace(group=group, where=where, make=make, run=run)


def oracle(where, make):
    """Printed by --figures only."""
    return SimpleNamespace(group="oracle", where=where, make=make, run=None)


# ---- figures that need a comparison of their own ---------------------------

def kernel_order(report, rows):
    got = report.table("kernels.csv")
    if got and rows:
        keys = lambda rs: [(str(r.get("kernel_name")), str(r.get("device_id"))) for r in rs]
        report.value("kernels.csv", "", "order as specified", keys(got) == keys(rows), True)


def costs(report, total):
    got = report.typed("barriers.csv")
    if got and total is not None:
        values = [r.get("cost_ms") for r in got]
        report.value("barriers.csv", "", "sum of cost_ms",
                     None if None in values else sum(values), total)


def causes(report, figure):
    """The causes of a device must add up to its idle time. Causes with known names are compared, too."""
    got = report.typed("gpu_idle_by_cause.csv")
    if got is None:
        return
    for d, sums in figure.items():
        rows = [r for r in got if r.get("device_id") == d]
        by_cause = {}
        for r in rows:
            by_cause[r.get("cause")] = by_cause.get(r.get("cause"), 0.0) + (r.get("total_ms") or 0)
        where = "gpu_idle_by_cause.csv"
        report.value(where, d, "sum of total_ms", sum(by_cause.values()), sum(sums.values()) / 1e6)
        for cause, ns in sums.items():
            if cause in by_cause:
                report.value(where, d, cause, by_cause[cause], ns / 1e6)
        side = [by_cause[c] for c in ("stream_wait", "dispatch", "dependency") if c in by_cause]
        if side:
            report.value(where, d, "device side", sum(side), sums["device_side"] / 1e6)


def histogram(report, figure):
    got = report.typed("launch_latency_histogram.csv")
    if got is not None and figure:
        report.value("launch_latency_histogram.csv", "", "sum of count",
                     sum(r.get("count") or 0 for r in got), plain(figure["count"]))


def storms(report, figure):
    for row in report.at("per_pid.pids") or []:
        if row.get("pid") in figure:
            for key, value in figure[row["pid"]].items():
                if key in (row.get("launch_storm") or {}):
                    report.value("per_pid", row["pid"], "launch_storm." + key,
                                 row["launch_storm"][key], value)


def step_layers(report, figure):
    """The layers of each kind of step: the program says which class a kernel is of."""
    got, known = report.typed("steps_layers.csv"), report.typed("kernels.csv")
    if not got or known is None:
        return
    class_of = {r.get("kernel_name"): r.get("category") for r in known} | {None: "CUDA graphs"}
    for (engine, kind), by_name in figure.items():
        sums = {}
        for name, ns in by_name.items():
            sums[class_of.get(name)] = sums.get(class_of.get(name), 0) + ns
        for r in got:
            if (r.get("engine"), r.get("kind")) == (engine, kind) and r.get("layer") not in ALSO:
                report.value("steps_layers.csv", kind, r.get("layer"), r.get("total_ns"),
                             sums.pop(r.get("layer"), 0))
        report.value("steps_layers.csv", kind, "layers left out", sorted(map(str, sums)), [])


ALSO = "exposed communication", "exposed copies", "idle inside steps", "idle between steps"
NEEDS_GPU = {"idle", "partition", "causes", "gaps"}

CHECKS = [
    scalars("window", "/windows.full", windows),
    table("kernels", "kernels.csv", kernels.kernels, "kernel_name", "device_id"),
    special("kernels", "kernels.csv order", kernels.kernels, kernel_order),
    scalars("kernels", "top_kernels", totals),
    listed("kernels", "top_kernels.kernels", kernels.kernels, "kernel_name", "device_id",
           subset=True),
    table("kern_sum", "cuda_gpu_kern_sum.csv", kernels.kern_sum, "Name"),
    scalars("storm", "launch_storm", kernels.launch_storm),
    special("storm", "per_pid launch_storm", kernels.storm_by_pid, storms),
    listed("idle", "gpu_idle.devices", device.gpu_idle, "device_id"),
    table("gaps", "gpu_idle_gaps.csv", device.gaps, "device_id", "gap_start_ns"),
    table("partition", "partition.csv", device.partition, "device_id", "class"),
    listed("partition", "partition.devices", device.partition_json, "device_id"),
    special("causes", "gpu_idle_by_cause.csv", device.idle_by_cause, causes),
    table("by_pid", "kernels_by_pid.csv", process.kernels_by_pid,
          "pid", "kernel_name", "device_id"),
    listed("by_pid", "by_pid.kernels.pids", process.kernel_pids, "pid", subset=True),
    listed("by_pid", "by_pid.kernels.kernels", process.kernels_by_pid,
           "pid", "kernel_name", "device_id", subset=True),
    table("sync", "sync_by_pid.csv", process.sync_by_pid, "pid", "api_name"),
    listed("sync", "sync.sync_calls", process.sync_calls, "api_name", subset=True),
    listed("sync", "by_pid.sync.pids", process.sync_pids, "pid", subset=True),
    table("barriers", "barriers.csv", barriers.barriers, "barrier_kind", "api_name"),
    listed("barriers", "barriers.barriers_by_pid", barriers.barriers_by_pid,
           "pid", "barrier_kind", "api_name", subset=True),
    listed("barriers", "barriers.pids", barriers.barrier_pids, "pid", subset=True),
    table("barrier_cost", "barriers.csv", barriers.barrier_costs, "barrier_kind", "api_name"),
    special("barrier_cost_sum", "barriers.csv cost", barriers.total_cost, costs),
    table("nccl", "nccl_ops.csv", comm.nccl_ops, "op_name"),
    table("nccl", "nccl_by_pid.csv", comm.nccl_by_pid, "pid"),
    listed("nccl", "nccl.ops", comm.nccl_ops, "op_name", subset=True),
    listed("nccl", "nccl.pids", comm.nccl_by_pid, "pid", subset=True),
    scalars("nccl", "nccl", comm.nccl_scalars),
    table("straggler", "nccl_rank_skew.csv", comm.rank_skew, "op_name", "rank_label"),
    table("nvtx", "nvtx_ranges.csv", nvtx.nvtx_ranges, "range_name"),
    table("nvtx", "nvtx_by_pid.csv", nvtx.nvtx_by_pid, "pid", "range_name"),
    listed("nvtx", "nvtx.ranges", nvtx.nvtx_ranges, "range_name", subset=True),
    scalars("coverage", "nvtx_kernel_time", nvtx.nvtx_coverage,
            optional=("unmapped.graph_opaque_ms",)),
    listed("nvtx_kernels", "nvtx_kernel_time.ranges", nvtx.nvtx_kernel_time, "range_name",
           subset=True),
    table("copies", "memcpy_summary.csv", memory.memcpy_summary, "device_id", "count", "bytes",
          optional=("copy_kind_id", "src_kind_id", "dst_kind_id", "direction")),
    listed("copies", "copies.rows", memory.memcpy_summary, "device_id", "count", "bytes",
           subset=True, optional=("copy_kind_id", "src_kind_id", "dst_kind_id", "direction")),
    scalars("copies", "copies.memset", memory.memset),
    table("memory", "memory_usage.csv", memory.memory_usage, "pid", "device_id", "kind"),
    table("graphs", "cuda_graphs.csv", memory.cuda_graphs, "pid", "device_id", "graph_exec_id"),
    scalars("graphs", "cuda_graphs", mode),
    table("metrics", "gpu_metrics.csv", metrics.gpu_metrics, "device_id", "metric_name",
          "scope"),
    table("nvlink", "nvlink_during_nccl.csv", metrics.nvlink, "device_id", "metric_names"),
    table("launches", "launches.csv", host.launches, "pid", "tid", "api_name"),
    scalars("latency", "launch_latency.summary", host.launch_latency),
    special("latency", "launch_latency_histogram.csv", host.launch_latency, histogram),
    table("osrt", "os_runtime.csv", host.os_runtime, "pid", "tid", "api_name"),
    table("cpu", "cpu_threads.csv", host.cpu_threads, "pid", "tid"),
    table("steps", "steps_each.csv", lambda t: steps.named(steps.steps_each(t)), "process",
          "device_id", "start_ns", "range_name"),
    table("steps", "steps.csv", lambda t: steps.groups_of(t, False), "engine", "kind"),
    table("steps", "steps_by_size.csv", lambda t: steps.groups_of(t, True), "engine", "kind", "size"),
    special("steps", "steps_layers.csv", steps.kernel_times, step_layers),
    oracle("per device", comm.per_device),
    oracle("idle, own window", device.own_window_idle),
    oracle("gap histogram", device.gap_histogram),
    oracle("correlation", process.correlation),
    oracle("stream sync in idle", process.sync_idle),
    oracle("started before return", process.before_return),
    oracle("matched collectives", comm.matched_figures),
    oracle("nvtx names", nvtx.nvtx_names),
    oracle("backpressure", host.backpressure_by_name),
]
GROUPS = list(dict.fromkeys(c.group for c in CHECKS))


def figures_of(check, t):
    """The figures of a check; those of device time need GPU work."""
    if not t.ops and (check.group in NEEDS_GPU or check.where in (
            "idle, own window", "gap histogram")):
        return {} if check.group in ("causes", "oracle") else []
    return check.make(t)


def print_figures(t, wanted):
    out = {}
    for c in CHECKS:
        if c.group in wanted:
            out.setdefault(c.group, {})[c.where] = plain(figures_of(c, t))
    json.dump(out, sys.stdout, indent=2)
    print()
    return 0


def clocks_of(folder):
    """The GPU clocks that the program moved, according to the report."""
    try:
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as f:
            return json.load(f)["metrics"]["capture_quality"].get("clocks", [])
    except (OSError, ValueError, KeyError):
        return []


def compare(t, folder, wanted, show_all):
    report = Report(folder, None if show_all else 5)
    for fault in t.clock_faults:
        report.differ += 1
        report.lines.append(fault)
    for c in CHECKS:
        if c.run and c.group in wanted:
            c.run(report, figures_of(c, t))
    for line in report.lines + report.hidden():
        print(line)
    print(f"brute: {report.compared} figures compared, {report.differ} differ")
    has_data = bool(t.ops or t.api or t.nvtx or t.osrt)
    return 1 if report.differ or not report.compared and has_data else 0


def main(argv):
    names, only, skip, options = [], None, set(), set()
    words = iter(argv)
    for w in words:
        if w in ("--only", "--skip"):
            chosen = set(next(words, "").split(","))
            if chosen - set(GROUPS):
                print(f"brute: no such group; there are {', '.join(GROUPS)}", file=sys.stderr)
                return 2
            only, skip = (chosen, skip) if w == "--only" else (only, chosen)
        elif w in ("--figures", "--all"):
            options.add(w)
        elif w.startswith("-"):
            print(__doc__, file=sys.stderr)
            return 2
        else:
            names.append(w)
    if len(names) != (1 if "--figures" in options else 2):
        print(__doc__, file=sys.stderr)
        return 2
    wanted = (only or set(GROUPS)) - skip
    try:
        t = Trace(names[0], clocks_of(names[1]) if len(names) > 1 else ())
    except sqlite3.Error as e:
        print(f"brute: {names[0]}: {e}", file=sys.stderr)
        return 3
    if "--figures" in options:
        return print_figures(t, wanted)
    return compare(t, names[1], wanted, "--all" in options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
