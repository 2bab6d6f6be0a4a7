#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# C functions have at most 60 lines, files 900 and public headers 600.  A
# function starts at a "{" in the first column and ends at the next "}" there;
# clang-format ensures this.
. "$(dirname "$0")/lib.sh"
cd "$top_srcdir" || exit 1
make_scratch
project_files | grep -E '\.(c|h|cc|hip|sh|py)$' | while read -r file; do
    awk -v file="$file" '
    /^\{$/ && last !~ /^(namespace|struct|class|union|extern|enum)/ {
        start = NR; name = head
    }
    /^\}/ && start {
        if (NR - start - 1 > 60 && file ~ /\.[ch]$/)
            print file ":" start ": function of " NR - start - 1 \
                " lines, 60 allowed: " name
        start = 0
    }
    { last = $0 }
    /^[A-Za-z_].*\(/ { head = $0 }
    END {
        most = file ~ /^include\// ? 600 : 900
        if (NR > most) print file ": " NR " lines, " most " allowed"
    }' "$file"
done >"$scratch/found"
while read -r line; do
    bad "$line"
done <"$scratch/found"
finish
