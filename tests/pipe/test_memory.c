/* SPDX-License-Identifier: Apache-2.0
 *
 * test_memory.c: each allocation of the library fails in turn, once.  The call
 * succeeds, or fails for lack of memory and changes none of its outputs; the
 * same call succeeds as soon as there is memory.
 */
#include "rig.h"
#include "groat_serve.h"
#include "groat_store.h"
#include "groat_tools.h"

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

/* A call between begin() and end(), one of whose allocations fails. */
typedef groat_status step(void);

static long nth = -1; /* the allocation that fails; -1: none */
static bool has_failed;

static void begin(void)
{
    left = nth;
}

/* Check allocates, too, so what it looks at comes behind this. */
static groat_status end(groat_status status)
{
    has_failed = left < 0 && nth >= 0;
    left = -1;
    return status;
}

static void ck_step(step *one, long n, const char *name)
{
    groat_status status;

    nth = n;
    status = one();
    nth = -1;
    ck_assert_msg(
        status == GROAT_OK || (has_failed && status == GROAT_NO_MEMORY),
        "%s, allocation %ld: %d, %s", name, n, (int)status, fix.error.text);
    groat_error_clear(&fix.error);
}

static void ck_each_allocation(step *one, const char *name)
{
    long n = 0;

    do
        ck_step(one, n++, name);
    while (has_failed);
    ck_assert_int_gt(n, 11);
}

/* Opens a context, which lists its families. */
static groat_status open_one(void)
{
    groat_options options = rig_options(&fix);
    groat_context *context = NULL;
    groat_status status;

    options.flags = GROAT_OPEN_NO_DISK;
    begin();
    status = end(groat_open(&options, &context, &fix.error));
    if (status == GROAT_OK)
        ck_assert_ptr_nonnull(groat_family_find(context, "adder"));
    else
        ck_assert_ptr_null(context);
    groat_close(context);
    return status;
}

/* Opens a context with a remote and leases, new ones each time: without them it
 * still works. */
static groat_status open_with_remote(void)
{
    groat_options options = rig_options(&fix);
    groat_context *context = NULL;
    char remote[300], leases[300];
    groat_status status;

    (void)snprintf(remote, sizeof(remote), "file://%s/remote-%ld", fix.root,
                   nth);
    (void)snprintf(leases, sizeof(leases), "unix://%s/leases-%ld", fix.root,
                   nth);
    options.flags = GROAT_OPEN_NO_DISK;
    options.remote = remote;
    options.leases = leases;
    begin();
    status = end(groat_open(&options, &context, &fix.error));
    groat_close(context);
    return status;
}

/* Parses the first spec of a program's family, which reads the family. */
static groat_status parse_one(void)
{
    groat_options options = rig_options(&fix);
    groat_context *context;
    groat_spec *spec = NULL;
    groat_status status;

    options.flags = GROAT_OPEN_NO_DISK;
    context = rig_open_with(&fix, &options);
    begin();
    status = end(
        groat_spec_parse(context, "adder:step=3", target, &spec, &fix.error));
    if (status != GROAT_OK) {
        ck_assert_ptr_null(spec);
        spec = rig_parse(&fix, context, "adder:step=3", target);
    }
    groat_spec_free(spec);
    groat_close(context);
    return status;
}

START_TEST(families)
{
    ck_each_allocation(open_one, "open");
    ck_each_allocation(open_with_remote, "open with a remote");
    ck_each_allocation(parse_one, "parse");
}
END_TEST

static groat_context *one_context;

static groat_status write_metrics(void)
{
    char nothing;
    char *text = &nothing;
    groat_status status;

    begin();
    status =
        end(groat_metrics(one_context, GROAT_METRICS_JSON, &text, &fix.error));
    if (status == GROAT_OK)
        groat_free(text);
    else
        ck_assert_ptr_eq(text, &nothing);
    return status;
}

/* The text of a spec can be made again by the next call. */
static groat_status write_text(void)
{
    groat_spec *spec = rig_parse(&fix, one_context, "adder:step=3", target);

    begin();
    (void)groat_spec_text(spec);
    (void)end(GROAT_OK);
    ck_assert_str_eq(groat_spec_text(spec), "adder:step=3,doubled=6");
    groat_spec_free(spec);
    return GROAT_OK;
}

START_TEST(texts)
{
    long n = 0;

    one_context = rig_open(&fix);
    ck_each_allocation(write_metrics, "metrics");
    do
        ck_step(write_text, n++, "text");
    while (has_failed);
    groat_close(one_context);
}
END_TEST

static groat_kernel *one_kernel;
static struct adder_args one_vector = {.count = 1};

