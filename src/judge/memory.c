/* SPDX-License-Identifier: Apache-2.0
 *
 * memory.c models shared and device memory.  Every byte of shared memory has a
 * shadow that records its writer and its readers.  A copy in flight lands when
 * a wait of the thread that issued it forces it to, never earlier.  Scheduling
 * is in schedule.c, the order of accesses in order.c, NVIDIA's copy engine in
 * tma.c.
 *
 * Invariant: a store, an atomic or a pointer access is checked against the
 * shadows of its bytes before these change; a copy is when it is issued.
 *
 * Lanes of an AMD wave meet at every wait and fence, so what one lane wrote
 * before it, the others see after it: the wave is one agent.
 */
#include "judge/memory.h"

#include <string.h>

#include "judge/attempts.h"
#include "judge/copies.h"
#include "judge/device.h"
#include "judge/fiber.h"
#include "judge/held.h"
#include "judge/meet.h"
#include "judge/order.h"
#include "judge/trace.h"
#include "judge/uniform.h"
#include "judge/unwritten.h"

enum {
    DWORD = 4,
    VMCNT_MAX = 63,
    NULL_BYTES = 64 << 10,
    FAR_BYTES = 1 << 30 /* from every buffer: no index, but a wild pointer */
};

/* ---- shared memory ----------------------------------------------------- */

void groat__judge_check_inside(groat__judge *j, uint32_t address,
                               uint64_t bytes, const char *verb)
{
    if (address > j->launch->shared_bytes ||
        bytes > j->launch->shared_bytes - address)
        groat__judge_report(
            j,
            "%s %llu bytes at byte %u of shared memory; the block has %u "
            "bytes",
            verb, (unsigned long long)bytes, address, j->launch->shared_bytes);
}

static void check_shared(groat__judge *j, uint32_t address, uint32_t bytes,
                         const char *verb)
{
    groat__judge_follow(j, address);
    groat__judge_check_inside(j, address, bytes, verb);
    if (bytes != 0 && address % bytes != 0)
        groat__judge_report(
            j, "%s %u bytes at byte %u of shared memory, misaligned", verb,
            bytes, address);
}

/* Reports an access to a byte that a copy of the engine fills or has filled. */
static void report_copy(groat__judge *j, const groat__judge_block *block,
                        uint32_t at, const char *verb)
{
    const groat__shadow *s = &block->shadows[at];
    const groat__mbarrier *bar =
        &j->barriers[s->writer - groat__judge_agent_barrier(j, 0)];
    char copy[GROAT__JUDGE_SAID];

    groat__judge_add_place(j, s->site, "the copy");
    groat__judge_name_copy(j, block, at, copy);
    if (s->state == GROAT__IN_FLIGHT)
        groat__judge_report(j,
                            "%s byte %u of shared memory while %s into it is "
                            "in flight: phase %u (parity %u) of the mbarrier "
                            "at byte %u has not completed",
                            verb, at, copy, s->write_clock - 1,
                            (s->write_clock - 1) % 2, bar->address);
    groat__judge_report(j,
                        "%s byte %u of shared memory, which %s filled: this "
                        "thread did not wait for phase %u (parity %u) of the "
                        "mbarrier at byte %u",
                        verb, at, copy, s->write_clock - 1,
                        (s->write_clock - 1) % 2, bar->address);
}

/* Reports an access to a byte of an mbarrier, or to one that the engine has in
 * flight. */
static void check_state(groat__judge *j, const groat__judge_block *block,
                        uint32_t at, const char *verb)
{
    const groat__shadow *s = &block->shadows[at];

    if (s->state == GROAT__BARRIER)
        groat__judge_report(
            j,
            "%s byte %u of shared memory, which is part of the mbarrier at "
            "byte %u",
            verb, at, j->barriers[s->readers].address);
    if (s->state != GROAT__IN_FLIGHT)
        return;
    if (groat__judge_is_barrier(j, s->writer))
        report_copy(j, block, at, verb);
}

