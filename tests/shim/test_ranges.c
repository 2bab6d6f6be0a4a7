/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ranges.c: what a profiler is told of the way to a kernel, by each of the
 * three that there are; and that the client of NVTX 3 is as NVIDIA's own.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "base/nvtx_abi.h"
#include "base/ranges.h"
#include "tests/pipe/rig.h"
#include "tests/shim/shim_ranges.h"

#ifdef HAVE_NVTX_H
#include <nvtx3/nvToolsExt.h>
#endif

static rig fix;
static shim_ranges_control *shim;
static const char target[] = "cpu:gfx950";

static void setup(void)
{
    const char *path = getenv("GROAT_TEST_RANGES_SHIM");
    shim_ranges_fn *get = NULL;
    void *handle = path == NULL ? NULL : dlopen(path, RTLD_NOW);

    ck_assert_msg(handle != NULL, "%s", path == NULL ? "no shim" : dlerror());
    *(void **)&get = dlsym(handle, "shim_ranges");
    ck_assert(get != NULL);
    shim = get();
    memset(shim, 0, sizeof(*shim));
    ck_assert_int_eq(unsetenv("GROAT_RANGES"), 0);
    ck_assert_int_eq(unsetenv("NVTX_INJECTION64_PATH"), 0);
    ck_assert_int_eq(setenv("GROAT_NVTX", path, 1), 0);
    ck_assert_int_eq(setenv("GROAT_ROCTX", path, 1), 0);
    rig_make(&fix);
    rig_write_adder(&fix);
}

static void teardown(void)
{
    rig_drop(&fix);
}

static void inject(void)
{
    ck_assert_int_eq(
        setenv("NVTX_INJECTION64_PATH", getenv("GROAT_TEST_RANGES_SHIM"), 1),
        0);
}

static groat_context *open_ranges(const char *kind)
{
    groat_options options = rig_options(&fix);

    options.ranges = kind;
    return rig_open_with(&fix, &options);
}

/* What was told is this, with WHO before each word. */
static void told(const char *who, const char *const *lines, size_t count)
{
    groat__str all = {0};

    for (size_t i = 0; i < count; i++) {
        size_t blanks = strspn(lines[i], " ");

        groat__str_addf(&all, "%*s%s %s\n", (int)blanks, "", who,
                        lines[i] + blanks);
    }
    ck_assert_str_eq(shim->text, all.data);
    ck_assert_int_eq(shim->below, 0);
    groat__str_free(&all);
    shim->text[0] = '\0';
}

static const char *const compiled[] = {
    "push groat: miss adder",
    "  push groat: read adder",
    "  pop",
    "  push groat: compile adder",
    "  pop",
    "  push groat: put adder",
    "  pop",
    "  push groat: load adder",
    "  pop",
    "pop",
};
static const char *const from_disk[] = {
    "push groat: miss adder",
    "  push groat: read adder",
    "    push groat: verify",
    "    pop",
    "  pop",
    "  push groat: load adder",
    "  pop",
    "pop",
};
static const char *const from_bundle[] = {
    "push groat: miss adder",
    "  push groat: read adder",
    "    push groat: verify",
    "    pop",
    "    push groat: verify signature",
    "    pop",
    "  pop",
    "  push groat: load adder",
    "  pop",
    "pop",
};

/* A compile, hits of memory, of which nothing is told, and a read. */
static void walk(const char *kind, const char *who)
{
    groat_context *context = open_ranges(kind);

    ck_assert_str_eq(shim->text, "");
    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    told(who, compiled, COUNT(compiled));
    for (int i = 0; i < 100; i++)
        (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_MEMORY);
    ck_assert_str_eq(shim->text, "");
    groat_close(context);
    context = open_ranges(kind);
    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_DISK);
    told(who, from_disk, COUNT(from_disk));
    groat_close(context);
    ck_assert_int_eq(fix.warnings, 0);
}

START_TEST(roctx)
{
    walk("roctx", "roctx");
}
END_TEST

START_TEST(nvtx_2)
{
    walk("nvtx", "nvtx");
}
END_TEST

START_TEST(nvtx_3)
{
    inject();
    walk("nvtx", "injected");
    /* One tool, attached once, whatever comes and goes. */
    ck_assert_int_le(shim->attach, 1);
}
END_TEST

START_TEST(by_the_environment)
{
    ck_assert_int_eq(setenv("GROAT_RANGES", "roctx", 1), 0);
    walk(NULL, "roctx");
}
END_TEST

START_TEST(whoever_is_there)
{
    groat_context *context;

    walk("auto", "nvtx");
    ck_assert_int_eq(setenv("GROAT_NVTX", "/nowhere/lib.so", 1), 0);
    context = rig_open(&fix);
    ck_assert_int_eq(groat_cache_clear(context, NULL, NULL), GROAT_OK);
    groat_close(context);
    walk("auto", "roctx");
}
END_TEST

