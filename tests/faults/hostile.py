"""hostile.py BUILD_DIR WORK_DIR FIELDS.DEF LONG - for suite/hostile.sh, which
says what is tested."""
import concurrent.futures
import csv
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from case import finish, read, report

BUILD, WORK, FIELDS, LONG = sys.argv[1:5]
PROGRAM = BUILD + "/nsys-explain"
MOST_CPU_S = 20
FIXTURES = ["synthetic", "graphs_trace", "um_faults", "gpu_metrics", "memory_usage", "nccl_payload", "sched_states",
            "osrt", "libraries", "profiler_cost", "stream_wait", "nvtx_domains", "backpressure"]
VALUES = ["NULL", "'text'", "x'00ff'", "0.5", "9223372036854775807", "-9223372036854775808", "-1", "4294967295"]


def explain(trace, out, threads):
    return subprocess.run([PROGRAM, trace, "--out", out, "-q", "--threads", str(threads)], stderr=subprocess.PIPE,
                          timeout=300, preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S)))


def doubtful(folder):
    """A figure of a report that is impossible for any trace, or None."""
    for name in sorted(os.listdir(folder + "/tables")):
        with open(f"{folder}/tables/{name}", newline="") as f:
            for row in csv.DictReader(f):
                for key, cell in row.items():
                    try:
                        value = float(cell)
                    except (TypeError, ValueError):
                        continue
                    if value != value or abs(value) == float("inf"):
                        return f"{name}: {key} is {cell}"
                    if value < 0 and re.search(r"duration|total|busy|idle_ms|count|bytes|cost|exposed", key) \
                            and not re.search(r"live_bytes|slope", key):
                        return f"{name}: {key} is {cell}"
                    if value > 100 + 1e-9 and re.search(r"pct|Time \(%\)", key) and "skew" not in key:
                        return f"{name}: {key} is {cell}"
    return None


def judge(trace, allowed=(0, 4), says=None):
    """A description of the error in the answers on a trace, or None."""
    before, folders = read(trace), []
    for threads in (1, 4):
        out = f"{os.path.dirname(trace)}/o{threads}"
        p = explain(trace, out, threads)
        errors = p.stderr.decode("utf-8", "replace")
        if p.returncode not in allowed:
            return f"exit {p.returncode}: {errors[:300]}"
        if p.returncode == 3:
            return None if len(errors.splitlines()) == 1 and (says or "") in errors else f"exit 3: {errors[:300]}"
        folders.append(report(out))
    if read(trace) != before:
        return "the input is changed"
    if folders[0] != folders[1]:
        return "1 and 4 threads differ in " + ", ".join(
            sorted(n for n in folders[0] if folders[0][n] != folders[1].get(n)))
    if says and says not in folders[0]["report.json"].decode():
        return f"does not say '{says}'"
    return doubtful(f"{os.path.dirname(trace)}/o1")


