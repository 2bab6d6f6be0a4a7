#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes faults, and compares what was seen with the table in doc/faults.md:
# each row is there, with each word that was seen.  With GROAT_TEST_ALL set all
# faults are made, and the table is what was seen and nothing else; --update
# does that and puts it there.
set -u
if [ -z "${top_srcdir-}" ]; then
    top_srcdir=$(cd "$(dirname "$0")/../.." && pwd)
fi
: "${top_builddir:=$top_srcdir/build}"
. "$top_srcdir/tests/table.sh"
program=$top_builddir/tests/faults/test_sweeps
page=$top_srcdir/doc/faults.md
[ -x "$program" ] || {
    echo "SKIP: tests/faults/test_sweeps is not built: make check does that"
    exit 77
}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
[ "${1-}" != --update ] || {
    GROAT_TEST_ALL=1
    export GROAT_TEST_ALL
}
MATRIX=$scratch/seen "$program" >"$scratch/said" 2>&1
code=$?
cat "$scratch/said"
[ $code -eq 0 ] || exit $code

if [ "${1-}" = --update ]; then
    table_write "$page" faults "$scratch/seen" "$scratch/page"
    exit
fi
table_read "$page" faults >"$scratch/written" || exit
seen=$(head -n 1 "$scratch/seen")
written=$(head -n 1 "$scratch/written")
[ "$seen" = "$written" ] || {
    # What must hold of each fault has held; words are another matter.
    echo "skipped: the table of faults was made ${written%:}, this is $seen"
    exit 0
}
if [ -n "${GROAT_TEST_ALL-}" ]; then
    diff "$scratch/written" "$scratch/seen" || {
        echo 'FAIL: the table is stale: sh tests/faults/matrix.sh --update'
        exit 1
    }
    exit 0
fi
sed -n 's/^skipped: \([^:]*\):.*/\1/p' "$scratch/said" >"$scratch/skipped"
awk -F ' [|] ' -v skipped="$scratch/skipped" '
    BEGIN {
        while ((getline line < skipped) > 0)
            left_out[line] = 1
    }
    !/^\| / || $1 == "| fault" { next }
    { sub(/^\| /, ""); sub(/ \|$/, ""); name = $1 ", " $2 }
    FNR == NR {
        written[name] = 1
        for (i = 3; i <= NF; i++) {
            count = split($i, words, "; ")
            for (k = 1; k <= count; k++)
                has[name, i, words[k]] = 1
        }
        fault[name] = $1
        next
    }
    !(name in written) { print "FAIL: no row for " name; bad = 1 }
    {
        seen[name] = 1
        # What is said of a bit depends on where it lies, and that on what the
        # compiler has made.
        last = $1 ~ /^(a bit turned|cut short)/ ? 5 : NF
        for (i = 3; i <= last; i++) {
            count = split($i, words, "; ")
            for (k = 1; k <= count; k++)
                if (words[k] != "-" && !((name, i, words[k]) in has)) {
                    print "FAIL: " name ": \"" words[k] "\" is not in the table"
                    bad = 1
                }
        }
    }
    END {
        for (name in written)
            if (!(name in seen) && !(fault[name] in left_out)) {
                print "FAIL: " name ": in the table, and nothing of it was seen"
                bad = 1
            }
        exit bad
    }' "$scratch/written" "$scratch/seen" || {
    echo 'FAIL: the table is stale: sh tests/faults/matrix.sh --update'
    exit 1
}
