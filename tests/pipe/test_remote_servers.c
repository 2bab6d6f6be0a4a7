/* SPDX-License-Identifier: Apache-2.0
 *
 * test_remote_servers.c: what a host does at servers of objects and of leases
 * that this program plays: whom it lets choose where it writes, what it leaves
 * to child processes, and when it tries again.
 */
#include "rig.h"
#include "groat_serve.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "fleet/lease.h"

static rig fix;
static char key_path[256];
static char trust_path[256];
static char leases_path[100];
static char leases[128];

/* ---- servers ----------------------------------------------------------- */

/* Answers each request on its own thread for each connection, until the test's
 * process ends.  ends: the byte string that ends a request. */
typedef struct server {
    const char *ends;
    const char *(*answer)(const char *request); /* NULL: never */
    int listener;
    unsigned port;
    atomic_uint requests;
} server;

typedef struct connection {
    server *of;
    int fd;
} connection;

static void *answer_requests(void *user)
{
    connection *c = user;
    char text[8192];
    size_t len = 0;
    ssize_t got;

    while (len < sizeof(text) - 1 &&
           (got = read(c->fd, text + len, sizeof(text) - 1 - len)) > 0) {
        const char *answer;

        len += (size_t)got;
        text[len] = '\0';
        if (strstr(text, c->of->ends) == NULL)
            continue;
        (void)atomic_fetch_add(&c->of->requests, 1);
        answer = c->of->answer(text);
        if (answer != NULL)
            (void)send(c->fd, answer, strlen(answer), MSG_NOSIGNAL);
        else
            while (read(c->fd, text, sizeof(text)) > 0)
                ;
        len = 0;
    }
    (void)close(c->fd);
    free(c);
    return NULL;
}

static void *accept_all(void *user)
{
    server *s = user;
    int fd;

    while ((fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        connection *c = malloc(sizeof(*c));
        pthread_t thread;

        ck_assert_ptr_nonnull(c);
        *c = (connection){s, fd};
        ck_assert_int_eq(pthread_create(&thread, NULL, answer_requests, c), 0);
        (void)pthread_detach(thread);
    }
    return NULL;
}

static void serve(server *s)
{
    pthread_t thread;

    ck_assert_int_eq(listen(s->listener, 16), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, accept_all, s), 0);
    (void)pthread_detach(thread);
}

static void serve_objects(server *s)
{
    struct sockaddr_in here = {.sin_family = AF_INET};
    socklen_t bytes = sizeof(here);

    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->ends = "\r\n\r\n";
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(
        bind(s->listener, (const struct sockaddr *)&here, sizeof(here)), 0);
    ck_assert_int_eq(getsockname(s->listener, (struct sockaddr *)&here, &bytes),
                     0);
    s->port = ntohs(here.sin_port);
    serve(s);
}

static void serve_leases(server *s)
{
    struct sockaddr_un here = {.sun_family = AF_UNIX};

    (void)snprintf(here.sun_path, sizeof(here.sun_path), "%s", leases_path);
    s->ends = "\r\n";
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(
        bind(s->listener, (const struct sockaddr *)&here, sizeof(here)), 0);
    serve(s);
}

/* ---- hosts ------------------------------------------------------------- */

static void setup(void)
{
    char public_key[65];

    rig_make(&fix);
    rig_write_adder(&fix);
    (void)snprintf(key_path, sizeof(key_path), "%s/key", fix.root);
    (void)snprintf(trust_path, sizeof(trust_path), "%s/trust", fix.root);
    (void)snprintf(leases_path, sizeof(leases_path), "%.90s/leases", fix.root);
    (void)snprintf(leases, sizeof(leases), "unix://%s", leases_path);
    ck_assert_int_eq(groat_bundle_keygen(key_path, public_key, NULL), GROAT_OK);
    rig_write(trust_path, public_key, 0600);
}

static void teardown(void)
{
    rig_drop(&fix);
}

