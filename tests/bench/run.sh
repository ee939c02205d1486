#!/bin/sh
# run.sh - measures the speed of nsys-explain, compared with the least time that SQLite needs.
#
# usage: run.sh [--worst] BUILD_DIR
#
# BUILD_DIR holds nsys-explain; bench_gen, bench_floor and bench_timed are
# compiled into it when they are missing or old. Environment:
#   SIZES       kernels of the generated traces (100000 1000000 4000000)
#   ROUNDS      how often everything is run, in turn (5)
#   THREADS     the larger number of threads (that of the processors)
#   BENCH_DIR   traces, reports and raw figures (BUILD_DIR/bench)
#   GEN_FLAGS   more options for the generator, such as --procs 8
#   NSYS        a real nsys, which is timed on the smallest size
#   NLE         an nsys-llm-explain, which is timed in the same way
#   PEER_ALL=1  time these on all sizes
#   WORST_KERNELS, WORST_KINDS   size and kinds for --worst (1000000, all)
# A benchmark, not a test: it prints, and judges nothing.
set -eu
LC_ALL=C
SOURCE_DATE_EPOCH=1 # otherwise reports have the time of day
export LC_ALL SOURCE_DATE_EPOCH

here=$(cd "$(dirname "$0")" && pwd)
worst=
if [ "${1:-}" = --worst ]; then
	worst=1
	shift
fi
if [ $# -ne 1 ] || [ ! -d "$1" ]; then
	sed -n '2,/^# A benchmark/s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
build=$(cd "$1" && pwd)
program=$build/nsys-explain
gen=$build/bench_gen
floor=$build/bench_floor
timed=$build/bench_timed
dir=${BENCH_DIR:-$build/bench}
sizes=${SIZES:-100000 1000000 4000000}
rounds=${ROUNDS:-5}
threads=${THREADS:-$(nproc)}
worst_kernels=${WORST_KERNELS:-1000000}
worst_kinds=${WORST_KINDS:-nvtx_names streams nested one_name kernel_names \
unsorted gaps processes}
mkdir -p "$dir"

# ---- programs and traces -----------------------------------------------------

# compile PROGRAM SOURCE... [LIBRARY...]: unless newer than its sources
compile() {
	out=$1
	shift
	if [ -x "$out" ] &&
		[ -z "$(find "$here" -name '*.[ch]' -newer "$out")" ]; then
		return
	fi
	(cd "$here" && "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -o "$out" "$@")
}

# trace NAME OPTION...: prints the path of a trace. Generates it unless there is one that this generator
# made with the same options.
trace() {
	file=$dir/$1.sqlite
	shift
	if [ ! -f "$file" ] || [ ! -f "$file.rows" ] ||
		[ -n "$(find "$gen" -newer "$file")" ] ||
		[ "$(cat "$file.flags" 2>/dev/null)" != "$*" ]; then
		echo "generating $(basename "$file")" >&2
		rm -f "$file.rows"
		"$gen" "$@" "$file.new" >/dev/null
		mv "$file.new" "$file"
		echo "$*" >"$file.flags"
		"$floor" "$file" >"$file.rows"
	fi
	echo "$file"
}

# events TRACE: number of rows in all tables that the floor reads, except StringIds
events() {
	awk '$1 == "events" { print $2 }' "$1.rows"
}

# samples TRACE: number of rows that are samples of GPU metrics
samples() {
	awk '$1 == "GPU_METRICS" { n = $2 } END { print n + 0 }' "$1.rows"
}

# ---- measuring ---------------------------------------------------------------

# measure KEY COMMAND...: adds a line "KEY wall user sys rss" to the raw figures. A command that fails is
# named and gets no figures.
measure() {
	key=$1
	shift
	rm -f "$dir/one"
	if "$timed" "$dir/one" "$@" >"$dir/stdout" 2>"$dir/stderr"; then
		echo "$key $(cat "$dir/one")" >>"$dir/figures"
	else
		echo "failed ($?): $*" >&2
		sed 3q "$dir/stderr" >&2
		return 1
	fi
}

# explain KEY TRACE THREADS: one run of the program, its stages as well
explain() {
	rm -rf "$dir/out_$3"
	measure "$1 t$3" "$program" "$2" --out "$dir/out_$3" --threads "$3" \
		-v || return 0
	awk -v key="$1" -v t="$3" 'sub(/^stage /, "") {
		name = $0
		sub(/: [0-9.]+ s$/, "", name)
		gsub(/ /, "_", name)
		print key, t, name, $(NF - 1)
	}' "$dir/stderr" >>"$dir/stages"
}

# rounds_of KEY TRACE: everything that is compared, in turn
rounds_of() {
	cat "$2" >/dev/null # from here on it is in the page cache
	round=0
	while [ "$round" -lt "$rounds" ]; do
		round=$((round + 1))
		explain "$1" "$2" 1
		[ "$threads" -eq 1 ] || explain "$1" "$2" "$threads"
		measure "$1 floor" "$floor" "$2" || :
		measure "$1 cat" cat "$2" || :
	done
}

# median KEY WHAT FIELD: the median of a field of the raw figures; 3 is wall time, 6 is memory
median() {
	awk -v key="$1" -v what="$2" -v f="$3" \
		'$1 == key && $2 == what { print $f }' "$dir/figures" |
		sort -n | awk '{ v[NR] = $1 } END {
			lo = v[int((NR + 1) / 2)]
			hi = v[int((NR + 2) / 2)]
			if (NR)
				printf "%.3f\n", (lo + hi) / 2
			else
				print "-"
		}'
}

