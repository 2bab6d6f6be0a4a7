/* SPDX-License-Identifier: Apache-2.0
 *
 * test_bundle.c: a bundle contains what went into it, byte for byte and in any
 * order; it is used by those who trust its signer; and whatever happens to its
 * file, a get gives the right bytes or none.
 */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>

#include "cache/bundle.h"

enum {
    KERNELS = 12, /* in a bundle */
    NAME = 300
};

static const groat__log silent = {NULL, NULL};

static fixture fix;
static groat__log logged;

static void setup(void)
{
    fixture_make(&fix);
    logged = (groat__log){fixture_log, &fix};
}

static void teardown(void)
{
    ck_assert(!groat__sqlite_is_used()); /* every call has left it */
    fixture_drop(&fix);
}

/* ---- files ------------------------------------------------------------- */

/* Returns the path root/NAME. */
static const char *at(char out[NAME], const char *name)
{
    (void)snprintf(out, NAME, "%s/%s", fix.root, name);
    return out;
}

static groat__str read_file(const char *name)
{
    groat__str out = {0};
    char path[NAME];

    ck_assert_int_eq(groat__fs_read(at(path, name), (size_t)1 << 26, &out.data,
                                    &out.len, &fix.error),
                     GROAT_OK);
    return out;
}

static void write_bytes(const char *name, const void *data, size_t bytes)
{
    char path[NAME];

    file_write(at(path, name), data, bytes);
}

static bool same_files(const char *a, const char *b)
{
    groat__str x = read_file(a);
    groat__str y = read_file(b);
    bool same = x.len == y.len && memcmp(x.data, y.data, x.len) == 0;

    groat__str_free(&x);
    groat__str_free(&y);
    return same;
}

static void change(const char *name, const char *sql)
{
    char path[NAME];

    outside_once(at(path, name), sql);
}

/* Kernels of 1 to 36301 bytes. */
static size_t bytes_of(unsigned n)
{
    return 1 + n * n * 300;
}

