/* SPDX-License-Identifier: Apache-2.0
 *
 * marks.c counts the launches on each stream of a device and how many of them
 * are known to be done, to tell without waiting whether a module still runs.
 * An event is recorded after the first launch in each tick of a coarse clock,
 * unless the last one is still pending: almost every launch costs only an
 * increment.
 *
 * Invariant: an event covers the launches noted before it was recorded, and all
 * earlier work of the stream.  A module's launch is noted before its user
 * releases it.  A place in the list is one stream's for good: modules launched
 * on a stream that finds no place stay loaded.
 * Streams are identified by the vendor's numbers.  Without one, a handle may be
 * a reused one of a destroyed stream that still has work: then the event is
 * recorded at each launch, after the stream was made to wait for the last one;
 * on the same stream that wait changes nothing.
 * Locking: the list's `lock` guards new places; a stream's guards its event and
 * is held while the vendor is called.
 */
#include "backend/marks.h"

#include <time.h>

/* CU_STREAM_PER_THREAD and hipStreamPerThread: each thread has its own. */
static const uintptr_t per_thread = 2;

void groat__streams_init(groat__streams *streams)
{
    for (size_t i = 0; i < GROAT__STREAMS; i++)
        (void)pthread_mutex_init(&streams->at[i].lock, NULL);
    (void)pthread_mutex_init(&streams->lock, NULL);
}

void groat__streams_close(groat__streams *streams, groat__event_drop_fn *drop,
                          void *state)
{
    for (size_t i = 0; i < GROAT__STREAMS; i++) {
        groat__stream *s = &streams->at[i];

        if (s->event != NULL)
            drop(state, s->context, s->event);
        (void)pthread_mutex_destroy(&s->lock);
    }
    (void)pthread_mutex_destroy(&streams->lock);
}

/* The time in ns, in ticks of some milliseconds; a read costs much less than a
 * launch. */
