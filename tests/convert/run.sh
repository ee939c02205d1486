#!/bin/bash
# Conversions: figures against SQL over the raw tables, what Perfetto's own
# trace processor says of them where it can be had, options, and failures,
# which leave nothing. ALL=1 takes every real trace, not eight.
# usage: run.sh BUILD_DIR
set -u
b=$(cd "$1" && pwd); here=$(cd "$(dirname "$0")" && pwd)
prog=$b/nsys-explain fix=$b/fixtures
shared=$here/../../../shared
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
pass=0 fail=0 skip=0
ok() { # WHAT COMMAND...
	what=$1; shift
	if "$@" >"$work/say" 2>&1; then pass=$((pass + 1)); echo "ok $what"
	else fail=$((fail + 1)); echo "FAIL $what"; tail -n 8 "$work/say"; fi
}
not() { ! "$@"; }

engine=
if command -v node >/dev/null && command -v npm >/dev/null && [ -x "$shared/tools/get-trace-processor" ]; then
	engine=$("$shared/tools/get-trace-processor" "$b/trace-processor" 2>/dev/null) || engine=
fi
perfetto() { # OUT -> perfetto.txt
	node "$shared/tools/tpquery.mjs" "$engine" "$1" \
		"select name, value from stats where value > 0 and severity != 'info'" \
		"select count(*), sum(dur) from slice" \
		"select count(*) from flow" \
		"select count(*) from counter" \
		"select count(*), sum(dur) from gpu_slice" \
		"select count(*) from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id where b.ts < a.ts" \
		2>/dev/null >perfetto.txt
}
# The same trace as packets: what the reader finds there are the figures of the
# JSON, which were held against the tables; GPU work, too, is of its typed kind.
check_packets() { # TRACE
	"$prog" convert "$1" -q -o check.pftrace || return
	perfetto check.pftrace || return
	python3 "$here/check.py" "$1" check.json perfetto.txt || return
	python3 "$here/check.py" --gpu "$1" perfetto.txt
}
check() { # TRACE [with]
	"$prog" convert "$1" -q -o check.json || return
	if [ "${2-}" = with ] && [ -n "$engine" ]; then
		perfetto check.json || return
		python3 "$here/check.py" "$1" check.json perfetto.txt || return
		check_packets "$1"
	else
		python3 "$here/check.py" "$1" check.json
	fi
}

