#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat judge on inline PTX: what its instructions compute, and what is found of
# rules that they break.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/judge_common.sh"

cd "$work" || exit 1
needs "${GROAT_CXX:-c++}"

# ---- a tile of a product, as hand-written kernels compute it

cat >product.cu <<'END'
#include <cuda_fp16.h>
#include <stdint.h>
#define COPY(to, from, bytes)                                                  \
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"( \
                     to),                                                      \
                 "l"(from), "n"(bytes))
#define COMMIT() asm volatile("cp.async.commit_group;\n" ::)
#define WAIT(n)  asm volatile("cp.async.wait_group %0;\n" ::"n"(n))

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    uint32_t a;
    asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }"
        : "=r"(a) : "l"(p));
    return a;
}

__global__ void k(const half *A, const half *B, float *C, half *D)
{
    __shared__ half a_tile[16 * 16], b_tile[8 * 16];
    const int t = threadIdx.x;
    uint32_t a[4], b[2], h[2] = {0, 0};
    float c[4] = {0, 0, 0, 0};

    COPY(shared_address(a_tile + t * 8), A + t * 8, 16);
    if (t < 16)
        COPY(shared_address(b_tile + t * 8), B + t * 8, 16);
    COMMIT();
    WAIT(0);
    __syncthreads();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(
                     a_tile + (t % 16) * 16 + t / 16 * 8)));
    asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"(shared_address(b_tile + (t % 8) * 16 + t / 8 % 2 * 8)));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 "
                 "{%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                 : "+r"(h[0]), "+r"(h[1]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    for (int i = 0; i < 4; i++) {
        const int at = (t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2;
        C[at] = c[i];
        D[at] = reinterpret_cast<half *>(h)[i];
    }
}
END
run_product() {
    judged=$1
    shift
    "$@" judge "$judged" --block 32 --buffer A=16,16 --buffer B=8,16 --buffer C=16,8:out \
        --buffer D=16,8:out --input A=A.raw --input B=B.raw --output C=C.raw --output D=D.raw
}
if command -v python3 >/dev/null; then
    python3 - <<'END'
import random, struct
random.seed(3)
for name, count in ("A.raw", 256), ("B.raw", 128):
    numbers = [random.randrange(-64, 65) / 16 for _ in range(count)]
    open(name, "wb").write(struct.pack("%de" % count, *numbers))
END
    run_product product.cu expect "copies, matrices and products" 0
    python3 - <<'END' && pass "are those of the float64 product" || fail "are those of the product"
import struct
read = lambda name, code: struct.unpack(
    "%d%s" % (len(open(name, "rb").read()) // struct.calcsize(code), code), open(name, "rb").read())
a, b, c, d = read("A.raw", "e"), read("B.raw", "e"), read("C.raw", "f"), read("D.raw", "e")
half = lambda x: struct.unpack("e", struct.pack("e", x))[0]
for i in range(16):
    for j in range(8):
        products = [a[16 * i + k] * b[16 * j + k] for k in range(16)]
        assert c[8 * i + j] == sum(products), (i, j)
        assert d[8 * i + j] == half(sum(products[:8])), (i, j)
END
else
    skip "copies, matrices and products: there is no python3"
fi
broken() {
    sed "$2" product.cu >broken.cu
    expect "$1" 1 judge broken.cu --block 32 --buffer A=16,16 --buffer B=8,16 \
        --buffer C=16,8:out --buffer D=16,8:out
    callers "$1 is told" "$3"
}
broken "no wait for a copy" '/WAIT(0)/s/.*//' "(here at broken.cu:31"
broken "a wait that is too weak" 's/WAIT(0)/WAIT(1)/' "(here at broken.cu:31"
broken "an address between rows" 's/(t % 8) \* 16/&+4/' "(here at broken.cu:35"
broken "a copy past the end" 's/A + t \* 8/A + t * 8 + 8/' "that is A[16, 0]"
sed 's/__shared__ half a_tile\[16/&+8/; s/a_tile + t \* 8/&+4/' product.cu >broken.cu
expect "a copy between words" 1 judge broken.cu --block 32 --buffer A=16,16 --buffer B=8,16 \
    --buffer C=16,8:out --buffer D=16,8:out
says "is told" "(here at broken.cu:25"

# ---- instructions by themselves

right "registers, predicates, words and functions" --buffer x=32:f32 --buffer y=32:out \
    --buffer "flag=1:u32 inout zeros" --output y=got <<'END'
#include <cuda_fp16.h>
#define QUICK(y, x) asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x))
__global__ void k(const float *x, unsigned *y, unsigned *flag)
{
    const unsigned t = threadIdx.x;
    unsigned lane, bits, low, sum = 0;
    float two, one, a, b, c, d;
    __half2 h = __floats2half2_rn(1.5f, 2.f);
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("lop3.b32 %0, %1, %2, %3, 0x6a;" // (a & b) ^ c
                 : "=r"(bits) : "r"(0xff00u), "r"(0x0ff0u), "r"(0xffffu));
    QUICK(two, 1.f);
    asm("{\n\t.reg .pred p, q;\n\tsetp.ne.u32 p, %1, 3;\n\tmov.b32 %0, 7;\n\t"
        "@!p mov.b32 %0, 9;\n\t}" : "=r"(low) : "r"(t));
    asm("mov.f32 %0, 0f3F800000;" : "=f"(one));
    asm("fma.rn.f16x2 %0, %1, %1, %1;" : "=r"(*(unsigned *)&h) : "r"(*(unsigned *)&h));
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4+16];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x));
    asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
    __shared__ float4 tile[32];
    const unsigned place = (unsigned)__cvta_generic_to_shared(tile + t);
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(place), "f"(a), "f"(b),
                 "f"(c), "f"(d));
    asm volatile("bar.sync 0;");
