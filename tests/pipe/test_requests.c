/* SPDX-License-Identifier: Apache-2.0
 *
 * test_requests.c: kernels that are built before they are needed: requests,
 * which other threads serve, and lists.
 */
#include "held.h"

#include <signal.h>

#include "core/core.h"
#include "tests/unit/threads.h"

static rig fix;
static const char target[] = "cpu:gfx950";

static void setup(void)
{
    rig_make(&fix);
    rig_write_adder(&fix);
    held_write(&fix);
}

static void teardown(void)
{
    held_restore();
    rig_drop(&fix);
}

static groat_request *start(groat_context *context, const char *text)
{
    groat_spec *spec = rig_parse(&fix, context, text, target);
    groat_request *request = NULL;

    ck_assert_int_eq(groat_kernel_start(spec, NULL, &request, &fix.error),
                     GROAT_OK);
    groat_spec_free(spec);
    return request;
}

/* Counts the threads, other than this one, that do not block some signal. */
static int count_open_threads(void)
{
    const uint64_t wanted = (uint64_t)1 << (SIGTERM - 1) |
                            (uint64_t)1 << (SIGUSR1 - 1) |
                            (uint64_t)1 << (SIGCHLD - 1);
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;

    ck_assert_ptr_nonnull(tasks);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[300];
        char line[200];
        FILE *file;

        if (task->d_name[0] == '.' || atoi(task->d_name) == getpid())
            continue;
        (void)snprintf(path, sizeof(path), "/proc/self/task/%s/status",
                       task->d_name);
        file = fopen(path, "re");
        while (file != NULL && fgets(line, sizeof(line), file) != NULL)
            count += strncmp(line, "SigBlk:", 7) == 0 &&
                     (strtoull(line + 7, NULL, 16) & wanted) != wanted;
        if (file != NULL)
            (void)fclose(file);
    }
    (void)closedir(tasks);
    return count;
}

/* ---- requests ---------------------------------------------------------- */

START_TEST(a_request_lands)
{
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel = NULL;
    groat_kernel *same = NULL;
    groat_origin origin = GROAT_FROM_MEMORY;
    groat_request *request;
    groat_request *again;
    int threads = first_threads();
    int open_threads = count_open_threads();

    held_close();
    request = start(context, "adder:step=3");
    for (int ms = 0; ms < 2; ms++)
        ck_fails(groat_request_wait(request, ms, &kernel, &origin, &fix.error),
                 GROAT_TIMED_OUT, &fix.error, "is still being made");
    ck_assert_ptr_null(kernel);
    while (held_runs() == 0)
        (void)usleep(1000);
    ck_assert_int_gt(count_threads(), threads);
    ck_assert_int_eq(count_open_threads(), open_threads);
    held_open();
    ck_assert_int_eq(
        groat_request_wait(request, -1, &kernel, &origin, &fix.error),
        GROAT_OK);
    ck_assert_str_eq(groat_origin_name(origin), "compiled");
    ck_assert(rig_adds(context, target, kernel, 3));
    /* Waiting again gives the same kernel. */
    ck_assert_int_eq(groat_request_wait(request, 0, &same, NULL, NULL),
                     GROAT_OK);
    ck_assert_ptr_eq(same, kernel);
    ck_assert_int_eq(groat_request_wait(request, 1, NULL, NULL, NULL),
                     GROAT_OK);
    /* A request for a kernel in memory is done at once. */
    again = start(context, "adder:step=3");
    ck_assert_int_eq(groat_request_wait(again, 0, &same, &origin, NULL),
                     GROAT_OK);
    ck_assert_ptr_eq(same, kernel);
    ck_assert_str_eq(groat_origin_name(origin), "memory");
    ck_assert_ptr_eq(
        rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_MEMORY),
        kernel);
    ck_assert_int_eq(held_runs(), 1);
    groat_request_free(again);
    groat_request_free(request);
    groat_request_free(NULL);
    ck_assert_ptr_null(groat_kernel_retain(NULL));
    groat_close(context);
}
END_TEST

