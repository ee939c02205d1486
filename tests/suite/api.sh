#!/bin/sh
# The library as its users get it. After installation pkg-config finds it, and the example links it
# shared and static. It exports exactly the functions that the headers declare. Each header compiles
# alone in C and C++. `make uninstall` removes every file.
# usage: api.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
cc=${CC:-cc}
cd "$root" || exit 1
# A build with sanitizers or coverage needs further libraries, so the library is then built anew.
own=$b flags=
if nm "$b/nsys-explain" | grep -qE '__([at]san|ubsan|gcov)_'; then own=$b/api flags='CFLAGS=-O1 SAN='; fi
# shellcheck disable=SC2086
holds 'make install' make -s -j2 B="$own" PREFIX="$work/usr" $flags install
cd "$work" || exit 1
PKG_CONFIG_PATH=$work/usr/lib/pkgconfig LD_LIBRARY_PATH=$work/usr/lib; export PKG_CONFIG_PATH LD_LIBRARY_PATH
if command -v pkg-config >/dev/null; then
	flags=$(pkg-config --cflags --libs libnsx) static=$(pkg-config --static --libs libnsx)
else
	flags="-I$work/usr/include -L$work/usr/lib -lnsx"; part_skipped "pkg-config is not here"
	static=$(sed -n 's/^Libs.private: //p' usr/lib/pkgconfig/libnsx.pc)
fi
ex=$root/examples/findings.c trace=$b/fixtures/synthetic.sqlite
# shellcheck disable=SC2086
holds 'the example, shared' $cc -std=c11 -Wall -Wextra -Werror -o shared "$ex" $flags
# shellcheck disable=SC2086
holds 'the example, static' $cc -std=c11 -Iusr/include -o static "$ex" usr/lib/libnsx.a ${static##*-lnsx}
cat >want <<'P'
     2.600 ms  computeKernel
     2.000 ms  ncclAllReduceRingKernel
     1.500 ms  ncclBroadcastRingKernel
P
holds 'a report' "$prog" "$trace" -q --out report
python3 -c "import csv
for f in csv.DictReader(open('report/tables/findings.csv')): print(f['title'])" >titles
grep -hoE '\bnsx_[a-z_]+\(' usr/include/nsx/*.h | tr -d '(' | sort -u >declared
for how in shared static; do
	holds "$how: it runs" sh -c "./$how $trace >$how.out && tail -n 3 $how.out | diff want -"
	holds "$how: the verdict" grep -q '^\*\*Compute-bound\*\*: 47 % compute' $how.out
	holds "$how: it shows the findings" sh -c "sed '1d;s/^.\{15\}//' $how.out | head -n $(wc -l <titles) | diff titles -"
	holds "$how: what is no trace" sh -c "! ./$how $ex 2>err && grep -q 'text file' err"
done
holds 'names of the static library' sh -c "nm -g --defined-only usr/lib/libnsx.a | awk 'NF == 3 { print \$3 }' | sort -u | diff declared -"
holds 'a soname with a version' sh -c "readelf -dW usr/lib/libnsx.so | grep -q 'soname: \[libnsx.so.0\]'"
holds 'the example needs it by that' sh -c "readelf -dW shared | grep -q 'NEEDED.*libnsx.so.0'"
nm -D --defined-only usr/lib/libnsx.so | awk '$2 == "T" || $2 == "D" || $2 == "B" { print $3 }' | sort -u >exported
holds 'exported is what is declared' diff declared exported
for h in usr/include/nsx/*.h; do
	h=nsx/$(basename "$h")
	holds "$h alone" sh -c "echo '#include <$h>' | $cc -std=c99 -Wall -Wextra -Wpedantic -Werror -Iusr/include -fsyntax-only -x c -"
	! command -v c++ >/dev/null || holds "$h in C++" sh -c "echo '#include <$h>' | c++ -Wall -Wextra -Werror -Iusr/include -fsyntax-only -x c++ -"
	holds "$h knows no SQLite" sh -c "! grep -qi 'sqlite3\|CUPTI' usr/include/$h"
done
holds 'the script runs' sh -c "python3 $root/examples/findings.py report >script.out && tail -n 3 script.out | diff want -"
holds 'the script shows findings' grep -q '^\[' script.out
# --metrics writes the report's figures, and replaces no file of the user.
holds 'metrics' "$prog" "$trace" --brief --metrics run.prom
holds '... again' "$prog" "$trace" --brief --metrics run.prom
odd=$(printf 'a\377"\\\n.sqlite')
cp "$trace" "$odd"
holds '... of an odd name' "$prog" "$odd" --brief --metrics odd.prom
cat >check.py <<'P'
import csv, glob, json, re, sys
label = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
def families(path): # reads as strictly as OpenMetrics is defined; {family: {labels: value}}
    read, text = {}, open(path, "rb").read().decode()
    assert text.endswith("\n# EOF\n") and "\0" not in text and "\r" not in text
    # Prometheus reads each family as HELP, TYPE, samples; node_exporter refuses types of OpenMetrics alone.
    for family in text[:-6].split("# HELP ")[1:]:
        name, kind, samples = re.fullmatch(r"(\w+) .+\n# TYPE (\w+ gauge)\n((?:(?!# ).+\n)*)", family).groups()
        assert kind == name + " gauge" and name not in read, name
        read[name] = {}
        for line in samples.splitlines():
            labels, value = re.fullmatch(name + r"(?:\{(.*)\})? ([0-9]+(?:\.[0-9]+)?)", line).groups()
            told = label.findall(labels or "")
            assert label.sub("", labels or "") == "" and len(dict(told)) == len(told), line
            assert frozenset(told) not in read[name], line
            read[name][frozenset(told)] = float(value)
    return read
odd = families("odd.prom")["nsys_explain_verdict_info"]
(odd_file,) = [dict(k)["file"] for k in odd]
assert odd_file == 'a\ufffd\\"\\\\\\n.sqlite', odd_file
run = families("run.prom")
for name in glob.glob(sys.argv[1] + "/*"): # the dashboard shows and asks for what there is
    asked = open(name).read()
    names = set(re.findall(r"nsys_explain_\w+", asked))
    assert names and names <= set(run), (name, names)
    if name.endswith(".json"):
        panels = json.loads(asked)["panels"]
        assert panels and all(p["type"] and p["gridPos"] and p["targets"][0]["expr"] for p in panels)
told = {dict(k)["finding"]: v for k, v in run["nsys_explain_headroom_seconds"].items()}
priced = {f["key"]: float(f["headroom_ms"]) for f in csv.DictReader(open("report/tables/findings.csv")) if f["headroom_ms"]}
assert {k: round(v * 1e3, 6) for k, v in told.items()} == priced and priced, (told, priced)
P
holds '... are prices of the report' python3 check.py "$root/examples/metrics"
! command -v promtool >/dev/null || holds '... in the eyes of Prometheus' promtool check metrics <run.prom
! command -v promtool >/dev/null || holds '... and its rules' promtool check rules "$root/examples/metrics/alerts.yml"
echo mine >run.prom
holds "... what is the user's stays" not "$prog" "$trace" --brief --metrics run.prom
holds '... of a whole report' not "$prog" "$trace" --pass top_kernels --metrics new.prom
holds 'make uninstall' make -s -C "$root" B="$own" PREFIX="$work/usr" uninstall
holds '... leaves no file and no folder' [ -z "$(find usr -mindepth 1)" ]
finish
