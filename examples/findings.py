#!/usr/bin/env python3
"""What to do next, from report.json: a line on each finding, what it would give
back, and the table that shows it.

    nsys-explain run.sqlite --out report && findings.py report
"""
import json
import sys


def main(folder):
    with open(folder + "/report.json", encoding="utf-8") as f:
        report = json.load(f)
    for warning in report["warnings"]:
        print("warning:", warning)
    for finding in report["findings"]:
        headroom = finding["headroom_ms"]
        price = "not priced" if headroom is None else f"{headroom:.3f} ms"
        print(f"[{finding['severity']}] {finding['title']} ({price})")
        for line in finding["recommendation"]:
            print("    ->", line)
        for row in finding["evidence_rows"]:
            print(f"    see tables/{row['table']}: {row['key']}")
    kernels = report["metrics"]["top_kernels"]
    if kernels["present"]:
        for row in kernels["kernels"][:5]:
            print(f"{row['total_time_ms']:10.3f} ms  {row['kernel_name']}")
    else:
        print("no kernels:", kernels["reason"])


if __name__ == "__main__":
    main(*sys.argv[1:])
