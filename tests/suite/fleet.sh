#!/bin/sh
# Jobs of many ranks with a planted fault (tests/fleet/gen.c), read as traces, as digests, as merged
# digests and over MPI.
# usage: fleet.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
SOURCE_DATE_EPOCH=1757000000; export SOURCE_DATE_EPOCH
planted() { # NAME FAULT [OPTION...]: the report must name the planted fault
	name=$1; shift
	"$b/fleet-gen" "$name" "$@" || { bad "gen $*"; return; }
	"$prog" fleet "$name/traces" --json >"$name/report.json" 2>err
	holds "planted: $*" python3 "$tests/fleet/check.py" "$name" "$name/report.json"
	[ "${keep:-}" ] || rm -rf "$name"
}
for fault in none gpu_slow host_slow cpu_late data_late rotating imbalance desync transient jitter; do
	planted "$fault" "$fault"
done
# A note below the rows of a table of the page is as wide as the table.
"$b/fleet-gen" many none ranks=24 hosts=3 format=digest && "$prog" fleet many/traces -q -o many/report 2>err
holds 'a note of a table' grep -q '<td class="soft" colspan="8">9 more in <code>tables/ranks.csv</code></td>' many/report/report.html
rm -rf many
# How many deviations a rank is away from the others, in digits.
"$b/fleet-gen" far data_late ranks=32 hosts=4 format=digest strength=400 && "$prog" fleet far/traces -q -o far/report 2>err
holds 'deviations in digits' grep -qE '^\| 5 \| 2 \| idle per step \| .* \| [0-9]{4} \|$' far/report/report.md
rm -rf far
planted most data_most ranks=8 hosts=2
planted tp_link slow_link tp=2 ranks=16
planted tp_slow gpu_slow tp=2 ranks=16
planted few gpu_slow ranks=2 hosts=2
planted lost cpu_late lost=3
planted calm none lost=3 seed=4
planted often rotating ranks=12 hosts=3 seed=11
keep=1; planted payload gpu_slow ranks=16 hosts=4 tp=2 payload=1; keep=
holds 'ranks equally far apart' grep -q '"1-15 by 2"' payload/report.json
rm -rf payload
planted tp4_late cpu_late ranks=8 hosts=2 tp=4
planted two_teams cpu_late ranks=4 hosts=4 tp=2 payload=1 seed=3
planted root cpu_late ranks=12 hosts=3 root=1 seed=22
planted root_tp none ranks=16 hosts=4 tp=2 root=1 lost=1
planted tp4_lost imbalance ranks=64 hosts=8 tp=4 lost=6 strength=50 seed=31
planted tp_lost imbalance ranks=32 hosts=4 tp=2 lost=3 seed=24
planted skewed none ranks=16 hosts=4 tp=2 skew=3000 seed=22
planted far gpu_slow ranks=6 hosts=3 skew=7000 ends=6 seed=5
planted by_others gpu_slow ranks=12 hosts=3 tp=4 ends=6 apart=1 colls=4 skew=60 seed=8
planted by_others_loss gpu_slow ranks=24 hosts=3 tp=8 ends=6 apart=1 colls=4 skew=80 seed=5
# The ends of each collective are up to 25 us apart, mostly by a constant offset.
planted tp2_ends imbalance ranks=16 hosts=4 tp=2 ends=25 steps=26 colls=16 seed=106
planted tp8_ends data_late ranks=64 hosts=8 tp=8 ends=25 colls=8 seed=114
planted link_ends slow_link ranks=32 hosts=4 tp=2 ends=25 colls=8 seed=117
planted half_link slow_link ranks=32 hosts=4 tp=4 ends=25 colls=8 half=1 seed=61001
# A rank that always comes last may always end a little later than the others: that is no slow link.
planted last_ends gpu_slow ranks=32 hosts=4 tp=4 ends=25 colls=20 beside=1 seed=7
# Parameters are gathered ahead while the ranks wait for one of their tensor-parallel group. What is
# exposed of these gathers, less than 1 %, holds nobody back. With clocks that are 2 ms apart, a burst
# of gathers lies nearest by the clocks at a wrong place.
planted gathers cpu_late ranks=16 hosts=4 tp=4 ends=15 colls=8 gathers=9 seed=5
planted gathers_far cpu_late ranks=16 hosts=4 tp=4 ends=15 colls=8 gathers=9 seed=7
# The last two collectives of a step are alike, and that of all ranks follows closely on that of the
# first stage. A rank's extra work lies behind its transfers.
"$b/fleet-gen" alike imbalance ranks=16 hosts=2 pp=2 ends=25 skew=2 seed=7
for f in alike/traces/*.sqlite; do
	sqlite3 "$f" "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE shortName IN (SELECT id FROM StringIds WHERE value LIKE 'nccl%AllGather%');
		UPDATE StringIds SET value = 'ncclDevKernel_AllReduce_RING_LL' WHERE value LIKE 'nccl%ReduceScatter%'"
done
"$prog" fleet alike/traces --json >alike.json 2>err
holds 'collectives that are alike' python3 "$tests/fleet/check.py" alike alike.json
rm -rf alike
# Two ranks are equally slow: each alone costs nothing.
planted two gpu_slow ranks=16 hosts=2 second=5 seed=3
planted two_late data_late ranks=32 hosts=4 tp=2 ends=25 colls=8 second=16 seed=6
# One of two equally late ranks alone costs 1 % of a step, because the other is its neighbour.
planted neighbours cpu_late ranks=32 hosts=4 steps=24 colls=10 tp=2 ends=25 skew=20 seed=48204369 mpi=3 second=1
planted two_stages cpu_late ranks=32 hosts=4 steps=24 colls=16 tp=4 pp=4 ends=10 seed=19888847 mpi=1 strength=250 inner=1 second=5
# This job has MPI only; its ranks are known from the names of threads.
keep=1; planted mpi gpu_slow ranks=16 hosts=2 ends=25 colls=8 mpi=1 seed=11; keep=
holds 'ranks by names of threads' grep -q '"rank_from": "mpi"' mpi/report.json
# Old versions of nsys record collectives among other calls, without communicator and size.
for f in mpi/traces/*.sqlite; do
	sqlite3 "$f" "CREATE TABLE MPI_OTHER_EVENTS AS SELECT start, end, globalTid, textId FROM MPI_COLLECTIVES_EVENTS; DELETE FROM MPI_COLLECTIVES_EVENTS"
done
"$prog" fleet mpi/traces --json >mpi/old.json 2>err
holds 'collectives among other calls' python3 "$tests/fleet/check.py" mpi mpi/old.json
for f in mpi/traces/*.sqlite; do
	sqlite3 "$f" "UPDATE StringIds SET value = 'MPI_Win_fence' WHERE value = 'MPI_Allreduce'"
done
"$prog" fleet mpi/traces --json >mpi/fence.json 2>err
holds 'fences of windows' python3 "$tests/fleet/check.py" mpi mpi/fence.json
rm -rf mpi
if [ -d "$traces" ]; then
	for name in mnist_mpi_allocs:272 mpi_4gpu_skewed:10; do
		"$prog" fleet "$traces/${name%:*}.sqlite" -q -o old 2>err
		holds "collectives of $name" grep -q "^0,mpi,MPI_Allreduce,.*,0-3,1,${name#*:}," old/tables/collectives.csv
	done
else
	skip=$((skip + 2))
fi
planted mpi_tp cpu_late ranks=32 hosts=4 tp=4 ends=25 colls=8 mpi=1 seed=12
# Clocks that drift over seconds still show which ranks are one group.
planted drift gpu_slow ranks=64 hosts=8 steps=200 colls=8 format=digest seed=1
# Several communicators of the same hosts give one drift.
keep=1; planted drifts cpu_late ranks=64 hosts=8 tp=2 pp=4 ends=10 skew=20 steps=200 format=digest seed=52; keep=
holds 'drift by all communicators' python3 -c "
import json
assert max(c['residual_us'] for c in json.load(open('drifts/report.json'))['metrics']['fleet']['clocks']) < 2"
rm -rf drifts
# Messages of MPI name the rank on the other side.
planted mpi_hidden data_late ranks=32 hosts=4 tp=2 pp=4 ends=25 mpi=1 seed=4007
planted mpi_link slow_link ranks=16 hosts=2 tp=2 pp=4 ends=25 skew=20 mpi=1 seed=4003
# In exchanges of borders the pairs show who waits for whom, whatever the calls.
for calls in 2 3 4; do
	keep=1; planted halo data_late ranks=16 hosts=2 tp=2 ends=25 colls=8 mpi=$calls seed=5; keep=
	"$prog" fleet halo/traces -q -o halo/report 2>err
	grep ,mpi_message, halo/report/tables/collectives.csv | sort -t, -k13,13nr >pairs
	holds "messages by pair, $calls" [ "$(wc -l <pairs) $(head -3 pairs | grep -c '"11, 12"\|"12, 13"')" = '15 2' ]
	[ $calls = 4 ] || rm -rf halo
done
# A message names its other side by the number in its communicator, which may be another rank of the job.
for local in rank 15-rank; do
	for f in halo/traces/*.sqlite; do
		sqlite3 "$f" "DROP TABLE IF EXISTS MPI_COMMUNICATORS; CREATE TABLE MPI_COMMUNICATORS (rank, commHandle, localRank, size);
			WITH r AS (SELECT CAST(substr('$f', -11, 4) AS INTEGER) AS rank) INSERT INTO MPI_COMMUNICATORS SELECT rank, 1, $local, 16 FROM r"
	done
	"$prog" fleet halo/traces -q -o halo/report 2>err
	holds "messages in a communicator of $local" [ "$(grep -c ,mpi_message, halo/report/tables/collectives.csv)" = "$([ $local = rank ] && echo 15 || echo 0)" ]
done
# In a collective of neighbours a rank waits for these only, and no trace names them.
for f in halo/traces/*.sqlite; do
	sqlite3 "$f" "INSERT INTO StringIds VALUES (99, 'MPI_Neighbor_alltoall'); DELETE FROM MPI_P2P_EVENTS;
		INSERT INTO MPI_COLLECTIVES_EVENTS SELECT start, end, globalTid, 99, 77, 4096 FROM MPI_START_WAIT_EVENTS; DELETE FROM MPI_START_WAIT_EVENTS"
done
"$prog" fleet halo/traces --json >halo/report.json 2>err
holds 'collectives of neighbours' python3 "$tests/fleet/check.py" halo halo/report.json
rm -rf halo
planted halo_stalls transient ranks=16 hosts=2 tp=4 ends=10 skew=60 mpi=3 seed=806380324
# The stages are on different hosts, whose clocks only the collective of all ranks compares.
planted pp_halo none ranks=32 hosts=4 tp=4 pp=4 ends=25 skew=20 mpi=2 seed=73007
planted pp_halo_link slow_link ranks=32 hosts=4 tp=4 pp=4 ends=25 skew=20 mpi=3 seed=73011
# Groups are within hosts, whose clocks differ: only groups across hosts align the steps of all.
planted late_in_host data_late ranks=32 hosts=4 tp=8 ends=25 colls=16 steps=24 skew=5 mpi=2 seed=551
# Ranks of one stage exchange borders, those of the next stage wait for what they send.
planted pp_halo_late data_late ranks=32 hosts=4 tp=2 ends=10 colls=10 steps=24 skew=0 pp=4 mpi=3 seed=91059
# Stages of a pipeline without payloads: the ends of transfers show who sends to whom. Also a mixture
# of experts, whose tokens are sent to their experts.
planted pp_late cpu_late ranks=32 hosts=4 tp=8 pp=4 ends=25 seed=3005
planted pp_link slow_link ranks=32 hosts=4 tp=4 pp=4 ends=25 skew=20 seed=3017
planted pp_clocks host_slow ranks=32 hosts=4 tp=2 pp=4 ends=25 skew=100 payload=1 seed=71007
planted pp_named imbalance ranks=64 hosts=8 tp=2 pp=4 ends=25 colls=10 steps=24 payload=1 seed=991006
planted pp_most data_most ranks=16 hosts=2 pp=4 ends=25 colls=8 mpi=1 seed=71022
planted pp_far cpu_late ranks=128 hosts=16 tp=4 pp=4 ends=25 skew=20 format=digest seed=2002
# Stages in the middle of the mesh: the next rank is of the next stage, data-parallel replicas are far apart.
planted pp_inner cpu_late ranks=64 hosts=8 tp=2 pp=2 ends=25 skew=20 inner=1 format=digest seed=61004
planted pp_inner_link slow_link ranks=32 hosts=4 tp=4 pp=4 ends=25 skew=20 inner=1 seed=61002
# Alltoalls without payloads: several beside each other look like one, so steps are counted by
# other collectives. Those of stages that work in step are no messages between the stages.
planted ep_steps cpu_late ranks=64 hosts=8 tp=4 ep=8 ends=25 colls=8 steps=24 seed=30058
planted ep_waits rotating ranks=32 hosts=4 tp=4 ep=8 ends=25 skew=60 colls=8 seed=30005
planted pp_ep_late cpu_late ranks=64 hosts=8 tp=2 pp=4 ep=8 ends=25 skew=20 colls=8 steps=24 format=digest seed=40014
planted pp_ep_slow gpu_slow ranks=128 hosts=16 pp=4 ep=8 ends=25 skew=20 colls=8 steps=24 format=digest seed=40001
# All ranks share the other communicator; those of two data-parallel groups end nearly together.
planted ep_of_all gpu_slow ranks=16 hosts=2 ep=8 colls=8 skew=20 seed=510037
planted ep_late data_late ranks=32 hosts=4 tp=2 ep=8 ends=25 colls=16 steps=24 skew=20 seed=510052
planted ep_groups gpu_slow ranks=256 hosts=32 tp=4 ep=8 ends=10 colls=10 skew=20 format=digest seed=510001
# Tensor-parallel neighbours that send to the next stage end together as exactly as its ranks do.
planted pp_exact gpu_slow ranks=64 hosts=8 tp=4 pp=4 colls=8 format=digest seed=5
planted ep_slow gpu_slow ranks=16 hosts=2 ep=8 ends=25 colls=8 payload=1 seed=3
# One tensor-parallel group of many is late; known clocks distinguish it from the others.
planted tp8_far data_late ranks=256 hosts=32 tp=8 ends=25 colls=30 skew=20 format=digest seed=2009
# The clocks of the hosts are more than a step apart. The ranks of a host share a clock.
planted tp2_clocks none ranks=16 hosts=4 tp=2 ends=25 colls=30 skew=20 seed=1
planted tp8_clocks none ranks=32 hosts=4 tp=8 ends=25 colls=30 skew=20 seed=5
planted tp4_clocks data_late ranks=64 hosts=8 tp=4 ends=25 colls=8 skew=20 seed=1041
# With tensor parallelism across hosts no communicator has ranks of all hosts.
keep=1; planted tp16_clocks gpu_slow ranks=64 hosts=8 tp=16 ends=25 colls=10 steps=24 skew=20 seed=448411
keep=
holds 'axes as found' grep -q '"axes": "dp 4, tp 16"' tp16_clocks/report.json
rm -rf tp16_clocks
planted tp8_two_hosts none ranks=64 hosts=16 tp=8 ends=25 colls=10 steps=24 skew=20 seed=44844
# Of two groups, the one with slow links is so far behind that clocks align it with the wrong collectives.
planted tp16_two slow_link ranks=32 hosts=4 tp=16 ends=25 colls=8 steps=24 strength=1000 skew=20 seed=1
planted tp16_link slow_link ranks=64 hosts=8 tp=16 ends=25 colls=10 steps=24 skew=20 seed=44842
# One rank stalls twice; there is no other fault.
planted stalls transient ranks=32 hosts=4 tp=4 steps=12 ends=25 seed=4
# A rank stalls in the middle of the capture, where the groups of two hosts are aligned by their clocks.
planted middle_stalls transient ranks=16 hosts=2 tp=8 colls=16 steps=24 skew=20 seed=880052
planted weak cpu_late ranks=12 hosts=3 strength=45 speeds=5 seed=23
keep=1; planted mixed data_late ranks=8 hosts=2 format=digest traces=2 colls=100; keep=
for f in mixed/traces/*.sqlite; do
	"$prog" digest "$f" -q -o cut.nsxd
	f=${f##*/}; holds "digest of $f as made directly" "$b/fleet-same" cut.nsxd "mixed/direct/${f%.sqlite}.nsxd"
