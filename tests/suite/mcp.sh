#!/bin/sh
# The server for agents, tested with our own client: all revisions of the protocol, every tool,
# errors, files, budgets, names in a trace that try to give an agent orders, secrets, and mutated
# lines. tests/mcp/ has the client.
# usage: mcp.sh BUILD_DIR     MUTATIONS=N lines (10000)
. "$(dirname "$0")/../suite.sh"
python3 -B "$tests/mcp/check.py" "$b" "$root/../shared" "$work" "${MUTATIONS:-10000}"
