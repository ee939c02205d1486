"""Steps of engines and training loops: the work of each step, and what the GPU did during the step."""

import re

from fig_device import layers
from fig_nvtx import ranges_of
from spans import clip, group_by, length, subtract, union

ENGINE = ((re.compile(r"execute_context_(\d+)\(\d+\)_generation_(\d+)\(\d+\)$"), None),
          (re.compile(r"\[Executor\] _forward_step(?: \d+)?: (\d+) ctx reqs(?:, \d+ ctx tokens)?, "
                      r"(\d+) gen reqs$"), None),
          (re.compile(r"step\[DECODE bs=\d"), "decode"), (re.compile(r"step\[EXTEND bs=\d+ toks=\d"),
                                                         "prefill"),
          (re.compile(r"step\[MIXED bs=\d"), "mixed"), (re.compile(r"step\[IDLE"), "idle"))
TRAINING = re.compile(r"ProfilerStep#\d+$|iteration ?\d*$|step \d+$")


def kind_of(name):
    for pattern, kind in ENGINE:
        m = pattern.match(name)
        if m and kind:
            return kind
        if m:
            prompts, decodes = int(m[1]) > 0, int(m[2]) > 0
            return ("mixed" if decodes else "prefill") if prompts else "decode" if decodes else "idle"
    return None


def host_steps(t):
    """Ranges that are steps and not inside another step of their thread, with .kind and .gap set."""
    found = [x for x in ranges_of(t) if kind_of(x.name)]
    found = found or [x for x in ranges_of(t)
                      if TRAINING.match(x.name) and x.name != "iteration "]
    out = []
    for rows in group_by(found, lambda x: x.gtid).values():
        last = None
        for x in sorted(rows, key=lambda x: (x.s, -x.end, x.name)):
            if last and x.s < last.end:
                continue
            if last:
                last.gap = x.s - last.end
            x.kind, x.gap, last = kind_of(x.name) or "training", None, x
            out.append(x)
    return out


def step_of(call, steps):
    mine = [x for x in steps if x.P == call.P and x.s <= call.s < x.end]
    own = [x for x in mine if x.gtid == call.gtid]
    if own:
        return own[-1]
    begun = [x for x in steps if x.P == call.P and x.s <= call.s]
    last = max(begun, key=lambda x: x.s) if begun else None
    return last if last and call.s < last.end else None


def steps_each(t):
    steps, rows = host_steps(t), []
    mine = group_by((x for x in t.ops if x.host and step_of(x.host, steps)),
                    lambda x: (x.P, x.D, id(step_of(x.host, steps))))
    by_device = group_by(mine.items(), lambda item: item[0][:2])
    known = {id(x): x for x in steps}
    for (_, device), items in by_device.items():
        compute, comm, copy = layers(t, device)
        exposed = subtract(comm, compute)
        alone = subtract(copy, union(compute + comm))
        busy = union(compute + comm + copy)
        items = sorted(items, key=lambda item: min(x.s for x in item[1]))
        for i, (key, ops) in enumerate(items):
            x = known[key[2]]
            start, work_end = min(o.s for o in ops), max(o.e for o in ops)
            end = min(o.s for o in items[i + 1][1]) if i + 1 < len(items) else work_end
            inside = (start, min(work_end, end))
            idle = end - start - length(clip(busy, (start, end)))
            idle_inside = inside[1] - start - length(clip(busy, inside))
            rows.append({
                "process": x.pid, "device_id": t.ordinal[device], "range_name": x.name,
                "kind": x.kind, "start_ns": x.s, "end_ns": x.end, "gpu_start_ns": start,
                "work_end_ns": work_end, "gpu_end_ns": end,
                "compute_ns": length(clip(compute, (start, end))),
                "comm_exposed_ns": length(clip(exposed, (start, end))),
                "copy_exposed_ns": length(clip(alone, (start, end))),
                "idle_inside_ns": idle_inside, "idle_between_ns": idle - idle_inside,
                "host_gap_ns": x.gap})
    return rows


def step_layers(t):
    """The GPU time of the steps of each kind, to which the kind's layers must add up."""
    sums = {}
    for row in steps_each(t):
        sums[row["kind"]] = sums.get(row["kind"], 0) + row["gpu_end_ns"] - row["gpu_start_ns"]
    return sums
