#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat judge on kernels as they stand in repositories: with headers beside
# them, host code around them, and what CUDA's own headers would define.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/judge_common.sh"

cd "$work" || exit 1
needs "${GROAT_CXX:-c++}"

# ---- headers beside the file

mkdir -p tree/sub
cat >tree/a.h <<'END'
#pragma once
#include <cstdio>
#include "sub/b.h"
#include <iostream>
#define CHECK(x) do { if (x) fprintf(stderr, "bad"); } while (0)
#define TWO 2
static inline void host_timer() { std::cout << cudaGetLastError(); }
__device__ float twice(const float *x, int i)
{
    return TWO * x[i + 1] * three;
}
END
cat >tree/sub/b.h <<'END'
#ifndef B_H
#define B_H
#include "../a.h"
constexpr int three = 3;
struct P { int n; float s; };
#endif
END
cat >tree/k.cu <<'END'
#include <cuda_runtime.h>
  #include "a.h"  // with blanks
#include "sub/b.h"

__global__ void k(const float *x, float *y, P p)
{
    extern __shared__ float s[];
    int i = threadIdx.x;
    s[i] = twice(x, i);
    __syncthreads();
    if (i < p.n) y[i + 1] = s[i] * p.s;
}
int main() { host_timer(); k<<<1, 32>>>(0, 0, P{}); }
END
file=tree/k.cu
launch="--block 32 --shared 128 --arg p.n=32 --arg p.s=0.5"
expect "headers beside the file" 0 judge $file $launch --buffer x=33 --buffer y=33
expect "a fault in a header" 1 judge $file $launch --buffer x=32 --buffer y=33
says "is at its line" "(here at tree/a.h:10); that is x[32], 1 element past the end"
says "with its text" "return TWO * x[i + 1] * three;"
callers "and the caller's" "tree/k.cu:9 in k"
expect "one behind them" 1 judge $file $launch --buffer x=33 --buffer y=32
says "is at the file's line" "(here at tree/k.cu:11); that is y[32]"
sed -i 's/struct P {/& __device__ static void f() { tex2D(); }/' tree/sub/b.h
expect "what is refused in a header" 2 judge $file $launch --buffer x=33 --buffer y=33
says "is named with its line" "tree/sub/b.h:5: tex2D: textures are not judged"
printf '#include "gone.h"\n' >tree/sub/b.h
expect "a header that is not there" 4 judge $file $launch --buffer x=33 --buffer y=33
says "is named with the line that includes it" "gone.h (tree/sub/b.h:1)"
says "and so is what it lacks" "tree/k.cu:5:"
mkdir elsewhere
printf '#pragma once\nconstexpr int three = 3;\nstruct P { int n; float s; };\n' >elsewhere/gone.h
expect "one in another folder" 0 judge $file $launch --include . \
    --include elsewhere --buffer x=33 --buffer y=33
printf 'int x;\0int y;\n' >tree/sub/b.h
expect "a header that is no source" 2 judge $file $launch --buffer x=33 --buffer y=33
says "is named" "tree/sub/b.h has a byte of 0"
mkdir many
for i in $(seq 1 270); do
    echo "#include \"h$((i + 1)).h\"" >many/h$i.h
done
echo '#include "h1.h"' >many/k.cu
expect "too many headers" 2 judge many/k.cu $launch --buffer x=33
says "are counted" "many/k.cu includes more than 256 files"

# ---- what the kernel does not name

