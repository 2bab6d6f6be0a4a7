// SPDX-License-Identifier: Apache-2.0
// numbers scales a float per thread by a power of two, rounds it and converts
// it back.
#include "params.h"

#include "../common/convert.h"
#include "args.h"

namespace groat
{
namespace numbers
{

using namespace params;

GROAT_DEVICE u32 code_of(u32 bits)
{
    if constexpr (number == number_e4m3)
        return float8_of<e4m3>(bits);
    else if constexpr (number == number_e5m2)
        return float8_of<e5m2>(bits);
    else if constexpr (number == number_e4m3fnuz)
        return float8_of<e4m3fnuz>(bits);
    else if constexpr (number == number_e5m2fnuz)
        return float8_of<e5m2fnuz>(bits);
    else if constexpr (number == number_f16)
        return f16_of(bits);
    else
        return bf16_of(bits);
}

GROAT_DEVICE float value_of(u32 code)
{
    if constexpr (number == number_e4m3)
        return float8_value<e4m3>(code);
    else if constexpr (number == number_e5m2)
        return float8_value<e5m2>(code);
    else if constexpr (number == number_e4m3fnuz)
        return float8_value<e4m3fnuz>(code);
    else if constexpr (number == number_e5m2fnuz)
        return float8_value<e5m2fnuz>(code);
    else if constexpr (number == number_f16)
        return f16_value(code);
    else
        return bf16_value(code);
}

GROAT_DEVICE void run(const numbers_args &args)
{
    const u64 i = block_index() * 256 + thread_index();

    if (i >= args.count)
        return;

    const float scale = bits_float((127 - static_cast<u32>(i % 32)) << 23);
    const u32 code =
        code_of(float_bits(bits_float(global_load4(args.x + i * 4)) * scale));

    if constexpr (bytes == 1)
        global_store1(args.y + i, code);
    else
        global_store2(args.y + i * 2, code);
    global_store4(args.back + i * 4, float_bits(value_of(code)));
}

} // namespace numbers
} // namespace groat

GROAT_KERNEL(numbers_args)
{
    groat::numbers::run(args);
}
