#!/bin/sh
# Every output has a bound. A trace of 120 000 kernels with different grids has as many kernel
# shapes: the table holds the most expensive ones and one row for the rest, or all with
# --all-rows. A job of 100 050 steps is bounded in the same way.
# Time has a bound, too: 10 000 processes may take a few times as long as two. A loop over rows
# times threads would exceed it: it once took 19 times as long. Many processes on one device, and
# many names of calls in a digest, once took a square of time and 69 kB a name.
# usage: bounds.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -o gen "$tests"/bench/gen*.c -lsqlite3 -lm &&
	./gen --kernels 250000 two.sqlite >/dev/null &&
	./gen --kernels 250000 --worst processes many.sqlite >/dev/null || exit 1
cp "$b/fixtures/occupancy.sqlite" t.sqlite
cp "$b/fixtures/launch_bound.sqlite" base.sqlite
python3 - <<'P' || exit 1
import sqlite3
db = sqlite3.connect("t.sqlite")
db.row_factory = sqlite3.Row
t = "CUPTI_ACTIVITY_KIND_KERNEL"
row = dict(db.execute(f"SELECT * FROM {t} ORDER BY start LIMIT 1").fetchone())
db.execute(f"DELETE FROM {t}")
rows = []
for i in range(120000):  # each takes longer than the one before
    row.update(start=i * 1000000, end=i * 1000000 + 100 + i, gridX=i + 1, correlationId=i + 1)
    rows.append(tuple(row.values()))
db.executemany(f"INSERT INTO {t} ({','.join(row)}) VALUES ({','.join('?' * len(row))})", rows)
db.commit()
few = sqlite3.connect("names.sqlite")  # 2000 kernels, each with a long name of its own
db.backup(few)
few.execute(f"DELETE FROM {t} WHERE gridX > 2000")
few.executemany("INSERT INTO StringIds (id, value) VALUES (?, ?)", [(10**6 + i, f"{i}" + "k" * 100) for i in range(2001)])
few.execute(f"UPDATE {t} SET shortName = 1000000 + gridX, demangledName = 1000000 + gridX")
few.commit()
t, calls = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
N = 60000
for kind in "alike", "shared", "named":  # one process; one per kernel, all on GPU 0; calls with names of their own
    db = sqlite3.connect(kind + ".sqlite")
    sqlite3.connect("base.sqlite").backup(db)
    db.row_factory = sqlite3.Row
    kernel, call = (dict(db.execute(f"SELECT * FROM {x} LIMIT 1").fetchone()) for x in (t, calls))
    db.execute(f"DELETE FROM {t}")
    db.execute(f"DELETE FROM {calls}")
    for i in range(N):
        process = i << 24 if kind == "shared" else 0
        k = dict(kernel, start=i * 10000 + 4000, end=i * 10000 + 9000, correlationId=i + 1, globalPid=kernel["globalPid"] + process)
        c = dict(call, start=i * 10000, end=i * 10000 + 2000, correlationId=i + 1, globalTid=call["globalTid"] + process)
        if kind == "named":
            c["nameId"] = 10**6 + i
            db.execute("INSERT INTO StringIds (id, value) VALUES (?, ?)", (10**6 + i, f"cuCall{i}"))
        for table, row in (t, k), (calls, c):
            db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", tuple(row.values()))
    db.commit()
P
"$b/nsys-explain" names.sqlite -q --html whole.html && "$b/nsys-explain" names.sqlite -q --html cut.html --html-max 250k || exit 1
"$b/nsys-explain" names.sqlite -q --html small.html --html-max 50k 2>small.txt; echo $? >small.rc
"$b/nsys-explain" t.sqlite -q --out o && "$b/nsys-explain" t.sqlite -q --all-rows --out all || exit 1
"$b/fleet-gen" job none ranks=2 hosts=1 steps=100050 colls=3 format=digest &&
	"$b/nsys-explain" fleet job/traces -q -o fo && "$b/nsys-explain" fleet job/traces -q --all-rows -o fall || exit 1
python3 - "$b/nsys-explain" <<'P'
import csv, os, resource, subprocess, sys
def cpu_seconds(trace):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.argv[1], trace, "-q", "--out", "of"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
def digest(trace):
    """Exit code, error and peak memory in kB."""
    p = subprocess.Popen([sys.argv[1], "digest", trace, "-q", "-o", "d.nsxd"], stderr=subprocess.PIPE, text=True)
    error = p.stderr.read()
    _, status, used = os.wait4(p.pid, 0)
    return os.waitstatus_to_exitcode(status), error, used.ru_maxrss
def read(d, table="kernel_shapes"):
    return list(csv.DictReader(open(f"{d}/tables/{table}.csv", newline="")))
cut, whole = read("o"), read("all")
rest = cut.pop()
steps, all_steps = read("fo", "steps"), read("fall", "steps")
more = steps.pop()
checks = {
    "time of many processes": cpu_seconds("many.sqlite") < 8 * cpu_seconds("two.sqlite"),
    "time of many processes on one GPU": cpu_seconds("shared.sqlite") < 10 * cpu_seconds("alike.sqlite"),
    "ranks of a trace": digest("shared.sqlite")[0] == 3 and "at most 1024 are read" in digest("shared.sqlite")[1],
    "memory of many names of calls": digest("named.sqlite")[2] < 3 * digest("alike.sqlite")[2],
    "all rows": len(whole) == 120000,
    "the bound": len(cut) == 100000,
    "the most expensive": cut == whole[:100000],
    "the rest is named": rest["kernel_name"] == "(20000 more rows)",
    "its calls": int(rest["call_count"]) == 20000,
    "its time": abs(float(rest["total_ms"]) - sum(100 + i for i in range(20000)) / 1e6) < 1e-6,
    "no mean of means": rest["occupancy_pct"] == "" and rest["grid"] == "",
    "all steps": len(all_steps) > 100000,
    "the bound of steps": steps == all_steps[:100000],
    "their time": abs(float(more["wall_ms"]) - sum(float(x["wall_ms"]) for x in all_steps[100000:])) < 1e-6,
    "a page of long names": os.path.getsize("whole.html") > 300000,
    "a page within its bound": os.path.getsize("cut.html") <= 250000,
    "no page within 50 KB": open("small.rc").read() == "2\n" and "without its timeline it takes" in open("small.txt").read()
                            and not os.path.exists("small.html"),
    "the report says so": "`tables/kernel_shapes.csv` has " in open("o/report.md").read(),
}
for name, holds in checks.items():
    if not holds:
        print("FAIL bounds:", name)
bad = list(checks.values()).count(False)
print(f"bounds: {len(checks) - bad} passed, {bad} failed")
raise SystemExit(bad > 0)
P
