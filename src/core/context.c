/* SPDX-License-Identifier: Apache-2.0
 *
 * context.c opens and closes a context: the families, the store, and the state
 * of machines, in-flight builds and kernels.  It copies the environment once;
 * all other code, and the programs that are started, use this copy.
 * A store that cannot be opened is no error: one warning is logged, and kernels
 * are kept in memory only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "core/core.h"
#include "core/used.h"

static const uint64_t default_max_bytes = (uint64_t)1 << 30;

const char *groat_version(void)
{
    return GROAT_VERSION_STRING;
}

void groat_free(void *memory)
{
    free(memory);
}

static void free_texts(char **texts)
{
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++)
        free(texts[i]);
    free(texts);
}

/* Copies every variable, ended by NULL, but sets LC_ALL=C: the compiler's
 * messages are stored with its binaries.  NULL if memory runs out. */
static char **copy_environment(void)
{
    extern char **environ;
    static const char locale[] = "LC_ALL=C";
    size_t count = 0;
    size_t kept = 0;
    char **copy;

    while (environ != NULL && environ[count] != NULL)
        count++;
    copy = calloc(count + 2, sizeof(*copy));
    for (size_t i = 0; copy != NULL && i <= count; i++) {
        const char *text = i < count ? environ[i] : locale;

        if (i < count && strncmp(text, locale, strlen("LC_ALL=")) == 0)
            continue;
        copy[kept] = strdup(text);
        if (copy[kept++] == NULL) {
            free_texts(copy);
            return NULL;
        }
    }
    return copy;
}

/* The value of a variable in the copy; NULL if it is unset or empty. */
static const char *variable(const groat_context *context, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; context->environment[i] != NULL; i++) {
        const char *text = context->environment[i];

        if (strncmp(text, name, len) == 0 && text[len] == '=')
            return text[len + 1] != '\0' ? text + len + 1 : NULL;
    }
    return NULL;
}

static const char *either(const groat_context *context, const char *name,
                          const char *other)
{
    const char *value = variable(context, name);

    return value != NULL ? value : variable(context, other);
}

/* Puts the working directory in front of a relative path.  Links are not
 * resolved, since programs look at the name they are called by.  NULL if there
 * is no working directory. */
static char *whole_path(const char *path)
{
    char *here = getcwd(NULL, 0);
    groat__str whole = {0};

    if (here == NULL)
        return NULL;
    groat__str_addf(&whole, "%s/%s", here, path);
    free(here);
    return groat__str_take(&whole);
}

/* For files that are opened later, after the program may have changed its
 * working directory. */
static void make_whole(groat_context *context)
{
    groat__env *env = &context->env;
    const char **const paths[GROAT__FOUND] = {&env->nvrtc,  &env->cuda,
                                              &env->hiprtc, &env->hip,
                                              &env->comgr,  &env->cxx};

    for (size_t i = 0; i < GROAT__FOUND; i++) {
        const char *path = *paths[i];

        if (path == NULL || *path == '/' || strchr(path, '/') == NULL)
            continue;
        context->found[i] = whole_path(path);
        if (context->found[i] != NULL)
            *paths[i] = context->found[i];
    }
}

static groat_status read_environment(groat_context *context, groat_error *error)
{
    groat__env *env = &context->env;

    context->environment = copy_environment();
    if (context->environment == NULL)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "no memory for a copy of the environment");
    env->all = context->environment;
    env->home = variable(context, "HOME");
    env->nvrtc = variable(context, "GROAT_NVRTC");
    env->cuda = variable(context, "GROAT_CUDA");
    env->hiprtc = variable(context, "GROAT_HIPRTC");
    env->hip = variable(context, "GROAT_HIP");
    env->comgr = variable(context, "GROAT_COMGR");
    env->cxx = variable(context, "GROAT_CXX");
    env->cxx_timeout = variable(context, "GROAT_CXX_TIMEOUT");
    env->cuda_home = either(context, "CUDA_HOME", "CUDA_PATH");
    env->rocm_path = either(context, "ROCM_PATH", "HIP_PATH");
    env->virtual_env = variable(context, "VIRTUAL_ENV");
    env->conda_prefix = variable(context, "CONDA_PREFIX");
    env->path = variable(context, "PATH");
    env->tmpdir = variable(context, "TMPDIR");
    make_whole(context);
    return GROAT_OK;
}

