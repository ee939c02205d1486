#!/bin/sh
# Builds `work`, and times and captures every case, each in a process of its own. Writes
# OUT/times.tsv and OUT/NAME.VARIANT.txt.
# usage: [CUDA=/usr/local/cuda] run.sh OUT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cuda=${CUDA:-/usr/local/cuda}
cupti=$cuda/extras/CUPTI
mkdir -p "$1"
cd "$1"
"$cuda/bin/nvcc" -O2 -std=c++17 -arch=native -I"$cupti/include" -L"$cupti/lib64" \
	-Xlinker -rpath="$cupti/lib64:$cuda/lib64" -o work "$here/work.cu" "$here/cutrace.c" -lcupti
./work list | while read -r name variant; do
	[ "$variant" = without ] || ./work time "$name"
	./work trace "$name" "$variant" "$name.$variant.txt"
done >times.tsv
