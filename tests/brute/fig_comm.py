"""Communication kernels: totals, overlap with compute, per process, late ranks."""

import re

from spans import Cover, group_by, length, ms, pct, percentile, subtract, union, us
from value import Choice

COMM_RE = re.compile(
    r"^(nccl|rccl)(Sym)?(Dev)?(Kernel|k)?_?(AllReduce|AllGather|ReduceScatter|Broadcast|Reduce"
    r"|SendRecv|AllToAll|Gather|Scatter|Generic)?", re.I)
WORD_RE = re.compile(
    r"AllReduce|AllGather|ReduceScatter|AllToAll|A2A|SendRecv|TwoShot|MoeComm"
    r"|PutSignal|shmem_(?:put|get)|(?:^|_)(?:fcollect|barrier_all|put_signal|wait_(?:signal|until)"
    r"|(?:put|get)_nbi|uc[px]_)|_on_stream_kernel"
    r"|(?:^|_)(?:all_?[rR]educe|all_?[gG]ather|reduce_?[sS]catter|all_?to_?all|allToAll|all2all"
    r"|a2a|send_?[rR]ecv|two_shot|cross_device_reduce|multimem|nvshmem|k?userbuffers)")
COMPUTES_RE = re.compile(r"[gG]emm|GEMM|matmul|MatMul|[bB]lockAll|block_all|[wW]arpAll|warp_all")
LIBRARY_RE = re.compile(r"(nccl|rccl|nvshmem|mscclpp|msccl|deep_ep|hybrid_ep|pplx|userbuffers"
                        r"|symm_mem|symmetric_memory)::")
OPS = ("allreduce", "allgather", "reducescatter", "broadcast", "sendrecv", "alltoall",
       "reduce", "gather", "scatter")


def is_comm(x):
    if x.kind != "kernel":
        return False
    if COMM_RE.match(x.base):
        return True
    return not COMPUTES_RE.search(x.base) and bool(
        WORD_RE.search(x.base) or LIBRARY_RE.search(re.split("[<(]", x.name)[0]))


def op_name(k):
    if not COMM_RE.match(k.base):
        return k.base
    flat = k.base.lower().replace("_", "")
    nccl = re.match("nccl|rccl", flat)
    return next((o for o in OPS if nccl and o in flat), k.base)


def comm_kernels(t):
    return [k for k in t.kernels if is_comm(k)]


def compute_cover(t):
    return {d: Cover(t.spans_on(d, lambda x: x.kind == "graph"
                                or x.kind == "kernel" and not is_comm(x))) for d in t.devices}


def host_ranges(t):
    """(op, pid, ns) of NCCL's own ranges, which are used only if the trace has no GPU work."""
    for x in t.nvtx:
        flat = x.name.lower().replace("_", "")
        op = next((o for o in OPS if o in flat), None)
        if (x.stacked or x.loose) and x.e is not None and op and re.match("nccl|rccl", flat):
            yield op, x.pid, x.e - x.s


def host_ops(t):
    rows, by_op = [], {}
    for op, _, ns in host_ranges(t):
        by_op.setdefault(op, []).append(ns)
    for op, ns in by_op.items():
        rows.append({"op_name": op, "source": "nvtx", "count": len(ns),
                     "total_time_ms": ms(sum(ns)), "max_duration_ms": ms(max(ns)),
                     "avg_duration_us": us(sum(ns) / len(ns))})
    return rows


def nccl_ops(t):
    if not t.ops:
        return host_ops(t)
    compute, rows = compute_cover(t), []
    for op, ks in group_by(comm_kernels(t), op_name).items():
        ns = [k.e - k.s for k in ks]
        overlap = sum(compute[k.D].inside(k.s, k.e) for k in ks)
        exposed = sum(length(subtract(union((k.s, k.e) for k in mine), compute[d].spans))
                      for d, mine in group_by(ks, lambda k: k.D).items())
        rows.append({
            "op_name": op, "source": "kernel", "count": len(ns), "total_time_ms": ms(sum(ns)),
            "max_duration_ms": ms(max(ns)), "avg_duration_us": us(sum(ns) / len(ns)),
            "compute_overlap_ms": ms(overlap), "compute_overlap_pct": pct(overlap, sum(ns)),
            "exposed_ms": ms(exposed),
        })
    return rows


def nccl_by_pid(t):
    rows = []
    events = ([(op_name(k), k.pid, k.e - k.s) for k in comm_kernels(t)] if t.ops
              else host_ranges(t))
    for pid, mine in group_by(events, lambda x: x[1]).items():
        ns = [x[2] for x in mine]
        by_op = group_by(mine, lambda x: x[0])
        top = min(by_op, key=lambda o: (-sum(x[2] for x in by_op[o]), o))
        rows.append({"pid": pid, "total_nccl_time_ms": ms(sum(ns)), "nccl_event_count": len(ns),
                     "max_duration_ms": ms(max(ns)), "top_nccl_op": top})
    return rows


