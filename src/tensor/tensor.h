/* SPDX-License-Identifier: Apache-2.0
 *
 * tensor.h - the tensors that maps are made of and the caches that tensors are
 * cut out of, checked.
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

/* INVALID where no map can be written. */
groat_status groat__map_check(const groat_tensor_map *out, groat_error *error);

/* INVALID where the arch of the target has no copies by tensor map. */
groat_status groat__tensor_target(const groat__target *target,
                                  groat_error *error);

/* INVALID where the cache has no such plane or layer, or is none itself. */
groat_status groat__kv_check(const groat_kv_cache *cache, unsigned plane,
                             unsigned layer, groat_error *error);

/* A plane of a layer in device memory: where its first key lies, and bytes from
 * one block, key and head to the next, and to the other plane (0: it is both).
 */
typedef struct groat__kv_plane {
    uint64_t address, block, token, head, plane;
} groat__kv_plane;

/* Errors: as of groat_kv_view_get(). */
groat_status groat__kv_plane_get(const groat_kv_cache *cache, unsigned plane,
                                 unsigned layer, groat__kv_plane *out,
                                 groat_error *error);

/* Sums and products that stop at UINT64_MAX. */
uint64_t groat__sum(uint64_t a, uint64_t b);
uint64_t groat__product(uint64_t a, uint64_t b);

#endif
