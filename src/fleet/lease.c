/* SPDX-License-Identifier: Apache-2.0
 *
 * lease.c decides which host of a fleet compiles a key, by leases in Redis or
 * Valkey, through hiredis, which is opened at run time.
 *
 * Invariant: a lease saves work and guards nothing: a host that has none may
 * compile, too.  A call takes at most CONNECT_MS plus COMMAND_MS, of which a
 * command has COMMAND_MS, and no time while the breaker is open; before that it
 * waits for the calls of other threads, for COMMAND_MS at most.
 *
 * Locking: a lock around the counts, and a flag, waited for with the lock,
 * around the one connection.
 */
#include <hiredis/hiredis.h>

#include "fleet/lease.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/clock.h"
#include "base/dl.h"
#include "base/error.h"
#include "base/hold.h"
#include "base/thread.h"
#include "fleet/breaker.h"
#include "fleet/place.h"
#include "fleet/resolve.h"

enum {
    CONNECT_MS = 250,
    COMMAND_MS = 250,
    FIRST_TRY_MS = 100, /* a server that restarts is back soon */
    PORT = 6379,
    PORT_MAX = 65535,
    WORDS = 8,
    OWNER = 33,
    NAME = 48
};

typedef struct hiredis_api {
#define SYMBOL(need, result, name, args) result(*name) args;
#include "fleet/hiredis.def"
#undef SYMBOL
} hiredis_api;

enum { optional = 0, needed = 1 };

