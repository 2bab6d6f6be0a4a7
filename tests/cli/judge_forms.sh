#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat judge on forms in which authors write their kernels and programs.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/judge_common.sh"

cd "$work" || exit 1
needs "${GROAT_CXX:-c++}"

# ---- other kernels, whatever they are

right "beside kernels that are not judged" --buffer y=32 <<'END'
template <int N>
__global__ void __launch_bounds__(N) before(float *y)
{
    asm volatile("membar.gl;");
    y[0] = nothing_of_this_name;
}
namespace more {
__global__ void kk(float *y) { y[__cvta_generic_to_shared(y)] = 1; }
}
__device__ float one() { return 1; }
template __global__ void before<32>(float *y);
extern "C" __global__ void __launch_bounds__(32, 1) k(float *y)
{
    y[threadIdx.x] = one();
}
__global__ void behind(float *y) { extern __shared__ float s[]; tex1D(y); }
END
refused "one that is not there" "has no kernel 'k'; its __global__ functions" --block 32 <<'END'
__global__ void other(float *y) { y[0] = 1; }
END

# ---- dynamic shared memory

wrong "that the command line does not give" "the block has" --buffer y=32 <<'END'
__global__ void k(float *y)
{
    extern __shared__ float s[];
    s[threadIdx.x] = 1;
    y[threadIdx.x] = s[threadIdx.x];
}
END

right "outside of functions" --buffer y=32 --shared 256 <<'END'
extern __shared__ __align__(16) float words[];
namespace {
extern __shared__ int numbers[][8];
}
__device__ float *part(int i) { return reinterpret_cast<float *>(words) + i; }
__global__ void k(float *y)
{
    *part(threadIdx.x) = 1.f;
    __syncthreads();
    y[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x] + numbers[threadIdx.x / 8][0];
}
END
right "in other orders" --buffer y=32 --shared 512 <<'END'
__global__ void k(float *y)
{
    extern __align__(16) __shared__ float a[];
    __shared__ extern float b[];
    extern float __shared__ c[][32];
    a[threadIdx.x] = 1.f;
    y[threadIdx.x] = b[threadIdx.x] + c[0][threadIdx.x];
}
END
wrong "without --shared" "writes 4 bytes at byte 0 of shared memory" --buffer y=32 <<'END'
__global__ void k(float *y)
{
    extern __shared__ float a[];
    a[threadIdx.x] = 1.f;
    y[threadIdx.x] = a[threadIdx.x];
}
END
says "the option is named" "a block has none; give it with --shared BYTES"

# ---- stores of equal values

right "a flag that several threads set" --buffer x=32 --buffer y=32 <<'END'
__global__ void k(const float *x, float *y)
{
    __shared__ int found;
    __shared__ float4 wide;
    if (threadIdx.x == 0)
        found = 0;
    __syncthreads();
    if (x[threadIdx.x] > 0)
        found = 1;
    wide = make_float4(x[0], x[1], x[2], x[3]);
    __syncthreads();
    y[threadIdx.x] = found + wide.w;
}
END
for seed in 1 2 3; do
    wrong "a flag without a barrier ($seed)" "a barrier is missing, or two threads" \
        --seed $seed --buffer x=32 --buffer y=32 <<'END'
__global__ void k(const float *x, float *y)
{
    __shared__ int found;
    if (threadIdx.x == 0)
        found = 0;
    if (x[threadIdx.x] > 0)
        found = 1;
    __syncthreads();
    y[threadIdx.x] = found;
}
END
    answers "a flag without a barrier: both lines ($seed)" "the other write at k.cu:"
    wrong "the last store ($seed)" "a barrier is missing, or two threads" \
        --seed $seed --buffer y=32 <<'END'
__global__ void k(float *y)
{
    __shared__ int last;
    y[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x % 16 == 3)
        last = threadIdx.x;
}
END
done

# ---- the end of the program

wrong "abort()" "ends the program by abort(), which no kernel of a GPU can" \
    --buffer y=32 <<'END'
