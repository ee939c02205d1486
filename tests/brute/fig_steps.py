"""Steps of engines and training loops: the work of each step, and what the GPU did during the step."""

import re

from fig_comm import is_comm
from fig_device import layers
from fig_nvtx import ranges_of
from spans import clip, group_by, intersect, length, ms, pct, percentile, subtract, union

# Groups of a pattern: p prompts, d decodes and r requests; P, D and t are their tokens.
ENGINE = [(engine, kind, re.compile(pattern + "$")) for engine, kind, pattern in (
    ("vLLM", None, r"execute_context_(?P<p>\d+)\((?P<P>\d+)\)_generation_(?P<d>\d+)\((?P<D>\d+)\)"),
    ("vLLM", None, r"execute_\d+_context_(?P<p>\d+)\(sq(?P<P>\d+)sk\d+sqsq\d+sqsk\d+\)"
                   r"_generation_(?P<d>\d+)\(sq(?P<D>\d+)sk\d+sqsq\d+sqsk\d+\)"),
    ("vLLM", None, r"execute_new_(?P<p>\d+)_cached_(?P<d>\d+)"),
    ("SGLang", "decode", r"step\[(?:DECODE bs=(?P<d>\d+)|TARGET_VERIFY bs=(?P<r>\d+)).*"),
    ("SGLang", "prefill", r"step\[EXTEND bs=(?P<p>\d+)(?: toks=(?P<P>\d+))?.*"),
    ("SGLang", "prefill", r"step\[SPLIT_PREFILL bs=(?P<p>\d+).*"),
    ("SGLang", "mixed", r"step\[MIXED bs=(?P<r>\d+)(?: toks=(?P<t>\d+))?.*"),
    ("SGLang", "idle", r"step\[IDLE.*"),
    ("TensorRT-LLM", None, r"(?:\[Executor\] )?_forward_step(?: \d+)?: (?P<p>\d+) ctx reqs"
                           r"(?:, (?P<P>\d+) ctx tokens)?, (?P<d>\d+) gen reqs"))]
TRAINING = [("PyTorch", re.compile(r"ProfilerStep#\d+$")),
            ("Lightning", re.compile(r"\[pl\]\[profile\]run_training_batch$")),
            ("loop", re.compile(r"(iteration|step)([ _]\d+)?$|iteration\d+$|(Iteration|Step) \d+$"
                                r"|iter_\d+$|(batch_|Batch )\d+$|train(ing)?_step$"))]
KINDS = "decode", "prefill", "mixed", "idle", "training"


def total(*parts):
    """The sum of what is known; None if nothing is."""
    known = [x for x in parts if x is not None]
    return sum(known) if known else None


def total_of_all(parts):
    """The sum; None if a part is not known."""
    parts = list(parts)
    return None if None in parts else sum(parts)


def fields_of(name):
    """Engine, kind, requests, tokens and size of an engine's step, from its name; None: it is no step."""
    for engine, kind, pattern in ENGINE:
        m = pattern.match(name)
        if not m:
            continue
        p, d, r, P, D, t = ((lambda x: x and int(x))(m.groupdict().get(k)) for k in "pdrPDt")
        kind = kind or (("mixed" if d else "prefill") if p else "decode" if d else "idle")
        if D is None and t is None and d is not None and (P is not None or not p):
            D = d                   # a decode makes a token
        requests, tokens = total(p, d, r), total(P, D, t)
        size = ((requests if d is None else d) if kind == "decode" else
                None if kind == "idle" else requests if tokens is None else tokens)
        return engine, kind, requests, tokens, size
    return None


def training_of(name):
    return next(((engine, "training", None, None, None) for engine, pattern in TRAINING
                 if pattern.match(name)), None)


def host_steps(t):
    """Ranges that are steps and not inside another step of their thread, with .fields and .gap set.
    Steps of loops count in processes without an engine."""
    engines = {x.P for x in ranges_of(t) if fields_of(x.name)}
    read = lambda x: fields_of(x.name) if x.P in engines else training_of(x.name)
    out = []
    for rows in group_by((x for x in ranges_of(t) if read(x)), lambda x: x.gtid).values():
        last = None
        for x in sorted(rows, key=lambda x: (x.s, -x.end, x.name)):
            if last and x.end <= last.end:
                continue
            if last:
                last.gap = max(0, x.s - last.end)
            x.fields, x.gap, x.stalls, last = read(x), None, False, x
            x.calls = x.replays = 0
            out.append(x)
    for rows in group_by(out, lambda x: x.gtid).values():
        mark_stalls(rows)
    return out


