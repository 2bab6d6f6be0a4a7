/* SPDX-License-Identifier: Apache-2.0
 *
 * test_callbacks.c: every callback calls the library again, for the kernel that
 * it is told about and for another, and closes its context, which is refused.
 * A call that would wait for its own thread is ended by the alarm.
 */
#include "rig.h"
#include "groat_serve.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PATIENCE_S = 100 };

static const char *const target = "cpu:gfx950";
static rig fix;

/* The state of the callbacks. */
static struct {
    groat_context *context;
    const char *other; /* a spec */
    int calls;
    int depth;
    pthread_barrier_t *meeting;
} at;

static void setup(void)
{
    rig_make(&fix);
    rig_write_adder(&fix);
    memset(&at, 0, sizeof(at));
    at.other = "adder:step=9";
    (void)alarm(PATIENCE_S);
}

static void teardown(void)
{
    (void)alarm(0);
    rig_drop(&fix);
}

/* Makes all calls that a callback may make, once. */
static void call_again(const char *spec_text)
{
    groat_context *context = at.context;
    groat_kernel *kernel = NULL;
    groat_spec *spec = NULL;

    at.calls++;
    if (context == NULL || at.depth > 0)
        return;
    at.depth++;
    for (int i = 0; i < 2; i++) {
        const char *wanted = i == 0 ? spec_text : at.other;

        ck_assert_int_eq(groat_spec_parse(context, wanted, target, &spec, NULL),
                         GROAT_OK);
        ck_assert_int_eq(groat_build(spec, NULL, NULL, NULL, NULL), GROAT_OK);
        ck_assert_int_eq(
            groat_kernel_get(context, wanted, target, &kernel, NULL, NULL),
            GROAT_OK);
        groat_kernel_release(kernel);
        groat_spec_free(spec);
    }
    groat_seal(context);
    groat_unseal(context);
    groat_close(context);
    at.depth--;
}

static void on_line(void *user, int level, const char *line)
{
    rig_log(user, level, line);
    call_again("adder");
}

static void on_compile(void *user, const groat_compile_event *event)
{
    (void)user;
    if (event->status == GROAT_OK)
        call_again(event->spec);
    else
        call_again("adder");
}

static int on_warm(void *user, const groat_warm_event *event)
{
    (void)user;
    call_again(event->item->spec);
    return 0;
}

static int on_entry(void *user, const groat_cache_entry *entry)
{
    (void)user;
    call_again(entry->spec);
    return 0;
}

static void on_difference(void *user, const char *field, const char *wanted,
                          const char *found)
{
    (void)user;
    (void)field;
    (void)wanted;
    (void)found;
    call_again("adder");
}

static void on_finding(void *user, const char *subject, int usable,
                       const char *line)
{
    (void)user;
    (void)subject;
    (void)usable;
    (void)line;
    call_again("adder");
}

static groat_context *open_with(groat_log_fn *log, groat_compile_fn *compiled)
{
    groat_options options = rig_options(&fix);

    options.log = log;
    options.compiled = compiled;
    return rig_open_with(&fix, &options);
}

/* Checks that the context is still open and works. */
static void ck_alive(groat_context *context)
{
    ck_assert_int_ge(at.calls, 1);
    at.context = NULL;
    (void)rig_get(&fix, context, "adder:step=77", target, GROAT_FROM_COMPILER);
    groat_close(context);
}

START_TEST(the_compile_callback)
{
    groat_context *context = open_with(rig_log, on_compile);

    at.context = context;
    (void)rig_get(&fix, context, "adder", target, GROAT_FROM_COMPILER);
    ck_assert_int_eq(rig_said(&fix, "groat_close() is refused"), 1);
    ck_alive(context);
}
END_TEST

/* The callback of a build that fails, and of a thread of the pool. */
START_TEST(the_compile_callback_elsewhere)
{
    groat_context *context;
    groat_request *request = NULL;
    groat_kernel *kernel = NULL;
    groat_spec *spec;

    rig_write_source(&fix, "broken", "params.def",
                     "family broken \"does not compile\"\n"
                     "launch block_x = 64\nlaunch args = 24\nentry broken\n");
    rig_write_source(&fix, "broken", "broken.h",
                     "#include \"params.h\"\nno C++\n");
    context = open_with(rig_log, on_compile);
    at.context = context;
    ck_assert_int_eq(
        groat_kernel_get(context, "broken", target, &kernel, NULL, NULL),
        GROAT_COMPILE_FAILED);
    spec = rig_parse(&fix, context, "adder:step=5", target);
    ck_assert_int_eq(groat_kernel_start(spec, NULL, &request, NULL), GROAT_OK);
    ck_assert_int_eq(groat_request_wait(request, -1, &kernel, NULL, NULL),
                     GROAT_OK);
    ck_assert(rig_adds(context, target, kernel, 5));
    groat_request_free(request);
    groat_spec_free(spec);
    ck_alive(context);
}
END_TEST

/* Two threads, each in the callback for its kernel while the other gets it. */
typedef struct half {
    pthread_t thread;
    const char *mine;
    const char *others;
    groat_status status;
} half;

