#!/bin/sh
# shellcheck disable=SC2016  # the single-quoted tests are expanded by eval
# Installs what is missing to build (deps.sh build), to test (deps.sh test) or to
# see what the tests reach (deps.sh coverage).
# Does nothing, and needs no network or root, when all of it is there.
set -u
what=${1:-build}
missing=
has_header() { printf '#include <stdio.h>\n#include <%s>\n' "$1" | ${CC:-cc} -E -x c - >/dev/null 2>&1; }
need() { # test, then the package's name for apt, dnf, pacman
	eval "$1" >/dev/null 2>&1 && return
	case $pm in dnf) p=$3 ;; pacman) p=$4 ;; *) p=$2 ;; esac
	missing="$missing $p"
}
if command -v apt-get >/dev/null; then pm=apt
elif command -v dnf >/dev/null; then pm=dnf
elif command -v pacman >/dev/null; then pm=pacman
else pm=none; fi
need 'command -v ${CC:-cc}' gcc gcc gcc
need 'printf "#include <stdio.h>\n" | ${CC:-cc} -E -x c -' libc6-dev glibc-devel glibc
need 'command -v make' make make make
need 'command -v awk' gawk gawk gawk
need 'has_header sqlite3.h' libsqlite3-dev sqlite-devel sqlite
need 'has_header jansson.h' libjansson-dev jansson-devel jansson
need 'has_header csv.h' libcsv-dev libcsv-devel libcsv
need 'has_header zlib.h' zlib1g-dev zlib-devel zlib
need 'has_header zstd.h' libzstd-dev libzstd-devel zstd
if [ "$what" = test ]; then
	need 'printf "#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <cmocka.h>\n" | ${CC:-cc} -E -x c -' libcmocka-dev libcmocka-devel cmocka
	need 'command -v python3' python3 python3 python
	need 'command -v sqlite3' sqlite3 sqlite sqlite
	need 'command -v valgrind' valgrind valgrind valgrind
	need 'command -v strace' strace strace strace
	need 'command -v mandoc' mandoc mandoc mandoc
	need 'command -v git' git git git
	need 'command -v shellcheck' shellcheck ShellCheck shellcheck
fi
[ "$what" != coverage ] || need 'command -v gcovr' gcovr gcovr gcovr
[ -n "$missing" ] || exit 0
root=; [ "$(id -u)" = 0 ] || root=sudo
echo "installing:$missing"
case $pm in
apt)
	export DEBIAN_FRONTEND=noninteractive
	$root apt-get update -qq || exit 1
	# shellcheck disable=SC2086
	$root apt-get install -y -qq --no-install-recommends $missing >/dev/null ;;
dnf) # shellcheck disable=SC2086
	$root dnf install -y -q $missing ;;
pacman) # shellcheck disable=SC2086
	$root pacman -Sy --noconfirm --needed $missing ;;
*)
	echo "deps.sh: no apt-get, dnf or pacman here; install by hand:$missing" >&2
	exit 1 ;;
esac
