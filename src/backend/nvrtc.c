/* SPDX-License-Identifier: Apache-2.0
 *
 * nvrtc.c compiles CUDA C++ with NVRTC 12 or newer, found at run time.  It owns
 * the search for libnvrtc and its builtins, the ordered options of an arch, and
 * parses the output of ptxas into facts.  It asks the driver only for its
 * version, if PTX is stored and in the doctor.  Invariant: a plan is never
 * changed once it is on the list, and identify prints exactly the options that
 * compile passes because both read the same plan.  Locking: the list of plans
 * is guarded by `lock`; everything else is read-only after open; NVRTC itself
 * may be called from any thread.
 */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cuda_abi.h"
#include "backend/cuda_driver.h"
#include "base/dl.h"
#include "backend/shared.h"
#include "base/error.h"

enum {
    PLAN_OPTIONS = 8,
    PATTERNS = 64,
    LINE_MAX_SHOWN = 300,
    MAJOR_MIN = 12,
    /* Since this release NVRTC has its own cache, whose hits have no log. */
    OWN_CACHE_MAJOR = 12,
    OWN_CACHE_MINOR = 9
};

typedef struct nvrtc_api {
#define SYMBOL(need, result, name, args) result(*name) args;
#include "backend/nvrtc.def"
#undef SYMBOL
} nvrtc_api;

enum { optional = 0, needed = 1 };

static const groat__symbol symbols[] = {
#define SYMBOL(need, result, name, args)                                       \
    {#name, need, offsetof(nvrtc_api, name)},
#include "backend/nvrtc.def"
#undef SYMBOL
};

/* How to compile for one arch. */
typedef struct nvrtc_plan {
    struct nvrtc_plan *next;
    char *arch;
    char *identity; /* the lines of identify() */
    char *options[PLAN_OPTIONS];
    int option_count;
    bool ptx; /* NVRTC does not know the arch: the driver compiles its PTX */
} nvrtc_plan;

typedef struct nvrtc_state {
    groat__env env;
    groat__dl dl;
    groat__dl builtins;
    nvrtc_api api;
    int major;
    int minor;
    int *archs; /* as NVRTC lists them: 75, 80, ... */
    int arch_count;
    pthread_mutex_t lock;
    nvrtc_plan *plans;
} nvrtc_state;

/* ---- where libnvrtc may be ---------------------------------------------- */

typedef enum root { NONE, HOME, CUDA_HOME, VIRTUAL_ENV, CONDA } root;

typedef struct place {
    root from;
    const char *folder;
    bool wheels; /* a folder of Python packages, with NVRTC in a wheel */
} place;

static const place places[] = {
    {CUDA_HOME, "/lib64", false},
    {CUDA_HOME, "/targets/*/lib", false},
    {VIRTUAL_ENV, "/lib/python3*/site-packages", true},
    {CONDA, "/lib", false},
    {CONDA, "/lib/python3*/site-packages", true},
    {NONE, "/usr/local/cuda/lib64", false},
    {NONE, "/usr/local/cuda/targets/*/lib", false},
    {NONE, "/usr/local/cuda-*/lib64", false},
    {NONE, "/usr/local/cuda-*/targets/*/lib", false},
    {NONE, "/opt/cuda/lib64", false},
    {NONE, "/opt/*/lib", false},
    {HOME, "/.local/lib/python3*/site-packages", true},
    {HOME, "/.pyenv/versions/*/lib/python3*/site-packages", true},
    {NONE, "/usr/local/lib/python3*/site-packages", true},
    {NONE, "/usr/local/lib/python3*/dist-packages", true},
    {NONE, "/usr/lib/python3*/site-packages", true},
    {NONE, "/usr/lib/python3*/dist-packages", true},
    {NONE, "/opt/*/.venv/lib/python3*/site-packages", true},
    {NONE, "/opt/*/lib/python3*/site-packages", true},
};

static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};

typedef struct patterns {
    char *at[PATTERNS + 1];
    size_t count;
} patterns;

static const char *root_path(const groat__env *env, root from)
{
    switch (from) {
    case HOME:
        return env->home;
    case CUDA_HOME:
        return env->cuda_home;
    case VIRTUAL_ENV:
        return env->virtual_env;
    case CONDA:
        return env->conda_prefix;
    case NONE:
        break;
    }
    return "";
}

