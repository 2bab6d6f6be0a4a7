// SPDX-License-Identifier: Apache-2.0
// A whole program, as people have it, for tests/cli/judge.sh: what is for the host
// is left out.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                            \
    do {                                                                       \
        cudaError_t status = (call);                                           \
        if (status != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(status)); exit(1); } \
    } while (0)
#define DEVICE __device__ __forceinline__

struct Point {
    float x, y;
    Point() : x{1}, y{2} { std::vector<int> unused; }
};

struct Timer {
    cudaEvent_t begin, end;
    Timer() { cudaEventCreate(&begin); cudaEventCreate(&end); }
    float stop() { float ms = 0; cudaEventElapsedTime(&ms, begin, end); return ms; }
};

using namespace std;
static map<int, float> known;
std::ostream &operator<<(std::ostream &out, const Point &p) { return out << p.x; }
auto now = []() { return chrono::steady_clock::now(); };

constexpr int div_up(int a, int b) { return (a + b - 1) / b; }
DEVICE float twice(float x) { return 2 * x; }
DEVICE float half_of(float x, float parts = 2) { int thread = 1; return thread * x / parts; }
template <int N = 2> DEVICE float part_of(float x) { return x / N; }
DEVICE float table(int i, float2 from = {1, 2}) { const float all[] = {from.x, from.y}; return all[i & 1]; }
namespace tools {
inline float largest(const std::vector<float> &x) { return *std::max_element(x.begin(), x.end()); }
template <class T> DEVICE T thrice(T x) { return 3 * x; }
} // namespace tools

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = twice(half_of(a[i])) + part_of(tools::thrice(b[i])) * table(i);
}

extern "C" {
int launch(const float *a, const float *b, float *c, int n)
{
    add<<<div_up(n, 32), 32>>>(a, b, c, n);
    return cudaGetLastError() == cudaSuccess;
}
__global__ void other(float *c)
{
    c[threadIdx.x + 1] = 1; // fault
}
}

static void report(const char *what, float ms)
{
    printf("%s %f\n", what, ms);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1000;
    std::vector<float> a(n, 1.f), b(n, 2.f), c(n);
    float *d[3];
    for (int i = 0; i < 3; i++) { CHECK(cudaMalloc(&d[i], n * sizeof(float))); }
    Timer timer;
    add<<<div_up(n, 32), 32>>>(d[0], d[1], d[2], n);
    report("add", timer.stop());
    if (tools::largest(c) != 8) return 1;
}
