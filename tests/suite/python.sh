#!/bin/sh
# The Python package, installed by `pip install ./python` without an index. Its findings, tables and
# documents are those of the report, the notebook runs, and DuckDB reads its tables as Arrow and Parquet.
# usage: python.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
python=python3
# A program without sanitizers cannot load a library that has them.
if nm "$prog" | grep -qE '__([at]san|ubsan|gcov)_'; then skipped 'the library has sanitizers or counters'; exit; fi
# Debian's pandas and nbconvert are of its own Python.
[ ! -x /usr/bin/python3 ] || ! /usr/bin/python3 -c 'import pandas' 2>/dev/null || python=/usr/bin/python3
python3 -m pip --version >/dev/null 2>&1 || { skipped 'pip is not here'; exit; }
holds 'pip install' env NSX_BUILD="$b" PIP_ROOT_USER_ACTION=ignore python3 -m pip install -q --no-index \
	--target site "$root/python"
PYTHONPATH=$work/site; export PYTHONPATH
holds 'a report' "$prog" "$fix/synthetic.sqlite" -q --out report
cat >check.py <<'P'
import csv, gc, json, sys
import nsx

trace = sys.argv[1]
run = nsx.open(trace, what_if=["no:cudaStreamSynchronize"])
with open("report/report.json") as f:
    report = json.load(f)
with open("report/tables/findings.csv") as f:
    findings = list(csv.DictReader(f))

assert run.verdict.startswith("Compute-bound: 47 % compute"), run.verdict
assert [f["key"] for f in run.findings] == [f["key"] for f in report["findings"]]
for ours, theirs in zip(run.findings, findings):
    for name, cell in ours.items():
        told = theirs[name]
        assert (cell is None) == (told == ""), (name, cell, told)
        assert cell is None or str(cell) == told or float(told) == cell, (name, cell, told)
assert run.findings[-1] == run.findings[len(findings) - 1] and len(run.findings[1:3]) == 2
kernels = run.tables["top_kernels.kernels"]
assert kernels[0]["kernel_name"] == report["metrics"]["top_kernels"]["kernels"][0]["kernel_name"]
assert kernels.columns["kernel_name"] and kernels.dict()["kernel_name"][0] == kernels[0]["kernel_name"]
assert run.json["findings"] == report["findings"] and run.warnings == report["warnings"]
assert run.brief["verdict"]["word"] == "compute-bound" and "# " in run.markdown
assert len(run.tables["what_if.asked"]) == 1
assert run.reason("top_kernels") is None and run.reason("no_such") == ""
assert "<table>" in run.findings._repr_html_() and "Compute-bound" in run._repr_html_()
part = nsx.open(trace, only=["top_kernels"])
assert "top_kernels.kernels" in part.tables and "gpu_idle.causes" not in part.tables
for ask, words in ((lambda: part.verdict, "first page"), (lambda: nsx.open(__file__), "text file"),
                   (lambda: nsx.open("none.sqlite"), "none.sqlite"),
                   (lambda: nsx.open(trace, only=["nonsense"]), "nonsense"),
                   (lambda: nsx.open(trace, what_if=["remove it"]), "remove it")):
    try:
        ask()
    except nsx.Error as e:
        assert words in str(e), e
    else:
        raise AssertionError(words)
for name in "model", "steps_from", "kernel_classes":
    try:
        nsx.open(trace, **{name: "none.json"})
    except nsx.Error as e:
        assert "none.json" in str(e) and e.code == -7, e
    else:
        raise AssertionError(name)
nsx._lib.nsx_stop()
try:
    nsx.open(trace)
    raise AssertionError("stopped")
except nsx.Error as e:
    assert e.code == -6, e
nsx._lib.nsx_resume()
nsx.open(trace).write("written")
table = nsx.open(trace).findings  # the report lives as long as its table
gc.collect()
assert table[0]["rank"] == 1
P
echo '{"parameters": 100000000, "dtype": "bf16"}' >model.json
echo '{"prefill": "execute_*"}' >steps.json
echo '{"mine": "gemm"}' >classes.json
cat >engine.py <<'P'
import json, subprocess, sys
import nsx

prog, trace = sys.argv[1:]
files = {"model": "model.json", "steps_from": "steps.json", "kernel_classes": "classes.json"}
whole = nsx.open(trace).json["metrics"]["steps"]
for name in files:  # each alone changes the section as the option does
    ours = nsx.open(trace, **{name: files[name]}).json["metrics"]["steps"]
    theirs = json.loads(subprocess.check_output([prog, trace, "--pass", "steps", "--json",
                                                 "--" + name.replace("_", "-"), files[name]]))
    assert ours == theirs["metrics"]["steps"] != whole, name
P
"$prog" diff "$fix/diff_before.sqlite" "$fix/diff_slower.sqlite" --json >diff.json
"$prog" fleet "$fix/two_rank_straggler.sqlite" --json >fleet.json
cat >several.py <<'P'
import json, sys
import nsx

def same(ours, file):
    with open(file) as f:
        theirs = json.load(f)
    ours = dict(ours)
    for x in ours, theirs:
        x.pop("generated_at", None), x.pop("generated_at_utc", None)
    assert ours == theirs, file

