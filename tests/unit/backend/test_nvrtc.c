/* SPDX-License-Identifier: Apache-2.0
 *
 * test_nvrtc.c compiles with the NVRTC of this machine, found as the library
 * finds it; needs no GPU.  It is skipped where there is no NVRTC.
 */
#include "../suite.h"

#include <dlfcn.h>
#include <elf.h>

#include "backend/backend.h"

#define COMPILER (&groat__compiler_nvrtc)

static const char kernel[] =
    "extern \"C\" __global__ void __launch_bounds__(128) k(const int *in,\n"
    "                                                      int *out)\n"
    "{\n"
    "    __shared__ int tile[128];\n"
    "    tile[threadIdx.x] = in[threadIdx.x];\n"
    "    __syncthreads();\n"
    "#ifdef WGMMA\n"
    "    asm volatile(\"wgmma.fence.sync.aligned;\");\n"
    "#endif\n"
    "    out[threadIdx.x] = tile[127 - threadIdx.x];\n"
    "}\n";

static groat__env test_env(void)
{
    groat__env env = {0};

    env.home = getenv("HOME");
    env.nvrtc = getenv("GROAT_NVRTC");
    env.cuda = getenv("GROAT_CUDA");
    env.cuda_home = getenv("CUDA_HOME");
    if (env.cuda_home == NULL)
        env.cuda_home = getenv("CUDA_PATH");
    env.virtual_env = getenv("VIRTUAL_ENV");
    env.conda_prefix = getenv("CONDA_PREFIX");
    return env;
}

static void *open_state(void)
{
    const groat__env env = test_env();
    groat_error error = GROAT_ERROR_INIT;
    void *state = NULL;

    ck_assert_msg(groat__part_open(&COMPILER->part, &env, &state, &error) ==
                      GROAT_OK,
                  "%s", error.text);
    return state;
}

static groat__arch make_arch(const char *name)
{
    groat__arch arch = {.name = name, .vendor = GROAT__CUDA};

    return arch;
}

static void free_binary(groat__binary *binary)
{
    free(binary->data);
    free(binary->log);
    memset(binary, 0, sizeof(*binary));
}

static const char *const archs[] = {"sm_80", "sm_90a", "sm_100a"};

static void check_machine_code(const groat__binary *binary, const char *arch)
{
    groat__str compiled = {0};

    ck_assert_uint_gt(binary->bytes, sizeof(Elf64_Ehdr));
    ck_assert_mem_eq(binary->data, ELFMAG, SELFMAG);
    groat__str_addf(&compiled, "entry function 'k' for '%s'", arch);
    ck_assert_ptr_nonnull(binary->log);
    ck_assert_ptr_nonnull(strstr(binary->log, compiled.data));
    ck_assert_int_ge(binary->facts.registers, 4);
    ck_assert_int_le(binary->facts.registers, 255);
    ck_assert_int_eq(binary->facts.spill_bytes, 0);
    ck_assert_int_ge(binary->facts.shared_bytes, 512);
    ck_assert_int_eq(binary->facts.code_bytes, (int64_t)binary->bytes);
    groat__str_free(&compiled);
}

START_TEST(compiles_for_each_arch)
{
    void *state = open_state();
    const groat__arch arch = make_arch(archs[_i]);
    groat_error error = GROAT_ERROR_INIT;
    groat__binary first = {0};
    groat__binary binary;
    groat__str who = {0};
    bool ptx;

    ck_assert_int_eq(COMPILER->identify(state, &arch, &who, NULL), GROAT_OK);
    ptx = strstr(who.data, "form ptx driver ") != NULL;
    /* The second compile repeats the first and must be as complete. */
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(COMPILER->compile(state, &arch, "kernel.cu", kernel, "k",
                                        &binary, &error) == GROAT_OK,
                      "%s", error.text);
        if (ptx)
            ck_assert_ptr_nonnull(strstr(binary.data, ".entry k("));
        else
            check_machine_code(&binary, archs[_i]);
        if (i == 0) {
            first = binary;
            continue;
        }
        ck_assert_uint_eq(binary.bytes, first.bytes);
        ck_assert_mem_eq(binary.data, first.data, first.bytes);
        ck_assert_mem_eq(&binary.facts, &first.facts, sizeof(first.facts));
        free_binary(&binary);
    }
    free_binary(&first);
    groat__str_free(&who);
    COMPILER->part.close(state);
}
END_TEST

