#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The scripts of kernels-src: embed.sh preserves every byte of a kernel file and
# refuses what it cannot preserve, defaults.sh fails where groat fails.
. "$(dirname "$0")/lib.sh"
: "${GROAT:=$top_builddir/groat}"
make_scratch
embed=$top_srcdir/kernels-src/embed.sh
kernels=$scratch/kernels
mkdir -p "$kernels/f" "$kernels/common"

# Every byte but NUL, a file without a final line end, and an empty file.
awk 'BEGIN { for (i = 1; i < 256; i++) printf "%c", i }' >"$kernels/f/f.h"
[ "$(wc -c <"$kernels/f/f.h")" -eq 255 ] || skip "this awk writes no bytes"
: >"$kernels/common/empty.h"
echo 'family f "s"' >"$kernels/f/params.def"
echo 'not embedded' | tee "$kernels/f/params.h" >"$kernels/f/host.c"
cat >"$scratch/main.c" <<'END'
#include <stdio.h>
#include "spec/family.h"
int main(int argc, char **argv)
{
    const char *text = argc > 1 ? groat__embedded_find(argv[1]) : NULL;

    for (size_t i = 0; argc == 1 && groat__embedded_at(i) != NULL; i++)
        puts(groat__embedded_at(i)->path);
    return argc > 1 && (text == NULL || fputs(text, stdout) < 0);
}
END
sh "$embed" "$kernels" >"$scratch/embedded.c" || bad "embed.sh fails"
if $CC -std=c11 -Wall -Wextra -Wconversion -Werror -D_GNU_SOURCE \
    -I"$top_srcdir/src" -I"$top_srcdir/include" -I"$top_builddir/include" \
    "$scratch/main.c" "$scratch/embedded.c" -o "$scratch/main"; then
    "$scratch/main" >"$scratch/list"
    printf 'common/empty.h\nf/f.h\nf/params.def\n' | cmp -s - "$scratch/list" ||
        bad "embedded are: $(tr '\n' ' ' <"$scratch/list")"
    while read -r file; do
        "$scratch/main" "$file" | cmp -s - "$kernels/$file" ||
            bad "$file is not what it was"
    done <"$scratch/list"
else
    bad "what embed.sh made does not compile"
fi

printf 'int x;\0int y;\n' >"$kernels/f/nul.h"
sh "$embed" "$kernels" >/dev/null 2>"$scratch/log" &&
    bad "embed.sh takes a file with a NUL byte"
grep -q 'f/nul.h' "$scratch/log" || bad "embed.sh does not name the file"

if [ -x "$GROAT" ]; then
    sh "$top_srcdir/kernels-src/defaults.sh" "$GROAT" no_such_family \
        >/dev/null 2>&1 && bad "defaults.sh makes something of no family"
fi
finish
