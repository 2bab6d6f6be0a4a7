#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The table of code objects in doc/code_objects.md is what the same compiler
# makes now.
. "$(dirname "$0")/common.sh"
. "$top_srcdir/tests/table.sh"
page=$top_srcdir/doc/code_objects.md
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
isa table --compiler clang >"$scratch/fresh" || {
    code=$?
    cat "$scratch/fresh"
    exit $code
}
table_read "$page" 'code objects' >"$scratch/committed" || exit
fresh=$(head -n 1 "$scratch/fresh")
committed=$(head -n 1 "$scratch/committed")
[ "$fresh" = "$committed" ] ||
    skip "the table was made by ${committed%%:*}, here is ${fresh%%:*}"
diff "$scratch/committed" "$scratch/fresh" || {
    echo "FAIL: the table is stale: sh tests/isa/table.sh --update"
    exit 1
}
