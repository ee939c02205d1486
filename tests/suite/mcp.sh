#!/bin/sh
# The server for agents, through a client of our own: all revisions of the
# protocol, every tool, errors, files, budgets, names that give orders, secrets,
# mutated lines. tests/mcp/ has the client.
# usage: mcp.sh BUILD_DIR     MUTATIONS=N lines (10000)
. "$(dirname "$0")/../suite.sh"
python3 -B "$tests/mcp/check.py" "$b" "$root/../shared" "$work" "${MUTATIONS:-10000}"
