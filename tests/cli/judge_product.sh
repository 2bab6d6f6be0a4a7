#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat judge on a kernel for sm_90a that copies boxes and multiplies them with
# wgmma, tests/kernels/cuda/product.cu, and on versions of it with a fault.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/judge_common.sh"

cd "$work" || exit 1
needs "${GROAT_CXX:-c++}"
needs python3

python3 - <<'END'
import random, struct
random.seed(5)
bf16 = lambda x: struct.unpack("<I", struct.pack("<f", x))[0] >> 16
a, b = ([[random.randint(-4, 4) for _ in range(256)] for _ in range(64)] for _ in "ab")
for name, m in ("a.raw", a), ("b.raw", b):
    open(name, "wb").write(b"".join(struct.pack("<H", bf16(x)) for row in m for x in row))
open("c.raw", "wb").write(struct.pack("<4096f", *(
    sum(x * y for x, y in zip(r, s)) for r in a for s in b)))
END

# product NAME CODE [FORM-OF-A]: judges ./product.cu.
product() {
    name=$1 code=$2
    form=${3-bf16 in box(64, 64) swizzle(128)}
    expect "$name" "$code" judge product.cu --entry product --block 160 --buffer "a=64,256:$form" \
        --buffer "b=64,256:bf16 in box(64, 64) swizzle(128)" --buffer "c=64,64:f32 out exact" \
        --arg steps=4 --input a=a.raw --input b=b.raw --expect c=c.raw
}

# broken NAME EDIT TEXT: a version of it with an edit is told with the text.
broken() {
    broken_name=$1
    sed "$2" "$top_srcdir/tests/kernels/cuda/product.cu" >product.cu
    cmp -s product.cu "$top_srcdir/tests/kernels/cuda/product.cu" &&
        fail "$broken_name: is an edit" "$2"
    product "$broken_name" 1
    says "$broken_name: is told" "$3"
}

cp "$top_srcdir/tests/kernels/cuda/product.cu" .
product "copies of boxes and their products" 0
answers "are right" "verified  yes, all 16384 bytes"
product "no box" 2 "bf16 in"
says "is told" "has no box, the elements that a copy takes; expected --buffer a=SHAPE:DTYPE box(SHAPE)"
product "no type" 2 " in box(64, 64)"
says "is told, too" "has no known element type"
product "a box past what a copy takes" 2 "bf16 in box(64, 512)"
says "is told as well" "512"
product "a pattern that is none" 2 "bf16 in box(64, 64) swizzle(96)"
says "is told with what there is" "96"
product "another pattern" 1 "bf16 in box(64, 64)"
answers "gives other numbers" "bytes are wrong"
product "a smaller box" 1 "bf16 in box(32, 64) swizzle(128)"
says "brings fewer bytes" "of 16384 expected bytes"
expect "a map that is not given" 2 judge product.cu --entry product --block 160
says "is told how" "parameter a of product, a tensor map, is not given: say --buffer a=SHAPE:DTYPE box(SHAPE)"
expect "a map as a number" 2 judge product.cu --entry product --block 160 --arg a=1
says "is refused" "--arg a is a tensor map"
# Seen on an H200, with a descriptor's base offset of 0.
sed 's/alignas(1024)/alignas(128)/' "$top_srcdir/tests/kernels/cuda/product.cu" >product.cu
product "a tile within its pattern" 0
answers "is right, too" "verified  yes, all 16384 bytes"
# Seen on an H200: no warp's wait returns before all four have issued.
sed 's/"r"(128)/"r"(1)/; s/^\( *\)arrive(&empty/\1if (threadIdx.x == 0) arrive(\&empty/' \
    "$top_srcdir/tests/kernels/cuda/product.cu" >product.cu
product "one thread releases a slot for its warpgroup" 0
answers "is right, too" "verified  yes, all 16384 bytes"
sed 's/const __grid_constant__ CUtensorMap a/const CUtensorMap a/' \
    "$top_srcdir/tests/kernels/cuda/product.cu" >product.cu
product "a map that is no __grid_constant__" 2
says "is refused, too" "parameter a is a tensor map without __grid_constant__"

broken "no wait for the products" 's/asm volatile("wgmma.wait_group.*/;/' \
    "which a wgmma of waves 0 to 3 still reads: one's wgmma.wait_group, or a release behind it, is missing"
