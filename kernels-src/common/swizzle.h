// SPDX-License-Identifier: Apache-2.0
// XOR swizzles of addresses.  Swizzle(bits, base, shift) reads a field of
// `bits` bits at base + max(shift, 0) and XORs it, shifted, onto the field at
// base + max(-shift, 0).  With |shift| >= bits the fields do not overlap, so a
// swizzle is its own inverse.  The caller chooses the unit of x (byte, 16-byte
// vector, element) and documents it.
#pragma once

#include "vendor.h"

namespace groat {

template <int bits, int base, int shift> GROAT_DEVICE constexpr u32 swizzle(u32 x)
{
    static_assert(bits >= 0 && base >= 0, "swizzle: bits and base >= 0");
    static_assert((shift < 0 ? -shift : shift) >= bits,
                  "swizzle: |shift| >= bits");
    constexpr u32 field = ((1u << bits) - 1u) << (base + (shift > 0 ? shift : 0));

    return shift > 0 ? x ^ ((x & field) >> (shift > 0 ? shift : 0))
                     : x ^ ((x & field) << (shift < 0 ? -shift : 0));
}

} // namespace groat
