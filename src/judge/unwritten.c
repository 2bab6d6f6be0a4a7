/* SPDX-License-Identifier: Apache-2.0
 *
 * unwritten.c decides whether reads of unwritten shared memory matter, by
 * running the cluster again.
 *
 * Shared memory starts with random bytes.  The cluster runs again with other
 * values in place of the unwritten bytes that were read: some that are special,
 * then those that the kernel compares such bytes with.  The schedule stays the
 * same.  The judge does not see registers, but a value that reaches a branch or
 * an address changes the sequence of hooks and addresses, of which path is a
 * hash, and one that reaches an output changes what the cluster leaves in
 * device memory.  Runs that end with a finding are compared in the same way.
 * If a run differs, the places that read such bytes are tried one by one: the
 * first that makes a difference alone is the finding, or the first of all if a
 * run does not end and leaves no time.
 */
#include "judge/unwritten.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "judge/fiber.h"
#include "judge/partners.h"

enum {
    ALL = GROAT__JUDGE_UNWRITTEN + 1, /* tries all places at once */
    KEPT_MAX = 1 << 21 /* writes; a cluster with more is not run again */
};

/* What unwritten words hold in turn: no bit, a NaN of every format, the flags
 * of 8 and of 32 bits that are set, and numbers that are large in every format
 * of floats, above and below 0: a maximum passes over a NaN. */
static const uint32_t values[] = {0, 0xffffffff, 0x01010101,
                                  1, 0x7b7b7b7b, 0xfbfbfbfb};

/* ---- what was read ----------------------------------------------------- */

/* Returns the place's number, from 1; when the table is full, new places share
 * the last number. */
static size_t place_of(groat__judge *j, int32_t site)
{
    groat__judge_unwritten *u = &j->unwritten;

    for (size_t i = 0; i < u->count; i++)
        if (u->places[i].site == site)
            return i + 1;
    return u->count < GROAT__JUDGE_UNWRITTEN ? u->count + 1 : u->count;
}

void groat__judge_unwritten_note(groat__judge *j, size_t fiber,
                                 groat__judge_block *block, uint32_t at,
                                 const char *format, ...)
{
    groat__judge_unwritten *u = &j->unwritten;
    size_t number = place_of(j, j->fibers[fiber].site);
    char text[GROAT__JUDGE_SAID * 2];
    va_list args;

    if (j->env.again)
        return;
    if (block->unwritten[at] == 0)
        block->unwritten[at] = (uint8_t)number;
    if (number <= u->count)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    groat__judge_blame(j, fiber, "%s", text);
    u->places[u->count].site = j->fibers[fiber].site;
    u->places[u->count++].finding = j->finding;
    j->finding = (groat__judge_finding){0};
    j->failed = false;
}

void groat__judge_unwritten_report(groat__judge *j,
                                   const groat__judge_block *block, uint32_t at)
{
    size_t number = block->unwritten[at];

    if (number == 0 || block->shadows[at].state != GROAT__UNWRITTEN)
        return;
    j->finding = j->unwritten.places[number - 1].finding;
    groat__judge_add_place(j, groat__judge_fiber(j)->site,
                           "the write, too late");
    j->failed = true;
    j->unwritten.count = 0; /* there is nothing to settle */
    groat__judge_leave(j);
}

bool groat__judge_unwritten_blame(groat__judge *j, size_t fiber)
{
    if (j->unwritten.count == 0 || j->env.again)
        return false;
    j->finding = j->unwritten.places[0].finding;
    groat__judge_add_place(j, j->fibers[fiber].site,
                           "thread %zu waits for ever behind it",
                           groat__judge_thread_of(j, fiber));
    j->failed = true;
    j->unwritten.count = 0;
    return true;
}

uint8_t groat__judge_unwritten_fill(const groat__judge *j,
                                    const groat__judge_block *block, size_t at,
                                    uint8_t random)
{
    const groat__judge_unwritten *u = &j->unwritten;

    if (u->tried == 0 || block->unwritten[at] == 0 ||
        (u->tried != ALL && u->tried != block->unwritten[at]))
        return random;
    return (uint8_t)(u->value >> 8 * (at % 8));
}

