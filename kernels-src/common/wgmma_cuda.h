// SPDX-License-Identifier: Apache-2.0
// wgmma of common/wgmma.h for NVRTC and nvcc, sm_90a.  PTX ISA:
// wgmma.mma_async, wgmma.fence, wgmma.commit_group, wgmma.wait_group.
#pragma once

namespace groat {

enum major { k_major, mn_major };

template <int n> struct wgmma_accumulator {
    float v[n / 2];

    GROAT_DEVICE float get(int i) const
    {
        return v[i];
    }
};

GROAT_DEVICE void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

GROAT_DEVICE void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// The compiler does not know that registers are written asynchronously: without
// this it may move uses of them above the wait.
template <int n> GROAT_DEVICE void wgmma_settle(wgmma_accumulator<n> &acc)
{
    GROAT_UNROLL
    for (int i = 0; i < n / 2; i++)
        asm volatile("" : "+f"(acc.v[i])::"memory");
}

template <int groups, int... n>
GROAT_DEVICE void wgmma_wait(wgmma_accumulator<n> &...accs)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
    (wgmma_settle(accs), ...);
}

// Stores two pairs per statement: one statement for each compiles slower.
template <bool cut, int n>
GROAT_DEVICE void wgmma_store(const wgmma_accumulator<n> &acc, int half,
                              u64 address, u32 cols)
{
    GROAT_UNROLL
    for (int i = 0; i < n / 8; i += 2) {
        const float *v = acc.v + 4 * i + 2 * half;

        if constexpr (cut)
            asm volatile("{\n\t"
                         ".reg .pred p;\n\t"
                         "setp.gt.s32 p, %5, 0;\n\t"
                         "@p st.global.f32 [%0], %1;\n\t"
                         "setp.gt.s32 p, %5, 1;\n\t"
                         "@p st.global.f32 [%0+4], %2;\n\t"
                         "setp.gt.s32 p, %5, 8;\n\t"
                         "@p st.global.f32 [%0+32], %3;\n\t"
                         "setp.gt.s32 p, %5, 9;\n\t"
                         "@p st.global.f32 [%0+36], %4;\n\t"
                         "}" ::"l"(address + 32 * i),
                         "f"(v[0]), "f"(v[1]), "f"(v[4]), "f"(v[5]),
                         "r"(static_cast<int>(cols) - 8 * i)
                         : "memory");
        else
            asm volatile("{\n\t"
                         ".reg .pred p;\n\t"
                         "setp.ne.u32 p, %5, 0;\n\t"
                         "@p st.global.v2.f32 [%0], {%1, %2};\n\t"
                         "@p st.global.v2.f32 [%0+32], {%3, %4};\n\t"
                         "}" ::"l"(address + 32 * i),
                         "f"(v[0]), "f"(v[1]), "f"(v[4]), "f"(v[5]), "r"(cols)
                         : "memory");
    }
}

template <int n> struct wgmma_of;

// Slow to parse, so only for the arch that has them.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define GROAT_F8(i) \
    "+f"(acc.v[i]), "+f"(acc.v[i + 1]), "+f"(acc.v[i + 2]), \
        "+f"(acc.v[i + 3]), "+f"(acc.v[i + 4]), "+f"(acc.v[i + 5]), \
        "+f"(acc.v[i + 6]), "+f"(acc.v[i + 7])
#define GROAT_F16(i) GROAT_F8(i), GROAT_F8(i + 8)
#define GROAT_F32(i) GROAT_F16(i), GROAT_F16(i + 16)
#define GROAT_F64(i) GROAT_F32(i), GROAT_F32(i + 32)
#define GROAT_F128(i) GROAT_F64(i), GROAT_F64(i + 64)
#define GROAT_R8 \
    "%0, %1, %2, %3, %4, %5, %6, %7"
#define GROAT_R16 \
    GROAT_R8 ", " \
    "%8, %9, %10, %11, %12, %13, %14, %15"
#define GROAT_R32 \
    GROAT_R16 ", " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
    "%29, %30, %31"
