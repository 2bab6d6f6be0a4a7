/* SPDX-License-Identifier: Apache-2.0
 *
 * link.c connects a remote to its place: it runs exchanges, judges the place by
 * them, and names objects.
 *
 * Locking: remote->lock around the opening of libcurl; the breaker locks
 * itself, counts are atomics.
 */
#include "fleet/remote.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "fleet/folder.h"

groat__http *groat__remote_http(groat__remote *remote, const char **why)
{
    groat_error error = GROAT_ERROR_INIT;

    (void)pthread_mutex_lock(&remote->lock);
    if (remote->http == NULL && remote->http_problem == NULL &&
        groat__http_open(&remote->place, &remote->http, &error) != GROAT_OK) {
        remote->http = NULL;
        remote->http_problem = strdup(error.text);
    }
    *why = remote->http_problem != NULL ? remote->http_problem
                                        : "no memory for libcurl";
    (void)pthread_mutex_unlock(&remote->lock);
    groat_error_clear(&error);
    return remote->http;
}

/* Counts the bytes of an exchange before done() may take them away. */
typedef struct counting {
    groat__remote *remote;
    const groat__batch *batch;
} counting;

static void count_bytes(void *user, groat__exchange *x)
{
    const counting *c = user;

    if (x->outcome == GROAT__OBJECT_DONE) {
        (void)atomic_fetch_add(&c->remote->bytes_in, x->answer.len);
        if (x->verb == GROAT__OBJECT_PUT)
            (void)atomic_fetch_add(&c->remote->bytes_out, x->bytes);
    }
    if (c->batch->done != NULL)
        c->batch->done(c->batch->user, x);
}

void groat__remote_run(groat__remote *remote, const groat__batch *batch)
{
    counting c = {remote, batch};
    groat__batch counted = *batch;
    const char *why = NULL;
    groat__http *http;

    counted.done = count_bytes;
    counted.user = &c;
    if (batch->count == 0) {
        return;
    } else if (remote->place.kind == GROAT__PLACE_FOLDER) {
        groat__folder_run(remote->place.base, &counted);
    } else if ((http = groat__remote_http(remote, &why)) != NULL) {
        groat__http_run(http, &counted);
    } else {
        groat__batch_fail(&counted, why);
    }
}

void groat__remote_ask(groat__remote *remote, groat__exchange *x,
                       unsigned budget_ms)
{
    const groat__batch one = {.list = x, .count = 1, .budget_ms = budget_ms};

    groat__remote_run(remote, &one);
}

_Static_assert((int)GROAT__REMOTE_BUDGET_MS >= (int)GROAT__BREAKER_LOST_MS,
               "one late answer to a get opens the breaker");

bool groat__remote_judge(groat__remote *remote, const groat__exchange *x,
                         unsigned budget_ms)
{
    bool opened, first;

    if (x->outcome == GROAT__OBJECT_UNTRIED)
        return false;
    if (x->outcome != GROAT__OBJECT_LATE &&
        x->outcome != GROAT__OBJECT_BROKEN &&
        x->outcome != GROAT__OBJECT_FAILED) {
        if (x->verb == GROAT__OBJECT_GET && x->outcome == GROAT__OBJECT_DONE)
            groat__breaker_mend(remote->breaker);
        else
            groat__breaker_close(remote->breaker);
        return false;
    }
    if (x->outcome != GROAT__OBJECT_BROKEN)
        (void)atomic_fetch_add(
            x->outcome == GROAT__OBJECT_LATE ? &remote->late : &remote->errors,
            1);
    opened = x->outcome == GROAT__OBJECT_LATE
                 ? groat__breaker_late(remote->breaker, budget_ms)
             : x->answered ? groat__breaker_count(remote->breaker)
                           : groat__breaker_trip(remote->breaker);
    first = !atomic_exchange(&remote->said, true);
    if (opened || first)
        groat__log_line(&remote->log, GROAT_LOG_WARNING, "remote %s%s: %s: %s",
                        remote->place.shown,
                        opened ? " is not used for a while" : "", x->name,
                        x->why);
    return opened;
}

