/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_FAILURES_H
#define GROAT_CORE_FAILURES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/hash.h"
#include "groat.h"

enum {
    GROAT__FAILURES = 128,        /* failures that are remembered */
    GROAT__FAILURE_MS = 1000,     /* before the second try; doubles each time */
    GROAT__FAILURE_MAX_MS = 60000 /* the longest wait */
};

struct groat__failure;

/* Keys that did not compile. */
typedef struct groat__failures {
    pthread_mutex_t lock;
    double (*now_ms)(void); /* a monotonic clock; tests have their own */
    struct groat__failure *at[GROAT__FAILURES];
    atomic_uint_fast64_t answers;
} groat__failures;

/* False if memory runs out. */
bool groat__failures_init(groat__failures *failures);
void groat__failures_free(groat__failures *failures);

/* True, with a copy of the error, until the key may be tried again. */
bool groat__failures_answer(groat__failures *failures, const groat__digest *key,
                            groat_error *error);
/* Notes a failure; the time until the next try doubles.  Without memory nothing
 * is noted. */
void groat__failures_note(groat__failures *failures, const groat__digest *key,
                          const groat_error *error);
/* Forgets the failures of a key that compiled. */
void groat__failures_forget(groat__failures *failures,
                            const groat__digest *key);

#endif
