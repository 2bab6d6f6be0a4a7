/* SPDX-License-Identifier: Apache-2.0
 *
 * test_tuned.c: choices of decodes that are recorded in a store: whom they
 * serve, whom they do not, and records that cannot be used.
 */
#include "core/core.h"

#include "opened.h"
#include "groat_attention.h"

#include <sqlite3.h>

static const char target_text[] = "cpu:sm_90a";
static const char device[] = "cpu, 4 multiprocessors";

static const groat_decode_shape shape = {
    .size = sizeof(shape),
    .heads = 2,
    .kv_heads = 1,
    .head_dim = 64,
    .q_len = 1,
    .page = 16,
    .sequences = 3,
    .keys = 100,
};

/* Nothing that would be chosen: 8 warps, 2 stages. */
static const groat_decode_choice tuned = {sizeof(tuned), 1, 3, 1, 0, 5, 7};

/* Whether a decode runs by the record, of which it has every number then. */
static bool is_tuned(groat_context *of, const groat_decode_shape *s,
                     const groat_decode_choice *choice)
{
    groat_decode_choice found = GROAT_DECODE_CHOICE_INIT;
    groat_decode_info info = {.size = sizeof(info)};
    groat_decode *decode = NULL;

    ck_assert_msg(groat_decode_open(of, target_text, s, choice, &decode,
                                    &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
    ck_assert_int_eq(groat_decode_choice_get(decode, &found, NULL), GROAT_OK);
    ck_assert_int_eq(groat_decode_info_get(decode, &info, NULL), GROAT_OK);
    ck_assert_str_eq(info.device, device);
    ck_assert_uint_eq(info.multiprocessors, 4);
    if (info.tuned) {
        ck_assert_uint_eq(found.warps, tuned.warps);
        ck_assert_uint_eq(found.stages, tuned.stages);
        ck_assert_uint_eq(found.blocks, tuned.blocks);
        ck_assert_uint_eq(found.least, tuned.least);
        ck_assert_ptr_nonnull(
            strstr(groat_decode_spec(decode), "warps=1,stages=3"));
    }
    groat_decode_close(decode);
    return info.tuned == 1;
}

static void put(const char *of)
{
    ck_assert_msg(groat_decode_put_tuned(context, target_text, of, &shape,
                                         &tuned, &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
}

START_TEST(for_its_shape_alone)
{
    const groat_decode_choice none = GROAT_DECODE_CHOICE_INIT;
    groat_decode_shape other = shape;

    ck_assert(!is_tuned(context, &shape, NULL));
    put("another device, 4 multiprocessors");
    ck_assert(!is_tuned(context, &shape, NULL));
    put(NULL);
    ck_assert(is_tuned(context, &shape, NULL));
    ck_assert_msg(!is_tuned(context, &shape, &none), "the caller chooses");
    other.keys++;
    ck_assert(!is_tuned(context, &other, NULL));
    other = shape;
    other.sequences--;
    ck_assert(!is_tuned(context, &other, NULL));
    other = shape;
    other.heads = 4;
    other.kv_heads = 2;
    ck_assert(!is_tuned(context, &other, NULL));
    other = shape;
    other.flags = GROAT_DECODE_BATCH_INVARIANT;
    ck_assert(!is_tuned(context, &other, NULL));
    other = shape;
    other.scale = 2; /* a number that the kernel is given */
    ck_assert(is_tuned(context, &other, NULL));
    other.score = " score "; /* what is computed without an expression */
    ck_assert(is_tuned(context, &other, NULL));
    other.score = "score * 2";
    ck_assert(!is_tuned(context, &other, NULL));
    ck_assert_int_eq(groat_decode_put_tuned(context, target_text, NULL, &other,
                                            &tuned, &fix.error),
                     GROAT_OK);
    other.score = "score*2";
    ck_assert(is_tuned(context, &other, NULL));
}
END_TEST

/* A record is an entry: the next context has it, a bundle carries it, and a
 * shape without one is no miss of either. */
START_TEST(from_store_and_bundle)
{
    groat_cache_stat stat = {.size = sizeof(stat)};
    groat_options options = rig_options(&fix);
    char bundle[300], empty[300];
    const char *const bundles[] = {bundle};
    groat_context *next;
    uint64_t count = 0;

    (void)snprintf(bundle, sizeof(bundle), "%s/tuned.bundle", fix.root);
    (void)snprintf(empty, sizeof(empty), "%s/empty", fix.root);
    put(device);
    ck_assert(is_tuned(context, &shape, NULL));
    next = rig_open(&fix);
    ck_assert(is_tuned(next, &shape, NULL));
    groat_close(next);
    ck_assert_int_eq(
        groat_bundle_export(context, bundle, NULL, 0, NULL, &count, &fix.error),
        GROAT_OK);
    ck_assert_uint_eq(count, 2);
    options.cache_dir = empty;
    options.bundles = bundles;
    options.bundle_count = 1;
    options.allow_unsigned = 1;
    next = rig_open_with(&fix, &options);
    ck_assert(is_tuned(next, &shape, NULL));
    ck_assert_int_eq(groat_cache_stat_get(next, &stat, NULL), GROAT_OK);
    ck_assert_uint_eq(stat.compiles, 0);
    ck_assert_uint_eq(stat.bundle_misses, 0);
    groat_close(next);
}
END_TEST

typedef struct found {
    groat__digest key;
    char *identity;
} found;

static int find_record(void *user, const groat_cache_entry *entry)
{
    found *f = user;

    if (*entry->spec != '\0')
        return 0;
    ck_assert_str_eq(entry->target, target_text);
    ck_assert(groat__unhex(f->key.bytes, sizeof(f->key.bytes), entry->key));
    f->identity = strdup(entry->identity);
    return 1;
}

/* Another groat, or a signed but foreign hand, may have written anything. */
START_TEST(texts_that_are_no_choice)
{
    static const char *const bad[] = {
        "",
        "warps=1",
        "warps=1,stages=3,cluster=1,split=0,blocks=5,least=7 ",
        "warps=01,stages=3,cluster=1,split=0,blocks=5,least=7",
        "warps=1,stages=3,cluster=1,split=0,blocks=5,least=-7",
        "warps=9,stages=3,cluster=1,split=0,blocks=5,least=7",
        "warps=3,stages=3,cluster=1,split=0,blocks=5,least=7", /* by a rule */
        "warps=1,stages=3,cluster=1,split=1,blocks=5,least=7",
        "warps=1,stages=3,cluster=1,split=0,blocks=99999999999999,least=7",
        "warps=1,stages=3,cluster=1,split=0,blocks=5,least=7,"
        "warps=1,stages=3,cluster=1,split=0,blocks=5,least=7,"
        "warps=1,stages=3,cluster=1,split=0,blocks=5,least=7",
    };
    const groat_facts none = {-1, -1, -1, -1, -1, -1};
    found f = {.identity = NULL};

    put(NULL);
    ck_assert_int_eq(
        groat_cache_each(context, NULL, find_record, &f, &fix.error), GROAT_OK);
    ck_assert_ptr_nonnull(f.identity);
    for (size_t i = 0; i < COUNT(bad); i++) {
        groat__store_put(context->store, &f.key, f.identity, bad[i],
                         strlen(bad[i]), "", &none);
        ck_assert_msg(!is_tuned(context, &shape, NULL), "%s", bad[i]);
    }
    put(NULL);
    ck_assert(is_tuned(context, &shape, NULL));
    free(f.identity);
}
END_TEST

#define REFUSED(shape_, choice_, device_, words)                               \
    ck_fails(groat_decode_put_tuned(context, target_text, device_, shape_,     \
                                    choice_, &fix.error),                      \
             GROAT_INVALID, &fix.error, words)

START_TEST(records_that_are_refused)
{
    groat_decode_shape wide = shape;
    groat_decode_choice choice = tuned;
    groat_decode_info info = {.size = 1};
    groat_decode *decode = NULL;
    char longest[200];

    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    REFUSED(&shape, &tuned, "", "device is no line");
    REFUSED(&shape, &tuned, longest, "device is no line");
    REFUSED(&shape, &tuned, "one\nshape two", "device is no line");
    choice.blocks = 0;
    REFUSED(&shape, &choice, NULL, "none that is 0");
    choice = tuned;
    choice.warps = 3;
    REFUSED(&shape, &choice, NULL, "warps=3 is not allowed");
    choice = tuned;
    choice.split = 1;
    REFUSED(&shape, &choice, NULL, "choice.split");
    choice = tuned;
    choice.cluster = 16;
    wide.sequences = 10000;
    REFUSED(&wide, &choice, NULL, "choice.cluster is 16, for 10000 strips");
    wide = shape;
    wide.head_dim = 513;
    REFUSED(&wide, &tuned, NULL, "shape.head_dim is 513");
    /* Shared memory is counted by the family's rules. */
    wide.head_dim = 256;
    choice = tuned;
    choice.warps = 8;
    choice.stages = 8;
    REFUSED(&wide, &choice, NULL, "the slots must fit the shared memory");
    ck_fails(groat_decode_put_tuned(context, "cpu:nothing", NULL, &shape,
                                    &tuned, &fix.error),
             GROAT_INVALID, &fix.error, "cpu:nothing");
    ck_assert_int_eq(groat_decode_open(context, target_text, &shape, NULL,
                                       &decode, &fix.error),
                     GROAT_OK);
    ck_fails(groat_decode_info_get(decode, &info, &fix.error), GROAT_INVALID,
             &fix.error, "info.size");
    groat_decode_close(decode);
}
END_TEST

/* An older record must not pass for one that the store did not take. */
START_TEST(a_store_that_takes_nothing)
{
    groat_decode_choice other = tuned;
    sqlite3 *holder = NULL;

    other.blocks++;
    put(NULL);
    ck_assert_int_eq(sqlite3_open(fix.store, &holder), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(holder, "BEGIN IMMEDIATE", NULL, NULL, NULL),
                     SQLITE_OK);
    ck_fails(groat_decode_put_tuned(context, target_text, NULL, &shape, &other,
                                    &fix.error),
             GROAT_IO, &fix.error, "did not take a tuned choice");
    (void)sqlite3_close(holder);
    ck_assert(is_tuned(context, &shape, NULL));
    ck_assert_int_eq(groat_decode_put_tuned(context, target_text, NULL, &shape,
                                            &other, &fix.error),
                     GROAT_OK);
}
END_TEST

/* Reads the record of a device; false: there is none. */
static bool reads(groat_context *of, const char *of_device,
                  const groat_decode_shape *s)
{
    groat_decode_choice have = {.size = sizeof(have) + 8, .warps = 77};

    ck_assert_msg(groat_decode_get_tuned(of, target_text, of_device, s, &have,
                                         &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
    ck_assert_uint_eq(have.size, sizeof(have) + 8);
    if (have.warps == 0)
        return false;
    have.size = tuned.size;
    ck_assert_int_eq(memcmp(&have, &tuned, sizeof(have)), 0);
    return true;
}

START_TEST(records_that_are_read)
{
    groat_decode_choice have = GROAT_DECODE_CHOICE_INIT;
    groat_decode_shape other = shape;
    groat_decode *decode = NULL;
    groat_spec *parsed = NULL;
    char *spec = NULL;

    ck_assert(!reads(context, NULL, &shape));
    put("another device, 4 multiprocessors");
    ck_assert(reads(context, "another device, 4 multiprocessors", &shape));
    ck_assert(!reads(context, NULL, &shape));
    put(NULL);
    ck_assert(reads(context, NULL, &shape));
    ck_assert(reads(context, device, &shape));
    other.keys++;
    ck_assert(!reads(context, device, &other));
    ck_fails(groat_decode_get_tuned(context, target_text, "", &shape, &have,
                                    &fix.error),
             GROAT_INVALID, &fix.error, "device is no line of 1 to 159");
    other.heads = 0;
    ck_fails(groat_decode_get_tuned(context, target_text, device, &other, &have,
                                    &fix.error),
             GROAT_INVALID, &fix.error, "heads");
    have.size--;
    ck_fails(groat_decode_get_tuned(context, target_text, device, &shape, &have,
                                    &fix.error),
             GROAT_INVALID, &fix.error, "choice");

    /* The spec that a choice needs is that of the decode. */
    ck_assert_int_eq(
        groat_decode_choice_spec(&shape, &tuned, &spec, &fix.error), GROAT_OK);
    ck_assert_int_eq(groat_decode_open(context, target_text, &shape, NULL,
                                       &decode, &fix.error),
                     GROAT_OK);
    ck_assert_int_eq(
        groat_spec_parse(context, spec, target_text, &parsed, &fix.error),
        GROAT_OK);
    ck_assert_str_eq(groat_spec_text(parsed), groat_decode_spec(decode));
    groat_spec_free(parsed);
    groat_decode_close(decode);
    groat_free(spec);
    have = tuned;
    have.least = 0;
    ck_fails(groat_decode_choice_spec(&shape, &have, &spec, &fix.error),
             GROAT_INVALID, &fix.error, "least 0; allowed in a record");
}
END_TEST

START_TEST(without_a_store)
{
    groat_options options = rig_options(&fix);
    groat_context *bare;

    options.flags |= GROAT_OPEN_NO_DISK;
    bare = rig_open_with(&fix, &options);
    ck_assert_int_eq(groat_decode_put_tuned(bare, target_text, NULL, &shape,
                                            &tuned, &fix.error),
                     GROAT_IO);
    ck_assert(!is_tuned(bare, &shape, NULL));
    groat_close(bare);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuned");
    TCase *tests = tcase_create("tuned");

    tcase_add_checked_fixture(tests, open_rig, close_rig);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, for_its_shape_alone);
    tcase_add_test(tests, from_store_and_bundle);
    tcase_add_test(tests, texts_that_are_no_choice);
    tcase_add_test(tests, records_that_are_refused);
    tcase_add_test(tests, a_store_that_takes_nothing);
    tcase_add_test(tests, records_that_are_read);
    tcase_add_test(tests, without_a_store);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
