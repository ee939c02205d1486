#!/bin/sh
# Reads .nsys-rep files without nsys. A small file gives the rows worked out by hand. Damage of every
# kind is handled. Real reports give the same rows in the same order as their exports by NVIDIA, if
# both are available.
# usage: nsysrep.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
reports=${NSX_REPORTS:-$root/../shared/reports}
python3 "$tests/nsysrep/small.py" || exit 1
row() { # REPORT SQL EXPECTED
	got=$("$prog" export "$1" -q -o row.sqlite 2>/dev/null; sqlite3 row.sqlite "$2" 2>&1)
	if [ "$got" = "$3" ]; then ok; else bad "$1: $2: '$got', not '$3'"; fi
	rm -f row.sqlite
}
kernel='SELECT start, "end", deviceId, streamId, correlationId, s.value, gridX, blockX, registersPerThread FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds s ON s.id = demangledName'
row sound.nsys-rep "$kernel" '3000|7000|0|7|11|void scale<float>(float*)|4|128|32'
row sound.nsys-rep 'SELECT start, bytes, copyKind, srcKind, dstKind, greenContextId IS NULL FROM CUPTI_ACTIVITY_KIND_MEMCPY' '8000|4096|1|0|2|1'
row sound.nsys-rep 'SELECT start, correlationId, s.value FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds s ON s.id = nameId' "$(printf '1000|11|cudaLaunchKernel\n2000|12|cudaMemcpyAsync')"
row sound.nsys-rep 'SELECT start, "end", eventType, text, textId IS NULL FROM NVTX_EVENTS WHERE eventType = 59' '-5|9500|59|step|1'
row sound.nsys-rep 'SELECT pid, name FROM PROCESSES' '1|app'
row sound.nsys-rep 'SELECT duration, startTime FROM ANALYSIS_DETAILS' '20000|50'
row sound.nsys-rep 'SELECT name, smCount FROM TARGET_INFO_GPU' 'Test GPU|80'
row sound.nsys-rep "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_PRODUCT_VERSION'" '2026.2.1.5'
row sound.nsys-rep 'SELECT rank, timestamp, commHandle, parentHandle, localRank, size, groupRoot, groupRootUid, members IS NULL FROM MPI_COMMUNICATORS' "$(printf '3|70|500|400|0|2|1|7|1\n3|80|600|500|1|2|||1')"
row samples.nsys-rep 'SELECT s.id, start, f.id, symbol FROM COMPOSITE_EVENTS AS s JOIN SAMPLING_CALLCHAINS AS f USING (id)' \
	"$(printf '%s\n' '1|100|1|1' '2|200|2|1' '3|300|3|1')"
row calls.nsys-rep 'SELECT start, "end", tag, remoteRank, size FROM MPI_P2P_EVENTS' "$(printf '%s\n' '100|100|6|1|40' '100|110|5|2|80' \
	'200|210|6|1|40' '300|300|7|1|40' '300|310|||0' '400|410||-1|40')"
row calls.nsys-rep 'SELECT start, requestHandle FROM MPI_START_WAIT_EVENTS' '500|77'
row calls.nsys-rep 'SELECT start, textId FROM MPI_OTHER_EVENTS' '600|4'
row calls.nsys-rep 'SELECT "end", bufferAddr, peerWorkerUid, tag FROM UCP_SUBMIT_EVENTS UNION SELECT * FROM UCP_WORKERS, (SELECT 0, 0)
	UNION SELECT "end", bufferAddr, peerWorkerUid, tag FROM UCP_PROGRESS_EVENTS UNION SELECT start, "end", textId, 0 FROM UCP_EVENTS ORDER BY 1' \
	"$(printf '%s\n' '700|710|5|0' '810|10|8|9' '910|10|8|9' '281474993487873|-9|0|0')"
row calls.nsys-rep 'SELECT start, eventKind, parallelId, parentTaskId FROM OPENMP_EVENT_KIND_PARALLEL' '1000|28|2|1'
row calls.nsys-rep 'SELECT start, kind, parallelId, taskId, count FROM OPENMP_EVENT_KIND_WORKSHARE' '1100|1|2|3|2000'
row calls.nsys-rep 'SELECT * FROM PERF_EVENT_CPU_RAW_EVENT' '-5|5|1|0|8192|42'
row calls.nsys-rep 'SELECT m.* FROM PERF_EVENT_CPU_RAW_EVENT JOIN TARGET_INFO_PERF_METRIC AS m ON m.id = eventId' \
	'8192|CPU Clock (sw)|a timer|clock'
