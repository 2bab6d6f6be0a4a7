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

/* Places in the kernel's code that a finding names, as return addresses of the
 * hook calls there. */
enum { GROAT__JUDGE_PLACES = 32, GROAT__JUDGE_PLACE_WORDS = 128 };

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
    struct groat_cpu_plain plain; /* of a kernel that reports its accesses */
    unsigned char *(*shared_of)(void *user); /* of such a kernel that has some:
                                              * the calling thread's; or NULL */
    void *shared_user;
    const groat__judge_range *ranges;
    size_t range_count;
    uint64_t seed;
    unsigned seconds;      /* time limit of the launch; 0: none */
    unsigned jobs;         /* maximum of host threads; 0: 1 */
    size_t stack_bytes;    /* per thread */
    groat_trace_fn *trace; /* or NULL */
    void *trace_user;
    groat_judge_progress_fn *progress; /* or NULL */
    void *progress_user;
    groat__judge_places *places; /* receives the finding's places, or NULL */
} groat__judge_launch;

/* Runs the whole grid, cluster after cluster, one fiber per thread, and stops
 * at the first broken rule:
 *   - shared or device memory accessed out of bounds or misaligned,
 *   - unwritten shared memory read, where the value affects the kernel's output
 *     or control flow; shared memory read while a copy into it is in flight, or
 *     after another wave (NVIDIA: thread) wrote it, with no barrier or mbarrier
 *     phase in between; shared memory written or copied into in such a way,
 *   - copies in flight when a thread ends, counts past the hardware's,
 *   - races on device memory: in a cluster, and, once all have ended, between
 *     clusters,
 *   - values that must be equal in a wave and are not,
 *   - mbarriers used before they are made, arrivals or counts beyond their
 *     range, engine copies that no phase expects, boxes that do not fit,
 *   - wgmma operands that were not fenced or are overwritten before its wait,
 *     accumulator registers touched before the wait,
 *   - threads that wait for ever, and launches that do not end in time.
 * Copies land when a wait forces them to, never earlier.  seed 0 runs threads
 * in order; other seeds permute what the arch leaves open.
 * Clusters run on several host threads unless there is a trace callback; if
 * they depend on each other but by atomic and volatile accesses, all run again,
 * one after the other.
 * Errors: JUDGED (the finding: kernel, block, thread, byte), NO_MEMORY,
 * LAUNCH_FAILED (the kernel was compiled for another version of the judge),
 * INVALID (a cluster shape that does not fit the grid or the arch). */
groat_status groat__judge_run(const groat__judge_launch *launch,
                              groat_error *error);

/* For the handler of a signal that interrupted the kernel's own code, at an
 * instruction and with a stack pointer: reports that the current thread did
 * what `why` says or, if that is NULL, that the launch exceeded its time, and
 * leaves the fiber.  Returns if the code ran on no fiber or the time is not
 * over. */
void groat__judge_interrupt(struct groat_cpu_env *env, uintptr_t at,
                            uintptr_t stack, const char *why);

#endif
