/* SPDX-License-Identifier: Apache-2.0
 *
 * test_store.c: the contract of cache/cache.h on a healthy machine: what is
 * kept and counted, which users may read it, what is evicted, and how threads
 * and processes share it.  test_damage.c tests damaged files, test_stamps.c the
 * times of last use.
 */
#include "fixture.h"

#include <sys/resource.h>

static fixture fix;

static void setup(void)
{
    fixture_make(&fix);
}

static void teardown(void)
{
    fixture_drop(&fix);
}

/* ---- get, put, evict --------------------------------------------------- */

START_TEST(test_put_get)
{
    groat__store *store = fixture_open(&fix, MIB);
    groat_cache_stat stat;
    char wal[320];

    (void)snprintf(wal, sizeof(wal), "%s-wal", fix.path);
    ck_assert_str_eq(groat__store_path(store), fix.path);
    ck_miss(store, 1);
    kernel_put(store, 1, 5000);
    ck_hit(store, 1);
    ck_miss(store, 2);
    stat = kernel_stat(store);
    ck_assert_uint_eq(stat.entries, 1);
    ck_assert_uint_eq(stat.payload_bytes, 5000);
    ck_assert_uint_eq(stat.max_bytes, MIB);
    ck_assert_uint_eq(stat.hits, 1);
    ck_assert_uint_eq(stat.misses, 2);
    ck_assert_uint_eq(stat.evictions, 0);
    ck_assert_uint_eq(stat.faults, 0);
    ck_assert_uint_eq(stat.file_bytes, file_size(fix.path) + file_size(wal));
    ck_assert_int_eq(fixture_said(&fix, ""), 0);
    groat__store_close(store);
}
END_TEST

START_TEST(test_roundtrip_of_parts)
{
    const groat_facts unknown = {-1, -1, -1, -1, -1, -1};
    groat__store *store = fixture_open(&fix, MIB);
    groat__digest key = kernel_key(1);
    groat__store_blob blob = {0};

    groat__store_put(store, &key, "identity", NULL, 0, NULL, NULL);
    ck_assert(groat__store_get(store, &key, "identity", &blob));
    ck_assert_uint_eq(blob.bytes, 0);
    ck_assert_ptr_nonnull(blob.data);
    ck_assert_str_eq(blob.log, "");
    ck_assert_mem_eq(&blob.facts, &unknown, sizeof(unknown));
    groat__store_blob_free(&blob);
    ck_assert_ptr_null(blob.data);
    ck_assert_ptr_null(blob.log);
    groat__store_blob_free(NULL);
    groat__store_close(store);
    groat__store_close(NULL);
}
END_TEST

START_TEST(test_replace)
{
    groat__store *store = fixture_open(&fix, MIB);
    groat__digest key = kernel_key(1);
    groat__store_blob blob = {0};

    groat__store_put(store, &key, "i", "first", 5, "one", NULL);
    groat__store_put(store, &key, "i", "second", 6, "two", NULL);
    ck_assert(groat__store_get(store, &key, "i", &blob));
    ck_assert_uint_eq(blob.bytes, 6);
    ck_assert_mem_eq(blob.data, "second", 6);
    ck_assert_str_eq(blob.log, "two");
    groat__store_blob_free(&blob);
    ck_assert_uint_eq(kernel_stat(store).entries, 1);
    groat__store_close(store);
}
END_TEST

static groat__addition add_one(groat__store *store, unsigned n, size_t bytes)
{
    uint8_t *data = kernel_bytes(n, bytes);
    char identity[64];
    char log[64];
    groat__entry entry = {.key = kernel_key(n),
                          .identity = identity,
                          .log = log,
                          .data = data,
                          .bytes = bytes,
                          .facts = kernel_facts(n)};
    groat__entry twice[2] = {entry, entry};
    groat__addition out[2];

    kernel_identity(n, identity, sizeof(identity));
    kernel_log(n, log, sizeof(log));
    groat__store_add(store, twice, 2, out);
    ck_assert_int_eq(out[1], out[0] == GROAT__ADDED ? GROAT__ADD_HELD : out[0]);
    free(data);
    return out[0];
}

