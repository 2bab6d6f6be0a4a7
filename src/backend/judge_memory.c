/* SPDX-License-Identifier: Apache-2.0
 *
 * judge_memory.c models shared and device memory: every byte of shared memory
 * has a shadow that says who wrote and read it since the last barrier, and a
 * copy in flight lands when a wait of the thread that issued it forces it to,
 * never earlier.  Who runs when is judge.c's, what a wave does as one is
 * judge_wave.c's.
 *
 * Invariant: a byte of shared memory changes only in land() and in
 * shared_store(), and each looks at the byte's shadow first.
 *
 * Whoever may see whose writes without a barrier is an "agent": a wave on AMD,
 * whose lanes run in lock step, a thread on NVIDIA.  Lanes of a wave meet at
 * every wait and fence, so what one wrote before it the others see after it.
 */
#include "backend/judge_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 0xffff, VMCNT_MAX = 63 };

static size_t agent_of(const groat__judge *j, size_t thread)
{
    return groat__judge_is_amd(j) ? thread / (size_t)j->trial->arch->wave_lanes
                                  : thread;
}

static bool same_agent(const groat__judge *j, size_t a, size_t b)
{
    return agent_of(j, a) == agent_of(j, b);
}

/* ---- shared memory ----------------------------------------------------- */

static void check_shared(groat__judge *j, uint32_t address, uint32_t bytes,
                         const char *verb)
{
    if (address > j->trial->shared_bytes ||
        bytes > j->trial->shared_bytes - address)
        groat__judge_convict(
            j,
            "%s %u bytes at byte %u of shared memory; the block has %u "
            "bytes",
            verb, bytes, address, j->trial->shared_bytes);
    if (bytes != 0 && address % bytes != 0)
        groat__judge_convict(
            j, "%s %u bytes at byte %u of shared memory, misaligned", verb,
            bytes, address);
}

static void check_read(groat__judge *j, uint32_t at)
{
    groat__shadow *s = &j->shadows[at];

    if (s->state == GROAT__IN_FLIGHT)
        groat__judge_convict(
            j,
            "reads byte %u of shared memory while a copy of thread %u into "
            "it is in flight: a wait is missing or counts too much",
            at, s->writer);
    if (s->state == GROAT__UNWRITTEN)
        groat__judge_convict(
            j, "reads byte %u of shared memory, which nobody wrote", at);
    if (s->write_epoch == j->epoch && !same_agent(j, s->writer, j->current))
        groat__judge_convict(
            j,
            "reads byte %u of shared memory, which thread %u wrote since "
            "the last barrier: a barrier is missing",
            at, s->writer);
    if (s->read_epoch != j->epoch)
        s->reader = (uint16_t)j->current;
    else if (s->reader != MANY && !same_agent(j, s->reader, j->current))
        s->reader = MANY;
    s->read_epoch = j->epoch;
}

static void check_write(groat__judge *j, uint32_t at, const char *verb)
{
    const groat__shadow *s = &j->shadows[at];

    if (s->state == GROAT__IN_FLIGHT)
        groat__judge_convict(
            j,
            "%s byte %u of shared memory while a copy of thread %u into it "
            "is in flight",
            verb, at, s->writer);
    if (s->state == GROAT__WRITTEN && s->write_epoch == j->epoch &&
        !same_agent(j, s->writer, j->current))
        groat__judge_convict(
            j,
            "%s byte %u of shared memory, which thread %u wrote since the "
            "last barrier",
            verb, at, s->writer);
    if (s->read_epoch == j->epoch &&
        (s->reader == MANY || !same_agent(j, s->reader, j->current)))
        groat__judge_convict(
            j,
            "%s byte %u of shared memory, which another wave or thread "
            "read since the last barrier: a barrier is missing",
            verb, at);
}

static void mark(groat__judge *j, uint32_t at, groat__byte_state state)
{
    groat__shadow *s = &j->shadows[at];

    s->state = (uint8_t)state;
    s->writer = (uint16_t)j->current;
    s->write_epoch = j->epoch;
}

void groat__judge_read(groat__judge *j, uint32_t address, void *to,
                       uint32_t bytes, groat_access access)
{
    check_shared(j, address, bytes, "reads");
    for (uint32_t i = 0; i < bytes; i++)
        check_read(j, address + i);
    memcpy(to, j->shared + address, bytes);
    groat__judge_note(j, access, address, bytes, 0, false);
}

void groat__judge_shared_load(struct groat_cpu_env *env, unsigned address,
                              void *to, unsigned bytes)
{
    groat__judge_read(groat__judge_of(env), address, to, bytes,
                      GROAT_ACCESS_READ);
}