# ---- printing ----------------------------------------------------------------

machine() {
	sed -n 's/^model name[^:]*: */processor  /p' /proc/cpuinfo | sed 1q
	echo "threads    $(nproc)"
	echo "memory     $(awk '/MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' \
		/proc/meminfo)"
	echo "system     $(uname -sr)"
	echo "commit     $(git -C "$here" describe --always --dirty \
		2>/dev/null || echo unknown)"
	echo "compiler   $("${CC:-cc}" --version | sed 1q)"
	echo "rounds     $rounds, medians below; files in the page cache"
}

# row LABEL KEY TRACE: all figures of one trace
row() {
	awk -v label="$1" -v t1="$(median "$2" t1 3)" \
		-v tn="$(median "$2" "t$threads" 3)" \
		-v fl="$(median "$2" floor 3)" -v ct="$(median "$2" cat 3)" \
		-v mem="$(median "$2" "t$threads" 6)" \
		-v rows="$(events "$3")" -v met="$(samples "$3")" \
		-v bytes="$(wc -c <"$3")" '
	function per(a, b, fmt) {
		return a == "-" || b == "-" || !b ? "-" : sprintf(fmt, a / b)
	}
	BEGIN {
		printf "%-12s %9.1f %9.3f %9s %9s %9s %7s %8s %8s %8s %9s %8s %8s %8s\n",
			label, bytes / 1048576, rows / 1e6, t1, tn, fl, ct,
			per(t1, fl, "%.2f"), per(tn, fl, "%.2f"),
			per(t1, tn, "%.2f"), per(rows / 1e6, tn, "%.2f"),
			per(mem, 1024, "%.1f"),
			mem == "-" ? "-" : per(mem * 1024, rows, "%.1f"),
			mem == "-" ? "-" : per(mem * 1024, rows - met, "%.1f")
	}'
}

header() {
	printf '%-12s %9s %9s %9s %9s %9s %7s %8s %8s %8s %9s %8s %8s %8s\n' \
		"$1" "file" "rows" "1 thread" "$threads thr." "floor" "cat" \
		"1/floor" "$threads/floor" "1/$threads" "rows/s" "peak" \
		"B/row" "B/row*"
	printf '%-12s %9s %9s %9s %9s %9s %7s %8s %8s %8s %9s %8s %8s %8s\n' \
		"" MiB 10^6 s s s s "" "" "" "10^6/s" MiB "" ""
}

legend() {
	echo "rows: of all tables read by the floor but StringIds; rows/s, peak and B/row: with" \
		"$threads threads;"
	echo "B/row: peak memory by row, B/row*: GPU metric samples not counted"
}

# stages KEY: medians of the stages with one and with all threads, in the
# order in which the program names them
stages() {
	[ -s "$dir/stages" ] || return 0
	echo
	echo "stages, $1 kernels: seconds with 1 and with $threads threads"
	awk -v key="$1" '$1 == key && !seen[$3]++ { print $3 }' "$dir/stages" |
		while read -r name; do
			for t in 1 "$threads"; do
				awk -v key="$1" -v t="$t" -v n="$name" \
					'$1 == key && $2 == t && $3 == n {
						print $4
					}' "$dir/stages" | sort -n | awk '
					{ v[NR] = $1 }
					END { print NR ? v[int((NR + 1) / 2)] : "-" }'
			done | paste -s -d ' ' - | sed "s/^/$name /"
		done | awk '{ printf "  %-28s %9s %9s\n", $1, $2, $3 }'
}

