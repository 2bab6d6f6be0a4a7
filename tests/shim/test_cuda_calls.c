/* SPDX-License-Identifier: Apache-2.0
 *
 * test_cuda_calls.c lets each vendor call of groat__device_cuda fail in turn at
 * each place it is made, and leaves out each symbol in turn.  After each run
 * nothing is live and the context stack is as it was.
 */
#include "tests/shim/cuda_rig.h"

/* ---- every call and every symbol ---------------------------------------- */

typedef struct drive_state {
    void *state;
    groat__module *module;
    uint64_t address;
    bool *idle; /* after launches that were noted */
} drive_state;

/* Launches twice on a stream without an id, and once on the default stream;
 * when their work is done is only known after a synchronize. */
static groat_status drive_noted(drive_state *drive, const groat__shape *shape,
                                groat_error *error)
{
    const int args = 1;
    int place = 0;
    void *const streams[] = {&place, &place, NULL};
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < COUNT(streams) && status == GROAT_OK; i++) {
        groat_launch launch = {sizeof(launch), {1, 1, 1}, streams[i]};
        bool captured = false;

        status = DEVICE->launch_noted(drive->state, drive->module, shape,
                                      &launch, &args, &captured, error);
        *drive->idle = *drive->idle && !captured;
    }
    if (status == GROAT_OK)
        status = DEVICE->sync(drive->state, error);
    if (status == GROAT_OK)
        *drive->idle =
            *drive->idle && DEVICE->idle(drive->state, drive->module);
    return status;
}

static groat_status drive_module(drive_state *drive, const groat__shape *shape,
                                 groat_error *error)
{
    groat_launch launch = GROAT_LAUNCH_INIT;
    const int args = 1;
    double us;
    groat_status status = DEVICE->launch(drive->state, drive->module, shape,
                                         &launch, &args, error);

    if (status == GROAT_OK)
        status = DEVICE->time(drive->state, drive->module, shape, &launch,
                              &args, 2, &us, error);
    return status == GROAT_OK ? drive_noted(drive, shape, error) : status;
}

static groat_status drive_memory(drive_state *drive, groat_error *error)
{
    char bytes[16] = "";
    groat_status status =
        DEVICE->alloc(drive->state, sizeof(bytes), &drive->address, error);

    if (status == GROAT_OK)
        status = DEVICE->write(drive->state, drive->address, bytes,
                               sizeof(bytes), error);
    if (status == GROAT_OK)
        status = DEVICE->read(drive->state, bytes, drive->address,
                              sizeof(bytes), error);
    if (status == GROAT_OK)
        status = DEVICE->sync(drive->state, error);
    return status;
}

static groat_status drive_map(drive_state *drive, groat_error *error)
{
    const groat_tensor tensor = {.size = sizeof(tensor),
                                 .address = 4096,
                                 .elem_bytes = 2,
                                 .rank = 2,
                                 .dims = {64, 16},
                                 .strides = {128},
                                 .box = {64, 8},
                                 .swizzle = GROAT_SWIZZLE_128};
    groat_tensor_map map;

    return DEVICE->tensor_map(drive->state, &tensor, &map, error);
}