__global__ void k(float *y)
{
    if (threadIdx.x == 3)
        __builtin_abort();
    y[threadIdx.x] = 1.f;
}
END
answers "abort(): its line" "(here at k.cu:4)"
if "${GROAT_CXX:-c++}" --version | grep -q clang; then
    skip "exit(): clang knows none without a declaration"
else
    wrong "exit()" "ends the program, as exit() does, which no kernel" \
        --buffer y=32 <<'END'
__global__ void k(float *y)
{
    if (threadIdx.x == 3)
        __builtin_exit(0);
    y[threadIdx.x] = 1.f;
}
END
fi

# ---- structures by value

structure() {
    cat <<'END'
namespace cfg {
struct Inner { int depth; };
struct alignas(16) Params {
    const float *x, *w; // two of a type
    float *y = nullptr;
    unsigned short *bits;
    int n = 7, more;
    float scale;
    Inner inner;
    float table[4];
    __host__ __device__ int twice(int k) const { return k ? 2 * n : 0; }
};
}
__global__ void k(const cfg::Params p, int extra)
{
    const int i = threadIdx.x;
    if (i < p.n)
        p.y[i] = p.x[i] * p.scale + extra + p.more + p.twice(0) + p.inner.depth;
}
END
}
printf '\000\000\000\000\000\000\200?\000\000\000@\000\000@@' >ramp
printf '\000\000@@\000\000\260@\000\000\000A\000\000(A' >want
structure | right "its values" --buffer p_x=p_n --arg p_n=4 --arg p_scale=2.5 \
    --arg extra=3 --buffer "p_y=4:out exact" --input p_x=ramp --expect p_y=want
answers "are those that were given" "verified  yes, all 16 bytes"
structure | right "its elements and members of members" --buffer p.x=p_n --arg p.n=4 \
    --arg p.scale=0 --arg 'p.table[3]=-2' --arg p.inner.depth=7 --arg extra=3 \
    --buffer p_y=4:out --output p_y=got
[ "$(od -An -tf4 got | tr -s ' ' | head -1)" = " 10 10 10 10" ] &&
    pass "are those that were given" ||
    fail "are those that were given" "$(od -An -tf4 got)"
for path in 'p.' 'p..n' 'p.table[' 'p.table[x]' 'p.table[1]n' 'p.table[1].' '.n' 'p[0].n'; do
    structure | refused "$path" "expected NAME=VALUE of a value of k" --block 32 \
        --arg "$path=1"
done
structure | refused "a member twice" "--arg p.n is there twice" --block 32 \
    --arg p_n=1 --arg p.n=1
structure | wrong "past a member's buffer" "past the end of p_y[3]" --buffer p_x=4 \
    --buffer p_y=3 --arg p_n=4 --arg extra=3
structure | refused "no member" "of a structure its members, as NAME.MEMBER=VALUE" \
    --block 32 --arg extra=3
structure | refused "both" "members of it, too" --block 32 --arg extra=3 --arg p=0 \
    --arg p_n=1

# ---- declarations

right "a kernel declared before" --buffer in=32 --buffer out=32 <<'END'
__global__ void k(const float *, float *);
void go(float *a) { k<<<1, 64>>>(a, a); }
__global__ void k(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x]; }
END
right "arrays as parameters" --buffer x=32 --buffer y=32 <<'END'
__global__ void k(const float x[32], float y[]) { y[threadIdx.x] = x[threadIdx.x]; }
END
printf '\357\273\277__global__ void k(float *y) { y[threadIdx.x] = 1; }\n' >bom
right "a mark of UTF-8" --buffer y=32 <bom
right "clusters" --buffer y=2,32 --grid 2 <<'END'
__global__ void __cluster_dims__(2, 1, 1) k(float *y)
{
    y[32 * blockIdx.x + threadIdx.x] = 1;
}
END
refused "more threads than __launch_bounds__" "__launch_bounds__ of k allows 32" \
    --block 64 --buffer y=64 <<'END'
__global__ void __launch_bounds__(32) k(float *y) { y[threadIdx.x] = 1; }
END
refused "more blocks than CUDA has" "CUDA allows 65535 of Y and of Z" --block 32 --grid 1,65536 \
    --buffer y=32 <<'END'
