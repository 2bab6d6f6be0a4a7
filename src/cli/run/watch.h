/* SPDX-License-Identifier: Apache-2.0
 *
 * watch.h - ends the tool when a kernel on a cpu target does not end, or
 * crashes.
 */
#ifndef GROAT_CLI_WATCH_H
#define GROAT_CLI_WATCH_H

#include <pthread.h>
#include <stdint.h>
#include <semaphore.h>
#include <signal.h>

#include "cli/tool/cmd.h"

enum { GROAT__WATCH_SIGNALS = 5 };

struct groat__trial;

/* Start from {0}. */
typedef struct groat__watch {
    groat__cli *cli;
    struct groat__trial *trial; /* of the running kernel */
    uint64_t more; /* launches after the first one, which have as long each */
    pthread_t thread;
    sem_t over;
    bool on;
    _Atomic int signal; /* of a fault outside of the kernel's code; 0: none */
    _Atomic int taken;  /* interrupts that did not come back: the launch ends */
    size_t count;       /* of signals that are caught */
    void *stack;        /* of the handlers */
    stack_t old_stack;
    struct sigaction old[GROAT__WATCH_SIGNALS];
} groat__watch;

/* From here on the launch ends with a finding after cli->judge_seconds, or when
 * the kernel raises a signal such as SIGSEGV.  Where that is not possible, as
 * the kernel is in another library's code, the tool ends with an answer and
 * exit code 1.  Does nothing if no thread can be created. */
void groat__watch_start(groat__watch *watch, groat__cli *cli,
                        struct groat__trial *trial);
void groat__watch_stop(groat__watch *watch);

#endif
