/* SPDX-License-Identifier: Apache-2.0
 *
 * breaker.c says whether a service that failed is asked again.
 *
 * Invariant: while it is open nobody who needs an answer waits for the service;
 * a thread of its own tries, when the time has come.
 * Locking: a lock of its own, held for arithmetic.
 */
#include "fleet/breaker.h"

#include <string.h>

#include <sodium.h>

#include "base/clock.h"

bool groat__breaker_init(groat__breaker *breaker, double first_ms)
{
    memset(breaker, 0, sizeof(*breaker));
    breaker->first_ms = first_ms;
    return pthread_mutex_init(&breaker->lock, NULL) == 0;
}

void groat__breaker_free(groat__breaker *breaker)
{
    (void)pthread_mutex_destroy(&breaker->lock);
}

bool groat__breaker_lets(groat__breaker *breaker)
{
    bool open;

    (void)pthread_mutex_lock(&breaker->lock);
    open = breaker->open;
    (void)pthread_mutex_unlock(&breaker->lock);
    return !open;
}

/* Locked.  A half to one and a half, so that hosts that failed together do not
 * come back together. */
static double jitter(groat__breaker *breaker)
{
    while (breaker->random == 0)
        randombytes_buf(&breaker->random, sizeof(breaker->random));
    breaker->random ^= breaker->random << 13;
    breaker->random ^= breaker->random >> 7;
    breaker->random ^= breaker->random << 17;
    return 0.5 + (double)(breaker->random >> 11) / 9007199254740992.0;
}

/* Locked. */
static bool open_it(groat__breaker *breaker)
{
    bool was_closed = !breaker->open;
    double ms = breaker->first_ms;

    for (unsigned i = 0; i < breaker->failed && ms < GROAT__BREAKER_LAST_MS;
         i++)
        ms *= 2;
    if (ms > GROAT__BREAKER_LAST_MS)
        ms = GROAT__BREAKER_LAST_MS;
    breaker->failed++;
    breaker->retry_ms = groat__now_ms() + ms * jitter(breaker);
    breaker->open = true;
    breaker->opens += was_closed;
    breaker->errors = 0;
    return was_closed;
}

bool groat__breaker_trip(groat__breaker *breaker)
{
    bool opened;

    (void)pthread_mutex_lock(&breaker->lock);
    opened = !breaker->open && open_it(breaker);
    (void)pthread_mutex_unlock(&breaker->lock);
    return opened;
}

void groat__breaker_extend(groat__breaker *breaker)
{
    (void)pthread_mutex_lock(&breaker->lock);
    (void)open_it(breaker);
    (void)pthread_mutex_unlock(&breaker->lock);
}

bool groat__breaker_count(groat__breaker *breaker)
{
    bool opened = false;

    (void)pthread_mutex_lock(&breaker->lock);
    if (!breaker->open && ++breaker->errors >= GROAT__BREAKER_ERRORS)
        opened = open_it(breaker);
    (void)pthread_mutex_unlock(&breaker->lock);
    return opened;
}

void groat__breaker_mend(groat__breaker *breaker)
{
    (void)pthread_mutex_lock(&breaker->lock);
    breaker->open = false;
    breaker->errors = 0;
    breaker->failed = 0;
    (void)pthread_mutex_unlock(&breaker->lock);
}

double groat__breaker_wait_ms(groat__breaker *breaker)
{
    double ms = -1;

    (void)pthread_mutex_lock(&breaker->lock);
    if (breaker->open) {
        ms = breaker->retry_ms - groat__now_ms();
        ms = ms < 0 ? 0 : ms;
    }
    (void)pthread_mutex_unlock(&breaker->lock);
    return ms;
}