static const groat__symbol symbols[] = {
#define SYMBOL(need, result, name, args)                                       \
    {#name, need, offsetof(hiredis_api, name)},
#include "fleet/hiredis.def"
#undef SYMBOL
};

struct groat__lease {
    groat__log log;
    char *host; /* or the path of a socket */
    char *user;
    char *password;
    char *shown;
    char database[8];
    int port; /* 0: a socket */
    char owner[OWNER];
    groat__breaker *breaker; /* the process's */

    pthread_mutex_t lock; /* guards the counts and busy */
    pthread_cond_t idle;  /* no longer busy             */
    groat__lease_counts counts;
    atomic_bool said; /* that leases cannot be released */
    bool busy; /* a thread asks the server; it alone has the fields below */
    groat__dl dl;
    hiredis_api api;
    groat__resolver resolver;
    bool opened; /* opening libhiredis was tried */
    redisContext *connection;
    char reason[GROAT__LEASE_PROBLEM]; /* the server's, of the last command */
};

/* ---- the URL ----------------------------------------------------------- */

static bool keep(char **out, const char *text, size_t len)
{
    *out = strndup(text, len);
    return *out != NULL;
}

static groat_status bad_url(const char *url, groat_error *error)
{
    size_t scheme = strcspn(url, ":");

    /* The rest of the URL may have a password. */
    return groat__fail(error, GROAT_INVALID,
                       "the lease server's URL, '%.*s:...', is not one of "
                       "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], "
                       "unix:///SOCKET",
                       scheme > 16 ? 16 : (int)scheme, url);
}

static bool read_number(const char *text, const char *end, long most, int *out)
{
    long value = 0;

    if (text == end)
        return false;
    for (; text < end; text++) {
        if (!groat__is_digit(*text) || value > most)
            return false;
        value = 10 * value + (*text - '0');
    }
    *out = (int)value;
    return value <= most;
}

/* Keeps a text in which %XX is a byte, as of a password with '/'. */
static bool keep_decoded(char **out, const char *text, size_t len)
{
    return keep(out, text, len) && groat__percent_decode(*out);
}

/* Reads "[[USER]:PASSWORD@]" and moves *at past it. */
static bool read_login(groat__lease *lease, const char **at, const char *end)
{
    const char *login = *at;
    const char *stop = memrchr(login, '@', (size_t)(end - login));
    const char *colon;

    if (stop == NULL)
        return true;
    *at = stop + 1;
    colon = memchr(login, ':', (size_t)(stop - login));
    if (colon == NULL)
        return false;
    return keep_decoded(&lease->user, login, (size_t)(colon - login)) &&
           keep_decoded(&lease->password, colon + 1,
                        (size_t)(stop - colon - 1));
}

/* Reads "HOST" or "[ADDRESS]" and moves *at past it. */
static bool read_host(groat__lease *lease, const char **at)
{
    bool bracket = **at == '[';
    const char *host = *at + bracket;
    size_t len = strcspn(host, bracket ? "]" : ":/");

    if (len == 0 || strcspn(host, " ?#%\"\\") < len ||
        (bracket && host[len] != ']'))
        return false;
    *at = host + len + bracket;
    return keep(&lease->host, host, len);
}

static bool read_url(groat__lease *lease, const char *url)
{
    const char *at = url + strlen("redis://");
    const char *end;
    int database = 0;

    if (strncmp(url, "unix:///", 8) == 0 && url[8] != '\0')
        return keep(&lease->host, url + 7, strlen(url + 7)) &&
               keep(&lease->shown, url, strlen(url));
    if (strncmp(url, "redis://", 8) != 0 ||
        !read_login(lease, &at, at + strcspn(at, "/")) ||
        !keep(&lease->shown, at, strlen(at)) || !read_host(lease, &at))
        return false;
    end = at + strcspn(at, "/");
    lease->port = PORT;
    if (at < end &&
        (*at != ':' || !read_number(at + 1, end, PORT_MAX, &lease->port) ||
         lease->port == 0))
        return false;
    if (*end == '/' && end[1] != '\0' &&
        !read_number(end + 1, end + strlen(end), 9999, &database))
        return false;
    (void)snprintf(lease->database, sizeof(lease->database), "%d", database);
    return true;
}

groat_status groat__lease_open(const char *url, const groat__log *log,
                               groat__lease **out, groat_error *error)
{
    groat__lease *lease = calloc(1, sizeof(*lease));
    uint8_t random[(OWNER - 1) / 2];

    if (lease == NULL || !groat__wait_init(&lease->lock, &lease->idle)) {
        free(lease);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for leases");
    }
    lease->log = *log;
    randombytes_buf(random, sizeof(random));
    groat__hex(lease->owner, random, sizeof(random));
    if (!read_url(lease, url)) {
        groat__lease_close(lease);
        return bad_url(url, error);
    }
    groat__one_line(lease->shown);
    lease->breaker = groat__breaker_of(lease->shown, FIRST_TRY_MS);
    if (lease->breaker == NULL) {
        groat__lease_close(lease);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for leases");
    }
    *out = lease;
    return GROAT_OK;
}

static void disconnect(groat__lease *lease)
{
    if (lease->connection != NULL)
        lease->api.redisFree(lease->connection);
    lease->connection = NULL;
}

void groat__lease_close(groat__lease *lease)
{
    if (lease == NULL)
        return;
    disconnect(lease);
    groat__resolver_close(&lease->resolver);
    groat__dl_close(&lease->dl);
    groat__wait_free(&lease->lock, &lease->idle);
    if (lease->password != NULL)
        sodium_memzero(lease->password, strlen(lease->password));
    free(lease->password);
    free(lease->user);
    free(lease->host);
    free(lease->shown);
    free(lease);
}

const char *groat__lease_shown(const groat__lease *lease)
{
    return lease->shown;
}

/* ---- one command: with the flag ---------------------------------------- */

#define TEXT_OF(x)    TEXT_OF_IT(x)
#define TEXT_OF_IT(x) #x

/* The structures of hiredis differ between sonames. */
static bool open_library(groat__lease *lease)
{
    static const char *const sonames[] = {
        "libhiredis.so." TEXT_OF(HIREDIS_SONAME), NULL};
    const groat__dl_search search = {.sonames = sonames};
    groat_error error = GROAT_ERROR_INIT;

    if (lease->opened)
        return lease->dl.handle != NULL;
    lease->opened = true;
    if (groat__dl_open(&search, &lease->dl, &error) != GROAT_OK ||
        groat__dl_bind(&lease->dl, symbols,
                       sizeof(symbols) / sizeof(symbols[0]), &lease->api,
                       &error) != GROAT_OK) {
        groat__dl_close(&lease->dl);
        groat__log_line(&lease->log, GROAT_LOG_WARNING,
                        "no leases are taken: %s", error.text);
    }
    groat_error_clear(&error);
    return lease->dl.handle != NULL;
}

/* Limits the next read or write to end_ms; false if the time is over. */
static bool set_limit(groat__lease *lease, double end_ms)
{
    double ms = end_ms - groat__now_ms();
    struct timeval limit = {0, (suseconds_t)(ms * 1000)};

    return ms >= 1 &&
           lease->api.redisSetTimeout(lease->connection, limit) == REDIS_OK;
}

/* Takes a reply that arrives until end_ms, even from a server that sends one
 * byte at a time. */
static redisReply *take_reply(groat__lease *lease, double end_ms)
{
    redisReader *reader = lease->connection->reader;
    void *reply = NULL;

    /* Checks the type first: hiredis would trust any length of an aggregate.
     * What was read before may still stand in front of pos. */
    while (reader->pos == reader->len)
        if (!set_limit(lease, end_ms) ||
            lease->api.redisBufferRead(lease->connection) != REDIS_OK)
            return NULL;
    if (strchr("+-:$", reader->buf[reader->pos]) == NULL)
        return NULL;
    while (lease->api.redisReaderGetReply(reader, &reply) == REDIS_OK &&
           reply == NULL)
        if (!set_limit(lease, end_ms) ||
            lease->api.redisBufferRead(lease->connection) != REDIS_OK)
            return NULL;
    return reply;
}

static bool send_command(groat__lease *lease, const char **words, int count,
                         double end_ms)
{
    size_t lengths[WORDS];
    int done = 0;

    for (int i = 0; i < count; i++)
        lengths[i] = strlen(words[i]);
    if (lease->api.redisAppendCommandArgv(lease->connection, count, words,
                                          lengths) != REDIS_OK)
        return false;
    while (done == 0)
        if (!set_limit(lease, end_ms) ||
            lease->api.redisBufferWrite(lease->connection, &done) != REDIS_OK)
            return false;
    return true;
}

static redisReply *ask(groat__lease *lease, const char **words, int count,
                       double end_ms)
{
    const redisReader *reader = lease->connection->reader;
    double limit_ms = groat__now_ms() + COMMAND_MS;

    if (reader->pos != reader->len) /* more than was asked for */
        return NULL;
    end_ms = end_ms < limit_ms ? end_ms : limit_ms;
    return send_command(lease, words, count, end_ms) ? take_reply(lease, end_ms)
                                                     : NULL;
}

static void keep_reason(groat__lease *lease, const char *text)
{
    (void)snprintf(lease->reason, sizeof(lease->reason), "%.80s", text);
    groat__one_line(lease->reason);
}

static bool did(groat__lease *lease, const char **words, int count,
                double end_ms)
{
    redisReply *reply = ask(lease, words, count, end_ms);
    bool good = reply != NULL && reply->type != REDIS_REPLY_ERROR;

    if (reply != NULL && !good)
        keep_reason(lease, reply->str);
    if (reply != NULL)
        lease->api.freeReplyObject(reply);
    return good;
}

/* Keeps the first word of a refusal alone, "WRONGPASS": the rest may repeat the
 * password. */
static bool did_log_in(groat__lease *lease, const char **words, int count,
                       double end_ms)
{
    bool good = did(lease, words, count, end_ms);

    if (!good && *lease->reason != '\0') {
        size_t len = strspn(lease->reason, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

        (void)snprintf(lease->reason + len, sizeof(lease->reason) - len,
                       "%sthe server refuses the login", len > 0 ? ": " : "");
    }
    return good;
}

static bool log_in(groat__lease *lease, double end_ms)
{
    const char *select[] = {"SELECT", lease->database};
    const char *with_user[] = {"AUTH", lease->user, lease->password};
    const char *without[] = {"AUTH", lease->password};

    if (lease->password != NULL &&
        (*lease->user != '\0' ? !did_log_in(lease, with_user, 3, end_ms)
                              : !did_log_in(lease, without, 2, end_ms)))
        return false;
    return lease->port == 0 || strcmp(lease->database, "0") == 0 ||
           did(lease, select, 2, end_ms);
}

/* The time left until end_ms, at most CONNECT_MS; false if it is over. */
static bool time_left(double end_ms, struct timeval *left)
{
    double ms = end_ms - groat__now_ms();

    *left = (struct timeval){
        0, (suseconds_t)((ms > CONNECT_MS ? CONNECT_MS : ms) * 1000)};
    return ms >= 1;
}

/* Connects to the first of the host's addresses that answers. */
static redisContext *connect_host(groat__lease *lease, double end_ms)
{
    const char *why = "";
    struct addrinfo *found =
        groat__resolve(&lease->resolver, lease->host, CONNECT_MS, &why);
    redisContext *connection = NULL;
    struct timeval left;
    char address[64];

    if (found == NULL)
        keep_reason(lease, why);
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next) {
        if (connection != NULL)
            lease->api.redisFree(connection);
        connection = NULL;
        if (!time_left(end_ms, &left) ||
            getnameinfo(a->ai_addr, a->ai_addrlen, address, sizeof(address),
                        NULL, 0, NI_NUMERICHOST) != 0)
            continue;
        connection =
            lease->api.redisConnectWithTimeout(address, lease->port, left);
        if (connection != NULL && connection->err == 0)
            break;
    }
    if (found != NULL)
        freeaddrinfo(found);
    return connection;
}

static bool connect_to(groat__lease *lease, double end_ms)
{
    const struct timeval connect = {0, CONNECT_MS * 1000};

    if (lease->connection != NULL)
        return true;
    lease->connection =
        lease->port == 0
            ? lease->api.redisConnectUnixWithTimeout(lease->host, connect)
            : connect_host(lease, end_ms);
    if (lease->connection == NULL || lease->connection->err != 0)
        return false;
    /* Close-on-exec: compilers are children of this process. */
    (void)fcntl(lease->connection->fd, F_SETFD, FD_CLOEXEC);
    return log_in(lease, end_ms);
}

/* An idle connection may have been closed by the server: reconnects once. */
static redisReply *ask_again(groat__lease *lease, const char **words, int count)
{
    double end_ms = groat__now_ms() + CONNECT_MS + COMMAND_MS;
    bool old = lease->connection != NULL;
    redisReply *reply =
        connect_to(lease, end_ms) ? ask(lease, words, count, end_ms) : NULL;

    if (reply == NULL && old) {
        disconnect(lease);
        reply =
            connect_to(lease, end_ms) ? ask(lease, words, count, end_ms) : NULL;
    }
    if (reply == NULL)
        disconnect(lease);
    return reply;
}

/* Returns the reply's type and its number, of a text its hash; -1 if there was
 * none or it was an error.  An error of a script is a reply, since the server
 * works. */
static int run_command(groat__lease *lease, const char **words, int count,
                       long long *number)
{
    redisReply *reply = ask_again(lease, words, count);
    int type = -1;

    if (reply == NULL)
        return -1;
    if (reply->type == REDIS_REPLY_ERROR)
        keep_reason(lease, reply->str);
    if (reply->type != REDIS_REPLY_ERROR || strcmp(words[0], "EVAL") == 0)
        type = reply->type;
    *number = reply->type == REDIS_REPLY_STRING
                  ? (long long)groat__hash64(reply->str, reply->len)
                  : reply->integer;
    lease->api.freeReplyObject(reply);
    return type;
}

static void say_lost(const groat__lease *lease, const char *reason)
{
    groat__log_line(&lease->log, GROAT_LOG_WARNING,
                    "lease server %s%s%s: kernels are compiled without leases "
                    "for a while",
                    lease->shown, *reason != '\0' ? ": " : " gives no answer",
                    reason);
}

/* Waits until no other thread asks the server; false: they take too long. */
static bool begin(groat__lease *lease)
{
    const struct timespec end = groat__after_ms(COMMAND_MS);
    bool mine;

    (void)pthread_mutex_lock(&lease->lock);
    while (lease->busy &&
           pthread_cond_timedwait(&lease->idle, &lease->lock, &end) == 0)
        continue;
    mine = !lease->busy;
    lease->busy = true;
    (void)pthread_mutex_unlock(&lease->lock);
    return mine;
}

static void end(groat__lease *lease)
{
    (void)pthread_mutex_lock(&lease->lock);
    lease->busy = false;
    (void)pthread_cond_signal(&lease->idle);
    (void)pthread_mutex_unlock(&lease->lock);
}

static void count_one(groat__lease *lease, uint64_t *count)
{
    (void)pthread_mutex_lock(&lease->lock);
    (*count)++;
    (void)pthread_mutex_unlock(&lease->lock);
}

/* trying: the caller finds out whether the server is back. */
static int hold_and_run(groat__lease *lease, bool trying, const char **words,
                        int count, long long *number)
{
    char reason[sizeof(lease->reason)] = "";
    groat__hold hold;
    bool lost = false;
    int type = -1;

    if (!begin(lease)) {
        count_one(lease, &lease->counts.errors);
        return -1;
    }
    groat__hold_begin(&hold, SIGPIPE);
    /* The breaker may have opened while this thread waited. */
    if ((trying || groat__breaker_is_closed(lease->breaker)) &&
        open_library(lease)) {
        lease->reason[0] = '\0';
        type = run_command(lease, words, count, number);
        if (type != -1) {
            groat__breaker_mend(lease->breaker);
        } else {
            count_one(lease, &lease->counts.errors);
            lost = groat__breaker_trip(lease->breaker);
            if (trying)
                groat__breaker_extend(lease->breaker);
            memcpy(reason, lease->reason, sizeof(reason));
        }
    }
    groat__hold_end(&hold);
    end(lease);
    if (lost)
        say_lost(lease, reason);
    return type;
}

static void name_of(const groat__digest *key, char out[NAME])
{
    char hex[33];

    groat__hex(hex, key->bytes, sizeof(key->bytes));
    (void)snprintf(out, NAME, "groat:1:%s", hex);
}

/* Does not ask a server whose breaker is open. */
static int command(groat__lease *lease, const char **words, int count,
                   long long *number)
{
    return groat__breaker_is_closed(lease->breaker)
               ? hold_and_run(lease, false, words, count, number)
               : -1;
}

double groat__lease_wait_ms(groat__lease *lease)
{
    return groat__breaker_wait_ms(lease->breaker);
}

void groat__lease_try(groat__lease *lease)
{
    static const groat__digest nobody = {{0}};
    long long number = 0;
    char name[NAME];
    /* The same command as a real lease, so that a server that refuses it does
     * not count as back. */
    const char *words[] = {"SET", name, lease->owner, "NX", "PX", "1"};

    name_of(&nobody, name);
    if (groat__breaker_may_try(lease->breaker, GROAT__BREAKER_TRY_MS) &&
        hold_and_run(lease, true, words, 6, &number) != -1)
        groat__log_line(&lease->log, GROAT_LOG_INFO,
                        "lease server %s is used again", lease->shown);
}

/* ---- leases ------------------------------------------------------------ */

groat__lease_state groat__lease_take(groat__lease *lease,
                                     const groat__digest *key, unsigned ms)
{
    long long number = 0;
    char name[NAME];
    char limit[16];
    const char *words[] = {"SET", name, lease->owner, "NX", "PX", limit};
    int type;

    name_of(key, name);
    (void)snprintf(limit, sizeof(limit), "%u", ms);
    type = command(lease, words, 6, &number);
    if (type == REDIS_REPLY_STATUS) {
        count_one(lease, &lease->counts.held);
        return GROAT__LEASE_HELD;
    }
    if (type != REDIS_REPLY_NIL)
        return GROAT__LEASE_NONE;
    count_one(lease, &lease->counts.taken);
    return GROAT__LEASE_TAKEN;
}

groat__lease_state groat__lease_look(groat__lease *lease,
                                     const groat__digest *key, uint64_t *holder)
{
    long long number = 0;
    char name[NAME];
    const char *words[] = {"GET", name};
    int type;

    name_of(key, name);
    type = command(lease, words, 2, &number);
    if (type == REDIS_REPLY_NIL)
        return GROAT__LEASE_FREE;
    if (type != REDIS_REPLY_STRING)
        return GROAT__LEASE_NONE;
    *holder = (uint64_t)number;
    return GROAT__LEASE_TAKEN;
}

void groat__lease_problem(groat__lease *lease, char out[GROAT__LEASE_PROBLEM])
{
    out[0] = '\0';
    if (!begin(lease))
        return;
    memcpy(out, lease->reason, sizeof(lease->reason));
    end(lease);
}

bool groat__lease_give(groat__lease *lease, const groat__digest *key)
{
    static const char script[] =
        "if redis.call('get', KEYS[1]) == ARGV[1] then "
        "return redis.call('del', KEYS[1]) else return 0 end";
    char problem[GROAT__LEASE_PROBLEM];
    long long number = 0;
    char name[NAME];
    const char *words[] = {"EVAL", script, "1", name, lease->owner};

    name_of(key, name);
    if (command(lease, words, 5, &number) != REDIS_REPLY_ERROR)
        return true;
    groat__lease_problem(lease, problem);
    if (!atomic_exchange(&lease->said, true))
        groat__log_line(&lease->log, GROAT_LOG_WARNING,
                        "lease server %s does not release leases, each is kept "
                        "until it expires: %s",
                        lease->shown, problem);
    return false;
}

void groat__lease_count(groat__lease *lease, groat__lease_counts *out)
{
    (void)pthread_mutex_lock(&lease->lock);
    *out = lease->counts;
    (void)pthread_mutex_unlock(&lease->lock);
    out->open = !groat__breaker_is_closed(lease->breaker);
}
