#include <cuda_fp16.h>
#define TILE 128
template <int N, typename T = float> __global__ void __launch_bounds__(TILE * 2)
    sums(const T *__restrict__ x, T *y, int n, struct { int a[3]; } *p)
{
    extern __shared__ __align__(16) unsigned char room[];
    T *s = reinterpret_cast<T *>(room);
    s[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : T(0);
    for (int i = N / 2; i > 0; i >>= 1) {
        __syncthreads();
        if (threadIdx.x < i) s[threadIdx.x] += s[threadIdx.x + i];
    }
    if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}
int main() { float *x; cudaMalloc(&x, 4); sums<256><<<1, 256, 1024>>>(x, x, 1, 0); }
