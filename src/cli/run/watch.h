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

enum { GROAT__WATCH_FAULTS = 4, GROAT__WATCH_THREADS = 64 };

struct groat__trial;

/* Start from {0}. */
typedef struct groat__watch {
    groat__cli *cli;
    struct groat__trial *trial; /* of the running kernel */
    pthread_t thread;
    sem_t over;
    bool on;
    _Atomic int signal; /* the fault's signal; 0: none */
    /* Where the threads of this process are in their code. */
    _Atomic uintptr_t at[GROAT__WATCH_THREADS];
    _Atomic unsigned threads;
    _Atomic bool caught; /* handlers are installed */
    void *stack;         /* of the handler */
    stack_t old_stack;
    struct sigaction old[GROAT__WATCH_FAULTS];
} groat__watch;

/* From here on the tool ends with an answer and exit code 1 a few seconds after
 * cli->judge_seconds, or when this thread gets a signal such as SIGSEGV; the
 * judge itself ends launches whose threads call its hooks.  Does nothing if no
 * thread can be created. */
void groat__watch_start(groat__watch *watch, groat__cli *cli,
                        struct groat__trial *trial);
void groat__watch_stop(groat__watch *watch);

#endif
