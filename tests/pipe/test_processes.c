/* SPDX-License-Identifier: Apache-2.0
 *
 * test_processes.c: many processes, many threads in each, and one cold store.
 * Each key is compiled once; keys do not block each other; and a process that
 * is killed or stopped at any point costs the others no more than the work that
 * it had begun.
 *
 * The compiler is a script that records the key of each run and writes a
 * library that has the key in it, so that a binary is right when it names its
 * spec.  Points to strike at are counted, in SQL statements or in compiles, and
 * drawn from a seed.  The victim strikes itself.
 */
#include "rig.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "cache/internal.h"
#include "core/core.h"

enum {
    PROCESSES = 8,
    KEYS = 10,
    THREADS = 16,
    AGES_MS = 1000000 /* longer than any test takes */
};

/* The results of a process, in memory that all share. */
typedef struct outcome {
    bool done;
    unsigned wrong; /* builds that failed, or gave another binary */
    groat_cache_stat stat;
    bool untold; /* it could not read the store for its stat */
    bool opened; /* it has opened the store */
    bool locked; /* it was struck before that, or in a transaction */
} outcome;

/* Instructions for a process. */
typedef struct orders {
    unsigned index;
    unsigned threads;
    int wait_ms;     /* how long to wait for a live holder */
    const int *ends; /* NULL, or a pipe, */
    bool waits;      /* if set, it starts when the pipe has no writer */
    int strike;      /* 0, or the signal it sends itself, */
    unsigned event;  /* at this statement, */
    unsigned run;    /* or at this compile */
} orders;

static rig fix;
static char runs[300];    /* the compiler adds a line with its key */
static char hold[300];    /* while a file of this name and a key exists, ... */
static char gate[300];    /* ... the compiler first reads a line from this */
static char strikes[300]; /* the runs of the process to strike */
static outcome *outcomes;

/* ---- the compiler ---------------------------------------------------------
 */

/* Compiles a library that has a name in it, once for all keys. */
static void write_library(const char *path)
{
    groat__str out = {0};
    char *const argv[] = {"c++",
                          "-shared",
                          "-nostartfiles",
                          "-fPIC",
                          "-Wl,--build-id=sha1",
                          "-x",
                          "c++",
                          "-o",
                          (char *)path,
                          "-",
                          NULL};
    int ends[2];
    int status = 0;
    pid_t pid;

    groat__str_add(&out, "extern const char name[] = \"key-00\";\n");
    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)close(ends[1]);
        (void)dup2(ends[0], STDIN_FILENO);
        (void)execvp(argv[0], argv);
        _exit(127);
    }
    (void)close(ends[0]);
    ck_assert_int_eq(write(ends[1], out.data, out.len), (ssize_t)out.len);
    (void)close(ends[1]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    groat__str_free(&out);
}

static void write_compiler(void)
{
    char path[300];
    char library[300];
    char text[2400];

    (void)snprintf(path, sizeof(path), "%s/compiler", fix.root);
    (void)snprintf(library, sizeof(library), "%s/library", fix.root);
    (void)snprintf(runs, sizeof(runs), "%s/runs", fix.root);
    (void)snprintf(hold, sizeof(hold), "%s/hold", fix.root);
    (void)snprintf(gate, sizeof(gate), "%s/gate", fix.root);
    (void)snprintf(strikes, sizeof(strikes), "%s/strikes", fix.root);
    write_library(library);
    (void)snprintf(
        text, sizeof(text),
        "#!/bin/sh\n"
        "if [ \"$1\" = --version ]; then echo 'of a test'; exit 0; fi\n"
        "while [ \"$1\" != -o ]; do shift; done\n"
        "step=$(sed -n 's/^constexpr int step = \\([0-9]*\\).*/\\1/p')\n"
        "sed \"s/key-00/key-$(printf %%02d \"$step\")/\" '%s' >\"$2\"\n"
        "held=no\n" /* known before the run is noted */
        "[ ! -e '%s'.\"$step\" ] || held=yes\n"
        "echo \"$step\" >>'%s'\n"
        "[ $held = no ] || read -r line <'%s'\n"
        "if [ -n \"$STRIKE_RUN\" ]; then\n"
        "    echo run >>'%s'\n"
        "    [ \"$(wc -l <'%s')\" -ne \"$STRIKE_RUN\" ] ||\n"
        "        kill -\"$STRIKE\" \"$PPID\"\n"
        "fi\n",
        library, hold, runs, gate, strikes, strikes);
    rig_write(path, text, 0700);
    rig_write(runs, "", 0600);
    ck_assert_int_eq(mkfifo(gate, 0600), 0);
    ck_assert_int_eq(setenv("GROAT_CXX", path, 1), 0);
}

