/* SPDX-License-Identifier: Apache-2.0
 *
 * small.h: replaces the C library and base/hash.h for a model checker; include
 * it before a source of src/core.  Names are one byte, which is its own hash,
 * and memory is cleared by words.
 */
#ifndef GROAT_TESTS_LITMUS_SMALL_H
#define GROAT_TESTS_LITMUS_SMALL_H

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

uint64_t groat__hash64(const void *bytes, size_t count)
{
    return count == 0 ? 0 : *(const unsigned char *)bytes;
}

static int compare(const unsigned char *a, const unsigned char *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i])
            return 1;
    return 0;
}

static void copy(unsigned char *to, const unsigned char *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i];
}

static void *zeroed(size_t bytes)
{
    void *at = malloc(bytes);

    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
        ((uint64_t *)at)[i] = 0;
    return at;
}

#define memcmp(a, b, n)  compare((const void *)(a), (const void *)(b), n)
#define memcpy(to, f, n) copy((void *)(to), (const void *)(f), n)
#define calloc(n, bytes) zeroed(bytes)

#endif
