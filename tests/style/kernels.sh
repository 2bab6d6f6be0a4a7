#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A kernel file opens and compiles in an editor with its default constants:
# params.h is up to date with params.def, and the file alone is valid C++.  A
# run-time argument of `groat run` is a field of args.h of the same name.
. "$(dirname "$0")/lib.sh"
: "${GROAT:=$top_builddir/groat}"
[ -x "$GROAT" ] || skip "groat is not built"
make_scratch
for def in "$top_srcdir"/kernels-src/*/params.def; do
    dir=$(dirname "$def")
    family=$(basename "$dir")
    sh "$top_srcdir/kernels-src/defaults.sh" "$GROAT" "$family" \
        >"$scratch/params.h"
    cmp -s "$scratch/params.h" "$dir/params.h" ||
        bad "$family/params.h is stale: sh kernels-src/defaults.sh groat $family"
    $CXX -std=c++17 -fsyntax-only -Wall -Wno-unknown-pragmas -x c++ \
        "$dir/$family.h" 2>"$scratch/log" ||
        bad "$family.h does not compile alone: $(head -n 3 "$scratch/log")"
    for file in args.h README.md; do
        [ -s "$dir/$file" ] || bad "$family has no $file"
    done
    for name in $("$GROAT" completion-data |
        awk -F '\t' -v f="$family" '$1 == "argument" && $2 == f { print $3 }'); do
        # Options for the driver's input are not arguments of the launch.
        case $family:$name in
        *:real | paged_attention_decode:keys | paged_attention_decode:varied)
            continue
            ;;
        kv_cache_append:keys | kv_cache_append:varied | \
            kv_cache_append:head_page | kv_cache_append:ragged)
            continue
            ;;
        esac
        cat "$dir/args.h" $(sed -n "s|^#include \"\(.*\)\"|$dir/\1|p" \
            "$dir/args.h") | sed 's|/\*.*||' | grep -qE "^ .*[ *]$name(\[.*\])?;" ||
            bad "$family takes --$name, which is no field of its args.h"
    done
done
"$GROAT" completion-data | grep -q "^argument	" ||
    bad 'no driver has a run-time argument'
finish
