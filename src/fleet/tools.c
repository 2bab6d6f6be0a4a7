/* SPDX-License-Identifier: Apache-2.0
 *
 * tools.c implements what tools do with a remote: send, fetch, list and remove
 * many objects, several at a time.
 *
 * Locking: none of its own.
 */
#include "fleet/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "fleet/folder.h"

enum { PROBE_MS = 1000 }; /* expiry of a lease taken to see whether it works */

static groat_status unreachable(const groat__remote *remote, groat_error *error)
{
    return groat__fail(
        error, GROAT_IO,
        "remote %s cannot be reached: the other objects were skipped",
        remote->place.shown);
}

/* ---- send -------------------------------------------------------------- */

groat_status groat__remote_need_key(const groat__remote *remote,
                                    groat_error *error)
{
    if (remote->writes)
        return GROAT_OK;
    if (remote->key_problem != NULL)
        return groat__fail(error, GROAT_IO, "nothing is sent to remote %s: %s",
                           remote->place.shown, remote->key_problem);
    return groat__fail(error, GROAT_IO,
                       "remote %s is only read here; to send, set "
                       "GROAT_REMOTE_KEY to the path of the secret key that "
                       "signs",
                       remote->place.shown);
}

/* Asks which objects are there; those are not sent again. */
static void ask_first(groat__sender *sender)
{
    groat__exchange heads[GROAT__SENDER_ROOM];

    memset(heads, 0, sizeof(heads));
    for (size_t i = 0; i < sender->count; i++) {
        heads[i].verb = GROAT__OBJECT_HEAD;
        memcpy(heads[i].name, sender->at[i].name, sizeof(heads[i].name));
    }
    groat__remote_run(sender->remote,
                      &(groat__batch){.list = heads,
                                      .count = sender->count,
                                      .budget_ms = sender->budget_ms});
    for (size_t i = 0; i < sender->count; i++) {
        (void)groat__remote_judge(sender->remote, &heads[i], sender->budget_ms);
        if (heads[i].outcome == GROAT__OBJECT_ABSENT)
            continue;
        sender->at[i].outcome = heads[i].outcome == GROAT__OBJECT_DONE
                                    ? GROAT__OBJECT_THERE
                                    : heads[i].outcome;
        memcpy(sender->at[i].why, heads[i].why, sizeof(heads[i].why));
        sender->at[i].verb = GROAT__OBJECT_HEAD; /* nothing to put */
    }
}

static void put_absent(groat__sender *sender)
{
    groat__exchange puts[GROAT__SENDER_ROOM];
    size_t from[GROAT__SENDER_ROOM];
    size_t count = 0;

    for (size_t i = 0; i < sender->count; i++)
        if (sender->at[i].verb == GROAT__OBJECT_PUT) {
            from[count] = i;
            puts[count++] = sender->at[i];
        }
    groat__remote_run(sender->remote,
                      &(groat__batch){.list = puts,
                                      .count = count,
                                      .budget_ms = sender->budget_ms});
    for (size_t i = 0; i < count; i++) {
        (void)groat__remote_judge(sender->remote, &puts[i], sender->budget_ms);
        sender->at[from[i]] = puts[i];
    }
}

void groat__sender_drop(groat__sender *sender)
{
    for (size_t i = 0; i < sender->count / 2; i++)
        groat__str_free(&sender->bodies[i]);
    memset(sender->at, 0, sizeof(sender->at));
    memset(sender->bodies, 0, sizeof(sender->bodies));
    sender->count = 0;
}

static groat_status flush(groat__sender *sender, groat_error *error)
{
    groat_status status = GROAT_OK;

    if (sender->count == 0)
        return GROAT_OK;
    if (sender->asks)
        ask_first(sender);
    put_absent(sender);
    for (size_t i = 0; i < sender->count; i++) {
        const groat__exchange *x = &sender->at[i];

        sender->fn(sender->user, x->name, x->outcome, x->why);
        if (status == GROAT_OK && x->outcome == GROAT__OBJECT_UNTRIED)
            status = unreachable(sender->remote, error);
    }
    groat__sender_drop(sender);
    return status;
}

static void add_object(groat__sender *sender, const char *identity,
                       const groat__digest *key, const groat__str *body)
{
    groat__exchange *x = &sender->at[sender->count++];

    x->verb = GROAT__OBJECT_PUT;
    groat__remote_name(identity, key, x->name);
    x->body = body->data;
    x->bytes = body->len;
}

groat_status groat__sender_add(groat__sender *sender, const groat__entry *entry,
                               size_t wanted, groat_error *error)
{
    groat__digest half = groat__hash128(entry->identity, wanted);
    groat_status status = groat__remote_need_key(sender->remote, error);
    groat__str body = {0};

    if (status == GROAT_OK && sender->count + 2 > GROAT__SENDER_ROOM)
        status = flush(sender, error);
    if (status == GROAT_OK)
        status =
            groat__entry_write(entry, &sender->remote->secret, &body, error);
    if (status != GROAT_OK) {
        groat__str_free(&body);
        return status;
    }
    sender->bodies[sender->count / 2] = body;
    add_object(sender, entry->identity, &entry->key, &body);
    add_object(sender, entry->identity, &half, &body);
    return GROAT_OK;
}

