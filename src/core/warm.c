/* SPDX-License-Identifier: Apache-2.0
 *
 * warm.c gets a list of kernels, from a program or a manifest, before they are
 * needed: one after another, on the calling thread, into whose device context
 * they are loaded.  A kernel that fails does not stop the others.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "core/core.h"
#include "core/manifest.h"

static const groat_warm_item *item_at(const groat_warm_item *items,
                                      size_t index)
{
    /* The caller's structure may be longer than ours. */
    return (const groat_warm_item *)(const void *)((const char *)items +
                                                   index * items->size);
}

static groat_status build_one(groat_context *context,
                              const groat_warm_item *item, groat_origin *origin,
                              groat_error *error)
{
    groat_kernel_info info = {.size = sizeof(info)};
    groat_spec *spec = NULL;
    groat_status status =
        groat_spec_parse(context, item->spec, item->target, &spec, error);

    if (status == GROAT_OK)
        status = groat_build(spec, NULL, NULL, &info, error);
    if (status == GROAT_OK)
        *origin = info.origin;
    groat_spec_free(spec);
    return status;
}

static groat_status load_one(groat_context *context,
                             const groat_warm_item *item, groat_origin *origin,
                             groat_error *error)
{
    groat_kernel *kernel = NULL;
    groat_status status = groat_kernel_get(context, item->spec, item->target,
                                           &kernel, origin, error);

    groat_kernel_release(kernel);
    if (status == GROAT_OK && *origin == GROAT_FROM_FALLBACK)
        return groat__fail(error, GROAT_SEALED,
                           "the context is sealed, and %s is not in memory; "
                           "warm it before groat_seal()",
                           item->spec);
    return status;
}

static void add_up(groat_warm_result *sums, groat_status status,
                   groat_origin origin)
{
    if (status != GROAT_OK)
        sums->failed++;
    else if (origin == GROAT_FROM_COMPILER)
        sums->compiled++;
    else if (origin == GROAT_FROM_DISK)
        sums->from_disk++;
    else if (origin == GROAT_FROM_BUNDLE)
        sums->from_bundle++;
    else if (origin == GROAT_FROM_REMOTE)
        sums->from_remote++;
    else
        sums->from_memory++;
}

static groat_status check_items(const groat_warm_item *items, size_t count,
                                groat_error *error)
{
    if (count > 0 && items == NULL)
        return groat__fail(error, GROAT_INVALID, "there are no items");
    return count == 0 ? GROAT_OK
                      : groat__check_size(error, "items[0]", "groat_warm_item",
                                          items, sizeof(*items));
}

static groat_status check(unsigned flags, const groat_warm_result *result,
                          groat_error *error)
{
    if ((flags & ~(unsigned)GROAT_WARM_BUILD) != 0)
        return groat__fail(error, GROAT_INVALID, "flags is 0x%x; known: 0x%x",
                           flags, (unsigned)GROAT_WARM_BUILD);
    return result == NULL
               ? GROAT_OK
               : groat__check_size(error, "result", "groat_warm_result", result,
                                   sizeof(*result));
}

/* The name of the remote object to fetch for an item, malloc'd; NULL: none is
 * needed, or an error. */
static char *wanted_object(groat_context *context, const groat_warm_item *item)
{
    char name[GROAT__OBJECT_NAME] = "";
    groat__str identity = {0};
    groat_spec *spec = NULL;
    groat__digest key;

    if (groat_spec_parse(context, item->spec, item->target, &spec, NULL) ==
            GROAT_OK &&
        groat__spec_named(context, &spec->params, &identity, &key, NULL) ==
            GROAT_OK &&
        !groat__store_has(context->store, &key, identity.data) &&
        !groat__layers_have(context, &key, identity.data))
        groat__remote_name(identity.data, &key, name);
    groat__str_free(&identity);
    groat_spec_free(spec);
    return *name == '\0' ? NULL : strdup(name);
}

