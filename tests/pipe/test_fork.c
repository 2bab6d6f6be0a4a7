/* SPDX-License-Identifier: Apache-2.0
 *
 * test_fork.c: a child of fork() cannot use its parent's context.  Each call is
 * refused, whichever thread held which lock at the time, and a context of the
 * child's own works.  A child that waits for a lock is ended by its alarm, and
 * its parent sees that.
 */
#include "rig.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "cache/internal.h"
#include "core/core.h"

enum {
    PATIENCE_S = 100, /* a child's time limit: more than any call takes */
    FORKS = 100,
    FORKS_OF_ALL = 10000,
    THREADS = 3
};

static const char *const target = "cpu:gfx950";
static rig fix;

static void setup(void)
{
    rig_make(&fix);
    rig_write_adder(&fix);
}

static void teardown(void)
{
    rig_drop(&fix);
}

/* Forks; the child's exit status is all that it reports. */
static pid_t start_child(void)
{
    pid_t pid;

    (void)fflush(NULL);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        (void)alarm(PATIENCE_S);
    return pid;
}

static void ck_child(pid_t pid)
{
    int state = 0;

    ck_assert_int_eq(waitpid(pid, &state, 0), pid);
    ck_assert_msg(!WIFSIGNALED(state), "the child was ended by signal %d",
                  WTERMSIG(state));
    ck_assert_msg(WEXITSTATUS(state) == 0, "call %d of the child",
                  WEXITSTATUS(state));
}

/* ---- every call ------------------------------------------------------------
 */

/* Objects of a parent. */
typedef struct things {
    groat_context *context;
    groat_kernel *kernel;
    groat_spec *spec;
    groat_request *request;
    groat_request *second;
} things;

static int refuse_entry(void *user, const groat_cache_entry *entry)
{
    (void)user;
    (void)entry;
    _exit(97);
}

static void refuse_finding(void *user, const char *subject, int usable,
                           const char *line)
{
    (void)user;
    (void)subject;
    (void)usable;
    (void)line;
    _exit(98);
}

/* Returns the number of the first call that was not refused, or 0. */
static int try_kernels(const things *t)
{
    const groat_get_options on_stream = {sizeof(on_stream), GROAT_GET_ON_STREAM,
                                         NULL};
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_error error = GROAT_ERROR_INIT;
    struct adder_args args = {0};
    groat_request *request = NULL;
    groat_kernel *kernel = NULL;
    groat_request *second = NULL;
    groat_spec *spec = NULL;
    void *binary = NULL;
    size_t bytes = 0;
    double us;
    const groat_status got[] = {
        groat_kernel_get(t->context, "adder", target, &kernel, NULL, &error),
        groat_kernel_get(t->context, "adder", NULL, &kernel, NULL, NULL),
        groat_kernel_get_spec(t->spec, NULL, &kernel, NULL, NULL),
        groat_kernel_get_spec(t->spec, &on_stream, &kernel, NULL, NULL),
        groat_build(t->spec, &binary, &bytes, NULL, NULL),
        groat_spec_parse(t->context, "adder", target, &spec, NULL),
        groat_spec_key(t->spec, (char[33]){""}, NULL, NULL),
        groat_kernel_start(t->spec, NULL, &request, NULL),
        groat_request_wait(t->request, -1, NULL, NULL, NULL),
        groat_kernel_start(t->spec, t->kernel, &second, NULL),
        groat_request_wait(t->second, -1, NULL, NULL, NULL),
        groat_fallback_set(t->context, t->kernel, NULL),
        groat_kernel_launch(t->kernel, &launch, &args, sizeof(args), NULL),
        groat_kernel_time(t->kernel, &launch, &args, sizeof(args), 1, &us,
                          NULL),
    };

    for (size_t i = 0; i < COUNT(got); i++)
        if (got[i] != GROAT_INVALID)
            return 1 + (int)i;
    if (strstr(error.text, "opened before fork(): open one in the child") ==
        NULL)
        return 30;
    if (groat_kernel_lookup(t->context, "adder", target) != NULL ||
        groat_kernel_lookup_spec(t->spec) != NULL ||
        groat_kernel_native(t->kernel) != NULL)
        return 31;
    groat_kernel_release(groat_kernel_retain(t->kernel));
    groat_kernel_release(t->kernel);
    groat_request_free(t->request);
    groat_request_free(t->second);
    groat_spec_free(t->spec);
    return 0;
}

