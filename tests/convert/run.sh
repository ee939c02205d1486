#!/bin/bash
# Tests of conversions. Figures equal those of SQL over the raw tables; Perfetto's own trace processor,
# if available, finds the same; options work; failures leave no file. ALL=1 takes every real trace
# instead of eight.
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
# Each run compiles Perfetto's engine. Traces are small, so node is told to compile quickly if it can.
node=(node --liftoff-only)
"${node[@]}" -e 0 2>/dev/null || node=(node)
query() { # OUT SQL...
	"${node[@]}" "$shared/tools/tpquery.mjs" "$engine" "$@" 2>/dev/null
}
perfetto() { # OUT -> perfetto.txt
	query "$1" \
		"select name, value from stats where value > 0 and severity != 'info'" \
		"select count(*), sum(dur) from slice" \
		"select count(*) from flow" \
		"select count(*), sum(value), sum((value + 1) * (ts % 1009)), count(distinct track_id), max(ts) from counter" \
		"select count(*), sum(dur) from gpu_slice" \
		"select count(*) from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id where b.ts < a.ts" \
		"select count(*), sum(int_value) from gpu_slice join args using (arg_set_id) where key = 'registers_per_thread' or key glob 'shared_mem_*'" \
		>perfetto.txt
}
# The same trace is converted to packets (.pftrace). The reader must find the figures of the JSON,
# which were compared with the tables. GPU work must have its own type of event.
rows=kernels,copies,graphs,nvtx,api,libraries,osrt,sched,counters # all kinds that tables have
check_packets() { # TRACE
	"$prog" convert "$1" -q -o check.pftrace --only $rows --force || return
	perfetto check.pftrace || return
	python3 "$here/check.py" "$1" check.json perfetto.txt packets || return
	python3 "$here/check.py" --gpu "$1" perfetto.txt || return
	"$prog" convert "$1" -q -o check.pftrace.gz --only $rows --gpu tracks --force || return
	perfetto check.pftrace.gz || return
	python3 "$here/check.py" "$1" check.json perfetto.txt packets
}
check() { # TRACE [with]
	"$prog" convert "$1" -q -o check.json --only $rows || return
	if [ "${2-}" = with ] && [ -n "$engine" ]; then
		perfetto check.json || return
		python3 "$here/check.py" "$1" check.json perfetto.txt || return
		check_packets "$1"
	else
		python3 "$here/check.py" "$1" check.json
	fi
}
# A trace whose GPU times the loader corrects gives the same as one whose times were corrected by hand.
corrected() { # TRACE SQL
	cp "$1" corrected.sqlite && chmod u+w corrected.sqlite && sqlite3 corrected.sqlite "$2" || return
	"$prog" convert "$1" -q -o raw.json --only $rows || return
	check corrected.sqlite || return
	sed -i '/^"rows_left_out":/d' raw.json check.json # by hand they are deleted
	cmp raw.json check.json || return
	for form in json pftrace; do
		"$prog" convert "$1" -o "say.$form" --force >said || return
		[ "$(grep -c "$3" said)" = 1 ] || return
	done
}