static bool add_pattern(patterns *list, const char *base, const char *folder,
                        const char *file)
{
    groat__str str = {0};

    if (list->count == PATTERNS)
        return false;
    groat__add_quoted(&str, base);
    groat__str_addf(&str, "%s/%s", folder, file);
    list->at[list->count] = groat__str_take(&str);
    if (list->at[list->count] == NULL)
        return false;
    list->at[++list->count] = NULL;
    return true;
}

static bool add_place(patterns *list, const char *base, const place *where)
{
    groat__str wheel = {0};
    bool added;

    if (!where->wheels)
        return add_pattern(list, base, where->folder, sonames[0]) &&
               add_pattern(list, base, where->folder, sonames[1]);
    groat__str_addf(&wheel, "%s/nvidia/cu13/lib", where->folder);
    added = !wheel.failed && add_pattern(list, base, wheel.data, sonames[0]);
    groat__str_clear(&wheel);
    groat__str_addf(&wheel, "%s/nvidia/cuda_nvrtc/lib", where->folder);
    added = added && !wheel.failed &&
            add_pattern(list, base, wheel.data, sonames[1]);
    groat__str_free(&wheel);
    return added;
}

static void free_patterns(patterns *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->at[i]);
}

/* Where libnvrtc may be; false without memory. */
static bool list_places(const groat__env *env, patterns *list)
{
    bool whole = true;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && whole; i++) {
        const char *base = root_path(env, places[i].from);

        if (base != NULL)
            whole = add_place(list, base, &places[i]);
    }
    return whole;
}

static groat__dl_search search_for(const groat__env *env, const patterns *list)
{
    return (groat__dl_search){env->nvrtc, "GROAT_NVRTC", sonames,
                              (const char *const *)list->at};
}

static groat_status find_library(const groat__env *env, groat__dl *dl,
                                 groat_error *error)
{
    patterns list = {{NULL}, 0};
    bool whole = list_places(env, &list);
    groat__dl_search how = search_for(env, &list);
    groat_status status;

    if (whole)
        status = groat__dl_open(&how, dl, error);
    else
        status = groat__fail(error, GROAT_NO_MEMORY,
                             "no memory to search for libnvrtc");
    free_patterns(&list);
    return status;
}

/* Finds the build id of the library that find_library() would open. */
static bool predict_library(const groat__env *env,
                            char build_id[GROAT__BUILD_ID_ROOM])
{
    patterns list = {{NULL}, 0};
    groat__dl_search how = search_for(env, &list);
    groat__loader_answer answer = groat__dl_predict(&how, build_id);

    if (answer == GROAT__LOADER_NONE && list_places(env, &list)) {
        how.sonames = NULL;
        answer = groat__dl_predict(&how, build_id);
    }
    free_patterns(&list);
    return answer == GROAT__LOADER_FILE;
}

/* NVRTC opens its builtins by bare name at the first compile.  If those beside
 * it are loaded already, the name finds them, wherever the folder is. */
static void find_builtins(nvrtc_state *state)
{
    static const char *const nothing[] = {NULL};
    const char *slash = strrchr(state->dl.path, '/');
    const char *list[2] = {NULL, NULL};
    groat__dl_search beside = {NULL, NULL, nothing, list};
    groat__dl_search anywhere = {NULL, NULL, list, nothing};
    groat__str folder = {0};
    groat__str name = {0};
    groat__str pattern = {0};
    groat__dl elsewhere;

    groat__str_addn(&folder, state->dl.path,
                    slash == NULL ? 0 : (size_t)(slash - state->dl.path));
    groat__str_addf(&name, "libnvrtc-builtins.so.%d.%d", state->major,
                    state->minor);
    groat__add_quoted(&pattern, folder.failed ? "" : folder.data);
    groat__str_addf(&pattern, "/%s", name.failed ? "" : name.data);
    if (folder.failed || name.failed || pattern.failed)
        goto free_names;
    list[0] = pattern.data;
    if (groat__dl_open(&beside, &state->builtins, NULL) == GROAT_OK)
        goto free_names;
    list[0] = name.data;
    if (groat__dl_open(&anywhere, &elsewhere, NULL) == GROAT_OK) {
        groat__dl_close(&state->builtins);
        state->builtins = elsewhere;
    } else {
        groat__dl_close(&elsewhere);
    }
free_names:
    groat__str_free(&pattern);
    groat__str_free(&name);
    groat__str_free(&folder);
}

