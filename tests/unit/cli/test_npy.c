/* SPDX-License-Identifier: Apache-2.0
 *
 * test_npy.c: headers of .npy files, for texts of every length that a header
 * is padded from: numpy's own rules, and what the reader makes of them.
 */
#include "cli/family/npy.h"
#include "tests/unit/suite.h"

static const int64_t numbers[] = {0, 7, 12, 345, 67890, 1234567, 98765432100};

/* Asserts numpy's rules: a length that is told, a whole number of 64 bytes,
 * blanks up to a newline. */
static void ck_head(const groat__str *head)
{
    const unsigned char *at = (const unsigned char *)head->data;
    size_t text = (size_t)at[8] + 256 * (size_t)at[9];
    const char *close = strchr(head->data + 10, '}');

    ck_assert_int_eq(memcmp(at, "\x93NUMPY\x01\x00", 8), 0);
    ck_assert_uint_eq(head->len % 64, 0);
    ck_assert_uint_eq(head->len, 10 + text);
    ck_assert_ptr_nonnull(close);
    ck_assert_uint_eq(strspn(close + 1, " ") + 1,
                      (size_t)(head->data + head->len - 1 - close));
    ck_assert_int_eq(head->data[head->len - 1], '\n');
}

START_TEST(headers_of_every_length)
{
    const char *types[] = {"|u1", "<f4"};

    for (size_t rank = 0; rank <= GROAT__NPY_RANK; rank++)
        for (size_t seed = 0; seed < 200; seed++) {
            int64_t shape[GROAT__NPY_RANK];
            groat__str head = {0};
            groat__npy back;

            for (size_t i = 0; i < rank; i++)
                shape[i] =
                    numbers[(seed + seed / 7 * (i + 1)) % COUNT(numbers)];
            groat__npy_head(types[seed % 2], shape, rank, &head);
            ck_assert(!head.failed);
            ck_head(&head);
            ck_assert_ptr_null(groat__npy_read(head.data, head.len, &back));
            ck_assert_str_eq(back.type, types[seed % 2]);
            ck_assert_uint_eq(back.rank, rank);
            ck_assert_uint_eq(back.data_at, head.len);
            for (size_t i = 0; i < rank; i++)
                ck_assert_uint_eq(back.shape[i], (uint64_t)shape[i]);
            groat__str_free(&head);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("npy");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, headers_of_every_length);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