static _Thread_local half *own;

static void on_either(void *user, const groat_compile_event *event)
{
    groat_kernel *kernel = NULL;

    (void)user;
    (void)event;
    (void)pthread_barrier_wait(at.meeting);
    own->status =
        groat_kernel_get(at.context, own->others, target, &kernel, NULL, NULL);
}

static void *get_mine(void *user)
{
    groat_kernel *kernel = NULL;
    half *h = user;

    own = h;
    h->status = GROAT_IO; /* until its callback changes it */
    (void)groat_kernel_get(at.context, h->mine, target, &kernel, NULL, NULL);
    return NULL;
}

START_TEST(two_compile_callbacks)
{
    half halves[2] = {{.mine = "adder:step=1", .others = "adder:step=2"},
                      {.mine = "adder:step=2", .others = "adder:step=1"}};
    pthread_barrier_t meeting;

    ck_assert_int_eq(pthread_barrier_init(&meeting, NULL, 2), 0);
    at.meeting = &meeting;
    at.context = open_with(rig_log, on_either);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(
            pthread_create(&halves[i].thread, NULL, get_mine, &halves[i]), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_join(halves[i].thread, NULL), 0);
        ck_assert_int_eq(halves[i].status, GROAT_OK);
    }
    groat_close(at.context);
    (void)pthread_barrier_destroy(&meeting);
}
END_TEST

/* ---- callbacks on the threads of requests -------------------------------- */

enum { CROWD = 6 };

/* Callbacks that wait on the threads of requests, and their results. */
static struct {
    groat_context *context;
    groat_request *asked[CROWD];
    atomic_int calls;
    atomic_int right;
    atomic_bool closing;
} crowd;

static groat_request *ask_for(unsigned step, groat_status *status)
{
    groat_request *request = NULL;
    groat_spec *spec = NULL;
    char text[32];

    (void)snprintf(text, sizeof(text), "adder:step=%u", step);
    *status = groat_spec_parse(crowd.context, text, target, &spec, NULL);
    if (*status == GROAT_OK)
        *status = groat_kernel_start(spec, NULL, &request, NULL);
    groat_spec_free(spec);
    return request;
}

/* Finds its own kernel and waits for one that nobody has begun: as many
 * callbacks as there are threads may do so at a time. */
static void wait_for_others(void *user, const groat_compile_event *event)
{
    int number = atomic_fetch_add(&crowd.calls, 1);
    groat_kernel *kernel = NULL;
    groat_spec *told = NULL;
    groat_request *request;
    groat_status status;

    (void)user;
    if (number >= CROWD)
        return; /* the kernel was requested by a callback */
    if (groat_spec_parse(crowd.context, event->spec, target, &told, NULL) ==
            GROAT_OK &&
        groat_kernel_lookup_spec(told) != NULL)
        (void)atomic_fetch_add(&crowd.right, 1);
    groat_spec_free(told);
    request = ask_for(20 + (unsigned)number, &status);
    if (status == GROAT_OK &&
        groat_request_wait(request, -1, &kernel, NULL, NULL) == GROAT_OK)
        (void)atomic_fetch_add(&crowd.right, 1);
    groat_kernel_release(kernel);
    groat_request_free(request);
}

START_TEST(callbacks_that_wait_for_requests)
{
    groat_status status;

    memset(&crowd, 0, sizeof(crowd));
    crowd.context = open_with(NULL, wait_for_others);
    for (unsigned i = 0; i < CROWD; i++) {
        crowd.asked[i] = ask_for(i + 1, &status);
        ck_assert_int_eq(status, GROAT_OK);
    }
    for (unsigned i = 0; i < CROWD; i++) {
        ck_assert_int_eq(
            groat_request_wait(crowd.asked[i], -1, NULL, NULL, NULL), GROAT_OK);
        groat_request_free(crowd.asked[i]);
    }
    groat_close(crowd.context); /* waits for callbacks */
    ck_assert_int_eq(atomic_load(&crowd.calls), 2 * CROWD);
    ck_assert_int_eq(atomic_load(&crowd.right), 2 * CROWD);
}
END_TEST

/* Waits for the request whose kernel the callback is for. */
static void wait_for_mine(void *user, const groat_compile_event *event)
{
    (void)user;
    (void)event;
    /* The thread that made the request has stored it by then. */
    while (atomic_load(&crowd.calls) == 0)
        (void)usleep(1000);
    if (groat_request_wait(crowd.asked[0], -1, NULL, NULL, NULL) == GROAT_OK)
        (void)atomic_fetch_add(&crowd.right, 1);
}

START_TEST(a_callback_that_waits_for_its_own)
{
    groat_status status;

    memset(&crowd, 0, sizeof(crowd));
    crowd.context = open_with(NULL, wait_for_mine);
    crowd.asked[0] = ask_for(1, &status);
    ck_assert_int_eq(status, GROAT_OK);
    (void)atomic_fetch_add(&crowd.calls, 1);
    ck_assert_int_eq(groat_request_wait(crowd.asked[0], -1, NULL, NULL, NULL),
                     GROAT_OK);
    while (atomic_load(&crowd.right) == 0)
        (void)usleep(1000);
    groat_request_free(crowd.asked[0]);
    groat_close(crowd.context);
}
END_TEST