/* Makes a bundle of `count` kernels: first, first + step ... */
static void make_bundle(const char *name, unsigned first, int step,
                        unsigned count, const groat__secret *secret)
{
    groat__store *store = fixture_open(&fix, 16 * MIB);
    uint64_t written = 0;
    char path[NAME];

    ck_assert_int_eq(groat__store_clear(store, NULL, NULL), GROAT_OK);
    for (unsigned i = 0; i < count; i++) {
        unsigned n = (unsigned)((int)first + (int)i * step);

        kernel_put(store, n, bytes_of(n));
    }
    ck_assert_msg(groat__store_export(store, NULL, 0, secret, at(path, name),
                                      &written, &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
    ck_assert_uint_eq(written, count);
    groat__store_close(store);
}

static groat_status try_bundle(const char *name, groat__bundle **out)
{
    char path[NAME];

    return groat__bundle_open(at(path, name), &logged, out, &fix.error);
}

static groat__bundle *open_bundle(const char *name)
{
    groat__bundle *bundle = NULL;

    ck_assert_msg(try_bundle(name, &bundle) == GROAT_OK, "%s: %s", name,
                  fix.error.text);
    return bundle;
}

static void ck_refused(const char *name, const char *words)
{
    groat__bundle *bundle = NULL;

    ck_fails(try_bundle(name, &bundle), GROAT_IO, &fix.error, words);
    ck_assert_ptr_null(bundle);
}

static answer ask(groat__bundle *bundle, unsigned n)
{
    groat__digest key = kernel_key(n);
    groat__store_blob blob = {0};
    char identity[128];

    kernel_identity(n, identity, sizeof(identity));
    if (!groat__bundle_get(bundle, &key, identity, &blob))
        return ANSWER_MISS;
    return kernel_judge(&blob, n);
}

static int count_right(groat__bundle *bundle)
{
    int right = 0;

    for (unsigned n = 0; n < KERNELS; n++) {
        answer got = ask(bundle, n);

        ck_assert_int_ne(got, ANSWER_WRONG);
        right += got == ANSWER_RIGHT;
    }
    return right;
}

static groat__bundle_counts counts_of(groat__bundle *bundle)
{
    groat__bundle_counts counts = {0, 0, 0};

    groat__bundle_count(bundle, &counts);
    return counts;
}

static groat__secret secret_of(unsigned n)
{
    groat__secret secret;

    memset(secret.seed, (int)n, sizeof(secret.seed));
    return secret;
}

static groat_status merge(const char *const *names, size_t count,
                          const char *to)
{
    groat__bundle *bundles[4] = {NULL};
    groat_status status;
    char path[NAME];

    for (size_t i = 0; i < count; i++)
        bundles[i] = open_bundle(names[i]);
    status = groat__bundle_merge(bundles, count, NULL, at(path, to), NULL,
                                 &fix.error);
    for (size_t i = 0; i < count; i++)
        groat__bundle_close(bundles[i]);
    return status;
}

/* ---- what goes in comes out -------------------------------------------- */

static int add_uses(void *user, const groat_cache_entry *entry)
{
    *(uint64_t *)user += entry->uses;
    return 0;
}

START_TEST(test_round_trip)
{
    groat__secret secret = secret_of(7);
    uint64_t uses = 0;
    groat__bundle *bundle;
    groat__store *store;
    uint64_t checked = 0;
    uint64_t imported = 0;

    make_bundle("b", 0, 1, KERNELS, _i ? &secret : NULL);
    bundle = open_bundle("b");
    ck_assert_int_eq(count_right(bundle), KERNELS);
    ck_assert_int_eq(ask(bundle, KERNELS), ANSWER_MISS);
    ck_assert_uint_eq(counts_of(bundle).hits, KERNELS);
    ck_assert_uint_eq(counts_of(bundle).misses, 1);
    ck_assert_uint_eq(counts_of(bundle).faults, 0);
    ck_assert_int_eq(groat__bundle_verify(bundle, &checked, &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(checked, KERNELS);
    store = fixture_open(&fix, 16 * MIB);
    ck_assert_int_eq(groat__store_clear(store, NULL, NULL), GROAT_OK);
    kernel_put(store, 3, 17); /* not replaced by the bundle's */
    ck_assert_int_eq(groat__store_import(store, bundle, &imported, &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(imported, KERNELS - 1);
    /* An import counts no use. */
    ck_assert_uint_eq(kernel_stat(store).hits, 0);
    ck_assert_uint_eq(kernel_stat(store).misses, 0);
    groat__store_close(store);
    store = fixture_open(&fix, 16 * MIB);
    ck_assert_int_eq(
        groat__store_each(store, NULL, add_uses, &uses, &fix.error), GROAT_OK);
    ck_assert_uint_eq(uses, 0);
    for (unsigned n = 0; n < KERNELS; n++)
        ck_hit(store, n);
    ck_assert_uint_eq(kernel_stat(store).entries, KERNELS);
    groat__store_close(store);
    groat__bundle_close(bundle);
    ck_assert_ptr_null(fix.lines.data);
}
END_TEST

/* An import fails while another process writes, and works afterwards. */
START_TEST(test_import_into_a_locked_store)
{
    groat__bundle *bundle;
    groat__store *store;
    sqlite3 *writer;
    uint64_t imported = 77;

    make_bundle("b", 0, 1, KERNELS, NULL);
    bundle = open_bundle("b");
    store = fixture_open(&fix, 64 * MIB);
    ck_assert_int_eq(groat__store_clear(store, NULL, NULL), GROAT_OK);
    writer = outside_open(fix.path);
    outside_exec(writer, "BEGIN IMMEDIATE");
    ck_fails(groat__store_import(store, bundle, &imported, &fix.error),
             GROAT_IO, &fix.error, "did not accept an imported entry");
    ck_assert_uint_eq(imported, 77);
    outside_exec(writer, "COMMIT");
    (void)sqlite3_close(writer);
    ck_assert_int_eq(groat__store_import(store, bundle, &imported, &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(imported, KERNELS);
    groat__store_close(store);
    groat__bundle_close(bundle);
}
END_TEST

/* Entries that the bound evicts to make room are not counted as imported. */
START_TEST(test_import_beyond_the_bound)
{
    enum { MANY = 12, ROOM = 400000, BYTES = 100000 };
    groat__store *from = fixture_open(&fix, 16 * MIB);
    groat__bundle *bundle;
    groat__store *store;
    uint64_t written = 0;
    uint64_t imported = 0;
    char path[NAME];

    for (unsigned n = 0; n < MANY; n++)
        kernel_put(from, n, BYTES);
    ck_assert_int_eq(groat__store_export(from, NULL, 0, NULL, at(path, "b"),
                                         &written, &fix.error),
                     GROAT_OK);
    ck_assert_int_eq(groat__store_clear(from, NULL, NULL), GROAT_OK);
    groat__store_close(from);
    bundle = open_bundle("b");
    store = fixture_open(&fix, ROOM);
    ck_assert_int_eq(groat__store_import(store, bundle, &imported, &fix.error),
                     GROAT_OK);
    ck_assert_uint_gt(imported, 0);
    ck_assert_uint_lt(imported, MANY);
    ck_assert_uint_eq(kernel_stat(store).entries, imported);
    ck_assert_int_eq(fixture_said(&fix, "an import of 12 entries was more"), 1);
    groat__store_close(store);
    groat__bundle_close(bundle);
}
END_TEST

START_TEST(test_export_of_lines)
{
    static const char *const lines[] = {"param n 3", "param n 5", "param n"};
    groat__store *store = fixture_open(&fix, MIB);
    uint64_t written = 0;
    groat__bundle *bundle;
    char path[NAME];

    for (unsigned n = 0; n < KERNELS; n++)
        kernel_put(store, n, 100);
    ck_assert_int_eq(groat__store_export(store, lines, COUNT(lines), NULL,
                                         at(path, "b"), &written, &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(written, 2);
    ck_fails(
        groat__store_export(store, NULL, 0, NULL, fix.path, NULL, &fix.error),
        GROAT_IO, &fix.error, "is a store");
    groat__store_close(store);
    bundle = open_bundle("b");
    ck_assert_int_eq(ask(bundle, 3), ANSWER_RIGHT);
    ck_assert_int_eq(ask(bundle, 4), ANSWER_MISS);
    groat__bundle_close(bundle);
}
END_TEST

/* The bytes depend on the kernels only, not on the order, the time or what the
 * store contained before. */
START_TEST(test_reproducible)
{
    static const char *const names[] = {"low", "high", "odd"};
    static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    groat__secret secret = secret_of(7);
    groat__str file;

    make_bundle("up", 0, 1, KERNELS, NULL);
    make_bundle("down", KERNELS - 1, -1, KERNELS, NULL);
    ck_assert(same_files("up", "down"));
    make_bundle("up-signed", 0, 1, KERNELS, &secret);
    make_bundle("down-signed", KERNELS - 1, -1, KERNELS, &secret);
    ck_assert(same_files("up-signed", "down-signed"));
    ck_assert(!same_files("up", "up-signed"));
    make_bundle("low", 0, 1, KERNELS / 2, NULL);
    make_bundle("high", KERNELS / 2, 1, KERNELS / 2, &secret);
    make_bundle("odd", 1, 2, KERNELS / 2, NULL);
    for (size_t i = 0; i < COUNT(orders); i++) {
        const char *const order[] = {names[orders[i][0]], names[orders[i][1]],
                                     names[orders[i][2]]};

        ck_assert_int_eq(merge(order, 3, "merged"), GROAT_OK);
        ck_assert(same_files("up", "merged"));
    }
    /* The SQLite version that wrote the file is not recorded. */
    file = read_file("up");
    ck_assert_mem_eq(file.data + 92, "\0\0\0\1\0\x2e\x53\x60", 8);
    groat__str_free(&file);
    ck_assert_int_eq(merge(names, 0, "nothing"), GROAT_OK);
    ck_assert_int_eq(merge((const char *const[]){"nothing", "up"}, 2, "merged"),
                     GROAT_OK);
    ck_assert(same_files("up", "merged"));
}
END_TEST

/* Of two kernels with one key, the same one wins in any order; a merge may
 * replace one of its sources. */
START_TEST(test_merge_of_others)
{
    static const char *const ab[] = {"a", "b", "c"};
    static const char *const ba[] = {"b", "c", "a"};
    static const char *const steps[] = {"ab", "c"};
    static const char *const other[] = {"bc", "a"};
    const char *const *first = ab;

    for (unsigned i = 0; i < 3; i++) {
        groat__store *store = fixture_open(&fix, MIB);
        char path[NAME];

        ck_assert_int_eq(groat__store_clear(store, NULL, NULL), GROAT_OK);
        kernel_put(store, 1, 1000 + i);
        kernel_put(store, 2, 500);
        ck_assert_int_eq(groat__store_export(store, NULL, 0, NULL,
                                             at(path, ab[i]), NULL, NULL),
                         GROAT_OK);
        groat__store_close(store);
    }
    ck_assert_int_eq(merge(first, 3, "one"), GROAT_OK);
    ck_assert_int_eq(merge(ba, 3, "two"), GROAT_OK);
    ck_assert(same_files("one", "two"));
    ck_assert_int_eq(merge(first, 2, "ab"), GROAT_OK);
    ck_assert_int_eq(merge(steps, 2, "ab"), GROAT_OK);
    ck_assert(same_files("one", "ab"));
    ck_assert_int_eq(merge(ba, 2, "bc"), GROAT_OK);
    ck_assert_int_eq(merge(other, 2, "two"), GROAT_OK);
    ck_assert(same_files("one", "two"));
}
END_TEST

typedef struct differences {
    unsigned sides[3];
    unsigned stop_after;
} differences;

static int on_difference(void *user, groat_bundle_side side,
                         const groat_cache_entry *entry)
{
    differences *d = user;

    ck_assert_uint_eq(strlen(entry->key), 32);
    ck_assert_ptr_nonnull(strstr(entry->identity, "param n "));
    /* Kernel 2's binary has another length in the other bundle. */
    ck_assert_str_eq(entry->differs, side == GROAT_BUNDLE_BOTH ? "binary" : "");
    d->sides[side]++;
    return d->stop_after != 0 && --d->stop_after == 0;
}

START_TEST(test_diff)
{
    groat__bundle *a;
    groat__bundle *b;
    groat__store *store;
    differences d = {{0, 0, 0}, 0};
    char path[NAME];

    make_bundle("a", 0, 1, 8, NULL);
    store = fixture_open(&fix, MIB);
    kernel_put(store, 2, 77);
    kernel_put(store, 20, 77);
    kernel_put(store, 21, 77);
    kernel_evict(store, 5, bytes_of(5));
    ck_assert_int_eq(
        groat__store_export(store, NULL, 0, NULL, at(path, "b"), NULL, NULL),
        GROAT_OK);
    groat__store_close(store);
    a = open_bundle("a");
    b = open_bundle("b");
    ck_assert_int_eq(groat__bundle_diff(a, b, on_difference, &d, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(d.sides[GROAT_BUNDLE_FIRST], 1);
    ck_assert_uint_eq(d.sides[GROAT_BUNDLE_SECOND], 2);
    ck_assert_uint_eq(d.sides[GROAT_BUNDLE_BOTH], 1);
    ck_assert_int_eq(groat__bundle_diff(b, b, on_difference, &d, NULL),
                     GROAT_OK);
    d = (differences){{0, 0, 0}, 1};
    ck_assert_int_eq(groat__bundle_diff(a, b, on_difference, &d, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(d.sides[0] + d.sides[1] + d.sides[2], 1);
    groat__bundle_close(a);
    groat__bundle_close(b);
}
END_TEST

/* ---- trust --------------------------------------------------------------- */

/* Appends the public half of secret_of(n), in hex. */
static void add_public(groat__str *out, unsigned n)
{
    uint8_t signer[GROAT__SIGNER_BYTES];
    uint8_t signature[GROAT__SIGNATURE_BYTES];
    groat__secret secret = secret_of(n);
    char hex[65];

    ck_assert_int_eq(
        groat__sign_make(&secret, NULL, 0, signer, signature, NULL), GROAT_OK);
    groat__hex(hex, signer, sizeof(signer));
    groat__str_addf(out, "%s  # key %u\n", hex, n);
}

static groat__trust trust_of(const char *text)
{
    groat__trust trust = {NULL, 0};
    char path[NAME];

    write_bytes("trust", text, strlen(text));
    ck_assert_msg(groat__trust_read(at(path, "trust"), &trust, &fix.error) ==
                      GROAT_OK,
                  "%s", fix.error.text);
    return trust;
}

START_TEST(test_trust)
{
    groat__secret secret = secret_of(7);
    groat__trust none = trust_of("\n # nobody\n\t\n");
    groat__trust trust;
    groat__bundle *is_signed;
    groat__bundle *plain;
    groat__str text = {0};

    add_public(&text, 1);
    add_public(&text, 2);
    make_bundle("plain", 0, 1, 3, NULL);
    make_bundle("signed", 0, 1, 3, &secret);
    plain = open_bundle("plain");
    is_signed = open_bundle("signed");
    ck_assert_uint_eq(none.count, 0);
    ck_fails(groat__trust_check(&none, is_signed, &fix.error), GROAT_IO,
             &fix.error, "and no key is trusted");
    trust = trust_of(text.data);
    ck_assert_uint_eq(trust.count, 2);
    ck_fails(groat__trust_check(&trust, is_signed, &fix.error), GROAT_IO,
             &fix.error, "none of the 2 trusted keys");
    groat__trust_free(&trust);
    add_public(&text, 7);
    trust = trust_of(text.data);
    ck_assert_int_eq(groat__trust_check(&trust, is_signed, &fix.error),
                     GROAT_OK);
    ck_fails(groat__trust_check(&trust, plain, &fix.error), GROAT_IO,
             &fix.error, "is not signed");
    groat__trust_free(&trust);
    groat__trust_free(&none);
    groat__str_free(&text);
    groat__bundle_close(plain);
    groat__bundle_close(is_signed);
}
END_TEST

START_TEST(test_key_files)
{
    static const char *const wrong[] = {"abc\n", "\n\n12 # short\n",
                                        "# fine\nzz\n"};
    groat__secret secret;
    groat__trust trust = {NULL, 0};
    char public_key[65] = "";
    char path[NAME];

    at(path, "key");
    ck_assert_int_eq(groat__secret_make(path, public_key, &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(strlen(public_key), 64);
    ck_assert_uint_eq(file_mode(path), 0600);
    ck_fails(groat__secret_make(path, public_key, &fix.error), GROAT_IO,
             &fix.error, "File exists");
    ck_assert_int_eq(groat__secret_read(path, &secret, &fix.error), GROAT_OK);
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_fails(groat__secret_read(path, &secret, &fix.error), GROAT_IO,
             &fix.error, "chmod 600");
    write_bytes("key", "12345", 5);
    ck_fails(groat__secret_read(path, &secret, &fix.error), GROAT_IO,
             &fix.error, "is no secret key");
    ck_fails(groat__secret_read(at(path, "none"), &secret, &fix.error),
             GROAT_IO, &fix.error, "none");
    for (size_t i = 0; i < COUNT(wrong); i++) {
        static const char *const words[] = {"line 1", "line 3", "line 2"};

        write_bytes("trust", wrong[i], strlen(wrong[i]));
        ck_fails(groat__trust_read(at(path, "trust"), &trust, &fix.error),
                 GROAT_INVALID, &fix.error, words[i]);
    }
    write_bytes("trust", "\0", 1);
    ck_fails(groat__trust_read(path, &trust, &fix.error), GROAT_INVALID,
             &fix.error, "line 1");
    ck_assert_ptr_null(trust.keys);
}
END_TEST

/* An owner of the file cannot make a signed bundle give a kernel that was not
 * signed. */
START_TEST(test_forgery)
{
    static const struct {
        const char *sql;
        const char *words; /* of the open; NULL: it opens, without kernel 3 */
    } forgeries[] = {
        {"UPDATE signature SET signature = zeroblob(64)", "damaged or forged"},
        {"UPDATE signature SET signature = zeroblob(63)", "damaged or forged"},
        {"UPDATE signature SET signer = zeroblob(32)", "damaged or forged"},
        {"UPDATE signature SET marks = substr(marks, 49)", "damaged or forged"},
        {"UPDATE signature SET marks = substr(marks, 2)", "damaged or forged"},
        {"UPDATE signature SET marks = zeroblob(0)", "damaged or forged"},
        {"UPDATE signature SET marks = ''", "damaged or forged"},
        {"INSERT INTO signature SELECT 2, signer, signature, marks "
         "FROM signature",
         "damaged or forged"},
        {"DELETE FROM entry WHERE identity LIKE '%n 3\n'", NULL},
        {"UPDATE entry SET binary = (SELECT binary FROM entry WHERE identity "
         "LIKE '%n 2\n'), bytes = (SELECT bytes FROM entry WHERE identity "
         "LIKE '%n 2\n') WHERE identity LIKE '%n 3\n'",
         NULL},
        {"UPDATE entry SET id = id + 1 WHERE identity LIKE '%n 3\n'", NULL},
    };
    groat__secret secret = secret_of(7);
    groat__bundle *bundle;

    make_bundle("b", 0, 1, KERNELS, &secret);
    change("b", forgeries[_i].sql);
    if (forgeries[_i].words != NULL) {
        ck_refused("b", forgeries[_i].words);
        return;
    }
    bundle = open_bundle("b");
    ck_assert_int_eq(count_right(bundle), KERNELS - 1);
    ck_assert_int_eq(ask(bundle, 3), ANSWER_MISS);
    ck_assert_uint_eq(counts_of(bundle).faults, 2);
    ck_assert_int_eq(fixture_said(&fix, "reported once"), 1);
    ck_assert_int_eq(groat__bundle_verify(bundle, NULL, &fix.error), GROAT_IO);
    groat__bundle_close(bundle);
}
END_TEST

/* Checksums detect accidents; marks detect forgers who recompute checksums. */
START_TEST(test_rechecked_entry)
{
    groat__store *store = fixture_open(&fix, MIB);
    groat__secret secret = secret_of(7);
    groat__digest key = kernel_key(1);
    groat__bundle *bundle;
    groat__store_blob blob = {0};
    char identity[128];
    char sql[800];

    make_bundle("b", 0, 1, 4, &secret);
    kernel_identity(1, identity, sizeof(identity));
    groat__store_put(store, &key, identity, "evil", 4, "", NULL);
    groat__store_close(store);
    (void)snprintf(sql, sizeof(sql),
                   "ATTACH '%s' AS s; UPDATE entry SET (bytes, seal, "
                   "registers, sgprs, spill_bytes, shared_bytes, code_bytes, "
                   "max_threads, log, binary) = (SELECT bytes, seal, "
                   "registers, sgprs, spill_bytes, shared_bytes, code_bytes, "
                   "max_threads, log, binary FROM s.entry AS e WHERE e.id = "
                   "entry.id) WHERE identity LIKE '%%n 1\n'; DETACH s",
                   fix.path);
    change("b", sql);
    bundle = open_bundle("b");
    ck_assert(!groat__bundle_get(bundle, &key, identity, &blob));
    ck_assert_int_eq(fixture_said(&fix, "is not what was signed"), 1);
    ck_assert_int_eq(ask(bundle, 2), ANSWER_RIGHT);
    groat__bundle_close(bundle);
    /* Without a signature it is an ordinary entry. */
    change("b", "DELETE FROM signature");
    bundle = open_bundle("b");
    ck_assert(groat__bundle_get(bundle, &key, identity, &blob));
    groat__store_blob_free(&blob);
    groat__bundle_close(bundle);
}
END_TEST

/* ---- files that are no bundles ------------------------------------------- */

START_TEST(test_foreign)
{
    static const struct {
        const char *sql;
        const char *words;
    } foreign[] = {
        {"PRAGMA user_version = 2", "newer groat (format 2"},
        {"PRAGMA user_version = 0", "another schema"},
        {"PRAGMA user_version = 99999", "another schema"},
        {"PRAGMA application_id = 1", "is no bundle"},
        {"PRAGMA application_id = 0x67726f74", "is a store"},
        {"CREATE TABLE more (x)", "another schema"},
        {"CREATE INDEX more ON entry (key)", "another schema"},
        {"CREATE VIEW more AS SELECT * FROM entry", "another schema"},
        {"CREATE TRIGGER more AFTER INSERT ON entry BEGIN "
         "DELETE FROM entry; END",
         "another schema"},
        {"ALTER TABLE entry RENAME TO e; CREATE VIEW entry AS SELECT * FROM e",
         "another schema"},
        {"ALTER TABLE entry ADD COLUMN more AS (hex(key))", "another schema"},
        {"DROP TABLE signature", "another schema"},
    };

    make_bundle("b", 0, 1, 3, NULL);
    change("b", foreign[_i].sql);
    ck_refused("b", foreign[_i].words);
}
END_TEST

START_TEST(test_no_file)
{
    groat__bundle *bundle = NULL;
    char path[NAME];

    ck_refused("none", "No such file");
    ck_assert_int_eq(mkdir(at(path, "folder"), 0700), 0);
    ck_refused("folder", "not a regular file");
    ck_assert_int_eq(mkfifo(at(path, "pipe"), 0600), 0);
    ck_refused("pipe", "not a regular file");
    write_bytes("empty", "", 0);
    ck_refused("empty", "is no bundle");
    write_bytes("text", "plain text, no database", 23);
    ck_refused("text", "cannot read");
    make_bundle("b", 0, 1, 3, NULL);
    ck_fails(groat__bundle_open(fix.path, &silent, &bundle, &fix.error),
             GROAT_IO, &fix.error, "groat cache export");
    /* A path is a plain path, even if it looks like part of a URI. */
    ck_assert_int_eq(mkdir(at(path, "a%20?b#c"), 0700), 0);
    make_bundle("a%20?b#c/b?mode=rwc", 0, 1, 3, NULL);
    bundle = open_bundle("a%20?b#c/b?mode=rwc");
    ck_assert_int_eq(ask(bundle, 1), ANSWER_RIGHT);
    groat__bundle_close(bundle);
}
END_TEST

/* ---- damage ------------------------------------------------------------ */

/* Opens a damaged bundle and gets all kernels that it had. */
static int survivors(const char *name)
{
    groat__bundle *bundle = NULL;
    int right = -1;
    char path[NAME];

    if (groat__bundle_open(at(path, name), &silent, &bundle, &fix.error) ==
        GROAT_OK) {
        right = count_right(bundle);
        (void)groat__bundle_verify(bundle, NULL, NULL);
    }
    groat_error_clear(&fix.error);
    groat__bundle_close(bundle);
    return right;
}

/* Damages every page in many places, with a signature and without. */
START_TEST(test_damaged_pages)
{
    groat__secret secret = secret_of(7);
    unsigned refused = 0;
    unsigned partial = 0;
    groat__str file;

    make_bundle("b", 0, 1, KERNELS, _i ? &secret : NULL);
    file = read_file("b");
    for (size_t i = 0; i < file.len;
         i += (i % 8192 < 128 ? 3 : 613) * test_step()) {
        char was = file.data[i];
        int right;

        file.data[i] = (char)(was ^ (1 << i % 8));
        write_bytes("b", file.data, file.len);
        right = survivors("b");
        refused += right < 0;
        partial += right >= 0 && right < KERNELS;
        file.data[i] = was;
    }
    ck_assert_uint_gt(refused, 0);
    ck_assert_uint_gt(partial, 0);
    write_bytes("b", file.data, file.len);
    ck_assert_int_eq(survivors("b"), KERNELS);
    groat__str_free(&file);
}
END_TEST

START_TEST(test_cut_short)
{
    groat__str file;

    make_bundle("b", 0, 1, KERNELS, NULL);
    file = read_file("b");
    for (size_t len = 0; len < file.len; len += 1021) {
        write_bytes("b", file.data, len);
        ck_assert_int_lt(survivors("b"), KERNELS);
    }
    groat__str_free(&file);
}
END_TEST

/* A change to an open file leads to a miss at worst. */
START_TEST(test_changed_while_open)
{
    groat__secret secret = secret_of(7);
    groat__bundle *bundle;
    groat__str file;
    char path[NAME];
    int fd;

    make_bundle("b", 0, 1, KERNELS, &secret);
    file = read_file("b");
    bundle = open_bundle("b");
    ck_assert_int_eq(ask(bundle, 1), ANSWER_RIGHT);
    /* Replaced: the old file stays in use. */
    write_bytes("b", "new", 3);
    ck_assert_int_eq(count_right(bundle), KERNELS);
    groat__bundle_close(bundle);
    write_bytes("b", file.data, file.len);
    bundle = open_bundle("b");
    /* Overwritten in place, then truncated. */
    fd = open(at(path, "b"), O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    for (size_t i = 8192; i < file.len; i += 97)
        ck_assert_int_eq(pwrite(fd, "\xff", 1, (off_t)i), 1);
    ck_assert_int_lt(count_right(bundle), KERNELS);
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    (void)count_right(bundle);
    ck_assert_uint_gt(counts_of(bundle).faults, 0);
    ck_assert_int_eq(fixture_said(&fix, "reported once"), 1);
    ck_assert_int_eq(close(fd), 0);
    groat__bundle_close(bundle);
    groat__str_free(&file);
}
END_TEST

START_TEST(test_merge_of_damaged)
{
    static const char *const names[] = {"b", "good"};
    char path[NAME];

    make_bundle("good", 0, 1, KERNELS, NULL);
    make_bundle("b", 0, 1, KERNELS, NULL);
    change("b", "UPDATE entry SET binary = zeroblob(bytes) "
                "WHERE identity LIKE '%n 4\n'");
    ck_fails(merge(names, 2, "merged"), GROAT_IO, &fix.error, "is damaged");
    ck_assert_int_ne(access(at(path, "merged"), F_OK), 0);
}
END_TEST

/* ---- read-only, forks, images -------------------------------------------- */

START_TEST(test_only_read)
{
    groat__bundle *bundle;
    groat__str before;
    char path[NAME];

    make_bundle("b", 0, 1, KERNELS, NULL);
    before = read_file("b");
    if (_i) /* the header of a file in WAL mode */
        before.data[18] = before.data[19] = 2;
    write_bytes("b", before.data, before.len);
    ck_assert_int_eq(chmod(at(path, "b"), 0444), 0);
    bundle = open_bundle("b");
    ck_assert_int_eq(count_right(bundle), KERNELS);
    for (size_t i = 0; i < 3; i++) {
        static const char *const companions[] = {"b-wal", "b-shm", "b-journal"};

        ck_assert_int_ne(access(at(path, companions[i]), F_OK), 0);
    }
    groat__bundle_close(bundle);
    write_bytes("copy", before.data, before.len);
    ck_assert(same_files("b", "copy"));
    groat__str_free(&before);
}
END_TEST

START_TEST(test_image)
{
    groat__bundle *bundle = NULL;
    groat__str before;
    groat__str image;

    make_bundle("b", 0, 1, KERNELS, NULL);
    image = read_file("b");
    before = read_file("b");
    ck_assert_int_eq(groat__bundle_open_image(image.data, image.len, "mine",
                                              &logged, &bundle, &fix.error),
                     GROAT_OK);
    ck_assert_int_eq(count_right(bundle), KERNELS);
    ck_assert_int_eq(groat__bundle_verify(bundle, NULL, &fix.error), GROAT_OK);
    groat__bundle_close(bundle);
    ck_assert_mem_eq(image.data, before.data, image.len);
    for (size_t len = 0; len < image.len; len += 4099) {
        /* An allocation of its own, to detect a read past the end. */
        char *cut = malloc(len + 1);

        ck_assert_ptr_nonnull(cut);
        memcpy(cut, image.data, len);
        bundle = NULL;
        if (groat__bundle_open_image(cut, len, "cut", &silent, &bundle, NULL) ==
            GROAT_OK)
            ck_assert_int_lt(count_right(bundle), KERNELS);
        groat__bundle_close(bundle);
        free(cut);
    }
    ck_fails(groat__bundle_open_image("text", 4, "mine", &silent, &bundle,
                                      &fix.error),
             GROAT_IO, &fix.error, "mine");
    groat__str_free(&image);
    groat__str_free(&before);
}
END_TEST

static void add_cases(TCase *tc)
{
    tcase_add_loop_test(tc, test_round_trip, 0, 2);
    tcase_add_test(tc, test_import_into_a_locked_store);
    tcase_add_test(tc, test_import_beyond_the_bound);
    tcase_add_test(tc, test_export_of_lines);
    tcase_add_test(tc, test_reproducible);
    tcase_add_test(tc, test_merge_of_others);
    tcase_add_test(tc, test_diff);
    tcase_add_test(tc, test_trust);
    tcase_add_test(tc, test_key_files);
    tcase_add_loop_test(tc, test_forgery, 0, 11);
    tcase_add_test(tc, test_rechecked_entry);
    tcase_add_loop_test(tc, test_foreign, 0, 12);
    tcase_add_test(tc, test_no_file);
    tcase_add_loop_test(tc, test_damaged_pages, 0, 2);
    tcase_add_test(tc, test_cut_short);
    tcase_add_test(tc, test_changed_while_open);
    tcase_add_test(tc, test_merge_of_damaged);
    tcase_add_loop_test(tc, test_only_read, 0, 2);
    tcase_add_test(tc, test_image);
}

int main(void)
{
    Suite *suite = suite_create("bundle");
    TCase *tc = tcase_create("bundle");

    tcase_add_checked_fixture(tc, setup, teardown);
    add_cases(tc);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
