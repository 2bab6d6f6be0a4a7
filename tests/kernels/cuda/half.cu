// SPDX-License-Identifier: Apache-2.0
// Kernels on floats of 16 bits and on groups, for tests/cli/judge_half.sh.  Those
// whose names begin with wrong_ have one fault each.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdio.h>

namespace cg = cooperative_groups;

__global__ void axpy(const half *x, half *y, half alpha, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = alpha * x[i] + y[i];
}

__global__ void axpy_pairs(const half2 *x, half2 *y, float alpha, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2)
        y[i] = __hadd2(__hmul2(__float2half2_rn(alpha), x[i]), y[i]);
}

// y = x / sqrt(mean(x^2) + eps) * w, a row for each block.
__global__ void rmsnorm(const __nv_bfloat16 *__restrict__ x,
                        const __nv_bfloat16 *__restrict__ w,
                        __nv_bfloat16 *__restrict__ y, int n, float eps)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    __shared__ float part[32];
    float sum = 0.f;
    x += blockIdx.x * n;
    y += blockIdx.x * n;
    for (int i = block.thread_rank(); i < n; i += block.size()) {
        const float value = __bfloat162float(x[i]);
        sum += value * value;
    }
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (warp.thread_rank() == 0)
        part[warp.meta_group_rank()] = sum;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        sum = warp.thread_rank() < warp.meta_group_size() ? part[warp.thread_rank()]
                                                          : 0.f;
        sum = cg::reduce(warp, sum, cg::plus<float>());
        if (warp.thread_rank() == 0)
            part[0] = rsqrtf(sum / n + eps);
    }
    cg::sync(block);
    for (int i = block.thread_rank(); i < n; i += block.size())
        y[i] = __float2bfloat16(__bfloat162float(x[i]) * part[0] *
                                __bfloat162float(w[i]));
}

template <typename T, int tile>
__global__ void transpose(const T *x, T *y, int rows, int cols)
{
    __shared__ T part[tile][tile + 1];
    int c = blockIdx.x * tile + threadIdx.x, r = blockIdx.y * tile + threadIdx.y;
    if (r < rows && c < cols)
        part[threadIdx.y][threadIdx.x] = x[r * cols + c];
    __syncthreads();
    c = blockIdx.y * tile + threadIdx.x;
    r = blockIdx.x * tile + threadIdx.y;
    if (r < cols && c < rows)
        y[r * rows + c] = part[threadIdx.x][threadIdx.y];
}

__global__ void wrong_gemm(const half *a, const half *b, half *c, int n)
{
    __shared__ half left[16][16], right[16][16];
    const int row = threadIdx.y, col = threadIdx.x;
    half sum = 0;
    for (int k = 0; k < n; k += 16) {
        left[row][col] = a[row * n + k + col];
        right[row][col] = b[(k + row) * 16 + col];
        for (int i = 0; i < 16; i++)
            sum += left[row][i] * right[i][col];
        __syncthreads();
    }
    c[row * 16 + col] = sum;
}

union eight {
    uint4 words;
    half2 pairs[4];
};

// Twice x, by 16 bytes, and the greatest of its absolute values.
__global__ void twice(const half *x, half *y, float *most)
{
    eight given;
    float m = 0.f;
    given.words = *reinterpret_cast<const uint4 *>(x + 8 * threadIdx.x);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float2 two = __half22float2(given.pairs[i]);
        m = fmaxf(m, fmaxf(fabsf(two.x), fabsf(two.y)));
        given.pairs[i] = __hmul2(given.pairs[i], __float2half2_rn(2.f));
    }
    *reinterpret_cast<uint4 *>(y + 8 * threadIdx.x) = given.words;
    for (int by = 16; by > 0; by /= 2)
        m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, by));
    if (threadIdx.x == 0)
        *most = m;
}

__global__ void sums(const half *x, half *sum, half2 *both)
{
    atomicAdd(sum, x[threadIdx.x]);
    atomicAdd(both, __half2half2(x[threadIdx.x]));
}

// What each lane of a tile sees of it.
__global__ void tiles(const int *x, int *y)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const int mine = x[threadIdx.x];
    int *at = y + threadIdx.x;
    at[0] = cg::reduce(tile, mine, cg::greater<int>());
    at[64] = cg::inclusive_scan(tile, mine, cg::plus<int>());
    at[128] = tile.shfl(mine, 3);
    at[192] = tile.shfl_down(mine, 2);
    at[256] = tile.ballot(mine & 1);
    at[320] = tile.meta_group_rank() * 100 + tile.thread_rank();
    at[384] = tile.any(mine > 90) + 2 * tile.all(mine >= 0);
    at[448] = cg::exclusive_scan(tile, mine, cg::plus<int>());
}

// The odd numbers of x, in any order, behind their count.
__global__ void odd_numbers(const int *x, int *y)
{
    const int mine = x[threadIdx.x];
    if (mine & 1) {
        auto group = cg::coalesced_threads();
        int at = 0;
        if (group.thread_rank() == 0)
            at = atomicAdd(y, (int)group.size());
        at = group.shfl(at, 0) + group.thread_rank();
        y[1 + at] = mine;
        if (cg::reduce(group, mine, cg::less<int>()) % 2 == 0 || !group.all(mine & 1))
            y[0] = -1;
    }
}

namespace wmma = nvcuda::wmma;

// c = 2 a b, a tile of m x n for each warp; b is stored by columns where `turned`.
template <class T, class sum, int m, int n, bool turned>
__global__ void product(const T *a, const T *b, sum *c, int columns, int depth)
{
    using order = std::conditional_t<turned, wmma::col_major, wmma::row_major>;
    const int row = blockIdx.y * m, col = blockIdx.x * n;
    wmma::fragment<wmma::matrix_a, m, n, 16, T, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, m, n, 16, T, order> right;
    wmma::fragment<wmma::accumulator, m, n, 16, sum> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k = 0; k < depth; k += 16) {
        wmma::load_matrix_sync(left, a + row * depth + k, depth);
        if (turned)
            wmma::load_matrix_sync(right, b + col * depth + k, depth);
        else
            wmma::load_matrix_sync(right, b + k * columns + col, columns);
        wmma::mma_sync(acc, left, right, acc);
    }
    for (int i = 0; i < acc.num_elements; i++)
        acc.x[i] = acc.x[i] + acc.x[i];
    wmma::store_matrix_sync(c + row * columns + col, acc, columns,
                            wmma::mem_row_major);
}

__global__ void wrong_product(const half *a, float *c)
{
    __shared__ half tile[256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    for (int i = threadIdx.x; i < 256; i += 32)
        tile[i] = a[i];
    wmma::load_matrix_sync(left, tile, 16);
    wmma::load_matrix_sync(right, tile, 16);
    wmma::fill_fragment(acc, 0.0f);
    wmma::mma_sync(acc, left, right, acc);
    wmma::store_matrix_sync(c, acc, 16, wmma::mem_row_major);
}

__global__ void wrong_rows(const half *a, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> left;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::load_matrix_sync(left, a, 20);
    wmma::fill_fragment(acc, (float)left.x[0]);
    wmma::store_matrix_sync(c, acc, 16, wmma::mem_row_major);
}

__global__ void wrong_tile(const int *x, int *y)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    if (threadIdx.x < 16)
        y[threadIdx.x] = warp.shfl_xor(x[threadIdx.x], 1);
    else
        y[threadIdx.x] = 0;
}

int main()
{
    half *x;
    cudaMalloc(&x, 512);
    axpy<<<2, 128>>>(x, x, __float2half(2.f), 256);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