def mark_stalls(steps):
    """A prefill stalls if the nearest other step on both sides decodes, the later one for more requests
    than the prefills between them brought."""
    kind = [x.fields[1] for x in steps]
    for i in range(len(steps)):
        if kind[i] != "prefill":
            continue
        lo = next((k for k in range(i, -1, -1) if kind[k] != "prefill"), None)
        hi = next((k for k in range(i, len(steps)) if kind[k] != "prefill"), None)
        if lo is None or hi is None or not {kind[lo], kind[hi]} <= {"decode", "mixed"}:
            continue
        brought = sum(x.fields[2] or 0 for x in steps[lo + 1:hi])
        steps[i].stalls = steps[hi].fields[2] > brought


def step_of(call, steps):
    mine = [x for x in steps if x.P == call.P and x.s <= call.s < x.end]
    own = [x for x in mine if x.gtid == call.gtid]
    if own:
        return own[-1]
    begun = [x for x in steps if x.P == call.P and x.s <= call.s]
    last = max(begun, key=lambda x: x.s) if begun else None
    return last if last and call.s < last.end else None


def count_launches(t, steps):
    """Adds each launch call, unless it is made inside another call, to its step."""
    for calls in group_by(t.api, lambda a: a.gtid).values():
        end = None
        for a in sorted(calls, key=lambda a: (a.s, -a.e)):
            inside, end = end is not None and a.e <= end, a.e if end is None else max(end, a.e)
            x = a.is_launch and not inside and step_of(a, steps)
            if x:
                x.calls += 1
                x.replays += a.is_graph_launch


def gpu_starts(items):
    """[(start, key, work)]: a step starts with its first work, but its copies beside kernels of the
    steps before, if its own kernels come after these, do not start it."""
    out, busy_until = [], None
    main = lambda ops: [o for o in ops if o.kind in ("kernel", "graph")] or ops
    for key, ops in sorted(items, key=lambda item: min(o.s for o in main(item[1]))):
        first, kernel = min(o.s for o in ops), min(o.s for o in main(ops))
        start = first if busy_until is None else max(first, min(kernel, busy_until))
        out.append((start, key, ops))
        ends = [o.e for o in main(ops)]
        busy_until = max(ends if busy_until is None else ends + [busy_until])
    return out


def steps_each(t):
    if hasattr(t, "_steps"):
        return t._steps
    steps, rows = host_steps(t), []
    count_launches(t, steps)
    mine = group_by((x for x in t.ops if x.host and step_of(x.host, steps)),
                    lambda x: (x.P, x.D, id(step_of(x.host, steps))))
    by_device = group_by(mine.items(), lambda item: item[0][:2])
    known = {id(x): x for x in steps}
    for (_, device), items in by_device.items():
        compute, comm, copy = layers(t, device)
        exposed = subtract(comm, compute)
        alone = subtract(copy, union(compute + comm))
        busy = union(compute + comm + copy)
        items = gpu_starts(items)
        for i, (start, key, ops) in enumerate(items):
            x, work_end = known[key[2]], max(o.e for o in ops)
            end = items[i + 1][0] if i + 1 < len(items) else work_end
            inside = (start, min(work_end, end))
            idle = end - start - length(clip(busy, (start, end)))
            idle_inside = inside[1] - start - length(clip(busy, inside))
            after = max(inside[1], x.end), min(end, x.end + x.gap) if x.gap is not None else 0
            scheduler = max(0, after[1] - after[0]) - length(clip(busy, after))
            rows.append({
                "process": x.pid, "device_id": t.label[device], "range_name": x.name,
                "kind": x.fields[1], "request_count": x.fields[2], "token_count": x.fields[3],
                "start_ns": x.s, "end_ns": x.end, "gpu_start_ns": start,
                "work_end_ns": work_end, "gpu_end_ns": end,
                "compute_ns": length(clip(compute, (start, end))),
                "comm_exposed_ns": length(clip(exposed, (start, end))),
                "copy_exposed_ns": length(clip(alone, (start, end))),
                "idle_inside_ns": idle_inside, "idle_between_ns": idle - idle_inside,
                "scheduler_ns": scheduler, "host_gap_ns": x.gap, "launch_count": x.calls, "replay_count": x.replays,
                "stalls": x.stalls, "_engine": x.fields[0], "_size": x.fields[4], "_D": device,
                "_hidden": length(clip(intersect(compute, comm), (start, end)))})
    t._steps = rows
    return rows


