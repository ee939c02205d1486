#!/bin/sh
# Static checks that take seconds: every C file without warnings by each installed compiler, the
# hardening of the program, cppcheck, the shell scripts, the layers of the folders, the rule that
# only one file uses a library, and the sizes of files.
# tests/lint.sh adds clang-tidy.
# usage: lint.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
cd "$root" || exit 1
have() { command -v "$1" >/dev/null && return; part_skipped "$1 is not here"; false; }

# Builds with the flags of a release, whatever flags this build directory was made with. If it is
# itself a release build by gcc under CI, where warnings are errors, it is not built again.
gcc_dir=$b/lint-gcc
if [ -n "${CI:-}" ] && readelf -p .comment "$b/nsys-explain" 2>/dev/null | grep -q GCC: &&
	! nm "$b/nsys-explain" | grep -qE '__([at]san|ubsan|gcov)_'; then gcc_dir=$b; fi
dir() { if [ "$1" = gcc ]; then echo "$gcc_dir"; else echo "$b/lint-$1"; fi; }
release() { # COMPILER TARGET
	case $1 in gcc) flags='-O3 -g' ;; *) flags=-O1 ;; esac # others give the same warnings with -O1
	make -s -j2 B="$(dir "$1")" CC="$1" CI=1 SAN= CFLAGS="$flags" "$2"
}
fortified() { # COMPILER LEVEL: the Makefile's flags give this level of _FORTIFY_SOURCE
	cc=$(make -n -B B="$b/lint-$1" CC="$1" SAN= CFLAGS=-O2 V=1 "$b/lint-$1/src/base/err.o" | grep -e ' -c -o ')
	flags=$(echo "$cc" | grep -oE -e '-[UD]_FORTIFY_SOURCE[=0-9]*|-D_GNU_SOURCE' | tr '\n' ' ')
	# shellcheck disable=SC2086
	echo '#include <stdio.h>' | "$1" -O2 $flags -dM -E - | grep -qx "#define __USE_FORTIFY_LEVEL $2"
}
shows() { # PATTERN TOOL ARG...: a line of the tool's output must match
	pattern=$1; shift; "$@" | grep -qE -- "$pattern"
}
for cc in gcc clang; do
	have $cc || continue
	holds "warnings of $cc" release $cc warnings
	p=$(dir $cc)/nsys-explain
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
	--library=tests/cppcheck.cfg --inline-suppr --std=c11 -D_GNU_SOURCE '-DNSX_VERSION="x"' -Isrc -Iinclude \
	--enable=warning,portability,performance --suppress=missingIncludeSystem src
# shellcheck disable=SC2046
have shellcheck && holds shellcheck shellcheck $(git ls-files '*.sh') .ci/run

only_user() { # HEADER: exactly one file of the program includes it
	grep -rl "include <$1>" src; [ "$(grep -rl "include <$1>" src | wc -l)" -eq 1 ]
}
for lib in sqlite3.h jansson.h csv.h; do holds "one user of $lib" only_user $lib; done

# layers.awk has the folders and their order. Each folder must link with only the folders left of it.
layers() { find src -name '*.[ch]' -print0 | xargs -0 awk -f tests/layers.awk; }
holds 'includes go down' layers
links() { # ARCHIVE LEFT_OF_IT...
	top=$1; shift
	gcc -shared -o "$b/layer/try.so" -Wl,--no-undefined -Wl,--whole-archive "$top" \
		-Wl,--no-whole-archive -Wl,--start-group "$@" -Wl,--end-group \
		-lcsv -ljansson -lsqlite3 -ldeflate -lzstd -llz4 -lpthread -lm
}
order=$(sed -n '/split("/,/order)/p' tests/layers.awk | tr -cd 'a-z \n' | sed 's/split//; s/order//')
rm -rf "$b/layer"; mkdir -p "$b/layer"
release gcc all >/dev/null 2>&1
left=
for folder in $order; do
	objects=$(find "src/$folder" -name '*.c' 2>/dev/null | sed "s|^|$gcc_dir/|; s|c\$|o|")
	[ -n "$objects" ] || continue
	[ "$folder" = emit ] && objects="$objects $gcc_dir/gen/page.o"
	[ "$folder" = agent ] && objects="$objects $gcc_dir/gen/skill.o"
	[ "$folder" = schema ] && objects="$objects $gcc_dir/gen/queries.o"
	# shellcheck disable=SC2086
	ar rcs "$b/layer/$folder.a" $objects
	# shellcheck disable=SC2086
	holds "calls of $folder/ go down" links "$b/layer/$folder.a" $left
	left="$b/layer/$folder.a $left"
done
# Citations of queries/README.md by number name sections that exist, and no comment cites a document
# outside the project.
cited() {
	git grep -hoE 'queries/README\.md [0-9]+(, [0-9]+)*' -- src queries tests |
		sed 's/.*md //; s/, /\n/g' | sort -un | while read -r n; do
		grep -qE "^## $n\. " queries/README.md || echo "no section $n"
	done | grep . && return 1
	! git grep -nE '\b(SEMANTICS|CONTRACT|HOUSE|REPLAY|NSYS_SCHEMA|SCHEMA_VARIATIONS|DIAGNOSES)(\.md| [0-9§])' -- src queries tests
}
holds 'definitions that are cited exist' cited
built() { ! git ls-files '*.d' '*.o' '*.sqlite' '*.nsys-rep' ':!examples' | grep .; }
holds 'no file that a build or a test makes is committed' built
have python3 && holds 'ids of one list index a row' python3 tests/columns.py src
# Names are unique, so that a search for a name finds one function.
names() {
	! git grep -E --untracked '^static [^=;]*\(' -- 'src/*.c' | sed -E 's/\(.*//; s/^([^:]*):.*[ *]/\1 /' |
		sort -u | awk '{print $2}' | sort | uniq -d | grep .
}
holds 'the name of a function is in one file' names
twice() { sed 's/^[[:space:]]*//' | sort | uniq -d | grep .; }
tags() { ! grep -rhoE --include='*.[ch]' '^\s*(struct|enum|union) nsx_[a-z0-9_]+ \{' src include | twice; }
holds 'a name of ours is that of one struct' tags
constants() { ! grep -rhoE --include='*.[ch]' '\bNSX_[A-Z0-9_]+ = ' src include | twice; }
holds 'a name of ours is that of one constant' constants
heads() { ! find src -name '*.[ch]' | while read -r f; do head -n 1 "$f" | grep -q "^/\* ${f##*/} - " || echo "$f"; done | grep .; }
holds 'a file begins with its name' heads
# A comment begins with its subject.
subjects() { ! grep -rnE --include='*.[ch]' --include='*.def' '/\* (Of|Likewise|What|That|Else)\b' src include; }
holds 'comments begin with their subject' subjects
# Comments are /* */: // marks debugging.
holds 'no // comments' not grep -rnE --include='*.[ch]' '(^|[^:"])//' src
finish