/* malloc'd; NULL, with the reason in *why, if no folder is known. */
static char *cache_dir(const groat_context *context,
                       const groat_options *options, bool shared,
                       const char **why)
{
    const char *dir = options->cache_dir;
    const char *base = variable(context, "XDG_CACHE_HOME");
    groat__str path = {0};

    if (dir == NULL || *dir == '\0')
        dir = variable(context, "GROAT_CACHE_DIR");
    if (dir != NULL)
        return strdup(dir);
    if (shared) {
        *why = "a folder that a group shares has to be named; set "
               "GROAT_CACHE_DIR to it";
        return NULL;
    }
    if (base != NULL && *base == '/') {
        groat__str_addf(&path, "%s/groat", base);
        return groat__str_take(&path);
    }
    base = context->env.home;
    if (base == NULL || *base != '/') {
        *why = base == NULL
                   ? "HOME is not set; name a folder with GROAT_CACHE_DIR"
                   : "HOME is not an absolute path; name a folder with "
                     "GROAT_CACHE_DIR";
        return NULL;
    }
    groat__str_addf(&path, "%s/.cache/groat", base);
    return groat__str_take(&path);
}

/* Parses a number of bytes, with K, M or G for powers of 1024; false for
 * anything else, for 0 and on overflow. */
static bool parse_bytes(const char *text, uint64_t *out)
{
    static const char units[] = "KMG";
    const char *unit;
    char *end = NULL;
    uint64_t value;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno != 0 || value == 0)
        return false;
    if (*end != '\0') {
        unsigned shift;

        unit = strchr(units, *end);
        if (unit == NULL || end[1] != '\0')
            return false;
        shift = 10 * (unsigned)(unit - units + 1);
        if (value > UINT64_MAX >> shift)
            return false;
        value <<= shift;
    }
    *out = value;
    return true;
}

/* A bound from the options, else from a variable, else `otherwise`.  A bad
 * variable must not stop a program: one warning, and the default. */
static uint64_t bound(groat_context *context, uint64_t bytes, const char *name,
                      uint64_t otherwise, const char *words)
{
    const char *text = variable(context, name);

    if (bytes != 0)
        return bytes;
    if (text == NULL)
        return otherwise;
    if (parse_bytes(text, &bytes))
        return bytes;
    groat__log_line(&context->env.log, GROAT_LOG_WARNING,
                    "%s is '%.40s'; allowed: a number of bytes from 1 on, with "
                    "K, M or G; %s",
                    name, text, words);
    return otherwise;
}

static void lose_store(groat_context *context, const char *why)
{
    context->store_problem = strdup(why);
    groat__log_line(&context->env.log, GROAT_LOG_WARNING,
                    "kernels are kept in memory only: %s", why);
}

/* The variable must say exactly "group", and it applies only to a folder that a
 * variable names; any other word leaves the store private. */
static bool is_shared(groat_context *context, const groat_options *options)
{
    const char *text = variable(context, "GROAT_CACHE_SHARE");

    if ((options->flags & GROAT_OPEN_SHARE_GROUP) != 0)
        return true;
    if (text == NULL ||
        (options->cache_dir != NULL && options->cache_dir[0] != '\0'))
        return false;
    if (strcmp(text, "group") == 0)
        return true;
    groat__log_line(&context->env.log, GROAT_LOG_WARNING,
                    "GROAT_CACHE_SHARE is '%.40s'; allowed: group; the store "
                    "is this user's alone",
                    text);
    return false;
}

