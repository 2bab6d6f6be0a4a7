/* SPDX-License-Identifier: Apache-2.0
 *
 * slice.c makes preemption of a compiling thread rare.  Many compiles on few
 * processors evict each other's data from the processor's caches.
 *
 * Locking: none; each thread asks for itself.
 */
#include "base/slice.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LONG_SLICE_NS = 100000000 /* the most that Linux gives */ };

void groat__slice_lengthen(groat__slice *before)
{
    groat__slice lengthened;

    memset(before, 0, sizeof(*before));
    if (syscall(SYS_sched_getattr, 0, before, sizeof(*before), 0) != 0 ||
        (before->policy != SCHED_OTHER && before->policy != SCHED_BATCH)) {
        before->size = 0;
        return;
    }
    lengthened = *before;
    lengthened.runtime_ns = LONG_SLICE_NS;
    if (syscall(SYS_sched_setattr, 0, &lengthened, 0) != 0)
        before->size = 0;
}

void groat__slice_restore(const groat__slice *before)
{
    if (before->size != 0)
        (void)syscall(SYS_sched_setattr, 0, before, 0);
}
