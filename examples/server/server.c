/* SPDX-License-Identifier: Apache-2.0
 *
 * server.c - a small HTTP service that launches a kernel for each request, as
 * an inference server does.
 *
 *     server FAMILIES MANIFEST [PORT [TARGET]]
 *
 * FAMILIES is the folder that holds paged_sum/; MANIFEST has a line of JSON for
 * each kernel, {"spec": "paged_sum:depth=64"}; with PORT 0 a free port is taken
 * and printed; the default TARGET is the machine's best.
 *
 *     /healthz   200 once all kernels are loaded, 503 until then
 *     /metrics   metrics of groat and of the requests, for Prometheus
 *     /sum?spec= launches that kernel and checks its result: 200; 404 for a
 *                spec that is not in the manifest
 *
 * It warms the manifest and seals its context; after that no request, whatever
 * it asks for, makes it compile.  From SIGTERM on /healthz answers 503, so that
 * a load balancer sends no more; it ends when all requests are answered, after
 * TIMEOUT_S at most.
 */
#include <errno.h>
#include <groat_serve.h>
#include <groat_store.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "../paged_sum/sum.h"

enum { KERNELS_MAX = 64, HANDLERS = 4, CONNECTIONS = 8192, TIMEOUT_S = 5 };

/* A kernel of the manifest with a cache to sum; one launch at a time. */
struct served {
    char *text;
    groat_spec *spec;
    struct paged_sum sum;
    pthread_mutex_t lock;
};

struct server {
    groat_context *g;
    const char *target;
    struct served kernels[KERNELS_MAX];
    bool bad; /* the manifest has a bad kernel */
    size_t count;
    atomic_bool ready;
    atomic_bool ending;
    atomic_ulong answers[6]; /* by the first digit of the HTTP status */
};

static void say(const char *what, const groat_error *error)
{
    (void)fprintf(stderr, "server: %s: %s\n", what, error->text);
}

static void on_log(void *user, int level, const char *line)
{
    (void)user;
    if (level == GROAT_LOG_WARNING)
        (void)fprintf(stderr, "server: %s\n", line);
}

/* ---- the manifest ----------------------------------------------------------
 */

/* A request's spec is compared with the manifest's text. */
static int add_kernel(void *user, const groat_manifest_entry *entry)
{
    struct server *s = user;
    struct served *k = &s->kernels[s->count];
    groat_error error = GROAT_ERROR_INIT;
    bool good = false;

    if (s->count == KERNELS_MAX)
        (void)fprintf(stderr,
                      "server: line %zu of the manifest is one too "
                      "many\n",
                      entry->line);
    else if (groat_spec_parse(s->g, entry->spec, s->target, &k->spec, &error) !=
             GROAT_OK)
        say(entry->spec, &error);
    else if ((k->text = strdup(entry->spec)) != NULL &&
             pthread_mutex_init(&k->lock, NULL) == 0)
        good = true;
    s->count += good;
    groat_error_clear(&error);
    return s->bad = !good;
}

static bool read_manifest(struct server *s, const char *path)
{
    groat_error error = GROAT_ERROR_INIT;
    bool good = groat_manifest_read(path, add_kernel, s, &error) == GROAT_OK;

    if (!good)
        say("the manifest", &error);
    groat_error_clear(&error);
    return good && !s->bad;
}

static int on_warm(void *user, const groat_warm_event *event)
{
    size_t *done = user;

    (void)fprintf(stderr, "server: [%zu/%zu] %s %s, %.1f ms\n", ++*done,
                  event->count, event->item->spec,
                  event->status == GROAT_OK ? groat_origin_name(event->origin)
                                            : event->error->text,
                  event->ms);
    return 0;
}

/* Loads every kernel, makes its cache, and seals the context. */
static bool warm(struct server *s)
{
    groat_warm_item items[KERNELS_MAX];
    groat_error error = GROAT_ERROR_INIT;
    size_t done = 0;
    bool good;

    for (size_t i = 0; i < s->count; i++)
        items[i] =
            (groat_warm_item){sizeof(items[i]), s->kernels[i].text, s->target};
    good = groat_warm(s->g, items, s->count, 0, on_warm, &done, NULL, &error) ==
           GROAT_OK;
    for (size_t i = 0; i < s->count && good; i++)
        good = paged_sum_make(&s->kernels[i].sum, s->g, s->kernels[i].spec,
                              &error) == GROAT_OK;
    if (!good)
        say("warming", &error);
    groat_error_clear(&error);
    groat_seal(s->g);
    return good;
}

