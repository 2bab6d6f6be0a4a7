/* SPDX-License-Identifier: Apache-2.0
 *
 * test_hip.c drives every slot of hiprtc.c and hip.c over stand-in libraries:
 * what is passed to the vendor, what is refused before it is asked, and how its
 * answers are classified.  test_hip_calls.c lets each vendor call fail.
 */
#include "tests/shim/hip_bench.h"

#include <pthread.h>
#include <unistd.h>

/* ---- the compiler ------------------------------------------------------ */

START_TEST(identity_names_compiler_and_options)
{
    bench b = usual_bench();
    groat__str who = {0};
    void *state = NULL;
    const char *options;

    ck_assert_int_eq(groat__part_open(&rtc->part, &b.env, &state, &b.error),
                     GROAT_OK);
    ck_assert_int_eq(rtc->identify(state, arch("gfx950"), &who, &b.error),
                     GROAT_OK);
    ck_assert_int_eq(strncmp(who.data, "compiler hiprtc ", 16), 0);
    ck_assert_ptr_nonnull(strstr(who.data, " build "));
    ck_assert_ptr_nonnull(strstr(who.data, " comgr "));
    ck_assert_ptr_null(strchr(who.data, '/'));
    options = strchr(who.data, '\n');
    ck_assert_str_eq(options, "\noption --offload-arch=gfx950\noption -O3\n"
                              "option -std=c++17\n");
    groat__str_free(&who);
    rtc->part.close(state);
}
END_TEST

/* Another LLVM is another compiler. */
START_TEST(identity_names_the_llvm_of_comgr)
{
    bench b = usual_bench();
    groat__str who = {0};
    void *state = NULL;
    char build[65] = "";
    const char *llvm;

    b.env.comgr = shim("GROAT_TEST_COMGR_LLVM_SHIM");
    ck_assert_int_eq(groat__part_open(&rtc->part, &b.env, &state, &b.error),
                     GROAT_OK);
    ck_assert_int_eq(rtc->identify(state, arch("gfx950"), &who, &b.error),
                     GROAT_OK);
    llvm = strstr(who.data, " llvm ");
    ck_assert_ptr_nonnull(llvm);
    ck_assert_int_eq(sscanf(llvm, " llvm %64[0-9a-f]", build), 1);
    ck_assert_uint_ge(strlen(build), 16);
    ck_assert_int_eq(strncmp(llvm + 6 + strlen(build), "\noption ", 8), 0);
    groat__str_free(&who);
    rtc->part.close(state);
}
END_TEST

START_TEST(compile_gives_binary_log_and_facts)
{
    bench b = usual_bench();
    groat__binary binary = {0};
    void *state = NULL;

    b.rtc->warns = true;
    ck_assert_int_eq(groat__part_open(&rtc->part, &b.env, &state, &b.error),
                     GROAT_OK);
    ck_assert_int_eq(rtc->compile(state, arch("gfx90a"), "a.hip", source,
                                  "copy_tile", &binary, &b.error),
                     GROAT_OK);
    ck_assert_str_eq(b.rtc->options, "--offload-arch=gfx90a -O3 -std=c++17 ");
    ck_assert_ptr_nonnull(strstr(binary.log, "warning"));
    ck_assert_int_eq(binary.facts.registers, 37);
    ck_assert_int_eq(binary.facts.sgprs, 24);
    ck_assert_int_eq(binary.facts.spill_bytes, 16);
    ck_assert_int_eq(binary.facts.shared_bytes, 4096);
    ck_assert_int_eq(binary.facts.max_threads, 256);
    ck_assert_int_eq(binary.facts.code_bytes, (int64_t)binary.bytes);
    free(binary.data);
    free(binary.log);
    rtc->part.close(state);
    check_nothing_live(&b);
}
END_TEST

