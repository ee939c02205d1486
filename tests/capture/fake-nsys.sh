#!/bin/bash
# A stand-in for nsys that fails on demand. FAKE is its behaviour (see `profile` below), FAKE_VERSION
# its version, FAKE_HELP the age of its options (old or new), FAKE_SQLITE the database that its export
# gives, FAKE_LOG a file for the arguments of `profile`, one per line.
set -u
fake=${FAKE:-ok}

help_profile() {
	printf 'usage: nsys profile [<args>] [application] [<application args>]\n\n'
	printf '\t-c, --capture-range=\n\n\t   Possible values are none, nvtx.\n\n'
	printf '\t--cuda-graph-trace=<granularity>\n\n\t   graph or node.\n\n'
	printf '\t--cuda-memory-usage=\n\n\t   true or false.\n\n'
	printf '\t-d, --duration=\n\n\t   See --cuda-event-trace for more.\n\n'
	printf '\t-s, --sample=\n\n\t   process-tree or none.\n\n'
	if [ "${FAKE_HELP:-new}" = old ]; then
		printf '\t--gpu-metrics-device=\n\n\t   none or an ID.\n\n'
		printf "\t-t, --trace=\n\n\t   'cuda', 'nvtx', 'osrt'.\n\n"
	else
		printf '\t--gpu-metrics-devices=\n\n\t   none, all, cuda-visible.\n\n'
		printf '\t--gpu-metrics-frequency=\n\n\t--gpu-metrics-set=\n\n'
		printf '\t(Experimental) --cuda-event-trace=\n\n\t   true, false.\n\n'
		printf '\t--cuda-trace-scope=\n\n\t   process-tree.\n\n'
		printf "\t-t, --trace=\n\n\t   'cuda', 'nvtx', 'osrt', 'nccl'.\n\n"
	fi
}

help_export() {
	printf 'usage: nsys export [<args>] [nsys-rep-file]\n\n'
	printf '\t-f, --force-overwrite=\n\n\t-l, --lazy=\n\n\t-t, --type=\n\n'
	[ "${FAKE_HELP:-new}" = old ] ||
		printf '\t--include-json=\n\n\t--include-blobs=\n\n'
}

# Makes a report of two megabytes, so that there is no warning about its size.
write_report() {
	head -c 2000000 /dev/zero | tr '\0' 'r' >"$1"
}

# Starts the command in a session of its own, as nsys does, and waits for it, even if signals interrupt
# the wait.
run_target() {
	setsid "$@" &
	target=$!
	code=0
	wait "$target"
	code=$?
	while kill -0 "$target" 2>/dev/null; do
		wait "$target"
		code=$?
	done
}

profile() {
	local out='' raw
	[ -z "${FAKE_LOG:-}" ] || printf '%s\n' "$@" >"$FAKE_LOG"
	while [ $# -gt 0 ]; do
		case $1 in
		--output=*) out=${1#--output=} ;;
		--gpu-metrics-devices=help)
			echo "${FAKE_COUNTERS:-0: A GPU}"
			return 0 ;;
		--gpu-metrics-set=help)
			printf 'Possible values are:\n\t[0] [ga100] General\n\t[1] [gh100-gfxt] Graphics\n\t[2] [gh100] General\n'
			return 0 ;;
		-[a-z]) shift ;;
		-*) ;;
		*) break ;;
		esac
		shift
	done
	out=${out//%%/%}
	raw=$(mktemp -u "${TMPDIR:-/tmp}/nsys-report-XXXX").qdstrm
	# Faults that only the first recording has.
	if [ "${fake%_once}" != "$fake" ]; then
		[ -e once ] && fake=ok || fake=${fake%_once}
		: >once
	fi
	case $fake in
	agent)
		echo "Agent launcher failed." >&2
		return 1 ;;
	badoption)
		echo "unrecognised option '--what'" >&2
		return 1 ;;
	diskfull)
		echo "write: No space left on device" >&2
		return 1 ;;
	norange)
		"$@"
		code=$?
		echo "Generated:"
		return $code ;;
	deaf) # ignores the first SIGINT
		trap "trap 'kill \$target' INT" INT ;;
	slow) # takes its time before it starts the command
		sleep 3 ;;
	hung) # ignores every SIGINT
		trap '' INT TERM ;;
	abrupt) # kills the command at once
		trap 'kill -KILL $target' INT ;;
	twice) # discards the report after a second SIGINT, as the real nsys does
		trap 'kill $target; trap "exit 0" INT; sleep 5' INT ;;
	*)
		trap 'kill $target' INT ;;
	esac
	[ "$fake" != daemon ] || setsid sleep 1000 &
	[ "$fake" != stubborn ] || setsid bash -c 'trap "" TERM; sleep 1000; :' &
	exec 9>"$raw" # keeps the raw data open, as the real nsys does
	run_target "$@"
	echo raw >"$raw"
	if [ "$fake" = lost ]; then # as the real nsys does on a busy machine
		echo "Connection to Agent lost. This is most likely a bug." >&2
		return 1
	fi
	echo "Generating '$raw'"
	case $fake in
	zero) : >"$out.nsys-rep" ;;
	raw | rawonly)
		mv "$raw" "$out.qdstrm"
		printf 'Generated:\n\t%s\n' "$out.qdstrm"
		return 0 ;;
	rawleft) return 0 ;; # with its raw data where it recorded it
	stuck)
		trap '' INT TERM
		sleep 1000 ;;
	repeat)
		write_report "$out.1.nsys-rep"
		write_report "$out.2.nsys-rep" ;;
	*) write_report "$out.nsys-rep" ;;
	esac
	rm -f "$raw"
	printf 'Generated:\n\t%s\n' "$out.nsys-rep"
	return $code
}

export_report() {
	local out=''
	[ -z "${FAKE_LOG:-}" ] || printf '%s\n' "$@" >"$FAKE_LOG.export"
	for a; do
		case $a in --output=*) out=${a#--output=} ;; esac
	done
	if [ "$fake" = exportfails ]; then
		head -c 100 "$FAKE_SQLITE" >"$out"
		echo "the exporter says no" >&2
		return 1
	fi
	cp "$FAKE_SQLITE" "$out"
}

# A session of `nsys launch` is represented by the file session.NAME. While it is recorded, the file
# holds the path of the report.
session_of() {
	local out=''
	for a; do
		case $a in
		--session=*) session=session.${a#--session=} ;;
		--output=*) out=${a#--output=} ;;
		esac
	done
	[ -e "$session" ] || { echo "No such session" >&2; exit 1; }
	[ -z "$out" ] || echo "$out" >"$session"
}

case "${1:-} ${2:-}" in
"start "*)
	session_of "$@" ;;
"stop "*)
	session_of "$@"
	write_report "$(cat "$session").nsys-rep"
	printf 'Generated:\n\t%s\n' "$(cat "$session").nsys-rep" ;;
"--version "*)
	echo "NVIDIA Nsight Systems version ${FAKE_VERSION:-2025.5.1.121-255136380782v0}" ;;
"status -e")
	echo "Timestamp counter supported: Yes"
	echo "CPU Profiling Environment (process-tree): ${FAKE_STATUS:-OK}"
	echo "CPU Profiling Environment (system-wide): Fail" ;;
"--help "*) echo "usage: nsys [--version] <command>" ;;
"profile --help") help_profile ;;
"export --help") help_export ;;
"profile "*)
	shift
	profile "$@" ;;
"export "*)
	shift
	export_report "$@" ;;
*)
	echo "fake nsys: what is '$*'?" >&2
	exit 1 ;;
esac
