/* SPDX-License-Identifier: Apache-2.0
 *
 * check.h - what numbers, addresses and caches of a call may be, and how scales
 * of a cache lie.
 */
#ifndef GROAT_ATTENTION_CHECK_H
#define GROAT_ATTENTION_CHECK_H

#include <stdbool.h>

#include "groat_attention.h"
#include "tensor/tensor.h"

#define GROAT__COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A number, and what it may be. */
typedef struct groat__number_range {
    const char *name;
    unsigned seen, least, most;
} groat__number_range;

/* Errors: INVALID, with name, value and range of the first that is outside. */
groat_status groat__check_ranges(const groat__number_range *ranges,
                                 size_t count, groat_error *error);

/* An address of arguments, the bytes that it must be a multiple of, and whether
 * it is used. */
typedef struct groat__needed_address {
    const char *name;
    uint64_t address;
    unsigned unit;
    bool needed;
} groat__needed_address;

/* Errors: INVALID, likewise. */
groat_status groat__check_addresses(const groat__needed_address *addresses,
                                    size_t count, groat_error *error);

/* What a kernel was compiled for. */
typedef struct groat__cache_shape {
    unsigned elem_bytes, heads, dim;
    groat_kv_layout layout;
    unsigned page; /* 0: a sequence is a block, whatever its page is */
} groat__cache_shape;

/* The planes of keys and values, of which one has the other's strides.
 *
 * values     NULL: keys, which has two planes then
 * sequences  of the launch: without pages each has a block
 *
 * Errors: INVALID, with the field. */
groat_status groat__check_cache(const groat__cache_shape *shape,
                                const groat_kv_cache *keys,
                                const groat_kv_cache *values, unsigned layer,
                                unsigned sequences, groat__kv_plane *key_plane,
                                groat__kv_plane *value_plane,
                                groat_error *error);

/* Numbers from scale to scale of E4M3 OF_TOKEN. */
typedef struct groat__scale_strides {
    unsigned block, token, head;
} groat__scale_strides;

groat__scale_strides groat__scale_strides_of(groat_kv_layout layout,
                                             unsigned page, unsigned kv_heads);

#endif