# growth: seconds and memory by 10^6 rows, from each size to the next
growth() {
	echo
	echo "growth by 10^6 rows, with $threads threads"
	for n in $sizes; do
		echo "$n $(events "$dir/n$n.sqlite")" \
			"$(median "$n" "t$threads" 3)" \
			"$(median "$n" "t$threads" 6)" "$(median "$n" floor 3)"
	done | awk '
	NR > 1 && rows != $2 && $3 != "-" && t != "-" {
		m = ($2 - rows) / 1e6
		printf "  %9d to %9d kernels: %.3f s, floor %.3f s, %.1f MiB\n",
			n, $1, ($3 - t) / m, ($5 - f) / m, ($4 - mem) / 1024 / m
	}
	{ n = $1; rows = $2; t = $3; mem = $4; f = $5 }'
}

# peers: measures programs of others, once
peers() {
	for n in $sizes; do
		if [ -n "${NSYS:-}" ]; then
			cp "$dir/n$n.sqlite" "$dir/peer.sqlite" # it may write in it
			measure "$n nsys" "$NSYS" stats --report \
				cuda_gpu_kern_sum,cuda_kern_exec_sum,nvtx_gpu_proj_sum \
				"$dir/peer.sqlite" &&
				echo "nsys stats, $n kernels:" \
					"$(median "$n" nsys 3) s," \
					"$(median "$n" nsys 6) KiB"
		fi
		if [ -n "${NLE:-}" ]; then
			cp "$dir/n$n.sqlite" "$dir/peer.sqlite"
			measure "$n nle" "$NLE" "$dir/peer.sqlite" \
				--out "$dir/out_nle" &&
				echo "nsys-llm-explain, $n kernels:" \
					"$(median "$n" nle 3) s," \
					"$(median "$n" nle 6) KiB"
		fi
		rm -f "$dir/peer.sqlite"
		[ "${PEER_ALL:-}" = 1 ] || break
	done
	return 0
}

# ---- the two benchmarks --------------------------------------------------------

sizes_bench() {
	for n in $sizes; do
		# shellcheck disable=SC2086 # the flags are a list
		file=$(trace "n$n" --kernels "$n" ${GEN_FLAGS:-})
		rounds_of "$n" "$file"
		if [ "$threads" -eq 1 ]; then
			same="only one thread was used"
		elif [ ! -d "$dir/out_1" ] || [ ! -d "$dir/out_$threads" ]; then
			same="no reports to compare"
		elif diff -rq "$dir/out_1" "$dir/out_$threads" >&2; then
			same=yes
		else
			same=NO
		fi
		echo "$n $same" >>"$dir/same"
	done
	header kernels
	for n in $sizes; do
		row "$n" "$n" "$dir/n$n.sqlite"
	done
	legend
	for n in $sizes; do
		stages "$n"
	done
	growth
	echo
	sed "s/^\([0-9]*\) \(.*\)/the same report from 1 and $threads threads, \1 kernels: \2/" \
		"$dir/same"
	peers
}

# Beside each time stands how it compares, row by row, with the normal trace.
worst_bench() {
	# shellcheck disable=SC2086 # the flags are a list
	normal=$(trace "n$worst_kernels" --kernels "$worst_kernels" ${GEN_FLAGS:-})
	rounds_of normal "$normal"
	header case
	row normal normal "$normal"
	for kind in $worst_kinds; do
		# shellcheck disable=SC2086 # the flags are a list
		file=$(trace "worst_$kind" --kernels "$worst_kernels" \
			--worst "$kind" ${GEN_FLAGS:-})
		rounds_of "$kind" "$file"
		row "$kind" "$kind" "$file"
	done
	legend
	echo
	echo "time by row, against the normal trace, with $threads threads"
	base=$(median normal "t$threads" 3)
	for kind in $worst_kinds; do
		echo "$kind $(median "$kind" "t$threads" 3)" \
			"$(events "$dir/worst_$kind.sqlite")"
	done | awk -v base="$base" -v rows="$(events "$normal")" '
	$2 != "-" && base != "-" {
		printf "  %-14s %6.2f  (%.3f s; normal for %.1f million rows: %.3f s)\n",
			$1, $2 / (base * $3 / rows), $2, $3 / 1e6,
			base * $3 / rows
	}'
}

compile "$gen" gen.c gen_acts.c gen_fixed.c gen_meter.c gen_model.c \
	gen_names.c gen_out.c gen_rows.c gen_sim.c -lsqlite3
compile "$floor" floor.c -lsqlite3
compile "$timed" timed.c
if [ ! -x "$program" ]; then
	echo "run.sh: there is no '$program'; run make first" >&2
	exit 2
fi
rm -f "$dir/figures" "$dir/stages" "$dir/same"
: >"$dir/figures"
machine
echo
if [ "$worst" ]; then
	worst_bench
else
	sizes_bench
fi
