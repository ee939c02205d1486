#!/bin/bash
# Packages. The static program runs in an empty root folder. With DEB=1, which takes minutes and
# needs root, the Debian package is installed into a system made by debootstrap, if that is
# available, and removed again. With CONTAINER=1, under the same conditions, buildah makes the
# container image, on a base that debootstrap makes if none can be fetched.
# usage: packages.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
cd "$root" || exit 1
report() { "$@" --json 2>&1 | sed 's/"generated_at": "[^"]*"//'; }
version=$(sed -n 's/^VERSION := //p' Makefile)

if [ -e /usr/lib/x86_64-linux-gnu/libsqlite3.a ] || "${CC:-cc}" -print-file-name=libsqlite3.a | grep -q /; then
	if nm "$b/libnsx.a" 2>/dev/null | grep -qE '__(asan|tsan|gcov)_'; then
		part_skipped "a static program without sanitizers"
	else
		holds "make static" make -s static B="$b"
		holds "it needs no library" not ldd "$b/nsys-explain-static"
		mkdir "$work/bare"
		cp "$b/nsys-explain-static" "$work/bare/nsys-explain"
		cp "$b/fixtures/launch_bound.sqlite" "$work/bare/run.sqlite"
		if [ "$(id -u)" = 0 ]; then bare() { chroot "$work/bare" /nsys-explain "$@"; }
		else bare() { (cd "$work/bare" && env -i ./nsys-explain "$@"); }; fi
		holds "it says its version" sh -c "'$b/nsys-explain-static' --version | grep -qF '$version'"
		(cd "$work/bare" && report "$b/nsys-explain" run.sqlite) >"$work/want"
		report bare run.sqlite >"$work/got"
		holds "it explains a trace in a bare system, the same" cmp "$work/want" "$work/got"
		holds "and writes the folder" bare run.sqlite -q --out report
		holds "with its page" test -s "$work/bare/report/report.html"
	fi
else
	part_skipped "no static libraries here"
fi

if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
	tarball=$b/nsys-explain-$version.tar.gz
	holds "make dist" make -s dist B="$b"
	mv "$tarball" "$work/first.tar.gz" 2>/dev/null
	make -s dist B="$b" >/dev/null 2>&1
	holds "the same bytes every time" cmp "$tarball" "$work/first.tar.gz"
	holds "it holds all that a build needs" sh -c "tar tzf '$tarball' | grep -qx 'nsys-explain-$version/src/main.c'"
else
	part_skipped "no repository to make a tarball of"
fi

if [ "${DEB:-}" != 1 ]; then
	:
elif ! command -v dpkg-buildpackage >/dev/null; then
	part_skipped "no Debian package: dpkg-buildpackage is not here"
else
	holds "make deb" make -s deb B="$b"
	holds "the package is built in a folder of its own" test -e "$b/deb/nsys-explain-$version/build/nsys-explain"
	deb=$(echo "$b"/deb/nsys-explain_"$version"_*.deb)
	holds "the package has its version" test "$(dpkg-deb -f "$deb" Version)" = "$version"
	holds "a manual for both names" sh -c "dpkg-deb -c '$deb' | grep -c 'man1/nsys-\(llm-\)*explain.1.gz' | grep -qx 2"
	holds "completions where Debian's shells look" sh -c "dpkg-deb -c '$deb' | grep -cE 'share/(bash-completion/completions|zsh/vendor-completions|fish/vendor_completions.d)/_?nsys-explain' | grep -qx 3"
	command -v lintian >/dev/null && holds "lintian has nothing to say" sh -c "lintian --fail-on error,warning '$deb' && test -z \"\$(lintian '$deb')\""
	if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null &&
		debootstrap --variant=minbase bookworm "$work/system" >"$work/log" 2>&1; then
		cp "$deb" "$work/system/p.deb"
		in_system() { chroot "$work/system" "$@"; }
		holds "it installs" in_system sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /p.deb'
		holds "it runs" sh -c "chroot '$work/system' nsys-explain --version | grep -qF '$version'"
		holds "it is removed" in_system apt-get purge -y -qq nsys-explain
		holds "and leaves nothing" not in_system sh -c 'find /usr/bin /usr/share -name "*nsys*" | grep .'
	else
		part_skipped "no bare system to install into"
	fi
fi
if [ "${CONTAINER:-}" != 1 ]; then
	:
elif ! command -v buildah >/dev/null; then
	part_skipped "no container image: buildah is not here"
elif [ "$(id -u)" != 0 ]; then
	part_skipped "no container image: that takes root"
else
	builder() { buildah --root "$work/images" --runroot "$work/running" --storage-driver vfs "$@"; }
	base=docker.io/library/debian:bookworm-slim
	if ! builder pull -q "$base" >/dev/null 2>&1 && debootstrap --variant=minbase bookworm "$work/base" >"$work/log" 2>&1; then
		at=$(builder from scratch)
		builder add -q "$at" "$work/base" / >/dev/null && builder commit -q "$at" "$base" >/dev/null
	fi
	if builder inspect --type image "$base" >/dev/null 2>&1; then
		mkdir "$work/traces"
		git clone -q . "$work/source"
		git ls-files -z | tar --null -T - -c | tar -x -C "$work/source"
		cp "$b/fixtures/launch_bound.sqlite" "$work/traces/run.sqlite"
		holds "the container image is built" builder bud -q --isolation chroot --pull-never -f src/package/Containerfile -t nsys-explain "$work/source"
		at=$(builder from --pull-never localhost/nsys-explain)
		contained() { builder run --isolation chroot -v "$work/traces:/work" "$at" -- /bin/nsys-explain "$@"; }
		(cd "$work/traces" && report "$b/nsys-explain" run.sqlite) >"$work/want"
		report contained run.sqlite >"$work/got"
		holds "its version has the commit" sh -c "echo '$(contained --version)' | grep -qF '$(git rev-parse --short=10 HEAD)'"
		holds "it explains a trace of the folder that it is given, the same" cmp "$work/want" "$work/got"
	else
		part_skipped "no base for the container image"
	fi
fi
finish
