#!/usr/bin/env python3
"""dump2sql.py DUMPS OUT: each dump NAME.VARIANT.txt of the folder DUMPS becomes a
fixture NAME.VARIANT.sql in the folder OUT, in the shorthand of
tests/fixtures/_schema/short.sql; what is longer than LIMIT is compressed (.sql.gz).

Times are shifted to begin at 0; nothing else is changed or left out. A row has start and correlation
id as differences from the row before, which keeps the text short."""
import glob
import gzip
import os
import sys

LIMIT = 60000
NONE = str(0xFFFFFFFF)  # no stream, no event
# CUPTI's kinds of overhead with the numbers that nsys gives them: work of CUDA, and work of CUPTI.
CUDA_DOES = {"4": (6, "Runtime Triggered Module Loading"), "5": (7, "Lazy Function Loading"),
             "6": (8, "Command Buffer Full")}
CUPTI_DOES = {"1": 3, "2": 4, "3": 5}
UNKNOWN = 1
PID = (1 << 48) + (1 << 24)
HEAD = """\
-- {case}, {variant}: {steps} steps on an {gpu_name}, as captured; README.md says how.
-- Written by dump2sql.py. A row begins with start, length (ns) and correlation id;
-- start and id are differences from the row before.

-- @include _schema/v3_25.sql
-- @lazy

UPDATE META_DATA_CAPTURE SET value = 'Node'
WHERE name = 'CUDA_GRAPH_TRACE_OPTIONS:MODE';
INSERT INTO gpu (id, name) VALUES (0, '{gpu_name}');
UPDATE TARGET_INFO_GPU SET smCount = {sm}, l2CacheSize = {l2},
    totalMemory = {mem}, memoryBandwidth = {bw}, clockRate = {clock_hz};
INSERT INTO process (pid, name, device) VALUES (1, 'work', 0);
INSERT INTO intern VALUES ('CUPTI');
INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (7, 0, 1, 1, 1, 0, 3);
"""
ROWS = """\
INSERT INTO {}
SELECT start, start + column2, {}
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
{}) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
"""
# The table that rows of a kind go to, its columns after start and end, and their contents.
INTO = {
    "range": ("nvtx (t0, t1, pid, text)", "1, column4"),
    "call": ("api (t0, t1, pid, corr, name)", "1, corr, column4"),
    "kernel": ("kernel (t0, t1, device, pid, corr, stream, name, grid, regs)",
               "0, 1, corr, column4, column5, column6, column7"),
    "node": ("kernel (t0, t1, device, pid, corr, stream, name, grid, regs, graph, node)",
             "0, 1, corr, column4, column5, column6, column7,\n    column8, column9"),
    "copy": ("copy (t0, t1, device, pid, corr, stream, bytes, kind, src, dst)",
             "0, 1, corr, column4, column5, column6, column7,\n    column8"),
    "wait": ("sync (t0, t1, pid, corr, stream, event, event_sync)",
             "1, corr, column4, column5, column6"),
    "overhead": ("overhead (t0, t1, pid, corr, name, type)", "1, corr, column4, column5"),
    "cupti": ("PROFILER_OVERHEAD (start, end, globalTid, nameId, overheadType)",
              f"{PID + 1},\n    (SELECT id FROM StringIds WHERE value = 'CUPTI'), column4"),
}
STREAM = "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES ({}, 0, 1, 1, 1, 0, {});\n"
EVENTS = """\
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId, contextId, streamId,
    correlationId, globalPid, eventId, eventSyncId)
SELECT 0, 1, column1, column2, {}, column3, column4 FROM (VALUES
{});
"""


def span(kind, start, end, rest):
    """The table of a line with a start and an end, and its row; cutrace.h describes both."""
    at = [int(start), int(end) - int(start)]
    if kind == "N":
        return "range", at + [0] + rest
    if kind == "R":
        return "call", at + [int(rest[0])] + rest[1:]
    if kind == "Y":
        return "wait", at + [int(rest[0])] + [None if i == NONE else i for i in rest[1:]]
    if kind == "O":
        number, call = rest
        if number in CUDA_DOES:
            return "overhead", at + [int(call)] + list(reversed(CUDA_DOES[number]))
        return "cupti", at + [int(call), CUPTI_DOES.get(number, UNKNOWN)]
    stream, call, *rest = rest
    at += [int(call), stream]
    if kind == "C":  # CUPTI's kinds of memory begin with 1, those of nsys with 0
        return "copy", at + rest[:2] + [int(memory) - 1 for memory in rest[2:]]
    return ("node", at + rest) if rest[-1] != "0" else ("kernel", at + rest[:-2])


def literals(rows):
    def one(v):
        return "NULL" if v is None else str(v) if str(v).lstrip("-").isdigit() else f"'{v}'"
    return ",\n".join("(" + ",".join(map(one, row)) + ")" for row in rows)


def convert(lines):
    meta, streams, events, spans = {}, "", [], {into: [] for into in INTO}
    for line in lines:
        kind, *values = line.rstrip("\n").split("\t")
        if kind == "M":
            meta[values[0]] = values[1]
        elif kind == "Q":
            streams += STREAM.format(*values)
        elif kind == "E":
            events.append(values)
        else:
            into, row = span(kind, values[0], values[1], values[2:])
            spans[into].append(row)
    zero = min(row[0] for rows in spans.values() for row in rows)
    text = HEAD.format(**meta) + streams
    for into, rows in spans.items():
        start, call = zero, 0
        rows.sort(key=lambda row: row[0])
        for row in rows:
            row[0], start = row[0] - start, row[0]
            row[2], call = row[2] - call, row[2]
        if rows:
            text += ROWS.format(*INTO[into], literals(rows))
    return text + (EVENTS.format(PID, literals(events)) if events else "")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for path in glob.glob(os.path.join(sys.argv[1], "*.with*.txt")):
        with open(path, encoding="utf-8") as f:
            data = convert(f).encode()
        out = os.path.join(sys.argv[2], os.path.basename(path)[:-len("txt")] + "sql")
        if len(data) > LIMIT:
            out, data = out + ".gz", gzip.compress(data, mtime=0)
        with open(out, "wb") as f:
            f.write(data)


main()