static void setup(void)
{
    char tmp[256];

    rig_make(&fix);
    /* A killed process leaves the files of its build behind. */
    (void)snprintf(tmp, sizeof(tmp), "%s/tmp", fix.root);
    ck_assert_int_eq(mkdir(tmp, 0700), 0);
    ck_assert_int_eq(setenv("TMPDIR", tmp, 1), 0);
    rig_write_adder(&fix);
    /* No kernel is run: without the judge's headers the source is short. */
    rig_write_source(&fix, "adder", "adder.h", "#include \"params.h\"\n");
    write_compiler();
    outcomes = mmap(NULL, PROCESSES * sizeof(*outcomes), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(outcomes, MAP_FAILED);
}

static void teardown(void)
{
    (void)munmap(outcomes, PROCESSES * sizeof(*outcomes));
    rig_drop(&fix);
}

/* Returns how often each key was compiled, and the total. */
static unsigned count_runs(unsigned each[KEYS])
{
    char *text = NULL;
    size_t bytes = 0;
    unsigned sum = 0;

    memset(each, 0, KEYS * sizeof(*each));
    /* The read fails if the file grows meanwhile. */
    while (groat__fs_read(runs, 1 << 20, &text, &bytes, &fix.error) != GROAT_OK)
        groat_error_clear(&fix.error);
    for (char *at = text; *at != '\0'; sum++) {
        unsigned long step = strtoul(at, &at, 10);

        ck_assert_uint_ge(step, 1);
        ck_assert_uint_le(step, KEYS);
        each[step - 1]++;
        at += *at == '\n';
    }
    free(text);
    return sum;
}

static void hold_key(unsigned step, bool held)
{
    char path[320];

    (void)snprintf(path, sizeof(path), "%s.%u", hold, step);
    if (held)
        rig_write(path, "", 0600);
    else
        ck_assert_int_eq(unlink(path), 0);
}

static bool open_gate(void)
{
    int fd = open(gate, O_WRONLY | O_CLOEXEC);
    bool opened = fd >= 0 && write(fd, "go\n", 3) == 3;

    (void)close(fd);
    return opened;
}

/* ---- a process ------------------------------------------------------------
 */

static struct {
    atomic_uint events;
    unsigned at; /* 0: never */
    int signal;
    outcome *own;
} strike;

static int on_event(unsigned type, void *user, void *statement, void *more)
{
    (void)type;
    (void)user;
    (void)more;
    if (atomic_fetch_add(&strike.events, 1) + 1 != strike.at)
        return 0;
    strike.own->locked =
        !strike.own->opened ||
        sqlite3_get_autocommit(sqlite3_db_handle(statement)) == 0;
    /* Not kill(): it might stop another thread first. */
    (void)raise(strike.signal);
    return 0;
}

/* Traces the start and end of each statement of each connection. */
static int watch(sqlite3 *db, const char **message, const void *api)
{
    (void)message;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE,
                            on_event, NULL);
}

static void obey(const orders *o)
{
    char number[16];

    strike.own = &outcomes[o->index];
    if (o->strike == 0)
        return;
    strike.signal = o->strike;
    strike.at = o->event;
    if (o->event != 0)
        (void)sqlite3_auto_extension((void (*)(void))watch);
    (void)snprintf(number, sizeof(number), "%u", o->run);
    if (o->run != 0) {
        (void)setenv("STRIKE_RUN", number, 1);
        (void)setenv("STRIKE", o->strike == SIGKILL ? "KILL" : "STOP", 1);
    }
}

/* Builds a key; returns whether the binary has the key's name. */
static bool build_key(groat_context *context, unsigned step)
{
    groat_spec *spec = NULL;
    void *binary = NULL;
    size_t bytes = 0;
    char name[16];
    char text[32];
    bool right;

    (void)snprintf(text, sizeof(text), "adder:step=%u", step);
    (void)snprintf(name, sizeof(name), "key-%02u", step);
    right = groat_spec_parse(context, text, "cpu:gfx950", &spec, NULL) ==
                GROAT_OK &&
            groat_build(spec, &binary, &bytes, NULL, NULL) == GROAT_OK &&
            memmem(binary, bytes, name, strlen(name) + 1) != NULL;
    groat_free(binary);
    groat_spec_free(spec);
    return right;
}

