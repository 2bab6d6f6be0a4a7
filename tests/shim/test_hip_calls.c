/* SPDX-License-Identifier: Apache-2.0
 *
 * test_hip_calls.c runs hiprtc.c and hip.c whole over stand-in libraries: with
 * every vendor call failing in turn, in the layouts of ROCm 5, 6 and 7, with
 * symbols and libraries missing, and through the doctor.  After each run no
 * program, module, event or allocation is live and the thread's device is the
 * one it started with.
 */
#include "tests/shim/hip_bench.h"

/* ---- each vendor call fails in turn ----------------------------------- */

/* Releases, logs and queries: their failure is never an error of groat. */
static bool is_quiet(const char *name)
{
    static const char *const quiet[] = {"hiprtcDestroyProgram",
                                        "hiprtcGetProgramLogSize",
                                        "hipModuleUnload",
                                        "hipEventDestroy",
                                        "hipFree",
                                        "hipRuntimeGetVersion",
                                        "hipFuncSetAttribute",
                                        "hipEventCreateWithFlags",
                                        "hipEventQuery",
                                        "hipStreamWaitEvent"};

    for (size_t i = 0; i < COUNT(quiet); i++)
        if (strcmp(quiet[i], name) == 0)
            return true;
    return false;
}

/* Called only on failure or in other layouts; other tests cover them. */
static bool is_unused(const char *name)
{
    static const char *const unused[] = {
        "hiprtcGetErrorString", "hiprtcGetProgramLog", "hipGetErrorName",
        "hipGetErrorString", "hipGetDeviceProperties"};

    for (size_t i = 0; i < COUNT(unused); i++)
        if (strcmp(unused[i], name) == 0)
            return true;
    return false;
}

typedef groat_status run_fn(bench *b);

static groat_status run_good_compile(bench *b)
{
    return run_compiler(b, source);
}

/* A failure only where the work needs the call: not when the old device is
 * restored, and not for an optional fact. */
