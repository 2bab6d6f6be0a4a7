/* SPDX-License-Identifier: Apache-2.0
 *
 * tma.c models NVIDIA's copy engine: boxes of tensors of rank 1 to 5 and
 * plain runs of bytes, into one block or several, each with an mbarrier of the
 * block that receives it.
 *
 * What a copy writes is in flight from its issue until its mbarrier's phase
 * completes.  Its bytes arrive (are counted) when no thread can go on, one copy
 * after the other, in the order of the seed; its data lands, read from device
 * memory, with the phase.
 *
 * Formulas: PTX ISA, tensor copies (box, coordinates, out-of-bounds fill,
 * swizzling modes); the bytes of elements out of range are zeros and count.
 */
#include "judge/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 16, /* bytes that swizzling keeps together */
    TO_ALIGN = 128,
    BOX_MAX = 256,
    LANDED = 1024 /* copies that findings can still name */
};

/* ---- what a copy covers ------------------------------------------------ */

/* Chunk `index` of the box: where it lies in shared memory. */
static uint32_t chunk_at(const groat__engine_copy *copy, uint32_t index)
{
    static const uint32_t masks[] = {0, 1, 3, 7};
    uint32_t at = copy->to + index * CHUNK;

    return at ^ ((at >> 7 & masks[copy->map.swizzle]) << 4);
}

/* Bytes [from, to) of a chunk come from device memory at `address`, the others
 * are zeros; `asked` is where the chunk would begin, were all in range. */
typedef struct piece {
    uint64_t address;
    uint64_t asked;
    uint32_t from;
    uint32_t to;
} piece;

/* The part of a run of `count` elements from coordinate `at` on that lies
 * inside 0 .. size. */
static void clip(int64_t at, int64_t count, int64_t size, int64_t *first,
                 int64_t *end)
{
    *first = at < 0 ? -at : 0;
    *end = at + count > size ? size - at : count;
    if (*first >= *end)
        *first = *end = 0;
}

