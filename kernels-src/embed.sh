#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints a C file that holds the files of a folder:
#     sh embed.sh KERNELS_SRC > embedded.c               what kernels are made of
#     sh embed.sh --templates KERNELS_SRC/new > new.c    what groat new copies
# Of the first, files that no kernel's compiler gets (those of driver/ and new/,
# params.h) stay out.  A file is a text of any bytes but NUL, which would end it.
set -eu
LC_ALL=C
export LC_ALL
templates=
if [ "$1" = --templates ]; then
    templates=1
    shift
fi
cd "$1"

if [ -n "$templates" ]; then
    files=$(find . -mindepth 2 -type f -print | sed 's|^\./||' | sort)
    include=cli/family/new.h
else
    files=$(find . -path ./driver -prune -o -path ./new -prune -o -type f \
            \( -name '*.h' -o -name params.def \) ! -name params.h -print |
        sed 's|^\./||' | sort)
    include=spec/family.h
fi

printf '/* Made by kernels-src/embed.sh; do not edit. */\n'
printf '#include "%s"\n\n#include <string.h>\n' "$include"
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
if [ -n "$templates" ]; then
    printf '\nconst groat__template groat__templates[] = {\n'
else
    printf '\nstatic const groat__embedded_file files[] = {\n'
fi
number=0
for file in $files; do
    number=$((number + 1))
    printf '    {"%s", (const char *)file_%d},\n' "$file" "$number"
done
if [ -n "$templates" ]; then
    printf '    {NULL, NULL},\n};\n'
    exit 0
fi
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