broken "no group of products" 's/asm volatile("wgmma.commit_group.*/;/' "one's wgmma.wait_group, or"
broken "no fence of the sums" 's/asm volatile("wgmma.fence.*/;/' "since the last wgmma.fence: one is missing"
broken "sums that are read too early" 's/asm volatile("wgmma.wait_group.*/d[0] += 1; &/' \
    "reads sums that a wgmma is still adding to: wgmma.wait_group comes later"
broken "sums that are written behind the fence" 's/asm volatile("wgmma.fence.*/& d[0] = 0;/' \
    "since the last wgmma.fence: one is missing"
broken "no wait for the copies" 's/wait(&full.*/;/' "multiplies by"
broken "a release too early" 's/wait(&full.*/& arrive(\&empty[slot]);/' "still reads"
broken "half of the bytes expected" 's/2 \* side \* side \* 2/side * side * 2/' \
    "copies of 16384 bytes were issued, 8192 expected"
broken "a box between 16 bytes" 's/copy(&a, .*side \* s/&+4/' "boxes begin at multiples of 16 bytes"
broken "a store that the engine does not see" 's/__syncthreads();/rows[0][t] = 0; &/' \
    "fence.proxy.async between is missing"
broken "sums in variables" 's/float d\[32\];/float d[32], one;/; s/"+f"(d\[5\])/"+f"(one)/; s/(d\[5\])/(one)/' \
    "variables that are no array of floats"

# ---- A in registers, which is as mma.sync has it

cat >k.cu <<'END'
#include <cstdint>
#ifdef NARROW
#define MULTIPLY(d, a, b) \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0, %1, %2, %3}, " \
        "{%4, %5, %6, %7}, %8, 0, 1, 1;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#else
#define MULTIPLY(d, a, b) \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, " \
        "{%4, %5, %6, %7}, %8, 0, 1, 1, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#endif
// Rows of 32 bytes: 64 of A, 8 of B.
__global__ void k(const uint32_t *x, const uint32_t *y, float *z)
{
    __shared__ alignas(16) uint32_t columns[64];
    const int t = threadIdx.x, row = t / 32 * 16 + t % 32 / 4;
    uint32_t a[4];
    float d[4];

    if (t < 64) // two matrices of 8 rows of 16 bytes, one for each half of k
        columns[t % 8 / 4 * 32 + t / 8 * 4 + t % 4] = y[t];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    for (int i = 0; i < 4; i++)
        a[i] = x[(row + 8 * (i % 2)) * 8 + i / 2 * 4 + t % 4];
    const uint64_t b = (uint64_t)((uint32_t)__cvta_generic_to_shared(columns) >> 4) |
                       (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    MULTIPLY(d, a, b);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; i++)
        z[(row + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = d[i];
}
END
python3 - <<'END'
import random, struct
random.seed(7)
bf16 = lambda x: struct.pack("<f", x)[2:]
e4m3 = {0: 0, 1: 0x38, 2: 0x40, -1: 0xb8, .5: 0x30, -3: 0xc4}
for name, k, code in ("wide", 16, bf16), ("narrow", 32, lambda x: bytes([e4m3[x]])):
    a, b = ([[random.choice(list(e4m3)) for _ in range(k)] for _ in range(rows)] for rows in (64, 8))
    for what, m in ("a", a), ("b", b):
        open(what + "." + name, "wb").write(b"".join(code(x) for row in m for x in row))
    open("c." + name, "wb").write(struct.pack("<512f", *(
        sum(x * y for x, y in zip(r, s)) for r in a for s in b)))
END
sed '1i #define NARROW' k.cu >narrow.cu
for name in wide:k narrow:narrow; do
    expect "A in registers, ${name%:*}" 0 judge "${name#*:}.cu" --block 128 --buffer "x=64,8:u32 in" \
        --buffer "y=8,8:u32 in" --buffer "z=64,8:f32 out exact" --input x=a."${name%:*}" \
        --input y=b."${name%:*}" --expect z=c."${name%:*}"
    answers "gives the product" "verified  yes, all 2048 bytes"
done

# ---- faults that the numbers alone tell

# wrong_numbers NAME EDIT: one whose numbers alone tell.
wrong_numbers() {
    sed "$2" "$top_srcdir/tests/kernels/cuda/product.cu" >product.cu
    product "$1" 1
    answers "$1: gives other numbers" "bytes are wrong"
}
wrong_numbers "a wrong stride" 's/1024 >> 4/512 >> 4/'
wrong_numbers "a transposed operand" 's/p, 1, 1, 0, 0/p, 1, 1, 0, 1/'
wrong_numbers "sums that begin anew" 's/s + k > 0/k > 0/'
finish
