/* SPDX-License-Identifier: Apache-2.0
 *
 * layers.c owns the bundles of a context, which lie beneath its store: which
 * are opened, who must have signed them, and the order in which they are
 * searched.  A bundle that cannot be used is no error: it stays in the list
 * with its problem, and one warning is logged.
 *
 * Invariant: a bundle that is used was signed by a trusted key, or lies in the
 * program's memory, or the caller allowed unsigned ones.
 * Locking: the list does not change once the context is open; a bundle locks
 * itself.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"

/* Without a list no signer is trusted; an unreadable list is logged. */
static void read_trust(groat_context *context, const char *path)
{
    groat_error inner = GROAT_ERROR_INIT;

    if (path == NULL)
        return;
    if (groat__trust_read(path, &context->layers.trust, &inner) != GROAT_OK)
        groat__log_line(&context->env.log, GROAT_LOG_WARNING,
                        "no bundle is trusted: %s", inner.text);
    groat_error_clear(&inner);
}

/* Returns NULL if memory runs out. */
static groat__layer *add_layer(groat__layers *layers, const char *path,
                               size_t len)
{
    groat__layer *at =
        realloc(layers->at, (layers->count + 1) * sizeof(layers->at[0]));
    groat__layer *layer;

    if (at == NULL)
        return NULL;
    layers->at = at;
    layer = &at[layers->count];
    memset(layer, 0, sizeof(*layer));
    layer->path = strndup(path, len);
    if (layer->path == NULL)
        return NULL;
    layers->count++;
    return layer;
}

static void lose_layer(groat_context *context, groat__layer *layer,
                       const char *why)
{
    groat__bundle_close(layer->bundle);
    layer->bundle = NULL;
    layer->problem = strdup(why);
    groat__log_line(&context->env.log, GROAT_LOG_WARNING,
                    "a bundle is not used: %s", why);
}

static void open_file(groat_context *context, const char *path, size_t len)
{
    groat__layers *layers = &context->layers;
    groat__layer *layer = add_layer(layers, path, len);
    groat_error inner = GROAT_ERROR_INIT;
    groat_status status;

    if (layer == NULL)
        return;
    status = groat__bundle_open(layer->path, &context->env.log, &layer->bundle,
                                &inner);
    if (status == GROAT_OK) {
        status = groat__trust_check(&layers->trust, layer->bundle, &inner);
        layer->trusted = status == GROAT_OK;
        if (layers->allow_unsigned)
            status = GROAT_OK;
    }
    if (status != GROAT_OK)
        lose_layer(context, layer, inner.text);
    groat_error_clear(&inner);
}

static void open_image(groat_context *context, const groat_bundle_image *image)
{
    const char *name = image->name != NULL ? image->name : "(image)";
    groat__layer *layer = add_layer(&context->layers, name, strlen(name));
    groat_error inner = GROAT_ERROR_INIT;

    if (layer == NULL)
        return;
    layer->trusted = true;
    if (groat__bundle_open_image(image->data, image->bytes, name,
                                 &context->env.log, &layer->bundle,
                                 &inner) != GROAT_OK)
        lose_layer(context, layer, inner.text);
    groat_error_clear(&inner);
}

void groat__layers_open(groat_context *context, const groat_options *options,
                        const char *names, const char *trust)
{
    context->layers.allow_unsigned = options->allow_unsigned != 0;
    read_trust(context, trust);
    for (const char *at = names; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, ":");

        if (len > 0)
            open_file(context, at, len);
        at += len + (at[len] == ':');
    }
    for (size_t i = 0; options->bundles != NULL && i < options->bundle_count;
         i++)
        open_file(context, options->bundles[i], strlen(options->bundles[i]));
    for (size_t i = 0; options->images != NULL && i < options->image_count; i++)
        open_image(context, &options->images[i]);
}

void groat__layers_show(groat_context *context)
{
    for (size_t i = 0; i < context->layers.count; i++)
        groat__bundle_show(context->layers.at[i].bundle, &context->ranges);
}

void groat__layers_close(groat__layers *layers)
{
    for (size_t i = 0; i < layers->count; i++) {
        groat__bundle_close(layers->at[i].bundle);
        free(layers->at[i].path);
        free(layers->at[i].problem);
    }
    free(layers->at);
    groat__trust_free(&layers->trust);
}

groat__bundle *groat__layers_get(groat_context *context,
                                 const groat__digest *key, const char *identity,
                                 groat__store_blob *out)
{
    groat__layers *layers = &context->layers;

    for (size_t i = 0; i < layers->count; i++)
        if (layers->at[i].bundle != NULL &&
            groat__bundle_get(layers->at[i].bundle, key, identity, out))
            return layers->at[i].bundle;
    if (layers->count > 0)
        (void)atomic_fetch_add(&layers->misses, 1);
    return NULL;
}

bool groat__layers_have(const groat_context *context, const groat__digest *key,
                        const char *identity)
{
    const groat__layers *layers = &context->layers;

    for (size_t i = 0; i < layers->count; i++)
        if (layers->at[i].bundle != NULL &&
            groat__bundle_has(layers->at[i].bundle, key, identity))
            return true;
    return false;
}

bool groat__layers_newest(const groat_context *context, const char *begin,
                          groat__str *out)
{
    const groat__layers *layers = &context->layers;

    for (size_t i = 0; i < layers->count; i++)
        if (layers->at[i].bundle != NULL &&
            groat__bundle_newest(layers->at[i].bundle, begin, out))
            return true;
    return false;
}

bool groat__layers_recent(const groat_context *context, const char *one,
                          const char *other, groat__str *out)
{
    const groat__layers *layers = &context->layers;

    for (size_t i = 0; i < layers->count; i++)
        if (layers->at[i].bundle != NULL &&
            groat__bundle_recent(layers->at[i].bundle, one, other, out))
            return true;
    return false;
}

void groat__layers_stat(groat_context *context, groat_cache_stat *stat)
{
    const groat__layers *layers = &context->layers;

    for (size_t i = 0; i < layers->count; i++) {
        groat__bundle_counts counts;

        groat__bundle_count(layers->at[i].bundle, &counts);
        stat->bundle_hits += counts.hits;
        stat->bundle_faults += counts.faults;
    }
    stat->bundle_misses = atomic_load(&layers->misses);
}
