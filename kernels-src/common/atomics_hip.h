// SPDX-License-Identifier: Apache-2.0
// common/atomics.h for hipRTC and clang, by HIP's atomic builtins.
#pragma once

namespace groat {

template <atomic_scope scope> GROAT_DEVICE constexpr int scope_of()
{
    return scope == block_scope    ? __HIP_MEMORY_SCOPE_WORKGROUP
           : scope == device_scope ? __HIP_MEMORY_SCOPE_AGENT
                                   : __HIP_MEMORY_SCOPE_SYSTEM;
}

template <atomic_op op, int scope, typename word, typename number,
          typename real>
GROAT_DEVICE u32 atomic_at(word *at, number *signed_at, real *real_at, u32 x)
{
    constexpr int relaxed = __ATOMIC_RELAXED;

    if constexpr (op == atomic_add)
        return __hip_atomic_fetch_add(at, x, relaxed, scope);
    else if constexpr (op == atomic_min)
        return __hip_atomic_fetch_min(at, x, relaxed, scope);
    else if constexpr (op == atomic_max)
        return __hip_atomic_fetch_max(at, x, relaxed, scope);
    else if constexpr (op == atomic_min_signed)
        return __hip_atomic_fetch_min(signed_at, static_cast<int>(x), relaxed,
                                      scope);
    else if constexpr (op == atomic_max_signed)
        return __hip_atomic_fetch_max(signed_at, static_cast<int>(x), relaxed,
                                      scope);
    else if constexpr (op == atomic_exchange)
        return __hip_atomic_exchange(at, x, relaxed, scope);
    else
        return float_bits(__hip_atomic_fetch_add(real_at, bits_float(x), relaxed,
                                                 scope));
}

template <atomic_op op> GROAT_DEVICE u32 shared_atomic(u32 address, u32 x)
{
    return atomic_at<op, __HIP_MEMORY_SCOPE_WORKGROUP>(
        (GROAT_LDS u32 *)address, (GROAT_LDS int *)address,
        (GROAT_LDS float *)address, x);
}

GROAT_DEVICE u32 shared_cas(u32 address, u32 expected, u32 x)
{
    __hip_atomic_compare_exchange_strong((GROAT_LDS u32 *)address, &expected, x,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                         __HIP_MEMORY_SCOPE_WORKGROUP);
    return expected;
}

#define GROAT_GLOBAL __attribute__((address_space(1)))

template <atomic_op op, atomic_scope scope = device_scope>
GROAT_DEVICE u32 global_atomic(u64 address, u32 x)
{
    return atomic_at<op, scope_of<scope>()>(
        (GROAT_GLOBAL u32 *)address, (GROAT_GLOBAL int *)address,
        (GROAT_GLOBAL float *)address, x);
}

template <atomic_scope scope = device_scope>
GROAT_DEVICE u32 global_cas(u64 address, u32 expected, u32 x)
{
    __hip_atomic_compare_exchange_strong(
        (GROAT_GLOBAL u32 *)address, &expected, x, __ATOMIC_RELAXED,
        __ATOMIC_RELAXED, scope_of<scope>());
    return expected;
}

GROAT_DEVICE void device_fence()
{
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent");
}

} // namespace groat