#if __CUDA_ARCH__ >= 800
    asm volatile("ld.shared.f32 %0, [%1+8];" : "=f"(c) : "r"(place));
#else
    asm volatile("bra there;");
#endif
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(sum) : "l"(flag) : "memory");
    const bool good = lane == t && bits == 0xf0ffu && two == 2 && low == (t == 3 ? 9 : 7) &&
                      one == 1 && __low2float(h) == 3.75f && __high2float(h) == 6 &&
                      a == x[4] && d == x[7] && c == x[6] && sum == 32;
    asm volatile("st.global.u32 [%0], %1;" ::"l"(y + t), "r"(good ? 1 : 2) : "memory");
}
END
[ "$(od -An -tu4 -v got | tr -s ' \n' ' ' | tr -d 1)" = "$(printf '%33s' '')" ] &&
    pass "all are right" || fail "all are right" "$(od -An -tu4 got)"
right "bits, types of instructions, operands that are evaluated once" \
    --buffer y=32:out --output y=got <<'END'
__global__ void k(int *y)
{
    unsigned w, v;
    float f, g;
    unsigned long long wide;
    int i = 5, bad = 0;
    bool on = true;
    asm("mov.b32 %0, %1;" : "=r"(w) : "f"(1.5f));
    bad |= (w != 0x3fc00000) << 0;
    asm("mov.b32 %0, %1;" : "=f"(f) : "r"(0x40000000u));
    bad |= (f != 2) << 1;
    asm("mov.b64 %0, %1;" : "=l"(wide) : "d"(1.5));
    bad |= (wide != 0x3ff8000000000000ull) << 2;
    asm("{ .reg .b32 t; add.f32 t, %1, %2; mov.b32 %0, t; }" : "=f"(f) : "f"(1.5f), "f"(1.25f));
    bad |= (f != 2.75f) << 3;
    asm("{ .reg .pred p; setp.lt.u32 p, 0, %1; mov.b32 %0, 1; @p mov.b32 %0, 2; }"
        : "=r"(w) : "r"(-1));
    asm("{ .reg .pred p; setp.lt.s32 p, %1, 1; mov.b32 %0, 1; @p mov.b32 %0, 2; }"
        : "=r"(v) : "r"(0xffffffffu));
    bad |= (w != 2 || v != 2) << 4;
    asm("{ .reg .pred p; setp.ne.f32 p, %1, %1; mov.b32 %0, 1; @p mov.b32 %0, 2; }"
        : "=r"(w) : "f"(nanf("")));
    bad |= (w != 1) << 5;
    asm("add.u64 %0, 1, %1;" : "=l"(wide) : "l"(0x100000001ull));
    bad |= (wide != 0x100000002ull) << 6;
    asm("cvt.u64.u32 %0, %1;" : "=l"(wide) : "r"(-1));
    bad |= (wide != 0xffffffffull) << 7;
    asm("add.u32 %0, %1, %1;" : "=r"(w) : "r"(i++ /* once */)); // and no more
    bad |= (w != 10 || i != 6) << 8;
    asm("{ add.u32 %0, %1, 1; add.u32 %0, %0, %1; }" : "=r"(i) : "r"(i));
    bad |= (i != 13) << 9;
    asm("// a comment\n\tadd.s32 %0, %1, 1 /* another */" : "=r"(i) : "r"(on));
    bad |= (i != 2) << 10;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(f) : "f"(-130.f));
    asm("ex2.approx.f32 %0, %1;" : "=f"(g) : "f"(-130.f));
    bad |= (f != 0 || g == 0) << 11;
    asm volatile("bar.sync 3, %0;" ::"r"(32));