fix = sys.argv[1] + "/"
change = nsx.diff(fix + "diff_before.sqlite", [fix + "diff_slower.sqlite"], unit="auto")
same(change.json, "diff.json")
assert "a repetition" in change.verdict, change.verdict
assert "# " in change.markdown and len(change.tables) >= 5 and any(map(len, change.tables.values())), change.tables
ranks = nsx.fleet(fix + "two_rank_straggler.sqlite")
same(ranks.json, "fleet.json")
assert "rank" in ranks.verdict and len(ranks.tables["ranks"]) == 2, ranks.tables
for ask, words in ((lambda: nsx.diff([], fix + "synthetic.sqlite"), "both sides"),
                   (lambda: nsx.diff(__file__, __file__), "text file"),
                   (lambda: nsx.diff(fix + "diff_before.sqlite", fix + "diff_slower.sqlite", unit="x"), "x"),
                   (lambda: nsx.fleet(__file__), "none of 1"), (lambda: nsx.fleet([]), "fleet"),
                   (lambda: change._document(1), "no document 1")):
    try:
        ask()
    except nsx.Error as e:
        assert words in str(e), e
    else:
        raise AssertionError(words)
P
holds 'diff and fleet' python3 several.py "$fix"
holds 'findings, tables, documents, errors' python3 check.py "$fix/synthetic.sqlite"
holds 'files that describe the engine' python3 engine.py "$prog" "$fix/steps_vllm.sqlite"
holds 'a folder is written' cmp written/tables/kernels.csv report/tables/kernels.csv
if $python -c 'import pandas' 2>/dev/null; then
	holds 'pandas reads the same from the table and from its file' $python -c '
import nsx, pandas, sys
ours = nsx.open(sys.argv[1]).tables["top_kernels.kernels"].pandas()
theirs = pandas.read_csv("report/tables/kernels.csv")
pandas.testing.assert_frame_equal(ours[list(theirs)], theirs, check_dtype=False)' "$fix/synthetic.sqlite"
else
	part_skipped 'pandas is not here (Debian: python3-pandas)'
fi
m=$b/npm-duckdb
if command -v npm >/dev/null && [ ! -d "$m/node_modules/@duckdb" ]; then
	mkdir -p "$m" && (cd "$m" && npm install --silent --no-save --no-audit --no-fund --prefix . @duckdb/node-api@1.5.6-r.1) >/dev/null 2>&1
fi
holds 'Parquet files of tables' python3 -c '
import nsx, os, sys
run = nsx.open(sys.argv[1])
for _ in range(2):  # the second time they replace their own
    run.parquet("parquet")
for name in run.tables:
    with open(f"parquet/{name}.parquet", "rb") as f:
        data = f.read()
    assert data[:4] == data[-4:] == b"PAR1" and b"nsys-explain version" in data[-80:], name
with open("mine.parquet", "w") as f:
    f.write("a file of the user")
try:
    run.findings.parquet("mine.parquet")
    raise AssertionError("a file of the user was replaced")
except nsx.Error as e:
    assert "not written by this program" in str(e), e
' "$fix/synthetic.sqlite"
if command -v node >/dev/null && [ -d "$m/node_modules/@duckdb/node-api" ]; then
	holds 'a report with Parquet' "$prog" "$fix/synthetic.sqlite" -q --format parquet --out report
	holds 'a report with odd names' "$prog" "$fix/hostile_names.sqlite" -q --format parquet --out odd
	for tables in report/tables odd/tables; do
		holds "DuckDB reads Parquet and CSV of $tables alike" node "$tests/duckdb.mjs" "$m/node_modules" $tables
	done
	for trace in synthetic hostile_names ranks_of_hosts; do
		holds "DuckDB reads streams of Arrow and Parquet of $trace" python3 "$tests/arrow.py" \
			"$(ls "$m"/node_modules/@duckdb/node-bindings-*/libduckdb.so)" "$fix/$trace.sqlite"
	done
	holds 'a report without Parquet again' "$prog" "$fix/synthetic.sqlite" -q --out report
	holds 'Parquet files of an older run are removed' not ls report/tables/kernels.parquet
else
	part_skipped 'DuckDB is not here (needs node, and npm with its registry)'
fi
for library in polars pyarrow; do
	if $python -c "import $library" 2>/dev/null; then
		method=${library%pyarrow}; method=${method:-arrow}
		holds "$library" $python -c "
import nsx, sys
assert nsx.open(sys.argv[1]).tables['top_kernels.kernels'].$method().shape[0] == 3" "$fix/synthetic.sqlite"
	else
		part_skipped "$library is not here"
	fi
done
if $python -c 'import pyarrow' 2>/dev/null; then
	holds 'Parquet' $python -c '
import nsx, pyarrow.parquet, sys
nsx.open(sys.argv[1]).parquet("lake")
assert pyarrow.parquet.read_table("lake/top_kernels.kernels.parquet").num_rows == 3' "$fix/synthetic.sqlite"
fi
if $python -c 'import pandas, nbconvert, ipykernel' 2>/dev/null; then
	# The notebook runs in its own folder: beside the package's source, Python would import that source.
	mkdir tree && cp -r "$root/python" "$root/examples" tree
	holds 'the notebook runs' env HOME="$work" "$python" -m nbconvert --to notebook --execute --output run.ipynb tree/examples/notebook.ipynb
	holds 'it shows findings' grep -q 'fwrite in write take 38 % of the recording' tree/examples/run.ipynb
else
	part_skipped 'the notebook: nbconvert, ipykernel or pandas is not here (Debian: jupyter-nbconvert, python3-ipykernel, python3-pandas)'
fi
finish
