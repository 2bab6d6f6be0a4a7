/* SPDX-License-Identifier: Apache-2.0
 *
 * waits.c sees to it that one host of a fleet compiles a key and the others
 * wait for its entry.
 *
 * Invariant: nobody waits longer than his own compile takes, and WAY_MS for the
 * entry's way; a close ends each wait.
 * Locking: none of its own.
 */
#include "fleet/remote.h"

#include "base/clock.h"

enum {
    LEASE_MS = 30000, /* of a holder that ends without giving it back      */
    WAY_MS = 500      /* of an entry that is there, from host to host      */
};

/* Between two looks: thousands of hosts may wait for one key, and each look is
 * a command to one server. */
enum { NAPS_OF_A_COMPILE = 5, LEAST_NAP_MS = 20, MOST_NAP_MS = 250 };

/* False: the remote is being closed. */
static bool nap(groat__remote *remote, unsigned expected_ms)
{
    unsigned ms = expected_ms / NAPS_OF_A_COMPILE;
    bool hurry;

    ms = ms < LEAST_NAP_MS ? LEAST_NAP_MS : ms > MOST_NAP_MS ? MOST_NAP_MS : ms;
    (void)pthread_mutex_lock(&remote->lock);
    if (!remote->hurry)
        groat__remote_sleep(remote, ms);
    hurry = remote->hurry;
    (void)pthread_mutex_unlock(&remote->lock);
    return !hurry;
}

/* Between the taker's get and its lease another host may have given it back. */
static groat__remote_claim hold(groat__remote *remote, const groat__digest *key,
                                const char *identity, groat__store_blob *out)
{
    if (!groat__remote_look(remote, key, identity, GROAT__REMOTE_BUDGET_MS,
                            out))
        return GROAT__REMOTE_HELD;
    groat__lease_give(remote->lease, key);
    return GROAT__REMOTE_FOUND;
}

/* Whoever sends nothing lets others have the lease. */
static groat__lease_state take(groat__remote *remote, const groat__digest *key)
{
    return remote->writes ? groat__lease_take(remote->lease, key, LEASE_MS)
                          : groat__lease_look(remote->lease, key);
}

/* What one look says: TAKEN while there is nothing new. */
static groat__lease_state look(groat__remote *remote, const groat__digest *key)
{
    groat__lease_state state = groat__lease_look(remote->lease, key);

    return state == GROAT__LEASE_FREE ? take(remote, key) : state;
}

/* Waits for the entry while another host makes it; true: *out has it.  *state
 * is HELD when the lease has become the caller's.  A lease that nobody gives
 * back, or a server that is gone, is no reason to wait for what is there. */
static bool wait_for(groat__remote *remote, const groat__digest *key,
                     const char *identity, unsigned expected_ms,
                     groat__store_blob *out, groat__lease_state *state)
{
    double end_ms = groat__now_ms() + expected_ms + WAY_MS;

    for (unsigned naps = 1;
         *state != GROAT__LEASE_HELD && groat__now_ms() < end_ms &&
         nap(remote, expected_ms);
         naps++) {
        if ((*state == GROAT__LEASE_NONE || naps % NAPS_OF_A_COMPILE == 0) &&
            groat__remote_look(remote, key, identity, GROAT__REMOTE_BUDGET_MS,
                               out))
            return true;
        *state = look(remote, key);
        if (*state == GROAT__LEASE_FREE) /* and it only reads */
            break;
        if (*state == GROAT__LEASE_NONE)
            groat__behind_wake(remote);
    }
    return false;
}

groat__remote_claim groat__remote_lease(groat__remote *remote,
                                        const groat__digest *key,
                                        const char *identity,
                                        unsigned expected_ms,
                                        groat__store_blob *out)
{
    groat__lease_state state;

    if (remote->lease == NULL || remote->trust->count == 0 ||
        !groat__breaker_lets(remote->breaker))
        return GROAT__REMOTE_ALONE;
    state = take(remote, key);
    if (state == GROAT__LEASE_FREE)
        return GROAT__REMOTE_ALONE;
    if (state == GROAT__LEASE_NONE)
        groat__behind_wake(remote);
    if (state == GROAT__LEASE_TAKEN) {
        (void)atomic_fetch_add(&remote->lease_waits, 1);
        if (wait_for(remote, key, identity, expected_ms, out, &state))
            return GROAT__REMOTE_FOUND;
        if (state == GROAT__LEASE_TAKEN)
            (void)atomic_fetch_add(&remote->lease_timeouts, 1);
    }
    if (state == GROAT__LEASE_HELD)
        return hold(remote, key, identity, out);
    return groat__remote_look(remote, key, identity, GROAT__REMOTE_BUDGET_MS,
                              out)
               ? GROAT__REMOTE_FOUND
               : GROAT__REMOTE_ALONE;
}

void groat__remote_give(groat__remote *remote, const groat__digest *key)
{
    groat__lease_give(remote->lease, key);
}
