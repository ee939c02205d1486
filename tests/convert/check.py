#!/usr/bin/env python3
"""Checks one conversion against the tables it was made from.

usage: check.py TRACE.sqlite OUT.json [PERFETTO_OUTPUT [packets]]
       check.py --gpu TRACE.sqlite PERFETTO_OUTPUT

The JSON must parse, and slices must nest on their tracks, or not even overlap on those of streams.
Counts, sums of durations and arrows must equal SQL over the raw tables. PERFETTO_OUTPUT is the
output of tpquery.mjs for the queries of run.sh: it must have no error and the same figures. With
--gpu Perfetto's typed GPU slices must be all the GPU work of the tables, and its kernels must have
all their registers and shared memory. Prints a line for each difference, and then exits with 1.
"""
import json
import sqlite3
import sys
from collections import defaultdict

MAX = 1 << 61
GPU = {"kernel": "CUPTI_ACTIVITY_KIND_KERNEL", "memcpy": "CUPTI_ACTIVITY_KIND_MEMCPY",
       "memset": "CUPTI_ACTIVITY_KIND_MEMSET", "graph": "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"}
LIBRARIES = ("CUBLAS_EVENTS", "CUDNN_EVENTS", "MPI_", "UCP_", "OPENMP_EVENT_KIND_", "CUPTI_ACTIVITY_KIND_OPENACC_")
DAY = 86400 * 10**9
HOST = {"cuda-api": "CUPTI_ACTIVITY_KIND_RUNTIME", "osrt": "OSRT_API"}
failed = False


def fail(text):
    global failed
    failed = True
    print(f"  {text}")


def same(what, want, got):
    if want != got:
        fail(f"{what}: {want} in the tables, {got} in the output")


def ns(text):
    """Microseconds with exactly three decimals, as nanoseconds."""
    whole, dot, part = text.partition(".")
    if not dot or len(part) != 3 or not (whole + part).isdigit():
        fail(f"not a time: {text}")
        return 0
    return int(whole) * 1000 + int(part)


