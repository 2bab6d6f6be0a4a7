#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# libgroat.so exports the functions of groat.h and nothing else, under the
# soname that its ABI has.
. "$(dirname "$0")/lib.sh"
library=$top_builddir/.libs/libgroat.so
[ -f "$library" ] || skip 'configured without a shared library'
make_scratch
api_functions >"$scratch/declared"
$NM -D --defined-only "$library" |
    awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
    grep -vE '^(__asan|__odr_asan|__ubsan|__tsan|__sanitizer)' |
    sort >"$scratch/exported"
[ -s "$scratch/declared" ] || bad 'no function found in groat.h'
for name in $(comm -23 "$scratch/declared" "$scratch/exported"); do
    bad "$name is declared in groat.h and not exported"
done
for name in $(comm -13 "$scratch/declared" "$scratch/exported"); do
    bad "$name is exported and not declared in groat.h"
done
for name in $(comm -12 "$scratch/declared" "$scratch/exported"); do
    $NM -D "$library" | grep -q " $name@@GROAT_" ||
        bad "$name has no version node"
done
soname=$($OBJDUMP -p "$library" | awk '$1 == "SONAME" { print $2 }')
[ "$soname" = libgroat.so.0 ] ||
    bad "soname is '$soname', expected libgroat.so.0"
finish
