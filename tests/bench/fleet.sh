#!/bin/sh
# Measures a job of 1 024 ranks, 200 steps and 300 collectives a step, in digests. 16 digests are made
# from traces and must agree with those written directly. Prints the cost of merging and of the report;
# the planted fault must be found.
# usage: fleet.sh BUILD_DIR [RANKS STEPS COLLECTIVES]
set -u
b=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
ranks=${2:-1024} steps=${3:-200} colls=${4:-300}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
run() { # NAME COMMAND...
	name=$1; shift
	/usr/bin/time -f "$name: %e s (%U s of processor time), %M kB" "$@" >out || [ $? = 4 ] || exit 1
}
"$b/fleet-gen" job gpu_slow ranks="$ranks" hosts=$((ranks / 8)) steps="$steps" colls="$colls" format=digest traces=16 || exit 1
for trace in job/traces/*.sqlite; do
	digest=${trace%.sqlite}.nsxd
	run "digest of $(du -k "$trace" | cut -f1) kB" "$b/nsys-explain" digest "$trace" -q -o "$digest"
	"$b/fleet-same" "$digest" "job/direct/${digest##*/}" || exit 1
	rm "$trace"
done
echo 'digests of traces: as made directly'
echo "$ranks digests: $(du -sk job/traces | cut -f1) kB"
run merge "$b/nsys-explain" fleet job/traces -q --partial all.nsxd
run report "$b/nsys-explain" fleet all.nsxd --json
python3 "$here/fleet/check.py" job out && echo 'as planted'