typedef struct worker {
    pthread_t thread;
    groat_context *context;
    unsigned first;
    unsigned wrong;
} worker;

/* Builds every key, in an order that differs among threads and processes. */
static void *build_all(void *user)
{
    worker *w = user;

    for (unsigned i = 0; i < KEYS; i++)
        w->wrong += !build_key(w->context, (w->first * 7 + i * 3) % KEYS + 1);
    return NULL;
}

static unsigned run_workers(groat_context *context, const orders *o)
{
    worker workers[THREADS];
    unsigned wrong = 0;

    for (unsigned i = 0; i < o->threads; i++) {
        workers[i] = (worker){.context = context, .first = o->index * 5 + i};
        if (pthread_create(&workers[i].thread, NULL, build_all, &workers[i]))
            return 1;
    }
    for (unsigned i = 0; i < o->threads; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        wrong += workers[i].wrong;
    }
    return wrong;
}

static groat_context *open_context(const orders *o)
{
    groat_options options = rig_options(&fix);
    groat_context *context = NULL;

    if (groat_open(&options, &context, NULL) != GROAT_OK)
        return NULL;
    if (context->store == NULL)
        return context;
    /* No result depends on time, except on how long a stop lasts. */
    context->store->claims.wait_ms = o->wait_ms;
    return context;
}

static void serve(const orders *o)
{
    outcome *own = &outcomes[o->index];
    groat_context *context;
    char byte;

    if (o->ends != NULL)
        (void)close(o->ends[1]);
    if (o->waits && read(o->ends[0], &byte, 1) != 0)
        _exit(1);
    obey(o);
    context = open_context(o);
    if (context == NULL)
        _exit(2);
    own->opened = true;
    own->wrong = run_workers(context, o);
    own->stat.size = sizeof(own->stat);
    own->untold = groat_cache_stat_get(context, &own->stat, NULL) != GROAT_OK;
    groat_close(context);
    own->done = true;
    _exit(0);
}

static pid_t start_process(const orders *o)
{
    pid_t pid;

    memset(&outcomes[o->index], 0, sizeof(outcomes[o->index]));
    (void)fflush(NULL);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        serve(o);
    return pid;
}

static void ck_ended_well(pid_t pid, unsigned index)
{
    int status = 0;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  "process %u: status 0x%x", index, status);
    ck_assert(outcomes[index].done);
    ck_assert_msg(outcomes[index].wrong == 0, "process %u: %u wrong builds",
                  index, outcomes[index].wrong);
}

/* Adds up the counts of processes from `first` on. */
static groat_cache_stat sum_up(unsigned first, unsigned count)
{
    groat_cache_stat sum = {.size = sizeof(sum)};

    for (unsigned i = first; i < first + count; i++) {
        const groat_cache_stat *own = &outcomes[i].stat;

        ck_assert_msg(!outcomes[i].untold, "process %u has no stat", i);
        sum.compiles += own->compiles;
        sum.hits += own->hits;
        sum.waits += own->waits;
        sum.takeovers += own->takeovers;
        sum.timeouts += own->timeouts;
        sum.faults += own->faults;
    }
    return sum;
}

/* Checks the store: whole entries of keys, of all keys or of some. */
static void ck_store(bool all)
{
    groat_context *context = rig_open(&fix);
    uint64_t checked = 0;
    uint64_t dropped = 7;

    ck_assert_int_eq(groat_cache_verify(context, &checked, &dropped, NULL),
                     GROAT_OK);
    ck_assert_uint_le(checked, KEYS);
    ck_assert_uint_eq(dropped, 0);
    if (all)
        ck_assert_uint_eq(checked, KEYS);
    groat_close(context);
}

/* ---- one compile per key ----------------------------------------------------
 */

static const unsigned thread_counts[] = {1, THREADS};

