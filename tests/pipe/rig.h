/* SPDX-License-Identifier: Apache-2.0
 *
 * rig.h - shared by tests of the whole path: a folder of their own with a cache
 * and families in it, the lines that were logged, contexts, kernels, and files
 * written from outside.
 */
#ifndef GROAT_TEST_PIPE_RIG_H
#define GROAT_TEST_PIPE_RIG_H

#include <grp.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/str.h"
#include "cache/cache.h"
#include "tests/unit/suite.h"
#include "groat_tools.h"

typedef struct rig {
    char root[200];     /* made by the test, removed after it */
    char cache[256];    /* root/cache                         */
    char store[300];    /* root/cache/groat.sqlite            */
    char families[256]; /* root/families                      */
    pthread_mutex_t mutex;
    groat__str lines;
    int warnings;
    groat_error error;
} rig;

static const char *const rig_targets[] = {"cpu:gfx950", "cpu:gfx90a",
                                          "cpu:sm_90a"};

enum { RIG_TARGETS = 3 };

/* Fibers are slow under the thread sanitizer, and one seed finds as many races
 * there. */
static inline int rig_seeds(void)
{
    return is_tsan() ? 1 : 6;
}

static inline void rig_log(void *user, int level, const char *line)
{
    rig *r = user;

    (void)pthread_mutex_lock(&r->mutex);
    groat__str_addf(&r->lines, "%s\n", line);
    r->warnings += level == GROAT_LOG_WARNING;
    (void)pthread_mutex_unlock(&r->mutex);
}

static inline void rig_make(rig *r)
{
    static const char *const variables[] = {
        "GROAT_CACHE_DIR",   "GROAT_CACHE_MAX_BYTES", "GROAT_FAMILY_PATH",
        "GROAT_BUNDLES",     "GROAT_TRUST",           "GROAT_LOADED_MAX_BYTES",
        "GROAT_CACHE_SHARE", "GROAT_CXX_TIMEOUT",     "GROAT_REMOTE",
        "GROAT_REMOTE_KEY",  "GROAT_LEASES",          "GROAT_RECORD"};
    const groat_error none = GROAT_ERROR_INIT;

    memset(r, 0, sizeof(*r));
    r->error = none;
    (void)pthread_mutex_init(&r->mutex, NULL);
    for (size_t i = 0; i < COUNT(variables); i++)
        (void)unsetenv(variables[i]);
    make_folder(r->root, sizeof(r->root));
    (void)snprintf(r->cache, sizeof(r->cache), "%s/cache", r->root);
    (void)snprintf(r->store, sizeof(r->store), "%s/groat.sqlite", r->cache);
    (void)snprintf(r->families, sizeof(r->families), "%s/families", r->root);
    ck_assert_int_eq(mkdir(r->families, 0700), 0);
}

/* For tests of file modes: root, whom no mode restricts, becomes nobody, and
 * the folder for temporary files is root/tmp. */
static inline void rig_make_as_nobody(rig *r)
{
    enum { NOBODY = 65534 };
    char tmp[256];

    rig_make(r);
    (void)snprintf(tmp, sizeof(tmp), "%s/tmp", r->root);
    ck_assert_int_eq(mkdir(tmp, 0700), 0);
    ck_assert_int_eq(setenv("TMPDIR", tmp, 1), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(tmp, NOBODY, NOBODY), 0);
        ck_assert_int_eq(chown(r->families, NOBODY, NOBODY), 0);
        ck_assert_int_eq(chown(r->root, NOBODY, NOBODY), 0);
        ck_assert_int_eq(setgroups(0, NULL), 0);
        ck_assert_int_eq(setgid(NOBODY), 0);
        ck_assert_int_eq(setuid(NOBODY), 0);
    }
}

static inline void rig_drop(rig *r)
{
    (void)chmod(r->cache, 0700);
    remove_folder(r->root);
    groat__str_free(&r->lines);
    groat_error_clear(&r->error);
    (void)pthread_mutex_destroy(&r->mutex);
}

/* Returns how many logged lines contain words. */
static inline int rig_said(rig *r, const char *words)
{
    const char *at = r->lines.data;
    int count = 0;

    while (at != NULL && (at = strstr(at, words)) != NULL) {
        count++;
        at = strchr(at, '\n');
    }
    return count;
}

