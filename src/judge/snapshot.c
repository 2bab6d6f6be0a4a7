/* SPDX-License-Identifier: Apache-2.0
 *
 * snapshot.c keeps lines of device memory before they are stored to, and puts
 * them back.
 */
#include "judge/snapshot.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 256, MOST = 1 << 24 };

static size_t bucket_of(const groat__snapshot *s, uint64_t address)
{
    return (size_t)(address * 0x9E3779B97F4A7C15u >> 32) & (2 * s->cap - 1);
}

/* Returns the bucket of a line, or the empty one where it belongs. */
static uint32_t *find(const groat__snapshot *s, uint64_t address)
{
    size_t at = bucket_of(s, address);

    while (s->buckets[at] != 0 &&
           s->lines[s->buckets[at] - 1].address != address)
        at = (at + 1) & (2 * s->cap - 1);
    return &s->buckets[at];
}

/* The table stays at most half full.  False: no memory, or too many. */
static bool make_room(groat__snapshot *s)
{
    size_t cap = s->cap == 0 ? FIRST : 2 * s->cap;
    groat__snapshot_line *lines;
    uint32_t *buckets;

    if (s->count < s->cap)
        return true;
    if (cap > MOST)
        return false;
    lines = realloc(s->lines, cap * sizeof(*lines));
    if (lines != NULL)
        s->lines = lines;
    buckets = calloc(2 * cap, sizeof(*buckets));
    if (lines == NULL || buckets == NULL) {
        free(buckets);
        return false;
    }
    free(s->buckets);
    s->buckets = buckets;
    s->cap = cap;
    for (size_t i = 0; i < s->count; i++)
        *find(s, s->lines[i].address) = (uint32_t)i + 1;
    return true;
}

/* Copies a line's bytes from memory, or to it. */
static void copy(groat__snapshot_line *line, bool back)
{
    uint8_t *memory = (uint8_t *)(uintptr_t)line->address + line->from;
    uint8_t *kept = line->bytes + line->from;
    size_t bytes = (size_t)(line->to - line->from);

    if (back)
        memcpy(memory, kept, bytes);
    else
        memcpy(kept, memory, bytes);
}

void groat__snapshot_keep(groat__snapshot *snapshot,
                          const groat__snapshot_line *which)
{
    groat__snapshot_line *line;
    uint32_t *bucket;

    if (!make_room(snapshot)) {
        snapshot->lost = true;
        return;
    }
    bucket = find(snapshot, which->address);
    if (*bucket != 0)
        return;
    line = &snapshot->lines[snapshot->count++];
    *bucket = (uint32_t)snapshot->count;
    *line = *which;
    copy(line, false);
}

void groat__snapshot_restore(const groat__snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++)
        copy(&snapshot->lines[i], true);
}

void groat__snapshot_drop(groat__snapshot *snapshot)
{
    free(snapshot->lines);
    free(snapshot->buckets);
}