static void blame_read(groat__judge *j, const groat__shadow *s, uint32_t at)
{
    groat__judge_add_place(j, s->site, "the write");
    groat__judge_blame(
        j, j->current,
        "reads byte %u of shared memory, which thread %zu wrote%s: a barrier "
        "is missing",
        at, groat__judge_thread_of(j, s->writer),
        j->clocks_on ? " and nothing made visible here"
                     : " since the last barrier");
}

static void check_read(groat__judge *j, groat__judge_block *block, uint32_t at)
{
    const groat__shadow *s = &block->shadows[at];

    check_state(j, block, at, "reads");
    if (s->state == GROAT__IN_FLIGHT) {
        groat__judge_add_place(j, s->site, "the copy");
        groat__judge_report(
            j,
            "reads byte %u of shared memory while a copy of thread %zu into "
            "it is in flight: a wait is missing or counts too much%s",
            at, groat__judge_thread_of(j, s->writer),
            s->writer == j->current
                ? ""
                : ", or a barrier behind that thread's wait is missing");
    }
    if (s->state == GROAT__UNWRITTEN) {
        groat__judge_unwritten_note(
            j, j->current, block, at,
            "reads byte %u of shared memory, which nobody has written yet: it "
            "is never written, or a barrier or a wait before this read is "
            "missing",
            at);
        return;
    }
    if (groat__judge_knows(j, s->writer, s->write_clock))
        return;
    if (groat__judge_is_barrier(j, s->writer))
        report_copy(j, block, at, "reads");
    blame_read(j, s, at);
    groat__judge_leave(j);
}

/* Checks that those that read the byte, or, for an atomic operation, did
 * anything else, came before. */
static void check_readers(groat__judge *j, const groat__judge_block *block,
                          uint32_t at, const char *verb, bool atomic)
{
    uint32_t list = block->shadows[at].readers;

    for (; list != 0; list = j->readers.items[list].before) {
        const groat__reader *r = &j->readers.items[list];

        if (groat__judge_knows(j, r->agent, r->clock) ||
            groat__judge_is_attempt(j, r->site))
            continue;
        groat__judge_unwritten_report(j, block, at);
        groat__judge_add_place(j, r->site,
                               atomic ? "the other access" : "the read");
        if (r->agent >= groat__judge_agent_stores(j, 0))
            groat__judge_report(
                j,
                "%s byte %u of shared memory, which a copy of thread %zu to "
                "device memory still reads: its wait, or a release behind it, "
                "is missing",
                verb, at,
                groat__judge_thread_of(j, r->agent -
                                              groat__judge_agent_stores(j, 0)));
        if (!groat__judge_is_thread(j, r->agent)) {
            size_t wave =
                (r->agent - groat__judge_agent_wgmma(j, 0)) % j->block_waves;

            groat__judge_report(
                j,
                "%s byte %u of shared memory, which a wgmma of waves %zu to "
                "%zu still reads: one's %s, or a release behind it, is missing",
                verb, at, wave, wave + GROAT__JUDGE_WARPGROUP - 1,
                groat__judge_call(j, "wgmma_wait"));
        }
        if (atomic)
            groat__judge_report(
                j,
                "%s byte %u of shared memory by an atomic operation, and "
                "thread %zu accesses it without one: a barrier is missing",
                verb, at, groat__judge_thread_of(j, r->agent));
        if (j->clocks_on)
            groat__judge_report(
                j,
                "%s byte %u of shared memory, which thread %zu read and has "
                "not released: %s",
                verb, at, groat__judge_thread_of(j, r->agent),
                j->barrier_count > 0
                    ? "an arrival or a wait is missing, or the arrival came "
                      "before the read"
                    : "a barrier of the warp or the block is missing");
        groat__judge_report(
            j,
            "%s byte %u of shared memory, which another wave or thread read "
            "since the last barrier: a barrier is missing",
            verb, at);
    }
}

/* Whether a byte was written by an access that the current thread does not
 * know of. */
static bool is_raced(const groat__judge *j, const groat__shadow *s)
{
    return s->state == GROAT__WRITTEN &&
           !groat__judge_knows(j, s->writer, s->write_clock);
}

