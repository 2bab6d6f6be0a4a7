/* SPDX-License-Identifier: Apache-2.0
 *
 * stores.c models copies by NVIDIA's copy engine from shared to device memory.
 *
 * The bytes are there at once; the shared memory that they come from is read
 * until the thread has waited for the copy's group, and who overwrites it
 * before is found.  Copies have numbers in their wave, which is their agent:
 * what is known of it is how many of them are done, up to the oldest that is
 * not.
 *
 * Rules: PTX ISA, cp.async.bulk, its groups, and the asynchronous proxy.
 */
#include "judge/stores.h"

#include <string.h>

#include "judge/copies.h"
#include "judge/fiber.h"
#include "judge/memory.h"
#include "judge/order.h"
#include "judge/tma.h"

/* Reports if a thread's store is not fenced for the engine. */
static void check_fenced(groat__judge *j, uint32_t at)
{
    const groat__shadow *s = &j->block->shadows[at];

    if (groat__judge_is_fenced(j, s))
        return;
    groat__judge_add_place(j, s->site, "the store");
    groat__judge_report(
        j,
        "copies byte %u of shared memory to device memory, which thread %zu "
        "stored: %s between is missing",
        at, groat__judge_thread_of(j, s->writer),
        groat__judge_call(j, "async_proxy_fence"));
}

/* Reads a chunk; its bytes stay read by the copy of that number. */
static void read_chunk(groat__judge *j, uint32_t from, uint32_t number,
                       unsigned char *to)
{
    groat__judge_read(j, from, to, GROAT__JUDGE_CHUNK, GROAT_ACCESS_READ);
    for (uint32_t at = from; at < from + GROAT__JUDGE_CHUNK; at++) {
        groat__shadow *s = &j->block->shadows[at];

        check_fenced(j, at);
        s->readers = groat__judge_add_reader(
            j, s->readers, groat__judge_agent_stores(j, j->current), number,
            groat__judge_fiber(j)->site);
    }
}

static void copy_out(groat__judge *j, const groat__engine_copy *copy)
{
    groat__fiber *f = groat__judge_fiber(j);
    uint32_t number;

    groat__judge_clocks_on(j);
    number = ++f->stores;
    for (uint32_t i = 0; i < copy->bytes / GROAT__JUDGE_CHUNK; i++) {
        groat__piece to = groat__judge_piece_of(copy, i);
        unsigned char chunk[GROAT__JUDGE_CHUNK];

        read_chunk(j, groat__judge_chunk_at(copy, i), number, chunk);
        if (to.to > to.from)
            groat__judge_write_device(j, to.address, chunk + to.from,
                                      to.to - to.from);
    }
    f->open_store = f->open_store ? f->open_store : number;
}

void groat__judge_tma_store(struct groat_cpu_env *env, const void *map,
                            unsigned from, const int *at, unsigned rank)
{
    groat__judge *j = groat__judge_enter(env);
    groat__engine_copy copy = groat__judge_box(j, map, from, at, rank);

    copy_out(j, &copy);
}

void groat__judge_bulk_store(struct groat_cpu_env *env, unsigned long long to,
                             unsigned from, unsigned bytes)
{
    groat__judge *j = groat__judge_enter(env);
    groat__engine_copy copy = groat__judge_bulk(j, from, to, bytes);

    copy_out(j, &copy);
}

void groat__judge_store_commit(struct groat_cpu_env *env)
{
    groat__judge *j = groat__judge_enter(env);
    groat__fiber *f = groat__judge_fiber(j);

    f->store_groups =
        groat__judge_grow(j, f->store_groups, f->store_group_count,
                          &f->store_group_cap, sizeof(*f->store_groups));
    f->store_groups[f->store_group_count++] = f->open_store;
    f->open_store = 0;
}

/* The oldest copy of a thread that is not done, or 0. */
static uint32_t oldest_of(const groat__fiber *f)
{
    for (size_t i = 0; i < f->store_group_count; i++)
        if (f->store_groups[i] != 0)
            return f->store_groups[i];
    return f->open_store;
}

void groat__judge_store_wait(struct groat_cpu_env *env, unsigned groups)
{
    groat__judge *j = groat__judge_enter(env);
    groat__fiber *f = groat__judge_fiber(j);
    size_t done =
        f->store_group_count > groups ? f->store_group_count - groups : 0;
    uint32_t *known;

    groat__judge_clocks_on(j);
    if (done > 0)
        memmove(f->store_groups, f->store_groups + done,
                (f->store_group_count - done) * sizeof(*f->store_groups));
    f->store_group_count -= done;
    known = &groat__judge_clock(
        j, j->current)[groat__judge_agent_stores(j, j->current)];
    *known = oldest_of(f) != 0 ? oldest_of(f) - 1 : f->stores;
}

void groat__judge_stores_check_end(groat__judge *j)
{
    const groat__fiber *f = groat__judge_fiber(j);

    if (oldest_of(f) != 0)
        groat__judge_report(
            j, f->open_store != 0
                   ? "ends with a copy to device memory that is in no group "
                     "(cp.async.bulk.commit_group), so that nobody waited for "
                     "it"
                   : "ends with a copy to device memory that it did not wait "
                     "for (cp.async.bulk.wait_group)");
}