START_TEST(each_key_is_compiled_once)
{
    pid_t pids[PROCESSES];
    unsigned each[KEYS];
    groat_cache_stat sum;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    for (unsigned i = 0; i < PROCESSES; i++) {
        const orders o = {.index = i,
                          .threads = thread_counts[_i],
                          .wait_ms = AGES_MS,
                          .ends = ends,
                          .waits = true};

        pids[i] = start_process(&o);
    }
    (void)close(ends[1]);
    for (unsigned i = 0; i < PROCESSES; i++)
        ck_ended_well(pids[i], i);
    (void)close(ends[0]);
    ck_assert_uint_eq(count_runs(each), KEYS);
    for (unsigned i = 0; i < KEYS; i++)
        ck_assert_uint_eq(each[i], 1);
    sum = sum_up(0, PROCESSES);
    ck_assert_uint_eq(sum.compiles, KEYS);
    /* The process that has compiled reads nothing, every other process reads
     * once; threads that ask together share one result. */
    if (thread_counts[_i] == 1)
        ck_assert_uint_eq(sum.hits, PROCESSES * KEYS - KEYS);
    ck_assert_uint_ge(sum.hits, PROCESSES * KEYS - KEYS);
    ck_assert_uint_le(sum.hits, PROCESSES * thread_counts[_i] * KEYS - KEYS);
    ck_assert_uint_eq(sum.takeovers, 0);
    ck_assert_uint_eq(sum.timeouts, 0);
    ck_assert_uint_eq(sum.faults, 0);
    ck_store(true);
}
END_TEST

/* Another process compiles one key until all others are done. */
START_TEST(keys_do_not_hold_each_other_up)
{
    const orders o = {.index = 0, .threads = 1, .wait_ms = AGES_MS};
    groat_context *context;
    unsigned each[KEYS];
    pid_t pid;

    /* The process starts with that key. */
    hold_key(1, true);
    pid = start_process(&o);
    while (count_runs(each) == 0)
        (void)sched_yield();
    ck_assert_uint_eq(each[0], 1);
    context = open_context(&o);
    ck_assert_ptr_nonnull(context);
    for (unsigned step = 2; step <= KEYS; step++)
        ck_assert(build_key(context, step));
    ck_assert_uint_eq(rig_stat(context).compiles, KEYS - 1);
    ck_assert_uint_eq(rig_stat(context).waits, 0);
    hold_key(1, false);
    ck_assert(open_gate());
    ck_ended_well(pid, 0);
    ck_assert(build_key(context, 1));
    ck_assert_uint_eq(rig_stat(context).compiles, KEYS - 1);
    groat_close(context);
    ck_assert_uint_eq(count_runs(each), KEYS);
    ck_store(true);
}
END_TEST

/* ---- a holder that does not go on -------------------------------------------
 */

static const int strike_signals[] = {SIGKILL, SIGSTOP};

/* How long others wait for a stopped process.  On a very slow machine they give
 * up on running ones, too: only a full run takes the time to rule that out. */
static int stop_ms(void)
{
    return getenv("GROAT_TEST_ALL") == NULL ? 300 : 4000;
}

static void ck_bound(unsigned total, unsigned most, const groat_cache_stat *sum)
{
    if (getenv("GROAT_TEST_ALL") == NULL)
        most += (unsigned)sum->timeouts;
    ck_assert_msg(total <= most, "%u runs, at most %u; %u takeovers", total,
                  most, (unsigned)sum->takeovers);
}

