#!/bin/sh
# shellcheck disable=SC2086  # $check is a program and its script
# `diff` shows planted changes in the right rows. On every pair of traces the rows add up. A capture
# compared with itself shows no change, and two halves of one capture are no regression. Row order
# and the number of threads change no byte. Bad input gives an error of one line.
# usage: diff.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
check="python3 $tests/diff/check.py"

for name in slower one_more grid template renamed neighbours split_k heavy clocks sync; do
	"$prog" diff "$fix/diff_before.sqlite" "$fix/diff_$name.sqlite" --json >p.json || bad "$name: exit $?"
	holds "planted $name" $check planted p.json $name
	holds "sums of $name" $check sums p.json
	"$prog" diff "$fix/diff_$name.sqlite" "$fix/diff_before.sqlite" --json >p.json || bad "$name: exit $?"
	holds "sums of $name, the other way" $check sums p.json
done
"$prog" diff "$fix/diff_ranks.sqlite" "$fix/diff_late_rank.sqlite" --json >p.json
holds "planted late rank" $check planted p.json late_rank
for way in 'diff_ranks diff_unequal' 'diff_unequal diff_ranks'; do
	set -- $way
	"$prog" diff "$fix/$1.sqlite" "$fix/$2.sqlite" --json >p.json || bad "$way: exit $?"
	holds "planted collective that one rank runs alone: $way" $check planted p.json unequal
	holds "sums of $way" $check sums p.json
done

# Each capture is compared with itself, and with the one before it in the list.
last=
for t in "$fix"/iterations_*.sqlite "$fix"/graphs_*.sqlite "$fix"/two_rank_straggler.sqlite \
	"$fix"/overlap_partition.sqlite "$fix"/hostile_*.sqlite "$fix"/edges_*.sqlite "$traces"/*.sqlite; do
	[ -f "$t" ] || continue
	"$prog" diff "$t" "$t" --json >p.json 2>err; rc=$?
	case $rc in
	0 | 4) holds "$(basename "$t") against itself" $check zero p.json; holds "its sums" $check sums p.json ;;
	2 | 3) if [ "$(wc -l <err)" = 1 ] && grep -q 'cannot' err; then ok; else bad "$t: not one line: $(cat err)"; fi; continue ;;
	*) bad "$t against itself: exit $rc" ;;
	esac
	if [ -n "$last" ]; then
		"$prog" diff "$last" "$t" --json >p.json 2>err; rc=$?
		case $rc in
		0 | 4) holds "$(basename "$last") and $(basename "$t")" $check sums p.json ;;
		2) ok ;;
		*) bad "$last and $t: exit $rc: $(cat err)" ;;
		esac
	fi
	last=$t
done

# Two halves of one capture ran the same code, so a slower half is no regression: halves of its units,
# and of its time.
halves=0 alarms=0
half() { # CAPTURE PART PART
	[ $# = 3 ] || return
	"$prog" diff "$1@$2" "$1@$3" --json >p.json 2>err; rc=$?
	case $rc in 0 | 4) halves=$((halves + 1)) ;; 2 | 3) return ;; *) bad "halves of $1: exit $rc: $(cat err)"; return ;; esac
	case $($check verdict p.json) in regression | improvement | mixed) alarms=$((alarms + 1)); echo "(a half of $(basename "$1"), $2, is another)" ;; esac
}
for t in "$fix"/iterations_*.sqlite "$fix"/diff_*.sqlite "$traces"/*.sqlite "$traces"/../pairs/*.sqlite "$traces"/../scenarios/*.sqlite; do
	[ -f "$t" ] || continue
	"$prog" diff "$t" "$t" --json >p.json 2>/dev/null || continue
	n=$(sed -n 's/^ *"units": \([0-9]*\).*/\1/p' p.json | head -n 1)
	[ "${n:-0}" -lt 8 ] || half "$t" "0..$((n / 2))" "$((n / 2 + 1))..$((n + 1))"
	# shellcheck disable=SC2046  # two parts
	half "$t" $(awk -F '[ ,]+' '/"recorded_ms"/ { s = $3 / 1000; printf "0.0..%.6f %.6f..%.6f", s / 2, s / 2, s; exit }' p.json)