__global__ void k(float *y) { y[threadIdx.x] = 1; }
END
refused "a block too deep" "1024 together at most, and Z 64" --block 1,1,128 \
    --buffer y=32 <<'END'
__global__ void k(float *y) { y[threadIdx.x] = 1; }
END
refused "pointers to pointers" "x points to pointers" --block 32 --buffer x=2 \
    --buffer y=32 <<'END'
__global__ void k(const float *const *x, float *y) { y[threadIdx.x] = x[0][0]; }
END
printf '__global__ void k() {}\n' >'a "k".cu'
expect "a quote in a name" 2 judge 'a "k".cu' --entry k --block 32
says "is refused" "rename the file"
refused "a kernel that a macro makes" "without those that a macro makes: none" \
    --block 32 --buffer y=32 <<'END'
#define MAKE(name) __global__ void name(float *y) { y[threadIdx.x] = 1; }
MAKE(k)
END
right "a class of host and device" --buffer y=32 <<'END'
#include <cuda_runtime.h>
#include <iostream>
#include <limits>
#include <type_traits>
#include <utility>
struct matrix {
    float *at;
    explicit matrix(int n) { cudaMalloc(&at, n * 4); }
    __host__ __device__ static int index(int r, int c, int n) { return r * n + c; }
    friend std::ostream &operator<<(std::ostream &o, const matrix &m) { return o << m.at; }
};
template <class T> __device__ T least() { return std::numeric_limits<T>::lowest(); }
__global__ void k(float *y)
{
    static_assert(std::is_same<int, int>::value, "");
    float low = least<float>(), high = -low;
    std::swap(low, high);
    y[matrix::index(0, threadIdx.x, 32)] = low > high && least<int>() < 0;
}
END
right "constants" --buffer y=32:f64 <<'END'
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <math_constants.h>
__global__ void k(double *y)
{
    y[threadIdx.x] = trunc(DBL_MAX) + atan2(1.0, M_PI) + CUDART_PI_F + erfinvf(.5f) +
                     UINT32_MAX + CHAR_BIT + (std::size_t)1 + INT64_MAX + nanf("");
}
END

right "the lanes that are active" --buffer "x=32:in ramp" --buffer y=32 <<'END'
__global__ void k(const int *x, int *y)
{
    unsigned mask;
    int sum = 0;
    if (threadIdx.x & 1)
        mask = __activemask();
    else
        mask = __activemask();
    assert(mask == (threadIdx.x & 1 ? 0xaaaaaaaau : 0x55555555u));
    for (int i = 0; i < x[threadIdx.x]; i++)
        sum += __popc(__activemask());
    assert(sum == x[threadIdx.x] * (63 - x[threadIdx.x]) / 2);
    __syncthreads();
    mask = __activemask();
    assert(mask == 0xffffffffu);
    y[threadIdx.x] = __shfl_down_sync(mask, sum, 1);
}
END

# ---- faults

wrong "memory of its own" "which is not judged (here at k.cu:3)" --buffer y=32 <<'END'
__global__ void k(float *y)
{
    volatile float *t = new float[4];
    y[threadIdx.x] = t[1];
}
END
right "functions of classes that are called alike" --buffer y=32 <<'END'
struct pool {
    float *at;
    __device__ float *malloc(int i) { return at + i; }
    __device__ void free(float *x) { *x += 1; }
};
__global__ void k(float *y)
{
    pool p = {y};
    p.free(p.malloc(threadIdx.x));
}
END
wrong "memory that malloc takes" "which is not judged (here at k.cu:3)" --buffer y=32 <<'END'
__global__ void k(float *y)
{
    float *t = (float *)malloc(16);
    y[threadIdx.x] = t[1];
    free(t);
}
END
wrong "a function of the host" "calls cudaMalloc(), a function of the host (here at k.cu:3)" \
    --buffer y=32 <<'END'
