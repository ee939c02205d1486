# shellcheck shell=sh disable=SC2154
# Suites that run on every fixture and real trace source this file after suite.sh. It sets "$@" to
# these traces.
set -- "$b"/fixtures/*.sqlite
[ -d "$traces" ] && set -- "$@" "$traces"/*.sqlite
