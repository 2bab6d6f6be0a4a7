#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat judge on structures, overloads and other forms of C++.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/judge_common.sh"

cd "$work" || exit 1
needs "${GROAT_CXX:-c++}"

# ---- structures in memory, by value

cat >k.cu <<'END'
struct pair { float a, b; };
struct tile { float v[12]; };
__device__ pair product(pair p, pair q) { return pair{p.a * q.a, p.b * q.b}; }
__device__ tile widened(float v) { tile t; for (float &x : t.v) x = v; return t; }
__global__ void late(const pair *x, pair *y)
{
    __shared__ pair s[32];
    s[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = product(s[31 - threadIdx.x], x[threadIdx.x]);
}
__global__ void past(const pair *x, pair *y)
{
    y[threadIdx.x] = product(x[threadIdx.x + 1], x[threadIdx.x]);
}
__global__ void twice(float *y)
{
    __shared__ pair s[1];
    s[0] = pair{(float)threadIdx.x, 1};
    __syncthreads();
    y[threadIdx.x] = s[0].a;
}
__global__ void result(float *y)
{
    __shared__ tile s[2];
    s[0] = widened(threadIdx.x);
    __syncthreads();
    y[threadIdx.x] = s[0].v[3];
}
__global__ void sound(const pair *x, pair *y)
{
    __shared__ pair s[32];
    __shared__ tile t[32];
    s[threadIdx.x] = x[threadIdx.x];
    t[threadIdx.x] = widened(threadIdx.x);
    __syncthreads();
    y[threadIdx.x] = product(s[31 - threadIdx.x], pair{t[threadIdx.x ^ 1].v[11], 1});
}
END
for fault in "late:9" "past:13" "twice:18" "result:25"; do
    case ${fault%:*} in
    late | past) set -- --buffer x=32,2:f32 --buffer y=32,2:f32 ;;
    *) set -- --buffer y=32 ;;
    esac
    expect "structures: ${fault%:*}" 1 judge k.cu --entry "${fault%:*}" --block 32 "$@"
    answers "structures: ${fault%:*}: where" "here at k.cu:${fault#*:}"
    says "structures: ${fault%:*}: its name" "k.cu:${fault#*:} in ${fault%:*}"
done
expect "structures that are right" 0 judge k.cu --entry sound --block 32 \
    --buffer x=32,2:f32 --buffer y=32,2:f32

# ---- other forms

wrong "an index far past a buffer" "301 elements past the end of x[16, 64]" \
    --buffer x=16,64 --buffer y=16,64 <<'END'
