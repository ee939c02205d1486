"""Checks a diff.json: rules that hold for every comparison, and the planted changes.

usage: check.py sums DIFF.json...            rows add up to the rows above them, to the nanosecond
       check.py zero DIFF.json               every figure is zero, and it is said why
       check.py planted DIFF.json NAME       the change is in its row, all others are within 1 us of zero
       check.py verdict DIFF.json...         prints the verdict of each
"""
import collections
import json
import sys

# For each fixture: rows of the budget, by (gpu, class), with their change in ns; and the row of a kernel: name, match, part, ns.
PLANTED = {
    "slower": ({(0, "compute"): 6000}, ("attn", "exact", "own_ns", 6000)),
    "one_more": ({(0, "compute"): 70000}, ("norm", "exact", "count_ns", 70000)),
    "grid": ({(0, "compute"): -45000}, ("drop", "shape", "own_ns", -45000)),
    "template": ({(0, "compute"): 4000}, ("void gemm_tile<128>(float *)", "template", "own_ns", 4000)),
    "renamed": ({}, ("scale_add", "variant", "delta_ns", 0)),
    "split_k": ({(0, "compute"): -15000}, ("void gemm_nt<float>(float *)", "variant", "own_ns", -15000)),
    "neighbours": ({(0, "compute"): 10000}, ("gelu", "variant", "own_ns", 10000)),
    "heavy": ({(0, "compute"): 84000}, None),
    "clocks": ({(0, "compute"): 86662}, None),
    "sync": ({(0, "idle"): 50000, (0, "host_code"): 49000}, None),
    "late_rank": ({(0, "communication"): 30000, (0, "wait"): 30000, (1, "compute"): 30000},
                  ("optim", "exact", "own_ns", 30000)),
    "unequal": ({}, None),  # 3 us in one of 17 units: 176 ns of communication
}


def load(path):
    with open(path) as f:
        return json.load(f)


def sums(doc):
    """Yields a message for each row that does not add up."""
    children = collections.defaultdict(lambda: [0, 0, 0])
    rows = {}
    gpus = collections.Counter(r["gpu"] for r in doc["budget"] if r["class"] == "total")
    if any(n > 1 for n in gpus.values()):
        return []  # two processes on a GPU: rows of one number
    for r in doc["budget"]:
        v = [r["before_ns"], r["after_ns"], r["delta_ns"]]
        if v[1] - v[0] != v[2]:
            yield "a row's change is not after - before: %s" % r
        if r["parent"] is None:
            rows[r["gpu"], r["class"]] = v
        if r["class"] != "total":
            k = children[r["gpu"], r["parent"] or "total"]
            for i in range(3):
                k[i] += v[i]
    kernels = collections.defaultdict(lambda: [0, 0, 0])
    for r in doc["kernels"]:
        if r["count_ns"] + r["clock_ns"] + r["own_ns"] != r["delta_ns"]:
            yield "the parts of a kernel's change do not add up: %s" % r
        for i, key in enumerate(("before_ns", "after_ns", "delta_ns")):
            kernels[r["gpu"]][i] += r[key]
    ranges = collections.defaultdict(lambda: [0, 0, 0])
    for r in doc["nvtx"]:
        for i, key in enumerate(("before_ns", "after_ns", "delta_ns")):
            ranges[r["gpu"]][i] += r[key]
    for gpu, v in ranges.items():
        if len(doc["nvtx"]) < 200 and rows[gpu, "compute"] != v:
            yield "GPU %s: the ranges add up to %s, compute is %s" % (gpu, v, rows[gpu, "compute"])
    if len(doc["kernels"]) < 200:  # else cut
        for gpu, v in kernels.items():
            children[gpu, "compute"] = v
    for (gpu, name), v in children.items():
        if len(doc["budget"]) < 1000 and rows[gpu, name] != v:
            yield "GPU %s: the rows of %s are %s, it is %s" % (gpu, name, v, rows[gpu, name])


def zero(doc):
    if not doc["same_capture"] or doc["verdict"] != "neutral" or "nothing was rerun" not in doc["why"]:
        yield "not said to be the same capture: %s" % doc["why"]
    for r in doc["budget"] + doc["kernels"]:
        if any(r.get(k) for k in ("delta_ns", "count_ns", "clock_ns", "own_ns")):
            yield "not zero: %s" % r
    for s in [doc["shift"]] + [g["shift"] for g in doc["gpus"]]:
        if s and (s["ms"] or s["rel"]):
            yield "shift not zero: %s" % s


def planted(doc, name):
    budget, kernel = PLANTED[name]
    seen = set()
    for r in doc["budget"]:
        key = r["gpu"], r["class"]
        if r["class"] != "total":
            seen.add(key)
            if abs(r["delta_ns"] - budget.get(key, 0)) > 1100:
                yield "%s: %s, wanted %s" % (key, r["delta_ns"], budget.get(key, 0))
    for key in set(budget) - seen:
        yield "no row %s" % (key,)
    if name == "clocks":
        for r in doc["kernels"]:
            if abs(r["clock_ns"] - r["delta_ns"]) > 10:
                yield "not the clock's: %s" % r
        return
    if name == "heavy":
        for r in doc["kernels"]:
            if r["own_ns"] != (r["before_ns"] // 5 if r["before_ns"] >= 90000 else 0):
                yield "not its own: %s" % r
        return
    for r in doc["kernels"]:
        mine = kernel and r["kernel_before"] == kernel[0] and abs(r["delta_ns"]) >= abs(kernel[3])
        if mine and (r["match"] != kernel[1] or r[kernel[2]] != kernel[3]):
            yield "wanted %s, got %s" % (kernel, r)
        if not mine and abs(r["delta_ns"]) > 1000:
            yield "changed too: %s" % r
    if kernel and not any(r["kernel_before"] == kernel[0] and r["match"] == kernel[1] for r in doc["kernels"]):
        yield "no row %s" % (kernel,)


def main(argv):
    bad = 0
    what, files = argv[0], argv[1:]
    if what == "planted":
        files, name = argv[1:2], argv[2]
    for path in files:
        doc = load(path)
        if what == "verdict":
            print(doc["verdict"])
            continue
        found = list({"sums": sums, "zero": zero}[what](doc) if what != "planted" else planted(doc, name))
        bad += bool(found)
        for line in found[:5]:
            print("%s: %s" % (path, line))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