static groat_context *open_host(const char *url, const char *key)
{
    groat_options options = rig_options(&fix);

    options.remote = url;
    options.remote_key = key;
    options.trust = trust_path;
    options.leases = leases;
    return rig_open_with(&fix, &options);
}

/* Opens a host that writes, at servers of this program's. */
static groat_context *open_writer(server *objects, server *locks)
{
    char url[64];

    serve_objects(objects);
    serve_leases(locks);
    (void)snprintf(url, sizeof(url), "http://localhost:%u/a", objects->port);
    return open_host(url, key_path);
}

static groat_remote_info info_of(groat_context *context)
{
    groat_remote_info info = {.size = sizeof(info)};

    ck_assert_int_eq(groat_remote_stat(context, &info, NULL), GROAT_OK);
    return info;
}

static const char *not_found(const char *request)
{
    (void)request;
    return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
}

/* A lease server at which nobody holds a lease, and that gives every one. */
static const char *give_lease(const char *request)
{
    return strstr(request, "GET") != NULL   ? "$-1\r\n"
           : strstr(request, "SET") != NULL ? "+OK\r\n"
                                            : ":1\r\n";
}

/* ---- answers that fail ------------------------------------------------- */

static const char *busy_then_absent(const char *request)
{
    static atomic_uint count;

    return atomic_fetch_add(&count, 1) == 0
               ? "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
               : not_found(request);
}

/* One that failed says nothing of the next one; a 404 holds for a while. */
START_TEST(an_answer_that_failed)
{
    static server objects = {.answer = busy_then_absent};
    groat_kernel *kernel = NULL;
    groat_context *context;
    char url[64];

    serve_objects(&objects);
    (void)snprintf(url, sizeof(url), "http://localhost:%u/a", objects.port);
    ck_assert_int_eq(setenv("GROAT_CXX", "/dev/null/none", 1), 0);
    context = open_host(url, NULL);
    for (int i = 0; i < 3; i++)
        ck_fails(groat_kernel_get(context, "adder:step=3", "cpu:gfx950",
                                  &kernel, NULL, &fix.error),
                 GROAT_NO_DEVICE, &fix.error, "remote http://localhost:");
    if (strstr(fix.lines.data, "libcurl.so.4 was not found") == NULL) {
        ck_assert_uint_eq(info_of(context).errors, 1);
        ck_assert_uint_eq(info_of(context).misses, 1);
        ck_assert_uint_eq(info_of(context).known_misses, 1);
    }
    groat_close(context);
    (void)unsetenv("GROAT_CXX");
}
END_TEST

/* ---- redirects --------------------------------------------------------- */

static atomic_uint sent;   /* writes that were sent elsewhere  */
static atomic_uint reads;  /* requests that came there         */
static atomic_uint writes; /* the same, of the other sort      */
static char redirect[128];

static const char *count_reads(const char *request)
{
    bool is_read =
        strncmp(request, "GET ", 4) == 0 || strncmp(request, "HEAD ", 5) == 0;

    (void)atomic_fetch_add(is_read ? &reads : &writes, 1);
    return not_found(request);
}

static const char *send_elsewhere(const char *request)
{
    (void)atomic_fetch_add(&sent, strncmp(request, "DELETE ", 7) == 0 ||
                                      strncmp(request, "POST ", 5) == 0);
    return redirect;
}