/* Two threads never call hipRTC at once. */
static void *compile_often(void *state)
{
    size_t failed = 0;

    for (int i = 0; i < 20; i++) {
        groat__binary binary = {0};

        failed += rtc->compile(state, arch("gfx90a"), "a.hip", source,
                               "copy_tile", &binary, NULL) != GROAT_OK;
        groat__binary_free(&binary);
    }
    return (void *)failed;
}

START_TEST(compiles_of_threads_do_not_overlap)
{
    bench b = usual_bench();
    pthread_t threads[8];
    void *state = NULL;

    ck_assert_int_eq(groat__part_open(&rtc->part, &b.env, &state, &b.error),
                     GROAT_OK);
    for (size_t i = 0; i < COUNT(threads); i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, compile_often, state), 0);
    for (size_t i = 0; i < COUNT(threads); i++) {
        void *failed = &b;

        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    ck_assert_int_eq(b.rtc->compiles, 20 * (int)COUNT(threads));
    ck_assert_int_eq(atomic_load(&b.rtc->overlaps), 0);
    rtc->part.close(state);
    check_nothing_live(&b);
}
END_TEST

START_TEST(unknown_arch_is_refused_before_the_compile)
{
    static const groat__arch future = {.name = "gfx1250", .vendor = GROAT__HIP};
    bench b = usual_bench();
    groat__binary binary = {0};
    groat__str who = {0};
    void *state = NULL;

    b.comgr->isas = 3; /* up to gfx942 */
    ck_assert_int_eq(groat__part_open(&rtc->part, &b.env, &state, &b.error),
                     GROAT_OK);
    ck_assert_int_eq(rtc->identify(state, &future, &who, &b.error),
                     GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(b.error.text, "gfx1250"));
    ck_assert_ptr_nonnull(strstr(b.error.text, ": gfx90a gfx942 "));
    ck_assert_ptr_null(who.data);
    ck_assert_int_eq(rtc->compile(state, arch("gfx950"), "a.hip", source,
                                  "copy_tile", &binary, &b.error),
                     GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(b.error.text, "gfx950"));
    ck_assert_int_eq(b.rtc->compiles, 0);
    ck_assert_int_eq(rtc->identify(state, arch("sm_90a"), &who, &b.error),
                     GROAT_NO_DEVICE);
    groat_error_clear(&b.error);
    rtc->part.close(state);
    check_nothing_live(&b);
}
END_TEST

START_TEST(broken_kernel_gives_its_log)
{
    bench b = usual_bench();

    ck_assert_int_eq(run_compiler(&b, "nonsense void copy_tile()"),
                     GROAT_COMPILE_FAILED);
    ck_assert_ptr_nonnull(strstr(b.error.text, "unknown type name"));
    ck_assert_ptr_nonnull(strstr(b.error.log, "1 error generated"));
    ck_assert_int_eq(b.error.vendor_code, 6);
    groat_error_clear(&b.error);
    check_nothing_live(&b);
}
END_TEST

/* The log's calls fail: the failure stands, without a log. */
START_TEST(log_that_cannot_be_read_is_none)
{
    static const char *const calls[] = {"hiprtcGetProgramLogSize",
                                        "hiprtcGetProgramLog"};
    bench b = usual_bench();

    b.rtc->fault = (shim_fault){.at = 1, .code = 11};
    (void)snprintf(b.rtc->fault.call, sizeof(b.rtc->fault.call), "%s",
                   calls[_i]);
    ck_assert_int_eq(run_compiler(&b, "nonsense void copy_tile()"),
                     GROAT_COMPILE_FAILED);
    ck_assert(b.rtc->fault.hit);
    ck_assert_ptr_null(b.error.log);
    ck_assert_ptr_nonnull(strstr(b.error.text, "without a log"));
    groat_error_clear(&b.error);
    check_nothing_live(&b);
}
END_TEST

