/* SPDX-License-Identifier: Apache-2.0
 *
 * http.c transfers objects over HTTP, by libcurl, which is opened at run time.
 *
 * Invariant: an exchange ends within its budget; an answer that is too long or
 * incomplete is dropped.  Certificates are checked, and a redirect leads only
 * to HTTP or HTTPS, from HTTPS only to HTTPS.
 * Locking: a lock around the list of idle multi handles, each of which has its
 * connections and serves one thread at a time.
 */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "fleet/http.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include <sodium.h>

#include "base/clock.h"
#include "base/dl.h"
#include "base/error.h"
#include "base/hold.h"
#include "cache/cache.h"

enum {
    AT_A_TIME = 50,  /* exchanges of one run           */
    AT_ONCE = 16,    /* of these, if each has less than  */
    SHORT_MS = 5000, /* since they share the line        */
    IDLE = 8,        /* multi handles that are kept    */
    CONNECT_MS = 250,
    REDIRECTS = 3,
    LISTING_MAX = 16 << 20, /* bytes of one page of a listing */
    KEYS_MAX = 1 << 20,     /* of a listing, in all its pages */
    LISTING_MS = 600000,
    S3_CODE_MOST = 40,
    NAP_MS = 100,
    LEAST_VERSION = 0x074b00,
    HTTP_OK = 200,
    HTTP_NO_SUCH = 404,
    HTTP_CONFLICT = 409,
    HTTP_GONE = 410,
    HTTP_THERE = 412
};

typedef struct curl_api {
#define SYMBOL(need, result, name, args) result(*name) args;
#include "fleet/curl.def"
#undef SYMBOL
} curl_api;

enum { optional = 0, needed = 1 };

static const groat__symbol symbols[] = {
#define SYMBOL(need, result, name, args)                                       \
    {#name, need, offsetof(curl_api, name)},
#include "fleet/curl.def"
#undef SYMBOL
};

struct groat__http {
    groat__dl dl;
    curl_api api;
    const groat__place *place;
    pthread_mutex_t lock;
    CURLM *idle[IDLE];
    size_t idle_count;
};

/* One exchange in progress. */
typedef struct transfer {
    groat__http *http;
    groat__exchange *exchange;
    CURL *easy;
    struct curl_slist *lines;
    size_t sent;
    size_t most; /* bytes of the answer */
    bool long_answer;
    char why[CURL_ERROR_SIZE];
} transfer;

static void forget_lines(groat__exchange *exchange)
{
    free(exchange->location);
    free(exchange->challenge);
    exchange->location = NULL;
    exchange->challenge = NULL;
}

void groat__exchange_free(groat__exchange *exchange)
{
    groat__str_free(&exchange->answer);
    forget_lines(exchange);
}

void groat__batch_fail(const groat__batch *batch, const char *why)
{
    groat__exchange *x = &batch->list[0];

    x->outcome = GROAT__OBJECT_FAILED;
    (void)snprintf(x->why, sizeof(x->why), "%.*s", (int)sizeof(x->why) - 1,
                   why);
    if (batch->done != NULL)
        batch->done(batch->user, x);
}

/* ---- open -------------------------------------------------------------- */

/* Older versions lack options that are used here. */
static groat_status start_library(const groat__http *http, groat_error *error)
{
    const curl_version_info_data *info =
        http->api.curl_version_info(CURLVERSION_NOW);

    if (info->version_num < LEAST_VERSION)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "%s is libcurl %s; 7.75.0 or later is needed",
                           http->dl.path, info->version);
    return http->api.curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK
               ? GROAT_OK
               : groat__fail(error, GROAT_NO_DEVICE,
                             "libcurl cannot be started");
}

groat_status groat__http_open(const groat__place *place, groat__http **out,
                              groat_error *error)
{
    static const char *const sonames[] = {"libcurl.so.4", "libcurl-gnutls.so.4",
                                          NULL};
    const groat__dl_search search = {.sonames = sonames};
    groat__http *http = calloc(1, sizeof(*http));
    groat_status status;

    if (http == NULL || pthread_mutex_init(&http->lock, NULL) != 0) {
        free(http);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a remote");
    }
    http->place = place;
    status = groat__dl_open(&search, &http->dl, error);
    if (status == GROAT_OK)
        status = groat__dl_bind(&http->dl, symbols,
                                sizeof(symbols) / sizeof(symbols[0]),
                                &http->api, error);
    if (status == GROAT_OK)
        status = start_library(http, error);
    if (status != GROAT_OK) {
        groat__http_close(http);
        return status;
    }
    *out = http;
    return GROAT_OK;
}