/* ---- requests --------------------------------------------------------------
 */

static enum MHD_Result answer(struct server *s, struct MHD_Connection *to,
                              unsigned status, const char *type, char *body)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(body), body, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (response == NULL)
        return MHD_NO;
    (void)MHD_add_response_header(response, "Content-Type", type);
    if (status == 405)
        (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
    if (atomic_load(&s->ending))
        (void)MHD_add_response_header(response, "Connection", "close");
    result = MHD_queue_response(to, status, response);
    MHD_destroy_response(response);
    if (result == MHD_YES)
        (void)atomic_fetch_add(&s->answers[status / 100], 1);
    return result;
}

static enum MHD_Result answer_metrics(struct server *s,
                                      struct MHD_Connection *to)
{
    groat_error error = GROAT_ERROR_INIT;
    char *figures = NULL;
    char *body = NULL;
    enum MHD_Result result = MHD_NO;
    size_t bytes = 0;
    FILE *out;

    if (groat_metrics(s->g, GROAT_METRICS_PROMETHEUS, &figures, &error) !=
        GROAT_OK) {
        result = answer(s, to, 500, "text/plain", error.text);
        groat_error_clear(&error);
        return result;
    }
    out = open_memstream(&body, &bytes);
    if (out != NULL) {
        (void)fprintf(out,
                      "%s# HELP server_answers_total answers by status\n"
                      "# TYPE server_answers_total counter\n",
                      figures);
        for (int i = 2; i < 6; i++)
            (void)fprintf(out, "server_answers_total{status=\"%dxx\"} %lu\n", i,
                          atomic_load(&s->answers[i]));
        if (fclose(out) == 0)
            result = answer(s, to, 200, "text/plain; version=0.0.4", body);
    }
    free(body);
    groat_free(figures);
    return result;
}

