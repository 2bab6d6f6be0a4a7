// SPDX-License-Identifier: Apache-2.0
// Dynamic shared memory of a kernel of CUDA C++: groat judge puts this file in
// front of one that has any, and makes its declarations calls of these macros.
#pragma once

#include "cuda_compat.h"

extern "C" {
// Of no bytes, it would have no place and no alignment.
alignas(GROAT_DYNAMIC_ALIGN) __attribute__((used)) __thread unsigned char
    groat_dynamic[GROAT_DYNAMIC_BYTES ? GROAT_DYNAMIC_BYTES : 1];
}

namespace groat {

template <class T> using element = T;

GROAT_UNTOLD static unsigned char *dynamic()
{
    return hide_size(groat_dynamic);
}

} // namespace groat

// Outside of functions: another name of it.  clang wants a size.
#ifdef __clang__
#define GROAT_DYNAMIC(type, more, name) \
    extern __thread type name[sizeof(groat_dynamic) / sizeof(type more)] more \
        __attribute__((alias("groat_dynamic")))
#else
#define GROAT_DYNAMIC(type, more, name) \
    extern __thread type name[] more __attribute__((alias("groat_dynamic")))
#endif
#define GROAT_DYNAMIC_POINTER(type, more, name) \
    groat::element<type more> *const name = \
        (groat::element<type more> *)groat::dynamic()