# Figures -----------------------------------------------------------------------
for f in "$fix"/*.sqlite; do
	name=$(basename "$f" .sqlite)
	case $name in
	variant_names|versioned_tables) ok "$name" "$prog" convert "$f" -q -o check.json ;; # the check knows the usual names
	clock_skew) ok "$name" corrected "$f" "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = start + 4999000,
		end = end + 4999000 WHERE deviceId = 1; UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET start = start + 4999000,
		end = end + 4999000 WHERE deviceId = 1" "^GPU 1: GPU times were recorded 5 ms too early" ;;
	impossible_records) ok "$name" corrected "$f" "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId
		IN (41, 102); UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start + 400000 WHERE correlationId = 161" \
		"^2 records .* left out; 1 record .* cut there" ;;
	impossible_copies) ok "$name" corrected "$f" "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start < 60000000000;
		DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE start < 60000000000;
		UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET end = start + 20000;
		UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET end = start + 180000 WHERE end > start + 1000000" \
		"^2 records .* left out; 2 records .* cut there" ;;
	after_session) ok "$name" corrected "$f" "UPDATE NVTX_EVENTS SET end = NULL WHERE end > 1000000000" \
		"^the end of 1 NVTX range .* taken as never closed" ;;
	times_impossible) ok "$name" corrected "$f" "UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET end = start + 190000 WHERE
		end > 1 << 60; DELETE FROM OSRT_API WHERE end > 1 << 42 OR start < 0; DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME
		WHERE start < 0; DELETE FROM SCHED_EVENTS WHERE start > 1 << 42; DELETE FROM GPU_METRICS WHERE timestamp > 1 << 42;
		DELETE FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE start > 1 << 42; UPDATE NVTX_EVENTS SET end = NULL WHERE
		end > 1 << 42" "^1 record .* cut there .*; .* left out" ;;
	call_swallows) ok "$name" corrected "$f" "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE end > 1 << 42" \
		"^1 CUDA call .* left out" ;;
	hostile_names|libraries|zero_inverted_open|gpu_metrics|memory_usage|sched) ok "$name" check "$f" with ;;
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
"$prog" convert "$fix/gpu_metrics_odd.sqlite" -q -o many.json # nine blocks
"$prog" convert "$fix/gpu_metrics_odd.sqlite" -q -o many.json.gz
taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')" "$prog" convert "$fix/gpu_metrics_odd.sqlite" -q -o alone.json.gz
ok "many blocks are one stream" sh -c 'gzip -dc many.json.gz | cmp - many.json'
ok "the same from one thread and from several" cmp many.json.gz alone.json.gz
"$prog" convert "$t" -q -o blocks.pftrace
"$prog" convert "$fix/gpu_metrics_odd.sqlite" -q -o many.pftrace
taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')" "$prog" convert "$fix/gpu_metrics_odd.sqlite" -q -o alone.pftrace
ok "packets, the same from one processor and from several" cmp many.pftrace alone.pftrace
ok "packets are compressed without it, too" test "$(wc -c <blocks.pftrace)" -lt "$(wc -c <plain.pftrace)"
"$prog" convert "$fix/launch_bound.sqlite" --only kernels,api -q --no-compress -o small.pftrace
ok "a call and its kernel take 105 bytes" test "$(wc -c <small.pftrace)" -lt 10500 # a hundred of them
rm small.pftrace
"$prog" convert "$t" -o - >stdout.json 2>summary
ok "stdout" cmp stdout.json plain.json
ok "the summary is on stderr then" grep -q arrows summary
"$prog" convert -i "$t" --output named.json -q
ok "-i and --output" cmp named.json plain.json
cp "$t" beside.sqlite; "$prog" convert beside.sqlite -q
ok "default name" cmp beside.pftrace blocks.pftrace
mkdir elsewhere; mv beside.sqlite elsewhere; rm beside.pftrace; "$prog" convert elsewhere/beside.sqlite -q
ok "in the working folder" cmp beside.pftrace blocks.pftrace
"$prog" convert "$t" -q -o part.json --activity kernel
ok "--activity" events part.json "{x['cat'] for x in e if x['ph'] == 'X'} == {'kernel'} and not [x for x in e if x['ph'] in 'sf']"
# shellcheck disable=SC2016
ok "--only knows other words, too" sh -c '"$0" convert "$1" -q -o only.json --only kernels && cmp only.json part.json' "$prog" "$t"
ok "an unknown activity is refused" not "$prog" convert "$t" -o none.json --activity kernel,colonels
"$prog" convert "$t" -q -o part.json --no-metadata
ok "--no-metadata" events part.json "not [x for x in e if x['ph'] == 'M'] and e"
"$prog" convert "$fix/nvtx_domains.sqlite" -q -o all.json --activity nvtx
prefix=$(python3 -c "import json; print([x['name'] for x in json.load(open('all.json'))['traceEvents'] if x['ph'] == 'X'][0][:3])")
"$prog" convert "$fix/nvtx_domains.sqlite" -q -o part.json --activity nvtx --nvtx-prefix "$prefix"
ok "--nvtx-prefix" events part.json "[x for x in e if x['ph'] == 'X'] == [x for x in json.load(open('all.json'))['traceEvents'] if x['ph'] == 'X' and x['name'].startswith('$prefix')]"
"$prog" convert "$fix/one_kernel.sqlite" -q -o part.json --only kernels --window 0..0.000001
ok "--window leaves out what is outside" events part.json "not [x for x in e if x['ph'] == 'X']"
"$prog" convert "$fix/one_kernel.sqlite" -q -o part.json --window 0..1000
ok "--window keeps what is inside" events part.json "[x for x in e if x['ph'] == 'X']"
"$prog" convert "$fix/memory_usage.sqlite" -q -o part.json --only memory --window 450000ns..550000ns
ok "a window begins with the memory that is there by then" events part.json "[(float(x['ts']), x['name'], *x['args'].values()) for x in e if x['ph'] == 'C' and 'device' in x['name']] == [
	(450, 'device memory of process 111', 100 << 20), (450, 'live device allocations of process 111', 1),
	(500, 'device memory of process 222', 10 << 20), (500, 'live device allocations of process 222', 1),
	(500, 'device memory of process 333', 4 << 20), (500, 'live device allocations of process 333', 1)]"
# Seconds count from the first event, as in a report; the declaration of a domain is no event.
cp "$fix/one_kernel.sqlite" early.sqlite
sqlite3 early.sqlite 'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = start + 5000000000, end = end + 5000000000; UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = start + 5000000000, end = end + 5000000000'
"$prog" convert early.sqlite -q -o whole.json --window 0..1
sqlite3 early.sqlite "CREATE TABLE IF NOT EXISTS NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER); INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid, domainId) VALUES (1, 75, 'NCCL', 1, 1)"
"$prog" convert early.sqlite -q -o part.json --window 0..1
ok "seconds count from the first event" events part.json "len([x for x in e if x['ph'] == 'X']) == len([x for x in json.load(open('whole.json'))['traceEvents'] if x['ph'] == 'X']) > 0"
# A window by the names and numbers of a report equals the window by their times.
"$prog" "$fix/iterations_nvtx.sqlite" -q -o windows --no-html
same_window() { # A..B OPTION...
	at=$1; shift
	"$prog" convert "$fix/iterations_nvtx.sqlite" -q -o named.json "$@" &&
		"$prog" convert "$fix/iterations_nvtx.sqlite" -q -o timed.json --window "$at" &&
		cmp named.json timed.json && events named.json "[x for x in e if x['ph'] == 'X']"
}
ok "--window phase:NAME" same_window "$(sed -n 's/^steady,[^,]*,[^,]*,\([0-9]*\),\([0-9]*\),.*/\1ns..\2ns/p' windows/tables/run_phases.csv)" --window phase:steady
ok "--iteration N" same_window "$(sed -n 's/^[^,]*,[^,]*,2,\([0-9]*\),\([0-9]*\),.*/\1ns..\2ns/p' windows/tables/iterations.csv)" --iteration 2
ok "a phase that is not there is refused" not "$prog" convert "$fix/iterations_nvtx.sqlite" -q -o none.json --window phase:none
ok "--iteration or --window" not "$prog" convert "$fix/iterations_nvtx.sqlite" -q -o none.json --window 0..1 --iteration 2
"$prog" convert "$fix/nvtx_domains.sqlite" -q -o part.json --activity nvtx-kernel
ok "nvtx-kernel" events part.json "{x['cat'] for x in e if x['ph'] == 'X'} == {'nvtx-kernel'}"