void groat__http_close(groat__http *http)
{
    if (http == NULL)
        return;
    for (size_t i = 0; i < http->idle_count; i++)
        (void)http->api.curl_multi_cleanup(http->idle[i]);
    (void)pthread_mutex_destroy(&http->lock);
    groat__dl_close(&http->dl);
    free(http);
}

static CURLM *take_multi(groat__http *http)
{
    CURLM *multi = NULL;

    (void)pthread_mutex_lock(&http->lock);
    if (http->idle_count > 0)
        multi = http->idle[--http->idle_count];
    (void)pthread_mutex_unlock(&http->lock);
    if (multi != NULL)
        return multi;
    multi = http->api.curl_multi_init();
    if (multi != NULL)
        (void)http->api.curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                                          (long)AT_A_TIME);
    return multi;
}

static void give_multi(groat__http *http, CURLM *multi)
{
    bool kept = false;

    (void)pthread_mutex_lock(&http->lock);
    if (http->idle_count < IDLE) {
        http->idle[http->idle_count++] = multi;
        kept = true;
    }
    (void)pthread_mutex_unlock(&http->lock);
    if (!kept)
        (void)http->api.curl_multi_cleanup(multi);
}

/* ---- one exchange ------------------------------------------------------ */

/* Close-on-exec: compilers are children of this process. */
static curl_socket_t open_socket(void *user, curlsocktype purpose,
                                 struct curl_sockaddr *to)
{
    (void)user;
    (void)purpose;
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* Makes room for an answer of announced length at once: a text that grows by
 * doubling is copied, and has pages that nothing uses. */
static void reserve_answer(transfer *t)
{
    curl_off_t announced = -1;

    if (t->http->api.curl_easy_getinfo(t->easy,
                                       CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
                                       &announced) == CURLE_OK &&
        announced > 0 && (uint64_t)announced <= t->most)
        groat__str_reserve(&t->exchange->answer, (size_t)announced);
}

static size_t take_answer(char *data, size_t one, size_t bytes, void *user)
{
    transfer *t = user;

    (void)one;
    if (bytes > t->most - t->exchange->answer.len) {
        t->long_answer = true;
        return 0;
    }
    if (t->exchange->answer.len == 0)
        reserve_answer(t);
    groat__str_addn(&t->exchange->answer, data, bytes);
    return t->exchange->answer.failed ? 0 : bytes;
}

/* Keeps the value of the first header line with this name. */
static bool keep_value(const char *line, size_t len, const char *name,
                       char **out)
{
    size_t lead = strlen(name);

    if (*out != NULL || len <= lead || strncasecmp(line, name, lead) != 0)
        return true;
    for (; lead < len && line[lead] == ' '; lead++)
        continue;
    *out = strndup(line + lead, len - lead);
    return *out != NULL;
}

/* For registries: keeps the Location and WWW-Authenticate headers. */
static size_t take_line(char *data, size_t one, size_t bytes, void *user)
{
    groat__exchange *x = ((transfer *)user)->exchange;
    size_t len = bytes;

    (void)one;
    while (len > 0 && strchr("\r\n ", data[len - 1]) != NULL)
        len--;
    if (len > 5 && strncmp(data, "HTTP/", 5) == 0)
        forget_lines(x); /* from an earlier response */
    return keep_value(data, len, "location:", &x->location) &&
                   keep_value(data, len, "www-authenticate:", &x->challenge)
               ? bytes
               : 0;
}

static size_t give_body(char *to, size_t one, size_t room, void *user)
{
    transfer *t = user;
    size_t left = t->exchange->bytes - t->sent;
    size_t bytes = one * room < left ? one * room : left;

    memcpy(to, (const char *)t->exchange->body + t->sent, bytes);
    t->sent += bytes;
    return bytes;
}

static bool add_line(transfer *t, const char *line)
{
    struct curl_slist *more = t->http->api.curl_slist_append(t->lines, line);

    if (more != NULL)
        t->lines = more;
    return more != NULL;
}

/* The digest of the body, which S3's signature covers; libcurl before 8 does
 * not send it. */
static bool add_digest(transfer *t)
{
    static const char name[] = "x-amz-content-sha256: ";
    uint8_t digest[crypto_hash_sha256_BYTES];
    char line[sizeof(name) + 2 * sizeof(digest)];
    const groat__exchange *x = t->exchange;

    (void)crypto_hash_sha256(
        digest, x->bytes == 0 ? (const unsigned char *)"" : x->body, x->bytes);
    memcpy(line, name, sizeof(name) - 1);
    groat__hex(line + sizeof(name) - 1, digest, sizeof(digest));
    return add_line(t, line);
}

static bool add_type(transfer *t, const char *name)
{
    const char *type = t->exchange->type;
    char line[160];

    (void)snprintf(line, sizeof(line), "%s: %s", name,
                   type != NULL ? type : "application/octet-stream");
    return add_line(t, line);
}

static bool add_lines(transfer *t)
{
    const groat__place *place = t->http->place;
    const groat__exchange *x = t->exchange;
    bool put = x->verb == GROAT__OBJECT_PUT;
    bool good = true;

    if (put)
        good = add_line(t, "If-None-Match: *");
    if (good && (put || x->verb == GROAT__OBJECT_SEND))
        good = add_type(t, "Content-Type");
    else if (good && x->type != NULL)
        good = add_type(t, "Accept");
    return good &&
           (place->login == NULL || place->sigv4 == NULL || add_digest(t)) &&
           (place->token == NULL || add_line(t, place->token));
}

#define SET(option, value)                                                     \
    (void)api->curl_easy_setopt(t->easy, CURLOPT_##option, value)

static void set_verb(transfer *t)
{
    const curl_api *api = &t->http->api;

    switch (t->exchange->verb) {
    case GROAT__OBJECT_GET:
        break;
    case GROAT__OBJECT_HEAD:
        SET(NOBODY, 1L);
        break;
    case GROAT__OBJECT_POST:
        SET(POST, 1L);
        SET(POSTFIELDS, "");
        SET(POSTFIELDSIZE, 0L);
        break;
    case GROAT__OBJECT_PUT:
    case GROAT__OBJECT_SEND:
        SET(UPLOAD, 1L);
        /* A header "Expect:" of ours would be signed and not sent. */
        SET(EXPECT_100_TIMEOUT_MS, 1L);
        SET(READFUNCTION, give_body);
        SET(READDATA, t);
        SET(INFILESIZE_LARGE, (curl_off_t)t->exchange->bytes);
        break;
    case GROAT__OBJECT_DELETE:
        SET(CUSTOMREQUEST, "DELETE");
        break;
    }
}

/* Uses options that newer headers call deprecated: older libraries have only
 * these. */
static void set_protocols(transfer *t)
{
    const curl_api *api = &t->http->api;
    bool safe = strncmp(t->http->place->base, "https:", 6) == 0;
    long both = CURLPROTO_HTTP | CURLPROTO_HTTPS;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    SET(PROTOCOLS, both);
    SET(REDIR_PROTOCOLS, safe ? (long)CURLPROTO_HTTPS : both);
#pragma GCC diagnostic pop
    /* A redirect would send our headers, such as the S3 token, to another host;
     * and no other host may choose where we write or remove. */
    SET(FOLLOWLOCATION, t->http->place->kind == GROAT__PLACE_HTTP &&
                                (t->exchange->verb == GROAT__OBJECT_GET ||
                                 t->exchange->verb == GROAT__OBJECT_HEAD)
                            ? 1L
                            : 0L);
    SET(MAXREDIRS, (long)REDIRECTS);
}

/* A tool, whose exchange may take ten seconds, also waits for a far place. */
static unsigned connect_ms(unsigned budget_ms)
{
    unsigned ms = budget_ms / 4 > CONNECT_MS ? budget_ms / 4 : CONNECT_MS;

    return budget_ms < ms ? budget_ms : ms;
}

static bool set_up(transfer *t, const char *url, unsigned budget_ms)
{
    const curl_api *api = &t->http->api;
    const groat__place *place = t->http->place;

    if (!add_lines(t) ||
        api->curl_easy_setopt(t->easy, CURLOPT_URL, url) != CURLE_OK ||
        api->curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->lines) !=
            CURLE_OK)
        return false;
    set_verb(t);
    set_protocols(t);
    SET(PRIVATE, t);
    SET(ERRORBUFFER, t->why);
    SET(NOSIGNAL, 1L);
    SET(OPENSOCKETFUNCTION, open_socket);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* Does not wait for a pending name look-up. */
    SET(QUICK_EXIT, 1L);
#endif
    SET(CONNECTTIMEOUT_MS, (long)connect_ms(budget_ms));
    SET(TIMEOUT_MS, (long)budget_ms);
    SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(PIPEWAIT, 1L);
    if (t->exchange->keeps_lines) {
        SET(HEADERFUNCTION, take_line);
        SET(HEADERDATA, t);
    }
    SET(WRITEFUNCTION, take_answer);
    SET(WRITEDATA, t);
    if (place->ca != NULL)
        SET(CAINFO, place->ca);
    SET(USERAGENT, "groat/" GROAT_VERSION_STRING);
    if (place->bearer != NULL)
        return api->curl_easy_setopt(t->easy, CURLOPT_HTTPAUTH,
                                     (long)CURLAUTH_BEARER) == CURLE_OK &&
               api->curl_easy_setopt(t->easy, CURLOPT_XOAUTH2_BEARER,
                                     place->bearer) == CURLE_OK;
    return place->login == NULL ||
           (api->curl_easy_setopt(t->easy, CURLOPT_USERPWD, place->login) ==
                CURLE_OK &&
            (place->sigv4 == NULL ||
             api->curl_easy_setopt(t->easy, CURLOPT_AWS_SIGV4, place->sigv4) ==
                 CURLE_OK));
}

#undef SET

static void say_why(groat__exchange *x, const char *text)
{
    (void)snprintf(x->why, sizeof(x->why), "%.*s", (int)sizeof(x->why) - 1,
                   text);
    groat__one_line(x->why);
}

/* Also tells the code of an S3 server's error, as RequestTimeTooSkewed. */
static void say_status(groat__exchange *x, long code)
{
    static const char lead[] = "<Code>";
    const char *body = x->answer.len > 0 ? x->answer.data : "";
    const char *word = strstr(body, lead);
    int len = 0;

    for (word = word != NULL ? word + strlen(lead) : "";
         len < S3_CODE_MOST && groat__is_letter(word[len]);)
        len++;
    (void)snprintf(x->why, sizeof(x->why), "the server answered %ld%s%.*s",
                   code, len > 0 ? ": " : "", len, word);
}

static groat__outcome outcome_of(groat__exchange *x, long code)
{
    bool fetched = x->verb == GROAT__OBJECT_GET;

    if (fetched ? code == HTTP_OK : code >= HTTP_OK && code < HTTP_OK + 100)
        return GROAT__OBJECT_DONE;
    say_status(x, code);
    if (x->verb != GROAT__OBJECT_PUT &&
        (code == HTTP_NO_SUCH || code == HTTP_GONE) &&
        strstr(x->why, "NoSuchBucket") == NULL)
        return GROAT__OBJECT_ABSENT;
    if (x->verb == GROAT__OBJECT_PUT &&
        (code == HTTP_THERE || code == HTTP_CONFLICT))
        return GROAT__OBJECT_THERE;
    return GROAT__OBJECT_FAILED;
}

/* Whether an exchange timed out while it waited for a connection, which others
 * may have: libcurl's words for that speak of a host that was not resolved. */
static bool has_waited(const transfer *t, CURLcode result)
{
    double found_s = 0;

    (void)t->http->api.curl_easy_getinfo(t->easy, CURLINFO_NAMELOOKUP_TIME,
                                         &found_s);
    return result == CURLE_OPERATION_TIMEDOUT && found_s <= 0;
}

/* libcurl's words, but for those that show a proxy's URL, which may have a
 * password. */
static const char *words_of(const transfer *t, CURLcode result)
{
    static const char shows_url[] = "Unsupported proxy";

    if (strncmp(t->why, shows_url, sizeof(shows_url) - 1) == 0)
        return "the proxy that the environment names is no URL that libcurl "
               "takes";
    return t->why[0] != '\0' ? t->why : t->http->api.curl_easy_strerror(result);
}

/* Returns false if the next exchange would fail in the same way. */
static bool finish(transfer *t, CURLcode result)
{
    const curl_api *api = &t->http->api;
    groat__exchange *x = t->exchange;
    long redirects = 0;
    long code = 0;

    (void)api->curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &code);
    (void)api->curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_COUNT, &redirects);
    /* Ignores another host's headers: our login would follow them. */
    if (redirects > 0)
        forget_lines(x);
    x->answered = code != 0;
    if (result == CURLE_OK) {
        x->outcome = outcome_of(x, code);
    } else {
        x->outcome = result == CURLE_OPERATION_TIMEDOUT ? GROAT__OBJECT_LATE
                                                        : GROAT__OBJECT_FAILED;
        say_why(x, t->long_answer ? "the answer is too long"
                   : has_waited(t, result)
                       ? "timed out before the host's address was known or a "
                         "connection was free"
                       : words_of(t, result));
    }
    if (x->outcome != GROAT__OBJECT_DONE)
        groat__str_free(&x->answer);
    return x->outcome != GROAT__OBJECT_LATE &&
           result != CURLE_COULDNT_CONNECT &&
           result != CURLE_COULDNT_RESOLVE_HOST &&
           result != CURLE_COULDNT_RESOLVE_PROXY &&
           result != CURLE_PEER_FAILED_VERIFICATION;
}