START_TEST(letter_forms_have_their_instructions)
{
    void *state = open_state();
    const groat__arch with = make_arch("sm_90a");
    const groat__arch without = make_arch("sm_90");
    groat_error error = GROAT_ERROR_INIT;
    groat__str source = {0};
    groat__binary binary = {0};

    groat__str_addf(&source, "#define WGMMA\n%s", kernel);
    ck_assert_msg(COMPILER->compile(state, &with, "kernel.cu", source.data, "k",
                                    &binary, &error) == GROAT_OK,
                  "%s", error.text);
    free_binary(&binary);
    ck_assert_int_eq(COMPILER->compile(state, &without, "kernel.cu",
                                       source.data, "k", &binary, &error),
                     GROAT_COMPILE_FAILED);
    ck_assert_ptr_null(binary.data);
    groat_error_clear(&error);
    groat__str_free(&source);
    COMPILER->part.close(state);
}
END_TEST

START_TEST(broken_kernel_has_a_log)
{
    void *state = open_state();
    const groat__arch arch = make_arch("sm_90a");
    groat_error error = GROAT_ERROR_INIT;
    groat__binary binary = {0};

    ck_assert_int_eq(COMPILER->compile(state, &arch, "broken.cu",
                                       "extern \"C\" __global__ void k()\n"
                                       "{\n"
                                       "    undeclared = 1;\n"
                                       "}\n",
                                       "k", &binary, &error),
                     GROAT_COMPILE_FAILED);
    ck_assert_ptr_null(binary.data);
    ck_assert_str_eq(error.vendor_call, "nvrtcCompileProgram");
    ck_assert_ptr_nonnull(strstr(error.text, "broken.cu(3)"));
    ck_assert_ptr_nonnull(strstr(error.text, "undeclared"));
    ck_assert_ptr_nonnull(strstr(error.log, "broken.cu(3)"));
    groat_error_clear(&error);
    COMPILER->part.close(state);
}
END_TEST

START_TEST(identity_is_stable)
{
    const groat__arch arch = make_arch("sm_90a");
    groat__str first = {0};
    groat__str second = {0};
    void *state = open_state();

    ck_assert_int_eq(COMPILER->identify(state, &arch, &first, NULL), GROAT_OK);
    COMPILER->part.close(state);
    state = open_state();
    ck_assert_int_eq(COMPILER->identify(state, &arch, &second, NULL), GROAT_OK);
    ck_assert_str_eq(first.data, second.data);
    groat__str_clear(&second);
    ck_assert_int_eq(COMPILER->identify(state, &arch, &second, NULL), GROAT_OK);
    ck_assert_str_eq(first.data, second.data);
    ck_assert_int_eq(strncmp(first.data, "compiler nvrtc 1", 16), 0);
    ck_assert_ptr_nonnull(
        strstr(first.data, "\noption --gpu-architecture=sm_90a\n"));
    ck_assert_ptr_null(strchr(first.data, '/'));
    groat__str_free(&first);
    groat__str_free(&second);
    COMPILER->part.close(state);
}
END_TEST

START_TEST(ancient_arch_is_refused)
{
    const groat__arch arch = make_arch("sm_20");
    groat_error error = GROAT_ERROR_INIT;
    groat__str who = {0};
    void *state = open_state();

    ck_assert_int_eq(COMPILER->identify(state, &arch, &who, &error),
                     GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(error.text, " sm_90"));
    groat_error_clear(&error);
    groat__str_free(&who);
    COMPILER->part.close(state);
}
END_TEST

/* Keeps the library loaded: else each close would lose what it allocated for
 * good, and leak checkers would count it.  False: there is no library. */
static bool pin_library(void)
{
    static const char head[] = "libnvrtc\t1\t";
    const groat__env env = test_env();
    groat_error error = GROAT_ERROR_INIT;
    groat__str out = {0};
    void *state = NULL;
    bool found;

    found = groat__part_open(&COMPILER->part, &env, &state, &error) == GROAT_OK;
    if (found) {
        groat__part_report(&COMPILER->part, state, &env, &out);
        if (out.data != NULL && strncmp(out.data, head, strlen(head)) == 0) {
            char *path = out.data + strlen(head);

            path[strcspn(path, ",")] = '\0';
            (void)dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        }
        COMPILER->part.close(state);
    } else {
        printf("SKIP: %s\n", error.text);
    }
    groat__str_free(&out);
    groat_error_clear(&error);
    return found;
}

static Suite *nvrtc_suite(void)
{
    Suite *suite = suite_create("nvrtc");
    TCase *tests = tcase_create("compile");

    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, compiles_for_each_arch, 0, COUNT(archs));
    tcase_add_test(tests, letter_forms_have_their_instructions);
    tcase_add_test(tests, broken_kernel_has_a_log);
    tcase_add_test(tests, identity_is_stable);
    tcase_add_test(tests, ancient_arch_is_refused);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return pin_library() ? run_suite(nvrtc_suite()) : 77;
}
