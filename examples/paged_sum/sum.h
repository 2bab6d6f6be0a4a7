/* SPDX-License-Identifier: Apache-2.0
 *
 * sum.h - a paged KV cache, and its sums by the family in this folder.
 */
#ifndef PAGED_SUM_H
#define PAGED_SUM_H

#include <groat_tensor.h>

#include "args.h"

/* A cache as a server has it: blocks of [planes, layers, page, heads, depth],
 * and a page table that lists the blocks of each sequence. */
struct paged_sum {
    unsigned depth, page; /* constants of the spec                        */
    unsigned pages;       /* of the longest sequence                      */
    unsigned blocks;
    unsigned pitch;       /* table entries from sequence to sequence        */
    size_t count;         /* number of elements in the cache                */
    unsigned short *bf16; /* the cache's elements                           */
    unsigned *table;      /* `pitch` entries per sequence                 */
    float *sums;          /* the kernel's results, sum_count of them        */
    size_t sum_count;
    const char *target; /* the kernel's, borrowed                           */
    groat_context *g;
    struct paged_sum_args args;
};

/* Makes a cache for a spec of the family, in its target's memory.  c must be
 * zeros; free it even after an error, before the context is closed. */
groat_status paged_sum_make(struct paged_sum *c, groat_context *g,
                            groat_spec *spec, groat_error *error);
/* Launches a kernel of that spec and waits for its sums.  A cache may be used
 * by one thread at a time. */
groat_status paged_sum_run(struct paged_sum *c, groat_kernel *kernel,
                           groat_error *error);
/* Returns how many sums differ from those computed on the host. */
unsigned paged_sum_wrong(const struct paged_sum *c);
void paged_sum_free(struct paged_sum *c);

#endif