static void open_store(groat_context *context, const groat_options *options)
{
    groat__store_options store = {.log = context->env.log};
    groat_error inner = GROAT_ERROR_INIT;
    const char *why = "no memory";
    char local[48];
    char *dir;

    (void)snprintf(local, sizeof(local), "/var/tmp/groat-%u",
                   (unsigned)geteuid());
    store.local = local;
    store.max_bytes =
        bound(context, options->cache_max_bytes, "GROAT_CACHE_MAX_BYTES",
              default_max_bytes, "the bound is 1 GiB");
    context->store_max_bytes = store.max_bytes;
    if (options->flags & GROAT_OPEN_NO_DISK) {
        context->store_problem = strdup("the caller asked for none");
        return;
    }
    store.share_group = is_shared(context, options);
    dir = cache_dir(context, options, store.share_group, &why);
    if (dir == NULL) {
        lose_store(context, why);
        return;
    }
    store.dir = dir;
    if (context->remote != NULL && groat__store_is_new(dir))
        groat__remote_expect(context->remote);
    if (groat__store_open(&store, &context->store, &inner) != GROAT_OK)
        lose_store(context, inner.text);
    free(dir);
    groat_error_clear(&inner);
}

/* GROAT_OPEN_NO_DISK also ignores the bundles that the environment names. */
static void open_layers(groat_context *context, const groat_options *options)
{
    bool named =
        options->bundles != NULL || (options->flags & GROAT_OPEN_NO_DISK) != 0;

    groat__layers_open(
        context, options, named ? NULL : variable(context, "GROAT_BUNDLES"),
        options->trust != NULL ? options->trust
                               : variable(context, "GROAT_TRUST"));
}

static const char *option_or(const groat_context *context, const char *option,
                             const char *name)
{
    return option != NULL ? option : variable(context, name);
}