done
if [ $((100 * alarms)) -le $halves ] && [ $halves -gt 20 ]; then ok; else bad "$alarms of $halves captures change against themselves"; fi

# One kernel in many launch sizes is one piece of code. If all sizes change by the same factor, the
# reason is not the clock.
ln -s "$tests"/fixtures/_* .
for len in len 'len * 6 / 5'; do
	sed "s|^-- @include _diff/loop.sql|UPDATE op SET name = 'solve', grid = k, len = $len WHERE k > 1;\n&|" "$tests/fixtures/diff_before.sql" >sizes.sql
	"$b/mkfixture" sizes.sql "sizes_${len##* }.sqlite"
done
"$prog" diff sizes_len.sqlite sizes_5.sqlite --json >p.json
holds "one kernel in many sizes" python3 - <<'P'
import json
d = json.load(open("p.json"))
assert d["verdict"] == "regression" and len(d["kernels"]) >= 11, d["why"]
assert not d["gpus"][0]["clock"]["used"], d["gpus"][0]["clock"]
assert sum(r["own_ns"] for r in d["kernels"]) == sum(r["delta_ns"] for r in d["kernels"]) > 100000
P

# If all launches have twice the threads it is other work, although some grids are as large as those
# of other launches before.
sed "s|^-- @include _diff/loop.sql|UPDATE op SET name = 'solve', grid = 2 * k, len = len * 19 / 10 WHERE k > 1;\n&|" "$tests/fixtures/diff_before.sql" >sizes.sql
"$b/mkfixture" sizes.sql twice.sqlite
v=$("$prog" diff sizes_len.sqlite twice.sqlite --json >p.json; $check verdict p.json)
if [ "$v" = inconclusive ] && grep -q 'have 2 times the threads' p.json; then ok; else bad "twice the threads: $v"; fi

# With 3 captures a side that all drift alike, a change is proven. If only one side drifts, it is not.
drifting() { # NAME NS LEN: a capture in which each unit takes NS longer than the one before
	sed "s|8000 + 1000|8000 + $2 * i + 1000|" "$tests/fixtures/_diff/loop.sql" >"$1_loop.sql"
	sed "s|^-- @include _diff/loop.sql|UPDATE op SET len = $3;\n-- @include $1_loop.sql|" "$tests/fixtures/diff_before.sql" >"$1.sql"
	"$b/mkfixture" "$1.sql" "$1.sqlite"
}
for ns in 15900 16000 16100; do
	drifting "b$ns" $ns len
	drifting "a$ns" $ns 'len * 6 / 5'
	drifting "s$ns" $((ns - 15900)) len
done
verdict() { "$prog" diff "$1" "$2" --json >p.json; $check verdict p.json; }
before=b15900.sqlite,b16000.sqlite,b16100.sqlite
for pair in "a15900.sqlite,a16000.sqlite,a16100.sqlite regression" "a15900.sqlite inconclusive" \
	"s15900.sqlite,s16000.sqlite,s16100.sqlite inconclusive"; do
	v=$(verdict "$before" "${pair% *}")
	if [ "$v" = "${pair#* }" ]; then ok; else bad "captures that drift, $pair: $v"; fi
done

n=$("$prog" diff b15900.sqlite b15900.sqlite --json | sed -n 's/^ *"units": \([0-9]*\).*/\1/p' | head -n 1)
for parts in "1..$((n / 2)) $((n / 2 + 1))..$n" "$((n / 2 + 1))..$n 1..$((n / 2))" "1..$((n / 3)) $((2 * n / 3))..$n"; do
	v=$(verdict "b15900.sqlite@${parts% *}" "b15900.sqlite@${parts#* }")
	if [ "$v" = inconclusive ]; then ok; else bad "parts $parts of a run that drifts: $v"; fi
done

