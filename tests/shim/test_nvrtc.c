/* SPDX-License-Identifier: Apache-2.0
 *
 * test_nvrtc.c drives every slot of groat__compiler_nvrtc through the stand-in
 * libnvrtc: the good path, each vendor call failing in turn, each symbol
 * missing in turn, PTX as the fallback, and builtins that do not fit.
 */
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>

#include "backend/backend.h"
#include "backend/cuda_abi.h"
#include "tests/shim/copy.h"
#include "tests/shim/shim.h"
#include "tests/unit/suite.h"

#define COMPILER (&groat__compiler_nvrtc)

static const char source[] = "extern \"C\" __global__ void k() {}";
static const groat__arch sm_90a = {.name = "sm_90a", .vendor = GROAT__CUDA};
static const groat__arch sm_120a = {.name = "sm_120a", .vendor = GROAT__CUDA};
static const groat__arch sm_70 = {.name = "sm_70", .vendor = GROAT__CUDA};
static const groat__arch gfx = {.name = "gfx90a", .vendor = GROAT__HIP};

static void reset(shim_nvrtc_control *control)
{
    static const int archs[] = {75, 80, 86, 89, 90};

    memset(control, 0, sizeof(*control));
    control->major = 13;
    control->minor = 0;
    memcpy(control->archs, archs, sizeof(archs));
    control->arch_count = 5;
    control->builtins = true;
}

/* The libraries of one test: the shared stand-ins, freshly reset. */
typedef struct shim_rig {
    groat__env env;
    shim_nvrtc_control *nvrtc;
    shim_cuda_control *cuda;
    void *handles[2];
} shim_rig;

static shim_rig rig_open(void)
{
    shim_rig rig = {0};

    rig.env.nvrtc = shim_path("GROAT_TEST_NVRTC_SHIM");
    rig.env.cuda = shim_path("GROAT_TEST_CUDA_SHIM");
    rig.nvrtc = shim_control(rig.env.nvrtc, "shim_nvrtc", &rig.handles[0]);
    rig.cuda = shim_control(rig.env.cuda, "shim_cuda", &rig.handles[1]);
    reset(rig.nvrtc);
    memset(rig.cuda, 0, sizeof(*rig.cuda));
    rig.cuda->driver = 13010;
    return rig;
}

static void rig_close(shim_rig *rig)
{
    ck_assert_int_eq(rig->nvrtc->programs, 0);
    (void)dlclose(rig->handles[0]);
    (void)dlclose(rig->handles[1]);
}

static void *open_state(const groat__env *env)
{
    groat_error error = GROAT_ERROR_INIT;
    void *state = NULL;

    ck_assert_msg(groat__part_open(&COMPILER->part, env, &state, &error) ==
                      GROAT_OK,
                  "%s", error.text);
    ck_assert_ptr_nonnull(state);
    return state;
}

static char *identity(void *state, const groat__arch *arch)
{
    groat__str who = {0};

    ck_assert_int_eq(COMPILER->identify(state, arch, &who, NULL), GROAT_OK);
    return groat__str_take(&who);
}

static void free_binary(groat__binary *binary)
{
    free(binary->data);
    free(binary->log);
    memset(binary, 0, sizeof(*binary));
}

START_TEST(compiles_machine_code)
{
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    char *who = identity(state, &sm_90a);
    groat__binary binary;

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(COMPILER->compile(state, &sm_90a, "k.cu", source, "k",
                                           &binary, NULL),
                         GROAT_OK);
        ck_assert_uint_eq(binary.bytes, sizeof(Elf64_Ehdr));
        ck_assert_mem_eq(binary.data, ELFMAG, SELFMAG);
        ck_assert_ptr_nonnull(strstr(binary.log, "ptxas info"));
        ck_assert_ptr_null(strstr(binary.log, "66.524"));
        ck_assert_int_eq(binary.facts.registers, 38);
        ck_assert_int_eq(binary.facts.spill_bytes, 12);
        ck_assert_int_eq(binary.facts.shared_bytes, 256);
        ck_assert_int_eq(binary.facts.code_bytes, (int64_t)binary.bytes);
        ck_assert_int_eq(binary.facts.sgprs, -1);
        ck_assert_int_eq(binary.facts.max_threads, -1);
        free_binary(&binary);
    }
    ck_assert_str_eq(rig.nvrtc->options,
                     "--gpu-architecture=sm_90a --std=c++17 "
                     "--ptxas-options=-v --no-cache ");
    ck_assert_ptr_eq(strstr(who, "compiler nvrtc 13.0 build "), who);
    ck_assert_ptr_nonnull(strstr(who, "\noption --gpu-architecture=sm_90a\n"
                                      "option --std=c++17\n"
                                      "option --ptxas-options=-v\n"
                                      "option --no-cache\n"));
    ck_assert_ptr_null(strstr(who, "form ptx"));
    ck_assert_ptr_null(strchr(who, '/'));
    free(who);
    COMPILER->part.close(state);
    rig_close(&rig);
}
END_TEST

