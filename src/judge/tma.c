/* SPDX-License-Identifier: Apache-2.0
 *
 * tma.c models NVIDIA's copy engine: copies of tensor boxes of rank 1 to 5 and
 * of contiguous bytes, into one block or several, each counted on an mbarrier
 * of the receiving block (or of the even block of its pair).
 *
 * The bytes that a copy writes are in flight from its issue until its
 * mbarrier's phase completes.  They arrive (are counted) only when no thread
 * can continue, one copy after the other, in the order of the seed; the data
 * lands when the phase completes: copies.c.
 *
 * Rules: PTX ISA, tensor copies (boxes, coordinates, alignments).
 */
#include "judge/tma.h"

#include <string.h>

#include "judge/copies.h"
#include "judge/fiber.h"
#include "judge/mbarrier.h"
#include "judge/memory.h"
#include "judge/order.h"
#include "judge/trace.h"
#include "groat_tensor.h"

enum { TO_ALIGN = 128, BOX_MAX = 256 };

/* ---- issue ------------------------------------------------------------- */

bool groat__judge_is_fenced(const groat__judge *j, const groat__shadow *s)
{
    return s->state != GROAT__WRITTEN ||
           !groat__judge_is_thread(j, s->writer) ||
           groat__judge_knows(j, groat__judge_agent_fenced(j, s->writer),
                              s->write_clock);
}

/* Reports if the engine overwrites a thread's store that was not fenced. */
static void check_fenced(groat__judge *j, const groat__judge_block *block,
                         uint32_t at)
{
    const groat__shadow *s = &block->shadows[at];

    if (!groat__judge_is_fenced(j, s))
        groat__judge_report(
            j,
            "copies into byte %u of shared memory, which thread %zu stored to: "
            "%s between is missing",
            at, groat__judge_thread_of(j, s->writer),
            groat__judge_call(j, "async_proxy_fence"));
}

static void take_off(groat__judge *j, const groat__engine_copy *copy)
{
    groat__judge_block *block = &j->blocks[copy->rank];
    const groat__shadow mark = {groat__judge_agent_barrier(j, copy->barrier),
                                copy->phase + 1,
                                0,
                                groat__judge_fiber(j)->site,
                                GROAT__IN_FLIGHT,
                                false};

    if (block->ended == j->threads)
        groat__judge_report(
            j,
            "copies into block %u of its cluster, which has ended: "
            "cluster_barrier is missing",
            copy->rank);
    for (uint32_t i = 0; i < copy->bytes; i++) {
        uint32_t at = groat__judge_chunk_at(copy, i / GROAT__JUDGE_CHUNK) +
                      i % GROAT__JUDGE_CHUNK;

        groat__judge_check_inside(j, at, 1, "copies into");
        groat__judge_check_write(j, block, at, "copies into");
        check_fenced(j, block, at);
        block->shadows[at] = mark;
    }
    j->barriers[copy->barrier].issued += copy->bytes;
    groat__judge_copies_add(j, copy);
}

/* One event for each 32 chunks of the box. */
static void tell(groat__judge *j, const groat__engine_copy *copy)
{
    uint32_t chunks = copy->bytes / GROAT__JUDGE_CHUNK;

    for (uint32_t i = 0; i < chunks && groat__judge_tells(j); i += 32) {
        groat__traced item = {.access = GROAT_ACCESS_COPY,
                              .bytes = GROAT__JUDGE_CHUNK,
                              .mbarrier = j->barriers[copy->barrier].address,
                              .phase = copy->phase};

        for (uint32_t lane = 0; lane < 32 && i + lane < chunks; lane++) {
            groat__piece from = groat__judge_piece_of(copy, i + lane);

            item.active |= (uint64_t)1 << lane;
            item.shared[lane] = groat__judge_chunk_at(copy, i + lane);
            item.asked[lane] = from.asked;
            item.source[lane] = from.to > from.from ? from.asked : 0;
        }
        groat__judge_note_copy(j, &item);
    }
}

static void check_device(groat__judge *j, const groat__engine_copy *copy)
{
    for (uint32_t i = 0; i < copy->bytes / GROAT__JUDGE_CHUNK; i++) {
        groat__piece from = groat__judge_piece_of(copy, i);

        if (from.to > from.from)
            groat__judge_check_device(j, from.address, from.to - from.from,
                                      "copies");
    }
}

static void check_shared(groat__judge *j, uint32_t to, uint64_t bytes,
                         uint32_t align)
{
    if (to % align != 0)
        groat__judge_report(
            j, "copies at byte %u of shared memory, which is no multiple of %u",
            to, align);
    groat__judge_check_inside(j, to, bytes, "copies a box of");
}

/* Sets the copy's mbarrier; `rank` is the block that counts its bytes. */
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
    return good && map->box[0] * map->elem_bytes % GROAT__JUDGE_CHUNK == 0;
}

