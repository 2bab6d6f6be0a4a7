#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# How far the functions of common/math.h are from float64's: a row of
# doc/functions.md per target.  Checks the rows of the cpu targets, or that of
# GROAT_TEST_TARGET, and that the functions compile for every vendor whose
# compiler is here; --row TARGET prints that target's row.
. "$(dirname "$0")/../scratch.sh"
family=$top_srcdir/tests/kernels/functions
page=$top_srcdir/doc/functions.md
. "$top_srcdir/tests/table.sh"
functions="sqrt rsqrt rcp exp2 log2 sin cos tanh fma fmin fmax"

row() {
    line="| $1 |"
    for function in $functions; do
        "$groat" run "$family:function=$function" --target "$1" --json \
            >"$scratch/run" 2>"$scratch/err" || {
            cat "$scratch/err" >&2
            return 1
        }
        ulps=$(sed -n 's/^ *"ulps": \([0-9]*\).*/\1/p' "$scratch/run")
        [ -n "$ulps" ] || return 1
        line="$line $ulps |"
    done
    echo "$line"
}

if [ "${1-}" = --row ]; then
    row "$2"
    exit
fi
command -v "${GROAT_CXX:-c++}" >/dev/null 2>&1 || {
    echo "SKIP: there is no C++ compiler for reference.c"
    exit 77
}
for target in ${GROAT_TEST_TARGET:-cpu:sm_90a cpu:gfx950}; do
    seen=$(row "$target") || {
        echo "FAIL: the functions do not run on $target"
        exit 1
    }
    written=$(table_read "$page" functions | grep "^| $target |") || {
        echo "FAIL: $page has no row of $target; it is: $seen"
        exit 1
    }
    [ "$seen" = "$written" ] || {
        echo "FAIL: $page has: $written"
        echo "      seen:      $seen"
        exit 1
    }
done
for target in cuda:sm_80 cuda:sm_90a hip:gfx90a; do
    for function in $functions; do
        "$groat" build "$family:function=$function" --target $target \
            >"$scratch/out" 2>"$scratch/err"
        code=$?
        [ $code -ne 3 ] || {
            echo "skipped: $target: $(head -n 1 "$scratch/err")"
            break
        }
        [ $code -eq 0 ] || {
            echo "FAIL: $function for $target"
            cat "$scratch/err"
            exit 1
        }
    done
done