def named(rows):
    """The rows without the fields that only this file uses."""
    return [{k: v for k, v in r.items() if not k.startswith("_")} for r in rows]


def group_row(rows, size, has_graphs):
    add = lambda key: sum(r[key] for r in rows)
    ns = [r["gpu_end_ns"] - r["gpu_start_ns"] for r in rows]
    gaps = [r["host_gap_ns"] for r in rows if r["host_gap_ns"] is not None]
    replayed = [n for n, r in zip(ns, rows) if r["replay_count"]]
    missed = [n for n, r in zip(ns, rows) if not r["replay_count"]]
    busy = add("compute_ns") + add("comm_exposed_ns") + add("copy_exposed_ns")
    return {
        "engine": rows[0]["_engine"], "kind": rows[0]["kind"], "size": size, "count": len(rows),
        "gpu_count": len({r["_D"] for r in rows}),
        "request_count": total_of_all(r["request_count"] for r in rows),
        "token_count": total_of_all(r["token_count"] for r in rows),
        "p50_ms": ms(percentile(ns, 0.5)), "p95_ms": ms(percentile(ns, 0.95)), "total_ns": sum(ns),
        "compute_ns": add("compute_ns"), "comm_hidden_ns": add("_hidden"),
        "comm_exposed_ns": add("comm_exposed_ns"), "copy_exposed_ns": add("copy_exposed_ns"),
        "idle_inside_ns": add("idle_inside_ns"), "idle_between_ns": add("idle_between_ns"),
        "scheduler_ns": add("scheduler_ns"),
        "busy_pct": pct(busy, sum(ns)),
        "host_p50_ms": ms(percentile([r["end_ns"] - r["start_ns"] for r in rows], 0.5)),
        "host_gap_p50_ms": ms(percentile(gaps, 0.5)), "launch_count": add("launch_count"),
        "graph_missed_count": len(missed) if has_graphs else None,
        **missed_sizes(rows, has_graphs), "graph_missed_p50_ms": ms(percentile(missed, 0.5)) if has_graphs else None,
        "graph_replayed_p50_ms": ms(percentile(replayed, 0.5)) if has_graphs else None,
        "stall_ns": sum(n for n, r in zip(ns, rows) if r["stalls"])}


def missed_sizes(rows, has_graphs):
    """Least and greatest size of steps that missed the graph, and all steps from one to the other."""
    sizes = [r["_size"] for r in rows if not r["replay_count"] and (r["_size"] or 0) > 0]
    if not sizes or not has_graphs:
        return dict.fromkeys(("graph_missed_least", "graph_missed_most", "graph_missed_of"))
    return {"graph_missed_least": min(sizes), "graph_missed_most": max(sizes), "graph_missed_of": sum(
        min(sizes) <= (r["_size"] or 0) <= max(sizes) for r in rows)}


def size_class(n):
    if n is None or n < 1:
        return None
    least = 1
    while 2 * least <= n:
        least *= 2
    return "1" if least == 1 else f"{least}-{2 * least - 1}"


def groups_of(t, by_size):
    out = []
    for rows in group_by(steps_each(t), lambda r: (r["kind"], r["_engine"])).values():
        has_graphs = any(r["replay_count"] for r in rows)
        sizes = group_by(rows, lambda r: size_class(r["_size"]) if by_size else None)
        out.extend(group_row(v, size, has_graphs) for size, v in sizes.items())
    return out


def kernel_times(t):
    """{(engine, kind): {kernel name, or None for graph replays: ns}}: each device's computing time in steps.
    Time that kernels share belongs to the one that began first."""
    out = {}
    for device, rows in group_by(steps_each(t), lambda r: r["_D"]).items():
        mine, edge = [], None
        work = [(s, e, x) for x, d, spans in t.pieces() if d == device and not is_comm(x)
                and x.kind in ("kernel", "graph") for s, e in spans]
        for s, e, x in sorted(work, key=lambda w: (w[0], w[2].kind == "graph", w[2].row)):
            s = s if edge is None else max(s, edge)
            if s < e:
                mine.append((s, e, x.name if x.kind == "kernel" else None))
                edge = e
        for r in rows:
            sums = out.setdefault((r["_engine"], r["kind"]), {})
            for s, e, name in mine:
                ns = min(e, r["gpu_end_ns"]) - max(s, r["gpu_start_ns"])
                if ns > 0:
                    sums[name] = sums.get(name, 0) + ns
    return out
