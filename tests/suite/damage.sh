#!/bin/sh
# Random damage (bytes, pages, a cut) in copies of exports. The program must neither crash nor hang
# (use 10 times the normal CPU time). It prints an error of one line (exit code 3) or a report. The
# sums of the report are those that SQLite computes from the damaged file, or there is a new
# warning. For a cut file the message says how much of it is there. DAMAGES=10000 runs longer.
# usage: damage.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
files="$b/fixtures/synthetic.sqlite $b/fixtures/era_v3_25.sqlite"
for t in h200_fuser t4_solver nsys2020_cudf a100_cuda_graphs mfu_2gpu_before; do
	[ -f "$traces/$t.sqlite" ] && files="$files $(realpath "$traces/$t.sqlite")"
done
# shellcheck disable=SC2086
python3 - "$b/nsys-explain" "$b/tests/property/prop_sql" "${DAMAGES:-300}" $files <<'P'
import csv, json, math, os, random, resource, sqlite3, subprocess, sys
prog, prop_sql, count, files = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
rng = random.Random(11)
LAUNCH = """(SELECT id FROM StringIds WHERE value GLOB 'cudaLaunchKernel*'
    OR value GLOB 'cuLaunchKernel*' OR value GLOB 'cudaGraphLaunch*')"""
SUMS = [  # CSV file, its columns, the same in plain SQL
    ("kernels", ["call_count", "total_time_ns"],
     'SELECT count(*), total("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL'),
    ("memcpy_summary", ["count", "bytes", "total_time_ns"],
     'SELECT count(*), total(bytes), total("end" - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY'),
    ("launches", ["count"],
     f"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId IN {LAUNCH}"),
]

def sums_of_report():
    ret = []
    for name, columns, _ in SUMS:
        with open(f"o/tables/{name}.csv", newline="") as f:
            rows = list(csv.DictReader(f))
        ret += [float(sum(int(r[c] or 0) for r in rows)) for c in columns]
    return ret

def sums_of_sqlite(path):
    """The sums by SQLite; None if SQLite finds the file damaged."""
    ret = []
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        here = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for _, columns, sql in SUMS:
            ok = sql.split(" FROM ")[1].split()[0] in here
            ret += [float(v) for v in db.execute(sql).fetchone()] if ok else [0.0] * len(columns)
        return ret
    except (sqlite3.Error, UnicodeDecodeError, OverflowError):
        return None
    finally:
        db.close()

def said():
    """The warnings, and the text of the section on the capture's quality."""
    with open("o/report.json") as f:
        d = json.load(f)
    checks = d["metrics"]["capture_quality"].get("checks", [])
    return set(d["warnings"]) | {c["detail"] for c in checks if c["status"] != "ok"}

def explain(path, limit):
    return subprocess.run([prog, path, "--out", "o", "-q"], stderr=subprocess.PIPE, timeout=300,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))

def damage(data):
    d = bytearray(data)
    how = rng.choice(["byte", "byte", "page", "zero", "cut"])
    at = rng.randrange(len(d)) if rng.random() < 0.8 else rng.randrange(min(8192, len(d)))
    if how == "byte":
        d[at] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del d[max(at, 100):]
    else:
        page = at // 4096 * 4096
        d[page:page + 4096] = rng.randbytes(4096) if how == "page" else bytes(4096)
    return how, at, d

def judge(how, p, known, compare):
    """What is wrong with an answer, or None."""
    lines = p.stderr.decode("utf-8", "replace").splitlines()
    if p.returncode == 3:
        return None if len(lines) == 1 else f"{len(lines)} lines"
    if p.returncode not in (0, 4):
        return f"exit {p.returncode}: {lines[:2]}"
    new = said() - known
    if p.returncode == 4 and not new:
        return "exit 4 without a warning"
    if how == "cut" and not any("the file is cut" in w for w in new):
        return "does not say that it is cut"
    if new:
        return None
    ours, theirs = sums_of_report(), sums_of_sqlite("t.sqlite")
    if ours != theirs:
        return f"no warning, but {ours} is {theirs} in SQLite"
    if compare and subprocess.run([prop_sql, "t.sqlite"], stdout=subprocess.DEVNULL).returncode:
        return "no warning, but the queries give other rows"
    return None

sound = {}
for f in files:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    explain(f, 60)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    if sums_of_report() != sums_of_sqlite(f):
        sys.exit(f"FAIL {f} undamaged: {sums_of_report()} is {sums_of_sqlite(f)} in SQLite")
    sound[f] = (open(f, "rb").read(), max(3, math.ceil(10 * spent)), said())
codes, bad = {}, 0
for i in range(count):
    f = rng.choice(files)
    data, limit, known = sound[f]  # CPU seconds: the machine may be busy
    how, at, d = damage(data)
    open("t.sqlite", "wb").write(d)
    try:
        p = explain("t.sqlite", limit)
        codes[p.returncode] = codes.get(p.returncode, 0) + 1
        why = judge(how, p, known, compare=i % 20 == 0)
    except subprocess.TimeoutExpired:
        why = "it hangs"
    if open("t.sqlite", "rb").read() != d or sorted(os.listdir(".")) not in (["o", "t.sqlite"], ["t.sqlite"]):
        why = f"the input is changed, or {os.listdir('.')} are left"
    if why:
        bad += 1
        print(f"FAIL {os.path.basename(f)} {how} at {at} (number {i}): {why}", flush=True)
print("exit codes:", dict(sorted(codes.items())))
print(f"damage: {count - bad} passed, {bad} failed")
sys.exit(bad > 0)
P