# Figures -----------------------------------------------------------------------
for f in "$fix"/*.sqlite; do
	name=$(basename "$f" .sqlite)
	case $name in
	variant_names) ok "$name" "$prog" convert "$f" -q -o check.json ;; # the check knows the usual names
	hostile_names|zero_inverted_open|gpu_metrics|sched) ok "$name" check "$f" with ;;
	*) ok "$name" check "$f" ;;
	esac
done
traces="mfu_2gpu_before h100_2gpu_1s a100_cuda_graphs rtx3070ti_training windows_2026 nvtx_only cpu_only_sched nsys2020_cudf"
[ -z "${ALL-}" ] || traces=$(cd "$shared/traces" 2>/dev/null && basename -s .sqlite ./*.sqlite)
for name in $traces; do
	f=$shared/traces/$name.sqlite
	if [ -f "$f" ]; then ok "$name" check "$f" with
	else skip=$((skip + 1)); fi
done
if [ -z "$engine" ]; then
	skip=$((skip + 1))
	echo "skipped: Perfetto's trace processor cannot be had (needs node, npm, network and ../shared/tools)"
fi

# Options -------------------------------------------------------------------------
t=$fix/synthetic.sqlite
events() { # FILE PYTHON-EXPRESSION over e, a list of events: must be true
	python3 -c "import json, sys
e = json.load(open(sys.argv[1]))['traceEvents']
sys.exit(not ($2))" "$1"
}
"$prog" convert "$t" -q -o plain.json
"$prog" convert "$t" -q -o packed.json.gz
ok "gzip by suffix" sh -c 'gzip -dc packed.json.gz | cmp - plain.json'
"$prog" convert "$t" -q -o plain.pftrace --no-compress
"$prog" convert "$t" -q -o packed.pftrace.gz
ok "packets, gzip by suffix" sh -c 'gzip -dc packed.pftrace.gz | cmp - plain.pftrace'
"$prog" convert "$t" -q -o blocks.pftrace
ok "packets are compressed without it, too" test "$(wc -c <blocks.pftrace)" -lt "$(wc -c <plain.pftrace)"
"$prog" convert "$t" -o - >stdout.json 2>summary
ok "stdout" cmp stdout.json plain.json
ok "the summary is on stderr then" grep -q arrows summary
"$prog" convert -i "$t" --output named.json -q
ok "-i and --output" cmp named.json plain.json
cp "$t" beside.sqlite; "$prog" convert beside.sqlite -q
ok "default name" cmp beside.json plain.json
"$prog" convert "$t" -q -o part.json --activity kernel
ok "--activity" events part.json "{x['cat'] for x in e if x['ph'] == 'X'} == {'kernel'} and not [x for x in e if x['ph'] in 'sf']"
ok "an unknown activity is refused" not "$prog" convert "$t" -o none.json --activity kernels
"$prog" convert "$t" -q -o part.json --no-metadata
ok "--no-metadata" events part.json "not [x for x in e if x['ph'] == 'M'] and e"
"$prog" convert "$fix/nvtx_domains.sqlite" -q -o all.json --activity nvtx
prefix=$(python3 -c "import json; print([x['name'] for x in json.load(open('all.json'))['traceEvents'] if x['ph'] == 'X'][0][:3])")
"$prog" convert "$fix/nvtx_domains.sqlite" -q -o part.json --activity nvtx --nvtx-prefix "$prefix"
ok "--nvtx-prefix" events part.json "[x for x in e if x['ph'] == 'X'] == [x for x in json.load(open('all.json'))['traceEvents'] if x['ph'] == 'X' and x['name'].startswith('$prefix')]"
"$prog" convert "$fix/one_kernel.sqlite" -q -o part.json --window 1000..2000
ok "--window leaves out what is outside" events part.json "not [x for x in e if x['ph'] == 'X']"
"$prog" convert "$fix/one_kernel.sqlite" -q -o part.json --window 0..1000
ok "--window keeps what is inside" events part.json "[x for x in e if x['ph'] == 'X']"
"$prog" convert "$fix/nvtx_domains.sqlite" -q -o part.json --activity nvtx-kernel
ok "nvtx-kernel" events part.json "{x['cat'] for x in e if x['ph'] == 'X'} == {'nvtx-kernel'}"

# Order: the same rows, shuffled, sorted by their end, or backwards ---------------
for order in 'random()' 'end' 'start DESC'; do
	cp "$t" shuffled.sqlite
	for table in CUPTI_ACTIVITY_KIND_KERNEL CUPTI_ACTIVITY_KIND_RUNTIME NVTX_EVENTS; do
		sqlite3 shuffled.sqlite "CREATE TABLE x AS SELECT * FROM $table ORDER BY $order; DELETE FROM $table; INSERT INTO $table SELECT * FROM x; DROP TABLE x" 2>>"$work/say"
	done
	ok "rows ordered by $order" check "$PWD/shuffled.sqlite" with
done

# Failures ------------------------------------------------------------------------
mkdir bad; cd bad || exit 1
ok "not a trace" not "$prog" convert "$0" -o a.json
ok "no such file" not "$prog" convert ./none.sqlite -o a.json
ok "no such folder" not "$prog" convert "$t" -o none/a.json
ok "a full disk" not "$prog" convert "$t" -q -o /dev/full
cp "$t" same.sqlite
ok "the trace itself is not overwritten" not "$prog" convert same.sqlite -o same.sqlite
ok "and is whole" cmp same.sqlite "$t"
ln same.sqlite linked.json
ok "nor under another name" not "$prog" convert same.sqlite -o linked.json
echo mine >same.json
ok "a chosen name takes nothing's place" not "$prog" convert same.sqlite
ok "what was there stays" test "$(cat same.json)" = mine
rm -f same.json; "$prog" convert same.sqlite -q
ok "but that of our own output" "$prog" convert same.sqlite -q
cp same.sqlite run.nsys-rep
ok "a report is not overwritten by its export" not "$prog" convert run.nsys-rep --nsys "$here/../capture/fake-nsys.sh" \
	--step sqlite -o run.nsys-rep
ok "and is whole" cmp run.nsys-rep "$t"
rm -f same.sqlite linked.json same.json run.nsys-rep
# shellcheck disable=SC2016
ok "a small disk" not sh -c 'ulimit -f 8; exec "$0" convert "$1" -q -o a.json' "$prog" "$fix/launch_bound.sqlite"
PATH=/nowhere NSYS_PATH=/nowhere "$prog" convert x.nsys-rep -o a.json 2>../told
ok "a report that is not there" grep -q "cannot read 'x.nsys-rep'" ../told
ok "no failure left anything ($(ls -A))" test -z "$(ls -A)"
cd ..

# A report: exported, converted, cleared away -------------------------------------
cp "$here/../capture/fake-nsys.sh" nsys; chmod +x nsys
mkdir rep; head -c 2000000 /dev/zero >rep/run.nsys-rep
export FAKE_SQLITE=$t
ok "a .nsys-rep is exported first" "$prog" convert rep/run.nsys-rep -q --nsys ./nsys -o rep/run.json
ok "and converted the same" cmp rep/run.json plain.json
ok "--step sqlite" "$prog" convert rep/run.nsys-rep -q --nsys ./nsys --step sqlite
ok "keeps the export" cmp rep/run.sqlite "$t"
ok "nothing else stays" test "$(echo rep/*)" = "rep/run.json rep/run.nsys-rep rep/run.sqlite"

echo "convert: $pass passed, $fail failed, $skip skipped"
[ "$fail" -eq 0 ]
