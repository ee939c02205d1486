#!/bin/sh
# What a person reads, on every fixture and real trace: the first page has at most
# 45 lines and is the same as --brief, which keeps its keys and its 5 KB; sections
# begin with a sentence, no two rows of a table read alike, plurals are right, no
# name of ours for a class stands in a text, and reports are short.
# usage: page.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
# shellcheck source=../inputs.sh
. "$tests/inputs.sh"
python3 "$tests/page/check.py" "$b/nsys-explain" "$work/out" "$@"
