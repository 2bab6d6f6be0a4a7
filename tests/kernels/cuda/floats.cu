// SPDX-License-Identifier: Apache-2.0
// What CUDA's floats of 16 and 8 bits give, a row of 32 lanes for each, for
// tests/cli/judge_names.sh: floats.txt has the checksums of the rows that an H100
// wrote.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

struct row {
    unsigned long long *at;

    __device__ void put(unsigned long long value)
    {
        at[threadIdx.x] = value;
        at += 32;
    }
};

__device__ unsigned of_pair(__half2 x)
{
    return (unsigned)__half_as_ushort(__high2half(x)) << 16 |
           __half_as_ushort(__low2half(x));
}

__device__ unsigned of_pair(__nv_bfloat162 x)
{
    return (unsigned)__bfloat16_as_ushort(__high2bfloat16(x)) << 16 |
           __bfloat16_as_ushort(__low2bfloat16(x));
}

__global__ void floats(const unsigned *x, unsigned long long *y)
{
    const unsigned all = 0xffffffffu;
    const unsigned a = x[threadIdx.x], other = x[31 - threadIdx.x];
    const unsigned third = x[(threadIdx.x + 7) % 32] * 2654435761u;
    const unsigned long long wide = (unsigned long long)a << 32 | other;
    const float f = __uint_as_float(third), g = __uint_as_float(a);
    const double d = __hiloint2double((int)other, (int)a);
    const __half ha = __ushort_as_half((unsigned short)(a >> 16));
    const __half hb = __ushort_as_half((unsigned short)other);
    const __half hc = __ushort_as_half((unsigned short)third);
    const __half2 hp = __halves2half2(ha, hc), hq = __halves2half2(hb, ha);
    const __half2 hs = __halves2half2(hc, hb);
    const __nv_bfloat16 na = __ushort_as_bfloat16((unsigned short)(a >> 16));
    const __nv_bfloat16 nb = __ushort_as_bfloat16((unsigned short)other);
    const __nv_bfloat16 nc = __ushort_as_bfloat16((unsigned short)third);
    const __nv_bfloat162 np = __halves2bfloat162(na, nc);
    const __nv_bfloat162 nq = __halves2bfloat162(nb, na);
    const __nv_bfloat162 ns = __halves2bfloat162(nc, nb);
    __nv_fp8_e4m3 eight_e4m3;
    __nv_fp8_e5m2 eight_e5m2;
    row r = {y};
    eight_e4m3.__x = (unsigned char)a;
    eight_e5m2.__x = (unsigned char)third;
    r.put(__half_as_ushort(__hadd(ha, hb)));
    r.put(__half_as_ushort(__hsub(ha, hb)));
    r.put(__half_as_ushort(__hmul(ha, hb)));
    r.put(__half_as_ushort(__hdiv(ha, hb)));
    r.put(__half_as_ushort(__hmax(ha, hb)));
    r.put(__half_as_ushort(__hmin(ha, hb)));
    r.put(__half_as_ushort(__hmax_nan(ha, hb)));
    r.put(__half_as_ushort(__hmin_nan(ha, hb)));
    r.put(__half_as_ushort(__hadd_sat(ha, hb)));
    r.put(__half_as_ushort(__hsub_sat(ha, hb)));
    r.put(__half_as_ushort(__hmul_sat(ha, hb)));
    r.put(__half_as_ushort(__hfma(ha, hb, hc)));
    r.put(__half_as_ushort(__hfma_sat(ha, hb, hc)));
    r.put(__half_as_ushort(__hfma_relu(ha, hb, hc)));
    r.put(__half_as_ushort(__hneg(ha)));
    r.put(__half_as_ushort(__habs(ha)));
    r.put(__half_as_ushort(hsqrt(ha)));
    r.put(__half_as_ushort(hfloor(ha)));
    r.put(__half_as_ushort(hceil(ha)));
    r.put(__half_as_ushort(htrunc(ha)));
    r.put(__half_as_ushort(hrint(ha)));
    r.put(__heq(ha, hb));
    r.put(__hequ(ha, hb));
    r.put(__hne(ha, hb));
    r.put(__hneu(ha, hb));
    r.put(__hlt(ha, hb));
    r.put(__hltu(ha, hb));
    r.put(__hle(ha, hb));
    r.put(__hleu(ha, hb));
    r.put(__hgt(ha, hb));
    r.put(__hgtu(ha, hb));
    r.put(__hge(ha, hb));
    r.put(__hgeu(ha, hb));
    r.put(__hisnan(ha));
    r.put(__hisinf(ha));
    r.put(__half_as_ushort(__float2half_rn(f)));
    r.put((unsigned long long)__half2int_rn(ha));
    r.put((unsigned long long)__half2uint_rn(ha));
    r.put((unsigned long long)__half2short_rn(ha));
    r.put((unsigned long long)__half2ushort_rn(ha));
    r.put((unsigned long long)__half2ll_rn(ha));
    r.put((unsigned long long)__half2ull_rn(ha));
    r.put(__half_as_ushort(__float2half_rz(f)));
    r.put((unsigned long long)__half2int_rz(ha));
    r.put((unsigned long long)__half2uint_rz(ha));
    r.put((unsigned long long)__half2short_rz(ha));
    r.put((unsigned long long)__half2ushort_rz(ha));
    r.put((unsigned long long)__half2ll_rz(ha));
    r.put((unsigned long long)__half2ull_rz(ha));
    r.put(__half_as_ushort(__float2half_rd(f)));
    r.put((unsigned long long)__half2int_rd(ha));
    r.put((unsigned long long)__half2uint_rd(ha));
    r.put((unsigned long long)__half2short_rd(ha));
    r.put((unsigned long long)__half2ushort_rd(ha));
    r.put((unsigned long long)__half2ll_rd(ha));
    r.put((unsigned long long)__half2ull_rd(ha));
    r.put(__half_as_ushort(__float2half_ru(f)));
    r.put((unsigned long long)__half2int_ru(ha));
    r.put((unsigned long long)__half2uint_ru(ha));
    r.put((unsigned long long)__half2short_ru(ha));
    r.put((unsigned long long)__half2ushort_ru(ha));
    r.put((unsigned long long)__half2ll_ru(ha));
    r.put((unsigned long long)__half2ull_ru(ha));
    r.put(__half_as_ushort(__double2half(d)));
    r.put(__half_as_ushort(__int2half_rn((int)a)));
    r.put(__half_as_ushort(__uint2half_rn(a)));
    r.put(__half_as_ushort(__short2half_rn((short)a)));
    r.put(__half_as_ushort(__ushort2half_rn((unsigned short)a)));
    r.put(__half_as_ushort(__ll2half_rn((long long)wide)));
    r.put(__half_as_ushort(__ull2half_rn(wide)));
    r.put(__float_as_uint(__half2float(ha)));
    r.put(of_pair(__hadd2(hp, hq)));
    r.put(of_pair(__hsub2(hp, hq)));
    r.put(of_pair(__hmul2(hp, hq)));
    r.put(of_pair(__hmax2(hp, hq)));
    r.put(of_pair(__hmin2(hp, hq)));
    r.put(of_pair(__h2div(hp, hq)));
    r.put(of_pair(__heq2(hp, hq)));
    r.put(of_pair(__hlt2(hp, hq)));
    r.put(of_pair(__hne2(hp, hq)));
    r.put(of_pair(__hge2(hp, hq)));
    r.put(of_pair(__hfma2(hp, hq, hs)));
    r.put(of_pair(__hneg2(hp)));
    r.put(of_pair(__habs2(hp)));
    r.put(__hblt2(hp, hq));
    r.put(__hbeq2(hp, hq));
    r.put(of_pair(__lows2half2(hp, hq)));
    r.put(of_pair(__highs2half2(hp, hq)));
    r.put(of_pair(__low2half2(hp)));
    r.put(of_pair(__high2half2(hp)));
    r.put(of_pair(__lowhigh2highlow(hp)));
    r.put(of_pair(__floats2half2_rn(f, g)));
    r.put(__float_as_uint(__low2float(hp)));
    r.put(__float_as_uint(__high2float(hp)));
    r.put(of_pair(__shfl_xor_sync(all, hp, 5)));
    r.put(__half_as_ushort(__shfl_sync(all, ha, 3)));
    r.put(__half_as_ushort(-ha));
    r.put(__half_as_ushort(ha / hb));
    r.put(__bfloat16_as_ushort(__hadd(na, nb)));
    r.put(__bfloat16_as_ushort(__hsub(na, nb)));
    r.put(__bfloat16_as_ushort(__hmul(na, nb)));
    r.put(__bfloat16_as_ushort(__hdiv(na, nb)));
    r.put(__bfloat16_as_ushort(__hmax(na, nb)));
    r.put(__bfloat16_as_ushort(__hmin(na, nb)));
    r.put(__bfloat16_as_ushort(__hmax_nan(na, nb)));
    r.put(__bfloat16_as_ushort(__hmin_nan(na, nb)));
    r.put(__bfloat16_as_ushort(__hadd_sat(na, nb)));
    r.put(__bfloat16_as_ushort(__hsub_sat(na, nb)));
    r.put(__bfloat16_as_ushort(__hmul_sat(na, nb)));
    r.put(__bfloat16_as_ushort(__hfma(na, nb, nc)));
    r.put(__bfloat16_as_ushort(__hfma_sat(na, nb, nc)));
    r.put(__bfloat16_as_ushort(__hfma_relu(na, nb, nc)));
    r.put(__bfloat16_as_ushort(__hneg(na)));
    r.put(__bfloat16_as_ushort(__habs(na)));
    r.put(__bfloat16_as_ushort(hsqrt(na)));
    r.put(__bfloat16_as_ushort(hfloor(na)));
    r.put(__bfloat16_as_ushort(hceil(na)));
    r.put(__bfloat16_as_ushort(htrunc(na)));
    r.put(__bfloat16_as_ushort(hrint(na)));
    r.put(__heq(na, nb));
    r.put(__hequ(na, nb));
    r.put(__hne(na, nb));
    r.put(__hneu(na, nb));
    r.put(__hlt(na, nb));
    r.put(__hltu(na, nb));
    r.put(__hle(na, nb));
    r.put(__hleu(na, nb));
    r.put(__hgt(na, nb));
    r.put(__hgtu(na, nb));
    r.put(__hge(na, nb));
    r.put(__hgeu(na, nb));
    r.put(__hisnan(na));
    r.put(__hisinf(na));
    r.put(__bfloat16_as_ushort(__float2bfloat16_rn(f)));
    r.put((unsigned long long)__bfloat162int_rn(na));
    r.put((unsigned long long)__bfloat162uint_rn(na));
    r.put((unsigned long long)__bfloat162short_rn(na));
    r.put((unsigned long long)__bfloat162ushort_rn(na));
    r.put((unsigned long long)__bfloat162ll_rn(na));
    r.put((unsigned long long)__bfloat162ull_rn(na));
    r.put(__bfloat16_as_ushort(__float2bfloat16_rz(f)));
    r.put((unsigned long long)__bfloat162int_rz(na));
    r.put((unsigned long long)__bfloat162uint_rz(na));
    r.put((unsigned long long)__bfloat162short_rz(na));
    r.put((unsigned long long)__bfloat162ushort_rz(na));
    r.put((unsigned long long)__bfloat162ll_rz(na));
    r.put((unsigned long long)__bfloat162ull_rz(na));
    r.put(__bfloat16_as_ushort(__float2bfloat16_rd(f)));
    r.put((unsigned long long)__bfloat162int_rd(na));
    r.put((unsigned long long)__bfloat162uint_rd(na));
    r.put((unsigned long long)__bfloat162short_rd(na));
    r.put((unsigned long long)__bfloat162ushort_rd(na));
    r.put((unsigned long long)__bfloat162ll_rd(na));
    r.put((unsigned long long)__bfloat162ull_rd(na));
    r.put(__bfloat16_as_ushort(__float2bfloat16_ru(f)));
    r.put((unsigned long long)__bfloat162int_ru(na));
    r.put((unsigned long long)__bfloat162uint_ru(na));
    r.put((unsigned long long)__bfloat162short_ru(na));
    r.put((unsigned long long)__bfloat162ushort_ru(na));
    r.put((unsigned long long)__bfloat162ll_ru(na));
    r.put((unsigned long long)__bfloat162ull_ru(na));
    r.put(__bfloat16_as_ushort(__double2bfloat16(d)));
    r.put(__bfloat16_as_ushort(__int2bfloat16_rn((int)a)));
    r.put(__bfloat16_as_ushort(__uint2bfloat16_rn(a)));
    r.put(__bfloat16_as_ushort(__short2bfloat16_rn((short)a)));
    r.put(__bfloat16_as_ushort(__ushort2bfloat16_rn((unsigned short)a)));
    r.put(__bfloat16_as_ushort(__ll2bfloat16_rn((long long)wide)));
    r.put(__bfloat16_as_ushort(__ull2bfloat16_rn(wide)));
    r.put(__float_as_uint(__bfloat162float(na)));
    r.put(of_pair(__hadd2(np, nq)));
    r.put(of_pair(__hsub2(np, nq)));
    r.put(of_pair(__hmul2(np, nq)));
    r.put(of_pair(__hmax2(np, nq)));
    r.put(of_pair(__hmin2(np, nq)));
    r.put(of_pair(__h2div(np, nq)));
    r.put(of_pair(__heq2(np, nq)));
    r.put(of_pair(__hlt2(np, nq)));
    r.put(of_pair(__hne2(np, nq)));
    r.put(of_pair(__hge2(np, nq)));
    r.put(of_pair(__hfma2(np, nq, ns)));
    r.put(of_pair(__hneg2(np)));
    r.put(of_pair(__habs2(np)));
    r.put(__hblt2(np, nq));
    r.put(__hbeq2(np, nq));
    r.put(of_pair(__lows2bfloat162(np, nq)));
    r.put(of_pair(__highs2bfloat162(np, nq)));
    r.put(of_pair(__low2bfloat162(np)));
    r.put(of_pair(__high2bfloat162(np)));
    r.put(of_pair(__lowhigh2highlow(np)));
    r.put(of_pair(__floats2bfloat162_rn(f, g)));
    r.put(__float_as_uint(__low2float(np)));
    r.put(__float_as_uint(__high2float(np)));
    r.put(of_pair(__shfl_xor_sync(all, np, 5)));
    r.put(__bfloat16_as_ushort(__shfl_sync(all, na, 3)));
    r.put(__bfloat16_as_ushort(-na));
    r.put(__bfloat16_as_ushort(na / nb));
    r.put(__nv_fp8_e4m3(f).__x);
    r.put(__float_as_uint(float(eight_e4m3)));
    r.put(__nv_fp8_e5m2(f).__x);
    r.put(__float_as_uint(float(eight_e5m2)));
}