static void blame_race(groat__judge *j, const groat__shadow *s, uint32_t at,
                       const char *verb)
{
    groat__judge_add_place(j, s->site, "the other write");
    groat__judge_blame(j, j->current,
                       "%s byte %u of shared memory, which thread %zu "
                       "wrote%s: a barrier is missing, or two threads use one "
                       "place",
                       verb, at, groat__judge_thread_of(j, s->writer),
                       j->clocks_on ? " and nothing made visible here"
                                    : " since the last barrier");
}

void groat__judge_check_write(groat__judge *j, groat__judge_block *block,
                              uint32_t at, const char *verb)
{
    const groat__shadow *s = &block->shadows[at];

    check_state(j, block, at, verb);
    if (s->state == GROAT__IN_FLIGHT) {
        groat__judge_add_place(j, s->site, "the copy");
        groat__judge_report(
            j,
            "%s byte %u of shared memory while a copy of thread %zu into it "
            "is in flight",
            verb, at, groat__judge_thread_of(j, s->writer));
    }
    if (is_raced(j, s)) {
        if (groat__judge_is_barrier(j, s->writer))
            report_copy(j, block, at, verb);
        blame_race(j, s, at, verb);
        groat__judge_leave(j);
    }
    check_readers(j, block, at, verb, false);
}

/* Holds a store that races with another one, if both are plain ones of threads.
 * Returns false if it is to be checked at once. */
static bool hold_store(groat__judge *j, uint32_t address, uint32_t bytes,
                       uint32_t at)
{
    const groat__shadow *s = &j->block->shadows[at];

    if (!is_raced(j, s) || s->atomic || !groat__judge_is_thread(j, s->writer))
        return false;
    check_readers(j, j->block, at, "writes", false);
    if (j->held.bytes != 0 || j->failed)
        return true;
    blame_race(j, s, at, "writes");
    groat__judge_hold(j, j->block->shared + address, bytes, false);
    return true;
}

/* Holds a load that races with an atomic operation.  Returns false if it is to
 * be checked at once. */
static bool hold_load(groat__judge *j, uint32_t address, uint32_t bytes,
                      uint32_t at)
{
    const groat__shadow *s = &j->block->shadows[at];

    if (!s->atomic || !is_raced(j, s))
        return false;
    if (groat__judge_is_attempt(j, groat__judge_fiber(j)->site) ||
        j->held.bytes != 0 || j->failed)
        return true;
    blame_read(j, s, at);
    groat__judge_hold_load(j, j->block->shared + address, bytes);
    return true;
}

static void mark(groat__judge *j, uint32_t at, groat__byte_state state)
{
    j->block->shadows[at] = (groat__shadow){(uint32_t)j->current,
                                            groat__judge_now(j, j->current),
                                            0,
                                            groat__judge_fiber(j)->site,
                                            (uint8_t)state,
                                            false};
}

/* Whether all threads know of an access: it came before a block barrier. */
static bool is_past(const groat__judge *j, uint32_t clock)
{
    return !j->clocks_on && clock < j->block->epoch;
}

/* Marks a byte as written by an atomic operation.  Its readers stay, and so
 * does who wrote it otherwise, as one of them: other threads' operations are
 * not checked against this one. */
static void mark_atomic(groat__judge *j, uint32_t at)
{
    const groat__shadow s = j->block->shadows[at];
    uint32_t readers = s.readers;

    /* The last one to read is the first of the list. */
    if (readers != 0 && is_past(j, j->readers.items[readers].clock))
        readers = 0;
    if (s.state == GROAT__WRITTEN && !s.atomic &&
        groat__judge_is_thread(j, s.writer) && !is_past(j, s.write_clock))
        readers = groat__judge_add_reader(j, readers, s.writer, s.write_clock,
                                          s.site);
    mark(j, at, GROAT__WRITTEN);
    j->block->shadows[at].atomic = true;
    j->block->shadows[at].readers = readers;
}

/* Reads shared memory of a block of the cluster with all checks. */
static void read_block(groat__judge *j, groat__judge_block *block,
                       uint32_t address, void *to, uint32_t bytes)
{
    uint32_t agent = groat__judge_agent(j, j->current);
    uint32_t now = groat__judge_now(j, j->current);
    int32_t site = groat__judge_fiber(j)->site;

    check_shared(j, address, bytes, "reads");
    for (uint32_t i = 0; i < bytes; i++) {
        groat__shadow *s = &block->shadows[address + i];

        check_read(j, block, address + i);
        s->readers = groat__judge_add_reader(j, s->readers, agent, now, site);
    }
    memcpy(to, block->shared + address, bytes);
}