__global__ void k(const float *x, float *y)
{
    if (threadIdx.x < 16)
        y[threadIdx.x] = x[16 * 64 + threadIdx.x * 8 + 300];
}
END
right "a print beside what nobody has written, unused" --buffer "y=32:f32 inout ramp" <<'END'
__global__ void k(float *y)
{
    __shared__ float s[40];
    s[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    const float a = s[threadIdx.x], b = s[threadIdx.x + 8];
    y[threadIdx.x] = 2 * a + (threadIdx.x < 24 ? b : 1.0f);
    if (threadIdx.x == 0)
        printf("%g\n", s[3]);
}
END
right "inline twice" --buffer y=32 <<'END'
__device__ __forceinline__ inline float square(float x) { return x * x; }
static __inline__ __device__ __forceinline__ float cube(float x) { return x * square(x); }
__global__ void k(float *y) { y[threadIdx.x] = cube(threadIdx.x); }
END
right "a launch of host code with a lambda for the device" --buffer y=32 --arg a=2 <<'END'
template <typename F> __global__ void map(float *y, F f) { y[threadIdx.x] = f(y[threadIdx.x]); }
__global__ void k(float *y, float a) { y[threadIdx.x] *= a; }
void launch(float *y)
{
    map<<<1, 32>>>(y, [] __device__(float v) { return v + 1; });
}
END
wrong "a warp's barrier that is missing" "a barrier of the warp or the block is missing" \
    --buffer y=32:i32 <<'END'
__global__ void k(int *y)
{
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    __syncwarp();
    for (int i = 0; i < 3; i++) {
        const int next = s[(threadIdx.x + 1) & 31];
        s[threadIdx.x] = next;
        __syncwarp();
    }
    y[threadIdx.x] = s[threadIdx.x];
}
END
right "overloads of CUDA's functions" --buffer y=32,3:out --buffer z=1:"f32 inout zeros" <<'END'
#include <cuda_runtime.h>
inline __host__ __device__ float3 make_float3(float s) { return make_float3(s, s, s); }
inline __device__ float2 fminf(float2 a, float2 b) { return make_float2(fminf(a.x, b.x), fminf(a.y, b.y)); }
inline __device__ float4 max(float4 a, float b) { return make_float4(max(a.x, b), max(a.y, b), a.z, a.w); }
__device__ float atomicMax(float *at, float value)
{
    int *bits = (int *)at, old = *bits, seen;
    do
        seen = old;
    while ((old = atomicCAS(bits, seen, max(seen, __float_as_int(value)))) != seen);
    return __int_as_float(old);
}
__device__ float2 __shfl_xor_sync(unsigned mask, float2 v, int with)
{
    return make_float2(__shfl_xor_sync(mask, v.x, with), __shfl_xor_sync(mask, v.y, with));
}
__global__ void k(float3 *y, float *z)
{
    __shared__ int most;
    const float2 other = __shfl_xor_sync(0xffffffff, make_float2(threadIdx.x, 1), 1);
    if (threadIdx.x == 0)
        most = 0;
    __syncthreads();
    atomicMax(&most, (int)threadIdx.x);
    atomicMax(z, (float)threadIdx.x);
    __syncthreads();
    y[threadIdx.x] = make_float3(most + fminf(other, make_float2(1, 2)).x +
                                 max(make_float4(1, 2, 3, 4), 2.f).x);
}
END
{
    names="min max abs fabs fminf fmaxf fabsf floorf ceilf roundf truncf fmodf expf logf
        sqrtf rsqrtf powf sinf cosf tanhf fmaf sqrt exp log floor ceil round __ldg atomicAdd
        atomicSub atomicMin atomicMax atomicAnd atomicOr atomicXor atomicExch atomicCAS
        __shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync"
    for type in char uchar short ushort int uint long ulong longlong ulonglong float double; do
        names="$names make_${type}2 make_${type}3 make_${type}4"
    done
    echo 'struct own { int v; };'
    for name in $names; do
        echo "__device__ own $name(own a) { return a; }"
    done
    echo '__global__ void k(int *y) { own o = {2};'
    for name in $names; do
        echo "o = $name(o);"
    done
    echo 'y[threadIdx.x] = o.v; }'
} >all.cu
right "an overload of each of them" --buffer y=32 <all.cu
i=0
while [ $i -lt 192 ]; do
    n=$((i + 6000 + i / 32 * 100000))
    printf "\\$(printf '%03o' $((n & 255)))\\$(printf '%03o' $((n >> 8 & 255)))"
    printf "\\$(printf '%03o' $((n >> 16 & 255)))\\000"
    i=$((i + 1))
done >ranks.raw
right "ranks in the grid" --grid 3,2 --buffer y=192:out --expect y=ranks.raw <<'END'
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(unsigned *y)
{
    const cg::grid_group grid = cg::this_grid();
    for (unsigned long long i = grid.thread_rank(); i < 192; i += grid.size())
        y[i] = i + grid.num_blocks() * 1000 + grid.block_rank() * 100000;
}
END
cat >k.cu <<'END'
#include <cooperative_groups.h>
__global__ void k(float *y)
{
    auto grid = cooperative_groups::this_grid();
    y[threadIdx.x] = 1;
    grid.sync();
}
END
expect "a barrier of the grid" 4 judge k.cu --block 32 --buffer y=32
says "a barrier of the grid: says so" "a barrier of the whole grid is not judged"
says "a barrier of the grid: its line" "k.cu:6"
wrong "a structure for a function that is not inlined" "1 element past the end of p[30, 8]" \
    --buffer p=30,8:f32 --buffer y=32 <<'END'
struct box { float v[8]; };
__device__ __noinline__ float sum(box b) { return b.v[0] + b.v[7]; }
__global__ void k(const box *p, float *y) { if (threadIdx.x < 30) y[threadIdx.x] = sum(p[threadIdx.x + 1]); }
END
wrong "a range of bytes" "bytes at device address" --buffer x=16 <<'END'
__global__ void k(int *x) { memset(x, threadIdx.x, 64); }
END
says "a range of bytes: the function" "k.cu:1 in k"
finish
