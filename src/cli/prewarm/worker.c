/* SPDX-License-Identifier: Apache-2.0
 *
 * worker.c - groat prewarm-worker: compiles kernels for pool.c in a process
 * that may crash.
 *
 * Owns its context.  Requests and answers are one line of JSON each, both over
 * stdin, which is a socket.
 * Invariant: it ends when the other side closes the socket; the kernels that it
 * has made by then are in the store.
 */
#include "cli/prewarm/prewarm.h"

#include "groat_store.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

enum { SENT_MS = 30000 }; /* time limit for sending one kernel */

static bool write_all(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t wrote = write(STDIN_FILENO, bytes, len);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        bytes += wrote;
        len -= (size_t)wrote;
    }
    return true;
}

/* Takes the reference to answer. */
static bool send_answer(json_t *answer)
{
    char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
    bool sent = text && write_all(text, strlen(text)) && write_all("\n", 1);

    free(text);
    json_decref(answer);
    return sent;
}

/* Makes a JSON string of a compiler's text.  Jansson refuses invalid UTF-8:
 * then each non-ASCII byte becomes a question mark. */
static json_t *words(const char *text)
{
    json_t *value = text ? json_string(text) : json_null();
    char *plain = value ? NULL : strdup(text);

    for (char *at = plain; at && *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    if (plain)
        value = json_string(plain);
    free(plain);
    return value;
}

static json_t *failure(const groat_error *error)
{
    return json_pack("{s:i, s:o, s:o}", "status", error->status, "text",
                     words(error->text), "log", words(error->log));
}

/* What became of the kernels that a worker has compiled so far. */
typedef struct sent {
    uint64_t unsent; /* were not sent */
    uint64_t puts;   /* objects that were written */
    uint64_t bad;    /* objects that were read and are of no use */
} sent;

/* Waits until the compiled kernel is sent to the remote: what is still queued
 * when this process ends is lost. */
static sent wait_until_sent(groat__cli *cli)
{
    const struct timespec nap = {0, 20000000};
    groat_remote_info info = {.size = sizeof(info)};
    double end = groat__now_ms() + SENT_MS;

    do
        if (groat_remote_stat(cli->context, &info, NULL) || !info.waiting ||
            info.breaker_open)
            break;
    while (nanosleep(&nap, NULL) == 0 && groat__now_ms() < end);
    if (!info.writes)
        return (sent){0};
    return (sent){info.waiting + info.put_drops + (info.put_failures + 1) / 2,
                  info.puts, info.refused + info.malformed + info.mistaken};
}

/* How many kernels were not sent since `before`, of one that was made: one
 * whose place is taken by an object that no host can use was not. */
static int64_t count_unsent(const sent *before, const sent *after, bool made)
{
    int64_t count = (int64_t)after->unsent - (int64_t)before->unsent;
    bool in_the_way =
        made && after->puts == before->puts && after->bad > before->bad;

    return count == 0 && in_the_way ? 1 : count;
}

/* *so_far is what wait_until_sent() returned for the kernels before. */
static json_t *build(groat__cli *cli, const char *spec_text, const char *target,
                     sent *so_far)
{
    sent before = *so_far;
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel_info info = {.size = sizeof(info)};
    groat_spec *spec = NULL;
    bool made = false;
    json_t *answer;

    if (groat_spec_parse(cli->context, spec_text, target, &spec, &error) ||
        groat_build(spec, NULL, NULL, &info, &error)) {
        answer = failure(&error);
    } else {
        made = info.origin == GROAT_FROM_COMPILER;
        answer =
            json_pack("{s:i, s:i, s:f}", "status", GROAT_OK, "state",
                      made                               ? GROAT__JOB_MADE
                      : info.origin == GROAT_FROM_REMOTE ? GROAT__JOB_FETCHED
                                                         : GROAT__JOB_PRESENT,
                      "compile_ms", info.compile_ms);
    }
    *so_far = wait_until_sent(cli);
    (void)json_object_set_new(
        answer, "unsent", json_integer(count_unsent(&before, so_far, made)));
    groat_spec_free(spec);
    groat_error_clear(&error);
    return answer;
}

static bool answer_line(groat__cli *cli, const char *line, size_t len,
                        sent *so_far)
{
    json_t *question = json_loadb(line, len, 0, NULL);
    const char *spec = json_string_value(json_object_get(question, "spec"));
    const char *target = json_string_value(json_object_get(question, "target"));
    bool good = spec && target && send_answer(build(cli, spec, target, so_far));

    json_decref(question);
    return good;
}

static int limit_memory(groat__cli *cli)
{
    struct rlimit limit = {cli->values.memory, cli->values.memory};

    if (cli->values.memory == 0 || !setrlimit(RLIMIT_AS, &limit))
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(
        cli, GROAT_IO, "cannot limit memory to %llu bytes: %s",
        (unsigned long long)cli->values.memory, strerror(errno));
}

/* Has this process killed when its parent ends, and so the compilers that it
 * runs.  Returns false where the parent has ended already. */
static bool end_with_parent(void)
{
    struct pollfd parent = {.fd = STDIN_FILENO, .events = POLLRDHUP};

    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && poll(&parent, 1, 0) >= 0 &&
           (parent.revents & (POLLHUP | POLLRDHUP)) == 0;
}

int groat__cmd_prewarm_worker(groat__cli *cli)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    sent so_far = {0};
    int code = end_with_parent() ? limit_memory(cli) : GROAT__EXIT_FAILED;

    if (!code)
        code = groat__cli_open(cli, 0);
    while (!code && (len = getline(&line, &cap, stdin)) > 0)
        if (!answer_line(cli, line, (size_t)len, &so_far))
            code = GROAT__EXIT_FAILED;
    free(line);
    return code;
}