START_TEST(empty_log_names_a_bad_temporary_folder)
{
    bench b = usual_bench();
    char file[] = "/tmp/groat-test-XXXXXX";
    int fd = mkstemp(file);

    ck_assert_int_ge(fd, 0);
    (void)close(fd);
    b.rtc->silent = true;
    b.env.tmpdir = "/dev/null/none/groat";
    ck_assert_int_eq(run_compiler(&b, source), GROAT_COMPILE_FAILED);
    ck_assert_ptr_nonnull(strstr(b.error.text, "TMPDIR"));
    ck_assert_ptr_nonnull(strstr(b.error.text, "/dev/null/none/groat"));
    b.env.tmpdir = file; /* not a folder */
    ck_assert_int_eq(run_compiler(&b, source), GROAT_COMPILE_FAILED);
    ck_assert_ptr_nonnull(strstr(b.error.text, "TMPDIR"));
    b.env.tmpdir = NULL; /* /tmp, which is writable: another reason */
    ck_assert_int_eq(run_compiler(&b, source), GROAT_COMPILE_FAILED);
    ck_assert_ptr_null(strstr(b.error.text, "TMPDIR"));
    ck_assert_ptr_nonnull(strstr(b.error.text, "/tmp is writable"));
    groat_error_clear(&b.error);
    (void)unlink(file);
    check_nothing_live(&b);
}
END_TEST

START_TEST(output_that_is_no_kernel_is_refused)
{
    static const struct {
        shim_output output;
        const char *text;
    } cases[] = {{SHIM_OUTPUT_EMPTY, "0 bytes"},
                 {SHIM_OUTPUT_GARBAGE, "not an AMDGPU ELF"},
                 {SHIM_OUTPUT_OTHER_KERNEL, "no kernel named copy_tile"}};
    bench b = usual_bench();

    b.rtc->output = cases[_i].output;
    ck_assert_int_eq(run_compiler(&b, source), GROAT_COMPILE_FAILED);
    ck_assert_ptr_nonnull(strstr(b.error.text, cases[_i].text));
    groat_error_clear(&b.error);
    check_nothing_live(&b);
}
END_TEST

START_TEST(memory_of_the_compiler_is_memory)
{
    bench b = usual_bench();

    b.rtc->fault = (shim_fault){"hiprtcCompileProgram", 1, 1, false};
    ck_assert_int_eq(run_compiler(&b, source), GROAT_NO_MEMORY);
    groat_error_clear(&b.error);
    /* a vendor without error texts */
    b.rtc->fault = (shim_fault){"hiprtcGetErrorString", 1, 0, false};
    b.rtc->output = SHIM_OUTPUT_GOOD;
    ck_assert_int_eq(run_compiler(&b, source), GROAT_OK);
    check_nothing_live(&b);
}
END_TEST

/* ---- the device -------------------------------------------------------- */

START_TEST(no_device_is_no_error_of_open)
{
    static const struct {
        const char *call;
        int code;
    } cases[] = {
        {"hipInit", 100}, {"hipInit", 101}, {"hipGetDeviceCount", 100}};
    bench b = usual_bench();
    uint64_t address = 0;
    void *state;

    if (strcmp(cases[_i].call, "hipInit") == 0)
        b.hip->init = cases[_i].code;
    else
        b.hip->devices = 0;
    state = open_device(&b);
    ck_assert_uint_eq(hip->count(state), 0);
    ck_assert_int_eq(hip->alloc(state, 1, &address, &b.error), GROAT_NO_DEVICE);
    check_named(&b, cases[_i].call, cases[_i].code);
    ck_assert_int_eq(hip->sync(state, &b.error), GROAT_NO_DEVICE);
    groat_error_clear(&b.error);
    hip->part.close(state);
}
END_TEST