START_TEST(facts_are_of_the_entry)
{
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat__binary binary;

    ck_assert_int_eq(
        COMPILER->compile(state, &sm_90a, "k.cu", source, "k2", &binary, NULL),
        GROAT_OK);
    ck_assert_int_eq(binary.facts.registers, 99);
    ck_assert_int_eq(binary.facts.shared_bytes, 7);
    ck_assert_int_eq(binary.facts.spill_bytes, -1);
    free_binary(&binary);
    ck_assert_int_eq(COMPILER->compile(state, &sm_90a, "k.cu", source, "other",
                                       &binary, NULL),
                     GROAT_OK);
    ck_assert_int_eq(binary.facts.registers, -1);
    free_binary(&binary);
    COMPILER->part.close(state);
    rig_close(&rig);
}
END_TEST

START_TEST(identity_follows_version)
{
    static const struct {
        int major;
        int minor;
        bool no_cache;
    } versions[] = {{12, 0, false},
                    {12, 8, false},
                    {12, 9, true},
                    {13, 0, true},
                    {14, 2, true}};
    shim_rig rig = rig_open();

    for (size_t i = 0; i < COUNT(versions); i++) {
        groat__str head = {0};
        groat__binary binary;
        void *state;
        char *who;

        rig.nvrtc->major = versions[i].major;
        rig.nvrtc->minor = versions[i].minor;
        state = open_state(&rig.env);
        who = identity(state, &sm_90a);
        groat__str_addf(&head, "compiler nvrtc %d.%d build ", versions[i].major,
                        versions[i].minor);
        ck_assert_int_eq(strncmp(who, head.data, head.len), 0);
        ck_assert(!versions[i].no_cache ==
                  (strstr(who, "option --no-cache\n") == NULL));
        ck_assert_int_eq(COMPILER->compile(state, &sm_90a, "k.cu", source, "k",
                                           &binary, NULL),
                         GROAT_OK);
        free_binary(&binary);
        free(who);
        groat__str_free(&head);
        COMPILER->part.close(state);
    }
    rig_close(&rig);
}
END_TEST

START_TEST(newer_arch_becomes_ptx)
{
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    char *who = identity(state, &sm_120a);
    groat__binary binary;

    ck_assert_int_eq(
        COMPILER->compile(state, &sm_120a, "k.cu", source, "k", &binary, NULL),
        GROAT_OK);
    ck_assert_str_eq(binary.data, "// compute_90");
    ck_assert_uint_eq(binary.bytes, sizeof("// compute_90"));
    ck_assert_ptr_null(binary.log);
    ck_assert_int_eq(binary.facts.registers, -1);
    free_binary(&binary);
    ck_assert_str_eq(rig.nvrtc->options, "--gpu-architecture=compute_90 "
                                         "--std=c++17 --no-cache ");
    ck_assert_ptr_nonnull(strstr(who, "option --gpu-architecture=compute_90\n"
                                      "option --std=c++17\n"
                                      "option --no-cache\n"
                                      "form ptx driver 13010\n"));
    free(who);
    COMPILER->part.close(state);

    rig.env.cuda = "/dev/null/none/libcuda.so.1";
    state = open_state(&rig.env);
    who = identity(state, &sm_120a);
    ck_assert_ptr_nonnull(strstr(who, "form ptx driver 0\n"));
    free(who);
    COMPILER->part.close(state);
    rig_close(&rig);
}
END_TEST