/* As with bundles, GROAT_OPEN_NO_DISK ignores the environment's remote. */
static void open_remote(groat_context *context, const groat_options *options)
{
    groat__remote_options remote = {.log = context->env.log};

    if (options->remote == NULL && (options->flags & GROAT_OPEN_NO_DISK) != 0)
        return;
    remote.trust = &context->layers.trust;
    remote.url = option_or(context, options->remote, "GROAT_REMOTE");
    remote.key = option_or(context, options->remote_key, "GROAT_REMOTE_KEY");
    remote.leases = option_or(context, options->leases, "GROAT_LEASES");
    remote.ca = either(context, "CURL_CA_BUNDLE", "SSL_CERT_FILE");
    if (remote.key != NULL && *remote.key == '\0')
        remote.key = NULL;
    if (remote.leases != NULL && *remote.leases == '\0')
        remote.leases = NULL;
    remote.s3 = (groat__s3){
        .access = variable(context, "AWS_ACCESS_KEY_ID"),
        .secret = variable(context, "AWS_SECRET_ACCESS_KEY"),
        .token = variable(context, "AWS_SESSION_TOKEN"),
        .region = either(context, "AWS_REGION", "AWS_DEFAULT_REGION"),
        .endpoint = either(context, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")};
    groat__context_open_remote(context, &remote);
}

/* A profiler that is not available gives a warning; so does an unknown name
 * from the environment. */
static groat_status open_ranges(groat_context *context,
                                const groat_options *options,
                                groat_error *error)
{
    const char *name = options->ranges;
    groat_error inner = GROAT_ERROR_INIT;
    groat_status status;

    if ((options->range_push == NULL) != (options->range_pop == NULL))
        return groat__fail(error, GROAT_INVALID,
                           "range_push and range_pop are both given or both "
                           "NULL");
    if (options->range_push != NULL) {
        context->ranges =
            (groat__ranges){options->range_push, options->range_pop,
                            options->range_user, "callbacks"};
        return GROAT_OK;
    }
    if (name == NULL)
        name = variable(context, "GROAT_RANGES");
    status = groat__ranges_named(name, &context->ranges, &inner);
    if (status == GROAT_INVALID && options->ranges != NULL)
        groat__error_copy(error, &inner);
    else if (status != GROAT_OK)
        groat__log_line(&context->env.log, GROAT_LOG_WARNING,
                        "no profiler receives ranges: %s", inner.text);
    if (options->ranges == NULL || status != GROAT_INVALID)
        status = GROAT_OK;
    groat_error_clear(&inner);
    return status;
}

/* The store and the bundles verify entries, which is a range. */
static void show_ranges(groat_context *context)
{
    if (context->store != NULL)
        groat__store_show(context->store, &context->ranges);
    groat__layers_show(context);
}

static groat_status check_options(const groat_options *options,
                                  groat_error *error)
{
    const unsigned known = GROAT_OPEN_NO_DISK | GROAT_OPEN_SANITIZE |
                           GROAT_OPEN_SHARE_GROUP | GROAT_OPEN_POINTERS |
                           GROAT_OPEN_ZERO_LOCALS;

    groat_status status = groat__check_size(error, "options", "groat_options",
                                            options, sizeof(*options));

    if (status != GROAT_OK)
        return status;
    if ((options->flags & ~known) != 0)
        return groat__fail(error, GROAT_INVALID,
                           "options.flags is 0x%x; known: 0x%x", options->flags,
                           known);
    if ((options->flags & GROAT_OPEN_SANITIZE) != 0 &&
        (options->flags & GROAT_OPEN_POINTERS) != 0)
        return groat__fail(error, GROAT_INVALID,
                           "options.flags is 0x%x: GROAT_OPEN_SANITIZE and "
                           "GROAT_OPEN_POINTERS exclude each other",
                           options->flags);
    if (options->device < 0)
        return groat__fail(error, GROAT_INVALID,
                           "options.device is %d; allowed: 0 and up",
                           options->device);
    return GROAT_OK;
}

/* After check_options(): the whole structure may be read. */
static groat_status check_lists(const groat_options *options,
                                groat_error *error)
{
    size_t bundles = options->bundles == NULL ? 0 : options->bundle_count;

    for (size_t i = 0; i < bundles; i++)
        if (options->bundles[i] == NULL)
            return groat__fail(error, GROAT_INVALID,
                               "options.bundles[%zu] is NULL; it is a path", i);
    if (options->images == NULL && options->image_count != 0)
        return groat__fail(error, GROAT_INVALID,
                           "options.images is NULL and image_count %zu; "
                           "allowed: 0 then",
                           options->image_count);
    for (size_t i = 0; i < options->image_count; i++)
        if (options->images[i].data == NULL)
            return groat__fail(error, GROAT_INVALID,
                               "options.images[%zu].data is NULL; it is a "
                               "bundle in memory",
                               i);
    return GROAT_OK;
}

static groat_status init_locks(groat_context *context,
                               const groat_options *options, groat_error *error)
{
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < GROAT__BACKENDS && status == GROAT_OK; i++)
        status = groat__machine_init(&context->machines[i], error);
    if (status == GROAT_OK &&
        (pthread_mutex_init(&context->lock, NULL) != 0 ||
         pthread_cond_init(&context->landed, NULL) != 0 ||
         pthread_mutex_init(&context->maps.lock, NULL) ||
         pthread_mutex_init(&context->families.lock, NULL) ||
         !groat__failures_init(&context->failures) ||
         !groat__pool_init(&context->pool) ||
         !groat__callbacks_init(&context->callbacks,
                                (groat__log){options->log, options->log_user})))
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for locks");
    return status;
}

static void take_options(groat_context *context, const groat_options *options)
{
    context->env.log = groat__callbacks_log(&context->callbacks);
    context->callbacks.compiled = options->compiled;
    context->callbacks.compiled_user = options->compiled_user;
    context->env.device = options->device;
    context->env.seed = options->seed;
    context->env.judge_seconds = options->judge_seconds;
    context->env.judge_jobs = options->judge_jobs;
    context->env.progress = options->judge_progress;
    context->env.progress_user = options->judge_progress_user;
    context->env.trace = options->trace;
    context->env.trace_user = options->trace_user;
    context->env.pointers = (options->flags & GROAT_OPEN_POINTERS) != 0;
    context->env.zero_locals = (options->flags & GROAT_OPEN_ZERO_LOCALS) != 0;
    context->env.sanitize = (options->flags & GROAT_OPEN_SANITIZE) != 0;
}

groat_status groat_open(const groat_options *given, groat_context **out,
                        groat_error *error)
{
    const groat_options *options;
    groat_options own = GROAT_OPTIONS_INIT;
    groat_context *context;
    groat_status status;

    if (given == NULL)
        given = &own;
    status = check_options(given, error);
    if (status != GROAT_OK)
        return status;
    if (given != &own)
        memcpy(&own, given, sizeof(own));
    options = &own;
    status = check_lists(options, error);
    if (status != GROAT_OK)
        return status;
    context = calloc(1, sizeof(*context));
    if (context == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a context");
    context->record = -1;
    status = init_locks(context, options, error);
    if (status != GROAT_OK) {
        free(context);
        return status;
    }
    groat__process_init(&context->process);
    take_options(context, options);
    status = read_environment(context, error);
    if (status == GROAT_OK)
        status = open_ranges(context, options, error);
    if (status == GROAT_OK)
        status =
            groat__families_open(&context->families,
                                 options->family_path != NULL
                                     ? options->family_path
                                     : variable(context, "GROAT_FAMILY_PATH"),
                                 &context->env.log, error);
    if (status != GROAT_OK) {
        groat_close(context);
        return status;
    }
    context->resident.max_bytes =
        bound(context, options->loaded_max_bytes, "GROAT_LOADED_MAX_BYTES", 0,
              "there is no bound");
    context->record = groat__used_open(
        option_or(context, options->record, "GROAT_RECORD"), &context->env.log);
    open_layers(context, options);
    open_remote(context, options);
    open_store(context, options);
    show_ranges(context);
    *out = context;
    return GROAT_OK;
}

static void close_record(groat_context *context)
{
    if (context->record >= 0)
        (void)close(context->record);
}

void groat_close(groat_context *context)
{
    if (context == NULL)
        return;
    /* In a forked child, locks, threads and connections are the parent's. */
    if (!groat__is_usable(context)) {
        close_record(context);
        return;
    }
    if (groat__callback_runs(&context->callbacks)) {
        if (!atomic_exchange(&context->callbacks.close_said, true))
            groat__log_line(&context->env.log, GROAT_LOG_WARNING,
                            "groat_close() is refused in a callback of the "
                            "context; close it when that has returned");
        return;
    }
    groat__remote_hurry(context->remote);
    groat__pool_free(&context->pool);
    groat__kernel_table_free(&context->table);
    groat__maps_free(&context->maps);
    groat__seal_free(&context->seal);
    groat__failures_free(&context->failures);
    while (context->kernels != NULL) {
        groat_kernel *kernel = context->kernels;

        context->kernels = kernel->next;
        groat__kernel_free(kernel);
    }
    for (size_t i = 0; i < GROAT__BACKENDS; i++)
        groat__machine_close(&context->machines[i], (groat__backend_id)i);
    close_record(context);
    groat__remote_close(context->remote);
    groat__store_close(context->store);
    groat__layers_close(&context->layers);
    free(context->store_problem);
    free(context->remote_problem);
    groat__families_close(&context->families);
    free_texts(context->environment);
    for (size_t i = 0; i < GROAT__FOUND; i++)
        free(context->found[i]);
    (void)pthread_cond_destroy(&context->landed);
    (void)pthread_mutex_destroy(&context->lock);
    groat__callbacks_free(&context->callbacks);
    free(context);
}
