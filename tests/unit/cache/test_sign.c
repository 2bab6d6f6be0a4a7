/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sign.c: what a signature leaves in memory.  test_bundle.c tests that
 * signatures hold, and what is refused.
 */
#include "fixture.h"

#include <pthread.h>

#include "cache/bundle.h"

/* Signing leaves no part of its key on the stack. */
typedef struct signing {
    groat__secret secret;
    groat_status status;
} signing;

static void *sign_something(void *user)
{
    uint8_t marks[GROAT__MARK_BYTES] = {1};
    uint8_t signature[GROAT__SIGNATURE_BYTES];
    uint8_t signer[GROAT__SIGNER_BYTES];
    signing *s = user;

    s->status = groat__sign_make(&s->secret, marks, sizeof(marks), signer,
                                 signature, NULL);
    return NULL;
}

START_TEST(test_keys_leave_the_stack)
{
    enum { STACK = 1 << 20 };
    signing s = {.status = GROAT_IO};
    pthread_attr_t attributes;
    pthread_t thread;
    char *stack = NULL;

    for (size_t i = 0; i < sizeof(s.secret.seed); i++)
        s.secret.seed[i] = (uint8_t)(37 * i + 9);
    ck_assert_int_eq(posix_memalign((void **)&stack, 4096, STACK), 0);
    memset(stack, 0, STACK);
    ck_assert_int_eq(pthread_attr_init(&attributes), 0);
    ck_assert_int_eq(pthread_attr_setstack(&attributes, stack, STACK), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, sign_something, &s),
                     0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(s.status, GROAT_OK);
    ck_assert_ptr_null(
        memmem(stack, STACK, s.secret.seed, sizeof(s.secret.seed)));
    (void)pthread_attr_destroy(&attributes);
    free(stack);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sign");
    TCase *tests = tcase_create("sign");

    tcase_add_test(tests, test_keys_leave_the_stack);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
