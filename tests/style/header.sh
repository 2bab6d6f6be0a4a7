#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat.h and groat_serve.h need nothing before them, in C11 and in C++11; the
# tensor map that kernels have is its own, before it, behind it and alone.
. "$(dirname "$0")/lib.sh"
make_scratch
echo '#include <groat.h>' >"$scratch/alone.c"
cp "$scratch/alone.c" "$scratch/alone.cc"
set -- -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
    -I"$top_builddir/include" -I"$top_srcdir/include"
$CC -std=c11 "$@" "$scratch/alone.c" || bad 'groat.h alone, as C11'
$CXX -std=c++11 "$@" "$scratch/alone.cc" || bad 'groat.h alone, as C++11'

echo '#include <groat_serve.h>' >"$scratch/serve.c"
$CC -std=c11 "$@" "$scratch/serve.c" || bad 'groat_serve.h alone, as C11'

# A map is a map: one defined otherwise would be an error of the compiler.
map=$top_srcdir/kernels-src/common/tensor_map.h
cat >"$scratch/use" <<'END'
typedef struct args { long long x; groat_tensor_map map; } args;
typedef char bytes[sizeof(args) == 192 ? 1 : -1];
END
for order in "groat.h tensor_map.h" "tensor_map.h groat.h" tensor_map.h; do
    for name in $order; do
        case $name in
        groat.h) echo '#include <groat.h>' ;;
        *) echo "#include \"$map\"" ;;
        esac
    done | cat - "$scratch/use" >"$scratch/order.c"
    cp "$scratch/order.c" "$scratch/order.cc"
    $CC -std=c11 "$@" "$scratch/order.c" || bad "$order, as C11"
    $CXX -std=c++11 "$@" "$scratch/order.cc" || bad "$order, as C++11"
    $CXX -std=c++17 "$@" "$scratch/order.cc" || bad "$order, as C++17"
done
own=$(sed -n '/^#define GROAT_TENSOR_MAP$/,/^#endif$/p' "$map" | grep -v '^$')
public=$(sed -n '/^#define GROAT_TENSOR_MAP$/,/^#endif$/p' \
    "$top_srcdir/include/groat.h" | grep -v '^$')
[ "$own" = "$public" ] || bad 'groat.h and common/tensor_map.h differ'
finish
