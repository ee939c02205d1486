#!/usr/bin/env python3
"""Copies of a trace that must give the same answers.

mutate.py shuffle|shift|below|across|split SEED IN.sqlite OUT.sqlite
  shuffle  puts the rows of every table in another order, with new row ids
  shift    adds a constant to every instant, so that they count from 1970
  below    adds a constant to every instant, so that all are negative
  across   adds a constant to every instant, so that GPU work begins before 0 and ends after it
  split    makes two rows with touching halves of every kernel
"""
import random
import sqlite3
import sys

TIMES = ("start", "end", "timestamp")
GPU_WORK = {"CUPTI_ACTIVITY_KIND_" + n for n in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")}
SHIFT = 1_750_000_007_000_000_123  # as with --ts-normalize: a double does not hold it to the nanosecond


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def tables(db):
    rows = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"
                      " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    return [(n, s) for n, s in rows.fetchall() if not s.upper().startswith("CREATE VIRTUAL")]


def columns(db, table):
    return [r[1] for r in db.execute(f"PRAGMA table_info({quote(table)})")]


def gpu_middle(db):
    """The middle between the first and the last time of GPU work, or of any table without GPU work."""
    found = [db.execute(f'SELECT min("start"), max("end") FROM {quote(n)}').fetchone()
             for n, _ in tables(db) if {"start", "end"} <= {c.lower() for c in columns(db, n)}
             and n in GPU_WORK]
    found = [x for pair in found for x in pair if isinstance(x, int)]
    return (min(found) + max(found)) // 2 if found else 0


def shift(table, names, rows, by):
    # A session begins at 0, so its duration is also the time of its end, and is shifted.
    times = TIMES + ("duration",) if table == "ANALYSIS_DETAILS" else TIMES
    at = [i for i, n in enumerate(names) if n.lower() in times]
    for row in rows:
        row = list(row)
        for i in at:
            if isinstance(row[i], int):
                row[i] += by
        yield row


def split(names, rows):
    lower = [n.lower() for n in names]
    a, b = lower.index("start"), lower.index("end")
    for row in rows:
        if not (isinstance(row[a], int) and isinstance(row[b], int)) or row[b] - row[a] < 2:
            yield row
            continue
        middle = (row[a] + row[b]) // 2
        first, second = list(row), list(row)
        first[b] = second[a] = middle
        yield first
        yield second


def main():
    how, seed, source, target = sys.argv[1:5]
    rng = random.Random(int(seed))
    db = sqlite3.connect(f"file:{source}?mode=ro&immutable=1", uri=True)
    out = sqlite3.connect(target)
    by = {"shift": SHIFT, "below": -SHIFT, "across": -gpu_middle(db)}
    for name, sql in tables(db):
        out.execute(sql)
        names = columns(db, name)
        rows = db.execute(f"SELECT * FROM {quote(name)}").fetchall()
        if how == "shuffle":
            rng.shuffle(rows)
        elif how in by:
            rows = shift(name, names, rows, by[how])
        elif how == "split" and "KERNEL" in name.upper() and "start" in names:
            rows = split(names, rows)
        marks = ", ".join("?" for _ in names)
        out.executemany(f"INSERT INTO {quote(name)} VALUES ({marks})",
                        rows)
    out.commit()


main()
