"""The first five findings of a report, on standard input, as rows of told.tsv."""
import json
import sys

report = json.load(sys.stdin)
window = report["windows"]["steady"] or report["windows"]["full"]
length_ms = ((window["end_ns"] or 0) - (window["start_ns"] or 0)) / 1e6
if not report["findings"]:
    print(sys.argv[1], 0, "-", "-", "-", "-", "-", sep="\t")
for nth, f in enumerate(report["findings"][:5], 1):
    ms = f["headroom_ms"]
    share = f"{100 * ms / length_ms:.0f} %" if ms is not None and length_ms else "-"
    print(sys.argv[1], nth, f["key"], f["severity"], f["price"] or "none", share, (f.get("place") or "-").replace("\t", " "), sep="\t")