START_TEST(facts_of_a_device)
{
    bench b = usual_bench();
    groat_device_info info = {.size = sizeof(info)};
    void *state = open_device(&b);

    ck_assert_uint_eq(hip->count(state), 2);
    ck_assert_int_eq(hip->facts(state, 1, &info, &b.error), GROAT_OK);
    ck_assert_str_eq(info.target, "hip:gfx950");
    ck_assert_str_eq(info.name, "Stand-in 1");
    ck_assert_uint_eq(info.size, sizeof(info));
    ck_assert_int_eq(info.ordinal, 1);
    ck_assert_uint_eq(info.memory_bytes, 2ull << 30);
    ck_assert_int_eq(info.multiprocessors, 256);
    ck_assert_int_eq(info.shared_bytes_max, 163840);
    ck_assert_int_eq(info.clock_khz, 2400000);
    b.hip->optin_lds = 0; /* a release that refuses this attribute */
    ck_assert_int_eq(hip->facts(state, 0, &info, &b.error), GROAT_OK);
    ck_assert_int_eq(info.shared_bytes_max, 65536);
    b.hip->optin_lds = 1024; /* a release that reports less */
    ck_assert_int_eq(hip->facts(state, 0, &info, &b.error), GROAT_OK);
    ck_assert_int_eq(info.shared_bytes_max, 65536);
    ck_assert_int_eq(hip->facts(state, 2, &info, &b.error), GROAT_INVALID);
    b.hip->arch = "ZZZ";
    ck_assert_int_eq(hip->facts(state, 0, &info, &b.error), GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(b.error.text, "ZZZ"));
    groat_error_clear(&b.error);
    hip->part.close(state);
}
END_TEST

/* Loads copy_tile with this much LDS; NULL on failure. */
static groat__module *load(bench *b, void *state, const char *arch_name,
                           groat__shape *shape, groat_status *status)
{
    unsigned char object[AMDGPU_OBJECT_ROOM];
    size_t bytes = make_object(object, "copy_tile");
    groat__module *module = NULL;

    *status = hip->load(state, arch(arch_name), object, bytes, "copy_tile",
                        shape, &module, &b->error);
    return module;
}

START_TEST(lds_is_split_into_static_and_dynamic)
{
    static const struct {
        unsigned shared;
        int fixed;
        unsigned dynamic;
        int leave;
    } cases[] = {
        {163840, 0, 163840, 163840},
        {163840, 32768, 131072, 131072},
        {65536, 0, 65536, 0},
        {65537, 0, 65537, 65537},
        {4096, 4096, 0, 0},
        {4096, 8192, 0, 0},
        {0, 0, 0, 0},
    };
    bench b = usual_bench();
    void *state = open_device(&b);
    groat__shape shape = shape_of(cases[_i].shared);
    groat_launch launch = {sizeof(launch), {1, 1, 1}, NULL};
    groat__module *module;
    groat_status status;
    int argument = 0;

    b.hip->static_lds = cases[_i].fixed;
    module = load(&b, state, "gfx950", &shape, &status);
    ck_assert_int_eq(status, GROAT_OK);
    ck_assert_uint_eq(shape.dynamic_bytes, cases[_i].dynamic);
    ck_assert_int_eq(b.hip->dynamic_max, cases[_i].leave);
    ck_assert_int_eq(
        hip->launch(state, module, &shape, &launch, &argument, &b.error),
        GROAT_OK);
    ck_assert_uint_eq(b.hip->last.shared, cases[_i].dynamic);
    hip->unload(state, module);
    hip->part.close(state);
    check_nothing_live(&b);
}
END_TEST

START_TEST(nothing_is_loaded_into_a_capture)
{
    bench b = usual_bench();
    void *state = open_device(&b);
    int place = 0;
    void *const streams[] = {NULL, &place};

    for (size_t i = 0; i < COUNT(streams); i++) {
        b.hip->capture = 0;
        ck_assert_int_eq(hip->may_load(state, streams[i], &b.error), GROAT_OK);
        b.hip->capture = 1;
        ck_fails(hip->may_load(state, streams[i], &b.error), GROAT_CAPTURING,
                 &b.error, "while a graph is captured from its stream");
        b.hip->capture = 2;
        ck_fails(hip->may_load(state, streams[i], &b.error),
                 GROAT_LAUNCH_FAILED, &b.error, "was not ended");
    }
    hip->part.close(state);
    check_nothing_live(&b);
}
END_TEST

