#!/bin/sh
# Static checks: warnings of gcc and clang as errors, clang-tidy, cppcheck,
# the shell scripts, the layers of the tree, one user a library, file sizes.
set -u
cd "$(dirname "$0")/.." || exit 1
fail=0
bad() { echo "FAIL lint: $*"; fail=1; }
have() { command -v "$1" >/dev/null || { echo "skipped: $1 is not here"; return 1; }; }
for cc in gcc clang; do
	have $cc || continue
	make -s all B=build/lint-$cc CC=$cc CI=1 >build-lint.log 2>&1 || { bad "$cc"; tail -n 20 build-lint.log; }
	rm -f build-lint.log
done
if have cppcheck; then
	cppcheck -q --error-exitcode=1 --inline-suppr --std=c11 -Iinclude -Isrc \
		--enable=warning,portability --suppress=missingIncludeSystem src || bad cppcheck
fi
if have clang-tidy; then
	clang-tidy --quiet src/*.c src/*/*.c -- -std=c11 -D_GNU_SOURCE \
		-DNSX_VERSION='"x"' -Iinclude -Isrc 2>/dev/null || bad clang-tidy
fi
if have shellcheck; then
	# shellcheck disable=SC2046
	shellcheck $(git ls-files '*.sh') .ci/run || bad shellcheck
fi
for lib in sqlite3.h jansson.h csv.h; do
	n=$(grep -rl "include <$lib>" src include | wc -l)
	[ "$n" -eq 1 ] || bad "$lib is included by $n files of the program"
done
# Layers: ground floor < db < schema < trace < facts < pass; emitters see
# reports only; nothing but the loader sees the loader.
includes() { # HEADER FILE... : files that include it
	h=$1; shift; grep -l "include \"$h\"" "$@" 2>/dev/null
}
[ -z "$(includes nsx/trace.h src/err.c src/arena.c src/str.c src/par.c src/span.c src/stat.c src/table.c src/db.c src/scan*.c src/schema.c)" ] || bad "a lower layer includes nsx/trace.h"
[ -z "$(includes trace_load.h src/passes/*.c src/facts/*.c src/emit/*.c src/cmd_*.c)" ] || bad "trace_load.h is used outside the loader"
[ -z "$(includes nsx/facts.h src/emit/*.c)" ] || bad "an emitter includes nsx/facts.h"
git ls-files '*.c' '*.h' | while read -r f; do
	n=$(wc -l <"$f"); [ "$n" -le 700 ] || echo "note: $f has $n lines"
done
grep -rnE '^[^"]*//' --include='*.[ch]' src include | grep -v http | head -n 5 | grep . && bad "// comments mark debugging"
[ $fail -eq 0 ] && echo "lint: clean"
exit $fail