START_TEST(unknown_archs_are_listed)
{
    static const char *const strange[] = {"sm_",     "sm_x", "sm_90x", "gfx950",
                                          "sm_90aa", "",     "90",     "sm_0"};
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat_error error = GROAT_ERROR_INIT;
    groat__str who = {0};
    groat__binary binary = {0};

    ck_assert_int_eq(COMPILER->identify(state, &sm_70, &who, &error),
                     GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(
        strstr(error.text, "'sm_70'; it knows sm_75 sm_80 sm_86 sm_89 sm_90"));
    ck_assert_int_eq(
        COMPILER->compile(state, &gfx, "k.cu", source, "k", &binary, &error),
        GROAT_NO_DEVICE);
    ck_assert_ptr_null(binary.data);
    for (size_t i = 0; i < COUNT(strange); i++) {
        groat__arch arch = {.name = strange[i]};

        ck_assert_int_eq(COMPILER->identify(state, &arch, &who, &error),
                         GROAT_NO_DEVICE);
    }
    ck_assert_uint_eq(who.len, 0);
    groat_error_clear(&error);
    COMPILER->part.close(state);
    rig_close(&rig);
}
END_TEST

START_TEST(broken_source_has_its_log)
{
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat_error error = GROAT_ERROR_INIT;
    groat__binary binary = {0};

    ck_assert_int_eq(COMPILER->compile(state, &sm_90a, "k.cu", "broken", "k",
                                       &binary, &error),
                     GROAT_COMPILE_FAILED);
    ck_assert_str_eq(error.text,
                     "nvrtcCompileProgram said 6 (NVRTC_ERROR_COMPILATION) of "
                     "k.cu: k.cu(2): error: it is broken");
    ck_assert_str_eq(error.vendor_call, "nvrtcCompileProgram");
    ck_assert_int_eq(error.vendor_code, NVRTC_ERROR_COMPILATION);
    ck_assert_ptr_nonnull(strstr(error.log, "k.cu(1): remark\n"));
    ck_assert_ptr_null(binary.data);
    ck_assert_int_eq(
        COMPILER->compile(state, &sm_90a, "k.cu", "broken", "k", &binary, NULL),
        GROAT_COMPILE_FAILED);
    groat_error_clear(&error);

    rig.nvrtc->empty_binary = true;
    ck_assert_int_eq(
        COMPILER->compile(state, &sm_90a, "k.cu", source, "k", &binary, &error),
        GROAT_COMPILE_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "0 bytes of machine code"));
    groat_error_clear(&error);
    rig.nvrtc->empty_binary = false;
    rig.nvrtc->cut_binary = true;
    ck_fails(
        COMPILER->compile(state, &sm_90a, "k.cu", source, "k", &binary, &error),
        GROAT_COMPILE_FAILED, &error, "not a complete ELF file");
    COMPILER->part.close(state);
    rig_close(&rig);
}
END_TEST

/* Opens, identifies and compiles for an arch; ends at the first failure. */
static groat_status drive(const groat__env *env, const groat__arch *arch,
                          bool *compiled, groat_error *error)
{
    groat__binary binary = {0};
    groat__str who = {0};
    void *state = NULL;
    groat_status status = groat__part_open(&COMPILER->part, env, &state, error);

    *compiled = false;
    if (status != GROAT_OK) {
        ck_assert_ptr_null(state);
        return status;
    }
    status = COMPILER->identify(state, arch, &who, error);
    if (status == GROAT_OK)
        status =
            COMPILER->compile(state, arch, "k.cu", source, "k", &binary, error);
    *compiled = binary.data != NULL;
    free_binary(&binary);
    groat__str_free(&who);
    COMPILER->part.close(state);
    return status;
}

/* A kernel without its log is fine, and a program is gone either way. */
static bool may_fail(const char *call)
{
    return strcmp(call, "nvrtcGetProgramLogSize") == 0 ||
           strcmp(call, "nvrtcGetProgramLog") == 0 ||
           strcmp(call, "nvrtcDestroyProgram") == 0;
}

static void fail_each_time(shim_rig *rig, const char *call,
                           const groat__arch *arch, int code, int *hits)
{
    for (int at = 1;; at++) {
        groat_error error = GROAT_ERROR_INIT;
        bool compiled;
        groat_status status;

        reset(rig->nvrtc);
        shim_fail(&rig->nvrtc->fault, call, at, code);
        status = drive(&rig->env, arch, &compiled, &error);
        ck_assert_int_eq(rig->nvrtc->programs, 0);
        if (!rig->nvrtc->fault.hit) {
            ck_assert_int_eq(status, GROAT_OK);
            break;
        }
        (*hits)++;
        if (may_fail(call)) {
            ck_assert_int_eq(status, GROAT_OK);
            ck_assert(compiled);
        } else {
            ck_assert_int_lt(status, GROAT_OK);
            ck_assert(!compiled);
            ck_assert_int_eq(error.status, status);
            ck_assert_str_eq(error.vendor_call, call);
            ck_assert_int_eq(error.vendor_code, code);
            ck_assert_ptr_nonnull(strstr(error.text, call));
            if (code == NVRTC_ERROR_OUT_OF_MEMORY)
                ck_assert_int_eq(status, GROAT_NO_MEMORY);
        }
        groat_error_clear(&error);
    }
}

static const char *const calls[] = {
#define SYMBOL(need, result, name, args) #name,
#include "backend/nvrtc.def"
#undef SYMBOL
};

