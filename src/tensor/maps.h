/* SPDX-License-Identifier: Apache-2.0
 *
 * maps.h - the tensor maps that were made, kept.
 */
#ifndef GROAT_TENSOR_MAPS_H
#define GROAT_TENSOR_MAPS_H

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

/* The map of a checked tensor for a device of a backend: out of the table, else
 * made and kept in it.  Errors: as of the device's slot, NO_MEMORY. */
groat_status groat__maps_get(groat__maps *maps, groat__backend_id backend,
                             void *device, const groat_tensor *tensor,
                             groat_tensor_map *out, groat_error *error);
void groat__maps_free(groat__maps *maps);

#endif
