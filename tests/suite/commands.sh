#!/bin/sh
# The commands that show the contents of a file. Their lists of analyses grow, so only the parts
# that do not depend on these lists are compared.
# usage: commands.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
out=$work/out
says() { # TEXT COMMAND...: a line of its output must be TEXT
	text=$1; shift
	if "$@" 2>/dev/null | grep -qxF -- "$text"; then ok; else bad "'$text' is not a line of: $*"; fi
}
schema="$prog schema $fix"
# shellcheck disable=SC2086
{
says '  CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 2 rows: a kernel execution' $schema/variant_names.sqlite
says '      lacks: eventClass, globalTid, returnValue, callchainId' $schema/variant_names.sqlite
says '      not read: utcTime, localTime' $schema/variant_names.sqlite
says '  GPU_METRICS: a sample of a GPU counter' $schema/variant_names.sqlite
says '  top_kernels              no: the trace has no rows of CUPTI_ACTIVITY_KIND_KERNEL' $schema/case02_runtime_only.sqlite
says '  top_kernels              yes' $schema/case01_kernels_only.sqlite
says '  CUPTI_ACTIVITY_KIND_KERNEL: view' $schema/view_as_table.sqlite
says '  "kernel_table": "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",' $schema/variant_names.sqlite --json
says 'top_kernels' "$prog" passes
says '    needs: rows of CUPTI_ACTIVITY_KIND_KERNEL' "$prog" passes
says '  Kernel table: None' "$prog" "$fix/case02_runtime_only.sqlite" --print-schema --explain top_kernels
# A backward kernel, call and range are left out; two ranges cross.
says '3 rows have no valid times or values: left out' "$prog" convert "$fix/zero_inverted_open.sqlite" -o "$out"
says '1 slice overlaps others of its track: moved to further lanes' "$prog" convert "$fix/zero_inverted_open.sqlite" -o "$out"
}
# A trace on stdin is explained like a file, and leaves no file behind. So is a trace that SQLite
# itself reads (--sqlite-library).
export SOURCE_DATE_EPOCH=1 TMPDIR="$work"
t=$fix/synthetic.sqlite
"$prog" "$t" --json | sed "s|\"path\": .*||" >"$work/file.json"
same() { # WHAT: the JSON on stdin must equal that of the file
	if sed "s|\"path\": .*||" | cmp -s - "$work/file.json"; then ok; else bad "$1: another report"; fi
}
# shellcheck disable=SC2002 # a pipe, not a file
cat "$t" | "$prog" - --json | same 'a pipe'
"$prog" - --json <"$t" | same 'a file as standard input'
"$prog" "$t" --json --sqlite-library | same '--sqlite-library'
says 'next: nsys-explain ask - section barriers  # all its figures' "$prog" ask - finding 1 <"$t"
if echo x | "$prog" - 2>/dev/null; then bad 'a text is explained'; else ok; fi
if "$prog" diff - - <"$t" 2>/dev/null; then bad 'standard input is read twice'; else ok; fi
{ cat "$t"; exec sleep 9; } | "$prog" - >/dev/null 2>&1 &
sleep 0.5; kill -KILL $! # the last of the pipe
if ls "$work"/nsys-explain-* >/dev/null 2>&1; then bad 'a file of standard input stays'; else ok; fi
unset TMPDIR
# The reason why a gate failed is also printed below the Markdown.
if "$prog" "$fix/launch_bound.sqlite" --md --expect 'idle < 5 %' 2>/dev/null | tail -n 1 | grep -q '^Failed: --expect idle < 5 %: 90 %$'
then ok; else bad 'the Markdown does not say which expectation was not met'; fi
# Packets hold all activities, if none are named.
"$prog" convert "$fix/iterations_nvtx.sqlite" -q -o some.pftrace
"$prog" convert "$fix/iterations_nvtx.sqlite" -q -o all.pftrace --only all
if cmp some.pftrace all.pftrace; then ok; else bad 'convert leaves an activity out'; fi
# The version in a table's name may have two digits.
cp "$fix/one_kernel.sqlite" newer.sqlite; chmod u+w newer.sqlite
sqlite3 newer.sqlite 'ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO CUPTI_ACTIVITY_KIND_KERNEL_V12'
says '  CUPTI_ACTIVITY_KIND_KERNEL_V12, 1 row: a kernel execution' "$prog" schema newer.sqlite
# The appendix names each section's id and the files of its tables.
"$prog" "$t" -q -o named
named=$(sed -n '/^## Appendix/,$s/`[a-z_]*` ([^)]*)/\n&\n/gp' named/report.md | grep '^`')
# shellcheck disable=SC2016 # backticks of Markdown
ids=$(echo "$named" | sed 's/` .*//; s/`//')
for id in $ids; do "$prog" passes | grep -qx "$id" || bad "no section '$id'"; done
for f in $(echo "$named" | grep -o '[a-z_]*\.csv'); do [ -f "named/tables/$f" ] || bad "no $f"; done
# shellcheck disable=SC2016
if echo "$named" | grep -qF '`gpu_idle` (`gpu_idle_gaps.csv`' && [ "$(echo "$ids" | wc -l)" -gt 8 ]; then ok; else bad "the appendix names no tables: $named"; fi
# -v says how long each stage took.
stages=$("$prog" "$fix/synthetic.sqlite" --json -v 2>&1 >/dev/null | grep -cE '^stage [a-z ]+: [0-9]+\.[0-9]{3} s$')
if [ "$stages" -ge 3 ]; then ok; else bad "-v: $stages stages"; fi
finish