static int try_context(const things *t)
{
    groat_context *c = t->context;
    groat_cache_stat stat = {.size = sizeof(stat)};
    groat_device_info device = {.size = sizeof(device)};
    groat_bundle_info bundle = {.size = sizeof(bundle)};
    groat_warm_item item = {.size = sizeof(item), .spec = "adder"};
    groat_tensor_map map;
    groat_tensor tensor = GROAT_TENSOR_INIT;
    uint64_t address = 0;
    char *text = NULL;
    const groat_status got[] = {
        groat_device_at(c, 0, &device, NULL),
        groat_memory_alloc(c, target, 16, &address, NULL),
        groat_memory_write(c, target, 0, "", 0, NULL),
        groat_memory_read(c, target, &address, 0, 0, NULL),
        groat_synchronize(c, target, NULL),
        groat_tensor_map_make(c, target, &tensor, &map, NULL),
        groat_cache_stat_get(c, &stat, NULL),
        groat_cache_each(c, NULL, refuse_entry, NULL, NULL),
        groat_cache_verify(c, NULL, NULL, NULL),
        groat_cache_gc(c, 1, NULL, NULL),
        groat_cache_clear(c, NULL, NULL),
        groat_bundle_at(c, 0, &bundle, NULL),
        groat_metrics(c, GROAT_METRICS_JSON, &text, NULL),
        groat_warm(c, &item, 1, 0, NULL, NULL, NULL, NULL),
        groat_warm_file(c, "/dev/null", NULL, 0, NULL, NULL, NULL, NULL),
    };

    for (size_t i = 0; i < COUNT(got); i++)
        if (got[i] != GROAT_INVALID)
            return 40 + (int)i;
    if (groat_device_count(c) != 0 || groat_default_target(c) == NULL)
        return 60;
    groat_memory_free(c, target, 1);
    groat_doctor(c, refuse_finding, NULL);
    groat_seal(c);
    groat_unseal(c);
    groat_close(c);
    return 0;
}

/* Tests a context of the child's own, and the origin of its kernel. */
static int try_own(groat_origin expected)
{
    groat_options options = rig_options(&fix);
    groat_context *own = NULL;
    groat_kernel *kernel = NULL;
    groat_origin origin = GROAT_FROM_MEMORY;

    options.log = NULL; /* the rig's lock may be held */
    if (groat_open(&options, &own, NULL) != GROAT_OK)
        return 70;
    if (groat_kernel_get(own, "adder", target, &kernel, &origin, NULL) !=
        GROAT_OK)
        return 71;
    if (origin != expected)
        return 72;
    if (!rig_adds(own, target, kernel, 1))
        return 73;
    groat_kernel_release(kernel);
    groat_close(own);
    return 0;
}

static things make_things(void)
{
    things t = {.context = rig_open(&fix)};

    t.kernel = rig_get(&fix, t.context, "adder", target, GROAT_FROM_COMPILER);
    t.spec = rig_parse(&fix, t.context, "adder", target);
    ck_assert_int_eq(groat_kernel_start(t.spec, NULL, &t.request, NULL),
                     GROAT_OK);
    ck_assert_int_eq(groat_kernel_start(t.spec, NULL, &t.second, NULL),
                     GROAT_OK);
    ck_assert_int_eq(groat_request_wait(t.second, -1, NULL, NULL, NULL),
                     GROAT_OK);
    return t;
}

static void free_things(things *t)
{
    groat_request_free(t->request);
    groat_request_free(t->second);
    groat_spec_free(t->spec);
    groat_kernel_release(t->kernel);
    groat_close(t->context);
}

static int try_all(const things *t, groat_origin expected)
{
    int wrong = try_kernels(t);

    if (wrong == 0)
        wrong = try_context(t);
    return wrong != 0 ? wrong : try_own(expected);
}

