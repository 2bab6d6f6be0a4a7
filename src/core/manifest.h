/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_MANIFEST_H
#define GROAT_CORE_MANIFEST_H

#include "groat.h"
#include "groat_serve.h"

/* The kernels to warm. */
typedef struct groat__warm_list {
    const groat_warm_item *items;
    size_t count;
    /* Of a manifest: */
    const char *name;     /* its path, borrowed; NULL: the list is a caller's */
    size_t *lines;        /* the line number of each item */
    groat_warm_item *own; /* the items, with their texts */
} groat__warm_list;

/* Reads a manifest; lines that name no target are for `target`.  Free with
 * groat__warm_list_free().  Errors: as of groat_manifest_read(). */
groat_status groat__warm_list_read(const char *path, const char *target,
                                   groat__warm_list *out, groat_error *error);
void groat__warm_list_free(groat__warm_list *list);

#endif