/* Fetches the entries that other hosts have made in one batch. */
static void prefetch(groat_context *context, const groat__warm_list *list)
{
    size_t count = 0;
    char **names;

    if (context->remote == NULL || context->store == NULL ||
        context->layers.trust.count == 0 || list->count < 2 ||
        groat__seal_is_on(&context->seal))
        return;
    names = calloc(list->count, sizeof(*names));
    for (size_t i = 0; names != NULL && i < list->count; i++) {
        names[count] = wanted_object(context, item_at(list->items, i));
        count += names[count] != NULL;
    }
    /* To name the objects, the remote may have been asked in vain. */
    if (count > 1 && groat__breaker_is_closed(context->remote->breaker))
        groat__objects_prefetch(context, names, count);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* Warms one item; fills *event except for its error. */
static void warm_one(groat_context *context, const groat__warm_list *list,
                     unsigned flags, groat_warm_event *event,
                     groat_error *error)
{
    const groat_warm_item *item = item_at(list->items, event->index);
    double start = groat__now_ms();

    event->count = list->count;
    event->item = item;
    event->status = (flags & GROAT_WARM_BUILD) != 0
                        ? build_one(context, item, &event->origin, error)
                        : load_one(context, item, &event->origin, error);
    event->ms = groat__now_ms() - start;
    if (list->name == NULL)
        return;
    event->line = list->lines[event->index];
    if (event->status != GROAT_OK)
        groat__error_lead(error, "%s:%zu: ", list->name, event->line);
}

/* Hosts that start together with the same list would all wait for the kernel
 * that one of them compiles: with leases each begins somewhere else. */
static size_t first_item(const groat_context *context,
                         const groat__warm_list *list)
{
    uint64_t seed[2] = {groat__now_ns(), (uint64_t)getpid()};

    if (context->remote == NULL || context->remote->lease == NULL ||
        list->count == 0)
        return 0;
    return (size_t)(groat__hash64(seed, sizeof(seed)) % list->count);
}

/* Returns the first failure, after all items were tried or fn has stopped. */
static groat_status warm_list(groat_context *context,
                              const groat__warm_list *list, unsigned flags,
                              groat_warm_fn *fn, void *user,
                              groat_warm_result *result, groat_error *error)
{
    groat_warm_result sums = {.size = sizeof(sums)};
    groat_error own = GROAT_ERROR_INIT;
    groat_status first = GROAT_OK;
    groat__callback_scope self;
    size_t start = first_item(context, list);
    bool stop = false;

    prefetch(context, list);
    for (size_t i = 0; i < list->count && !stop; i++) {
        groat_warm_event event = {.size = sizeof(event),
                                  .index = (start + i) % list->count};

        warm_one(context, list, flags, &event, &own);
        add_up(&sums, event.status, event.origin);
        event.failed = sums.failed;
        event.error = &own;
        if (event.status != GROAT_OK && first == GROAT_OK) {
            first = event.status;
            groat__error_copy(error, &own);
        }
        if (fn != NULL) {
            groat__callback_begin(&context->callbacks, &self);
            stop = fn(user, &event) != 0;
            groat__callback_end(&context->callbacks, &self);
        }
        groat_error_clear(&own);
    }
    if (result != NULL) {
        sums.size = result->size;
        memcpy(result, &sums, sizeof(sums));
    }
    return first;
}

groat_status groat_warm(groat_context *context, const groat_warm_item *items,
                        size_t count, unsigned flags, groat_warm_fn *fn,
                        void *user, groat_warm_result *result,
                        groat_error *error)
{
    const groat__warm_list list = {.items = items, .count = count};
    groat_status status = check_items(items, count, error);

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    if (status == GROAT_OK)
        status = check(flags, result, error);
    return status == GROAT_OK
               ? warm_list(context, &list, flags, fn, user, result, error)
               : status;
}

groat_status groat_warm_file(groat_context *context, const char *path,
                             const char *target, unsigned flags,
                             groat_warm_fn *fn, void *user,
                             groat_warm_result *result, groat_error *error)
{
    groat__warm_list list;
    groat_status status = check(flags, result, error);

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    if (status == GROAT_OK)
        status = groat__warm_list_read(path, target, &list, error);
    if (status != GROAT_OK)
        return status;
    status = warm_list(context, &list, flags, fn, user, result, error);
    groat__warm_list_free(&list);
    return status;
}
