/* SPDX-License-Identifier: Apache-2.0
 *
 * paged_cache.h is what a server has in device memory already: a paged KV cache
 * of one sequence, its page table, the queries, and room for what a kernel
 * computes.  The examples share it.
 */
#pragma once

#include <groat_tensor.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { PAGES = 8, PAGE = 16, HEADS = 8, DIM = 128, KEYS = 100 };

struct paged_cache {
    unsigned short pages[PAGES][2][PAGE][DIM]; /* K, V; all in bf16 */
    unsigned short query[HEADS][DIM], output[HEADS][DIM];
    float scores[HEADS][PAGES * PAGE];
    unsigned table[PAGES], length, unused[3];
};

/* The address of a field in device memory. */
#define AT(kv, field) ((kv).address + offsetof(struct paged_cache, field))

#define TRY(call)                                                              \
    if ((call) != GROAT_OK)                                                    \
    return fprintf(stderr, "%s\n", e.text), 1

/* Fills pages and query with numbers of 0.5 to 1 and both signs. */
static inline void fill_cache(struct paged_cache *cache)
{
    static const unsigned table[PAGES] = {2, 0, 3, 1, 7, 5, 4};
    unsigned short *at = &cache->pages[0][0][0][0];

    for (unsigned i = 0; i < PAGES * 2 * PAGE * DIM; i++)
        at[i] = (i * 2654435761u >> 16 & 0x807F) | 0x3F00;
    for (unsigned i = 0; i < HEADS * DIM; i++)
        cache->query[i / DIM][i % DIM] = (i * 40503u >> 4 & 0x807F) | 0x3F00;
    for (unsigned i = 0; i < PAGES; i++)
        cache->table[i] = table[i];
    cache->length = KEYS;
}

/* Puts the filled cache into device memory, and describes it to groat. */
static inline groat_status put_cache(groat_context *g, const char *target,
                                     struct paged_cache *cache,
                                     groat_kv_cache *kv, groat_error *error)
{
    fill_cache(cache);
    kv->elem_bytes = 2;
    kv->blocks = PAGES;
    kv->planes = 2;
    kv->page = PAGE;
    kv->layers = kv->heads = 1;
    kv->dim = DIM;
    if (groat_memory_alloc(g, target, sizeof(*cache), &kv->address, error))
        return error->status;
    return groat_memory_write(g, target, kv->address, cache, sizeof(*cache),
                              error);
}

static inline double from_bf16(unsigned short bits)
{
    union {
        unsigned bits;
        float value;
    } x = {(unsigned)bits << 16};

    return x.value;
}

/* The product of a query and a key. */
static inline double score_of(const struct paged_cache *cache, int head,
                              int key)
{
    const unsigned short *k =
        cache->pages[cache->table[key / PAGE]][GROAT_KV_KEYS][key % PAGE];
    double sum = 0;

    for (int i = 0; i < DIM; i++)
        sum += from_bf16(cache->query[head][i]) * from_bf16(k[i]);
    return sum;
}

/* Counts the scores that are off by more than sums in float are. */
static inline int wrong_scores(const struct paged_cache *cache)
{
    int wrong = 0;

    for (int i = 0; i < HEADS * KEYS; i++) {
        int head = i / KEYS, key = i % KEYS;
        double off = cache->scores[head][key] - score_of(cache, head, key);
        wrong += !(off > -1e-4 && off < 1e-4);
    }
    printf("%d of %d scores are wrong\n", wrong, HEADS * KEYS);
    return wrong;
}

/* The norm of the output's error, relative to the norm of `wanted`. */
static inline double error_of_output(const struct paged_cache *cache,
                                     const double *wanted)
{
    double off = 0, all = 0;

    for (int i = 0; i < HEADS * DIM; i++) {
        off += pow(from_bf16(cache->output[i / DIM][i % DIM]) - wanted[i], 2);
        all += pow(wanted[i], 2);
    }
    printf("the error is %.1e of the output\n", sqrt(off / all));
    return sqrt(off / all);
}
