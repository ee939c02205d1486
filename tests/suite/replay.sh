#!/bin/sh
# Runs the fuzz targets without a fuzzer, on seeds, on inputs that once broke a target, and on a fixed
# number of random changes to both, the same ones every time. CI also runs the first two kinds under
# AddressSanitizer and UBSan.
# usage: [CHANGES=n] replay.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
for t in "$b"/replay/fuzz_*; do
	case $t in *.*) continue ;; esac # files that a compiler left beside a target
	name=$(basename "$t")
	input=$b/$name.input log=$b/$name.log
	case $name in # targets that run the whole program are slow
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