__global__ void k(float *y)
{
    cudaMalloc(&y, 4);
}
END
wrong "recursion that loads" "recurses without end, or needs more local memory than there is (here at k.cu:3" \
    --buffer "next=32:in zeros" --buffer y=32 <<'END'
__device__ int depth(const int *next, int i)
{
    return 1 + depth(next, next[i]);
}
__global__ void k(const int *next, int *y) { y[threadIdx.x] = depth(next, 0); }
END
wrong "a call of nothing" "uses an invalid pointer, or recurses without end (here at k.cu:5)" \
    --buffer "table=2:in zeros" --buffer y=32 <<'END'
typedef float (*function)(float);
__global__ void k(const long long *table, float *y)
{
    function f = (function)table[0];
    y[threadIdx.x] = f(1.f);
}
END
wrong "a lock that nobody gives back" "too large (here at k.cu:8, thread " --timeout 1 \
    --buffer y=32 <<'END'
__global__ void k(float *y)
{
    __shared__ int lock;
    if (threadIdx.x == 0)
        lock = 1;
    __syncthreads();
    if (threadIdx.x == 7)
        while (atomicCAS(&lock, 0, 1) != 0)
            ;
    __syncthreads();
    y[threadIdx.x] = 1;
}
END
wrong "threads at two places" "(here at k.cu:4, thread 0, 2, 4, 6, 8, 10, 12, 14, ... at k.cu:8, thread 1, 3, 5, 7, 9, 11, 13, 15, ... at k.cu:6)" \
    --timeout 1 --buffer y=32 <<'END'
__global__ void k(volatile float *y)
{
    if (threadIdx.x == 31)
        while (y[0] != 1e30f) y[1] += 1;
    if (threadIdx.x % 2)
        __syncthreads();
    else
        __syncthreads();
}
END
wrong "a vector at no multiple of its size" "no multiple of 8 (here at k.cu:4); that is x[1] of x[64]" \
    --buffer x=64 --buffer y=32 <<'END'
__global__ void k(const float *x, float *y)
{
    const float2 *pairs = (const float2 *)(x + 1);
    const float2 pair = pairs[threadIdx.x / 2];
    y[threadIdx.x] = pair.x + pair.y;
}
END
wrong "a maximum of what nobody wrote" "nobody has written yet" --buffer x=32 \
    --buffer y=32 <<'END'
__global__ void k(const float *x, float *y)
{
    __shared__ float s[32];
    float most = 0;
    if (threadIdx.x < 31)
        s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 32; i++)
        most = fmaxf(most, s[i]);
    y[threadIdx.x] = most;
}
END
wrong "a counter's start without a barrier" \
    "by an atomic operation, and thread 0 accesses it without one: a barrier is missing" \
    --buffer y=32 <<'END'
__global__ void k(int *y)
{
    __shared__ int count;
    if (threadIdx.x == 0)
        count = 0;
    atomicAdd(&count, 1);
    __syncthreads();
    y[threadIdx.x] = count;
}
END
right "a counter behind a barrier, twice" --buffer y=32 <<'END'
__global__ void k(int *y)
{
    __shared__ int count;
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0)
            count = 0;
        __syncthreads();
        atomicAdd(&count, 1);
        atomicMax(&count, i);
        __syncthreads();
        y[threadIdx.x] += count;
        __syncthreads();
    }
}
END
wrong "a loop whose bound nobody wrote" "nobody has written" --buffer x=32 --buffer y=32 --timeout 2 <<'END'
__global__ void k(const float *x, float *y)
{
    __shared__ int n;
    float sum = 0;
    if (x[0] > 1e30f)
        n = 3;
    for (int i = 0; i < n; i++)
        sum += x[i & 31];
    y[threadIdx.x] = sum;
}
END
right "branches that are not compiled" --buffer y=32:out <<'END'
#if __CUDA_ARCH__ >= 1000
#include <cuda/ptx>
#endif
#ifdef WITH_TORCH
#include <torch/extension.h>
#elif defined(USE_PTX)
__device__ int lane() { return 1; }
#else
__device__ int lane() { return threadIdx.x & 31; }
#endif
#if defined(USE_ASM)
__device__ int own() { int r; asm("mov.u32 %0, %laneid;" : "=r"(r)); return r; }
#endif
__global__ void k(float *y) { y[threadIdx.x] = lane(); }
END
right "branches that are" --buffer y=32:out <<'END'
__global__ void k(float *y)
{
    __shared__ float s[32];
    s[threadIdx.x] = 1;
#ifdef M_PI
    __syncthreads();
#endif
#if 0 || 1
    y[threadIdx.x] = s[31 - threadIdx.x];
#endif
#if __CUDA_ARCH__ >= 1000 || defined(__CUDACC__)
    __syncthreads();
#endif
#if defined(NONE) || defined(__CUDACC__)
    s[31 - threadIdx.x] = 2;
#endif
}
END
right "one that is" --buffer y=32 <<'END'
#define USE_ASM
#ifdef USE_ASM
__device__ int own() { int r; asm("mov.u32 %0, %laneid;" : "=r"(r)); return r; }
#endif
__global__ void k(int *y) { y[threadIdx.x] = own(); }
END
refused "a texture" "k.cu:1: cudaTextureObject_t: textures are not judged" --block 32 \
    --buffer y=32 --arg t=0 <<'END'
