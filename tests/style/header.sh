#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Each header compiles alone without warnings, in C99, C11, C++11 and, if
# installed, with Rust's bindgen; the kernels' tensor map is the public type,
# included before it, after it and alone.
. "$(dirname "$0")/lib.sh"
make_scratch
set -- -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
    -I"$top_builddir/include" -I"$top_srcdir/include"
for header in "$top_srcdir"/include/*.h; do
    name=$(basename "$header")
    echo "#include <$name>" >>"$scratch/all.h"
    echo "#include <$name>" >"$scratch/alone.c"
    cp "$scratch/alone.c" "$scratch/alone.cc"
    $CC -std=c99 "$@" "$scratch/alone.c" || bad "$name alone, as C99"
    $CC -std=c11 "$@" "$scratch/alone.c" || bad "$name alone, as C11"
    $CXX -std=c++11 "$@" "$scratch/alone.cc" || bad "$name alone, as C++11"
done
if command -v bindgen >/dev/null 2>&1; then
    bindgen --allowlist-function 'groat_.*' --default-enum-style rust \
        "$scratch/all.h" -o "$scratch/groat.rs" -- \
        -I"$top_builddir/include" -I"$top_srcdir/include" \
        >"$scratch/log" 2>&1 || bad "bindgen: $(tail -n 5 "$scratch/log")"
    grep -qi 'warning\|error' "$scratch/log" &&
        bad "bindgen: $(tail -n 5 "$scratch/log")"
    for function in $(api_functions); do
        grep -q "pub fn $function *(" "$scratch/groat.rs" ||
            bad "bindgen gives no $function()"
    done
    if command -v rustc >/dev/null 2>&1; then
        rustc --crate-type lib --cap-lints allow -o "$scratch/groat.rlib" \
            "$scratch/groat.rs" || bad 'rustc refuses what bindgen gives'
    fi
fi

# Both headers guard one definition of the map: a second would not compile.
map=$top_srcdir/kernels-src/common/tensor_map.h
cat >"$scratch/use" <<'END'
typedef struct args { long long x; groat_tensor_map map; } args;
typedef char bytes[sizeof(args) == 192 ? 1 : -1];
END
for order in "groat_tensor.h tensor_map.h" "tensor_map.h groat_tensor.h" \
    tensor_map.h; do
    for name in $order; do
        case $name in
        groat_tensor.h) echo '#include <groat_tensor.h>' ;;
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
    "$top_srcdir/include/groat_tensor.h" | grep -v '^$')
[ "$own" = "$public" ] || bad 'groat_tensor.h and common/tensor_map.h differ'
finish