# The halves are compared again as separate files, which do not say that they are of one run.
cp b15900.sqlite c15900.sqlite
for parts in "1..$((n / 2)) $((n / 2 + 1))..$n" "$((n / 2 + 1))..$n 1..$((n / 2))"; do
	v=$(verdict "b15900.sqlite@${parts% *}" "c15900.sqlite@${parts#* }")
	if [ "$v" = inconclusive ]; then ok; else bad "parts $parts of runs that drift alike: $v"; fi
done

# A sudden change within one session is no change of the code; between two sessions it is. Where no
# clock was recorded, a process whose correlation ids continue is of the same run. A few equal bytes
# are no proof of equal work. Faster kernels beside a slower host are a mixed change. GPUs are
# paired by their work.
python3 - "$fix" <<'P'
import shutil, sqlite3, sys
def copy(name, to, session, by, more=0):
    shutil.copy(f"{sys.argv[1]}/{name}.sqlite", to)
    db = sqlite3.connect(to)
    for table in ("KERNEL", "RUNTIME"):
        db.execute(f"UPDATE CUPTI_ACTIVITY_KIND_{table} SET correlationId = correlationId + {more}")
    db.execute("CREATE TABLE IF NOT EXISTS TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, systemClockNs INTEGER)")
    db.execute("DELETE FROM TARGET_INFO_SESSION_START_TIME")
    if session:
        db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs, systemClockNs) VALUES (?, 7)", (session,))
    for table, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        if {"start", "end"} <= {c[1] for c in db.execute(f"PRAGMA table_info({table})")}:
            db.execute(f'UPDATE {table} SET start = start + {by}, "end" = "end" + {by}')
    db.commit()
copy("diff_before", "part1.sqlite", 1757000000000000000, 0)
copy("diff_heavy", "part2.sqlite", 1757000000000000000, 10**9)
copy("diff_heavy", "later.sqlite", 1757000000000000001, 10**9)
copy("diff_before", "unclocked1.sqlite", None, 0)
copy("diff_heavy", "unclocked2.sqlite", None, 10**9, 10**6)
copy("diff_heavy", "rerun.sqlite", None, 10**9)
def rows(to, kernels):
    db = sqlite3.connect(to)
    db.executescript("""CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
            correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER,
            gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
            correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 1000000, 0, 1, 7, 1, 1, 8000000, 1)""")
    ids = {name: 10 + i for i, name in enumerate(sorted({k[0] for k in kernels}))}
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i, name) for name, i in ids.items()])
    for i, (name, start, end, gpu) in enumerate(kernels):
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, 1, 7, ?, 1, ?, ?, 8, 1, 1, 64, 1, 1)",
                   (start, end, gpu, 2 + i, ids[name], ids[name]))
    db.commit()
rows("copies.sqlite", [("k0", 1100000, 1200000, 0)])
for to, ns in (("long.sqlite", 900000), ("short.sqlite", 400000)):
    rows(to, [(f"k{i}", 1100000 + 1000000 * i, 1100000 + 1000000 * i + (ns if i < 8 else 900000), 0) for i in range(9)])
rows("kernels.sqlite", [(f"k{i}", 1100000 + 1000000 * i, 1100000 + 1000000 * i + 900000, 0) for i in range(9)])
for to, edge in (("role0.sqlite", 0), ("role1.sqlite", 1)):
    rows(to, [(name, 2000000 + 1000000 * i + at, 2000000 + 1000000 * i + at + 300000, gpu) for i in range(20)
              for name, at, gpu in (("inner", 0, 0), ("inner", 0, 1), ("edge", 400000, edge))])
P
for pair in 'part1 part2 inconclusive' 'part1 later regression' 'unclocked1 unclocked2 inconclusive' \
	'unclocked2 unclocked1 inconclusive' 'unclocked1 rerun regression' 'copies kernels inconclusive' 'long short mixed' 'short long mixed'; do
	set -- $pair
	v=$(verdict $1.sqlite $2.sqlite)
	if [ "$v" = $3 ]; then ok; else bad "$pair: $v"; fi
