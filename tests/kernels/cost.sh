#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The judge's cost grows with the number of accesses and not faster: a block adds
# up rows of 4,096, 16,384 and 65,536 floats, and valgrind counts the machine's
# instructions.
. "$(dirname "$0")/../scratch.sh"
command -v valgrind >/dev/null 2>&1 && [ "${GROAT_SANITIZE:-no}" = no ] || {
    echo "SKIP: there is no valgrind, or a sanitizer does not run under it"
    exit 77
}
"$groat" new "$scratch/sums" --from reduce >/dev/null || exit 1

# count COLUMNS: the instructions of a run whose kernel is in the store.
count() {
    set -- run "$scratch/sums:cols=$1" --target cpu:sm_90a --arg rows=1 --jobs 1
    "$groat" "$@" >"$scratch/out" 2>&1 ||
        { cat "$scratch/out" >&2 && return 1; }
    # libtool's wrapper runs the tool, the tool a compiler of reference.c.
    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        --trace-children=yes --trace-children-skip='*++*' \
        "$groat" "$@" >/dev/null 2>"$scratch/out" || return 1
    sed -n 's/^.* Collected : *//p' "$scratch/out" | sort -n | tail -n 1
}
small=$(count 4096) && middle=$(count 16384) && large=$(count 65536) &&
    [ -n "$small" ] && [ -n "$middle" ] && [ -n "$large" ] || {
    echo "FAIL: there are no counts"
    exit 1
}
first=$((middle - small))
second=$((large - middle))
echo "12,288 more accesses: $first instructions, 49,152 more: $second"
[ "$first" -gt 1000000 ] || {
    echo "FAIL: the accesses are not among the instructions"
    exit 1
}
[ $((second * 2)) -lt $((first * 9)) ] || {
    echo "FAIL: four times the accesses cost more than 4.5 times as much"
    exit 1
}