START_TEST(nobody)
{
    groat_context *context = open_ranges("off");

    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    groat_close(context);
    context = open_ranges(NULL);
    (void)rig_get(&fix, context, "adder:step=4", target, GROAT_FROM_COMPILER);
    groat_close(context);
    ck_assert_int_eq(setenv("GROAT_NVTX", "/nowhere/lib.so", 1), 0);
    ck_assert_int_eq(setenv("GROAT_ROCTX", "/nowhere/lib.so", 1), 0);
    context = open_ranges("auto");
    (void)rig_get(&fix, context, "adder:step=5", target, GROAT_FROM_COMPILER);
    groat_close(context);
    ck_assert_str_eq(shim->text, "");
    ck_assert_int_eq(fix.warnings, 0);
}
END_TEST

START_TEST(bundles_are_verified)
{
    char bundle[300], key[300], trust[300], public_key[65];
    const char *const paths[] = {bundle};
    groat_options options = rig_options(&fix);
    groat_context *context = rig_open(&fix);

    (void)snprintf(bundle, sizeof(bundle), "%s/b", fix.root);
    (void)snprintf(key, sizeof(key), "%s/key", fix.root);
    (void)snprintf(trust, sizeof(trust), "%s/trust", fix.root);
    ck_assert_int_eq(groat_bundle_keygen(key, public_key, NULL), GROAT_OK);
    rig_write(trust, public_key, 0600);
    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    ck_assert_int_eq(
        groat_bundle_export(context, bundle, NULL, 0, key, NULL, &fix.error),
        GROAT_OK);
    ck_assert_int_eq(groat_cache_clear(context, NULL, NULL), GROAT_OK);
    groat_close(context);
    options.bundles = paths;
    options.bundle_count = 1;
    options.trust = trust;
    options.ranges = "roctx";
    context = rig_open_with(&fix, &options);
    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_BUNDLE);
    told("roctx", from_bundle, COUNT(from_bundle));
    groat_close(context);
}
END_TEST

/* Ranges end where something fails, too. */
START_TEST(failures_are_balanced)
{
    static const char *const failed[] = {
        "push groat: miss adder",
        "  push groat: read adder",
        "  pop",
        "  push groat: compile adder",
        "  pop",
        "pop",
    };
    groat_context *context;
    groat_kernel *kernel = NULL;

    rig_write_source(&fix, "adder", "adder.h",
                     "#include \"params.h\"\nslip;\n");
    context = open_ranges("roctx");
    ck_fails(
        groat_kernel_get(context, "adder", target, &kernel, NULL, &fix.error),
        GROAT_COMPILE_FAILED, &fix.error, "refused the source");
    told("roctx", failed, COUNT(failed));
    groat_close(context);
}
END_TEST

/* Each thread's ranges are its own: what one is told is nested in itself. */
typedef struct getter {
    groat_context *context;
    const char *spec;
    groat_status status;
    pthread_t thread;
} getter;

static void *get_one(void *user)
{
    getter *g = user;
    groat_kernel *kernel = NULL;

    g->status =
        groat_kernel_get(g->context, g->spec, target, &kernel, NULL, NULL);
    return NULL;
}

START_TEST(threads_have_their_own)
{
    groat_context *context = open_ranges("roctx");
    getter getters[] = {{.context = context, .spec = "adder:step=1"},
                        {.context = context, .spec = "adder:step=2"}};
    unsigned pushes = 0, pops = 0;

    (void)rig_get(&fix, context, "adder:step=100", target, GROAT_FROM_COMPILER);
    told("roctx", compiled, COUNT(compiled));
    for (size_t i = 0; i < COUNT(getters); i++)
        ck_assert_int_eq(
            pthread_create(&getters[i].thread, NULL, get_one, &getters[i]), 0);
    for (size_t i = 0; i < COUNT(getters); i++) {
        ck_assert_int_eq(pthread_join(getters[i].thread, NULL), 0);
        ck_assert_int_eq(getters[i].status, GROAT_OK);
    }
    for (const char *at = shim->text; *at != '\0'; at = strchr(at, '\n') + 1) {
        const char *word = strstr(at, "roctx ");

        ck_assert_int_eq(strncmp(at, "thread ", 7), 0);
        pushes += strncmp(word, "roctx push groat: ", 18) == 0;
        pops += strncmp(word, "roctx pop\n", 10) == 0;
    }
    ck_assert_uint_eq(pushes, 2 * 5);
    ck_assert_uint_eq(pops, pushes);
    ck_assert_int_eq(shim->below, 0);
    groat_close(context);
}
END_TEST

/* ---- what is refused ----------------------------------------------------- */

static void refused(const char *kind, const char *why)
{
    groat_context *context;
    int before = fix.warnings;

    context = open_ranges(kind);
    ck_assert_int_eq(fix.warnings, before + 1);
    ck_assert_int_eq(rig_said(&fix, why), 1);
    (void)rig_get(&fix, context, "adder:step=3", target,
                  before == 0 ? GROAT_FROM_COMPILER : GROAT_FROM_DISK);
    groat_close(context);
    ck_assert_str_eq(shim->text, "");
}

