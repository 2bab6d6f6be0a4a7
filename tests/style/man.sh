#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat(3) names each function of the public headers, and no other; groff has no
# warnings for either page.
. "$(dirname "$0")/lib.sh"
page=$top_srcdir/man/groat.3
make_scratch
api_functions >"$scratch/declared"
grep -oE 'groat_[a-z0-9_]+ *(\(\)|"\(\)|\\fR\(\))' "$page" |
    sed 's/[^a-z0-9_].*//' | sort -u >"$scratch/named"
for name in $(comm -23 "$scratch/declared" "$scratch/named"); do
    bad "man/groat.3 does not name $name"
done
for name in $(comm -13 "$scratch/declared" "$scratch/named"); do
    bad "man/groat.3 names $name, which no public header declares"
done
if command -v groff >/dev/null 2>&1; then
    for page in "$top_srcdir"/man/groat.[13]; do
        groff -man -Tutf8 -ww -z "$page" 2>"$scratch/said"
        [ -s "$scratch/said" ] && bad "$page: $(head -n 1 "$scratch/said")"
    done
fi
finish
