// SPDX-License-Identifier: Apache-2.0
// common/atomics.h for the host's C++ compiler: calls of the judge.
#pragma once

namespace groat {

GROAT_DEVICE constexpr u32 number_of(atomic_op op)
{
    return op == atomic_add          ? GROAT_CPU_ATOMIC_ADD
           : op == atomic_min        ? GROAT_CPU_ATOMIC_MIN
           : op == atomic_max        ? GROAT_CPU_ATOMIC_MAX
           : op == atomic_min_signed ? GROAT_CPU_ATOMIC_MIN_SIGNED
           : op == atomic_max_signed ? GROAT_CPU_ATOMIC_MAX_SIGNED
           : op == atomic_exchange   ? GROAT_CPU_ATOMIC_EXCHANGE
                                     : GROAT_CPU_ATOMIC_ADD_FLOAT;
}

template <atomic_op op> GROAT_DEVICE u32 shared_atomic(u32 address, u32 x)
{
    return cpu_env->ops->shared_atomic(cpu_env, address, number_of(op), x, 0);
}

GROAT_DEVICE u32 shared_cas(u32 address, u32 expected, u32 x)
{
    return cpu_env->ops->shared_atomic(cpu_env, address, GROAT_CPU_ATOMIC_CAS, x,
                                       expected);
}

template <atomic_op op, atomic_scope = device_scope>
GROAT_DEVICE u32 global_atomic(u64 address, u32 x)
{
    return cpu_env->ops->global_atomic(cpu_env, address, number_of(op), x, 0);
}

template <atomic_scope = device_scope>
GROAT_DEVICE u32 global_cas(u64 address, u32 expected, u32 x)
{
    return cpu_env->ops->global_atomic(cpu_env, address, GROAT_CPU_ATOMIC_CAS, x,
                                       expected);
}

// The judge runs the atomic operations of blocks in block order, so a block
// sees the stores of the blocks before it without a fence.
GROAT_DEVICE void device_fence()
{
}

} // namespace groat
