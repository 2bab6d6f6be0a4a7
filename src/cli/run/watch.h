/* SPDX-License-Identifier: Apache-2.0
 *
 * watch.h - ends the tool when a kernel on a cpu target does not end,
 * or ends in a fault of the processor.
 */
#ifndef GROAT_CLI_WATCH_H
#define GROAT_CLI_WATCH_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include "cli/tool/cmd.h"

enum { GROAT__WATCH_FAULTS = 4 };

struct groat__trial;

/* Start from {0}. */
typedef struct groat__watch {
    groat__cli *cli;
    const struct groat__trial *trial; /* whose kernel runs */
    pthread_t thread;
    sem_t over;
    bool on;
    _Atomic int signal; /* of the processor's fault; 0: there was none */
    bool caught;
    void *stack; /* of the handler */
    stack_t old_stack;
    struct sigaction old[GROAT__WATCH_FAULTS];
} groat__watch;

/* From here on the tool ends with an answer and exit code 1 when
 * cli->judge_seconds and some have passed, or when this thread divides by 0 or
 * follows a pointer to nowhere; the judge itself ends launches whose threads
 * call it.  Does nothing where no thread can be had. */
void groat__watch_start(groat__watch *watch, groat__cli *cli,
                        const struct groat__trial *trial);
void groat__watch_stop(groat__watch *watch);

#endif
