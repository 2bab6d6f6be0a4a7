/* SPDX-License-Identifier: Apache-2.0
 *
 * failures.c remembers which keys did not compile, so that a server that is
 * asked for one of them again and again does not compile it each time.  Every
 * COMPILE_FAILED is remembered, a compiler that was late or is gone included; a
 * lack of memory, of a device or of a compiler is not, since it says nothing
 * about the key.
 *
 * Invariant: after the n-th failure of a key, the next try is 2^(n-1) s later,
 * 60 s at most.  When the table is full, the failure that expires first is
 * forgotten.
 * Locking: a lock of its own, held for a copy of a text at most.
 */
#include "core/failures.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"

typedef struct groat__failure {
    groat__digest key;
    unsigned tries;
    double until_ms;
    groat_error error;
} failure;

bool groat__failures_init(groat__failures *failures)
{
    failures->now_ms = groat__now_ms;
    return pthread_mutex_init(&failures->lock, NULL) == 0;
}

static void drop(failure **at)
{
    if (*at == NULL)
        return;
    groat_error_clear(&(*at)->error);
    free(*at);
    *at = NULL;
}

void groat__failures_free(groat__failures *failures)
{
    for (size_t i = 0; i < GROAT__FAILURES; i++)
        drop(&failures->at[i]);
    (void)pthread_mutex_destroy(&failures->lock);
}

static failure **find(groat__failures *failures, const groat__digest *key)
{
    for (size_t i = 0; i < GROAT__FAILURES; i++)
        if (failures->at[i] != NULL &&
            memcmp(&failures->at[i]->key, key, sizeof(*key)) == 0)
            return &failures->at[i];
    return NULL;
}

/* A free slot, else the slot of the failure that expires first. */
static failure **make_room(groat__failures *failures)
{
    failure **first = &failures->at[0];

    for (size_t i = 0; i < GROAT__FAILURES; i++) {
        failure **at = &failures->at[i];

        if (*at == NULL)
            return at;
        if ((*at)->until_ms < (*first)->until_ms)
            first = at;
    }
    drop(first);
    return first;
}

bool groat__failures_answer(groat__failures *failures, const groat__digest *key,
                            groat_error *error)
{
    failure **at;
    bool found;

    (void)pthread_mutex_lock(&failures->lock);
    at = find(failures, key);
    found = at != NULL && failures->now_ms() < (*at)->until_ms;
    if (found)
        groat__error_copy(error, &(*at)->error);
    (void)pthread_mutex_unlock(&failures->lock);
    if (found)
        (void)atomic_fetch_add(&failures->answers, 1);
    return found;
}

void groat__failures_note(groat__failures *failures, const groat__digest *key,
                          const groat_error *error)
{
    double wait = GROAT__FAILURE_MS;
    failure **at;

    (void)pthread_mutex_lock(&failures->lock);
    at = find(failures, key);
    if (at == NULL) {
        at = make_room(failures);
        *at = calloc(1, sizeof(**at));
    }
    if (*at != NULL) {
        (*at)->key = *key;
        (*at)->error.size = sizeof((*at)->error);
        groat__error_copy(&(*at)->error, error);
        for (unsigned i = 0; i < (*at)->tries && wait < GROAT__FAILURE_MAX_MS;
             i++)
            wait *= 2;
        if (wait > GROAT__FAILURE_MAX_MS)
            wait = GROAT__FAILURE_MAX_MS;
        (*at)->tries++;
        (*at)->until_ms = failures->now_ms() + wait;
    }
    (void)pthread_mutex_unlock(&failures->lock);
}

void groat__failures_forget(groat__failures *failures, const groat__digest *key)
{
    failure **at;

    (void)pthread_mutex_lock(&failures->lock);
    at = find(failures, key);
    if (at != NULL)
        drop(at);
    (void)pthread_mutex_unlock(&failures->lock);
}
