#!/bin/sh
# The fuzz targets without a fuzzer: seeds, inputs that once broke a target, and
# a number of random changes to both, the same ones every time. In CI the first two
# under AddressSanitizer and UBSan as well.
# usage: [CHANGES=n] replay.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
for t in "$b"/replay/fuzz_*; do
	case $t in *.*) continue ;; esac # what a compiler left beside a target
	name=$(basename "$t")
	input=$b/$name.input log=$b/$name.log
	case $name in # whole runs are slow
	fuzz_open | fuzz_rows) n=${CHANGES:-200} ;;
	fuzz_ask | fuzz_mcp | fuzz_sql) n=${CHANGES:-1000} ;;
	*) n=${CHANGES:-5000} ;;
	esac
	if "$t" "$n" "$input" "$b/seeds/$name" "$tests/fuzz/corpus/$name" >"$log" 2>&1
	then ok; else bad "$name on $input"; tail -n 20 "$log"; fi
done
if [ "${CI:-}" ]; then
	mkdir -p "$b/replay-san"
	ln -sfn "$b/seeds" "$b/replay-san/seeds"
	holds 'targets with sanitizers' env -u MAKEFLAGS -u MFLAGS make -s -j2 -C "$root" replay-programs \
		B="$b/replay-san" SEEDS= CI= CFLAGS=-O0 SAN='-fsanitize=address,undefined -fno-sanitize-recover=all'
	for t in "$b"/replay/fuzz_*; do
		case $t in *.*) continue ;; esac
		name=$(basename "$t")
		holds "$name with sanitizers" "$b/replay-san/replay/$name" 0 "$b/$name.san.input" "$b/seeds/$name" "$tests/fuzz/corpus/$name"
	done
fi
finish
