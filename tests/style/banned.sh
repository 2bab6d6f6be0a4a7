#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# No banned functions, and no state outside of handles: every writable object of
# the library and the CLI is listed in state.allow with its reason.
. "$(dirname "$0")/lib.sh"
cd "$top_srcdir" || exit 1
make_scratch

names='sprintf|vsprintf|strcpy|strcat|system|popen|gets|mktemp|tmpnam'
for file in $(project_files | grep -E '\.(c|h|cc|inc)$'); do
    # Names in comments and strings are allowed.
    sed -e 's/"\([^"\\]\|\\.\)*"/""/g' -e 's|/\*.*\*/||' -e 's|//.*||' \
        -e '/^ *\/\*/d' -e '/^ *\* /d' "$file" |
        grep -nE "(^|[^A-Za-z0-9_.>])($names) *\(" |
        sed "s|^|$file:|" || :
done >"$scratch/banned"
# No code of the library runs at exit or when it is unloaded.
grep -nE '\<(atexit|on_exit|at_quick_exit|pthread_atfork|__attribute__ *\(\((con|de)structor)' \
    $(project_files | grep -E '^(src|cache|include)/.*\.[ch]$') \
    >>"$scratch/banned" || :
while read -r line; do
    bad "banned: $line"
done <"$scratch/banned"

case ${GROAT_SANITIZE-no} in
no) ;;
*)
    [ "$failures" -eq 0 ] &&
        skip "state: objects of a -fsanitize build carry the sanitizer's own"
    finish
    ;;
esac

# .data.rel.ro is constant after the loader has relocated it.
find "$top_builddir/src" "$top_builddir/cache" "$top_builddir/kernels-src" \
    -name '*.o' 2>/dev/null | sort |
    while read -r object; do
        $OBJDUMP -t "$object" |
            awk -v file="${object#"$top_builddir"/}" '
            NF > 4 && $(NF - 2) ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ &&
            $(NF - 2) !~ /^\.data\.rel\.ro/ && ($0 ~ / O / || ($(NF - 2) ~ /^\.t/ && $NF !~ /^\.t/)) {
                name = $NF
                sub(/\.[0-9]+$/, "", name)
                print file, name, $(NF - 2)
            }'
    done | sort -u | while read -r file name section; do
    grep -q "^$name " "$top_srcdir/tests/style/state.allow" ||
        echo "$file: $name is writable state ($section)"
done >"$scratch/state"
while read -r line; do
    bad "$line"
done <"$scratch/state"
finish