__global__ void k(float *y, cudaTextureObject_t t) { y[threadIdx.x] = tex1D<float>(t, 0); }
END
right "an assumption" --buffer y=32:out <<'END'
__global__ void k(float *y)
{
    __builtin_assume(threadIdx.x < 32);
    y[threadIdx.x] = 1;
}
END
cat >vector.cu <<'END'
__global__ void k(float *y, int3 d, float2 f, const dim3 g)
{
    y[threadIdx.x] = d.z + f.y + g.x;
    if (d.z != -7 || d.x != 0 || f.x != 0 || f.y != 1.5f || g.x != 3 || g.y != 1)
        __trap();
}
END
right "vectors by their members" --buffer y=32:out --arg d_z=-7 --arg f_y=1.5 --arg g_x=3 \
    <vector.cu
refused "a vector as one value" "--arg d is a vector: say its members, as --arg d.x=VALUE" \
    --block 32 --buffer y=32 --arg d=1 --arg f_x=1 --arg g_x=1 <vector.cu
refused "a member that it does not have" "--arg is 'd_q=1'; expected NAME=VALUE" \
    --block 32 --buffer y=32 --arg d_q=1 --arg f_x=1 --arg g_x=1 <vector.cu
refused "one that only others have" "--arg is 'f_w=1'; expected NAME=VALUE" \
    --block 32 --buffer y=32 --arg d_x=1 --arg f_w=1 --arg g_x=1 <vector.cu
right "tiles by their type, groups, scans" --buffer x=32 --buffer y=32 <<'END'
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
#include <cstdint>
namespace cg = cooperative_groups;
__device__ unsigned size_of(const cg::thread_group &g)
{
    g.sync();
    return g.size() + g.thread_rank();
}
__global__ void k(const float *x, float *y)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(warp);
    const std::uint32_t sum = cg::inclusive_scan(warp, 1) + cg::exclusive_scan(tile, 1);
    const std::ptrdiff_t rank = tile.meta_group_rank() * tile.meta_group_size();
    y[threadIdx.x] = x[threadIdx.x] + sum + rank + size_of(block) + size_of(warp) + size_of(tile);
    if (sum != threadIdx.x + 1 + threadIdx.x % 8 || rank != threadIdx.x / 8 * 4 ||
        size_of(tile) != 8 + threadIdx.x % 8 || size_of(block) != 32 + threadIdx.x)
        __trap();
}
END
wrong "an array that is set in part" "a local variable or array that nobody set decides what is in y[24]: " \
    --buffer x=n --buffer y=32 --arg n=120 <<'END'