done
rm -rf mixed
planted tp_calm gpu_slow ranks=64 hosts=8 tp=2 steps=30 seed=3

# Clocks that are 20 ms apart do not contradict each other. A clock that is set during the capture
# does, which gives one warning, however many pairs of ranks it concerns.
"$b/fleet-gen" close none ranks=12 hosts=3 tp=4 skew=20 ends=6 seed=5
"$prog" fleet close/traces --md >close.md 2>err
holds 'clocks that collectives tell do not contradict each other' not grep -q contradict close.md
rm -rf close
"$b/fleet-gen" clocks none ranks=12 hosts=3 payload=1 seed=7
for r in 4 5 6 7; do # the clock of these ranks is set in the middle of the capture
	sqlite3 clocks/traces/rank000$r.sqlite "$(for t in CUPTI_ACTIVITY_KIND_KERNEL CUPTI_ACTIVITY_KIND_RUNTIME NVTX_EVENTS; do
		echo "UPDATE $t SET start = start + 5000000, end = end + 5000000 WHERE start > 200000000;"; done)"
done
"$prog" fleet clocks/traces --md >clocks.md 2>err
holds 'pairs of clocks are counted' [ "$(grep -c contradict clocks.md) $(grep -c '2 pairs of clocks contradict each other, most those of ranks 0 and 4, by' clocks.md)" = '2 2' ]
rm -rf clocks
# A clock that contradicts others is not computed by way of a third one.
"$b/fleet-gen" even data_most ranks=256 hosts=32 tp=4 pp=2 skew=20 ends=25 colls=8 format=digest seed=42043
"$prog" fleet even/traces --json >even.json 2>err
holds 'clocks that contradict each other are not told' python3 -c "
import json
of, clocks = json.load(open('even/truth.json'))['offset_us'], json.load(open('even.json'))['metrics']['fleet']['clocks']
told = [(c['lo_us'] - 50, of[int(c['ranks'].split('-')[0])] - of[0], c['hi_us'] + 50) for c in clocks if c['lo_us'] is not None]
assert len(clocks) == 32 and all(lo <= x <= hi for lo, x, hi in told), told"
rm -rf even

