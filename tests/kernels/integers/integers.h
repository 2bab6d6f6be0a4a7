// SPDX-License-Identifier: Apache-2.0
// integers sums the byte products of two words, a pair of words per thread, and
// finds the smaller and the larger one.
#include "params.h"

#include "../common/vendor.h"
#include "args.h"

namespace groat
{
namespace integers
{

GROAT_DEVICE void run(const integers_args &args)
{
    const u64 i =
        block_index() * static_cast<u64>(params::threads) + thread_index();

    if (i >= args.count)
        return;

    const u32 a = global_load4(args.a + i * 4);

    const u32 b = global_load4(args.b + i * 4);

    global_store4(args.y + i * 4, dot4(a, b, a) ^ dot4_unsigned(a, b, b));
    global_store4(args.z + i * 4,
                  min(a, b) ^ max(static_cast<int>(a), static_cast<int>(b)));
    if (i == 0)
        GROAT_PRINT("cycle %llu, first word %u\n",
                    static_cast<unsigned long long>(cycles()), a);
}

} // namespace integers
} // namespace groat

GROAT_KERNEL(integers_args)
{
    groat::integers::run(args);
}
