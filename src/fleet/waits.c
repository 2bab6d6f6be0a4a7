/* SPDX-License-Identifier: Apache-2.0
 *
 * waits.c lets one host of a fleet compile a key while the others wait for its
 * entry.
 *
 * Invariant: no thread waits longer than its own compile would take, plus
 * WAY_MS for the transfer of the entry; closing ends each wait.  After two
 * waits in vain, or slow leases, in a row this process asks for none for a
 * while: a server may lie.
 * Locking: none of its own.
 */
#include "fleet/remote.h"

#include <math.h>

#include "base/clock.h"

enum {
    LEASE_MS = 30000, /* expiry, if the holder dies without giving it back; *
                       * most of a wait if no compile's time is known       */
    WAY_MS = 500,     /* for the transfer of an entry between hosts */
    LAST_MS = 200,    /* of these: for a last look at the end       */
    SLOW_MS = 100     /* of a lease that takes longer than a compile */
};

/* Times between two polls: thousands of hosts may wait for one key, and each
 * poll is a command to one server. */
enum {
    LOOK_EACH = 5,        /* polls, for the entry             */
    DENIED = 3,           /* denials that are no accident     */
    NAPS_OF_THE_WAIT = 5, /* where no compile's time is known */
    FIRST_NAP_MS = 20,
    NAPS_OF_A_COMPILE = 20, /* where one is                     */
    LEAST_NAP_MS = 10,
    MOST_NAP_MS = 250
};

/* An entry that another host may be making. */
typedef struct wish {
    groat__remote *remote;
    const groat__digest *key;
    const char *identity;
    unsigned expected_ms; /* of a compile here; 0: not known */
    unsigned most_ms;     /* that is waited, without the transfer */
    double start_ms;
    double end_ms; /* with the last look */
    groat__store_blob *out;
} wish;

/* What is known of the key's lease. */
typedef struct sight {
    groat__lease_state state;
    uint64_t holder; /* 0: not seen yet */
    bool changed;    /* holders: the first one may be compiling still */
    /* Times in a row that a free lease was not given; counted if the time of a
     * compile is unknown, so that the wait would be long. */
    unsigned denied;
    bool vain; /* it was waited for and not given                */
    bool slow; /* it took longer than it is worth                */
} sight;

/* Polls are dense about the time at which a compile that began with this wait
 * would end, and sparse before and after.  If the time of a compile is not
 * known, a nap is a part of the time waited so far, so that a short compile is
 * noticed early. */
static unsigned nap_ms(const wish *w)
{
    double now_ms = groat__now_ms();
    double waited_ms = now_ms - w->start_ms;
    double left_ms = w->end_ms - LAST_MS - now_ms;
    double compile_ms = w->expected_ms;
    double ms = waited_ms / NAPS_OF_THE_WAIT;
    double least_ms = FIRST_NAP_MS;

    if (compile_ms > 0) {
        ms = fabs(compile_ms - waited_ms) / 2;
        least_ms = fmax(compile_ms / NAPS_OF_A_COMPILE, LEAST_NAP_MS);
    }
    ms = fmin(fmin(fmax(ms, least_ms), MOST_NAP_MS), left_ms);
    return ms < 1 ? 1 : (unsigned)ms;
}

/* Sleeps between polls.  Returns false if the remote is being closed. */
static bool nap(const wish *w)
{
    double end_ms = groat__now_ms() + nap_ms(w);
    double ms;
    bool hurry;

    (void)pthread_mutex_lock(&w->remote->lock);
    while (!w->remote->hurry && (ms = end_ms - groat__now_ms()) > 0)
        groat__remote_sleep(w->remote, ms);
    hurry = w->remote->hurry;
    (void)pthread_mutex_unlock(&w->remote->lock);
    return !hurry;
}

/* Looks for the entry, for no longer than a compile takes, nor than is left. */
static bool find(const wish *w)
{
    double ms = w->end_ms - groat__now_ms();

    ms = ms < w->most_ms ? ms : w->most_ms;
    ms = ms < GROAT__REMOTE_BUDGET_MS ? ms : GROAT__REMOTE_BUDGET_MS;
    return ms >= 1 && groat__remote_look(w->remote, w->key, w->identity,
                                         (unsigned)ms, w->out);
}

/* Looks again: another host may have written the entry and given back its lease
 * between this host's get and its lease. */
static groat__remote_claim hold(const wish *w)
{
    if (!find(w))
        return GROAT__REMOTE_HELD;
    groat__lease_give(w->remote->lease, w->key);
    return GROAT__REMOTE_FOUND;
}

/* A host that sends nothing does not take the lease. */
static groat__lease_state take(groat__remote *remote, const groat__digest *key)
{
    uint64_t holder;

    return remote->writes ? groat__lease_take(remote->lease, key, LEASE_MS)
                          : groat__lease_look(remote->lease, key, &holder);
}

