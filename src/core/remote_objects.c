/* SPDX-License-Identifier: Apache-2.0
 *
 * remote_objects.c implements the public calls on a remote's objects, for
 * tools: they are listed, fetched, sent and removed by their names.
 *
 * Locking: the remote's; no lock is held while fn runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"

static groat_status need_remote(const groat_context *context,
                                groat_error *error)
{
    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    if (context->remote != NULL)
        return GROAT_OK;
    return groat__fail(error, GROAT_IO, "there is no remote: %s",
                       context->remote_problem != NULL
                           ? context->remote_problem
                           : "none was named; name one with GROAT_REMOTE");
}

groat_status groat_remote_names_get(groat_spec *spec, groat_remote_names *names,
                                    groat_error *error)
{
    groat_remote_names found = {0};
    groat__str identity = {0};
    groat__digest key;
    groat_status status;

    if (!groat__is_usable(groat__spec_context(spec)))
        return groat__fail_unusable("spec", spec, error);
    status = groat__check_size(error, "names", "groat_remote_names", names,
                               sizeof(*names));
    if (status == GROAT_OK)
        status = groat__spec_named(spec->context, &spec->params, &identity,
                                   &key, error);
    if (status == GROAT_OK) {
        groat__remote_name(identity.data, &key, found.name);
        key = groat__hash128(identity.data, groat__key_wanted(identity.data));
        groat__remote_name(identity.data, &key, found.any);
        found.size = names->size;
        memcpy(names, &found, sizeof(found));
    }
    groat__str_free(&identity);
    return status;
}

/* The state that callbacks of the layers below need to call the caller's fn. */
typedef struct relay {
    groat_context *context;
    groat_remote_fn *fn;
    void *user;
    atomic_bool stopped;
    groat__sender *sender;
    const groat_remote_choice *choice;
    const char **names; /* those of the choice in order; NULL: all entries */
} relay;

static int tell(relay *r, groat_remote_object *object)
{
    groat__callback_scope self;

    if (r->fn == NULL)
        return 0;
    object->size = sizeof(*object);
    groat__callback_begin(&r->context->callbacks, &self);
    if (r->fn(r->user, object) != 0)
        r->stopped = true;
    groat__callback_end(&r->context->callbacks, &self);
    return r->stopped;
}

static int on_listed(void *user, const groat__listed *listed)
{
    groat_remote_object object = {.name = listed->name,
                                  .bytes = listed->bytes,
                                  .modified_s = listed->modified_s};

    if (!groat__remote_is_name(listed->name))
        object.problem = "it is being written, or its writer was killed";
    return tell(user, &object);
}

groat_status groat_remote_list(groat_context *context, groat_remote_fn *fn,
                               void *user, groat_error *error)
{
    relay r = {.context = context, .fn = fn, .user = user};
    groat_status status = need_remote(context, error);

    return status == GROAT_OK
               ? groat__remote_list(context->remote, on_listed, &r, error)
               : status;
}

/* Whether an object's name is one of the two that its identity gives; an object
 * under any other name is misplaced. */
static bool is_named(const char *name, const groat__arrival *arrival)
{
    char by_key[GROAT__OBJECT_NAME];
    char by_half[GROAT__OBJECT_NAME];
    groat__digest half =
        groat__hash128(arrival->identity, groat__key_wanted(arrival->identity));

    groat__remote_name(arrival->identity, &arrival->key, by_key);
    groat__remote_name(arrival->identity, &half, by_half);
    return strcmp(name, by_key) == 0 || strcmp(name, by_half) == 0;
}

/* Fetched objects not yet reported: those to keep are stored in one batch. */
typedef struct fetching {
    relay to;
    bool keep;
    size_t count;
    struct {
        char name[GROAT__OBJECT_NAME];
        groat__arrival arrival;
    } at[GROAT__PUT_MOST];
} fetching;