__global__ void k(const float *x, float *y, int n)
{
    float own[4], sum = 0;
    for (int i = 0; i < 4; i++) {
        int c = threadIdx.x + i * 32;
        if (c < n)
            own[i] = x[c];
        sum += own[i];
    }
    y[threadIdx.x] = sum;
}
END
right "an array whose unset part is not used, one line printed" --buffer y=32:out <<'END'
#include <cstdio>
__global__ void k(float *y)
{
    float own[4];
    for (int i = 0; i < int(threadIdx.x % 4); i++)
        own[i] = i;
    if (threadIdx.x == 0)
        printf("printed once\n");
    y[threadIdx.x] = threadIdx.x % 4 ? own[0] : 7;
}
END
[ "$(grep -c "printed once" "$err")" -eq 1 ] || fail "one line printed" "$(cat "$err")"
while IFS='|' read -r type test; do
    wrong "a comparison of what nobody wrote: $test" "nobody has written yet" \
        --buffer y=32 --arg n=7654321 <<END
__global__ void k(int *y, int n)
{
    __shared__ $type s[64];
    s[threadIdx.x] = threadIdx.x;
    int x = 0;
    const $type v = s[threadIdx.x / 4 * 4 + 32];
    $test;
    y[threadIdx.x] = x;
}
END
done <<'END'
int|if (v == 3) x = 1
int|x = v != n
int|if (v + 7 == -40) x = 1
int|if (v > 1000 && v < 1010) x = 1
unsigned char|if (v == 77) x = 1
short|if (v == -1234) x = 1
signed char|if (v == n - 7654398) x = 1
unsigned long long|if (v == 123456789012345ull) x = 1
int|switch (v) { case 5: x = 1; break; case 1017: x = 8; break; }
float|if (v == 3.f) x = 1
double|if (v == 0.1) x = 1
END
right "a comparison that nobody uses" --buffer y=32 <<'END'
__global__ void k(int *y)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int x = s[threadIdx.x * 2];
    if (x == 3)
        x = 77;
    y[threadIdx.x] = threadIdx.x < 16 ? x : 0;
}
END
printf '\000\000\000B' >sum
wrong "an output that is added to" "first sum[0], expected 32, got" \
    --buffer "sum=1:out exact" --expect sum=sum <<'END'
__global__ void k(float *sum) { atomicAdd(sum, 1.f); }
END
# A block that reads what nobody has written runs again: its variables are as
# they were before.
printf '\004\000\000\000' >visits
right "blocks that are counted" --grid 5 --buffer "y=1:out exact" \
    --buffer z=32 --expect y=visits <<'END'
__device__ int visits;
__global__ void k(int *y, int *z)
{
    __shared__ int s[32];
    if (blockIdx.x == 4) {
        y[0] = atomicAdd(&visits, 0);
        return;
    }
    if (threadIdx.x < 20)
        s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int v = s[threadIdx.x];
    if (threadIdx.x < 20)
        z[threadIdx.x] = v;
    if (threadIdx.x == 0)
        atomicAdd(&visits, 1);
}
END
right "tiles by a ticket" --grid 4 --buffer x=128 --buffer y=4 <<'END'
__device__ unsigned ticket;
__global__ void k(const float *x, float *y)
{
    __shared__ float part[32];
    __shared__ unsigned tile;
    if (threadIdx.x == 0)
        tile = atomicAdd(&ticket, 1u);
    __syncthreads();
    if (threadIdx.x < 8)
        part[threadIdx.x] = x[tile * 32];
    __syncthreads();
    float p = part[threadIdx.x];
    p = threadIdx.x < 8 ? p : 0.f;
    for (int o = 4; o; o >>= 1)
        p += __shfl_xor_sync(0xffffffff, p, o);
    if (threadIdx.x == 0)
        y[tile] = p + x[tile * 32 + 1];
}
END
wrong "what nobody has written in a variable" "which nobody has written" \
    --buffer y=32 <<'END'