# What the report says ------------------------------------------------------------
python3 - "$prog" "$fix" <<'PY' >"$work/say" 2>&1
import json, subprocess, sys
prog, fix = sys.argv[1:]
seen = set()
for name in ("synthetic", "launch_bound", "two_rank_straggler"):
    trace = f"{fix}/{name}.sqlite"
    subprocess.run([prog, "convert", trace, "-q", "--force", "-o", "f.json", "--only", "findings"], check=True)
    events = json.load(open("f.json"))["traceEvents"]
    report = json.loads(subprocess.run([prog, trace, "--json"], check=True, capture_output=True).stdout)
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    slices = [e for e in events if e["ph"] == "X"]
    want = sum(1 for _ in report["metrics"]["iterations"].get("rows") or [])
    got = [e for e in slices if tracks[e["tid"]].startswith("iterations")]
    assert len(got) == want, (name, want, len(got))
    assert [e for e in slices if tracks[e["tid"]] == "run phases"], name
    told = {f["key"]: f for f in report["findings"]}
    for e in slices:
        if "finding" in e.get("args", {}):
            f = told[e["args"]["finding"]]
            seen.add(e["args"]["finding"])
            assert e["args"]["severity"] == f["severity"], (e, f)
            assert e["name"] == tracks[e["tid"]], e
