#!/bin/sh
# Static checks that take seconds: warnings of each compiler that is here, as
# errors, over every C file; the hardening of the program; cppcheck; the
# scripts; the layers of the tree; one user a library; sizes of files.
# tests/lint.sh adds clang-tidy.
# usage: lint.sh BUILD_DIR
set -u
b=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 1
pass=0 fail=0 skip=0
log=$b/lint.log
holds() { # WHAT COMMAND...: the command succeeds, or its output is shown
	what=$1; shift
	if "$@" >"$log" 2>&1; then pass=$((pass + 1)); else
		fail=$((fail + 1)); echo "FAIL $what"; tail -n 40 "$log"
	fi
}
have() { command -v "$1" >/dev/null && return; echo "skipped: $1 is not here"; skip=$((skip + 1)); false; }
not() { ! "$@"; }

# The flags of a release, whatever this build directory was made with.
release() { # COMPILER TARGET
	make -s -j2 B="$b/lint-$1" CC="$1" CI=1 SAN= CFLAGS='-O2 -g' "$2"
}
fortified() { # COMPILER LEVEL: with the flags that the Makefile gives a file
	cc=$(make -n -B B="$b/lint-$1" CC="$1" SAN= CFLAGS=-O2 V=1 "$b/lint-$1/src/err.o" | grep -e ' -c -o ')
	flags=$(echo "$cc" | grep -oE -e '-[UD]_FORTIFY_SOURCE[=0-9]*|-D_GNU_SOURCE' | tr '\n' ' ')
	# shellcheck disable=SC2086
	echo '#include <stdio.h>' | "$1" -O2 $flags -dM -E - | grep -qx "#define __USE_FORTIFY_LEVEL $2"
}
shows() { # PATTERN TOOL ARG...: the tool's output has a line like it
	pattern=$1; shift; "$@" | grep -qE -- "$pattern"
}
for cc in gcc clang; do
	have $cc || continue
	holds "warnings of $cc" release $cc warnings
	p=$b/lint-$cc/nsys-explain
	[ -f "$p" ] || continue
	have readelf || continue
	holds "$cc: position independent" shows 'Flags:.* PIE' readelf -dW "$p"
	holds "$cc: bound at start" shows 'BIND_NOW' readelf -dW "$p"
	holds "$cc: relocations read-only" shows 'GNU_RELRO' readelf -lW "$p"
	holds "$cc: no executable stack" shows 'GNU_STACK .* RW +0x' readelf -lW "$p"
	holds "$cc: stack protector" shows '__stack_chk_fail' readelf --dyn-syms -W "$p"
	holds "$cc: checked library calls" shows '__snprintf_chk' readelf --dyn-syms -W "$p"
	# gcc knows level 3 from version 12 on.
	level=3; [ $cc = gcc ] && [ "$(gcc -dumpversion | cut -d. -f1)" -lt 12 ] && level=2
	holds "$cc: _FORTIFY_SOURCE=$level" fortified $cc $level
done
have cppcheck && holds cppcheck cppcheck -q -j2 --error-exitcode=1 \
	--inline-suppr --std=c11 -D_GNU_SOURCE '-DNSX_VERSION="x"' -Iinclude -Isrc \
	--enable=warning,portability,performance --suppress=missingIncludeSystem src
# shellcheck disable=SC2046
have shellcheck && holds shellcheck shellcheck $(git ls-files '*.sh') .ci/run

only_user() { # HEADER: one file of the program includes it
	grep -rl "include <$1>" src include; [ "$(grep -rl "include <$1>" src include | wc -l)" -eq 1 ]
}
for lib in sqlite3.h jansson.h csv.h; do holds "one user of $lib" only_user $lib; done

# Ground floor < db < schema < trace < facts < pass; emitters see reports only;
# nothing but the loader sees the loader. No // comments: they mark debugging.
holds 'lower layers do not know the trace' not grep -l 'include "nsx/trace.h"' src/err.c src/arena.c \
	src/str.c src/par.c src/span.c src/stat.c src/table.c src/db.c src/scan*.c src/page*.c src/schema.c
holds 'trace_load.h is the loader'"'"'s' not grep -l 'include "trace_load.h"' src/passes/*.c src/facts/*.c src/emit/*.c src/cmd_*.c
holds 'facts do not know the analyses' not grep -l 'include "nsx/pass.h"' src/facts/*.c src/trace*.c
holds 'emitters do not know facts' not grep -l 'include "nsx/facts.h"' src/emit/*.c
holds 'no // comments' not grep -rnE --include='*.[ch]' '(^|[^:"])//' src include
long() { wc -l src/*.c src/*/*.c include/nsx/*.h | awk '$1 > 650 && $2 != "total" { print; n++ } END { exit !n }'; }
holds 'no file much over 600 lines' not long
echo "lint: $pass passed, $fail failed, $skip skipped"
[ $fail -eq 0 ]