/* ---- open and close ----------------------------------------------------- */

/* For calls without a log: those of open, and those that fetch results. */
static groat_status call_failed(const nvrtc_state *state, groat_status status,
                                const char *call, nvrtcResult code,
                                groat_error *error)
{
    const char *name = state->api.nvrtcGetErrorString(code);

    if (code == NVRTC_ERROR_OUT_OF_MEMORY)
        status = GROAT_NO_MEMORY;
    return groat__fail_vendor(error, status, call, code, "%s said %d (%s)",
                              call, code, name != NULL ? name : "no name");
}

static groat_status ask_version(nvrtc_state *state, groat_error *error)
{
    const nvrtc_api *api = &state->api;
    nvrtcResult code = api->nvrtcVersion(&state->major, &state->minor);

    if (code != NVRTC_SUCCESS)
        return call_failed(state, GROAT_NO_DEVICE, "nvrtcVersion", code, error);
    if (state->major < MAJOR_MIN)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "%s is NVRTC %d.%d; 12.0 or newer is needed",
                           state->dl.path, state->major, state->minor);
    code = api->nvrtcGetNumSupportedArchs(&state->arch_count);
    if (code != NVRTC_SUCCESS)
        return call_failed(state, GROAT_NO_DEVICE, "nvrtcGetNumSupportedArchs",
                           code, error);
    if (state->arch_count < 1 || state->arch_count > 4096)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "%s lists %d archs; expected 1 to 4096",
                           state->dl.path, state->arch_count);
    state->archs = calloc((size_t)state->arch_count, sizeof(*state->archs));
    if (state->archs == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for NVRTC");
    code = api->nvrtcGetSupportedArchs(state->archs);
    if (code != NVRTC_SUCCESS)
        return call_failed(state, GROAT_NO_DEVICE, "nvrtcGetSupportedArchs",
                           code, error);
    return GROAT_OK;
}

static void free_plan(nvrtc_plan *plan)
{
    for (int i = 0; i < plan->option_count; i++)
        free(plan->options[i]);
    free(plan->identity);
    free(plan->arch);
    free(plan);
}

static void nvrtc_close(void *handle)
{
    nvrtc_state *state = handle;

    if (state == NULL)
        return;
    while (state->plans != NULL) {
        nvrtc_plan *next = state->plans->next;

        free_plan(state->plans);
        state->plans = next;
    }
    (void)pthread_mutex_destroy(&state->lock);
    free(state->archs);
    groat__dl_close(&state->builtins);
    groat__dl_close(&state->dl);
    free(state);
}

