#!/bin/sh
# `diff` computes the same shift, rank test, effect size, quantiles and drift as scipy: on few units
# without ties, for which the test is exact, on many units, and on the available real traces.
# usage: scipy.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
python=
for p in python3 /usr/bin/python3; do
	if "$p" -c 'import scipy.stats' 2>/dev/null; then python=$p; break; fi
done
[ -n "$python" ] || { skipped 'no python3 with scipy (python3-scipy)'; exit; }
ln -s "$tests"/fixtures/_* .
units() { # NAME UNITS SEED LEN: a trace with so many units, no two of the same length
	sed "s|8000 + 1000 \* (7 \* i % 5)|8000 + 89 * (7919 * (i + $3) % 997)|; s|i < 19|i < $2|" "$tests/fixtures/_diff/loop.sql" >"$1_loop.sql"
	sed "s|^-- @include _diff/loop.sql|UPDATE op SET len = $4;\n-- @include $1_loop.sql|" "$tests/fixtures/diff_before.sql" >"$1.sql"
	"$b/mkfixture" "$1.sql" "$1.sqlite"
}
both() { # WANTED BEFORE AFTER: compares diff and scipy; both kinds of test must occur
	rm -rf d
	"$prog" diff "$2" "$3" -o d -q >log 2>&1 || { bad "$2 $3: $(cat log)"; return; }
	if "$python" "$tests/diff/scipy_check.py" d >out 2>&1 && grep -qx "$1" out; then ok; else bad "$(basename "$2") and $(basename "$3"): $(tail -n 1 out)"; fi
}
units few_a 19 3 len; units few_b 14 501 'len + 300'; units few_c 19 77 'len * 6 / 5'
units many_a 59 3 len; units many_b 49 501 'len + 300'
both '1 1' few_a.sqlite few_b.sqlite
both '1 1' few_a.sqlite few_c.sqlite
both '1 1' few_b.sqlite few_c.sqlite
both '1 0' many_a.sqlite many_b.sqlite
both '1 0' many_a.sqlite few_c.sqlite
both '[01] 0' many_a.sqlite,few_a.sqlite many_b.sqlite,few_b.sqlite
for pair in 'mfu_2gpu_before mfu_2gpu_after' 'job_rank0 job_rank1' 'gauss_4x4 gauss_16x16' 'life_a1 life_a2'; do
	[ -f "$traces/${pair% *}.sqlite" ] || continue
	both '[0-9]* [0-9]*' "$traces/${pair% *}.sqlite" "$traces/${pair#* }.sqlite"
done
finish