static void tell_arrival(relay *r, const char *name,
                         const groat__arrival *arrival, groat__addition added)
{
    groat_remote_object object = {.name = name,
                                  .bytes = arrival->blob.bytes,
                                  .done = added == GROAT__ADDED};
    groat__str spec = {0};
    groat__str target = {0};

    if (added == GROAT__ADD_FAILED)
        object.problem =
            "the store did not take the entry: the store is full, locked or "
            "cannot be written, or its bound is too small";
    groat__hex(object.key, arrival->key.bytes, sizeof(arrival->key.bytes));
    groat__hex(object.signer, arrival->signer, sizeof(arrival->signer));
    if (groat__key_read(arrival->identity, &spec, &target) && spec.len > 0) {
        object.spec = spec.data;
        object.target = target.data;
    }
    (void)tell(r, &object);
    groat__str_free(&spec);
    groat__str_free(&target);
}

/* A kernel has two objects of one entry: the second is HELD by then. */
static void add_arrivals(const fetching *f, groat__addition out[])
{
    groat__entry entries[GROAT__PUT_MOST];

    for (size_t i = 0; i < f->count; i++) {
        const groat__arrival *a = &f->at[i].arrival;

        entries[i] = (groat__entry){a->key,       a->identity,   a->blob.log,
                                    a->blob.data, a->blob.bytes, a->blob.facts};
    }
    groat__store_add(f->to.context->store, entries, f->count, out);
}

/* Stores and tells of what has come.  Called when the next object has yet to
 * come, too, so that the store works while others are transferred. */
static void flush(void *user)
{
    fetching *f = user;
    groat__addition added[GROAT__PUT_MOST];

    for (size_t i = 0; i < f->count; i++)
        added[i] = GROAT__ADD_HELD;
    if (f->keep)
        add_arrivals(f, added);
    for (size_t i = 0; i < f->count; i++) {
        if (!f->to.stopped)
            tell_arrival(&f->to, f->at[i].name, &f->at[i].arrival, added[i]);
        groat__arrival_free(&f->at[i].arrival);
    }
    f->count = 0;
}

static bool on_fetched(void *user, const char *name, groat__arrival *arrival,
                       groat__outcome outcome, const char *why)
{
    groat_remote_object object = {.name = name, .problem = why};
    bool wanted = arrival == NULL || is_named(name, arrival);
    fetching *f = user;

    if (f->to.stopped)
        return wanted;
    if (!wanted)
        object.problem = "it is the entry of another kernel";
    object.absent = outcome == GROAT__OBJECT_ABSENT;
    object.refused =
        object.problem != NULL &&
        (outcome == GROAT__OBJECT_DONE || outcome == GROAT__OBJECT_BROKEN);
    if (object.problem != NULL) {
        (void)tell(&f->to, &object);
        return wanted;
    }
    (void)snprintf(f->at[f->count].name, GROAT__OBJECT_NAME, "%s", name);
    f->at[f->count++].arrival = *arrival;
    memset(arrival, 0, sizeof(*arrival));
    if (f->count == GROAT__PUT_MOST)
        flush(f);
    return true;
}