/* The text after "\ntarget " up to the end of the line. */
static const char *target_of(const char *identity, size_t *len)
{
    static const char lead[] = "\ntarget ";
    const char *at = strstr(identity, lead);

    at = at == NULL ? "unknown" : at + sizeof(lead) - 1;
    *len = strcspn(at, "\n");
    return at;
}

bool groat__remote_is_name(const char *name)
{
    size_t target;
    uint8_t key[16];

    if (strncmp(name, "v1/", 3) != 0 || strlen(name) >= GROAT__OBJECT_NAME)
        return false;
    name += 3;
    for (target = 0; groat__is_word(name[target]) || name[target] == '-';)
        target++;
    name += target;
    return target > 0 && *name == '/' && strlen(name) == 36 && name[3] == '/' &&
           strncmp(name + 1, name + 4, 2) == 0 &&
           groat__unhex(key, sizeof(key), name + 4);
}

bool groat__remote_is_rest(const char *name)
{
    static const char lead[] = GROAT__OBJECT_PART ".";
    const char *part = strstr(name, lead);
    char object[GROAT__OBJECT_NAME];
    size_t len = part == NULL ? 0 : (size_t)(part - name);
    size_t i;

    if (part == NULL || strlen(name) >= sizeof(object))
        return false;
    part += sizeof(lead) - 1;
    for (i = 0; groat__is_word(part[i]);)
        i++;
    if (i != GROAT__OBJECT_RANDOM || part[i] != '\0')
        return false;
    memcpy(object, name, len);
    object[len] = '\0';
    return groat__remote_is_name(object);
}

void groat__remote_name(const char *identity, const groat__digest *key,
                        char out[GROAT__OBJECT_NAME])
{
    size_t len;
    const char *target = target_of(identity, &len);
    char folder[32];
    char hex[33];
    size_t i;

    for (i = 0; i < len && i < sizeof(folder) - 1; i++)
        folder[i] = groat__is_word(target[i]) ? target[i] : '-';
    folder[i] = '\0';
    groat__hex(hex, key->bytes, sizeof(key->bytes));
    (void)snprintf(out, GROAT__OBJECT_NAME, "v1/%s/%.2s/%s", folder, hex, hex);
}

void groat__remote_sleep(groat__remote *remote, double ms)
{
    const struct timespec end = groat__after_ms(ms);

    (void)pthread_cond_timedwait(&remote->changed, &remote->lock, &end);
}

bool groat__remote_take(groat__remote *remote, groat__exchange *x,
                        unsigned budget_ms, groat__entry_verdict *verdict,
                        groat__arrival *out)
{
    memset(out, 0, sizeof(*out));
    *verdict = GROAT__ENTRY_NO_MEMORY;
    if (x->outcome == GROAT__OBJECT_DONE)
        *verdict = groat__entry_read(&x->answer, remote->trust, out);
    if (*verdict == GROAT__ENTRY_REFUSED &&
        atomic_fetch_add(&remote->refused, 1) == 0)
        groat__log_line(&remote->log, GROAT_LOG_WARNING,
                        "%s of remote %s is signed by no key that is trusted "
                        "here, and is not used; groat fleet check lists such "
                        "objects",
                        x->name, remote->place.shown);
    if (*verdict == GROAT__ENTRY_MALFORMED) {
        (void)atomic_fetch_add(&remote->malformed, 1);
        x->outcome = GROAT__OBJECT_BROKEN;
        (void)snprintf(x->why, sizeof(x->why),
                       "the object is not an entry, or is cut short");
    }
    return groat__remote_judge(remote, x, budget_ms);
}

void groat__remote_count_good(groat__remote *remote, const char *name,
                              bool wanted)
{
    if (wanted)
        (void)atomic_fetch_add(&remote->hits, 1);
    else if (atomic_fetch_add(&remote->mistaken, 1) == 0)
        groat__log_line(&remote->log, GROAT_LOG_WARNING,
                        "%s of remote %s is the entry of another kernel, and "
                        "is not used; groat fleet check lists such objects",
                        name, remote->place.shown);
}