static void break_adder(void)
{
    groat__str broken = {0};

    groat__str_add(&broken, adder_kernel);
    groat__str_add(&broken, "static int never = undeclared_name;\n");
    rig_write_source(&fix, "adder", "adder.h", broken.data);
    groat__str_free(&broken);
}

START_TEST(a_request_that_fails)
{
    groat_context *context;
    groat_kernel *kernel = NULL;
    groat_request *request;

    break_adder();
    context = rig_open(&fix);
    request = start(context, "adder:step=3");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(
            groat_request_wait(request, -1, &kernel, NULL, &fix.error),
            GROAT_COMPILE_FAILED);
        ck_assert_ptr_nonnull(strstr(fix.error.log, "undeclared_name"));
        ck_fails(fix.error.status, GROAT_COMPILE_FAILED, &fix.error,
                 "refused the source");
    }
    ck_assert_ptr_null(kernel);
    groat_request_free(request);
    groat_close(context);
}
END_TEST

/* Many requests at once: each kernel is built once. */
START_TEST(many_requests)
{
    enum { REQUESTS = 24, KEYS = 4 };
    groat_context *context = rig_open(&fix);
    groat_request *requests[REQUESTS];
    groat_kernel *kernels[REQUESTS];
    int threads = first_threads();
    char spec[32];

    for (int i = 0; i < REQUESTS; i++) {
        (void)snprintf(spec, sizeof(spec), "adder:step=%d", i % KEYS + 1);
        requests[i] = start(context, spec);
    }
    for (int i = REQUESTS; i-- > 0;) {
        ck_assert_int_eq(
            groat_request_wait(requests[i], -1, &kernels[i], NULL, &fix.error),
            GROAT_OK);
        groat_request_free(requests[i]);
    }
    for (int i = 0; i < REQUESTS; i++)
        ck_assert_ptr_eq(kernels[i], kernels[i % KEYS]);
    for (uint32_t i = 0; i < KEYS; i++)
        ck_assert(rig_adds(context, target, kernels[i], i + 1));
    ck_assert_int_eq(held_runs(), KEYS);
    groat_close(context);
    ck_threads(threads);
}
END_TEST

/* A request that was freed is not begun; one that was begun is finished. */
START_TEST(requests_that_are_given_up)
{
    enum { REQUESTS = GROAT__POOL_THREADS + 4 };
    groat_context *context = rig_open(&fix);
    groat_request *requests[REQUESTS];
    int threads = first_threads();
    char spec[32];
    int fd;

    held_close();
    for (int i = 0; i < REQUESTS; i++) {
        (void)snprintf(spec, sizeof(spec), "adder:step=%d", i + 1);
        requests[i] = start(context, spec);
    }
    while (held_runs() == 0)
        (void)usleep(1000);
    for (int i = 0; i < REQUESTS; i++)
        groat_request_free(requests[i]);
    fd = held_open_all();
    groat_close(context);
    (void)close(fd);
    ck_assert_int_ge(held_runs(), 1);
    ck_assert_int_le(held_runs(), GROAT__POOL_THREADS);
    ck_threads(threads);
}
END_TEST

/* ---- requests with a fallback ------------------------------------------ */

