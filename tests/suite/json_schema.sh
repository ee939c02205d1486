#!/bin/sh
# An independent validator accepts every JSON document of the goldens and of the programs by the
# schema of `schema-json`. It refuses a document with another key or type.
# usage: json_schema.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
m=$b/npm-ajv
if command -v npm >/dev/null && [ ! -d "$m/node_modules/ajv" ]; then
	mkdir -p "$m" && (cd "$m" && npm install --silent --no-save --no-audit --no-fund --prefix . ajv@8.20.0) >/dev/null 2>&1
fi
if ! command -v node >/dev/null || [ ! -d "$m/node_modules/ajv" ]; then skipped 'schemas (need node and npm with its registry)'; exit; fi
cd "$b/fixtures" || exit 1
for f in *.sqlite; do
	"$prog" -q --json "$f" >"$work/${f%.sqlite}.report" 2>/dev/null
	"$prog" -q --brief "$f" >"$work/${f%.sqlite}.brief" 2>/dev/null
done
"$prog" -q --json synthetic.sqlite --pass input,windows,findings,per_pid,kernel_shape,launch_storm >"$work/part.report"
echo '{"all": "step"}' >"$work/map"
"$prog" -q --json two_rank_straggler.sqlite --phase-map "$work/map" --window 0..1 >"$work/phases.report"
"$prog" -q two_rank_straggler.sqlite -o "$work/folder" >/dev/null && cp "$work/folder/report.json" "$work/folder.report"
for after in diff_slower diff_template; do
	"$prog" diff diff_before.sqlite $after.sqlite --json >"$work/$after.diff"
done
"$prog" diff synthetic.sqlite synthetic.sqlite --json >"$work/same.diff"
"$prog" diff --unit window synthetic.sqlite ties.sqlite --json >"$work/window.diff"
"$prog" diff diff_before.sqlite diff_slower.sqlite --gate step:+1% --gate 'kernel:/attn/:+1%' --json >"$work/gates.diff"
"$b/fleet-gen" "$work/job" cpu_late ranks=4 hosts=2 && "$prog" fleet "$work/job/traces" --json >"$work/job.fleet"
"$b/fleet-gen" "$work/torn" desync ranks=2 hosts=2 && "$prog" fleet "$work/torn/traces" --json >"$work/torn.fleet"
"$prog" -q --brief replay_late_rank.sqlite --what-if comm:2x >"$work/asked.brief"
for trace in "$root"/../shared/traces/*.sqlite "$root"/../shared/scenarios/*.sqlite; do
	[ -f "$trace" ] && "$prog" -q --json "$trace" >"$work/shared_$(basename "$trace" .sqlite).report" 2>/dev/null
done
for set in nccl_three_ranks two_rank_straggler replay_late_rank; do
	"$prog" fleet $set.sqlite -o "$work/fleet_$set" >/dev/null 2>&1 &&
		cp "$work/fleet_$set/report.json" "$work/$set.fleet"
done
# Each golden document and example is valid for its kind.
python3 - "$tests" "$work" <<'P'
import glob, json, os, shutil, sys
here, work = sys.argv[1:]
for f in glob.glob(here + "/../examples/*/report.json") + glob.glob(here + "/golden/*/*.out"):
    text = open(f).read()
    if text.startswith("{") and not text.startswith('{\n  "error"'):
        text = text.replace('"size_bytes": "-"', '"size_bytes": 0')
        d = json.loads(text)
        kind = "brief" if "header" in d else "diff" if "same_capture" in d else "report"
        kind = "fleet" if "fleet" in d.get("metrics", {}) else kind
        name = "-".join(f.split("/")[-2:])
        open("%s/%s.%s" % (work, name, kind), "w").write(text)
for f in ("synthetic.report", "part.report", "synthetic.brief", "diff_slower.diff", "two_rank_straggler.fleet"):
    os.rename(os.path.join(work, f), os.path.join(work, "MUTATE-" + f))
P
node "$tests/mcp/schemas.mjs" "$m/node_modules" "$prog" "$work"