assert seen
PY
ok "run phases, iterations and findings stand where the report has them" test $? = 0
if [ -n "$engine" ]; then
	"$prog" convert "$t" -q -o told.pftrace
	query told.pftrace "select count(*) from slice where name is null" \
		"select count(*) > 0 from slice s join track t on s.track_id = t.id join track p on t.parent_id = p.id where p.name = 'nsys-explain'" |
		grep -v '^#' | tr '\n' ' ' >told
	query told.pftrace "select count(*) = (select count(*) from gpu_slice where name not like 'Mem%') from args where key = 'render_stage_category' and display_value = '2'" | tail -n1 >compute
	ok "kernels are of the kind that viewers know for computing" grep -qx 1 compute
	ok "no slice of packets lacks its name, and the report's stand under it" grep -q '^count(\*) 0 count(\*) > 0 1 $' told
	"$prog" convert "$fix/hostile_names.sqlite" -q -o odd.json --only nvtx,api,osrt
	"$prog" convert "$fix/hostile_names.sqlite" -q -o odd.pftrace --only nvtx,api,osrt
	query odd.pftrace "select hex(name), count(*) from slice group by 1 order by 1" | grep '^[0-9A-F]*|' >odd.names
	ok "packets have the names of the JSON, up to 4 KiB" python3 -c "
import collections, json
names = collections.Counter(e['name'].encode()[:4096].hex().upper() for e in json.load(open('odd.json'))['traceEvents'] if e['ph'] in 'Xbi')
assert len(names) > 20
assert open('odd.names').read() == ''.join(f'{n}|{names[n]}\\n' for n in sorted(names))"
fi

# Size ----------------------------------------------------------------------------
# launch_bound with OS calls, a CUDA call without GPU work, and a mark, which are left out in this
# order.
f=all_sorts.sqlite
cp "$fix/launch_bound.sqlite" $f
sqlite3 $f "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
	INSERT INTO OSRT_API SELECT start, start + 1, globalTid, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME;
	CREATE TABLE x AS SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME LIMIT 5;
	UPDATE x SET correlationId = correlationId + 1000000, start = (SELECT max(end) FROM CUPTI_ACTIVITY_KIND_RUNTIME) + 10 * rowid;
	UPDATE x SET end = start + 5; INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT * FROM x; DROP TABLE x" 2>>"$work/say"
