"""Changes copies of real captures in a known way, and checks what a comparison with the original says.
usage: perturb.py NSYS_EXPLAIN FOLDER_OF_TRACES
"""
import bisect, json, os, shutil, sqlite3, subprocess, sys

prog, traces = sys.argv[1:]
KERNEL, COPY = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"

def union(spans):
    v = []
    for a, b in sorted(spans):
        if v and a <= v[-1][1]:
            v[-1][1] = max(v[-1][1], b)
        else:
            v.append([a, b])
    return v

def columns(db):
    for t, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        yield t, {c[1] for c in db.execute(f"PRAGMA table_info('{t}')")}

def spans(db, which="", tables=(KERNEL, COPY, "CUPTI_ACTIVITY_KIND_MEMSET")):
    have = dict(columns(db))
    return union(x for t in tables if t in have for x in db.execute(f"SELECT start, \"end\" FROM {t} {which}"))

def stretch(db, spans, factor):
    """Makes all time within the spans longer by the factor; everything behind moves."""
    at, moved, by = [], [], 0
    for a, b in spans:
        at += [a, b]
        moved += [(by, factor), (by + (b - a) * (factor - 1), 1)]
        by += (b - a) * (factor - 1)
    def later(t):
        i = bisect.bisect_right(at, t) - 1 if isinstance(t, int) else -1
        return t if i < 0 else t + round(moved[i][0] + (t - at[i]) * (moved[i][1] - 1))
    db.create_function("later", 1, later, deterministic=True)
    for t, have in columns(db):
        if "start" in have and not t.startswith("TARGET"):
            db.execute(f"UPDATE '{t}' SET start = later(start)" + (', "end" = later("end")' if "end" in have else ""))

def gaps(db):
    v = spans(db)
    return [(x[1], y[0]) for x, y in zip(v, v[1:])]

def kernels(db, factor):
    stretch(db, spans(db, tables=(KERNEL,)), factor)

def one_kernel(db, factor):
    name, = db.execute(f"SELECT shortName FROM {KERNEL} GROUP BY 1 ORDER BY SUM(\"end\" - start) DESC").fetchone()
    stretch(db, spans(db, f"WHERE shortName = {name}", (KERNEL,)), factor)

def twice_copied(db, _):
    stretch(db, spans(db, tables=(COPY,)), 2)
    db.execute(f"CREATE TEMP TABLE twice AS SELECT * FROM {COPY}")
    db.execute('UPDATE twice SET start = (start + "end") / 2')
    db.execute(f'UPDATE {COPY} SET "end" = (start + "end") / 2')
    db.execute(f"INSERT INTO {COPY} SELECT * FROM twice")

def idle(db, factor):
    stretch(db, gaps(db), factor)

def recorded_less(db, factor):
    idle(db, factor)
    db.execute("DROP TABLE OSRT_API")

