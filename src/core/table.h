/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_TABLE_H
#define GROAT_CORE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "groat.h"

/* Names of loaded kernels.  A name is two byte strings: a spec's text and its
 * target's, or a spec's values and their groat__name_owner. */
typedef struct groat__kernel_name {
    const void *first;
    size_t first_bytes;
    const void *second;
    size_t second_bytes;
} groat__kernel_name;

uint64_t groat__kernel_name_hash(const groat__kernel_name *name);

struct groat__kernel_table_view;

typedef struct groat__kernel_table {
    _Atomic(struct groat__kernel_table_view *) view;
    size_t count;
} groat__kernel_table;

/* Any thread, any time: takes no lock and allocates nothing.  NULL: absent. */
groat_kernel *groat__kernel_table_find(const groat__kernel_table *table,
                                       const groat__kernel_name *name);

/* One writer at a time.  A name is left out if there are `most` already, or no
 * memory; gets of it take the slow path. */
void groat__kernel_table_add(groat__kernel_table *table,
                             const groat__kernel_name *name,
                             groat_kernel *kernel, size_t most);

/* No reader may be using the table. */
void groat__kernel_table_free(groat__kernel_table *table);

#endif
