/* SPDX-License-Identifier: Apache-2.0
 *
 * test_entry.c: an entry in transit.  What is read equals what was written and
 * signed; whatever happens to the bytes, nothing else is ever read.
 */
#include "fixture.h"

#include "cache/bundle.h"

static const groat__secret secret = {{7, 1, 2}};
static const groat__secret stranger = {{9}};
static const char identity[] = "groat-identity 1\nfamily f closure 0\n"
                               "target cpu:gfx950\ncompiler c++ one\n";
static uint8_t binary[300];
static groat__trust trust;

static groat__entry an_entry(void)
{
    groat__entry entry = {.identity = identity,
                          .log = "a word\n",
                          .data = binary,
                          .bytes = sizeof(binary),
                          .facts = {1, 2, -1, 4, 300, INT64_MAX}};

    entry.key = groat__hash128(identity, strlen(identity));
    return entry;
}

static groat__str written(const groat__secret *by)
{
    groat__entry entry = an_entry();
    groat__str out = {0};

    ck_assert_int_eq(groat__entry_write(&entry, by, &out, NULL), GROAT_OK);
    return out;
}

static void setup(void)
{
    uint8_t signature[GROAT__SIGNATURE_BYTES];
    uint8_t mark[GROAT__MARK_BYTES] = {0};

    for (size_t i = 0; i < sizeof(binary); i++)
        binary[i] = (uint8_t)(i * 31 + 5);
    trust.keys = calloc(1, sizeof(trust.keys[0]));
    trust.count = 1;
    ck_assert_int_eq(groat__sign_make(&secret, mark, sizeof(mark),
                                      trust.keys[0], signature, NULL),
                     GROAT_OK);
}

static void teardown(void)
{
    groat__trust_free(&trust);
}

static void ck_same(const groat__arrival *arrival)
{
    const groat__entry entry = an_entry();

    ck_assert_str_eq(arrival->identity, identity);
    ck_assert_str_eq(arrival->blob.log, entry.log);
    ck_assert_mem_eq(arrival->key.bytes, entry.key.bytes, 16);
    ck_assert_mem_eq(arrival->signer, trust.keys[0], 32);
    ck_assert_uint_eq(arrival->blob.bytes, sizeof(binary));
    ck_assert_mem_eq(arrival->blob.data, binary, sizeof(binary));
    ck_assert_mem_eq(&arrival->blob.facts, &entry.facts, sizeof(entry.facts));
}

START_TEST(comes_back)
{
    groat__str text = written(&secret);
    groat__arrival arrival;

    ck_assert_int_eq(groat__entry_read(&text, &trust, &arrival),
                     GROAT__ENTRY_GOOD);
    ck_same(&arrival);
    groat__arrival_free(&arrival);
    groat__str_free(&text);
}
END_TEST

/* The signature is that of a bundle with this entry alone. */
START_TEST(signature_of_a_bundle)
{
    const groat__entry entry = an_entry();
    groat__str text = written(&secret);
    groat__row row = {.key = entry.key, .facts = entry.facts};
    uint8_t mark[GROAT__MARK_BYTES];

    row.identity = identity;
    row.identity_len = strlen(identity);
    row.log = entry.log;
    row.log_len = strlen(entry.log);
    row.data = binary;
    row.bytes = sizeof(binary);
    ck_assert(groat__sign_mark(&row, mark));
    ck_assert_int_eq(groat__sign_check((const uint8_t *)text.data + 14,
                                       (const uint8_t *)text.data + 46, mark,
                                       sizeof(mark)),
                     GROAT_OK);
    groat__str_free(&text);
}
END_TEST

/* Texts end at their first zero byte, which a length would not tell. */
START_TEST(no_zero_bytes)
{
    enum { AT_KEY = 14 + 32 + 64, AT_IDENTITY = AT_KEY + 16 + 6 * 8 + 3 * 4 };
    const size_t len = strlen(identity);
    groat__str text = written(&secret);
    groat__arrival arrival;
    groat__digest key;

    ck_assert_mem_eq(text.data + AT_IDENTITY, identity, len);
    text.data[AT_IDENTITY + len] = '\0'; /* the log's first */
    ck_assert_int_eq(groat__entry_read(&text, &trust, &arrival),
                     GROAT__ENTRY_MALFORMED);
    text.data[AT_IDENTITY + len] = 'a';
    text.data[AT_IDENTITY + 5] = '\0';
    key = groat__hash128(text.data + AT_IDENTITY, len);
    memcpy(text.data + AT_KEY, key.bytes, sizeof(key.bytes));
    ck_assert_int_eq(groat__entry_read(&text, &trust, &arrival),
                     GROAT__ENTRY_MALFORMED);
    groat__str_free(&text);
}
END_TEST

