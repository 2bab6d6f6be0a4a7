/* SPDX-License-Identifier: Apache-2.0
 *
 * sum.h - a paged KV cache, and its sums by the family beside it.
 */
#ifndef PAGED_SUM_H
#define PAGED_SUM_H

#include <groat_tensor.h>

#include "args.h"

/* A cache as a server has it: blocks of [planes, layers, page, heads, depth],
 * and a page table that says which of them a sequence has. */
struct paged_sum {
    unsigned depth, page; /* constants of the spec                        */
    unsigned pages;       /* of the longest sequence                      */
    unsigned blocks;
    unsigned pitch;       /* entries of the table from sequence to sequence */
    size_t count;         /* of numbers                                     */
    unsigned short *bf16; /* the numbers                                    */
    unsigned *table;      /* a row of pitch entries for each sequence      */
    float *sums;          /* what the kernel found, and how many            */
    size_t sum_count;
    const char *target; /* of the kernel, borrowed                          */
    groat_context *g;
    struct paged_sum_args args;
};

/* A cache for a spec of the family, in the memory of its target.  c starts as
 * zeros; free it either way, before the context is closed. */
groat_status paged_sum_make(struct paged_sum *c, groat_context *g,
                            groat_spec *spec, groat_error *error);
/* Launches a kernel of that spec and waits for its sums.  One thread at a time
 * for one cache. */
groat_status paged_sum_run(struct paged_sum *c, groat_kernel *kernel,
                           groat_error *error);
/* How many of the sums are not those of the table and the cache. */
unsigned paged_sum_wrong(const struct paged_sum *c);
void paged_sum_free(struct paged_sum *c);

#endif
