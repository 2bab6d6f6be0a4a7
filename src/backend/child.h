/* SPDX-License-Identifier: Apache-2.0
 *
 * child.h - runs another program, such as the C++ compiler.
 */
#ifndef GROAT_BACKEND_CHILD_H
#define GROAT_BACKEND_CHILD_H

#include <stddef.h>

#include "groat.h"

typedef struct groat__child {
    const char *const *argv; /* argv[0] is its path; ended by NULL */
    char *const *environment;
    unsigned seconds; /* limit of its time, and of its processor time     */
    int input;        /* descriptors that become its 0, 1 and 2           */
    int output;
    int errors;
    const int *kept; /* others that it gets                              */
    size_t kept_count;
    int report; /* one of these files; why the program did not start */
} groat__child;

/* Results besides exit codes, which are 0 to 255, and -signal. */
enum {
    GROAT__CHILD_NOT_TOLD = 1 << 16, /* SIGCHLD is ignored, or another waited */
    GROAT__CHILD_LATE, /* stopped at the limit, and its children */
    GROAT__CHILD_NOT_STARTED = 1 << 17 /* plus errno */
};

/* Runs a program to its end.  In the report four bytes count as the reason why
 * it did not start. */
int groat__child_run(const groat__child *child);

/* Finds a program by the folders of a PATH, or a name with a slash; leaves *out
 * alone if there is none.  *out is malloc'd.  Errors: NO_MEMORY. */
groat_status groat__child_find(const char *path, const char *name, char **out,
                               groat_error *error);

#endif
