#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat.h needs nothing before it, in C11 and in C++11.
. "$(dirname "$0")/lib.sh"
make_scratch
echo '#include <groat.h>' >"$scratch/alone.c"
cp "$scratch/alone.c" "$scratch/alone.cc"
set -- -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
    -I"$top_builddir/include" -I"$top_srcdir/include"
$CC -std=c11 "$@" "$scratch/alone.c" || bad 'groat.h alone, as C11'
$CXX -std=c++11 "$@" "$scratch/alone.cc" || bad 'groat.h alone, as C++11'
finish
