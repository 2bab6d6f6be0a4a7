// SPDX-License-Identifier: Apache-2.0
// c = a * b^T of bf16 numbers, 64 x 64 x K, as kernels for Hopper are written by
// hand: a warp fills two slots by copies of boxes (TMA), a warpgroup multiplies
// them (wgmma), mbarriers synchronise the two.  tests/cli/judge_product.sh judges
// it; main() runs it on a device:
// nvcc -gencode arch=compute_90a,code=sm_90a product.cu -lcuda
#include <cuda.h>
#include <cuda_bf16.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

constexpr int side = 64, slots = 2, slot_bytes = 2 * side * side * 2;

__device__ uint32_t at(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ void wait(uint64_t *bar, int parity)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@p bra.uni done;\n"
                 "bra.uni again;\n"
                 "done:\n"
                 "}\n" ::"r"(at(bar)), "r"(parity) : "memory");
}

__device__ void arrive(uint64_t *bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(bar)) : "memory");
}

__device__ void expect(uint64_t *bar, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(bar)),
                 "r"(bytes) : "memory");
}

__device__ void copy(const CUtensorMap *map, void *to, uint64_t *bar, int column)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(at(to)),
                 "l"(map), "r"(at(bar)), "r"(column), "r"(0) : "memory");
}

// Rows of 128 bytes, in the pattern that swizzle(128) makes.
__device__ uint64_t descriptor(const void *p)
{
    return (uint64_t)(at(p) >> 4 & 0x3fff) | (uint64_t)1 << 16 |
           (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

#define MULTIPLY(d, a, b, adds) \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" \
        "%0, %1, %2, %3, %4, %5, %6, %7, " \
        "%8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, " \
        "%24, %25, %26, %27, %28, %29, %30, %31" \
        "}, %32, %33, p, 1, 1, 0, 0;\n}\n" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), \
          "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), \
          "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), \
          "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), \
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]) \
        : "l"(descriptor(a)), "l"(descriptor(b)), "r"((int)(adds)))

__global__ void product(const __grid_constant__ CUtensorMap a,
                        const __grid_constant__ CUtensorMap b, float *c, int steps)
{
    __shared__ alignas(1024) __nv_bfloat16 rows[slots][side * side];
    __shared__ alignas(1024) __nv_bfloat16 columns[slots][side * side];
    __shared__ uint64_t full[slots], empty[slots];
    const int t = threadIdx.x;

    if (t == 0) {
        for (int i = 0; i < slots; i++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(&full[i])), "r"(1));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(&empty[i])), "r"(128));
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (t >= 128) {
        if (t == 128)
            for (int s = 0; s < steps; s++) {
                const int slot = s % slots;

                wait(&empty[slot], s / slots % 2 ^ 1);
                expect(&full[slot], slot_bytes);
                copy(&a, rows[slot], &full[slot], side * s);
                copy(&b, columns[slot], &full[slot], side * s);
            }
        return;
    }
    float d[32];
    for (int s = 0; s < steps; s++) {
        const int slot = s % slots;

        wait(&full[slot], s / slots % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < side; k += 16)
            MULTIPLY(d, rows[slot] + k, columns[slot] + k, s + k > 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        arrive(&empty[slot]);
    }
    for (int i = 0; i < 32; i++) {
        const int row = 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2);

        c[row * side + 8 * (i / 4) + 2 * (t % 4) + i % 2] = d[i];
    }
}

// ---- the host's part

static CUtensorMap map_of(__nv_bfloat16 *matrix, int k)
{
    const cuuint64_t dims[2] = {(cuuint64_t)k, side}, stride = 2 * k;
    const cuuint32_t box[2] = {side, side}, steps[2] = {1, 1};
    CUtensorMap map;

    if (cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, matrix, dims, &stride,
                               box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        exit(2);
    return map;
}

int main()
{
    const int k = 4 * side;
    __nv_bfloat16 *a, *b;
    float *c;
    int wrong = 0;

    cudaMallocManaged(&a, 2 * side * k);
    cudaMallocManaged(&b, 2 * side * k);
    cudaMallocManaged(&c, 4 * side * side);
    for (int i = 0; i < side * k; i++) {
        a[i] = __float2bfloat16(i * 7 % 9 - 4);
        b[i] = __float2bfloat16(i * 5 % 11 - 5);
    }
    product<<<1, 160>>>(map_of(a, k), map_of(b, k), c, k / side);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 2;
    for (int i = 0; i < side * side; i++) {
        float sum = 0;

        for (int j = 0; j < k; j++)
            sum += __bfloat162float(a[i / side * k + j]) * __bfloat162float(b[i % side * k + j]);
        wrong += c[i] != sum;
    }
    printf("%d of %d wrong\n", wrong, side * side);
    return wrong != 0;
}
