/* SPDX-License-Identifier: Apache-2.0
 *
 * tally.h - a counter that many threads increment at once: one part for each
 * CPU, on cache lines of its own, so that cores do not contend.  It takes no
 * lock and makes no system call.
 */
#ifndef GROAT_CORE_TALLY_H
#define GROAT_CORE_TALLY_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

/* Two cache lines: processors fetch lines in pairs, and a part may begin in the
 * middle of one. */
enum { GROAT__TALLY_PARTS = 64, GROAT__TALLY_APART = 128 };

/* Starts as zeros. */
typedef struct groat__tally {
    struct {
        atomic_uint_fast64_t count;
        char apart[GROAT__TALLY_APART - sizeof(atomic_uint_fast64_t)];
    } part[GROAT__TALLY_PARTS];
} groat__tally;

/* The part of the CPU that runs the thread.  CPUs share parts if there are more
 * CPUs than parts, or if the CPU number is unknown. */
static inline atomic_uint_fast64_t *groat__tally_mine(groat__tally *tally)
{
    int cpu = sched_getcpu();

    return &tally->part[cpu < 0 ? 0 : (unsigned)cpu % GROAT__TALLY_PARTS].count;
}

static inline void groat__tally_add(atomic_uint_fast64_t *mine)
{
    (void)atomic_fetch_add_explicit(mine, 1, memory_order_relaxed);
}

static inline uint64_t groat__tally_sum(const groat__tally *tally)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < GROAT__TALLY_PARTS; i++)
        sum +=
            atomic_load_explicit(&tally->part[i].count, memory_order_relaxed);
    return sum;
}

#endif