cat >whole.cu <<'END'
#include <torch/extension.h>
#include <cub/cub.cuh>
#define DEVICE __device__ __forceinline__
#define OPEN_SPACE namespace tools {
#define CLOSE_SPACE }
#define ATTRIBUTE(n) __attribute__((aligned(n)))
#define CALL(name, x) name##_of(x)
#define MAKE(name, by) DEVICE float name##_by(float x) { return x * by + shift; }
#define BIND(name) torch::Tensor name(torch::Tensor x) { launch<<<1, 32>>>(x); return x; }
using namespace cub;
using torch::Tensor;
typedef void (*launcher)(cudaStream_t);
typedef struct { float by; } scale;
enum { SHIFT = 1 };
static const float shift = SHIFT;
static const float unused = std::sqrt(2.f) + elsewhere();
static Tensor all = torch::zeros({1});
struct Missing : public torch::Module { int n; };
template <class T> struct launched { static void go() { twice<<<1, 1>>>(); } };
class reader { FILE *file; reader() { file = fopen("x", "r"); } };
DEVICE void other(float *x) { asm volatile("bra there;"); tex2D(x); }
DEVICE float gone(float x) { return missing(x); }
OPEN_SPACE
#ifdef WIDE
DEVICE double twice(double x)
#else
DEVICE float twice(float x)
#endif
{
    return 2 * x;
}
CLOSE_SPACE
using namespace tools;
MAKE(three, 3)
DEVICE float four_of(float x) { return 4 * x; }
struct pair { float a, b; };
DEVICE pair operator+(pair x, pair y) { return {x.a + y.a, x.b + y.b}; }
ATTRIBUTE(8) DEVICE float five(float x) { return x + 5; }
static __global__ void twin(float *y) { y[0] = gone(1); }
BIND(bound)
__global__ void k(const float *x, float *y,
#ifdef WIDE
                  double scale,
#endif
#if __CUDA_ARCH__ >= 700
                  scale s
#else
                  float by
#endif
)
{
    const float a = x[threadIdx.x];
    const pair p = pair{a, 1} + pair{1, 1};
    y[threadIdx.x] = (twice(a) + three_by(a) + CALL(four, a) + five(p.a) + p.b) * s.by;
}
float launch(Tensor x) { k<<<1, 32>>>(x.data_ptr<float>(), nullptr, {}); return gone(1); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("launch", &launch); }
END
expect "a file with much around its kernel" 0 judge whole.cu --entry k --block 32 \
    --buffer x=32:"in ramp" --buffer y=32:out --arg s.by=2 --output y=got
says "headers that are left out are named" \
    "nor in --include: cub/cub.cuh (whole.cu:2)"
[ "$(od -An -tf4 -N8 got | tr -s ' ')" = " 18 38" ] && pass "is computed" ||
    fail "is computed" "$(od -An -tf4 -N8 got)"
sed 's/five(p.a)/gone(p.a)/' whole.cu >names.cu
expect "a name that is needed and missing" 4 judge names.cu --entry k --block 32 \
    --buffer x=32 --buffer y=32:out --arg s.by=2
says "is told at its line" "names.cu:22:"
lacks "without others" "names.cu:17:"

