/* SPDX-License-Identifier: Apache-2.0
 *
 * remote.c asks a place for entries that other hosts have made.
 *
 * Invariant: an entry that a get returns was signed by a trusted key and has
 * the key and identity that were asked for; nothing that a place does is an
 * error for the caller, or costs more than its budget.
 * Locking: counts are atomics; the breaker and the list of absent keys lock
 * themselves; remote->lock is not held during an exchange.
 */
#include "fleet/remote.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"

/* ---- open, close ------------------------------------------------------- */

static groat_status open_leases(groat__remote *remote,
                                const groat__remote_options *options,
                                groat_error *error)
{
    groat__str name = {0};
    groat_status status =
        groat__lease_open(options->leases, &remote->log, &remote->lease, error);

    if (status != GROAT_OK) {
        remote->lease = NULL;
        return status;
    }
    groat__str_addf(&name, "waits by %s", groat__lease_shown(remote->lease));
    if (!name.failed)
        remote->waits = groat__breaker_of(name.data, GROAT__BREAKER_FIRST_MS);
    groat__str_free(&name);
    return remote->waits != NULL
               ? GROAT_OK
               : groat__fail(error, GROAT_NO_MEMORY, "no memory for leases");
}

/* Opens key and leases.  Without a key the remote is read-only, without leases
 * every host compiles. */
static void open_parts(groat__remote *remote,
                       const groat__remote_options *options)
{
    groat_error error = GROAT_ERROR_INIT;

    if (options->key != NULL) {
        remote->writes = groat__secret_read(options->key, &remote->secret,
                                            &error) == GROAT_OK;
        if (!remote->writes) {
            remote->key_problem = strdup(error.text);
            groat__log_line(&remote->log, GROAT_LOG_WARNING,
                            "nothing is sent to remote %s: %s",
                            remote->place.shown, error.text);
        }
    }
    if (options->leases != NULL && open_leases(remote, options, &error)) {
        groat__lease_close(remote->lease);
        remote->lease = NULL;
        groat__log_line(&remote->log, GROAT_LOG_WARNING,
                        "no leases are taken: %s", error.text);
    }
    groat_error_clear(&error);
}

groat_status groat__remote_open(const groat__remote_options *options,
                                groat__remote **out, groat_error *error)
{
    groat__remote *remote = calloc(1, sizeof(*remote));
    groat_status status;

    if (remote == NULL || !groat__absent_init(&remote->absent) ||
        !groat__wait_init(&remote->lock, &remote->changed)) {
        free(remote);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a remote");
    }
    remote->log = options->log;
    remote->trust = options->trust;
    status =
        groat__place_read(options->url, &options->s3, &remote->place, error);
    if (status == GROAT_OK && options->ca != NULL &&
        (remote->place.ca = strdup(options->ca)) == NULL)
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for a remote");
    if (status == GROAT_OK &&
        (remote->breaker = groat__breaker_of(remote->place.base,
                                             GROAT__BREAKER_FIRST_MS)) == NULL)
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for a remote");
    if (status == GROAT_OK)
        open_parts(remote, options);
    if (status != GROAT_OK) {
        groat__remote_close(remote);
        return status;
    }
    *out = remote;
    return GROAT_OK;
}

void groat__remote_expect(groat__remote *remote)
{
    groat__background_wake(remote);
}

void groat__remote_hurry(groat__remote *remote)
{
    if (remote == NULL)
        return;
    (void)pthread_mutex_lock(&remote->lock);
    remote->hurry = true;
    (void)pthread_cond_broadcast(&remote->changed);
    (void)pthread_mutex_unlock(&remote->lock);
}

void groat__remote_close(groat__remote *remote)
{
    if (remote == NULL)
        return;
    groat__background_stop(remote);
    groat__lease_close(remote->lease);
    groat__http_close(remote->http);
    free(remote->http_problem);
    free(remote->key_problem);
    groat__secret_wipe(&remote->secret);
    groat__place_free(&remote->place);
    groat__wait_free(&remote->lock, &remote->changed);
    groat__absent_free(&remote->absent);
    free(remote);
}

/* ---- one entry --------------------------------------------------------- */

/* Whether any answer would be trusted; warns once if not. */
static bool is_trusted(groat__remote *remote)
{
    if (remote->trust->count == 0 && !atomic_exchange(&remote->said, true))
        groat__log_line(&remote->log, GROAT_LOG_WARNING,
                        "nothing of remote %s is used: no key is trusted; name "
                        "the file of public keys with GROAT_TRUST",
                        remote->place.shown);
    return remote->trust->count > 0;
}

/* Whether to ask for a key: not if it was absent, or the breaker is open. */
static bool is_asked(groat__remote *remote, const groat__digest *key)
{
    if (!is_trusted(remote))
        return false;
    if (groat__absent_knows(&remote->absent, key)) {
        (void)atomic_fetch_add(&remote->known, 1);
        return false;
    }
    if (groat__breaker_is_closed(remote->breaker))
        return true;
    (void)atomic_fetch_add(&remote->skipped, 1);
    groat__background_wake(remote);
    return false;
}

