/* SPDX-License-Identifier: Apache-2.0
 *
 * known.h - the source bytes, the swizzle and the digests in which the
 * layouts' definitions give their known images.
 */
#ifndef GROAT_TESTS_KNOWN_H
#define GROAT_TESTS_KNOWN_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t source_hash(int64_t row, int64_t col)
{
    return (uint32_t)row * 0x9E3779B1u + (uint32_t)col * 0x85EBCA6Bu +
           0xC2B2AE35u;
}

/* 1..255, never 0, so that a zero fill always shows. */
static inline unsigned char source_byte(int64_t row, int64_t col_byte)
{
    return (unsigned char)(1 + (source_hash(row, col_byte) >> 24) % 255);
}

/* Writes rows of row_bytes from row `first` on. */
static inline void source_bytes(unsigned char *to, size_t bytes,
                                int64_t row_bytes, int64_t first)
{
    for (int64_t i = 0; i < (int64_t)bytes; i++)
        to[i] = source_byte(first + i / row_bytes, i % row_bytes);
}

/* Swizzle(bits, base, shift) of x. */
static inline int64_t xor_field(int64_t bits, int64_t base, int64_t shift,
                                int64_t x)
{
    int64_t mask = ((int64_t)1 << bits) - 1;
    int64_t field = x >> (base + (shift > 0 ? shift : 0)) & mask;

    return x ^ field << (base + (shift < 0 ? -shift : 0));
}

static inline uint32_t crc32_of(const unsigned char *data, size_t bytes)
{
    uint32_t crc = 0xFFFFFFFFu;

    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return ~crc;
}

static inline uint64_t fnv1a_of(const unsigned char *data, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * 0x100000001b3u;
    return hash;
}

#endif
