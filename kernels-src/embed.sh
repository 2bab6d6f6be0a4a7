#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints a C file that holds every kernel source file of the folder given:
#     sh embed.sh KERNELS_SRC > embedded.c
# Files that no kernel's compiler gets (those of driver/, params.h) stay out.  A file
# is a text of any bytes but NUL, which would end it.
set -eu
LC_ALL=C
export LC_ALL
cd "$1"

files=$(find . -path ./driver -prune -o -type f \( -name '*.h' -o -name params.def \) \
        ! -name params.h -print | sed 's|^\./||' | sort)

printf '/* Made by kernels-src/embed.sh; do not edit. */\n'
printf '#include "spec/family.h"\n\n#include <string.h>\n'
number=0
for file in $files; do
    tr -d '\000' <"$file" | cmp -s - "$file" || {
        echo "embed.sh: $1/$file: a NUL byte, or it cannot be read" >&2
        exit 1
    }
    number=$((number + 1))
    # Bytes above 127 are no char where that has a sign.
    printf '\n/* %s */\nstatic const unsigned char file_%d[] = {\n' \
        "$file" "$number"
    od -An -v -tu1 "$file" | sed -e 's/  */,/g' -e 's/^,/    /' -e 's/$/,/'
    printf '    0};\n'
done
printf '\nstatic const groat__embedded_file files[] = {\n'
number=0
for file in $files; do
    number=$((number + 1))
    printf '    {"%s", (const char *)file_%d},\n' "$file" "$number"
done
printf '};\n\n'
cat <<'END'
const groat__embedded_file *groat__embedded_at(size_t index)
{
    return index < sizeof(files) / sizeof(files[0]) ? &files[index] : NULL;
}

const char *groat__embedded_find(const char *path)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (strcmp(files[i].path, path) == 0)
            return files[i].text;
    return NULL;
}
END