#if __CUDA_ARCH__ >= 1000
    asm volatile("tcgen05.fence;");
#endif
    y[threadIdx.x] = bad;
}
END
[ "$(od -An -v -td4 got | tr -d ' 0\n')" = "" ] && pass "are PTX's" ||
    fail "are PTX's" "$(od -An -td4 got)"
right "predicates of a copy, sums in words" --buffer x=128:i32 --buffer y=128:out <<'END'
__global__ void k(const int4 *x, int4 *y)
{
    __shared__ int4 s[32];
    const unsigned to = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
    unsigned c[4] = {0, 0, 0, 0x3f800000}, d[4];
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0;\n"
                 "cp.async.cg.shared.global [%0], [%1], 16, p; }"
                 ::"r"(to), "l"(x + threadIdx.x), "r"((int)threadIdx.x & 1));
    asm volatile("cp.async.wait_all;");
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %4, %4, %4}, {%4, %4}, {%5, %6, %7, %8};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(0), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    y[threadIdx.x] = s[threadIdx.x];
    assert(d[3] == c[3]);
    assert(threadIdx.x & 1 ? s[threadIdx.x].x == 0 : s[threadIdx.x].x == x[threadIdx.x].x);
}
END
wrong "a variable's address for one of shared memory" "convert it" --buffer x=32 --buffer y=32 <<'END'
__global__ void k(const float *x, float *y)
{
    __shared__ float s[32];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"l"(s + threadIdx.x),
                 "l"(x + threadIdx.x));
    asm volatile("cp.async.wait_all;");
    y[threadIdx.x] = s[threadIdx.x];
}
END
cat >k.cu <<'END'
__global__ void k(const float *x, float *y)
{
    float a;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(a) : "l"(x));
    y[threadIdx.x] = a;
}
END
expect "a null pointer" 1 judge k.cu --block 32 --buffer x=null --buffer y=32
callers "is told" "at address 0x0"
wrong "a short copy past the first cache" "less than 16 bytes" --buffer x=32 --buffer y=32 <<'END'
__global__ void k(const float *x, float *y)
{
    __shared__ float s[32];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 8;"
                 ::"r"((unsigned)__cvta_generic_to_shared(s + threadIdx.x / 2 * 2)),
                 "l"(x + threadIdx.x / 2 * 2));
    y[threadIdx.x] = 0;
}
END
wrong "a load past the end" "that is x[32]" --buffer x=32:f32 --buffer y=32:out <<'END'
__global__ void k(const float *x, float *y)
{
    float a;
    asm volatile("ld.global.f32 %0, [%1+4];" : "=f"(a) : "l"(x + threadIdx.x));
    y[threadIdx.x] = a;
}
END
wrong "a barrier of more threads" "multiples of 32 up to the block's 32 are possible" --buffer y=32 <<'END'
__global__ void k(float *y)
{
    asm volatile("bar.sync 1, 64;");
    y[threadIdx.x] = 1;
}
END
barriers() {
    cat <<'END'
__global__ void k(int *y)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x % 32 < 16) {
        asm volatile("bar.sync 0;" ::: "memory");
        y[threadIdx.x] = s[threadIdx.x ^ 1];
    } else {
        asm volatile("bar.sync 0;" ::: "memory");
        y[threadIdx.x] = s[threadIdx.x ^ 2];
    }
}
END
}
barriers | wrong "an aligned barrier in two branches" "waits at another barrier than thread 0" \
    --buffer y=64:out
