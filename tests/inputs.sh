# shellcheck shell=sh disable=SC2154
# Sourced after suite.sh by suites that run on every fixture and real trace, "$@".
set -- "$b"/fixtures/*.sqlite
[ -d "$traces" ] && set -- "$@" "$traces"/*.sqlite
