/* SPDX-License-Identifier: Apache-2.0
 *
 * breaker.c decides whether a service that failed is asked again.
 *
 * Invariant: while the breaker is open, nobody waits for the service; when a
 * try is due, one thread makes it: one in the background, or, of waits for
 * other hosts, one that needs the kernel.
 * Locking: a lock of its own, held for arithmetic; the list of services only
 * grows, by an atomic.
 */
#include "fleet/breaker.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/clock.h"
#include "base/process.h"

/* Services that this process or a parent has asked; none is ever removed. */
static _Atomic(groat__breaker *) services;

static groat__breaker *breaker_new(const char *name, double first_ms)
{
    size_t bytes = strlen(name) + 1;
    groat__breaker *breaker = calloc(1, sizeof(*breaker) + bytes);

    if (breaker == NULL || pthread_mutex_init(&breaker->lock, NULL) != 0) {
        free(breaker);
        return NULL;
    }
    breaker->process = groat__process_number();
    breaker->first_ms = first_ms;
    memcpy(breaker->name, name, bytes);
    return breaker;
}

/* A child has breakers of its own, since the parent's locks may have been held
 * at the fork. */
static groat__breaker *find(groat__breaker *first, const char *name)
{
    int process = groat__process_number();

    while (first != NULL &&
           (first->process != process || strcmp(first->name, name) != 0))
        first = first->next;
    return first;
}

groat__breaker *groat__breaker_of(const char *name, double first_ms)
{
    groat__breaker *first = atomic_load(&services);
    groat__breaker *found = find(first, name);
    groat__breaker *made = NULL;

    if (found != NULL || (made = breaker_new(name, first_ms)) == NULL)
        return found;
    for (;;) {
        made->next = first;
        if (atomic_compare_exchange_weak(&services, &first, made))
            return made;
        found = find(first, name);
        if (found != NULL) {
            (void)pthread_mutex_destroy(&made->lock);
            free(made);
            return found;
        }
    }
}

bool groat__breaker_is_closed(groat__breaker *breaker)
{
    bool open;

    (void)pthread_mutex_lock(&breaker->lock);
    open = breaker->open;
    (void)pthread_mutex_unlock(&breaker->lock);
    return !open;
}

/* Locked.  A factor of 0.5 to 1.5, so that hosts that failed together do not
 * retry together. */
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
    breaker->lost_ms = 0;
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
    if (!breaker->open &&
        (++breaker->errors >= GROAT__BREAKER_ERRORS || breaker->failed > 0))
        opened = open_it(breaker);
    (void)pthread_mutex_unlock(&breaker->lock);
    return opened;
}

/* A service of which each second answer is late must not cost each second get
 * its wait: good answers between do not count. */
static double count_lost(groat__breaker *breaker, double ms)
{
    double now = groat__now_ms();
    double forgotten = (now - breaker->late_ms) * GROAT__BREAKER_LOST_MS /
                       GROAT__BREAKER_FORGET_MS;

    breaker->late_ms = now;
    breaker->lost_ms -= forgotten;
    breaker->lost_ms = (breaker->lost_ms < 0 ? 0 : breaker->lost_ms) + ms;
    return breaker->lost_ms;
}

bool groat__breaker_late(groat__breaker *breaker, double ms)
{
    bool opened = false;

    (void)pthread_mutex_lock(&breaker->lock);
    if (!breaker->open)
        opened = (count_lost(breaker, ms) >= GROAT__BREAKER_LOST_MS ||
                  breaker->failed > 0) &&
                 open_it(breaker);
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

void groat__breaker_close(groat__breaker *breaker)
{
    (void)pthread_mutex_lock(&breaker->lock);
    breaker->open = false;
    breaker->errors = 0;
    if (groat__now_ms() - breaker->retry_ms > GROAT__BREAKER_FORGET_MS)
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

bool groat__breaker_may_try(groat__breaker *breaker, double ms)
{
    double now = groat__now_ms();
    bool may;

    (void)pthread_mutex_lock(&breaker->lock);
    may = breaker->open && breaker->retry_ms <= now;
    if (may)
        breaker->retry_ms = now + ms;
    (void)pthread_mutex_unlock(&breaker->lock);
    return may;
}