/* What is there is left alone, even its time of use; a bad row is replaced. */
START_TEST(test_add)
{
    groat__store *store = fixture_open(&fix, MIB);

    kernel_put(store, 1, 1000);
    kernel_put(store, 2, 1000);
    outside_once(fix.path,
                 "UPDATE entry SET used = 7; "
                 "UPDATE entry SET log = 'x' WHERE log LIKE '%kernel 2 %'");
    ck_assert_int_eq(add_one(store, 1, 1000), GROAT__ADD_HELD);
    ck_assert_int_eq(add_one(store, 2, 1000), GROAT__ADDED);
    ck_assert_uint_eq(kernel_stat(store).evictions, 1);
    outside_once(fix.path, "DELETE FROM entry WHERE used > 7");
    ck_assert_uint_eq(kernel_stat(store).entries, 1);
    ck_assert_int_eq(add_one(store, 3, 1000), GROAT__ADDED);
    ck_hit(store, 3);
    ck_assert_int_eq(add_one(store, 4, 2 * MIB), GROAT__ADD_FAILED);
    store->puts_after = groat__store_now() + 60000;
    ck_assert_int_eq(add_one(store, 3, 1000), GROAT__ADD_HELD);
    ck_assert_int_eq(add_one(store, 5, 1000), GROAT__ADD_FAILED);
    groat__store_close(store);
}
END_TEST

/* One look at many: what is bad is dropped, and does not hide what follows. */
START_TEST(test_held)
{
    groat__store *store = fixture_open(&fix, MIB);
    groat__sought sought[4] = {{.identity = "another"}};
    bool held[4];

    for (unsigned n = 0; n < 4; n++)
        sought[n].key = kernel_key(n);
    for (unsigned n = 0; n < 3; n++)
        kernel_put(store, n, 1000);
    outside_once(fix.path, "UPDATE entry SET log = 'x' "
                           "WHERE log LIKE '%kernel 1 %'");
    groat__store_held(store, sought, 4, held);
    ck_assert(!held[0] && !held[1] && held[2] && !held[3]);
    ck_assert_uint_eq(kernel_stat(store).evictions, 2);
    groat__store_close(store);
}
END_TEST

START_TEST(test_evict)
{
    groat__store *store = fixture_open(&fix, MIB);

    kernel_put(store, 1, 5000);
    kernel_put(store, 2, 5000);
    /* Another length: the entry has been replaced since, and stays. */
    kernel_evict(store, 1, 4999);
    kernel_evict(store, 1, 0);
    ck_hit(store, 1);
    kernel_evict(store, 1, 5000);
    kernel_evict(store, 1, 5000);
    ck_miss(store, 1);
    ck_hit(store, 2);
    ck_assert_uint_eq(kernel_stat(store).evictions, 1);
    groat__store_close(store);
}
END_TEST

START_TEST(test_persistence)
{
    groat__store *store = fixture_open(&fix, MIB);

    for (unsigned n = 0; n < 20; n++)
        kernel_put(store, n, n * 500);
    groat__store_close(store);
    store = fixture_open(&fix, MIB);
    for (unsigned n = 0; n < 20; n++)
        ck_hit(store, n);
    groat__store_close(store);
}
END_TEST

START_TEST(test_identity_is_compared_in_full)
{
    groat__store *store = fixture_open(&fix, MIB);
    groat__digest key = kernel_key(1);
    groat__store_blob blob = {0};
    const char *others[] = {"identity of another", "identity", "",
                            "identity of onE"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        groat__store_put(store, &key, "identity of one", "x", 1, NULL, NULL);
        ck_assert(!groat__store_get(store, &key, others[i], &blob));
        ck_assert_uint_eq(kernel_stat(store).entries, 0);
        ck_assert_uint_eq(kernel_stat(store).evictions, i + 1);
        ck_assert_uint_eq(kernel_stat(store).faults, i + 1);
    }
    ck_assert_int_eq(fixture_said(&fix, "another identity"), 1);
    groat__store_close(store);
}
END_TEST

/* ---- owners and modes -------------------------------------------------- */