row calls.nsys-rep "SELECT jsonText FROM NVTX_EVENTS WHERE text = 'payload'" \
	'{"a": 1, "b": 2, "c": [3, -4], "d": "say\"", "e": ["red", "none"], "f": "xyz", "g": 5}'
# 256 entries at the same 8 bytes are no payload.
row everywhere.nsys-rep 'SELECT max(length(jsonText)) IS NULL FROM NVTX_EVENTS' 1
row no_directory.nsys-rep "$kernel" '3000|7000|0|7|11|void scale<float>(float*)|4|128|32'
row line_end.nsys-rep 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL' 1
row block.nsys-rep 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL' 1
row cut.nsys-rep 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY' 1

says() { # EXIT_CODE WORDS REPORT: the program's report or stderr must contain the words
	"$prog" "$3" -q --out o >out 2>err; rc=$?
	cat o/report.md >>err 2>/dev/null
	if [ $rc -eq "$1" ] && grep -q -- "$2" err; then ok; else bad "$3: exit $rc, wanted $1 and '$2'"; fi
	rm -rf o
}
says 0 '2 events of a kind not known, type 131' sound.nsys-rep
says 0 'not read: 1 event of a kind not known, type 48 (108, 78)' calls.nsys-rep
says 0 'memory_event was not read: the report has 1 of its records' sound.nsys-rep
"$prog" ask sound.nsys-rep section memory_usage >out 2>&1
if grep -q 'table of allocations was not read' out; then ok; else bad "allocations that are not read: $(head -n 1 out)"; fi
"$prog" ask sound.nsys-rep sql 'SELECT count(*) FROM memory_event' >out 2>&1
if grep -q 'memory_event was not read' out; then ok; else bad "SQL on what is not read: $(head -n 3 out)"; fi
"$prog" export sound.nsys-rep -q -o e.sqlite >out 2>&1
if grep -q 'may lack something: not read: 1 event' out; then ok; else bad "export of what is not read: $(cat out)"; fi
rm e.sqlite
"$prog" sound.nsys-rep -q --out o
if grep 'Not in this trace' o/report.md | grep -q memory; then bad 'what is not read is called absent'; else ok; fi
rm -rf o
row graph.nsys-rep 'SELECT start, eventClass, callchainId IS NULL FROM CUPTI_ACTIVITY_KIND_RUNTIME' "$(printf '1000|0|1\n1000|67|1')"
says 0 'not read: 1 event of a kind not known, type 113 (108, 77); 1 stack of CUDA calls' graph.nsys-rep
"$prog" ask graph.nsys-rep section cuda_graphs --csv >out 2>&1
if grep -q ',node,1,1,100' out && ! grep -q opaque out; then ok; else bad "nodes of graphs: $(head -n 3 out)"; fi
holds 'the query of graphs knows the nodes, too' "$b/tests/property/prop_sql" graph.nsys-rep
says 0 'newer than any that was tried' newer.nsys-rep
says 4 'cut off' cut.nsys-rep
says 4 'its end is cut off' no_directory.nsys-rep
says 4 '1 of 2 blocks' block.nsys-rep
says 4 '3 of its 10 names are missing' nameless.nsys-rep
says 4 '11 events more than it should have' twice.nsys-rep
says 4 'beside its events' endless.nsys-rep
says 4 '1 event is garbled' zeros.nsys-rep
says 4 'beside its events' sections.nsys-rep
for f in garbled_*.nsys-rep; do says 4 'beside its events' "$f"; done
says 4 'blocks of events cannot be read' lying.nsys-rep
for command in 'ask PATH findings' 'ask PATH verdict --json' 'schema PATH' 'schema PATH --json' 'convert PATH -q -o c.json' \
	'digest PATH -q --out d.nsxd' 'diff PATH sound.nsys-rep -q --out d' 'diff sound.nsys-rep PATH -q --out d' \
	'fleet PATH sound.nsys-rep -q --out f' 'export PATH -q -o e.sqlite'; do
	# shellcheck disable=SC2046,SC2086 # words are meant
	"$prog" $(echo "$command" | sed 's/PATH/block.nsys-rep/g') >out 2>err; rc=$?
	if [ $rc -eq 4 ] && [ -s err ]; then ok; else bad "$command of a damaged report: exit $rc: $(head -n 1 err)"; fi
	rm -rf d d.nsxd c.json e.sqlite f
