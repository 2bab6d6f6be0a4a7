#include <cuda.h>
#define WAIT(bar, parity) \
    asm volatile("{ .reg .pred p; wait_%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n" \
                 "@!p bra.uni wait_%=; }" ::"r"(bar), "r"(parity) : "memory")
__global__ void k(const __grid_constant__ CUtensorMap a, const CUtensorMap *b, float *y)
{
    float d[4];
    unsigned is = 0;
    asm("{ .reg .b32 %%x, %%y; .reg .pred %%p; elect.sync %%x|%%p, %1; @%%p mov.s32 %0, 1; }"
        : "+r"(is) : "r"(~0u));
    WAIT(is, 1);
    asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, 0}], [%3];" ::"r"(0), "l"(&a), "r"(1), "r"(8));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %4, 1,"
                 " 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(b));
    asm volatile("x : bra x;y:");
}