/* Reads a tensor map and checks that the library made it for a cpu target. */
static struct groat_cpu_tensor_map decode(groat__judge *j, const void *at,
                                          const char *verb)
{
    const stack_t *stack = &groat__judge_fiber(j)->stand.context.uc_stack;
    struct groat_cpu_tensor_map map;

    if (!j->launch->arch->tma)
        groat__judge_report(j, "%s a tensor map; %s has none", verb,
                            j->launch->arch->name);
    if ((uintptr_t)at - (uintptr_t)stack->ss_sp < stack->ss_size)
        groat__judge_report(j,
                            "%s a tensor map in local memory: a copy is no "
                            "descriptor; pass the kernel's argument itself",
                            verb);
    if ((uintptr_t)at % 64 != 0)
        groat__judge_report(j, "%s a tensor map at %p, no multiple of 64", verb,
                            at);
    memcpy(&map, at, sizeof(map));
    if (!is_map(&map))
        groat__judge_report(
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

/* Observed on an H200: any other box is an illegal instruction, which destroys
 * the context. */
static void check_columns(groat__judge *j, const groat__engine_copy *copy)
{
    int64_t byte = (int64_t)copy->at[0] * copy->map.elem_bytes;

    if (byte % GROAT__JUDGE_CHUNK != 0)
        groat__judge_report(
            j,
            "copies a box from byte %lld of rows on, coordinate %d of %u-byte "
            "elements; boxes begin at multiples of %d bytes",
            (long long)byte, copy->at[0], copy->map.elem_bytes,
            GROAT__JUDGE_CHUNK);
}

static void check_mask(groat__judge *j, uint32_t ctas)
{
    if (ctas == 0 || ctas >> j->block_count != 0)
        groat__judge_report(
            j, "copies to the blocks of mask 0x%x; its cluster has %zu blocks",
            ctas, j->block_count);
}

/* Issues the copy to each block that it reaches. */
static void send(groat__judge *j, groat__engine_copy *copy, uint32_t bar,
                 uint32_t reach, uint32_t ctas)
{
    size_t own = groat__judge_rank_of(j, j->current);

    if (reach == GROAT_CPU_TMA_MULTICAST)
        check_mask(j, ctas);
    else
        ctas = 1u << own;
    if (reach == GROAT_CPU_TMA_PAIR && !j->launch->arch->cta_group)
        groat__judge_report(j, "copies as a pair of blocks; %s cannot",
                            j->launch->arch->name);
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

groat__engine_copy groat__judge_box(groat__judge *j, const void *map,
                                    uint32_t shared, const int *at,
                                    uint32_t rank)
{
    groat__engine_copy copy = {.map = decode(j, map, "copies a box of"),
                               .to = shared,
                               .issuer = (uint32_t)j->current};
    uint64_t bytes = box_bytes(&copy.map);

    if (rank != copy.map.rank)
        groat__judge_report(
            j, "copies a box of rank %u of a tensor map of rank %u", rank,
            copy.map.rank);
    memcpy(copy.at, at, rank * sizeof(*at));
    check_columns(j, &copy);
    check_shared(j, shared, bytes, TO_ALIGN);
    copy.bytes = (uint32_t)bytes;
    check_device(j, &copy);
    return copy;
}

void groat__judge_tma_load(struct groat_cpu_env *env, const void *map,
                           unsigned to, unsigned bar, const int *at,
                           unsigned rank, unsigned reach, unsigned ctas)
{
    groat__judge *j = groat__judge_enter(env);
    groat__engine_copy copy = groat__judge_box(j, map, to, at, rank);

    send(j, &copy, bar, reach, ctas);
}

void groat__judge_tma_prefetch(struct groat_cpu_env *env, const void *map)
{
    (void)decode(groat__judge_enter(env), map, "prefetches");
}

groat__engine_copy groat__judge_bulk(groat__judge *j, uint32_t shared,
                                     uint64_t device, uint32_t bytes)
{
    groat__engine_copy copy = {.map = {.address = device, .elem_bytes = 1},
                               .to = shared,
                               .bytes = bytes,
                               .issuer = (uint32_t)j->current};

    if (!j->launch->arch->tma)
        groat__judge_report(j, "copies in bulk; %s cannot",
                            j->launch->arch->name);
    if (bytes % GROAT__JUDGE_CHUNK != 0 || device % GROAT__JUDGE_CHUNK != 0)
        groat__judge_report(
            j,
            "copies %u bytes at device address 0x%llx in bulk; multiples "
            "of %d are possible",
            bytes, (unsigned long long)device, GROAT__JUDGE_CHUNK);
    check_shared(j, shared, bytes, GROAT__JUDGE_CHUNK);
    groat__judge_check_device(j, device, bytes, "copies");
    return copy;
}

void groat__judge_bulk_load(struct groat_cpu_env *env, unsigned to,
                            unsigned long long from, unsigned bytes,
                            unsigned bar)
{
    groat__judge *j = groat__judge_enter(env);
    groat__engine_copy copy = groat__judge_bulk(j, to, from, bytes);

    send(j, &copy, bar, GROAT_CPU_TMA_ONE, 0);
}

/* ---- arrival ----------------------------------------------------------- */

static bool is_awaited(const groat__judge *j, uint32_t barrier)
{
    for (size_t t = 0; t < j->fiber_count; t++)
        if (j->fibers[t].state == GROAT__WAITING &&
            j->fibers[t].awaited == barrier)
            return true;
    return false;
}

/* Chooses the next copy to arrive: with seed 0 the oldest that a thread waits
 * for, else the oldest; with other seeds at random. */
static groat__engine_copy *choose(groat__judge *j)
{
    groat__engine_copy *chosen = NULL;
    size_t seen = 0;

    for (size_t i = 0; i < j->copies.count; i++) {
        groat__engine_copy *copy = &j->copies.items[i];

        if (copy->counted)
            continue;
        if (j->launch->seed == 0 && is_awaited(j, copy->barrier))
            return copy;
        if (chosen == NULL ||
            (j->launch->seed != 0 && groat__judge_random(j) % (seen + 1) == 0))
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
            groat__judge_report(
                j,
                "is the last thread of its block to end, with %s into byte "
                "%u of shared memory in flight",
                name, j->copies.items[i].to);
        }
}