START_TEST(noted_launches)
{
    bench b = usual_bench();
    void *state = open_device(&b);
    groat__shape shape = shape_of(0);
    groat_status status;
    groat__module *module = load(&b, state, "gfx950", &shape, &status);
    groat_launch launch = {sizeof(launch), {1, 1, 1}, NULL};
    const int argument = 1;
    bool captured = false;

    b.hip->running = true;
    ck_assert(hip->idle(state, module));
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(hip->launch_noted(state, module, &shape, &launch,
                                           &argument, &captured, &b.error),
                         GROAT_OK);
    ck_assert(!captured && !hip->idle(state, module));
    ck_assert_int_eq(b.hip->events, 1);
    ck_assert_int_eq(b.hip->waits, 1);
    b.hip->running = false;
    ck_assert(hip->idle(state, module));
    b.hip->capture = 1;
    ck_assert(!hip->idle(state, module));
    launch.stream = &b;
    ck_assert_int_eq(hip->launch_noted(state, module, &shape, &launch,
                                       &argument, &captured, &b.error),
                     GROAT_OK);
    ck_assert(captured);
    ck_assert_int_eq(b.hip->events, 1);
    hip->unload(state, module);
    hip->part.close(state);
    check_nothing_live(&b);
}
END_TEST

START_TEST(load_refuses_what_cannot_run)
{
    bench b = usual_bench();
    void *state = open_device(&b);
    groat__shape shape = shape_of(163841);
    groat_status status;

    ck_assert_ptr_null(load(&b, state, "gfx950", &shape, &status));
    ck_assert_int_eq(status, GROAT_INVALID);
    ck_assert_ptr_nonnull(strstr(b.error.text, "163841"));
    ck_assert_ptr_nonnull(strstr(b.error.text, "163840"));
    shape = shape_of(0);
    shape.cluster[0] = 2;
    ck_assert_ptr_null(load(&b, state, "gfx950", &shape, &status));
    ck_assert_int_eq(status, GROAT_INVALID);
    ck_assert_ptr_nonnull(strstr(b.error.text, "2 1 1"));
    shape = shape_of(0);
    ck_assert_ptr_null(load(&b, state, "gfx942", &shape, &status));
    ck_assert_int_eq(status, GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(b.error.text, "gfx942"));
    ck_assert_ptr_nonnull(strstr(b.error.text, "gfx950"));
    groat_error_clear(&b.error);
    hip->part.close(state);
    check_nothing_live(&b);
}
END_TEST

START_TEST(damaged_binary_never_reaches_the_driver)
{
    unsigned char object[AMDGPU_OBJECT_ROOM];
    size_t bytes = make_object(object, "copy_tile");
    bench b = usual_bench();
    void *state = open_device(&b);
    groat__shape shape = shape_of(0);
    groat__module *module = NULL;

    for (size_t cut = 0; cut < bytes; cut++)
        ck_assert_int_eq(hip->load(state, arch("gfx950"), object, cut,
                                   "copy_tile", &shape, &module, &b.error),
                         GROAT_LOAD_FAILED);
    ck_assert_int_eq(hip->load(state, arch("gfx950"), object, bytes,
                               "other_name", &shape, &module, &b.error),
                     GROAT_LOAD_FAILED);
    ck_assert_str_eq(b.error.vendor_call, "hipModuleGetFunction");
    ck_assert_ptr_null(module);
    groat_error_clear(&b.error);
    hip->part.close(state);
    check_nothing_live(&b);
}
END_TEST

