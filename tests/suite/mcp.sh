#!/bin/sh
# The server for agents, through a client of our own: all revisions of the
# protocol, every tool, errors, files, budgets, names that give orders, secrets,
# mutated lines. tests/mcp/ has the client.
# usage: mcp.sh BUILD_DIR     MUTATIONS=N lines (10000)
set -u
b=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python3 -B "$here/mcp/check.py" "$b" "$here/../../shared" "$work" "${MUTATIONS:-10000}"
