/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_PROCESS_H
#define GROAT_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "groat.h"

/* The process that something belongs to. */
typedef struct groat__process {
    const volatile unsigned *page; /* the kernel empties it in children; NULL:
                                    * it cannot, and pid tells             */
    pid_t pid;
} groat__process;

/* The calling process. */
void groat__process_init(groat__process *process);
void groat__process_free(groat__process *process);

/* False in a child that fork() made since; takes a load, and no lock. */
static inline bool groat__process_is_mine(const groat__process *process)
{
    return process->page != NULL ? *process->page != 0
                                 : process->pid == getpid();
}

/* Refuses what was given a context of another process: INVALID. */
groat_status groat__fail_inherited(groat_error *error);

#endif