def nccl_scalars(t):
    ks = comm_kernels(t)
    if not ks:
        return {}
    compute = compute_cover(t)
    exposed = 0
    for d in t.devices:
        exposed += length(subtract(t.spans_on(d, is_comm), compute[d].spans))
    streams = {(x.P, x.contextId, x.streamId) for x in t.kernels if not is_comm(x)}
    same = sum(k.e - k.s for k in ks if (k.P, k.contextId, k.streamId) in streams)
    return {"source": "kernel", "event_count": len(ks), "exposed_ms": ms(exposed),
            "same_stream_comm_ms": ms(same)}


def per_device(t):
    """Oracle figure only: sum and union of kernels, comm and compute per device."""
    out = {}
    for d in t.devices:
        mine = [k for k in t.kernels if k.D == d]
        comm = [k for k in mine if is_comm(k)]
        out[t.label[d]] = {
            "kernel_sum_ms": ms(sum(k.e - k.s for k in mine)),
            "kernel_union_ms": ms(length(union((k.s, k.e) for k in mine))),
            "nccl_sum_ms": ms(sum(k.e - k.s for k in comm)),
            "nccl_union_ms": ms(length(union((k.s, k.e) for k in comm))),
            "compute_union_ms": ms(length(union((k.s, k.e) for k in mine if not is_comm(k)))),
        }
    return out


# ---- who is late ----------------------------------------------------------

def overlapping_pairs(lists):
    """Pairs of sends and receives. The next two of both lists are a pair if they overlap; otherwise the
    one that ends first is skipped."""
    a, b = lists
    i = j = 0
    while i < len(a) and j < len(b):
        if min(a[i].e, b[j].e) > max(a[i].s, b[j].s):
            yield [a[i], b[j]]
            i, j = i + 1, j + 1
        elif a[i].e <= b[j].e:
            i += 1
        else:
            j += 1


def collectives(lists):
    """Matches the k-th of each list, without those that end before all others begin."""
    first = max(l[0].s for l in lists)
    last = min(l[-1].e for l in lists)
    cut = [[k for k in l if k.e > first and k.s < last] for l in lists]
    for group in zip(*cut):
        spread = max(k.e for k in group) - min(k.e for k in group)
        shortest = min(k.e - k.s for k in group)
        if (max(k.s for k in group) < min(k.e for k in group)
                and spread <= max(100_000, 0.2 * shortest)):
            yield list(group)


def instances(t):
    """{op: [one kernel per participant, ...]}; a participant is a process on a device."""
    out = {}
    for op, ks in group_by(comm_kernels(t), op_name).items():
        ranks = group_by(sorted(ks, key=lambda k: (k.s, k.e, k.row)),
                         lambda k: (k.P or 0, t.ordinal[k.D] or 0))
        lists = [ranks[r] for r in sorted(ranks)]
        if len(lists) == 2 and op == "sendrecv":
            out[op] = list(overlapping_pairs(lists))
        elif len(lists) >= 2:
            out[op] = list(collectives(lists))
    return out


def lateness(groups, pids):
    """{pid: {times_last, waited_ms, induced_ms}} over matched instances."""
    last, waited, induced = ({p: 0 for p in pids} for _ in range(3))
    for group in groups:
        at = max(k.s for k in group)
        late = next(k for k in group if k.s == at)
        last[late.pid] += 1
        induced[late.pid] += at - percentile([k.s for k in group if k is not late], 0.5)
        for k in group:
            waited[k.pid] += at - k.s
    return {p: {"times_last": last[p], "waited_ms": ms(waited[p]), "induced_ms": ms(induced[p])}
            for p in pids}


def rank_skew(t):
    rows = []
    matched = instances(t)
    for op, ks in group_by(comm_kernels(t), op_name).items():
        by_pid = group_by(ks, lambda k: k.pid)
        totals = {p: sum(k.e - k.s for k in v) for p, v in by_pid.items()}
        middle = percentile(totals.values(), 0.5)
        groups = matched.get(op, [])
        counts, later = lateness(groups, by_pid), lateness(groups[1:], by_pid)
        for p, v in by_pid.items():
            rows.append({
                "op_name": op, "rank_label": re.sub(r" \(host (.*)\)", r" host:\1", f"pid:{p}"),
                "total_time_ms": ms(totals[p]),
                "max_duration_ms": ms(max(k.e - k.s for k in v)),
                "skew_vs_median_pct": pct(totals[p] - middle, middle),
                **({c: Choice(n, other={"without the first instance": later[p][c]})
                    for c, n in counts[p].items()} if groups else {}),
            })
    return rows


def matched_figures(t):
    """Oracle figure only: matched instances, shortest durations, spread of the ends."""
    out = {}
    for op, groups in instances(t).items():
        ends = [(max(k.e for k in g) - min(k.e for k in g)) / 1e3 for g in groups]
        out[op] = {"instances": len(groups),
                   "sum_min_ms": ms(sum(min(k.e - k.s for k in g) for g in groups)),
                   "end_skew_median_us": percentile(ends, 0.5),
                   "end_skew_max_us": max(ends, default=None)}
    return out