void groat__judge_read(groat__judge *j, uint32_t address, void *to,
                       uint32_t bytes, groat_access access)
{
    read_block(j, j->block, address, to, bytes);
    groat__judge_note(j, access, address, bytes, 0, false);
}

/* Notes an access of any size as instructions could make it: of 1 to 16 bytes,
 * each at a multiple of its size. */
static void note_pieces(groat__judge *j, groat_access access, uint32_t address,
                        uint32_t bytes)
{
    uint32_t piece;

    for (; bytes > 0; address += piece, bytes -= piece) {
        piece = 16;
        while (piece > bytes || address % piece != 0)
            piece /= 2;
        groat__judge_note(j, access, address, piece, 0, false);
    }
}

void groat__judge_touch_shared(groat__judge *j, uint32_t address,
                               uint32_t bytes, unsigned kind)
{
    uint32_t agent = groat__judge_agent(j, j->current);
    uint32_t now = groat__judge_now(j, j->current);
    int32_t site = groat__judge_fiber(j)->site;

    /* The compiler's instrumentation checks the alignment of pointers, and a
     * range has none. */
    if (kind == GROAT_CPU_ATOMIC)
        check_shared(j, address, bytes, "writes");
    groat__judge_follow(j, address);
    groat__judge_check_inside(j, address, bytes,
                              kind == GROAT_CPU_READ ? "reads" : "writes");
    if (kind == GROAT_CPU_ATOMIC)
        groat__judge_attempt_ends(j, address);
    else if (kind == GROAT_CPU_READ)
        groat__judge_attempt(j, address);
    for (uint32_t i = address; i < address + bytes; i++) {
        groat__shadow *s = &j->block->shadows[i];
        bool atomic = kind == GROAT_CPU_ATOMIC && s->atomic;
        bool held = kind == GROAT_CPU_READ && hold_load(j, address, bytes, i);

        if (kind != GROAT_CPU_WRITE && !atomic && !held)
            check_read(j, j->block, i);
        if (kind == GROAT_CPU_READ)
            s->readers =
                groat__judge_add_reader(j, s->readers, agent, now, site);
        else if (atomic)
            check_readers(j, j->block, i, "writes", true);
        else if (kind == GROAT_CPU_ATOMIC || !hold_store(j, address, bytes, i))
            groat__judge_check_write(j, j->block, i, "writes");
        if (kind == GROAT_CPU_ATOMIC)
            mark_atomic(j, i);
        else if (kind == GROAT_CPU_WRITE)
            mark(j, i, GROAT__WRITTEN);
    }
    note_pieces(j,
                kind == GROAT_CPU_READ ? GROAT_ACCESS_READ : GROAT_ACCESS_WRITE,
                address, bytes);
}

void groat__judge_out_of_bounds(struct groat_cpu_env *env, const char *array,
                                long long index, const void *from)
{
    groat__judge_report(groat__judge_at(env, from),
                        "uses element %lld of an array %s, outside its bounds",
                        index, array);
}

void groat__judge_shared_load(struct groat_cpu_env *env, unsigned address,
                              void *to, unsigned bytes)
{
    groat__judge_read(groat__judge_enter(env), address, to, bytes,
                      GROAT_ACCESS_READ);
}

void groat__judge_cluster_load(struct groat_cpu_env *env, unsigned address,
                               unsigned rank, void *to, unsigned bytes)
{
    groat__judge *j = groat__judge_enter(env);

    if (rank >= j->block_count)
        groat__judge_report(
            j, "reads shared memory of block %u of its cluster of %zu", rank,
            j->block_count);
    if (j->blocks[rank].ended == j->threads)
        groat__judge_report(
            j,
            "reads shared memory of block %u of its cluster, which has ended: "
            "cluster_barrier is missing",
            rank);
    groat__judge_clocks_on(j);
    read_block(j, &j->blocks[rank], address, to, bytes);
}