START_TEST(nobody_else)
{
    const groat__trust nobody = {NULL, 0};
    groat__str text = written(&stranger);
    groat__str mine = written(&secret);
    groat__arrival arrival;

    ck_assert_int_eq(groat__entry_read(&text, &trust, &arrival),
                     GROAT__ENTRY_REFUSED);
    ck_assert_ptr_null(arrival.identity);
    ck_assert_int_eq(groat__entry_read(&mine, &nobody, &arrival),
                     GROAT__ENTRY_REFUSED);
    /* Another key's signature under a trusted signer. */
    memcpy(text.data + 14, trust.keys[0], 32);
    ck_assert_int_eq(groat__entry_read(&text, &trust, &arrival),
                     GROAT__ENTRY_REFUSED);
    /* No signature. */
    memset(mine.data + 46, 0, 64);
    ck_assert_int_eq(groat__entry_read(&mine, &trust, &arrival),
                     GROAT__ENTRY_REFUSED);
    groat__str_free(&text);
    groat__str_free(&mine);
}
END_TEST

/* Copies bytes to memory of exactly their size, to detect a read past them. */
static groat__entry_verdict read_copy(const char *data, size_t bytes)
{
    groat__str copy = {.data = malloc(bytes + (bytes == 0)), .len = bytes};
    groat__entry_verdict verdict;
    groat__arrival arrival;

    ck_assert_ptr_nonnull(copy.data);
    memcpy(copy.data, data, bytes);
    verdict = groat__entry_read(&copy, &trust, &arrival);
    /* The text is kept unless it has become the binary. */
    ck_assert_int_eq(verdict == GROAT__ENTRY_GOOD, copy.data == NULL);
    groat__arrival_free(&arrival);
    groat__str_free(&copy);
    return verdict;
}

START_TEST(every_bit_and_length)
{
    groat__str text = written(&secret);

    for (size_t i = 0; i < text.len; i++)
        for (int bit = 0; bit < 8; bit += i < 250 ? 1 : 7) {
            text.data[i] = (char)(text.data[i] ^ 1 << bit);
            ck_assert_int_ne(read_copy(text.data, text.len), GROAT__ENTRY_GOOD);
            text.data[i] = (char)(text.data[i] ^ 1 << bit);
        }
    for (size_t bytes = 0; bytes < text.len; bytes++)
        ck_assert_int_eq(read_copy(text.data, bytes), GROAT__ENTRY_MALFORMED);
    groat__str_addn(&text, "", 1);
    ck_assert_int_eq(read_copy(text.data, text.len), GROAT__ENTRY_MALFORMED);
    groat__str_free(&text);
}
END_TEST

/* Cuts, doubles, moves and overwrites bytes, GROAT_TEST_ROUNDS times. */
START_TEST(many_changes)
{
    const char *given = getenv("GROAT_TEST_ROUNDS");
    long rounds = given != NULL ? strtol(given, NULL, 10) : 5000;
    groat__str text = written(&secret);
    unsigned seed = 251125;

    for (long n = 0; n < rounds; n++) {
        size_t bytes = text.len;
        char *copy = malloc(2 * text.len);
        unsigned changes = 1 + (unsigned)rand_r(&seed) % 4;
        bool same;

        memcpy(copy, text.data, bytes);
        for (unsigned i = 0; i < changes; i++) {
            size_t at = (size_t)rand_r(&seed) % bytes;
            size_t len = (size_t)rand_r(&seed) % (bytes - at) + 1;

            switch (rand_r(&seed) % 4) {
            case 0:
                copy[at] = (char)rand_r(&seed);
                break;
            case 1:
                memset(copy + at, rand_r(&seed), len > 8 ? 8 : len);
                break;
            case 2:
                if (len < bytes)
                    memmove(copy + at, copy + at + len, bytes - at - len);
                bytes -= len < bytes ? len : 0;
                break;
            default:
                if (bytes + len <= 2 * text.len) {
                    memmove(copy + at + len, copy + at, bytes - at);
                    bytes += len;
                }
            }
        }
        same = bytes == text.len && memcmp(copy, text.data, bytes) == 0;
        ck_assert_int_eq(read_copy(copy, bytes) == GROAT__ENTRY_GOOD, same);
        free(copy);
    }
    groat__str_free(&text);
}
END_TEST

START_TEST(too_large)
{
    groat__entry entry = an_entry();
    groat__str out = {0};
    groat_error error = GROAT_ERROR_INIT;

    entry.bytes = (size_t)GROAT__ENTRY_MAX + 1;
    ck_fails(groat__entry_write(&entry, &secret, &out, &error), GROAT_INVALID,
             &error, "the limit is 16777216 bytes");
    groat__str_free(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("entry");
    TCase *tests = tcase_create("entry");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, comes_back);
    tcase_add_test(tests, signature_of_a_bundle);
    tcase_add_test(tests, no_zero_bytes);
    tcase_add_test(tests, nobody_else);
    tcase_add_test(tests, every_bit_and_length);
    tcase_add_test(tests, many_changes);
    tcase_add_test(tests, too_large);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
