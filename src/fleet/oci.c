/* SPDX-License-Identifier: Apache-2.0
 *
 * oci.c keeps a bundle in a registry of the OCI distribution specification: a
 * manifest with an empty configuration and one layer, the bundle.
 *
 * Invariant: the bytes that a pull returns have the digest that the manifest
 * names, and the manifest has the digest that was asked for, if any.
 * Locking: none; each call has its own connections.
 */
#include "fleet/oci.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sodium.h>

#include "base/error.h"
#include "fleet/http.h"
#include "fleet/token.h"

#define MANIFEST_TYPE "application/vnd.oci.image.manifest.v1+json"
#define BUNDLE_TYPE   "application/vnd.groat.bundle.v1+sqlite"
#define EMPTY_TYPE    "application/vnd.oci.empty.v1+json"

enum {
    CALL_MS = 60000,
    MANIFEST_MAX = 1 << 20,
    LAYER_MAX = 1 << 28,
    REFERENCE = 160
};

/* A repository of a registry, and the artifact in it. */
typedef struct registry {
    groat__place place; /* base: "http[s]://HOST/v2/NAME"        */
    groat__http *http;
    char origin[300];          /* "http[s]://HOST"                */
    char reference[REFERENCE]; /* a tag or a digest; "": neither */
} registry;

static void digest_of(const void *data, size_t bytes,
                      char out[GROAT__OCI_DIGEST])
{
    uint8_t hash[crypto_hash_sha256_BYTES];

    (void)crypto_hash_sha256(
        hash, bytes == 0 ? (const unsigned char *)"" : data, bytes);
    memcpy(out, "sha256:", 7);
    groat__hex(out + 7, hash, sizeof(hash));
}

/* ---- the URL ----------------------------------------------------------- */

static groat_status bad_url(groat_error *error)
{
    return groat__fail(error, GROAT_INVALID,
                       "the registry's URL is not oci://[USER:PASSWORD@]HOST/"
                       "NAME[:TAG|@sha256:DIGEST] with a NAME of a-z 0-9 . _ - "
                       "/; oci+http:// is without TLS, and a / of the password "
                       "is %%2F");
}

static bool is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!groat__is_word(text[i]) && strchr("-./", text[i]) == NULL)
            return false;
    return len > 0;
}