void groat__judge_shared_store(struct groat_cpu_env *env, unsigned address,
                               const void *from, unsigned bytes)
{
    groat__judge *j = groat__judge_enter(env);

    check_shared(j, address, bytes, "writes");
    for (uint32_t i = 0; i < bytes; i++) {
        groat__judge_check_write(j, j->block, address + i, "writes");
        mark(j, address + i, GROAT__WRITTEN);
    }
    memcpy(j->block->shared + address, from, bytes);
    groat__judge_note(j, GROAT_ACCESS_WRITE, address, bytes, 0, false);
    groat__judge_fiber(j)->unfenced = true;
}

/* ---- device memory ----------------------------------------------------- */

/* Bytes between the address and the buffer; 0 inside and right after it. */
static uint64_t distance(const groat__judge_range *r, uint64_t address)
{
    if (address < r->address)
        return r->address - address;
    return address - r->address > r->bytes ? address - r->address - r->bytes
                                           : 0;
}

void groat__judge_check_device(groat__judge *j, uint64_t address,
                               uint64_t bytes, const char *verb)
{
    const groat__judge_range *near = NULL;
    bool before;

    groat__judge_follow(j, address);
    for (size_t i = 0; i < j->launch->range_count; i++) {
        const groat__judge_range *r = &j->launch->ranges[i];

        if (address >= r->address && address - r->address <= r->bytes &&
            bytes <= r->bytes - (address - r->address))
            return;
        if (near == NULL || distance(r, address) < distance(near, address))
            near = r;
    }
    if (near != NULL && distance(near, address) > FAR_BYTES)
        groat__judge_report(
            j, "%s %llu bytes at address 0x%llx, %s", verb,
            (unsigned long long)bytes, (unsigned long long)address,
            address < NULL_BYTES
                ? "a null pointer or an index of one"
                : "far from every buffer: a wild pointer, or one to what "
                  "other threads or the host have");
    if (near == NULL)
        groat__judge_report(
            j, "%s %llu bytes at device address 0x%llx; there is no buffer",
            verb, (unsigned long long)bytes, (unsigned long long)address);
    before = address < near->address;
    groat__judge_report(
        j,
        "%s %llu bytes at device address 0x%llx: %s%llu of a buffer of %zu "
        "bytes%s",
        verb, (unsigned long long)bytes, (unsigned long long)address,
        before ? "byte -" : "byte ",
        (unsigned long long)(before ? near->address - address
                                    : address - near->address),
        near->bytes,
        !before && address - near->address < near->bytes
            ? ", whose end it runs past"
            : "");
}

void groat__judge_check_alignment(groat__judge *j, uint64_t address,
                                  uint32_t bytes, const char *verb)
{
    uint32_t unit = groat__judge_is_amd(j) && bytes > 4 ? 4 : bytes;

    if (address % unit != 0)
        groat__judge_report(
            j, "%s %u bytes at device address 0x%llx, no multiple of %u", verb,
            bytes, (unsigned long long)address, unit);
}

static groat__flown *new_flight(groat__judge *j)
{
    groat__fiber *f = groat__judge_fiber(j);

    f->flights = groat__judge_grow(j, f->flights, f->flight_count,
                                   &f->flight_cap, sizeof(*f->flights));
    return &f->flights[f->flight_count++];
}

/* On AMD, loads and stores of device memory count in vmcnt, as copies do.  The
 * compiler waits for a loaded value where it is used; the judge cannot see that
 * point, so the load counts until the kernel itself waits. */
static void count_one(groat__judge *j)
{
    if (groat__judge_is_amd(j))
        *new_flight(j) = (groat__flown){0};
}

void groat__judge_global_load(struct groat_cpu_env *env,
                              unsigned long long address, void *to,
                              unsigned bytes)
{
    groat__judge *j = groat__judge_enter(env);

    groat__judge_check_device(j, address, bytes, "reads");
    groat__judge_check_alignment(j, address, bytes, "reads");
    groat__judge_device_load(j, address, bytes);
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    groat__judge_note(j, GROAT_ACCESS_LOAD, 0, bytes, address, true);
    count_one(j);
}