# What is not named as others are.
printf '%s\n' '#ifndef ROCM_H' '#define ROCM_H' 'int a;' 'int b;' '#endif' >rocm.h
cat >named.cu <<'END'
#include <vector>
#include <string>
#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#if __has_include(<nvml.h>) || !__has_include(<cuda_fp16.h>) || ! __has_include ( "rocm.h" )
#error it has none
#endif
__constant__ float one[2] = {1, 2}, two[2] = {3, 4};
static const int first = 3, second = first + 1;
__constant__ struct shape { int n; float s; } given = {3, 2.f};
struct { int n; } static __device__ lone = {5};
typedef struct pair_tag { float a; } pair, *pair_pointer;
typedef float (*function)(float);
enum colour : int { RED = 2, GREEN };
template <class T> struct traits { static constexpr int vec = 1; };
template <> struct traits<double> { static constexpr int vec = 8; };
struct taken { int exit, map; cudaStream_t stream; };
struct from_host { std::vector<float> v; };
bool operator==(const from_host &a, const from_host &b) { return a.v == b.v; }
from_host::operator bool() const { return !v.empty(); }
GLuint vbo, texture;
cv::Mat operator+(cv::Mat a, cv::Mat b);
template <class X> [[nodiscard]] __device__ X same(X x) { return x; }
__device__ float my_add(float x) { return x + 1'000; } // continued \
__device__ float my_add(float x) { return 0; }
__device__ struct pair_tag *keep(pair_tag *p) { return p; }
struct shape make() { return {}; }
__device__ float last(float x) { return x; }
__global__ void k(float *y, taken p)
{
    pair q = {1};
    function f = last;
    y[0] = two[1] + second + given.s + lone.n + q.a + GREEN + traits<double>::vec + p.map +
           same(1.f) + PASTE(my_, add)(1) + keep(&q)->a + f(1);
}
END
expect "what is named in other ways" 0 judge named.cu --block 1 --buffer y=1:out \
    --arg p.map=7 --output y=got
[ "$(od -An -tf4 got | tr -d ' ')" = 1038 ] && pass "is all there" ||
    fail "is all there" "$(od -An -tf4 got)"
cat >ops.def <<'END'
OP(add, +)
OP(sub, -)
END
cat >twice.cu <<'END'
#ifdef __HIPCC__
#include "rocm.h"
#endif
#define OP(n, o) __device__ float n##_f(float a, float b) { return a o b; }
#include "ops.def"
#undef OP
#define OP(n, o) case n: return n##_f(a, b);
enum { add, sub };
__device__ float run(int i, float a, float b)
{
    switch (i) {
#include "ops.def"
    }
    return 0;
}
__global__ void k(float *y)
{
    y[0] = run(sub, 3, 2);
    y[1] = 1;
}
END
expect "a header that is included twice" 0 judge twice.cu --block 1 --buffer y=2:out --output y=got
[ "$(od -An -tf4 -N4 got | tr -d ' ')" = 1 ] && pass "counts twice" ||
    fail "counts twice" "$(od -An -tf4 got)"
expect "a line behind a header that is not compiled" 1 judge twice.cu --block 1 --buffer y=1
says "is its own" "(here at twice.cu:19)"

# ---- loads that an atomic operation confirms

swaps() {
    cat <<'END'
__device__ double add(double *address, double x) // as in CUDA's guide
{
    unsigned long long *p = (unsigned long long *)address;
    unsigned long long old = *p, assumed;
    do {
        assumed = old;
        old = atomicCAS(p, assumed, __double_as_longlong(x + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}
__device__ void most(float *address, float x)
{
    int *p = (int *)address;
    int old = *p, assumed;
    do {
        assumed = old;
        if (__int_as_float(assumed) >= x)
            break;
        old = atomicCAS(p, assumed, __float_as_int(x));
    } while (assumed != old);
}
__global__ void k(const float *x, float *y, double *sum)
{
    __shared__ double all;
    __shared__ float top;
    const int i = threadIdx.x;
    if (i == 0) {
        all = 0;
        top = -1e30f;
    }
    __syncthreads();
    add(&all, x[i]);
    most(&top, x[i]);
    __syncthreads();
    y[i] = top;
    if (i == 0)
        add(sum, all);
}
END
}
swaps >swaps.cu
for jobs in 1 3; do
    expect "loops of compare-and-swaps, $jobs" 0 judge swaps.cu --block 128 --grid 4 \
        --jobs $jobs --buffer x=128 --buffer y=128:out --buffer sum=1
done
for pair in "n" "early"; do
    case $pair in
    n) code=0 barrier='__syncthreads();' ;;
    *) code=1 barrier= ;;
    esac
    cat >count.cu <<END
__global__ void k(const float *x, float *y)
{
    __shared__ int n;
    if (threadIdx.x == 0)
        n = 0;
    __syncthreads();
    if (x[threadIdx.x] > 0)
        atomicAdd(&n, 1);
    $barrier
    y[threadIdx.x] = n;
}
END
    expect "a counter that is read, $pair" $code judge count.cu --block 64 --buffer x=64 \
        --buffer y=64:out
done
says "without a barrier" "wrote since the last barrier: a barrier is missing (here at count.cu:10, the write at count.cu:8)"

# ---- threads that end at once

guarded() {
    cat <<'END'
__global__ void k(const float *x, const int *on, float *y, unsigned *votes, int n)
{
    __shared__ float s[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || !on[i])
        return;
    s[threadIdx.x] = x[i];
    __syncthreads();
    const unsigned all = __ballot_sync(0xffffffff, s[threadIdx.x] > 0);
    float sum = s[threadIdx.x];
    sum += __shfl_down_sync(0xffffffffu, sum, 1);
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        votes[i / 32] = all;
    y[i] = threadIdx.x < 8 ? sum : 0;
}
END
}
guarded >guarded.cu
for seed in 0 5; do
    expect "threads behind the end, $seed" 0 judge guarded.cu --block 64 --grid 2 --seed $seed \
        --buffer "x=n:in random(1, 2)" --buffer "on=n:in random(1, 9)" --buffer y=n \
        --buffer "votes=4:inout zeros none" --arg n=100 --output votes=got
    [ "$(od -An -tx4 got | xargs)" = "ffffffff ffffffff ffffffff 0000000f" ] &&
        pass "the others vote, $seed" || fail "the others vote, $seed" "$(od -An -tx4 got)"
done
sed 's/    if (i >= n/    s[threadIdx.x] = 0;\n&/' guarded.cu >acts.cu
expect "one that has written shared memory" 1 judge acts.cu --block 64 --grid 2 \
    --buffer "x=n:in random(1, 2)" --buffer "on=n:in random(1, 9)" --buffer y=n --buffer votes=4 --arg n=100
says "is missed" "waits at a barrier that thread 36 does not come to, as that thread has ended"
wrong "one that goes on" "at a shuffle or vote for other lanes" --buffer y=32 <<'END'
__global__ void k(float *y)
{
    if (threadIdx.x < 20)
        y[threadIdx.x] = __shfl_sync(0xffffffff, 1.f, 0);
    else
        y[threadIdx.x] = 0;
}
END

# ---- what others' files have around a kernel

right "declarations of the host, NULL, clocks, bounds that are computed" \
    --buffer x=32 --buffer y=32:out --arg n=9 <<'END'
#include <stdlib.h>
#include <math.h>
extern "C" void reference(float *out, int n);
extern "C" { void other(int); }
static int rows = 4;
FILE *log_file;
double seconds() { struct timeval t; gettimeofday(&t, NULL); return t.tv_sec; }
using std::min;
using std::generate;
using real = std::conditional_t<sizeof(int) == 4, float, double>;
#if CUDART_VERSION >= 11000 && CUDA_VERSION < 20000
#define BOUND 16 * 16
#endif
static __constant__ float c[4] = {1, 2, 3, 4};
__global__ void __launch_bounds__(BOUND) k(const float *x, float *y, int n)
{
    const long long start = clock64();
    real least = min(1.f, x != NULL ? x[0] : 2.f);
    while (clock64() - start < 1000000)
        ;
    y[threadIdx.x] = x != NULL ? x[threadIdx.x] + sqrt(n) + exp(0u) : c[0];
    if (clock() < 0)
        y[threadIdx.x] = M_2_SQRTPI + least;
}
END
lacks "nothing is warned of" "warning"
refused "a bound that is a number" "__launch_bounds__ of k allows 16" --block 32 \
    --buffer y=32 <<'END'
__global__ void __launch_bounds__( 16 , 2) k(float *y) { y[threadIdx.x] = 1; }
END

optional() {
    cat <<'END'
__global__ void k(const float *_x, float *y, const float *__bias, int _n)
{
    const int i = threadIdx.x;
    if (i < _n)
        y[i] = (__bias ? __bias[i] : 7) + (_x ? _x[i] : 5);
}
END
}
optional | right "null pointers" --buffer _x=null --buffer y=_n:out --buffer __bias=null \
    --arg _n=32 --output y=got
[ "$(od -An -tf4 -N8 got | tr -s ' ')" = " 12 12" ] && pass "are null" ||
    fail "are null" "$(od -An -tf4 -N8 got)"
optional | right "names with underscores" --buffer _x=32 --buffer y=_n --buffer __bias=32 \
    --arg _n=32
optional | wrong "a null pointer that is used" "(here at k.cu:5)" \
    --buffer _x=32 --buffer y=null --buffer __bias=null --arg _n=32
optional | refused "a null number" "_n of family k is null" --block 32 --buffer _x=32 \
    --buffer y=null --buffer __bias=null --arg _n=null
long=a_kernel_with_a_name_that_is_rather_long_and_goes_on_for_more_than_forty_eight
echo "__global__ void $long(float *y) { y[threadIdx.x + 1] = 1; }" >long.cu
expect "a long name" 1 judge long.cu --entry $long --block 32 --buffer y=32
callers "is named whole" "long.cu:1 in $long"
finish