static int_fast64_t now(void)
{
    struct timespec t = {0, 0};

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int_fast64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- one stream ---------------------------------------------------------- */

/* Notes whether the event is done.  With the stream's lock held. */
static void look(groat__stream *s, const groat__event_calls *calls,
                 const void *state)
{
    if (!s->pending || calls->query(state, s->event).code != 0)
        return;
    s->pending = false;
    if (s->done < s->covered) /* groat__wait_end() may have set more */
        s->done = s->covered;
    s->clean = s->since;
}

/* With the stream's lock held. */
static bool is_done(const groat__stream *s)
{
    return !s->lost && s->done == atomic_load(&s->given);
}

/* After a launch at this time: records the event if it is due. */
static void cover(groat__stream *s, const groat__event_calls *calls,
                  const void *state, void *stream, bool numbered,
                  int_fast64_t time)
{
    uint_fast64_t given;

    (void)pthread_mutex_lock(&s->lock);
    given = atomic_load(&s->given);
    if (numbered)
        look(s, calls, state);
    if (s->event == NULL)
        s->lost |= calls->create(state, &s->event, false).code != 0;
    else if (!numbered)
        s->lost |= calls->wait(state, stream, s->event).code != 0;
    if (!s->lost && (!s->pending || !numbered)) {
        s->lost |= calls->record(state, s->event, stream).code != 0;
        s->pending = true;
        s->covered = given;
        s->since = time;
    }
    atomic_store(&s->looked, time);
    (void)pthread_mutex_unlock(&s->lock);
}

/* ---- the list ------------------------------------------------------------ */

static size_t find(const groat__streams *streams, const void *stream,
                   uint_fast64_t number)
{
    size_t count = atomic_load_explicit(&streams->count, memory_order_acquire);
    size_t i = 0;

    while (i < count && (atomic_load_explicit(&streams->handles[i],
                                              memory_order_relaxed) != stream ||
                         atomic_load(&streams->numbers[i]) != number))
        i++;
    return i < count ? i : GROAT__STREAMS;
}

/* Returns the place of a stream, a new one if needed; GROAT__STREAMS: none is
 * left. */
static size_t add(groat__streams *streams, void *context, void *stream,
                  uint_fast64_t number)
{
    size_t i;

    (void)pthread_mutex_lock(&streams->lock);
    i = find(streams, stream, number);
    if (i == GROAT__STREAMS)
        i = atomic_load(&streams->count);
    if (i < GROAT__STREAMS && i == atomic_load(&streams->count)) {
        streams->at[i].context = context;
        atomic_store(&streams->handles[i], stream);
        atomic_store(&streams->numbers[i], number);
        atomic_store_explicit(&streams->count, i + 1, memory_order_release);
    }
    (void)pthread_mutex_unlock(&streams->lock);
    return i;
}

/* ---- modules ------------------------------------------------------------- */

static void set_last(groat__marks *marks, int_fast64_t time)
{
    int_fast64_t last =
        atomic_load_explicit(&marks->last, memory_order_relaxed);

    while (last < time &&
           !atomic_compare_exchange_weak(&marks->last, &last, time))
        continue;
}

/* A substitute for a missing number: one for each context and, for the
 * per-thread stream, thread. */
static uint_fast64_t stand_in(const void *context, const void *stream)
{
    uint_fast64_t thread =
        (uintptr_t)stream == per_thread ? (uint_fast64_t)pthread_self() : 0;

    return (uintptr_t)context ^ thread;
}

void groat__marks_note(groat__marks *marks, groat__streams *streams,
                       const groat__event_calls *calls, const void *state,
                       void *context, void *stream)
{
    uint_fast64_t number = (uintptr_t)stream == per_thread
                               ? 0
                               : calls->number(state, context, stream);
    bool numbered = number != 0;
    int_fast64_t time = now();
    groat__stream *s;
    size_t i;

    if (!numbered)
        number = stand_in(context, stream);
    i = find(streams, stream, number);
    if (i == GROAT__STREAMS)
        i = add(streams, context, stream, number);
    if (i == GROAT__STREAMS) {
        atomic_store(&marks->lost, true);
        return;
    }
    s = &streams->at[i];
    (void)atomic_fetch_add(&s->given, 1);
    if ((atomic_load_explicit(&marks->places, memory_order_relaxed) >> i & 1) ==
        0)
        (void)atomic_fetch_or(&marks->places, (uint_fast64_t)1 << i);
    set_last(marks, time);
    if (!numbered ||
        atomic_load_explicit(&s->looked, memory_order_relaxed) != time)
        cover(s, calls, state, stream, numbered, time);
}

bool groat__marks_done(const groat__marks *marks, groat__streams *streams,
                       const groat__event_calls *calls, const void *state)
{
    uint_fast64_t places = atomic_load(&marks->places);
    int_fast64_t last = atomic_load(&marks->last);
    bool done = !atomic_load(&marks->lost);

    for (size_t i = 0; i < GROAT__STREAMS && done; i++) {
        groat__stream *s = &streams->at[i];

        if ((places >> i & 1) == 0)
            continue;
        (void)pthread_mutex_lock(&s->lock);
        look(s, calls, state);
        done = is_done(s) || (!s->lost && last < s->clean);
        (void)pthread_mutex_unlock(&s->lock);
    }
    return done;
}

/* ---- waits --------------------------------------------------------------- */

void groat__wait_begin(groat__streams *streams, groat__wait *wait)
{
    wait->count = atomic_load(&streams->count);
    for (size_t i = 0; i < wait->count; i++)
        wait->given[i] = atomic_load(&streams->at[i].given);
}

void groat__wait_end(groat__streams *streams, const groat__wait *wait,
                     const void *context)
{
    for (size_t i = 0; i < wait->count; i++) {
        groat__stream *s = &streams->at[i];

        (void)pthread_mutex_lock(&s->lock);
        if (s->context == context && s->done < wait->given[i])
            s->done = wait->given[i];
        (void)pthread_mutex_unlock(&s->lock);
    }
}
