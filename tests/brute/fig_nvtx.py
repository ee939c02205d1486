"""NVTX ranges: host time by normalised name, and the GPU work launched inside them."""

import re

from spans import group_by, length, ms, pct, union, us
from value import Choice

LIBRARY_RE = re.compile(r"^(nccl|cublas(lt)?|cudnn)\b", re.I)


def normal(name):
    """The name without `, op_id = N`, `, seq = N`, `, sizes = [...]`, `, input_op_ids = [...]`."""
    name = re.sub(r", (op_id|seq) = -?\d+", "", name)
    while True:
        m = re.search(r", (sizes|input_op_ids) = \[", name)
        if not m:
            return name
        depth, i = 1, m.end()
        while i < len(name) and depth:
            depth += {"[": 1, "]": -1}.get(name[i], 0)
            i += 1
        name = name[:m.start()] + name[i:]


def ranges_of(t):
    """Push/pop and start/end ranges with .label .end .ns .outermost .own .crossing set."""
    if hasattr(t, "_ranges"):
        return t._ranges
    out = [x for x in t.nvtx if x.stacked or x.loose]
    for x in out:
        x.label = normal(x.name)
        x.end = x.e if x.e is not None else max(t.capture_end, x.s)
        x.ns = x.own = x.end - x.s
        x.outermost, x.crossing = True, False
        x.owner = x.domain and (t.domain_names.get((x.P, x.domain)) or f"domain {x.domain}")
    library = library_domains(t)
    for rows in group_by(out, lambda x: x.label).values():
        for x in rows if len({x.owner for x in rows}) > 1 else ():
            if x.domain and (x.P, x.domain) not in library:
                x.label = f"{x.owner}:{x.label}"
    merge(out)
    for rows in group_by((x for x in out if x.stacked), lambda x: (x.gtid, x.domain)).values():
        stack = []
        for x in sorted(rows, key=lambda x: (x.s, -x.end, x.domain, x.label)):
            while stack and stack[-1].end <= x.s:
                stack.pop()
            if stack and x.end > stack[-1].end:
                x.crossing = True
                continue
            if stack:
                stack[-1].own -= x.ns
                x.outermost = all(y.table_name != x.table_name for y in stack)
            stack.append(x)
    t._ranges = out
    return out


def merge(ranges):
    """Sets .table_name, the name in tables: names that differ in parameters, or in a number that few ranges
    share, are merged."""
    by_name = group_by(ranges, lambda x: x.label)
    word = r"(?<![0-9A-Za-z])%s(?![0-9A-Za-z])"
    number = "|".join([word % "0[xX][0-9a-fA-F]+", word % "(?=[a-fA-F]*[0-9])[0-9a-fA-F]{6,}"
                       + "((?:-[0-9a-fA-F]{4,5}(?![0-9A-Za-z])){0,4})", "[0-9]+"])
    short = lambda m: "#" + "-#" * (m.group(1) or "").count("-")
    masks = {n: re.sub("#+", "#", re.sub(number, short, n)) if re.search("[0-9]", n) else n
             for n in by_name}
    for mask, names in group_by((n for n in by_name if masks[n] != n or re.search("[0-9]", n)),
                                lambda n: masks[n]).items():
        total = sum(len(by_name[n]) for n in names)
        if not (len(names) > 1 and (any(re.search(r"[=(][0-9]", n) for n in names)
                                    or len(names) >= 8 and total < 2 * len(names))):
            for n in names:
                masks[n] = n
    for x in ranges:
        x.table_name = masks[x.label]


def library_domains(t):
    """(process, domain) pairs which belong to a library, by name or by their ranges."""
    out = {k for k, name in t.domain_names.items() if LIBRARY_RE.match(name)}
    named = set(t.domain_names)
    for key, rows in group_by((x for x in t.nvtx if x.stacked), lambda x: (x.P, x.domain)).items():
        if key not in named and key[1] and all(x.name.lower().startswith("nccl") for x in rows):
            out.add(key)
    return out


def attribution(t):
    """{id(op): [ranges open when its host call starts, outermost first]}; user domains
    where any is open, else library domains."""
    if hasattr(t, "_paths"):
        return t._paths
    library, t._paths = library_domains(t), {}
    points = group_by((x for x in t.ops if x.host), lambda x: x.host.gtid)
    stacks = group_by((x for x in ranges_of(t) if x.stacked and not x.crossing),
                      lambda x: x.gtid)
    for gtid, ops in points.items():
        pending = sorted(stacks.get(gtid, ()), key=lambda x: x.s)
        opened, i = [], 0
        for op in sorted(ops, key=lambda x: x.host.s):
            at = op.host.s
            while i < len(pending) and pending[i].s <= at:
                opened.append(pending[i])
                i += 1
            opened = [x for x in opened if x.end > at or x.e is None]
            user = [x for x in opened if (x.P, x.domain) not in library]
            path = sorted(user or opened, key=lambda x: (x.s, -x.end, x.domain, x.label))
            if path:
                t._paths[id(op)] = path
    return t._paths