/* Calls every slot once, with and without a cluster, up to a failure. */
static groat_status drive(const groat__env *env, bool *idle, groat_error *error)
{
    const Elf64_Ehdr cubin = make_cubin();
    groat_device_info info = {.size = sizeof(info)};
    drive_state drive = {.idle = idle};
    groat_status status =
        groat__part_open(&DEVICE->part, env, &drive.state, error);

    if (status != GROAT_OK) {
        ck_assert_ptr_null(drive.state);
        return status;
    }
    status = DEVICE->facts(drive.state, 0, &info, error);
    for (unsigned wide = 1; wide <= 16 && status == GROAT_OK; wide += 15) {
        groat__shape shape = make_shape(100 << 10);

        shape.cluster[0] = wide;
        status = DEVICE->may_load(drive.state, NULL, error);
        if (status != GROAT_OK)
            break;
        status = DEVICE->load(drive.state, &sm_90a, &cubin, sizeof(cubin), "k",
                              &shape, &drive.module, error);
        if (status != GROAT_OK) {
            ck_assert_ptr_null(drive.module);
            break;
        }
        status = drive_module(&drive, &shape, error);
        DEVICE->unload(drive.state, drive.module);
        drive.module = NULL;
    }
    if (status == GROAT_OK)
        status = drive_memory(&drive, error);
    if (status == GROAT_OK)
        status = drive_map(&drive, error);
    DEVICE->release(drive.state, drive.address);
    DEVICE->part.close(drive.state);
    return status;
}

typedef struct vendor_call {
    const char *name;
    const char *symbol;
    bool needed;
} vendor_call;

enum { optional = 0, needed = 1 };

static const vendor_call calls[] = {
#define SYMBOL(need, version, name, symbol, args) {#name, #symbol, need},
#include "backend/cuda.def"
#undef SYMBOL
};

enum { CALLS = COUNT(calls) };

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

/* Releases: a caller could not act on their failure. */
static const char *const forgiven[] = {"cuMemFree",
                                       "cuModuleUnload",
                                       "cuEventDestroy",
                                       "cuCtxPopCurrent",
                                       "cuThreadExchangeStreamCaptureMode",
                                       "cuStreamGetId",
                                       "cuDevicePrimaryCtxRelease",
                                       NULL};

/* Called only for the text of another failure. */
static const char *const words[] = {"cuGetErrorName", "cuGetErrorString",
                                    "cuCtxGetDevice", NULL};

/* After a failure of one of these a module is not idle: the end of its work is
 * unknown. */
static const char *const watched[] = {
    "cuEventCreate",     "cuEventRecord",       "cuEventQuery",
    "cuStreamWaitEvent", "cuStreamIsCapturing", NULL};

static void check_failure(const char *call, int code, groat_status status,
                          bool idle, const groat_error *error)
{
    if (status == GROAT_OK && is_one_of(call, watched)) {
        /* It does not matter which of two events is taken over. */
        ck_assert(!idle || strcmp(call, "cuEventQuery") == 0);
        return;
    }
    if (is_one_of(call, forgiven)) {
        ck_assert_int_eq(status, GROAT_OK);
        return;
    }
    /* The symbol that it did not return is optional, or named as missing. */
    if (strcmp(call, "cuGetProcAddress") == 0) {
        ck_assert(status == GROAT_OK || strstr(error->text, " has no cu"));
        return;
    }
    /* A push before an unload or release is in a call that has no error. */
    if (status == GROAT_OK && (strcmp(call, "cuCtxPushCurrent") == 0 ||
                               strcmp(call, "cuCtxGetCurrent") == 0))
        return;
    ck_assert_int_lt(status, GROAT_OK);
    ck_assert_int_eq(error->status, status);
    if (strcmp(call, "cuCtxPushCurrent") != 0) {
        ck_assert_str_eq(error->vendor_call, call);
        ck_assert_int_eq(error->vendor_code, code);
    }
    if (code == CUDA_ERROR_OUT_OF_MEMORY &&
        strcmp(call, "cuCtxPushCurrent") != 0)
        ck_assert_int_eq(status, GROAT_NO_MEMORY);
}

/* Objects whose release needed the failed push are still live; nothing else
 * is. */
static void drop_stranded(shim_rig *rig, const char *call)
{
    if (strcmp(call, "cuCtxPushCurrent") == 0 ||
        strcmp(call, "cuCtxGetCurrent") == 0) {
        ck_assert_int_le(rig->cuda->modules, 1);
        ck_assert_int_le(rig->cuda->allocations, 1);
        rig->reap();
    }
}

