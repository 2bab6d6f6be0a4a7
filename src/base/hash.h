/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_HASH_H
#define GROAT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* XXH3-128 in its canonical (big-endian) byte order: the same on any host. */
typedef struct groat__digest {
    uint8_t bytes[16];
} groat__digest;

groat__digest groat__hash128(const void *data, size_t bytes);
uint64_t groat__hash64(const void *data, size_t bytes);

#endif
