"""The host's side: launch calls, launch latency, OS runtime calls, scheduling."""

from itertools import groupby

from rawtrace import LOW24, is_int
from spans import Cover, group_by, length, ms, percentile, union, us
from value import Choice


def launches(t):
    full = {g: Cover((o.s, o.e) for o in v) for g, v in group_by(
        (o for o in t.overhead if o.overheadType == 8), lambda o: o.globalTid).items()}
    rows = []
    calls = [a for a in t.api if a.is_launch]
    for (pid, tid, name), xs in group_by(calls, lambda a: (a.pid, a.tid, a.name)).items():
        ns = [a.e - a.s for a in xs]
        held = sum(full[a.globalTid].inside(a.s, a.e) for a in xs if a.globalTid in full)
        row = {"pid": pid, "tid": tid, "api_name": name, "count": len(ns),
               "total_time_ms": ms(sum(ns)), "p50_us": us(percentile(ns, 0.5)),
               "p99_us": us(percentile(ns, 0.99))}
        if t.has("CUPTI_ACTIVITY_KIND_OVERHEAD"):
            row["backpressure_ms"] = ms(held)
            row["launch_cpu_ms"] = ms(sum(ns) - held)
        rows.append(row)
    return rows


def backpressure_by_name(t):
    """Oracle figure only."""
    out = {}
    for r in launches(t):
        got = out.setdefault(r["api_name"], [0, 0.0, 0.0])
        got[0] += r["count"]
        got[1] += r["total_time_ms"]
        got[2] += r.get("backpressure_ms", 0.0)
    return out


def launched(t):
    """Kernels that have a launch call; for a graph launch only the first node."""
    out, seen = [], set()
    for k in sorted(t.kernels, key=lambda k: (k.s, k.row)):
        if k.launch:
            if k.launch.is_graph_launch and id(k.launch) in seen:
                continue
            seen.add(id(k.launch))
            out.append(k)
    return out


def latency_of(ns):
    return {"count": len(ns), "mean_us": us(sum(ns) / len(ns)), "p50_us": us(percentile(ns, 0.5)),
            "p95_us": us(percentile(ns, 0.95)), "p99_us": us(percentile(ns, 0.99)),
            "max_us": us(max(ns))}


def launch_latency(t):
    ks = launched(t)
    if not ks:
        return {}
    queue = latency_of([k.s - k.launch.s for k in ks])
    signed = latency_of([k.s - k.launch.e for k in ks])
    clipped = latency_of([max(0, k.s - k.launch.e) for k in ks])
    return {f: Choice(queue[f], other={"from the call's return": signed[f],
                                       "from the call's return, not below 0": clipped[f]})
            for f in queue}


def os_runtime(t):
    on_launch = {a.gtid for a in t.api if a.is_launch}
    rows = []
    calls = [x for x in t.osrt if x.outer]
    for (pid, tid, name), xs in group_by(calls, lambda x: (x.pid, x.tid, x.name)).items():
        ns = [x.e - x.s for x in xs]
        rows.append({"pid": pid, "tid": tid, "api_name": name, "count": len(ns),
                     "total_time_ms": ms(sum(ns)), "avg_us": us(sum(ns) / len(ns)),
                     "max_us": us(max(ns)), "on_launch_thread": xs[0].gtid in on_launch})
    return rows


def alternating(events):
    """The order of rows at one instant: off before on, unless the thread is off already."""
    out = []
    for _, rows in groupby(sorted(events, key=lambda v: (v[0], v[2])), lambda v: v[0]):
        rows = list(rows)
        offs, ons = [v for v in rows if not v[2]], [v for v in rows if v[2]]
        if offs and ons and not (out and out[-1][2]):
            out.append(ons.pop(0))
        out += offs + ons
    return out


def cpu_threads(t):
    """A slice runs from a sched-in row to the next row of the thread, if there is one."""
    threads = {}
    for start, cpu, goes_in, gtid in t.read(
            "SCHED_EVENTS", "start", "cpu", "isSchedIn", "globalTid"):
        if is_int(start) and is_int(gtid) and is_int(goes_in):
            threads.setdefault(gtid, []).append((start, cpu, goes_in))
    api = group_by(t.api, lambda a: a.globalTid)
    rows = []
    for gtid, events in threads.items():
        events = alternating(events)
        on = sum(b[0] - a[0] for a, b in zip(events, events[1:]) if a[2])
        ins = [cpu for _, cpu, goes_in in events if goes_in]
        moved = sum(a != b for a, b in zip(ins, ins[1:]))
        calls = api.get(gtid, [])
        row = {"pid": (gtid >> 24) & LOW24, "tid": gtid & LOW24, "on_cpu_ms": ms(on),
               "context_switches": Choice(
                   sum(not g for _, _, g in events),
                   other={"sched-in rows": len(ins), "all rows": len(events)}),
               "migrations": moved}
        if calls:
            row["cuda_api_ms"] = Choice(ms(length(union((a.s, a.e) for a in calls))),
                                        other={"sum of calls": ms(sum(a.e - a.s for a in calls))})
        rows.append(row)
    return rows