static void fail_each_time(shim_rig *rig, const char *call, int code, int depth,
                           int *hits)
{
    for (int at = 1;; at++) {
        groat_error error = GROAT_ERROR_INIT;
        bool idle = true;
        groat_status status;

        shim_cuda_reset(rig->cuda);
        shim_fail(&rig->cuda->fault, call, at, code);
        status = drive(&rig->env, &idle, &error);
        if (!rig->cuda->fault.hit) {
            ck_assert_msg(status == GROAT_OK, "%s", error.text);
            ck_assert(idle);
            check_clean(rig, depth);
            break;
        }
        (*hits)++;
        check_failure(call, code, status, idle, &error);
        drop_stranded(rig, call);
        check_clean(rig, depth);
        groat_error_clear(&error);
    }
}

START_TEST(each_call_fails_in_turn)
{
    static const int codes[] = {CUDA_ERROR_OUT_OF_MEMORY,
                                CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_UNKNOWN};
    const char *call = calls[_i].name;
    shim_rig rig = rig_open();
    CUcontext popped;
    int hits = 0;

    for (size_t i = 0; i < COUNT(codes); i++) {
        fail_each_time(&rig, call, codes[i], 0, &hits);
        shim_cuda_reset(rig.cuda);
        ck_assert_int_eq(rig.push(rig.user()), CUDA_SUCCESS);
        if (strcmp(call, "cuCtxPushCurrent") != 0)
            fail_each_time(&rig, call, codes[i], 1, &hits);
        ck_assert_ptr_eq(current(&rig), rig.user());
        shim_cuda_reset(rig.cuda);
        ck_assert_int_eq(rig.pop(&popped), CUDA_SUCCESS);
    }
    ck_assert(is_one_of(call, words) ? hits == 0 : hits > 0);
    rig_close(&rig);
}
END_TEST

START_TEST(words_may_be_missing)
{
    static const struct {
        const char *call;
        const char *instead;
    } cases[] = {{"cuGetErrorName", "(no name, the shim says no)"},
                 {"cuGetErrorString", "(CUDA_ERROR_OF_THE_SHIM, no text)"},
                 {"cuCtxGetDevice", "this device allows -1"}};
    const Elf64_Ehdr cubin = make_cubin();
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat_error error = GROAT_ERROR_INIT;
    groat__module *module = NULL;

    for (size_t i = 0; i < COUNT(cases); i++) {
        groat__shape shape = make_shape(1 << 20);

        shim_fail(&rig.cuda->fault, cases[i].call, 1, 999);
        ck_assert_int_eq(DEVICE->load(state, &sm_90a, &cubin, sizeof(cubin),
                                      "k", &shape, &module, &error),
                         GROAT_NO_DEVICE);
        ck_assert_ptr_nonnull(strstr(error.text, cases[i].instead));
    }
    ck_assert_ptr_null(module);
    groat_error_clear(&error);
    DEVICE->part.close(state);
    rig_close(&rig);
}
END_TEST

/* A launch that cannot enter the device's context fails. */
START_TEST(launches_that_cannot_enter)
{
    static const char *const calls_of_enter[] = {"cuCtxGetCurrent",
                                                 "cuCtxPushCurrent"};
    const Elf64_Ehdr cubin = make_cubin();
    shim_rig rig = rig_open();
    groat_error error = GROAT_ERROR_INIT;
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat__shape shape = make_shape(1 << 10);
    const int args = 1;
    void *state = open_state(&rig.env);
    groat__module *module = NULL;
    bool captured = false;

    ck_assert_int_eq(DEVICE->load(state, &sm_90a, &cubin, sizeof(cubin), "k",
                                  &shape, &module, &error),
                     GROAT_OK);
    for (size_t i = 0; i < COUNT(calls_of_enter); i++) {
        shim_fail(&rig.cuda->fault, calls_of_enter[i], 1, 999);
        ck_assert_int_lt(
            DEVICE->launch(state, module, &shape, &launch, &args, &error),
            GROAT_OK);
        shim_fail(&rig.cuda->fault, calls_of_enter[i], 1, 999);
        ck_assert_int_lt(DEVICE->launch_noted(state, module, &shape, &launch,
                                              &args, &captured, &error),
                         GROAT_OK);
        groat_error_clear(&error);
    }
    DEVICE->unload(state, module);
    DEVICE->part.close(state);
    rig_close(&rig);
}
END_TEST