/* A read may be sent to another server; a write or removal may not. */
START_TEST(redirects_of_writes)
{
    static server here = {.answer = send_elsewhere};
    static server elsewhere = {.answer = count_reads};
    char name[] = "v1/cpu-gfx950/00/00000000000000000000000000000000";
    char *names[] = {name};
    char url[64];
    char digest[72];
    char bundle[256];
    groat_context *context;
    uint64_t removed = 0;

    serve_objects(&elsewhere);
    (void)snprintf(redirect, sizeof(redirect),
                   "HTTP/1.1 307 There\r\nLocation: http://localhost:%u/x\r\n"
                   "Content-Length: 0\r\n\r\n",
                   elsewhere.port);
    serve_objects(&here);
    (void)snprintf(url, sizeof(url), "http://localhost:%u/a", here.port);
    context = open_host(url, "");
    ck_assert_int_eq(groat_remote_fetch(context, names, 1, 0, NULL, NULL, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(reads, 1);
    ck_fails(groat_remote_remove(context, names, 1, &removed, &fix.error),
             GROAT_IO, &fix.error, "the server answered 307");
    ck_assert_uint_eq(removed, 0);
    (void)snprintf(bundle, sizeof(bundle), "%s/bundle", fix.root);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    ck_assert_int_eq(
        groat_bundle_export(context, bundle, NULL, 0, NULL, NULL, NULL),
        GROAT_OK);
    groat_close(context);
    (void)snprintf(url, sizeof(url), "oci+http://localhost:%u/a", here.port);
    ck_fails(groat_bundle_push(bundle, url, digest, &fix.error), GROAT_IO,
             &fix.error, "the server answered 307");
    ck_assert_uint_eq(sent, 2);
    ck_assert_uint_eq(writes, 0);
}
END_TEST

/* ---- child processes --------------------------------------------------- */

enum { FILES = 256 };

/* Whether a file is a socket with an address; libcurl also keeps pairs that
 * have none, by which its threads wake each other. */
static bool is_connection(int fd)
{
    struct sockaddr_storage here = {0};
    struct sockaddr_storage there = {0};
    socklen_t bytes = sizeof(here);
    socklen_t more = sizeof(there);

    return getsockname(fd, (struct sockaddr *)&here, &bytes) == 0 &&
           (bytes > sizeof(sa_family_t) ||
            (getpeername(fd, (struct sockaddr *)&there, &more) == 0 &&
             more > sizeof(sa_family_t)));
}

static void find_connections(bool found[FILES])
{
    for (int fd = 0; fd < FILES; fd++)
        found[fd] = is_connection(fd);
}

START_TEST(children_get_no_connection)
{
    static server objects = {.answer = not_found};
    static server locks = {.answer = give_lease};
    bool before[FILES];
    bool after[FILES];
    int added = 0;
    groat_context *context;
    char url[64];

    find_connections(before);
    serve_objects(&objects);
    serve_leases(&locks);
    (void)snprintf(url, sizeof(url), "http://localhost:%u/a", objects.port);
    /* A host that only reads: nothing is under way when it has its kernel. */
    context = open_host(url, "");
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    find_connections(after);
    for (int fd = 0; fd < FILES; fd++)
        if (after[fd] && !before[fd]) {
            ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
            added++;
        }
    /* Two listeners, and both ends of a connection that is kept to each. */
    ck_assert_int_ge(added, 6);
    groat_close(context);
}
END_TEST

/* ---- leases ------------------------------------------------------------ */

/* A remote that answers soon is not called slow for a lease's sake. */
START_TEST(a_lease_is_a_stage_of_its_own)
{
    static server locks = {.answer = give_lease};
    groat_context *context;
    char *text = NULL;
    char url[sizeof(fix.root) + 8];

    serve_leases(&locks);
    (void)snprintf(url, sizeof(url), "file://%s", fix.root);
    context = open_host(url, "");
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    ck_assert_int_eq(
        groat_metrics(context, GROAT_METRICS_PROMETHEUS, &text, NULL),
        GROAT_OK);
    ck_assert_ptr_nonnull(
        strstr(text, "groat_stage_seconds_count{stage=\"remote\"} 1\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "groat_stage_seconds_count{stage=\"lease\"} 1\n"));
    groat_free(text);
    groat_close(context);
}
END_TEST

/* A host that only reads finds a lease server that comes back by itself. */
START_TEST(a_lease_server_comes_back)
{
    static server locks = {.answer = give_lease};
    double end_ms = groat__now_ms() + 20000;
    groat_context *context;
    char url[300];

    (void)snprintf(url, sizeof(url), "file://%s", fix.root);
    context = open_host(url, "");
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    ck_assert_int_eq(info_of(context).lease_breaker_open, 1);
    serve_leases(&locks);
    while (info_of(context).lease_breaker_open && groat__now_ms() < end_ms)
        (void)usleep(1000);
    ck_assert_int_eq(info_of(context).lease_breaker_open, 0);
    groat_close(context);
}
END_TEST

static atomic_uint given_back;

static const char *count_given(const char *request)
{
    (void)atomic_fetch_add(&given_back, strstr(request, "EVAL") != NULL);
    return give_lease(request);
}

static const char *takes_no_write(const char *request)
{
    return strncmp(request, "GET", 3) == 0 ? not_found(request) : NULL;
}

static atomic_uint looks;
static atomic_uint gets;

/* A lease server that was started anew: the lease is another host's at the
 * second look and from then on, and nobody's after the eighth. */
static const char *forget_holder(const char *request)
{
    unsigned n;

    if (strstr(request, "GET") == NULL)
        return strstr(request, "SET") == NULL ? ":1\r\n"
               : looks < 8                    ? "$-1\r\n"
                                              : "+OK\r\n";
    n = atomic_fetch_add(&looks, 1);
    return n == 0 ? "$3\r\none\r\n" : n < 8 ? "$3\r\ntwo\r\n" : "$-1\r\n";
}

static const char *count_gets(const char *request)
{
    (void)atomic_fetch_add(&gets, strncmp(request, "GET ", 4) == 0);
    return not_found(request);
}

/* The first holder may be done before the second: the object is asked for at
 * each look, not at each fifth. */
START_TEST(a_changed_holder_may_have_made_it)
{
    static server objects = {.answer = count_gets};
    static server locks = {.answer = forget_holder};
    groat_context *context;

    context = open_writer(&objects, &locks);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
    ck_assert_uint_eq(looks, 9);
    /* the first, one before each look from the third on, one with the lease */
    ck_assert_uint_eq(gets, 9);
}
END_TEST

/* ---- a server that answers oddly --------------------------------------- */

enum { LISTS = 4 }; /* a command is sent twice before it fails */
static atomic_uint lists;

/* Another host has the lease until four lists were sent. */
static const char *answer_with_list(const char *request)
{
    if (strstr(request, "SET") != NULL)
        return lists < LISTS ? "$-1\r\n" : "+OK\r\n";
    return atomic_fetch_add(&lists, 1) < LISTS ? "*1\r\n$1\r\nx\r\n"
                                               : "$-1\r\n";
}

/* A list is no answer, as the second reply of a connection, too: its length,
 * which is the server's, would be believed. */
START_TEST(lists_are_not_read)
{
    static server locks = {.answer = answer_with_list};
    groat_context *context;
    char url[300];

    (void)snprintf(url, sizeof(url), "file://%s", fix.root);
    serve_leases(&locks);
    context = open_host(url, key_path);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    ck_assert_uint_eq(info_of(context).lease_errors, LISTS / 2);
    groat_close(context);
}
END_TEST

enum { ASKERS = 24, SLOW_MS = 100, MOST_MS = 1500 };

static const char *answer_slowly(const char *request)
{
    (void)usleep(SLOW_MS * 1000);
    return give_lease(request);
}

typedef struct asker {
    groat__lease *lease;
    groat__digest key;
    double ms;
} asker;

static void *take_lease(void *user)
{
    asker *a = user;
    double start = groat__now_ms();

    (void)groat__lease_take(a->lease, &a->key, 1000);
    a->ms = groat__now_ms() - start;
    return NULL;
}

/* Threads ask a server one at a time, each for a key of its own, and the last
 * does not wait for all the others: 24 slow answers would take 2.4 s. */
START_TEST(keys_do_not_wait_for_each_other)
{
    static server locks = {.answer = answer_slowly};
    static asker askers[ASKERS];
    pthread_t threads[ASKERS];
    groat__lease_counts counts;
    groat__log log = {0};
    groat__lease *lease;

    serve_leases(&locks);
    ck_assert_int_eq(groat__lease_open(leases, &log, &lease, NULL), GROAT_OK);
    for (size_t i = 0; i < ASKERS; i++) {
        askers[i].lease = lease;
        askers[i].key.bytes[0] = (uint8_t)i;
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, take_lease, &askers[i]), 0);
    }
    for (size_t i = 0; i < ASKERS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_double_lt(askers[i].ms, MOST_MS);
    }
    groat__lease_count(lease, &counts);
    ck_assert_uint_gt(counts.held, 0);
    groat__lease_close(lease);
}
END_TEST

/* Starts two kernels, which are made at the same time. */
static void start_two(groat_context *context, groat_request *requests[2])
{
    for (int i = 0; i < 2; i++) {
        groat_spec *spec =
            rig_parse(&fix, context, i == 0 ? "adder:step=3" : "adder:step=4",
                      "cpu:gfx950");

        ck_assert_int_eq(groat_kernel_start(spec, NULL, &requests[i], NULL),
                         GROAT_OK);
        groat_spec_free(spec);
    }
}

/* Two kernels are compiled at a time.  One is being sent when the context is
 * closed, to a server that does not answer; the other waits and is not sent. */
START_TEST(an_unsent_kernel_gives_its_lease_back)
{
    static server objects = {.answer = takes_no_write};
    static server locks = {.answer = count_given};
    groat_request *requests[2] = {NULL, NULL};
    groat_context *context;

    context = open_writer(&objects, &locks);
    start_two(context, requests);
    for (int i = 0; i < 2; i++) {
        while (groat_request_kernel(requests[i]) == NULL)
            (void)usleep(1000);
        groat_request_free(requests[i]);
    }
    groat_close(context);
    ck_assert_uint_eq(given_back, 2);
}
END_TEST

static const char *never_give(const char *request)
{
    return strstr(request, "SET") != NULL ? "$-1\r\n" : "$5\r\nother\r\n";
}

static const char *deny_what_is_free(const char *request)
{
    (void)request;
    return "$-1\r\n";
}

/* Makes kernels with a lease server that lies; returns how many of them waited
 * until their time was over. */
static uint64_t waits_in_vain(server *locks, int kernels)
{
    static server objects = {.answer = not_found};
    groat_context *context = open_writer(&objects, locks);
    char spec[32];
    uint64_t waits;

    for (int step = 1; step <= kernels; step++) {
        (void)snprintf(spec, sizeof(spec), "adder:step=%d", step);
        (void)rig_get(&fix, context, spec, "cpu:gfx950", GROAT_FROM_COMPILER);
    }
    ck_assert_uint_gt(info_of(context).lease_waits, 0);
    waits = info_of(context).lease_timeouts;
    groat_close(context);
    return waits;
}

/* A lease that is never given does not delay each kernel. */
START_TEST(a_lease_that_is_never_given)
{
    static server locks = {.answer = never_give};
    groat_context *context = rig_open(&fix);
    uint64_t waits;

    /* Now the time of a compile is known. */
    (void)rig_get(&fix, context, "adder:step=9", "cpu:gfx950",
                  GROAT_FROM_COMPILER);
    groat_close(context);
    waits = waits_in_vain(&locks, 6);
    ck_assert_uint_gt(waits, 0);
    ck_assert_uint_lt(waits, 6);
}
END_TEST

/* Starts two kernels, and closes the context while both wait for another host;
 * false: they were made without. */
static bool close_waits(groat_context *context)
{
    groat_request *requests[2] = {NULL, NULL};
    uint64_t waits = 0;

    start_two(context, requests);
    while (waits < 2 && groat_request_kernel(requests[0]) == NULL) {
        (void)usleep(1000);
        waits = info_of(context).lease_waits;
    }
    groat_request_free(requests[0]);
    groat_request_free(requests[1]);
    groat_close(context);
    return waits == 2;
}

/* Closing a context while it waits says nothing of the server. */
START_TEST(a_close_is_no_wait_in_vain)
{
    static server objects = {.answer = not_found};
    static server locks = {.answer = never_give};
    groat_options options = rig_options(&fix);
    char cache[300], url[64];

    ck_assert(close_waits(open_writer(&objects, &locks)));
    /* In another store no time of a compile is known. */
    (void)snprintf(cache, sizeof(cache), "%s/other", fix.root);
    (void)snprintf(url, sizeof(url), "http://localhost:%u/a", objects.port);
    options.cache_dir = cache;
    options.remote = url;
    options.remote_key = key_path;
    options.trust = trust_path;
    options.leases = leases;
    ck_assert(close_waits(rig_open_with(&fix, &options)));
}
END_TEST

/* A server that gives no lease that it calls free is not waited for. */
START_TEST(a_free_lease_that_is_denied)
{
    static server locks = {.answer = deny_what_is_free};

    ck_assert_uint_eq(waits_in_vain(&locks, 1), 0);
}
END_TEST

static int take_first(void *user, const groat_warm_event *event)
{
    *(size_t *)user = event->index;
    return 1;
}

/* Hosts with the same list begin at different kernels. */
START_TEST(lists_begin_anywhere)
{
    enum { ITEMS = 8, HOSTS = 8 };
    static server objects = {.answer = not_found};
    static server locks = {.answer = give_lease};
    groat_context *context = open_writer(&objects, &locks);
    groat_warm_item items[ITEMS];
    char specs[ITEMS][32];
    bool same = true;
    size_t first = 0;

    for (int i = 0; i < ITEMS; i++) {
        (void)snprintf(specs[i], sizeof(specs[i]), "adder:step=%d", i + 1);
        items[i] = (groat_warm_item){sizeof(items[i]), specs[i], "cpu:gfx950"};
    }
    for (int host = 0; host < HOSTS; host++) {
        size_t index = ITEMS;

        ck_assert_int_eq(groat_warm(context, items, ITEMS, 0, take_first,
                                    &index, NULL, &fix.error),
                         GROAT_OK);
        ck_assert_uint_lt(index, ITEMS);
        same = same && (host == 0 || index == first);
        first = index;
    }
    ck_assert(!same);
    groat_close(context);
}
END_TEST

#define TEXT_OF(x)    TEXT_OF_IT(x)
#define TEXT_OF_IT(x) #x

static bool has_libraries(void)
{
    return dlopen("libcurl.so.4", RTLD_NOW) != NULL &&
           dlopen("libhiredis.so." TEXT_OF(HIREDIS_SONAME), RTLD_NOW) != NULL;
}

int main(void)
{
    Suite *suite = suite_create("remote_servers");
    TCase *tests = tcase_create("remote_servers");

    if (!has_libraries()) {
        printf("SKIP: libcurl or hiredis was not found\n");
        return 77;
    }
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, an_answer_that_failed);
    tcase_add_test(tests, redirects_of_writes);
    tcase_add_test(tests, children_get_no_connection);
    tcase_add_test(tests, a_lease_is_a_stage_of_its_own);
    tcase_add_test(tests, a_lease_server_comes_back);
    tcase_add_test(tests, an_unsent_kernel_gives_its_lease_back);
    tcase_add_test(tests, a_changed_holder_may_have_made_it);
    tcase_add_test(tests, lists_are_not_read);
    tcase_add_test(tests, keys_do_not_wait_for_each_other);
    tcase_add_test(tests, a_lease_that_is_never_given);
    tcase_add_test(tests, a_free_lease_that_is_denied);
    tcase_add_test(tests, a_close_is_no_wait_in_vain);
    tcase_add_test(tests, lists_begin_anywhere);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