/* Serves a request: finds the kernel by its text in memory and launches it. */
static enum MHD_Result answer_sum(struct server *s, struct MHD_Connection *to,
                                  const char *text)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_origin origin = GROAT_FROM_MEMORY;
    groat_kernel *kernel = NULL;
    struct served *k = NULL;
    unsigned wrong = 0;
    char body[1024];
    groat_status status =
        groat_kernel_get(s->g, text, s->target, &kernel, &origin, &error);

    for (size_t i = 0; i < s->count && k == NULL; i++)
        if (strcmp(s->kernels[i].text, text) == 0)
            k = &s->kernels[i];
    if (status == GROAT_OK && k != NULL) {
        (void)pthread_mutex_lock(&k->lock);
        status = paged_sum_run(&k->sum, kernel, &error);
        wrong = status == GROAT_OK ? paged_sum_wrong(&k->sum) : 0;
        (void)pthread_mutex_unlock(&k->lock);
    }
    if (status == GROAT_OK && k != NULL && wrong == 0)
        (void)snprintf(body, sizeof(body),
                       "{\"sums\": %zu, \"wrong\": 0, \"origin\": \"%s\"}\n",
                       k->sum.sum_count, groat_origin_name(origin));
    else
        (void)snprintf(body, sizeof(body), "%s\n",
                       status != GROAT_OK ? groat_status_name(status)
                       : k == NULL        ? "the manifest spells it otherwise"
                                          : "wrong sums");
    groat_kernel_release(kernel);
    groat_error_clear(&error);
    return answer(s, to,
                  status == GROAT_SEALED || status == GROAT_INVALID ||
                          (status == GROAT_OK && k == NULL)
                      ? 404
                  : status == GROAT_OK && wrong == 0 ? 200
                                                     : 500,
                  *body == '{' ? "application/json" : "text/plain", body);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *to,
                                  const char *path, const char *method,
                                  const char *version, const char *data,
                                  size_t *bytes, void **state)
{
    static char begun;
    struct server *s = user;
    const char *text =
        MHD_lookup_connection_value(to, MHD_GET_ARGUMENT_KIND, "spec");
    bool ending = atomic_load(&s->ending);
    bool ready = atomic_load(&s->ready);

    (void)version;
    (void)data;
    /* An answer to the first call, before the whole request has come, would
     * close the connection. */
    if (*state == NULL) {
        *state = &begun;
        return MHD_YES;
    }
    if (*bytes > 0) { /* a body, which is not read; the answer comes behind */
        *bytes = 0;
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer(s, to, 405, "text/plain", "GET and HEAD only\n");
    if (strcmp(path, "/metrics") == 0)
        return answer_metrics(s, to);
    if (strcmp(path, "/healthz") == 0)
        return answer(s, to, ready && !ending ? 200 : 503, "text/plain",
                      ending  ? "ending\n"
                      : ready ? "ok\n"
                              : "warming\n");
    if (strcmp(path, "/sum") != 0 || text == NULL)
        return answer(s, to, 404, "text/plain",
                      "/healthz, /metrics, /sum?spec=SPEC\n");
    return ready ? answer_sum(s, to, text)
                 : answer(s, to, 503, "text/plain", "warming\n");
}

/* ---- life ------------------------------------------------------------------
 */

/* Returns half of the allowed descriptors, at most CONNECTIONS; the rest is for
 * the store and kernels.  A request that comes in parts holds its connection
 * until it is complete, or nothing has come for TIMEOUT_S: a proxy in front of
 * the server bounds the time of the whole. */
static unsigned connection_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return CONNECTIONS / 16;
    if (limit.rlim_cur < 2 * CONNECTIONS) {
        limit.rlim_cur =
            limit.rlim_max < 2 * CONNECTIONS ? limit.rlim_max : 2 * CONNECTIONS;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur / 2 < CONNECTIONS ? (unsigned)(limit.rlim_cur / 2)
                                            : CONNECTIONS;
}

/* Answers what is in progress or waits to be accepted, until nobody is
 * connected for a while. */
static void finish_requests(struct server *s, struct MHD_Daemon *daemon)
{
    enum { STEP_MS = 10, QUIET_STEPS = 10 };
    const struct timespec step = {0, STEP_MS * 1000000};
    unsigned quiet = 0;

    atomic_store(&s->ending, true);
    for (int i = 0; i < TIMEOUT_S * 1000 / STEP_MS && quiet < QUIET_STEPS;
         i++) {
        const union MHD_DaemonInfo *info =
            MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

        quiet = info == NULL || info->num_connections == 0 ? quiet + 1 : 0;
        (void)nanosleep(&step, NULL);
    }
}

/* Serves from the start, so that /healthz can report that it is not ready. */
static int serve(struct server *s, const char *manifest, unsigned short port)
{
    struct MHD_Daemon *daemon;
    const union MHD_DaemonInfo *info;
    sigset_t ends;
    int signal_number;
    bool good;

    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL);
    daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL, port, NULL, NULL,
        on_request, s, MHD_OPTION_THREAD_POOL_SIZE, HANDLERS,
        MHD_OPTION_CONNECTION_LIMIT, connection_limit(),
        MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, MHD_OPTION_END);
    if (daemon == NULL) {
        (void)fprintf(stderr, "server: port %u: %s\n", port, strerror(errno));
        return 1;
    }
    info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    (void)printf("port %u\n", info == NULL ? port : info->port);
    (void)fflush(stdout);
    good = read_manifest(s, manifest) && warm(s);
    if (good) {
        atomic_store(&s->ready, true);
        (void)sigwait(&ends, &signal_number);
        finish_requests(s, daemon);
    }
    MHD_stop_daemon(daemon);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct server s; /* large, so not on the stack */
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    unsigned long port = argc > 3 ? strtoul(argv[3], NULL, 10) : 8080;
    int code;

    if (argc < 3 || argc > 5 || port > 65535) {
        (void)fprintf(stderr, "server FAMILIES MANIFEST [PORT [TARGET]]\n");
        return 2;
    }
    options.family_path = argv[1];
    options.log = on_log;
    if (groat_open(&options, &s.g, &error) != GROAT_OK) {
        say("groat", &error);
        return 1;
    }
    s.target = argc > 4 ? argv[4] : groat_default_target(s.g);
    code = serve(&s, argv[2], (unsigned short)port);
    for (size_t i = 0; i < s.count; i++) {
        paged_sum_free(&s.kernels[i].sum);
        groat_spec_free(s.kernels[i].spec);
        free(s.kernels[i].text);
        (void)pthread_mutex_destroy(&s.kernels[i].lock);
    }
    groat_close(s.g);
    groat_error_clear(&error);
    return code;
}
