/* SPDX-License-Identifier: Apache-2.0
 *
 * stored.c implements the public calls of the store.  They are about the store,
 * so unlike groat_kernel_get they fail when there is none.
 */
#include <string.h>

#include "base/error.h"
#include "core/core.h"

groat_status groat__need_store(const groat_context *context, groat_error *error)
{
    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    if (context->store != NULL)
        return GROAT_OK;
    return groat__fail(error, GROAT_IO, "there is no store: %s",
                       context->store_problem != NULL ? context->store_problem
                                                      : "none was opened");
}

groat_status groat__need_path(const char *path, groat_error *error)
{
    return path != NULL ? GROAT_OK
                        : groat__fail(error, GROAT_INVALID, "the path is NULL");
}

const char *groat_cache_path(const groat_context *context)
{
    return context == NULL || context->store == NULL
               ? NULL
               : groat__store_path(context->store);
}

const char *groat_cache_problem(const groat_context *context)
{
    return context != NULL ? context->store_problem : NULL;
}

groat_status groat_cache_stat_get(groat_context *context,
                                  groat_cache_stat *stat, groat_error *error)
{
    groat_cache_stat found = {0};
    groat_status status = GROAT_OK;

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    status = groat__check_size(error, "stat", "groat_cache_stat", stat,
                               sizeof(*stat));
    if (status != GROAT_OK)
        return status;
    found.size = stat->size;
    found.max_bytes = context->store_max_bytes;
    if (context->store != NULL)
        status = groat__store_stat(context->store, &found, error);
    if (status != GROAT_OK)
        return status;
    found.memory_hits = groat__tally_sum(&context->memory_hits);
    found.compiles = atomic_load(&context->compiles);
    found.sealed = atomic_load(&context->seal.misses);
    found.refusals = atomic_load(&context->failures.answers);
    found.fallbacks = atomic_load(&context->seal.fallbacks);
    found.loads = atomic_load(&context->resident.loads);
    found.unloads = atomic_load(&context->resident.unloads);
    found.deferred_unloads = atomic_load(&context->resident.deferred);
    found.loaded_bytes = atomic_load(&context->resident.bytes);
    found.loaded_max_bytes = context->resident.max_bytes;
    groat__layers_stat(context, &found);
    *stat = found;
    return GROAT_OK;
}

typedef struct relay {
    groat__callbacks *callbacks;
    groat_cache_fn *fn;
    void *user;
    bool no_memory;
} relay;

/* The store does not parse identities: adds spec and target to the entry. */
static int tell(void *user, const groat_cache_entry *entry)
{
    relay *r = user;
    groat_cache_entry full = *entry;
    groat__str spec = {0};
    groat__str target = {0};
    groat__callback_scope self;
    int stop = 1;

    if (groat__key_read(entry->identity, &spec, &target)) {
        full.spec = spec.len > 0 ? spec.data : "";
        full.target = target.data;
    }
    r->no_memory = spec.failed || target.failed;
    if (!r->no_memory) {
        groat__callback_begin(r->callbacks, &self);
        stop = r->fn(r->user, &full);
        groat__callback_end(r->callbacks, &self);
    }
    groat__str_free(&spec);
    groat__str_free(&target);
    return stop;
}

groat_status groat_cache_each(groat_context *context, const char *key_prefix,
                              groat_cache_fn *fn, void *user,
                              groat_error *error)
{
    groat_status status = groat__need_store(context, error);
    relay r = {.fn = fn, .user = user};

    if (status != GROAT_OK)
        return status;
    r.callbacks = &context->callbacks;
    status = groat__store_each(context->store, key_prefix, tell, &r, error);
    return status == GROAT_OK && r.no_memory
               ? groat__fail(error, GROAT_NO_MEMORY, "no memory for a listing")
               : status;
}

groat_status groat_cache_verify(groat_context *context, uint64_t *checked,
                                uint64_t *dropped, groat_error *error)
{
    groat_status status = groat__need_store(context, error);

    if (status != GROAT_OK)
        return status;
    return groat__store_verify(context->store, checked, dropped, error);
}

groat_status groat_cache_gc(groat_context *context, uint64_t max_bytes,
                            uint64_t *evicted, groat_error *error)
{
    groat_status status = groat__need_store(context, error);

    if (status != GROAT_OK)
        return status;
    return groat__store_gc(
        context->store, max_bytes != 0 ? max_bytes : context->store_max_bytes,
        evicted, error);
}

groat_status groat_cache_clear(groat_context *context, uint64_t *dropped,
                               groat_error *error)
{
    groat_status status = groat__need_store(context, error);

    if (status != GROAT_OK)
        return status;
    return groat__store_clear(context->store, dropped, error);
}

groat_status groat_cache_backup(groat_context *context, const char *path,
                                groat_error *error)
{
    groat_status status = groat__need_store(context, error);

    if (status == GROAT_OK)
        status = groat__need_path(path, error);
    if (status != GROAT_OK)
        return status;
    return groat__store_backup(context->store, path, error);
}
