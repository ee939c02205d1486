#!/bin/sh
# Conversions are checked against the raw tables, and by Perfetto's own reader if it is available.
# usage: convert.sh BUILD_DIR
exec "$(dirname "$0")/../convert/run.sh" "$1"