class Tables:
    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        self.db.text_factory = bytes
        self.names = {r[0].decode() for r in self.db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'")}

    def columns(self, table):
        return {r[1].decode() for r in self.db.execute(f"PRAGMA table_info({table})")}

    def rows(self, table, columns, where="1"):
        """Rows with valid times; the first two columns are start and end."""
        if table not in self.names:
            return []
        there = self.columns(table)
        cells = ",".join(f'"{c}"' if c in there else "NULL" for c in columns)
        out = []
        for r in self.db.execute(f"SELECT {cells} FROM {table} WHERE {where}"):
            if type(r[0]) is int and abs(r[0]) <= MAX:
                out.append(r)
        return out

    def spans(self, table, columns, where="1"):
        return [r for r in self.rows(table, ["start", "end", *columns], where)
                if type(r[1]) is int and r[1] >= r[0] and r[1] <= MAX]


def levels(steps, before, first):
    """The values (time, value) of a counter that changes by the steps {time: by}."""
    steps[min([first, *steps])] = steps.get(min([first, *steps]), 0) + before
    now, told = 0, [(0, 0)]
    for at in sorted(steps):
        now += steps[at]
        if now != told[-1][1]:
            told.append((at, now))
    return told[1:]


def memory(t, first):
    """Bytes in use and live allocations by process, GPU and kind, and when the first is known."""
    kinds = {0: "host", 1: "host", 2: "device", 3: "device", 5: "device", 4: "managed", 6: "managed"}
    at = defaultdict(list)
    for r in t.rows("CUDA_GPU_MEMORY_USAGE_EVENTS", ["start", "globalPid", "deviceId", "address", "bytes", "memKind",
                                                     "memoryOperationType"]):
        if type(r[3]) is int and type(r[4]) is int and 0 <= r[4] <= MAX and r[6] in (0, 1):
            owner = ((r[1] if type(r[1]) is int else 0) & ~0xffffff, r[2] if type(r[2]) is int else 0, kinds.get(r[5]))
            at[owner[0], r[3]].append((r[0], -r[6], r[4], owner))
    got = defaultdict(lambda: [defaultdict(int), 0, defaultdict(int), 0])  # bytes, before, count, before
    for rows in at.values():
        live = None
        for start, freed, size, owner in sorted(rows, key=lambda r: (*r[:3], str(r[3]))):
            if live:  # ended, also where its free is missing
                got[live[1]][0][start] -= live[0]
                got[live[1]][2][start] -= 1
            elif freed:  # was there before
                x = got[owner]
                x[0][start] -= size
                x[2][start] -= 1
                x[1], x[3] = x[1] + size, x[3] + 1
            live = None if freed else (size, owner)
            if live:
                got[owner][0][start] += size
                got[owner][2][start] += 1
    first = min([first, *(s for x in got.values() for s in x[0])])
    return [v for x in got.values() for i in (0, 2) for v in levels(x[i], x[i + 1], first)]


def queues(calls, work):
    """Depths by stream, from the start of a call to that of the first work it caused. An id that is used
    again belongs to the last call before the work, and of nested calls to the outermost."""
    began, caused = defaultdict(list), {}
    for key, start, end in sorted(calls, key=lambda c: (c[1], -c[2])):
        if not began[key] or start >= began[key][-1][1]:
            began[key].append((start, end))
    for key, start, stream in work:
        before = [i for i, call in enumerate(began.get(key, [])) if call[0] <= start]
        if began.get(key):
            call = (key, before[-1] if before else 0)
            caused[call] = min(caused.get(call, (start, stream)), (start, stream))
    steps = defaultdict(lambda: defaultdict(int))
    for (key, i), (start, stream) in caused.items():
        steps[stream][min(began[key][i][0], start)] += 1
        steps[stream][start] -= 1
    return [v for x in steps.values() for v in levels(x, 0, MAX)]


def expect(t, shift_ns=0):
    """Figures of the tables: (count, ns) by category, arrows, and so on."""
    e = {}
    last, first = [0], [MAX]
    calls, arrows, work = [], 0, []
    process = lambda g: (g or 0) & ~0xffffff
    where = "1"
    if HOST["cuda-api"] in t.names and "eventClass" in t.columns(HOST["cuda-api"]):
        where = "eventClass IS NOT 67"
    gpu = [r for table in GPU.values() for r in t.spans(table, [])]
    most = max([min(r[0], DAY) for r in t.rows("ANALYSIS_DETAILS", ["duration"]) if r[0] > 0], default=DAY)
    from_ns, to_ns = min((r[0] for r in gpu), default=-MAX), max((r[1] for r in gpu), default=MAX)
    for cat, table in HOST.items():
        rows = t.spans(table, ["globalTid", "correlationId"], where if cat == "cuda-api" else "1")
        if cat == "cuda-api":  # a call farther from all GPU work than the session lasts is impossible
            rows = [r for r in rows if from_ns - most <= r[0] and r[1] <= to_ns + most]
        e[cat] = [len(rows), sum(r[1] - r[0] for r in rows)]
        last += [r[1] for r in rows]
        first += [r[0] for r in rows]
        if cat == "cuda-api":
            calls = [((process(r[2]), r[3]), r[0], r[1]) for r in rows if r[3]]
    # A call has several rows where it has several peers.
    libraries = {r for n in t.names if n.startswith(LIBRARIES) and "start" in t.columns(n)
                 for r in t.spans(n, ["globalTid", "nameId" if "nameId" in t.columns(n) else "textId"])}
    e["libraries"] = [len(libraries), sum(r[1] - r[0] for r in libraries)]
    last += [r[1] for r in libraries]
    first += [r[0] for r in libraries]
    called = {c[0] for c in calls}
    for cat, table in GPU.items():
        rows = t.spans(table, ["globalPid", "correlationId", "deviceId", "contextId", "streamId"])
        e[cat] = [len(rows), sum(r[1] - r[0] for r in rows)]
        last += [r[1] for r in rows]
        first += [r[0] for r in rows]
        arrows += sum((r[2] or 0, r[3]) in called for r in rows)
        work += [((r[2] or 0, r[3]), r[0], (r[2], *(x or 0 for x in r[4:]))) for r in rows if r[3]]
    nvtx = t.rows("NVTX_EVENTS", ["start", "end", "eventType"])
    sched = t.rows("SCHED_EVENTS", ["start", "isSchedIn", "globalTid"])
    shares = {r[:2] for r in t.rows("TARGET_INFO_GPU_METRICS", ["typeId", "metricId", "metricName"])
              if "%]" in str(r[2])}
    metrics = [r for r in t.rows("GPU_METRICS", ["timestamp", "value", "typeId", "metricId"],
                                       "typeof(typeId) = 'integer' AND typeof(metricId) = 'integer'")
               if isinstance(r[1], (int, float))
               and 0 <= r[1] < (100.5 if r[2:] in shares else 2**40 + 0.5)]
    ranges = [r for r in nvtx if r[2] in (59, 60, 70, 71) and
              (r[1] is None or type(r[1]) is int and r[1] >= r[0])]
    marks = [r for r in nvtx if r[2] in (34, 65)]
    last += [r[0] if r[1] is None else r[1] for r in ranges] + [r[0] for r in marks + sched + metrics]
    first += [r[0] for r in ranges + marks + sched + metrics]
    e["last"] = max(last)
    end = lambda r: e["last"] if r[1] is None else r[1]
    for cat, kinds in (("nvtx", (59, 70)), ("async", (60, 71))):
        rows = [r for r in ranges if r[2] in kinds]
        e[cat] = [len(rows), sum(end(r) - r[0] for r in rows)]
    e["marks"] = len(marks)
    metrics += memory(t, min(first)) + queues(calls, work)
    e["samples"] = [len(metrics), sum(r[1] for r in metrics)]
    e["samples when"] = sum((r[1] + 1) * ((r[0] + shift_ns) % 1009) for r in metrics)
    e["arrows"] = arrows
    threads = defaultdict(list)
    for r in sched:
        threads[r[2]].append(r)
    e["sched"] = [0, 0]
    for rows in threads.values():
        rows.sort(key=lambda r: r[0])
        for r, after in zip(rows, rows[1:] + [(e["last"],)]):
            if r[1]:
                e["sched"][0] += 1
                e["sched"][1] += after[0] - r[0]
    return e


def overlaps(slices, may_nest):
    """Whether slices (start, end) of a track, in order, cross."""
    ends = []
    for start, end in slices:
        while ends and ends[-1] <= start:
            ends.pop()
        if ends and (not may_nest or ends[-1] < end):
            return True
        ends.append(end)
    return False


def measure(events):
    got = defaultdict(lambda: [0, 0])
    tracks, begun, starts = defaultdict(list), {}, {}
    got["marks"] = got["arrows"] = got["arrows_back"] = got["samples when"] = 0
    named = set()
    for ev in events:
        ph = ev["ph"]
        if ph == "M":
            named.add((ev["pid"], ev["tid"]) if ev["name"] == "thread_name" else ev["pid"])
            continue
        ts = ns(ev["ts"])
        if ph == "X":
            dur = ns(ev["dur"])
            got[ev["cat"]][0] += 1
            got[ev["cat"]][1] += dur
            tracks[ev["pid"], ev["tid"], ev["cat"]].append((ts, ts + dur))
        elif ph == "b":
            begun[ev["id"]] = ts
        elif ph == "e":
            got["async"][0] += 1
            got["async"][1] += ts - begun.pop(ev["id"])
        elif ph == "i":
            got["marks"] += 1
        elif ph == "s":
            if ev["id"] in starts:
                fail(f"two arrows start with id {ev['id']}")
            starts[ev["id"]] = ts
        elif ph == "f":
            got["arrows"] += 1
            got["arrows_back"] += ts < starts[ev["id"]]
        elif ph == "C":
            got["samples"][0] += len(ev["args"])
            values = [float(v) if "." in v else int(v) for v in ev["args"].values()]
            got["samples"][1] += sum(values)
            got["samples when"] += sum(v + 1 for v in values) * (ts % 1009)
    for (pid, tid, cat), slices in tracks.items():
        if overlaps(sorted(slices, key=lambda s: (s[0], -s[1] if cat not in GPU else s[1])),
                    cat not in GPU):
            fail(f"slices cross on track {pid}/{tid} ({cat})")
        if (pid, tid) not in named or pid not in named:
            fail(f"track {pid}/{tid} has no name")
    if begun:
        fail(f"{len(begun)} asynchronous ranges do not end")
    return got


def sections_of(path):
    """Rows by query: led by '# QUERY', then a line of column names."""
    sections = []
    for line in open(path, encoding="utf-8", errors="replace"):
        if line.startswith("# "):
            sections.append([])
        elif sections and line.strip():
            sections[-1].append(line.strip().split("|"))
    return sections


def check_gpu(trace, path):
    tables = Tables(trace)
    want = expect(tables)
    sections = sections_of(path)
    count, total = sections[4][1]
    same("typed GPU slices", sum(want[c][0] for c in GPU), int(count))
    same("their ns", sum(want[c][1] for c in GPU), int(total.replace("null", "0")))
    constants = [x for r in tables.spans(GPU["kernel"], ["registersPerThread", "staticSharedMemory",
                                                         "dynamicSharedMemory"])
                 for x in r[2:] if type(x) is int]
    same("registers and shared memory of kernels", [str(len(constants)), str(sum(constants))],
         [v.replace("null", "0") for v in sections[6][1]])


def check_perfetto(path, got, are_packets):
    sections = sections_of(path)
    stats, slices, flows, counters = (s[1:] for s in sections[:4])
    for s in stats:
        fail(f"Perfetto: {s[0]} = {s[1]}")
    x = [got[c] for c in (*GPU, *HOST, "libraries", "nvtx", "async", "sched")]
    want = [str(sum(c[0] for c in x) + got["marks"]), str(sum(c[1] for c in x))]
    same("slices and their ns in Perfetto", want, [v.replace("null", "0") for v in slices[0]])
    backwards = int(sections[5][1][0]) if len(sections) > 5 else 0
    same("flows in Perfetto", got["arrows"] - got["arrows_back"], int(flows[0][0]) - backwards)
    count, total, when, tracks, last = [float(v.replace("null", "0")) for v in counters[0]]
    if are_packets:  # each counter ends, at the same time, with a value of no meaning, which is shown as 0
        count -= tracks
        when -= tracks * (last % 1009)
    same("counter values in Perfetto", got["samples"][0], count)
    for what, want, there in ("sum", got["samples"][1], total), ("sum by time", got["samples when"], when):
        if abs(want - there) > 1e-9 * max(abs(want), 1):
            same(f"counter values in Perfetto, {what}", want, there)


def main(argv):
    if argv[1] == "--gpu":
        check_gpu(argv[2], argv[3])
        return failed
    text = open(argv[2], encoding="utf-8").read()
    out = json.loads(text, parse_float=str, parse_int=lambda s: s)
    want = expect(Tables(argv[1]), int(out["otherData"]["time_shift_ns"]))
    got = measure(out["traceEvents"])
    for key in (*GPU, *HOST, "libraries", "nvtx", "async", "sched", "samples", "samples when", "marks", "arrows"):
        same(key, want[key], got[key])
    if argv[3:]:
        check_perfetto(argv[3], got, "packets" in argv[4:])
    return failed


sys.exit(main(sys.argv))