done
says 3 '' other.nsys-rep
tail -c 300 sound.nsys-rep >raw.qdstrm
says 3 'a raw stream' raw.qdstrm
zstd=$(command -v zstd) && {
	"$zstd" -q sound.nsys-rep -o packed.nsys-rep.zst
	row packed.nsys-rep.zst 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL' 1
	head -c 9999999 /dev/zero | "$zstd" -q >zeros.nsys-rep.zst
	says 3 'it expands to more than' zeros.nsys-rep.zst
	# A file of several frames, one that was cut off, one with another name, and one from a pipe.
	head -c 1000 sound.nsys-rep >begin; tail -c +1001 sound.nsys-rep >rest
	"$zstd" -q begin rest && cat begin.zst rest.zst >frames.nsys-rep.zst
	row frames.nsys-rep.zst 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL' 1
	"$zstd" -q cut.nsys-rep && cat cut.nsys-rep.zst rest.zst | head -c -9 >late.nsys-rep.zst
	says 4 'cut off' late.nsys-rep.zst
	head -c 30 packed.nsys-rep.zst >early.nsys-rep.zst
	says 3 'was not copied whole' early.nsys-rep.zst
	# Only the checksum at the end is wrong.
	{ head -c -4 packed.nsys-rep.zst; printf 'XXXX'; } >checksum.nsys-rep.zst
	says 4 "match checksum" checksum.nsys-rep.zst
	cp packed.nsys-rep.zst other.bin
	says 0 'No GPU work\|scale' other.bin
	holds 'packed report on standard input' "$prog" - -q --out o <packed.nsys-rep.zst
}
: >empty.nsys-rep
says 3 'the file is empty' empty.nsys-rep
cp sound.nsys-rep old.qdrep
for trace in sound.nsys-rep old.qdrep packed.nsys-rep.zst; do
	if [ ! -f "$trace" ]; then part_skipped 'no zstd'; continue; fi
	rm -f kept.sqlite
	for command in 'ask PATH findings' 'ask PATH gaps' 'ask PATH verdict --window 0..0.00001' 'schema PATH' 'PATH --explain top_kernels' \
		'digest PATH -q --out d.nsxd' 'convert PATH -q -o c.json' 'diff PATH PATH -q --out d' 'fleet PATH PATH -q --out f' \
		'export PATH -q -o e.sqlite' 'PATH -q --window 0..0.00001 --out r' 'PATH -q --out r --keep-export kept.sqlite'; do
		# shellcheck disable=SC2046,SC2086 # words are meant
		holds "$command of $trace" "$prog" $(echo "$command" | sed "s/PATH/$trace/g")
		rm -rf d d.nsxd c.json e.sqlite f r
	done
done
sql='SELECT s.value, r.start_ns FROM kernel AS k JOIN string AS s ON s.id = k.name JOIN runtime AS r USING (corr)'
for trace in sound.nsys-rep kept.sqlite; do
	holds "sql of $trace" "$prog" ask $trace sql "$sql" --csv
	mv "$work/log" $trace.csv
done
holds 'SQL sees the same rows' diff sound.nsys-rep.csv kept.sqlite.csv
"$prog" verify sound.nsys-rep sound.nsys-rep >out 2>&1
if grep -q '^No change' out; then ok; else bad "verify: $(head -n 1 out)"; fi
hello='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}'
tool='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nsys_sql","arguments":{"trace":"sound.nsys-rep","sql":"SELECT count(*) FROM kernel"}}}'
if printf '%s\n' "$hello" "$tool" | "$prog" mcp | grep -q '"trace":"sound.nsys-rep"'; then ok; else bad 'mcp reads no report'; fi
for f in part_*.nsys-rep flip_*.nsys-rep; do
	timeout 20 "$prog" "$f" -q --out o >out 2>err; rc=$?
	case $rc in 0 | 3 | 4) ok ;; *) bad "$f: exit $rc: $(head -n 1 err)" ;; esac
	rm -rf o
done
if [ -d "$reports" ]; then
	for export in "$reports"/*.sqlite; do
		rep=$(find "$reports" -name "$(basename "$export" .sqlite).*rep")
		"$prog" export "$rep" -q -o ours.sqlite && holds "rows of $rep" python3 "$tests/nsysrep/same.py" ours.sqlite "$export"
		rm -f ours.sqlite
	done
else
	part_skipped "no real reports at $reports"
fi
finish