class Trace:
    """A copy of a fixture, in a folder of its own, which a test changes."""

    def __init__(self, fixture):
        self.dir = tempfile.mkdtemp(dir=WORK)
        self.path = self.dir + "/t.sqlite"
        if fixture:
            shutil.copy(f"{BUILD}/fixtures/{fixture}.sqlite", self.path)

    def change(self, *statements):
        db = sqlite3.connect(self.path, isolation_level=None)
        db.executescript("PRAGMA ignore_check_constraints = 1; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        for sql in statements:
            db.executescript(sql) if isinstance(sql, str) else sql(db)
        db.close()

    def result(self, name, **want):
        try:
            why = judge(self.path, **want)
        except subprocess.TimeoutExpired:
            why = "it hangs"
        shutil.rmtree(self.dir)
        return f"FAIL {name}: {why}" if why else None


# Every column -----------------------------------------------------------------

def known_columns():
    """[(tables, columns)] of fields.def, with all candidates."""
    tables, ret = {}, []
    for view, names in re.findall(r'NSX_VIEW\((\w+), "([^"]+)"', read(FIELDS).decode()):
        tables[view] = names.split("|")
    libraries = read(FIELDS.replace("fields.def", "libraries.def")).decode()
    for table, name in re.findall(r'NSX_LIBRARY\(\w+, \w+, "(\w+)", "(\w+)"', libraries):
        ret += [(table, c) for c in ("start", "end", "globalTid", name)]
    for view, names in re.findall(r'NSX_FIELD\((\w+), \w+, "([^"]+)"', read(FIELDS).decode()):
        ret += [(t, c) for t in tables.get(view, ()) for c in names.split("|")]
    return ret


def loosen(db, table):
    """Makes the table anew without types, keys and NOT NULL, so that it can hold any value."""
    db.executescript(f'CREATE TABLE loose AS SELECT * FROM "{table}"; DROP TABLE "{table}";')
    names = [r[1] for r in db.execute("PRAGMA table_info(loose)")]
    columns = ", ".join('"' + n + '"' for n in names)
    db.executescript(f'CREATE TABLE "{table}" ({columns}); INSERT INTO "{table}" SELECT * FROM loose; '
                     "DROP TABLE loose;")


def spoilt_columns():
    """(fixture, table, column, value, whether in every row)"""
    seen = set()
    for fixture in FIXTURES:
        db = sqlite3.connect(f"{BUILD}/fixtures/{fixture}.sqlite")
        for table, column in known_columns():
            try:
                rows = db.execute(f'SELECT count("{table}"."{column}") FROM "{table}"').fetchone()[0]
            except sqlite3.Error:
                continue
            if not rows or ((table, column) in seen and not LONG):
                continue
            seen.add((table, column))
            for value in VALUES if LONG else VALUES[len(seen) % 2::2]:
                yield fixture, table, column, value, True
                if LONG:
                    yield fixture, table, column, value, False
        db.close()


def spoil(job):
    fixture, table, column, value, everywhere = job
    where = "" if everywhere else " WHERE rowid % 3 = 1"
    t = Trace(fixture)
    t.change(lambda db: loosen(db, table), f'UPDATE "{table}" SET "{column}" = {value}{where}')
    return t.result(f"{fixture}: {table}.{column} = {value}{where}", allowed=(0, 3, 4))


# Views, virtual tables and other things in place of tables ----------------------

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"


def instead_of_kernels(name, sql, **want):
    t = Trace("synthetic")
    t.change(f"ALTER TABLE {KERNEL} RENAME TO k0", sql)
    return t.result(name, **want)


def no_tables():
    yield instead_of_kernels("a view that never ends", f"""CREATE VIEW {KERNEL} AS
        WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)
        SELECT start, start + 1 AS "end", 0 AS deviceId FROM n""", says="view")
    yield instead_of_kernels("a view of itself by another", f"""CREATE VIEW v AS SELECT * FROM {KERNEL};
        CREATE VIEW {KERNEL} AS SELECT * FROM v""", says="view")
    yield instead_of_kernels("a view of nothing", f"CREATE VIEW {KERNEL} AS SELECT * FROM nowhere", says="view")
    yield instead_of_kernels("a view of a function", f"""CREATE VIEW {KERNEL} AS
        SELECT load_extension('x') AS start, randomblob(1000000000) AS "end" """, says="view")
    yield instead_of_kernels("full text search", f'CREATE VIRTUAL TABLE {KERNEL} USING fts5(start, "end", deviceId)',
                             says="virtual table")
    yield instead_of_kernels("an r-tree", f'CREATE VIRTUAL TABLE {KERNEL} USING rtree(id, start, "end")',
                             says="virtual table")
    yield instead_of_kernels("a module that is not there", f"""PRAGMA writable_schema = 1; INSERT INTO sqlite_master
        VALUES ('table', '{KERNEL}', '{KERNEL}', 0, 'CREATE VIRTUAL TABLE {KERNEL} USING evil(x)')""",
                             says="virtual table")
    yield instead_of_kernels("generated columns", f"""CREATE TABLE {KERNEL} (start INTEGER, length INTEGER,
        "end" INTEGER AS (start + length) VIRTUAL, deviceId INTEGER);
        INSERT INTO {KERNEL} (start, length, deviceId) VALUES (1, 2, 0)""", says="generated")
    yield instead_of_kernels("without row ids", f"""CREATE TABLE {KERNEL} (start INTEGER, "end" INTEGER, deviceId
        INTEGER, shortName INTEGER, PRIMARY KEY (start, deviceId)) WITHOUT ROWID;
        INSERT OR IGNORE INTO {KERNEL} SELECT start, "end", deviceId, shortName FROM k0""")
    yield instead_of_kernels("an index for a table", f"CREATE INDEX {KERNEL} ON k0 (start)")
    yield instead_of_kernels("2000 columns", f"CREATE TABLE {KERNEL} (start, \"end\", deviceId, " + ", ".join(
        f"c{i} DEFAULT 'x'" for i in range(1997)) + f'); INSERT INTO {KERNEL} (start, "end", deviceId) VALUES (1, 5, 0)')
    yield instead_of_kernels("columns named alike", f"""CREATE TABLE {KERNEL} ("start" INTEGER, "START " INTEGER,
        "end" INTEGER, "select" INTEGER, "a""b" INTEGER, "new
        line" INTEGER, deviceId INTEGER); INSERT INTO {KERNEL} VALUES (1, 2, 3, 4, 5, 6, 0)""")
    t = Trace("synthetic")
    t.change(f"CREATE TRIGGER boom AFTER INSERT ON {KERNEL} BEGIN DELETE FROM {KERNEL}; END",
             *(f'CREATE TABLE "{n}" ("group" INTEGER)' for n in
               ("select", "it''s", "a.b", "-- x", "new\nline", "; DROP TABLE StringIds", '""', " ")))
    yield t.result("triggers and odd names")
    t = Trace("synthetic")
    t.change(*(f"CREATE TABLE t{i} (x)" for i in range(3000)))
    yield t.result("3000 tables")


# Names ------------------------------------------------------------------------------

EVIL = "Z\x1b[31m\n# Heading [a](javascript:b) <i>c</i> "
NAMED = ["synthetic", "load_pause", "alloc_stall", "osrt", "mpi_no_gpu", "gpu_metrics_odd", "call_after_wait"]
ASKED = [["verdict"], ["findings"], ["finding", "1"], ["gaps"], ["section", "capture_quality"]]


def name_all(db):
    """Makes every text of the trace begin with EVIL: the strings, and texts in rows."""
    for table, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'ENUM%' "
                             "AND name NOT LIKE 'META%' AND name NOT LIKE 'sqlite%'").fetchall():
        for _, column, *_ in db.execute(f'PRAGMA table_info("{table}")').fetchall():
            db.execute(f"""UPDATE OR IGNORE "{table}" SET "{column}" = ? || "{column}"
                WHERE typeof("{column}") = 'text' AND "{column}" NOT LIKE '{{%'""", (EVIL,))


