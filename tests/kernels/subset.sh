#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What common/atomics.h, convert.h, lanes.h, mma_sync.h, mfma(), dot4(), GROAT_PRINT,
# narrow accesses and the maps of run.def promise: the kernels of tests/kernels/atomics,
# numbers, lanes, products, matrices, integers and boxes run on the judge's archs, or on
# GROAT_TEST_TARGET, against their references, and compile for every vendor whose
# compiler is here.
. "$(dirname "$0")/../scratch.sh"
command -v "${GROAT_CXX:-c++}" >/dev/null 2>&1 || {
    echo "SKIP: there is no C++ compiler for reference.c"
    exit 77
}
specs="integers lanes lanes:threads=256"
for number in e4m3 e5m2 e4m3fnuz e5m2fnuz f16 bf16; do
    specs="$specs numbers:number=$number"
done
for op in add min max min_signed max_signed exchange add_float cas; do
    specs="$specs atomics:op=$op atomics:op=$op,scope=system
        atomics:op=$op,scope=block"
done
products="products:number=bf16 products:number=f16
    products:number=bf16,transposed=true products:number=f16,transposed=true"
narrow="products:number=e4m3 products:number=e5m2"
matrices=
for number in bf16 f16; do
    matrices="$matrices matrices:number=$number matrices:number=$number,m=16"
done
boxes="boxes boxes:rows=32,swizzle=64 boxes:rows=32,swizzle=32 boxes:swizzle=0"

# matrices_of NUMBER NUMBER BYTES...
matrices_of() {
    one=$1 other=$2
    shift 2
    for bytes in "$@"; do
        for m in 16 32; do
            echo "matrices:number=$one,m=$m,bytes=$bytes"
            echo "matrices:number=$other,m=$m,bytes=$bytes"
        done
    done
}

# specs_of TARGET: what it can run, as words.
specs_of() {
    case $1 in
    *:gfx90a) echo "$specs $matrices" ;;
    *:gfx942) matrices_of e4m3fnuz e5m2fnuz 8 ;;
    *:gfx950) echo "$specs $matrices" && matrices_of e4m3 e5m2 8 32 &&
        matrices_of bf16 f16 16 ;;
    *:sm_80) echo "$specs $products" ;;
    *:sm_89) echo "$narrow" ;;
    *) echo "$specs $products $narrow $boxes" ;;
    esac
}

for target in ${GROAT_TEST_TARGET:-cpu:sm_80 cpu:sm_89 cpu:sm_90a cpu:gfx90a cpu:gfx942 cpu:gfx950}; do
    set --
    for spec in $(specs_of "$target"); do
        set -- "$@" "$top_srcdir/tests/kernels/$spec"
    done
    "$groat" run "$@" --target "$target" >"$scratch/out" 2>"$scratch/err" || {
        echo "FAIL: $target"
        cat "$scratch/err" "$scratch/out"
        exit 1
    }
    verified=$(grep -c 'verified  yes' "$scratch/out")
    [ "$verified" -eq $# ] || {
        echo "FAIL: $verified of $# are verified on $target"
        exit 1
    }
    case $target in
    *:sm_89 | *:gfx942) ;;
    cpu:*) grep -q '^cycle 1024, first word [0-9]' "$scratch/err" || {
        echo "FAIL: nothing is printed on $target"
        exit 1
    } ;;
    esac
done
for target in cuda:sm_80 cuda:sm_89 cuda:sm_90a hip:gfx90a hip:gfx942 hip:gfx950; do
    set --
    for spec in $(specs_of "$target"); do
        set -- "$@" "$top_srcdir/tests/kernels/$spec"
    done
    run=
    program=$groat
    case $target in
    hip:gfx942 | hip:gfx950)
        # Debian's hipRTC does not know them; under the C library of hipRTC 7
        # LeakSanitizer blames its loader.
        real=${groat%/*}/.libs/${groat##*/}
        [ -z "${GROAT_HIPRTC7-}" ] || [ ! -x "$real" ] ||
            [ "${GROAT_SANITIZE:-no}" != no ] ||
            run=$GROAT_HIPRTC7/run program=$real
        ;;
    esac
    LD_LIBRARY_PATH=${run:+${program%/*}:}${LD_LIBRARY_PATH-} \
        ${run:+"$run"} "$program" build "$@" --target $target \
        >"$scratch/out" 2>"$scratch/err"
    code=$?
    case $code in
    0) ;;
    3) echo "skipped: $target: $(head -n 1 "$scratch/err")" ;;
    *)
        echo "FAIL: build for $target"
        cat "$scratch/err"
        exit 1
        ;;
    esac
done
