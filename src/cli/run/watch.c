/* SPDX-License-Identifier: Apache-2.0
 *
 * watch.c - a thread that waits while a kernel runs on the main thread, and
 * ends the tool with an answer where the kernel cannot be stopped: in a loop
 * that calls no hook of the judge, or after a fault such as SIGSEGV.
 * Locking: none; the end of the launch or the signal handler posts the
 * semaphore, and after the handler the main thread touches nothing.
 */
#include "cli/run/watch.h"
#include "cli/run/places.h"
#include "cli/run/trial.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    GRACE_SECONDS = 3, /* for the judge, which says more, to end the launch */
    STACK_BYTES = 64 << 10,
    ANSWER_NS = 200000000 /* for threads to say where they are */
};

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

/* Tells in which line of the kernel a thread of this process is; one is
 * enough, since others loop at the same place. */
static void tell_place(groat__watch *watch, groat_error *error)
{
    unsigned count = atomic_load(&watch->threads);

    for (unsigned i = 0; i < count && i < GROAT__WATCH_THREADS && !error->log;
         i++)
        groat_kernel_tell_line(watch->trial->kernel, "here",
                               atomic_load(&watch->at[i]), error);
}

static void end_process(groat__watch *watch)
{
    groat__cli *cli = watch->cli;
    groat_error error = GROAT_ERROR_INIT;
    groat__json json = {0};
    char *text;
    int signal = atomic_load(&watch->signal);
    int code;

    if (signal)
        (void)groat__cli_error(&error, GROAT_JUDGED,
                               "%s was ended by signal %d (%s): %s",
                               watch->trial->info.name, signal,
                               strsignal(signal), reason_of(signal));
    else
        (void)groat__cli_error(
            &error, GROAT_JUDGED,
            "%s has not ended in %u s and touched no memory for %d more: a "
            "loop without end",
            watch->trial->info.name, cli->judge_seconds, GRACE_SECONDS);
    tell_place(watch, &error);
    groat__places_tell(watch->trial, &error);
    code = groat__cli_fail(cli, &error);
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

/* The instruction that a signal interrupted; 0: not known. */
static uintptr_t place_of(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

static void note_place(groat__watch *watch, const void *context)
{
    unsigned i = atomic_fetch_add(&watch->threads, 1);

    if (i < GROAT__WATCH_THREADS)
        atomic_store(&watch->at[i], place_of(context));
}

static void on_question(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    note_place(atomic_load(&watched), context);
}

/* Asks each other thread of this process where it is: kernels with several
 * blocks run on several. */
static void ask_threads(void)
{
    struct sigaction action = {.sa_sigaction = on_question,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const struct timespec moment = {0, ANSWER_NS};
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;

    (void)sigemptyset(&action.sa_mask);
    if (!tasks || sigaction(SIGURG, &action, NULL) != 0) {
        if (tasks)
            (void)closedir(tasks);
        return;
    }
    while ((entry = readdir(tasks)) != NULL) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

        if (thread > 0 && thread != gettid())
            (void)tgkill(getpid(), thread, SIGURG);
    }
    (void)closedir(tasks);
    (void)nanosleep(&moment, NULL);
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
    if (late && watch->caught)
        ask_threads();
    if (late || atomic_load(&watch->signal))
        end_process(watch);
    return NULL;
}

/* Lets the watch thread end the process, as it may call any function. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    groat__watch *watch = atomic_load(&watched);

    (void)info;
    note_place(watch, context);
    atomic_store(&watch->signal, signal);
    (void)sem_post(&watch->over);
    for (;;)
        (void)pause();
}

/* Installs handlers on their own stack: the kernel's may have overflowed. */
static void catch_faults(groat__watch *watch)
{
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK};
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
                        struct groat__trial *trial)
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
