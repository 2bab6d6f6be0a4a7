// SPDX-License-Identifier: Apache-2.0
// Kernels in plain CUDA C++ for tests/cli/judge.sh: what is called wrong_ has one
// fault, in the line that ends in "fault".
#include <cuda_runtime.h>
#include <cuda_pipeline.h>
#include <stdio.h>

#define TILE 32

__device__ __forceinline__ float warp_sum(float x)
{
    for (int by = 16; by > 0; by /= 2)
        x += __shfl_xor_sync(0xffffffff, x, by);
    return x;
}

__global__ void right_warps(const float *x, float *y)
{
    float s = warp_sum(x[threadIdx.x]);
    if (threadIdx.x % 32 == 0)
        y[threadIdx.x / 32] = s;
}

__global__ void wrong_divergent_shuffle(const float *x, float *y)
{
    float s = 0;
    if (threadIdx.x % 32 < 20)
        s = warp_sum(x[threadIdx.x]); // fault
    y[threadIdx.x] = s;
}

__global__ void right_transpose(const float *in, float *out, int n)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void wrong_transpose(const float *in, float *out, int n)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j]; // fault
}

__global__ void right_pipeline(const float4 *in, float4 *out)
{
    __shared__ float4 stage[2][64];
    __pipeline_memcpy_async(&stage[0][threadIdx.x], &in[threadIdx.x], 16);
    __pipeline_commit();
    for (int i = 0; i < 4; i++) {
        if (i < 3)
            __pipeline_memcpy_async(&stage[(i + 1) % 2][threadIdx.x], &in[(i + 1) * 64 + threadIdx.x], 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        out[i * 64 + threadIdx.x] = stage[i % 2][63 - threadIdx.x];
        __syncthreads();
    }
}

__global__ void wrong_pipeline(const float4 *in, float4 *out)
{
    __shared__ float4 stage[2][64];
    __pipeline_memcpy_async(&stage[0][threadIdx.x], &in[threadIdx.x], 16);
    __pipeline_commit();
    for (int i = 0; i < 4; i++) {
        if (i < 3)
            __pipeline_memcpy_async(&stage[(i + 1) % 2][threadIdx.x], &in[(i + 1) * 64 + threadIdx.x], 16);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        out[i * 64 + threadIdx.x] = stage[i % 2][63 - threadIdx.x]; // fault
        __syncthreads();
    }
}

__global__ void right_histogram(const int *x, int n, int *bins)
{
    extern __shared__ int local[];
    for (int i = threadIdx.x; i < 128; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&local[x[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 128; i += blockDim.x)
        atomicAdd(&bins[i], local[i]);
}

__global__ void wrong_histogram(const int *x, int n, int *bins)
{
    extern __shared__ int local[];
    for (int i = threadIdx.x; i < 128; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        local[x[i]] += 1; // fault
    __syncthreads();
    for (int i = threadIdx.x; i < 128; i += blockDim.x)
        atomicAdd(&bins[i], local[i]);
}

__global__ void wrong_uninitialised(int *bins)
{
    extern __shared__ int local[];
    atomicAdd(&local[threadIdx.x], 1); // fault
    __syncthreads();
    bins[threadIdx.x] = local[threadIdx.x];
}

__global__ void wrong_barrier(float *y)
{
    if (threadIdx.x < 32) {
        y[threadIdx.x] = 2;
        return;
    }
    __syncthreads(); // fault
    y[threadIdx.x] = 1;
}

__global__ void wrong_alignment(const float *x, float *y)
{
    const float4 *p = (const float4 *)(x + 1);
    *(float4 *)(y + 4 * threadIdx.x) = p[threadIdx.x]; // fault
}

__global__ void wrong_assert(int n)
{
    if (threadIdx.x == 0)
        printf("n is %d\n", n);
    assert(n > 5); // fault
}

__global__ void wrong_stack(const int *x, int *y)
{
    int a[4] = {1, 2, 3, 4};
    y[threadIdx.x] = a[x[threadIdx.x] % 8]; // fault
}

__global__ void wrong_loop(volatile int *flag)
{
    while (*flag == 0) // fault
        ;
}

template <int N> __global__ void __launch_bounds__(N) right_reverse(const int *in, int *out)
{
    __shared__ int part[N];
    part[threadIdx.x] = in[blockIdx.x * N + threadIdx.x];
    __syncthreads();
    out[(gridDim.x - 1 - blockIdx.x) * N + threadIdx.x] = part[N - 1 - threadIdx.x];
}

__global__ void wrong_end(int n, float a, const float *__restrict__ x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        y[i] = a * x[i] + y[i]; // fault
}

__global__ void wrong_dynamic(int *y)
{
    extern __shared__ int local[];
    local[threadIdx.x] = y[threadIdx.x]; // fault
}

__global__ void wrong_mask(const int *x, int *y)
{
    y[threadIdx.x] = __shfl_sync(0x0000ffff, x[threadIdx.x], 0); // fault
}

// 8 warps' sums by the 8 first lanes; of those, the pick of lanes in two halves.
__global__ void right_masks(const float *x, float *y, int *votes)
{
    __shared__ float sums[8];
    unsigned lane = threadIdx.x % 32;
    float s = warp_sum(x[threadIdx.x]);
    if (lane == 0)
        sums[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 8) {
        s = sums[threadIdx.x];
        for (int by = 4; by > 0; by /= 2)
            s += __shfl_down_sync(0xff, s, by);
        if (threadIdx.x == 0)
            y[0] = s;
    } else if (threadIdx.x < 32) {
        for (int i = 0; i < 3; i++)
            votes[lane] = __ballot_sync(0xffffff00, (int)lane % 3 == i);
        __syncwarp(0xffffff00);
        if (__any_sync(0xffffff00, lane == 40))
            votes[lane] = 0;
    } else {
        votes[threadIdx.x] = __reduce_add_sync(0xffffffff, (int)lane);
    }
}

// Masks within masks, left in turn, and of lanes that there are.
__global__ void right_nested(const int *x, int *y)
{
    unsigned lane = threadIdx.x % 32;
    int v = x[threadIdx.x];
    if (lane < 16 && threadIdx.x < 32) {
        if (lane % 2 == 0)
            v += __shfl_xor_sync(0x5555, v, 2);
        v += __shfl_xor_sync(0xffff, v, 1);
    }
    if (threadIdx.x >= 32)
        v = __reduce_add_sync(0xffffffff, v);
    int beyond = __shfl_down_sync(0xffffffff, v, 16);
    y[threadIdx.x] = lane < 16 && threadIdx.x < 32 ? v + 0 * beyond : v;
    int first;
    if (lane == 0)
        first = 7;
    first = __shfl_sync(0xffffffff, first, 0);
    y[threadIdx.x] += first;
    if (__syncthreads_count(0.5f))
        y[threadIdx.x] = -1;
}

// A word that no code stores to.
__global__ void wrong_never(float *y)
{
    __shared__ float never[64];
    y[threadIdx.x] = never[threadIdx.x]; // fault
}

// The read is harmless, the mask is not: both are told.
__global__ void wrong_mask_not_read(int *y, int n)
{
    __shared__ int t[64];
    int unused = t[threadIdx.x];
    if (threadIdx.x < 8)
        y[threadIdx.x] = 1;
    if (n > 99)
        t[threadIdx.x] = 1;
    if (threadIdx.x < 4)
        __syncwarp(0x000000ff); // fault
    if (n > 9)
        y[threadIdx.x] = unused;
}

__global__ void wrong_masks(const int *x, int *y)
{
    unsigned lane = threadIdx.x % 32;
    if (lane < 16)
        y[threadIdx.x] = __shfl_sync(0x0000ffff, x[threadIdx.x], 0);
    else
        y[threadIdx.x] = __shfl_sync(0xffffffff, x[threadIdx.x], 0); // fault
}

// Lanes 0 to 15 name others than lanes 16 to 31, and both name lane 0.
__global__ void wrong_two_masks(const int *x, int *y)
{
    unsigned mask = threadIdx.x < 16 ? 0x0001ffff : 0xffff0001;
    if (threadIdx.x == 0 || threadIdx.x > 15)
        y[threadIdx.x] = __shfl_sync(mask, x[threadIdx.x], 0); // fault
}

__global__ void right_count(const int *x, int *y)
{
    int n = __syncthreads_count(x[threadIdx.x] > 3);
    int all = __syncthreads_and(x[threadIdx.x] >= 0);
    int some = __syncthreads_or(threadIdx.x == 99);
    y[threadIdx.x] = 100 * n + 10 * all + some;
}

struct pair {
    int n;
    float *x;
};

__global__ void wrong_structure(pair p)
{
    p.x[threadIdx.x] = p.n;
}

// A name that is longer than any line should be.
template <class A, class B> struct both {
    static __device__ int size()
    {
        return sizeof(A) + sizeof(B);
    }
    template <int n> __device__ __noinline__ void put(int *y) const
    {
        y[n + size()] = 1; // fault
    }
};
typedef both<int, both<float, both<double, unsigned long long>>> some;
typedef both<both<some, some>, both<some, both<some, some>>> many;

__global__ void wrong_names(int *y)
{
    both<many, both<many, many>>().put<64>(y);
}

__constant__ float weights[3] = {0.25f, 0.5f, 0.25f};
__device__ int calls;

__global__ void right_stencil(const float *x, float *y, int n)
{
    __shared__ float part[66];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x + 1] = i < n ? x[i] : 0;
    if (threadIdx.x == 0)
        part[0] = i > 0 ? x[i - 1] : 0;
    if (threadIdx.x == blockDim.x - 1)
        part[65] = i + 1 < n ? x[i + 1] : 0;
    if (threadIdx.x == 0)
        atomicAdd(&calls, 1);
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 3; k++)
        sum += weights[k] * part[threadIdx.x + k];
    if (i < n)
        y[i] = fmaxf(sum, 0.0f);
}

__global__ void wrong_null(int *y)
{
    int *p = nullptr;
    if (y == nullptr)
        p = y + 1;
    *p = 3; // fault
}

__global__ void wrong_division(int *y, int z)
{
    y[threadIdx.x] = 7 / z;
}

__device__ int deeper(int n)
{
    volatile int a[64];
    a[n % 64] = n;
    return deeper(n + 1) + a[n % 64];
}

__global__ void wrong_recursion(int *y)
{
    y[threadIdx.x] = deeper(y[0] > 0);
}

__global__ void wrong_spin(int n)
{
    while (n)
        asm volatile("" ::: "memory");
}

#if 0
namespace spelled { __global__ void right_spellings(int wrong) {} }
#endif
namespace spelled
{
typedef const int *words;

/* A short last warp, and what people write in many ways. */
__global__ void right_spellings(const int *x, int *y)
{
    __shared__ __align__(16) int a[48];
    __shared__ alignas(16) int b[48];
    static __shared__ int c[48];
    int i = threadIdx.x, e; float w;
    a[i] = x[i];
    b[threadIdx.x] = __clz(i++);
    c[i - 1] = max(i, 3u > 2 ? 1 : 0);
    __syncwarp();
    y[i - 1] = a[(i - 1) ^ 1] + b[i - 1] + c[i - 1] + __popc(__ballot_sync(0xffffffff, 1));
    if (i != (int)threadIdx.x + 1 || std::isnan(std::sqrt(2.0f)) || frexpf(12, &e) != .75f || e != 4 || modff(-2.5f, &w) != -.5f || w != -2 || fdimf(3, 5) != 0 || scalbnf(1, 3) != 8)
        __trap();
}
} // namespace spelled

/* Counts round and round: 0 to 9 upwards, 5 to 0 downwards. */
__global__ void right_counters(unsigned *up, unsigned *down)
{
    atomicInc(up, 9);
    atomicDec(down, 5);
    atomicDec(down + 1, 5);
    atomicSub(down + 2, 5u);
}

struct triple {
    float x, y, z;
};

/* Copies of lengths that no single access has, at multiples of 4 bytes. */
__global__ void right_copies(const float *in, float *out, int bytes)
{
    __shared__ float room[100];
    __shared__ triple triples[32];
    int t = threadIdx.x;
    float mine[3];
    triple kept;

    memcpy(room + 3 * t + 1, in + 3 * t, 12);
    kept.x = in[3 * t], kept.y = __fdividef(t, 4), kept.z = 0;
    triples[t] = kept;
    __syncthreads();
    memset(mine, 0, sizeof(mine));
    memcpy(mine, room + 3 * (31 - t) + 1, bytes);
    kept = triples[31 - t];
    out[t] = mine[0] + mine[2] + kept.y;
}

__global__ void wrong_copy_length(const float *in, float *out, int bytes)
{
    if (threadIdx.x == 31)
        memcpy(out + threadIdx.x, in + threadIdx.x, bytes); // fault
}

__global__ void wrong_fill_length(float *out, int bytes)
{
    extern __shared__ float words[];
    if (threadIdx.x == 0)
        memset(words, 0, bytes); // fault
    __syncthreads();
    out[threadIdx.x] = words[threadIdx.x];
}

__global__ void wrong_copy_race(const float *in, float *out)
{
    __shared__ float room[96];
    float mine[3];
    memcpy(room + 3 * threadIdx.x, in + 3 * threadIdx.x, 12);
    memcpy(mine, room + 3 * (31 - threadIdx.x), 12); // fault
    out[threadIdx.x] = mine[0];
}

__global__ void wrong_fill_race(float *out)
{
    __shared__ float room[64];
    memset(room, threadIdx.x, sizeof(room)); // fault
    __syncthreads();
    out[threadIdx.x] = room[threadIdx.x];
}

__global__ void large_static(int *out)
{
    __shared__ int room[13000];
    room[threadIdx.x] = 0;
    out[threadIdx.x] = room[threadIdx.x];
}

__global__ void wrong_atomic_place(int *bins)
{
    atomicAdd((int *)((char *)bins + 2), 1); // fault
}

__device__ float fixed[4];

__global__ void wrong_global_length(float *out, int bytes)
{
    memset(fixed, 0, bytes); // fault
    out[threadIdx.x] = fixed[threadIdx.x];
}

__global__ void takes_bool(bool flag)
{
    assert(flag);
}

__global__ void takes_nothing()
{
    fixed[threadIdx.x & 3] = 1;
}

__global__ void lesser(int2 *out, int n)
{
    out[threadIdx.x] = make_int2(max(n, 5), min(n, 3));
}
