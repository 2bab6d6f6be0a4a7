/* SPDX-License-Identifier: Apache-2.0
 *
 * marks.h - tracks the launches of a module on each stream, to tell when all
 * are done and it may be unloaded.
 */
#ifndef GROAT_BACKEND_MARKS_H
#define GROAT_BACKEND_MARKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GROAT__STREAMS = 64 };

/* The result of a vendor's call: its name, and 0 or the vendor's code. */
typedef struct groat__called {
    const char *name;
    int code;
} groat__called;

/* The vendor's calls for events.  The stream's context is current. */
typedef struct groat__event_calls {
    groat__called (*create)(const void *state, void **event, bool timed);
    groat__called (*record)(const void *state, void *event, void *stream);
    /* Makes later work on the stream wait for the event. */
    groat__called (*wait)(const void *state, void *stream, void *event);
    /* Code 0: the event is done, or was never recorded. */
    groat__called (*query)(const void *state, void *event);
    groat__called (*sync)(const void *state, void *event);
    groat__called (*elapsed)(const void *state, float *ms, void *from,
                             void *to);
    groat__called (*destroy)(const void *state, void *event);
    /* A number that no other stream of that handle has or had; 0: unknown, and
     * the handle may be a reused one of a destroyed stream. */
    uint64_t (*number)(const void *state, void *context, void *stream);
} groat__event_calls;

/* Destroys an event of a context, which need not be current. */
typedef void groat__event_drop_fn(void *state, void *context, void *event);

/* A stream and its noted launches. */
typedef struct groat__stream {
    atomic_uint_fast64_t given; /* noted launches */
    atomic_int_fast64_t looked; /* time of the last check of its event */
    pthread_mutex_t lock;       /* guards the fields below */
    void *context;
    void *event;
    bool pending;          /* the event is recorded, not known to be done */
    uint_fast64_t covered; /* launches that the event covers: */
    int_fast64_t since;    /* all that were noted before this time */
    uint_fast64_t done;    /* launches known to be done: */
    int_fast64_t clean;    /* all that were noted before this time */
    bool lost;             /* some launch is covered by no event */
} groat__stream;

/* The streams of a device.  A stream is found by handle and number. */
typedef struct groat__streams {
    pthread_mutex_t lock; /* guards adding a stream */
    atomic_size_t count;
    _Atomic(void *) handles[GROAT__STREAMS];
    atomic_uint_fast64_t numbers[GROAT__STREAMS];
    groat__stream at[GROAT__STREAMS];
} groat__streams;

/* The launches of a module; all zeros before the first one. */
typedef struct groat__marks {
    atomic_uint_fast64_t places; /* a bit for each stream it was launched on */
    atomic_int_fast64_t last;    /* time of the last launch */
    atomic_bool lost;            /* launched on a stream that has no place */
} groat__marks;

/* Initializes zeroed memory. */
void groat__streams_init(groat__streams *streams);
void groat__streams_close(groat__streams *streams, groat__event_drop_fn *drop,
                          void *state);

/* Notes a launch; call it after the launch and before its caller returns.  If a
 * vendor's call fails, the marks are never done.  Any thread. */
void groat__marks_note(groat__marks *marks, groat__streams *streams,
                       const groat__event_calls *calls, const void *state,
                       void *context, void *stream);

/* Whether all noted launches of a module are known to be done; does not wait.
 * The last launches on a stream become known to be done only after another
 * launch there, a few milliseconds later or more, or after a wait for all work
 * of the context. */
bool groat__marks_done(const groat__marks *marks, groat__streams *streams,
                       const groat__event_calls *calls, const void *state);

/* Begin and end a wait for all work of a context: launches noted before the
 * begin are done at the end. */
typedef struct groat__wait {
    uint_fast64_t given[GROAT__STREAMS];
    size_t count;
} groat__wait;

void groat__wait_begin(groat__streams *streams, groat__wait *wait);
void groat__wait_end(groat__streams *streams, const groat__wait *wait,
                     const void *context);

#endif