/* Polls the lease; takes it if it is free. */
static void look(const wish *w, sight *seen)
{
    uint64_t holder = 0;

    seen->state = groat__lease_look(w->remote->lease, w->key, &holder);
    if (seen->state == GROAT__LEASE_TAKEN) {
        seen->changed |= seen->holder != 0 && seen->holder != holder;
        seen->holder = holder;
        seen->denied = 0;
    } else if (seen->state == GROAT__LEASE_FREE) {
        seen->state = take(w->remote, w->key);
        seen->denied +=
            w->expected_ms == 0 && seen->state == GROAT__LEASE_TAKEN;
        if (seen->denied == DENIED) /* the server lies */
            seen->state = GROAT__LEASE_FREE;
    }
    if (seen->state == GROAT__LEASE_NONE)
        groat__background_wake(w->remote);
}

/* Waits for the entry while another host makes it; true: it is found.  The
 * lease is HELD if the caller got it.  Also looks for the entry if the lease is
 * never given back, or the lease server is gone or has forgotten it. */
static bool wait_for(const wish *w, sight *seen)
{
    for (unsigned naps = 1; seen->state != GROAT__LEASE_HELD &&
                            groat__now_ms() < w->end_ms - LAST_MS && nap(w);
         naps++) {
        if ((seen->state == GROAT__LEASE_NONE || seen->changed ||
             naps % LOOK_EACH == 0) &&
            find(w))
            return true;
        look(w, seen);
        if (seen->state == GROAT__LEASE_FREE) /* and not for this host */
            break;
    }
    return false;
}

/* Whether a lease took longer than it is worth. */
static bool is_slow(const wish *w)
{
    double ms = groat__now_ms() - w->start_ms;

    return w->expected_ms > 0 && ms > SLOW_MS && ms > w->expected_ms;
}

static groat__remote_claim claim(const wish *w, sight *seen)
{
    groat__remote *remote = w->remote;
    bool late;

    seen->state = take(remote, w->key);
    seen->slow = is_slow(w);
    if (seen->state == GROAT__LEASE_FREE)
        return GROAT__REMOTE_ALONE;
    if (seen->state == GROAT__LEASE_NONE)
        groat__background_wake(remote);
    if (seen->state == GROAT__LEASE_TAKEN) {
        (void)atomic_fetch_add(&remote->lease_waits, 1);
        if (wait_for(w, seen))
            return GROAT__REMOTE_FOUND;
        late = seen->state == GROAT__LEASE_TAKEN &&
               groat__now_ms() >= w->end_ms - LAST_MS;
        seen->vain = late || seen->denied == DENIED;
        if (late)
            (void)atomic_fetch_add(&remote->lease_timeouts, 1);
    }
    if (seen->state == GROAT__LEASE_HELD)
        return hold(w);
    return find(w) ? GROAT__REMOTE_FOUND : GROAT__REMOTE_ALONE;
}

/* One wait in vain may be an accident of a busy host.  trying: the breaker was
 * open. */
static void note_result(groat__remote *remote, const sight *seen,
                        groat__remote_claim result, bool trying)
{
    if (seen->slow || (seen->vain && result == GROAT__REMOTE_ALONE)) {
        if (trying)
            groat__breaker_extend(remote->waits);
        else if (atomic_fetch_add(&remote->vain, 1) > 0)
            (void)groat__breaker_trip(remote->waits);
    } else if (result != GROAT__REMOTE_ALONE ||
               seen->state == GROAT__LEASE_FREE) {
        atomic_store(&remote->vain, 0);
        groat__breaker_mend(remote->waits);
    }
}

groat__remote_claim groat__remote_lease(groat__remote *remote,
                                        const groat__digest *key,
                                        const char *identity,
                                        unsigned expected_ms,
                                        groat__store_blob *out)
{
    unsigned most_ms = expected_ms != 0 ? expected_ms : LEASE_MS;
    double now_ms = groat__now_ms();
    const wish w = {remote,
                    key,
                    identity,
                    expected_ms,
                    most_ms,
                    now_ms,
                    now_ms + most_ms + WAY_MS,
                    out};
    groat__remote_claim result;
    sight seen = {0};
    bool trying;

    if (remote->lease == NULL || remote->trust->count == 0 ||
        !groat__breaker_is_closed(remote->breaker))
        return GROAT__REMOTE_ALONE;
    trying = !groat__breaker_is_closed(remote->waits);
    if (trying && !groat__breaker_may_try(remote->waits, most_ms + WAY_MS))
        return GROAT__REMOTE_ALONE;
    result = claim(&w, &seen);
    note_result(remote, &seen, result, trying);
    return result;
}

void groat__remote_give(groat__remote *remote, const groat__digest *key)
{
    groat__lease_give(remote->lease, key);
}
