#!/bin/sh
# HTML pages of reports. Script and style are small and constant, no name from a trace can run as
# code, and the bytes are the same each time. If Chromium is available: no errors in the console, no
# violations of the content policy, no complaints of axe (accessibility), and the keyboard works.
# usage: html.sh BUILD_DIR [TRACE...]
. "$(dirname "$0")/../suite.sh"
shift
src=$root/src/emit/html
at_most() { [ "$(wc -c <"$2")" -le "$1" ]; }
holds "script of 24 KB or less" at_most 24576 "$src/page.js"
holds "style of 8 KB or less" at_most 8192 "$src/page.css"
holds "no way for text to become markup or code" not grep -nE 'innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|setAttribute\(.style' "$src/page.js"
holds "no inline style or handler" not grep -nE '[ "](style|on[a-z]+)=' "$src"/*.c

traces=$*
if [ -z "$traces" ]; then
	for name in synthetic hostile_names empty_tables nested_ranges two_rank_straggler iterations_nvtx nvtx_domains zero_inverted_open edges_full_span; do
		traces="$traces $b/fixtures/$name.sqlite"
	done
	for name in mfu_2gpu_before a100_gpu_metrics uvm_oversubscribed nvtx_only; do
		[ ! -f "$root/../shared/traces/$name.sqlite" ] || traces="$traces $root/../shared/traces/$name.sqlite"
	done
fi
SOURCE_DATE_EPOCH=1767225600; export SOURCE_DATE_EPOCH
for f in $traces; do
	page=$work/$(basename "$f" .sqlite).html
	holds "page of $f" "$b/nsys-explain" "$f" --html -
	mv "$work/log" "$page"
	"$b/nsys-explain" "$f" --html - --threads 1 | sed 's/generated [^ ]*//' >"$work/again"
	sed 's/generated [^ ]*//' "$page" >"$work/first"
	holds "the same bytes again: $f" cmp "$work/first" "$work/again"
	holds "8 MiB or less: $f" at_most 8388608 "$page"
	holds "no line begins with a separator: $f" not grep -q '<p class="soft"> ·' "$page"