# A pipeline: a slow rank, a slow rank that nobody waits for, a slow stage, and a fault that cannot
# be recognised without the names of communicators.
printf 'tp 2\ndp 2\npp 4\n' >mesh
piped() { # FAULT...: makes a pipeline with this fault; its report is pipe.json
	rm -rf pipe; python3 "$tests/fleet/pipe.py" pipe "$@"
	"$prog" fleet pipe/traces --mesh mesh --json >pipe.json 2>err
	holds "pipeline: $*" python3 "$tests/fleet/check.py" pipe pipe.json
}
is() { python3 -c "
import json, sys
f = json.load(open('pipe.json'))['metrics']['fleet']
sys.exit(not ($1))"; }
piped gpu_slow 5 payload
holds 'its wait is passed on' is "abs(sum(f['stragglers'][0][k] for k in ('direct_wait_ms', 'passed_on_wait_ms')) / 15 / f['all_recoverable_ms'] - 1) < .1"
piped stage 1 payload
holds 'named as a stage' is "f['stragglers'][0]['axis'] == 'pp'"
rm -rf pipe; python3 "$tests/fleet/pipe.py" pipe stage 1 payload worst
"$prog" fleet pipe/traces --mesh mesh --json >pipe.json 2>err
holds "a rank that is later than its late stage" is "[(x['ranks'], x['cause']) for x in f['stragglers']] == [([4, 5, 6, 7], 'gpu_slow'), ([4], 'gpu_slow')]"
piped late 9 payload
holds 'late, not waited for' is "[(x['rank'], x['why']) for x in f['not_named']] == [(9, 'not_waited_for')]"
piped none
piped gpu_slow 5
# A communicator of all stages does not name the two that wait for each other.
piped late 2 payload group
piped stage 1 payload group
piped border 1 payload
holds 'a border of hosts' grep -q '"title": "Hosts 0 and 1 (ranks 4-11) come late: transfers between them' pipe.json
holds 'its pairs' grep -q 'The slow ones are those of ranks 4, 8; 5, 9; 6, 10; 7, 11' pipe.json
# Around a ring, a rank waits for its neighbours only, so parts do not end together. A part that ends
# with those of both neighbours has no one partner.
piped late 9 payload ring
piped late 9 ring
piped late 2 ring
# The own work of a stage before its n-th collective differs from that of other stages; it is
# estimated from the members of that collective.
costs() { # FAULT... MOST: the price is at most MOST times the true cost, and no other rank is named
	rm -rf pipe; python3 "$tests/fleet/pipe.py" pipe "$1" "$2"
	"$prog" fleet pipe/traces --json >pipe.json 2>err
	holds "without names: $1 $2" is "(t := json.load(open('pipe/truth.json'))) and sum(s['recoverable_ms'] for s in f['stragglers']) <= $3 * t['loss_share'] * t['step_ms'] and {r for s in f['stragglers'] for r in s['ranks']} <= set(t['culprits'])"
}
costs gpu_slow 0 1.1
costs stage 3 1.2
# Without names of communicators, stages are compared by the kernels that they run.
alone() { # FAULT... CONDITION: the condition must hold for the report
	rm -rf pipe
	# shellcheck disable=SC2086 # words
	python3 "$tests/fleet/pipe.py" pipe $1 alone
	"$prog" fleet pipe/traces --json >pipe.json 2>err
	holds "stages alone: $1" is "abs(f['step_ms'] / json.load(open('pipe/truth.json'))['step_ms'] - 1) < .03 and ($2)"
}
alone 'gpu_slow 1' "[s['ranks'] for s in f['stragglers']] == [[1]] and abs(f['stragglers'][0]['recoverable_ms'] / f['step_ms'] - json.load(open('pipe/truth.json'))['loss_share']) < .02"
alone 'gpu_slow 1 norm' "[s['ranks'] for s in f['stragglers']] == [[1]] and -.002 < f['stragglers'][0]['recoverable_ms'] / f['step_ms'] - json.load(open('pipe/truth.json'))['loss_share'] < .03"
alone 'late 1' "not f['stragglers'] and [(x['rank'], x['why']) for x in f['not_named']] == [(1, 'pairs_unknown')]"

of_json() { # FILE EXPRESSIONS: prints them; m: the metrics of the fleet
	python3 -c "
import json, sys
m = json.load(open(sys.argv[1]))['metrics']['fleet']
print($2)" "$1"
}
# Engines that share no collective are compared as peers, although each counts its ranks from 0.
served() { # FAULT...: the report must name the planted engine and cause, and no straggler
	rm -rf served; "$tests/fleet/serve.py" served "$@"
	"$prog" fleet served/traces --json >served.json 2>err
	holds "engines: $*" python3 -c "
import json, re
t, f = json.load(open('served/truth.json')), json.load(open('served.json'))
m, named = f['metrics']['fleet'], [x for x in f['findings'] if x['id'] == 'slow_engine']
assert [len(x['ranks']) for x in named] == [t['tp']] * (t['engine'] is not None), named
assert [e['cause'] for e in m['engines'] if e['cause']] == [t['cause']] * len(named), m['engines']
assert t['tp'] > 1 or [int(p) for x in named for p in re.findall('process ([0-9]+)', x['title'])] == t['pids'], named
assert m['ranks_seen'] == len(m['ranks']) and not m['stragglers'] and not m['steps'], m['stragglers']"
}
served none seed=201
served gpu_slow strength=150 seed=202
served cpu_late tp=2 seed=203
served load seed=204
served apart strength=150 seed=205
served cpu_late engines=2 seed=206
# Containers number their processes and ranks alike. Two of them are no two captures of one rank.
"$b/fleet-gen" boxes gpu_slow ranks=8 hosts=1 ends=25 colls=8 steps=24 seed=5
for f in boxes/traces/*.sqlite served/traces/*.sqlite; do
	sqlite3 "$f" "CREATE TABLE IF NOT EXISTS OSRT_API (globalTid INTEGER); DELETE FROM TARGET_INFO_SESSION_START_TIME;
		UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = 17 << 24; UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = 17 << 24 | 17;
		UPDATE NVTX_EVENTS SET globalTid = 17 << 24 | 17; UPDATE OSRT_API SET globalTid = 17 << 24 | 17;
		UPDATE META_DATA_CAPTURE SET value = substr(value, 1, instr(value, '=')) || (value LIKE 'WORLD%')"
done
"$prog" fleet boxes/traces --json >boxes.json 2>err
holds 'replicas in containers' [ "$(of_json boxes.json "len(m['ranks']), [(len(s['ranks']), s['cause']) for s in m['stragglers']]")" = "8 [(1, 'gpu_slow')]" ]
"$prog" fleet served/traces --json >boxes.json 2>err
holds 'engines in containers' [ "$(of_json boxes.json "len(m['engines'])")" = 2 ]
rm -rf boxes

# One file with eight ranks gives the same report as eight files.
keep=1
planted one gpu_slow one_file=1 ranks=8 hosts=1
planted many gpu_slow ranks=8 hosts=1
planted named gpu_slow one_file=1 ranks=8 hosts=1 payload=2
of() { python3 -c "
import json, sys
f = json.load(open(sys.argv[1]))['metrics']['fleet']
print([(s['ranks'], s['cause'], round(s['recoverable_ms'], 1)) for s in f['stragglers']], f['ranks_seen'])" "$1"; }
holds 'ranks by payloads' [ "$(of one/report.json) payload" = "$(of named/report.json) $(python3 -c "import json; print(*{r['rank_from'] for r in json.load(open('named/report.json'))['metrics']['fleet']['ranks']})")" ]
holds 'one file as many' [ "$(of one/report.json)" = "$(of many/report.json)" ]

# Collectives of tensor parallelism are exposed: no kernel runs beside them.
planted tp none tp=2 ranks=8 hosts=1
"$prog" fleet tp/traces -q -o tp/report
told=$(sed -n 's/^Of the first part, \([0-9.]*\) µs a step .*/\1/p' tp/report/report.md)
true=$(sqlite3 "$(find tp/traces -name '*.sqlite' | head -1)" "SELECT sum(end - start) / 20e3 FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE streamId = 24")
holds 'communication of some ranks' awk -v a="$told" -v b="$true" 'BEGIN { exit !(a > .95 * b && a < 1.05 * b) }'

# The user gives the names of an engine's steps (--steps-from).
echo '{"counted": "worker %n: ctx=%p/%P gen=%d*"}' >own.json
"$prog" digest "$fix/steps_own.sqlite" -q -o named.nsxd --steps-from own.json
"$prog" digest "$fix/steps_own.sqlite" -q -o unnamed.nsxd
holds 'steps by names of the user' [ "$(for f in named unnamed; do sqlite3 $f.nsxd 'SELECT count(*) FROM kind'; done | tr '\n' ' ')" = '3 0 ' ]

# Shuffled inputs, digests, and two orders of merging give the same bytes.
planted job data_late ranks=12 hosts=3 steps=12 colls=8
cmp_json() { "$prog" fleet "$@" --json 2>/dev/null | cmp -s - job/report.json; }
# shellcheck disable=SC2046
holds 'other order' cmp_json $(find job/traces -name '*.sqlite' | sort -r)
i=0
for f in job/traces/*.sqlite; do
	"$prog" digest "$f" -q -o "d$i.nsxd" || fail=$((fail + 1)); i=$((i + 1))
done
holds digests cmp_json d*.nsxd
"$prog" fleet d0.nsxd d5.nsxd d7.nsxd -q --partial p1.nsxd
"$prog" fleet d5.nsxd d1.nsxd d2.nsxd d3.nsxd d4.nsxd -q --partial p2.nsxd.zst
"$prog" fleet p2.nsxd.zst d6.nsxd d8.nsxd d9.nsxd d10.nsxd d11.nsxd -q --partial p3.nsxd
"$prog" fleet p1.nsxd p3.nsxd p1.nsxd -q --partial all.nsxd
"$prog" fleet d*.nsxd -q --partial flat.nsxd
holds 'a tree is a union' cmp -s all.nsxd flat.nsxd
holds 'merged digest' cmp_json all.nsxd
holds 'no secrets' [ -z "$(cat all.nsxd job/report.json | grep -aoE 'never-print-me|node00[0-9]')" ]
holds 'readable' [ "$(sqlite3 all.nsxd 'SELECT count(*) FROM rank')" = 12 ]
holds 'small' [ "$(wc -c <d0.nsxd)" -lt 150000 ]

# A channel gets operations although its list of operations is full.
cp d0.nsxd back.nsxd
sqlite3 back.nsxd "CREATE TEMP TABLE c AS SELECT * FROM channel; UPDATE c SET number = 1; INSERT INTO channel SELECT * FROM c;
	WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
	INSERT INTO op SELECT 1, i % 2, 'x', 1 FROM n"
"$prog" fleet back.nsxd -q -o back 2>err
holds 'operations of channels by turns' [ "$? $(grep -c "'back.nsxd': the digest is damaged" err)" = '3 1' ]
head -c 30000 d0.nsxd >cut.nsxd
"$prog" fleet cut.nsxd -q -o cut 2>err
holds 'a cut digest' [ "$? $(grep -c "cannot read 'cut.nsxd': the file is damaged: " err)" = '3 1' ]
# Damaged columns claim more values than their few bytes can hold.
cp d0.nsxd bomb.nsxd
sqlite3 bomb.nsxd 'UPDATE channel SET n = 200000000'
# shellcheck disable=SC3045 # a shell without it sets no limit
(ulimit -v 1000000; exec "$prog" fleet bomb.nsxd -q -o bomb) 2>err
holds 'more collectives than bytes' [ "$? $(grep -c "'bomb.nsxd': the digest is damaged at channel.n;" err)" = '3 1' ]

# The user names the parallel axes of the job (--mesh).
printf '# %0300d\ntp 3 # neighbours\n\ndp 4\n' 8 >mesh
"$prog" fleet d*.nsxd --mesh mesh -q -o meshed
holds 'place on the mesh' grep -q '^5,.,"tp 2, dp 1",' meshed/tables/ranks.csv
calls() { awk -F, -v key="$1" 'NR == 1 { while ($++c != key); next } { n += $c } END { print n }' "$2"; }
holds 'time of all calls, of the first one too' [ "$(calls most_calls meshed/tables/imbalance.csv)" = "$(sqlite3 d0.nsxd 'SELECT sum(n) FROM channel')" ]
holds 'what tp takes is not called work alone' \
	grep -q '^| work and other communication that the median' meshed/report.md
holds 'units of what differs' grep -qE '^\| [0-9-]+ \| [0-9]+ \| idle per step \| [0-9.]+ (.|µ)?s \| [0-9.]+ (.|µ)?s \|' meshed/report.md
holds 'axes of a communicator' grep -q ',"tp, dp",0-11,' meshed/tables/collectives.csv
printf 'tp 3\ndp 5\n' >mesh
"$prog" fleet d*.nsxd --mesh mesh -q -o meshed 2>err
holds 'a mesh of another size' [ "$? $(grep -c 'has 15 ranks, the job 12' err)" = '2 1' ]
"$prog" fleet d*.nsxd --mesh err -q -o meshed 2>out
holds 'no mesh' [ $? = 2 ]
"$prog" fleet d*.nsxd --mesh . -q -o meshed 2>out
holds 'a folder is no mesh' [ "$? $(grep -c "cannot read the mesh '.': Is a directory" out)" = '3 1' ]

# Without times of collectives, iterations give the same result.
i=0
for f in job/traces/*.sqlite; do
	"$prog" digest "$f" -q --detail steps -o "s$i.nsxd" || fail=$((fail + 1)); i=$((i + 1))
done
"$prog" fleet s*.nsxd --json >steps.json
holds 'digests of steps' python3 "$tests/fleet/check.py" job steps.json steps

# Only the last of four iterations communicates, so there are more iterations than collectives.
"$b/fleet-gen" few none ranks=4 hosts=2 steps=40 colls=3 || exit 1
python3 - few/traces/*.sqlite <<'P'
import sqlite3, sys
for path in sys.argv[1:]:
    db = sqlite3.connect(path)
    steps = [x for x, in db.execute("SELECT start FROM NVTX_EVENTS WHERE text = 'step' ORDER BY start")]
    for i in range(len(steps) - 1):
        if i % 4 < 3:
            db.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start >= ? AND start < ? AND shortName IN "
                       "(SELECT id FROM StringIds WHERE value LIKE 'nccl%')", steps[i:i + 2])
    db.commit()
P
for r in 0 1 2 3; do "$prog" digest few/traces/rank000$r.sqlite -q --detail steps -o a$r.nsxd; done
"$prog" fleet a?.nsxd --json 2>err | grep -q '"steps": 39,'
holds 'more iterations than collectives' [ $? = 0 ]

# If a rank has two traces, the complete one counts.
size=$(stat -c %s few/traces/rank0001.sqlite); head -c $((size / 2)) few/traces/rank0001.sqlite >cut.sqlite
"$prog" fleet few/traces/rank000[0-3].sqlite --json >whole.json 2>err
"$prog" fleet few/traces/rank000[0-3].sqlite cut.sqlite --json >bad.json 2>err
holds 'the whole one of two counts' [ "$(of whole.json | cksum)" = "$(of bad.json | cksum)" ]
cp few/traces/rank0001.sqlite part.sqlite; sqlite3 part.sqlite 'DELETE FROM OSRT_API'
"$prog" fleet few/traces/rank000[0-3].sqlite part.sqlite --json >bad.json 2>err
holds 'two captures of a process' grep -qE 'one counts: (rank0001|part).sqlite was used, (rank0001|part).sqlite was not' bad.json
cp few/traces/rank0001.sqlite again.sqlite
"$prog" fleet few/traces/rank000[0-3].sqlite again.sqlite --json >bad.json 2>err
holds 'one capture twice' grep -qE 'there twice count once; without (again|rank0001).sqlite nothing would change' bad.json
# Two names of one capture make no two ranks.
sqlite3 again.sqlite 'DELETE FROM META_DATA_CAPTURE'
mv again.sqlite rank1.sqlite; cp rank1.sqlite rank2.sqlite
"$prog" fleet rank1.sqlite rank2.sqlite --json >bad.json 2>err
holds 'a capture with two names' [ "$(grep -c 'without rank2.sqlite nothing would change' bad.json) $(of bad.json)" = '1 [] 1' ]
rm -rf few cut.sqlite part.sqlite rank[12].sqlite

# With nine steps no rank is named as late, but the report does not deny that others wait for it. If
# two ranks call different collectives, neither is called wrong.
"$b/fleet-gen" few cpu_late ranks=3 hosts=3 seed=404 steps=11 payload=1
"$prog" fleet few/traces --json >few.json 2>err
holds 'nine steps are too few' grep -q '"why": "few_steps"' few.json
"$b/fleet-gen" pair desync ranks=2 hosts=2 seed=90
"$prog" fleet pair/traces --md >pair.md 2>err
holds 'either of two may be wrong' grep -q 'Ranks 0, 1 are out of sequence.*do not tell' pair.md
rm -rf few pair
# Steps come from the collectives of all ranks. This must hold even if messages between unknown
# ranks take more time, and the clocks differ by more than half a step.
"$b/fleet-gen" moved rotating ranks=8 hosts=2 skew=20
for f in moved/traces/*.sqlite; do
	sqlite3 "$f" "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 21 WHERE shortName IN
			(SELECT id FROM StringIds WHERE value LIKE 'nccl%ReduceScatter%' OR value LIKE 'nccl%AllGather%');
		UPDATE StringIds SET value = 'ncclDevKernel_SendRecv' WHERE value LIKE 'nccl%AllReduce%'"
done
"$prog" fleet moved/traces --json >moved.json 2>err
holds 'steps by what all do' python3 "$tests/fleet/check.py" moved moved.json
rm -rf moved
# If a late rank's capture is shorter, its cost per step is computed from the steps that it has.
"$b/fleet-gen" short cpu_late ranks=8 hosts=2 seed=1
f=short/traces/rank000$(python3 -c "import json; print(json.load(open('short/truth.json'))['culprits'][0])").sqlite
sqlite3 "$f" "CREATE TEMP TABLE cut AS SELECT (2 * min(start) + max(end)) / 3 AS t FROM CUPTI_ACTIVITY_KIND_KERNEL;
	DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start < (SELECT t FROM cut); DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE start < (SELECT t FROM cut);
	DELETE FROM NVTX_EVENTS WHERE start < (SELECT t FROM cut)"
"$prog" fleet short/traces --json >short.json 2>err
holds 'steps that the late rank has' python3 "$tests/fleet/check.py" short short.json
rm -rf short
# The report names uneven work, and calls no rank a persistent straggler.
for strength in 100 200; do
	"$b/fleet-gen" even jitter ranks=8 hosts=2 strength=$strength
	"$prog" fleet even/traces --md >even$strength.md 2>err
done
holds 'work that is uneven' [ "$(grep -c 'not always the same rank' even100.md even200.md | tr '\n' ' ')" = 'even100.md:0 even200.md:1 ' ]
rm -rf even
# A collective with more bytes must not be taken for a slow link.
"$b/fleet-gen" dump cpu_late ranks=4 hosts=2 seed=1
for f in dump/traces/*.sqlite; do
	sqlite3 "$f" "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
			correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
		WITH k AS (SELECT start, globalPid, max(end) OVER (ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
			FROM CUPTI_ACTIVITY_KIND_KERNEL)
		INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT before + 20000, start - 20000, 0, 1, 7, NULL, globalPid, 20000000, 2, 2, 1
			FROM k WHERE start - before > 500000"
done
"$prog" fleet dump/traces --md >dump.md 2>err
holds 'more bytes' grep -qE 'comes late: it copies [12][0-9.]* MB a step more than the others' dump.md
rm -rf dump
# A rank with another GPU model is named.
"$b/fleet-gen" models gpu_slow ranks=4 hosts=2 seed=1
for f in models/traces/*.sqlite; do
	sqlite3 "$f" "INSERT INTO TARGET_INFO_GPU VALUES (0, '$(case $f in *1.sqlite) echo A;; *) echo H;; esac)100', 'GPU-0');
		INSERT INTO TARGET_INFO_CUDA_DEVICE SELECT DISTINCT 0, 0, (globalPid >> 24) & 0xffffff, 'GPU-0' FROM CUPTI_ACTIVITY_KIND_KERNEL"
done
"$prog" fleet models/traces --md >models.md 2>err
holds 'another model' grep -q 'on its GPU, another model: A100' models.md
rm -rf models
# If a rank is missing between others, it may be the one for which they wait.
"$b/fleet-gen" gap none ranks=4 hosts=2 seed=1
for f in gap/traces/*; do sqlite3 "$f" "DELETE FROM META_DATA_CAPTURE WHERE name LIKE 'ENVIRONMENT%'"; done
rm gap/traces/rank0002.sqlite
"$prog" fleet gap/traces --md >gap.md 2>err
holds 'a rank that is absent' [ "$(grep -cE '^3 of at least 4 ranks|persistent straggler\*\* among the ranks|1 of at least 4 ranks is not here: 2|moving data, or waiting for a rank|`transfer, or' gap.md) $(grep -c 'by chance' gap.md)" = '8 0' ]
rm -rf gap
# Traces of two jobs are recognised by the different numbers of ranks that they state.
"$b/fleet-gen" three none ranks=3 hosts=3 seed=1 && "$b/fleet-gen" nine none ranks=9 hosts=3 seed=2
"$prog" fleet three/traces/rank0000.sqlite nine/traces/rank000[12].sqlite --md >mixed.md 2>err
holds 'two jobs that are mixed' grep -q 'job has 3 ranks, others 9' mixed.md
sqlite3 three/traces/rank0001.sqlite 'UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + 3600000000000'
"$prog" fleet three/traces --md >mixed.md 2>err
holds 'traces an hour apart' grep -q 'one trace ends 1 h before another begins' mixed.md
rm -rf three nine

# If one rank has two captures, the report says which one was used. It also recognises captures that
# have nothing in common.
"$b/fleet-gen" one none ranks=2 hosts=1 seed=1 && "$b/fleet-gen" two none ranks=2 hosts=1 seed=2
cp two/traces/rank0001.sqlite one/traces/again1.sqlite
"$prog" fleet one/traces --md >twice.md 2>err
holds 'which of two captures counts' grep -qE 'rank 1 is there more than once, from different captures: (again1|rank0001).sqlite was used, (again1|rank0001).sqlite was not' twice.md
"$prog" fleet one/traces/rank0000.sqlite "$b/fixtures/one_kernel.sqlite" --md >no_job.md 2>err
holds 'no job' grep -q 'These captures are no job' no_job.md
rm -rf one two

# The exit code also shows that a trace has a damaged page, unless there is an undamaged capture of
# the same rank.
cp "$b/fixtures/two_rank_straggler.sqlite" torn.sqlite; chmod u+w torn.sqlite
page=$(sqlite3 torn.sqlite "SELECT rootpage FROM sqlite_master WHERE name = 'NVTX_EVENTS'")
head -c 4096 /dev/zero | dd of=torn.sqlite bs=4096 seek=$((page - 1)) conv=notrunc 2>/dev/null
"$prog" fleet torn.sqlite --json >bad.json 2>err; rc=$?
holds 'a damaged trace is told by the exit code' [ $rc = 4 ]
"$prog" fleet torn.sqlite "$b/fixtures/two_rank_straggler.sqlite" --json >bad.json 2>err; rc=$?
holds '... and not where the whole one counts' [ $rc = 0 ]
rm torn.sqlite

# A command for traces that gets a digest names the commands that read digests.
"$prog" explain d0.nsxd --json >bad.json 2>err; rc=$?
holds 'a digest is refused as a trace' [ "$rc $(grep -c 'a digest of a trace.*nsys-explain fleet' err)" = '3 1' ]

# Inputs that cannot be read are named and left out; the exit code is 4.
head -c 20000 d3.nsxd >d3cut.nsxd
{ head -c 12000 d4.nsxd; head -c 12000 /dev/zero; tail -c +24001 d4.nsxd; } >d4bad.nsxd
printf text >text.nsxd
for bad in d3cut d4bad text missing; do
	"$prog" fleet d0.nsxd d1.nsxd $bad.nsxd --json >bad.json 2>err; rc=$?
	holds "$bad is named" [ "$(python3 -c "import json; print(' '.join(json.load(open('bad.json'))['metrics']['fleet']['left_out']))" | grep -c "$bad.nsxd")" = 1 ]
	holds "$bad is left out" [ "$rc $(grep -c "$bad.nsxd" err) $(of bad.json | grep -c '2$')" = '4 1 1' ]
done
"$prog" fleet text.nsxd --json >bad.json 2>err
holds 'nothing to read' [ $? = 3 ]
"$prog" fleet >/dev/null 2>&1
holds 'no input' [ $? = 2 ]
"$prog" fleet d0.nsxd --min-ranks 2 -q -o few-report 2>err
holds 'too few ranks' [ "$? $(cat err)" = '1 nsys-explain: 1 rank is here, fewer than the 2 of --min-ranks' ]

# Over MPI the report is the same, byte for byte.
if [ -x "$prog-mpi" ] && command -v mpirun >/dev/null; then
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent=/bin/false
	export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_plm_rsh_agent
	# The plug-ins of Open MPI leak. They are unloaded before the leak check of a sanitizer build,
	# so they cannot be suppressed by name, and the check is switched off.
	mpi() {
		n=$1; shift
		ASAN_OPTIONS=detect_leaks=0 mpirun -n "$n" --oversubscribe "$prog-mpi" fleet "$@" 2>err
	}
	for n in 1 3 4; do
		mpi $n job/traces --json >mpi.json
		holds "mpi, $n processes" cmp -s mpi.json job/report.json
	done
	mpi 4 d*.nsxd -q --partial mpi.nsxd
	holds 'mpi, partial' cmp -s mpi.nsxd flat.nsxd
	mpi 4 d[0-2].nsxd text.nsxd --json >mpi.json
	holds 'mpi, a file that cannot be read' [ "$? $(grep -c text.nsxd err) $(grep -c "text.nsxd" mpi.json)" = '4 1 1' ]
else
	skip=$((skip + 5))
fi
finish
