#!/bin/bash
# The server, tested with clients by others: fixed versions of the protocol's SDK and inspector from
# npm, with the version of node that they need. A client that npm cannot deliver is skipped.
# usage: mcp_clients.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
m=$b/npm-mcp
got() { [ -x "$m/node_modules/node/bin/node" ] && [ -d "$m/node_modules/@modelcontextprotocol/sdk" ] && [ -x "$m/node_modules/.bin/mcp-inspector" ]; }
if command -v npm >/dev/null && ! got; then
	mkdir -p "$m" && (cd "$m" && npm install --silent --no-save --no-audit --no-fund --prefix . node@22.23.3 \
		@modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/inspector@2.12.0) >/dev/null 2>&1
fi
if ! got; then skipped 'the SDK and the inspector (need npm with its registry)'; exit; fi
node=$m/node_modules/node/bin/node
f=$b/fixtures
cat >"$work/calls" <<'END'
[["nsys_explain", {"trace": "synthetic.sqlite", "detail": "full"}],
["nsys_ask", {"trace": "synthetic.sqlite", "question": "findings"}],
["nsys_ask", {"trace": "synthetic.sqlite", "question": "finding", "argument": "1"}],
["nsys_ask", {"trace": "synthetic.sqlite", "question": "at", "argument": "0.001"}],
["nsys_ask", {"trace": "synthetic.sqlite", "question": "window", "argument": "0..1"}],
["nsys_ask", {"trace": "synthetic.sqlite", "question": "gaps"}],
["nsys_ask", {"trace": "synthetic.sqlite", "question": "why", "argument": "0.001"}],
["nsys_ask", {"trace": "instructions.sqlite", "question": "kernel", "argument": "."}],
["nsys_ask", {"trace": "synthetic.sqlite", "question": "stream", "argument": "7"}],
["nsys_ask", {"trace": "synthetic.sqlite", "question": "what-if", "argument": "host:inf"}],
["nsys_ask", {"trace": "two_rank_straggler.sqlite", "question": "range", "argument": "step"}],
["nsys_ask", {"trace": "two_rank_straggler.sqlite", "question": "iteration", "argument": "1"}],
["nsys_ask", {"trace": "two_rank_straggler.sqlite", "question": "section", "argument": "by_pid"}],
["nsys_diff", {"before": ["diff_before.sqlite"], "after": ["diff_slower.sqlite"]}],
["nsys_fleet", {"traces": ["nccl_three_ranks.sqlite"]}],
["nsys_sql", {"trace": "synthetic.sqlite", "sql": "SELECT * FROM kernel LIMIT 3"}],
["nsys_capture", {"trace": "synthetic.sqlite"}],
["nsys_capture", {"preset": "nvlink"}]]
END
"$node" "$tests/mcp/sdk.mjs" "$m/node_modules" "$b/nsys-explain" "$f" "$work/calls" >"$work/sdk" 2>&1
grep -v "^[0-9]* [0-9]*$" "$work/sdk"
read -r pass fail <<<"$(grep -x '[0-9]* [0-9]*' "$work/sdk" || echo 0 1)"
inspect() { # METHOD ARGUMENT...
	if HOME=$work "$node" "$m/node_modules/.bin/mcp-inspector" --cli "$b/nsys-explain" mcp --root "$f" --method "$@" \
		>"$work/out" 2>&1 && ! grep -q '"isError": true' "$work/out"; then ok; else
		bad "inspector $*"; head -n 5 "$work/out"
	fi
}
inspect tools/list --strict
inspect tools/call --tool-name nsys_explain --tool-arg trace=synthetic.sqlite
inspect tools/call --tool-name nsys_ask --tool-arg trace=synthetic.sqlite question=gaps
inspect tools/call --tool-name nsys_diff --tool-arg 'before=["diff_before.sqlite"]' 'after=["diff_slower.sqlite"]'
inspect tools/call --tool-name nsys_fleet --tool-arg 'traces=["nccl_three_ranks.sqlite"]'
inspect tools/call --tool-name nsys_sql --tool-arg trace=synthetic.sqlite 'sql=SELECT count(*) AS n FROM kernel'
inspect tools/call --tool-name nsys_capture --tool-arg preset=nvlink
inspect prompts/list
inspect resources/templates/list
finish
