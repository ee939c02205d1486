#!/bin/sh
# Captures of a real GPU, with and without a known fault (measured/README.md). The report of the
# capture with the fault names it first, at the cost that was measured. Any other finding must also
# be in the report of the capture without the fault. Findings that no replay prices, and those of
# low severity, are not considered.
# usage: measured.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
ln -s "$tests/fixtures/_schema" _schema
for f in "$tests"/measured/*.sql "$tests"/measured/*.sql.gz; do
	name=$(basename "${f%.gz}" .sql)
	case $f in *.gz) gzip -dc "$f" ;; *) cat "$f" ;; esac >"$name.sql"
	"$b/mkfixture" "$name.sql" "$name.sqlite" && "$prog" "$name.sqlite" --json >"$name.json" || exit
done
python3 - "$tests/measured/truth.tsv" <<'P'
import csv, glob, json, sys
passed = failed = 0

def check(holds, what):
    global passed, failed
    passed += bool(holds)
    failed += not holds
    if not holds:
        print("FAIL measured: " + what)
    return holds

def findings(capture):
    """Each with its share of the judged window."""
    with open(capture + ".json") as f:
        report = json.load(f)
    w = report["windows"]["steady"] or report["windows"]["full"]
    for f in report["findings"]:
        f["share"] = (f["headroom_ms"] or 0) * 1e6 / (w["end_ns"] - w["start_ns"])
    return report["findings"]

def counts(f):
    return f["severity"] != "low" and f["price"] == "replayed"

def check_price(case, f, t):
    """Next to the share that is nearer, that of the runs that were traced or of those that were not."""
    true = [1 - float(t[of + "without_ms"]) / float(t[of + "with_ms"]) for of in ("", "traced_")]
    ratio = min((f["share"] / share for share in true), key=lambda r: abs(r - 1))
    high = float("inf") if t["high"] == "-" else float(t["high"])
    print(f"{case}: {100 * true[0]:.1f} % measured, {100 * true[1]:.1f} % traced, {100 * f['share']:.1f} % said: {ratio:.2f}")
    check(float(t["low"]) <= ratio <= high, f"{case}: the price is {ratio:.2f} times what was measured")

captures = set()
with open(sys.argv[1], newline="") as f:
    for t in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
        case, first = t["case"], t["first"]
        remains = set() if t["remains"] == "-" else {t["remains"]}
        found = findings(case + ".with")
        ids = {f["id"] for f in found if counts(f)}
        captures.add(case + ".with.json")
        check(ids <= remains | {first}, f"{case}, with the fault: {ids} are reported")
        if first != "-" and check(found and found[0]["id"] == first, f"{case}: the first finding is not {first}"):
            check_price(case, found[0], t)
        if t["without_ms"] != "-":
            ids = {f["id"] for f in findings(case + ".without") if counts(f)}
            captures.add(case + ".without.json")
            check(ids == remains, f"{case}, without the fault: {ids} are reported, not {remains}")
check(captures == set(glob.glob("*.json")), "truth.tsv and the captures are of other cases")
print(f"measured: {passed} passed, {failed} failed")
sys.exit(failed != 0)
P
