// SPDX-License-Identifier: Apache-2.0
// atomics applies an operation to a word of shared memory from all threads of a
// block; one thread then applies it, with the result, to a word of device
// memory.
#include "params.h"

#include "../common/atomics.h"
#include "args.h"

namespace groat
{
namespace atomics
{

using namespace params;

constexpr atomic_scope wanted = scope == scope_block    ? block_scope
                                : scope == scope_device ? device_scope
                                                        : system_scope;

GROAT_DEVICE u32 operand(u32 x, u64 i)
{
    if constexpr (op == op_add_float)
        return float_bits(static_cast<float>(x % 64));
    return i % 2 ? x | 0x80000000u : x;
}

// The values of the family's enum are those of atomic_op.
constexpr atomic_op chosen =
    static_cast<atomic_op>(op == op_cas ? 0 : static_cast<int>(op));

// The minimum of a block is combined with other blocks' by the maximum, because
// the word of device memory starts as 0.
constexpr atomic_op between = op == op_min ? atomic_max : chosen;
constexpr u32 start = op == op_min ? 0xffffffffu : 0u;

GROAT_DEVICE u32 change_shared(u32 x)
{
    if constexpr (op == op_cas) {
        u32 seen = shared_cas(shared_base(), 0, 0);

        for (u32 old; (old = shared_cas(shared_base(), seen, seen + 1)) != seen;
             seen = old)
            continue;
        return seen;
    } else {
        return shared_atomic<chosen>(shared_base(), x);
    }
}

GROAT_DEVICE u32 change_global(u64 address, u32 x)
{
    if constexpr (op == op_cas) {
        u32 seen = global_cas<wanted>(address, 0, 0);

        for (u32 old;
             (old = global_cas<wanted>(address, seen, seen + x)) != seen;
             seen = old)
            continue;
        return seen;
    } else {
        return global_atomic<between, wanted>(address, x);
    }
}

GROAT_DEVICE void run(const atomics_args &args)
{
    const u64 i = block_index() * 256 + thread_index();
    const u32 x = operand(global_load4(args.x + i * 4), i);
    u32 taken;

    if (thread_index() == 0)
        shared_store4(shared_base(), start);
    shared_fence();
    block_barrier();
    taken = change_shared(x);
    shared_fence();
    block_barrier();
    if constexpr (op == op_exchange)
        global_atomic<atomic_add, wanted>(args.y + 4, taken);
    if (thread_index() != 0)
        return;
    if constexpr (op == op_exchange)
        global_atomic<atomic_add, wanted>(args.y + 4,
                                          shared_load4(shared_base()));
    else
        change_global(args.y, shared_load4(shared_base()));
}

} // namespace atomics
} // namespace groat

GROAT_KERNEL(atomics_args)
{
    groat::atomics::run(args);
}
