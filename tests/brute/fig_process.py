"""Per process: kernels and synchronising calls."""

import re

from spans import Cover, clip, group_by, length, ms, pct, us

SYNC_RE = re.compile(r"^(cu(da)?(Stream|Device|Ctx|Event|Thread)Synchronize|cuCtxSynchronize\w*)$")


def is_sync(a):
    return bool(SYNC_RE.match(a.short))


def total_of(xs):
    return sum(x.e - x.s for x in xs)


def kernels_by_pid(t):
    rows, everything = [], total_of(t.kernels)
    for pid, mine in group_by(t.kernels, lambda k: k.pid).items():
        whole = total_of(mine)
        for (name, d), ks in group_by(mine, lambda k: (k.name, k.D)).items():
            ns = total_of(ks)
            rows.append({
                "pid": pid, "pid_total_kernel_time_ms": ms(whole),
                "pid_pct_of_total_kernel_time": pct(whole, everything),
                "kernel_name": name, "device_id": t.label[d], "call_count": len(ks),
                "total_time_ms": ms(ns), "avg_duration_us": us(ns / len(ks)),
                "pct_of_pid_kernel_time": pct(ns, whole),
                "pct_of_total_kernel_time": pct(ns, everything),
            })
    return rows


def kernel_pids(t):
    everything = total_of(t.kernels)
    return [{"pid": pid, "total_kernel_time_ns": total_of(ks),
             "total_kernel_time_ms": ms(total_of(ks)), "kernel_count": len(ks),
             "pct_of_total_kernel_time": pct(total_of(ks), everything)}
            for pid, ks in group_by(t.kernels, lambda k: k.pid).items()]


def sync_row(calls):
    ns = total_of(calls)
    return {"call_count": len(calls), "total_time_ms": ms(ns),
            "avg_duration_us": us(ns / len(calls))}


def sync_calls(t):
    calls = [a for a in t.api if is_sync(a)]
    return [{"api_name": n, **sync_row(v)} for n, v in group_by(calls, lambda a: a.name).items()]


def sync_by_pid(t):
    calls = [a for a in t.api if is_sync(a)]
    return [{"pid": p, "api_name": n, **sync_row(v)}
            for (p, n), v in group_by(calls, lambda a: (a.pid, a.name)).items()]


def sync_pids(t):
    calls = [a for a in t.api if is_sync(a)]
    return [{"pid": p, "sync_total_time_ms": ms(total_of(v))}
            for p, v in group_by(calls, lambda a: a.pid).items()]


def busy_of_process(t):
    """{process: Cover of the busy time of the devices it ran anything on}."""
    used = {}
    for x in t.ops:
        used.setdefault(x.P, set()).update(x.on)
    return {P: Cover([s for d in ds for s in t.busy(d)]) for P, ds in used.items()}


def sync_idle(t):
    """Oracle figure only: stream syncs in GPU idle time, per process."""
    busy, out = busy_of_process(t), {}
    for a in t.api:
        if re.match(r"^cu(da)?StreamSynchronize$", a.short):
            got = out.setdefault(a.pid, {"count": 0, "total_ms": 0, "idle_ms": 0})
            got["count"] += 1
            got["total_ms"] += a.e - a.s
            if a.P in busy:
                got["idle_ms"] += (length(clip([(a.s, a.e)], t.window))
                                   - busy[a.P].inside(a.s, a.e))
    return {p: {"count": g["count"], "total_ms": ms(g["total_ms"]), "idle_ms": ms(g["idle_ms"])}
            for p, g in out.items()}


def before_return(t):
    """Oracle figure only: kernels which started before their call returned, per process."""
    return {pid: sum(bool(k.launch) and k.s < k.launch.e for k in ks)
            for pid, ks in group_by(t.kernels, lambda k: k.pid).items()}


def correlation(t):
    """Oracle figure only: matched kernels, and false matches without the process."""
    anyone = {a.corr for a in t.api if a.corr is not None}
    unmatched = [k for k in t.kernels if not k.host]
    return {"matched": len(t.kernels) - len(unmatched), "unmatched": len(unmatched),
            "unmatched_but_id_known": sum(k.corr in anyone for k in unmatched),
            "phantom": sum(sum(a.corr == k.corr for a in t.api if a.P != k.P) for k in t.kernels)
            if len(t.kernels) * len(t.api) < 40_000_000 else None}