START_TEST(test_modes_whatever_the_umask)
{
    static const mode_t masks[] = {0, 022, 077, 0777};
    mode_t before = umask(masks[_i]);
    groat__store *store = fixture_open(&fix, MIB);
    char name[320];

    kernel_put(store, 1, 5000);
    ck_assert_uint_eq(file_mode(fix.dir), 0700);
    ck_assert_uint_eq(file_mode(fix.path), 0600);
    (void)snprintf(name, sizeof(name), "%s-wal", fix.path);
    ck_assert_uint_eq(file_mode(name), 0600);
    (void)snprintf(name, sizeof(name), "%s-shm", fix.path);
    ck_assert_uint_eq(file_mode(name), 0600);
    groat__store_close(store);
    (void)umask(before);
}
END_TEST

START_TEST(test_folder_others_may_write)
{
    static const mode_t modes[] = {0777, 0770, 0702};
    groat__store *store = NULL;
    char remedy[320];

    ck_assert_int_eq(mkdir(fix.dir, 0700), 0);
    ck_assert_int_eq(chmod(fix.dir, modes[_i]), 0);
    ck_assert_int_eq(fixture_try(&fix, MIB, &store), GROAT_IO);
    ck_assert_ptr_null(store);
    (void)snprintf(remedy, sizeof(remedy), "chmod 700 %s", fix.dir);
    ck_assert_ptr_nonnull(strstr(fix.error.text, remedy));
    ck_assert_int_eq(access(fix.path, F_OK), -1);
    ck_assert_int_eq(chmod(fix.dir, 0755), 0);
    groat__store_close(fixture_open(&fix, MIB));
}
END_TEST

START_TEST(test_file_others_may_write)
{
    groat__store *store = NULL;
    char remedy[340];

    groat__store_close(fixture_open(&fix, MIB));
    ck_assert_int_eq(chmod(fix.path, 0620), 0);
    ck_assert_int_eq(fixture_try(&fix, MIB, &store), GROAT_IO);
    (void)snprintf(remedy, sizeof(remedy), "chmod 600 %s", fix.path);
    ck_assert_ptr_nonnull(strstr(fix.error.text, remedy));
    ck_assert_int_eq(chmod(fix.path, 0644), 0);
    groat__store_close(fixture_open(&fix, MIB));
    ck_assert_uint_eq(file_mode(fix.path), 0600);
}
END_TEST

START_TEST(test_folder_of_another_owner)
{
    groat__store *store = NULL;

    if (geteuid() != 0) {
        puts("SKIP: only root can give a folder away");
        return;
    }
    ck_assert_int_eq(mkdir(fix.dir, 0700), 0);
    ck_assert_int_eq(chown(fix.dir, TEST_NOBODY, TEST_NOBODY), 0);
    ck_assert_int_eq(fixture_try(&fix, MIB, &store), GROAT_IO);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "chown 0 "));
    ck_assert_ptr_nonnull(strstr(fix.error.text, fix.dir));
}
END_TEST

START_TEST(test_file_that_cannot_be_made)
{
    groat__store *store = NULL;
    struct rlimit limit;
    struct rlimit none;
    groat_status status;

    ck_assert_int_eq(mkdir(fix.dir, 0700), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    status = fixture_try(&fix, MIB, &store);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(status, GROAT_IO);
    ck_assert_msg(strstr(fix.error.text, "cannot make ") != NULL &&
                      strstr(fix.error.text, fix.path) != NULL,
                  "%s", fix.error.text);
}
END_TEST

START_TEST(test_links_are_refused)
{
    groat__store *store = NULL;
    char target[320];

    (void)snprintf(target, sizeof(target), "%s/target", fix.root);
    ck_assert_int_eq(mkdir(fix.dir, 0700), 0);
    ck_assert_int_eq(symlink(target, fix.path), 0);
    ck_assert_int_eq(fixture_try(&fix, MIB, &store), GROAT_IO);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "symbolic link"));
    ck_assert_int_eq(access(target, F_OK), -1);
    file_write(target, "", 0);
    ck_assert_int_eq(fixture_try(&fix, MIB, &store), GROAT_IO);
    ck_assert_uint_eq(file_size(target), 0);
    ck_assert_int_eq(unlink(fix.path), 0);
    ck_assert_int_eq(mkdir(fix.path, 0700), 0);
    ck_assert_int_eq(fixture_try(&fix, MIB, &store), GROAT_IO);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "a folder"));
    ck_assert_ptr_null(store);
}
END_TEST

