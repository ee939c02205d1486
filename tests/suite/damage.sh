#!/bin/sh
# Random damage (bytes, pages, a cut) in copies of exports: no crash, no hang
# (10 times the normal CPU time), and every answer is a report (0, or 4 with a
# warning) or one line (3). DAMAGES=10000 for the long version.
# usage: damage.sh BUILD_DIR
set -u
b=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
traces=${NSX_TRACES:-$here/../../shared/traces}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
files="$b/fixtures/synthetic.sqlite $b/fixtures/era_v3_25.sqlite"
for t in h200_fuser t4_solver nsys2020_cudf a100_cuda_graphs mfu_2gpu_before; do
	[ -f "$traces/$t.sqlite" ] && files="$files $(realpath "$traces/$t.sqlite")"
done
cd "$work" || exit 1
# shellcheck disable=SC2086
python3 - "$b/nsys-explain" "${DAMAGES:-300}" $files <<'P'
import math, random, resource, subprocess, sys
prog, count, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
rng = random.Random(11)
sound = {}
for f in files:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([prog, f, "--json", "-q"], stdout=subprocess.DEVNULL, check=True)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    sound[f] = (open(f, "rb").read(), max(3, math.ceil(10 * spent)))
codes, bad = {}, 0
for i in range(count):
    f = rng.choice(files)
    data, limit = sound[f]  # CPU seconds: the machine may be busy
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
    open("t.sqlite", "wb").write(d)
    try:
        p = subprocess.run([prog, "t.sqlite", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=300, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
        codes[p.returncode] = codes.get(p.returncode, 0) + 1
        lines = p.stderr.decode("utf-8", "replace").splitlines()
        ok = p.returncode in (0, 3, 4) and (p.returncode != 3 or len(lines) == 1)
        ok = ok and (p.returncode != 4 or b'"warnings": []' not in p.stdout)
        why = f"exit {p.returncode}, {lines[:2]}"
    except subprocess.TimeoutExpired:
        ok, why = False, "it hangs"
    if not ok:
        bad += 1
        print(f"FAIL {f.split('/')[-1]} {how} at {at} (number {i}): {why}")
print("exit codes:", dict(sorted(codes.items())))
print(f"damage: {count - bad} passed, {bad} failed")
sys.exit(bad > 0)
P
