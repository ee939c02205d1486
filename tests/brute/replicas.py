#!/usr/bin/env python3
"""Steps of replicas in digests and in the comparison of a fleet against the raw rows.

usage: replicas.py FLEET_REPORT TRACE...    beside each TRACE lies its digest, TRACE.nsxd; all are of FLEET_REPORT
"""

import csv
import json
import math
import sqlite3
import statistics
import sys

from fig_steps import KINDS, size_class, steps_each
from rawtrace import Trace
from spans import group_by, percentile


def least_of(size):
    text = size_class(size)
    return -1 if text is None else int(text.split("-")[0])


def kinds_of(t):
    """{(pid, device): {(kind, least size): [count, total, p50, sum of sizes]}}"""
    out = {}
    for who, rows in group_by(steps_each(t), lambda r: (r["process"], r["device_id"])).items():
        out[who] = {}
        for key, v in group_by(rows, lambda r: (r["kind"], least_of(r["_size"]))).items():
            ns = [r["gpu_end_ns"] - r["gpu_start_ns"] for r in v]
            out[who][key] = [len(v), sum(ns), int(percentile(ns, 0.5)), sum(max(0, r["_size"] or 0) for r in v)]
    return out


def digested(path):
    """The same of a digest, which leaves out processes with little work."""
    rows = sqlite3.connect(path).execute("SELECT pid, device, kind, size, count, total_ns, p50_ns, sizes "
                                         "FROM rank LEFT JOIN kind ON rank.id = rank_id")
    out = {}
    for pid, device, kind, size, *figures in rows:
        out.setdefault((pid, device), {}).update({(kind, size): figures} if kind else {})
    return out


def table_rows(engines):
    """The rows of "Steps by kind" without times, which are rounded there."""
    for kind in KINDS:
        for size in sorted({s for e in engines for k, s in e if k == kind}):
            v = [e[kind, size] for e in engines if (kind, size) in e]
            yield [kind, "all" if size < 0 else size_class(size), str(len(v)), str(sum(x[0] for x in v))]


def expected(engines, mine, kind, size):
    """What the other engines with 8 such steps or more take for the mean size of a step of `mine`."""
    mean = lambda x: max(1, x[3] / x[0])
    def middle(least):
        v = [e[kind, least] for e in engines if (kind, least) in e]
        return v and (statistics.median(map(mean, v)), statistics.median(x[2] for x in v))
    here, there = middle(size), size > 0 and (middle(2 * size) or middle(size // 2))
    slope = 0
    if there and here[0] != there[0]:
        slope = max(0, min(1, math.log(there[1] / here[1]) / math.log(there[0] / here[0])))
    others = [e[kind, size] for e in engines if e is not mine and (kind, size) in e]
    return [x[2] * (mean(mine[kind, size]) / mean(x)) ** slope for x in others if x[0] >= 8]


def main(report, *traces):
    ranks = {}
    for path in traces:
        ours, theirs = kinds_of(Trace(path, ())), digested(path + ".nsxd")
        assert theirs and theirs == {w: ours.get(w, {}) for w in theirs}, (path, ours, theirs)
        ranks.update(theirs)
    with open(report + "/report.md", encoding="utf-8") as f:
        text = f.read().partition("## Steps by kind")[2].partition("\n## ")[0]
    told = [[c.strip() for c in line.split("|")[1:5]] for line in text.split("\n") if line.startswith("| ")][1:]
    assert told == list(table_rows(list(ranks.values()))), (told, list(table_rows(list(ranks.values()))))
    with open(report + "/tables/engines.csv", encoding="utf-8") as f:
        told = sorted((int(r["steps"]), int(r["compared"]), *(float(r[c] or "nan") for c in (
            "step_ms", "expected_step_ms", "slower_pct"))) for r in csv.DictReader(f))
    engines = list({json.dumps(sorted((k, v[0], v[3]) for k, v in e.items())): e for e in
                    reversed(ranks.values())}.values())  # ranks that do the same steps are one engine
    wanted = []
    for e in engines if told else ():
        n = took = wants = 0
        for (kind, size), (count, _, p50, _) in e.items():
            others = expected(engines, e, kind, size)
            if count >= 8 and others:
                n, took, wants = n + count, took + count * p50, wants + count * statistics.median(others)
        wanted.append((sum(x[0] for x in e.values()), n, took / n / 1e6, wants / n / 1e6, 100 * (took / wants - 1)))
    assert all(a[:2] == b[:2] and all(math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9) for x, y in zip(a[2:], b[2:]))
               for a, b in zip(told, sorted(wanted))), (told, sorted(wanted))
    assert len(told) != 1 and any(ranks.values())
    print(f"{len(ranks)} ranks, {len(told)} engines compared")


main(*sys.argv[1:])
