// SPDX-License-Identifier: Apache-2.0
// What inline PTX gives, a row of 32 lanes for each, for tests/cli/judge_names.sh:
// ptx.txt has the input and the checksums of the rows that an H200 wrote.  The
// products are of small whole numbers, and so exact.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ unsigned mix(unsigned x, unsigned i)
{
    x = (x + i * 0x9e3779b9u) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

// Two small whole numbers as floats of 16 bits: f16, or bf16.
__device__ unsigned two(unsigned x, bool b)
{
    const float low = (float)(int)(x % 9) - 4, high = (float)(int)(x / 16 % 9) - 4;
    const __half2 h = __floats2half2_rn(low, high);
    const __nv_bfloat162 f = __floats2bfloat162_rn(low, high);
    unsigned word;
    memcpy(&word, b ? (const void *)&f : (const void *)&h, 4);
    return word;
}

// Four of the numbers 1, 2, -1 and 0 as floats of 8 bits: e4m3, or e5m2.
__device__ unsigned four(unsigned x, bool wide)
{
    const unsigned codes = wide ? 0x00bc403cu : 0x00b84038u;
    unsigned word = 0;
    for (int i = 0; i < 4; i++)
        word |= (codes >> 8 * (x >> 2 * i & 3) & 0xffu) << 8 * i;
    return word;
}

#define MATRIX4(at) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 " \
                 "{%0, %1, %2, %3}, [%4];" \
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(at))
#define MATRIX4T(at) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 " \
                 "{%0, %1, %2, %3}, [%4];" \
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(at))
#define MATRIX2(at) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 " \
                 "{%0, %1}, [%2];" \
                 : "=r"(m[0]), "=r"(m[1]) : "r"(at))
#define MATRIX2T(at) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 " \
                 "{%0, %1}, [%2];" \
                 : "=r"(m[0]), "=r"(m[1]) : "r"(at))
#define MATRIX1(at) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 " \
                 "{%0}, [%1];" \
                 : "=r"(m[0]) : "r"(at))
#define MATRIX1T(at) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 " \
                 "{%0}, [%1];" \
                 : "=r"(m[0]) : "r"(at))
#define PRODUCT_F16() \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
                 "{%10, %11, %12, %13};" \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), \
                   "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]))
#define PRODUCT_BF16() \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
                 "{%10, %11, %12, %13};" \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), \
                   "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]))
#define PRODUCT_E4M3() \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 " \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
                 "{%10, %11, %12, %13};" \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), \
                   "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]))
#define PRODUCT_E5M2() \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 " \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
                 "{%10, %11, %12, %13};" \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), \
                   "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]))
#define HALF_PRODUCT_F16() \
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " \
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "f"(c[0]), "f"(c[1]), "f"(c[2]), \
                   "f"(c[3]))
#define HALF_PRODUCT_BF16() \
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 " \
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "f"(c[0]), "f"(c[1]), "f"(c[2]), \
                   "f"(c[3]))