done
"$prog" diff role0.sqlite role1.sqlite --json >p.json
holds 'GPUs by their roles' python3 - <<'P'
import json
d = json.load(open("p.json"))
assert [g["name"] for g in d["gpus"]] == ["GPU 0 (1 after)", "GPU 1 (0 after)"], d["gpus"]
assert all(r["delta_ns"] == 0 for r in d["budget"] if r["class"] == "compute"), d["budget"]
P

# With another model of GPU there is no verdict if its peak rates explain the change; otherwise there
# is one.
python3 - "$fix" <<'P'
import shutil, sqlite3, sys
T4, A100 = ("Tesla T4", 40, 1590000000, 320064000000, 7, 5), ("NVIDIA A100", 108, 1410000000, 2039040000000, 8, 0)
for name, gpu in (("heavy", T4), ("before", T4), ("heavy", A100), ("before", A100)):
    file = name + ("_t4" if gpu == T4 else "_a100") + ".sqlite"
    shutil.copy(f"{sys.argv[1]}/diff_{name}.sqlite", file)
    db = sqlite3.connect(file)
    db.execute("UPDATE TARGET_INFO_GPU SET name = ?, smCount = ?, clockRate = ?, memoryBandwidth = ?, computeMajor = ?, computeMinor = ?", gpu)
    db.commit()
P
for pair in 'heavy_t4 before_a100 inconclusive' 'before_t4 before_a100 inconclusive' 'before_t4 heavy_a100 regression' \
	'before_a100 heavy_t4 inconclusive' 'heavy_a100 before_t4 improvement'; do
	set -- $pair
	v=$(verdict $1.sqlite $2.sqlite)
	if [ "$v" = $3 ]; then ok; else bad "another GPU, $pair: $v"; fi
done

# Rows in another order, and any number of threads, give the same bytes.
for name in late_rank split_k sync; do
	cp "$fix/diff_ranks.sqlite" x.sqlite; cp "$fix/diff_$name.sqlite" y.sqlite
	"$prog" diff x.sqlite y.sqlite -o plain -q --threads 1
	python3 "$tests/property/mutate.py" shuffle 7 "$fix/diff_ranks.sqlite" x2 && mv x2 x.sqlite
	python3 "$tests/property/mutate.py" shuffle 8 "$fix/diff_$name.sqlite" y2 && mv y2 y.sqlite
	"$prog" diff x.sqlite y.sqlite -o changed -q --threads 4
	holds "$name: row order" diff -r -I '"generated_at"' -I '"size_bytes"' -I '"crc32"' plain changed
	rm -rf plain changed
done

# Another tool calls this public pair neutral. `diff` finds +12.2 % on GPU 0, no verdict on GPU 1.
if [ -f "$traces/mfu_2gpu_before.sqlite" ]; then
	"$prog" diff "$traces/mfu_2gpu_before.sqlite" "$traces/mfu_2gpu_after.sqlite" -o real >real.out
	cp real/diff.json p.json
	"$prog" diff "$traces/mfu_2gpu_before.sqlite" "$traces/mfu_2gpu_after.sqlite" --gpu 1 --gate step.mean:+2% -o drift >out; rc=$?
	if [ $rc = 1 ] && grep -q 'gate step.mean:+2%: undecided .*not larger than noise: the halves' out; then ok; else bad "a drift proves a mean: $(cat out)"; fi
	holds "the real pair" python3 - <<'P'
import json
d = json.load(open("p.json"))
a, b = d["gpus"]
assert (a["verdict"], b["verdict"]) == ("regression", "inconclusive"), (a["verdict"], b["verdict"])
for g, ms, before, after in ((a, 2.045680, 16.713562, 19.662233), (b, 2.361577, 16.822195, 20.146735)):
    s = g["shift"]
    assert (s["ms"], s["before_median_ms"], s["after_median_ms"]) == (ms, before, after), s
    assert s["u"] == 164 and round(s["a12"], 3) == 0.841 and round(s["p"], 5) == 0.00152, s
