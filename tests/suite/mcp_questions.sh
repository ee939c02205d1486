#!/bin/sh
# Questions about real traces, answered by following `next`.
# usage: mcp_questions.sh BUILD_DIR
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
b=$(cd "$1" && pwd)
if [ ! -d "$here/../../shared/traces" ]; then
	echo 'skipped: questions about real traces, which are not here'
	echo 'questions: 0 passed, 0 failed, 1 skipped'
	exit 0
fi
python3 -B "$here/mcp/questions.py" "$b/nsys-explain" "$here/../../shared"
