#!/bin/bash
# Every question is answered on every fixture and trace, or refused in one line. Figures equal those
# of SQL on the same rows. JSON parses.
# usage: ask.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
says() { # PATTERN TRACE QUESTION...: a line of the answer must match
	local pattern=$1; shift
	if "$prog" ask "$@" >"$work/out" 2>&1 && grep -qE -- "$pattern" "$work/out"; then ok
	else bad "$* does not say '$pattern'"; head -n 12 "$work/out"; fi
}
refuses() { # PATTERN TRACE QUESTION...: one line that matches on stderr, exit code 2
	local pattern=$1 rc; shift
	"$prog" ask "$@" >"$work/out" 2>"$work/err"; rc=$?
	if [ $rc -eq 2 ] && [ ! -s "$work/out" ] && grep -qE -- "$pattern" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ]; then ok
	else bad "$* is not refused with '$pattern' ($rc)"; cat "$work/err"; fi
}
t=$fix/synthetic.sqlite
says '^[0-9]+ .* (high|medium|low) .* [a-z_]+(:[A-Za-z]+)?$' "$t" findings
says '^gpu +window +duration +cause' "$t" gaps
says 'computeKernel' "$t" kernel compute
says '0.0802s, confidence low' "$fix/start_up.sqlite" findings # no finding is surer than its window
says '^Nothing was found' "$fix/empty_tables.sqlite" findings
says '^kernels|launched by +cudaLaunchKernel' "$t" kernel compute
refuses "no kernel matches 'nothing'; some of its kernels: '" "$t" kernel nothing
refuses "cannot read the expression '\('" "$t" kernel '('
refuses "no finding 'x'; their numbers are 1 to [0-9]+: the question 'findings'" "$t" finding x
says 'cannot tell|idle|bound' "$t" verdict
says 'not in the trace' "$t" finding top_kern # the beginning of a key
says '^medium|^high|^low|recommendation|would win' "$t" finding 1
# A finding about waits outside CUDA, launches or a family of kernels lists its places.
says '^- it concerns 37 places' "$fix/batches_and_waits.sqlite" finding idle_by_os_wait
says '^- it concerns 89 places' "$fix/after_session.sqlite" finding launch_bound
cp "$fix/slows_then_saves.sqlite" "$work/family.sqlite"; chmod u+w "$work/family.sqlite"
sqlite3 "$work/family.sqlite" "UPDATE StringIds SET value = 'layer<' || substr(value, 7) || '>(int)' WHERE value LIKE 'layer~_%' ESCAPE '~';
ATTACH '$fix/iterations_nvtx.sqlite' AS other; CREATE TABLE NVTX_EVENTS AS SELECT * FROM other.NVTX_EVENTS LIMIT 1;
UPDATE NVTX_EVENTS SET start = 0, end = 1e9, eventType = 59, textId = NULL, text = 'train', globalTid = (SELECT globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME)"
says '^- The largest part comes from train$' "$work/family.sqlite" finding top_kernel:layer
says '^- it concerns' "$work/family.sqlite" finding top_kernel:layer
twice=$(for f in "$fix"/*.sqlite; do "$prog" ask "$f" finding 1 2>/dev/null | sed -n 's/.*[Ff]rom //p' | sort | uniq -d; done)
if [ -z "$twice" ]; then ok; else bad "a place is said twice: $twice"; fi
says '^ *[0-9]+$' "$t" sql 'SELECT count(*) FROM kernel'
says '^2 +low +2.4 ms +0 +replayed' "$fix/replay_outside.sqlite" verdict # at the low end poll ends as recorded, so nothing is won
refuses "give one SELECT" "$t" sql 'DELETE FROM kernel'
refuses "give one SELECT" "$t" sql 'SELECT * FROM StringIds'
refuses "give one SELECT" "$t" sql "SELECT load_extension('x')"
refuses "give one SELECT" "$t" sql "ATTACH 'x' AS y"
refuses "no function 'REGEXP'; text is compared with LIKE" "$t" sql "SELECT count(*) FROM kernel WHERE name REGEXP 'a'"
refuses "no column or table 'strt'" "$t" sql "SELECT strt FROM kernel WHERE name = '$(printf '%2000s' x)'"
refuses "no column or table 'strat_ns'; did you mean 'start_ns'. kernel has rid, start_ns" "$t" sql 'SELECT strat_ns FROM kernel'
refuses "no column or table 'k.star_ns'; did you mean 'start_ns'" "$t" sql 'SELECT k.star_ns FROM kernel AS k'
refuses "no section 'x'" "$t" section x
refuses "cannot read the instant 'soon'" "$t" at soon
refuses "cannot read the window '5'" "$t" window 5
for question in 'at 60s' 'why 60s' 'window 60s..61s' 'gaps 60s..61s'; do # times after the end of the recording
	# shellcheck disable=SC2086 # a question and its argument
	refuses "nothing was recorded at '60s" "$t" $question
done
refuses "needs TIME" "$t" at
refuses "takes no 'x'" "$t" findings x
refuses "no repetition|no stream|no work on a stream '987'" "$t" stream 987
for id in x 7x 111x ''; do
	refuses "no work on a stream '$id'|needs" "$t" stream "$id"
	refuses "no thread '$id'|needs" "$t" thread "$id"
done
# Id 0 names no thread: it stands for a process in the trace's list of threads.
refuses "no thread '0'" "$fix/ahead_of_launches.sqlite" thread 0
refuses "cannot price|cannot read" "$t" what-if nonsense
says 'of the judged window|cannot tell' "$t" what-if host:2x
says 'it changes 18 events' "$fix/f32_half.sqlite" what-if 'kernel:/^gemm/:2x' # the pattern matches labels, too
says 'cannot tell: nothing in the judged window' "$fix/f32_half.sqlite" what-if kernel:/nosuch/:2x
says '^host:2x +[0-9.]+ ' "$fix/launch_bound.sqlite" what-if 'host:2x; launch:2x' # the answer also prices each change alone
refuses "cannot read the what-if 'nonsense'" "$t" what-if 'host:2x;nonsense'
refuses "at most 16 changes" "$t" what-if "$(printf 'host:2x;%.0s' {1..17})"
says '^input +the file' "$t" section
refuses "did you mean 'sync'" "$t" section sycn
says 'it was open 8 times' "$fix/iterations_nvtx.sqlite" range '/^step/'
refuses "no NVTX range '/x/'" "$fix/iterations_nvtx.sqlite" range /x/
refuses "cannot read the expression" "$fix/iterations_nvtx.sqlite" range '/(/'
# A refusal shows names of the trace without characters that move the cursor or turn the text around.
refuses "there are '" "$fix/hostile_names.sqlite" range x
if LC_ALL=C grep -qE $'\xe2\x80[\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xc2[\x80-\x9f]|\x7f' "$work/err"; then bad "a name moves the cursor: $(cat -v "$work/err")"; else ok; fi
refuses "exclude each other" "$t" findings --md --csv
lines() { # COUNT TRACE QUESTION...: the number of lines of the CSV answer, with the heading
	local want=$1 got; shift
	got=$("$prog" ask "$@" --csv 2>&1 | wc -l)
	if [ "$got" = "$want" ]; then ok; else bad "$* --csv: $got lines, not $want"; fi
}
lines 2 "$t" findings --limit 1
lines 2 "$fix/overlap_partition.sqlite" stream 14 --limit 1
lines 2 "$t" section gpu_idle --limit 1
lines 2 "$fix/iterations_nvtx.sqlite" section iterations --limit 1

# Kernel time launched by a thread or in a range, by SQL and by the answer.
want=$(sqlite3 "$t" "SELECT sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName WHERE s.value LIKE '%computeKernel%'")
got=$("$prog" ask "$t" kernel computeKernel --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["total_ns"])')
if [ "$want" = "$got" ]; then ok; else bad "kernel time $want in SQL, $got in the answer"; fi
want=$(sqlite3 "$t" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start <= 1000000 AND end > 1000000")
got=$("$prog" ask "$t" at 1000000ns --json | python3 -c 'import json, sys; print(sum(r["where"].startswith("GPU") for r in json.load(sys.stdin)["running"]))')
if [ "$want" = "$got" ]; then ok; else bad "$want kernels run at 1 ms in SQL, $got in the answer"; fi

# The copies of a stream are listed by direction.
f=$fix/overlap_partition.sqlite
want=$(sqlite3 "$f" "SELECT group_concat(n || ' ' || ns) FROM (SELECT count(*) AS n, sum(end - start) AS ns FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE streamId = 14 GROUP BY copyKind ORDER BY ns DESC)")
got=$("$prog" ask "$f" stream 14 --json | python3 -c 'import json, sys; print(",".join("%d %d" % (r["count"], r["total_ns"]) for r in json.load(sys.stdin)["operations"] if r["name"].startswith("copy")))')
if [ "$want" = "$got" ]; then ok; else bad "copies of a stream: $want in SQL, $got in the answer"; fi

# For a thread and a range only the part inside the window counts. Without a window, calls before and
# after all GPU work count as well.
f=$fix/run_phases.sqlite part=60000000ns..70000000ns
got=$("$prog" ask "$f" thread 111 --window $part --json | python3 -c 'import json, sys; print(*[(r["count"], r["total_ns"], r["pct_of_window"]) for r in json.load(sys.stdin)["calls"]])')
if [ "$got" = "(5, 50000, 0.5)" ]; then ok; else bad "calls of a thread in a window: $got"; fi
for want in "warm-up 1 10000000 6" "measure 0 0 0"; do
	name=${want%% *}
	got=$("$prog" ask "$f" range "$name" --window $part --json | python3 -c 'import json, sys; a = json.load(sys.stdin); print(a["count"], a["host_ns"], a["operations_launched"])')
	if [ "$want" = "$name $got" ]; then ok; else bad "range $name in a window: $got"; fi
done
# The answer on a thread has its API calls, its ranges and its OS calls.
f=$fix/iterations_nvtx.sqlite
want=$(sqlite3 "$f" "SELECT count(*), sum(end - start) FROM NVTX_EVENTS WHERE eventType = 59 AND globalTid & 0xffffff = 111; SELECT count(*), sum(end - start) FROM OSRT_API WHERE globalTid & 0xffffff = 111" | tr '\n' ' ')
got=$("$prog" ask "$f" thread 111 --json | python3 -c 'import json, sys
a = json.load(sys.stdin)
print(*["%d|%d" % (sum(r["count"] for r in a[k]), sum(r["total_ns"] for r in a[k])) for k in ("ranges", "os_calls")])')
if [ "$want" = "$got " ]; then ok; else bad "ranges and OS calls of a thread: $want in SQL, $got in the answer"; fi
# One window cuts 0.5 ms off each of two kernels of 2 ms; another has no kernels.
f=$fix/run_phases.sqlite cut=51500000ns..54500000ns
got=$("$prog" ask "$f" kernel gemm --window $cut --json | python3 -c 'import json, sys; a = json.load(sys.stdin); print(a["total_ns"], a["shapes"][0]["calls"])')
if [ "$got" = "3000000 2" ]; then ok; else bad "a kernel in a window: $got"; fi
got=$("$prog" ask "$f" stream 7 --window $cut --json | python3 -c 'import json, sys; print(*[(r["count"], r["total_ns"]) for r in json.load(sys.stdin)["operations"]])')
if [ "$got" = "(2, 3000000)" ]; then ok; else bad "a stream in a window: $got"; fi
got=$("$prog" ask "$f" kernel gemm --window 47000000ns..50000000ns --json | python3 -c 'import json, sys; a = json.load(sys.stdin); print(a["total_ns"], *[n["question"] for n in a["next"]])')
if [ "$got" = "0 what-if" ]; then ok; else bad "a kernel in a window without work: $got"; fi
got=$("$prog" ask "$fix/window_halves.sqlite" kernel . --window 1000000ns..2000000ns --json | python3 -c 'import json, sys; a = json.load(sys.stdin); print(a["kernels"], len(a["shapes"]))')
if [ "$got" = "1 1" ]; then ok; else bad "kernel names in a window: $got"; fi
got=$("$prog" ask "$fix/call_sites.sqlite" thread 111 --json | python3 -c 'import json, sys; a = json.load(sys.stdin); w = a["answer_window"]; print(sum(r["pct_of_window"] for r in a["calls"]) <= 100, w["start_ns"])')
want="True $(sqlite3 "$fix/call_sites.sqlite" 'SELECT min(start) FROM CUPTI_ACTIVITY_KIND_RUNTIME')"
if [ "$got" = "$want" ]; then ok; else bad "calls of a thread before GPU work: $got, not $want"; fi

# Shares of a window are for all its GPUs. The suggested next questions keep the window, and are
# quoted for a shell.
f=$fix/two_rank_straggler.sqlite
"$prog" ask "$f" window 0..1000 --json >"$work/out"
if python3 - "$work/out" <<'P'; then ok; else bad "shares of a window of two GPUs"; fi
import json, sys
d = json.load(open(sys.argv[1]))
whole = 2 * (d["window"]["end_ns"] - d["window"]["start_ns"])
assert d["operations"] and all(abs(r["pct_of_window"] - 100 * r["total_ns"] / whole) < 1e-6 for r in d["operations"])
P
cp "$f" "$work/it's a trace.sqlite"
says "^next: nsys-explain ask '[^ ]*/it'.''s a trace.sqlite' what-if 'kernel:/\(a\|\.\)/:2x' --window 0..1 " "$work/it's a trace.sqlite" kernel '(a|.)' --window 0..1
says 'all GPU work is in .*s\.\..*s$' "$f" why 0
says 'Python was in collate_fn \(data.py:88\) < load' "$fix/python_stacks.sqlite" why 0.016
says 'detail  python +next op' "$fix/python_stacks.sqlite" gaps
says 'host code  step +collate_fn \(data.py:88\) < load' "$fix/python_stacks.sqlite" gaps
says 'detail +next op' "$t" gaps
says "cannot tell: the trace has no GPU work" "$fix/case02_runtime_only.sqlite" gaps
refuses "no work on a stream '987'; some streams with work: [0-9]" "$t" stream 987
refuses "no thread '5'.*; some that did: [0-9]" "$t" thread 5

# With two ranks, iterations are numbered as for --iteration: by the GPU that sets the pace.
says "the median of 15 is" "$fix/two_rank_straggler.sqlite" iteration 15 # cut by the end of the recording
refuses "no iteration 16: the trace has 0 to 15" "$fix/two_rank_straggler.sqlite" iteration 16
refuses "cannot read the iteration '-1'" "$fix/two_rank_straggler.sqlite" iteration -- -1

# Only the longest of many gaps are listed, and the answer says so.
says 'the longest 20 of 199 gaps are listed' "$fix/case07_launch_storm.sqlite" gaps
# Numbered ranges can be named as reports show them ("step #"), or one of them by its number.
for want in "step # 6 5400000 6" "step 3 1 900000 1"; do
	name=$(echo "$want" | cut -d' ' -f1,2)
	got=$("$prog" ask "$fix/steps_numbered.sqlite" range "$name" --json | python3 -c 'import json, sys; a = json.load(sys.stdin); print(a["count"], a["host_ns"], a["operations_launched"])')
	if [ "$want" = "$name $got" ]; then ok; else bad "range $name: $got"; fi
done
# The answer on a range also has the work that other threads of the process launched while the range
# was open.
for want in "loss 8 None" "backward 0 24 16800000" "epoch 0 32 18400000"; do
	name=${want%% *}
	got=$("$prog" ask "$fix/backward_by_other.sqlite" range "$name" --json | python3 -c 'import json, sys; a = json.load(sys.stdin); print(a["operations_launched"], a.get("operations_meanwhile"), a.get("gpu_meanwhile_ns", ""))')
	if [ "$want" = "$name ${got% }" ]; then ok; else bad "what others launched during $name: $got"; fi
done
says 'launched 24 operations of 16.8 ms outside of it, most by thread autograd$' "$fix/backward_by_other.sqlite" range backward
refuses "no NVTX range 'stop #'" "$fix/steps_numbered.sqlite" range 'stop #'

# A range's name is listed once, however often the range occurs.
cp "$fix/iterations_nvtx.sqlite" "$work/many.sqlite"; chmod u+w "$work/many.sqlite"
for _ in 1 2 3 4 5 6; do sqlite3 "$work/many.sqlite" 'INSERT INTO NVTX_EVENTS SELECT * FROM NVTX_EVENTS'; done
refuses "there are 'step', 'forward', 'backward'\$" "$work/many.sqlite" range nothing

# A sum of lengths above 2^63 - 1 ns stays at that limit instead of wrapping.
cp "$fix/synthetic.sqlite" "$work/long.sqlite"; chmod u+w "$work/long.sqlite"
sqlite3 "$work/long.sqlite" 'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 1 << 61; INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL'
says ' 2562048 h ' "$work/long.sqlite" kernel .
says ' 2562048 h ' "$work/long.sqlite" stream "$(sqlite3 "$work/long.sqlite" 'SELECT streamId FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1')"
says ' 2562048 h ' "$work/long.sqlite" window 1ns..2305843009213693951ns

# Each question is asked on files of all kinds; ALL=1 takes every fixture and trace.
files=
for name in synthetic hostile_names empty_tables no_tables_2021 case02_runtime_only two_rank_straggler iterations_nvtx zero_inverted_open; do
	files="$files $fix/$name.sqlite"
done
for name in mfu_2gpu_before graph_nodes_2021 nvtx_only; do files="$files $root/../shared/traces/$name.sqlite"; done
[ -z "${ALL-}" ] || files="$fix/*.sqlite $root/../shared/traces/*.sqlite"
for f in $files; do
	[ -f "$f" ] || continue
	key=$("$prog" ask "$f" findings --csv --limit 1 2>/dev/null | sed -n '2s/,.*//p')
	for q in findings "finding|${key:-none}" 'at|0.001' 'at|5ns' 'window|0..1000' gaps 'why|0.002' 'range|x' 'kernel|.' 'stream|7' 'thread|1' 'iteration|1' 'what-if|host:inf' 'section|partition' 'section|findings' verdict 'sql|SELECT count(*) FROM kernel'; do
		question=${q%%|*}; set -- "$question"
		[ "$question" = "$q" ] || set -- "$question" "${q#*|}"
		"$prog" ask "$f" "$@" --json >"$work/out" 2>"$work/err"; rc=$?
		if { [ $rc -eq 0 ] && python3 -m json.tool <"$work/out" >/dev/null; } || { [ $rc -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ]; }; then ok
		else bad "$(basename "$f") $q: exit $rc"; head -n 3 "$work/err"; fi
	done
done
finish
