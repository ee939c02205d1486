"""Idle, gaps, their causes and the six-class partition of each device's time."""

from fig_comm import is_comm
from fig_kernels import gap_list
from spans import clip, intersect, length, ms, pct, subtract, union
from value import Choice

CLASSES = ("compute_only", "compute_copy", "compute_comm", "comm_exposed", "copy_exposed", "idle")


def layers(t, d):
    """(C, N, X): unions of compute, communication and copies on a device."""
    return (t.spans_on(d, lambda x: x.kind == "graph" or x.kind == "kernel" and not is_comm(x)),
            t.spans_on(d, is_comm),
            t.spans_on(d, lambda x: x.kind in ("memcpy", "memset")))


def gpu_idle(t):
    rows, w = [], t.window
    for d in t.devices:
        whole = w[1] - w[0]
        busy = clip(t.busy(d), w)
        running = t.spans_on(d, lambda x: x.kind in ("kernel", "graph"))
        bare = t.spans_on(d, lambda x: x.kind == "kernel")
        idle, kernel_idle = whole - length(busy), whole - length(running)
        bare_idle = whole - length(bare)
        edge = busy[0][0] - w[0] + w[1] - busy[-1][1] if busy else whole
        note = "graph replays not counted"
        rows.append({
            "device_id": t.label[d], "window_ms": ms(whole), "busy_ms": ms(length(busy)),
            "idle_ms": ms(idle), "idle_pct_of_window": pct(idle, whole), "edge_idle_ms": ms(edge),
            "kernel_busy_ms": Choice(ms(length(running)), other={note: ms(length(bare))}),
            "kernel_idle_ms": Choice(ms(kernel_idle), other={note: ms(bare_idle)}),
            "kernel_idle_pct_of_window": Choice(pct(kernel_idle, whole),
                                                other={note: pct(bare_idle, whole)}),
        })
    return rows


def own_window_idle(t):
    """Oracle figure only: idle percent from a device's own first op to its own last."""
    out = {}
    for d in t.devices:
        for label, spans in (("all ops", t.busy(d)),
                             ("kernels", t.spans_on(d, lambda x: x.kind == "kernel"))):
            if spans:
                whole = spans[-1][1] - spans[0][0]
                out[f"{t.ordinal[d]} {label}"] = pct(whole - length(spans), whole)
    return out


def all_gaps(t):
    gaps = [(b - a, a, b, d, op) for d in t.devices for a, b, op in gap_list(t, d)]
    return sorted(gaps, key=lambda g: (-g[0], g[1], t.ordinal[g[3]] or 0))


def gaps(t):
    return [{"device_id": t.label[d], "gap_start_ns": a, "gap_end_ns": b, "gap_ms": ms(n)}
            for n, a, b, d, _ in all_gaps(t)[:50]]


def gap_histogram(t):
    """Oracle figure only: {device: [[count, total ms] of <10 us, 10 us to 1 ms, longer]}."""
    out = {}
    for n, _, _, d, _ in all_gaps(t):
        bins = out.setdefault(t.label[d], [[0, 0] for _ in range(3)])
        i = 0 if n < 10_000 else 1 if n < 1_000_000 else 2
        bins[i][0] += 1
        bins[i][1] += n
    return {d: [[c, ms(n)] for c, n in bins] for d, bins in out.items()}


def partition_of(t, d):
    c, n, x = layers(t, d)
    w = [t.window]
    return dict(zip(CLASSES, (length(intersect(p, w)) for p in (
        subtract(c, union(n + x)), subtract(intersect(c, x), n), intersect(c, n),
        subtract(n, c), subtract(x, union(c + n)), subtract(w, union(c + n + x))))))


def partition(t):
    rows, whole = [], t.window[1] - t.window[0]
    for d in t.devices:
        for cls, ns in partition_of(t, d).items():
            rows.append({"device_id": t.label[d], "class": cls, "total_ns": ns,
                         "total_ms": ms(ns), "pct_of_window": pct(ns, whole)})
    return rows


def partition_json(t):
    whole = t.window[1] - t.window[0]
    return [{"device_id": t.label[d], "window_ns": whole,
             **{f"{cls}_ns": ns for cls, ns in partition_of(t, d).items()}} for d in t.devices]


def idle_by_cause(t):
    """{device ordinal: {coarse cause: ns}}. The operation that ends a gap determines the cause.

    The cause edge is the time before the first and after the last operation. A gap whose launch came
    late is divided by its launch call.
    """
    out = {}
    for d in t.devices:
        sums = out.setdefault(t.label[d], {})
        for cause in ("edge", "page_migration", "unknown_unmatched", "device_side", "host_late", "launch_call",
                      "launch_to_start"):
            sums.setdefault(cause, 0)
        before = {}                                     # instant -> launch of the op that ends
        for x, on, spans in t.pieces():
            if on == d:
                for _, e in spans[-1:]:
                    before.setdefault(e, x.launch)
        for a, b, op in gap_list(t, d):
            r = op.launch if op else None
            if op is None or a == t.window[0]:
                sums["edge"] += b - a
            elif r is None:
                moves = op.kind == "memcpy" and op.copyKind in (11, 12, 13)
                sums["page_migration" if moves else "unknown_unmatched"] += b - a
            elif r.e <= a or r is before.get(a) and b - a < 20_000:
                sums["device_side"] += b - a
            else:
                starts, ends = min(max(r.s, a), b), min(r.e, b)
                sums["host_late"] += starts - a
                sums["launch_call"] += ends - starts
                sums["launch_to_start"] += b - ends
    return out

