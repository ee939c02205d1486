"""Kernels, their summary as nsys stats prints it, and the launch storm."""

from spans import group_by, length, ms, pct, percentile, sample_stddev, subtract, union, us
from value import Choice


def kernels(t):
    total = sum(k.e - k.s for k in t.kernels)
    rows = []
    for (name, d), ks in group_by(t.kernels, lambda k: (k.name, k.D)).items():
        ns = [k.e - k.s for k in ks]
        mine = {id(k) for k in ks}
        covered = union((k.s, k.e) for k in ks)
        others = t.spans_on(d, lambda x: id(x) not in mine)
        dev = sample_stddev(ns)
        rows.append({
            "kernel_name": name, "device_id": t.label[d], "call_count": len(ns),
            "total_time_ns": sum(ns), "total_time_ms": ms(sum(ns)),
            "avg_duration_us": us(sum(ns) / len(ns)),
            "min_duration_us": us(min(ns)), "max_duration_us": us(max(ns)),
            "p50_duration_us": us(percentile(ns, 0.5)), "p90_duration_us": us(percentile(ns, 0.9)),
            "p99_duration_us": us(percentile(ns, 0.99)),
            "stddev_us": Choice(us(dev), also=[0.0] if dev is None else []),
            "pct_total_kernel_time": pct(sum(ns), total),
            "busy_ms": ms(length(covered)),
            "exclusive_ms": ms(length(subtract(covered, others))),
        })
    rows.sort(key=lambda r: (-r["total_time_ns"], -r["call_count"], r["kernel_name"],
                             r["device_id"] or 0))
    return rows


def kern_sum(t):
    """The table cuda_gpu_kern_sum: per name over all devices, averages with one decimal."""
    total = sum(k.e - k.s for k in t.kernels)
    rows = []
    for name, ks in group_by(t.kernels, lambda k: k.name).items():
        ns = [k.e - k.s for k in ks]
        rows.append({
            "Name": name, "Instances": len(ns), "Total Time (ns)": sum(ns),
            "Time (%)": Choice(pct(sum(ns), total), tolerance=0.0501),
            "Avg (ns)": Choice(sum(ns) / len(ns), tolerance=0.0501),
            "Med (ns)": Choice(percentile(ns, 0.5), tolerance=0.0501),
            "Min (ns)": min(ns), "Max (ns)": max(ns),
            "StdDev (ns)": Choice(sample_stddev(ns) or 0.0, tolerance=0.0501),
        })
    return rows


def gap_list(t, d):
    """Maximal idle spans of a device in the full window, with the op that ends each.

    Returns [(start, end, op or None)]. Of several operations that start together, the first by table
    (kernel, copy, memset, graph) and row ends the gap.
    """
    first = {}
    for x, on, spans in t.pieces():
        if on == d:
            for s, _ in spans[:1]:
                first.setdefault(s, x)
    return [(a, b, first.get(b)) for a, b in subtract([t.window], t.busy(d))]


def launch_bound(t):
    """Time of gaps below 1 ms in which the GPU waited for the launch call of the op that ends the gap.

    Of a graph only the node that begins first counts, because the host does nothing for the others.
    """
    late = 0
    for d in t.devices:
        first = {}
        for x, on, spans in t.pieces():
            if on == d and x.launch:
                key = id(x.launch)
                first[key] = min(first.get(key, x.s), x.s)
        for a, b, op in gap_list(t, d):
            r = op.launch if op else None
            if r and r.e > a and b - a < 1_000_000 and op.s <= first[id(r)]:
                late += max(0, min(min(b, r.e) - a, b - a))
    return late


def storm_of(kernels_):
    ns = [k.e - k.s for k in kernels_]
    span = max(k.e for k in kernels_) - min(k.s for k in kernels_)
    rate = len(ns) / (span / 1e9) if span else None
    p50 = percentile(ns, 0.5) / 1e3
    return {
        "total_launches": len(ns), "window_s": span / 1e9, "launches_per_s": rate,
        "median_kernel_us": p50, "p50_kernel_us": p50,
        "p90_kernel_us": us(percentile(ns, 0.9)), "p99_kernel_us": us(percentile(ns, 0.99)),
        **{f"pct_under_{n}us": Choice(
            pct(sum(d < n * 1000 for d in ns), len(ns)),
            other={"at most": pct(sum(d <= n * 1000 for d in ns), len(ns))})
           for n in (5, 10, 20)},
        "is_launch_storm": rate is not None and (rate >= 50_000 and p50 <= 10
                                                 or rate >= 100_000 and p50 <= 20),
    }


def launch_storm(t):
    if not t.kernels:
        return {}
    return {**storm_of(t.kernels), "launch_bound_ms": ms(launch_bound(t))}


def storm_by_pid(t):
    return {pid: storm_of(ks) for pid, ks in group_by(t.kernels, lambda k: k.pid).items()}
