/* SPDX-License-Identifier: Apache-2.0
 *
 * test_arch.c: every target parses and prints back, every other text is refused
 * with the list of valid targets, and some numbers from the vendors' guides.
 */
#include "../suite.h"

#include "spec/arch.h"
#include "groat_tools.h"

static size_t arch_count(void)
{
    size_t count = 0;

    while (groat__arch_at(count) != NULL)
        count++;
    return count;
}

START_TEST(test_table)
{
    size_t count = arch_count();

    ck_assert_uint_ge(count, 19);
    ck_assert_ptr_null(groat__arch_at(count));
    ck_assert_ptr_null(groat__arch_at(SIZE_MAX));
    ck_assert_ptr_null(groat_arch_at(count));
    ck_assert_ptr_null(groat_arch_backend(count));
    for (size_t i = 0; i < count; i++) {
        const groat__arch *arch = groat__arch_at(i);

        ck_assert_ptr_eq(groat__arch_find(arch->name, strlen(arch->name)),
                         arch);
        ck_assert_str_eq(groat_arch_at(i), arch->name);
        ck_assert_str_eq(groat_arch_backend(i),
                         groat__backend_name(arch->vendor));
        ck_assert(arch->vendor == GROAT__CUDA || arch->vendor == GROAT__HIP);
        ck_assert_int_eq(
            strncmp(arch->name, arch->vendor == GROAT__CUDA ? "sm_" : "gfx", 3),
            0);
        ck_assert_int_eq(arch->wave_lanes,
                         arch->vendor == GROAT__CUDA ? 32 : 64);
        ck_assert_int_ge(arch->shared_bytes, 64 << 10);
        ck_assert(arch->shared_banks == 32 || arch->shared_banks == 64);
        ck_assert_int_ge(arch->max_cluster, 1);
        ck_assert(!arch->tma || arch->cp_async);
        ck_assert(arch->max_cluster == 1 || arch->tma);
        ck_assert_int_eq(arch->lds_dma_bytes > 0, arch->vendor == GROAT__HIP);
    }
}
END_TEST

START_TEST(test_numbers_of_the_guides)
{
    static const groat__arch known[] = {
        {"sm_80", GROAT__CUDA, 32, 166912, 32, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0},
        {"sm_89", GROAT__CUDA, 32, 101376, 32, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0},
        {"sm_90a", GROAT__CUDA, 32, 232448, 32, 0, 1, 1, 16, 0, 0, 0, 0, 1, 0},
        {"gfx90a", GROAT__HIP, 64, 65536, 32, 4, 0, 0, 1, 0, 8, 0, 0, 0, 0},
        {"gfx942", GROAT__HIP, 64, 65536, 32, 4, 0, 0, 1, 0, 8, 8, 1, 0, 0},
        {"gfx950", GROAT__HIP, 64, 163840, 64, 16, 0, 0, 1, 1, 16, 32, 0, 0,
         0}};

    for (size_t i = 0; i < COUNT(known); i++) {
        const groat__arch *arch =
            groat__arch_find(known[i].name, strlen(known[i].name));

        ck_assert_msg(arch != NULL, "no %s", known[i].name);
        ck_assert_int_eq(arch->vendor, known[i].vendor);
        ck_assert_int_eq(arch->wave_lanes, known[i].wave_lanes);
        ck_assert_int_eq(arch->shared_bytes, known[i].shared_bytes);
        ck_assert_int_eq(arch->shared_banks, known[i].shared_banks);
        ck_assert_int_eq(arch->lds_dma_bytes, known[i].lds_dma_bytes);
        ck_assert_int_eq(arch->cp_async, known[i].cp_async);
        ck_assert_int_eq(arch->tma, known[i].tma);
        ck_assert_int_eq(arch->max_cluster, known[i].max_cluster);
        ck_assert_int_eq(arch->tr_read, known[i].tr_read);
        ck_assert_int_eq(arch->mfma_16bit_bytes, known[i].mfma_16bit_bytes);
        ck_assert_int_eq(arch->mfma_8bit_bytes, known[i].mfma_8bit_bytes);
        ck_assert_int_eq(arch->fp8_fnuz, known[i].fp8_fnuz);
        ck_assert_int_eq(arch->wgmma, known[i].wgmma);
        ck_assert_int_eq(arch->cta_group, known[i].cta_group);
    }
}
END_TEST

static void ck_parses(const char *text, groat__backend_id backend,
                      const groat__arch *arch, const char *canonical)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__target target;
    groat_status status = groat__target_parse(text, &target, &error);

    ck_assert_msg(status == GROAT_OK, "%s: %s", text, error.text);
    ck_assert_int_eq(target.backend, backend);
    ck_assert_ptr_eq(target.arch, arch);
    ck_assert_str_eq(target.text, canonical);
}

START_TEST(test_every_target)
{
    for (size_t i = 0; i < arch_count(); i++) {
        const groat__arch *arch = groat__arch_at(i);
        char text[64];

        (void)snprintf(text, sizeof(text), "%s:%s",
                       groat__backend_name(arch->vendor), arch->name);
        ck_parses(text, arch->vendor, arch, text);
        (void)snprintf(text, sizeof(text), "cpu:%s", arch->name);
        ck_parses(text, GROAT__CPU, arch, text);
    }
}
END_TEST

