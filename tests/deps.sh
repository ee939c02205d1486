#!/bin/sh
# shellcheck disable=SC2016  # the single-quoted tests are expanded by eval
# Installs missing packages: those to build (deps.sh build), for unit tests (unit), for all tests
# (test), for coverage (coverage) or to make a Debian package (deb). First it says what it will
# install and how large that is. Without root or sudo it names the packages that an administrator
# has to install.
# After that it tries to install optional packages (a browser, node, MPI). It names those that it
# cannot install, and goes on.
# If nothing is missing, it does nothing and needs neither network nor root.
set -u
what=${1:-build}
missing=
has_header() { printf '#include <stdio.h>\n#include <%s>\n' "$1" | ${CC:-cc} -E -x c - >/dev/null 2>&1; }
need() { # TEST APT DNF PACMAN: if the test fails, the package with this name is needed
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
need 'has_header libdeflate.h' libdeflate-dev libdeflate-devel libdeflate
need 'has_header zstd.h' libzstd-dev libzstd-devel zstd
need 'has_header lz4.h' liblz4-dev lz4-devel lz4
if [ "$what" = test ] || [ "$what" = unit ]; then
	need 'printf "#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <cmocka.h>\n" | ${CC:-cc} -E -x c -' libcmocka-dev libcmocka-devel cmocka
fi
if [ "$what" = test ]; then
	need 'command -v python3' python3 python3 python
	need 'command -v sqlite3' sqlite3 sqlite sqlite
	need 'command -v valgrind' valgrind valgrind valgrind
	need 'command -v strace' strace strace strace
	need 'command -v mandoc' mandoc mandoc mandoc
	need 'command -v git' git git git
	need 'command -v shellcheck' shellcheck ShellCheck shellcheck
fi
optional=
may() { # PURPOSE TEST APT DNF PACMAN: like need, for an optional package
	eval "$2" >/dev/null 2>&1 && return
	case $pm in dnf) p=$4 ;; pacman) p=$5 ;; *) p=$3 ;; esac
	optional="$optional
$1:$p"
}
if [ "$what" = test ]; then
	may 'pages in a browser' 'command -v chromium || command -v chromium-browser || command -v google-chrome' chromium chromium chromium
	may 'pages without a browser' 'command -v node' nodejs nodejs nodejs
	may 'packages of node' 'command -v npm' npm npm npm
	may 'answers against JSON Schemas' 'python3 -c "import jsonschema"' python3-jsonschema python3-jsonschema python-jsonschema
	may 'the workflows of examples/ci' 'python3 -c "import yaml" || /usr/bin/python3 -c "import yaml"' python3-yaml python3-pyyaml python-yaml
	may 'statistics as scipy has them' 'python3 -c "import scipy.stats" || /usr/bin/python3 -c "import scipy.stats"' python3-scipy python3-scipy python-scipy
	may 'the notebook of the Python package' '/usr/bin/python3 -c "import pandas, nbconvert, ipykernel"' 'python3-pandas jupyter-nbconvert python3-ipykernel' 'python3-pandas python3-nbconvert python3-ipykernel' 'python-pandas jupyter-nbconvert python-ipykernel'
	may 'pip install' 'python3 -m pip --version' python3-pip python3-pip python-pip
	may 'completion in zsh' 'command -v zsh' zsh zsh zsh
	may 'completion in fish' 'command -v fish' fish fish fish
	may 'a job of several ranks' 'command -v mpicc && command -v mpirun' 'libopenmpi-dev openmpi-bin' 'openmpi openmpi-devel' openmpi
fi
if [ "$what" = deb ]; then
	need 'command -v dpkg-buildpackage' dpkg-dev dpkg-dev dpkg
	need 'dpkg -s build-essential' build-essential dpkg-dev dpkg
	need 'command -v git' git git git
fi
[ "$what" != coverage ] || need 'command -v gcovr' gcovr gcovr gcovr
[ -n "$missing$optional" ] || exit 0
case $pm in
dnf) echo 'the names of packages for dnf are untried (RHEL and Rocky need EPEL and CRB for some)' ;;
pacman) echo 'the names of packages for pacman are untried (libcsv is in the AUR)' ;;
esac
root=; [ "$(id -u)" = 0 ] || root=sudo
packages=$(echo "$optional" | sed 's/^[^:]*://' | tr '\n' ' ')
if [ -n "$root" ] && ! command -v sudo >/dev/null; then
	[ -z "$missing" ] || {
		echo "deps.sh: neither root nor sudo here; ask an administrator for:$missing"
		echo "The static program needs none of them: 'make static' where they are, and copy build/nsys-explain-static."
		exit 1
	} >&2
	echo "not installed, for want of root and sudo (tests that use them are skipped): $packages"
	exit 0
fi
# Prints how many packages apt would fetch for those that it knows, and their size.
weigh() {
	[ $pm = apt ] || return 0
	# shellcheck disable=SC2046
	set -- $(for p in "$@"; do [ -z "$(apt-cache show "$p" 2>/dev/null)" ] || echo "$p"; done)
	LC_ALL=C apt-get install -s --no-install-recommends "$@" 2>/dev/null | awk '/^Inst / { n++ } END { if (n) printf "  (%d packages with all that they need)\n", n }'
	LC_ALL=C apt-get install --assume-no --no-install-recommends "$@" 2>/dev/null | sed -n 's/^\(Need to get\|After this operation\)/  &/p'
}
export DEBIAN_FRONTEND=noninteractive
fetch() { # PACKAGE...
	case $pm in
	apt) $root apt-get install -y -qq --no-install-recommends "$@" ;;
	dnf) $root dnf install -y -q "$@" ;;
	pacman) $root pacman -S --noconfirm --needed "$@" ;;
	*) return 1 ;;
	esac >/dev/null </dev/null
}
case $pm in
apt) update="$root apt-get update -qq" ;;
pacman) update="$root pacman -Sy --noconfirm" ;;
*) update=true ;;
esac
if [ -n "$missing" ]; then
	if [ $pm = none ]; then
		echo "deps.sh: no apt-get, dnf or pacman here; install by hand:$missing" >&2
		exit 1
	fi
	$update >/dev/null || exit 1
	echo "installing:$missing"
	# shellcheck disable=SC2086
	{ weigh $missing; fetch $missing; } || exit 1
elif [ -n "$optional" ]; then
	$update >/dev/null 2>&1
fi
# shellcheck disable=SC2086
[ -z "$optional" ] || { echo "then, as far as it can be had: $packages"; weigh $packages; }
echo "$optional" | while IFS=: read -r use packages; do
	# shellcheck disable=SC2086
	[ -z "$use" ] || fetch $packages 2>/dev/null || echo "not to be had: $packages ($use); skipped"
done
