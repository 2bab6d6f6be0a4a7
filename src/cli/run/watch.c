/* SPDX-License-Identifier: Apache-2.0
 *
 * watch.c - a thread that waits while a kernel runs on the main thread, shows
 * its progress, and interrupts it where it loops and calls no hook of the
 * judge.  A fault such as SIGSEGV ends the launch, too.  Where the kernel
 * cannot be interrupted, the tool ends with an answer.
 *
 * Locking: none; the end of the launch or the signal handler posts the
 * semaphore, and after the handler the main thread touches nothing.
 */
#include "cli/run/watch.h"
#include "cli/run/places.h"
#include "cli/run/trial.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    GRACE_MS = 200,   /* for hooks of the judge, which look at the time, too */
    FIRST_MS = 10,    /* until progress is shown */
    SHOW_MS = 200,    /* and shown again */
    AGAIN_MS = 20,    /* until a thread is interrupted again */
    TRIES = 500,      /* the judge may be busy */
    LINES_MS = 60000, /* for a launch that ends to look its lines up */
    STACK_BYTES = 64 << 10
};

/* Global, as a signal handler has no user argument. */
static groat__watch *_Atomic watched;

/* The first one interrupts, the others are faults. */
static const int signals[GROAT__WATCH_SIGNALS] = {SIGURG, SIGFPE, SIGSEGV,
                                                  SIGBUS, SIGILL};

static const char *reason_of(int signal)
{
    return signal == SIGFPE   ? "divides by 0, or the least number by -1"
           : signal == SIGILL ? "reaches code whose behavior is undefined"
                              : "uses an invalid pointer, or recurses without "
                                "end";
}

static void end_process(groat__watch *watch)
{
    groat__cli *cli = watch->cli;
    groat_error error = GROAT_ERROR_INIT;
    char *text;
    int signal = atomic_load(&watch->signal);
    int code;

    /* The thread that stands still may hold the locks of these, and adds
     * nothing to the answer so far, which has earlier runs. */
    (void)__fsetlocking(stdout, FSETLOCKING_BYCALLER);
    (void)__fsetlocking(stderr, FSETLOCKING_BYCALLER);
    if (signal)
        (void)groat__fail(&error, GROAT_JUDGED,
                          "%s was ended by signal %d (%s) in code that "
                          "it called: it %s",
                          watch->trial->info.name, signal, strsignal(signal),
                          reason_of(signal));
    else
        (void)groat__fail(
            &error, GROAT_JUDGED,
            "%s has not ended in %u s and could not be interrupted: a loop "
            "without end in code that it called",
            watch->trial->info.name, cli->judge_seconds);
    groat__places_tell(cli, watch->trial, &error);
    code = groat__cli_fail(cli, &error);
    if (cli->values.json) {
        groat__trial_json(&cli->json, watch->trial, &cli->failure);
        groat__cli_json_error(&cli->json, &cli->failure);
        text = groat__json_take(&cli->json);
        (void)puts(text != NULL ? text : "{}");
        free(text);
    }
    (void)fflush(stdout);
    groat__scratch_remove_all();
    _exit(code);
}

/* Interrupts each other thread of this process: kernels of several blocks run
 * on several. */
static void interrupt_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;

    if (!tasks)
        return;
    while ((entry = readdir(tasks)) != NULL) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

        if (thread > 0 && thread != gettid())
            (void)tgkill(getpid(), thread, signals[0]);
    }
    (void)closedir(tasks);
}

/* Returns whether the launch is over, or a fault was caught, in time. */
static bool wait_ms(groat__watch *watch, uint64_t ms)
{
    struct timespec end;
    int rc;

    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += (long)(ms % 1000) * 1000000;
    end.tv_sec += (time_t)(ms / 1000) + end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    do
        rc = sem_clockwait(&watch->over, CLOCK_MONOTONIC, &end);
    while (rc != 0 && errno == EINTR);
    return rc == 0;
}