START_TEST(a_request_changes_over)
{
    groat_context *context = rig_open(&fix);
    groat_kernel *fallback =
        rig_get(&fix, context, "adder:step=1", target, GROAT_FROM_COMPILER);
    groat_spec *spec = rig_parse(&fix, context, "adder:step=3", target);
    groat_request *request = NULL;
    groat_request *empty = NULL;

    held_close();
    ck_assert_int_eq(groat_kernel_start(spec, fallback, &request, &fix.error),
                     GROAT_OK);
    ck_assert_ptr_eq(groat_request_kernel(request), fallback);
    ck_fails(groat_request_wait(request, 0, NULL, NULL, &fix.error),
             GROAT_TIMED_OUT, &fix.error, "after 0 ms");
    ck_assert_int_eq(groat_kernel_start(spec, NULL, &empty, &fix.error),
                     GROAT_OK);
    ck_assert_ptr_null(groat_request_kernel(empty));
    /* The request was made before the seal. */
    groat_seal(context);
    held_open();
    ck_assert_int_eq(groat_request_wait(request, -1, NULL, NULL, &fix.error),
                     GROAT_OK);
    ck_assert_int_eq(groat_request_wait(empty, -1, NULL, NULL, &fix.error),
                     GROAT_OK);
    ck_assert_ptr_ne(groat_request_kernel(request), fallback);
    ck_assert_ptr_eq(groat_request_kernel(empty),
                     groat_request_kernel(request));
    ck_assert(rig_adds(context, target, groat_request_kernel(request), 3));
    ck_assert_int_eq(held_runs(), 2);
    groat_request_free(request);
    groat_request_free(empty);
    groat_request_free(NULL);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

START_TEST(requests_that_keep_their_fallback)
{
    groat_context *context = rig_open(&fix);
    groat_kernel *fallback =
        rig_get(&fix, context, "adder:step=1", target, GROAT_FROM_COMPILER);
    groat_spec *spec = rig_parse(&fix, context, "adder:step=3", target);
    groat_request *request = NULL;
    groat_kernel *other;

    /* After the seal no build begins. */
    groat_seal(context);
    ck_assert_int_eq(groat_kernel_start(spec, fallback, &request, &fix.error),
                     GROAT_OK);
    ck_assert_ptr_eq(groat_request_kernel(request), fallback);
    ck_fails(groat_request_wait(request, -1, NULL, NULL, &fix.error),
             GROAT_SEALED, &fix.error, "sealed");
    groat_request_free(request);
    groat_unseal(context);
    /* A request with its own fallback does not use the context's. */
    other = rig_get(&fix, context, "adder:step=2", target, GROAT_FROM_COMPILER);
    ck_assert_int_eq(groat_fallback_set(context, other, &fix.error), GROAT_OK);
    groat_seal(context);
    ck_assert_int_eq(groat_kernel_start(spec, fallback, &request, &fix.error),
                     GROAT_OK);
    ck_assert_ptr_eq(groat_request_kernel(request), fallback);
    ck_fails(groat_request_wait(request, -1, NULL, NULL, &fix.error),
             GROAT_SEALED, &fix.error, "sealed");
    groat_unseal(context);
    ck_assert_ptr_eq(groat_request_kernel(request), fallback);
    groat_request_free(request);
    /* In memory: done at once. */
    ck_assert_int_eq(groat_spec_set(spec, "step", 1, NULL), GROAT_OK);
    ck_assert_int_eq(groat_spec_set(spec, "doubled", 2, NULL), GROAT_OK);
    ck_assert_int_eq(groat_kernel_start(spec, NULL, &request, &fix.error),
                     GROAT_OK);
    ck_assert_ptr_eq(groat_request_kernel(request), fallback);
    groat_request_free(request);
    groat_spec_free(spec);
    groat_close(context);

    break_adder();
    context = rig_open(&fix);
    spec = rig_parse(&fix, context, "adder:step=3", target);
    ck_assert_int_eq(groat_kernel_start(spec, NULL, &request, &fix.error),
                     GROAT_OK);
    ck_assert_ptr_null(groat_request_kernel(request));
    ck_fails(groat_request_wait(request, -1, NULL, NULL, &fix.error),
             GROAT_COMPILE_FAILED, &fix.error, "refused the source");
    groat_request_free(request);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

/* ---- lists ------------------------------------------------------------- */

typedef struct seen {
    char text[600];
    size_t stop_at;
} seen;

static int see(void *user, const groat_warm_event *event)
{
    seen *s = user;
    size_t len = strlen(s->text);

    ck_assert_uint_ge(event->size, sizeof(*event));
    ck_assert_double_ge(event->ms, 0);
    ck_assert_int_eq(event->error->status, event->status);
    (void)snprintf(s->text + len, sizeof(s->text) - len, "%zu/%zu %s %s\n",
                   event->index, event->count, event->item->spec,
                   event->status == GROAT_OK
                       ? groat_origin_name(event->origin)
                       : groat_status_name(event->status));
    return event->index + 1 == s->stop_at;
}

START_TEST(a_list_is_warmed)
{
    const groat_warm_item items[] = {
        {sizeof(items[0]), "adder:step=1", target},
        {sizeof(items[0]), "adder:step=666", target},
        {sizeof(items[0]), "adder:step=2", target},
        {sizeof(items[0]), "nothing", target},
        {sizeof(items[0]), "adder:step=1,doubled=2", target},
    };
    groat_warm_result result = {.size = sizeof(result)};
    groat_context *context = rig_open(&fix);
    groat_spec *spec = rig_parse(&fix, context, "adder:step=2", target);
    seen s = {"", 0};

    ck_assert_int_eq(groat_build(spec, NULL, NULL, NULL, NULL), GROAT_OK);
    ck_fails(groat_warm(context, items, COUNT(items), 0, see, &s, &result,
                        &fix.error),
             GROAT_INVALID, &fix.error, "this one is refused");
    ck_assert_str_eq(s.text, "0/5 adder:step=1 compiled\n"
                             "1/5 adder:step=666 invalid\n"
                             "2/5 adder:step=2 disk\n"
                             "3/5 nothing invalid\n"
                             "4/5 adder:step=1,doubled=2 memory\n");
    ck_assert_uint_eq(result.compiled, 1);
    ck_assert_uint_eq(result.from_disk, 1);
    ck_assert_uint_eq(result.from_memory, 1);
    ck_assert_uint_eq(result.failed, 2);
    groat_seal(context);
    ck_assert_int_eq(
        groat_warm(context, items, 1, 0, NULL, NULL, &result, &fix.error),
        GROAT_OK);
    ck_assert_uint_eq(result.from_memory, 1);
    ck_assert_uint_eq(result.failed, 0);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

START_TEST(a_list_is_built)
{
    /* Items of a program whose header is longer. */
    struct {
        groat_warm_item item;
        uint64_t more;
    } items[] = {
        {{sizeof(items[0]), "adder:step=4", "cpu:gfx942"}, UINT64_MAX},
        {{0, "adder:step=5", "cpu:gfx942"}, UINT64_MAX},
        {{0, "adder:step=6", "cpu:gfx942"}, UINT64_MAX},
    };
    groat_warm_result result = {.size = sizeof(result)};
    groat_context *context = rig_open(&fix);
    seen s = {"", 2};

    ck_assert_int_eq(groat_warm(context, &items[0].item, COUNT(items),
                                GROAT_WARM_BUILD, see, &s, &result, &fix.error),
                     GROAT_OK);
    ck_assert_str_eq(s.text, "0/3 adder:step=4 compiled\n"
                             "1/3 adder:step=5 compiled\n");
    ck_assert_uint_eq(result.compiled, 2);
    ck_assert_ptr_null(
        groat_kernel_lookup(context, "adder:step=4", "cpu:gfx942"));
    (void)rig_get(&fix, context, "adder:step=5", "cpu:gfx942", GROAT_FROM_DISK);
    ck_assert_uint_eq(rig_stat(context).compiles, 2);
    groat_close(context);
}
END_TEST

START_TEST(a_list_that_cannot_be_built)
{
    const groat_warm_item items[] = {
        {sizeof(items[0]), "adder:step=x", "cpu:gfx942"},
        {sizeof(items[0]), "adder:step=4", "cpu:gfx942"}};
    groat_warm_result result = {.size = sizeof(result)};
    groat_context *context = rig_open(&fix);

    (void)groat_warm(context, items, COUNT(items), GROAT_WARM_BUILD, NULL, NULL,
                     &result, &fix.error);
    ck_assert_uint_eq(result.failed, 1);
    ck_assert_uint_eq(result.compiled, 1);
    groat_close(context);
}
END_TEST

/* ---- manifests ----------------------------------------------------------- */

static int see_line(void *user, const groat_warm_event *event)
{
    seen *s = user;
    size_t len = strlen(s->text);

    (void)snprintf(s->text + len, sizeof(s->text) - len,
                   "%zu: %zu/%zu, %zu failed, %s on %s\n", event->line,
                   event->index + 1, event->count, event->failed,
                   event->item->spec, event->item->target);
    if (event->status != GROAT_OK) {
        char where[320];

        (void)snprintf(where, sizeof(where), "%s/list:%zu: ", fix.root,
                       event->line);
        ck_assert_ptr_eq(strstr(event->error->text, where), event->error->text);
    }
    return event->index + 1 == s->stop_at;
}

static groat_status warm_text(groat_context *context, const char *text, seen *s,
                              groat_warm_result *result)
{
    char path[300];

    (void)snprintf(path, sizeof(path), "%s/list", fix.root);
    rig_write(path, text, 0600);
    return groat_warm_file(context, path, target, 0, see_line, s, result,
                           &fix.error);
}

START_TEST(a_manifest_is_warmed)
{
    static const char text[] =
        "{\"spec\": \"adder:step=1\"}\n"
        "\n"
        "{\"targets\": [\"cpu:gfx942\", \"cpu:gfx950\"], \"note\": {\"n\": 7},"
        " \"spec\": \"adder\\u003astep=2\"}\r\n"
        "{\"spec\": \"adder:stop=1\"}\n"
        "  {\"spec\": \"adder:step=1\", \"target\": \"cpu:gfx950\"}";
    static const char told[] = "1: 1/5, 0 failed, adder:step=1 on cpu:gfx950\n"
                               "3: 2/5, 0 failed, adder:step=2 on cpu:gfx942\n"
                               "3: 3/5, 0 failed, adder:step=2 on cpu:gfx950\n"
                               "4: 4/5, 1 failed, adder:stop=1 on cpu:gfx950\n"
                               "5: 5/5, 1 failed, adder:step=1 on cpu:gfx950\n";
    groat_warm_result result = {.size = sizeof(result)};
    groat_context *context = rig_open(&fix);
    seen s = {"", 0};

    ck_fails(warm_text(context, text, &s, &result), GROAT_INVALID, &fix.error,
             "/list:4: ");
    ck_assert_str_eq(s.text, told);
    ck_assert_uint_eq(result.compiled, 3);
    ck_assert_uint_eq(result.from_memory, 1);
    ck_assert_uint_eq(result.failed, 1);
    s = (seen){"", 1};
    ck_assert_int_eq(warm_text(context, text, &s, &result), GROAT_OK);
    ck_assert_uint_eq(result.from_memory, 1);
    ck_assert_int_eq(warm_text(context, " \t\n\n", &s, &result), GROAT_OK);
    ck_assert_uint_eq(result.from_memory, 0);
    groat_close(context);
}
END_TEST

/* A file with a bad line builds nothing; the error names the line. */
START_TEST(manifests_that_are_refused)
{
    char public_key[65];
    static const char good[] = "{\"spec\": \"adder:step=9\"}\n";
    groat_warm_result result = {.size = 1};
    groat_context *context = rig_open(&fix);
    seen s = {"", 0};
    char text[100];
    char *long_line;

    (void)snprintf(text, sizeof(text), "%s\n{\"spec\": 7}", good);
    ck_fails(warm_text(context, text, &s, NULL), GROAT_INVALID, &fix.error,
             "/list:3: \"spec\" is not a string");
    (void)snprintf(text, sizeof(text), "%s{\"spec\"= 7}", good);
    ck_fails(warm_text(context, text, &s, NULL), GROAT_INVALID, &fix.error,
             "/list:2: the line is not JSON: ':' expected near '=', column 8");
    long_line = calloc(1, (2 << 20) + 1);
    ck_assert_ptr_nonnull(long_line);
    memset(long_line, ' ', 2 << 20);
    ck_fails(warm_text(context, long_line, &s, NULL), GROAT_INVALID, &fix.error,
             "/list:1: the line is longer than 1048576 bytes");
    free(long_line);
    ck_fails(warm_text(context, good, &s, &result), GROAT_INVALID, &fix.error,
             "result.size is 1");
    ck_fails(groat_warm_file(context, fix.root, target, 0, NULL, NULL, NULL,
                             &fix.error),
             GROAT_IO, &fix.error, "cannot read /");
    ck_fails(
        groat_warm_file(context, NULL, target, 0, NULL, NULL, NULL, &fix.error),
        GROAT_INVALID, &fix.error, "the path is NULL");
    ck_fails(groat_manifest_read(fix.root, NULL, NULL, &fix.error),
             GROAT_INVALID, &fix.error, "the callback is NULL");
    ck_fails(groat_cache_backup(context, NULL, &fix.error), GROAT_INVALID,
             &fix.error, "the path is NULL");
    ck_fails(
        groat_bundle_export(context, NULL, NULL, 0, NULL, NULL, &fix.error),
        GROAT_INVALID, &fix.error, "the path is NULL");
    ck_fails(groat_bundle_merge(NULL, 0, NULL, NULL, NULL, &fix.error),
             GROAT_INVALID, &fix.error, "the path is NULL");
    ck_fails(groat_bundle_keygen(NULL, public_key, &fix.error), GROAT_INVALID,
             &fix.error, "the path is NULL");
    ck_assert_str_eq(s.text, "");
    ck_assert_uint_eq(rig_stat(context).compiles, 0);
    groat_close(context);
}
END_TEST

START_TEST(lists_that_are_refused)
{
    groat_warm_item item = {sizeof(item) - 1, "adder", target};
    groat_warm_result result = {.size = 1};
    groat_context *context = rig_open(&fix);

    ck_fails(groat_warm(context, &item, 1, 0, NULL, NULL, NULL, &fix.error),
             GROAT_INVALID, &fix.error, "items[0].size is ");
    ck_fails(groat_warm(context, NULL, 1, 0, NULL, NULL, NULL, &fix.error),
             GROAT_INVALID, &fix.error, "there are no items");
    item.size = sizeof(item);
    ck_fails(groat_warm(context, &item, 1, 6, NULL, NULL, NULL, &fix.error),
             GROAT_INVALID, &fix.error, "flags is 0x6; known: 0x1");
    ck_fails(groat_warm(context, &item, 1, 0, NULL, NULL, &result, &fix.error),
             GROAT_INVALID, &fix.error, "result.size is 1");
    item.spec = NULL;
    ck_fails(groat_warm(context, &item, 1, 0, NULL, NULL, NULL, &fix.error),
             GROAT_INVALID, &fix.error, "the spec's text is NULL");
    ck_assert_int_eq(
        groat_warm(context, NULL, 0, 0, NULL, NULL, NULL, &fix.error),
        GROAT_OK);
    ck_assert_int_eq(held_runs(), 0);
    groat_close(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("requests");
    TCase *tests = tcase_create("requests");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_request_lands);
    tcase_add_test(tests, a_request_that_fails);
    tcase_add_test(tests, many_requests);
    tcase_add_test(tests, requests_that_are_given_up);
    tcase_add_test(tests, a_request_changes_over);
    tcase_add_test(tests, requests_that_keep_their_fallback);
    tcase_add_test(tests, a_list_is_warmed);
    tcase_add_test(tests, a_manifest_is_warmed);
    tcase_add_test(tests, manifests_that_are_refused);
    tcase_add_test(tests, a_list_is_built);
    tcase_add_test(tests, a_list_that_cannot_be_built);
    tcase_add_test(tests, lists_that_are_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
