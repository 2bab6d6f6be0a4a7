// SPDX-License-Identifier: Apache-2.0
// What CUDA's functions of whole numbers, bits and lanes give, a row of 32 lanes
// for each, for tests/cli/judge_names.sh: names.txt has the checksums of the rows
// that an H200 wrote.
struct row {
    unsigned long long *at;

    __device__ void put(unsigned long long value)
    {
        at[threadIdx.x] = value;
        at += 32;
    }
};

__global__ void names(const unsigned *x, unsigned long long *y)
{
    const unsigned a = x[threadIdx.x], b = x[31 - threadIdx.x];
    const unsigned c = x[(threadIdx.x + 7) % 32] ^ a << 3;
    const unsigned long long wide = (unsigned long long)a << 32 | b;
    const unsigned long long other = (unsigned long long)c << 32 | a;
    const float f = __uint_as_float(a);
    const double d = __hiloint2double((int)b, (int)a);
    const unsigned all = 0xffffffffu;
    const unsigned half = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
    row r = {y};
    int same;
    r.put(__clz((int)a));
    r.put(__clzll((long long)wide));
    r.put(__brev(a));
    r.put(__brevll(wide));
    r.put(__popc(a));
    r.put(__popcll(wide));
    r.put(__ffs((int)a));
    r.put(__ffsll((long long)wide));
    r.put(__byte_perm(a, b, c));
    r.put(__umulhi(a, b));
    r.put(__mulhi((int)a, (int)b));
    r.put(__umul64hi(wide, other));
    r.put(__mul64hi((long long)wide, (long long)other));
    r.put(__mul24((int)a, (int)b));
    r.put(__umul24(a, b));
    r.put(__sad((int)a, (int)b, c));
    r.put(__usad(a, b, c));
    r.put(__hadd((int)a, (int)b));
    r.put(__rhadd((int)a, (int)b));
    r.put(__uhadd(a, b));
    r.put(__urhadd(a, b));
    r.put(__dp4a((int)a, (int)b, (int)c));
    r.put(__dp4a(a, b, c));
    r.put(__funnelshift_l(a, b, c));
    r.put(__funnelshift_lc(a, b, c));
    r.put(__funnelshift_r(a, b, c));
    r.put(__funnelshift_rc(a, b, c));
    r.put(__float2int_rn(f));
    r.put(__float2int_rz(f));
    r.put(__float2int_ru(f));
    r.put(__float2int_rd(f));
    r.put(__float2uint_rn(f));
    r.put(__float2uint_rz(f));
    r.put(__float2uint_ru(f));
    r.put(__float2uint_rd(f));
    r.put(__float2ll_rn(f));
    r.put(__float2ll_rz(f));
    r.put(__float2ull_rn(f));
    r.put(__float2ull_rz(f));
    r.put(__double2int_rn(d));
    r.put(__double2int_rz(d));
    r.put(__double2uint_rn(d));
    r.put(__double2uint_rz(d));
    r.put(__double2ll_rn(d));
    r.put(__double2ll_rz(d));
    r.put(__double2ull_rn(d));
    r.put(__double2ull_rz(d));
    r.put(__float_as_uint(__int2float_rn((int)a)));
    r.put(__float_as_uint(__uint2float_rn(a)));
    r.put(__float_as_uint(__ll2float_rn((long long)wide)));
    r.put(__float_as_uint(__ull2float_rn(wide)));
    r.put(__double_as_longlong(__int2double_rn((int)a)));
    r.put(__double_as_longlong(__uint2double_rn(a)));
    r.put(__double_as_longlong(__ll2double_rn((long long)wide)));
    r.put(__double_as_longlong(__ull2double_rn(wide)));
    r.put(__float_as_uint(__double2float_rn(__int2double_rn((int)a) * 1.7)));
    r.put(__double2hiint(__longlong_as_double((long long)wide)));
    r.put(__double2loint(__longlong_as_double((long long)wide)));
    r.put(__float_as_uint(__saturatef(f)));
    r.put(__match_any_sync(all, a & 3));
    r.put(__match_any_sync(half, wide & 7));
    r.put(__match_any_sync(half, (float)(a & 1)));
    r.put(__match_all_sync(all, a & 0, &same) + same);
    r.put(__match_all_sync(all, a, &same) + same);
    r.put(__match_all_sync(half, threadIdx.x / 16, &same) + same);
    r.put(__shfl_sync(all, a, (int)b));
    r.put(__shfl_sync(all, wide, (int)b, 8));
    r.put(__shfl_up_sync(all, a, b % 32, 16));
    r.put(__shfl_down_sync(all, a, b % 32, 16));
    r.put(__shfl_xor_sync(all, a, (int)(threadIdx.x * 0 + 5), 8));
    r.put(__ballot_sync(half, (int)(a & 1)));
    r.put(__reduce_add_sync(half, a));
    r.put(__reduce_min_sync(half, (int)a));
    r.put(__reduce_max_sync(half, a));
    r.put(__reduce_xor_sync(half, a));
    r.put(abs((int)a));
    r.put(min((int)a, (int)b));
    r.put(max(a, b));
    r.put(llabs((long long)wide));
}
