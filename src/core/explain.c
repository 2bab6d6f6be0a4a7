/* SPDX-License-Identifier: Apache-2.0
 *
 * explain.c tells where a kernel would come from, and why from nowhere nearer.
 *
 * Invariant: nothing is compiled, loaded or counted as a use; an entry that is
 * damaged is dropped, as a get would.  The answer may be outdated when the
 * caller reads it.
 * Locking: that of the layers that are searched, one after the other.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"
#include "core/nearest.h"

static bool is_in_memory(groat_context *context, const groat__digest *key)
{
    groat_kernel *known;

    (void)pthread_mutex_lock(&context->lock);
    known = groat__kernel_known(context, key);
    (void)pthread_mutex_unlock(&context->lock);
    return known != NULL && groat__resident_is_loaded(known);
}

static bool is_stored(groat_context *context, const groat__digest *key,
                      const char *identity)
{
    bool held = false;

    if (context->store != NULL)
        groat__store_held(context->store, &(groat__sought){*key, identity}, 1,
                          &held);
    return held;
}

/* Where a kernel is; searches in the order of a get. */
static groat_origin locate(groat_context *context, const groat__digest *key,
                           const char *identity)
{
    if (is_in_memory(context, key))
        return GROAT_FROM_MEMORY;
    if (is_stored(context, key, identity))
        return GROAT_FROM_DISK;
    return groat__layers_have(context, key, identity) ? GROAT_FROM_BUNDLE
                                                      : GROAT_FROM_COMPILER;
}

/* Names the maker: without a compiler it may be an unusual one. */
static void say_hit(const char *identity, groat_explanation *out)
{
    size_t len;
    const char *maker = groat__key_maker(identity, &len);

    (void)snprintf(out->text, sizeof(out->text), "it is in %s, made by %.*s",
                   out->origin == GROAT_FROM_MEMORY ? "memory"
                   : out->origin == GROAT_FROM_DISK ? "the store"
                                                    : "a bundle",
                   (int)len, maker);
}

static void say_miss(const groat_context *context, const groat__nearest *n,
                     groat_explanation *out)
{
    const char *none = context->store == NULL
                           ? "there is no store, and no kernel of its family "
                             "in memory"
                           : "neither memory nor the store has a kernel of "
                             "its family";

    out->fields = n->distance == SIZE_MAX ? 0 : n->distance;
    if (n->distance == SIZE_MAX)
        (void)snprintf(out->text, sizeof(out->text), "%s", none);
    else
        (void)snprintf(out->text, sizeof(out->text),
                       "nearest is %s, whose identity differs in %zu %s: %s",
                       n->label.data, n->distance,
                       n->distance == 1 ? "line" : "lines, first",
                       n->field.data);
}

static groat_status look(groat_context *context, const groat__digest *key,
                         const char *identity, groat_explanation *out,
                         groat_difference_fn *fn, void *user,
                         groat_error *error)
{
    groat__nearest n;
    groat__callback_scope self;
    groat_status status = GROAT_OK;

    out->origin = locate(context, key, identity);
    if (out->origin != GROAT_FROM_COMPILER) {
        say_hit(identity, out);
        return GROAT_OK;
    }
    if (fn == NULL) {
        (void)snprintf(out->text, sizeof(out->text),
                       "neither memory, the store nor a bundle has it");
        return GROAT_OK;
    }
    groat__nearest_start(&n, identity);
    groat__nearest_store(context, &n, true);
    groat__nearest_memory(context, &n);
    if (!groat__nearest_failed(&n)) {
        say_miss(context, &n, out);
        groat__callback_begin(&context->callbacks, &self);
        groat__nearest_each(&n, fn, user);
        groat__callback_end(&context->callbacks, &self);
    }
    if (groat__nearest_failed(&n))
        status =
            groat__fail(error, GROAT_NO_MEMORY, "no memory to compare kernels");
    groat__nearest_free(&n);
    return status;
}

groat_status groat_explain(groat_spec *spec, groat_explanation *out,
                           groat_difference_fn *fn, void *user,
                           groat_error *error)
{
    groat_explanation found = {0};
    groat__str identity = {0};
    groat__digest key;
    groat_status status;

    if (!groat__is_usable(groat__spec_context(spec)))
        return groat__fail_unusable("spec", spec, error);
    status = groat__check_size(error, "explanation", "groat_explanation", out,
                               sizeof(*out));
    if (status != GROAT_OK)
        return status;
    found.size = out->size;
    status = groat__spec_identity(spec->context, &spec->params, &identity, &key,
                                  NULL, error);
    if (status == GROAT_OK) {
        groat__hex(found.key, key.bytes, sizeof(key.bytes));
        status =
            look(spec->context, &key, identity.data, &found, fn, user, error);
    }
    if (status == GROAT_OK)
        memcpy(out, &found, sizeof(found));
    groat__str_free(&identity);
    return status;
}
