/* SPDX-License-Identifier: Apache-2.0
 *
 * test_memory.c: each allocation of the library fails in turn, once.  The call
 * succeeds, or fails for lack of memory and changes none of its outputs; the
 * same call succeeds as soon as there is memory.
 */
#include "rig.h"
#include "groat_serve.h"

#include <errno.h>

static const char *const target = "cpu:gfx950";
static rig fix;

/* Allocations until the one that fails; negative: none fails. */
static _Thread_local long left = -1;

static bool fails(void)
{
    if (left < 0 || left-- > 0)
        return false;
    errno = ENOMEM;
    return true;
}

/* The linker (--wrap) redirects calls of the originals to these. */
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__real_strndup(const char *text, size_t len);
char *__wrap_strndup(const char *text, size_t len);

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __real_realloc(memory, bytes);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t len)
{
    return fails() ? NULL : __real_strndup(text, len);
}

static void setup(void)
{
    rig_make(&fix);
    rig_write_adder(&fix);
}

static void teardown(void)
{
    left = -1;
    rig_drop(&fix);
}

/* Makes a call whose n-th allocation fails; false: it made fewer. */
typedef bool step(long n, groat_status *status);

static void ck_each_allocation(step *one)
{
    groat_status status = GROAT_OK;
    long n = 0;

    while (one(n, &status)) {
        if (status != GROAT_OK)
            ck_assert_msg(status == GROAT_NO_MEMORY, "allocation %ld: %d, %s",
                          n, (int)status, fix.error.text);
        groat_error_clear(&fix.error);
        n++;
    }
    ck_assert_int_eq(status, GROAT_OK);
    ck_assert_int_gt(n, 10);
}

/* Opens a context, which lists its families. */
static bool open_one(long n, groat_status *status)
{
    groat_options options = rig_options(&fix);
    groat_context *context = NULL;
    bool failed;

    options.flags = GROAT_OPEN_NO_DISK;
    left = n;
    *status = groat_open(&options, &context, &fix.error);
    failed = left < 0;
    left = -1;
    if (*status == GROAT_OK)
        ck_assert_ptr_nonnull(groat_family_find(context, "adder"));
    else
        ck_assert_ptr_null(context);
    groat_close(context);
    return failed;
}

/* Opens a context with a remote and leases, new ones each time: without them it
 * still works. */
static bool open_with_remote(long n, groat_status *status)
{
    groat_options options = rig_options(&fix);
    groat_context *context = NULL;
    char remote[300], leases[300];
    bool failed;

    (void)snprintf(remote, sizeof(remote), "file://%s/remote-%ld", fix.root, n);
    (void)snprintf(leases, sizeof(leases), "unix://%s/leases-%ld", fix.root, n);
    options.flags = GROAT_OPEN_NO_DISK;
    options.remote = remote;
    options.leases = leases;
    left = n;
    *status = groat_open(&options, &context, &fix.error);
    failed = left < 0;
    left = -1;
    groat_close(context);
    return failed;
}

/* Parses the first spec of a program's family, which reads the family. */
static bool parse_one(long n, groat_status *status)
{
    groat_options options = rig_options(&fix);
    groat_context *context;
    groat_spec *spec = NULL;
    bool failed;

    options.flags = GROAT_OPEN_NO_DISK;
    context = rig_open_with(&fix, &options);
    left = n;
    *status =
        groat_spec_parse(context, "adder:step=3", target, &spec, &fix.error);
    failed = left < 0;
    left = -1;
    if (*status != GROAT_OK) {
        ck_assert_ptr_null(spec);
        spec = rig_parse(&fix, context, "adder:step=3", target);
    }
    groat_spec_free(spec);
    groat_close(context);
    return failed;
}

START_TEST(families)
{
    ck_each_allocation(open_one);
    ck_each_allocation(open_with_remote);
    ck_each_allocation(parse_one);
}
END_TEST

static groat_context *one_context;

static bool write_metrics(long n, groat_status *status)
{
    char nothing;
    char *text = &nothing;
    bool failed;

    left = n;
    *status = groat_metrics(one_context, GROAT_METRICS_JSON, &text, &fix.error);
    failed = left < 0;
    left = -1;
    if (*status == GROAT_OK)
        groat_free(text);
    else
        ck_assert_ptr_eq(text, &nothing);
    return failed;
}

/* The text of a spec can be made again by the next call. */
static bool write_text(long n, groat_status *status)
{
    groat_spec *spec = rig_parse(&fix, one_context, "adder:step=3", target);
    bool failed;

    left = n;
    (void)groat_spec_text(spec);
    failed = left < 0;
    left = -1;
    ck_assert_str_eq(groat_spec_text(spec), "adder:step=3,doubled=6");
    groat_spec_free(spec);
    *status = GROAT_OK;
    return failed;
}

START_TEST(texts)
{
    groat_status status = GROAT_OK;

    one_context = rig_open(&fix);
    ck_each_allocation(write_metrics);
    for (long n = 0; write_text(n, &status); n++)
        continue;
    groat_close(one_context);
}
END_TEST

static groat_kernel *one_kernel;
static struct adder_args one_vector = {.count = 1};

/* Launches a kernel that the judge executes. */
static bool launch_one(long n, groat_status *status)
{
    groat_launch launch = GROAT_LAUNCH_INIT;
    bool failed;

    left = n;
    *status = groat_kernel_launch(one_kernel, &launch, &one_vector,
                                  sizeof(one_vector), &fix.error);
    failed = left < 0;
    left = -1;
    return failed;
}

START_TEST(launches)
{
    const uint32_t numbers[4] = {1, 2, 3, 4};
    uint32_t sums[4] = {0};

    one_context = rig_open(&fix);
    ck_assert_int_eq(groat_memory_alloc(one_context, target, sizeof(numbers),
                                        &one_vector.input, NULL),
                     GROAT_OK);
    ck_assert_int_eq(groat_memory_alloc(one_context, target, sizeof(sums),
                                        &one_vector.output, NULL),
                     GROAT_OK);
    ck_assert_int_eq(groat_memory_write(one_context, target, one_vector.input,
                                        numbers, sizeof(numbers), NULL),
                     GROAT_OK);
    ck_assert_int_eq(groat_kernel_get(one_context, "adder:step=3", target,
                                      &one_kernel, NULL, &fix.error),
                     GROAT_OK);
    ck_each_allocation(launch_one);
    ck_assert_int_eq(groat_memory_read(one_context, target, sums,
                                       one_vector.output, sizeof(sums), NULL),
                     GROAT_OK);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(sums[i], numbers[i] + 3);
    groat_memory_free(one_context, target, one_vector.input);
    groat_memory_free(one_context, target, one_vector.output);
    groat_kernel_release(one_kernel);
    groat_close(one_context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tests = tcase_create("memory");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, families);
    tcase_add_test(tests, texts);
    tcase_add_test(tests, launches);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
