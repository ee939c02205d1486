#!/bin/sh
# examples/synthetic is what the program makes of the synthetic fixture today,
# and the published figures of that example come out.
# usage: examples.sh BUILD_DIR [--update]
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
b=$(cd "$1" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ln -s "$b/fixtures/synthetic.sqlite" synthetic.sqlite
SOURCE_DATE_EPOCH=1767225600 "$b/nsys-explain" synthetic.sqlite --out report >out 2>err || { cat err; exit 1; }
if [ "${2:-}" = --update ]; then
	rm -rf "$here/examples/synthetic"; mkdir -p "$here/examples"
	cp -r report "$here/examples/synthetic"; cp out "$here/examples/synthetic/stdout.txt"
	exit 0
fi
pass=0 fail=0
ok() { pass=$((pass + 1)); }
bad() { fail=$((fail + 1)); echo "FAIL examples: $*"; }
cp out report/stdout.txt
if diff -r "$here/examples/synthetic" report >d; then ok
else bad "examples/synthetic is stale: tests/suite/examples.sh $1 --update"; head -n 20 d; fi
while read -r line; do
	if grep -qxF "$line" out; then ok; else bad "the summary lacks: $line"; fi
done <<'P'
Top kernel: computeKernel (42.6% of kernel time, 2.6 ms, 3 calls)
Top barrier: cudaStreamSynchronize [sync_api] (0.8 ms, 1 events)
Top NCCL op: allreduce (2.0 ms total, 2.0 ms max, overlap 50.0%)
Launch storm: 5 launches over 0.005s = 909.1 launches/s; median kernel 1000.00 us
GPU idle estimate: GPU 0: 18.2% idle (1.0 ms / 5.5 ms window)
NVLink during NCCL: NVLink counters not found
P
for f in "allreduce,.*pid:111" "broadcast,.*pid:222"; do
	if grep -q "^$f" report/tables/nccl_ops.csv; then ok; else bad "nccl_ops.csv lacks $f"; fi
done
echo "examples: $pass passed, $fail failed"
[ $fail -eq 0 ]
