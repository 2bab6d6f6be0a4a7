/* SPDX-License-Identifier: Apache-2.0
 *
 * atomic.c executes atomic operations.  They order no other access.  Two
 * atomics may hit the same word; a plain access to it needs a barrier between.
 *
 * Blocks may communicate in device memory only through atomics: a global atomic
 * waits until all earlier clusters have ended, so that its result does not
 * depend on the number of host threads.
 */
#include "judge/atomic.h"

#include <string.h>

#include "judge/device.h"
#include "judge/fiber.h"
#include "judge/memory.h"
#include "judge/trace.h"
#include "judge/unwritten.h"

enum { WORD_BYTES = 4 };

static uint32_t add_floats(uint32_t a, uint32_t b)
{
    float x, y;

    memcpy(&x, &a, sizeof(x));
    memcpy(&y, &b, sizeof(y));
    x += y;
    memcpy(&a, &x, sizeof(a));
    return a;
}

static uint32_t apply(uint32_t old, unsigned op, uint32_t x, uint32_t expected)
{
    switch (op) {
    case GROAT_CPU_ATOMIC_ADD:
        return old + x;
    case GROAT_CPU_ATOMIC_MIN:
        return old < x ? old : x;
    case GROAT_CPU_ATOMIC_MAX:
        return old > x ? old : x;
    case GROAT_CPU_ATOMIC_MIN_SIGNED:
        return (int32_t)old < (int32_t)x ? old : x;
    case GROAT_CPU_ATOMIC_MAX_SIGNED:
        return (int32_t)old > (int32_t)x ? old : x;
    case GROAT_CPU_ATOMIC_CAS:
        return old == expected ? x : old;
    case GROAT_CPU_ATOMIC_ADD_FLOAT:
        return add_floats(old, x);
    default:
        return x;
    }
}

static uint32_t change(void *word, unsigned op, uint32_t x, uint32_t expected)
{
    uint32_t old;
    uint32_t made;

    memcpy(&old, word, sizeof(old));
    made = apply(old, op, x, expected);
    memcpy(word, &made, sizeof(made));
    return old;
}

unsigned groat__judge_shared_atomic(struct groat_cpu_env *env, unsigned address,
                                    unsigned op, unsigned x, unsigned expected)
{
    groat__judge *j = groat__judge_enter(env);

    groat__judge_touch_shared(j, address, WORD_BYTES, GROAT_CPU_ATOMIC);
    groat__judge_fiber(j)->unfenced = true;
    groat__judge_device_meet(j, false);
    return change(j->block->shared + address, op, x, expected);
}

unsigned groat__judge_global_atomic(struct groat_cpu_env *env,
                                    unsigned long long address, unsigned op,
                                    unsigned x, unsigned expected)
{
    groat__judge *j = groat__judge_enter(env);

    groat__judge_check_device(j, address, WORD_BYTES, "changes");
    groat__judge_check_alignment(j, address, WORD_BYTES, "changes");
    if (!groat__judge_grid_await(j->grid, j->number))
        groat__judge_abandon(j);
    groat__judge_unwritten_keep(j, address, WORD_BYTES);
    groat__judge_device_keep(j, address, WORD_BYTES);
    groat__judge_device_atomic(j, address, WORD_BYTES);
    groat__judge_note(j, GROAT_ACCESS_STORE, 0, WORD_BYTES, address, true);
    return change((void *)(uintptr_t)address, op, x, expected);
}