static groat_status nvrtc_search(const groat__env *env, void **out,
                                 groat_error *error)
{
    nvrtc_state *state = calloc(1, sizeof(*state));
    groat_status status;

    *out = state;
    if (state == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for NVRTC");
    state->env = *env;
    (void)pthread_mutex_init(&state->lock, NULL);
    status = find_library(env, &state->dl, error);
    if (status == GROAT_OK)
        status = groat__dl_bind(&state->dl, symbols,
                                sizeof(symbols) / sizeof(symbols[0]),
                                &state->api, error);
    if (status == GROAT_OK)
        status = ask_version(state, error);
    if (status == GROAT_OK)
        find_builtins(state);
    return status;
}

/* ---- plans: an arch's options and identity ------------------------------ */

static groat_status unknown_arch(const nvrtc_state *state, const char *arch,
                                 groat_error *error)
{
    groat__str list = {0};

    for (int i = 0; i < state->arch_count; i++)
        groat__str_addf(&list, " sm_%d", state->archs[i]);
    groat__fail(error, GROAT_NO_DEVICE,
                "NVRTC %d.%d cannot compile for '%.32s'; it knows%s and their "
                "letter forms",
                state->major, state->minor, arch,
                list.failed ? " (no memory)" : list.data);
    groat__str_free(&list);
    return GROAT_NO_DEVICE;
}

/* Returns the 90 of "sm_90a"; 0 for a name of another form. */
static int arch_number(const char *arch)
{
    int number = 0;

    if (strncmp(arch, "sm_", 3) != 0)
        return 0;
    for (arch += 3; isdigit((unsigned char)*arch) && number < 10000; arch++)
        number = number * 10 + (*arch - '0');
    if (*arch == 'a' || *arch == 'f')
        arch++;
    return *arch == '\0' ? number : 0;
}

/* Returns the highest listed arch up to `number`; 0 if there is none. */
static int nearest_arch(const nvrtc_state *state, int number)
{
    int best = 0;

    for (int i = 0; i < state->arch_count; i++)
        if (state->archs[i] <= number && state->archs[i] > best)
            best = state->archs[i];
    return best;
}

static bool add_option(nvrtc_plan *plan, const char *format, ...)
    GROAT_PRINTF(2, 3);

static bool add_option(nvrtc_plan *plan, const char *format, ...)
{
    groat__str option = {0};
    va_list args;

    va_start(args, format);
    groat__str_addv(&option, format, args);
    va_end(args);
    plan->options[plan->option_count] = groat__str_take(&option);
    if (plan->options[plan->option_count] == NULL)
        return false;
    plan->option_count++;
    return true;
}

/* A release of NVRTC. */
typedef struct release {
    int major;
    int minor;
    const char *build_id;
} release;

static bool add_options(const release *from, const char *arch, int nearest,
                        nvrtc_plan *plan)
{
    bool whole =
        plan->ptx ? add_option(plan, "--gpu-architecture=compute_%d", nearest)
                  : add_option(plan, "--gpu-architecture=%s", arch);

    whole = whole && add_option(plan, "--std=c++17");
    if (!plan->ptx)
        whole = whole && add_option(plan, "--ptxas-options=-v");
    if (from->major > OWN_CACHE_MAJOR ||
        (from->major == OWN_CACHE_MAJOR && from->minor >= OWN_CACHE_MINOR))
        whole = whole && add_option(plan, "--no-cache");
    return whole;
}

/* Appends the lines of identify(), except the one that depends on the driver.
 */
static void write_lines(const release *from, const nvrtc_plan *plan,
                        groat__str *who)
{
    groat__str_addf(who, "compiler nvrtc %d.%d build %s\n", from->major,
                    from->minor, from->build_id);
    for (int i = 0; i < plan->option_count; i++)
        groat__str_addf(who, "option %s\n", plan->options[i]);
}

static groat_status make_plan(const nvrtc_state *state, const char *arch,
                              nvrtc_plan **out, groat_error *error)
{
    const release from = {state->major, state->minor, state->dl.build_id};
    int number = arch_number(arch);
    int nearest = nearest_arch(state, number);
    groat__str who = {0};
    nvrtc_plan *plan;

    if (number == 0 || nearest == 0)
        return unknown_arch(state, arch, error);
    plan = calloc(1, sizeof(*plan));
    if (plan == NULL)
        goto out_of_memory;
    plan->ptx = nearest != number;
    plan->arch = strdup(arch);
    if (plan->arch == NULL || !add_options(&from, arch, nearest, plan))
        goto free_plan;
    write_lines(&from, plan, &who);
    if (plan->ptx)
        groat__str_addf(&who, "form ptx driver %d\n",
                        groat__cuda_driver_version(&state->env));
    plan->identity = groat__str_take(&who);
    if (plan->identity == NULL)
        goto free_plan;
    *out = plan;
    return GROAT_OK;
free_plan:
    free_plan(plan);
out_of_memory:
    return groat__fail(error, GROAT_NO_MEMORY, "no memory for NVRTC options");
}

static const nvrtc_plan *known_plan(nvrtc_state *state, const char *arch)
{
    const nvrtc_plan *plan = state->plans;

    while (plan != NULL && strcmp(plan->arch, arch) != 0)
        plan = plan->next;
    return plan;
}

/* A plan is made outside of the lock, as that may open the driver.  If two
 * threads make the same plan, one of them discards its own. */
static groat_status get_plan(nvrtc_state *state, const char *arch,
                             const nvrtc_plan **out, groat_error *error)
{
    nvrtc_plan *made = NULL;
    const nvrtc_plan *plan;
    groat_status status;

    (void)pthread_mutex_lock(&state->lock);
    plan = known_plan(state, arch);
    (void)pthread_mutex_unlock(&state->lock);
    if (plan == NULL) {
        status = make_plan(state, arch, &made, error);
        if (status != GROAT_OK)
            return status;
        (void)pthread_mutex_lock(&state->lock);
        plan = known_plan(state, arch);
        if (plan == NULL) {
            made->next = state->plans;
            state->plans = made;
            plan = made;
            made = NULL;
        }
        (void)pthread_mutex_unlock(&state->lock);
        if (made != NULL)
            free_plan(made);
    }
    *out = plan;
    return GROAT_OK;
}

static groat_status nvrtc_identify(void *state, const groat__arch *arch,
                                   groat__str *who, groat_error *error)
{
    const nvrtc_plan *plan;
    groat_status status = get_plan(state, arch->name, &plan, error);

    if (status == GROAT_OK)
        groat__str_add(who, plan->identity);
    return status;
}

/* Whether the release that the lines name would have these lines.  False for
 * PTX, whose lines contain the driver's version. */
static bool are_own(const char *arch, const char *build_id, const char *lines)
{
    nvrtc_plan *plan = calloc(1, sizeof(*plan));
    release from = {0, 0, build_id};
    groat__str own = {0};
    bool same = false;

    if (plan == NULL)
        return false;
    if (sscanf(lines, "compiler nvrtc %5d.%5d ", &from.major, &from.minor) ==
            2 &&
        add_options(&from, arch, 0, plan)) {
        write_lines(&from, plan, &own);
        same = !own.failed && strcmp(own.data, lines) == 0;
    }
    groat__str_free(&own);
    free_plan(plan);
    return same;
}

static bool nvrtc_predict(const groat__env *env, const groat__arch *arch,
                          groat__made_by_fn *made, void *user, groat__str *who)
{
    char build_id[GROAT__BUILD_ID_ROOM];
    size_t from = who->len;

    return predict_library(env, build_id) && made(user, build_id, who) &&
           !who->failed && are_own(arch->name, build_id, who->data + from);
}

/* ---- the output of ptxas ------------------------------------------------ */

/* Returns the number right before `words` in [text, end); -1 if none. */
static int64_t number_before(const char *text, const char *end,
                             const char *words)
{
    const char *at = memmem(text, (size_t)(end - text), words, strlen(words));
    const char *first = at;
    int64_t number = 0;

    if (at == NULL)
        return -1;
    while (first > text && isdigit((unsigned char)first[-1]))
        first--;
    if (first == at || at - first > 15)
        return -1;
    for (; first < at; first++)
        number = number * 10 + (*first - '0');
    return number;
}

/* Finds the part of the log about entry; false if there is none. */
static bool find_entry(const char *log, const char *entry, const char **begin,
                       const char **end)
{
    static const char head[] = "Compiling entry function '";
    size_t len = strlen(entry);
    const char *at = strstr(log, head);

    while (at != NULL) {
        const char *next = strstr(at + 1, head);
        const char *name = at + sizeof(head) - 1;

        if (strncmp(name, entry, len) == 0 && name[len] == '\'') {
            *begin = name;
            *end = next != NULL ? next : at + strlen(at);
            return true;
        }
        at = next;
    }
    return false;
}

static void read_facts(const char *log, const char *entry, groat_facts *facts)
{
    const char *begin;
    const char *end;
    const char *used;
    groat__str head = {0};

    if (log == NULL || !find_entry(log, entry, &begin, &end))
        return;
    facts->registers = number_before(begin, end, " registers");
    used = memmem(begin, (size_t)(end - begin), "Used ", 5);
    if (used != NULL) {
        facts->shared_bytes = number_before(used, end, " bytes smem");
        if (facts->shared_bytes < 0)
            facts->shared_bytes = 0;
    }
    /* Functions that were not inlined have spill lines of their own. */
    groat__str_addf(&head, "Function properties for %s\n", entry);
    if (!head.failed) {
        const char *own =
            memmem(begin, (size_t)(end - begin), head.data, head.len);

        facts->spill_bytes = number_before(own != NULL ? own : begin, end,
                                           " bytes spill stores");
    }
    groat__str_free(&head);
}

/* ---- compile ------------------------------------------------------------ */

/* Returns the log, malloc'd; NULL if there is none or it cannot be read, which
 * is no reason to lose the kernel. */
static char *take_log(const nvrtc_state *state, nvrtcProgram program)
{
    size_t bytes = 0;
    char *log;

    if (state->api.nvrtcGetProgramLogSize(program, &bytes) != NVRTC_SUCCESS ||
        bytes <= 1)
        return NULL;
    log = calloc(1, bytes + 1);
    if (log == NULL)
        return NULL;
    if (state->api.nvrtcGetProgramLog(program, log) != NVRTC_SUCCESS) {
        free(log);
        return NULL;
    }
    groat__drop_times(log);
    return log;
}

/* Finds the first line with an error in the log; returns its length. */
static int first_error(const char *log, const char **line)
{
    const char *at = log == NULL ? NULL : strstr(log, "error");
    size_t len;

    if (at == NULL) {
        *line = "the log is empty";
        return (int)strlen(*line);
    }
    while (at > log && at[-1] != '\n')
        at--;
    len = strcspn(at, "\n");
    *line = at;
    return len > LINE_MAX_SHOWN ? LINE_MAX_SHOWN : (int)len;
}

static groat_status builtins_failed(const nvrtc_state *state, nvrtcResult code,
                                    groat_error *error)
{
    const char *story = state->builtins.story.data;
    const char *found = state->builtins.path;

    return groat__fail_vendor(
        error, GROAT_COMPILE_FAILED, "nvrtcCompileProgram", code,
        "NVRTC %d.%d from %.200s needs libnvrtc-builtins.so.%d.%d of the same "
        "release beside it; %s: %.300s",
        state->major, state->minor, state->dl.path, state->major, state->minor,
        found != NULL ? "the file found did not work" : "there is none",
        found != NULL ? found : (story != NULL ? story : "not looked for"));
}

/* Takes ownership of log. */
static groat_status compile_failed(const nvrtc_state *state,
                                   const char *source_name, nvrtcResult code,
                                   char *log, groat_error *error)
{
    const char *name = state->api.nvrtcGetErrorString(code);
    groat_status status = GROAT_COMPILE_FAILED;
    const char *line;
    int len = first_error(log, &line);

    if (code == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE ||
        (log != NULL && strstr(log, "libnvrtc-builtins") != NULL)) {
        status = builtins_failed(state, code, error);
    } else {
        if (code == NVRTC_ERROR_OUT_OF_MEMORY)
            status = GROAT_NO_MEMORY;
        groat__fail_vendor(error, status, "nvrtcCompileProgram", code,
                           "nvrtcCompileProgram said %d (%s) of %.100s: %.*s",
                           code, name != NULL ? name : "no name", source_name,
                           len, line);
    }
    groat__error_take_log(error, log);
    return status;
}

static groat_status take_binary(const nvrtc_state *state,
                                const nvrtc_plan *plan, nvrtcProgram program,
                                groat__binary *binary, groat_error *error)
{
    const nvrtc_api *api = &state->api;
    nvrtcResult code = plan->ptx
                           ? api->nvrtcGetPTXSize(program, &binary->bytes)
                           : api->nvrtcGetCUBINSize(program, &binary->bytes);

    if (code != NVRTC_SUCCESS)
        return call_failed(state, GROAT_COMPILE_FAILED,
                           plan->ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize",
                           code, error);
    if (binary->bytes == 0)
        return groat__fail(error, GROAT_COMPILE_FAILED,
                           "NVRTC %d.%d gave 0 bytes of %s for %s",
                           state->major, state->minor,
                           plan->ptx ? "PTX" : "machine code", plan->arch);
    binary->data = malloc(binary->bytes);
    if (binary->data == NULL)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "no memory for a binary of %zu bytes",
                           binary->bytes);
    code = plan->ptx ? api->nvrtcGetPTX(program, binary->data)
                     : api->nvrtcGetCUBIN(program, binary->data);
    if (code != NVRTC_SUCCESS) {
        free(binary->data);
        binary->data = NULL;
        return call_failed(state, GROAT_COMPILE_FAILED,
                           plan->ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN", code,
                           error);
    }
    if (!groat__cuda_is_image(binary->data, binary->bytes)) {
        free(binary->data);
        binary->data = NULL;
        return groat__fail(
            error, GROAT_COMPILE_FAILED,
            "NVRTC %d.%d gave %zu bytes for %s that are not a complete %s",
            state->major, state->minor, binary->bytes, plan->arch,
            plan->ptx ? "PTX" : "ELF file");
    }
    return GROAT_OK;
}