/* Asks for more while the context is being closed. */
static void ask_while_closing(void *user, const groat_compile_event *event)
{
    unsigned number = 50 + 100 * (unsigned)atomic_fetch_add(&crowd.calls, 1);
    groat_request *request;
    groat_status status;

    (void)user;
    (void)event;
    while (!atomic_load(&crowd.closing))
        (void)usleep(1000);
    /* Requests made before the close has begun are served. */
    while ((request = ask_for(number++, &status)) != NULL) {
        (void)groat_request_wait(request, -1, NULL, NULL, NULL);
        groat_request_free(request);
    }
    if (status == GROAT_INVALID)
        (void)atomic_fetch_add(&crowd.right, 1);
}

START_TEST(a_callback_that_asks_while_it_is_closed)
{
    groat_status status;

    memset(&crowd, 0, sizeof(crowd));
    crowd.context = open_with(NULL, ask_while_closing);
    for (unsigned i = 0; i < CROWD; i++) {
        crowd.asked[i] = ask_for(i + 1, &status);
        ck_assert_int_eq(status, GROAT_OK);
    }
    while (atomic_load(&crowd.calls) == 0)
        (void)usleep(1000);
    for (unsigned i = 0; i < CROWD; i++)
        groat_request_free(crowd.asked[i]);
    atomic_store(&crowd.closing, true);
    groat_close(crowd.context);
    ck_assert_int_ge(atomic_load(&crowd.right), 1);
    ck_assert_int_eq(atomic_load(&crowd.right), atomic_load(&crowd.calls));
}
END_TEST

/* ---- other callbacks ----------------------------------------------------- */

/* Log lines about a stored binary that no loader takes, and of the store. */
START_TEST(the_log)
{
    groat_context *context;

    rig_plant(&fix, "adder", "no library", 10);
    context = open_with(on_line, NULL);
    at.context = context;
    (void)rig_get(&fix, context, "adder", target, GROAT_FROM_COMPILER);
    ck_assert_int_eq(rig_said(&fix, "refused the stored binary"), 1);
    ck_assert_int_eq(rig_said(&fix, "groat_close() is refused"), 1);
    ck_alive(context);
}
END_TEST

/* A line that is logged while a compiler is opened. */
START_TEST(the_log_of_a_compiler)
{
    groat_context *context;

    ck_assert_int_eq(setenv("GROAT_CXX_TIMEOUT", "never", 1), 0);
    context = open_with(on_line, NULL);
    at.context = context;
    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    ck_assert_int_eq(rig_said(&fix, "GROAT_CXX_TIMEOUT"), 1);
    ck_alive(context);
}
END_TEST

START_TEST(lists)
{
    groat_context *context = open_with(rig_log, NULL);
    groat_warm_item item = {.size = sizeof(item), .spec = "adder"};
    groat_explanation found = {.size = sizeof(found)};
    groat_spec *spec;
    int calls;

    at.context = context;
    ck_assert_int_eq(
        groat_warm(context, &item, 1, 0, on_warm, NULL, NULL, NULL), GROAT_OK);
    ck_assert_int_eq(at.calls, 1);
    ck_assert_int_eq(groat_cache_each(context, NULL, on_entry, NULL, NULL),
                     GROAT_OK);
    calls = at.calls;
    ck_assert_int_ge(calls, 3);
    spec = rig_parse(&fix, context, "adder:step=50", target);
    ck_assert_int_eq(groat_explain(spec, &found, on_difference, NULL, NULL),
                     GROAT_OK);
    ck_assert_int_gt(at.calls, calls);
    calls = at.calls;
    groat_doctor(context, on_finding, NULL);
    ck_assert_int_gt(at.calls, calls);
    groat_spec_free(spec);
    ck_alive(context);
}
END_TEST

/* A callback of another context does not keep this one from closing. */
START_TEST(another_context)
{
    groat_context *context = open_with(rig_log, on_compile);
    groat_context *other = open_with(rig_log, NULL);

    at.context = other;
    at.depth = 1;
    (void)rig_get(&fix, other, "adder", target, GROAT_FROM_COMPILER);
    groat_close(other);
    ck_assert_int_eq(rig_said(&fix, "groat_close() is refused"), 0);
    at.depth = 0;
    at.calls = 1;
    ck_alive(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("callbacks");
    TCase *tests = tcase_create("callbacks");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, PATIENCE_S + 20);
    tcase_add_test(tests, the_compile_callback);
    tcase_add_test(tests, the_compile_callback_elsewhere);
    tcase_add_test(tests, two_compile_callbacks);
    tcase_add_test(tests, callbacks_that_wait_for_requests);
    tcase_add_test(tests, a_callback_that_waits_for_its_own);
    tcase_add_test(tests, a_callback_that_asks_while_it_is_closed);
    tcase_add_test(tests, the_log);
    tcase_add_test(tests, the_log_of_a_compiler);
    tcase_add_test(tests, lists);
    tcase_add_test(tests, another_context);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
