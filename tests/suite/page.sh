#!/bin/sh
# The text of the report of every fixture and real trace. The first page has at most 45 lines and
# equals the output of --brief, which keeps its keys and is at most 5 KB. Sections begin with a
# sentence, no two rows of a table look the same, plurals are right, no text contains an internal
# name of a class, and reports are short.
# usage: page.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
# shellcheck source=../inputs.sh
. "$tests/inputs.sh"
python3 "$tests/page/check.py" "$b/nsys-explain" "$work/out" "$@"
