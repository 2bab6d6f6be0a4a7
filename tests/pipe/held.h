/* SPDX-License-Identifier: Apache-2.0
 *
 * held.h - a compiler that records each of its runs and, where a test wants to
 * hold it, waits for a line from a pipe.
 */
#ifndef GROAT_TEST_PIPE_HELD_H
#define GROAT_TEST_PIPE_HELD_H

#include <fcntl.h>

#include "rig.h"

static char held_list[300]; /* the compiler adds a line per compile */
static char held_mark[300]; /* while this file exists, ... */
static char held_gate[300]; /* ... a compile first reads a line from this */

/* From now on compiles wait. */
static inline void held_close(void)
{
    rig_write(held_mark, "", 0600);
}

/* The compiler named before tests set another; "": the default. */
static inline const char *held_own(void)
{
    static char own[300];
    static bool known;

    if (!known && getenv("GROAT_CXX") != NULL)
        (void)snprintf(own, sizeof(own), "%s", getenv("GROAT_CXX"));
    known = true;
    return own;
}

/* Later tests may run in the same process. */
static inline void held_restore(void)
{
    if (held_own()[0] != '\0')
        (void)setenv("GROAT_CXX", held_own(), 1);
    else
        (void)unsetenv("GROAT_CXX");
}

static inline void held_write(const rig *r)
{
    const char *real = held_own();
    char path[300];
    char text[1600];

    (void)snprintf(path, sizeof(path), "%s/compiler", r->root);
    (void)snprintf(held_list, sizeof(held_list), "%s/held_list", r->root);
    (void)snprintf(held_mark, sizeof(held_mark), "%s/held_mark", r->root);
    (void)snprintf(held_gate, sizeof(held_gate), "%s/held_gate", r->root);
    (void)snprintf(text, sizeof(text),
                   "#!/bin/sh\n"
                   "if [ \"$1\" != --version ]; then\n"
                   "    echo run >>'%s'\n"
                   "    [ ! -e '%s' ] || read -r line <'%s'\n"
                   "fi\n"
                   "exec %s \"$@\"\n",
                   held_list, held_mark, held_gate,
                   real[0] == '\0' ? "c++" : real);
    rig_write(path, text, 0700);
    rig_write(held_list, "", 0600);
    ck_assert_int_eq(mkfifo(held_gate, 0600), 0);
    ck_assert_int_eq(setenv("GROAT_CXX", path, 1), 0);
}

/* Returns how many compiles were begun. */
static inline int held_runs(void)
{
    char *text = NULL;
    size_t bytes = 0;

    /* The read fails if the file grows meanwhile. */
    while (groat__fs_read(held_list, 1 << 20, &text, &bytes, NULL) != GROAT_OK)
        continue;
    free(text);
    return (int)(bytes / strlen("run\n"));
}

/* Lets the waiting compile and all later ones go on. */
static inline void held_open(void)
{
    int fd = open(held_gate, O_WRONLY);

    ck_assert_int_eq(unlink(held_mark), 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "go\n", 3), 3);
    (void)close(fd);
}

/* The same for any number of compiles; close the result once they are done. */
static inline int held_open_all(void)
{
    int fd = open(held_gate, O_RDWR | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(unlink(held_mark), 0);
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(write(fd, "go\n", 3), 3);
    return fd;
}

#endif