__device__ int kept[32];
__global__ void k(int *y)
{
    __shared__ int s[64];
    s[threadIdx.x] = 1;
    __syncthreads();
    kept[threadIdx.x] = s[threadIdx.x * 2];
}
END
right "types that every file has" --buffer y=n --arg n=32 <<'END'
#include <stdint.h>
#include <time.h>
__device__ intptr_t far(ulong x, ushort y) { return x + y; }
__device__ int rank(dim3 b) { return threadIdx.x + threadIdx.y * b.x; }
__global__ void k(uint *y, uint n)
{
    const dim3 g = gridDim;
    uint3 b = g;
    clock_t t = clock();
    ulong2 two = make_ulong2(1, 2);
    if (rank(blockDim) < n)
        y[threadIdx.x] = far(b.y, 2) + two.y + (t < 0);
}
END
right "virtual functions" --buffer y=32 <<'END'
struct shape {
    __device__ virtual float area() const { return 0.f; }
};
struct square : shape {
    float a;
    __device__ square(float a) : a(a) {}
    __device__ float area() const override { return a * a; }
};
__device__ float get(const shape &s) { return s.area(); }
__global__ void k(float *y)
{
    square s(threadIdx.x);
    y[threadIdx.x] = get(s);
}
END
echo '__global__ void k(const float *x, float *y) { y[0] = x[0]; }' >k.cu
expect "elements of another size" 2 judge k.cu --block 1 --buffer x=32:f64 \
    --buffer y=32
says "it is told" "--buffer x=32:f64: an element of const float * has 4 bytes, one of f64 8"
echo 'typedef float real; __global__ void k(const real *x, float *y) { y[0] = x[0]; }' >k.cu
expect "of another size of a type of the file" 4 judge k.cu --block 1 \
    --buffer x=32:f64 --buffer y=32
says "it is told, too" "has another size than the pointer's"
right "bytes of any elements" --buffer x=32:f64 --buffer y=32 <<'END'
struct pair { double a, b; };
__global__ void k(const void *x, float *y)
{
    y[threadIdx.x] = (float)((const pair *)x)[threadIdx.x / 2].b;
}
END
wrong "what runs past the end" "of a buffer of 128 bytes, whose end it runs past" \
    --buffer x=32 --buffer y=32 <<'END'
__global__ void k(const int *x, int *y)
{
    int a[33];
    memcpy(a, x, sizeof(a));
    y[threadIdx.x] = a[threadIdx.x];
}
END
# A branch has a vote that all lanes are to come to.
while IFS='|' read -r vote places; do
    wrong "a vote in a branch: $vote" "$places" --buffer "x=32:i32 in ramp" \
        --buffer y=32 <<END
__global__ void k(const int *x, unsigned *y)
{
    unsigned m = 0;
    if (x[threadIdx.x] & 1)
        m = __ballot_sync(0xffffffff, 1);
    y[threadIdx.x] = m + $vote;
}
END
done <<'END'
__ballot_sync(0xffffffff, x[threadIdx.x] > 7)|(here at k.cu:6, the time before, lanes of its wave at k.cu:5)
__match_any_sync(0xffffffff, x[threadIdx.x])|k.cu:5, thread 0 at k.cu:6)
END
python3 - <<'END' || fail "files of numbers"
import struct


def save(name, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack("<%df" % len(values), *values))


inf = float("inf")
save("zeros.npy", [16 + i if i < 13 else 0 for i in range(16)] + [5, 6, 7, 8] + [0] * 20)
save("numbers.npy", [0, 0, 1, 1, inf, 32768, 660, -926, 4, -inf, inf, 0] + [0] * 20)
END
# Matrix operations need a whole warp, of which a block's last one may be a part.
cat >k.cu <<'END'
#include <mma.h>
using namespace nvcuda;
__global__ void k(const half *a, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> z;
    wmma::fill_fragment(z, 0.f);
    wmma::load_matrix_sync(x, a, 16);
    wmma::load_matrix_sync(y, a, 16);
    wmma::mma_sync(z, x, y, z);
    wmma::store_matrix_sync(c, z, 16, wmma::mem_row_major);
}
END
expect "a product by half a warp" 1 judge k.cu --block 16 --buffer a=256 --buffer c=256
answers "is told" "needs all 32 lanes of a wave; this one has 16"
right "zeros behind an odd number of bytes, a variable as a source" --buffer "x=256:u8 in ramp" \
    --buffer y=40:out --expect "y=zeros.npy" <<'END'