/* Ends a process that a signal has killed or stopped. */
static void ck_struck(pid_t pid, unsigned index, int how)
{
    int status = 0;

    if (how == SIGSTOP) {
        ck_assert_int_eq(kill(pid, SIGCONT), 0);
        ck_ended_well(pid, index);
        return;
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Struck while it compiles, while others wait for it or come later: one of them
 * compiles again. */
START_TEST(a_holder_is_lost)
{
    const int how = strike_signals[_i % 2];
    const unsigned others = 4;
    pid_t pids[PROCESSES];
    unsigned each[KEYS];
    groat_cache_stat sum;
    orders o = {.index = 0, .threads = 1, .wait_ms = AGES_MS};

    hold_key(1, true);
    pids[0] = start_process(&o);
    while (count_runs(each) == 0)
        (void)sched_yield();
    hold_key(1, false);
    for (o.index = 1; o.index <= others; o.index++) {
        o.threads = thread_counts[_i / 2];
        o.wait_ms = how == SIGSTOP ? stop_ms() : AGES_MS;
        pids[o.index] = start_process(&o);
        if (o.index == others / 2)
            ck_assert_int_eq(kill(pids[0], how), 0);
    }
    for (unsigned i = 1; i <= others; i++)
        ck_ended_well(pids[i], i);
    if (how == SIGSTOP) /* SIGKILL has ended its compiler, too */
        ck_assert(open_gate());
    ck_struck(pids[0], 0, how);
    sum = sum_up(1, others);
    ck_assert_uint_eq(sum.faults, 0);
    ck_assert_uint_ge(count_runs(each), KEYS + 1);
    ck_assert_uint_ge(each[0], 2);
    if (how == SIGKILL) {
        ck_assert_uint_le(sum.takeovers, 1);
        ck_assert_uint_eq(count_runs(each), KEYS + 1);
    } else {
        ck_assert_uint_ge(sum.timeouts, 1);
        ck_bound(count_runs(each), KEYS + 1, &sum);
    }
    ck_store(true);
}
END_TEST

/* One of four is struck, at a random point.  The cost is counted: the key that
 * it was about to compile is compiled by one of the others. */
static void strike_somewhere(uint64_t seed, int how)
{
    const unsigned others = 3;
    const bool in_sql = next_random(&seed) % 4 != 0;
    orders o = {.wait_ms = how == SIGSTOP ? stop_ms() : AGES_MS};
    pid_t pids[PROCESSES];
    unsigned each[KEYS];
    groat_cache_stat sum;
    int ends[2];
    int status = 0;
    unsigned total;
    bool together;
    bool struck;
    unsigned killed;

    o.threads = thread_counts[next_random(&seed) % 3 == 0];
    o.strike = how;
    if (in_sql)
        o.event = 1 + (unsigned)(next_random(&seed) % 260);
    else
        o.run = 1 + (unsigned)(next_random(&seed) % 4);
    together = next_random(&seed) % 2 == 0;
    ck_assert_int_eq(pipe(ends), 0);
    o.ends = ends;
    for (o.index = 0; o.index <= others; o.index++) {
        o.waits = o.index != 0 || together;
        pids[o.index] = start_process(&o);
        o.strike = 0;
    }
    /* The others start together with it, or after it was struck. */
    if (together)
        (void)close(ends[1]);
    ck_assert_int_eq(waitpid(pids[0], &status, WUNTRACED), pids[0]);
    struck = !WIFEXITED(status);
    killed = struck && how == SIGKILL;
    if (!together)
        (void)close(ends[1]);
    for (unsigned i = 1; i <= others; i++)
        ck_ended_well(pids[i], i);
    if (struck && how == SIGSTOP)
        ck_struck(pids[0], 0, how);
    (void)close(ends[0]);
    total = count_runs(each);
    for (unsigned i = 0; i < KEYS; i++)
        ck_assert_uint_ge(each[i], 1);
    /* Stopped with the file locked, it forces the others to work without the
     * store.  When a compile ends, other threads may have locked the file. */
    if (how == SIGSTOP && (outcomes[0].locked || (!in_sql && o.threads > 1))) {
        ck_store(false);
        return;
    }
    sum = sum_up(killed, others + 1 - killed);
    if (how == SIGKILL)
        ck_assert_uint_eq(sum.timeouts, 0);
    ck_bound(total, KEYS + (struck ? o.threads : 0), &sum);
    /* Killed while it created the store, it has left an empty file. */
    ck_assert_uint_le(sum.faults, killed > 0 && !outcomes[0].opened);
    ck_store(true);
}

enum { ROUNDS = 100, ROUNDS_BY_DEFAULT = 4 };

START_TEST(a_process_is_struck)
{
    if (_i / 2 > ROUNDS_BY_DEFAULT / (int)test_step() &&
        getenv("GROAT_TEST_ALL") == NULL)
        return;
    strike_somewhere((uint64_t)_i, strike_signals[_i % 2]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("processes");
    TCase *tests = tcase_create("processes");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, each_key_is_compiled_once, 0, 2);
    tcase_add_test(tests, keys_do_not_hold_each_other_up);
    tcase_add_loop_test(tests, a_holder_is_lost, 0, 4);
    tcase_add_loop_test(tests, a_process_is_struck, 0, 2 * ROUNDS);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
