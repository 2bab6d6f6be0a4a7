/* SPDX-License-Identifier: Apache-2.0
 *
 * watch.c - a thread that waits while a kernel runs on the main thread, and
 * ends the tool with an answer where the kernel cannot be stopped: in a loop
 * that calls no hook of the judge, or after a fault such as SIGSEGV.
 * Locking: none; the end of the launch or the signal handler posts the
 * semaphore, and after the handler the main thread touches nothing.
 */
#include "cli/run/watch.h"
#include "cli/run/trial.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_SECONDS = 3, STACK_BYTES = 64 << 10 };

/* Global, as a signal handler has no user argument. */
static groat__watch *_Atomic watched;

static const int faults[] = {SIGFPE, SIGSEGV, SIGBUS, SIGILL};

static const char *reason_of(int signal)
{
    return signal == SIGFPE ? "it divides by 0"
           : signal == SIGILL
               ? "the kernel reached code whose behavior is undefined"
               : "the kernel uses an invalid pointer, or recurses without end";
}

static void end_process(const groat__watch *watch)
{
    groat__cli *cli = watch->cli;
    groat__json json = {0};
    char *text;
    int signal = atomic_load(&watch->signal);
    int code =
        signal ? groat__cli_refuse(cli, GROAT_JUDGED,
                                   "%s was ended by signal %d (%s): %s",
                                   watch->trial->info.name, signal,
                                   strsignal(signal), reason_of(signal))
               : groat__cli_refuse(cli, GROAT_JUDGED,
                                   "%s has not ended in %u s and touches no "
                                   "memory: a loop without end",
                                   watch->trial->info.name, cli->judge_seconds);

    if (cli->values.json) {
        groat__json_object(&json, NULL);
        groat__json_int(&json, "format", GROAT__FORMAT);
        groat__trial_json(&json, watch->trial, &cli->failure);
        groat__cli_json_error(&json, &cli->failure);
        text = groat__json_take(&json);
        (void)puts(text != NULL ? text : "{}");
        free(text);
    }
    (void)fflush(NULL);
    groat__scratch_remove_all();
    _exit(code);
}

static void *run(void *user)
{
    groat__watch *watch = user;
    struct timespec end;
    bool late = false;

    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)watch->cli->judge_seconds + GRACE_SECONDS;
    while (sem_clockwait(&watch->over, CLOCK_MONOTONIC, &end) != 0 && !late)
        late = errno == ETIMEDOUT;
    if (late || atomic_load(&watch->signal))
        end_process(watch);
    return NULL;
}

/* Lets the watch thread end the process, as it may call any function. */
static void on_fault(int signal)
{
    groat__watch *watch = atomic_load(&watched);

    atomic_store(&watch->signal, signal);
    (void)sem_post(&watch->over);
    for (;;)
        (void)pause();
}

/* Installs handlers on their own stack: the kernel's may have overflowed. */
static void catch_faults(groat__watch *watch)
{
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
    stack_t stack = {.ss_size = STACK_BYTES};

    watch->stack = malloc(STACK_BYTES);
    stack.ss_sp = watch->stack;
    if (!watch->stack || sigaltstack(&stack, &watch->old_stack) != 0)
        return;
    watch->caught = true;
    atomic_store(&watched, watch);
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < GROAT__WATCH_FAULTS; i++)
        (void)sigaction(faults[i], &action, &watch->old[i]);
}

static void release_faults(groat__watch *watch)
{
    for (size_t i = 0; watch->caught && i < GROAT__WATCH_FAULTS; i++)
        (void)sigaction(faults[i], &watch->old[i], NULL);
    if (watch->caught)
        (void)sigaltstack(&watch->old_stack, NULL);
    free(watch->stack);
}

void groat__watch_start(groat__watch *watch, groat__cli *cli,
                        const struct groat__trial *trial)
{
    watch->cli = cli;
    watch->trial = trial;
    if (cli->judge_seconds == 0 || sem_init(&watch->over, 0, 0) != 0)
        return;
    watch->on = pthread_create(&watch->thread, NULL, run, watch) == 0;
    /* ASan's own report of a fault says more. */
    if (watch->on && !cli->values.sanitize)
        catch_faults(watch);
}

void groat__watch_stop(groat__watch *watch)
{
    if (!watch->on)
        return;
    release_faults(watch);
    (void)sem_post(&watch->over);
    (void)pthread_join(watch->thread, NULL);
    (void)sem_destroy(&watch->over);
    watch->on = false;
}