static bool is_forgiven_at_times(const char *name)
{
    static const char *const names[] = {
        "hipGetDevice",        "hipSetDevice",   "hipDeviceGetAttribute",
        "hipFuncGetAttribute", "hipEventRecord", "hipStreamIsCapturing"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return is_quiet(name);
}

/* After a silent failure of one of these the end of the work is unknown. */
static bool is_watched(const char *name)
{
    return strcmp(name, "hipEventCreateWithFlags") == 0 ||
           strcmp(name, "hipStreamWaitEvent") == 0 ||
           strcmp(name, "hipEventRecord") == 0 ||
           strcmp(name, "hipStreamIsCapturing") == 0;
}

/* Lets the 1st, 2nd, ... call of name fail until there is no further one. */
static void fail_each(const char *name, shim_fault *(*fault_of)(bench *),
                      run_fn *run, int code)
{
    int hits = 0;
    int told = 0;

    for (int at = 1;; at++) {
        bench b = usual_bench();
        shim_fault *fault = fault_of(&b);
        groat_status status;

        memset(fault, 0, sizeof(*fault));
        (void)snprintf(fault->call, sizeof(fault->call), "%s", name);
        fault->at = at;
        fault->code = code;
        status = run(&b);
        /* A runtime that refuses to restore the device cannot be forced to. */
        if (strcmp(name, "hipSetDevice") == 0)
            b.hip->current = CALLERS_DEVICE;
        check_nothing_live(&b);
        if (!fault->hit) {
            ck_assert_msg(status == GROAT_OK, "%s", b.error.text);
            break;
        }
        hits++;
        if (status == GROAT_OK) {
            ck_assert(!is_watched(name) || !b.idle);
            ck_assert_msg(is_forgiven_at_times(name),
                          "call %d of %s failed, and nobody said so", at, name);
        } else {
            told++;
            check_named(&b, name, code);
        }
        groat_error_clear(&b.error);
    }
    ck_assert_msg(hits > 0 || is_unused(name), "%s was never called", name);
    ck_assert_msg(hits == 0 || (told > 0) == !is_quiet(name),
                  "%s failed %d times, told %d times", name, hits, told);
}

static shim_fault *rtc_fault(bench *b)
{
    return &b->rtc->fault;
}

static shim_fault *comgr_fault(bench *b)
{
    return &b->comgr->fault;
}

static shim_fault *hip_fault(bench *b)
{
    return &b->hip->fault;
}

static const char *const rtc_names[] = {
#define RTC(name, needed, result, parameters, names) #name,
#include "backend/hiprtc.def"
};

static const char *const comgr_names[] = {
#define COMGR(name, needed, result, parameters, names) #name,
#include "backend/hiprtc.def"
};

static const char *const hip_names[] = {
#define HIP(name, needed, result, parameters, names) #name,
#include "backend/hip.def"
};

START_TEST(each_call_of_hiprtc_fails)
{
    /* This layout's library does not have it. */
    if (strcmp(rtc_names[_i], "hipRuntimeGetVersion") != 0)
        fail_each(rtc_names[_i], rtc_fault, run_good_compile, 11);
}
END_TEST

START_TEST(each_call_of_comgr_fails)
{
    fail_each(comgr_names[_i], comgr_fault, run_good_compile, 1);
}
END_TEST

START_TEST(each_call_of_hip_fails)
{
    fail_each(hip_names[_i], hip_fault, run_device, 303);
}
END_TEST

/* ---- layouts ----------------------------------------------------------- */

static const struct {
    const char *rtc;
    const char *hip;
    const char *version; /* in the identity, as far as it is known          */
    int r0600;           /* calls of the new structure in one run           */
} layouts[] = {
    {"GROAT_TEST_HIP5_SHIM", "GROAT_TEST_HIP5_SHIM", "hiprtc 5.2.21153 ", 0},
    {"GROAT_TEST_HIP6_SHIM", "GROAT_TEST_HIP6_SHIM", "hiprtc 6.4.43484 ", 2},
    {"GROAT_TEST_HIPRTC_SHIM", "GROAT_TEST_HIP6_SHIM", "hiprtc ", 2},
    {"GROAT_TEST_HIPRTC_SHIM", "GROAT_TEST_HIP_SHIM", "hiprtc ", 2},
};

START_TEST(every_layout_works_whole)
{
    bench b = open_bench(layouts[_i].rtc, layouts[_i].hip);
    groat__str who = {0};
    void *state = NULL;

    ck_assert_int_eq(run_compiler(&b, source), GROAT_OK);
    ck_assert_int_eq(run_device(&b), GROAT_OK);
    ck_assert_int_eq(b.hip->properties_r0600, layouts[_i].r0600);
    ck_assert_int_eq(groat__part_open(&rtc->part, &b.env, &state, &b.error),
                     GROAT_OK);
    ck_assert_int_eq(rtc->identify(state, arch("gfx90a"), &who, &b.error),
                     GROAT_OK);
    ck_assert_ptr_nonnull(strstr(who.data, layouts[_i].version));
    groat__str_free(&who);
    rtc->part.close(state);
    check_nothing_live(&b);
}
END_TEST

START_TEST(old_properties_fail_by_their_own_name)
{
    bench b = open_bench("GROAT_TEST_HIP5_SHIM", "GROAT_TEST_HIP5_SHIM");

    b.hip->fault = (shim_fault){"hipGetDeviceProperties", 1, 303, false};
    ck_assert_int_eq(run_device(&b), GROAT_NO_DEVICE);
    check_named(&b, "hipGetDeviceProperties", 303);
    groat_error_clear(&b.error);
}
END_TEST

START_TEST(missing_symbol_is_named)
{
    bench b = usual_bench();

    b.env.hiprtc = shim("GROAT_TEST_HIPRTC_LACKS_SHIM");
    b.env.hip = shim("GROAT_TEST_HIP_LACKS_SHIM");
    ck_assert_int_eq(run_compiler(&b, source), GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(b.error.text, "hiprtcGetCode"));
    ck_assert_int_eq(run_device(&b), GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(b.error.text, "hipModuleUnload"));
    groat_error_clear(&b.error);
}
END_TEST

START_TEST(missing_library_is_named)
{
    bench b = usual_bench();

    b.env.hip = "/dev/null/none/libamdhip64.so";
    ck_assert_int_eq(run_device(&b), GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(b.error.text, "GROAT_HIP=/dev/null/none/"));
    b.env.comgr = "/dev/null/none/libamd_comgr.so";
    ck_assert_int_eq(run_compiler(&b, source), GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(b.error.text, "GROAT_COMGR=/dev/null/none/"));
    b.env.hiprtc = "/dev/null/none/libhiprtc.so";
    ck_assert_int_eq(run_compiler(&b, source), GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(b.error.text, "GROAT_HIPRTC=/dev/null/none/"));
    groat_error_clear(&b.error);
}
END_TEST

/* ---- the doctor -------------------------------------------------------- */

/* Every line is "subject\tusable\ttext". */
static void check_lines(const groat__str *out)
{
    const char *line = out->data;

    ck_assert_ptr_nonnull(line);
    while (*line != '\0') {
        size_t len = strcspn(line, "\n");
        const char *tab = memchr(line, '\t', len);

        ck_assert_ptr_nonnull(tab);
        ck_assert(tab[1] == '0' || tab[1] == '1');
        ck_assert_int_eq(tab[2], '\t');
        ck_assert_ptr_null(
            memchr(tab + 3, '\t', len - (size_t)(tab + 3 - line)));
        ck_assert_int_eq(line[len], '\n');
        line += len + 1;
    }
}

static void check_doctors(bench *b, void *rtc_state, void *hip_state,
                          const char *const *expected)
{
    groat__str out = {0};

    groat__part_report(&rtc->part, rtc_state, &b->env, &out);
    groat__part_report(&hip->part, hip_state, &b->env, &out);
    check_lines(&out);
    for (; *expected != NULL; expected++)
        ck_assert_msg(strstr(out.data, *expected) != NULL, "no %s in:\n%s",
                      *expected, out.data);
    groat__str_free(&out);
    check_nothing_live(b);
}

START_TEST(doctor_tells_what_is_there)
{
    static const char *const expected[] = {"libhiprtc\t1\t",
                                           "libamd_comgr\t1\t",
                                           "gfx90a gfx942 gfx950",
                                           "AMD_COMGR_CACHE=0",
                                           "libamdhip64\t1\t",
                                           "7.2.53211",
                                           "hip device 1\t1\thip:gfx950",
                                           NULL};
    bench b = usual_bench();
    void *rtc_state = NULL;
    void *hip_state = open_device(&b);

    ck_assert_int_eq(groat__part_open(&rtc->part, &b.env, &rtc_state, &b.error),
                     GROAT_OK);
    check_doctors(&b, rtc_state, hip_state, expected);
    check_doctors(&b, NULL, NULL, expected);
    rtc->part.close(rtc_state);
    hip->part.close(hip_state);
}
END_TEST

START_TEST(doctor_tells_why_not)
{
    static const char *const no_files[] = {
        "libhiprtc\t0\t", "libamdhip64\t0\tcannot open GROAT_HIP=", NULL};
    static const char *const lacking[] = {
        "libhiprtc\t0\t", "lacks the symbol hiprtcGetCode", "libamdhip64\t0\t",
        "lacks the symbol hipModuleUnload", NULL};
    static const char *const no_devices[] = {
        "libamd_comgr\t0\tcannot open GROAT_COMGR=",
        "hip devices\t0\tthere is no hip device: hipInit said 100", NULL};
    static const char *const broken[] = {"hiprtc TMPDIR\t0\t/dev/null/none",
                                         "hip devices\t0\thipInit said 3",
                                         NULL};
    bench b = usual_bench();

    b.env.tmpdir = "/dev/null/none";
    b.hip->init = 3;
    check_doctors(&b, NULL, NULL, broken);
    b.env.comgr = "/dev/null/none/c";
    b.hip->init = 100;
    check_doctors(&b, NULL, NULL, no_devices);
    b.env.hiprtc = shim("GROAT_TEST_HIPRTC_LACKS_SHIM");
    b.env.hip = shim("GROAT_TEST_HIP_LACKS_SHIM");
    check_doctors(&b, NULL, NULL, lacking);
    b.env.hiprtc = b.env.hip = "/dev/null/none/h";
    check_doctors(&b, NULL, NULL, no_files);
}
END_TEST

START_TEST(doctor_tells_of_a_mismatch)
{
    static const char *const expected[] = {"libhiprtc\t0\tversion 5.2.21153",
                                           "does not match 7.2.53211", NULL};
    bench b = open_bench("GROAT_TEST_HIP5_SHIM", "GROAT_TEST_HIP_SHIM");

    check_doctors(&b, NULL, NULL, expected);
}
END_TEST

static Suite *hip_calls_suite(void)
{
    Suite *suite = suite_create("hip_calls");
    TCase *calls = tcase_create("calls");
    TCase *layout = tcase_create("layouts");
    TCase *doctor = tcase_create("doctor");

    tcase_add_loop_test(calls, each_call_of_hiprtc_fails, 0, COUNT(rtc_names));
    tcase_add_loop_test(calls, each_call_of_comgr_fails, 0, COUNT(comgr_names));
    tcase_add_loop_test(calls, each_call_of_hip_fails, 0, COUNT(hip_names));
    suite_add_tcase(suite, calls);
    tcase_add_loop_test(layout, every_layout_works_whole, 0, COUNT(layouts));
    tcase_add_test(layout, old_properties_fail_by_their_own_name);
    tcase_add_test(layout, missing_symbol_is_named);
    tcase_add_test(layout, missing_library_is_named);
    suite_add_tcase(suite, layout);
    tcase_add_test(doctor, doctor_tells_what_is_there);
    tcase_add_test(doctor, doctor_tells_why_not);
    tcase_add_test(doctor, doctor_tells_of_a_mismatch);
    suite_add_tcase(suite, doctor);
    return suite;
}

int main(void)
{
    return run_hip_suite(hip_calls_suite());
}
