/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_CALLBACKS_H
#define GROAT_CORE_CALLBACKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/log.h"
#include "base/str.h"
#include "groat.h"

/* A compile event that waits to be reported; event borrows from the rest. */
typedef struct groat__compiled {
    groat_compile_event event;
    char *spec;
    char *target;
    groat_error error;
    struct groat__compiled *next;
} groat__compiled;

/* A thread that is in a callback, or whose log lines and events are queued.
 * Lives on the thread's stack. */
typedef struct groat__callback_scope {
    pthread_t thread;
    groat__str lines; /* each begins with its level, a digit */
    groat__compiled *first;
    groat__compiled *last;
    bool quiet; /* queueing: other threads wait for this one */
    struct groat__callback_scope *next;
} groat__callback_scope;

/* The callbacks of a context, and the threads that are in one. */
typedef struct groat__callbacks {
    groat__log user;
    groat_compile_fn *compiled; /* or NULL */
    void *compiled_user;
    pthread_mutex_t lock;
    groat__callback_scope *first; /* a thread's innermost entry comes first */
    atomic_bool close_said;
} groat__callbacks;

/* Returns false if memory runs out. */
bool groat__callbacks_init(groat__callbacks *callbacks, groat__log user);
void groat__callbacks_free(groat__callbacks *callbacks);
/* The log that the library's own lines go to. */
groat__log groat__callbacks_log(groat__callbacks *callbacks);

/* Reports a compile.  error: NULL if it succeeded. */
void groat__callbacks_compiled(groat__callbacks *callbacks, const char *spec,
                               const groat_compile_event *event,
                               const groat_error *error);

/* Delay log lines and events of this thread; the outermost end reports them. */
void groat__quiet_begin(groat__callbacks *callbacks,
                        groat__callback_scope *self);
void groat__quiet_end(groat__callbacks *callbacks, groat__callback_scope *self);

/* Enclose a call of the program's callback. */
void groat__callback_begin(groat__callbacks *callbacks,
                           groat__callback_scope *self);
void groat__callback_end(groat__callbacks *callbacks,
                         groat__callback_scope *self);
/* Whether this thread is in a callback. */
bool groat__callback_runs(groat__callbacks *callbacks);

#endif