#define GROAT_R64 \
    GROAT_R32 ", " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, " \
    "%45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, " \
    "%58, %59, %60, %61, %62, %63"
#define GROAT_R128 \
    GROAT_R64 ", " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, " \
    "%77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, " \
    "%90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, " \
    "%102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, " \
    "%113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, " \
    "%124, %125, %126, %127"

// Operands after the registers: descriptors a and b, whether to accumulate, and
// for 16-bit numbers which operands are mn-major.
#define GROAT_WGMMA(n, shape, registers, a, b, add, more, ...) \
    asm volatile("{\n\t" \
                 ".reg .pred p;\n\t" \
                 "setp.ne.b32 p, " add ", 0;\n\t" \
                 "wgmma.mma_async.sync.aligned.m64n" n shape \
                 " {" registers "}, " a ", " b ", p, 1, 1" more ";\n\t" \
                 "}" \
                 : __VA_ARGS__ \
                 : "l"(desc_a), "l"(desc_b), \
                   "r"(static_cast<u32>(accumulate)), \
                   "n"(static_cast<int>(a_major)), \
                   "n"(static_cast<int>(b_major)) \
                 : "memory")
#define GROAT_WGMMA_OF(width, n, registers, a, b, add, ta, tb, ...) \
    template <> struct wgmma_of<width> { \
        template <mma_number number, major a_major, major b_major> \
        static GROAT_DEVICE void go(wgmma_accumulator<width> &acc, u64 desc_a, \
                                    u64 desc_b, bool accumulate) \
        { \
            if constexpr (number == mma_bf16) \
                GROAT_WGMMA(n, "k16.f32.bf16.bf16", registers, a, b, add, \
                            ", " ta ", " tb, __VA_ARGS__); \
            else if constexpr (number == mma_f16) \
                GROAT_WGMMA(n, "k16.f32.f16.f16", registers, a, b, add, \
                            ", " ta ", " tb, __VA_ARGS__); \
            else if constexpr (number == mma_fp8) \
                GROAT_WGMMA(n, "k32.f32.e4m3.e4m3", registers, a, b, add, "", \
                            __VA_ARGS__); \
            else \
                GROAT_WGMMA(n, "k32.f32.e5m2.e5m2", registers, a, b, add, "", \
                            __VA_ARGS__); \
        } \
    };

GROAT_WGMMA_OF(16, "16", GROAT_R8, "%8", "%9", "%10", "%11", "%12",
               GROAT_F8(0))
GROAT_WGMMA_OF(32, "32", GROAT_R16, "%16", "%17", "%18", "%19", "%20",
               GROAT_F16(0))
GROAT_WGMMA_OF(64, "64", GROAT_R32, "%32", "%33", "%34", "%35", "%36",
               GROAT_F32(0))
GROAT_WGMMA_OF(128, "128", GROAT_R64, "%64", "%65", "%66", "%67", "%68",
               GROAT_F64(0))
GROAT_WGMMA_OF(256, "256", GROAT_R128, "%128", "%129", "%130", "%131", "%132",
               GROAT_F128(0))
#undef GROAT_WGMMA_OF
#undef GROAT_WGMMA
#undef GROAT_F8
#undef GROAT_F16
#undef GROAT_F32
#undef GROAT_F64
#undef GROAT_F128
#undef GROAT_R8
#undef GROAT_R16
#undef GROAT_R32
#undef GROAT_R64
#undef GROAT_R128

#endif

template <mma_number number, int n, major a_major, major b_major>
GROAT_DEVICE void wgmma(wgmma_accumulator<n> &acc, u64 desc_a, u64 desc_b,
                        bool accumulate = true)
{
    static_assert(n > 0 && arch::wgmma != 0, "wgmma: the arch has none");
    static_assert(number == mma_bf16 || number == mma_f16 ||
                      (a_major == k_major && b_major == k_major),
                  "wgmma: operands of 8 bits are k-major");
    wgmma_of<n>::template go<number, a_major, b_major>(acc, desc_a, desc_b,
                                                       accumulate);
}

} // namespace groat
