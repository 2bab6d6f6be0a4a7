/* SPDX-License-Identifier: Apache-2.0
 *
 * maps.h - a cache of tensor maps.
 */
#ifndef GROAT_TENSOR_MAPS_H
#define GROAT_TENSOR_MAPS_H

#include <pthread.h>

#include "backend/backend.h"

enum { GROAT__MAPS = 256 };

/* A map and the tensor it was made from. */
typedef struct groat__map_entry {
    uint64_t hash;
    uint64_t used; /* the table's clock at the last use */
    groat__backend_id backend;
    groat_tensor tensor; /* tidied: fields beyond rank are 0 */
    unsigned char map[sizeof(groat_tensor_map)];
} groat__map_entry;

/* The most recently used maps.  All zeros except for the lock, which guards all
 * of it and is held while a map is made, so that threads that want the same map
 * make it only once. */
typedef struct groat__maps {
    pthread_mutex_t lock;
    groat__map_entry *entries; /* GROAT__MAPS, or NULL before the first use */
    size_t count;
    uint64_t clock;
    uint64_t made; /* maps that a device made for the table */
} groat__maps;

/* Returns the map of a checked tensor for a backend's device: from the table,
 * else made and kept there.  Errors: as of device->tensor_map(). */
groat_status groat__maps_get(groat__maps *maps, groat__backend_id backend,
                             void *device, const groat_tensor *tensor,
                             groat_tensor_map *out, groat_error *error);
void groat__maps_free(groat__maps *maps);

#endif
