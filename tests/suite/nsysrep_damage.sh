#!/bin/sh
# Damaged report files of nsys. The program reads as much of each as it can (exit code 0 or 4), or
# refuses it with one line (exit code 3), within 10 seconds of processor time and without a crash.
# usage: nsysrep_damage.sh BUILD_DIR      DAMAGES=10000 for the long version
. "$(dirname "$0")/../suite.sh"
for name in synthetic osrt nvtx_domains gpu_metrics mpi_halo nccl_payload; do
	"$b/mkrep" "$fix/$name.sqlite" "$name.nsys-rep" || bad "$name is not written"
	mkdir "$name"
	python3 "$tests/nsysrep/damage.py" "$name.nsys-rep" "$name" "${DAMAGES:-64}"
done
"$prog" synthetic.nsys-rep -q --out o >said 2>&1
if grep -q 'must be exported' said; then
	part_skipped 'this program reads no report files'
	finish
	exit
fi
for f in */*.nsys-rep; do
	# shellcheck disable=SC3045  # dash and bash have it
	(ulimit -t 10; exec "$prog" "$f" -q --threads 2 --out o) >said 2>&1
	rc=$?
	case $rc in
	0 | 4) ok ;;
	3) if [ "$(wc -l <said)" -eq 1 ]; then ok; else bad "$f: $(head -c 300 said)"; fi ;;
	*) bad "$f: exit $rc: $(head -c 300 said)" ;;
	esac
done
finish
