#!/bin/bash
# Tests of `nsys-explain capture` and `doctor`. Most use a stand-in for nsys; some use the real program
# if it can be installed: NSX_NSYS_DIR is the folder to which it is unpacked. A case is a function.
# After each case no process of it may still run, and no unfinished file may be left.
# usage: run.sh PROGRAM FIXTURE.sqlite [PATTERN]
# shellcheck disable=SC2317,SC2329 # cases are called by name
# shellcheck disable=SC2016 # no $ in single quotes is meant for this shell
set -u
here=$(cd "$(dirname "$0")" && pwd)
prog=$(realpath "$1") FAKE_SQLITE=$(realpath "$2") pattern=${3:-*}
nsys_dir=$(realpath -m "${NSX_NSYS_DIR:-build/nsys}")
fake=$here/fake-nsys.sh
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
passed=0 failed=0 skipped=0
export FAKE_SQLITE LC_ALL=C NO_COLOR=1
unset NSYS_PATH CUDA_VISIBLE_DEVICES RANK SLURM_PROCID FAKE FAKE_HELP \
	OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK

# --- functions that cases use; each notes the first thing that is wrong -----
wrong() { [ -n "$why" ] || why=$*; }

# capture ARGS...: runs `nsys-explain capture` with the stand-in into the folder `out`. A command
# that a shell runs in the background would ignore SIGINT, hence `env`.
capture() {
	env --default-signal=INT "$prog" capture --nsys "$fake" -o out "$@" >stdout 2>stderr </dev/null
	rc=$?
}
run() { "$prog" "$@" >stdout 2>stderr; rc=$?; } # the program with any arguments
code() { [ "$rc" = "$1" ] || wrong "exit code $rc, not $1"; }
exits() { local want=$1; shift; "$@"; code "$want"; } # exits CODE capture|run ARGS...
says() { grep -qF -- "$1" stderr || wrong "stderr does not say '$1'"; }
silent_on() { ! grep -qF -- "$1" stderr || wrong "stderr says '$1'"; }
json() {
	grep -qF -- "$1" "${2:-out/nsys_capture.json}" ||
		wrong "the record has no '$1'"
}
# files NAME...: the files in `out` must be these, in order of name
files() {
	local have
	have=$(cd out 2>/dev/null && find . -mindepth 1 -maxdepth 1 -printf '%f\n' |
		sort | paste -sd' ')
	[ "$have" = "$*" ] || wrong "out holds '$have', not '$*'"
}
# args LINE...: these must be among the arguments of nsys profile
args() {
	for a; do
		grep -qxF -- "$a" log || wrong "nsys was not given '$a'"
	done
}
no_args() {
	for a; do
		! grep -q -- "$a" log || wrong "nsys was given '$a'"
	done
}

