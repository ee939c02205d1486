#!/bin/sh
# A fixture written as a report file gives the same report as its export: report.md and the tables
# are equal byte for byte, report.json value by value.
# usage: nsysrep_fixtures.sh BUILD_DIR     FIXTURES=all: of all fixtures, not every fourth
#
# mkrep writes the files. It names the contents of a fixture for which no place in the format is
# known, and such a fixture is not compared. tests/nsysrep/not_whole.txt lists these fixtures and
# the contents that are left out; any difference from the list fails (UPDATE=1 writes a new list).
# tests/nsysrep/differs.txt lists fixtures whose reports may differ, with the reason:
# FIXTURE<tab>REASON.
. "$(dirname "$0")/../suite.sh"
# Selects a row from a capture that records options of processes, but not the option about GPU
# memory, which all real exports with such options have.
no_memory_option="SELECT 1 FROM META_DATA_CAPTURE WHERE name LIKE 'PROCESS_0:%' AND NOT EXISTS (
	SELECT 1 FROM META_DATA_CAPTURE WHERE name LIKE '%COLLECT_GPU_MEMORY_USAGE')"
mkdir files
for f in "$fix"/*.sqlite; do
	name=$(basename "$f" .sqlite)
	"$b/mkrep" "$f" "files/$name.nsys-rep" 2>lost || continue
	if [ -s lost ]; then
		sed "s/^mkrep: /$name	/" lost >>not_whole
		rm "files/$name.nsys-rep"
	elif [ "$(sqlite3 "$f" "SELECT count(*) FROM sqlite_master WHERE name LIKE 'MPI_%'")" -gt 0 ]; then
		cp "$f" "files/$name.sqlite"
		sqlite3 "files/$name.sqlite" <"$tests/nsysrep/mpi.sql" || bad "$name: no rows of MPI"
	elif [ -n "$(sqlite3 "$f" "$no_memory_option" 2>&-)" ]; then
		cp "$f" "files/$name.sqlite"
		sqlite3 "files/$name.sqlite" "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COLLECT_GPU_MEMORY_USAGE', 'false')"
	else
		ln -s "$f" "files/$name.sqlite"
	fi
done
if [ -n "${UPDATE:-}" ]; then cp not_whole "$tests/nsysrep/not_whole.txt"; fi
holds 'fixtures that no report file can hold are those of not_whole.txt' \
	diff "$tests/nsysrep/not_whole.txt" not_whole
"$b/mkrep" "$fix/synthetic.sqlite" again
holds 'the same export gives the same file' cmp again files/synthetic.nsys-rep

# Removes what may differ between the two files: their size, tables and columns, the SQL and
# checksums that depend on these, and the numbers of counters, which are arbitrary.
cat >narrow.py <<'EOF'
import csv, glob, json, sys
GONE = ("crc32", "size_bytes", "schema_version", "schema", "sql", "metric_id")
def narrow(v):
    if isinstance(v, dict):
        return {k: narrow(x) for k, x in v.items() if k not in GONE}
    return [narrow(x) for x in v] if isinstance(v, list) else v
with open(sys.argv[1] + "/report.json") as f:
    report = narrow(json.load(f))
with open(sys.argv[1] + "/report.json", "w") as f:
    json.dump(report, f, indent=1)
for name in glob.glob(sys.argv[1] + "/tables/gpu_metrics*.csv"):
    with open(name) as f:
        rows = list(csv.reader(f))
    gone = rows[0].index("metric_id") if "metric_id" in rows[0] else len(rows[0])
    with open(name, "w") as f:
        csv.writer(f).writerows(r[:gone] + r[gone + 1:] for r in rows)
EOF
# Writes the outputs of both files, each to a folder with the same name.
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
	python3 narrow.py "$kind/$name/out" 2>/dev/null
done
diff -r "sqlite/$name" "nsys-rep/$name" >"$name.diff"
EOF
export prog SOURCE_DATE_EPOCH=1
find files -name '*.nsys-rep' | sed 's/^files.//; s/\.nsys-rep$//' | sort |
	awk -v all="${FIXTURES:-}" 'all != "" || NR % 4 == 1 || /^(mpi|nccl|nvtx|osrt)/ || /labels|metrics|python|synthetic/' >names
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
