/* SPDX-License-Identifier: Apache-2.0
 *
 * test_place.c: URLs of remotes and lease servers, and how they are shown.
 */
#include "../suite.h"

#include "fleet/lease.h"
#include "fleet/place.h"

static const groat__s3 keys = {.access = "ID",
                               .secret = "SECRET",
                               .token = "TOKEN",
                               .region = "eu-west-9",
                               .endpoint = "http://localhost:9000/"};
static const groat__s3 none;

START_TEST(places)
{
    static const struct {
        const char *url;
        groat__place_kind kind;
        const char *base;
        const char *shown;
    } good[] = {
        {"http://localhost/a/b//", GROAT__PLACE_HTTP, "http://localhost/a/b",
         "http://localhost/a/b"},
        {"http://user:word@localhost:81", GROAT__PLACE_HTTP,
         "http://user:word@localhost:81", "http://localhost:81"},
        {"http://user:w@rd@localhost/@", GROAT__PLACE_HTTP,
         "http://user:w@rd@localhost/@", "http://localhost/@"},
        {"file:///tmp/x/", GROAT__PLACE_FOLDER, "/tmp/x", "file:///tmp/x/"},
        {"s3://bucket", GROAT__PLACE_S3, "http://localhost:9000/bucket",
         "s3://bucket"},
        {"s3://bucket/a/b/", GROAT__PLACE_S3,
         "http://localhost:9000/bucket/a/b", "s3://bucket/a/b"},
    };
    groat__place place;

    for (size_t i = 0; i < COUNT(good); i++) {
        ck_assert_int_eq(groat__place_read(good[i].url, &keys, &place, NULL),
                         GROAT_OK);
        ck_assert_int_eq(place.kind, good[i].kind);
        ck_assert_str_eq(place.base, good[i].base);
        ck_assert_str_eq(place.shown, good[i].shown);
        groat__place_free(&place);
    }
}
END_TEST

START_TEST(what_s3_signs)
{
    groat__place place;

    ck_assert_int_eq(groat__place_read("s3://b/p", &keys, &place, NULL),
                     GROAT_OK);
    ck_assert_str_eq(place.login, "ID:SECRET");
    ck_assert_str_eq(place.sigv4, "aws:amz:eu-west-9:s3");
    ck_assert_str_eq(place.token, "x-amz-security-token: TOKEN");
    ck_assert_str_eq(place.listing, "http://localhost:9000/b");
    ck_assert_str_eq(place.prefix, "p");
    groat__place_free(&place);
    ck_assert_int_eq(groat__place_read("s3://b", &none, &place, NULL),
                     GROAT_OK);
    ck_assert_ptr_null(place.login);
    ck_assert_ptr_nonnull(strstr(place.base, "//s3.us-east-1."));
    groat__place_free(&place);
}
END_TEST

START_TEST(bad_places)
{
    static const groat__s3 half = {.access = "ID"};
    static const groat__s3 odd = {.endpoint = "localhost:9000"};
    static const struct {
        const char *url;
        const groat__s3 *s3;
        const char *says;
    } bad[] = {
        {"", &none, "allowed: http://"},
        {"s3://bucket/../other", &keys, "without a part . or .."},
        {"s3://./bucket", &keys, "without a part . or .."},
        {"s3://bucket/a/.", &keys, "without a part . or .."},
        {"ftp://localhost/", &none, "'ftp:...'; allowed: http://"},
        {"http://", &none, "without a host"},
        {"http:///x", &none, "without a host"},
        {"http://localhost/?a=b", &none, "'?' or '#'"},
        {"http://localhost/a b", &none, "blank"},
        {"http://user:hid/den@localhost", &none, "without a host"},
        {"http://localhost:8x/", &none, "without a host"},
        {"file://x", &none, "three slashes"},
        {"file:///", &none, "three slashes"},
        {"s3://", &none, "s3://BUCKET/PREFIX"},
        {"s3:///x", &none, "s3://BUCKET/PREFIX"},
        {"s3://bucket/a b", &none, "letters, digits"},
        {"s3://bucket/%41", &none, "letters, digits"},
        {"s3://bucket", &half, "AWS_SECRET_ACCESS_KEY is set"},
        {"s3://bucket", &odd, "AWS_ENDPOINT_URL is 'localhost:...'"},
    };
    groat_error error = GROAT_ERROR_INIT;
    groat__place place;

    for (size_t i = 0; i < COUNT(bad); i++) {
        ck_fails(groat__place_read(bad[i].url, bad[i].s3, &place, &error),
                 GROAT_INVALID, &error, bad[i].says);
        ck_assert_ptr_null(place.base);
    }
    groat_error_clear(&error);
}
END_TEST

START_TEST(lease_servers)
{
    static const struct {
        const char *url;
        const char *shown; /* NULL: refused */
    } urls[] = {
        {"redis://localhost", "localhost"},
        {"redis://localhost/", "localhost/"},
        {"redis://localhost:6380/3", "localhost:6380/3"},
        {"redis://:word@localhost:6380", "localhost:6380"},
        {"redis://me:w:o@rd@localhost", "localhost"},
        {"redis://[::1]:6380/1", "[::1]:6380/1"},
        {"unix:///run/redis.sock", "unix:///run/redis.sock"},
        {"", NULL},
        {"redis://", NULL},
        {"redis://:6379", NULL},
        {"redis://localhost:0", NULL},
        {"redis://localhost:65536", NULL},
        {"redis://localhost:6379x", NULL},
        {"redis://localhost:", NULL},
        {"redis://localhost/x", NULL},
        {"redis://localhost/99999999999", NULL},
        {"redis://word@localhost", NULL},
        {"rediss://localhost", NULL},
        {"unix://", NULL},
        {"unix:///", NULL},
    };
    const groat__log silent = {NULL, NULL};
    groat_error error = GROAT_ERROR_INIT;

    for (size_t i = 0; i < COUNT(urls); i++) {
        groat__lease *lease = NULL;
        groat_status status =
            groat__lease_open(urls[i].url, &silent, &lease, &error);

        if (urls[i].shown == NULL) {
            ck_fails(status, GROAT_INVALID, &error, "redis://[USER:PASSWORD@]");
            continue;
        }
        ck_assert_msg(status == GROAT_OK, "%s: %s", urls[i].url, error.text);
        ck_assert_str_eq(groat__lease_shown(lease), urls[i].shown);
        groat__lease_close(lease);
    }
    /* The error does not show the password. */
    ck_fails(groat__lease_open("redis://me:word@", &silent,
                               &(groat__lease *){0}, &error),
             GROAT_INVALID, &error, "'redis:...'");
    groat_error_clear(&error);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("place");
    TCase *tests = tcase_create("place");

    tcase_add_test(tests, places);
    tcase_add_test(tests, what_s3_signs);
    tcase_add_test(tests, bad_places);
    tcase_add_test(tests, lease_servers);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
