#!/bin/sh
# README.md and docs/diff.md show the real output of the program. Blocks that begin with "$" are run
# on the public captures from which they come, and the tables of `diff` are those in diff.md.
# usage: readme.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
[ -f "$traces/mfu_2gpu_before.sqlite" ] || { skipped "no traces at $traces: README not compared"; exit; }
traces=$(cd "$traces" && pwd)
mkdir bin; ln -s "$b/nsys-explain" bin/nsys-explain
PATH=$work/bin:$PATH; export PATH
"$b/mkrep" "$traces/h100_2gpu_1s.sqlite" serve.nsys-rep 2>lost
for name in run before; do ln -s "$traces/mfu_2gpu_before.sqlite" $name.sqlite; done
ln -s "$traces/mfu_2gpu_after.sqlite" after.sqlite

# Prints the Nth block of the README that begins with a command, unchanged.
block() {
	awk -v n="$1" '
	/^```$/ { inside = !inside; first = inside; next }
	inside && first { first = 0; if (/^\$ /) at++ ; mine = /^\$ / && at == n }
	inside && mine { print }
	' "$root/README.md"
}
n=1
while block $n >want && [ -s want ]; do
	command=$(sed -n '1s/^\$ //p' want)
	{ sed -n 1p want; eval "$command"; } >have 2>&1
	if cmp -s want have; then ok; else bad "$command prints something else:"; diff want have; fi
	n=$((n + 1))
done
if [ $n -gt 3 ]; then ok; else bad "only $((n - 1)) blocks with a command"; fi
sed -n '/^| | median/,/^The same/p' "$root/docs/diff.md" | grep -E '^(\||- )' >rows
if [ "$(wc -l <rows)" = 10 ]; then ok; else bad "docs/diff.md shows other tables"; fi
while IFS= read -r row; do
	if grep -qxF -- "$row" diff-report/diff.md; then ok; else bad "not in diff.md: $row"; fi
done <rows
finish