"$prog" convert "$f" -q -o whole.json
"$prog" convert "$f" -q -o no_osrt.json --only kernels,copies,graphs,nvtx,api,gpu-metrics,memory
size=$(wc -c <whole.json)
"$prog" convert "$f" -o less.json --max-size $((size - 1)) >told
ok "--max-size drops what goes first, and says so" grep -q 'dropped, to be no larger than' told
ok "and in what unit a size is" grep -q 'no larger than [0-9.]* kB$' told
ok "it is OS calls first" cmp less.json no_osrt.json
"$prog" convert "$f" -o less.json --max-size $(($(wc -c <no_osrt.json) - 1)) >told
ok "then CUDA calls that caused nothing" grep -q '^CUDA calls that caused no GPU work dropped' told
ok "--max-size keeps to it" test "$(wc -c <less.json)" -lt "$size"
count() { python3 -c "import json, sys; print(sum(x['ph'] == 'X' and x['cat'] in ('kernel', 'memcpy', 'memset', 'nvtx') for x in json.load(open(sys.argv[1]))['traceEvents']))" "$1"; }
ok "--max-size drops no GPU work and no range" test "$(count less.json)" = "$(count whole.json)"
"$prog" convert "$f" -q -o same.json --max-size "${size}B"
ok "--max-size leaves what fits" cmp same.json whole.json
ok "--max-size in small letters" "$prog" convert "$f" -q -o small.json --max-size 400m
"$prog" convert "$f" -o beyond.json --only sched >/dev/null 2>told
ok "a result without events is told" grep -q 'the result is empty' told
ok "a window beyond all events is refused" not "$prog" convert "$f" -q -o beyond.json --window 5000..5001
ok "--max-size that nothing fits is refused" not "$prog" convert "$f" -q -o tiny.json --max-size 1k
ok "and leaves nothing" test ! -e tiny.json
ok "--max-size must be a size" not "$prog" convert "$f" -q -o tiny.json --max-size many

# Several traces ------------------------------------------------------------------
# Two hosts with the same trace; the session of the second began 1 ms later.
for i in 0 1; do
	cp "$fix/launch_bound.sqlite" "job_rank$i.sqlite"
	sqlite3 "job_rank$i.sqlite" "DROP TABLE IF EXISTS TARGET_INFO_SYSTEM_ENV; CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
		INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 'host$i');
		DROP TABLE IF EXISTS TARGET_INFO_SESSION_START_TIME; CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
		INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000 + $i * 1000000, '', '')" 2>>"$work/say"
done
"$prog" convert job_rank0.sqlite job_rank1.sqlite -o job.pftrace --only $rows >told
"$prog" convert job_rank0.sqlite job_rank1.sqlite -q -o job.tar --only $rows
ok "a .tar has a manifest and a member a trace" test "$(tar tf job.tar | tr '\n' ' ')" = "perfetto_manifest.json 0-job_rank0.pftrace 1-job_rank1.pftrace "
ok "the manifest is JSON and names the machines" python3 -c "
import json, subprocess
m = json.loads(subprocess.run(['tar', 'xOf', 'job.tar', 'perfetto_manifest.json'], capture_output=True, check=True).stdout)['perfetto_manifest']
assert m['version'] == 1 and [f['path'] for f in m['files']] == ['0-job_rank0.pftrace', '1-job_rank1.pftrace']
assert [f['machine']['name'] for f in m['files']] == ['host 0', 'host 1'] and m['files'][1]['clocks']['is']['file'] == m['files'][0]['path']"
if [ -n "$engine" ]; then
	"$prog" convert "$fix/launch_bound.sqlite" -q -o one.pftrace --only $rows
	figures() { # FILE FACTOR: slices, sums, arrows; whether any is lost or backward; how far apart the two first kernels are
		query "$1" "select count(*) * $2, sum(dur) * $2 from slice" \
			"select count(*) * $2, sum(dur) * $2 from gpu_slice" "select count(*) * $2 from flow" \
			"select (count(*) - count(distinct track_id)) * $2, sum(value) * $2 from counter" \
			"select count(*) from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id where b.ts < a.ts" \
			"select name, value from stats where value > 0 and severity != 'info'" | grep -v '^#'
	}
	figures one.pftrace 2 | sed 's/ \* [12]//g' >one; figures job.pftrace 1 | sed 's/ \* [12]//g' >two; figures job.tar 1 | sed 's/ \* [12]//g' >archive
	ok "two traces in one file are twice one" cmp one two
	ok "in an archive, too" cmp one archive
	query job.pftrace "select max(t) - min(t), count(*) from (select min(ts) as t from gpu_slice s join track on s.track_id = track.id group by machine_id)" | tail -n1 >apart
	ok "on one clock, each on its machine" test "$(cat apart)" = "1000000|2"
	"$prog" convert job_rank0.sqlite job_rank0.sqlite -q -o twice.pftrace --only findings
	query twice.pftrace "select count(distinct t.id) from slice s join track t on s.track_id = t.id where t.name = 'run phases'" | tail -n1 >apart
	ok "two traces of a host have tracks of their own" test "$(cat apart)" = 2