def paused(db, share):
    """One gap in the second half becomes longer, by a share of the whole."""
    v, all = gaps(db), spans(db)
    a, b = min(v[len(v) // 2:], key=lambda x: x[1] - x[0])
    stretch(db, [(a, b)], 1 + share * (all[-1][1] - all[0][0]) / (b - a))

def slower_host(db, factor):
    """The host copies memory that is not pinned: its calls, its code and its copies take longer."""
    v = spans(db, tables=(KERNEL,))
    stretch(db, [(0, v[0][0])] + [(x[1], y[0]) for x, y in zip(v, v[1:])] + [(v[-1][1], 1 << 60)], factor)

def cut(db, factor):
    """Leaves the first part of the time."""
    v = spans(db)
    end = v[0][0] + factor * (v[-1][1] - v[0][0])
    for t, have in columns(db):
        if "start" in have and not t.startswith("TARGET"):
            db.execute(f"DELETE FROM '{t}' WHERE start > {end}")

def renamed(db, _):
    names = " UNION ".join(f"SELECT {c} FROM {KERNEL}" for c in ("shortName", "demangledName"))
    db.execute(f"UPDATE StringIds SET value = 'other_' || value WHERE id IN ({names})")

def regrouped(db, _):
    db.execute(f"UPDATE {KERNEL} SET gridX = gridX / 2, blockX = blockX * 2 WHERE gridX % 2 = 0")

def recompiled(db, factor):
    db.execute(f"UPDATE {KERNEL} SET registersPerThread = 32")
    kernels(db, factor)

def doubled(db, factor):
    db.execute(f"UPDATE {KERNEL} SET gridX = gridX * 2")
    kernels(db, factor)

def other_gpu(db, factor):
    db.execute("UPDATE TARGET_INFO_GPU SET name = 'NVIDIA L4', smCount = 58, computeMajor = 8, computeMinor = 9, "
               "clockRate = 2040000000, memoryBandwidth = 300000000000")
    kernels(db, factor)

def whole(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    v = spans(db)
    return v[-1][1] - v[0][0]

# Factor 1: nothing changes. All changes of the whole are the true ones, measured on the rows.
cases = [
    # trace, change, its factor, the verdict, and words of the first line
    ("job_rank0", twice_copied, 1, "neutral", "but the run takes 3.04 s instead of 2.95 s"),
    ("a100_llm_nvtx", recompiled, 0.85, "improvement", "(sgemm)` (registers 122 → 32"),
    ("life_a1", doubled, 2, "regression", "125 G → 251 G threads in all: is more computed?", "grid 313×313 → 626×313"),
    ("t4_solver", doubled, 2, "regression", "`dag_lts_kernel` (other grids"),
    ("a100_llm_nvtx", kernels, 1, "neutral"), ("a100_llm_nvtx", kernels, 1.1, "regression"),
    ("a100_llm_nvtx", idle, 0.3, "improvement"), ("a100_llm_nvtx", idle, 2, "regression"),
    ("a100_llm_nvtx", renamed, 1, "neutral"), ("a100_llm_nvtx", one_kernel, 0.7, "improvement"),
    ("a100_llm_nvtx", other_gpu, 1.5, "inconclusive"), ("t4_solver", kernels, 1, "neutral"),
    ("t4_solver", renamed, 1, "neutral"), ("t4_solver", one_kernel, 1.2, "regression"),
    ("t4_solver", kernels, 1.01, "neutral"), ("life_a1", regrouped, 1, "neutral"),
    ("life_a1", other_gpu, 1, "inconclusive"), ("life_a1", other_gpu, 8, "regression"),
    ("life_a1", idle, 0.3, "inconclusive"), ("omp_target_copies", twice_copied, 1, "regression"),
    ("vecadd_pageable", slower_host, 1.08, "inconclusive", "3 runs a side would tell"),
    ("omp_target_copies", slower_host, 1.08, "inconclusive", "3 runs a side would tell"),
    ("life_a1", paused, 0.2, "inconclusive", "one or two pauses"),
    ("jacobi_mpi_rank", paused, 0.2, "inconclusive", "one or two pauses"), ("rows_slow_host", paused, 0.2, "inconclusive", "one or two pauses"),
    ("a100_llm_nvtx", recorded_less, 0.3, "inconclusive", "one side recorded more"), ("t4_solver", recorded_less, 0.6, "inconclusive", "one side recorded more"),
    ("unified_memory", cut, 0.6, "inconclusive"), ("vecadd_pinned", twice_copied, 1, "regression"), ("vecadd_pinned", one_kernel, 1.2, "neutral"),
    ("rtx3070ti_training", kernels, 1, "neutral"), ("rtx3070ti_training", one_kernel, 0.7, "improvement"),
    ("rtx3070ti_training", twice_copied, 1, "regression"), ("julia_waits", kernels, 1.1, "regression"),
]
failed = 0
for name, change, factor, wanted, *words in cases:
    before = f"{traces}/{name}.sqlite"
    shutil.copy(before, "after.sqlite")
    os.chmod("after.sqlite", 0o600)
    db = sqlite3.connect("after.sqlite")
    db.execute("DROP TABLE IF EXISTS TARGET_INFO_SESSION_START_TIME")
    db.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, systemClockNs INTEGER)")
    db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs, systemClockNs) VALUES (1757000000000000000, 7)")
    change(db, factor)
    db.commit()
    db.close()
    def diff(*options):
        return subprocess.run([prog, "diff", before, "after.sqlite", *options], capture_output=True, check=True, text=True).stdout
    d = json.loads(diff("--json"))
    true = [whole(before), whole("after.sqlite")]
    told = [round(1e6 * d["totals"][s]["whole_ms"]) for s in ("before", "after")]
    if d["verdict"] != wanted or told != true or any(w not in diff("-o", "d") for w in words):
        failed += 1
        print(f"{name}, {change.__name__} {factor}: {d['verdict']} ({d['why']}), {told} of {true}")
sys.exit(failed > 0)
