/* SPDX-License-Identifier: Apache-2.0
 *
 * watch.h - ends the tool when a kernel on a cpu target does not end.
 */
#ifndef GROAT_CLI_WATCH_H
#define GROAT_CLI_WATCH_H

#include <pthread.h>

#include "cli/tool/cmd.h"

/* Start from {0}. */
typedef struct groat__watch {
    groat__cli *cli;
    const char *kernel;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool on;
    bool ended; /* under lock */
} groat__watch;

/* From here on the tool ends with an answer and exit code 1 when
 * cli->judge_seconds and some have passed; the judge itself ends launches whose
 * threads call it.  Does nothing where no thread can be had. */
void groat__watch_start(groat__watch *watch, groat__cli *cli,
                        const char *kernel);
void groat__watch_stop(groat__watch *watch);

#endif
