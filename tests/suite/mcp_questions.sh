#!/bin/sh
# Questions about real traces, answered by following `next`.
# usage: mcp_questions.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
if [ ! -d "$root/../shared/traces" ]; then skipped 'questions about real traces, which are not here'; exit; fi
python3 -B "$tests/mcp/questions.py" "$b/nsys-explain" "$root/../shared"