START_TEST(test_folder_through_a_link)
{
    groat__store *store;
    char real[320];

    (void)snprintf(real, sizeof(real), "%s/real", fix.root);
    ck_assert_int_eq(mkdir(real, 0700), 0);
    ck_assert_int_eq(symlink(real, fix.dir), 0);
    store = fixture_open(&fix, MIB);
    kernel_put(store, 1, 100);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

START_TEST(test_bad_folders)
{
    groat__store_options options = {"", MIB, {NULL, NULL}, NULL, false};
    groat__store *store = NULL;
    char file[320];

    ck_assert_int_eq(groat__store_open(&options, &store, NULL), GROAT_INVALID);
    options.dir = NULL;
    ck_assert_int_eq(groat__store_open(&options, &store, NULL), GROAT_INVALID);
    (void)snprintf(file, sizeof(file), "%s/file", fix.root);
    file_write(file, "x", 1);
    options.dir = file;
    ck_assert_int_eq(groat__store_open(&options, &store, &fix.error), GROAT_IO);
    ck_assert_ptr_nonnull(strstr(fix.error.text, file));
    (void)snprintf(file, sizeof(file), "%s/file/below", fix.root);
    ck_assert_int_eq(groat__store_open(&options, &store, &fix.error), GROAT_IO);
    ck_assert_ptr_null(store);
}
END_TEST

/* ---- the bound --------------------------------------------------------- */

START_TEST(test_bound_shrinks_the_file)
{
    groat__store *store = fixture_open(&fix, 16 * MIB);
    char wal[320];

    (void)snprintf(wal, sizeof(wal), "%s-wal", fix.path);
    for (unsigned n = 0; n < 800; n++)
        kernel_put(store, n, 5000);
    groat__store_close(store);
    ck_assert_uint_gt(file_size(fix.path), 4 * MIB);
    store = fixture_open(&fix, MIB);
    kernel_put(store, 800, 5000);
    ck_assert_uint_le(file_size(fix.path), MIB);
    ck_assert_uint_gt(file_size(fix.path), MIB / 2);
    ck_assert_uint_eq(file_size(wal), 0);
    ck_hit(store, 800);
    ck_hit(store, 799);
    ck_miss(store, 0);
    ck_assert_int_eq(groat__store_gc(store, 100000, NULL, NULL), GROAT_OK);
    ck_assert_uint_le(file_size(fix.path), 100000);
    groat__store_close(store);
}
END_TEST

START_TEST(test_bound_holds_over_many_puts)
{
    groat__store *store = fixture_open(&fix, MIB);

    for (unsigned n = 0; n < 1000; n++) {
        kernel_put(store, n, 1000 + n * 37 % 9000);
        ck_hit(store, n);
    }
    ck_assert_uint_gt(kernel_stat(store).evictions, 500);
    ck_assert_uint_eq(kernel_stat(store).faults, 0);
    groat__store_close(store);
    ck_assert_uint_le(file_size(fix.path), MIB);
}
END_TEST

START_TEST(test_oversize_is_not_stored)
{
    groat__store *store = fixture_open(&fix, 200000);

    kernel_put(store, 1, 5000);
    kernel_put(store, 2, 300000);
    /* Fits the bound, but not together with the schema. */
    kernel_put(store, 3, 199000);
    ck_miss(store, 2);
    ck_miss(store, 3);
    ck_hit(store, 1);
    ck_assert_int_eq(fixture_said(&fix, "does not fit"), 1);
    ck_assert_uint_eq(kernel_stat(store).evictions, 0);
    kernel_put(store, 4, 100000);
    ck_hit(store, 4);
    groat__store_close(store);
}
END_TEST

START_TEST(test_gc_to_nothing)
{
    groat__store *store = fixture_open(&fix, MIB);
    uint64_t evicted = 0;

    for (unsigned n = 0; n < 10; n++)
        kernel_put(store, n, 5000);
    ck_assert_int_eq(groat__store_gc(store, 0, &evicted, NULL), GROAT_OK);
    ck_assert_uint_eq(evicted, 0);
    ck_assert_int_eq(groat__store_gc(store, 1, &evicted, NULL), GROAT_OK);
    ck_assert_uint_eq(evicted, 10);
    ck_assert_uint_eq(kernel_stat(store).entries, 0);
    kernel_put(store, 1, 5000);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

START_TEST(test_is_new)
{
    groat__store *store;

    ck_assert(groat__store_is_new(fix.dir));
    store = fixture_open(&fix, 4 * MIB);
    ck_assert(!groat__store_is_new(fix.dir));
    groat__store_close(store);
    ck_assert(!groat__store_is_new(fix.dir));
    /* What cannot be looked at may be a store. */
    ck_assert(!groat__store_is_new(fix.path));
}
END_TEST

START_TEST(test_clear)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    char aside[340];
    uint64_t dropped = 0;

    (void)snprintf(aside, sizeof(aside), "%s.damaged-x-1-wal", fix.path);
    file_write(aside, "x", 1);
    for (unsigned n = 0; n < 100; n++)
        kernel_put(store, n, 5000);
    ck_assert_int_eq(groat__store_clear(store, &dropped, NULL), GROAT_OK);
    ck_assert_uint_eq(dropped, 100);
    ck_assert_uint_eq(kernel_stat(store).entries, 0);
    ck_assert_uint_lt(file_size(fix.path), 50000);
    ck_assert_int_eq(access(aside, F_OK), -1);
    ck_miss(store, 1);
    kernel_put(store, 1, 5000);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

/* ---- listing and verify ------------------------------------------------ */

typedef struct listing {
    groat__store *store;
    char keys[300][33];
    int count;
    int stop_at;
    int64_t last_used;
} listing;

static int list_one(void *user, const groat_cache_entry *entry)
{
    listing *list = user;
    groat_cache_stat stat;

    memset(&stat, 0, sizeof(stat));
    ck_assert_uint_eq(entry->size, sizeof(*entry));
    ck_assert_ptr_nonnull(strstr(entry->identity, "family test"));
    ck_assert_ptr_nonnull(strstr(entry->log, "registers"));
    ck_assert_int_eq(entry->facts.sgprs, entry->facts.registers + 1);
    ck_assert_uint_eq(entry->bytes, 100);
    ck_assert_int_ge(entry->used_s, entry->created_s);
    ck_assert_int_ge(entry->used_s, list->last_used);
    list->last_used = entry->used_s;
    /* The lock is not held, or this would deadlock. */
    ck_assert_int_eq(groat__store_stat(list->store, &stat, NULL), GROAT_OK);
    memcpy(list->keys[list->count++], entry->key, sizeof(entry->key));
    return list->count == list->stop_at;
}

START_TEST(test_each)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    static listing list;
    char first[33];
    groat__digest key = kernel_key(7);
    int left = 200;
    int changes;

    for (unsigned n = 0; n < 200; n++)
        kernel_put(store, n, 100);
    /* A pending use in memory counts, and stays pending. */
    ck_hit(store, 0);
    changes = sqlite3_total_changes(store->db);
    memset(&list, 0, sizeof(list));
    list.store = store;
    ck_assert_int_eq(groat__store_each(store, NULL, list_one, &list, NULL),
                     GROAT_OK);
    ck_assert_int_eq(list.count, 200);
    key = kernel_key(1);
    groat__hex(first, key.bytes, sizeof(key.bytes));
    ck_assert_str_eq(list.keys[0], first);
    key = kernel_key(0);
    groat__hex(first, key.bytes, sizeof(key.bytes));
    ck_assert_str_eq(list.keys[199], first);
    ck_assert_int_eq(sqlite3_total_changes(store->db), changes);

    /* Each entry has exactly one prefix of one digit. */
    for (int digit = 0; digit < 16; digit++) {
        const char prefix[2] = {"0123456789ABCDEF"[digit], '\0'};

        memset(&list, 0, sizeof(list));
        list.store = store;
        ck_assert_int_eq(
            groat__store_each(store, prefix, list_one, &list, NULL), GROAT_OK);
        for (int i = 0; i < list.count; i++)
            ck_assert_int_eq(list.keys[i][0], "0123456789abcdef"[digit]);
        left -= list.count;
    }
    ck_assert_int_eq(left, 0);
    groat__store_close(store);
}
END_TEST

START_TEST(test_each_prefixes)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    static listing list;
    groat__digest key = kernel_key(3);
    const char *bad[] = {"x", "0g", "000000000000000000000000000000001", " "};
    char hex[33];

    for (unsigned n = 0; n < 200; n++)
        kernel_put(store, n, 100);
    groat__hex(hex, key.bytes, sizeof(key.bytes));
    for (size_t len = 8; len <= 32; len++) {
        char prefix[33] = "";

        memcpy(prefix, hex, len);
        memset(&list, 0, sizeof(list));
        list.store = store;
        ck_assert_int_eq(
            groat__store_each(store, prefix, list_one, &list, NULL), GROAT_OK);
        ck_assert_int_eq(list.count, 1);
        ck_assert_str_eq(list.keys[0], hex);
    }
    memset(&list, 0, sizeof(list));
    list.store = store;
    list.stop_at = 3;
    ck_assert_int_eq(groat__store_each(store, "", list_one, &list, NULL),
                     GROAT_OK);
    ck_assert_int_eq(list.count, 3);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(
            groat__store_each(store, bad[i], list_one, &list, &fix.error),
            GROAT_INVALID);
        ck_assert_ptr_nonnull(strstr(fix.error.text, bad[i]));
    }
    groat__store_close(store);
}
END_TEST