enum { CALLS = COUNT(calls) };

START_TEST(each_call_fails_in_turn)
{
    static const int codes[] = {NVRTC_ERROR_OUT_OF_MEMORY, 11};
    shim_rig rig = rig_open();
    const char *call = calls[_i];
    int hits = 0;

    for (size_t i = 0; i < COUNT(codes); i++) {
        fail_each_time(&rig, call, &sm_90a, codes[i], &hits);
        fail_each_time(&rig, call, &sm_120a, codes[i], &hits);
    }
    /* The call for the text of an error has no result that could fail. */
    if (strcmp(call, "nvrtcGetErrorString") != 0)
        ck_assert_int_gt(hits, 0);
    rig_close(&rig);
}
END_TEST

START_TEST(each_missing_symbol_is_named)
{
    shim_rig rig = rig_open();
    const char *const hidden[] = {calls[_i], NULL};
    char *folder = shim_folder_make();
    char *path = shim_copy(rig.env.nvrtc, folder, "lib.so", hidden);
    groat_error error = GROAT_ERROR_INIT;
    void *state = NULL;

    rig.env.nvrtc = path;
    ck_assert_int_eq(
        groat__part_open(&COMPILER->part, &rig.env, &state, &error),
        GROAT_NO_DEVICE);
    ck_assert_msg(strstr(error.text, calls[_i]) != NULL, "%s", error.text);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    ck_assert_ptr_null(state);
    groat_error_clear(&error);
    free(path);
    shim_folder_remove(folder);
    rig_close(&rig);
}
END_TEST

START_TEST(wrong_libraries)
{
    static const char *const paths[] = {"/etc/passwd", "/dev/null/none/x.so",
                                        "/", ""};
    shim_rig rig = rig_open();
    groat_error error = GROAT_ERROR_INIT;
    groat__str out = {0};
    void *state = NULL;

    rig.nvrtc->major = 11;
    rig.nvrtc->minor = 8;
    ck_assert_int_eq(
        groat__part_open(&COMPILER->part, &rig.env, &state, &error),
        GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(error.text, "NVRTC 11.8; 12.0 or newer"));
    for (int i = -1; i < 2; i++) {
        rig.nvrtc->major = 13;
        rig.nvrtc->arch_count = i * 100000;
        ck_assert_int_eq(
            groat__part_open(&COMPILER->part, &rig.env, &state, &error),
            GROAT_NO_DEVICE);
    }
    for (size_t i = 0; i < COUNT(paths); i++) {
        rig.env.nvrtc = paths[i];
        groat_error_clear(&error);
        if (paths[i][0] != '\0') {
            ck_assert_int_eq(
                groat__part_open(&COMPILER->part, &rig.env, &state, &error),
                GROAT_NO_DEVICE);
            ck_assert_ptr_nonnull(strstr(error.text, "GROAT_NVRTC"));
            ck_assert_ptr_nonnull(strstr(error.text, paths[i]));
        }
        groat__str_clear(&out);
        groat__part_report(&COMPILER->part, NULL, &rig.env, &out);
        ck_assert_ptr_eq(strstr(out.data, "libnvrtc\t"), out.data);
    }
    ck_assert_ptr_null(state);
    COMPILER->part.close(NULL);
    groat__str_free(&out);
    groat_error_clear(&error);
    rig_close(&rig);
}
END_TEST

/* Sets a version that no toolkit has: no builtins of this machine match. */
static void no_such_release(shim_nvrtc_control *control)
{
    reset(control);
    control->minor = 77;
}

START_TEST(builtins_are_named_when_missing)
{
    shim_rig rig = rig_open();
    groat_error error = GROAT_ERROR_INIT;
    groat__str out = {0};
    bool compiled;
    void *state;

    no_such_release(rig.nvrtc);
    rig.nvrtc->builtins = false;
    ck_assert_int_eq(drive(&rig.env, &sm_90a, &compiled, &error),
                     GROAT_COMPILE_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, rig.env.nvrtc));
    ck_assert_ptr_nonnull(strstr(error.text,
                                 "needs libnvrtc-builtins.so.13.77 of the same "
                                 "release beside it; there is none"));
    ck_assert_ptr_nonnull(strstr(error.log, "failed to open"));
    state = open_state(&rig.env);
    groat__part_report(&COMPILER->part, state, &rig.env, &out);
    ck_assert_ptr_nonnull(strstr(out.data, "libnvrtc-builtins\t0\t"));
    COMPILER->part.close(state);
    groat__str_free(&out);
    groat_error_clear(&error);
    rig_close(&rig);
}
END_TEST

