/* SPDX-License-Identifier: Apache-2.0
 *
 * test_hiprtc.c drives hiprtc.c with a real hipRTC, where there is one; no GPU
 * is needed.  A kernel that keeps a tile in LDS is compiled for each of our
 * archs that the installed release knows; other archs must not reach the
 * release.  With $GROAT_TEST_PRINT set, each compile prints its figures.
 */
#include "../suite.h"

#include <elf.h>
#include <time.h>

#include "backend/backend.h"
#include "exact.h"

static const char source[] =
    "struct tile_args { const float *from; float *to; unsigned rows; };\n"
    "extern \"C\" __global__ void __launch_bounds__(256)\n"
    "transpose_tile(tile_args a)\n"
    "{\n"
    "    __shared__ float tile[16][17];\n"
    "    unsigned x = threadIdx.x % 16, y = threadIdx.x / 16;\n"
    "    tile[y][x] = y < a.rows ? a.from[y * 16 + x] : 0.0f;\n"
    "    __syncthreads();\n"
    "    a.to[y * 16 + x] = tile[x][y];\n"
    "}\n";

static const groat__compiler *const rtc = &groat__compiler_hiprtc;
static const char *const arch_names[] = {"gfx90a", "gfx942", "gfx950"};
enum { ARCHS = 3 };

static groat__env environment(void)
{
    groat__env env = {0};

    env.home = getenv("HOME");
    env.hiprtc = getenv("GROAT_HIPRTC");
    env.hip = getenv("GROAT_HIP");
    env.comgr = getenv("GROAT_COMGR");
    env.rocm_path = getenv("ROCM_PATH");
    env.virtual_env = getenv("VIRTUAL_ENV");
    env.conda_prefix = getenv("CONDA_PREFIX");
    env.tmpdir = getenv("TMPDIR");
    return env;
}

static void *open_rtc(void)
{
    groat__env env = environment();
    groat_error error = GROAT_ERROR_INIT;
    void *state = NULL;
    groat_status status = groat__part_open(&rtc->part, &env, &state, &error);

    ck_assert_msg(status == GROAT_OK, "%s", error.text);
    return state;
}

static const groat__arch *arch(int index)
{
    const char *name = arch_names[index];

    return groat__arch_find(name, strlen(name));
}

static bool knows(void *state, int index)
{
    groat__str who = {0};
    bool known = rtc->identify(state, arch(index), &who, NULL) == GROAT_OK;

    groat__str_free(&who);
    return known;
}

static groat__binary compile(void *state, int index)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__binary binary = {0};
    groat_status status =
        rtc->compile(state, arch(index), "transpose_tile.hip", source,
                     "transpose_tile", &binary, &error);

    ck_assert_msg(status == GROAT_OK, "%s\n%s", error.text,
                  error.log != NULL ? error.log : "");
    return binary;
}

static double now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void print_figures(int index, const groat__binary *binary, double ms)
{
    if (getenv("GROAT_TEST_PRINT") != NULL)
        printf("%s: %.1f ms, %zu bytes, %d VGPRs, %d SGPRs, %d bytes of LDS\n",
               arch_names[index], ms, binary->bytes,
               (int)binary->facts.registers, (int)binary->facts.sgprs,
               (int)binary->facts.shared_bytes);
}

START_TEST(every_known_arch_compiles)
{
    void *state = open_rtc();
    int compiled = 0;

    for (int i = 0; i < ARCHS; i++) {
        double start = now_ms();
        groat__binary binary;
        Elf64_Ehdr head;

        if (!knows(state, i))
            continue;
        start = now_ms();
        binary = compile(state, i);
        print_figures(i, &binary, now_ms() - start);
        compiled++;
        ck_assert_uint_gt(binary.bytes, sizeof(head));
        memcpy(&head, binary.data, sizeof(head));
        ck_assert_mem_eq(head.e_ident, ELFMAG, SELFMAG);
        ck_assert_uint_eq(head.e_machine, 224);
        ck_assert(groat__amdgpu_elf_whole(binary.data, binary.bytes));
        ck_assert_int_gt(binary.facts.registers, 0);
        ck_assert_int_gt(binary.facts.sgprs, 0);
        ck_assert_int_eq(binary.facts.spill_bytes, 0);
        ck_assert_int_eq(binary.facts.shared_bytes, 16 * 17 * 4);
        ck_assert_int_eq(binary.facts.max_threads, 256);
        ck_assert_int_eq(binary.facts.code_bytes, (int64_t)binary.bytes);
        free(binary.data);
        free(binary.log);
    }
    ck_assert_int_gt(compiled, 0);
    rtc->part.close(state);
}
END_TEST