fi
for f in "$fix"/*.sqlite; do # finds a fixture without a rank
	"$prog" digest "$f" -q -o none.nsxd 2>&1 | grep -q 'neither GPU work' && break
done
ok "a trace without GPU work is placed beside others ($(basename "$f"))" "$prog" convert job_rank0.sqlite "$f" -q -o mixed.pftrace
ok "one that cannot be read is told" not "$prog" convert job_rank0.sqlite "$0" -q -o mixed.pftrace
ok "several traces are no JSON" not "$prog" convert job_rank0.sqlite job_rank1.sqlite -q -o job.json

# Order: the same rows, shuffled, sorted by their end, or backwards ---------------
for order in 'random()' 'end' 'start DESC'; do
	cp "$t" shuffled.sqlite
	for table in CUPTI_ACTIVITY_KIND_KERNEL CUPTI_ACTIVITY_KIND_RUNTIME NVTX_EVENTS; do
		sqlite3 shuffled.sqlite "CREATE TABLE x AS SELECT * FROM $table ORDER BY $order; DELETE FROM $table; INSERT INTO $table SELECT * FROM x; DROP TABLE x" 2>>"$work/say"
	done
	ok "rows ordered by $order" check "$PWD/shuffled.sqlite" with
done
cp "$fix/gpu_metrics.sqlite" shuffled.sqlite
sqlite3 shuffled.sqlite "CREATE TABLE x AS SELECT * FROM GPU_METRICS ORDER BY value, timestamp DESC; DELETE FROM GPU_METRICS; INSERT INTO GPU_METRICS SELECT * FROM x" 2>>"$work/say"
ok "counters in no order" check "$PWD/shuffled.sqlite" with

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
echo mine >same.pftrace
ok "a chosen name takes nothing's place" not "$prog" convert same.sqlite
ok "what was there stays" test "$(cat same.pftrace)" = mine
rm -f same.pftrace; "$prog" convert same.sqlite -q
ok "but that of our own output" "$prog" convert same.sqlite -q
echo mine >named.json; echo mine >named.pftrace
ok "nor does a name that was given" not "$prog" convert same.sqlite -q -o named.json
ok "nor one of packets" not "$prog" convert same.sqlite -q -o named.pftrace
ok "what was there stays" test "$(cat named.json named.pftrace)" = "mine
mine"
: >empty.json
ok "an empty file is there to be filled" "$prog" convert same.sqlite -q -o empty.json
rm -f empty.json
ok "but with --force" "$prog" convert same.sqlite -q -o named.json --force
ok "what is ours is replaced" "$prog" convert same.sqlite -q -o named.json
for x in pftrace pftrace.gz json.gz tar; do
	"$prog" convert same.sqlite -q -o "own.$x" && ok "what is ours is replaced, .$x" "$prog" convert same.sqlite -q -o "own.$x"
done
ok "but with --no-force" not "$prog" convert same.sqlite -q -o named.json --no-force
rm -f named.* own.*
ok "a name without suffix gets one" "$prog" convert same.sqlite -q -o plainname
ok "it is .pftrace" test "$(echo plainname*)" = plainname.pftrace
rm -f plainname*
cp same.sqlite run.nsys-rep
ok "a report is not overwritten by its export" not "$prog" convert run.nsys-rep --nsys "$here/../capture/fake-nsys.sh" \
	--step sqlite -o run.nsys-rep
ok "and is whole" cmp run.nsys-rep "$t"
rm -f same.sqlite linked.json same.pftrace run.nsys-rep
# shellcheck disable=SC2016
ok "a small disk" not sh -c 'ulimit -f 8; exec "$0" convert "$1" -q -o a.json' "$prog" "$fix/launch_bound.sqlite"
PATH=/nowhere NSYS_PATH=/nowhere "$prog" convert x.nsys-rep -o a.json 2>../told
ok "a report that is not there" grep -q "cannot read 'x.nsys-rep'" ../told
# A failure gives one line (exit code 3) and no file; or the complete file, if the memory was not
# essential; or a file and a message about missing findings (exit code 4).
lacking() { # STEP OPTION...: makes every STEP-th allocation of a conversion fail
	step=$1; shift
	NSX_FAULT_COUNT=../count "$prog-faults" convert "$t" -q -o ../whole.pftrace --force "$@" || return
	for n in $(seq 11 "$step" "$(cat ../count)"); do
		NSX_FAULT_ALLOC=$n "$prog-faults" convert "$t" -q -o a.pftrace "$@" 2>../told; rc=$?
		echo "allocation $n of $* failed: $rc"
		case $rc in
		0) cmp a.pftrace ../whole.pftrace && rm a.pftrace || return ;;
		4) grep -q "out of memory" ../told && rm a.pftrace || return ;;
		3) grep -qi memory ../told && [ "$(wc -l <../told)" = 1 ] || return ;;
		*) return 1 ;;
		esac
	done
}
ok "no memory" lacking 13 --only $rows
ok "no memory for the findings" lacking 68 --only kernels,findings
ok "no failure left anything ($(ls -A))" test -z "$(ls -A)"
cd ..

# A report: exported, converted, cleared away -------------------------------------
cp "$here/../capture/fake-nsys.sh" nsys; chmod +x nsys
mkdir rep; head -c 2000000 /dev/zero >rep/run.nsys-rep
export FAKE_SQLITE=$t
ok "a .nsys-rep is exported first" "$prog" convert rep/run.nsys-rep -q --nsys ./nsys -o rep/run.json
ok "and converted the same" cmp rep/run.json plain.json
ok "-s sqlite" "$prog" convert rep/run.nsys-rep -q --nsys ./nsys -s sqlite
ok "keeps the export" cmp run.sqlite "$t"
rm -f run.sqlite
ok "--keep-export" "$prog" convert rep/run.nsys-rep -q --nsys ./nsys -o rep/run.json --keep-export rep/run.sqlite
ok "keeps it" cmp rep/run.sqlite "$t"
ok "--keep-export is for a .nsys-rep" not "$prog" convert "$fix/one_kernel.sqlite" -q -o rep/none.json --keep-export rep/none.sqlite
ok "and nothing is written" test ! -e rep/none.json
ok "--keep-export replaces nothing" not "$prog" convert rep/run.nsys-rep -q --nsys ./nsys -o rep/run.json --keep-export rep/run.sqlite
ok "nothing else stays" test "$(echo rep/*)" = "rep/run.json rep/run.nsys-rep rep/run.sqlite"

echo "convert: $pass passed, $fail failed, $skip skipped"
[ "$fail" -eq 0 ]