assert [round(g["clock"]["ratio"], 4) for g in (a, b)] == [1.0004, 1.0001]
row = {(r["gpu"], r["class"]): r["delta_ns"] for r in d["budget"] if not r["parent"]}
assert [row[0, c] for c in ("total", "compute", "communication", "copies", "idle")] == \
    [2199734, 79313, -379200, -277, 2499898], row
assert row[1, "total"] == 2403947, row
for s, ends in ((a["shift"], (1.349, 3.305)), (b["shift"], (1.208, 4.050))):
    assert all(abs(x - y) < 0.15 for x, y in zip(s["blocks"], ends)), s
P
else
	part_skipped "the real pair is not here"
fi

# A gate does not pass because the runs as wholes count as alike, if they differ by more than its limit.
if [ -f "$traces/life_a1.sqlite" ]; then
	for gate in 'step:<+0.5% 1' 'step:<+2% 0' 'step:+0.5% 1' 'step:+2% 0' 'step:-1% 1'; do
		"$prog" diff "$traces/life_a1.sqlite" "$traces/life_a2.sqlite" --gate "${gate% *}" -o g -q 2>err; rc=$?
		if [ $rc = "${gate#* }" ]; then ok; else bad "gate ${gate% *} of wholes: exit $rc: $(cat err)"; fi
	done
else
	part_skipped "the real captures are not here"
fi

# Known changes of real captures get the right verdict and the right figure.
if [ -f "$traces/t4_solver.sqlite" ]; then
	holds "captures changed on purpose" python3 "$tests/diff/perturb.py" "$prog" "$traces"
else
	part_skipped "the real captures are not here"
fi

# Programs that have kernels of a library in common, or hide them in graphs, prove no change.
for pair in 'h100_2gpu_1s mfu_2gpu_before' 'a100_cuda_graphs graph_nodes_2021'; do
	if [ ! -f "$traces/${pair% *}.sqlite" ]; then part_skipped "no ${pair% *}"; continue; fi
	for way in "$pair" "${pair#* } ${pair% *}"; do
		v=$(verdict "$traces/${way% *}.sqlite" "$traces/${way#* }.sqlite")
		if [ "$v" = inconclusive ]; then ok; else bad "other programs, $way: $v"; fi
	done
done

# --calibrate measures how much three runs differ, for each metric and kernel. A change within that is
# not proven.
"$prog" diff --calibrate "$fix/diff_before.sqlite" "$fix/diff_clocks.sqlite" "$fix/diff_template.sqlite" -o noise.json -q
for gate in 'compute:+0%' 'kernel:/attn/:+0%' 'step.mean:+0%'; do
	"$prog" diff "$fix/diff_before.sqlite" "$fix/diff_clocks.sqlite" --gate "$gate" -o g -q 2>err; rc=$?
	if [ $rc = 1 ] && [ "$(grep -cF "gate $gate: fail" err)" = 1 ]; then ok; else bad "$gate: exit $rc, not 1 with its reason: $(cat err)"; fi
	"$prog" diff "$fix/diff_before.sqlite" "$fix/diff_clocks.sqlite" --gate "$gate" --noise noise.json -o g >out; rc=$?
	if [ $rc = 0 ] && grep -q 'not larger than noise: runs of the same code' out; then ok; else bad "$gate, with noise: exit $rc, not 0"; fi
done
# Without a calibration file nothing is proven below 2 %, or below the difference between captures of
# one side.
"$prog" diff "$fix/diff_before.sqlite" "$fix/diff_slower.sqlite" --gate 'kernel:/attn/:+0%' --gate 'compute:+0%' -o g >out; rc=$?
if [ $rc = 1 ] && grep -q 'compute.*undecided.*not larger than noise: below 2 %' out; then ok; else bad "noise of a part: exit $rc: $(cat out)"; fi
"$prog" diff "$fix/diff_before.sqlite" "$fix/diff_slower.sqlite" --gate launches:-1 --gate compute:-5% -o g >out; rc=$?
if [ $rc = 1 ] && [ "$(grep -c ': fail' out)" = 2 ]; then ok; else bad "an improvement that is asked for: exit $rc: $(cat out)"; fi
"$prog" diff "$fix/diff_before.sqlite,$fix/diff_clocks.sqlite" "$fix/diff_clocks.sqlite" --gate 'compute:-1%' -o g >out; rc=$?
if [ $rc = 1 ] && grep -q 'undecided.*captures of one side differ as much' out && grep -q '^Inconclusive.*captures of one side' out; then
	ok
