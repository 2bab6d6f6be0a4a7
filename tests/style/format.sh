#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# .clang-format applies to all C except the kernels'.
. "$(dirname "$0")/lib.sh"
cd "$top_srcdir" || exit 1
tool=${CLANG_FORMAT-}
[ -n "$tool" ] || tool=$(command -v clang-format) ||
    skip 'no clang-format here'
# shellcheck disable=SC2046 # names without blanks
found=$($tool --dry-run -Werror $(project_files | grep -E \
    '^(src|cache|include|tests|examples)/.*\.[ch]$|^kernels-src/[^/]*/host\.c$') 2>&1) ||
    bad "not as clang-format would have it: $found"
finish
