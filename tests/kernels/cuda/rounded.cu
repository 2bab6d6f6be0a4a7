// SPDX-License-Identifier: Apache-2.0
// What CUDA's roundings other than to nearest, and operations on the parts of a
// word give, a row of 32 lanes for each, for tests/cli/judge_names.sh: rounded.txt
// has the checksums of the rows that an H100 wrote.
struct row {
    unsigned long long *at;

    __device__ void put(unsigned long long value)
    {
        at[threadIdx.x] = value;
        at += 32;
    }
};

__global__ void rounded(const unsigned *x, unsigned long long *y)
{
    const unsigned a = x[threadIdx.x], b = x[31 - threadIdx.x];
    const unsigned c = x[(threadIdx.x + 7) % 32] ^ a << 3;
    const float f = __uint_as_float(a), g = __uint_as_float(b);
    const float h = __uint_as_float(c);
    const double d = __hiloint2double((int)b, (int)a);
    row r = {y};
    r.put(__float_as_uint(__fadd_rd(f, g)));
    r.put(__float_as_uint(__fadd_rd(g, h)));
    r.put(__float_as_uint(__fsub_rd(f, g)));
    r.put(__float_as_uint(__fsub_rd(g, h)));
    r.put(__float_as_uint(__fmul_rd(f, g)));
    r.put(__float_as_uint(__fmul_rd(g, h)));
    r.put(__float_as_uint(__fdiv_rd(f, g)));
    r.put(__float_as_uint(__fdiv_rd(g, h)));
    r.put(__float_as_uint(__fmaf_rd(f, g, h)));
    r.put(__float_as_uint(__fmaf_rd(g, f, h)));
    r.put(__float_as_uint(__frcp_rd(f)));
    r.put(__float_as_uint(__frcp_rd(g)));
    r.put(__float_as_uint(__fsqrt_rd(f)));
    r.put(__float_as_uint(__fsqrt_rd(h)));
    r.put(__float_as_uint(__int2float_rd((int)a)));
    r.put(__float_as_uint(__uint2float_rd(a)));
    r.put(__float_as_uint(__double2float_rd(d)));
    r.put(__float_as_uint(__fadd_ru(f, g)));
    r.put(__float_as_uint(__fadd_ru(g, h)));
    r.put(__float_as_uint(__fsub_ru(f, g)));
    r.put(__float_as_uint(__fsub_ru(g, h)));
    r.put(__float_as_uint(__fmul_ru(f, g)));
    r.put(__float_as_uint(__fmul_ru(g, h)));
    r.put(__float_as_uint(__fdiv_ru(f, g)));
    r.put(__float_as_uint(__fdiv_ru(g, h)));
    r.put(__float_as_uint(__fmaf_ru(f, g, h)));
    r.put(__float_as_uint(__fmaf_ru(g, f, h)));
    r.put(__float_as_uint(__frcp_ru(f)));
    r.put(__float_as_uint(__frcp_ru(g)));
    r.put(__float_as_uint(__fsqrt_ru(f)));
    r.put(__float_as_uint(__fsqrt_ru(h)));
    r.put(__float_as_uint(__int2float_ru((int)a)));
    r.put(__float_as_uint(__uint2float_ru(a)));
    r.put(__float_as_uint(__double2float_ru(d)));
    r.put(__float_as_uint(__fadd_rz(f, g)));
    r.put(__float_as_uint(__fadd_rz(g, h)));
    r.put(__float_as_uint(__fsub_rz(f, g)));
    r.put(__float_as_uint(__fsub_rz(g, h)));
    r.put(__float_as_uint(__fmul_rz(f, g)));
    r.put(__float_as_uint(__fmul_rz(g, h)));
    r.put(__float_as_uint(__fdiv_rz(f, g)));
    r.put(__float_as_uint(__fdiv_rz(g, h)));
    r.put(__float_as_uint(__fmaf_rz(f, g, h)));
    r.put(__float_as_uint(__fmaf_rz(g, f, h)));
    r.put(__float_as_uint(__frcp_rz(f)));
    r.put(__float_as_uint(__frcp_rz(g)));
    r.put(__float_as_uint(__fsqrt_rz(f)));
    r.put(__float_as_uint(__fsqrt_rz(h)));
    r.put(__float_as_uint(__int2float_rz((int)a)));
    r.put(__float_as_uint(__uint2float_rz(a)));
    r.put(__float_as_uint(__double2float_rz(d)));
    r.put(__vadd2(a, b));
    r.put(__vsub2(a, b));
    r.put(__vmaxs2(a, b));
    r.put(__vmaxu2(a, b));
    r.put(__vmins2(a, b));
    r.put(__vminu2(a, b));
    r.put(__vabsdiffs2(a, b));
    r.put(__vabsdiffu2(a, b));
    r.put(__vavgs2(a, b));
    r.put(__vavgu2(a, b));
    r.put(__vhaddu2(a, b));
    r.put(__vcmpeq2(a, b));
    r.put(__vcmpne2(a, b));
    r.put(__vcmpgts2(a, b));
    r.put(__vcmpgtu2(a, b));
    r.put(__vcmpges2(a, b));
    r.put(__vcmpgeu2(a, b));
    r.put(__vcmplts2(a, b));
    r.put(__vcmpltu2(a, b));
    r.put(__vcmples2(a, b));
    r.put(__vcmpleu2(a, b));
    r.put(__vseteq2(a, b));
    r.put(__vsetne2(a, b));
    r.put(__vsetgts2(a, b));
    r.put(__vsetgtu2(a, b));
    r.put(__vaddss2(a, b));
    r.put(__vaddus2(a, b));
    r.put(__vsubss2(a, b));
    r.put(__vsubus2(a, b));
    r.put(__vabs2(a));
    r.put(__vneg2(a));
    r.put(__vadd4(a, b));
    r.put(__vsub4(a, b));
    r.put(__vmaxs4(a, b));
    r.put(__vmaxu4(a, b));
    r.put(__vmins4(a, b));
    r.put(__vminu4(a, b));
    r.put(__vabsdiffs4(a, b));
    r.put(__vabsdiffu4(a, b));
    r.put(__vavgs4(a, b));
    r.put(__vavgu4(a, b));
    r.put(__vhaddu4(a, b));
    r.put(__vcmpeq4(a, b));
    r.put(__vcmpne4(a, b));
    r.put(__vcmpgts4(a, b));
    r.put(__vcmpgtu4(a, b));
    r.put(__vcmpges4(a, b));
    r.put(__vcmpgeu4(a, b));
    r.put(__vcmplts4(a, b));
    r.put(__vcmpltu4(a, b));
    r.put(__vcmples4(a, b));
    r.put(__vcmpleu4(a, b));
    r.put(__vseteq4(a, b));
    r.put(__vsetne4(a, b));
    r.put(__vsetgts4(a, b));
    r.put(__vsetgtu4(a, b));
    r.put(__vaddss4(a, b));
    r.put(__vaddus4(a, b));
    r.put(__vsubss4(a, b));
    r.put(__vsubus4(a, b));
    r.put(__vabs4(a));
    r.put(__vneg4(a));
}