START_TEST(codes_are_sorted_by_whom_they_blame)
{
    static const struct {
        const char *call;
        int code;
        groat_status status;
    } cases[] = {
        {"hipModuleLoadData", 200, GROAT_LOAD_FAILED},
        {"hipModuleLoadData", 209, GROAT_LOAD_FAILED},
        {"hipModuleLoadData", 2, GROAT_NO_MEMORY},
        {"hipModuleLoadData", 100, GROAT_NO_DEVICE},
        /* left by an earlier kernel: no reason to drop the binary */
        {"hipModuleLoadData", 700, GROAT_NO_DEVICE},
        {"hipModuleLoadData", 719, GROAT_NO_DEVICE},
        {"hipModuleLaunchKernel", 719, GROAT_LAUNCH_FAILED},
        {"hipDeviceSynchronize", 700, GROAT_LAUNCH_FAILED},
        {"hipMalloc", 2, GROAT_NO_MEMORY},
        {"hipMalloc", 700, GROAT_NO_DEVICE},
        {"hipInit", 3, GROAT_NO_DEVICE},
    };
    bench b = usual_bench();

    b.hip->fault = (shim_fault){.at = 1, .code = cases[_i].code};
    (void)snprintf(b.hip->fault.call, sizeof(b.hip->fault.call), "%s",
                   cases[_i].call);
    ck_assert_int_eq(run_device(&b), cases[_i].status);
    ck_assert(b.hip->fault.hit);
    groat_error_clear(&b.error);
    check_nothing_live(&b);
}
END_TEST

/* A vendor without a text for a code must not crash the caller. */
START_TEST(errors_without_words)
{
    static const char *const calls[] = {"hipGetErrorName", "hipGetErrorString"};
    bench b = usual_bench();
    void *state = open_device(&b);
    groat__shape shape = shape_of(0);
    groat_launch launch = {sizeof(launch), {0, 1, 1}, NULL};
    groat_status status;
    int argument = 0;
    groat__module *module = load(&b, state, "gfx950", &shape, &status);

    b.hip->fault = (shim_fault){.at = 1, .code = 1};
    (void)snprintf(b.hip->fault.call, sizeof(b.hip->fault.call), "%s",
                   calls[_i]);
    ck_assert_int_eq(
        hip->launch(state, module, &shape, &launch, &argument, &b.error),
        GROAT_LAUNCH_FAILED);
    ck_assert_ptr_nonnull(
        strstr(b.error.text, _i == 0 ? "(no name, " : ", no text)"));
    groat_error_clear(&b.error);
    hip->unload(state, module);
    hip->part.close(state);
}
END_TEST

START_TEST(launch_passes_everything_on)
{
    bench b = usual_bench();
    void *state = open_device(&b);
    groat__shape shape = {{64, 2, 1}, {1, 1, 1}, 1024, 0, 4, false};
    int stream = 0;
    groat_launch launch = {sizeof(launch), {5, 6, 7}, &stream};
    groat_facts facts = {-1, -1, 9, -1, -1, -1};
    groat_status status;
    int argument = 4711;
    double us = 0;
    groat__module *module = load(&b, state, "gfx950", &shape, &status);
    const shim_hip_launch *last = &b.hip->last;

    ck_assert_int_eq(
        hip->launch(state, module, &shape, &launch, &argument, &b.error),
        GROAT_OK);
    ck_assert_int_eq(last->device, OWN_DEVICE);
    ck_assert_int_eq(last->arg, 4711);
    ck_assert_ptr_eq(last->stream, &stream);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(last->grid[i], launch.grid[i]);
        ck_assert_uint_eq(last->block[i], shape.block[i]);
    }
    ck_assert_int_eq(
        hip->time(state, module, &shape, &launch, &argument, 4, &us, &b.error),
        GROAT_OK);
    ck_assert(us > 124.9 && us < 125.1); /* 0.5 ms over 4 launches */
    ck_assert_int_eq(b.hip->launches, 5);
    ck_assert_int_eq(
        hip->time(state, module, &shape, &launch, &argument, 0, &us, &b.error),
        GROAT_INVALID);
    hip->facts_of(state, module, &facts);
    ck_assert_int_eq(facts.registers, 96);
    ck_assert_int_eq(facts.spill_bytes, 9); /* known from the load */
    ck_assert_int_eq(facts.max_threads, 1024);
    ck_assert_int_gt(facts.code_bytes, 0);
    groat_error_clear(&b.error);
    hip->unload(state, module);
    hip->part.close(state);
    check_nothing_live(&b);
}
END_TEST

