/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_JUDGE_JUDGE_H
#define GROAT_JUDGE_JUDGE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels-src/common/cpu_hooks.h"
#include "groat.h"
#include "spec/arch.h"

/* Device memory that a kernel may touch. */
typedef struct groat__judge_range {
    uint64_t address;
    size_t bytes;
} groat__judge_range;

/* Places in the kernel's code that a finding speaks of, as addresses behind the
 * calls there. */
enum { GROAT__JUDGE_PLACES = 6, GROAT__JUDGE_PLACE_WORDS = 64 };

typedef struct groat__judge_places {
    size_t count;
    struct groat__judge_place {
        char what[GROAT__JUDGE_PLACE_WORDS]; /* "here", "the write" */
        uintptr_t address;
    } at[GROAT__JUDGE_PLACES];
} groat__judge_places;

/* One launch to be executed and judged. */
typedef struct groat__judge_launch {
    const groat__arch *arch;
    const char *kernel; /* name in findings */
    void (*entry)(const void *args);
    unsigned (*bind)(struct groat_cpu_env *env);
    const void *args;
    unsigned grid[3];
    unsigned block[3];
    unsigned cluster[3]; /* blocks; the grid is a multiple of it */
    unsigned shared_bytes;
    size_t args_bytes;
    struct groat_cpu_plain plain; /* of a kernel that tells of its pointers */
    const groat__judge_range *ranges;
    size_t range_count;
    uint64_t seed;
    unsigned seconds;      /* that the launch may take; 0: no bound */
    unsigned jobs;         /* host threads at most; 0: 1 */
    size_t stack_bytes;    /* per thread */
    groat_trace_fn *trace; /* NULL: nobody listens */
    void *trace_user;
    groat_judge_progress_fn *progress; /* or NULL */
    void *progress_user;
    groat__judge_places *places; /* of the finding; NULL: nobody asks */
} groat__judge_launch;

/* Runs the whole grid, cluster after cluster, every thread a fiber, and stops
 * at the first broken rule:
 *   - shared or device memory accessed out of bounds or misaligned,
 *   - shared memory read that nobody wrote, where the value matters to what the
 *     kernel writes or where it goes; shared memory read while a copy into it
 * is in flight, or that another wave (thread on NVIDIA) wrote with no barrier,
 *     and no phase of an mbarrier, between; shared memory written or copied
 *     into in such a way,
 *   - copies in flight when a thread ends, counts past the hardware's,
 *   - values that must be equal in a wave and are not,
 *   - mbarriers used before they are made, their counts left, copies of the
 *     engine that no phase expects, boxes that do not fit,
 *   - operands of wgmma that no fence gave it or that are overwritten before
 *     its wait, registers touched before it,
 *   - threads that wait for ever, and launches that do not end in time.
 * Copies land when a wait forces them to, never earlier.  seed 0 runs threads
 * in order; others permute what may be permuted.
 * Clusters run on several host threads where nobody traces and the code tells
 * no pointers; what is found does not depend on their number, as long as blocks
 * meet in device memory by atomic operations alone.
 * Errors: JUDGED (the finding: kernel, block, thread, byte), NO_MEMORY,
 * INVALID (clusters that the grid or the arch does not take). */
groat_status groat__judge_run(const groat__judge_launch *launch,
                              groat_error *error);

#endif
