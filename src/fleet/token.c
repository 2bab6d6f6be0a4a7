/* SPDX-License-Identifier: Apache-2.0
 *
 * token.c gets a token for a registry: the registry names a server, which gives
 * a token for a login.
 *
 * Invariant: a login is sent by TLS only, unless the registry itself is used
 * without TLS.
 * Locking: none.
 */
#include "fleet/token.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"

enum { CALL_MS = 10000, ANSWER_MAX = 1 << 16 };

/* Finds the text of name="text" in a challenge; *len bytes.  NULL if absent. */
static const char *value_of(const char *challenge, const char *name,
                            size_t *len)
{
    size_t lead = strlen(name);
    const char *at = challenge;

    while ((at = strstr(at, name)) != NULL) {
        if (at > challenge && strchr(" ,", at[-1]) != NULL &&
            strncmp(at + lead, "=\"", 2) == 0) {
            at += lead + 2;
            *len = strcspn(at, "\"");
            return at[*len] == '"' ? at : NULL;
        }
        at += lead;
    }
    return NULL;
}

static void add_query(groat__str *url, const char *challenge, const char *name)
{
    size_t len = 0;
    const char *value = value_of(challenge, name, &len);

    if (value == NULL)
        return;
    groat__str_addf(url, "%c%s=", strchr(url->data, '?') == NULL ? '?' : '&',
                    name);
    groat__http_encode(url, value, len);
}

/* Writes the token's URL; false if no login may be sent there. */
static bool write_url(const groat__place *place, const char *challenge,
                      groat__str *url)
{
    bool safe = strncmp(place->base, "https:", 6) == 0;
    size_t len = 0;
    const char *realm = value_of(challenge, "realm", &len);

    if (realm == NULL || len < 9 || strcspn(realm, " \t\\") < len ||
        (strncmp(realm, "https://", 8) != 0 &&
         (safe || strncmp(realm, "http://", 7) != 0)))
        return false;
    groat__str_addn(url, realm, len);
    if (!url->failed)
        add_query(url, challenge, "service");
    if (!url->failed)
        add_query(url, challenge, "scope");
    return true;
}

/* Returns NULL if the answer has no token that fits in a header line. */
static char *read_token(const groat__str *answer)
{
    json_t *json = json_loadb(answer->data != NULL ? answer->data : "",
                              answer->len, JSON_REJECT_DUPLICATES, NULL);
    const char *text = json_string_value(json_object_get(json, "token"));
    char *token = NULL;

    if (text == NULL)
        text = json_string_value(json_object_get(json, "access_token"));
    for (size_t i = 0; text != NULL && text[i] != '\0'; i++)
        if (text[i] <= ' ' || text[i] > '~')
            text = NULL;
    if (text != NULL && *text != '\0')
        token = strdup(text);
    json_decref(json);
    return token;
}

groat_status groat__token_get(groat__http *http, groat__place *place,
                              const char *challenge, groat_error *error)
{
    groat__exchange x = {.verb = GROAT__OBJECT_GET, .most = ANSWER_MAX};
    groat__str url = {0};
    groat_status status = GROAT_OK;

    free(place->bearer);
    place->bearer = NULL;
    if (!write_url(place, challenge, &url))
        status = groat__fail(error, GROAT_IO,
                             "registry %s asks for a token from %.100s; a "
                             "login is sent only to an https:// URL",
                             place->shown, challenge);
    if (status == GROAT_OK && url.failed)
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for a URL");
    if (status == GROAT_OK) {
        x.url = url.data;
        groat__http_run(
            http,
            &(groat__batch){.list = &x, .count = 1, .budget_ms = CALL_MS});
        place->bearer = read_token(&x.answer);
        if (x.outcome != GROAT__OBJECT_DONE || place->bearer == NULL)
            status = groat__fail(
                error, GROAT_IO, "registry %s: no token by %.100s: %s",
                place->shown, url.data,
                x.why[0] != '\0' ? x.why : "the answer has none");
    }
    groat__str_free(&url);
    groat__exchange_free(&x);
    return status;
}
