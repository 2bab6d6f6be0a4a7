/* SPDX-License-Identifier: Apache-2.0
 *
 * maps.c caches the tensor maps of KV caches, so that the driver makes each one
 * only once.  The key is the whole tensor and the backend: two kernels that
 * copy alike share a map, another address is another entry.
 * Invariant: an entry's map is what the backend wrote for its tensor; a failure
 * leaves no entry.  A full table evicts the least recently used entry.
 * Locking: the table's own mutex, around everything.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tensor/maps.h"

/* Zeroes the fields beyond rank and sets our own size, for memcmp. */
static groat_tensor tidy(const groat_tensor *from)
{
    groat_tensor t;

    memset(&t, 0, sizeof(t));
    t.size = sizeof(t);
    t.address = from->address;
    t.elem_bytes = from->elem_bytes;
    t.rank = from->rank;
    t.swizzle = from->swizzle;
    memcpy(t.dims, from->dims, from->rank * sizeof(t.dims[0]));
    memcpy(t.box, from->box, from->rank * sizeof(t.box[0]));
    memcpy(t.strides, from->strides, (from->rank - 1) * sizeof(t.strides[0]));
    return t;
}

static groat__map_entry *find(const groat__maps *maps, uint64_t hash,
                              groat__backend_id backend,
                              const groat_tensor *tensor)
{
    for (size_t i = 0; i < maps->count; i++) {
        groat__map_entry *entry = &maps->entries[i];

        if (entry->hash == hash && entry->backend == backend &&
            memcmp(&entry->tensor, tensor, sizeof(*tensor)) == 0)
            return entry;
    }
    return NULL;
}

/* A new entry, or the least recently used one; NULL if memory runs out. */
static groat__map_entry *place(groat__maps *maps)
{
    groat__map_entry *oldest;

    if (maps->entries == NULL)
        maps->entries = calloc(GROAT__MAPS, sizeof(*maps->entries));
    if (maps->entries == NULL)
        return NULL;
    if (maps->count < GROAT__MAPS)
        return &maps->entries[maps->count++];
    oldest = &maps->entries[0];
    for (size_t i = 1; i < maps->count; i++)
        if (maps->entries[i].used < oldest->used)
            oldest = &maps->entries[i];
    return oldest;
}

groat_status groat__maps_get(groat__maps *maps, groat__backend_id backend,
                             void *device, const groat_tensor *tensor,
                             groat_tensor_map *out, groat_error *error)
{
    const groat_tensor wanted = tidy(tensor);
    const uint64_t hash = groat__hash64(&wanted, sizeof(wanted));
    groat__map_entry *entry;
    groat_status status = GROAT_OK;

    (void)pthread_mutex_lock(&maps->lock);
    entry = find(maps, hash, backend, &wanted);
    if (entry != NULL) {
        memcpy(out, entry->map, sizeof(entry->map));
        entry->used = ++maps->clock;
        goto unlock;
    }
    status = groat__backend_get(backend)->device->tensor_map(device, &wanted,
                                                             out, error);
    if (status != GROAT_OK)
        goto unlock;
    maps->made++;
    entry = place(maps);
    if (entry == NULL) /* the map is made, only not cached */
        goto unlock;
    entry->hash = hash;
    entry->used = ++maps->clock;
    entry->backend = backend;
    entry->tensor = wanted;
    memcpy(entry->map, out, sizeof(entry->map));
unlock:
    (void)pthread_mutex_unlock(&maps->lock);
    return status;
}

void groat__maps_free(groat__maps *maps)
{
    free(maps->entries);
    (void)pthread_mutex_destroy(&maps->lock);
}
