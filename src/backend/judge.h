/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BACKEND_JUDGE_H
#define GROAT_BACKEND_JUDGE_H

#include <stddef.h>
#include <stdint.h>

#include "groat.h"
#include "spec/arch.h"

struct groat_cpu_env;

/* Device memory that a kernel may touch. */
typedef struct groat__judge_range {
    uint64_t address;
    size_t bytes;
} groat__judge_range;

/* One launch to be executed and judged. */
typedef struct groat__trial {
    const groat__arch *arch;
    const char *kernel; /* name in findings */
    void (*entry)(const void *args);
    unsigned (*bind)(struct groat_cpu_env *env);
    const void *args;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    const groat__judge_range *ranges;
    size_t range_count;
    uint64_t seed;
    size_t stack_bytes;    /* per thread */
    groat_trace_fn *trace; /* NULL: nobody listens */
    void *trace_user;
} groat__trial;

/* Runs the whole grid, block after block, every thread a fiber, and stops at
 * the first broken rule:
 *   - shared or device memory accessed out of bounds or misaligned,
 *   - shared memory read that nobody wrote, or while a copy into it is in
 *     flight, or that another wave (thread on NVIDIA) wrote since the last
 *     barrier; shared memory written or copied into in such a way,
 *   - copies in flight when a thread ends, counts past the hardware's,
 *   - values that must be equal in a wave and are not.
 * Copies land when a wait of the thread that issued them forces them to, never
 * earlier.  seed 0 runs threads in order; others permute what may be permuted.
 * Errors: JUDGED (the finding: kernel, block, thread, byte), NO_MEMORY. */
groat_status groat__judge_run(const groat__trial *trial, groat_error *error);

#endif