#include <cuda_pipeline.h>
__device__ float4 table[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
__global__ void k(const unsigned char *x, float *y)
{
    __shared__ __align__(16) unsigned char s[32];
    if (threadIdx.x == 0) {
        __pipeline_memcpy_async(s, x + 16, 16, 3);
        __pipeline_memcpy_async(s + 16, &table[1], 16);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        for (int i = 0; i < 16; i++)
            y[i] = s[i];
        for (int i = 0; i < 4; i++)
            y[16 + i] = ((float *)(s + 16))[i];
        y[20] = 0;
    }
    if (threadIdx.x < 19)
        y[21 + threadIdx.x] = 0;
}
END
wrong "more zeros than bytes" "more bytes of zeros than of the copy" --buffer x=32 --buffer y=32 <<'END'
__global__ void k(const float *x, float *y)
{
    __shared__ float s[32];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4, 8);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[threadIdx.x] = s[threadIdx.x];
}
END
right "numbers as a device gives them" --buffer y=32:out --expect "y=numbers.npy" <<'END'
__global__ void k(float *y)
{
    __shared__ int q[32];
    const float zero = y == nullptr;
    remquof(7.f, 2.f, &q[threadIdx.x]);
    const float all[] = {sinpif(1.f), cospif(0.5f), cospif(1e20f), sinpif(2.5f),
        1 / abs(-zero), (float)abs((short)-32768), roundf(erfcinvf(1e-20f) * 100),
        roundf(normcdfinvf(1e-20f) * 100), (float)q[threadIdx.x],
        1 / __fadd_rd(zero, -zero), 1 / __fadd_rd(zero, zero), erfcinvf(1.f)};
    y[threadIdx.x] = threadIdx.x < 12 ? all[threadIdx.x] : 0;
}
END
# Lines that end as on Windows.
printf '#define TWICE(x) \\\r\n    ((x) + \\\r\n     (x))\r\n__global__ void k(int *y)\r\n{\r\n    y[threadIdx.x + 1] = TWICE(2);\r\n}\r\n' >k.cu
expect "lines of Windows" 1 judge k.cu --entry k --block 32 --buffer y=32
answers "their number" "(here at k.cu:6)"
right "a raw text of the host" --buffer y=32 <<'END'
int main()
{
    const char *const words[] = {R"a(" } __global__ void other() {} )"a)a"};
    return puts(words[0]);
}
__global__ void k(int *y) { y[threadIdx.x] = 2; }
END

# ---- comparisons of numbers that unwritten bytes are a part of

for asked in "(a & 0xff00) == 0x1200" "a * 3 - 7 == 89" "9 - a == 4" \
    "__int_as_float(a) * 2.0f + x[threadIdx.x] == 3.25f" \
    "__int_as_float(a) / 8 > 1e-3f && __int_as_float(a) / 8 < 1.1e-3f" \
    "(double)__int_as_float(a) - 0.5 == 41.5"; do
    wrong "unwritten: $asked" "nobody has written yet" --buffer x=32:"f32 in ramp" \
        --buffer y=32 <<END
__global__ void k(const float *x, int *y)
{
    __shared__ int s[32];
    const int a = s[threadIdx.x];
    y[threadIdx.x] = $asked ? 1 : 2;
}
END
done
right "an unwritten number that decides nothing" --buffer x=32:"f32 in ramp" --buffer y=32 <<'END'
__global__ void k(const float *x, int *y)
{
    __shared__ float s[40];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    const float a = s[threadIdx.x + 8];
    int more = 0;
    if (threadIdx.x < 24)
        more = a * 2 + 1 == 41;
    y[threadIdx.x] = more;
}
END
right "a comparison that no number turns" --buffer y=32 --arg other=9223372035787493212 <<'END'
__global__ void k(int *y, long long other)
{
    __shared__ int s[32];
    const int a = s[threadIdx.x];
    y[threadIdx.x] = -(long long)(unsigned)a == other ? 1 : 2;
}
END
finish
