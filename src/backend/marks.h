/* SPDX-License-Identifier: Apache-2.0
 *
 * marks.h - what must be done before a module may be unloaded: an event on each
 * stream that it was launched on.
 */
#ifndef GROAT_BACKEND_MARKS_H
#define GROAT_BACKEND_MARKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* The vendor's events; each gives 0 or the vendor's code.  The device or
 * context of the module is the current one. */
typedef struct groat__mark_calls {
    int (*create)(const void *state, void **event);
    int (*record)(const void *state, void *event, void *stream);
    /* What follows on the stream comes after the event. */
    int (*wait)(const void *state, void *stream, void *event);
    /* 0: it is done, or was never recorded. */
    int (*query)(const void *state, void *event);
    void (*destroy)(const void *state, void *event);
} groat__mark_calls;

typedef struct groat__mark {
    void *stream;
    pthread_t thread; /* of the stream that each thread has its own of */
    void *event;
} groat__mark;

typedef struct groat__marks {
    pthread_mutex_t lock;
    groat__mark *at;
    size_t count;
    size_t cap;
    bool lost; /* work that no event stands for */
} groat__marks;

/* False with no memory. */
bool groat__marks_init(groat__marks *marks);
void groat__marks_free(groat__marks *marks, const groat__mark_calls *calls,
                       const void *state);

/* Behind a launch: all that the stream has been given so far is to be done.
 * Where the vendor refuses, the marks are never done.  Any thread. */
void groat__marks_note(groat__marks *marks, const groat__mark_calls *calls,
                       const void *state, void *stream);

/* Whether all that was noted is done; asks, and does not wait. */
bool groat__marks_done(groat__marks *marks, const groat__mark_calls *calls,
                       const void *state);

#endif