/* Hides one symbol from dlsym, and cuGetProcAddress with it; a driver that has
 * cuGetProcAddress finds every symbol whatever its plain name. */
START_TEST(each_missing_symbol_is_named)
{
    const vendor_call *call = &calls[_i];
    const char *const both[] = {"cuGetProcAddress_v2", call->symbol, NULL};
    bool is_lookup = strcmp(call->symbol, both[0]) == 0;
    const char *const lookup[] = {both[0], NULL};
    const char *shim = shim_path("GROAT_TEST_CUDA_SHIM");
    char *folder = shim_folder_make();
    char *path = shim_copy(shim, folder, "lib.so", is_lookup ? lookup : both);
    groat_error error = GROAT_ERROR_INIT;
    groat__env env = {.cuda = path};
    void *state = NULL;
    void *handle;
    groat_status status;

    shim_cuda_reset(shim_control(path, "shim_cuda", &handle));
    status = groat__part_open(&DEVICE->part, &env, &state, &error);
    if (call->needed) {
        ck_assert_int_eq(status, GROAT_NO_DEVICE);
        ck_assert_msg(strstr(error.text, call->symbol) != NULL, "%s",
                      error.text);
        ck_assert_ptr_nonnull(strstr(error.text, path));
        ck_assert_ptr_null(state);
    } else {
        ck_assert_msg(status == GROAT_OK, "%s", error.text);
        DEVICE->part.close(state);
    }
    (void)dlclose(handle);
    groat_error_clear(&error);
    free(path);
    shim_folder_remove(folder);
}
END_TEST

START_TEST(old_driver_goes_by_plain_names)
{
    const char *const hidden[] = {"cuGetProcAddress_v2", NULL};
    char *folder = shim_folder_make();
    char *path =
        shim_copy(shim_path("GROAT_TEST_CUDA_SHIM"), folder, "lib.so", hidden);
    shim_rig rig = rig_open_path(path);
    groat_error error = GROAT_ERROR_INIT;
    bool idle = true;

    ck_assert_msg(drive(&rig.env, &idle, &error) == GROAT_OK, "%s", error.text);
    ck_assert_int_gt(rig.cuda->launches, 0);
    ck_assert_int_eq(rig.cuda->loads, 2);
    rig_close(&rig);
    free(path);
    shim_folder_remove(folder);
}
END_TEST

START_TEST(wrong_libraries)
{
    static const char *const paths[] = {"/etc/passwd", "/dev/null/none/x.so",
                                        "/"};
    shim_rig rig = rig_open();
    groat_error error = GROAT_ERROR_INIT;
    groat__str out = {0};
    void *state = NULL;

    for (size_t i = 0; i < COUNT(paths); i++) {
        rig.env.cuda = paths[i];
        ck_assert_int_eq(
            groat__part_open(&DEVICE->part, &rig.env, &state, &error),
            GROAT_NO_DEVICE);
        ck_assert_ptr_nonnull(strstr(error.text, "GROAT_CUDA"));
        ck_assert_ptr_nonnull(strstr(error.text, paths[i]));
        groat__str_clear(&out);
        groat__part_report(&DEVICE->part, NULL, &rig.env, &out);
        ck_assert_ptr_eq(strstr(out.data, "libcuda\t0\t"), out.data);
        ck_assert_ptr_eq(strchr(out.data, '\n'), out.data + out.len - 1);
    }
    ck_assert_ptr_null(state);
    groat__str_free(&out);
    groat_error_clear(&error);
    rig_close(&rig);
}
END_TEST

