#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Project files name nobody's machine, no host except public documentation, and
# leave nothing "for later".  Each source names its licence.
. "$(dirname "$0")/lib.sh"
cd "$top_srcdir" || exit 1
make_scratch
project_files | grep -vE '^(LICENSE$|tests/fuzz/corpus/)' >"$scratch/files"

# find_words WHAT PATTERN: reports each line of a project file that matches.
# Brackets keep this file from matching itself.
find_words() {
    tr '\n' '\0' <"$scratch/files" | xargs -0 grep -InE "$2" /dev/null \
        >"$scratch/found" 2>/dev/null
    while read -r line; do
        bad "$1: $line"
    done <"$scratch/found"
}

find_words 'left for later' '(^|[^A-Za-z])(T[O]DO|F[I]XME|X[X]X)([^A-Za-z]|$)'
find_words 'a path of one machine' '(^|[ =(,:<]"?)/(w[o]rk|h[o]me|Users|mnt|scratch|data)/[a-z]'
find_words 'an address' '(^|[^0-9.])(10|127|172|192)\.[0-9]+\.[0-9]+\.[0-9]+'
find_words 'a host' '[a-z0-9]\.(internal|corp|lan|intranet)([^a-z]|$)'
find_words 'a CR or a blank at the end' "[ 	$(printf '\r')]\$"

public='www\.apache\.org|docs\.nvidia\.com|rocm\.docs\.amd\.com'
public="$public|www\.amd\.com|gpuopen\.com|llvm\.org|www\.sqlite\.org"
public="$public|github\.com|json-schema\.org|www\.w3\.org|s3\."
# This machine, and text before a password.
public="$public|localhost|user|[a-z0-9.-]*\.example"
tr '\n' '\0' <"$scratch/files" |
    xargs -0 grep -InoE 'https?://[A-Za-z0-9._-]+' /dev/null |
    grep -vE "https?://($public)\$" >"$scratch/found"
while read -r line; do
    bad "a host that is no public documentation: $line"
done <"$scratch/found"

for file in $(grep -E '\.(c|h|cc|hip|sh|py|m4|mk|sql|ac|am|[13])$' \
    "$scratch/files"); do
    head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
        bad "$file: no SPDX line in its first three lines"
done
finish