/* ---- a run ------------------------------------------------------------- */

typedef struct run {
    groat__http *http;
    CURLM *multi;
    const groat__batch *batch;
    size_t next;
    size_t under_way;
    bool stopped;
} run;

static void end_transfer(run *r, transfer *t)
{
    const curl_api *api = &r->http->api;

    (void)api->curl_multi_remove_handle(r->multi, t->easy);
    api->curl_easy_cleanup(t->easy);
    api->curl_slist_free_all(t->lines);
    free(t);
}

static void begin_transfer(run *r, groat__exchange *x)
{
    const curl_api *api = &r->http->api;
    transfer *t = calloc(1, sizeof(*t));
    groat__str url = {0};
    bool begun = false;

    if (x->url != NULL)
        groat__str_add(&url, x->url);
    else
        groat__str_addf(&url, "%s/%s", r->http->place->base, x->name);
    if (t != NULL) {
        t->http = r->http;
        t->exchange = x;
        t->most = x->most != 0 ? x->most : GROAT__ENTRY_MAX;
        t->easy = api->curl_easy_init();
        begun = t->easy != NULL && !url.failed &&
                set_up(t, url.data, r->batch->budget_ms) &&
                api->curl_multi_add_handle(r->multi, t->easy) == CURLM_OK;
        if (!begun && t->easy != NULL)
            api->curl_easy_cleanup(t->easy);
        if (!begun)
            api->curl_slist_free_all(t->lines);
    }
    groat__str_free(&url);
    if (begun) {
        r->under_way++;
        return;
    }
    free(t);
    x->outcome = GROAT__OBJECT_FAILED;
    say_why(x, "no memory for an exchange");
    if (r->batch->done != NULL)
        r->batch->done(r->batch->user, x);
}

