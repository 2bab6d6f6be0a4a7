#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# README.md has 150 lines at most, and links of pages lead to existing files.
# The C example of README.md, between the markers "example" and "/example", is
# short, compiles unchanged against this build and runs on the cpu.
# The picture of attention is that of the numbers beside it.
. "$(dirname "$0")/lib.sh"
readme=$top_srcdir/README.md
[ -f "$readme" ] || skip 'there is no README.md'
make_scratch
lines=$(wc -l <"$readme")
[ "$lines" -le 150 ] || bad "README.md has $lines lines, 150 allowed"
(cd "$top_srcdir" && project_files | grep '\.md$') | while read -r page; do
    folder=$top_srcdir/$(dirname "$page")
    grep -o '](\([^)#:]*\))' "$top_srcdir/$page" | sed 's/^](//; s/)$//' |
        while read -r link; do
            [ -e "$folder/$link" ] || echo "$page links to $link, which is not there"
        done
done >"$scratch/links"
while read -r line; do
    bad "$line"
done <"$scratch/links"
bench=$top_srcdir/tests/bench
python3 "$bench/attention_plot.py" "$bench/attention.jsonl" >"$scratch/plot.svg"
cmp -s "$scratch/plot.svg" "$top_srcdir/doc/attention.svg" ||
    bad 'doc/attention.svg is not what tests/bench/attention_plot.py draws'
awk '/<!-- example -->/ { on = 1; next }
    /<!-- \/example -->/ { on = 0 }
    on && /^```c$/ { code = 1; next }
    on && /^```$/ { code = 0 }
    on && code' "$readme" >"$scratch/example.c"
[ -s "$scratch/example.c" ] || {
    bad 'README.md has no ```c block between its example markers'
    finish
}
lines=$(wc -l <"$scratch/example.c")
[ "$lines" -le 25 ] || bad "the example of README.md has $lines lines, 25 allowed"
libs=$top_builddir/.libs
$CC -std=c11 -Wall -Wextra -Werror ${GROAT_SANITIZE_FLAGS-} \
    -I"$top_srcdir/include" -I"$top_builddir/include" \
    -I"$top_srcdir/kernels-src" "$scratch/example.c" \
    -L"$libs" -lgroat -o "$scratch/example" || {
    bad 'the example of README.md does not compile'
    finish
}
cd "$scratch" || exit 1
GROAT_CACHE_DIR=$scratch/cache LD_LIBRARY_PATH=$libs \
    "$scratch/example" cpu:gfx950 || bad "the example of README.md said $?"
finish
