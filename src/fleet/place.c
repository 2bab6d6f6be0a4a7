/* SPDX-License-Identifier: Apache-2.0
 *
 * place.c parses the URL of the place where a fleet's objects are kept.
 *
 * Invariant: neither a base nor the names appended to it need encoding, since
 * SigV4 of older libcurls does not encode paths.
 * Locking: none.
 */
#include "fleet/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"

/* The characters that a path may have without encoding, and "/". */
static bool is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!groat__is_word(text[i]) && strchr("-.~/", text[i]) == NULL)
            return false;
    return true;
}

/* Whether a part of a path is "." or "..", which libcurl takes out of a URL but
 * not out of a listing's prefix. */
static bool has_dots(const char *path)
{
    while (*path != '\0') {
        size_t len = strcspn(path, "/");

        if ((len == 1 || len == 2) && strncmp(path, "..", len) == 0)
            return true;
        path += len + (path[len] == '/');
    }
    return false;
}

static size_t len_without_slashes(const char *text)
{
    size_t len = strlen(text);

    while (len > 0 && text[len - 1] == '/')
        len--;
    return len;
}

static groat_status no_memory(groat_error *error)
{
    return groat__fail(error, GROAT_NO_MEMORY, "no memory for a remote's URL");
}

/* The host in "user:password@host/path", where a password may have an "@". */
static const char *after_login(const char *host, const char *end)
{
    const char *slash = memchr(host, '/', (size_t)(end - host));
    const char *at =
        memrchr(host, '@', (size_t)((slash != NULL ? slash : end) - host));

    return at != NULL ? at + 1 : host;
}

/* "scheme://user:password@host" as "scheme://host". */
static char *without_login(const char *url, size_t len)
{
    const char *host = strstr(url, "://");
    const char *end = url + len;
    groat__str shown = {0};

    host = host == NULL ? url : host + 3;
    groat__str_addn(&shown, url, (size_t)(host - url));
    host = after_login(host, end);
    groat__str_addn(&shown, host, (size_t)(end - host));
    if (shown.data != NULL)
        groat__one_line(shown.data);
    return groat__str_take(&shown);
}

/* Length of the part of a URL that messages may show: the rest may have a
 * password. */
static int scheme_of(const char *url)
{
    size_t len = strcspn(url, ":");

    return len > 16 ? 16 : (int)len + (url[len] == ':');
}

/* A password with a "/" would be split between host and path. */
static bool is_authority(const char *host)
{
    size_t len = strcspn(host, "/");
    const char *port = after_login(host, host + len);

    port += *port == '[' ? strcspn(port, "]") : strcspn(port, ":/");
    port += *port == ']';
    return *port != ':' ||
           strspn(port + 1, "0123456789") == (size_t)(host + len - port - 1);
}

static groat_status read_http(const char *url, groat__place *out,
                              groat_error *error)
{
    size_t len = len_without_slashes(url);
    const char *host = strstr(url, "://") + 3;

    if (url + len <= host || *host == '/' || strpbrk(url, " ?#") != NULL ||
        !is_authority(host))
        return groat__fail(error, GROAT_INVALID,
                           "the remote is a URL without a host, or with a "
                           "blank, '?' or '#'; allowed: http[s]://HOST/PATH");
    out->kind = GROAT__PLACE_HTTP;
    out->base = strndup(url, len);
    out->shown = without_login(url, len);
    return out->base != NULL && out->shown != NULL ? GROAT_OK
                                                   : no_memory(error);
}

static groat_status read_folder(const char *url, groat__place *out,
                                groat_error *error)
{
    const char *path = url + strlen("file://");
    size_t len = len_without_slashes(path);

    if (*path != '/' || len == 0)
        return groat__fail(error, GROAT_INVALID,
                           "the remote is '%.80s'; allowed: file:///FOLDER, "
                           "with three slashes",
                           url);
    out->kind = GROAT__PLACE_FOLDER;
    out->base = strndup(path, len);
    out->shown = without_login(url, strlen(url));
    return out->base != NULL && out->shown != NULL ? GROAT_OK
                                                   : no_memory(error);
}

/* malloc'd; NULL if memory runs out. */
static char *join(const char *first, const char *second, const char *third)
{
    groat__str text = {0};

    groat__str_add(&text, first);
    groat__str_add(&text, second);
    groat__str_add(&text, third);
    return groat__str_take(&text);
}

/* The S3 server: from the environment, else Amazon's. */
static char *endpoint_of(const groat__s3 *s3, const char *region)
{
    groat__str text = {0};

    if (s3->endpoint != NULL)
        return strndup(s3->endpoint, len_without_slashes(s3->endpoint));
    groat__str_addf(&text, "https://s3.%s.amazonaws.com", region);
    return groat__str_take(&text);
}

