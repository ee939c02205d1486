#!/bin/sh
# Makes a Debian package of the program: a debian/ folder beside the source of
# this commit, and dpkg-buildpackage there. Nothing but dpkg-dev is needed; who
# packages is DEBFULLNAME and DEBEMAIL, else the author of the last commit.
# usage: deb.sh VERSION BUILD_DIR    (in the repository)
set -eu
version=$1 build=$(cd "$2" && pwd) name=nsys-explain
top=$build/deb/$name-$version
by="${DEBFULLNAME:-$(git log -1 --format=%an)} <${DEBEMAIL:-$(git log -1 --format=%ae)}>"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
rm -rf "$build/deb"
mkdir -p "$top"
git archive HEAD | tar xf - -C "$top"
cd "$top"
mkdir -p debian/source
echo '3.0 (native)' >debian/source/format
cat >debian/control <<END
Source: $name
Section: utils
Priority: optional
Maintainer: $by
Build-Depends: libcsv-dev, libdeflate-dev, libjansson-dev, libsqlite3-dev, liblz4-dev, libzstd-dev
Standards-Version: 4.6.2
Rules-Requires-Root: no

Package: $name
Architecture: any
Depends: \${shlibs:Depends}, \${misc:Depends}
Description: explain NVIDIA Nsight Systems captures
 Reads the SQLite export of a capture and writes a report: where the time of
 the GPUs went, what each cause costs, and what to change, with evidence for
 every number. Compares captures, explains jobs of many ranks, records with
 nsys, and converts to Perfetto's format.
END
cat >debian/changelog <<END
$name ($version) unstable; urgency=medium

  * See CHANGELOG.md.

 -- $by  $(date -uRd "@$SOURCE_DATE_EPOCH")
END
{
	echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
	printf '\nFiles: *\nCopyright: %s\nLicense: Expat\n' "$(sed -n 's/^Copyright (c) //p' LICENSE)"
	sed '1,/^Copyright/d; /./!s/^$/./; s/^/ /' LICENSE | sed '1d'
} >debian/copyright
cat >debian/rules <<'END'
#!/usr/bin/make -f
export DEB_BUILD_MAINT_OPTIONS = hardening=+all optimize=+lto
export DEB_CFLAGS_MAINT_APPEND = -O3
include /usr/share/dpkg/default.mk
to := $(CURDIR)/debian/$(DEB_SOURCE)
doc := $(to)/usr/share/doc/$(DEB_SOURCE)
build: build-arch build-indep
build-indep:
build-arch:
	$(MAKE) MPICC= CFLAGS='$(filter-out -D_FORTIFY_SOURCE%,$(CFLAGS) $(CPPFLAGS))' LDFLAGS='$(LDFLAGS)' all
clean:
	rm -rf build debian/$(DEB_SOURCE) debian/files debian/substvars
binary: binary-arch binary-indep
binary-indep:
binary-arch: build-arch
	$(MAKE) MPICC= DESTDIR=$(to) PREFIX=/usr install-program
	mv $(to)/usr/share/zsh/site-functions $(to)/usr/share/zsh/vendor-completions
	strip --remove-section=.comment --remove-section=.note $(to)/usr/bin/nsys-explain
	gzip -9n $(to)/usr/share/man/man1/*.1
	ln -sf nsys-explain.1.gz $(to)/usr/share/man/man1/nsys-llm-explain.1.gz
	install -D -m 644 debian/copyright $(doc)/copyright
	gzip -9nc debian/changelog > $(doc)/changelog.gz
	mkdir -p $(to)/DEBIAN
	dpkg-shlibdeps $(to)/usr/bin/nsys-explain
	dpkg-gencontrol -P$(to)
	cd $(to) && find usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums
	chmod 644 $(to)/DEBIAN/md5sums
	dpkg-deb --root-owner-group --build $(to) ..
.PHONY: build build-arch build-indep clean binary binary-arch binary-indep
END
chmod +x debian/rules
# What this make was given (B=...) is not for the one in there.
env -u B -u MAKEFLAGS -u MAKEOVERRIDES dpkg-buildpackage -us -uc -b -jauto
ls "$build"/deb/*.deb
