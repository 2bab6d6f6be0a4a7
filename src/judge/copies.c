/* SPDX-License-Identifier: Apache-2.0
 *
 * copies.c keeps the copies of NVIDIA's copy engine: what each covers in shared
 * and in device memory, those in flight, and the last that have landed, which
 * findings name.  tma.c issues copies and lets their bytes arrive; mbarrier.c
 * lands them.
 *
 * Formulas: PTX ISA, tensor copies (box, coordinates, out-of-bounds fill,
 * swizzling modes); the bytes of elements out of range are zeros and count.
 */
#include "judge/copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/fiber.h"

enum { LANDED = 1024 /* copies that findings can still name */ };

/* ---- what a copy covers ------------------------------------------------ */

uint32_t groat__judge_chunk_at(const groat__engine_copy *copy, uint32_t index)
{
    static const uint32_t masks[] = {0, 1, 3, 7};
    uint32_t at = copy->to + index * GROAT__JUDGE_CHUNK;

    return at ^ ((at >> 7 & masks[copy->map.swizzle]) << 4);
}

/* Clips `count` elements from coordinate `at` to [0, size): elements [*first,
 * *end) of them are inside. */
static void clip(int64_t at, int64_t count, int64_t size, int64_t *first,
                 int64_t *end)
{
    *first = at < 0 ? -at : 0;
    *end = at + count > size ? size - at : count;
    if (*first >= *end)
        *first = *end = 0;
}

groat__piece groat__judge_piece_of(const groat__engine_copy *copy,
                                   uint32_t index)
{
    const struct groat_cpu_tensor_map *map = &copy->map;
    uint64_t row = map->address;
    bool inside = true;
    uint64_t rest;
    int64_t inner;
    int64_t first;
    int64_t end;

    if (map->rank == 0) {
        row += (uint64_t)index * GROAT__JUDGE_CHUNK;
        return (groat__piece){row, row, 0, GROAT__JUDGE_CHUNK};
    }
    rest = (uint64_t)index * GROAT__JUDGE_CHUNK / map->elem_bytes;
    inner = copy->at[0] + (int64_t)(rest % map->box[0]);
    rest /= map->box[0];
    for (unsigned d = 1; d < map->rank; d++) {
        int64_t at = copy->at[d] + (int64_t)(rest % map->box[d]);

        rest /= map->box[d];
        inside = inside && at >= 0 && (uint64_t)at < map->dims[d];
        row += (uint64_t)at * map->strides[d - 1];
    }
    clip(inner, GROAT__JUDGE_CHUNK / map->elem_bytes,
         inside ? (int64_t)map->dims[0] : 0, &first, &end);
    return (groat__piece){row + (uint64_t)(inner + first) * map->elem_bytes,
                          row + (uint64_t)inner * map->elem_bytes,
                          (uint32_t)first * map->elem_bytes,
                          (uint32_t)end * map->elem_bytes};
}

/* ---- in flight and landed ---------------------------------------------- */

void groat__judge_copies_add(groat__judge *j, const groat__engine_copy *copy)
{
    groat__copies *to = &j->copies;

    to->items = groat__judge_grow(j, to->items, to->count, &to->cap,
                                  sizeof(*to->items));
    to->items[to->count++] = *copy;
}

static void land(groat__judge *j, const groat__engine_copy *copy)
{
    groat__judge_block *block = &j->blocks[copy->rank];

    for (uint32_t i = 0; i < copy->bytes / GROAT__JUDGE_CHUNK; i++) {
        uint32_t at = groat__judge_chunk_at(copy, i);
        groat__piece from = groat__judge_piece_of(copy, i);

        memset(block->shared + at, 0, GROAT__JUDGE_CHUNK);
        if (from.to > from.from)
            memcpy(block->shared + at + from.from,
                   (const void *)(uintptr_t)from.address, from.to - from.from);
        for (uint32_t k = 0; k < GROAT__JUDGE_CHUNK; k++)
            block->shadows[at + k].state = GROAT__WRITTEN;
    }
}

static void remember(groat__judge *j, const groat__engine_copy *copy)
{
    groat__copies *ring = &j->landed;

    if (ring->items == NULL) {
        ring->items = calloc(LANDED, sizeof(*ring->items));
        if (ring->items == NULL)
            return; /* findings then do not name it */
    }
    ring->items[ring->count++ % LANDED] = *copy;
}

void groat__judge_copies_land(groat__judge *j, uint32_t barrier)
{
    size_t kept = 0;

    for (size_t i = 0; i < j->copies.count; i++) {
        const groat__engine_copy *copy = &j->copies.items[i];

        if (copy->barrier == barrier) {
            land(j, copy);
            remember(j, copy);
        } else {
            j->copies.items[kept++] = *copy;
        }
    }
    j->copies.count = kept;
}

void groat__judge_name_copy(const groat__judge *j,
                            const groat__judge_block *block, uint32_t at,
                            char said[GROAT__JUDGE_SAID])
{
    const groat__engine_copy *found = NULL;
    size_t rank = (size_t)(block - j->blocks);
    size_t last = j->landed.count < LANDED ? j->landed.count : LANDED;
    int used;

    for (size_t i = 0; i < j->copies.count + last && found == NULL; i++) {
        const groat__engine_copy *copy =
            i < j->copies.count
                ? &j->copies.items[i]
                : &j->landed
                       .items[(j->landed.count - 1 - (i - j->copies.count)) %
                              LANDED];

        if (copy->rank == rank && at >= copy->to && at - copy->to < copy->bytes)
            found = copy;
    }
    if (found == NULL) {
        (void)snprintf(said, GROAT__JUDGE_SAID, "a copy");
        return;
    }
    used = snprintf(said, GROAT__JUDGE_SAID, "a %scopy of thread %zu",
                    found->map.rank == 0 ? "bulk " : "",
                    groat__judge_thread_of(j, found->issuer));
    for (unsigned d = 0; d < found->map.rank && used < GROAT__JUDGE_SAID; d++)
        used += snprintf(said + used, (size_t)(GROAT__JUDGE_SAID - used),
                         "%s%d%s", d == 0 ? " (box at " : ", ", found->at[d],
                         d + 1 == found->map.rank ? ")" : "");
}