done
# These points of curves were worked out by hand from the fixtures: microseconds after the first event,
# and the byte there (0 not sampled, 1 zero, 255 the full bar).
curve() { # FIXTURE LABEL GPU US:BYTE...
	"$b/nsys-explain" "$b/fixtures/$1.sqlite" --html - | python3 -c '
import base64, json, re, sys
label, gpu, want = sys.argv[1:]
want = want.split()
meta = json.loads(re.search(r"id=.meta.>(.*?)</script>", sys.stdin.read(), re.S).group(1))
at, = [base64.b64decode(c["at"]) for c in meta["curves"] if (c["label"], c["gpu"]) == (label, int(gpu))]
got = ["%s:%d" % (us, at[int(us) * 1000 * 512 // meta["length"]]) for us in (w.split(":")[0] for w in want)]
sys.exit(" ".join(got) if got != want else 0)' "$2" "$3" "$4"
}
holds "a counter over time" curve gpu_metrics "SMs Active" 0 "0:204 990:204 1020:0 1390:0 1410:1 1990:1"
holds "the same of another GPU" curve gpu_metrics "SMs Active" 1 "490:1 510:153 1990:153"
holds "memory over time" curve alloc_stall memory 0 "0:1 580:1 610:255 850:255 870:1 7620:255"
# Without GPU work each thread has a row with its ranges, and a lane for each depth. Iterations have a
# row for each process and GPU.
drawn() { # FIXTURE lanes|iterations|findings LABEL=EVENTS...
	"$b/nsys-explain" "$b/fixtures/$1.sqlite" --html - | python3 -c '
import json, re, sys
meta = json.loads(re.search(r"id=.meta.>(.*?)</script>", sys.stdin.read(), re.S).group(1))
got = ["%s=%d" % (l.get("label", l.get("title")), l.get("n", len(l.get("at", l.get("windows"))))) for l in meta[sys.argv[2]]]
sys.exit(" ".join(got) if got != sys.argv[3:] else 0)' "$@"
}
holds "ranges of threads" drawn nccl_host_only lanes "python3 111=1" "=2" "python3 222=3"
holds "rows of one thread" drawn nested_ranges lanes "python3 111=1" "=1" "=1" "=1" "=1" "=1" "python3 111, start/end=1" "python3 111, calls=1"
holds "marks of a range without GPU work" drawn nested_ranges findings "The NVTX range work takes 91 % of the recording=1"
holds "copies where there are more operations than calls" drawn graph_saves findings "Copies from device to host use pageable memory, which blocks the host=9" "Host code between CUDA calls=22" "The host waits for the GPU in cudaStreamSynchronize=22" "One repetition in 8 does more work, above all \`copies device to host, pageable\`=0"
holds "iterations of two ranks" drawn two_rank_straggler iterations iterations=16 iterations=16
# Sixty busy streams of one GPU do not push the stream of the other GPU off the timeline.
python3 - "$b/fixtures/gpus_in_turn.sqlite" "$work/many.sqlite" <<'P'
import os, shutil, sqlite3, sys
shutil.copy(sys.argv[1], sys.argv[2])
os.chmod(sys.argv[2], 0o644)
d = sqlite3.connect(sys.argv[2])
columns = [r[1] for r in d.execute("pragma table_info(CUPTI_ACTIVITY_KIND_KERNEL)")]
row = dict(zip(columns, d.execute("select * from CUPTI_ACTIVITY_KIND_KERNEL where deviceId = 0").fetchone()))
for i in range(60 * 21):
    r = dict(row, streamId=100 + i // 21, correlationId=None, start=row["start"] + 1000 * i, end=row["start"] + 1000 * i + 500)
    d.execute("insert into CUPTI_ACTIVITY_KIND_KERNEL values(%s)" % ",".join("?" * len(r)), list(r.values()))
d.commit()
P
holds "streams of one GPU leave room for another's" sh -c "'$b/nsys-explain' '$work/many.sqlite' --html - |
	grep -q '\"label\":\"stream 7\",\"gpu\":1,'"
# Pages of several captures have no script, and none may run.
holds "page of a comparison" "$b/nsys-explain" diff "$b/fixtures/diff_before.sqlite" "$b/fixtures/hostile_names.sqlite" --unit window --html
mv "$work/log" "$work/diff.html"
holds "page of ranks" "$b/nsys-explain" fleet "$b/fixtures/two_rank_straggler.sqlite" "$b/fixtures/hostile_names.sqlite" --html
mv "$work/log" "$work/fleet.html"
holds "a name for each rank" grep -q '>rank 1<' "$work/fleet.html"
holds "page of one that pauses" "$b/nsys-explain" diff "$b/fixtures/diff_before.sqlite" "$b/fixtures/diff_pauses_often.sqlite" --html
mv "$work/log" "$work/pauses.html"
holds "a job with a slow GPU" "$b/fleet-gen" "$work/job" gpu_slow ranks=24 hosts=3 format=digest
holds "page of a job" "$b/nsys-explain" fleet "$work/job/traces" --html
mv "$work/log" "$work/job.html"
for page in diff fleet pauses job; do
	holds "no script in the page of $page" not grep -qiE "<script|<(img|iframe)|script-src" "$work/$page.html"
	holds "a policy in the page of $page" grep -q "default-src 'none'" "$work/$page.html"
	holds "a table in the page of $page" grep -q '<th scope="col"' "$work/$page.html"
done
holds "a script in a name stays text" not grep -qiE '<(img|iframe)|<script>alert' "$work/hostile_names.html"

browser() {
	command -v node >/dev/null && command -v npm >/dev/null || return
	[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || return
	[ -d "$b/npm/node_modules/axe-core" ] || { mkdir -p "$b/npm" && (cd "$b/npm" &&
		npm install --silent --no-save --no-audit --no-fund --prefix . playwright-core@1.57 axe-core@4.11) >/dev/null 2>&1; }
	[ -d "$b/npm/node_modules/axe-core" ]
}
if browser; then
	node "$tests/html/check.mjs" "$b/npm/node_modules" "$work"/*.html >"$work/told" 2>&1
	clean() { grep -qx "ok $1" "$work/told" || { grep -vE '^ok ' "$work/told"; false; }; }
	for page in "$work"/*.html; do
		page=$(basename "$page")
		holds "$page in Chromium" clean "$page"
	done
else
	part_skipped "pages in Chromium (needs node, npm with its registry, and chromium)"
fi
finish