groat_status groat__sender_end(groat__sender *sender, groat_error *error)
{
    return flush(sender, error);
}

/* ---- fetch ------------------------------------------------------------- */

static const char *problem_of(groat__entry_verdict verdict)
{
    switch (verdict) {
    case GROAT__ENTRY_GOOD:
        return NULL;
    case GROAT__ENTRY_REFUSED:
        return "no trusted key signed these bytes of the object";
    case GROAT__ENTRY_MALFORMED: /* counts as a failed exchange */
    case GROAT__ENTRY_NO_MEMORY:
        break;
    }
    return "no memory for the object";
}

/* A fetched object after its check. */
typedef struct brought {
    groat__entry_verdict verdict;
    groat__arrival arrival;
} brought;

typedef struct fetching {
    groat__remote *remote;
    const groat__fetch *what;
    const groat__exchange *list;
    brought *brought; /* one for each exchange in the list */
} fetching;

static void check_fetched(void *user, groat__exchange *x)
{
    const fetching *f = user;
    brought *b = &f->brought[x - f->list];

    (void)groat__remote_take(f->remote, x, f->what->budget_ms, &b->verdict,
                             &b->arrival);
}

static void tell_fetched(void *user, groat__exchange *x)
{
    const fetching *f = user;
    brought *b = &f->brought[x - f->list];
    bool no_memory = x->outcome == GROAT__OBJECT_DONE &&
                     b->verdict == GROAT__ENTRY_NO_MEMORY;
    groat__outcome outcome = no_memory ? GROAT__OBJECT_FAILED : x->outcome;
    groat__digest key;
    const char *why;
    bool wanted;

    why = x->outcome == GROAT__OBJECT_ABSENT ? "the object is missing"
          : x->outcome == GROAT__OBJECT_DONE ? problem_of(b->verdict)
                                             : x->why;
    if (x->outcome == GROAT__OBJECT_ABSENT &&
        groat__unhex(key.bytes, sizeof(key.bytes),
                     x->name + strlen(x->name) - 2 * sizeof(key.bytes)))
        groat__absent_note(&f->remote->absent, &key);
    wanted = f->what->fn(f->what->user, x->name,
                         why == NULL ? &b->arrival : NULL, outcome, why);
    if (x->outcome == GROAT__OBJECT_ABSENT)
        (void)atomic_fetch_add(&f->remote->misses, 1);
    else if (why == NULL)
        groat__remote_count_good(f->remote, x->name, wanted);
    groat__arrival_free(&b->arrival);
    groat__exchange_free(x);
}

static void pause_fetching(void *user)
{
    const fetching *f = user;

    f->what->idle(f->what->user);
}

/* Whether an object of this name may be asked for by this verb. */
static bool is_allowed(const char *name, groat__verb verb)
{
    return groat__remote_is_name(name) ||
           (verb == GROAT__OBJECT_DELETE && groat__remote_is_rest(name));
}