static piece piece_of(const groat__engine_copy *copy, uint32_t index)
{
    const struct groat_cpu_tensor_map *map = &copy->map;
    uint64_t row = map->address;
    bool inside = true;
    uint64_t rest;
    int64_t inner;
    int64_t first;
    int64_t end;

    if (map->rank == 0) {
        row += (uint64_t)index * CHUNK;
        return (piece){row, row, 0, CHUNK};
    }
    rest = (uint64_t)index * CHUNK / map->elem_bytes;
    inner = copy->at[0] + (int64_t)(rest % map->box[0]);
    rest /= map->box[0];
    for (unsigned d = 1; d < map->rank; d++) {
        int64_t at = copy->at[d] + (int64_t)(rest % map->box[d]);

        rest /= map->box[d];
        inside = inside && at >= 0 && (uint64_t)at < map->dims[d];
        row += (uint64_t)at * map->strides[d - 1];
    }
    clip(inner, CHUNK / map->elem_bytes, inside ? (int64_t)map->dims[0] : 0,
         &first, &end);
    return (piece){row + (uint64_t)(inner + first) * map->elem_bytes,
                   row + (uint64_t)inner * map->elem_bytes,
                   (uint32_t)first * map->elem_bytes,
                   (uint32_t)end * map->elem_bytes};
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

/* ---- issue ------------------------------------------------------------- */

static void push(groat__judge *j, groat__copies *to,
                 const groat__engine_copy *copy)
{
    if (to->count == to->cap) {
        size_t cap = to->cap == 0 ? 64 : 2 * to->cap;
        groat__engine_copy *more = realloc(to->items, cap * sizeof(*more));

        if (more == NULL)
            groat__judge_starve(j);
        to->items = more;
        to->cap = cap;
    }
    to->items[to->count++] = *copy;
}

/* The engine writes where threads wrote: their stores must have been fenced. */
static void check_fenced(groat__judge *j, const groat__judge_block *block,
                         uint32_t at)
{
    const groat__shadow *s = &block->shadows[at];

    if (s->state == GROAT__WRITTEN && groat__judge_is_thread(j, s->writer) &&
        !groat__judge_knows(j, groat__judge_agent_fenced(j, s->writer),
                            s->write_clock))
        groat__judge_convict(
            j,
            "copies into byte %u of shared memory, which thread %zu stored to: "
            "an async_proxy_fence between is missing",
            at, groat__judge_thread_of(j, s->writer));
}

static void take_off(groat__judge *j, const groat__engine_copy *copy)
{
    groat__judge_block *block = &j->blocks[copy->rank];
    const groat__shadow mark = {groat__judge_agent_barrier(j, copy->barrier),
                                copy->phase + 1, 0, GROAT__IN_FLIGHT};

    if (block->ended == j->threads)
        groat__judge_convict(
            j,
            "copies into block %u of its cluster, which has ended: "
            "cluster_barrier is missing",
            copy->rank);
    for (uint32_t i = 0; i < copy->bytes; i++) {
        uint32_t at = chunk_at(copy, i / CHUNK) + i % CHUNK;

        groat__judge_check_inside(j, at, 1, "copies into");
        groat__judge_check_write(j, block, at, "copies into");
        check_fenced(j, block, at);
        block->shadows[at] = mark;
    }
    j->barriers[copy->barrier].issued += copy->bytes;
    push(j, &j->copies, copy);
}

/* One event for each 32 chunks of the box. */
static void tell(groat__judge *j, const groat__engine_copy *copy)
{
    uint32_t chunks = copy->bytes / CHUNK;

    for (uint32_t i = 0; i < chunks && j->trial->trace != NULL; i += 32) {
        groat__traced item = {.access = GROAT_ACCESS_COPY, .bytes = CHUNK};

        for (uint32_t lane = 0; lane < 32 && i + lane < chunks; lane++) {
            piece from = piece_of(copy, i + lane);

            item.active |= (uint64_t)1 << lane;
            item.shared[lane] = chunk_at(copy, i + lane);
            item.asked[lane] = from.asked;
            item.source[lane] = from.to > from.from ? from.asked : 0;
        }
        groat__judge_tell_copy(j, j->current, &item);
    }
}

static void check_source(groat__judge *j, const groat__engine_copy *copy)
{
    for (uint32_t i = 0; i < copy->bytes / CHUNK; i++) {
        piece from = piece_of(copy, i);

        if (from.to > from.from)
            groat__judge_check_device(j, from.address, from.to - from.from,
                                      "copies");
    }
}

static void check_to(groat__judge *j, uint32_t to, uint64_t bytes,
                     uint32_t align)
{
    if (to % align != 0)
        groat__judge_convict(
            j, "copies to byte %u of shared memory, no multiple of %u", to,
            align);
    groat__judge_check_inside(j, to, bytes, "copies a box of");
}

/* The copy's barrier in the block that counts its bytes. */
static void aim(groat__judge *j, groat__engine_copy *copy, uint32_t bar,
                size_t rank)
{
    const groat__mbarrier *at =
        groat__judge_mbarrier_at(j, bar, rank, true, "copies on");

    copy->barrier = (uint32_t)(at - j->barriers);
    copy->phase = at->phase;
}

/* ---- boxes ------------------------------------------------------------- */

static bool is_map(const struct groat_cpu_tensor_map *map)
{
    bool good = map->magic == GROAT_CPU_TENSOR_MAP_MAGIC && map->rank >= 1 &&
                map->rank <= GROAT_CPU_TENSOR_MAP_RANK &&
                map->swizzle <= GROAT_CPU_SWIZZLE_128B &&
                (map->elem_bytes == 1 || map->elem_bytes == 2 ||
                 map->elem_bytes == 4 || map->elem_bytes == 8);

    for (unsigned d = 0; good && d < map->rank; d++)
        good = map->box[d] >= 1 && map->box[d] <= BOX_MAX;
    return good && map->box[0] * map->elem_bytes % CHUNK == 0;
}

/* A map that the library made for this target. */
static struct groat_cpu_tensor_map decode(groat__judge *j, const void *at,
                                          const char *verb)
{
    struct groat_cpu_tensor_map map;

    if (!j->trial->arch->tma)
        groat__judge_convict(j, "%s a tensor map; %s has none", verb,
                             j->trial->arch->name);
    if ((uintptr_t)at % 64 != 0)
        groat__judge_convict(j, "%s a tensor map at %p, no multiple of 64",
                             verb, at);
    memcpy(&map, at, sizeof(map));
    if (!is_map(&map))
        groat__judge_convict(
            j,
            "%s a tensor map that groat_tensor_map_make() did not make for "
            "a cpu target",
            verb);
    return map;
}

static uint64_t box_bytes(const struct groat_cpu_tensor_map *map)
{
    uint64_t bytes = map->elem_bytes;

    for (unsigned d = 0; d < map->rank; d++)
        bytes *= map->box[d];
    return bytes;
}

/* Seen on an H200: any other box ends the context, as an illegal instruction.
 */
static void check_columns(groat__judge *j, const groat__engine_copy *copy)
{
    int64_t byte = (int64_t)copy->at[0] * copy->map.elem_bytes;

    if (byte % CHUNK != 0)
        groat__judge_convict(
            j,
            "copies a box from byte %lld of rows on, coordinate %d of %u-byte "
            "elements; boxes begin at multiples of %d bytes",
            (long long)byte, copy->at[0], copy->map.elem_bytes, CHUNK);
}

static void check_mask(groat__judge *j, uint32_t ctas)
{
    if (ctas == 0 || ctas >> j->block_count != 0)
        groat__judge_convict(
            j, "copies to the blocks of mask 0x%x; its cluster has %zu", ctas,
            j->block_count);
}

/* Whom the copy reaches, block after block. */
static void send(groat__judge *j, groat__engine_copy *copy, uint32_t bar,
                 uint32_t reach, uint32_t ctas)
{
    size_t own = groat__judge_rank_of(j, j->current);

    if (reach == GROAT_CPU_TMA_MULTICAST)
        check_mask(j, ctas);
    else
        ctas = 1u << own;
    if (reach == GROAT_CPU_TMA_PAIR && !j->trial->arch->cta_group)
        groat__judge_convict(j, "copies as a pair of blocks; %s cannot",
                             j->trial->arch->name);
    for (size_t rank = 0; rank < j->block_count; rank++) {
        if ((ctas >> rank & 1) == 0)
            continue;
        copy->rank = (uint32_t)rank;
        aim(j, copy, bar,
            reach == GROAT_CPU_TMA_PAIR ? rank & ~(size_t)1 : rank);
        take_off(j, copy);
    }
    tell(j, copy);
}

void groat__judge_tma_load(struct groat_cpu_env *env, const void *map,
                           unsigned to, unsigned bar, const int *at,
                           unsigned rank, unsigned reach, unsigned ctas)
{
    groat__judge *j = groat__judge_of(env);
    groat__engine_copy copy = {.map = decode(j, map, "copies a box of"),
                               .to = to,
                               .issuer = (uint32_t)j->current};
    uint64_t bytes = box_bytes(&copy.map);

    if (rank != copy.map.rank)
        groat__judge_convict(
            j, "copies a box of rank %u of a tensor map of rank %u", rank,
            copy.map.rank);
    memcpy(copy.at, at, rank * sizeof(*at));
    check_columns(j, &copy);
    check_to(j, to, bytes, TO_ALIGN);
    copy.bytes = (uint32_t)bytes;
    check_source(j, &copy);
    send(j, &copy, bar, reach, ctas);
}

void groat__judge_tma_prefetch(struct groat_cpu_env *env, const void *map)
{
    (void)decode(groat__judge_of(env), map, "prefetches");
}

void groat__judge_bulk_load(struct groat_cpu_env *env, unsigned to,
                            unsigned long long from, unsigned bytes,
                            unsigned bar)
{
    groat__judge *j = groat__judge_of(env);
    groat__engine_copy copy = {.map = {.address = from, .elem_bytes = 1},
                               .to = to,
                               .bytes = bytes,
                               .issuer = (uint32_t)j->current};

    if (!j->trial->arch->tma)
        groat__judge_convict(j, "copies in bulk; %s cannot",
                             j->trial->arch->name);
    if (bytes % CHUNK != 0 || from % CHUNK != 0)
        groat__judge_convict(
            j,
            "copies %u bytes from device address 0x%llx in bulk; multiples "
            "of %d are possible",
            bytes, from, CHUNK);
    check_to(j, to, bytes, CHUNK);
    groat__judge_check_device(j, from, bytes, "copies");
    send(j, &copy, bar, GROAT_CPU_TMA_ONE, 0);
}

/* ---- arrival ----------------------------------------------------------- */

static void land(groat__judge *j, const groat__engine_copy *copy)
{
    groat__judge_block *block = &j->blocks[copy->rank];

    for (uint32_t i = 0; i < copy->bytes / CHUNK; i++) {
        uint32_t at = chunk_at(copy, i);
        piece from = piece_of(copy, i);

        memset(block->shared + at, 0, CHUNK);
        if (from.to > from.from)
            memcpy(block->shared + at + from.from,
                   (const void *)(uintptr_t)from.address, from.to - from.from);
        for (uint32_t k = 0; k < CHUNK; k++)
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

void groat__judge_engine_land(groat__judge *j, uint32_t barrier)
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

static bool is_awaited(const groat__judge *j, uint32_t barrier)
{
    for (size_t t = 0; t < j->fiber_count; t++)
        if (j->fibers[t].state == GROAT__WAITING &&
            j->fibers[t].awaited == barrier)
            return true;
    return false;
}

/* Without a seed the oldest copy that somebody waits for, else the oldest. */
static groat__engine_copy *choose(groat__judge *j)
{
    groat__engine_copy *chosen = NULL;
    size_t seen = 0;

    for (size_t i = 0; i < j->copies.count; i++) {
        groat__engine_copy *copy = &j->copies.items[i];

        if (copy->counted)
            continue;
        if (j->trial->seed == 0 && is_awaited(j, copy->barrier))
            return copy;
        if (chosen == NULL ||
            (j->trial->seed != 0 && groat__judge_random(j) % (seen + 1) == 0))
            chosen = copy;
        seen++;
    }
    return chosen;
}

bool groat__judge_engine_step(groat__judge *j)
{
    groat__engine_copy *copy = choose(j);

    if (copy == NULL)
        return false;
    groat__judge_mbarrier_count(j, copy);
    return true;
}

void groat__judge_engine_check_end(groat__judge *j)
{
    size_t rank = groat__judge_rank_of(j, j->current);

    if (j->block->ended + 1 < j->threads)
        return;
    for (size_t i = 0; i < j->copies.count; i++)
        if (j->copies.items[i].rank == rank) {
            char name[GROAT__JUDGE_SAID];

            groat__judge_name_copy(j, j->block, j->copies.items[i].to, name);
            groat__judge_convict(
                j,
                "is the last thread of its block to end, with %s into byte "
                "%u of shared memory in flight",
                name, j->copies.items[i].to);
        }
}
