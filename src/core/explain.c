/* SPDX-License-Identifier: Apache-2.0
 *
 * explain.c says where a kernel would come from, and why not from nearer.
 *
 * Invariant: nothing is compiled, loaded or changed, and no use of an entry is
 * counted (a bundle counts that it was asked); what is told may have changed
 * when the caller reads it.
 * Locking: those of the layers that are asked, one after the other.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"
#include "core/nearest.h"

/* Sizes that a caller's structure has at least. */
enum { EXPLANATION_BYTES = sizeof(groat_explanation) };

static bool is_in_memory(groat_context *context, const groat__digest *key)
{
    bool known;

    (void)pthread_mutex_lock(&context->lock);
    known = groat__kernel_known(context, key) != NULL;
    (void)pthread_mutex_unlock(&context->lock);
    return known;
}

/* A bundle is asked for the entry itself: it reads no list. */
static bool is_in_bundle(groat_context *context, const groat__digest *key,
                         const char *identity)
{
    groat__store_blob blob = {0};
    bool found = groat__layers_get(context, key, identity, &blob) != NULL;

    if (found)
        groat__store_blob_free(&blob);
    return found;
}

static void say(groat_explanation *out, groat_origin origin, const char *text)
{
    out->origin = origin;
    (void)snprintf(out->text, sizeof(out->text), "%s", text);
}

static void say_miss(const groat_context *context, const groat__nearest *n,
                     groat_explanation *out)
{
    const char *none = context->store == NULL
                           ? "there is no store, and no kernel of its family "
                             "in memory"
                           : "neither memory nor the store has a kernel of "
                             "its family";

    out->origin = GROAT_FROM_COMPILER;
    out->fields = n->distance == SIZE_MAX ? 0 : n->distance;
    if (n->distance == SIZE_MAX)
        (void)snprintf(out->text, sizeof(out->text), "%s", none);
    else
        (void)snprintf(out->text, sizeof(out->text),
                       "nearest is %s; of its identity %zu %s other: %s",
                       n->label.data, n->distance,
                       n->distance == 1 ? "line is" : "lines are, first",
                       n->field.data);
}

static groat_status look(groat_context *context, const groat__digest *key,
                         const char *identity, groat_explanation *out,
                         groat_difference_fn *fn, void *user,
                         groat_error *error)
{
    groat__nearest n;
    groat_status status = GROAT_OK;

    if (is_in_memory(context, key)) {
        say(out, GROAT_FROM_MEMORY, "it is in memory");
        return GROAT_OK;
    }
    groat__nearest_start(&n, identity);
    groat__nearest_store(context, &n, true);
    if (n.distance == 0) {
        say(out, GROAT_FROM_DISK, "it is in the store");
    } else if (is_in_bundle(context, key, identity)) {
        say(out, GROAT_FROM_BUNDLE, "it is in a bundle");
    } else {
        groat__nearest_memory(context, &n);
        if (groat__nearest_failed(&n))
            status = groat__fail(error, GROAT_NO_MEMORY,
                                 "no memory to compare kernels");
        else
            say_miss(context, &n, out);
        if (status == GROAT_OK && fn != NULL)
            groat__nearest_each(&n, fn, user);
    }
    groat__nearest_free(&n);
    return status;
}

groat_status groat_explain(groat_spec *spec, groat_explanation *out,
                           groat_difference_fn *fn, void *user,
                           groat_error *error)
{
    groat_explanation found = {.size = out->size};
    groat__str identity = {0};
    groat__digest key;
    groat_status status;

    if (out->size < EXPLANATION_BYTES)
        return groat__fail(error, GROAT_INVALID,
                           "explanation.size is %zu; it is "
                           "sizeof(groat_explanation), %zu",
                           out->size, sizeof(*out));
    status = groat__spec_identity(spec->context, &spec->params, &identity, &key,
                                  error);
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
