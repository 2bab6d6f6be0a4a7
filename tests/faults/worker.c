/* SPDX-License-Identifier: Apache-2.0
 *
 * worker.c - the program in which faults are made: opens a context, gets
 * kernels, runs each of them, and reports line by line what it got and what was
 * logged, so that output before a kill is not lost.
 *
 * worker CACHE FAMILIES BUNDLE IMAGE BOUND STEP...
 *
 * A STEP is an adder; BUNDLE and IMAGE are files, or "-".  Lines:
 *   store yes|no
 *   get STEP STATUS ORIGIN right|wrong kept|-
 *   log TEXT
 *   counts FAULTS EVICTIONS TAKEOVERS BUNDLE-FAULTS UNUSED
 *   end
 * "kept": the store accepted it without a fault, which promises to keep it.
 */
#include "tests/pipe/rig.h"

#include "cache/internal.h"
#include "core/core.h"

static void tell_line(void *user, int level, const char *line)
{
    (void)user;
    (void)level;
    (void)printf("log %s\n", line);
}

/* Tells whether the store works and has had no fault since that number. */
static bool is_kept(const groat__store *store, uint64_t faults)
{
    return store != NULL && store->db != NULL && !store->read_only &&
           store->faults == faults;
}

static void get(groat_context *context, unsigned step)
{
    const groat__store *store = context->store;
    uint64_t faults = store == NULL ? 0 : store->faults;
    groat_origin origin = GROAT_FROM_COMPILER;
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel *kernel = NULL;
    groat_status status;
    char spec[32];
    bool kept;

    (void)snprintf(spec, sizeof(spec), "adder:step=%u", step);
    status = groat_kernel_get(context, spec, rig_targets[0], &kernel, &origin,
                              &error);
    if (status != GROAT_OK) {
        (void)printf("log %s\nget %u %d none wrong -\n", error.text, step,
                     status);
        groat_error_clear(&error);
        return;
    }
    kept = origin == GROAT_FROM_COMPILER && is_kept(store, faults);
    (void)printf("get %u 0 %s %s %s\n", step, groat_origin_name(origin),
                 rig_adds(context, rig_targets[0], kernel, step) ? "right"
                                                                 : "wrong",
                 kept ? "kept" : "-");
}

static void count(groat_context *context)
{
    const groat__store *store = context->store;
    uint64_t faults = 0;
    unsigned unused = store == NULL;

    for (size_t i = 0; i < context->layers.count; i++) {
        groat__bundle_counts counts = {0, 0, 0};

        groat__bundle_count(context->layers.at[i].bundle, &counts);
        faults += counts.faults;
        unused += context->layers.at[i].bundle == NULL;
    }
    (void)printf("counts %llu %llu %llu %llu %u\n",
                 store == NULL ? 0 : (unsigned long long)store->faults,
                 store == NULL ? 0 : (unsigned long long)store->evictions,
                 store == NULL ? 0
                               : (unsigned long long)store->claims.takeovers,
                 (unsigned long long)faults, unused);
}

static const char *or_none(const char *arg)
{
    return strcmp(arg, "-") == 0 ? NULL : arg;
}

int main(int argc, char **argv)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_bundle_image image = {"image", NULL, 0};
    groat_context *context = NULL;
    const char *bundle;
    char *bytes = NULL;

    if (argc < 6)
        return EXIT_FAILURE;
    (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    bundle = or_none(argv[3]);
    options.cache_dir = argv[1];
    options.family_path = argv[2];
    options.cache_max_bytes = strtoull(argv[5], NULL, 10);
    options.log = tell_line;
    options.allow_unsigned = 1;
    options.bundles = bundle == NULL ? NULL : &bundle;
    options.bundle_count = bundle != NULL;
    if (or_none(argv[4]) != NULL &&
        groat__fs_read(argv[4], 1 << 20, &bytes, &image.bytes, &error) ==
            GROAT_OK) {
        image.data = bytes;
        options.images = &image;
        options.image_count = 1;
    }
    if (groat_open(&options, &context, &error) != GROAT_OK) {
        (void)printf("log %s\n", error.text);
        return EXIT_FAILURE;
    }
    (void)printf("store %s\n", context->store == NULL ? "no" : "yes");
    for (int i = 6; i < argc; i++)
        get(context, (unsigned)strtoul(argv[i], NULL, 10));
    count(context);
    groat_close(context);
    free(bytes);
    (void)printf("end\n");
    return EXIT_SUCCESS;
}
