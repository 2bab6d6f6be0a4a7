/* SPDX-License-Identifier: Apache-2.0
 *
 * number.h - loads and stores numbers of queries and caches on the host.
 */
#ifndef GROAT_ATTENTION_NUMBER_H
#define GROAT_ATTENTION_NUMBER_H

#include "groat_attention.h"

/* An address in arguments; references use host memory. */
static inline void *groat__in_host(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Number `index` of an array. */
double groat__number_load(groat_decode_dtype dtype, uint64_t address,
                          uint64_t index);

/* Rounds to the nearest number, ties to even.  Overflow gives infinity, or the
 * largest number of E4M3. */
void groat__number_store(groat_decode_dtype dtype, uint64_t address,
                         uint64_t index, float value);

#endif
