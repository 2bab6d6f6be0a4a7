/* SPDX-License-Identifier: Apache-2.0
 *
 * absent.h - keys that a remote did not have a moment ago.
 */
#ifndef GROAT_FLEET_ABSENT_H
#define GROAT_FLEET_ABSENT_H

#include <pthread.h>
#include <stdbool.h>

#include "base/hash.h"

enum { GROAT__ABSENT_PLACES = 1024, GROAT__ABSENT_MS = 60000 };

/* A key has one slot; a newer key replaces it there.  Any thread. */
typedef struct groat__absent {
    pthread_mutex_t lock;
    double (*now_ms)(void); /* groat__now_ms; tests set their own */
    struct {
        groat__digest key;
        double until_ms;
    } at[GROAT__ABSENT_PLACES];
} groat__absent;

bool groat__absent_init(groat__absent *absent);
void groat__absent_free(groat__absent *absent);
/* Remembers a key for GROAT__ABSENT_MS. */
void groat__absent_note(groat__absent *absent, const groat__digest *key);
void groat__absent_forget(groat__absent *absent, const groat__digest *key);
bool groat__absent_knows(groat__absent *absent, const groat__digest *key);

#endif
