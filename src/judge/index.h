/* SPDX-License-Identifier: Apache-2.0
 *
 * index.h - numbers by keys.
 */
#ifndef GROAT_JUDGE_INDEX_H
#define GROAT_JUDGE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as {0}. */
typedef struct groat__index {
    struct groat__index_entry {
        uint64_t key;
        uint32_t number; /* 0: there is none */
    } * entries;
    size_t cap; /* a power of two, at least twice `count` */
    size_t count;
} groat__index;

/* Returns 0 for a key that is not there. */
uint32_t groat__index_find(const groat__index *index, uint64_t key);
/* Adds a key that is not there; number is not 0.  False: no memory. */
bool groat__index_add(groat__index *index, uint64_t key, uint32_t number);
void groat__index_clear(groat__index *index);
void groat__index_drop(groat__index *index);

#endif
