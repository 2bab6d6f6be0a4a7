/* SPDX-License-Identifier: Apache-2.0
 *
 * index.c is a hash table with open addressing.
 */
#include "judge/index.h"

#include <stdlib.h>
#include <string.h>

/* Returns a key's entry, or the empty one where it belongs. */
static struct groat__index_entry *entry_of(const groat__index *index,
                                           uint64_t key)
{
    size_t at = (size_t)(key * 0x9E3779B97F4A7C15u >> 32);

    for (at &= index->cap - 1;
         index->entries[at].number != 0 && index->entries[at].key != key;)
        at = (at + 1) & (index->cap - 1);
    return &index->entries[at];
}

uint32_t groat__index_find(const groat__index *index, uint64_t key)
{
    return index->cap == 0 ? 0 : entry_of(index, key)->number;
}

static bool grow(groat__index *index)
{
    enum { FIRST = 256 };
    groat__index grown = {.cap = index->cap == 0 ? FIRST : 2 * index->cap};

    grown.entries = calloc(grown.cap, sizeof(*grown.entries));
    if (grown.entries == NULL)
        return false;
    for (size_t i = 0; i < index->cap; i++)
        if (index->entries[i].number != 0)
            *entry_of(&grown, index->entries[i].key) = index->entries[i];
    grown.count = index->count;
    free(index->entries);
    *index = grown;
    return true;
}

bool groat__index_add(groat__index *index, uint64_t key, uint32_t number)
{
    if (2 * index->count >= index->cap && !grow(index))
        return false;
    *entry_of(index, key) = (struct groat__index_entry){key, number};
    index->count++;
    return true;
}

void groat__index_clear(groat__index *index)
{
    if (index->count > 0)
        memset(index->entries, 0, index->cap * sizeof(*index->entries));
    index->count = 0;
}

void groat__index_drop(groat__index *index)
{
    free(index->entries);
}
