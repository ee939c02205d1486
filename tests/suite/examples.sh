#!/bin/sh
# The reports in examples/ are those that the program writes today: of a synthetic step, of two
# ranks of which one is late, of an example about memory, and of a program that was really
# captured without a GPU (source examples/blocks.c, capture examples/blocks.nsys-rep). The report
# of the synthetic example has its published figures.
# usage: examples.sh BUILD_DIR [--update]
. "$(dirname "$0")/../suite.sh"
# Compares two reports. It ignores the events of the HTML page, which another version of
# libdeflate packs differently, and the version of SQLite with the checksums that depend on it.
alike() {
	rm -rf was is; cp -r "$1" was; cp -r "$2" is
	sed -i 's/\(id="events">\)[^<]*/\1/' was/report.html is/report.html
	sed -i '/"path": "report.html"/,/}/d; /"sqlite_version"/d; /^  "crc32"/d' was/report.json is/report.json
	diff -r was is
}
while read -r name trace; do
	input=$name.${trace##*.}
	ln -s "$trace" "$input"
	SOURCE_DATE_EPOCH=1767225600 "$b/nsys-explain" "$input" -v --out report >"$name.out" 2>err </dev/null ||
		{ cat err; exit 1; }
	cp "$name.out" report/stdout.txt
	if [ "${2:-}" = --update ]; then
		rm -rf "$root/examples/$name"; mkdir -p "$root/examples"
		cp -r report "$root/examples/$name"
	elif alike "$root/examples/$name" report >d; then ok
	else bad "examples/$name is stale: tests/suite/examples.sh $1 --update"; head -n 20 d; fi
	[ "$name" = synthetic ] && cp -r report first
	rm -rf report
done <<L
synthetic $fix/synthetic.sqlite
late_rank $fix/two_rank_straggler.sqlite
memory $fix/alloc_stall.sqlite
blocks $root/examples/blocks.nsys-rep
L
[ "${2:-}" = --update ] && exit 0
while read -r line; do
	if grep -qxF "$line" synthetic.out; then ok; else bad "the summary lacks: $line"; fi
done <<'P'
Top kernel: computeKernel (42.6% of kernel time, 2.6 ms, 3 calls)
Top barrier: cudaStreamSynchronize [sync_api] (0.8 ms, 1 events)
Top NCCL op: allreduce (2.0 ms total, 2.0 ms max, overlap 50.0%)
Launch storm: 5 launches over 0.005s = 909.1 launches/s; median kernel 1000.00 us
GPU idle estimate: GPU 0: 18.2% idle (1.0 ms / 5.5 ms window)
NVLink during NCCL: NVLink counters not found
P
for f in "allreduce,.*pid:111" "broadcast,.*pid:222"; do
	if grep -q "^$f" first/tables/nccl_ops.csv; then ok; else bad "nccl_ops.csv lacks $f"; fi
done
if ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror -pthread -o blocks "$root/examples/blocks.c" -ldl && ./blocks | grep -q '^[0-9]*$'; then ok
else bad "examples/blocks.c is no program"; fi
finish