/* Reads "NAME[:TAG|@DIGEST]", which follows the host. */
static bool read_name(registry *r, const char *name)
{
    size_t len = strcspn(name, ":@");
    const char *reference = name + len;
    groat__str base = {0};
    uint8_t hash[32];

    if (!is_plain(name, len) || strstr(name, "..") != NULL ||
        strcspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") < len)
        return false;
    if (*reference != '\0' &&
        (*reference == '@'
             ? strlen(reference + 1) != GROAT__OCI_DIGEST - 1 ||
                   strncmp(reference + 1, "sha256:", 7) != 0 ||
                   !groat__unhex(hash, sizeof(hash), reference + 8)
             : strlen(reference + 1) >= sizeof(r->reference) ||
                   !is_plain(reference + 1, strlen(reference + 1))))
        return false;
    if (*reference != '\0')
        (void)snprintf(r->reference, sizeof(r->reference), "%s", reference + 1);
    groat__str_addf(&base, "%s/v2/%.*s", r->origin, (int)len, name);
    r->place.base = groat__str_take(&base);
    groat__str_addf(&base, "%s/%.*s", r->origin, (int)len, name);
    r->place.shown = groat__str_take(&base);
    return r->place.base != NULL && r->place.shown != NULL;
}

static groat_status read_url(registry *r, const char *url, groat_error *error)
{
    bool plain = strncmp(url, "oci+http://", 11) == 0;
    const char *host, *at;
    size_t len;

    if (!plain && strncmp(url, "oci://", 6) != 0)
        return bad_url(error);
    host = url + (plain ? 11 : 6);
    len = strcspn(host, "/");
    if (host[len] != '/')
        return bad_url(error);
    at = memrchr(host, '@', len);
    if (at != NULL) {
        r->place.login = strndup(host, (size_t)(at - host));
        if (r->place.login == NULL)
            return groat__fail(error, GROAT_NO_MEMORY, "no memory for a URL");
        if (!groat__percent_decode(r->place.login))
            return bad_url(error);
        len -= (size_t)(at + 1 - host);
        host = at + 1;
    }
    if (len == 0 || len > 250 || strcspn(host, " \t\"'<>\\^`{|}") < len)
        return bad_url(error);
    (void)snprintf(r->origin, sizeof(r->origin), "%s://%.*s",
                   plain ? "http" : "https", (int)len, host);
    return read_name(r, host + len + 1) ? GROAT_OK : bad_url(error);
}

static groat_status open_registry(registry *r, const char *url, const char *ca,
                                  groat_error *error)
{
    groat_status status;

    memset(r, 0, sizeof(*r));
    r->place.kind = GROAT__PLACE_HTTP;
    status = read_url(r, url, error);
    if (status == GROAT_OK && ca != NULL && (r->place.ca = strdup(ca)) == NULL)
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for a name");
    return status == GROAT_OK ? groat__http_open(&r->place, &r->http, error)
                              : status;
}

static void close_registry(registry *r)
{
    groat__http_close(r->http);
    groat__place_free(&r->place);
}

/* ---- exchanges --------------------------------------------------------- */

static void run_once(registry *r, groat__exchange *x)
{
    x->keeps_lines = true;
    groat__http_run(
        r->http, &(groat__batch){.list = x, .count = 1, .budget_ms = CALL_MS});
}

/* Logs in if the registry's challenge asks for a token, or for a new one. */
static groat_status run_logged_in(registry *r, groat__exchange *x,
                                  groat_error *error)
{
    groat_status status;

    run_once(r, x);
    if (x->outcome != GROAT__OBJECT_FAILED || x->challenge == NULL ||
        strncasecmp(x->challenge, "Bearer ", 7) != 0)
        return GROAT_OK;
    status = groat__token_get(r->http, &r->place, x->challenge, error);
    if (status == GROAT_OK) {
        groat__exchange_free(x);
        x->outcome = GROAT__OBJECT_UNTRIED;
        x->why[0] = '\0';
        run_once(r, x);
    }
    return status;
}

/* Runs an exchange with a URL below the repository, or with a full URL, which
 * starts with "http". */
static groat_status call(registry *r, groat__exchange *x, const char *where,
                         groat_error *error)
{
    groat__str url = {0};
    groat_status status;

    if (strncmp(where, "http", 4) != 0)
        groat__str_addf(&url, "%s/", r->place.base);
    groat__str_add(&url, where);
    if (url.failed)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a URL");
    x->url = url.data;
    status = run_logged_in(r, x, error);
    x->url = NULL;
    groat__str_free(&url);
    if (status != GROAT_OK || x->outcome == GROAT__OBJECT_DONE ||
        x->outcome == GROAT__OBJECT_ABSENT)
        return status;
    return groat__fail(error, GROAT_IO, "registry %s: %s", r->place.shown,
                       x->why);
}

/* The URL for a blob's upload.  It must be on the registry's own host, since
 * our login is sent to it. */
static groat_status upload_url(const registry *r, const char *location,
                               const char *digest, groat__str *url,
                               groat_error *error)
{
    size_t len = strlen(r->origin);

    if (location == NULL ||
        (*location != '/' &&
         (strncmp(location, r->origin, len) != 0 || location[len] != '/')))
        return groat__fail(error, GROAT_IO,
                           "registry %s gave %s%.100s for an upload; expected "
                           "a URL on its own server, or a path from /",
                           r->place.shown, location == NULL ? "no URL" : "",
                           location == NULL ? "" : location);
    groat__str_addf(url, "%s%s%cdigest=%s", *location == '/' ? r->origin : "",
                    location, strchr(location, '?') == NULL ? '?' : '&',
                    digest);
    return url->failed
               ? groat__fail(error, GROAT_NO_MEMORY, "no memory for a URL")
               : GROAT_OK;
}

static groat_status push_blob(registry *r, const void *data, size_t bytes,
                              groat_error *error)
{
    groat__exchange head = {.verb = GROAT__OBJECT_HEAD};
    groat__exchange post = {.verb = GROAT__OBJECT_POST};
    groat__exchange send = {
        .verb = GROAT__OBJECT_SEND, .body = data, .bytes = bytes};
    char digest[GROAT__OCI_DIGEST];
    char where[REFERENCE];
    groat__str url = {0};
    groat_status status;

    digest_of(data, bytes, digest);
    (void)snprintf(where, sizeof(where), "blobs/%s", digest);
    status = call(r, &head, where, error);
    if (status == GROAT_OK && head.outcome == GROAT__OBJECT_ABSENT) {
        status = call(r, &post, "blobs/uploads/", error);
        if (status == GROAT_OK)
            status = upload_url(r, post.location, digest, &url, error);
        if (status == GROAT_OK)
            status = call(r, &send, url.data, error);
        if (status == GROAT_OK && send.outcome != GROAT__OBJECT_DONE)
            status = groat__fail(
                error, GROAT_IO,
                "registry %s does not know the upload that it just opened",
                r->place.shown);
    }
    groat__str_free(&url);
    groat__exchange_free(&head);
    groat__exchange_free(&post);
    groat__exchange_free(&send);
    return status;
}

static void write_manifest(const char *layer, size_t bytes, groat__str *out)
{
    char empty[GROAT__OCI_DIGEST];

    digest_of("{}", 2, empty);
    groat__str_addf(
        out,
        "{\"schemaVersion\":2,\"mediaType\":\"" MANIFEST_TYPE "\","
        "\"artifactType\":\"" BUNDLE_TYPE "\","
        "\"config\":{\"mediaType\":\"" EMPTY_TYPE "\",\"digest\":\"%s\","
        "\"size\":2},"
        "\"layers\":[{\"mediaType\":\"" BUNDLE_TYPE "\",\"digest\":\"%s\","
        "\"size\":%zu}]}",
        empty, layer, bytes);
}

static groat_status push_manifest(registry *r, const groat__str *manifest,
                                  const char *digest, groat_error *error)
{
    groat__exchange send = {.verb = GROAT__OBJECT_SEND,
                            .body = manifest->data,
                            .bytes = manifest->len,
                            .type = MANIFEST_TYPE};
    char where[REFERENCE + 16];
    groat_status status;

    (void)snprintf(where, sizeof(where), "manifests/%s",
                   r->reference[0] != '\0' ? r->reference : digest);
    status = call(r, &send, where, error);
    if (status == GROAT_OK && send.outcome != GROAT__OBJECT_DONE)
        status = groat__fail(error, GROAT_IO, "registry %s takes no manifest",
                             r->place.shown);
    groat__exchange_free(&send);
    return status;
}

groat_status groat__oci_push(const char *url, const char *ca, const void *data,
                             size_t bytes, char digest[GROAT__OCI_DIGEST],
                             groat_error *error)
{
    char layer[GROAT__OCI_DIGEST];
    char name[GROAT__OCI_DIGEST];
    groat__str manifest = {0};
    registry r;
    groat_status status = open_registry(&r, url, ca, error);

    if (status == GROAT_OK && strncmp(r.reference, "sha256:", 7) == 0)
        status = groat__fail(error, GROAT_INVALID,
                             "a bundle is pushed by :TAG or by no tag; "
                             "@sha256:DIGEST is only for pulls");
    if (status == GROAT_OK)
        status = push_blob(&r, data, bytes, error);
    if (status == GROAT_OK)
        status = push_blob(&r, "{}", 2, error);
    digest_of(data, bytes, layer);
    write_manifest(layer, bytes, &manifest);
    if (status == GROAT_OK && manifest.failed)
        status =
            groat__fail(error, GROAT_NO_MEMORY, "no memory for a manifest");
    if (status == GROAT_OK) {
        digest_of(manifest.data, manifest.len, name);
        status = push_manifest(&r, &manifest, name, error);
    }
    if (status == GROAT_OK)
        memcpy(digest, name, sizeof(name));
    groat__str_free(&manifest);
    close_registry(&r);
    return status;
}

/* ---- pull -------------------------------------------------------------- */

/* Fetches a manifest or blob and checks its digest, unless that is NULL. */
static groat_status fetch(registry *r, const char *where, const char *type,
                          const char *digest, size_t most, groat__exchange *x,
                          groat_error *error)
{
    char seen[GROAT__OCI_DIGEST];
    groat_status status;

    *x = (groat__exchange){
        .verb = GROAT__OBJECT_GET, .type = type, .most = most};
    status = call(r, x, where, error);
    if (status != GROAT_OK)
        return status;
    if (x->outcome != GROAT__OBJECT_DONE)
        return groat__fail(error, GROAT_IO, "registry %s has no %s",
                           r->place.shown, where);
    digest_of(x->answer.data, x->answer.len, seen);
    return digest == NULL || strcmp(seen, digest) == 0
               ? GROAT_OK
               : groat__fail(error, GROAT_IO,
                             "registry %s: %s is not what its digest says",
                             r->place.shown, where);
}

/* Finds the digest of the layer that is a bundle. */
static bool read_manifest(const groat__str *text, char layer[GROAT__OCI_DIGEST])
{
    json_t *manifest = json_loadb(text->data != NULL ? text->data : "",
                                  text->len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *layers = json_object_get(manifest, "layers");
    const char *digest = NULL;
    uint8_t hash[32];
    bool good;

    for (size_t i = 0; i < json_array_size(layers) && digest == NULL; i++) {
        const json_t *one = json_array_get(layers, i);
        const char *type = json_string_value(json_object_get(one, "mediaType"));

        if (type != NULL && strcmp(type, BUNDLE_TYPE) == 0)
            digest = json_string_value(json_object_get(one, "digest"));
    }
    good = digest != NULL && strncmp(digest, "sha256:", 7) == 0 &&
           groat__unhex(hash, sizeof(hash), digest + 7);
    if (good)
        (void)snprintf(layer, GROAT__OCI_DIGEST, "%s", digest);
    json_decref(manifest);
    return good;
}

static groat_status pull(registry *r, groat__exchange *manifest,
                         groat__exchange *blob, groat_error *error)
{
    const char *asked =
        strncmp(r->reference, "sha256:", 7) == 0 ? r->reference : NULL;
    char layer[GROAT__OCI_DIGEST];
    char where[REFERENCE + 16];
    groat_status status;

    (void)snprintf(where, sizeof(where), "manifests/%s",
                   r->reference[0] != '\0' ? r->reference : "latest");
    status =
        fetch(r, where, MANIFEST_TYPE, asked, MANIFEST_MAX, manifest, error);
    if (status != GROAT_OK)
        return status;
    if (!read_manifest(&manifest->answer, layer))
        return groat__fail(error, GROAT_IO,
                           "registry %s: %s is not the manifest of a bundle",
                           r->place.shown, where);
    (void)snprintf(where, sizeof(where), "blobs/%s", layer);
    return fetch(r, where, NULL, layer, LAYER_MAX, blob, error);
}

groat_status groat__oci_pull(const char *url, const char *ca, char **data,
                             size_t *bytes, groat_error *error)
{
    groat__exchange manifest = {.verb = GROAT__OBJECT_GET};
    groat__exchange blob = {.verb = GROAT__OBJECT_GET};
    registry r;
    groat_status status = open_registry(&r, url, ca, error);

    if (status == GROAT_OK)
        status = pull(&r, &manifest, &blob, error);
    if (status == GROAT_OK) {
        *bytes = blob.answer.len;
        *data = groat__str_take(&blob.answer);
        if (*bytes == 0)
            status =
                groat__fail(error, GROAT_IO, "registry %s: the layer is empty",
                            r.place.shown);
        else if (*data == NULL)
            status =
                groat__fail(error, GROAT_NO_MEMORY, "no memory for a blob");
    }
    groat__exchange_free(&manifest);
    groat__exchange_free(&blob);
    close_registry(&r);
    return status;
}