void groat__judge_shared_store(struct groat_cpu_env *env, unsigned address,
                               const void *from, unsigned bytes)
{
    groat__judge *j = groat__judge_of(env);

    check_shared(j, address, bytes, "writes");
    for (uint32_t i = 0; i < bytes; i++) {
        check_write(j, address + i, "writes");
        mark(j, address + i, GROAT__WRITTEN);
    }
    memcpy(j->shared + address, from, bytes);
    groat__judge_note(j, GROAT_ACCESS_WRITE, address, bytes, 0, false);
    groat__judge_fiber(j)->unfenced = true;
}

/* ---- device memory ----------------------------------------------------- */

/* Bytes between the address and the buffer; 0 inside and right behind it. */
static uint64_t distance(const groat__judge_range *r, uint64_t address)
{
    if (address < r->address)
        return r->address - address;
    return address - r->address > r->bytes ? address - r->address - r->bytes
                                           : 0;
}

static void check_device(groat__judge *j, uint64_t address, uint32_t bytes,
                         const char *verb)
{
    const groat__judge_range *near = NULL;
    bool before;

    for (size_t i = 0; i < j->trial->range_count; i++) {
        const groat__judge_range *r = &j->trial->ranges[i];

        if (address >= r->address && address - r->address <= r->bytes &&
            bytes <= r->bytes - (address - r->address))
            return;
        if (near == NULL || distance(r, address) < distance(near, address))
            near = r;
    }
    if (near == NULL)
        groat__judge_convict(
            j, "%s %u bytes at device address 0x%llx; there is no buffer", verb,
            bytes, (unsigned long long)address);
    before = address < near->address;
    groat__judge_convict(
        j,
        "%s %u bytes at device address 0x%llx: %s%llu of a buffer of %zu "
        "bytes",
        verb, bytes, (unsigned long long)address, before ? "byte -" : "byte ",
        (unsigned long long)(before ? near->address - address
                                    : address - near->address),
        near->bytes);
}

static void check_alignment(groat__judge *j, uint64_t address, uint32_t bytes,
                            const char *verb)
{
    uint32_t unit = groat__judge_is_amd(j) ? 4 : bytes;

    if (address % unit != 0)
        groat__judge_convict(
            j, "%s %u bytes at device address 0x%llx, no multiple of %u", verb,
            bytes, (unsigned long long)address, unit);
}

static groat__flown *new_flight(groat__judge *j)
{
    groat__fiber *f = groat__judge_fiber(j);

    if (f->flight_count == f->flight_cap) {
        size_t cap = f->flight_cap == 0 ? 32 : 2 * f->flight_cap;
        groat__flown *more = realloc(f->flights, cap * sizeof(*more));

        if (more == NULL)
            groat__judge_starve(j);
        f->flights = more;
        f->flight_cap = cap;
    }
    return &f->flights[f->flight_count++];
}

/* Loads and stores of device memory share the counter of the copies on AMD.
 * The compiler waits for a loaded value where it is used; where that is nobody
 * can say here, so the load counts until a wait of the kernel's own. */
static void count_one(groat__judge *j)
{
    if (groat__judge_is_amd(j))
        *new_flight(j) = (groat__flown){0};
}

void groat__judge_global_load(struct groat_cpu_env *env,
                              unsigned long long address, void *to,
                              unsigned bytes)
{
    groat__judge *j = groat__judge_of(env);

    check_device(j, address, bytes, "reads");
    check_alignment(j, address, bytes, "reads");
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    count_one(j);
}

void groat__judge_global_store(struct groat_cpu_env *env,
                               unsigned long long address, const void *from,
                               unsigned bytes)
{
    groat__judge *j = groat__judge_of(env);

    check_device(j, address, bytes, "writes");
    check_alignment(j, address, bytes, "writes");
    memcpy((void *)(uintptr_t)address, from, bytes);
    count_one(j);
}

/* ---- asynchronous copies ----------------------------------------------- */

static void check_copy(groat__judge *j, uint32_t shared, uint32_t lane,
                       uint32_t bytes)
{
    const groat__arch *arch = j->trial->arch;

    if (bytes != 4 && bytes != 16)
        groat__judge_convict(
            j, "copies %u bytes per lane; 4 or 16 are possible", bytes);
    if (groat__judge_is_amd(j) && bytes > (uint32_t)arch->lds_dma_bytes)
        groat__judge_convict(j,
                             "copies %u bytes per lane; %s copies %d at most",
                             bytes, arch->name, arch->lds_dma_bytes);
    if (!groat__judge_is_amd(j) && !arch->cp_async)
        groat__judge_convict(j, "copies asynchronously; %s cannot", arch->name);
    if (lane != j->current % 64)
        groat__judge_convict(j, "calls itself lane %u of its wave of 64", lane);
    check_shared(j, shared, bytes, "copies");
}

