"""Copies and memsets, device memory over time, CUDA graphs."""

from fig_device import layers
from spans import group_by, length, ms, percentile, subtract, union, us
from value import Choice

COPY_KINDS = {0: "Unknown", 1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD",
              7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP", 11: "UVM HtoD", 12: "UVM DtoH",
              13: "UVM DtoD"}
MEM_KINDS = {0: "host", 1: "host", 2: "device", 3: "device", 4: "managed", 5: "device",
             6: "managed"}
MIB, SMALL = 1 << 20, 64 << 10


def weighted_median(pairs):
    """The median of (value, weight) pairs: the least value at which half of the weight is reached."""
    half, seen = sum(w for _, w in pairs) / 2, 0
    for v, w in sorted(pairs):
        seen += w
        if seen >= half:
            return v
    return None


def memcpy_summary(t):
    """Copies by GPU and the export's numbers of three kinds, because the report has labels instead."""
    rows = []
    copies = [x for x in t.ops if x.kind == "memcpy"]
    running = {d: union(sum(layers(t, d)[:2], [])) for d in t.devices}
    for (d, kind, src, dst), xs in group_by(
            copies, lambda x: (x.D, x.copyKind, x.srcKind, x.dstKind)).items():
        covered = union((x.s, x.e) for x in xs)
        size, busy = sum(x.bytes for x in xs), length(covered)
        rows.append({
            "device_id": t.label[d], "copy_kind_id": kind, "src_kind_id": src, "dst_kind_id": dst,
            "direction": COPY_KINDS.get(kind, "Unknown"), "count": len(xs), "bytes": size,
            "total_time_ns": sum(x.e - x.s for x in xs), "busy_ms": ms(busy),
            "gbps": size / busy if busy else None,
            "p50_gbps": Choice(weighted_median([(x.bytes / (x.e - x.s), x.bytes) for x in xs
                                                if x.bytes >= MIB and x.e > x.s]),
                               other={"unweighted": percentile(
                                   [x.bytes / (x.e - x.s) for x in xs
                                    if x.bytes >= MIB and x.e > x.s], 0.5)}),
            "small_count": sum(x.bytes < SMALL for x in xs),
            "exposed_ms": ms(length(subtract(covered, running[d]))),
        })
    return rows


def memset(t):
    if not t.ops:
        return {}  # without traced GPU work nothing is known
    xs = [x for x in t.ops if x.kind == "memset"]
    return {"count": len(xs), "bytes": sum(x.bytes or 0 for x in xs),
            "total_time_ns": sum(x.e - x.s for x in xs)}


def memory_usage(t):
    """Live bytes per (process, device, kind). The bytes of an unmatched free were live at the start."""
    events = [e for e in t.read("CUDA_GPU_MEMORY_USAGE_EVENTS", "start", "globalPid", "deviceId",
                                "address", "bytes", "memKind", "memoryOperationType")
              if all(isinstance(v, int) for v in (e[0], e[3], e[4], e[6]))]
    allocs_at = {(e[0], e[1], e[3]) for e in events if e[6] == 0}

    def turn(e):
        if e[6] == 0:
            return 1
        return 0 if (e[0], e[1], e[3]) in allocs_at else 2

    live, groups = {}, {}

    def group(pid, device, kind):
        return groups.setdefault((pid, device, MEM_KINDS.get(kind, "unknown")),
                                 {"allocs": 0, "frees": 0, "unmatched": 0, "steps": []})

    for e in sorted(events, key=lambda e: (e[0], turn(e))):
        start, gpid, device, address, size, kind, op = e
        key = (gpid, address)
        if op == 0:
            g = group(gpid, device, kind)
            g["allocs"] += 1
            if key in live:  # its free was not recorded
                old, *where = live[key]
                group(gpid, *where)["steps"].append((start, -old))
            g["steps"].append((start, size))
            live[key] = (size, device, kind)
        elif op == 1:
            if key in live:
                size, device, kind = live.pop(key)
                g = group(gpid, device, kind)
                g["steps"].append((start, -size))
            else:
                g = group(gpid, device, kind)
                g["unmatched"] += size
                g["steps"].append((start, -size))
            g["frees"] += 1
    rows = []
    for (gpid, device, kind), g in groups.items():
        level = peak = g["unmatched"]
        peak_at = None
        for at, delta in g["steps"]:
            level += delta
            if level > peak or peak_at is None:
                peak, peak_at = max(peak, level), at
        rows.append({
            "pid": (t.pid_label.get(gpid, (gpid >> 24) & 0xFFFFFF) if isinstance(gpid, int)
                    else None),
            "device_id": t.label_of(gpid, device), "kind": kind, "alloc_count": g["allocs"], "free_count": g["frees"],
            "peak_bytes": Choice(peak, other={"without the baseline": peak - g["unmatched"]}),
            "end_live_bytes": level, "unmatched_free_bytes": g["unmatched"],
        })
    return rows


def node_replays(t):
    """(pid, device, graph) -> for each launch, the span from its first to its last node there."""
    nodes = [x for x in t.ops if x.kind != "graph" and x.graphNodeId and x.host]
    out = {}
    for (_, d), xs in group_by(nodes, lambda x: (id(x.host), x.D)).items():
        known = [x.graphId for x in xs if x.kind == "kernel" and x.graphId is not None]
        out.setdefault((xs[0].host.pid, d, min(known, default=None)), []).append(
            max(x.e for x in xs) - min(x.s for x in xs))
    return out


def cuda_graphs(t):
    rows = []
    for (pid, d, exec_), xs in group_by(t.graphs, lambda x: (x.pid, x.D, x.graphExecId)).items():
        ns = sum(x.e - x.s for x in xs)
        rows.append({"pid": pid, "device_id": t.label[d], "graph_exec_id": exec_,
                     "graph_id": xs[0].graphId, "replays": len(xs), "total_ms": ms(ns),
                     "avg_us": us(ns / len(xs)),
                     "launches": Choice(len({id(x.launch) for x in xs if x.launch}), other={
                         "all of the process": sum(a.is_graph_launch for a in t.api
                                                   if a.pid == pid)})})
    for (pid, d, graph), ns in node_replays(t).items():
        rows.append({"pid": pid, "device_id": t.label[d], "graph_exec_id": None,
                     "graph_id": graph, "replays": len(ns), "total_ms": ms(sum(ns)),
                     "avg_us": us(sum(ns) / len(ns)), "launches": len(ns)})
    return rows


def graph_mode(t):
    nodes = any(x.graphNodeId for x in t.kernels)
    if t.graphs:
        return "mixed" if nodes else "graph"
    if nodes:
        return "node"
    return "opaque" if any(a.is_graph_launch for a in t.api) else "none"
