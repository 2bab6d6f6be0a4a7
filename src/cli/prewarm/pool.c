/* SPDX-License-Identifier: Apache-2.0
 *
 * pool.c - worker processes that compile in parallel, so that compilers which
 * handle one program at a time use all cores, and one that crashes, hangs or
 * exhausts memory fails one kernel, not the run.
 *
 * Owns the processes from start to wait, and a socket to each; worker.c runs in
 * them.  A process has one job at a time, or none.
 * Invariant: on return no process and no socket is left.  Killing a process
 * kills the compiler that it has started, too.
 * Locking: none; the tool is single-threaded and waits in poll().
 */
#include "cli/prewarm/prewarm.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

extern char **environ;

enum { TRIES = 2, ANSWER_MAX = 16 << 20 };

typedef struct worker {
    pid_t pid; /* 0: none */
    int fd;
    groat__job *job;  /* NULL: idle */
    double deadline;  /* on the clock of groat__now_ms */
    groat__str heard; /* the answer so far */
} worker;

typedef struct pool {
    groat__cli *cli;
    groat__jobs *jobs;
    groat__job_fn *ended;
    void *user;
    size_t next; /* index: no earlier job is waiting */
    worker *workers;
    size_t count;
} pool;

/* ---- processes ------------------------------------------------------------
 */

static int cannot(pool *p, const char *what, int code)
{
    return groat__cli_refuse(p->cli, GROAT_IO,
                             "cannot start a compile process: %s: %s", what,
                             strerror(code));
}

/* stdin is the socket, stdout is stderr (compilers may print).  The process has
 * its own group, so that the compilers that it starts are killed with it. */
static int spawn(char *const *argv, int fd, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);

    if (code)
        return code;
    code = posix_spawnattr_init(&attributes);
    if (code) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return code;
    }
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    code = posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    if (!code)
        code = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO,
                                                STDOUT_FILENO);
    if (!code)
        code = posix_spawn(pid, argv[0], &actions, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return code;
}

static int start(pool *p, worker *w)
{
    const groat__values *values = &p->cli->values;
    const struct {
        const char *name;
        const char *value;
    } passed[] = {{"--cache-dir", values->cache_dir},
                  {"--family-path", values->family_path},
                  {"--trust", values->trust},
                  {"--remote", values->remote},
                  {"--remote-key", values->remote_key},
                  {"--leases", values->leases}};
    /* Room for the command, all options with their values, and NULL. */
    char *argv[2 + 2 * (sizeof(passed) / sizeof(passed[0])) + 4] = {
        "/proc/self/exe", "prewarm-worker"};
    size_t count = 2;
    char memory[32];
    int ends[2];
    int code;

    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
        if (passed[i].value) {
            argv[count++] = (char *)passed[i].name;
            argv[count++] = (char *)passed[i].value;
        }
    if (values->share_group)
        argv[count++] = "--share-group";
    if (values->memory) {
        (void)snprintf(memory, sizeof(memory), "%" PRIu64, values->memory);
        argv[count++] = "--memory";
        argv[count++] = memory;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return cannot(p, "socketpair", errno);
    code = spawn(argv, ends[1], &w->pid);
    (void)close(ends[1]);
    if (code) {
        (void)close(ends[0]);
        w->pid = 0;
        return cannot(p, argv[0], code);
    }
    w->fd = ends[0];
    return GROAT__EXIT_DONE;
}

/* Waits for the process to end, and returns its wait status. */
static int reap(worker *w)
{
    int state = 0;

    while (waitpid(w->pid, &state, 0) < 0 && errno == EINTR)
        continue;
    (void)close(w->fd);
    groat__str_free(&w->heard);
    *w = (worker){0};
    return state;
}

/* ---- jobs ------------------------------------------------------------------
 */

static void end_job(pool *p, worker *w, groat__job_state state)
{
    groat__job *job = w->job;

    w->job = NULL;
    job->state = state;
    p->ended(p->user, job);
}

/* Retries a job whose process has died in another one, or fails it. */
static void give_up(pool *p, worker *w, const char *why)
{
    groat__job *job = w->job;

    w->job = NULL;
    if (job->starts < TRIES) {
        job->state = GROAT__JOB_WAITING;
        p->next = 0;
        return;
    }
    groat_error_clear(&job->error);
    (void)groat__fail(&job->error, GROAT_COMPILE_FAILED,
                      "the compiler's process %s, %u times", why, job->starts);
    job->state = GROAT__JOB_FAILED;
    p->ended(p->user, job);
}

/* Describes a wait status. */
static void describe(int state, char *out, size_t size)
{
    if (WIFSIGNALED(state))
        (void)snprintf(out, size, "was ended by signal %d (%s)",
                       WTERMSIG(state), strsignal(WTERMSIG(state)));
    else
        (void)snprintf(out, size, "ended with exit code %d",
                       WEXITSTATUS(state));
}

static void bury(pool *p, worker *w)
{
    worker dead = *w;
    char why[96];

    describe(reap(w), why, sizeof(why));
    if (dead.job)
        give_up(p, &dead, why);
}

static void stop_late(pool *p, worker *w)
{
    worker late = *w;
    char why[96];

    (void)snprintf(why, sizeof(why), "gave no answer within %" PRIu64 " s",
                   p->cli->values.timeout_s);
    (void)kill(-w->pid, SIGKILL);
    (void)reap(w);
    give_up(p, &late, why);
}

static bool ask(worker *w, const groat__job *job)
{
    json_t *question =
        json_pack("{s:s, s:s}", "spec", job->spec, "target", job->target);
    char *text = question ? json_dumps(question, JSON_COMPACT) : NULL;
    size_t len = text ? strlen(text) : 0;
    bool sent = false;

    if (text) {
        text[len] = '\n'; /* replaces the NUL: the text is sent by length */
        sent = send(w->fd, text, len + 1, MSG_NOSIGNAL) == (ssize_t)len + 1;
    }
    free(text);
    json_decref(question);
    return sent;
}

static groat__job *next_job(pool *p)
{
    while (p->next < p->jobs->count &&
           p->jobs->item[p->next].state != GROAT__JOB_WAITING)
        p->next++;
    return p->next < p->jobs->count ? &p->jobs->item[p->next] : NULL;
}

/* Gives each idle process a job, and starts missing processes. */
static int hand_out(pool *p)
{
    for (size_t i = 0; i < p->count; i++) {
        worker *w = &p->workers[i];
        groat__job *job = w->job ? NULL : next_job(p);

        if (!job)
            continue;
        if (!w->pid && start(p, w))
            return GROAT__EXIT_FAILED;
        job->state = GROAT__JOB_RUNNING;
        job->starts++;
        w->job = job;
        w->deadline = groat__now_ms() + 1e3 * (double)p->cli->values.timeout_s;
        if (!ask(w, job))
            bury(p, w);
    }
    return GROAT__EXIT_DONE;
}

static void take_answer(pool *p, worker *w, const char *line, size_t len)
{
    json_t *answer = json_loadb(line, len, 0, NULL);
    json_t *status = json_object_get(answer, "status");
    const char *text = json_string_value(json_object_get(answer, "text"));
    const char *log = json_string_value(json_object_get(answer, "log"));
    json_int_t state = json_integer_value(json_object_get(answer, "state"));
    groat__job *job = w->job;

    job->unsent += json_integer_value(json_object_get(answer, "unsent"));
    if (json_is_integer(status) && json_integer_value(status) == GROAT_OK &&
        state >= GROAT__JOB_PRESENT && state <= GROAT__JOB_MADE) {
        job->compile_ms =
            json_real_value(json_object_get(answer, "compile_ms"));
        end_job(p, w, (groat__job_state)state);
    } else {
        (void)groat__fail(&job->error,
                          json_integer_value(status) != GROAT_OK
                              ? (groat_status)json_integer_value(status)
                              : GROAT_IO,
                          "%s",
                          text ? text : "the worker's reply is malformed");
        job->error.log = log ? strdup(log) : NULL;
        end_job(p, w, GROAT__JOB_FAILED);
    }
    json_decref(answer);
}

/* Reads from a process that has sent something or ended. */
static void hear(pool *p, worker *w)
{
    char piece[4096];
    ssize_t got = recv(w->fd, piece, sizeof(piece), 0);
    size_t len;

    if (got < 0 && errno == EINTR)
        return;
    if (got > 0)
        groat__str_addn(&w->heard, piece, (size_t)got);
    if (got <= 0 || w->heard.failed || w->heard.len > ANSWER_MAX || !w->job) {
        if (got > 0)
            (void)kill(-w->pid, SIGKILL);
        bury(p, w);
        return;
    }
    len = strcspn(w->heard.data, "\n");
    if (len == w->heard.len)
        return;
    take_answer(p, w, w->heard.data, len);
    groat__str_free(&w->heard);
}

/* ---- the run ----------------------------------------------------------------
 */

static int wait_ms(const pool *p)
{
    double now = groat__now_ms();
    double least = 1e6;

    for (size_t i = 0; i < p->count; i++)
        if (p->workers[i].job && p->workers[i].deadline - now < least)
            least = p->workers[i].deadline - now;
    return least < 0 ? 0 : (int)least + 1;
}

static bool is_busy(const pool *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->workers[i].job)
            return true;
    return false;
}