else
	bad "noise of a side: exit $rc: $(cat out)"
fi

# Digests give the same steps and the same shift as traces. A trace can be compared with a digest.
for name in ranks late_rank; do "$prog" digest "$fix/diff_$name.sqlite" -o "$name.nsxd" -q; done
"$prog" diff "$fix/diff_ranks.sqlite" "$fix/diff_late_rank.sqlite" --json >traces.json
for pair in "ranks.nsxd late_rank.nsxd" "ranks.nsxd $fix/diff_late_rank.sqlite" "$fix/diff_ranks.sqlite late_rank.nsxd"; do
	"$prog" diff $pair --json >p.json || bad "$pair: exit $?"
	holds "sums of $pair" $check sums p.json
	holds "$pair as the traces" python3 - <<'P'
import json
d, t = json.load(open("p.json")), json.load(open("traces.json"))
assert d["shift"] == t["shift"] and d["verdict"] == t["verdict"], (d["shift"], t["shift"])
parts = lambda x: [(r["gpu"], r["class"], r["delta_ns"]) for r in x["budget"] if not r["parent"]]
assert parts(d) == parts(t) and not d["kernels"], parts(d)
assert len(d["gpus"]) == 2
P
done
"$prog" diff ranks.nsxd "$fix/diff_ranks.sqlite" --json >p.json
holds "a digest of the same capture" $check zero p.json
for name in before sync; do "$prog" digest "$fix/diff_$name.sqlite" -o "$name.nsxd" -q; done
"$prog" diff before.nsxd sync.nsxd -o words >out
if grep -q '^New finding: The host waits for the GPU in cudaStreamSynchronize (50' out && ! grep -q idle_after_sync out words/diff.md; then ok; else bad "findings of digests: $(cat out)"; fi
for t in "$fix"/hostile_*.sqlite "$fix"/edges_*.sqlite; do # every digest that the program writes can be read
	"$prog" digest "$t" -o hostile.nsxd -q 2>/dev/null || continue
	"$prog" diff hostile.nsxd "$t" -o h >out 2>&1; rc=$?
	if [ $rc = 0 ] || grep -q 'nothing repeats' out; then ok; else bad "digest of $t: exit $rc: $(cat out)"; fi