/* *out is a list of exchanges, to be freed with free(). */
static groat_status make_list(char *const *names, size_t count,
                              groat__verb verb, groat__exchange **out,
                              groat_error *error)
{
    groat__exchange *list = calloc(count + 1, sizeof(*list));

    if (list == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a list");
    for (size_t i = 0; i < count; i++) {
        if (!is_allowed(names[i], verb)) {
            free(list);
            return groat__fail(error, GROAT_INVALID,
                               "names[%zu] is '%.100s'; allowed: "
                               "v1/TARGET/KK/KEY",
                               i, names[i]);
        }
        list[i].verb = verb;
        (void)snprintf(list[i].name, sizeof(list[i].name), "%s", names[i]);
    }
    *out = list;
    return GROAT_OK;
}

groat_status groat__remote_fetch(groat__remote *remote,
                                 const groat__fetch *what, groat_error *error)
{
    fetching f = {.remote = remote, .what = what};
    groat__exchange *list = NULL;
    groat_status status =
        make_list(what->names, what->count, GROAT__OBJECT_GET, &list, error);

    if (status != GROAT_OK)
        return status;
    f.list = list;
    f.brought = calloc(what->count + 1, sizeof(*f.brought));
    if (f.brought == NULL) {
        free(list);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a list");
    }
    groat__remote_run_apart(remote,
                            &(groat__batch){.list = list,
                                            .count = what->count,
                                            .budget_ms = what->budget_ms,
                                            .done = tell_fetched,
                                            .idle = pause_fetching,
                                            .user = &f,
                                            .stop = what->stop},
                            check_fetched);
    for (size_t i = 0; i < what->count && status == GROAT_OK && !*what->stop;
         i++)
        if (list[i].outcome == GROAT__OBJECT_UNTRIED)
            status = unreachable(remote, error);
    free(f.brought);
    free(list);
    return status;
}

/* Returns why no object can be there, or NULL, after a get of a name that is
 * never written. */
static const char *problem_of_place(const groat__remote *remote,
                                    const groat__exchange *probe)
{
    struct stat st;

    if (remote->place.kind == GROAT__PLACE_FOLDER &&
        stat(remote->place.base, &st) != 0)
        return "the folder is not there";
    if (probe->outcome == GROAT__OBJECT_DONE)
        return "it answers 200 to any name: is it an object store?";
    return probe->outcome == GROAT__OBJECT_ABSENT ? NULL : probe->why;
}

bool groat__remote_answers(groat__remote *remote, groat__str *text)
{
    groat__exchange x = {.verb = GROAT__OBJECT_GET, .name = "v1/probe"};
    size_t keys = remote->trust->count;
    double start = groat__now_ms();
    const char *problem;

    groat__remote_ask(remote, &x, GROAT__REMOTE_BUDGET_MS);
    problem = problem_of_place(remote, &x);
    groat__str_addf(text, "%s: ", remote->place.shown);
    if (problem != NULL)
        groat__str_add(text, problem);
    else
        groat__str_addf(text, "answers in %.1f ms; %zu trusted %s; %s%s",
                        groat__now_ms() - start, keys,
                        keys == 1 ? "key" : "keys",
                        remote->writes ? "read and written" : "only read",
                        keys > 0 ? "" : "; nothing of it is used");
    groat__exchange_free(&x);
    return problem == NULL && (keys > 0 || remote->writes);
}

bool groat__remote_leases(groat__remote *remote, bool *answers,
                          groat__str *text)
{
    static const groat__digest nobody = {{0}};
    char problem[GROAT__LEASE_PROBLEM] = "";
    double start = groat__now_ms();
    groat__lease_state state;
    uint64_t holder;

    if (remote->lease == NULL)
        return false;
    state = remote->writes ? groat__lease_take(remote->lease, &nobody, PROBE_MS)
                           : groat__lease_look(remote->lease, &nobody, &holder);
    *answers = state != GROAT__LEASE_NONE;
    groat__str_addf(text, "%s: ", groat__lease_shown(remote->lease));
    if (*answers)
        groat__str_addf(text, "answers in %.1f ms", groat__now_ms() - start);
    else
        groat__lease_problem(remote->lease, problem);
    if (state == GROAT__LEASE_HELD &&
        !groat__lease_give(remote->lease, &nobody)) {
        *answers = false;
        groat__lease_problem(remote->lease, problem);
        groat__str_addf(text, " but does not release leases: %s", problem);
    }
    if (state == GROAT__LEASE_NONE)
        groat__str_add(text, *problem != '\0' ? problem : "gives no answer");
    return true;
}

/* ---- list, remove ------------------------------------------------------ */

typedef struct listing {
    groat__listed_fn *fn;
    void *user;
} listing;

/* Skips files that are not objects of ours. */
static int on_listed(void *user, const groat__listed *object)
{
    const listing *l = user;

    return groat__remote_is_name(object->name) ||
                   groat__remote_is_rest(object->name)
               ? l->fn(l->user, object)
               : 0;
}

groat_status groat__remote_list(groat__remote *remote, groat__listed_fn *fn,
                                void *user, groat_error *error)
{
    listing l = {fn, user};
    const char *why = NULL;
    groat__http *http;

    if (remote->place.kind == GROAT__PLACE_FOLDER)
        return groat__folder_list(remote->place.base, on_listed, &l, error);
    http = groat__remote_http(remote, &why);
    return http != NULL ? groat__http_list(http, GROAT__REMOTE_TOOL_MS,
                                           on_listed, &l, error)
                        : groat__fail(error, GROAT_IO, "cannot list %s: %s",
                                      remote->place.shown, why);
}

groat_status groat__remote_remove(groat__remote *remote, char *const *names,
                                  size_t count, uint64_t *removed,
                                  groat_error *error)
{
    groat__exchange *list = NULL;
    groat_status status =
        make_list(names, count, GROAT__OBJECT_DELETE, &list, error);

    if (status != GROAT_OK)
        return status;
    groat__remote_run(remote,
                      &(groat__batch){.list = list,
                                      .count = count,
                                      .budget_ms = GROAT__REMOTE_TOOL_MS});
    for (size_t i = 0; i < count; i++) {
        *removed += list[i].outcome == GROAT__OBJECT_DONE;
        if (status == GROAT_OK && list[i].outcome != GROAT__OBJECT_DONE &&
            list[i].outcome != GROAT__OBJECT_ABSENT)
            status = groat__fail(
                error, GROAT_IO, "cannot remove %s from %s: %s", list[i].name,
                remote->place.shown,
                list[i].why[0] != '\0' ? list[i].why : "it cannot be reached");
    }
    free(list);
    return status;
}