START_TEST(same_source_gives_same_bytes)
{
    void *first = open_rtc();
    void *second = open_rtc();
    groat__binary a = compile(first, 0);
    groat__binary b = compile(second, 0);

    ck_assert_uint_eq(a.bytes, b.bytes);
    ck_assert_mem_eq(a.data, b.data, a.bytes);
    free(a.data);
    free(a.log);
    free(b.data);
    free(b.log);
    rtc->part.close(first);
    /* Closed and reopened: the libraries stay loaded and still work. */
    first = open_rtc();
    a = compile(first, 0);
    ck_assert_uint_gt(a.bytes, 0);
    free(a.data);
    free(a.log);
    rtc->part.close(first);
    rtc->part.close(second);
}
END_TEST

START_TEST(identity_is_the_same_each_time)
{
    void *state = open_rtc();
    groat__str one = {0};
    groat__str two = {0};

    ck_assert_int_eq(rtc->identify(state, arch(0), &one, NULL), GROAT_OK);
    ck_assert_int_eq(rtc->identify(state, arch(0), &two, NULL), GROAT_OK);
    ck_assert_str_eq(one.data, two.data);
    ck_assert_ptr_nonnull(strstr(one.data, " comgr "));
    ck_assert_ptr_null(strchr(one.data, '/'));
    if (getenv("GROAT_TEST_PRINT") != NULL)
        printf("%s", one.data);
    groat__str_free(&one);
    groat__str_free(&two);
    rtc->part.close(state);
}
END_TEST

/* Old releases abort on unknown archs; groat must check first. */
START_TEST(unknown_arch_is_refused)
{
    static const groat__arch strangers[] = {
        {.name = "gfx1", .vendor = GROAT__HIP},
        {.name = "gfx90", .vendor = GROAT__HIP}, /* a prefix of gfx90a */
        {.name = "gfx99999", .vendor = GROAT__HIP},
        {.name = "", .vendor = GROAT__HIP}};
    void *state = open_rtc();
    groat_error error = GROAT_ERROR_INIT;
    groat__binary binary = {0};

    for (size_t i = 0; i < COUNT(strangers); i++) {
        ck_assert_int_eq(rtc->compile(state, &strangers[i], "a.hip", source,
                                      "transpose_tile", &binary, &error),
                         GROAT_NO_DEVICE);
        ck_assert_ptr_nonnull(strstr(error.text, "gfx90a"));
        ck_assert_ptr_null(binary.data);
    }
    for (int i = 0; i < ARCHS; i++)
        if (!knows(state, i))
            ck_assert_int_eq(rtc->compile(state, arch(i), "a.hip", source,
                                          "transpose_tile", &binary, &error),
                             GROAT_NO_DEVICE);
    groat_error_clear(&error);
    rtc->part.close(state);
}
END_TEST

START_TEST(broken_kernel_gives_a_log)
{
    void *state = open_rtc();
    groat_error error = GROAT_ERROR_INIT;
    groat__binary binary = {0};

    ck_assert_int_eq(
        rtc->compile(state, arch(0), "broken.hip",
                     "extern \"C\" __global__ void k() { no_such_name(); }\n",
                     "k", &binary, &error),
        GROAT_COMPILE_FAILED);
    ck_assert_ptr_nonnull(error.log);
    ck_assert_ptr_nonnull(strstr(error.log, "no_such_name"));
    ck_assert_ptr_nonnull(strstr(error.text, "broken.hip"));
    ck_assert_int_ne(error.vendor_code, 0);
    ck_assert_int_eq(rtc->compile(state, arch(0), "a.hip", source,
                                  "another_name", &binary, &error),
                     GROAT_COMPILE_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "another_name"));
    ck_assert_ptr_null(binary.data);
    groat_error_clear(&error);
    rtc->part.close(state);
}
END_TEST