START_TEST(test_features_are_dropped)
{
    const groat__arch *arch = groat__arch_find("gfx942", 6);

    ck_parses("hip:gfx942:sramecc+:xnack-", GROAT__HIP, arch, "hip:gfx942");
    ck_parses("hip:gfx942:xnack-", GROAT__HIP, arch, "hip:gfx942");
    ck_parses("cpu:gfx942:xnack+", GROAT__CPU, arch, "cpu:gfx942");
}
END_TEST

START_TEST(test_refused)
{
    static const char *const bad[] = {"",
                                      ":",
                                      "cuda",
                                      "cuda:",
                                      "sm_90a",
                                      "gfx950",
                                      "cuda:gfx950",
                                      "hip:sm_90a",
                                      "cpu:",
                                      "cpu",
                                      "cpu:cpu",
                                      "cpu:sm_",
                                      "cuda:sm_9",
                                      "cuda:sm_90b",
                                      "cuda:sm_90a ",
                                      " cuda:sm_90a",
                                      "CUDA:sm_90a",
                                      "cuda :sm_90a",
                                      "cuda:SM_90a",
                                      "cuda::sm_90a",
                                      "cud:sm_90a",
                                      "cudaa:sm_90a",
                                      "rocm:gfx950",
                                      "hip:gfx950+x",
                                      "hip:gfx950\n",
                                      "hip:gfx950:",
                                      "hip:gfx950:xnack",
                                      "hip:gfx950:xnack*",
                                      "hip:gfx950:+",
                                      "hip:gfx950::xnack+",
                                      "hip:gfx950:xnack+ ",
                                      "hip:gfx950:xnack+:",
                                      "hip:gfx950:xnack+x",
                                      "cuda:sm_90a:",
                                      "cuda:sm_90a:xnack+",
                                      "cpu:sm_90a:xnack+"};
    groat_error error = GROAT_ERROR_INIT;
    const groat__target mark = {GROAT__HIP, NULL, "untouched"};

    for (size_t i = 0; i < COUNT(bad); i++) {
        groat__target target = mark;

        ck_assert_msg(groat__target_parse(bad[i], &target, &error) ==
                          GROAT_INVALID,
                      "'%s' parses", bad[i]);
        ck_assert_str_eq(target.text, "untouched");
        ck_assert_ptr_null(target.arch);
        ck_assert_int_eq(groat__target_parse(bad[i], &target, NULL),
                         GROAT_INVALID);
    }
}
END_TEST

START_TEST(test_refusal_lists_every_target)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__target target;
    char seen[201];

    ck_assert_int_eq(groat__target_parse("hip:gfx1100", &target, &error),
                     GROAT_INVALID);
    ck_says(&error, "'hip:gfx1100'");
    ck_says(&error, "cpu:");
    for (size_t i = 0; i < arch_count(); i++) {
        const groat__arch *arch = groat__arch_at(i);
        char text[64];

        (void)snprintf(text, sizeof(text), " %s:%s",
                       groat__backend_name(arch->vendor), arch->name);
        ck_says(&error, text);
    }
    /* A long and hostile text does not push the list out of the error. */
    memset(seen, '\033', sizeof(seen) - 1);
    seen[sizeof(seen) - 1] = '\0';
    ck_assert_int_eq(groat__target_parse(seen, &target, &error), GROAT_INVALID);
    ck_says(&error, "hip:gfx950");
    ck_says(&error, "cpu:");
}
END_TEST

START_TEST(test_find_wants_the_whole_name)
{
    ck_assert_ptr_null(groat__arch_find("", 0));
    ck_assert_ptr_null(groat__arch_find("sm_90a", 2));
    ck_assert_str_eq(groat__arch_find("sm_90a", 5)->name, "sm_90");
    ck_assert_str_eq(groat__arch_find("sm_90a", 6)->name, "sm_90a");
    ck_assert_str_eq(groat__arch_find("gfx950:xnack+", 6)->name, "gfx950");
}
END_TEST

START_TEST(test_backend_names)
{
    ck_assert_str_eq(groat__backend_name(GROAT__CUDA), "cuda");
    ck_assert_str_eq(groat__backend_name(GROAT__HIP), "hip");
    ck_assert_str_eq(groat__backend_name(GROAT__CPU), "cpu");
    ck_assert_str_eq(groat__backend_name(GROAT__BACKENDS), "?");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arch");
    TCase *tcase = tcase_create("arch");

    tcase_add_test(tcase, test_table);
    tcase_add_test(tcase, test_numbers_of_the_guides);
    tcase_add_test(tcase, test_every_target);
    tcase_add_test(tcase, test_features_are_dropped);
    tcase_add_test(tcase, test_refused);
    tcase_add_test(tcase, test_refusal_lists_every_target);
    tcase_add_test(tcase, test_find_wants_the_whole_name);
    tcase_add_test(tcase, test_backend_names);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