/* ---- files ------------------------------------------------------------- */

static inline void rig_write(const char *path, const char *text, unsigned mode)
{
    ck_assert_int_eq(groat__fs_write(path, text, strlen(text), mode, NULL),
                     GROAT_OK);
}

/* Writes families/NAME/FILE. */
static inline void rig_write_source(const rig *r, const char *family,
                                    const char *file, const char *text)
{
    char path[600];

    (void)snprintf(path, sizeof(path), "%s/%s", r->families, family);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof(path), "%s/%s/%s", r->families, family, file);
    rig_write(path, text, 0600);
}

/* ---- a family ---------------------------------------------------------- */

/* The adder's arguments: it adds `step` to each of four numbers per thread. */
struct adder_args {
    uint64_t input;
    uint64_t output;
    uint32_t count; /* vectors */
    uint32_t reserved;
};

static const char adder_params[] =
    "family adder \"adds a constant to vectors of four numbers\"\n"
    "param step int 1..1000 1 - \"what is added\"\n"
    "param doubled int 1..2000 (2*step) - \"a default that follows step\"\n"
    "rule step != 666 ; \"this one is refused\"\n"
    "launch block_x = 64\n"
    "launch args = 24\n"
    "entry adder_{step}\n";

static const char adder_header[] = "#pragma once\n"
                                   "struct adder_args {\n"
                                   "    unsigned long long input, output;\n"
                                   "    unsigned count, reserved;\n"
                                   "};\n";

static const char adder_kernel[] =
    "#include \"params.h\"\n"
    "#include \"../common/vendor.h\"\n"
    "#include \"args.h\"\n"
    "\n"
    "GROAT_KERNEL(adder_args)\n"
    "{\n"
    "    using namespace groat;\n"
    "    u32 i = block_index() * GROAT_BLOCK_THREADS + thread_index();\n"
    "    if (i < args.count) {\n"
    "        vec4 v = global_load16(args.input + 16ull * i);\n"
    "        v.x += params::step, v.y += params::step;\n"
    "        v.z += params::step, v.w += params::step;\n"
    "        global_store16(args.output + 16ull * i, v);\n"
    "    }\n"
    "}\n";

static inline void rig_write_adder(const rig *r)
{
    rig_write_source(r, "adder", "params.def", adder_params);
    rig_write_source(r, "adder", "args.h", adder_header);
    rig_write_source(r, "adder", "adder.h", adder_kernel);
}

/* ---- contexts ---------------------------------------------------------- */

/* Options with the rig's folders; a test changes what it needs. */
static inline groat_options rig_options(rig *r)
{
    groat_options options = GROAT_OPTIONS_INIT;

    options.cache_dir = r->cache;
    options.family_path = r->families;
    options.log = rig_log;
    options.log_user = r;
    return options;
}

static inline groat_context *rig_open_with(rig *r, const groat_options *options)
{
    groat_context *context = NULL;

    ck_assert_msg(groat_open(options, &context, &r->error) == GROAT_OK, "%s",
                  r->error.text);
    return context;
}

static inline groat_context *rig_open(rig *r)
{
    groat_options options = rig_options(r);

    return rig_open_with(r, &options);
}

static inline groat_cache_stat rig_stat(groat_context *context)
{
    groat_cache_stat stat;

    memset(&stat, 0, sizeof(stat));
    stat.size = sizeof(stat);
    ck_assert_int_eq(groat_cache_stat_get(context, &stat, NULL), GROAT_OK);
    return stat;
}

/* Parses a spec that must be legal; free it. */
static inline groat_spec *rig_parse(rig *r, groat_context *context,
                                    const char *text, const char *target)
{
    groat_spec *spec = NULL;
    groat_status status =
        groat_spec_parse(context, text, target, &spec, &r->error);

    ck_assert_msg(status == GROAT_OK, "%s", r->error.text);
    return spec;
}

/* Returns where a get would take the kernel from. */
static inline groat_origin rig_origin(rig *r, groat_spec *spec)
{
    groat_explanation found = {.size = sizeof(found)};
    groat_status status = groat_explain(spec, &found, NULL, NULL, &r->error);

    ck_assert_msg(status == GROAT_OK, "%s", r->error.text);
    return found.origin;
}