static groat_status fetch_all(const relay *to, bool keep, char *const *names,
                              size_t count, unsigned budget_ms,
                              groat_error *error)
{
    fetching *f = calloc(1, sizeof(*f));
    groat_status status;

    if (f == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a list");
    f->to = *to;
    f->keep = keep;
    status = groat__remote_fetch(to->context->remote,
                                 &(groat__fetch){.names = names,
                                                 .count = count,
                                                 .budget_ms = budget_ms,
                                                 .stop = &f->to.stopped,
                                                 .fn = on_fetched,
                                                 .idle = flush,
                                                 .user = f},
                                 error);
    flush(f);
    free(f);
    return status;
}

/* Says which objects are of entries that the store has under their key. */
static groat_status find_held(groat_context *context, char *const *names,
                              size_t count, bool *held, groat_error *error)
{
    groat__sought *sought = calloc(count + 1, sizeof(*sought));

    if (sought == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a list");
    for (size_t i = 0; i < count; i++)
        if (!groat__remote_is_name(names[i]) ||
            !groat__unhex(sought[i].key.bytes, sizeof(sought[i].key.bytes),
                          strrchr(names[i], '/') + 1))
            sought[i] = (groat__sought){0}; /* fetching will refuse it */
    groat__store_held(context->store, sought, count, held);
    free(sought);
    return GROAT_OK;
}

/* What is stored first may be evicted for what comes later. */
static void warn_of_evictions(groat_context *context, uint64_t before)
{
    groat_cache_stat stat = {.size = sizeof(stat)};

    if (groat__store_stat(context->store, &stat, NULL) == GROAT_OK &&
        stat.evictions > before)
        groat__log_line(&context->env.log, GROAT_LOG_WARNING,
                        "the objects were more than the bound of %llu bytes "
                        "allows: %llu entries were evicted meanwhile",
                        (unsigned long long)stat.max_bytes,
                        (unsigned long long)(stat.evictions - before));
}

/* Fetches and stores what the store lacks; tells of the rest without asking. */
static groat_status keep_all(relay *to, char *const *names, size_t count,
                             unsigned budget_ms, groat_error *error)
{
    groat_cache_stat stat = {.size = sizeof(stat)};
    bool *held = calloc(count + 1, sizeof(*held));
    char **absent = calloc(count + 1, sizeof(*absent));
    size_t left = 0;
    groat_status status =
        held == NULL || absent == NULL
            ? groat__fail(error, GROAT_NO_MEMORY, "no memory for a list")
            : find_held(to->context, names, count, held, error);

    for (size_t i = 0; i < count && status == GROAT_OK && !to->stopped; i++)
        if (held[i])
            (void)tell(to, &(groat_remote_object){.name = names[i]});
        else
            absent[left++] = names[i];
    if (status == GROAT_OK && !to->stopped) {
        (void)groat__store_stat(to->context->store, &stat, NULL);
        status = fetch_all(to, true, absent, left, budget_ms, error);
        warn_of_evictions(to->context, stat.evictions);
    }
    free(absent);
    free(held);
    return status;
}

void groat__objects_prefetch(groat_context *context, char *const *names,
                             size_t count)
{
    const relay nobody = {.context = context};

    (void)fetch_all(&nobody, true, names, count, GROAT__REMOTE_BUDGET_MS, NULL);
}

groat_status groat_remote_fetch(groat_context *context, char *const *names,
                                size_t count, unsigned flags,
                                groat_remote_fn *fn, void *user,
                                groat_error *error)
{
    const unsigned known = GROAT_REMOTE_KEEP | GROAT_REMOTE_BRIEF;
    unsigned budget_ms = (flags & GROAT_REMOTE_BRIEF) != 0
                             ? GROAT__REMOTE_BUDGET_MS
                             : GROAT__REMOTE_TOOL_MS;
    relay to = {.context = context, .fn = fn, .user = user};
    groat_status status = need_remote(context, error);

    if (status == GROAT_OK && (flags & ~known) != 0)
        status = groat__fail(error, GROAT_INVALID, "flags is 0x%x; known: 0x%x",
                             flags, known);
    if (status == GROAT_OK && (flags & GROAT_REMOTE_KEEP) != 0)
        status = groat__need_store(context, error);
    if (status != GROAT_OK)
        return status;
    return (flags & GROAT_REMOTE_KEEP) != 0
               ? keep_all(&to, names, count, budget_ms, error)
               : fetch_all(&to, false, names, count, budget_ms, error);
}

static void on_sent(void *user, const char *name, groat__outcome outcome,
                    const char *why)
{
    groat_remote_object object = {.name = name};

    object.done = outcome == GROAT__OBJECT_DONE;
    if (!object.done && outcome != GROAT__OBJECT_THERE)
        object.problem = *why != '\0' ? why : "the remote cannot be reached";
    (void)tell(user, &object);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Makes r->names, the chosen names in order; r->names stays NULL if all entries
 * are chosen. */
static groat_status sort_names(relay *r, groat_error *error)
{
    const groat_remote_choice *choice = r->choice;

    if (choice->names == NULL)
        return GROAT_OK;
    r->names = calloc(choice->name_count + 1, sizeof(*r->names));
    if (r->names == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for names");
    for (size_t i = 0; i < choice->name_count; i++)
        r->names[i] = choice->names[i];
    qsort((void *)r->names, choice->name_count, sizeof(*r->names),
          compare_names);
    return GROAT_OK;
}

static bool is_chosen(const relay *r, const groat__entry *entry)
{
    char name[GROAT__OBJECT_NAME];
    const char *wanted = name;

    if (r->names == NULL)
        return true;
    groat__remote_name(entry->identity, &entry->key, name);
    return bsearch(&wanted, (const void *)r->names, r->choice->name_count,
                   sizeof(*r->names), compare_names) != NULL;
}

static groat_status send_one(void *user, const groat__entry *entry,
                             groat_error *error)
{
    relay *r = user;
    char name[GROAT__OBJECT_NAME];
    groat_error own = GROAT_ERROR_INIT;
    groat_status status;

    if (!is_chosen(r, entry))
        return GROAT_OK;
    if (entry->data == NULL) {
        groat__remote_name(entry->identity, &entry->key, name);
        on_sent(r, name, GROAT__OBJECT_FAILED,
                "the store's entry is damaged; groat cache verify drops it");
        return GROAT_OK;
    }
    status = groat__sender_add(r->sender, entry,
                               groat__key_wanted(entry->identity), &own);
    /* An entry that is too large does not stop the others. */
    if (status == GROAT_INVALID) {
        groat__remote_name(entry->identity, &entry->key, name);
        on_sent(r, name, GROAT__OBJECT_FAILED, own.text);
        status = GROAT_OK;
    } else if (status != GROAT_OK) {
        groat__error_copy(error, &own);
    }
    groat_error_clear(&own);
    return status;
}

/* Passes the entries of the store, or of the bundle, to send_one(). */
static groat_status send_chosen(relay *r, groat_error *error)
{
    const groat_remote_choice *choice = r->choice;
    groat_context *context = r->context;
    groat__bundle *from = NULL;
    char **lines = NULL;
    groat_status status =
        choice->bundle != NULL
            ? groat__bundle_open(choice->bundle, &context->env.log, &from,
                                 error)
            : groat__need_store(context, error);

    if (status == GROAT_OK)
        status = sort_names(r, error);
    if (status == GROAT_OK)
        status = groat__target_lines(context, choice->targets,
                                     choice->target_count, &lines, error);
    if (status == GROAT_OK)
        status =
            from != NULL
                ? groat__bundle_walk(from, (const char *const *)lines,
                                     choice->target_count, send_one, r, error)
                : groat__store_walk(context->store, (const char *const *)lines,
                                    choice->target_count, send_one, r, error);
    groat__target_lines_free(lines, choice->target_count);
    groat__bundle_close(from);
    free((void *)r->names);
    return status;
}

groat_status groat_remote_push(groat_context *context,
                               const groat_remote_choice *choice,
                               groat_remote_fn *fn, void *user,
                               groat_error *error)
{
    const groat_remote_choice all = {.size = sizeof(all)};
    relay r = {.context = context, .fn = fn, .user = user};
    groat__sender sender = {.budget_ms = GROAT__REMOTE_TOOL_MS,
                            .asks = true,
                            .fn = on_sent,
                            .user = &r};
    groat_status status;

    r.sender = &sender;
    r.choice = choice != NULL ? choice : &all;
    status = groat__check_size(error, "choice", "groat_remote_choice", r.choice,
                               sizeof(*r.choice));
    if (status == GROAT_OK)
        status = need_remote(context, error);
    if (status == GROAT_OK)
        status = groat__remote_need_key(context->remote, error);
    if (status != GROAT_OK)
        return status;
    sender.remote = context->remote;
    status = send_chosen(&r, error);
    return status == GROAT_OK ? groat__sender_end(&sender, error)
                              : (groat__sender_drop(&sender), status);
}

groat_status groat_remote_remove(groat_context *context, char *const *names,
                                 size_t count, uint64_t *removed,
                                 groat_error *error)
{
    groat_status status = need_remote(context, error);
    uint64_t sum = 0;

    if (status == GROAT_OK)
        status =
            groat__remote_remove(context->remote, names, count, &sum, error);
    if (removed != NULL)
        *removed = sum;
    return status;
}