def texts(path):
    """Yields (name, text) for everything that is printed and written about a trace."""
    out = os.path.dirname(path) + "/o"
    yield "stdout", subprocess.run([PROGRAM, path, "--out", out], capture_output=True).stdout
    yield "report.md", read(out + "/report.md")
    for question in ASKED:
        yield " ".join(question), subprocess.run([PROGRAM, "ask", path, *question], capture_output=True).stdout
    for command in (["diff", path, path, "--md"], ["fleet", path, "--md"]):
        yield command[0], subprocess.run([PROGRAM, *command], capture_output=True).stdout


def evil_names():
    for fixture in NAMED:
        t = Trace(fixture)
        t.change(name_all)
        why = [f"{what}: {m.group(0)!r}" for what, text in texts(t.path)
               for m in [re.search(rb"[^\n]{0,40}(Z\x1b|\n# Heading)", text)] if m]
        shutil.rmtree(t.dir)
        yield f"FAIL names of {fixture}: {why[0]}" if why else None


# Masses ------------------------------------------------------------------------------

def masses():
    many = 1000000 if LONG else 100000
    t = Trace("synthetic")
    t.change(f"""WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < {many})
        INSERT INTO StringIds SELECT i, printf('%.*c', 1000, 'x') || i FROM n""")
    yield t.result(f"{many} strings of 1 KB")
    t = Trace("synthetic")
    t.change(f"""WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < {1000 + many // 1000})
        INSERT INTO StringIds SELECT i, printf('%.*c', 1000000, 'x') || i FROM n""")
    yield t.result(f"{many // 1000} strings of 1 MB")
    t = Trace("synthetic")
    t.change("INSERT INTO StringIds SELECT 1000, printf('%.*c', 100000000, 'x')",
             f"UPDATE {KERNEL} SET shortName = 1000, demangledName = 1000")
    yield t.result("a name of 100 MB")
    t = Trace("synthetic")
    t.change(lambda db: loosen(db, KERNEL), f"""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
        WHERE i < {many}) INSERT INTO {KERNEL} (start, "end", deviceId, streamId, correlationId, globalPid,
        demangledName, shortName) SELECT i * 10, i * 10 + 5, 0, i % 7, -i, i << 24, -i, i + 5000000 FROM n""")
    yield t.result(f"{many} dangling ids")
    t = Trace("synthetic")
    t.change(lambda db: loosen(db, KERNEL), f"""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
        WHERE i < {many // 10}) INSERT INTO {KERNEL} (start, "end", deviceId, streamId, globalPid, shortName)
        SELECT i % 2 * -9223372036854775807, 9223372036854775807 - i, i, -i, -i, i FROM n""")
    yield t.result("spans over all of int64")


def main():
    jobs = list(spoilt_columns())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(spoil, jobs))
    results += no_tables()
    results += evil_names()
    results += masses()
    return finish("hostile", results)


sys.exit(main())