says "its own text is quoted" '      | asm volatile("bar.sync 0;" ::: "memory");'
barriers | sed 's/bar/barrier/' |
    right "one that is not aligned" --buffer y=64:out
hints() {
    cat <<'END'
#if __CUDACC_VER_MAJOR__ >= 11
#define HINT(bytes) ".L2::" #bytes "B"
#else
#define HINT(bytes)
#endif
#define END " [%0], [%1], 16;"
__global__ void k(const float4 *x, float4 *y)
{
    __shared__ float4 s[32];
    asm volatile("cp.async.cg.shared.global" HINT(128) END
                 ::"r"((unsigned)__cvta_generic_to_shared(s + threadIdx.x)), "l"(x + threadIdx.x));
    asm volatile("cp.async.wait_all;");
    y[threadIdx.x] = s[threadIdx.x];
}
END
}
hints | right "a text of macros" --buffer x=128 --buffer y=128:out
for change in 's/"B"$/OTHER/' 's/END$/LAST/'; do
    hints | sed "$change" >k.cu
    expect "no text of a macro, $change" 4 judge k.cu --block 32 --buffer x=32 --buffer y=32
    says "is told at its line, $change" "k.cu:10:"
done
cat >k.cu <<'END'
#define LOAD(kind, to, from) asm("ld.global." kind " %0, [%1];" : "=f"(to) : "l"(from))
#define FENCE() asm volatile("" ::: "memory")
#define TAKE(at, bits) asm("mov.f32 %0, %1;" : "=f"(at) : "f"(bits))
__global__ void k(float *y)
{
    float a;
    FENCE();
    TAKE(a, y[0]);
    y[1] = a;
#ifdef LOADS
    LOAD("f32", a, y);
#endif
}
END
expect "a macro that is not used" 0 judge k.cu --block 1 --buffer y=2
sed 's/ifdef/ifndef/' k.cu >used.cu
expect "one that is used" 4 judge used.cu --block 1 --buffer y=2
says "is told at its line" "used.cu:11:"
says "is told why" "asm_that_is_not_read"
right "words, pairs, coordinates and logic" --buffer y=32:out --output y=got <<'END'
#include <cstdint>
__global__ void k(unsigned *y)
{
    unsigned a, b, bad = 0, t;
    unsigned long long w, p;
    float f;
    asm("mov.b64 %0, {%1, %2};" : "=l"(w) : "r"(3u), "r"(7u));
    bad |= (w != (7ull << 32 | 3)) << 0;
    asm("mov.b64 {%0, %1}, %2;" : "=r"(a), "=r"(b) : "l"(w));
    bad |= (a != 3 || b != 7) << 1;
    asm("mov.u32 %0, %%tid.x;" : "=r"(t));
    bad |= (t != threadIdx.x) << 2;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(a) : "f"(1.f), "f"(2.f));
    bad |= (a != 0x3f804000) << 3;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(a) : "f"(1.f), "f"(2.f));
    bad |= (a != 0x3c004000) << 4;
    asm("shl.b32 %0, %1, 5;" : "=r"(a) : "r"(t));
    asm("xor.b32 %0, %1, 0xff;" : "=r"(b) : "r"(a));
    bad |= (a != t << 5 || b != (a ^ 0xff)) << 5;
    asm("max.f32 %0, %1, %2;" : "=f"(f) : "f"(-1.f), "f"(3.f));
    bad |= (f != 3) << 6;
    asm("mad.lo.u32 %0, %1, 3, 4;" : "=r"(a) : "r"(t));
    bad |= (a != 3 * t + 4) << 7;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(p));
    asm("shr.u32 %0, %1, 40;" : "=r"(a) : "r"(~0u));
    bad |= (a != 0) << 8;
    asm("mov.u32 %0, %%ctaid.y;" : "=r"(a));
    bad |= (a != 0) << 9;
    y[t] = bad;
}
END
[ "$(od -An -v -tu4 got | tr -d ' \n')" = 00000000000000000000000000000000 ] && pass "are PTX's, too" ||
    fail "are PTX's, too" "$(od -An -tu4 got)"
finish