static void end_one(run *r, transfer *t, CURLcode result)
{
    groat__exchange *x = t->exchange;

    r->stopped = !finish(t, result) || r->stopped;
    end_transfer(r, t);
    r->under_way--;
    if (r->batch->done != NULL)
        r->batch->done(r->batch->user, x);
}

static void take_results(run *r)
{
    const curl_api *api = &r->http->api;
    CURLMsg *message;
    int left = 0;

    while ((message = api->curl_multi_info_read(r->multi, &left)) != NULL) {
        CURLcode result = message->data.result;
        void *own = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)api->curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
                                     &own);
        end_one(r, own, result);
    }
}

static bool is_stopped(const run *r)
{
    return r->batch->stop != NULL && *r->batch->stop;
}

static void run_all(run *r)
{
    const curl_api *api = &r->http->api;
    size_t most = r->batch->budget_ms < SHORT_MS ? AT_ONCE : AT_A_TIME;
    int running = 0;

    for (;;) {
        while (!r->stopped && !is_stopped(r) && r->next < r->batch->count &&
               r->under_way < most)
            begin_transfer(r, &r->batch->list[r->next++]);
        if (r->under_way == 0)
            return;
        (void)api->curl_multi_perform(r->multi, &running);
        take_results(r);
        if (r->under_way > 0)
            (void)api->curl_multi_poll(r->multi, NULL, 0, NAP_MS, NULL);
    }
}