/* One lane's part of a view of device memory. */
typedef struct view {
    uint64_t source;
    uint32_t inside; /* bytes before num_records, whole dwords */
} view;

static view look(groat__judge *j, uint64_t base, uint32_t num_records,
                 uint32_t voffset, uint32_t soffset, uint32_t bytes,
                 const char *verb)
{
    uint64_t offset = (uint64_t)voffset + soffset;
    uint64_t left = offset < num_records ? num_records - offset : 0;
    uint32_t inside = (uint32_t)(left < bytes ? left : bytes) & ~3u;

    if (groat__judge_is_amd(j)) {
        groat__judge_uniform(j, soffset, "soffset");
        groat__judge_uniform(j, base, "a buffer at");
        groat__judge_uniform(j, num_records, "num_records");
    }
    /* The machines add 32-bit offsets, each in its own way. */
    if (offset > UINT32_MAX)
        groat__judge_convict(j, "%s from voffset %u + soffset %u, past 32 bits",
                             verb, voffset, soffset);
    check_alignment(j, inside != 0 ? base + offset : 0, bytes, verb);
    if (inside != 0)
        check_device(j, base + offset, inside, verb);
    return (view){base + offset, inside};
}

void groat__judge_buffer_load(struct groat_cpu_env *env,
                              unsigned long long base, unsigned num_records,
                              unsigned voffset, unsigned soffset, void *to,
                              unsigned bytes)
{
    groat__judge *j = groat__judge_of(env);
    view v = look(j, base, num_records, voffset, soffset, bytes, "reads");

    memset(to, 0, bytes);
    if (v.inside != 0)
        memcpy(to, (const void *)(uintptr_t)v.source, v.inside);
    count_one(j);
}

void groat__judge_async_copy(struct groat_cpu_env *env, unsigned long long base,
                             unsigned num_records, unsigned shared_chunk,
                             unsigned lane, unsigned voffset, unsigned soffset,
                             unsigned bytes)
{
    groat__judge *j = groat__judge_of(env);
    uint32_t shared = shared_chunk + lane * bytes;
    view v;

    if (groat__judge_is_amd(j))
        groat__judge_uniform(j, shared_chunk, "M0");
    check_copy(j, shared, lane, bytes);
    v = look(j, base, num_records, voffset, soffset, bytes, "copies");
    for (uint32_t i = 0; i < bytes; i++) {
        check_write(j, shared + i, "copies into");
        mark(j, shared + i, GROAT__IN_FLIGHT);
    }
    *new_flight(j) =
        (groat__flown){v.source, shared, groat__judge_fiber(j)->group,
                       (uint16_t)bytes, (uint16_t)v.inside};
    groat__judge_note(j, GROAT_ACCESS_COPY, shared, bytes, v.source,
                      v.inside != 0);
}

static void land(groat__judge *j, const groat__flown *copy)
{
    if (copy->bytes == 0)
        return;
    if (copy->inside != 0)
        memcpy(j->shared + copy->shared, (const void *)(uintptr_t)copy->source,
               copy->inside);
    memset(j->shared + copy->shared + copy->inside, 0,
           (size_t)(copy->bytes - copy->inside));
    for (uint32_t i = 0; i < copy->bytes; i++)
        mark(j, copy->shared + i, GROAT__WRITTEN);
}

void groat__judge_async_commit(struct groat_cpu_env *env)
{
    groat__judge *j = groat__judge_of(env);

    groat__judge_fiber(j)->group++;
}

void groat__judge_async_wait(struct groat_cpu_env *env, unsigned ops,
                             unsigned groups)
{
    groat__judge *j = groat__judge_of(env);
    groat__fiber *f = groat__judge_fiber(j);
    size_t landed = 0;

    if (groat__judge_is_amd(j) && ops > VMCNT_MAX)
        groat__judge_convict(j, "waits for vmcnt(%u); the counter holds %d",
                             ops, VMCNT_MAX);
    while (landed < f->flight_count) {
        bool stays = groat__judge_is_amd(j)
                         ? f->flight_count - landed <= ops
                         : f->flights[landed].group + groups >= f->group;

        if (stays)
            break;
        land(j, &f->flights[landed++]);
    }
    f->flight_count -= landed;
    if (landed > 0 && f->flight_count > 0)
        memmove(f->flights, f->flights + landed,
                f->flight_count * sizeof(*f->flights));
    groat__judge_meet(j, GROAT__MEETING);
}

void groat__judge_check_end(groat__judge *j)
{
    const groat__fiber *f = groat__judge_fiber(j);

    for (size_t i = 0; i < f->flight_count; i++)
        if (f->flights[i].bytes != 0)
            groat__judge_convict(
                j, "ends with a copy into byte %u of shared memory in flight",
                f->flights[i].shared);
}