/* A callback may change the store that it lists. */
static int evict_one(void *user, const groat_cache_entry *entry)
{
    unsigned n = 0;

    ck_assert_int_eq(
        sscanf(strstr(entry->identity, "param n "), "param n %u", &n), 1);
    kernel_evict(user, n, entry->bytes);
    return 0;
}

START_TEST(test_each_may_evict)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);

    for (unsigned n = 0; n < 30; n++)
        kernel_put(store, n, 100);
    ck_assert_int_eq(groat__store_each(store, NULL, evict_one, store, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(kernel_stat(store).entries, 0);
    groat__store_close(store);
}
END_TEST

START_TEST(test_verify_of_a_sound_store)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    uint64_t checked = 7;
    uint64_t dropped = 7;

    ck_assert_int_eq(groat__store_verify(store, &checked, &dropped, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(checked, 0);
    for (unsigned n = 0; n < 100; n++)
        kernel_put(store, n, n * 100);
    ck_assert_int_eq(groat__store_verify(store, &checked, &dropped, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(checked, 100);
    ck_assert_uint_eq(dropped, 0);
    ck_assert_uint_eq(kernel_stat(store).faults, 0);
    groat__store_close(store);
}
END_TEST

/* ---- threads and processes --------------------------------------------- */

typedef struct worker {
    groat__store *store;
    unsigned seed;
    unsigned wrong;
} worker;

static void *work(void *user)
{
    worker *self = user;
    unsigned random = self->seed;

    for (int i = 0; i < 1000; i++) {
        unsigned n;

        random = random * 1664525u + 1013904223u;
        n = (random >> 16) % 100;
        if ((random >> 8) % 4 == 0)
            kernel_put(self->store, n, 100 + n * 50);
        else if (kernel_get(self->store, n) == ANSWER_WRONG)
            self->wrong++;
    }
    return NULL;
}

START_TEST(test_threads)
{
    groat__store *store = fixture_open(&fix, 256 * 1024);
    worker workers[8];
    pthread_t threads[8];
    groat_cache_stat stat;

    for (unsigned i = 0; i < 8; i++) {
        workers[i] = (worker){store, i + 1, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]),
                         0);
    }
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_uint_eq(workers[i].wrong, 0);
    }
    stat = kernel_stat(store);
    ck_assert_uint_eq(stat.faults, 0);
    ck_assert_uint_gt(stat.hits, 0);
    ck_assert_uint_gt(stat.evictions, 0);
    ck_assert_int_eq(groat__store_verify(store, NULL, NULL, NULL), GROAT_OK);
    groat__store_close(store);
    ck_assert_uint_le(file_size(fix.path), 256 * 1024);
}
END_TEST

/* One of two processes: opens when both have started, writes its own keys and
 * keys that both write. */
static int process_work(int gate, unsigned self)
{
    groat__store *store = NULL;
    int wrong = 0;
    char byte;

    if (read(gate, &byte, 1) != 0 ||
        fixture_try_for(&fix, TEST_PATIENT, 16 * MIB, &store) != GROAT_OK)
        return 100;
    for (unsigned n = 0; n < 60; n++) {
        kernel_put(store, n, 3000);
        kernel_put(store, 1000 * self + n, 3000);
        wrong += kernel_get(store, n) != ANSWER_RIGHT;
        wrong += kernel_get(store, 1000 * self + n) != ANSWER_RIGHT;
    }
    groat__store_close(store);
    return wrong;
}

START_TEST(test_two_processes)
{
    groat__store *store;
    pid_t pids[2];
    int gate[2];

    ck_assert_int_eq(pipe(gate), 0);
    for (unsigned i = 0; i < 2; i++) {
        pids[i] = fork();
        ck_assert_int_ge(pids[i], 0);
        if (pids[i] == 0) {
            (void)close(gate[1]);
            _exit(process_work(gate[0], i + 1));
        }
    }
    (void)close(gate[0]);
    (void)close(gate[1]);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(child_status(pids[i]), 0);
    store = fixture_open(&fix, 16 * MIB);
    for (unsigned n = 0; n < 60; n++) {
        ck_hit(store, n);
        ck_hit(store, 1000 + n);
        ck_hit(store, 2000 + n);
    }
    ck_assert_uint_eq(kernel_stat(store).entries, 180);
    groat__store_close(store);
}
END_TEST

/* A child opens its own store, and so does its child; the parent's store keeps
 * working. */
static int child_work(unsigned n)
{
    groat__store *store = fixture_open_for(&fix, TEST_PATIENT, MIB);
    int wrong = kernel_get(store, n) != ANSWER_RIGHT;

    kernel_put(store, n + 1, 1000);
    wrong += kernel_get(store, n + 1) != ANSWER_RIGHT;
    wrong += groat__store_verify(store, NULL, NULL, NULL) != GROAT_OK;
    if (n == 1) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(child_work(n + 1));
        wrong += child_status(pid) != 0;
        wrong += kernel_get(store, n + 2) != ANSWER_RIGHT;
    }
    groat__store_close(store);
    return wrong + (fix.lines.len != 0);
}

