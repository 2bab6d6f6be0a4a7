// SPDX-License-Identifier: Apache-2.0
// common/atomics.h for NVRTC: atom.relaxed (sm_70 and up).
#pragma once

#define GROAT_ATOM(where, to, address, kind, in) \
    asm volatile("atom.relaxed." where "." kind " %0, [%1], %2;" \
                 : "=r"(old) \
                 : to(address), "r"(in) \
                 : "memory")
#define GROAT_ATOM_FLOAT(where, to, address, in) \
    asm volatile("atom.relaxed." where ".add.f32 %0, [%1], %2;" \
                 : "=f"(sum) \
                 : to(address), "f"(bits_float(in)) \
                 : "memory")
// One of the operations, in the scope and space that `where` names.
#define GROAT_ATOM_OF(op, where, to, address, in) \
    do { \
        float sum = 0; \
 \
        if constexpr (op == atomic_add) \
            GROAT_ATOM(where, to, address, "add.u32", in); \
        else if constexpr (op == atomic_min) \
            GROAT_ATOM(where, to, address, "min.u32", in); \
        else if constexpr (op == atomic_max) \
            GROAT_ATOM(where, to, address, "max.u32", in); \
        else if constexpr (op == atomic_min_signed) \
            GROAT_ATOM(where, to, address, "min.s32", in); \
        else if constexpr (op == atomic_max_signed) \
            GROAT_ATOM(where, to, address, "max.s32", in); \
        else if constexpr (op == atomic_exchange) \
            GROAT_ATOM(where, to, address, "exch.b32", in); \
        else \
            GROAT_ATOM_FLOAT(where, to, address, in); \
        if constexpr (op == atomic_add_float) \
            old = float_bits(sum); \
    } while (0)
#define GROAT_CAS(where, to, address, expected, in) \
    asm volatile("atom.relaxed." where ".cas.b32 %0, [%1], %2, %3;" \
                 : "=r"(old) \
                 : to(address), "r"(expected), "r"(in) \
                 : "memory")

namespace groat {

template <atomic_op op> GROAT_DEVICE u32 shared_atomic(u32 address, u32 x)
{
    u32 old = 0;

    GROAT_ATOM_OF(op, "cta.shared", "r", address, x);
    return old;
}

GROAT_DEVICE u32 shared_cas(u32 address, u32 expected, u32 x)
{
    u32 old;

    GROAT_CAS("cta.shared", "r", address, expected, x);
    return old;
}

template <atomic_op op, atomic_scope scope = device_scope>
GROAT_DEVICE u32 global_atomic(u64 address, u32 x)
{
    u32 old = 0;

    if constexpr (scope == block_scope)
        GROAT_ATOM_OF(op, "cta.global", "l", address, x);
    else if constexpr (scope == device_scope)
        GROAT_ATOM_OF(op, "gpu.global", "l", address, x);
    else
        GROAT_ATOM_OF(op, "sys.global", "l", address, x);
    return old;
}

template <atomic_scope scope = device_scope>
GROAT_DEVICE u32 global_cas(u64 address, u32 expected, u32 x)
{
    u32 old;

    if constexpr (scope == block_scope)
        GROAT_CAS("cta.global", "l", address, expected, x);
    else if constexpr (scope == device_scope)
        GROAT_CAS("gpu.global", "l", address, expected, x);
    else
        GROAT_CAS("sys.global", "l", address, expected, x);
    return old;
}

GROAT_DEVICE void device_fence()
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

} // namespace groat
