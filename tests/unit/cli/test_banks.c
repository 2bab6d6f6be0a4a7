/* SPDX-License-Identifier: Apache-2.0
 *
 * test_banks.c: the bank report, against conflicts that were counted by hand,
 * and against those that the placements of a V tile are designed for.
 */
#include "tests/unit/cli/bank_rig.h"

#include "cli/run/banks.h"

static rig fix;

static void setup(void)
{
    rig_make(&fix);
}

static void teardown(void)
{
    rig_drop(&fix);
}

static void listen(void *user, const groat_trace *event)
{
    groat__banks_add(user, event);
}

static groat__banks run(const char *target, unsigned waves,
                        struct bank_probe_args args)
{
    groat__banks banks = {0};
    bank_run with = {target, waves, args, listen, &banks};

    bank_launch(&fix, &with);
    return banks;
}

/* One instruction of 64 lanes (two of 32 on NVIDIA): lane l at l * stride. */
typedef struct strided {
    const char *target;
    unsigned what, stride, bytes;
    unsigned instructions, together, passes, passes_min, reuse;
} strided;

static const strided strides[] = {
    /* 64 banks: adjacent, every other dword, one bank of two, one dword */
    {"cpu:gfx950", BANK_PROBE_READ, 4, 4, 1, 64, 1, 1, 1},
    {"cpu:gfx950", BANK_PROBE_READ, 8, 4, 1, 64, 2, 1, 2},
    {"cpu:gfx950", BANK_PROBE_READ, 128, 4, 1, 64, 32, 1, 32},
    {"cpu:gfx950", BANK_PROBE_READ, 0, 4, 1, 64, 1, 1, 1},
    {"cpu:gfx950", BANK_PROBE_READ, 8, 8, 1, 32, 2, 2, 1},
    {"cpu:gfx950", BANK_PROBE_READ, 16, 8, 1, 32, 4, 2, 2},
    {"cpu:gfx950", BANK_PROBE_READ, 256, 8, 1, 32, 64, 2, 32},
    {"cpu:gfx950", BANK_PROBE_READ, 0, 8, 1, 32, 2, 2, 1},
    {"cpu:gfx950", BANK_PROBE_READ, 16, 16, 1, 16, 4, 4, 1},
    {"cpu:gfx950", BANK_PROBE_READ, 32, 16, 1, 16, 8, 4, 2},
    {"cpu:gfx950", BANK_PROBE_READ, 256, 16, 1, 16, 64, 4, 16},
    {"cpu:gfx950", BANK_PROBE_READ, 0, 16, 1, 16, 4, 4, 1},
    {"cpu:gfx950", BANK_PROBE_WRITE, 16, 16, 1, 16, 4, 4, 1},
    {"cpu:gfx950", BANK_PROBE_WRITE, 64, 4, 1, 64, 16, 1, 16},
    /* a column in rows of 128 bytes, plain and swizzled */
    {"cpu:gfx950", BANK_PROBE_READ, 128, 16, 1, 16, 32, 4, 8},
    {"cpu:gfx950", BANK_PROBE_READ_SWIZZLED, 128, 16, 1, 16, 4, 4, 1},
    /* 32 banks */
    {"cpu:gfx942", BANK_PROBE_READ, 4, 4, 1, 32, 2, 2, 1},
    {"cpu:gfx942", BANK_PROBE_READ, 8, 4, 1, 32, 4, 2, 2},
    {"cpu:gfx942", BANK_PROBE_READ, 128, 4, 1, 32, 64, 2, 32},
    {"cpu:gfx942", BANK_PROBE_READ, 0, 4, 1, 32, 2, 2, 1},
    {"cpu:gfx942", BANK_PROBE_READ, 8, 8, 1, 16, 4, 4, 1},
    {"cpu:gfx942", BANK_PROBE_READ, 16, 8, 1, 16, 8, 4, 2},
    {"cpu:gfx942", BANK_PROBE_READ, 128, 8, 1, 16, 64, 4, 16},
    {"cpu:gfx942", BANK_PROBE_READ, 0, 8, 1, 16, 4, 4, 1},
    {"cpu:gfx942", BANK_PROBE_READ, 16, 16, 1, 8, 8, 8, 1},
    {"cpu:gfx942", BANK_PROBE_READ, 32, 16, 1, 8, 16, 8, 2},
    {"cpu:gfx942", BANK_PROBE_READ, 128, 16, 1, 8, 64, 8, 8},
    {"cpu:gfx942", BANK_PROBE_READ, 0, 16, 1, 8, 8, 8, 1},
    {"cpu:gfx942", BANK_PROBE_READ_SWIZZLED, 128, 16, 1, 8, 16, 8, 2},
    {"cpu:gfx942", BANK_PROBE_WRITE, 8, 8, 1, 16, 4, 4, 1},
    /* less than a dword: a lane's dword counts, whatever part it reads */
    {"cpu:gfx942", BANK_PROBE_READ, 128, 1, 1, 64, 64, 1, 64},
    {"cpu:gfx942", BANK_PROBE_READ, 128, 2, 1, 64, 64, 1, 64},
    {"cpu:gfx942", BANK_PROBE_READ, 1, 1, 1, 64, 1, 1, 1},
    /* 32 banks, and two warps of 32 lanes */
    {"cpu:sm_90a", BANK_PROBE_READ, 4, 4, 2, 32, 2, 2, 1},
    {"cpu:sm_90a", BANK_PROBE_READ, 128, 4, 2, 32, 64, 2, 32},
    {"cpu:sm_90a", BANK_PROBE_READ, 16, 16, 2, 8, 8, 8, 1},
    {"cpu:sm_90a", BANK_PROBE_READ, 32, 16, 2, 8, 16, 8, 2},
};

