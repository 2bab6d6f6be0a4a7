/* SPDX-License-Identifier: Apache-2.0
 *
 * test_growth.c: operations that are repeated for ever leak no memory: blocks
 * are counted in front of the C library's malloc, so that no tool is needed to
 * see a leak.
 */
#include <errno.h>
#include <stdatomic.h>

#include "tests/shim/plain_rig.h"

enum { WARM = 10, ROUNDS = 20 };

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* Exported, so that libraries call them, too. */
#define OPEN __attribute__((visibility("default")))

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *block);

static atomic_long blocks;

static void *count(void *block)
{
    if (block != NULL)
        (void)atomic_fetch_add(&blocks, 1);
    return block;
}

OPEN void *malloc(size_t bytes)
{
    return count(__libc_malloc(bytes));
}

OPEN void *calloc(size_t number, size_t bytes)
{
    return count(__libc_calloc(number, bytes));
}

OPEN void *realloc(void *block, size_t bytes)
{
    return block == NULL ? malloc(bytes) : __libc_realloc(block, bytes);
}

OPEN void *aligned_alloc(size_t align, size_t bytes)
{
    return count(__libc_memalign(align, bytes));
}

OPEN int posix_memalign(void **block, size_t align, size_t bytes)
{
    *block = aligned_alloc(align, bytes);
    return *block == NULL ? ENOMEM : 0;
}

OPEN void free(void *block)
{
    if (block != NULL)
        (void)atomic_fetch_sub(&blocks, 1);
    __libc_free(block);
}

#else
static atomic_long blocks;
#endif

static rig fix;
static groat_context *context;

static void setup(void)
{
    rig_make(&fix);
    plain_write(&fix);
    (void)plain_shims();
    context = rig_open(&fix);
}

static void teardown(void)
{
    groat_close(context);
    context = NULL;
    rig_drop(&fix);
}

static void ck_keeps_nothing(void (*deed)(void))
{
    long before;

    for (int i = 0; i < WARM; i++)
        deed();
    before = atomic_load(&blocks);
    for (int i = 0; i < ROUNDS; i++)
        deed();
    /* A library may keep a few blocks for itself, now and then. */
    ck_assert_int_lt(atomic_load(&blocks) - before, ROUNDS / 2);
}

static int pass_by(void *user, const groat_cache_entry *entry)
{
    ck_assert_ptr_nonnull(entry->spec);
    (*(int *)user)++;
    return 0;
}

static void list(void)
{
    int count = 0;

    ck_assert_int_eq(groat_cache_each(context, NULL, pass_by, &count, NULL),
                     GROAT_OK);
    ck_assert_int_eq(count, 3);
}

START_TEST(lists_of_the_store)
{
    for (int step = 1; step <= 3; step++) {
        char spec[32];

        (void)snprintf(spec, sizeof(spec), "plain:step=%d", step);
        (void)rig_get(&fix, context, spec, "cuda:sm_90a", GROAT_FROM_COMPILER);
    }
    ck_keeps_nothing(list);
}
END_TEST

/* A failed compile is remembered until its context is closed. */
static void fail_and_close(void)
{
    groat_options options = rig_options(&fix);
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel *kernel = NULL;
    groat_context *own;
    void *handle;
    shim_nvrtc_control *nvrtc =
        shim_control(shim_path("GROAT_TEST_NVRTC_SHIM"), "shim_nvrtc", &handle);

    options.log = NULL; /* the rig keeps lines */
    own = rig_open_with(&fix, &options);
    shim_fail(&nvrtc->fault, "nvrtcCompileProgram", 1, 6);
    ck_assert_int_eq(groat_kernel_get(own, "plain:step=9", "cuda:sm_90a",
                                      &kernel, NULL, &error),
                     GROAT_COMPILE_FAILED);
    groat_error_clear(&error);
    groat_close(own);
}

START_TEST(failures)
{
    ck_keeps_nothing(fail_and_close);
}
END_TEST

static void drop_finding(void *user, const char *subject, int usable,
                         const char *text)
{
    (void)user;
    (void)subject;
    (void)usable;
    (void)text;
}

static void examine(void)
{
    groat_doctor(context, drop_finding, NULL);
}

START_TEST(findings)
{
    ck_keeps_nothing(examine);
}
END_TEST

int main(void)
{
    Suite *suite;
    TCase *tests;

    if (is_asan() || is_tsan()) {
        (void)printf("SKIP: a sanitizer keeps what is freed, and sees leaks "
                     "itself\n");
        return 77;
    }
    suite = suite_create("growth");
    tests = tcase_create("growth");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, lists_of_the_store);
    tcase_add_test(tests, failures);
    tcase_add_test(tests, findings);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