void groat__judge_unwritten_forget(groat__judge *j)
{
    if (j->unwritten.count > 0)
        for (size_t b = 0; b < j->block_count; b++)
            memset(j->blocks[b].unwritten, 0, j->launch->shared_bytes);
    j->unwritten.count = 0;
    j->unwritten.tried = 0;
    groat__judge_partners_forget(j);
    j->unwritten.log.count = 0;
}

/* ---- what was written -------------------------------------------------- */

void groat__judge_unwritten_keep(groat__judge *j, uint64_t address,
                                 uint64_t bytes)
{
    groat__judge_log *log = &j->unwritten.log;
    uint64_t size = GROAT__JUDGE_CHUNK;

    if (j->launch->shared_bytes == 0)
        return;
    for (uint64_t at = 0; at < bytes && log->count < KEPT_MAX; at += size) {
        groat__judge_kept *kept;

        log->items = groat__judge_grow(j, log->items, log->count, &log->cap,
                                       sizeof(*log->items));
        kept = &log->items[log->count++];
        kept->address = address + at;
        kept->bytes = (uint32_t)(bytes - at < size ? bytes - at : size);
        memcpy(kept->held, (const void *)(uintptr_t)kept->address, kept->bytes);
    }
}

/* Undoes the cluster's writes to device memory; the log then holds what they
 * wrote. */
static void take_back(groat__judge_log *log)
{
    for (size_t i = log->count; i-- > 0;) {
        groat__judge_kept *kept = &log->items[i];
        void *at = (void *)(uintptr_t)kept->address;
        uint8_t left[GROAT__JUDGE_CHUNK];

        memcpy(left, at, kept->bytes);
        memcpy(at, kept->held, kept->bytes);
        memcpy(kept->held, left, kept->bytes);
    }
}

/* Repeats the writes that take_back() undid. */
static void put_back(const groat__judge_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        memcpy((void *)(uintptr_t)log->items[i].address, log->items[i].held,
               log->items[i].bytes);
}

/* Compares two logs after take_back(). */
static bool are_equal(const groat__judge_log *a, const groat__judge_log *b)
{
    bool equal = a->count == b->count;

    for (size_t i = 0; equal && i < a->count; i++)
        equal =
            a->items[i].address == b->items[i].address &&
            a->items[i].bytes == b->items[i].bytes &&
            memcmp(a->items[i].held, b->items[i].held, a->items[i].bytes) == 0;
    return equal;
}

/* ---- the trial --------------------------------------------------------- */

typedef struct trial {
    groat__judge *j;
    void (*run)(groat__judge *j, const unsigned corner[3], uint32_t *order);
    const unsigned *corner;
    uint32_t *order;
    uint64_t start_ns; /* of the last run */
    /* Of the first run, which the others are compared with: */
    uint64_t ns;
    groat__judge_log first;
    groat__judge_finding finding;
    bool failed;
    uint64_t path;
} trial;

/* Whether the run ended for a reason other than the bytes: time, host memory or
 * a finding of an earlier cluster. */
static bool is_over(const groat__judge *j)
{
    return j->failed && (j->late || j->finding.status != GROAT_JUDGED);
}

/* Whether a run that reached the launch's end of time took far longer than the
 * first did: the value decides a loop. */
static bool is_endless(const trial *t)
{
    enum { FAR = 4, LEAST_NS = 1000000000 };
    uint64_t ns = groat__now_ns() - t->start_ns;

    return t->j->late && t->j->env.again == GROAT_CPU_AGAIN && ns > LEAST_NS &&
           ns / FAR > t->ns;
}

/* Whether the cluster behaves differently with a value at a place.  Leaves
 * device memory as it was before the cluster. */