START_TEST(test_child_opens_its_own)
{
    groat__store *store = fixture_open_for(&fix, TEST_PATIENT, MIB);
    pid_t pid;

    kernel_put(store, 1, 1000);
    ck_hit(store, 1);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        _exit(child_work(1));
    for (unsigned n = 10; n < 40; n++)
        kernel_put(store, n, 1000);
    ck_assert_int_eq(child_status(pid), 0);
    for (unsigned n = 1; n <= 3; n++)
        ck_hit(store, n);
    for (unsigned n = 10; n < 40; n++)
        ck_hit(store, n);
    ck_assert_int_eq(groat__store_verify(store, NULL, NULL, NULL), GROAT_OK);
    ck_assert_int_eq(fixture_said(&fix, "store"), 0);
    groat__store_close(store);
}
END_TEST

/* A thread of the parent is in a call of the store: the child gets no store. */
START_TEST(test_child_of_a_store_in_use)
{
    groat__store *store = fixture_open(&fix, MIB);
    pid_t pid;

    kernel_put(store, 1, 1000);
    groat__store_enter(store);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        groat__store *own = NULL;
        int wrong = fixture_try(&fix, MIB, &own) != GROAT_IO;

        wrong += strstr(fix.error.text, "inside SQLite during fork()") == NULL;
        wrong += fixture_try(&fix, MIB, &own) != GROAT_IO;
        groat_error_clear(&fix.error);
        _exit(wrong);
    }
    groat__store_leave(store);
    ck_assert_int_eq(child_status(pid), 0);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

