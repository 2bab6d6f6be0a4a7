#define COPY(to, from, n) \
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"( \
        to), "l"(from), "n"(n))
#define HINT(b) ".L2::" #b "B"
__device__ unsigned lane() { unsigned l; asm("mov.u32 %0, %%laneid;" : "=r"(l)); return l; }
extern "C" __global__ void k(const float4 *x, float *y, unsigned *z)
{
    __shared__ float4 s[32];
    COPY((unsigned)__cvta_generic_to_shared(s + lane()), x + lane(), 16);
    asm volatile("cp.async.cg.shared.global" HINT(128) " [%0], [%1], 16;" ::"r"(0), "l"(x));
    asm("{\n\t.reg .pred p, q;\n\tsetp.ne.u32 p, %1, 3; // not 3\n\t@!p mov.b32 %0, 0f3F800000;\n\t}"
        : "=r"(*z) : "r"(lane()) : "memory");
    asm("label: bra label;"); asm(""); asm volatile("" ::: "memory");
}
