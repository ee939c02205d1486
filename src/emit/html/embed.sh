#!/bin/sh
# Prints the style and the script of a page as C, with the hashes for its content
# security policy.
# usage: embed.sh PAGE.css PAGE.js
set -eu
text() { sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/\t"&\\n"/' "$1"; }
sha256() { # in base64
	octal=$(sha256sum <"$1" | awk '
		function digit(i) { return index("0123456789abcdef", substr($1, i, 1)) - 1 }
		{ for (i = 1; i < 64; i += 2) printf "\\%03o", 16 * digit(i) + digit(i + 1) }')
	# shellcheck disable=SC2059  # the octal escapes are the bytes
	printf "$octal" | base64
}
echo '#include "emit/html/html.h"'
echo 'const char nsx_page_css[] ='; text "$1"; echo ';'
echo 'const char nsx_page_js[] ='; text "$2"; echo ';'
echo "const char nsx_page_css_sha256[] = \"$(sha256 "$1")\";"
echo "const char nsx_page_js_sha256[] = \"$(sha256 "$2")\";"
