#!/usr/bin/env python3
"""Checks that the tables of events of two exports have the same rows in the same order, in all
columns that both have.

usage: same.py OURS.sqlite NVIDIAS.sqlite
Names of processes and files are left out, because they were rewritten in the public files.
"""
import sqlite3
import sys

# The texts of these tables were rewritten one by one, to remove the names of people and machines.
REWRITTEN = ("PROCESSES", "StringIds", "ANALYSIS_FILE", "TARGET_INFO_SYSTEM_ENV", "META_DATA_CAPTURE", "META_DATA_EXPORT",
             "TARGET_INFO_NIC_INFO", "NIC_ID_MAP")


def tables(db):
    return [t for (t,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'ENUM%'")]


def columns(db, table):
    return [c[1] for c in db.execute("PRAGMA table_info(%s)" % table)]


def main():
    ours, theirs = (sqlite3.connect("file:%s?mode=ro" % p, uri=True) for p in sys.argv[1:])
    have, failed, rows = tables(ours), 0, 0
    for t in tables(theirs):
        n = theirs.execute("SELECT count(*) FROM " + t).fetchone()[0]
        if not n or t in REWRITTEN:
            continue
        if t not in have:
            print("%s: %d rows are missing" % (t, n))
            failed = 1
            continue
        both = [c for c in columns(theirs, t) if c in columns(ours, t)]
        only = [c for c in columns(theirs, t) if c not in both and
                theirs.execute('SELECT count("%s") FROM %s' % (c, t)).fetchone()[0]]
        sql = "SELECT %s FROM %s" % (", ".join('"%s"' % c for c in both), t)
        a, b = ours.execute(sql).fetchall(), theirs.execute(sql).fetchall()
        rows += len(b)
        if a != b or only:
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            print("%s: %d rows, %d of theirs; row %d: %s, theirs %s; columns missing: %s" % (
                t, len(a), len(b), at, a[at:at + 1], b[at:at + 1], only))
            failed = 1
    if not rows:
        print("nothing was compared")
        failed = 0 if not [t for t in tables(theirs) if t.startswith("CUPTI")] else 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
