# shellcheck shell=sh
# Sourced by suites that run on every fixture and real trace: $b, the build that
# $1 names, "$@", the files, and $work, a folder that goes away at the end.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
b=$(cd "$1" && pwd)
traces=${NSX_TRACES:-$here/../../shared/traces}
set -- "$b"/fixtures/*.sqlite
[ -d "$traces" ] && set -- "$@" "$traces"/*.sqlite
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
