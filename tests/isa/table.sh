#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Prints the table of code objects; --update puts it between the markers of
# kernels-src/README.md.
. "$(dirname "$0")/common.sh"
[ "${1-}" = --update ] || {
    isa table "$@"
    exit
}
readme=$top_srcdir/kernels-src/README.md
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
isa table >"$scratch/table" || exit
awk -v table="$scratch/table" '
    /<!-- \/code objects -->/ { inside = 0 }
    !inside { print }
    /<!-- code objects -->/ {
        inside = 1
        while ((getline line < table) > 0)
            print line
    }' "$readme" >"$scratch/readme"
cat "$scratch/readme" >"$readme"
