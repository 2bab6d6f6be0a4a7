#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every function of the library that is called with an object refuses NULL.
. "$(dirname "$0")/common.sh"
build=$(cd "${top_builddir:-$tree/build}" && pwd)
LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

if ! command -v python3 >/dev/null; then
    echo "SKIP: python3, which reads the headers, was not found"
    exit 77
fi
# Flags are lists of words.
if python3 "$tree/tests/tools/nulls.py" "$tree"/include/groat*.h >"$work/nulls.c" &&
    ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror ${GROAT_SANITIZE_FLAGS-} \
        -I"$tree/include" -I"$build/include" "$work/nulls.c" -L"$build/.libs" \
        -lgroat -o "$work/nulls" 2>"$err"; then
    pass 'the program compiles'
else
    fail 'the program compiles' "$(head -c 600 "$err")"
    finish
fi
if "$work/nulls" >"$out" 2>&1 && grep -qx '[89][0-9] functions, 0 wrong' "$out"; then
    pass 'NULL is refused'
else
    fail 'NULL is refused' "$(head -c 600 "$out")"
fi
finish