__global__ void ptx(const unsigned *x, unsigned long long *y)
{
    __shared__ __align__(16) unsigned s[512];
    const unsigned t = threadIdx.x;
    const unsigned p = x[t], q = mix(p, 1), o = mix(p, 2);
    const float f = (float)(int)(p % 1000) / 8 - 60, g = (float)(int)(q % 64) / 4 - 8;
    unsigned m[4], a[4], b[2], w;
    float c[4], d[4], e;
    row r = {y};
    for (unsigned i = t; i < 512; i += 32)
        s[i] = mix(x[i % 32], i);
    __syncthreads();

    const unsigned shared = (unsigned)__cvta_generic_to_shared(s);
    const unsigned line = shared + (t * 7 % 32) * 16;
    MATRIX4(line);
    r.put((unsigned long long)m[0] << 32 | m[1]);
    r.put((unsigned long long)m[2] << 32 | m[3]);
    MATRIX4T(line + 512);
    r.put((unsigned long long)m[0] << 32 | m[1]);
    r.put((unsigned long long)m[2] << 32 | m[3]);
    MATRIX2(line);
    r.put((unsigned long long)m[0] << 32 | m[1]);
    MATRIX2T(line);
    r.put((unsigned long long)m[0] << 32 | m[1]);
    MATRIX1(line);
    r.put(m[0]);
    MATRIX1T(line);
    r.put(m[0]);
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(w) : "r"(q));
    r.put(w);

    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(w) : "r"(p), "r"(q), "r"(o));
    r.put(w);
    asm("lop3.b32 %0, %1, %2, %3, 0x1b;" : "=r"(w) : "r"(p), "r"(q), "r"(o));
    r.put(w);
    asm("{ .reg .pred p; setp.lt.s32 p, %1, %2; mov.b32 %0, 5; @p mov.b32 %0, 6; "
        "@!p mov.u32 %0, 7; }" : "=r"(w) : "r"(p), "r"(q));
    r.put(w);
    asm("{ .reg .pred p; setp.lt.u32 p, %1, %2; mov.b32 %0, 5; @p mov.b32 %0, 6; "
        "@!p mov.u32 %0, 7; }" : "=r"(w) : "r"(p), "r"(q));
    r.put(w);
    asm("{ .reg .pred p; setp.ge.s32 p, %1, %2; mov.b32 %0, 5; @p mov.b32 %0, 6; "
        "@!p mov.u32 %0, 7; }" : "=r"(w) : "r"((int)p), "r"(-5));
    r.put(w);
    asm("{ .reg .pred p; setp.gt.u32 p, %1, %2; mov.b32 %0, 5; @p mov.b32 %0, 6; "
        "@!p mov.u32 %0, 7; }" : "=r"(w) : "r"((int)p), "r"(100000));
    r.put(w);
    asm("{ .reg .pred p; setp.eq.b32 p, %1, %2; mov.b32 %0, 5; @p mov.b32 %0, 6; "
        "@!p mov.u32 %0, 7; }" : "=r"(w) : "r"(p % 3), "r"(q % 3));
    r.put(w);
    asm("{ .reg .pred p; setp.ne.b32 p, %1, %2; mov.b32 %0, 5; @p mov.b32 %0, 6; "
        "@!p mov.u32 %0, 7; }" : "=r"(w) : "r"(p % 3), "r"(q % 3));
    r.put(w);
    asm("{ .reg .pred p; setp.le.f32 p, %1, %2; mov.b32 %0, 5; @p mov.b32 %0, 6; "
        "@!p mov.u32 %0, 7; }" : "=r"(w) : "f"(f), "f"(g));
    r.put(w);
    asm("add.u32 %0, %1, %2;" : "=r"(w) : "r"(p), "r"(q));
    r.put(w);
    asm("sub.s32 %0, %1, %2;" : "=r"(w) : "r"(p), "r"(q));
    r.put(w);
    asm("mul.f32 %0, %1, %2;" : "=f"(e) : "f"(f), "f"(g));
    r.put(__float_as_uint(e));
    asm("add.f32 %0, %1, 0f40490fdb;" : "=f"(e) : "f"(f));
    r.put(__float_as_uint(e));
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(e) : "f"(f), "f"(g), "f"(0.1f));
    r.put(__float_as_uint(e));
    asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(w) : "f"(4 * f));
    r.put(w);
    asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(w) : "f"(__uint_as_float(p)));
    r.put(w);
    asm("add.f16x2 %0, %1, %2;" : "=r"(w) : "r"(p & 0x7bff7bffu), "r"(two(q, false)));
    r.put(w);
    asm("sub.f16x2 %0, %1, %2;" : "=r"(w) : "r"(p & 0x7bff7bffu), "r"(two(q, false)));
    r.put(w);
    asm("mul.f16x2 %0, %1, %2;" : "=r"(w) : "r"(p & 0x7bff7bffu), "r"(two(q, false)));
    r.put(w);
    asm("fma.rn.f16x2 %0, %1, %2, %3;"
        : "=r"(w) : "r"(p & 0x3bff3bffu), "r"(two(q, false)), "r"(two(o, false)));
    r.put(w);
    asm("{ .reg .u32 low, high; mov.u32 low, %%laneid; add.u32 high, low, %1;\n\t"
        "add.u32 %0, high, 3; }" : "=r"(w) : "r"(p));
    r.put(w);

    for (int i = 0; i < 4; i++) {
        a[i] = two(mix(p, 10 + i), false);
        b[i % 2] = two(mix(p, 20 + i), false);
        c[i] = (float)(mix(p, 30 + i) % 9);
    }
    PRODUCT_F16();
    r.put((unsigned long long)__float_as_uint(d[0]) << 32 | __float_as_uint(d[1]));
    r.put((unsigned long long)__float_as_uint(d[2]) << 32 | __float_as_uint(d[3]));
    HALF_PRODUCT_F16();
    r.put((unsigned long long)__float_as_uint(d[0]) << 32 | __float_as_uint(d[1]));
    r.put((unsigned long long)__float_as_uint(d[2]) << 32 | __float_as_uint(d[3]));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, "
                 "{%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
                 : "=r"(m[0]), "=r"(m[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),
                   "r"(two(q, false)), "r"(two(o, false)));
    r.put((unsigned long long)m[0] << 32 | m[1]);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, "
                 "{%2, %3}, {%4}, {%5, %6};"
                 : "=r"(m[0]), "=r"(m[1])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(two(q, false)),
                   "r"(two(o, false)));
    r.put((unsigned long long)m[0] << 32 | m[1]);
    for (int i = 0; i < 4; i++) {
        a[i] = two(mix(p, 10 + i), true);
        b[i % 2] = two(mix(p, 20 + i), true);
    }
    PRODUCT_BF16();
    r.put((unsigned long long)__float_as_uint(d[0]) << 32 | __float_as_uint(d[1]));
    r.put((unsigned long long)__float_as_uint(d[2]) << 32 | __float_as_uint(d[3]));
    HALF_PRODUCT_BF16();
    r.put((unsigned long long)__float_as_uint(d[0]) << 32 | __float_as_uint(d[1]));
    r.put((unsigned long long)__float_as_uint(d[2]) << 32 | __float_as_uint(d[3]));
    for (int i = 0; i < 4; i++) {
        a[i] = four(mix(p, 10 + i), false);
        b[i % 2] = four(mix(p, 20 + i), false);
    }
    PRODUCT_E4M3();
    r.put((unsigned long long)__float_as_uint(d[0]) << 32 | __float_as_uint(d[1]));
    r.put((unsigned long long)__float_as_uint(d[2]) << 32 | __float_as_uint(d[3]));
    for (int i = 0; i < 4; i++) {
        a[i] = four(mix(p, 10 + i), true);
        b[i % 2] = four(mix(p, 20 + i), true);
    }
    PRODUCT_E5M2();
    r.put((unsigned long long)__float_as_uint(d[0]) << 32 | __float_as_uint(d[1]));
    r.put((unsigned long long)__float_as_uint(d[2]) << 32 | __float_as_uint(d[3]));

    int n[4];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%10, %11, %12, %13};"
                 : "=r"(n[0]), "=r"(n[1]), "=r"(n[2]), "=r"(n[3])
                 : "r"(p), "r"(q), "r"(o), "r"(mix(p, 3)), "r"(mix(p, 4)),
                   "r"(mix(p, 5)), "r"(100), "r"(-7), "r"((int)q), "r"((int)t));
    r.put((unsigned long long)(unsigned)n[0] << 32 | (unsigned)n[1]);
    r.put((unsigned long long)(unsigned)n[2] << 32 | (unsigned)n[3]);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+r"(n[0]), "+r"(n[1]), "+r"(n[2]), "+r"(n[3])
                 : "r"(p), "r"(q), "r"(o));
    r.put((unsigned long long)(unsigned)n[0] << 32 | (unsigned)n[1]);
    r.put((unsigned long long)(unsigned)n[2] << 32 | (unsigned)n[3]);
    asm volatile("shfl.sync.bfly.b32 %0, %1, 5, 0x1f, 0xffffffff;" : "=r"(w) : "r"(p));
    r.put(w);
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, -1;" : "=r"(w) : "r"(p), "r"(q % 32));
    r.put(w);
    asm volatile("shfl.sync.up.b32 %0, %1, 3, 0, -1;" : "=f"(e) : "f"(f));
    r.put(__float_as_uint(e));
    asm volatile("shfl.sync.down.b32 %0, %1, 9, 31, -1;" : "=f"(e) : "f"(f));
    r.put(__float_as_uint(e));

    __syncthreads();
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(line), "r"(p), "r"(q), "r"(o), "r"(t));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
                 ::"r"(line + 512), "r"(p), "r"(q));
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
                 ::"r"(line + 1024), "r"(o));
    __syncthreads();
    r.put((unsigned long long)s[t] << 32 | s[32 + t]);
    r.put((unsigned long long)s[64 + t] << 32 | s[96 + t]);
    r.put((unsigned long long)s[128 + t] << 32 | s[160 + t]);
    r.put((unsigned long long)s[192 + t] << 32 | s[224 + t]);
    r.put((unsigned long long)s[256 + t] << 32 | s[288 + t]);
    r.put((unsigned long long)s[320 + t] << 32 | s[352 + t]);
    __syncthreads();
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared + 1536 + 16 * t), "l"(x + 4 * (t % 8)),
                    "r"(t % 3 == 0 ? 8 : 16));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;"
                 :: "r"(shared + 512 + 8 * t), "l"(x + 2 * (t % 16)));
    asm volatile("cp.async.ca.shared.global [%0+1024], [%1], 4;"
                 :: "r"(shared + 4 * t), "l"(x + 31 - t));
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    r.put((unsigned long long)s[128 + t] << 32 | s[256 + t]);
    r.put((unsigned long long)s[160 + t] << 32 | s[384 + t]);
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(shared + 16 * (t + 96)));
    r.put((unsigned long long)__float_as_uint(d[0]) << 32 | __float_as_uint(d[3]));
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4+16];"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "l"(x + 4 * (t % 7)));
    r.put((unsigned long long)__float_as_uint(d[1]) << 32 | __float_as_uint(d[2]));
}
