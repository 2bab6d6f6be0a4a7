/* SPDX-License-Identifier: Apache-2.0
 *
 * watch.c - a thread that waits while a kernel runs on the main thread.  The
 * judge looks at the time whenever a kernel calls it; a loop that touches no
 * memory never does, and nothing but the end of the process ends it.
 * Locking: `lock` for `ended`; when the time is over the main thread is inside
 * of the kernel and touches nothing of the tool's.
 */
#include "cli/run/watch.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_SECONDS = 3 };

static void end_process(const groat__watch *watch)
{
    groat__cli *cli = watch->cli;
    groat__json json = {0};
    int code = groat__cli_refuse(
        cli, GROAT_JUDGED,
        "%s has not ended in %u s and touches no memory: a loop without end",
        watch->kernel, cli->judge_seconds);

    if (cli->values.json) {
        groat__json_object(&json, NULL);
        groat__json_int(&json, "format", GROAT__FORMAT);
        groat__cli_json_error(&json, &cli->failure);
        groat__json_end(&json);
        (void)printf("%s\n", json.text.failed ? "{}" : json.text.data);
    }
    (void)fflush(NULL);
    _exit(code);
}

static void *run(void *user)
{
    groat__watch *watch = user;
    struct timespec end;

    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)watch->cli->judge_seconds + GRACE_SECONDS;
    (void)pthread_mutex_lock(&watch->lock);
    while (!watch->ended)
        if (pthread_cond_timedwait(&watch->over, &watch->lock, &end) != 0)
            break;
    if (!watch->ended)
        end_process(watch);
    (void)pthread_mutex_unlock(&watch->lock);
    return NULL;
}

void groat__watch_start(groat__watch *watch, groat__cli *cli,
                        const char *kernel)
{
    pthread_condattr_t by_clock;

    *watch = (groat__watch){.cli = cli, .kernel = kernel};
    if (cli->judge_seconds == 0 || pthread_condattr_init(&by_clock) != 0)
        return;
    (void)pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&watch->lock, NULL);
    (void)pthread_cond_init(&watch->over, &by_clock);
    (void)pthread_condattr_destroy(&by_clock);
    watch->on = pthread_create(&watch->thread, NULL, run, watch) == 0;
}

void groat__watch_stop(groat__watch *watch)
{
    if (!watch->on)
        return;
    (void)pthread_mutex_lock(&watch->lock);
    watch->ended = true;
    (void)pthread_cond_signal(&watch->over);
    (void)pthread_mutex_unlock(&watch->lock);
    (void)pthread_join(watch->thread, NULL);
    watch->on = false;
}