START_TEST(nothing_is_allowed)
{
    bench b = usual_bench();
    void *state = open_device(&b);
    uint64_t address = 1;

    ck_assert_int_eq(hip->alloc(state, 0, &address, &b.error), GROAT_OK);
    ck_assert_uint_eq(address, 0);
    ck_assert_int_eq(hip->write(state, address, NULL, 0, &b.error), GROAT_OK);
    ck_assert_int_eq(hip->read(state, NULL, address, 0, &b.error), GROAT_OK);
    hip->release(state, address);
    hip->release(state, 0);
    hip->unload(state, NULL);
    hip->part.close(state);
    hip->part.close(NULL);
    rtc->part.close(NULL);
    check_nothing_live(&b);
}
END_TEST

START_TEST(ordinal_out_of_range_is_told)
{
    bench b = usual_bench();
    void *state;

    b.env.device = 5;
    state = open_device(&b);
    ck_assert_uint_eq(hip->count(state), 2);
    ck_assert_int_eq(hip->sync(state, &b.error), GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(b.error.text, "hip device 5"));
    ck_assert_ptr_nonnull(strstr(b.error.text, "0 to 1"));
    groat_error_clear(&b.error);
    hip->part.close(state);
}
END_TEST

static Suite *hip_suite(void)
{
    Suite *suite = suite_create("hip");
    TCase *compiler = tcase_create("compiler");
    TCase *device = tcase_create("device");

    tcase_add_test(compiler, identity_names_compiler_and_options);
    tcase_add_test(compiler, identity_names_the_llvm_of_comgr);
    tcase_add_test(compiler, compile_gives_binary_log_and_facts);
    tcase_add_test(compiler, compiles_of_threads_do_not_overlap);
    tcase_add_test(compiler, unknown_arch_is_refused_before_the_compile);
    tcase_add_test(compiler, broken_kernel_gives_its_log);
    tcase_add_loop_test(compiler, log_that_cannot_be_read_is_none, 0, 2);
    tcase_add_test(compiler, empty_log_names_a_bad_temporary_folder);
    tcase_add_loop_test(compiler, output_that_is_no_kernel_is_refused, 0, 3);
    tcase_add_test(compiler, memory_of_the_compiler_is_memory);
    suite_add_tcase(suite, compiler);
    tcase_add_loop_test(device, no_device_is_no_error_of_open, 0, 3);
    tcase_add_test(device, facts_of_a_device);
    tcase_add_loop_test(device, lds_is_split_into_static_and_dynamic, 0, 7);
    tcase_add_test(device, nothing_is_loaded_into_a_capture);
    tcase_add_test(device, noted_launches);
    tcase_add_test(device, load_refuses_what_cannot_run);
    tcase_add_test(device, damaged_binary_never_reaches_the_driver);
    tcase_add_loop_test(device, codes_are_sorted_by_whom_they_blame, 0, 11);
    tcase_add_loop_test(device, errors_without_words, 0, 2);
    tcase_add_test(device, launch_passes_everything_on);
    tcase_add_test(device, nothing_is_allowed);
    tcase_add_test(device, ordinal_out_of_range_is_told);
    suite_add_tcase(suite, device);
    return suite;
}

int main(void)
{
    return run_hip_suite(hip_suite());
}
