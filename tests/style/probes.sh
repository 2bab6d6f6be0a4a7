#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The probes of libgroat.so are those of the table in doc/serving.md, with the
# same number of arguments at every site.
. "$(dirname "$0")/lib.sh"
library=$top_builddir/.libs/libgroat.so
[ "${GROAT_USDT-no}" = yes ] || skip 'probes: built without sys/sdt.h'
[ -f "$library" ] || skip 'configured without a shared library'
make_scratch
"${READELF:-readelf}" -nW "$library" | awk '
    match($0, /Provider: .*/) { provider = substr($0, RSTART + 10) }
    $1 == "Name:" { name = $2 }
    $1 == "Arguments:" { print provider ":" name, NF - 1 }' |
    sort -u >"$scratch/built"
awk -F' *[|] *' '
    /^\| probe \| arguments \|/ { on = 1; next }
    !/^\|/ { on = 0 }
    on && $2 ~ /`/ {
        gsub(/`/, "", $2)
        gsub(/\([^)]*\)/, "", $3)
        print "groat:" $2, split($3, parts, ",")
    }' "$top_srcdir/doc/serving.md" | sort >"$scratch/written"
[ -s "$scratch/built" ] || bad 'libgroat.so has no probes'
diff "$scratch/written" "$scratch/built" >"$scratch/diff"
while read -r line; do
    bad "doc/serving.md (<) and libgroat.so (>) differ: $line"
done <"$scratch/diff"
finish