/* comgr reads TMPDIR when it compiles; setting it affects only this process. */
START_TEST(bad_temporary_folder_is_named)
{
    groat__env env = environment();
    groat_error error = GROAT_ERROR_INIT;
    groat__binary binary = {0};
    void *state = NULL;
    groat_status status;
    char *before = env.tmpdir != NULL ? strdup(env.tmpdir) : NULL;

    env.tmpdir = "/dev/null/none/groat";
    ck_assert_int_eq(setenv("TMPDIR", env.tmpdir, 1), 0);
    ck_assert_int_eq(setenv("AMD_COMGR_CACHE", "0", 1), 0);
    ck_assert_int_eq(groat__part_open(&rtc->part, &env, &state, &error),
                     GROAT_OK);
    status = rtc->compile(state, arch(0), "a.hip", source, "transpose_tile",
                          &binary, &error);
    ck_assert_int_eq(status, GROAT_COMPILE_FAILED);
    ck_assert_msg(error.log != NULL || strstr(error.text, env.tmpdir) != NULL,
                  "%s", error.text);
    groat_error_clear(&error);
    rtc->part.close(state);
    ck_assert_int_eq(
        before != NULL ? setenv("TMPDIR", before, 1) : unsetenv("TMPDIR"), 0);
    free(before);
}
END_TEST

static groat__amdgpu_finding read_exact(const void *data, size_t bytes)
{
    return exact_kernel(data, bytes, "transpose_tile");
}

START_TEST(damage_to_a_real_object_is_survived)
{
    void *state = open_rtc();
    groat__binary binary = compile(state, 0);
    unsigned char *data = binary.data;

    ck_assert_int_eq(read_exact(data, binary.bytes), GROAT__AMDGPU_FOUND);
    for (size_t cut = 0; cut < binary.bytes; cut++) {
        ck_assert(!groat__amdgpu_elf_whole(data, cut));
        (void)read_exact(data, cut);
    }
    for (size_t bit = 0; bit < 8 * binary.bytes; bit++) {
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        (void)read_exact(data, binary.bytes);
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    ck_assert_int_eq(read_exact(data, binary.bytes), GROAT__AMDGPU_FOUND);
    free(binary.data);
    free(binary.log);
    rtc->part.close(state);
}
END_TEST

static Suite *hiprtc_suite(void)
{
    Suite *suite = suite_create("hiprtc");
    TCase *tcase = tcase_create("hiprtc");

    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, every_known_arch_compiles);
    tcase_add_test(tcase, same_source_gives_same_bytes);
    tcase_add_test(tcase, identity_is_the_same_each_time);
    tcase_add_test(tcase, unknown_arch_is_refused);
    tcase_add_test(tcase, broken_kernel_gives_a_log);
    tcase_add_test(tcase, bad_temporary_folder_is_named);
    tcase_add_test(tcase, damage_to_a_real_object_is_survived);
    suite_add_tcase(suite, tcase);
    return suite;
}

/* Returns 0 if there is a hipRTC that knows gfx90a; else prints the reason. */
static int missing(void)
{
    groat__env env = environment();
    groat_error error = GROAT_ERROR_INIT;
    void *state = NULL;
    int result = 0;

    if (groat__part_open(&rtc->part, &env, &state, &error) != GROAT_OK) {
        printf("SKIP: no hipRTC: %.200s\n", error.text);
        result = 77;
    } else if (!knows(state, 0)) {
        printf("SKIP: the installed hipRTC does not know gfx90a\n");
        result = 77;
    }
    rtc->part.close(state);
    groat_error_clear(&error);
    return result;
}

int main(void)
{
    int skip = missing();

    return skip != 0 ? skip : run_suite(hiprtc_suite());
}
