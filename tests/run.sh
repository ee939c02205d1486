#!/bin/sh
# Runs all suites. The number of suites that run at once is one more than the processors, because
# some suites wait. The output of a suite is printed in one piece at its end, and its last line is
# "NAME: N passed, N failed [, N skipped]". At the end come the five slowest suites and the sum.
# usage: run.sh BUILD_DIR
set -u
b=$1 one=${2:-}
here=$(dirname "$0")
out=$b/suites

# Prints the counts from a suite's last line with counts. If there is none, it did not finish.
count() { grep -E '^([a-z_]+: )?[0-9]+ passed, [0-9]+ failed' "$1" | tail -n1 | sed 's/^[a-z_]*: //; s/[a-z,]//g'; }

if [ -n "$one" ]; then
	log=$out/$(basename "$one" .sh).out
	set -- "$b"
	case $one in
	*/golden.sh) set -- "$b/nsys-explain" "$b/fixtures" ;;
	# Programs that are killed or cannot write would spoil gcov's counts of the other programs.
	*/signals.sh | */damage.sh | */replay.sh | */io_faults.sh) GCOV_PREFIX=$(realpath "$b")/killed; export GCOV_PREFIX ;;
	esac
	begun=$(date +%s)
	"$one" "$@" >"$log" 2>&1
	took=$(($(date +%s) - begun))
	[ -n "$(count "$log")" ] || echo "FAIL: $one did not finish" >>"$log"
	echo "$took $(basename "$one" .sh)" >>"$out/seconds"
	{ echo "== $one $* ($took s)"; cat "$log"; } >"$log.whole"
	exec flock "$out" cat "$log.whole"
fi

rm -rf "$out" && mkdir -p "$out" || exit 1
# pyenv's python3 is a script that searches for the real one, and takes five times as long to start.
if python=$(python3 -c 'import sys; print(sys.executable)'); then
	PATH=$(dirname "$python"):$PATH
	export PATH
fi
# Suites that take minutes begin first.
slow="sql convert faults lint diff traces damage html hostile"
for s in $slow; do
	[ -f "$here/suite/$s.sh" ] && echo "$here/suite/$s.sh" || echo "$here/$s.sh"
done >"$out/list"
for s in "$here/unit.sh" "$here/golden.sh" "$here"/suite/*.sh; do
	case " $slow " in *" $(basename "$s" .sh) "*) ;; *) echo "$s" ;; esac
done >>"$out/list"
xargs -P $(($(nproc) + 1)) -I{} "$0" "$b" {} <"$out/list"

pass=0 fail=0 skip=0
while read -r s; do
	line=$(count "$out/$(basename "$s" .sh).out")
	# shellcheck disable=SC2086
	set -- ${line:-0 1}
	pass=$((pass + $1)); fail=$((fail + $2)); skip=$((skip + ${3:-0}))
done <"$out/list"
sort -rn "$out/seconds" | head -n 5 | awk '{ printf "%s %s %d s", (NR > 1 ? "," : "longest:"), $2, $1 } END { print "" }'
echo "$pass passed, $fail failed, $skip skipped"
[ "$fail" -eq 0 ]