static groat_status nvrtc_compile(void *handle, const groat__arch *arch,
                                  const char *source_name, const char *source,
                                  const char *entry, groat__binary *out,
                                  groat_error *error)
{
    nvrtc_state *state = handle;
    groat__binary binary = {NULL, 0, NULL, {-1, -1, -1, -1, -1, -1}};
    nvrtcProgram program = NULL;
    const nvrtc_plan *plan;
    nvrtcResult code;
    char *log;
    groat_status status = get_plan(state, arch->name, &plan, error);

    if (status != GROAT_OK)
        return status;
    code = state->api.nvrtcCreateProgram(&program, source, source_name, 0, NULL,
                                         NULL);
    if (code != NVRTC_SUCCESS)
        return call_failed(state, GROAT_COMPILE_FAILED, "nvrtcCreateProgram",
                           code, error);
    code = state->api.nvrtcCompileProgram(program, plan->option_count,
                                          (const char *const *)plan->options);
    log = take_log(state, program);
    if (code != NVRTC_SUCCESS) {
        status = compile_failed(state, source_name, code, log, error);
        goto destroy_program;
    }
    status = take_binary(state, plan, program, &binary, error);
    if (status != GROAT_OK) {
        groat__error_take_log(error, log);
        goto destroy_program;
    }
    binary.log = log;
    binary.facts.code_bytes = (int64_t)binary.bytes;
    read_facts(log, entry, &binary.facts);
    *out = binary;
destroy_program:
    (void)state->api.nvrtcDestroyProgram(&program);
    return status;
}

