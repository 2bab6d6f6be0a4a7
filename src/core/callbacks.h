/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_CALLBACKS_H
#define GROAT_CORE_CALLBACKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/log.h"
#include "base/str.h"

/* A thread that is in a callback, or whose lines wait; on its stack. */
typedef struct groat__present {
    pthread_t thread;
    groat__str lines; /* a digit for the level before each */
    bool quiet;       /* lines wait: it has something that others wait for */
    struct groat__present *next;
} groat__present;

/* Of a context: whom its lines go to, and which threads are where. */
typedef struct groat__callbacks {
    groat__log user;
    pthread_mutex_t lock;
    groat__present *first; /* the innermost of a thread comes first */
    atomic_bool close_said;
} groat__callbacks;

/* Errors: false without memory. */
bool groat__callbacks_init(groat__callbacks *callbacks, groat__log user);
void groat__callbacks_free(groat__callbacks *callbacks);
/* What the library's own lines go to. */
groat__log groat__callbacks_log(groat__callbacks *callbacks);

/* Between the two, lines of this thread wait; the second one says them. */
void groat__quiet_begin(groat__callbacks *callbacks, groat__present *self);
void groat__quiet_end(groat__callbacks *callbacks, groat__present *self);

/* Around a callback of the program's. */
void groat__callback_begin(groat__callbacks *callbacks, groat__present *self);
void groat__callback_end(groat__callbacks *callbacks, groat__present *self);
/* Whether this thread is in one. */
bool groat__callback_runs(groat__callbacks *callbacks);

#endif
