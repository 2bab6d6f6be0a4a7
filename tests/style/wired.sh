#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every file of the tree is built, run and distributed: each C source, test,
# header and kernel file is listed in a local.mk.
. "$(dirname "$0")/lib.sh"
cd "$top_srcdir" || exit 1
for file in $(project_files | grep -E \
    '^(src|cache)/.*\.(c|h|def|inc|sql)$|^(kernels-src|examples)/|^tests/.*\.(c|h|hip|sh|py)$'); do
    case $file in
    */local.mk) continue ;;
    esac
    folder=${file%%/*}
    # A program of one file is listed by its name alone.
    name=${file#*/}
    case $folder in
    tests) name=${name%.c}'(\.c)?' ;;
    esac
    grep -qE "%D%/$name([ 	\\]|\$)" "$folder/local.mk" ||
        bad "$file stands in no local.mk"
done
finish
