/* SPDX-License-Identifier: Apache-2.0
 *
 * scratch.c - temporary folders, and stores in them for commands that measure
 * or show how a store is filled; and what else goes if a signal ends the tool.
 *
 * Owns the folder from its creation to its removal, also by a signal that ends
 * the process, and the context over it.
 * Invariant: where --cache-dir names the store, no folder is made and none is
 * removed; else the user's store is neither read nor written.
 */
#include "cli/tool/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int remove_one(const char *path, const struct stat *facts, int kind,
                      struct FTW *where)
{
    (void)facts;
    (void)kind;
    (void)where;
    (void)remove(path);
    return 0;
}

/* ---- what goes with a process that is ended --------------------------------
 */

enum { FOLDERS = 24, TRIES = 3 };

/* Global, as a signal handler has no user argument. */
static struct {
    pthread_mutex_t lock;
    char *path[FOLDERS]; /* NULL: none */
    int wake[2];         /* a pipe; a byte is the signal's number */
    bool watching;
} scratch_folders = {.lock = PTHREAD_MUTEX_INITIALIZER};

void groat__scratch_remove_all(void)
{
    (void)pthread_mutex_lock(&scratch_folders.lock);
    for (size_t i = 0; i < FOLDERS; i++)
        /* Other threads may still write files there. */
        for (int try = 0; scratch_folders.path[i] && try < TRIES; try++)
            (void)nftw(scratch_folders.path[i], remove_one, 8,
                       FTW_DEPTH | FTW_PHYS);
    /* The lock is kept: no thread goes on as if its file were there. */
}

/* Ends the process as the signal would have, without the folders. */
static void *wait_for_end(void *user)
{
    char number = 0;
    sigset_t one;

    (void)user;
    while (read(scratch_folders.wake[0], &number, 1) < 0 && errno == EINTR)
        continue;
    groat__scratch_remove_all();
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    (void)raise(number);
    return NULL;
}

static void on_end(int signal)
{
    int kept = errno;
    char number = (char)signal;
    ssize_t written = write(scratch_folders.wake[1], &number, 1);

    (void)written;
    /* Whoever writes to a closed pipe would go on, and report that. */
    while (signal == SIGPIPE)
        (void)pause();
    errno = kept;
}

/* Catches the signals that end a process, but for those that are ignored or
 * handled already.  Programs that it starts get the default actions. */
static void watch_for_end(void)
{
    static const int ends[] = {SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM};
    struct sigaction action = {.sa_handler = on_end, .sa_flags = SA_RESTART};
    struct sigaction old;
    pthread_t thread;

    if (pipe2(scratch_folders.wake, O_CLOEXEC) != 0 ||
        pthread_create(&thread, NULL, wait_for_end, NULL) != 0)
        return;
    (void)pthread_detach(thread);
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            (void)sigaction(ends[i], &action, NULL);
}

void groat__scratch_list(const char *other, const char *path)
{
    (void)pthread_mutex_lock(&scratch_folders.lock);
    for (size_t i = 0; i < FOLDERS; i++)
        if (scratch_folders.path[i] == NULL
                ? other == NULL
                : other && strcmp(scratch_folders.path[i], other) == 0) {
            free(scratch_folders.path[i]);
            scratch_folders.path[i] = path ? strdup(path) : NULL;
            break;
        }
    if (!scratch_folders.watching)
        watch_for_end();
    scratch_folders.watching = true;
    (void)pthread_mutex_unlock(&scratch_folders.lock);
}

/* ---- one folder ------------------------------------------------------------
 */

static groat_status make_below(const char *base, const char *what,
                               groat__str *folder, groat_error *error)
{
    groat_status status = GROAT_OK;

    groat__str_addf(folder, "%s/groat-%s-XXXXXX", base, what);
    if (folder->failed)
        status = groat__fail(error, GROAT_NO_MEMORY, "out of memory");
    else if (!mkdtemp(folder->data))
        status = groat__fail(error, GROAT_IO,
                             "cannot make a folder %s: %s; TMPDIR names "
                             "another place",
                             folder->data, strerror(errno));
    if (status)
        groat__str_free(folder);
    else
        groat__scratch_list(NULL, folder->data);
    return status;
}

static const char *temporary_folder(void)
{
    const char *tmp = getenv("TMPDIR");

    return tmp && *tmp ? tmp : "/tmp";
}

groat_status groat__scratch_make(const char *what, groat__str *folder,
                                 groat_error *error)
{
    return make_below(temporary_folder(), what, folder, error);
}

void groat__scratch_remove(groat__str *folder)
{
    if (!folder->data)
        return;
    (void)nftw(folder->data, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    groat__scratch_list(folder->data, NULL);
    groat__str_free(folder);
}

int groat__scratch_open(groat__cli *cli, const char *base, groat__str *folder)
{
    groat_error error = GROAT_ERROR_INIT;

    cli->values.alone = true;
    if (cli->values.cache_dir)
        return groat__cli_open(cli, 0);
    if (make_below(base ? base : temporary_folder(), cli->command->name, folder,
                   &error))
        return groat__cli_fail(cli, &error);
    cli->values.cache_dir = folder->data;
    return groat__cli_open(cli, 0);
}

void groat__scratch_close(groat__cli *cli, groat__str *folder)
{
    groat_close(cli->context);
    cli->context = NULL;
    if (folder->data)
        cli->values.cache_dir = NULL;
    groat__scratch_remove(folder);
}
