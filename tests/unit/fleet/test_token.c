/* SPDX-License-Identifier: Apache-2.0
 *
 * test_token.c: which token servers a login is sent to.  No server is
 * contacted.
 */
#include "../suite.h"

#include "fleet/token.h"

static const char *const refused[] = {
    "Bearer",
    "Bearer service=\"a\"",
    "Bearer realm=https://a.example/",
    "Bearer realm=\"https://a.example/",
    "Bearer realm=\"\",scope=\"b\"",
    "Bearer xrealm=\"https://a.example/\"",
    "Bearer realm=\"http://a.example/token\",service=\"a\"",
    "Bearer realm=\"file:///etc/hostname\"",
    "Bearer realm=\"https://a.example/ b\"",
    "Bearer scope=\"realm=\",realm=\"ftp://a.example/\""};

START_TEST(no_place_for_a_login)
{
    static char base[] = "https://registry.example/v2/a";
    static char shown[] = "https://registry.example/a";
    groat__place place = {.base = base, .shown = shown};
    groat_error error = GROAT_ERROR_INIT;

    place.bearer = strdup("an old one");
    ck_fails(groat__token_get(NULL, &place, refused[_i], &error), GROAT_IO,
             &error, "a login is sent only to an https:// URL");
    ck_assert_ptr_null(place.bearer);
    groat_error_clear(&error);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("token");
    TCase *tests = tcase_create("token");

    tcase_add_loop_test(tests, no_place_for_a_login, 0, COUNT(refused));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
