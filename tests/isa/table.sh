#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Prints the table of code objects; --update puts it between the markers of
# doc/code_objects.md.
. "$(dirname "$0")/common.sh"
. "$top_srcdir/tests/table.sh"
[ "${1-}" = --update ] || {
    isa table "$@"
    exit
}
page=$top_srcdir/doc/code_objects.md
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
isa table >"$scratch/table" || exit
table_write "$page" 'code objects' "$scratch/table" "$scratch/page"
