"""Sampled GPU metrics: means over the window, and NVLink during communication."""

import re
from types import SimpleNamespace

from fig_comm import is_comm
from rawtrace import is_int
from spans import Cover, length, percentile, subtract, union
from value import Choice

NVLINK_RE = re.compile(r"nvlink|nvlrx|nvltx", re.I)


def series(t):
    """One per (typeId, metricId): name, device, source, period and samples [from, to), value."""
    names = {(ty, m): (name, type_name, source) for ty, m, name, type_name, source in t.read(
        "TARGET_INFO_GPU_METRICS", "typeId", "metricId", "metricName", "typeName", "sourceId")}
    gpus = {g for g, in t.read("TARGET_INFO_GPU", "id")}
    points = {}
    for at, ty, m, value in t.read("GPU_METRICS", "timestamp", "typeId", "metricId", "value"):
        most = 100 if "%]" in (names.get((ty, m), ("",))[0] or "") else 1 << 40
        if is_int(at) and isinstance(value, (int, float)) and 0 <= value <= most:
            points.setdefault((ty, m), []).append((at, value))
    out = []
    for (ty, m), values in points.items():
        values.sort()
        name, type_name, source = names.get((ty, m), (None, None, None))
        steps = [b[0] - a[0] for a, b in zip(values, values[1:]) if b[0] > a[0]]
        period = percentile(steps, 0.5)
        if not period:
            continue
        number = re.search(r"(?i)\bgpu[ #\[:]*(\d+)", type_name or "")
        low = ty & 0xFF if is_int(ty) else None
        device = int(number.group(1)) if number else low if low in gpus else None
        out.append(SimpleNamespace(
            type=ty, metric=m, name=name, source=source, device=device, period=period,
            samples=[(at, at + period, v) for at, v in values]))
    return out


def homes_of(t, x):
    """The devices that are the GPU of a series, by their number or else their ordinal, and by the
    machine in bits 48 and up of its type if several are."""
    homes = [d for d in t.devices if x.device == (
        t.ordinal[d] if t.gpu_id.get(d[1]) is None else t.gpu_id[d[1]])]
    own = [d for d in homes if t.vm_of.get(d[1]) == x.type >> 48]
    return own if len(homes) > 1 and own else homes


def label_of(t, x):
    homes = homes_of(t, x)
    return t.label[homes[0]] if homes else x.device


def scopes_of(t, x):
    """The spans of each scope; only the window if there is no device with that number."""
    homes = homes_of(t, x)
    out = {"window": [t.window]}
    if homes:
        on = lambda wanted: union(p for d in homes for p in t.spans_on(d, wanted))
        out["compute"] = on(lambda k: k.kind == "graph" or k.kind == "kernel" and not is_comm(k))
        out["comm"] = on(is_comm)
        out["copy"] = on(lambda k: k.kind not in ("graph", "kernel"))
        out["idle"] = subtract([t.window], on(lambda k: True))
    return {name: Cover(spans) for name, spans in out.items()}


def gpu_metrics(t):
    rows = []
    for x in series(t):
        for scope, cover in scopes_of(t, x).items():
            weighed = [(cover.inside(a, b), v) for a, b, v in x.samples]
            weighed = [(n, v) for n, v in weighed if n > 0]
            if not weighed:
                continue
            weight = sum(n for n, _ in weighed)
            mine = [v for n, v in weighed if scope == "window" or 2 * n >= x.period]
            rows.append({
                "device_id": label_of(t, x), "metric_id": x.metric, "metric_name": x.name,
                "scope": scope, "samples": len(mine),
                "mean": sum(n * v for n, v in weighed) / weight,
                "p50": percentile(mine, 0.5) if mine else None,
                "p95": percentile(mine, 0.95) if mine else None,
                "max": max(v for _, v in weighed), "sample_period_us": x.period / 1e3,
                "coverage_pct": min(100, 100 * weight / length(cover.spans)),
            })
    return rows


def pearson(xs, ys):
    n = len(xs)
    mx, my = sum(xs) / n, sum(ys) / n
    sx = sum((x - mx) ** 2 for x in xs)
    sy = sum((y - my) ** 2 for y in ys)
    if not sx or not sy:
        return None
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / (sx * sy) ** 0.5


def nvlink(t):
    rows = []
    for x in series(t):
        if not NVLINK_RE.search(x.name or ""):
            continue
        homes = homes_of(t, x)
        comm = Cover([p for d in homes for p in t.spans_on(d, is_comm)])
        f = [comm.inside(a, b) / (b - a) for a, b, _ in x.samples]
        v = [v for _, _, v in x.samples]
        inside, n = sum(f), len(f)
        r = pearson(v, f) if n >= 20 and 0 < inside < n else None
        rows.append({
            "device_id": label_of(t, x), "metric_names": x.name, "samples": n,
            "samples_during_nccl": sum(q >= 0.5 for q in f),
            "avg_metric_during_nccl": sum(a * b for a, b in zip(v, f)) / inside if inside else None,
            "avg_metric_outside_nccl": (sum(a * (1 - b) for a, b in zip(v, f)) / (n - inside)
                                        if n > inside else None),
            "max_metric_during_nccl": max((a for a, b in zip(v, f) if b >= 0.5), default=None),
            "nccl_activity_correlation": Choice(r, other={} if r is not None or n < 2 else {
                "fewer than 20 samples": pearson(v, f)}),
        })
    return rows