void groat__http_run(groat__http *http, const groat__batch *batch)
{
    run r = {.http = http, .batch = batch};
    groat__hold hold;

    r.multi = take_multi(http);
    if (r.multi == NULL) {
        groat__batch_fail(batch, "no memory for an exchange");
        return;
    }
    groat__hold_begin(&hold, SIGPIPE);
    run_all(&r);
    groat__hold_end(&hold);
    give_multi(http, r.multi);
}

/* ---- listing ----------------------------------------------------------- */

/* Finds the text of the first <name> between two places; *len bytes.  NULL if
 * there is none. */
static const char *element(const char *at, const char *end, const char *name,
                           size_t *len)
{
    char open[32];
    int lead = snprintf(open, sizeof(open), "<%s>", name);
    const char *text = memmem(at, (size_t)(end - at), open, (size_t)lead);
    const char *close;

    if (text == NULL)
        return NULL;
    text += lead;
    close = memchr(text, '<', (size_t)(end - text));
    if (close == NULL)
        return NULL;
    *len = (size_t)(close - text);
    return text;
}

/* Parses "2026-11-25T09:00:00.000Z"; 0 for anything else. */
static int64_t seconds_of(const groat__http *http, const char *text, size_t len)
{
    char date[48];
    int y, mo, d, h, mi, s;

    if (len >= sizeof(date))
        return 0;
    memcpy(date, text, len);
    date[len] = '\0';
    if (sscanf(date, "%4d-%2d-%2dT%2d:%2d:%2d", &y, &mo, &d, &h, &mi, &s) != 6)
        return 0;
    (void)snprintf(date, sizeof(date), "%04d%02d%02d %02d:%02d:%02d GMT",
                   y % 10000, mo % 100, d % 100, h % 100, mi % 100, s % 100);
    return (int64_t)http->api.curl_getdate(date, NULL);
}