START_TEST(every_call_is_refused)
{
    things t = make_things();
    pid_t pid = start_child();

    if (pid == 0)
        _exit(try_all(&t, GROAT_FROM_DISK));
    ck_child(pid);
    /* The parent's context still works. */
    rig_kernel(&fix, t.context, 2, GROAT_FROM_COMPILER);
    free_things(&t);
}
END_TEST

/* Threads of the parent may hold any lock at that moment.  While one of them is
 * inside the store, the child works without it. */
START_TEST(every_lock_is_held)
{
    things t = make_things();
    groat_context *c = t.context;
    pthread_mutex_t *const locks[] = {&c->lock, &c->pool.lock, &c->maps.lock,
                                      &c->machines[GROAT__CPU].lock,
                                      &fix.mutex};
    pid_t pid;

    for (size_t i = 0; i < COUNT(locks); i++)
        (void)pthread_mutex_lock(locks[i]);
    groat__store_enter(c->store);
    pid = start_child();
    if (pid == 0)
        _exit(try_all(&t, GROAT_FROM_COMPILER));
    ck_child(pid);
    groat__store_leave(c->store);
    for (size_t i = COUNT(locks); i > 0; i--)
        (void)pthread_mutex_unlock(locks[i - 1]);
    free_things(&t);
}
END_TEST

/* ---- forks at any moment ----------------------------------------------------
 */

static atomic_bool ended;

/* Gets kernels in every way until the test is over. */
static void *keep_busy(void *user)
{
    groat_context *context = user;

    for (unsigned i = 0; !atomic_load(&ended); i++) {
        groat_request *request = NULL;
        groat_spec *spec = NULL;
        char text[32];

        (void)snprintf(text, sizeof(text), "adder:step=%u", 1 + i % 600);
        if (groat_spec_parse(context, text, target, &spec, NULL) != GROAT_OK)
            continue;
        if (i % 2 == 0 &&
            groat_kernel_start(spec, NULL, &request, NULL) == GROAT_OK)
            (void)groat_request_wait(request, 10, NULL, NULL, NULL);
        else
            (void)groat_build(spec, NULL, NULL, NULL, NULL);
        groat_request_free(request);
        groat_spec_free(spec);
    }
    return NULL;
}

/* The child loads nothing: a fork during dlopen() breaks the loader itself. */
static int child_of_a_busy_parent(groat_context *context)
{
    groat_options options = rig_options(&fix);
    groat_context *own = NULL;
    groat_spec *spec = NULL;
    int wrong = 0;

    options.log = NULL;
    if (groat_spec_parse(context, "adder", target, &spec, NULL) !=
        GROAT_INVALID)
        return 1;
    groat_close(context);
    if (groat_open(&options, &own, NULL) != GROAT_OK)
        return 2;
    if (groat_spec_parse(own, "adder", target, &spec, NULL) != GROAT_OK ||
        groat_build(spec, NULL, NULL, NULL, NULL) != GROAT_OK)
        wrong = 3;
    groat_spec_free(spec);
    groat_close(own);
    return wrong;
}

START_TEST(forks_under_load)
{
    int forks = getenv("GROAT_TEST_ALL") != NULL ? FORKS_OF_ALL : FORKS;
    groat_options options = rig_options(&fix);
    pthread_t threads[THREADS];
    groat_context *context;
    uint64_t seed = 13;

    options.log = NULL;
    context = rig_open_with(&fix, &options);
    atomic_store(&ended, false);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, keep_busy, context),
                         0);
    for (int i = 0; i < forks / (int)test_step(); i++) {
        pid_t pid;

        (void)usleep((useconds_t)(next_random(&seed) % 3000));
        pid = start_child();
        if (pid == 0)
            _exit(child_of_a_busy_parent(context));
        ck_child(pid);
    }
    atomic_store(&ended, true);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    groat_close(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fork");
    TCase *tests = tcase_create("fork");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 3600);
    tcase_add_test(tests, every_call_is_refused);
    tcase_add_test(tests, every_lock_is_held);
    /* Locks and threads of sanitizers do not survive a fork. */
    if (!is_tsan() && !sanitizes("address"))
        tcase_add_test(tests, forks_under_load);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
