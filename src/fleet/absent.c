/* SPDX-License-Identifier: Apache-2.0
 *
 * absent.c remembers keys that a remote did not have, so that it is not asked
 * for them again at once.
 *
 * Locking: a lock of its own, held for the access to one slot.
 */
#include "fleet/absent.h"

#include <string.h>

#include "base/clock.h"

bool groat__absent_init(groat__absent *absent)
{
    memset(absent, 0, sizeof(*absent));
    absent->now_ms = groat__now_ms;
    return pthread_mutex_init(&absent->lock, NULL) == 0;
}

void groat__absent_free(groat__absent *absent)
{
    (void)pthread_mutex_destroy(&absent->lock);
}

/* Keys are hashes, so their first bytes do. */
static size_t place_of(const groat__digest *key)
{
    return (key->bytes[0] | (size_t)key->bytes[1] << 8) % GROAT__ABSENT_PLACES;
}

static void set(groat__absent *absent, const groat__digest *key, double ms)
{
    size_t i = place_of(key);

    (void)pthread_mutex_lock(&absent->lock);
    if (ms > 0 || memcmp(&absent->at[i].key, key, sizeof(*key)) == 0) {
        absent->at[i].key = *key;
        absent->at[i].until_ms = ms;
    }
    (void)pthread_mutex_unlock(&absent->lock);
}

void groat__absent_note(groat__absent *absent, const groat__digest *key)
{
    set(absent, key, absent->now_ms() + GROAT__ABSENT_MS);
}

void groat__absent_forget(groat__absent *absent, const groat__digest *key)
{
    set(absent, key, 0);
}

bool groat__absent_knows(groat__absent *absent, const groat__digest *key)
{
    size_t i = place_of(key);
    bool knows;

    (void)pthread_mutex_lock(&absent->lock);
    knows = memcmp(&absent->at[i].key, key, sizeof(*key)) == 0 &&
            absent->now_ms() < absent->at[i].until_ms;
    (void)pthread_mutex_unlock(&absent->lock);
    return knows;
}