# --- finding nsys, and its options -------------------------------------------
case_newest_nsys_wins() {
	mkdir -p a b
	printf '#!/bin/sh\nFAKE_VERSION=2098.2.1 exec %s "$@"\n' "$fake" >a/nsys
	printf '#!/bin/sh\nFAKE_VERSION=2098.10.1 exec %s "$@"\n' "$fake" >b/nsys
	chmod +x a/nsys b/nsys
	PATH=$PWD/a:$PWD/b:$PATH "$prog" capture -o out --no-explain -- true \
		>stdout 2>stderr
	rc=$?
	code 0
	json '"nsys_version": "2098.10.1"'
	json "\"nsys_binary\": \"$PWD/b/nsys\""
}
case_nsys_path_is_obeyed() {
	ln -s "$fake" nsys
	NSYS_PATH=$PWD exits 0 run capture -o out --no-explain -- true
	json "\"nsys_binary\": \"$PWD/nsys\""
}
case_nsys_not_found() {
	exits 3 run capture --nsys /none/nsys -o out -- true
	says 'no nsys was found in /none/nsys'
	files nsys_capture.json
	json '"ok": false'
	json '"error": "no nsys was found in /none/nsys'
	json '"nsys_binary": null'
	exits 0 capture --no-explain -- true # the record of a failed capture does not prevent another
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_nsys_not_executable() {
	: >nsys
	exits 3 run capture --nsys ./nsys -o out -- true
	says "cannot run './nsys': Permission denied"
	json "\"error\": \"cannot run './nsys': Permission denied"
}
case_empty_nsys_path_is_none() {
	CUDA_HOME='' CUDA_PATH='' HOME=$PWD NSYS_PATH='' PATH=/none run capture -o out --no-explain -- true
	[ "$rc" = 0 ] || says 'no nsys was found in PATH or the usual folders' # one may be installed here
}
case_broken_nsys() {
	printf '#!/bin/sh\necho "cannot open libfoo.so" >&2\nexit 127\n' >nsys
	chmod +x nsys
	exits 3 run capture --nsys ./nsys -o out -- true
	says "'./nsys' does not work: cannot open libfoo.so"
	files nsys_capture.json
	json "\"error\": \"'./nsys' does not work: cannot open libfoo.so"
}
case_options_of_a_new_nsys() {
	FAKE_LOG=$PWD/log exits 0 capture --no-explain --preset full -- true
	args --trace=cuda,nvtx,osrt,nccl --sample=none --cuda-event-trace=false \
		--cuda-trace-scope=process-tree --cuda-memory-usage=true \
		--cuda-graph-trace=node --gpu-metrics-devices=cuda-visible
	says 'this nsys knows no --cuda-um-gpu-page-faults'
}
case_options_of_an_old_nsys() {
	FAKE_HELP=old FAKE_LOG=$PWD/log exits 0 capture --no-explain --gpu-id 1 \
		--preset nvlink -- true
	args --trace=cuda,nvtx,osrt --gpu-metrics-device=1
	no_args event-trace trace-scope metrics-devices
}
case_basic_asks_for_little() {
	FAKE_LOG=$PWD/log exits 0 capture --no-explain -- true
	args --trace=cuda,nvtx,osrt --sample=none --cuda-graph-trace=node
	no_args gpu-metrics page-faults
}
# gpus LINE...: makes a stand-in for nvidia-smi that prints a line for each GPU
gpus() {
	mkdir -p bin
	printf '#!/bin/sh\nprintf "%%s\\n" %s\n' "$*" >bin/nvidia-smi
	chmod +x bin/nvidia-smi
}
case_counters_of_this_gpu() {
	gpus 9.0 9.0
	PATH=$PWD/bin:$PATH FAKE_LOG=$PWD/log exits 0 capture --no-explain --preset nvlink -- true
	args --gpu-metrics-devices=cuda-visible --gpu-metrics-set=gh100 --gpu-metrics-frequency=10000
	rm -r out
	PATH=$PWD/bin:$PATH FAKE_LOG=$PWD/log capture --no-explain --preset nvlink \
		--extra-nsys '--gpu-metrics-set=x --gpu-metrics-frequency=50' -- true
	args --gpu-metrics-set=x --gpu-metrics-frequency=50
	no_args gh100 10000
	rm -r out
	gpus 9.0 8.0 # two kinds of GPU, so nsys must choose the set for each
	PATH=$PWD/bin:$PATH FAKE_LOG=$PWD/log capture --no-explain --preset full -- true
	args --gpu-metrics-frequency=10000
	no_args metrics-set
}
case_exports_all_there_is() {
	FAKE_LOG=$PWD/log exits 0 capture --no-explain -- true
	mv log.export log
	args --type=sqlite --lazy=false --include-json=true --include-blobs=true
}
case_counters_refused() {
	FAKE_COUNTERS='Insufficient privilege: ERR_NVGPUCTRPERM' \
		FAKE_LOG=$PWD/log exits 0 capture --no-explain --preset nvlink -- true
	says 'no GPU counters: Insufficient privilege: ERR_NVGPUCTRPERM'
	no_args gpu-metrics
}
case_extra_options_replace_ours() {
	FAKE_LOG=$PWD/log exits 0 capture --no-explain \
		--extra-nsys "-t cuda --sample=cpu -p 'a b@\"c'" -- true
	args -t cuda --sample=cpu 'a b@"c'
	no_args --trace --sample=none
}
case_arguments_are_untouched() {
	FAKE_LOG=$PWD/log exits 0 capture --no-explain -- printf '%s|' 'a  b' '' "it's" \
		'$HOME *' -- --out x --help $'two\nlines'
	[ "$(head -n 2 stdout | paste -sd,)" = "a  b||it's|\$HOME *|--|--out|x|--help|two,lines|Generating '$(sed -n "s/.*Generating '//p" stdout)" ] ||
		wrong "the command got other arguments: $(head -n 2 stdout)"
}
case_misuse() {
	exits 2 capture
	says 'capture needs a command'
	exits 2 capture --preset nothing -- true
	says "there is no preset 'nothing'"
	exits 2 capture --extra-nsys '-o x' -- true
	exits 2 capture --extra-nsys "'x" -- true
	exits 2 capture --keep-rep --delete-rep -- true
	exits 2 capture --warmup-skip 100 -- true
	[ ! -e out ] || wrong 'misuse made a folder'
}

# --- failures ----------------------------------------------------------------
case_folder_is_named_after_command_and_time() {
	exits 0 run capture --nsys "$fake" --no-explain -- true
	mv capture-true-20[0-9][0-9][01][0-9][0-3][0-9]-[0-2][0-9][0-5][0-9][0-6][0-9] out ||
		wrong "no such folder among $(ls)"
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_empty_report() {
	FAKE=zero exits 3 capture -- true
	says 'is empty (0 bytes)'
	json '"ok": false'
	files nsys_capture.json
}
case_an_empty_report_is_recorded_once_more() {
	FAKE=zero_once exits 0 capture --no-explain -- true
	says 'nsys left an empty report; recording once more'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_a_lost_agent_is_tried_once_more() {
	FAKE=agent_once exits 0 capture --no-explain -- true
	says 'nsys lost its agent; recording once more'
	json '"ok": true'
}
case_an_agent_lost_when_asked_to_stop() {
	FAKE=lost_once exits 0 capture --no-explain --duration 1 -- sleep 100
	says 'nsys lost its agent; recording once more'
	json '"ended_by": "duration"'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_a_lost_agent_is_tried_no_third_time() {
	FAKE=agent exits 3 capture -- true
	[ "$(grep -c 'once more' stderr)" = 1 ] || wrong 'not tried twice'
	files nsys_capture.json
}
case_a_line_for_a_shell_is_told_to_use_one() {
	exits 2 capture -- 'echo a && sleep 1'
	says "-- bash -c 'echo a && sleep 1'"
	[ ! -e out ] || wrong 'a folder was made'
}
case_a_target_command_is_no_line_for_a_shell() {
	for line in 'echo a && sleep 1' 'echo a | cat' 'echo $HOME' 'true; true' "echo 'a;b' >f"; do
		exits 2 capture --target-cmd "$line"
		says 'no shell reads --target-cmd'
		says '-- bash -c'
		[ ! -e out ] || wrong "'$line' was run"
	done
	FAKE_LOG=log exits 0 capture --no-explain --target-cmd 'echo "a && b" \$x '"'c|d \$e'"
	args 'a && b' '$x' 'c|d $e'
}
case_an_empty_command() {
	exits 2 run capture --nsys "$fake" -o out --target-cmd ' '
	says '--target-cmd is empty'
	[ ! -e out ] || wrong 'a folder was made'
}
case_other_names_of_options() {
	FAKE_LOG=log exits 4 capture --no-explain --duration-s 60 --target-cmd "sh -c 'exit 4'"
	args 'exit 4'
	exits 0 run capture --nsys "$fake" --out-dir out2 --no-explain -- true
	[ -s out2/trace.sqlite ] || wrong '--out-dir is not obeyed'
	exits 2 run capture --nsys "$fake" --target-cmd true -- true
}
case_command_that_ends_before_the_duration() {
	exits 0 capture --no-explain --duration 60 -- true
	says 'before the 60 s of --duration were over'
}
case_command_that_chooses_its_gpus() {
	exits 0 capture --no-explain --gpu-id 1 -- env CUDA_VISIBLE_DEVICES=0 true
	says 'the command sets CUDA_VISIBLE_DEVICES itself'
}
case_nsys_of_the_cuda_toolkit() {
	mkdir -p toolkit/nsight-systems-2098.3/bin
	printf '#!/bin/sh\nFAKE_VERSION=2098.3.1 exec %s "$@"\n' "$fake" >toolkit/nsight-systems-2098.3/bin/nsys
	chmod +x toolkit/nsight-systems-2098.3/bin/nsys
	CUDA_HOME=$PWD/toolkit exits 0 run capture -o out --no-explain -- true
	json '"nsys_version": "2098.3.1"'
}
case_others_use_the_gpu() {
	mkdir -p proc/77/fd proc/78/fd
	echo '77 (trainer) S 1 77 77 0' >proc/77/stat
	echo '78 (monitor) S 1 78 78 0' >proc/78/stat
	ln -s /dev/nvidia3 proc/77/fd/5
	ln -s /dev/nvidiactl proc/78/fd/5
	NSX_PROC=$PWD/proc exits 0 capture --no-explain -- true
	says '1 other process uses a GPU: trainer (77)'
}
case_others_that_only_the_driver_sees() {
	mkdir -p proc bin
	cat >bin/nvidia-smi <<-'E'
		#!/bin/sh
		case $1 in --query-compute-apps=*) echo "4242, /home/someone/bin/trainer"; echo "4243, python" ;; esac
	E
	chmod +x bin/nvidia-smi
	PATH=$PWD/bin:$PATH NSX_PROC=$PWD/proc exits 0 capture --no-explain -- true
	says '2 other processes use a GPU: trainer (4242), python (4243)'
}
case_session_of_a_service() {
	: >session.serve
	exits 0 capture --session serve --duration 1 --no-explain
	json '"ended_by": "duration"'
	json '"target_exit_code": null'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_duration_is_the_commands() {
	local s
	cp "$(command -v sleep)" nap
	FAKE=slow exits 0 capture --no-explain -- ./nap 0.5
	s=$(sed -n 's/.*"target_duration_s": \([0-9.]*\).*/\1/p' out/nsys_capture.json)
	awk -v s="$s" 'BEGIN { exit !(s >= 0.4 && s < 3) }' || wrong "the command is said to have taken $s s"
}
case_session_until_ctrl_c() {
	local pid
	: >session.serve
	env --default-signal=INT "$prog" capture --nsys "$fake" -o out --session serve --no-explain >stdout 2>stderr &
	pid=$!
	sleep 1.5
	kill -INT "$pid"
	wait "$pid"
	rc=$?
	code 130
	json '"ok": true'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_session_that_is_not_there() {
	exits 3 capture --session serve --duration 1
	says 'nsys launch --session-new=serve'
	exits 2 capture --session serve -- true
}
case_converted_as_well() {
	exits 0 capture --convert --no-explain -- true
	files nsys_capture.json trace.nsys-rep trace.pftrace trace.sqlite
	"$prog" convert out/trace.sqlite -q -o same.pftrace
	cmp -s same.pftrace out/trace.pftrace || wrong 'it is another conversion'
}
case_digested_as_well() {
	RANK=3 SLURM_PROCID=0 exits 0 capture --digest --no-explain -- true
	files nsys_capture.rank3.json trace.rank3.nsxd trace.rank3.nsys-rep trace.rank3.sqlite
	"$prog" digest out/trace.rank3.sqlite -q -o same.nsxd
	cmp -s same.nsxd out/trace.rank3.nsxd || wrong 'it is another digest'
}
case_explained_without_a_digest() {
	FAKE_SQLITE=$(dirname "$FAKE_SQLITE")/busy_cpu.sqlite exits 3 capture --digest -- true
	says 'cannot digest'
	files nsys_capture.json report trace.nsys-rep trace.sqlite
}
case_where_the_steady_part_begins() {
	exits 0 capture -- true
	steady=$("$prog" "$FAKE_SQLITE" --json | python3 -c "import json, sys; print((json.load(sys.stdin)['windows']['steady'] or {}).get('start_ns', 'null'))")
	json "\"steady_state_start_ns\": $steady"
	[ "$steady" != null ] || wrong 'the fixture has no steady part'
}
# A report of nsys is given to explain.
case_explain_exports_first() {
	local write=run.nsys-rep
	head -c 2000000 /dev/zero >$write
	mkdir tmp
	TMPDIR=$PWD/tmp exits 0 run $write --nsys "$fake" --json
	json '"path": "run.nsys-rep"' stdout
	[ -z "$(ls -A tmp)" ] || wrong "left in TMPDIR: $(ls -A tmp)"
	# The export was temporary, so the suggested questions name one that is kept.
	TMPDIR=$PWD/tmp "$prog" $write --nsys "$fake" --out o >stdout
	grep -q '^Where the time went: run.nsys-rep$' stdout || wrong "the title: $(head -1 stdout)"
	grep -q 'ask TRACE .*--keep-export TRACE' stdout || wrong "what to ask: $(grep Ask stdout)"
	"$prog" $write --nsys "$fake" --keep-export kept.sqlite >stdout
	grep -q '^Ask next: nsys-explain ask kept.sqlite ' stdout || wrong "what to ask: $(grep Ask stdout)"
	cmp -s kept.sqlite "$FAKE_SQLITE" || wrong 'the export was not kept'
	[ -s run-report/report.md ] || wrong 'no report run-report'
	"$prog" $write --nsys "$fake" -q --keep-export kept.sqlite 2>stderr
	rc=$?
	code 3
	says "cannot write 'kept.sqlite'"
}
case_explain_without_nsys() {
	head -c 2000000 /dev/zero >run.nsys-rep
	exits 3 run run.nsys-rep --nsys /none
	says "nsys export --type sqlite 'run.nsys-rep'"
	[ ! -e run-report ] || wrong 'something was written'
}
case_raw_data_is_imported() {
	mkdir -p n/target-linux-x64 n/host-linux-x64
	cp "$fake" n/target-linux-x64/nsys
	cat >n/host-linux-x64/QdstrmImporter <<-'END'
		#!/bin/sh
		[ "$1" = -i ] && head -c 3000000 /dev/zero >"${2%.qdstrm}.nsys-rep"
	END
	chmod +x n/host-linux-x64/QdstrmImporter
	FAKE=raw exits 0 run capture --nsys n/target-linux-x64 -o out --no-explain \
		-- true
	says 'raw data only; importing it'
	json '"ok": true'
	json '"nsys_rep_size_mb": 3'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_raw_data_without_importer() {
	FAKE=rawonly exits 3 capture -- true
	says 'raw data only, and has no importer'
	files nsys_capture.json trace.qdstrm
}
case_raw_data_on_another_file_system() {
	local shm
	shm=$(mktemp -d /dev/shm/nsx-XXXXXX 2>/dev/null) || shm=$TMPDIR
	FAKE=rawleft TMPDIR=$shm exits 3 capture -- true
	files nsys_capture.json trace.qdstrm
	[ "$(cat out/trace.qdstrm)" = raw ] || wrong 'the raw data is not whole'
	[ -z "$(ls "$shm")" ] || wrong "left behind: $(ls "$shm")"
	[ "$shm" = "$TMPDIR" ] || rmdir "$shm"
}
case_raw_data_and_importer_fails() {
	mkdir -p n/target-linux-x64 n/host-linux-x64
	cp "$fake" n/target-linux-x64/nsys
	printf '#!/bin/sh\necho "libssh.so: cannot open" >&2\nexit 127\n' \
		>n/host-linux-x64/QdstrmImporter
	chmod +x n/host-linux-x64/QdstrmImporter
	FAKE=raw "$prog" capture --nsys n/target-linux-x64 -o out -- true \
		>stdout 2>stderr
	rc=$?
	code 3
	says 'its importer failed'
	json 'libssh.so: cannot open'
	files nsys_capture.json trace.qdstrm
}
case_export_fails() {
	FAKE=exportfails exits 3 capture -- true
	says 'nsys export ended with code 1: the exporter says no; the report is kept'
	json '"nsys_rep": "out/trace.nsys-rep"'
	json '"sqlite": null'
	json '"stderr_tail": "the exporter says no'
	files nsys_capture.json trace.nsys-rep
}
case_command_crashes() {
	exits 139 capture --no-explain -- sh -c 'kill -SEGV $$'
	says 'the command ended with code 139 (segmentation fault)'
	json '"ok": true'
	json '"target_exit_code": 139'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_command_fails() {
	exits 7 capture -- sh -c 'exit 7'
	json '"target_exit_code": 7'
	files nsys_capture.json report trace.nsys-rep trace.sqlite
}
case_options_of_nsys_by_their_letters() {
	FAKE_LOG=$PWD/log exits 0 capture --no-explain --preset counters -t cuda -c nvtx -- true
	args --trace=cuda --capture-range=nvtx --gpu-metrics-devices=cuda-visible
	no_args page-faults
}
case_options_that_record_nothing() {
	exits 2 capture --duration 0 -- true
	says 'would record nothing'
	exits 2 capture --gpu-id none -- true
	says 'names no GPUs'
	exits 0 capture --no-explain --gpu-id 0,GPU-1f -- true
}
case_nsys_refuses() {
	FAKE=badoption exits 3 capture -- true
	says 'nsys ended with code 1 and wrote no report'
	json "unrecognised option '--what'"
	files nsys_capture.json
	# The record of the failure does not prevent another capture.
	exits 0 capture --no-explain -- true
	json '"ok": true'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_disk_full_before() {
	NSX_CAPTURE_MIN_FREE_MB=900000000 FAKE_LOG=$PWD/log exits 3 capture -- true
	says "the disk of 'out' is full"
	[ ! -e out ] || wrong 'a folder was made'
	[ ! -e log ] || wrong 'nsys was started'
}
case_disk_full_during() {
	FAKE=diskfull exits 3 capture -- true
	says 'the disk became full during the capture'
	files nsys_capture.json
}
case_temporary_folder_full_during() {
	local began=$SECONDS
	NSYS_TMPDIR=$PWD NSX_CAPTURE_FULL_MB=900000000 FAKE=hung exits 3 capture -- sleep 100
	says "the temporary folder of nsys, '$PWD', became full"
	says 'NSYS_TMPDIR'
	[ $((SECONDS - began)) -lt 40 ] || wrong "it took $((SECONDS - began)) s"
	json '"ok": false'
	files nsys_capture.json
}
case_temporary_folder_full_yet_a_report() {
	NSYS_TMPDIR=$PWD NSX_CAPTURE_FULL_MB=900000000 exits 0 capture --no-explain -- sleep 100
	says "the temporary folder of nsys, '$PWD', became full"
	says 'what came after is missing'
}
case_capture_without_events() {
	FAKE_SQLITE=${FAKE_SQLITE%/*}/empty_tables.sqlite exits 3 capture -- true
	says 'the capture holds no event'
	json '"ok": false'
	json '"error": "the capture holds no event'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_another_nsys_runs() {
	cp "$(command -v sleep)" nsys
	./nsys 60 &
	local other=$!
	sleep 0.1
	capture --no-explain -- true
	kill "$other"
	wait "$other" 2>/dev/null
	code 0
	says 'another nsys is running'
}
case_gpu_id_wins() {
	CUDA_VISIBLE_DEVICES=7 exits 0 capture --no-explain --gpu-id 0,1 -- \
		sh -c 'echo "sees $CUDA_VISIBLE_DEVICES"'
	grep -qx 'sees 0,1' stdout || wrong 'the command sees other GPUs'
	says "CUDA_VISIBLE_DEVICES was '7'; --gpu-id makes it '0,1'"
	json '"gpu_id": "0,1"'
}
case_range_never_opened() {
	FAKE=norange exits 3 capture --extra-nsys '-c nvtx' -- sh -c 'exit 4'
	says 'the capture range never opened'
	files nsys_capture.json
}
case_short_profile() {
	exits 0 capture --no-explain -- true
	says 's were recorded: start-up and warm-up weigh heavily below 20 s'
	silent_on 'the report is small'
}

# --- stopping ----------------------------------------------------------------
case_duration_is_no_failure() {
	exits 0 capture --no-explain --duration 1.5 -- sleep 100
	json '"ok": true'
	json '"target_exit_code": null'
	json '"ended_by": "duration"'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_duration_of_nsys_is_no_failure() {
	exits 0 capture --no-explain --extra-nsys '-d 1' -- sh -c 'kill -TERM $$'
	silent_on 'the command ended with code'
}
case_a_command_has_time_to_end() {
	FAKE=abrupt exits 0 capture --no-explain --duration 1 -- \
		sh -c 'trap "sleep 1; echo done >clean; exit 0" TERM; while :; do sleep 0.1; done'
	json '"ended_by": "duration"'
	[ -s clean ] || wrong 'the command was killed at the duration'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_a_command_that_stays_is_ended() {
	FAKE=abrupt NSX_CAPTURE_WAIT=5,5,5,0.5 exits 0 capture --no-explain --duration 1 -- \
		sh -c 'trap "" TERM; while :; do sleep 0.1; done'
	json '"ended_by": "duration"'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_asked_twice() {
	FAKE=deaf NSX_CAPTURE_WAIT=0.5,5,5 exits 0 capture --no-explain --duration 1.5 \
		-- sleep 100
	json '"ended_by": "duration"'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_hung_nsys() {
	FAKE=hung NSX_CAPTURE_WAIT=0.3,0.3,5,0.3 exits 3 capture --duration 1.5 -- sleep 100
	says 'nsys did not finish and was ended before it wrote a report'
	files nsys_capture.json
}
case_hung_importer() {
	FAKE=stuck NSX_CAPTURE_WAIT=5,5,0.5 exits 3 capture --no-explain -- sleep 0.1
	says 'raw data only'
	files nsys_capture.json trace.qdstrm
}
# interrupt TIMES ARGS...: captures, and presses Ctrl-C this many times, first after half a second
interrupt() {
	local times=$1 pid
	shift
	env --default-signal=INT "$prog" capture --nsys "$fake" -o out "$@" \
		>stdout 2>stderr </dev/null &
	pid=$!
	for _ in $(seq "$times"); do
		sleep 0.5
		kill -INT "$pid"
	done
	wait "$pid"
	rc=$?
}
case_ctrl_c_keeps_the_report() {
	interrupt 1 --no-explain -- sleep 100
	code 130
	json '"ok": true'
	json '"ended_by": "signal"'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_ctrl_c_twice_gives_up() {
	FAKE=twice interrupt 2 --no-explain -- sleep 100
	code 130
	says 'interrupted before there was a report'
	json '"ok": false'
	files nsys_capture.json
}
case_given_up_beside_another_nsys() { # the raw data of the other nsys is not ours
	local other
	cp "$(command -v sleep)" nsys
	./nsys 60 &
	other=$!
	echo theirs >"$TMPDIR/nsys-report-0000.qdstrm"
	FAKE=twice interrupt 2 --no-explain -- sleep 100
	code 130
	says 'another nsys is running'
	files nsys_capture.json
	kill "$other"
	wait "$other" 2>/dev/null
	grep -q theirs "$TMPDIR/nsys-report-0000.qdstrm" || wrong 'it took what is not its own'
	rm -f "$TMPDIR/nsys-report-0000.qdstrm"
}
case_command_that_will_not_end() {
	exits 0 capture --no-explain --duration 1.5 -- \
		bash -c 'trap "" TERM INT; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1; done'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_daemons_are_ended() {
	FAKE=daemon exits 0 capture --no-explain -- true
	says 'ended what was still running: '
	says 'sleep ('
	rm -r out
	FAKE=stubborn exits 0 capture --no-explain -- true
	says 'ended what was still running: '
}

case_two_at_a_time_do_not_mix() {
	"$prog" capture --nsys "$fake" -o out --no-explain -- sleep 1 >first 2>&1 &
	local first=$!
	sleep 0.3
	exits 3 capture --no-explain -- true
	says 'another capture is under way there'
	wait "$first" || wrong 'the first did not end well'
	files nsys_capture.json trace.nsys-rep trace.sqlite
}
case_folders_of_one_second_differ() {
	local n
	for n in 1 2 3; do
		"$prog" capture --nsys "$fake" --no-explain -- true >stdout$n 2>&1 || wrong "capture $n: $(tail -n1 stdout$n)"
	done
	[ "$(find . -maxdepth 1 -name 'capture-true-*' | wc -l)" = 3 ] || wrong "folders: $(ls)"
}

# Earlier recordings stay, and so do other files with such names.
case_nothing_is_replaced() {
	mkdir out
	echo mine >out/trace.sqlite
	exits 3 capture --no-explain -- true
	says "'trace.sqlite' is there already"
	files trace.sqlite
	[ "$(cat out/trace.sqlite)" = mine ] || wrong 'it was replaced'
	RANK=3 exits 0 capture --no-explain -- true
	files nsys_capture.rank3.json trace.rank3.nsys-rep trace.rank3.sqlite trace.sqlite
	RANK=3 exits 3 capture --no-explain -- true
	RANK=4 exits 0 capture --no-explain -- true
}

# --- results -----------------------------------------------------------------
case_report_is_made() {
	exits 0 capture -- true
	files nsys_capture.json report trace.nsys-rep trace.sqlite
	[ -s out/report/report.md ] || wrong 'there is no report.md'
	grep -q '^Wrote report to: out/report/report.md' stdout ||
		wrong 'stdout does not name the report'
}
case_compressed_report() {
	exits 0 capture --no-explain --compress-rep -- true
	files nsys_capture.json trace.nsys-rep.zst trace.sqlite
	json '"nsys_rep": "out/trace.nsys-rep.zst"'
	if command -v zstd >/dev/null; then
		[ "$(zstd -dc out/trace.nsys-rep.zst | wc -c)" = 2000000 ] ||
			wrong 'the compressed report does not give 2000000 bytes'
	fi
}
case_deleted_report() {
	exits 0 capture --no-explain --delete-rep -- true
	files nsys_capture.json trace.sqlite
	json '"nsys_rep": null'
}
case_repeated_ranges() {
	FAKE=repeat exits 0 capture -- true
	files nsys_capture.json report.1 report.2 trace.1.nsys-rep \
		trace.1.sqlite trace.2.nsys-rep trace.2.sqlite
	json '"sqlite": "out/trace.2.sqlite"'
}
case_warm_up_is_left_out() {
	exits 0 capture --warmup-skip 50 -- true
	json '"steady_state_start_ns": 3750000'
	json '"window_ns": 2750000' out/report/report.json
}
case_ranks_share_a_folder() {
	for rank in 0 1; do
		SLURM_PROCID=$rank exits 0 capture --no-explain -- true
	done
	files nsys_capture.rank0.json nsys_capture.rank1.json \
		trace.rank0.nsys-rep trace.rank0.sqlite \
		trace.rank1.nsys-rep trace.rank1.sqlite
}
case_patterns_in_out() {
	X='a b' exits 0 run capture --nsys "$fake" -o 'o%q{X}/50%%' --no-explain -- \
		true
	[ -s 'oa b/50%/trace.sqlite' ] || wrong "no trace in 'oa b/50%'"
	exits 2 run capture --nsys "$fake" -o 'o%q{NOT_SET}' -- true
	says "'%q{NOT_SET}' in --out: it is not set"
}
case_words_with_broken_text() {
	exits 0 capture --no-explain -- printf '\377\001%s' $'\xe4'
	json '"\uFFFD"'
}

# --- doctor ------------------------------------------------------------------
# machine: makes a root folder in which doctor finds nothing wrong
machine() {
	local p=root/proc
	mkdir -p $p/driver/nvidia/gpus/0000:01:00.0 $p/sys/kernel $p/self $p/1 \
		$p/77 root/var/lock bin
	echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.10  Thu' \
		>$p/driver/nvidia/version
	printf 'Model: \t\t NVIDIA H100\nIRQ: 5\n' \
		>$p/driver/nvidia/gpus/0000:01:00.0/information
	echo 'RmProfilingAdminOnly: 0' >$p/driver/nvidia/params
	echo 2 >$p/sys/kernel/perf_event_paranoid
	echo 6.1.0-18-amd64 >$p/sys/kernel/osrelease
	printf 'CapEff:\t0000000000000000\nSeccomp:\t2\n' >$p/self/status
	echo 0::/ >$p/1/cgroup
	echo '77 (python3 (x)) S 1 77 77 0' >$p/77/stat
}
# doctor ARGS...: runs doctor on that root folder
doctor() {
	NSX_DOCTOR_ROOT=$PWD/root NSYS_PATH=${NSYS_PATH:-$fake} \
		PATH=$PWD/bin:$PATH run doctor "$@"
}
tells() { grep -qF -- "$1" stdout || wrong "doctor does not say '$1'"; }
line() { grep -q -- "^$1 *$2  *.*$3" stdout || wrong "no line '$1 $2 $3'"; }

case_doctor_all_is_well() {
	machine
	doctor
	code 0
	line ok nsys 2025.5.1.121
	line ok driver 570.86.10
	line ok gpu 'NVIDIA H100$'
	line ok counters everybody
	! grep -Eq '^(warn|fail)' stdout || wrong "$(grep -E '^(warn|fail)' stdout)"
	tells 'record: CUDA yes, NVTX and OS calls yes, CPU samples yes, GPU counters yes'
	doctor --json
	code 0
	json '"gpu_counters": true' stdout
	json '"status": "ok"' stdout
}
case_doctor_cpu_sampling_is_no_fault() {
	machine
	echo 4 >root/proc/sys/kernel/perf_event_paranoid
	FAKE_STATUS=Fail doctor
	code 0
	line warn 'nsys status' 'CUDA tracing needs neither'
	line warn 'perf events' 'is 4: no CPU samples'
	tells "sudo sysctl kernel.perf_event_paranoid=2; to make it last: "
	tells 'record: CUDA yes, NVTX and OS calls yes, CPU samples no'
}
case_doctor_counters_are_locked() {
	machine
	echo 'RmProfilingAdminOnly: 1' >root/proc/driver/nvidia/params
	doctor
	code 0
	line warn counters ERR_NVGPUCTRPERM
	tells 'NVreg_RestrictProfilingToAdminUsers=0'
	tells 'GPU counters no'
	printf 'CapEff:\t0000004000000000\n' >root/proc/self/status # CAP_PERFMON
	doctor
	line ok counters 'this user may'
	echo 'Kernel Module  550.54.14  Thu' >root/proc/driver/nvidia/version
	doctor
	line warn counters ERR_NVGPUCTRPERM
	: >root/.dockerenv
	doctor
	tells 'on the host: options nvidia'
}
case_doctor_no_nsys() {
	machine
	NSYS_PATH=/none doctor
	code 1
	line fail nsys 'not found'
	tells 'CUDA no'
}
case_doctor_no_driver() {
	machine
	rm -r root/proc/driver
	doctor
	code 1
	line fail driver 'CUDA cannot be traced'
	tells 'CUDA no, NVTX and OS calls yes'
}
case_doctor_old_nsys() {
	machine
	FAKE_VERSION=2022.4.2 doctor
	code 0
	line warn age 'nsys 2022.4.2 is years older than driver 570.86.10'
}
case_doctor_old_gpu() {
	machine
	printf '#!/bin/sh\necho "Tesla V100, 7.0"\n' >bin/nvidia-smi
	chmod +x bin/nvidia-smi
	doctor
	line ok gpu 'Tesla V100, compute capability 7.0'
	line warn age 'no longer knows GPUs before Turing'
	line warn counters 'need Turing'
}
case_doctor_counter_client() {
	machine
	echo '77 (nv-hostengine) S 1 77 77 0' >root/proc/77/stat
	doctor
	line warn 'counter client' 'DCGM is running'
	tells 'dcgmi profile --pause'
}
case_doctor_another_nsys() {
	machine
	echo '77 (nsys) S 1 77 77 0' >root/proc/77/stat
	doctor
	line warn nsys 'another nsys is running'
}
case_doctor_wsl_and_container() {
	machine
	echo 5.15.90.1-microsoft-standard-WSL2 >root/proc/sys/kernel/osrelease
	echo 0::/kubepods/pod1 >root/proc/1/cgroup
	doctor
	code 0
	line warn wsl limited
	line ok container 'without CAP_SYS_ADMIN, system calls are filtered'
	line warn 'perf events' 'may forbid perf_event_open'
}
case_doctor_no_temporary_folder() {
	machine
	TMPDIR=/none doctor
	code 1
	line fail disk "'/none' cannot be written"
}
case_doctor_injection() {
	machine
	CUDA_INJECTION64_PATH=/opt/x.so doctor
	code 0
	line warn injection CUDA_INJECTION64_PATH
}

# --- the real thing ----------------------------------------------------------
# real_nsys: sets $real to the path of the real nsys. Skips the case if that is missing or does not run
# here (another processor, or libraries that this system lacks).
real_nsys() {
	local get=$here/../../../shared/tools/get-nsys
	real=$nsys_dir/target-linux-x64/nsys
	if ! [ -x "$real" ] && { ! [ -x "$get" ] || ! real=$("$get" "$nsys_dir" 2>/dev/null); }; then
		skip='no real nsys can be had here'
	elif ! HOME=$PWD "$real" profile -t osrt -o probe true >probe.log 2>&1; then
		skip='the real nsys does not run here'
	fi
	rm -f probe.*
	[ -z "$skip" ]
}
case_real_nsys() {
	local real
	real_nsys || return
	cat >work.c <<-'END'
		#include <stdio.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			for (int i = 0; i < 40; i++)
				usleep(50000);
			printf("worked: %s\n", argv[argc - 1]);
			return 5;
		}
	END
	"${CC:-cc}" -o 'my work' work.c || wrong 'no compiler'
	HOME=$PWD exits 5 run capture --nsys "$real" -o out --compress-rep -- \
		'./my work' 'an argument'
	grep -qx 'worked: an argument' stdout || wrong 'the command did not run'
	json '"ok": true'
	json '"nsys_version": "20'
	json '"target_exit_code": 5'
	files nsys_capture.json report trace.nsys-rep.zst
	json '"sqlite": null'
	grep -q 'trace.nsys-rep.zst' out/report/report.md || wrong 'the report is of something else'
	[ -s out/report/report.json ] || wrong 'there is no report'
}
case_real_nsys_duration() {
	local real
	real_nsys || return
	HOME=$PWD exits 0 run capture --nsys "$real" -o out --duration 2 --export -- \
		sleep 100
	json '"ended_by": "duration"'
	files nsys_capture.json report trace.nsys-rep trace.sqlite
}
case_real_nsys_session() {
	local real
	real_nsys || return
	HOME=$PWD "$real" launch --session-new=serve$$ -t osrt sleep 20 >launch.log 2>&1 &
	sleep 3
	HOME=$PWD exits 0 run capture --nsys "$real" -o out --session serve$$ --duration 2
	json '"ended_by": "duration"'
	files nsys_capture.json report trace.nsys-rep
	HOME=$PWD "$real" shutdown --session=serve$$ --kill sigkill >>launch.log 2>&1
	# Files that nsys leaves after a session was shut down are not checked.
	(
		case=NSX_CASE=$NSX_CASE
		unset NSX_CASE # otherwise the search would find its own processes
		none=0 # how often in a row none was found: on a busy machine some start late
		for _ in $(seq 50); do
			pids=$(grep -lzxF "$case" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3)
			# shellcheck disable=SC2086
			if [ -n "$pids" ]; then none=0; kill -KILL $pids 2>/dev/null; else none=$((none + 1)); fi
			[ $none -lt 5 ] || break
			sleep 0.1
		done
	)
	wait
}
case_real_nsys_given_up() {
	local real pid
	real_nsys || return
	HOME=$PWD env --default-signal=INT "$prog" capture --nsys "$real" \
		-o out -- sleep 100 >stdout 2>stderr &
	pid=$!
	sleep 2
	kill -INT "$pid"
	sleep 0.1
	kill -INT "$pid"
	wait "$pid"
	rc=$?
	code 130
	grep -q '"ok": true' out/nsys_capture.json || files nsys_capture.json
}
case_real_nsys_and_no_such_command() {
	local real
	real_nsys || return
	HOME=$PWD "$prog" capture --nsys "$real" -o out -- /none/app \
		>stdout 2>stderr
	rc=$?
	code 3
	json 'Executable not found'
	files nsys_capture.json
}

# --- after each case ---------------------------------------------------------
# Every process of a case has the case's name in its environment. Those of the real nsys outlive the
# nsys that started them by moments, and on a busy machine by seconds; hence the ten seconds.
no_process_is_left() {
	local pids
	for _ in $(seq 100); do
		pids=$(grep -lzxF "NSX_CASE=$1" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3)
		[ -n "$pids" ] || return
		sleep 0.1
	done
	# shellcheck disable=SC2086 # one argument for each process
	wrong "left running: $(ps -o pid=,args= -p $pids | paste -sd';')"
}
no_half_file_is_left() {
	local left
	left=$(find . "$TMPDIR" -name '.capture-*' -o -name '*.part' -o \
		-name '*.qdstrm' ! -path ./out/trace.qdstrm)
	[ -z "$left" ] || wrong "left lying about: $left"
}

# try NAME FOLDER: runs one case in a folder of its own; $why is set if it fails
try() {
	why='' skip='' rc=''
	mkdir -p "$top/$2" "$top/$2.tmp"
	cd "$top/$2" || exit 1
	export TMPDIR=$top/$2.tmp
	export NSX_CASE=$2-$$
	"case_$1"
	unset NSX_CASE
	no_half_file_is_left
	no_process_is_left "$2-$$"
}

for name in $(declare -F | sed -n 's/^declare -f case_//p'); do
	# shellcheck disable=SC2053 # a pattern
	[[ $name == $pattern ]] || continue
	try "$name" "$name"
	# Cases wait for fractions of a second, and a busy machine may stand still for longer. So a
	# case that fails is named and tried once more.
	if [ -n "$why" ]; then
		echo "once more: $name: $why"
		try "$name" "$name-2"
	fi
	if [ -n "$why" ]; then
		failed=$((failed + 1))
		echo "FAIL $name: $why"
		[ -z "${V:-}" ] || sed 's/^/     /' stderr
	elif [ -n "$skip" ]; then
		skipped=$((skipped + 1))
		echo "skip $name: $skip"
	else
		passed=$((passed + 1))
		echo "ok $name"
	fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $((passed + skipped)) -gt 0 ] && [ $failed -eq 0 ]