/* A page of a listing. */
typedef struct page {
    groat__http *http;
    groat__listed_fn *fn;
    void *user;
    char last[GROAT__OBJECT_KEY]; /* the last key reported */
    unsigned keys;                /* so far */
    bool stopped;
} page;

/* Reports one <Contents>; skips keys without our prefix. */
static void tell_listed(page *p, const char *at, const char *end)
{
    const char *prefix = p->http->place->prefix;
    size_t lead = strlen(prefix);
    groat__listed listed = {.name = p->last};
    size_t len = 0;
    const char *text = element(at, end, "Key", &len);

    if (text == NULL || len >= sizeof(p->last))
        return;
    memcpy(p->last, text, len);
    p->last[len] = '\0';
    if (len <= lead || strncmp(text, prefix, lead) != 0 ||
        (lead > 0 && text[lead] != '/'))
        return;
    listed.name += lead + (lead > 0);
    text = element(at, end, "LastModified", &len);
    if (text != NULL)
        listed.modified_s = seconds_of(p->http, text, len);
    if (listed.modified_s < 0)
        listed.modified_s = 0;
    text = element(at, end, "Size", &len);
    if (text != NULL && *text >= '0' && *text <= '9')
        listed.bytes = strtoull(text, NULL, 10);
    p->stopped = p->fn(p->user, &listed) != 0;
}

