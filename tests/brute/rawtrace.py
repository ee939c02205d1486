"""The raw tables of an nsys export as Python objects; every column optional."""

import re
import sqlite3
from types import SimpleNamespace

from spans import group_by, subtract, union

LOW24 = 0xFFFFFF
LAUNCH_RE = re.compile(r"^(cuda|cu)(Launch|GraphLaunch)(?!HostFunc)")
GRAPH_LAUNCH_RE = re.compile(r"^(cuda|cu)GraphLaunch")
SUFFIX_RE = re.compile(r"(_v\d+|_ptsz|_ptds)$")


def strip_suffix(name):
    while SUFFIX_RE.search(name):
        name = SUFFIX_RE.sub("", name)
    return name


def base_of(demangled):
    """A kernel's base name: the demangled name without return type, template and arguments."""
    depth, flat = 0, []
    for c in demangled.replace("(anonymous namespace)", "anon"):
        if c == "<":
            depth += 1
        elif c == ">":
            depth -= 1
        elif c == "(" and depth == 0:
            break
        elif depth == 0:
            flat.append(c)
    words = "".join(flat).split()
    return words[-1].split("::")[-1] if words else demangled


def is_int(v):
    return isinstance(v, int)


class Trace:
    """One export: .ops (GPU work), .api, .nvtx, .osrt, .overhead, .sched, ..."""

    def __init__(self, path, clocks=()):
        self.db = sqlite3.connect(f"file:{uri_path(path)}?mode=ro&immutable=1", uri=True)
        self.db.text_factory = lambda b: b.decode("utf-8", "replace")
        self.tables = {r[0].lower(): r[0] for r in self.db.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table','view')")}
        for name in sorted(self.tables):  # "NAME_Vn" stands in for NAME if NAME has no rows
            plain = re.sub(r"_v\d+$", "", name)
            if plain != name and not self.read(plain, "rowid"):
                self.tables[plain] = self.tables[name]
        self.strings = {i: v for i, v in self.read("StringIds", "id", "value")
                        if is_int(i) and isinstance(v, str)}
        self.dropped = {"negative_intervals": 0, "bad_rows": 0}
        self.plain_pids = not (self.all_global("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid")
                               and self.all_global("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid"))
        self.load_devices()
        self.load_api()
        self.load_ops()
        self.load_nvtx()
        self.load_host()
        self.match()
        self.clock_faults = self.move_clocks(clocks)
        self.drop_impossible()
        self.match()
        self.tell_hosts_apart()
        self.window = self.full_window()
        self.capture_end = max([0] + [x.e for x in self.ops + self.api + self.osrt]
                               + [n.e if n.e is not None else n.s for n in self.nvtx])

    # ---- reading -------------------------------------------------------

    def has(self, table):
        return table.lower() in self.tables

    def columns(self, table):
        if not self.has(table):
            return {}
        name = self.tables[table.lower()]
        return {r[1].lower(): r[1] for r in self.db.execute(f'PRAGMA table_info("{name}")')}

    def all_global(self, table, column):
        return not self.has(table) or column.lower() in self.columns(table)

    def read(self, table, *wanted):
        """Rows of a table as tuples, with None for columns that do not exist."""
        have = self.columns(table)
        if not have:
            return []
        cols = ", ".join(f'"{have[c.lower()]}"' if c.lower() in have else "NULL" for c in wanted)
        return self.db.execute(f'SELECT {cols} FROM "{self.tables[table.lower()]}"').fetchall()

    def timed(self, table, *wanted, need=()):
        """Rows with start and end as namespaces (s, e, row, ...wanted).

        A row is left out if its start or end, or a column named in need, is not an integer, or if it
        ends before it starts.
        """
        out = []
        for n, row in enumerate(self.read(table, "start", "end", *wanted)):
            x = SimpleNamespace(s=row[0], e=row[1], row=n, **dict(zip(wanted, row[2:])))
            if not is_int(x.s) or not is_int(x.e) or any(not is_int(getattr(x, c)) for c in need):
                self.dropped["bad_rows"] += 1
            elif x.e < x.s:
                self.dropped["negative_intervals"] += 1
            else:
                out.append(x)
        return out

    def string(self, n):
        return self.strings.get(n) or (f"id:{n}" if n is not None else "id:?")

    # ---- identity ------------------------------------------------------

    def who(self, x, global_id, *plain):
        """Sets x.P (process key) and x.pid from the first source that exists."""
        x.P = x.pid = None
        if is_int(global_id):
            x.pid = (global_id >> 24) & LOW24
            x.P = x.pid if self.plain_pids else global_id & ~LOW24
            return
        for p in plain:
            if is_int(p):
                x.pid = x.P = p
                return

    def tell_hosts_apart(self):
        """Adds the host to a pid that several processes have (READING.md 3)."""
        rows = self.ops + self.api + self.nvtx + self.osrt
        keys = group_by({x.P for x in rows if x.P is not None and x.P != x.pid},
                        lambda key: (key >> 24) & LOW24)
        self.pid_label = {key: f"{pid} (host {key >> 48})"
                          for pid, ks in keys.items() if len(ks) > 1 for key in ks}
        for x in rows:
            x.pid = self.pid_label.get(x.P, x.pid)

    def load_devices(self):
        """(pid, ordinal) -> physical GPU, if the export has this mapping."""
        self.gpu_of, by_ordinal, self.gpu_id = {}, {}, {}
        self.vm_of = vm_of = {u: vm >> 48 for u, vm in self.read("TARGET_INFO_GPU", "uuid", "vmId")
                              if is_int(vm)}
        for pid, cuda, gpu, uuid in self.read("TARGET_INFO_CUDA_DEVICE",
                                              "pid", "cudaId", "gpuId", "uuid"):
            if is_int(pid) and is_int(cuda) and (uuid or is_int(gpu)):
                self.gpu_of[pid, cuda] = self.gpu_of[pid, cuda, vm_of.get(uuid)] = uuid or gpu
                by_ordinal.setdefault(cuda, set()).add(uuid or gpu)
                self.gpu_id[uuid or gpu] = gpu if is_int(gpu) and gpu >= 0 else None
        self.gpu_of_ordinal = {o: next(iter(g)) for o, g in by_ordinal.items() if len(g) == 1}
        self.context_pid = {}
        for t in ("TARGET_INFO_CUDA_CONTEXT_INFO", "TARGET_INFO_CUDA_NULL_STREAM"):
            for pid, ctx in self.read(t, "processId", "contextId"):
                self.context_pid.setdefault(ctx, set()).add(pid)

    def device(self, pid, ordinal, key):
        gpu = self.gpu_of.get((pid, ordinal, (key or 0) >> 48)) or self.gpu_of.get(
            (pid, ordinal), self.gpu_of_ordinal.get(ordinal))
        return ("ordinal", ordinal) if gpu is None else ("gpu", gpu)

    def label_of(self, gpid, ordinal):
        """The label of the GPU that a process means by an ordinal."""
        pid = (gpid >> 24) & LOW24 if is_int(gpid) else None
        return self.label.get(self.device(pid, ordinal, gpid), ordinal)

    # ---- tables --------------------------------------------------------

    def load_api(self):
        self.api = []
        names = "globalTid", "correlationId", "nameId", "name", "eventClass", "pid", "processId"
        for x in self.timed("CUPTI_ACTIVITY_KIND_RUNTIME", *names):
            if x.eventClass == 67:
                continue
            self.who(x, x.globalTid, x.pid, x.processId)
            x.gtid = x.globalTid if is_int(x.globalTid) else x.P
            x.tid = x.globalTid & LOW24 if is_int(x.globalTid) else None
            x.corr = x.correlationId if is_int(x.correlationId) and x.correlationId else None
            known = self.strings.get(x.nameId)
            x.name = known or (x.name if isinstance(x.name, str) else None) or self.string(x.nameId)
            x.short = strip_suffix(x.name)
            x.is_launch = bool(LAUNCH_RE.match(x.short))
            x.is_graph_launch = bool(GRAPH_LAUNCH_RE.match(x.short))
            self.api.append(x)

    def load_ops(self):
        self.ops = []
        common = ("deviceId", "contextId", "streamId", "correlationId", "globalPid", "pid",
                  "processId", "graphNodeId", "greenContextId")
        ends = {"H": "Host", "D": "Device", "A": "Array", "P": "Peer"}
        labels = ["Unknown"] + [f"{ends[x[0]]}-to-{ends[x[1]]}" for x in (
            "HD DH HA AH AA AD DA DD HH PP".split())]
        labels += ["Unified " + labels[i] for i in (1, 2, 8)]
        # The numbers of copy kinds are those of the file's own table.
        short = ["unknown"] + [x.replace("unified ", "uvm").translate({45: None}).replace(
            "host", "h").replace("device", "d").replace("array", "a").replace("peer", "p")
            for x in map(str.lower, labels[1:])]
        kind_of = {}
        for i, *texts in self.read("ENUM_CUDA_MEMCPY_OPER", "id", "label", "name"):
            for text in (str(x).split("KIND_")[-1] for x in texts):
                flat = text.lower().replace(" ", "").replace("_", "")
                if text in labels or flat in short:
                    kind_of[i] = labels.index(text) if text in labels else short.index(flat)
                    break
        more = {"KERNEL": ("demangledName", "shortName", "graphId"),
                "MEMCPY": ("bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId"),
                "MEMSET": ("bytes", "memKind"),
                "GRAPH_TRACE": ("graphId", "graphExecId")}
        for table, extra in more.items():
            for x in self.timed("CUPTI_ACTIVITY_KIND_" + table, *common, *extra):
                x.kind = table.lower().split("_")[0]
                owner = self.context_pid.get(x.contextId, ())
                self.who(x, x.globalPid, x.pid, x.processId, *(owner if len(owner) == 1 else ()))
                x.corr = x.correlationId if is_int(x.correlationId) and x.correlationId else None
                if isinstance(x.deviceId, (str, bytes, float)):
                    self.dropped["bad_rows"] += 1
                    continue
                x.D = self.device(x.pid, x.deviceId, x.P)
                x.on = [x.D]
                if is_int(x.greenContextId) and x.greenContextId > 0:
                    x.contextId = ("green", x.greenContextId)
                if x.kind == "memcpy":
                    x.copyKind = kind_of.get(x.copyKind, x.copyKind)
                    x.bytes = x.bytes if is_int(x.bytes) else 0
                    if x.copyKind == 10 and is_int(x.srcDeviceId) and is_int(x.dstDeviceId):
                        x.on = list({self.device(x.pid, d, x.P): 0
                                     for d in (x.srcDeviceId, x.dstDeviceId)})
                if x.kind == "kernel":
                    short = self.strings.get(x.shortName)
                    x.name = self.strings.get(x.demangledName) or short or self.string(
                        x.demangledName if x.demangledName is not None else x.shortName)
                    x.base = short or base_of(x.name)
                self.ops.append(x)
        self.kernels = [x for x in self.ops if x.kind == "kernel"]
        self.graphs = [x for x in self.ops if x.kind == "graph"]
        self.ordinal = {}
        for x in self.ops:
            for d in x.on:
                if x.D == d and x.deviceId is None:
                    self.ordinal.setdefault(d)
                elif x.D == d:
                    self.ordinal[d] = min(self.ordinal.get(d, x.deviceId), x.deviceId)
        for x in self.ops:           # a peer without work of its own belongs to another capture
            x.on = [d for d in x.on if d in self.ordinal]
        self.devices = sorted(self.ordinal, key=lambda d: (
            self.ordinal[d] is None, self.ordinal[d] or 0, str(d)))
        self.label_devices()

    def label_devices(self):
        """Adds the number of the GPU to ordinals that are not distinct or, if numbers are not
        distinct either, the host or else the process (READING.md 3)."""
        self.label = dict(self.ordinal)
        ids = [self.gpu_id.get(d[1]) for d in self.devices]
        if len(set(self.ordinal.values())) == len(ids):
            return
        if None not in ids and len(set(ids)) == len(ids):
            self.label = {d: at if at == i else f"{at} (GPU {i})"
                          for (d, at), i in zip(((d, self.ordinal[d]) for d in self.devices), ids)}
            return
        hosts = {x.P >> 48 for x in self.ops + self.api if x.P is not None}
        for d in self.devices:
            first = min((x.P for x in self.ops if x.D == d and x.P is not None), default=None)
            if first is not None:
                self.label[d] = (f"{self.ordinal[d]} (host {first >> 48})" if len(hosts) > 1
                                 else f"{self.ordinal[d]} (pid {(first >> 24) & LOW24})")

    def load_nvtx(self):
        self.nvtx, self.domain_names = [], {}
        for n, row in enumerate(self.read("NVTX_EVENTS", "start", "end", "eventType", "text",
                                          "textId", "globalTid", "domainId", "pid", "processId")):
            s, e, kind, text, text_id, gtid, domain, pid, process = row
            if not is_int(s) or not (is_int(e) or e is None):
                self.dropped["bad_rows"] += 1
                continue
            name = text if isinstance(text, str) else self.strings.get(text_id)
            if name is None:
                name = f"id:{text_id}" if text_id is not None else ""
            x = SimpleNamespace(s=s, e=e, row=n, type=kind, name=name, globalTid=gtid,
                                domain=domain or 0)
            self.who(x, gtid, pid, process)
            x.gtid = gtid if is_int(gtid) else x.P
            x.tid = gtid & LOW24 if is_int(gtid) else None
            if kind == 75:
                self.domain_names[x.P, x.domain] = name
            if e is not None and e < s:
                self.dropped["negative_intervals"] += 1
                continue
            self.nvtx.append(x)
        typed = "eventtype" in self.columns("NVTX_EVENTS")
        for x in self.nvtx:
            x.stacked = x.type in (59, 70) or (not typed and x.e is not None)
            x.loose = x.type in (60, 71)

    def load_host(self):
        self.osrt = []
        nests = "nestinglevel" in self.columns("OSRT_API")
        for x in self.timed("OSRT_API", "globalTid", "nameId", "nestingLevel"):
            self.who(x, x.globalTid)
            x.tid = x.globalTid & LOW24 if is_int(x.globalTid) else None
            x.gtid = x.globalTid
            x.name = self.string(x.nameId)
            x.outer = x.nestingLevel == 0 or not nests
            self.osrt.append(x)
        self.overhead = self.timed("CUPTI_ACTIVITY_KIND_OVERHEAD", "globalTid", "overheadType")

    # ---- joins ---------------------------------------------------------

    def match(self):
        """op.host (outermost call) and op.launch, by (process, correlation)."""
        self.calls_of = group_by((a for a in self.api if a.corr is not None),
                                 lambda a: (a.P, a.corr))
        blind = {a.P for a in self.api}
        no_process = all(x.P is None for x in self.ops) and len(blind) == 1
        for x in self.ops:
            P = next(iter(blind)) if no_process else x.P
            calls = self.calls_of.get((P, x.corr), []) if x.corr is not None else []
            again = overlapping(sorted(calls, key=lambda a: (a.s, -a.e, a.row)))
            calls = next((c for c in reversed(again) if c[0].s <= x.s), again[0] if again else [])
            x.host = calls[0] if calls else None
            x.launch = next((a for a in calls if a.is_launch), calls[-1] if calls else None)
        for a in self.api:
            a.ops = []
        for x in self.ops:
            if x.host:
                for a in {id(x.host): x.host, id(x.launch): x.launch}.values():
                    a.ops.append(x)

    def move_clocks(self, clocks):
        """Moves GPU times of (pid, ordinal) by the amount that the report states.

        The report is checked: as recorded, work must begin before its own call, or end after the
        blocking call that waited for it, and no longer do so when moved. Clocks that the report does
        not name must be right. Returns the violations.
        """
        def wrong(ops, shift):
            early = sum(1 for x in ops if x.host and x.s + shift < x.host.s)
            late = sum(1 for x in ops if x.host and x.kind == "memcpy" and x.copyKind == 2
                       and not x.host.short.endswith("Async") and x.e + shift > x.host.e)
            return early + late

        faults, moved = [], {(c["pid"], c["device_id"]): c["shift_ns"] for c in clocks}
        for key, ops in group_by(self.ops, lambda x: (x.pid, x.deviceId)).items():
            shift, slack = moved.pop(key, 0), 20000
            if shift and wrong(ops, 0) <= 2:
                faults.append(f"clock of {key}: moved by {shift} ns, but was right")
            if shift and wrong(ops, shift + (slack if shift > 0 else -slack)) > len(ops) // 2:
                faults.append(f"clock of {key}: moved by {shift} ns, and still wrong")
            for x in ops:
                x.s, x.e = x.s + shift, x.e + shift
        return faults + [f"clock of {key}: no such work" for key in moved]

    def drop_impossible(self):
        """Leaves out impossible work, and cuts work that lasts into the next (READING.md 7b)."""
        gone, ordered = set(), lambda x: not x.graphNodeId and x.kind != "graph" and not (
            x.kind == "memcpy" and x.copyKind in (11, 12, 13))
        by_clock = group_by((x for x in self.ops if x.host), lambda x: (x.P, x.deviceId))
        judged = {k for k, v in by_clock.items() if len(v) >= 3}
        self.ops.sort(key=lambda x: x.s)
        streams = group_by(self.ops, lambda x: (x.P, x.deviceId, x.contextId, x.streamId))
        for ops in streams.values():
            least = None
            for x in reversed(ops):
                h = x.host
                if h and h.s - x.s > 10**6 and (x.P, x.deviceId) in judged and (
                        least is not None and least < h.s or h.s - x.s > 10**9):
                    gone.add(id(x))
                elif h:
                    least = h.e if least is None else min(least, h.e)
            line = [x for x in ops if ordered(x) and id(x) not in gone]
            late, greatest, at = set(), None, 0
            for x in (x for x in line if x.host):    # calls of work that begins long before them
                while line[at].s < x.s - 2 * 10**6:
                    y = line[at]
                    if y.host and id(y) not in late:
                        greatest = max(greatest or y.host.s, y.host.s)
                    at += 1
                if greatest is not None and greatest > x.host.e:
                    late.add(id(x))
            kept = [x for x in line if id(x) not in late and x.s < x.e]
            cut = [(x, y.s) for x, y in zip(kept, kept[1:])
                   if x.s < y.s and x.e >= y.e and x.e - y.s > 10**5 and bool(x.host) == bool(y.host)]
            if len(late) + len(cut) <= len(line) // 16 + 1:
                gone |= late
                for x, end in cut:
                    x.e = end
        self.ops = [x for x in self.ops if id(x) not in gone]
        self.kernels = [x for x in self.ops if x.kind == "kernel"]
        self.graphs = [x for x in self.ops if x.kind == "graph"]

    def full_window(self):
        spans = [(x.s, x.e) for x in self.ops]
        # Rows that only name threads or declare domains are left out.
        ranges = [x for x in self.nvtx if x.stacked or x.loose or x.type in (34, 65)]
        if not spans:
            spans = [(x.s, x.e if x.e is not None else x.s)
                     for x in self.api + ranges + self.osrt if x.s >= 0]
        if not spans:
            return None
        return min(s for s, _ in spans), max(e for _, e in spans)

    # ---- work on a device ---------------------------------------------

    def graph_inside(self):
        """(process, correlation) of each replay with recorded nodes -> the union of the nodes."""
        nodes = [x for x in self.ops if x.kind != "graph" and x.graphNodeId and x.corr]
        return group_by(nodes, lambda x: (x.P, x.corr))

    def pieces(self):
        """[(op, device, spans)]: an op's time on each device it touches.

        A graph replay whose nodes were recorded keeps only the time no node covers.
        """
        if not hasattr(self, "_pieces"):
            inside, out = self.graph_inside(), []
            for x in self.ops:
                spans = [(x.s, x.e)]
                if x.kind == "graph" and (x.P, x.corr) in inside:
                    nodes = [(n.s, n.e) for n in inside[x.P, x.corr] if n.D == x.D]
                    spans = subtract(union(spans), union(nodes))
                out.extend((x, d, spans) for d in x.on)
            self._pieces = out
        return self._pieces

    def spans_on(self, device, wanted):
        return union(p for x, d, spans in self.pieces() if d == device and wanted(x)
                     for p in spans)

    def busy(self, device):
        if not hasattr(self, "_busy"):
            self._busy = {d: self.spans_on(d, lambda x: True) for d in self.devices}
        return self._busy[device]


def overlapping(calls):
    """Splits calls, which are in order of start, into runs that overlap."""
    runs, end = [], None
    for a in calls:
        if not runs or a.s >= end:
            runs.append([])
            end = a.e
        runs[-1].append(a)
        end = max(end, a.e)
    return runs


def uri_path(path):
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
