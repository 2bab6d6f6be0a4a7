/* SPDX-License-Identifier: Apache-2.0
 *
 * number.h - the numbers of queries and caches, for references on the host.
 */
#ifndef GROAT_ATTENTION_NUMBER_H
#define GROAT_ATTENTION_NUMBER_H

#include "groat_attention.h"

/* An address of arguments, where references have host memory. */
static inline void *groat__in_host(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Number `index` of an array. */
double groat__number_load(groat_decode_dtype dtype, uint64_t address,
                          uint64_t index);

/* Rounds to the nearest number, ties to even.  What is too large becomes
 * infinite, of E4M3 the largest. */
void groat__number_store(groat_decode_dtype dtype, uint64_t address,
                         uint64_t index, float value);

#endif