/* False: the answer is not a complete listing.  *more: pages follow. */
static bool tell_page(page *p, const groat__str *answer, bool *more)
{
    const char *at = answer->data != NULL ? answer->data : "";
    const char *end = strstr(at, "</ListBucketResult>");
    size_t len = 0;
    const char *text;

    if (end == NULL || strstr(at, "<ListBucketResult") == NULL)
        return false;
    text = element(at, end, "IsTruncated", &len);
    *more = text != NULL && len == 4 && strncmp(text, "true", 4) == 0;
    while (!p->stopped && (at = strstr(at, "<Contents>")) != NULL) {
        const char *close = strstr(at, "</Contents>");

        if (close == NULL)
            return false;
        if (++p->keys > KEYS_MAX)
            return true;
        tell_listed(p, at, close);
        at = close;
    }
    *more = *more && !p->stopped;
    return true;
}

void groat__http_encode(groat__str *url, const char *text, size_t len)
{
    for (const char *end = text + len; text < end; text++)
        if (groat__is_word(*text) || strchr("-.~", *text) != NULL)
            groat__str_addn(url, text, 1);
        else
            groat__str_addf(url, "%%%02X", (unsigned)(unsigned char)*text);
}

/* In the order of SigV4: libcurl before 8 signs the query as it is. */
static void add_query(groat__str *url, const page *p)
{
    const char *prefix = p->http->place->prefix;

    groat__str_add(url, "?marker=");
    groat__http_encode(url, p->last, strlen(p->last));
    groat__str_add(url, "&prefix=");
    groat__http_encode(url, prefix, strlen(prefix));
    groat__str_add(url, *prefix != '\0' ? "%2Fv1%2F" : "v1%2F");
}

groat_status groat__http_list(groat__http *http, unsigned budget_ms,
                              groat__listed_fn *fn, void *user,
                              groat_error *error)
{
    page p = {.http = http, .fn = fn, .user = user};
    groat_status status = GROAT_OK;
    double end_ms = groat__now_ms() + LISTING_MS;
    char before[GROAT__OBJECT_KEY];
    bool more;

    if (http->place->kind != GROAT__PLACE_S3)
        return groat__fail(error, GROAT_INVALID,
                           "%s cannot be listed: plain HTTP has no listing; "
                           "name the kernels in a manifest",
                           http->place->shown);
    do {
        groat__exchange x = {.verb = GROAT__OBJECT_GET, .most = LISTING_MAX};
        groat__str url = {0};

        more = false;
        memcpy(before, p.last, sizeof(before));
        groat__str_add(&url, http->place->listing);
        add_query(&url, &p);
        x.url = url.data;
        if (url.failed)
            status =
                groat__fail(error, GROAT_NO_MEMORY, "no memory for a listing");
        else
            groat__http_run(http, &(groat__batch){.list = &x,
                                                  .count = 1,
                                                  .budget_ms = budget_ms});
        if (x.outcome == GROAT__OBJECT_DONE && !tell_page(&p, &x.answer, &more))
            status = groat__fail(error, GROAT_IO,
                                 "cannot list %s: the answer is no listing",
                                 http->place->shown);
        else if (status == GROAT_OK && x.outcome != GROAT__OBJECT_DONE)
            status = groat__fail(error, GROAT_IO, "cannot list %s: %s",
                                 http->place->shown,
                                 x.why[0] != '\0' ? x.why : "no such bucket");
        groat__str_free(&url);
        groat__exchange_free(&x);
        /* Keys ascend from page to page, or there would be no end. */
    } while (status == GROAT_OK && more && strcmp(before, p.last) < 0 &&
             p.keys <= KEYS_MAX && groat__now_ms() < end_ms);
    if (status == GROAT_OK && p.keys > KEYS_MAX)
        status = groat__fail(error, GROAT_IO,
                             "cannot list %s: it has more than %d objects",
                             http->place->shown, KEYS_MAX);
    else if (status == GROAT_OK && more)
        status = groat__fail(error, GROAT_IO,
                             "cannot list %s: the listing does not go on "
                             "behind '%s', or not within %d s",
                             http->place->shown, p.last, LISTING_MS / 1000);
    return status;
}
