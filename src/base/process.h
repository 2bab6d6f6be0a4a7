/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_PROCESS_H
#define GROAT_BASE_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "groat.h"

/* The process that an object belongs to. */
typedef struct groat__process {
    const atomic_int *page; /* has the number of the process that runs; NULL: *
                             * the kernel cannot tell, compare getpid()       */
    int number;
} groat__process;

/* Fills *process for the calling process. */
void groat__process_init(groat__process *process);

/* False in a child that fork() made since; costs one load, and no lock. */
static inline bool groat__process_is_mine(const groat__process *process)
{
    return process->number ==
           (process->page != NULL
                ? atomic_load_explicit(process->page, memory_order_relaxed)
                : (int)getpid());
}

/* Returns a number above 0 that is this process's own: a child of fork() has
 * another one than all of its parents, also one that has its parent's process
 * id in a PID namespace of its own.  Where the kernel cannot tell, it is the
 * process id.  Any thread. */
int groat__process_number(void);

/* Fails with INVALID, for a call with an object ("context", "spec") that is
 * NULL or of another process. */
groat_status groat__fail_unusable(const char *what, const void *object,
                                  groat_error *error);

#endif