void groat__judge_write_device(groat__judge *j, uint64_t address,
                               const void *from, uint32_t bytes)
{
    groat__judge_unwritten_keep(j, address, bytes);
    groat__judge_device_keep(j, address, bytes);
    groat__judge_device_store(j, address, bytes,
                              (const void *)(uintptr_t)address, from);
    memcpy((void *)(uintptr_t)address, from, bytes);
}

void groat__judge_global_store(struct groat_cpu_env *env,
                               unsigned long long address, const void *from,
                               unsigned bytes)
{
    groat__judge *j = groat__judge_enter(env);

    groat__judge_check_device(j, address, bytes, "writes");
    groat__judge_check_alignment(j, address, bytes, "writes");
    groat__judge_write_device(j, address, from, bytes);
    groat__judge_note(j, GROAT_ACCESS_STORE, 0, bytes, address, true);
    count_one(j);
}

/* ---- asynchronous copies ----------------------------------------------- */

static void check_copy(groat__judge *j, uint32_t shared, uint32_t lane,
                       uint32_t bytes)
{
    const groat__arch *arch = j->launch->arch;
    size_t wave = (size_t)arch->wave_lanes;
    size_t thread = groat__judge_thread_of(j, j->current);

    if (bytes != 4 && bytes != 16 && (bytes != 8 || groat__judge_is_amd(j)))
        groat__judge_report(j, "copies %u bytes per lane; %s are possible",
                            bytes,
                            groat__judge_is_amd(j) ? "4 or 16" : "4, 8 or 16");
    if (groat__judge_is_amd(j) && bytes > (uint32_t)arch->lds_dma_bytes)
        groat__judge_report(j, "copies %u bytes per lane; %s copies %d at most",
                            bytes, arch->name, arch->lds_dma_bytes);
    if (!groat__judge_is_amd(j) && !arch->cp_async)
        groat__judge_report(j, "copies asynchronously; %s cannot", arch->name);
    /* On NVIDIA, lane only selects the destination: a loader may number the
     * lanes of two warps as one wave of 64. */
    if (lane % wave != thread % wave || lane >= 64)
        groat__judge_report(j, "calls itself lane %u; it is lane %zu of %zu",
                            lane, thread % wave, wave);
    check_shared(j, shared, bytes, "copies");
}

/* One lane's access to a buffer of device memory. */
typedef struct view {
    uint64_t source;
    uint32_t inside; /* bytes before num_records, whole dwords */
} view;

static view look(groat__judge *j, uint64_t base, uint32_t num_records,
                 uint32_t voffset, uint32_t soffset, uint32_t bytes,
                 uint32_t grain, const char *verb)
{
    uint64_t offset = (uint64_t)voffset + soffset;
    uint64_t left = offset < num_records ? num_records - offset : 0;
    uint32_t inside = (uint32_t)(left < bytes ? left : bytes) / grain * grain;

    if (groat__judge_is_amd(j)) {
        groat__judge_uniform(j, soffset, "soffset");
        groat__judge_uniform(j, base, "a buffer at");
        groat__judge_uniform(j, num_records, "num_records");
    }
    /* Archs differ in how they add 32-bit offsets that overflow. */
    if (offset > UINT32_MAX)
        groat__judge_report(j, "%s from voffset %u + soffset %u, past 32 bits",
                            verb, voffset, soffset);
    groat__judge_check_alignment(j, inside != 0 ? base + offset : 0, bytes,
                                 verb);
    if (inside != 0 && !groat__judge_is_in_image(j->launch, base + offset))
        groat__judge_check_device(j, base + offset, inside, verb);
    if (inside != 0)
        groat__judge_device_load(j, base + offset, inside);
    return (view){base + offset, inside};
}

void groat__judge_buffer_load(struct groat_cpu_env *env,
                              unsigned long long base, unsigned num_records,
                              unsigned voffset, unsigned soffset, void *to,
                              unsigned bytes)
{
    groat__judge *j = groat__judge_enter(env);
    view v =
        look(j, base, num_records, voffset, soffset, bytes, DWORD, "reads");

    memset(to, 0, bytes);
    if (v.inside != 0) {
        memcpy(to, (const void *)(uintptr_t)v.source, v.inside);
        groat__judge_note(j, GROAT_ACCESS_LOAD, 0, v.inside, v.source, true);
    }
    count_one(j);
}

