#!/bin/sh
# The commands that show what is in a file. (Their lists of analyses grow: only
# what does not change with them is compared.)
# usage: commands.sh BUILD_DIR
set -u
prog=$(realpath "$1")/nsys-explain
fix=$(realpath "$1")/fixtures
pass=0 fail=0
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
ok() { # TEXT COMMAND...: its output has the line
	text=$1; shift
	if "$@" 2>/dev/null | grep -qxF -- "$text"; then pass=$((pass + 1)); else
		fail=$((fail + 1)); echo "FAIL '$text' is not a line of: $*"
	fi
}
schema="$prog schema $fix"
# shellcheck disable=SC2086
{
ok '  CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 2 rows: a kernel execution' $schema/variant_names.sqlite
ok '      lacks: eventClass, globalTid, returnValue, callchainId' $schema/variant_names.sqlite
ok '      not read: utcTime, localTime' $schema/variant_names.sqlite
ok '  GPU_METRICS: a sample of a GPU counter' $schema/variant_names.sqlite
ok '  top_kernels              no: the trace has no rows of CUPTI_ACTIVITY_KIND_KERNEL' $schema/case02_runtime_only.sqlite
ok '  top_kernels              yes' $schema/case01_kernels_only.sqlite
ok '  CUPTI_ACTIVITY_KIND_KERNEL: view' $schema/view_as_table.sqlite
ok '  "kernel_table": "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",' $schema/variant_names.sqlite --json
ok 'top_kernels' "$prog" passes
ok '    needs: rows of CUPTI_ACTIVITY_KIND_KERNEL' "$prog" passes
ok '  Kernel table: None' "$prog" "$fix/case02_runtime_only.sqlite" --print-schema --explain top_kernels
# A backward kernel, call and range are left out; two ranges cross.
ok '3 rows have no valid times: left out' "$prog" convert "$fix/zero_inverted_open.sqlite" -o "$out"
ok '1 slices overlap others of their track: moved to further lanes' "$prog" convert "$fix/zero_inverted_open.sqlite" -o "$out"
}
# -v says how long each stage took.
stages=$("$prog" "$fix/synthetic.sqlite" --json -v 2>&1 >/dev/null | grep -cE '^stage [a-z ]+: [0-9]+\.[0-9]{3} s$')
if [ "$stages" -ge 3 ]; then pass=$((pass + 1)); else fail=$((fail + 1)); echo "FAIL -v: $stages stages"; fi
echo "commands: $pass passed, $fail failed"
[ $fail -eq 0 ]
