/* SPDX-License-Identifier: Apache-2.0
 *
 * bundle.c implements the public calls on bundles: on one that is named by its
 * path, and between bundles and the store of a context.  The bundles that a
 * context uses are in layers.c.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "core/core.h"
#include "fleet/oci.h"

static const groat__log silent = {NULL, NULL};

enum { BUNDLE_MOST = 1 << 28 }; /* bytes of a bundle to push */

static groat_status check_info(const groat_bundle_info *info,
                               groat_error *error)
{
    return groat__check_size(error, "info", "groat_bundle_info", info,
                             sizeof(*info));
}

groat_status groat_bundle_at(groat_context *context, size_t index,
                             groat_bundle_info *info, groat_error *error)
{
    groat_bundle_info found = {0};
    groat_status status = check_info(info, error);
    const groat__layer *layer;

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    if (status != GROAT_OK)
        return status;
    found.size = info->size;
    if (index >= context->layers.count)
        return groat__fail(error, GROAT_INVALID,
                           "there is no bundle %zu; the context has %zu", index,
                           context->layers.count);
    layer = &context->layers.at[index];
    if (layer->bundle != NULL)
        status = groat__bundle_describe(layer->bundle, &found, error);
    if (status != GROAT_OK)
        return status;
    found.path = layer->path;
    found.problem = layer->problem;
    found.trusted = layer->trusted;
    *info = found;
    return GROAT_OK;
}

groat_status groat_bundle_verify(const char *path, const char *trust,
                                 groat_bundle_info *info, groat_error *error)
{
    groat_bundle_info found = {.size = sizeof(found)};
    groat_status status = info == NULL ? GROAT_OK : check_info(info, error);
    groat__bundle *bundle = NULL;
    groat__trust keys = {NULL, 0};

    if (status == GROAT_OK && trust != NULL)
        status = groat__trust_read(trust, &keys, error);
    if (status == GROAT_OK)
        status = groat__bundle_open(path, &silent, &bundle, error);
    if (status == GROAT_OK)
        status = groat__bundle_verify(bundle, NULL, error);
    if (status == GROAT_OK)
        status = groat__bundle_describe(bundle, &found, error);
    if (status == GROAT_OK && info != NULL) {
        found.size = info->size;
        found.path = path;
        found.trusted = groat__trust_check(&keys, bundle, NULL) == GROAT_OK;
        *info = found;
    }
    groat__bundle_close(bundle);
    groat__trust_free(&keys);
    return status;
}

/* ---- from and to the store --------------------------------------------- */

/* path NULL: *out stays NULL. */
static groat_status read_key(const char *path, groat__secret *secret,
                             const groat__secret **out, groat_error *error)
{
    groat_status status;

    if (path == NULL)
        return GROAT_OK;
    status = groat__secret_read(path, secret, error);
    if (status == GROAT_OK)
        *out = secret;
    return status;
}

static groat_status make_line(groat_context *context, const char *text,
                              char **out, groat_error *error)
{
    groat__str line = {0};
    groat__target target;
    groat_status status = groat__context_target(context, text, &target, error);

    if (status != GROAT_OK)
        return status;
    groat__str_addf(&line, "target %s", target.text);
    *out = groat__str_take(&line);
    return *out != NULL
               ? GROAT_OK
               : groat__fail(error, GROAT_NO_MEMORY, "no memory for lines");
}

/* The lines are as spec.c writes them. */
groat_status groat__target_lines(groat_context *context,
                                 const char *const *targets, size_t count,
                                 char ***lines, groat_error *error)
{
    groat_status status = GROAT_OK;

    *lines = calloc(count + 1, sizeof(**lines));
    if (*lines == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for lines");
    for (size_t i = 0; i < count && status == GROAT_OK; i++)
        status = make_line(context, targets[i], &(*lines)[i], error);
    return status;
}

void groat__target_lines_free(char **lines, size_t count)
{
    for (size_t i = 0; lines != NULL && i < count; i++)
        free(lines[i]);
    free(lines);
}

groat_status groat_bundle_export(groat_context *context, const char *path,
                                 const char *const *targets, size_t count,
                                 const char *key, uint64_t *written,
                                 groat_error *error)
{
    const groat__secret *use = NULL;
    groat__secret secret;
    groat_status status = groat__need_store(context, error);
    char **lines = NULL;

    if (status == GROAT_OK)
        status = groat__need_path(path, error);
    if (status == GROAT_OK)
        status = groat__target_lines(context, targets, count, &lines, error);
    if (status == GROAT_OK)
        status = read_key(key, &secret, &use, error);
    if (status == GROAT_OK)
        status = groat__store_export(context->store, (const char *const *)lines,
                                     count, use, path, written, error);
    groat__secret_wipe(&secret);
    groat__target_lines_free(lines, count);
    return status;
}

groat_status groat_bundle_import(groat_context *context, const char *path,
                                 uint64_t *imported, groat_error *error)
{
    groat_status status = groat__need_store(context, error);
    groat__bundle *bundle = NULL;

    if (status == GROAT_OK)
        status = groat__bundle_open(path, &context->env.log, &bundle, error);
    if (status == GROAT_OK && !context->layers.allow_unsigned)
        status = groat__trust_check(&context->layers.trust, bundle, error);
    if (status == GROAT_OK)
        status = groat__store_import(context->store, bundle, imported, error);
    groat__bundle_close(bundle);
    return status;
}

/* ---- among themselves -------------------------------------------------- */

/* The caller closes each of *out, also on failure. */
static groat_status open_all(const char *const *paths, size_t count,
                             groat__bundle **out, groat_error *error)
{
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < count && status == GROAT_OK; i++)
        status = groat__bundle_open(paths[i], &silent, &out[i], error);
    return status;
}

