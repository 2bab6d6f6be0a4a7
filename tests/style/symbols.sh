#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# libgroat.so exports exactly the functions of the headers, and all versions
# agree: configure, NEWS, the soname, the nodes of the symbol map,
# groat_version.h, groat.pc, groat-config.cmake, the tool.
. "$(dirname "$0")/lib.sh"
library=$top_builddir/.libs/libgroat.so
[ -f "$library" ] || skip 'configured without a shared library'
make_scratch
api_functions >"$scratch/declared"
$NM -D --defined-only "$library" |
    awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
    grep -vE '^(__asan|__odr_asan|__ubsan|__tsan|__sanitizer)' |
    sort >"$scratch/exported"
[ -s "$scratch/declared" ] || bad 'no function found in the headers'
for name in $(comm -23 "$scratch/declared" "$scratch/exported"); do
    bad "$name is declared in a header and not exported"
done
for name in $(comm -13 "$scratch/declared" "$scratch/exported"); do
    bad "$name is exported and not declared in a header"
done
$NM -D "$library" | sed -n 's/.* \(.*\)@@GROAT_.*/\1/p' | sort >"$scratch/versioned"
for name in $(comm -12 "$scratch/declared" "$scratch/exported" |
    comm -23 - "$scratch/versioned"); do
    bad "$name has no version node"
done

version=$(sed -n 's/^#define GROAT_VERSION_STRING "\(.*\)"/\1/p' \
    "$top_builddir/include/groat_version.h")
minor=${version%.*}
# told WHAT SEEN EXPECTED
told() {
    [ "$2" = "$3" ] || bad "$1 says '$2', groat_version.h '$version'"
}
for part in MAJOR MINOR PATCH; do
    sed -n "s/^#define GROAT_VERSION_$part //p" \
        "$top_builddir/include/groat_version.h"
done | paste -sd. >"$scratch/parts"
told 'its three numbers' "$(cat "$scratch/parts")" "$version"
told 'the first line of NEWS' \
    "$(sed -n '1s/^groat \([0-9.]*\).*/\1/p' "$top_srcdir/NEWS")" "$version"
told groat.pc "$(sed -n 's/^Version: //p' "$top_builddir/groat.pc")" "$version"
told groat-config-version.cmake "$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' \
    "$top_builddir/groat-config-version.cmake")" "$version"
told 'groat --version' "$("$top_builddir/groat" --version | awk '{ print $2 }')" \
    "$version"
# Older nodes may be from earlier releases of the same ABI.
told 'the newest node of groat.map' \
    "$(sed -n 's/^GROAT_\([0-9.]*\) {/\1/p' "$top_srcdir/src/groat.map" |
        tail -n 1)" "$minor"
soname=$($OBJDUMP -p "$library" | awk '$1 == "SONAME" { print $2 }')
told 'the soname' "${soname#libgroat.so.}" "${version%%.*}"
finish