void groat__judge_async_copy(struct groat_cpu_env *env, unsigned long long base,
                             unsigned num_records, unsigned shared_chunk,
                             unsigned lane, unsigned voffset, unsigned soffset,
                             unsigned bytes)
{
    groat__judge *j = groat__judge_enter(env);
    uint32_t grain = (bytes & GROAT_CPU_EXACT) != 0 ? 1 : DWORD;
    uint32_t shared;
    view v;

    bytes &= ~(unsigned)GROAT_CPU_EXACT;
    shared = shared_chunk + lane * bytes;
    if (groat__judge_is_amd(j))
        groat__judge_uniform(j, shared_chunk, "M0");
    check_copy(j, shared, lane, bytes);
    v = look(j, base, num_records, voffset, soffset, bytes, grain, "copies");
    for (uint32_t i = 0; i < bytes; i++) {
        groat__judge_check_write(j, j->block, shared + i, "copies into");
        mark(j, shared + i, GROAT__IN_FLIGHT);
    }
    *new_flight(j) = (groat__flown){v.source,
                                    shared,
                                    groat__judge_fiber(j)->group,
                                    (uint16_t)bytes,
                                    (uint16_t)v.inside,
                                    groat__judge_fiber(j)->site};
    groat__judge_note(j, GROAT_ACCESS_COPY, shared, bytes, v.source,
                      v.inside != 0);
}

static void land(groat__judge *j, const groat__flown *copy)
{
    int32_t site = groat__judge_fiber(j)->site;

    if (copy->bytes == 0)
        return;
    /* It may read its source as late as now. */
    groat__judge_fiber(j)->site = copy->site;
    groat__judge_device_load(j, copy->source, copy->inside);
    groat__judge_fiber(j)->site = site;
    if (copy->inside != 0)
        memcpy(j->block->shared + copy->shared,
               (const void *)(uintptr_t)copy->source, copy->inside);
    memset(j->block->shared + copy->shared + copy->inside, 0,
           (size_t)(copy->bytes - copy->inside));
    for (uint32_t i = 0; i < copy->bytes; i++)
        mark(j, copy->shared + i, GROAT__WRITTEN);
}

void groat__judge_async_commit(struct groat_cpu_env *env)
{
    groat__judge *j = groat__judge_enter(env);

    groat__judge_fiber(j)->group++;
}

void groat__judge_async_wait(struct groat_cpu_env *env, unsigned ops,
                             unsigned groups)
{
    groat__judge *j = groat__judge_enter(env);
    groat__fiber *f = groat__judge_fiber(j);
    size_t landed = 0;
    unsigned copies = 0; /* of these, whose counter has loads, too */

    if (groat__judge_is_amd(j) && ops > VMCNT_MAX)
        groat__judge_report(j, "waits for vmcnt(%u); the counter holds %d", ops,
                            VMCNT_MAX);
    while (landed < f->flight_count) {
        bool stays = groat__judge_is_amd(j)
                         ? f->flight_count - landed <= ops
                         : f->flights[landed].group + groups >= f->group;

        if (stays)
            break;
        copies += f->flights[landed].bytes != 0;
        land(j, &f->flights[landed++]);
    }
    f->flight_count -= landed;
    groat__judge_note_wait(j, GROAT_ACCESS_LAND, GROAT__JUDGE_NO_MBARRIER,
                           copies);
    if (landed > 0 && f->flight_count > 0)
        memmove(f->flights, f->flights + landed,
                f->flight_count * sizeof(*f->flights));
    groat__judge_meet(j, GROAT__MEETING);
}

void groat__judge_memory_check_end(groat__judge *j)
{
    const groat__fiber *f = groat__judge_fiber(j);

    for (size_t i = 0; i < f->flight_count; i++)
        if (f->flights[i].bytes != 0) {
            groat__judge_add_place(j, f->flights[i].site, "the copy");
            groat__judge_report(
                j,
                "ends with a copy into byte %u of shared memory in flight: a "
                "wait for it is missing",
                f->flights[i].shared);
        }
}