static inline groat_kernel *rig_get(rig *r, groat_context *context,
                                    const char *spec, const char *target,
                                    groat_origin expected)
{
    groat_origin origin = GROAT_FROM_COMPILER;
    groat_kernel *kernel = NULL;
    groat_status status =
        groat_kernel_get(context, spec, target, &kernel, &origin, &r->error);

    ck_assert_msg(status == GROAT_OK, "%s on %s: %s\n%s", spec,
                  target == NULL ? "the default" : target, r->error.text,
                  r->error.log == NULL ? "" : r->error.log);
    ck_assert_str_eq(groat_origin_name(origin), groat_origin_name(expected));
    return kernel;
}

static inline uint64_t rig_upload(groat_context *context, const char *target,
                                  const void *data, size_t bytes)
{
    uint64_t address = 0;

    ck_assert_int_eq(groat_memory_alloc(context, target, bytes, &address, NULL),
                     GROAT_OK);
    ck_assert_int_eq(
        groat_memory_write(context, target, address, data, bytes, NULL),
        GROAT_OK);
    return address;
}

/* Puts bytes under a spec's key, through a store of its own: the checksum is
 * right, and only the loader can tell. */
static inline void rig_plant(rig *r, const char *text, const void *data,
                             size_t bytes)
{
    const groat_facts facts = {-1, -1, -1, -1, -1, -1};
    groat__store_options options = {
        r->cache, 1 << 20, {NULL, NULL}, NULL, false};
    groat_context *context = rig_open(r);
    groat__store *store = NULL;
    groat_spec *spec = NULL;
    char *identity = NULL;
    groat__digest digest;
    char key[33];

    ck_assert_int_eq(
        groat_spec_parse(context, text, rig_targets[0], &spec, NULL), GROAT_OK);
    ck_assert_int_eq(groat_spec_key(spec, key, &identity, NULL), GROAT_OK);
    ck_assert(groat__unhex(digest.bytes, sizeof(digest.bytes), key));
    ck_assert_int_eq(groat__store_open(&options, &store, NULL), GROAT_OK);
    groat__store_put(store, &digest, identity, data, bytes, "", &facts);
    groat__store_close(store);
    groat_free(identity);
    groat_spec_free(spec);
    groat_close(context);
}

/* Returns whether an adder's kernel adds step on this target; any thread. */
static inline bool rig_adds(groat_context *context, const char *target,
                            groat_kernel *kernel, uint32_t step)
{
    enum { COUNT = 100, NUMBERS = 4 * COUNT };
    groat_launch launch = GROAT_LAUNCH_INIT;
    struct adder_args args = {0};
    uint32_t numbers[NUMBERS];
    uint32_t sums[NUMBERS];
    groat_status status;
    bool right;

    for (uint32_t i = 0; i < NUMBERS; i++)
        numbers[i] = i * 0x9E3779B1u;
    memset(sums, 0, sizeof(sums));
    status =
        groat_memory_alloc(context, target, sizeof(numbers), &args.input, NULL);
    if (status == GROAT_OK)
        status = groat_memory_alloc(context, target, sizeof(sums), &args.output,
                                    NULL);
    if (status == GROAT_OK)
        status = groat_memory_write(context, target, args.input, numbers,
                                    sizeof(numbers), NULL);
    args.count = COUNT;
    launch.grid[0] = 2;
    if (status == GROAT_OK)
        status =
            groat_kernel_launch(kernel, &launch, &args, sizeof(args), NULL);
    if (status == GROAT_OK)
        status = groat_memory_read(context, target, sums, args.output,
                                   sizeof(sums), NULL);
    right = status == GROAT_OK;
    for (uint32_t i = 0; i < NUMBERS; i++)
        right = right && sums[i] == numbers[i] + step;
    groat_memory_free(context, target, args.input);
    groat_memory_free(context, target, args.output);
    return right;
}

/* Checks that an adder's kernel has the expected origin, and adds. */
static inline void rig_kernel(rig *r, groat_context *context, unsigned step,
                              groat_origin expected)
{
    const char *target = rig_targets[0];
    groat_kernel *kernel;
    char spec[32];

    (void)snprintf(spec, sizeof(spec), "adder:step=%u", step);
    kernel = rig_get(r, context, spec, target, expected);
    ck_assert(rig_adds(context, target, kernel, step));
}

#endif
