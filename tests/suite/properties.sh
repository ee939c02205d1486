#!/bin/sh
# Changed copies of a trace that must give the same answers: rows in another order (the same bytes),
# all clocks shifted up, below 0 and across 0 (the same durations), and kernels split into touching
# halves (the same unions). The traces are fixtures and the available real traces.
# usage: properties.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
SOURCE_DATE_EPOCH=1767225600; export SOURCE_DATE_EPOCH # reports of one trace are the same bytes
report() { # FILE DIR: under one name, so that paths in it are equal
	ln -sf "$1" t.sqlite; "$b/nsys-explain" t.sqlite --out "$2" -q 2>/dev/null
}
# Prints tables and JSON without instants. Markdown and HTML have the same figures.
durations() {
	python3 - "$1" <<'P'
import csv, glob, json, os, re, sys
def instants(text):
    return re.sub(r"-?\b\d+(\.\d+)?s\b", "T", text)

for f in sorted(glob.glob(os.path.join(sys.argv[1], "tables", "*.csv"))):
    rows = list(csv.reader(open(f, newline="")))
    keep = [i for i, n in enumerate(rows[0]) if not n.endswith(("start_ns", "end_ns", "time_ns")) or n == "total_time_ns"]
    print(os.path.basename(f))
    for r in rows:
        print([instants(r[i]) for i in keep])

def values(key, x):
    if isinstance(x, dict):
        return [v for k, y in x.items() for v in values(k, y)]
    if isinstance(x, list):
        return [v for y in x for v in values(key, y)]
    if re.search(r"(^|_)(start|end|first|last|time|at)_ns$|^(size_bytes|crc32)$|^timestamp_unit_guess", key):
        return []
    return [(key, instants(x) if isinstance(x, str) else x)]

for v in values("", json.load(open(os.path.join(sys.argv[1], "report.json")))):
    print(*v)
P
}
check() { # NAME FILE
	report "$2" plain || { skip=$((skip + 1)); return; }
	for how in shuffle shift below across split; do
		rm -rf m.sqlite changed
		if ! python3 "$tests/property/mutate.py" $how 7 "$2" m.sqlite 2>/dev/null; then
			skip=$((skip + 1)); continue # rows SQLite's own schema refuses
		fi
		report "$work/m.sqlite" changed
		case $how in
		shuffle)
			# The reports may differ in the file's size, and in the checksum on the last line.
			if diff -r -I '"size_bytes"' -I '^  "crc32": ' plain changed >d; then ok
			else bad "$1: row order changes the report"; head -n 8 d; fi ;;
		shift|below|across)
			durations plain >p1; durations changed >p2
			if diff p1 p2 >d; then ok
			else bad "$1: $how: another clock changes durations"; head -n 8 d; fi ;;
		split)
			if diff plain/tables/partition.csv changed/tables/partition.csv >d; then ok
			else bad "$1: split kernels change a union"; head -n 8 d; fi ;;
		esac
	done
	rm -rf plain changed
}
for f in synthetic overlap_partition two_rank_straggler launch_bound ties graphs_node memory_usage um_faults iterations_nvtx nccl_payload gpu_metrics sched; do
	check $f "$b/fixtures/$f.sqlite"
done
if [ -d "$traces" ]; then
	for t in mfu_2gpu_before h100_2gpu_1s a100_llm_nvtx t4_solver nsys2020_cudf h200_fuser; do
		check $t "$(cd "$traces" && pwd)/$t.sqlite"
	done
else
	part_skipped "no real traces at hand"
fi
finish
