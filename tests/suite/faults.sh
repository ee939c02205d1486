#!/bin/sh
# Allocations whose size depends on the input fail in turn. The program must say so in one line,
# without a crash, and leave no file behind. `make test-programs` links a program that counts these
# allocations. STEP=1 tries each of them.
# usage: faults.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
prog=$b/nsys-explain-faults
SOURCE_DATE_EPOCH=1767225600; export SOURCE_DATE_EPOCH # otherwise checksums in the report depend on the time of day
for f in synthetic nccl_payload memory_usage gpu_metrics graphs_node; do
	NSX_FAULT_COUNT=count "$prog" "$b/fixtures/$f.sqlite" --threads 1 --out sound -q && [ -s count ] || exit 1
	mv sound/report.json sound.json
	for n in $(seq 1 "${STEP:-7}" "$(cat count)"); do
		NSX_FAULT_ALLOC=$n "$prog" "$b/fixtures/$f.sqlite" --threads 1 --out o -q >out 2>err; rc=$?
		# The run fails, gives a partial report, or does without the memory and is complete.
		if { [ $rc -eq 3 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'out of memory' err && [ ! -e o ]; } ||
			{ [ $rc -eq 4 ] && grep -q 'out of memory' o/report.json; } ||
			{ [ $rc -eq 0 ] && cmp -s o/report.json sound.json; }; then ok
		else bad "$f: allocation $n: exit $rc"; head -n 2 err; fi
		rm -rf o
	done
	rm -rf sound
done
finish