/* Fetches an object; true: *out has its entry, which may be another key's. */
static bool fetch(groat__remote *remote, const char *identity,
                  const groat__digest *key, unsigned budget_ms,
                  groat__arrival *out)
{
    groat__exchange x = {.verb = GROAT__OBJECT_GET};
    groat__entry_verdict verdict;

    groat__remote_name(identity, key, x.name);
    groat__remote_ask(remote, &x, budget_ms);
    if (groat__remote_take(remote, &x, budget_ms, &verdict, out))
        groat__background_wake(remote);
    if (x.outcome == GROAT__OBJECT_ABSENT)
        (void)atomic_fetch_add(&remote->misses, 1);
    /* Not a key whose answer failed: the next one may be good. */
    if (x.outcome == GROAT__OBJECT_ABSENT || verdict == GROAT__ENTRY_REFUSED)
        groat__absent_note(&remote->absent, key);
    groat__exchange_free(&x);
    return verdict == GROAT__ENTRY_GOOD;
}

/* Accepts an entry, or drops one that is signed but not the wanted one. */
static bool accept(groat__remote *remote, bool wanted, const char *identity,
                   const groat__digest *key, groat__arrival *arrival)
{
    char name[GROAT__OBJECT_NAME];

    groat__remote_name(identity, key, name);
    groat__remote_count_good(remote, name, wanted);
    if (wanted)
        return true;
    groat__absent_note(&remote->absent, key);
    groat__arrival_free(arrival);
    return false;
}

bool groat__remote_look(groat__remote *remote, const groat__digest *key,
                        const char *identity, unsigned budget_ms,
                        groat__store_blob *out)
{
    groat__arrival arrival;

    if (remote->trust->count == 0 ||
        !groat__breaker_is_closed(remote->breaker) ||
        !fetch(remote, identity, key, budget_ms, &arrival) ||
        !accept(remote, strcmp(arrival.identity, identity) == 0, identity, key,
                &arrival))
        return false;
    *out = arrival.blob;
    memset(&arrival.blob, 0, sizeof(arrival.blob));
    groat__arrival_free(&arrival);
    return true;
}

bool groat__remote_get(groat__remote *remote, const groat__digest *key,
                       const char *identity, unsigned budget_ms,
                       groat__store_blob *out)
{
    return is_asked(remote, key) &&
           groat__remote_look(remote, key, identity, budget_ms, out);
}

bool groat__remote_made(groat__remote *remote, const char *wanted,
                        unsigned budget_ms, groat__arrival *out)
{
    size_t len = strlen(wanted);
    groat__digest key = groat__hash128(wanted, len);

    return is_asked(remote, &key) &&
           fetch(remote, wanted, &key, budget_ms, out) &&
           accept(remote, strncmp(out->identity, wanted, len) == 0, wanted,
                  &key, out);
}

static void describe_leases(groat__remote *remote, groat_remote_info *info)
{
    groat__lease_counts counts;

    info->lease_waits = atomic_load(&remote->lease_waits);
    info->lease_timeouts = atomic_load(&remote->lease_timeouts);
    if (remote->lease == NULL)
        return;
    groat__lease_count(remote->lease, &counts);
    info->leases = groat__lease_shown(remote->lease);
    info->leases_held = counts.held;
    info->lease_errors = counts.errors;
    info->lease_breaker_open = counts.open;
}

void groat__remote_describe(groat__remote *remote, groat_remote_info *info)
{
    info->url = remote->place.shown;
    info->writes = remote->writes;
    info->trusted_keys = remote->trust->count;
    info->hits = atomic_load(&remote->hits);
    info->misses = atomic_load(&remote->misses);
    info->known_misses = atomic_load(&remote->known);
    info->errors = atomic_load(&remote->errors);
    info->timeouts = atomic_load(&remote->late);
    info->refused = atomic_load(&remote->refused);
    info->malformed = atomic_load(&remote->malformed);
    info->mistaken = atomic_load(&remote->mistaken);
    info->skipped = atomic_load(&remote->skipped);
    info->puts = atomic_load(&remote->puts);
    info->put_failures = atomic_load(&remote->put_failures);
    info->put_drops = atomic_load(&remote->put_drops);
    (void)pthread_mutex_lock(&remote->lock);
    info->waiting = remote->waiting + remote->writing;
    (void)pthread_mutex_unlock(&remote->lock);
    info->bytes_in = atomic_load(&remote->bytes_in);
    info->bytes_out = atomic_load(&remote->bytes_out);
    describe_leases(remote, info);
    (void)pthread_mutex_lock(&remote->breaker->lock);
    info->breaker_open = remote->breaker->open;
    info->breaker_opens = remote->breaker->opens;
    (void)pthread_mutex_unlock(&remote->breaker->lock);
}
