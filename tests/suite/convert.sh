#!/bin/sh
# Conversions, checked against raw tables and by Perfetto where it can be had
# usage: convert.sh BUILD_DIR
exec "$(dirname "$0")/../convert/run.sh" "$1"