START_TEST(test_two_stores_of_one_process)
{
    groat__store *one = fixture_open(&fix, MIB);
    groat__store *two = fixture_open(&fix, MIB);

    kernel_put(one, 1, 5000);
    kernel_put(two, 2, 5000);
    ck_hit(two, 1);
    groat__store_close(one);
    kernel_put(two, 3, 5000);
    one = fixture_open(&fix, MIB);
    for (unsigned n = 1; n <= 3; n++)
        ck_hit(one, n);
    groat__store_close(two);
    groat__store_close(one);
}
END_TEST

/* A writer that never ends delays some puts, not every one. */
START_TEST(test_puts_beside_a_writer_that_stays)
{
    groat__store *store = fixture_open(&fix, 64 * MIB);
    sqlite3 *writer = outside_open(fix.path);
    groat__entry entry = {.key = kernel_key(101),
                          .identity = "kernel 101",
                          .log = "",
                          .data = "x",
                          .bytes = 1,
                          .facts = kernel_facts(101)};
    groat__addition added;

    kernel_put(store, 500, 1000);
    outside_exec(writer, "BEGIN IMMEDIATE");
    for (unsigned n = 0; n < GROAT__STORE_BUSY_PUTS - 1; n++)
        kernel_put(store, n, 1000);
    ck_assert_int_eq(store->puts_after, 0);
    kernel_put(store, 100, 1000);
    ck_assert_int_gt(store->puts_after, groat__store_now());
    outside_exec(writer, "ROLLBACK");
    (void)sqlite3_close(writer);
    kernel_put(store, 101, 1000); /* not attempted */
    groat__store_add(store, &entry, 1, &added);
    ck_assert_int_eq(added, GROAT__ADD_FAILED);
    ck_assert_int_eq(kernel_get(store, 101), ANSWER_MISS);
    ck_assert_int_eq(kernel_get(store, 500), ANSWER_RIGHT);
    store->puts_after = groat__store_now();
    kernel_put(store, 101, 1000);
    ck_assert_int_eq(kernel_get(store, 101), ANSWER_RIGHT);
    groat__store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *tcase = tcase_create("contract");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, test_put_get);
    tcase_add_test(tcase, test_roundtrip_of_parts);
    tcase_add_test(tcase, test_replace);
    tcase_add_test(tcase, test_add);
    tcase_add_test(tcase, test_held);
    tcase_add_test(tcase, test_evict);
    tcase_add_test(tcase, test_persistence);
    tcase_add_test(tcase, test_identity_is_compared_in_full);
    tcase_add_loop_test(tcase, test_modes_whatever_the_umask, 0, 4);
    tcase_add_loop_test(tcase, test_folder_others_may_write, 0, 3);
    tcase_add_test(tcase, test_file_others_may_write);
    tcase_add_test(tcase, test_folder_of_another_owner);
    tcase_add_test(tcase, test_file_that_cannot_be_made);
    tcase_add_test(tcase, test_links_are_refused);
    tcase_add_test(tcase, test_folder_through_a_link);
    tcase_add_test(tcase, test_bad_folders);
    tcase_add_test(tcase, test_bound_shrinks_the_file);
    tcase_add_test(tcase, test_bound_holds_over_many_puts);
    tcase_add_test(tcase, test_oversize_is_not_stored);
    tcase_add_test(tcase, test_gc_to_nothing);
    tcase_add_test(tcase, test_is_new);
    tcase_add_test(tcase, test_clear);
    tcase_add_test(tcase, test_each);
    tcase_add_test(tcase, test_each_prefixes);
    tcase_add_test(tcase, test_each_may_evict);
    tcase_add_test(tcase, test_verify_of_a_sound_store);
    tcase_add_test(tcase, test_threads);
    tcase_add_test(tcase, test_two_processes);
    tcase_add_test(tcase, test_child_opens_its_own);
    tcase_add_test(tcase, test_child_of_a_store_in_use);
    tcase_add_test(tcase, test_two_stores_of_one_process);
    tcase_add_test(tcase, test_puts_beside_a_writer_that_stays);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
