/* SPDX-License-Identifier: Apache-2.0
 *
 * marks.h - what must be done before a module may be unloaded: the launches of
 * it, on each stream that it was launched on.
 */
#ifndef GROAT_BACKEND_MARKS_H
#define GROAT_BACKEND_MARKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GROAT__STREAMS = 64 };

/* A vendor's call that was made: its name, and 0 or the vendor's code. */
typedef struct groat__called {
    const char *name;
    int code;
} groat__called;

/* The vendor's events.  The context of the stream is the current one. */
typedef struct groat__event_calls {
    groat__called (*create)(const void *state, void **event, bool timed);
    groat__called (*record)(const void *state, void *event, void *stream);
    /* What follows on the stream comes after the event. */
    groat__called (*wait)(const void *state, void *stream, void *event);
    /* 0: it is done, or was never recorded. */
    groat__called (*query)(const void *state, void *event);
    groat__called (*sync)(const void *state, void *event);
    groat__called (*elapsed)(const void *state, float *ms, void *from,
                             void *to);
    groat__called (*destroy)(const void *state, void *event);
    /* A number that no other stream of that handle has or had; 0: there is
     * none, and the handle may be that of a destroyed stream. */
    uint64_t (*number)(const void *state, void *context, void *stream);
} groat__event_calls;

/* Destroys an event of a context, which is not the current one. */
typedef void groat__event_drop_fn(void *state, void *context, void *event);

/* A stream, and what it was given. */
typedef struct groat__stream {
    atomic_uint_fast64_t given; /* launches that were noted */
    atomic_int_fast64_t looked; /* when its event was seen to last */
    pthread_mutex_t lock;       /* for what follows */
    void *context;
    void *event;
    bool pending;          /* it is recorded, not known to be done, */
    uint_fast64_t covered; /* and stands for so many launches, */
    int_fast64_t since;    /* for all that were noted before this time */
    uint_fast64_t done;    /* launches that are known to be, */
    int_fast64_t clean;    /* and all that were noted before this time */
    bool lost;             /* work that no event stands for */
} groat__stream;

/* The streams of a device.  A place is found by handle and number. */
typedef struct groat__streams {
    pthread_mutex_t lock; /* for new places */
    atomic_size_t count;
    _Atomic(void *) handles[GROAT__STREAMS];
    atomic_uint_fast64_t numbers[GROAT__STREAMS];
    groat__stream at[GROAT__STREAMS];
} groat__streams;

/* Of a module; zeroes are one that was never launched. */
typedef struct groat__marks {
    atomic_uint_fast64_t places; /* a bit for each stream it was launched on */
    atomic_int_fast64_t last;    /* time of the last launch */
    atomic_bool lost;            /* it was launched on a stream without one */
} groat__marks;

/* Of zeroes. */
void groat__streams_init(groat__streams *streams);
void groat__streams_close(groat__streams *streams, groat__event_drop_fn *drop,
                          void *state);

/* Behind a launch, before it is told to have been made.  Where the vendor
 * refuses, the marks are never done.  Any thread. */
void groat__marks_note(groat__marks *marks, groat__streams *streams,
                       const groat__event_calls *calls, const void *state,
                       void *context, void *stream);

/* Whether all that was noted of a module is known to be done; asks, and does
 * not wait.  The last launches on a stream are known to be done when another
 * has followed there, a few milliseconds later or more, or all work of the
 * context was waited for. */
bool groat__marks_done(const groat__marks *marks, groat__streams *streams,
                       const groat__event_calls *calls, const void *state);

/* Around a wait for all work of a context: what was given before is done
 * after it. */
typedef struct groat__wait {
    uint_fast64_t given[GROAT__STREAMS];
    size_t count;
} groat__wait;

void groat__wait_begin(groat__streams *streams, groat__wait *wait);
void groat__wait_end(groat__streams *streams, const groat__wait *wait,
                     const void *context);

#endif
