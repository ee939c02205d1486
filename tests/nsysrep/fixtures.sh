#!/bin/sh
# Every fixture as a report file gives the report that its export gives: byte for
# byte in report.md and the tables, and value by value in report.json.
# usage: fixtures.sh BUILD_DIR
#
# mkrep writes the files; what the format has no known place for it names, and such
# fixtures are not compared. tests/nsysrep/not_whole.txt is the list of them, each
# with what is left out: one more or less fails (UPDATE=1 writes it anew).
# tests/nsysrep/differs.txt lists fixtures whose reports differ for a reason, which
# stands beside the name: FIXTURE<tab>REASON.
. "$(dirname "$0")/../suite.sh" # not of `make check` yet: reports still differ in words on tables that are not read
mkdir files
for f in "$fix"/*.sqlite; do
	name=$(basename "$f" .sqlite)
	"$b/mkrep" "$f" "files/$name.nsys-rep" 2>lost || continue
	if [ -s lost ]; then
		sed "s/^mkrep: /$name	/" lost >>not_whole
		rm "files/$name.nsys-rep"
	else
		ln -s "$f" "files/$name.sqlite"
	fi
done
if [ -n "${UPDATE:-}" ]; then cp not_whole "$tests/nsysrep/not_whole.txt"; fi
holds 'fixtures that no report file can hold are those of not_whole.txt' \
	diff "$tests/nsysrep/not_whole.txt" not_whole
"$b/mkrep" "$fix/synthetic.sqlite" again
holds 'the same export gives the same file' cmp again files/synthetic.nsys-rep

# Without what the two files rightly differ in: their size, tables and columns, and
# the SQL and sums that follow from these.
cat >narrow.py <<'EOF'
import json, sys
def narrow(v):
    if isinstance(v, dict):
        return {k: narrow(x) for k, x in v.items()
                if k not in ("crc32", "size_bytes", "schema_version", "schema", "sql")}
    return [narrow(x) for x in v] if isinstance(v, list) else v
with open(sys.argv[1]) as f:
    report = narrow(json.load(f))
with open(sys.argv[1], "w") as f:
    json.dump(report, f, indent=1)
EOF
# The outputs of both, each into a folder named alike.
cat >both.sh <<'EOF'
name=$1
for kind in sqlite nsys-rep; do
	mkdir -p "$kind/$name"
	"$prog" "files/$name.$kind" -q --threads 1 --out "$kind/$name/out" >"$kind/$name/said" 2>&1
	echo "exit $?" >>"$kind/$name/said"
done
find "nsys-rep/$name" -type f -exec sed -i "s/$name\.nsys-rep/$name.sqlite/g" {} +
for kind in sqlite nsys-rep; do
	rm -f "$kind/$name/out/report.html"
	python3 narrow.py "$kind/$name/out/report.json" 2>/dev/null
done
diff -r "sqlite/$name" "nsys-rep/$name" >"$name.diff"
EOF
export prog SOURCE_DATE_EPOCH=1
sh both.sh synthetic
if grep -q 'must be exported' nsys-rep/synthetic/said; then
	part_skipped 'this program reads no report files'
	finish
	exit
fi
find files -name '*.nsys-rep' | sed 's/^files.//; s/\.nsys-rep$//' | sort >names
xargs -P "$(nproc)" -n 1 sh both.sh <names
while read -r name; do
	if grep -q "^$name	" "$tests/nsysrep/differs.txt"; then
		if [ -s "$name.diff" ]; then ok; else bad "$name: is equal, and differs.txt says why not"; fi
	elif [ -s "$name.diff" ]; then
		bad "$name: $(wc -l <"$name.diff") lines differ"
		{ echo "== $name"; head -n 12 "$name.diff" | cut -c 1-200; } >>differ
	else
		ok
	fi
done <names
[ ! -s differ ] || head -n 200 differ
finish
