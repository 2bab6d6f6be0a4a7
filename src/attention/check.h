/* SPDX-License-Identifier: Apache-2.0
 *
 * check.h - checks of numbers, addresses and caches that a call was given, and
 * the layout of a cache's scales.
 */
#ifndef GROAT_ATTENTION_CHECK_H
#define GROAT_ATTENTION_CHECK_H

#include <stdbool.h>

#include "groat_attention.h"
#include "tensor/tensor.h"

#define GROAT__COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A number and its allowed range. */
typedef struct groat__number_range {
    const char *name;
    unsigned seen, least, most;
} groat__number_range;

/* Errors: INVALID, with name, value and range of the first bad number. */
groat_status groat__check_ranges(const groat__number_range *ranges,
                                 size_t count, groat_error *error);

/* An address in arguments, its alignment in bytes, and whether it is used. */
typedef struct groat__needed_address {
    const char *name;
    uint64_t address;
    unsigned unit;
    bool needed;
} groat__needed_address;

/* Errors: INVALID, with the first address that is 0 or misaligned. */
groat_status groat__check_addresses(const groat__needed_address *addresses,
                                    size_t count, groat_error *error);

/* The cache shape that a kernel was compiled for. */
typedef struct groat__cache_shape {
    unsigned elem_bytes, heads, dim, value_dim;
    groat_kv_layout layout;
    unsigned page; /* 0: each sequence is one block of any page size */
} groat__cache_shape;

/* Gets the planes of keys and values, whose strides must be equal if their
 * vectors are equally long.
 *
 * values     NULL: the other plane of keys; shorter ones need a cache of their
 *            own, or are the first elements of the only plane
 * sequences  of the launch: without pages each has a block
 *
 * Errors: INVALID, with the field. */
groat_status groat__check_cache(const groat__cache_shape *shape,
                                const groat_kv_cache *keys,
                                const groat_kv_cache *values, unsigned layer,
                                unsigned sequences, groat__kv_plane *key_plane,
                                groat__kv_plane *value_plane,
                                groat_error *error);

/* Gets the kernel of a spec.  A fallback is no answer: it was compiled for
 * another shape.  Errors: as of groat_kernel_get_spec(). */
groat_status groat__own_kernel(groat_spec *spec, groat_kernel **out,
                               groat_error *error);

/* Strides of the scales of E4M3 with GROAT_DECODE_OF_TOKEN, in floats. */
typedef struct groat__scale_strides {
    unsigned block, token, head;
} groat__scale_strides;

groat__scale_strides groat__scale_strides_of(groat_kv_layout layout,
                                             unsigned page, unsigned kv_heads);

#endif
