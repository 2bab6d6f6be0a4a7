/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_SLICE_H
#define GROAT_BASE_SLICE_H

#include <stdint.h>

/* How the kernel schedules a thread; the layout is that of sched_setattr(2). */
typedef struct groat__slice {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns; /* the time slice of a thread without deadlines */
    uint64_t deadline_ns;
    uint64_t period_ns;
} groat__slice;

/* Asks for long time slices for the calling thread and the children that it
 * starts: a compile's working set is some 60 MB.  In return, other ready
 * threads run first.  Policy and nice value stay.  Linux before 6.12 has no
 * such slices; nothing changes there, or if the thread's policy has none.
 * *before is for groat__slice_restore().  Errors: none. */
void groat__slice_lengthen(groat__slice *before);
void groat__slice_restore(const groat__slice *before);

#endif
