/* SPDX-License-Identifier: Apache-2.0
 *
 * marks.c keeps, for a module, one event per stream that it was launched on, so
 * that one can ask whether it still runs without waiting for anything.
 *
 * Invariant: an event that is recorded again stands for all that it stood for
 * before.  A stream's handle may be that of a destroyed stream whose work goes
 * on, so the stream is made to wait for the event first; on the same stream
 * that changes nothing.  An event that is done is free for another stream:
 * there are no more of them than streams with unfinished work at one time.
 * Locking: a mutex in each; the vendor is called with it held.
 */
#include "backend/marks.h"

#include <stdint.h>
#include <stdlib.h>

/* CU_STREAM_PER_THREAD and hipStreamPerThread: another stream in each thread.
 */
static const uintptr_t per_thread = 2;

bool groat__marks_init(groat__marks *marks)
{
    return pthread_mutex_init(&marks->lock, NULL) == 0;
}

void groat__marks_free(groat__marks *marks, const groat__mark_calls *calls,
                       const void *state)
{
    for (size_t i = 0; i < marks->count; i++)
        calls->destroy(state, marks->at[i].event);
    free(marks->at);
    (void)pthread_mutex_destroy(&marks->lock);
}

static bool is_of(const groat__mark *mark, const void *stream)
{
    return mark->stream == stream &&
           ((uintptr_t)stream != per_thread ||
            pthread_equal(mark->thread, pthread_self()) != 0);
}

static groat__mark *add(groat__marks *marks, const groat__mark_calls *calls,
                        const void *state)
{
    if (marks->count == marks->cap) {
        size_t cap = marks->cap == 0 ? 4 : 2 * marks->cap;
        groat__mark *grown = realloc(marks->at, cap * sizeof(*grown));

        if (grown == NULL)
            return NULL;
        marks->at = grown;
        marks->cap = cap;
    }
    if (calls->create(state, &marks->at[marks->count].event) != 0)
        return NULL;
    return &marks->at[marks->count++];
}

/* The stream's mark, with the stream behind it; else one that is free. */
static groat__mark *find(groat__marks *marks, const groat__mark_calls *calls,
                         const void *state, void *stream)
{
    groat__mark *found = NULL;

    for (size_t i = 0; i < marks->count; i++)
        if (is_of(&marks->at[i], stream))
            return calls->wait(state, stream, marks->at[i].event) == 0
                       ? &marks->at[i]
                       : NULL;
    for (size_t i = 0; i < marks->count && found == NULL; i++)
        if (calls->query(state, marks->at[i].event) == 0)
            found = &marks->at[i];
    if (found == NULL)
        found = add(marks, calls, state);
    if (found != NULL) {
        found->stream = stream;
        found->thread = pthread_self();
    }
    return found;
}

void groat__marks_note(groat__marks *marks, const groat__mark_calls *calls,
                       const void *state, void *stream)
{
    groat__mark *mark;

    (void)pthread_mutex_lock(&marks->lock);
    mark = marks->lost ? NULL : find(marks, calls, state, stream);
    marks->lost = mark == NULL || calls->record(state, mark->event, stream);
    (void)pthread_mutex_unlock(&marks->lock);
}

bool groat__marks_done(groat__marks *marks, const groat__mark_calls *calls,
                       const void *state)
{
    bool done;

    (void)pthread_mutex_lock(&marks->lock);
    done = !marks->lost;
    for (size_t i = 0; i < marks->count && done; i++)
        done = calls->query(state, marks->at[i].event) == 0;
    (void)pthread_mutex_unlock(&marks->lock);
    return done;
}