START_TEST(what_is_not_there)
{
    groat_options options = rig_options(&fix);
    groat_context *context = NULL;

    options.ranges = "ranges";
    ck_fails(groat_open(&options, &context, &fix.error), GROAT_INVALID,
             &fix.error, "ranges is 'ranges'; allowed: off, nvtx, roctx, auto");
    ck_assert_int_eq(setenv("GROAT_ROCTX", "/nowhere/lib.so", 1), 0);
    refused("roctx", "nobody takes ranges: cannot open GROAT_ROCTX=/nowhere");
    ck_assert_int_eq(setenv("GROAT_ROCTX", getenv("GROAT_TEST_COMGR_SHIM"), 1),
                     0);
    refused("roctx", "lacks roctxRangePushA or roctxRangePop");
    ck_assert_int_eq(
        setenv("NVTX_INJECTION64_PATH", getenv("GROAT_TEST_COMGR_SHIM"), 1), 0);
    refused("nvtx", "has no InitializeInjectionNvtx2");
    inject();
    shim->refuse = 1;
    refused("nvtx", "would not be attached");
    ck_assert_int_eq(setenv("GROAT_RANGES", "on", 1), 0);
    refused(NULL, "nobody takes ranges: ranges is 'on'");
}
END_TEST

/* ---- NVIDIA's own ---------------------------------------------------------
 */

#ifdef HAVE_NVTX_H
#define SAME(ours, theirs)                                                     \
    _Static_assert((int)(ours) == (int)(theirs), "as in nvtxTypes.h")

SAME(GROAT__NVTX_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(GROAT__NVTX_VERSION_INFO, NVTX_ETID_VERSIONINFO);
SAME(GROAT__NVTX_CORE, NVTX_CB_MODULE_CORE);
SAME(GROAT__NVTX_CUDA, NVTX_CB_MODULE_CUDA);
SAME(GROAT__NVTX_OPENCL, NVTX_CB_MODULE_OPENCL);
SAME(GROAT__NVTX_CUDART, NVTX_CB_MODULE_CUDART);
SAME(GROAT__NVTX_CORE2, NVTX_CB_MODULE_CORE2);
SAME(GROAT__NVTX_SYNC, NVTX_CB_MODULE_SYNC);
SAME(GROAT__NVTX_CORE_SIZE, NVTX_CBID_CORE_SIZE);
SAME(GROAT__NVTX_CUDA_SIZE, NVTX_CBID_CUDA_SIZE);
SAME(GROAT__NVTX_OPENCL_SIZE, NVTX_CBID_OPENCL_SIZE);
SAME(GROAT__NVTX_CUDART_SIZE, NVTX_CBID_CUDART_SIZE);
SAME(GROAT__NVTX_CORE2_SIZE, NVTX_CBID_CORE2_SIZE);
SAME(GROAT__NVTX_SYNC_SIZE, NVTX_CBID_SYNC_SIZE);
SAME(GROAT__NVTX_RANGE_PUSH, NVTX_CBID_CORE_RangePushA);
SAME(GROAT__NVTX_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(sizeof(groat__nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(groat__nvtx_callbacks, get_table),
     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(sizeof(groat__nvtx_version_info), sizeof(NvtxExportTableVersionInfo));
SAME(offsetof(groat__nvtx_version_info, set_tool_version),
     offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));

/* The stand-in for a tool takes NVIDIA's client for what it takes ours. */
START_TEST(as_the_vendors_client)
{
    inject();
    (void)nvtxRangePushA("one");
    (void)nvtxRangePop();
    ck_assert_str_eq(shim->text, "injected push one\ninjected pop\n");
    ck_assert_int_eq(shim->attach, 1);
    shim->text[0] = '\0';
    walk("nvtx", "injected");
    ck_assert_int_le(shim->attach, 2);
}
END_TEST
#else
START_TEST(as_the_vendors_client)
{
    puts("SKIP: nvtx3/nvToolsExt.h is not installed");
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("ranges");
    TCase *tests = tcase_create("ranges");

    tcase_add_checked_fixture(tests, setup, teardown);
    /* First, where all are one process: a tool that is attached stays. */
    tcase_add_test(tests, what_is_not_there);
    tcase_add_test(tests, roctx);
    tcase_add_test(tests, nvtx_2);
    tcase_add_test(tests, nvtx_3);
    tcase_add_test(tests, as_the_vendors_client);
    tcase_add_test(tests, by_the_environment);
    tcase_add_test(tests, whoever_is_there);
    tcase_add_test(tests, nobody);
    tcase_add_test(tests, bundles_are_verified);
    tcase_add_test(tests, failures_are_balanced);
    tcase_add_test(tests, threads_have_their_own);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