static bool is_endpoint(const char *text)
{
    const char *host;

    if (text == NULL)
        return true;
    if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
        return false;
    host = strstr(text, "://") + 3;
    return *host != '\0' && *host != '/' && strpbrk(host, "@ ?#") == NULL;
}

static groat_status fill_s3(const char *bucket, size_t bucket_len,
                            const char *prefix, const groat__s3 *s3,
                            groat__place *out)
{
    const char *region = s3->region != NULL ? s3->region : "us-east-1";
    char *endpoint = endpoint_of(s3, region);
    char *name = strndup(bucket, bucket_len);
    groat_status status = GROAT_NO_MEMORY;

    out->kind = GROAT__PLACE_S3;
    out->prefix = strndup(prefix, len_without_slashes(prefix));
    if (endpoint != NULL && name != NULL && out->prefix != NULL) {
        const char *slash = *out->prefix == '\0' ? "" : "/";

        out->listing = join(endpoint, "/", name);
        out->sigv4 = join("aws:amz:", region, ":s3");
        if (out->listing != NULL)
            out->base = join(out->listing, slash, out->prefix);
        if (out->base != NULL)
            out->shown = join("s3:/", out->base + strlen(endpoint), "");
        if (out->shown != NULL && out->sigv4 != NULL)
            status = GROAT_OK;
    }
    if (status == GROAT_OK && s3->access != NULL) {
        groat__str login = {0};

        groat__str_addf(&login, "%s:%s", s3->access, s3->secret);
        out->login = groat__str_take(&login);
        if (s3->token != NULL)
            out->token = join("x-amz-security-token: ", s3->token, "");
        if (out->login == NULL || (s3->token != NULL && out->token == NULL))
            status = GROAT_NO_MEMORY;
    }
    free(endpoint);
    free(name);
    return status;
}

static groat_status read_s3(const char *url, const groat__s3 *s3,
                            groat__place *out, groat_error *error)
{
    const char *bucket = url + strlen("s3://");
    size_t len = strcspn(bucket, "/");
    const char *prefix = bucket + len + (bucket[len] == '/');

    if (len == 0 || !is_plain(bucket, strlen(bucket)) || has_dots(bucket))
        return groat__fail(error, GROAT_INVALID,
                           "the remote 's3://...' is not s3://BUCKET/PREFIX of "
                           "letters, digits and -._~/ without a part . or ..");
    if ((s3->access == NULL) != (s3->secret == NULL))
        return groat__fail(
            error, GROAT_INVALID,
            "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; "
            "%.80s needs both, or neither for a public "
            "bucket",
            url);
    if (!is_endpoint(s3->endpoint))
        return groat__fail(error, GROAT_INVALID,
                           "AWS_ENDPOINT_URL is '%.*s...'; allowed: "
                           "http[s]://HOST, without a login",
                           scheme_of(s3->endpoint), s3->endpoint);
    return fill_s3(bucket, len, prefix, s3, out) == GROAT_OK ? GROAT_OK
                                                             : no_memory(error);
}

groat_status groat__place_read(const char *url, const groat__s3 *s3,
                               groat__place *out, groat_error *error)
{
    groat_status status;

    memset(out, 0, sizeof(*out));
    if (strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0)
        status = read_http(url, out, error);
    else if (strncmp(url, "file://", 7) == 0)
        status = read_folder(url, out, error);
    else if (strncmp(url, "s3://", 5) == 0)
        status = read_s3(url, s3, out, error);
    else
        /* The rest of the URL may have a password. */
        status = groat__fail(error, GROAT_INVALID,
                             "the remote is '%.*s...'; allowed: http://, "
                             "https://, s3://BUCKET/PREFIX, file:///FOLDER",
                             scheme_of(url), url);
    if (status != GROAT_OK)
        groat__place_free(out);
    return status;
}

void groat__place_free(groat__place *place)
{
    char *const texts[] = {place->base,  place->listing, place->prefix,
                           place->shown, place->login,   place->sigv4,
                           place->token, place->ca,      place->bearer};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free(texts[i]);
    memset(place, 0, sizeof(*place));
}

bool groat__percent_decode(char *text)
{
    char *out = text;

    for (; *text != '\0'; text++) {
        uint8_t byte = (uint8_t)*text;

        if (*text == '%') {
            const char hex[] = {text[1], text[1] != '\0' ? text[2] : '\0', 0};

            if (!groat__unhex(&byte, 1, hex) || byte == 0)
                return false;
            text += 2;
        }
        *out++ = (char)byte;
    }
    *out = '\0';
    return true;
}
