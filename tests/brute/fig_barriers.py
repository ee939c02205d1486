"""Barriers: host time by kind, GPU busy time during barriers, and the idle time that follows.

An event is {kind, name, P, pid, gtid, s, e, pieces}. s and e are its start and end on the thread;
pieces is its time without the parts that belong to another kind.
"""

import bisect
import re
from types import SimpleNamespace

from fig_kernels import gap_list
from fig_process import busy_of_process, is_sync
from spans import Cover, clip, group_by, length, ms, subtract, us
from value import Choice

COPY_RE = re.compile(r"^cu(da)?Memcpy")
IMPLICIT_RE = re.compile(r"^(cudaFree|cuMemFree|cudaHostAlloc|cudaFreeHost|cudaMallocHost"
                         r"|cuMemHostAlloc|cuMemAllocHost|cuMemFreeHost"
                         r"|cu(da)?(Module|Library)Load\w*)$")
ALLOC_RE = re.compile(r"^(cudaMalloc|cuMemAlloc)$")
NEAR_NS, LAUNCHER_NS, ALLOC_NS = 5_000, 50_000, 100_000


def waits_for_copy(a):
    """Whether an Async copy call waits for its own copy."""
    for x in a.ops:
        if x.kind == "memcpy":
            both = min(a.e, x.e) - max(a.s, x.s)
            if both > 0 and (0 in (x.srcKind, x.dstKind) or 2 * both >= x.e - x.s):
                return True
    return False


def kind_of_call(a):
    if is_sync(a):
        return "sync_api"
    if COPY_RE.match(a.short) and ("Async" not in a.short or waits_for_copy(a)):
        return "blocking_memcpy"
    if IMPLICIT_RE.match(a.short) or ALLOC_RE.match(a.short) and a.e - a.s >= ALLOC_NS:
        return "implicit_sync"
    return None


def event(kind, name, x, s, e, pieces):
    return SimpleNamespace(kind=kind, name=name, P=x.P, pid=x.pid, gtid=x.gtid, s=s, e=e,
                           pieces=pieces)


def events(t):
    out = []
    for a in t.api:
        kind = kind_of_call(a)
        if kind:
            out.append(event(kind, a.name, a, a.s, a.e, [(a.s, a.e)]))
    calls = group_by(t.api, lambda a: a.gtid)
    launching = {g: [a for a in v if a.is_launch] for g, v in calls.items()}
    in_api = {g: Cover((a.s, a.e) for a in v) for g, v in calls.items()}
    for x in t.osrt:
        if x.outer and launching.get(x.gtid):
            under = in_api[x.gtid].near(x.s, max(x.e, x.s + 1))
            left = subtract([(x.s, x.e)], under) if x.e > x.s else []
            if left or x.e == x.s and not under:
                out.append(event("host_wait", x.name, x, x.s, x.e, left))
    taken = {g: Cover(p for x in v for p in x.pieces)
             for g, v in group_by(out, lambda x: x.gtid).items()}
    for g, launches in launching.items():
        end = None
        for a in sorted(launches, key=lambda a: (a.s, a.e, a.row)):
            if end is not None and a.s - end >= LAUNCHER_NS:
                left = [(end, a.s)]
                if g in taken:
                    left = subtract(left, taken[g].near(end, a.s))
                if left:
                    out.append(event("cpu_launcher_gap", "cpu_launcher_gap", a, end, a.s, left))
            end = a.e if end is None else max(end, a.e)
    return out


def behind(near, a, launch):
    """The event that pays for a gap (READING.md 25): the wait in which the GPU ran dry or, without one,
    the launcher gap or, without that, the last wait."""
    waits = [x for x in near if x.kind != "cpu_launcher_gap" and x.e <= launch]
    dry = [x for x in waits if x.s <= a]
    gaps = [x for x in near if x.kind == "cpu_launcher_gap"]
    last = dry or gaps or waits
    return max(last, key=lambda x: (x.e, x.s)) if last else None


def charge(t, all_events):
    """Sets .cost (ns) of the events: each device gap whose launch came late is charged to one event."""
    for x in all_events:
        x.cost = 0
    by_thread = {g: sorted(v, key=lambda x: x.e)
                 for g, v in group_by(all_events, lambda x: x.gtid).items()}
    ends_of = {g: [x.e for x in v] for g, v in by_thread.items()}
    longest = {g: max(x.e - x.s for x in v) for g, v in by_thread.items()}
    for d in t.devices:
        for a, b, op in gap_list(t, d):
            r = op.launch if op else None
            if not r or r.s < a:
                continue
            mine = by_thread.get(r.gtid, [])
            ends = ends_of.get(r.gtid, [])
            stop = max(b, a + longest.get(r.gtid, 0) + 1)
            near = [x for x in mine[bisect.bisect_right(ends, a - NEAR_NS):
                                    bisect.bisect_right(ends, stop)]
                    if a - NEAR_NS < x.e < b or x.s <= a < x.e]
            x = behind(near, a, min(r.s, b))
            if x:
                x.cost += b - a


def barrier_events(t):
    if not hasattr(t, "_barriers"):
        t._barriers, busy = events(t), busy_of_process(t)
        charge(t, t._barriers)
        for x in t._barriers:
            x.ns = length(x.pieces)
            x.busy = x.idle = None
            if x.P in busy:
                x.busy = sum(busy[x.P].inside(s, e) for s, e in x.pieces)
                x.idle = length(clip(x.pieces, t.window)) - x.busy
    return t._barriers


def row(xs):
    ns = sum(x.ns for x in xs)
    seen = [x for x in xs if x.busy is not None]
    busy = sum(x.busy for x in seen) if seen else None
    idle = sum(x.idle for x in seen) if seen else None
    uncut = sum(x.ns - x.busy for x in seen)
    return {"count": len(xs), "total_time_ms": ms(ns), "avg_duration_us": us(ns / len(xs)),
            "max_duration_us": us(max(x.ns for x in xs)),
            "gpu_busy_ms": Choice(ms(busy), also=[] if seen else [0.0]),
            "gpu_idle_ms": Choice(ms(idle), other={"not cut to the window": ms(uncut)})}


def barriers(t):
    return [{"barrier_kind": k, "api_name": n, **row(v)}
            for (k, n), v in group_by(barrier_events(t), lambda x: (x.kind, x.name)).items()]


def barriers_by_pid(t):
    keys = lambda x: (x.pid, x.kind, x.name)
    return [{"pid": p, "barrier_kind": k, "api_name": n, **row(v)}
            for (p, k, n), v in group_by(barrier_events(t), keys).items()]


def barrier_pids(t):
    return [{"pid": p, "total_barrier_time_ms": ms(sum(x.ns for x in v)),
             "barrier_event_count": len(v)}
            for p, v in group_by(barrier_events(t), lambda x: x.pid).items()]


def barrier_costs(t):
    """Costs per row. They depend on which of several events is the last one; the sum does not."""
    return [{"barrier_kind": k, "api_name": n, "cost_ms": ms(sum(x.cost for x in v))}
            for (k, n), v in group_by(barrier_events(t), lambda x: (x.kind, x.name)).items()]


def total_cost(t):
    return ms(sum(x.cost for x in barrier_events(t)))