/* As wait_ms, with the progress of the launch meanwhile. */
static bool wait_and_show(groat__watch *watch, uint64_t ms)
{
    groat__cli *cli = watch->cli;
    double start = groat__now_ms();
    double now = start;
    bool over = wait_ms(watch, FIRST_MS < ms ? FIRST_MS : ms);

    while (!over && (now = groat__now_ms() - start) < (double)ms) {
        uint64_t left = (uint64_t)((double)ms - now) + 1;
        uint64_t total = atomic_load(&cli->total);
        uint64_t next = total > 0 ? SHOW_MS : FIRST_MS;

        if (total > 0)
            groat__progress_show(&cli->progress, atomic_load(&cli->begun),
                                 total, "blocks in %.0f s: %s", now / 1e3,
                                 watch->trial->info.name);
        over = wait_ms(watch, left < next ? left : next);
    }
    return over;
}

static void *run(void *user)
{
    groat__watch *watch = user;
    uint64_t tries =
        TRIES + watch->more * 1000 * watch->cli->judge_seconds / AGAIN_MS;
    bool over = wait_and_show(
        watch, 1000 * (uint64_t)watch->cli->judge_seconds + GRACE_MS);

    for (uint64_t i = 0; !over && i < tries; i++) {
        if (watch->count > 0)
            interrupt_threads();
        over = wait_ms(watch, AGAIN_MS);
    }
    if (!over && atomic_load(&watch->taken) > 0)
        over = wait_ms(watch, LINES_MS);
    if (!over || atomic_load(&watch->signal))
        end_process(watch);
    return NULL;
}

/* Ends the launch, or where that is not possible lets the watch thread end the
 * process, as it may call any function. */
static void on_signal(int signal, siginfo_t *info, void *context)
{
    groat__watch *watch = atomic_load(&watched);
    bool fault = signal != signals[0];

    (void)info;
    atomic_fetch_add(&watch->taken, 1);
    groat_kernel_interrupt(watch->trial->kernel, context,
                           fault ? reason_of(signal) : NULL);
    atomic_fetch_sub(&watch->taken, 1);
    if (!fault)
        return;
    atomic_store(&watch->signal, signal);
    (void)sem_post(&watch->over);
    for (;;)
        (void)pause();
}

/* Installs handlers on their own stack: the kernel's may have overflowed.
 * ASan's own report of a fault says more. */
static void catch_signals(groat__watch *watch)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK |
                                           SA_NODEFER | SA_RESTART};
    stack_t stack = {.ss_size = STACK_BYTES};

    watch->stack = malloc(STACK_BYTES);
    stack.ss_sp = watch->stack;
    if (!watch->stack || sigaltstack(&stack, &watch->old_stack) != 0)
        return;
    atomic_store(&watched, watch);
    (void)sigemptyset(&action.sa_mask);
    watch->count = watch->cli->values.sanitize ? 1 : GROAT__WATCH_SIGNALS;
    for (size_t i = 0; i < watch->count; i++)
        (void)sigaction(signals[i], &action, &watch->old[i]);
}

static void release_signals(groat__watch *watch)
{
    for (size_t i = 0; i < watch->count; i++)
        (void)sigaction(signals[i], &watch->old[i], NULL);
    if (watch->count > 0)
        (void)sigaltstack(&watch->old_stack, NULL);
    free(watch->stack);
}

void groat__watch_start(groat__watch *watch, groat__cli *cli,
                        struct groat__trial *trial)
{
    watch->cli = cli;
    watch->trial = trial;
    atomic_store(&cli->begun, 0);
    atomic_store(&cli->total, 0);
    if (cli->judge_seconds == 0 || sem_init(&watch->over, 0, 0) != 0)
        return;
    catch_signals(watch);
    watch->on = pthread_create(&watch->thread, NULL, run, watch) == 0;
    if (!watch->on)
        release_signals(watch);
}

void groat__watch_stop(groat__watch *watch)
{
    if (!watch->on)
        return;
    (void)sem_post(&watch->over);
    (void)pthread_join(watch->thread, NULL);
    release_signals(watch);
    (void)sem_destroy(&watch->over);
    watch->on = false;
}
