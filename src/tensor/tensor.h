/* SPDX-License-Identifier: Apache-2.0
 *
 * tensor.h - checks of the tensors that maps are made from, and of the caches
 * that the tensors describe.
 */
#ifndef GROAT_TENSOR_TENSOR_H
#define GROAT_TENSOR_TENSOR_H

#include <stdint.h>

#include "groat.h"
#include "groat_tensor.h"
#include "spec/arch.h"

/* Errors: INVALID, with the field, the value and what is allowed. */
groat_status groat__tensor_check(const groat_tensor *tensor,
                                 groat_error *error);

/* Errors: INVALID if out is NULL or misaligned. */
groat_status groat__map_check(const groat_tensor_map *out, groat_error *error);

/* Errors: INVALID if the target's arch has no copies by tensor map. */
groat_status groat__tensor_target(const groat__target *target,
                                  groat_error *error);

/* Errors: INVALID if the cache is malformed or has no such plane or layer. */
groat_status groat__kv_check(const groat_kv_cache *cache, unsigned plane,
                             unsigned layer, groat_error *error);

/* The plane of a layer in device memory: the address of its first key, and
 * bytes from one block, key and head to the next, and to the other plane (0:
 * one plane holds both keys and values). */
typedef struct groat__kv_plane {
    uint64_t address, block, token, head, plane;
} groat__kv_plane;

/* Errors: as of groat_kv_view_get(). */
groat_status groat__kv_plane_get(const groat_kv_cache *cache, unsigned plane,
                                 unsigned layer, groat__kv_plane *out,
                                 groat_error *error);

/* Sums and products that saturate at UINT64_MAX. */
uint64_t groat__sum(uint64_t a, uint64_t b);
uint64_t groat__product(uint64_t a, uint64_t b);

#endif