def nvtx_ranges(t):
    paths = attribution(t)
    inner, under = {}, {}
    for op in t.ops:
        path = paths.get(id(op))
        if path:
            inner.setdefault(path[-1].table_name, []).append(op)
            for label in {x.table_name for x in path}:
                under.setdefault(label, []).append(op)
    rows = []
    for label, xs in group_by(ranges_of(t), lambda x: x.table_name).items():
        total = sum(x.ns for x in xs if x.outermost)
        everything = sum(x.ns for x in xs)
        mine, all_mine = inner.get(label, []), under.get(label, [])
        kernels = lambda ops: [x for x in ops if x.kind == "kernel"]
        ns = lambda ops: ms(sum(x.e - x.s for x in ops))
        busy = lambda ops: ms(sum(length(union((x.s, x.e) for x in v))
                                  for v in group_by(ops, lambda x: x.D).values()))
        pushed = [x for x in xs if x.stacked]
        unknown = [] if t.ops and t.api and any(not x.crossing for x in pushed) else [None]
        rows.append({
            "range_name": label,
            "count": Choice(len(xs), other={"outermost only": sum(x.outermost for x in xs),
                                            "push/pop only": len(pushed)}),
            "total_time_ms": Choice(ms(total), other={
                "with recursion": ms(everything),
                "push/pop only": ms(sum(x.ns for x in pushed if x.outermost))}),
            "avg_duration_us": Choice(us(total / len(xs)), also=[us(everything / len(xs))],
                                      other={"per outermost": us(
                                          total / max(1, sum(x.outermost for x in xs)))}),
            "exclusive_ms": ms(sum(x.own for x in xs)),
            "gpu_inclusive_ms": Choice(ns(all_mine), also=unknown,
                                       other={"kernels only": ns(kernels(all_mine))}),
            "gpu_exclusive_ms": Choice(ns(mine), also=unknown,
                                       other={"kernels only": ns(kernels(mine))}),
            "gpu_busy_ms": Choice(busy(all_mine), also=unknown, other={
                "kernels only": busy(kernels(all_mine)), "innermost only": busy(mine),
                "innermost, kernels only": busy(kernels(mine))}),
        })
    return rows


def nvtx_kernel_time(t):
    paths, by_label = attribution(t), {}
    total = sum(k.e - k.s for k in t.kernels)
    for k in t.kernels:
        if id(k) in paths:
            by_label.setdefault(paths[id(k)][-1].table_name, []).append(k)
    rows = []
    for label, ks in by_label.items():
        ns = sum(k.e - k.s for k in ks)
        rows.append({"range_name": label, "kernel_count": len(ks), "total_kernel_time_ns": ns,
                     "total_kernel_time_ms": ms(ns), "avg_kernel_duration_us": us(ns / len(ks)),
                     "pct_of_total_kernel_time": pct(ns, total)})
    return rows


def nvtx_coverage(t):
    if not t.kernels or not t.nvtx or not t.api:
        return {}
    paths = attribution(t)
    total = sum(k.e - k.s for k in t.kernels)
    mapped = [k for k in t.kernels if id(k) in paths]
    ns = sum(k.e - k.s for k in mapped)
    left = [k for k in t.kernels if id(k) not in paths]
    return {
        "total_kernel_time_ns": total, "mapped_kernel_time_ns": ns, "mapped_kernel_time_ms": ms(ns),
        "mapped_kernel_count": len(mapped), "coverage_fraction": ns / total if total else None,
        "coverage_pct": pct(ns, total),
        "unmapped.no_api_row_ms": ms(sum(k.e - k.s for k in left if not k.host)),
        "unmapped.no_range_ms": ms(sum(k.e - k.s for k in left if k.host)),
        "unmapped.graph_opaque_ms": ms(sum(
            length(s) for x, _, s in t.pieces() if x.kind == "graph")),
    }


def nvtx_by_pid(t):
    paths, attributed, covered, total = attribution(t), {}, {}, {}
    for k in t.kernels:
        total[k.pid] = total.get(k.pid, 0) + k.e - k.s
        if id(k) in paths:
            x = paths[id(k)][-1]
            attributed.setdefault((x.pid, x.table_name), []).append(k)
            covered[k.pid] = covered.get(k.pid, 0) + k.e - k.s
    rows = []
    for (pid, label), xs in group_by(ranges_of(t), lambda x: (x.pid, x.table_name)).items():
        ks = attributed.get((pid, label), [])
        known = t.kernels and t.api and any(x.stacked and not x.crossing for x in xs)
        unknown = [] if known else [None]
        rows.append({
            "pid": pid, "range_name": label,
            "nvtx_count": Choice(len(xs), other={"outermost only": sum(x.outermost for x in xs)}),
            "nvtx_total_time_ms": Choice(ms(sum(x.ns for x in xs if x.outermost)),
                                         other={"with recursion": ms(sum(x.ns for x in xs))}),
            "attributed_kernel_time_ms": Choice(ms(sum(k.e - k.s for k in ks)), also=unknown),
            "attributed_kernel_count": Choice(len(ks), also=unknown),
            "pid_attribution_coverage_pct": Choice(
                pct(covered.get(pid, 0), total.get(pid)),
                also=[] if total.get(pid) else [0.0]),
        })
    return rows


def nvtx_names(t):
    """Oracle figure only."""
    xs = ranges_of(t)
    return {"rows": len(xs), "raw": len({x.name for x in xs}),
            "normalised": len({x.table_name for x in xs}),
            "crossing": sum(x.crossing for x in xs),
            "recursive": sum(not x.outermost for x in xs)}
