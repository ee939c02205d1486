#!/bin/bash
# The messages of tests/deps.sh before it installs packages, and if it may not install any. Stubs
# imitate the machine.
# usage: deps.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
mkdir bin
for c in sh sed tr awk cat; do ln -s "$(command -v $c)" bin/; done
cat >bin/apt-get <<'P'
#!/bin/sh
echo "apt-get $*" >>calls
case "$*" in
*-s*libcsv-dev* | *--assume-no*libcsv-dev*) exit 100 ;;
*' -s '*) echo 'Inst gcc'; echo 'Inst cpp' ;;
*--assume-no*) echo 'Need to get 5 MB of archives.'; exit 1 ;;
esac
P
# One of the packages does not exist on this system; the others must still be named.
cat >bin/apt-cache <<'P'
#!/bin/sh
[ "$2" = libcsv-dev ] || echo Package
P
# shellcheck disable=SC2016
printf '#!/bin/sh\necho $user\n' >bin/id
chmod +x bin/apt-get bin/apt-cache bin/id
deps() { user=$1 CC=no-cc PATH=$work/bin sh "$tests/deps.sh" "$2" >out 2>err; }
deps 1000 build; rc=$?
holds 'without root and sudo it fails' [ $rc = 1 ]
holds '... names what an administrator installs' grep -q 'ask an administrator for: gcc .*libsqlite3-dev' err
holds '... and the way without any' grep -q 'static program needs none' err
holds '... and calls nothing' [ ! -e calls ]
holds 'root installs' deps 0 build
deps 0 build
holds '... with how many, and how much' diff - <(sed 1d out) <<'P'
  (2 packages with all that they need)
  Need to get 5 MB of archives.
P
holds 'unit tests want cmocka' eval 'deps 0 unit; grep -q "^installing:.* libcmocka-dev" out'
holds 'a package wants its tools' eval 'deps 0 deb; grep -q "^installing:.* dpkg-dev build-essential" out'
# The script says that the names for other package managers are untried.
rm bin/apt-get
printf '#!/bin/sh\necho "dnf $*" >>calls\n' >bin/dnf; chmod +x bin/dnf
holds 'dnf: the names are untried' eval "deps 0 build; grep -q '^the names of packages for dnf are untried' out"
holds '... and are installed all the same' grep -q '^dnf install .*sqlite-devel' calls
finish