/* Launches a kernel that the judge executes. */
static groat_status launch_one(void)
{
    groat_launch launch = GROAT_LAUNCH_INIT;

    begin();
    return end(groat_kernel_launch(one_kernel, &launch, &one_vector,
                                   sizeof(one_vector), &fix.error));
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
    ck_each_allocation(launch_one, "launch");
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

/* ---- calls of a store of two entries ---------------------------------------
 */

static char bundle_path[300];

/* Counts whole entries; one that is not adds 100. */
static int count_entry(void *user, const groat_cache_entry *entry)
{
    bool whole = entry->bytes > 1000 && strlen(entry->key) == 32 &&
                 strncmp(entry->spec, "adder:step=", 11) == 0 &&
                 strcmp(entry->target, target) == 0;

    *(int *)user += whole ? 1 : 100;
    return 0;
}

static groat_status list_entries(void)
{
    int seen = 0;
    groat_status status;

    begin();
    status = end(
        groat_cache_each(one_context, NULL, count_entry, &seen, &fix.error));

    ck_assert_int_le(seen, 2);
    ck_assert(status != GROAT_OK || seen == 2);
    return status;
}

static groat_status verify_entries(void)
{
    uint64_t checked = 7;
    uint64_t dropped = 7;
    groat_status status;

    begin();
    status =
        end(groat_cache_verify(one_context, &checked, &dropped, &fix.error));

    ck_assert(status != GROAT_OK || (checked == 2 && dropped == 0));
    return status;
}

/* Counts the lines of step=5 and doubled=10; another one adds 100. */
static void count_difference(void *user, const char *field, const char *wanted,
                             const char *found)
{
    bool right = (strstr(field, "step") != NULL && strcmp(wanted, "5") == 0 &&
                  strchr("34", *found) != NULL) ||
                 (strstr(field, "doubled") != NULL &&
                  strcmp(wanted, "10") == 0 && strchr("68", *found) != NULL);

    *(int *)user += right ? 1 : 100;
}

static groat_status explain_miss(void)
{
    groat_spec *spec = NULL;
    groat_explanation why = {.size = sizeof(why)};
    int fields = 0;
    groat_status status;

    begin();
    status = groat_spec_parse(one_context, "adder:step=5", target, &spec,
                              &fix.error);
    if (status == GROAT_OK)
        status =
            groat_explain(spec, &why, count_difference, &fields, &fix.error);
    status = end(status);
    ck_assert_msg(status != GROAT_OK ||
                      (why.origin == GROAT_FROM_COMPILER && fields == 2),
                  "origin %d, %d fields: %s", (int)why.origin, fields,
                  why.text);
    groat_spec_free(spec);
    return status;
}

static groat_status export_entries(void)
{
    uint64_t written = 7;
    groat_status status;

    begin();
    status = end(groat_bundle_export(one_context, bundle_path, NULL, 0, NULL,
                                     &written, &fix.error));

    ck_assert(status != GROAT_OK || written == 2);
    return status;
}

/* Into a store without entries. */
static groat_status import_entries(void)
{
    uint64_t imported = 7;
    groat_status status;

    ck_assert_int_eq(groat_cache_clear(one_context, NULL, NULL), GROAT_OK);
    begin();
    status = end(
        groat_bundle_import(one_context, bundle_path, &imported, &fix.error));
    ck_assert(status != GROAT_OK || imported == 2);
    return status;
}

static int count_side(void *user, groat_bundle_side side,
                      const groat_cache_entry *entry)
{
    (void)side;
    (void)entry;
    (*(int *)user)++;
    return 0;
}

static groat_status compare_bundles(void)
{
    int seen = 0;
    groat_status status;

    begin();
    status = end(groat_bundle_diff(bundle_path, bundle_path, count_side, &seen,
                                   &fix.error));

    ck_assert_int_eq(seen, 0);
    return status;
}

static groat_status get_one(const char *spec)
{
    groat_kernel *kernel = NULL;
    groat_status status;

    begin();
    status = end(
        groat_kernel_get(one_context, spec, target, &kernel, NULL, &fix.error));

    ck_assert((status == GROAT_OK) == (kernel != NULL));
    groat_kernel_release(kernel);
    return status;
}

/* A kernel of the store, by a context that has not loaded it. */
static groat_status get_stored(void)
{
    return get_one("adder:step=3");
}

static groat_status get_new(void)
{
    static unsigned number = 100;
    char spec[32];

    (void)snprintf(spec, sizeof(spec), "adder:step=%u", number++);
    return get_one(spec);
}

/* Fails each allocation of a call in turn, with a fresh context each time,
 * which afterwards serves another one. */
static void ck_stored(step *one, step *again, const char *name)
{
    groat_options options = rig_options(&fix);
    bool failed = true;

    options.allow_unsigned = 1;
    for (long n = 0; failed; n++) {
        one_context = rig_open_with(&fix, &options);
        ck_step(one, n, name);
        failed = has_failed;
        if (failed)
            ck_step(again, -1, name);
        groat_close(one_context);
    }
}

START_TEST(stores)
{
    (void)snprintf(bundle_path, sizeof(bundle_path), "%s/all.bundle", fix.root);
    one_context = rig_open(&fix);
    rig_kernel(&fix, one_context, 3, GROAT_FROM_COMPILER);
    rig_kernel(&fix, one_context, 4, GROAT_FROM_COMPILER);
    groat_close(one_context);
    ck_stored(list_entries, list_entries, "list");
    ck_stored(verify_entries, verify_entries, "verify");
    ck_stored(explain_miss, explain_miss, "explain");
    ck_stored(export_entries, export_entries, "export");
    ck_stored(import_entries, import_entries, "import");
    ck_stored(compare_bundles, compare_bundles, "diff");
    ck_stored(get_stored, get_stored, "get");
}
END_TEST

START_TEST(compiles)
{
    one_context = rig_open(&fix);
    rig_kernel(&fix, one_context, 3, GROAT_FROM_COMPILER);
    groat_close(one_context);
    ck_stored(get_new, get_stored, "get of a new kernel");
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
    tcase_add_test(tests, stores);
    tcase_add_test(tests, compiles);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