static void listen_once(pool *p, struct pollfd *polled)
{
    double now;

    for (size_t i = 0; i < p->count; i++) {
        polled[i].fd = p->workers[i].pid ? p->workers[i].fd : -1;
        polled[i].events = POLLIN;
        polled[i].revents = 0;
    }
    if (poll(polled, (nfds_t)p->count, wait_ms(p)) < 0)
        return; /* a signal: look again */
    for (size_t i = 0; i < p->count; i++)
        if (polled[i].revents)
            hear(p, &p->workers[i]);
    now = groat__now_ms();
    for (size_t i = 0; i < p->count; i++)
        if (p->workers[i].job && p->workers[i].deadline <= now)
            stop_late(p, &p->workers[i]);
}

/* Kills busy processes, and ends idle ones by closing their sockets.  All are
 * told before any is waited for, as unloading a compiler takes milliseconds. */
static void dismiss(pool *p)
{
    for (size_t i = 0; i < p->count; i++) {
        worker *w = &p->workers[i];

        if (w->pid && w->job)
            (void)kill(-w->pid, SIGKILL);
        if (w->pid)
            (void)shutdown(w->fd, SHUT_RDWR);
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->workers[i].pid)
            (void)reap(&p->workers[i]);
}

int groat__pool_run(groat__cli *cli, groat__jobs *jobs, groat__job_fn *ended,
                    void *user)
{
    pool p = {.cli = cli,
              .jobs = jobs,
              .ended = ended,
              .user = user,
              .count = (size_t)cli->values.jobs};
    struct pollfd *polled = calloc(p.count, sizeof(*polled));
    int code = GROAT__EXIT_DONE;

    p.workers = calloc(p.count, sizeof(*p.workers));
    if (!polled || !p.workers)
        code = groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    while (!code && (next_job(&p) || is_busy(&p))) {
        code = hand_out(&p);
        if (!code && is_busy(&p))
            listen_once(&p, polled);
    }
    if (p.workers)
        dismiss(&p);
    free(p.workers);
    free(polled);
    return code;
}
