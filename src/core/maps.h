/* SPDX-License-Identifier: Apache-2.0
 *
 * maps.h - tensors that maps are made of, checked, and the maps that were made,
 * kept.  Private to src/core.
 */
#ifndef GROAT_CORE_MAPS_H
#define GROAT_CORE_MAPS_H

#include <pthread.h>

#include "backend/backend.h"

enum { GROAT__MAPS = 256 };

/* A map and what it was made of. */
typedef struct groat__map_entry {
    uint64_t hash;
    uint64_t used; /* the table's clock at the last answer */
    groat__backend_id backend;
    groat_tensor tensor; /* tidied: what lies behind rank is 0 */
    unsigned char map[sizeof(groat_tensor_map)];
} groat__map_entry;

/* The last maps that were asked for; starts from zeros but for its lock, which
 * guards all of it and is held while one is made, so that a question that many
 * threads ask is answered once. */
typedef struct groat__maps {
    pthread_mutex_t lock;
    groat__map_entry *entries; /* GROAT__MAPS, or NULL: none was asked for */
    size_t count;
    uint64_t clock;
    uint64_t made; /* maps that a device made for the table */
} groat__maps;

/* Errors: INVALID, with the field, the value and what is allowed. */
groat_status groat__tensor_check(const groat_tensor *tensor,
                                 groat_error *error);

/* INVALID where no map can be written. */
groat_status groat__map_check(const groat_tensor_map *out, groat_error *error);

/* INVALID where the arch of the target has no copies by tensor map. */
groat_status groat__tensor_target(const groat__target *target,
                                  groat_error *error);

/* The map of a checked tensor on a checked target: out of the table, else made
 * and kept in it.  Errors: as of the device's slot, NO_DEVICE, NO_MEMORY. */
groat_status groat__maps_get(groat_context *context,
                             const groat__target *target,
                             const groat_tensor *tensor, groat_tensor_map *out,
                             groat_error *error);
void groat__maps_free(groat__maps *maps);

/* Sums and products that stop at UINT64_MAX. */
uint64_t groat__sum(uint64_t a, uint64_t b);
uint64_t groat__product(uint64_t a, uint64_t b);

#endif