/* ---- report ------------------------------------------------------------- */

static void describe(const nvrtc_state *state, groat__str *out)
{
    const char *story = state->builtins.story.data;
    int driver = groat__cuda_driver_version(&state->env);
    groat__str archs = {0};

    groat__finding(out, "libnvrtc", true, "%s, version %d.%d, build %s",
                   state->dl.path, state->major, state->minor,
                   state->dl.build_id);
    if (state->builtins.path != NULL)
        groat__finding(out, "libnvrtc-builtins", true, "%s",
                       state->builtins.path);
    else
        groat__finding(out, "libnvrtc-builtins", false,
                       "libnvrtc-builtins.so.%d.%d of the same release "
                       "must be beside %s: %s",
                       state->major, state->minor, state->dl.path,
                       story != NULL ? story : "not found");
    for (int i = 0; i < state->arch_count; i++)
        groat__str_addf(&archs, "%ssm_%d", i == 0 ? "" : " ", state->archs[i]);
    groat__finding(out, "nvrtc archs", true, "%s",
                   archs.failed ? "no memory" : archs.data);
    groat__str_free(&archs);
    if (driver != 0 && state->major > driver / 1000)
        groat__finding(out, "nvrtc and driver", false,
                       "NVRTC %d.%d is a major release newer than the "
                       "driver's CUDA %d.%d: the driver may refuse its "
                       "binaries; use NVRTC %d or a newer driver",
                       state->major, state->minor, driver / 1000,
                       driver % 1000 / 10, driver / 1000);
}

static void nvrtc_report(void *handle, const groat__env *env,
                         const groat_error *failed, groat__str *out)
{
    const nvrtc_state *state = handle;

    (void)env;
    if (failed == NULL)
        describe(state, out);
    else
        groat__finding(
            out, "libnvrtc", false, "%s",
            groat__library_problem(state == NULL ? NULL : &state->dl, failed));
}

const groat__compiler groat__compiler_nvrtc = {
    .name = "nvrtc",
    .part = {nvrtc_search, nvrtc_close, nvrtc_report},
    .identify = nvrtc_identify,
    .predict = nvrtc_predict,
    .compile = nvrtc_compile,
};