static void ck_sum(const groat__bank_sum *sum, unsigned instructions,
                   unsigned together, unsigned passes, unsigned passes_min,
                   unsigned reuse)
{
    ck_assert_uint_eq(sum->instructions, instructions);
    ck_assert_uint_eq(sum->together, together);
    ck_assert_uint_eq(sum->passes, passes);
    ck_assert_uint_eq(sum->passes_min, passes_min);
    ck_assert_uint_eq(sum->reuse, reuse);
}

START_TEST(test_strides)
{
    const strided *s = &strides[_i];
    bool reads = s->what != BANK_PROBE_WRITE;
    groat__banks banks = run(s->target, 1,
                             (struct bank_probe_args){.what = s->what,
                                                      .stride = s->stride,
                                                      .bytes = s->bytes,
                                                      .filled = reads});
    const groat__bank_sum *fill = &banks.sum[GROAT_ACCESS_WRITE][16];
    groat__bank_sum total = groat__banks_total(&banks);
    unsigned lanes = strcmp(s->target, "cpu:sm_90a") == 0 ? 32 : 64;
    unsigned fills = (BANK_RIG_SHARED + 16 * lanes - 1) / (16 * lanes);

    ck_assert_uint_eq(banks.banks, strcmp(s->target, "cpu:gfx950") ? 32 : 64);
    ck_sum(&banks.sum[reads ? GROAT_ACCESS_READ : GROAT_ACCESS_WRITE][s->bytes],
           s->instructions, s->together, s->passes, s->passes_min, s->reuse);
    if (!reads) {
        ck_assert_uint_eq(total.passes, s->passes);
        return;
    }
    /* The fill is counted separately; its last store has few active lanes. */
    ck_assert_uint_eq(fill->instructions, fills);
    ck_assert_uint_eq(fill->reuse, 1);
    ck_assert_uint_eq(fill->passes, fill->passes_min);
    ck_assert_uint_eq(total.instructions, fills + s->instructions);
    ck_assert_uint_eq(total.passes, fill->passes + s->passes);
    ck_assert_uint_eq(total.passes_min, fill->passes_min + s->passes_min);
    ck_assert_uint_eq(total.reuse, s->reuse);
}
END_TEST

/* Transpose reads of a 64-key strip, in each placement. */
static const struct {
    unsigned what, instructions, reuse;
} tiles[] = {
    {BANK_PROBE_V227, 32, 1},
    {BANK_PROBE_FP8, 32, 2},
    {BANK_PROBE_BF16, 16, 1},
};

START_TEST(test_transpose)
{
    groat__banks banks =
        run("cpu:gfx950", 8,
            (struct bank_probe_args){.what = tiles[_i].what, .valid = 128});
    unsigned n = tiles[_i].instructions;

    ck_sum(&banks.sum[GROAT_ACCESS_TRANSPOSE][8], n, 16,
           4 * n * tiles[_i].reuse, 4 * n, tiles[_i].reuse);
    /* Copies are contiguous: 16 of 1 KiB, four passes each. */
    ck_sum(&banks.sum[GROAT_ACCESS_COPY][16], 16, 16, 64, 64, 1);
    ck_assert_uint_eq(groat__banks_total(&banks).instructions, n + 16);
}
END_TEST

START_TEST(test_json)
{
    groat__banks banks = run(
        "cpu:gfx950", 1,
        (struct bank_probe_args){
            .what = BANK_PROBE_READ, .stride = 128, .bytes = 4, .filled = 1});
    groat__json json = {0};
    char *text;

    groat__json_object(&json, NULL);
    groat__banks_json(&json, &banks);
    text = groat__json_take(&json);
    ck_assert_ptr_nonnull(strstr(text, "\"access\": \"read\",\n"
                                       "      \"bytes\": 4,\n"
                                       "      \"instructions\": 1,\n"
                                       "      \"lanes_at_once\": 64,\n"
                                       "      \"passes\": 32,\n"
                                       "      \"passes_min\": 1,\n"
                                       "      \"worst\": 32,\n"
                                       "      \"mean\": 32.0\n"));
    ck_assert_ptr_nonnull(strstr(text, "\"access\": \"write\""));
    ck_assert_ptr_nonnull(strstr(text, "\"banks_total\": {\n"
                                       "    \"banks\": 64,\n"));
    free(text);
    groat__json_object(&json, NULL);
    groat__banks_json(&json, NULL);
    text = groat__json_take(&json);
    ck_assert_str_eq(text, "{\n  \"banks\": null,\n  \"banks_total\": null\n}");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("banks");
    TCase *tests = tcase_create("banks");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, test_strides, 0, COUNT(strides));
    tcase_add_loop_test(tests, test_transpose, 0, COUNT(tiles));
    tcase_add_test(tests, test_json);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
