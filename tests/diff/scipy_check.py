"""Checks the statistics of a comparison against scipy's. usage: scipy_check.py DIFF_REPORT"""
import csv, json, sys
import numpy as np
from scipy import stats

d = json.load(open(sys.argv[1] + "/diff.json"))
rows = list(csv.DictReader(open(sys.argv[1] + "/tables/diff_units.csv")))
compared = exact = 0

def near(what, x, y, rel=1e-9):
    assert abs(x - y) <= rel * max(abs(x), abs(y), 1e-300), (what, x, y)

for g in d["gpus"]:
    v = {side: np.array([float(r["wall_ns"]) for r in rows if r["side"] == side and int(r["gpu"]) == g["gpu"]])
         for side in ("before", "after")}
    a, b, s = v["after"], v["before"], g["shift"]
    if not s or min(len(a), len(b)) < 4:
        continue
    near("shift", s["ms"] * 1e6, np.median(np.subtract.outer(a, b)))
    tied = len(set(a) | set(b)) < len(a) + len(b)
    if not (s["p_exact"] and tied):  # scipy counts no arrangements of ties
        t = stats.mannwhitneyu(a, b, alternative="two-sided", method="exact" if s["p_exact"] else "asymptotic")
        near("p", s["p"], t.pvalue, 1e-7)
        near("u", s["u"], t.statistic)
        near("a12", s["a12"], t.statistic / len(a) / len(b))
        compared += 1
        exact += s["p_exact"]
    for side, x in v.items():
        w = next(w for w in d["samples"][side] if w["gpu"] == g["gpu"])
        near("median", w["median_ms"] * 1e6, np.median(x))
        near("mean", w["mean_ms"] * 1e6, np.mean(x), 1e-6)
        near("p95", w["p95_ms"] * 1e6, np.quantile(x, 0.95))
        near("cv", w["cv"], stats.variation(x, ddof=1), 1e-6)
        if w["captures"] == 1 and len(x) <= 512:  # of more every second, third ... is looked at
            near("drift", w["drift"], stats.theilslopes(x)[0] * len(x) / np.median(x), 1e-6)
print(compared, exact)