done
"$prog" diff ranks.nsxd late_rank.nsxd --gate 'kernel:/optim/:+0%' --gate 'compute:+1%' -o g >out; rc=$?
if [ $rc = 1 ] && grep -q 'kernel.*undecided; digests do not' out; then ok; else bad "gates of digests: exit $rc: $(cat out)"; fi
for wrong in "ranks.nsxd late_rank.nsxd --unit window" "ranks.nsxd@1s..2s late_rank.nsxd" "ranks.nsxd late_rank.nsxd --rank 5" \
	"$fix/diff_ranks.sqlite $fix/diff_late_rank.sqlite --rank 0"; do
	"$prog" diff $wrong >out 2>err; rc=$?
	if [ $rc = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'cannot compare' err; then ok; else bad "$wrong: exit $rc: $(cat err)"; fi
done

# Jobs are compared rank by rank; the rank that changed by itself comes first. If a rank is missing,
# the sides are no longer compared as jobs.
for job in 'calm none' 'slow gpu_slow' 'lost gpu_slow lost=1'; do
	"$b/fleet-gen" $job ranks=3 hosts=2 steps=12 colls=6 format=digest
	"$prog" fleet "${job%% *}/traces" --partial "${job%% *}.nsxd" -q
done
late=$(sed -n 's/.*"culprits": \[\([0-9]*\).*/\1/p' slow/truth.json)
"$prog" diff calm.nsxd slow.nsxd -o job >out
if grep -q '^Regression: a range' out && grep -q "^On average .* longer on rank $late: compute +" out && grep -q 'not split into transfer and waiting' job/diff.md; then ok; else bad "a job: $(cat out)"; fi
"$prog" diff calm.nsxd slow.nsxd --rank "$late" -o job >out
if grep -q '^Regression: a range' out && grep -q '^O[nf] .*: compute +' out && ! grep -q 'not split into' job/diff.md; then ok; else bad "a rank: $(cat out)"; fi
"$prog" diff calm.nsxd lost.nsxd -o job >out
if grep -q '^Inconclusive.*different numbers of ranks' out && [ "$(grep -c '^| rank ' job/diff.md)" = 4 ] && ! grep -q '^| job' job/diff.md; then ok; else bad "a lost rank: $(cat out)"; fi

# For a capture that was cut there is no verdict, and the reason is given. If nothing is left of it,
# the program prints one line.
whole=$fix/diff_before.sqlite
for eighths in 2 7; do
	head -c $(($(wc -c <"$whole") * eighths / 8)) "$whole" >cut.sqlite
	"$prog" diff "$fix/diff_clocks.sqlite" cut.sqlite -o cut >out 2>err; rc=$?
	case $eighths-$rc in
	7-4) if grep -q '^Inconclusive.*could not be read' out && grep -q 'fail.*the file is cut' cut/diff.md; then ok; else bad "a cut capture: $(cat out)"; fi ;;
	2-3) if [ "$(wc -l <err)" = 1 ] && grep -q "cannot" err; then ok; else bad "a cut capture: $(cat err)"; fi ;;
	*) bad "a capture cut to $eighths eighths: exit $rc: $(cat err)" ;;
	esac
done

# A longer part of a capture has more launches of the same kernels, and is no other program.
storm=$fix/case07_launch_storm.sqlite
"$prog" diff "$storm@0.00004..0.00012" "$storm@0.0001..0.0004" --unit window -o more >out
if ! grep -q 'different kernels' out && grep -q '^more launches of the same kernels: 40 → 150' out; then ok; else bad "more launches: $(cat out)"; fi

# A change of a whole run that exceeds a limit, but not what runs of the same code may differ by,
# leaves the gate open.
sed 's/10000000 \* i/10300000 * i/; s/t + 11000000/t + 11300000/' "$tests/fixtures/large_fills.sql" >longer.sql
"$b/mkfixture" longer.sql longer.sqlite
"$prog" diff "$fix/large_fills.sqlite" longer.sqlite --unit window -o longer --gate step:+2% --gate step:+4% --gate launches:+0 >out 2>err
if grep -q '^gate launches:+0: pass (launches of the whole run +0)' out && grep -q '^No change: .*+3.0 %' out && grep -q '^gate step:+2%: undecided' out && grep -q '^gate step:+4%: pass' out; then ok; else bad "a gate within noise: $(cat out err)"; fi

# A peak of memory needs no unit of work.
"$prog" diff "$fix/memory_usage.sqlite" "$fix/memory_usage.sqlite@0..0.005" --unit window -o peak --gate mem_peak:+1% >out 2>err
if grep -q '^gate mem_peak:+1%: pass' out; then ok; else bad "a peak without units: $(cat out err)"; fi

# The comment for a pull request never exceeds its limit, and begins with the line by which the
# workflow finds it.
cp "$tests/diff/many_ranks.sql" . && "$b/mkfixture" many_ranks.sql many.sqlite
for pair in "$fix/diff_before.sqlite $fix/diff_clocks.sqlite" "many.sqlite many.sqlite"; do
	"$prog" diff $pair --md >c.md
	chars=$(wc -m <c.md)
	if [ "$(head -n 1 c.md)" = '<!-- nsys-explain diff -->' ] && [ "$chars" -gt 1000 ] && [ "$chars" -lt 60000 ]; then ok
	else bad "the comment on $pair: $chars characters"; fi
done

finish