groat_status groat_bundle_merge(const char *const *paths, size_t count,
                                const char *to, const char *key,
                                uint64_t *written, groat_error *error)
{
    groat__bundle **bundles = calloc(count + 1, sizeof(groat__bundle *));
    const groat__secret *use = NULL;
    groat__secret secret;
    groat_status status;

    if (bundles == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for bundles");
    status = groat__need_path(to, error);
    if (status == GROAT_OK)
        status = open_all(paths, count, bundles, error);
    if (status == GROAT_OK)
        status = read_key(key, &secret, &use, error);
    if (status == GROAT_OK)
        status = groat__bundle_merge(bundles, count, use, to, written, error);
    groat__secret_wipe(&secret);
    for (size_t i = 0; i < count; i++)
        groat__bundle_close(bundles[i]);
    free(bundles);
    return status;
}

groat_status groat_bundle_diff(const char *first, const char *second,
                               groat_bundle_diff_fn *fn, void *user,
                               groat_error *error)
{
    const char *const paths[] = {first, second};
    groat__bundle *bundles[] = {NULL, NULL};
    groat_status status = open_all(paths, 2, bundles, error);

    if (status == GROAT_OK)
        status = groat__bundle_diff(bundles[0], bundles[1], fn, user, error);
    groat__bundle_close(bundles[0]);
    groat__bundle_close(bundles[1]);
    return status;
}

groat_status groat_bundle_keygen(const char *path, char public_key[65],
                                 groat_error *error)
{
    groat_status status = groat__need_path(path, error);

    return status == GROAT_OK ? groat__secret_make(path, public_key, error)
                              : status;
}

/* ---- registries --------------------------------------------------------- */

/* The file of certificates, as for remotes; NULL: libcurl's. */
static const char *trusted_certificates(void)
{
    const char *file = getenv("CURL_CA_BUNDLE");

    if (file == NULL || *file == '\0')
        file = getenv("SSL_CERT_FILE");
    return file == NULL || *file == '\0' ? NULL : file;
}

groat_status groat_bundle_push(const char *path, const char *url,
                               char digest[72], groat_error *error)
{
    groat__bundle *bundle = NULL;
    size_t bytes = 0;
    char *data = NULL;
    groat_status status =
        path == NULL || url == NULL
            ? groat__fail(error, GROAT_INVALID, "path or url is NULL")
            : groat__store_is_not(path, error);

    if (status == GROAT_OK)
        status = groat__fs_read(path, BUNDLE_MOST, &data, &bytes, error);
    /* Checks that it is a bundle before sending it. */
    if (status == GROAT_OK)
        status = groat__bundle_open_image(data, bytes, path, &silent, &bundle,
                                          error);
    if (status == GROAT_OK)
        status = groat__oci_push(url, trusted_certificates(), data, bytes,
                                 digest, error);
    groat__bundle_close(bundle);
    free(data);
    return status;
}

groat_status groat_bundle_pull(const char *url, const char *path,
                               groat_error *error)
{
    groat__bundle *bundle = NULL;
    size_t bytes = 0;
    char *data = NULL;
    groat_status status =
        path == NULL || url == NULL
            ? groat__fail(error, GROAT_INVALID, "path or url is NULL")
            : groat__bundle_check_place(path, error);

    if (status == GROAT_OK)
        status =
            groat__oci_pull(url, trusted_certificates(), &data, &bytes, error);
    if (status == GROAT_OK)
        status = groat__bundle_open_image(data, bytes, "of the registry",
                                          &silent, &bundle, error);
    groat__bundle_close(bundle);
    if (status == GROAT_OK)
        status = groat__fs_write(path, data, bytes, 0644, error);
    free(data);
    return status;
}