START_TEST(doctor_lists_devices)
{
    shim_rig rig = rig_open();
    groat__str out = {0};

    groat__part_report(&DEVICE->part, NULL, &rig.env, &out);
    ck_assert_ptr_eq(strstr(out.data, "libcuda\t1\t"), out.data);
    ck_assert_ptr_nonnull(strstr(out.data, ", driver 13.0, build "));
    ck_assert_ptr_nonnull(strstr(out.data, "\ncuda device 0\t1\tcuda:sm_90a, "
                                           "Shim GPU, 132 SMs, 131072 MiB, "
                                           "227 KiB shared\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "\ncuda device 1\t1\t"));
    groat__str_clear(&out);
    shim_fail(&rig.cuda->fault, "cuDeviceGetName", 2, 999);
    groat__part_report(&DEVICE->part, NULL, &rig.env, &out);
    ck_assert_ptr_nonnull(strstr(out.data, "\ncuda device 1\t0\tcuDeviceGet"));
    groat__str_clear(&out);
    shim_fail(&rig.cuda->fault, "cuInit", 1, 999);
    groat__part_report(&DEVICE->part, NULL, &rig.env, &out);
    ck_assert_ptr_nonnull(strstr(out.data, "libcuda\t0\tcuInit said 999"));
    groat__str_free(&out);
    rig_close(&rig);
}
END_TEST

/* A failed open in core: NO_DEVICE is remembered with its message, an open that
 * failed for lack of memory is tried again. */
START_TEST(failures_of_open_in_a_context)
{
    shim_rig rig = rig_open();
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context = NULL;

    options.flags = GROAT_OPEN_NO_DISK;
    ck_assert_int_eq(setenv("GROAT_CUDA", rig.env.cuda, 1), 0);
    ck_assert_int_eq(groat_open(&options, &context, &error), GROAT_OK);
    shim_fail(&rig.cuda->fault, "cuInit", 1, CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_int_eq(groat_synchronize(context, "cuda:sm_90a", &error),
                     GROAT_NO_MEMORY);
    shim_fail(&rig.cuda->fault, "cuInit", 1, CUDA_ERROR_UNKNOWN);
    for (int round = 0; round < 2; round++) {
        groat_error_clear(&error);
        ck_assert_int_eq(groat_synchronize(context, "cuda:sm_90a", &error),
                         GROAT_NO_DEVICE);
        ck_assert_str_eq(error.vendor_call, "cuInit");
        ck_assert_int_eq(error.vendor_code, CUDA_ERROR_UNKNOWN);
        ck_assert_ptr_nonnull(strstr(error.text, "cuInit said 999"));
    }
    groat_close(context);
    ck_assert_int_eq(groat_open(&options, &context, &error), GROAT_OK);
    shim_fail(&rig.cuda->fault, "cuInit", 1, CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_int_eq(groat_synchronize(context, "cuda:sm_90a", NULL),
                     GROAT_NO_MEMORY);
    ck_assert_int_eq(groat_synchronize(context, "cuda:sm_90a", NULL), GROAT_OK);
    groat_close(context);
    groat_error_clear(&error);
    rig_close(&rig);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("shim cuda calls");
    TCase *tests = tcase_create("calls");

    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, each_call_fails_in_turn, 0, CALLS);
    tcase_add_test(tests, launches_that_cannot_enter);
    tcase_add_test(tests, words_may_be_missing);
    tcase_add_loop_test(tests, each_missing_symbol_is_named, 0, CALLS);
    tcase_add_test(tests, old_driver_goes_by_plain_names);
    tcase_add_test(tests, wrong_libraries);
    tcase_add_test(tests, doctor_lists_devices);
    tcase_add_test(tests, failures_of_open_in_a_context);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
