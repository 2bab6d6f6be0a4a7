/* SPDX-License-Identifier: Apache-2.0
 *
 * table.c finds loaded kernels by name on the request path.  Readers take no
 * lock: entries are written once and published by a release store, and a table
 * that grew is a new view beside the old one.  Old views stay until the table
 * is freed, since a reader may still hold one; each is half the next, so they
 * add up to less than the newest.  Writers are serialised by the context.
 */
#include "core/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#ifndef GROAT__TABLE_FIRST_SLOTS
#define GROAT__TABLE_FIRST_SLOTS 64
#endif

enum { FIRST_SLOTS = GROAT__TABLE_FIRST_SLOTS };

typedef struct entry {
    uint64_t hash;
    groat_kernel *kernel;
    size_t first_bytes;
    size_t second_bytes;
    unsigned char bytes[];
} entry;

typedef struct groat__kernel_table_view {
    struct groat__kernel_table_view *older;
    size_t slots; /* a power of two */
    _Atomic(entry *) at[];
} view;

uint64_t groat__kernel_name_hash(const groat__kernel_name *name)
{
    return groat__hash64(name->first, name->first_bytes) ^
           groat__hash64(name->second, name->second_bytes) *
               0x9E3779B97F4A7C15u;
}

static bool is_name(const entry *e, const groat__kernel_name *name)
{
    return e->first_bytes == name->first_bytes &&
           e->second_bytes == name->second_bytes &&
           memcmp(e->bytes, name->first, name->first_bytes) == 0 &&
           memcmp(e->bytes + e->first_bytes, name->second,
                  name->second_bytes) == 0;
}

groat_kernel *groat__kernel_table_find(const groat__kernel_table *table,
                                       const groat__kernel_name *name)
{
    const view *v = atomic_load_explicit(&table->view, memory_order_acquire);
    uint64_t hash;

    if (v == NULL)
        return NULL;
    hash = groat__kernel_name_hash(name);
    for (size_t i = (size_t)hash;; i++) {
        const entry *e = atomic_load_explicit(&v->at[i & (v->slots - 1)],
                                              memory_order_acquire);

        if (e == NULL)
            return NULL;
        if (e->hash == hash && is_name(e, name))
            return e->kernel;
    }
}

static void put(view *v, entry *e)
{
    size_t i = (size_t)e->hash;

    while (atomic_load_explicit(&v->at[i & (v->slots - 1)],
                                memory_order_relaxed) != NULL)
        i++;
    atomic_store_explicit(&v->at[i & (v->slots - 1)], e, memory_order_release);
}

static view *grow(groat__kernel_table *table)
{
    view *old = atomic_load_explicit(&table->view, memory_order_relaxed);
    size_t slots = old == NULL ? FIRST_SLOTS : 2 * old->slots;
    view *v = calloc(1, sizeof(*v) + slots * sizeof(v->at[0]));

    if (v == NULL)
        return NULL;
    v->slots = slots;
    v->older = old;
    for (size_t i = 0; old != NULL && i < old->slots; i++) {
        entry *e = atomic_load_explicit(&old->at[i], memory_order_relaxed);

        if (e != NULL)
            put(v, e);
    }
    atomic_store_explicit(&table->view, v, memory_order_release);
    return v;
}

void groat__kernel_table_add(groat__kernel_table *table,
                             const groat__kernel_name *name,
                             groat_kernel *kernel, size_t most)
{
    view *v = atomic_load_explicit(&table->view, memory_order_relaxed);
    entry *e;

    if (table->count >= most || groat__kernel_table_find(table, name) != NULL)
        return;
    if (v == NULL || 2 * (table->count + 1) > v->slots)
        v = grow(table);
    if (v == NULL)
        return;
    e = malloc(sizeof(*e) + name->first_bytes + name->second_bytes);
    if (e == NULL)
        return;
    e->hash = groat__kernel_name_hash(name);
    e->kernel = kernel;
    e->first_bytes = name->first_bytes;
    e->second_bytes = name->second_bytes;
    memcpy(e->bytes, name->first, name->first_bytes);
    memcpy(e->bytes + name->first_bytes, name->second, name->second_bytes);
    put(v, e);
    table->count++;
}

void groat__kernel_table_free(groat__kernel_table *table)
{
    view *v = atomic_load_explicit(&table->view, memory_order_relaxed);

    /* The newest view has every entry. */
    for (size_t i = 0; v != NULL && i < v->slots; i++)
        free(atomic_load_explicit(&v->at[i], memory_order_relaxed));
    while (v != NULL) {
        view *older = v->older;

        free(v);
        v = older;
    }
    atomic_store_explicit(&table->view, NULL, memory_order_relaxed);
    table->count = 0;
}