START_TEST(builtins_beside_are_opened)
{
    shim_rig rig = rig_open();
    char *folder = shim_folder_make();
    char *nvrtc = shim_copy(rig.env.nvrtc, folder, "libnvrtc.so.13", NULL);
    char *builtins =
        shim_copy(rig.env.cuda, folder, "libnvrtc-builtins.so.13.77", NULL);
    groat_error error = GROAT_ERROR_INIT;
    groat__str out = {0};
    shim_nvrtc_control *control;
    void *copy = NULL;
    bool compiled;

    rig.env.nvrtc = nvrtc;
    control = shim_control(nvrtc, "shim_nvrtc", &copy);
    no_such_release(control);
    ck_assert_int_eq(drive(&rig.env, &sm_90a, &compiled, &error), GROAT_OK);
    ck_assert(compiled);
    groat__part_report(&COMPILER->part, NULL, &rig.env, &out);
    ck_assert_ptr_nonnull(strstr(out.data, "libnvrtc-builtins\t1\t"));
    ck_assert_ptr_nonnull(strstr(out.data, builtins));
    control->builtins = false;
    ck_assert_int_eq(drive(&rig.env, &sm_90a, &compiled, &error),
                     GROAT_COMPILE_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "the file found did not work: "));
    ck_assert_ptr_nonnull(strstr(error.text, builtins));
    (void)dlclose(copy);
    groat__str_free(&out);
    groat_error_clear(&error);
    free(builtins);
    free(nvrtc);
    shim_folder_remove(folder);
    rig_close(&rig);
}
END_TEST

START_TEST(doctor_warns_of_an_older_driver)
{
    shim_rig rig = rig_open();
    groat__str out = {0};
    void *state;

    rig.cuda->driver = 12040;
    groat__part_report(&COMPILER->part, NULL, &rig.env, &out);
    ck_assert_ptr_nonnull(strstr(out.data, "libnvrtc\t1\t"));
    ck_assert_ptr_nonnull(strstr(out.data, "version 13.0, build "));
    ck_assert_ptr_nonnull(
        strstr(out.data, "nvrtc archs\t1\tsm_75 sm_80 sm_86 sm_89 sm_90\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "nvrtc and driver\t0\tNVRTC 13.0 is "
                                           "a major release newer than the "
                                           "driver's CUDA 12.4"));
    groat__str_clear(&out);
    rig.cuda->driver = 13000;
    state = open_state(&rig.env);
    groat__part_report(&COMPILER->part, state, &rig.env, &out);
    ck_assert_ptr_null(strstr(out.data, "nvrtc and driver"));
    COMPILER->part.close(state);
    groat__str_free(&out);
    rig_close(&rig);
}
END_TEST

static void *compile_some(void *user)
{
    groat__binary binary;
    int *good = calloc(1, sizeof(*good));

    for (int i = 0; good != NULL && i < 20; i++) {
        const groat__arch *arch = i % 2 == 0 ? &sm_90a : &sm_120a;
        groat__str who = {0};

        if (COMPILER->identify(user, arch, &who, NULL) == GROAT_OK &&
            COMPILER->compile(user, arch, "k.cu", source, "k", &binary, NULL) ==
                GROAT_OK) {
            free_binary(&binary);
            (*good)++;
        }
        groat__str_free(&who);
    }
    return good;
}

START_TEST(threads_share_a_state)
{
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, compile_some, state),
                         0);
    for (int i = 0; i < 4; i++) {
        void *good = NULL;

        ck_assert_int_eq(pthread_join(threads[i], &good), 0);
        ck_assert_ptr_nonnull(good);
        ck_assert_int_eq(*(int *)good, 20);
        free(good);
    }
    COMPILER->part.close(state);
    rig_close(&rig);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("shim nvrtc");
    TCase *tests = tcase_create("compiler");

    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, compiles_machine_code);
    tcase_add_test(tests, facts_are_of_the_entry);
    tcase_add_test(tests, identity_follows_version);
    tcase_add_test(tests, newer_arch_becomes_ptx);
    tcase_add_test(tests, unknown_archs_are_listed);
    tcase_add_test(tests, broken_source_has_its_log);
    tcase_add_loop_test(tests, each_call_fails_in_turn, 0, CALLS);
    tcase_add_loop_test(tests, each_missing_symbol_is_named, 0, CALLS);
    tcase_add_test(tests, wrong_libraries);
    tcase_add_test(tests, builtins_are_named_when_missing);
    tcase_add_test(tests, builtins_beside_are_opened);
    tcase_add_test(tests, doctor_warns_of_an_older_driver);
    tcase_add_test(tests, threads_share_a_state);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