static bool differs(trial *t, size_t place, uint64_t value)
{
    groat__judge *j = t->j;

    j->unwritten.tried = place;
    j->unwritten.value = value;
    j->unwritten.log.count = 0;
    j->failed = false;
    j->finding = (groat__judge_finding){0};
    t->start_ns = groat__now_ns();
    t->run(j, t->corner, t->order);
    take_back(&j->unwritten.log);
    if (is_over(j))
        return is_endless(t);
    return j->failed != t->failed || j->path != t->path ||
           strcmp(j->finding.text, t->finding.text) != 0 ||
           !are_equal(&t->first, &j->unwritten.log);
}

/* Looks for what unwritten bytes, or numbers made of them, are compared with.
 */
static bool find_partners(trial *t)
{
    bool found = false;

    t->j->env.again = GROAT_CPU_AGAIN_COMPARING;
    for (int pass = 0;
         pass < GROAT__PARTNER_PASSES && !found && !(pass > 0 && is_over(t->j));
         pass++)
        found = differs(t, ALL, groat__judge_partner_pass(t->j, pass));
    t->j->env.again = GROAT_CPU_AGAIN;
    return found;
}

/* Whether it does with any; partners are looked for with all places at once. */
static bool matters(trial *t, size_t place)
{
    groat__judge_unwritten *u = &t->j->unwritten;
    bool found = false;

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        found = differs(t, place, groat__judge_repeat(values[i], 4));
        if (found || is_over(t->j))
            return found;
    }
    if (place == ALL)
        found = find_partners(t);
    for (size_t i = 0; !found && !is_over(t->j) && i < u->partner_count; i++)
        found = differs(t, place, u->partners[i]);
    return found;
}

/* Adds a place to a finding that is made. */
static void add_place(groat__judge *j, int32_t site, const char *what)
{
    j->failed = false;
    groat__judge_add_place(j, site, "%s", what);
    j->failed = true;
}

static void find_place(trial *t)
{
    groat__judge *j = t->j;
    size_t found = 0;

    if (!matters(t, ALL)) {
        if (j->late)
            add_place(j, j->unwritten.places[0].site,
                      "a read of what nobody has written, when other values "
                      "in it were tried");
        else if (!is_over(j)) {
            j->failed = t->failed;
            j->finding = t->finding;
        }
        return;
    }
    for (size_t i = 1; found == 0 && i <= j->unwritten.count; i++) {
        if (j->late || matters(t, i))
            found = i;
        else if (is_over(j))
            return;
    }
    j->finding = j->unwritten.places[found == 0 ? 0 : found - 1].finding;
    j->failed = true;
    if (j->late)
        add_place(j, groat__judge_fiber(j)->site,
                  "with other values in what nobody has written, a loop that "
                  "does not end");
}

void groat__judge_unwritten_settle(groat__judge *j,
                                   void (*run)(groat__judge *j,
                                               const unsigned corner[3],
                                               uint32_t *order),
                                   const unsigned corner[3], uint32_t *order)
{
    groat__judge_unwritten *u = &j->unwritten;
    trial t = {.j = j, .run = run, .corner = corner, .order = order};

    if (u->count > 0 && j->late)
        add_place(j, u->places[0].site, "a read of what nobody has written");
    if (u->count == 0 || is_over(j))
        return;
    if (u->log.count == KEPT_MAX) {
        j->finding = u->places[0].finding;
        j->failed = true;
        return;
    }
    t.first = u->log;
    t.finding = j->finding;
    t.failed = j->failed;
    t.path = j->path;
    t.ns = groat__now_ns() - j->start_ns;
    u->log = (groat__judge_log){0};
    j->env.again = GROAT_CPU_AGAIN;
    take_back(&t.first);
    find_place(&t);
    put_back(&t.first);
    j->env.again = GROAT_CPU_FIRST;
    free(u->log.items);
    u->log = t.first;
}

void groat__judge_unwritten_drop(groat__judge *j)
{
    free(j->unwritten.log.items);
    free(j->unwritten.compared);
    for (size_t b = 0; j->blocks != NULL && b < j->block_count; b++)
        free(j->blocks[b].unwritten);
}
