/* SPDX-License-Identifier: Apache-2.0
 *
 * hiprtc.c owns hipRTC: finding it, naming it for the identity, compiling with
 * it and reading facts from the result's notes.  Loading and launching are
 * hip.c's.  comgr and its LLVM do the actual compiling, so both are part of the
 * identity, and comgr's list of targets is checked before each compile: older
 * releases abort the process on an arch they do not know.
 *
 * Invariant: a program is destroyed on every path that made one.  comgr's own
 * cache ($AMD_COMGR_CACHE) can only be switched off by the environment, which a
 * library must not change.
 * Locking: one compile at a time.  hipRTC serializes them anyway, but release
 * 5.2 sometimes crashes when several threads compile.  All else of the state is
 * read-only once open.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backend/amdgpu_elf.h"
#include "backend/backend.h"
#include "backend/hip_abi.h"
#include "backend/rocm.h"
#include "backend/shared.h"
#include "base/error.h"

/* Largest code object or log that is accepted. */
#define OUTPUT_BYTES_MAX ((size_t)1 << 30)

typedef struct rtc_calls {
#define RTC(name, needed, result, parameters, names) result(*name) parameters;
#include "backend/hiprtc.def"
} rtc_calls;

typedef struct comgr_calls {
#define COMGR(name, needed, result, parameters, names) result(*name) parameters;
#include "backend/hiprtc.def"
} comgr_calls;

static const groat__symbol rtc_symbols[] = {
#define RTC(name, needed, result, parameters, names)                           \
    {#name, needed, offsetof(rtc_calls, name)},
#include "backend/hiprtc.def"
};

static const groat__symbol comgr_symbols[] = {
#define COMGR(name, needed, result, parameters, names)                         \
    {#name, needed, offsetof(comgr_calls, name)},
#include "backend/hiprtc.def"
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ROCm 5 has hipRTC in the runtime, 6 in both, 7 in libhiprtc only. */
static const char *const rtc_files[] = {"libhiprtc.so.7", "libhiprtc.so.6",
                                        "libamdhip64.so.5", "libhiprtc.so",
                                        NULL};
static const char *const comgr_files[] = {
    "libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so", NULL};

typedef struct rtc_state {
    groat__env env;
    groat__dl rtc_dl;
    groat__dl comgr_dl;
    groat__dl llvm_dl; /* no handle: LLVM is linked into comgr                */
    rtc_calls rtc;
    comgr_calls comgr;
    groat__str
        known; /* archs of comgr, each between blanks: " gfx90a gfx942 " */
    char version[48]; /* "" until hipRTC is open and has every symbol        */
    pthread_mutex_t lock; /* held while hipRTC makes a program               */
} rtc_state;

/* The one list of options: identify prints it, compile passes it. */
enum { OPTIONS = 3 };

typedef struct rtc_options {
    char arch[64];
    const char *list[OPTIONS];
} rtc_options;

static void make_options(const groat__arch *arch, rtc_options *options)
{
    (void)snprintf(options->arch, sizeof(options->arch), "--offload-arch=%s",
                   arch->name);
    options->list[0] = options->arch;
    options->list[1] = "-O3";
    options->list[2] = "-std=c++17";
}

static groat_status open_rtc(rtc_state *state, groat_error *error)
{
    const groat__rocm_library library = {state->env.hiprtc, "GROAT_HIPRTC",
                                         rtc_files};
    groat_status status =
        groat__rocm_open(&state->env, &library, &state->rtc_dl, error);
    int packed = 0;

    if (status == GROAT_OK)
        status = groat__dl_bind(&state->rtc_dl, rtc_symbols, COUNT(rtc_symbols),
                                &state->rtc, error);
    if (status != GROAT_OK)
        return status;
    if (state->rtc.hipRuntimeGetVersion != NULL &&
        state->rtc.hipRuntimeGetVersion(&packed) != GROAT__HIP_SUCCESS)
        packed = 0;
    groat__rocm_version(&state->rtc_dl, packed, state->version,
                        sizeof(state->version));
    return GROAT_OK;
}

/* hipRTC opens its comgr at the first program.  Making one here shows which of
 * several it uses. */
static const char *comgr_in_use(rtc_state *state)
{
    groat__hiprtc_program program = NULL;

    if (state->rtc.hiprtcCreateProgram(&program, "", "empty.hip", 0, NULL,
                                       NULL) == GROAT__HIPRTC_SUCCESS)
        (void)state->rtc.hiprtcDestroyProgram(&program);
    for (size_t i = 0; comgr_files[i] != NULL; i++)
        if (groat__rocm_loaded(comgr_files[i]))
            return comgr_files[i];
    return NULL;
}

/* Returns the path of the comgr beside hipRTC, malloc'd; NULL: there is none.
 */
static char *comgr_beside(const rtc_state *state)
{
    const char *path = state->rtc_dl.path;
    const char *slash = strrchr(path, '/');

    for (size_t i = 0; slash != NULL && comgr_files[i] != NULL; i++) {
        groat__str name = {0};

        groat__str_addn(&name, path, (size_t)(slash - path) + 1);
        groat__str_add(&name, comgr_files[i]);
        if (!name.failed && access(name.data, R_OK) == 0)
            return groat__str_take(&name);
        groat__str_free(&name);
    }
    return NULL;
}

static groat_status open_comgr(rtc_state *state, groat_error *error)
{
    groat__rocm_library library = {state->env.comgr, "GROAT_COMGR",
                                   comgr_files};
    char *beside = NULL;
    const char *llvm;
    groat_status status;

    if (library.override == NULL) {
        library.override_name = "the libamd_comgr of hipRTC";
        library.override = comgr_in_use(state);
    }
    if (library.override == NULL)
        library.override = beside = comgr_beside(state);
    status = groat__rocm_open(&state->env, &library, &state->comgr_dl, error);
    free(beside);
    if (status == GROAT_OK)
        status = groat__dl_bind(&state->comgr_dl, comgr_symbols,
                                COUNT(comgr_symbols), &state->comgr, error);
    if (status != GROAT_OK)
        return status;
    llvm = groat__rocm_needed(&state->comgr_dl, "libLLVM");
    if (llvm != NULL) {
        library.override = llvm;
        library.override_name = "the libLLVM of libamd_comgr";
        status =
            groat__rocm_open(&state->env, &library, &state->llvm_dl, error);
    }
    return status;
}

/* Adds the arch of an ISA: gfx90a of "amdgcn-amd-amdhsa--gfx90a:sramecc+". */
static void add_known(rtc_state *state, const char *isa)
{
    const char *dashes = strstr(isa, "--");
    const char *name = dashes != NULL ? dashes + 2 : isa;
    groat__str token = {0};

    groat__str_add(&token, " ");
    groat__str_addn(&token, name, strcspn(name, ":"));
    groat__str_add(&token, " ");
    if (token.failed)
        state->known.failed = true;
    else if (state->known.data == NULL)
        groat__str_add(&state->known, token.data);
    else if (strstr(state->known.data, token.data) == NULL)
        groat__str_add(&state->known, token.data + 1);
    groat__str_free(&token);
}

static groat_status list_known(rtc_state *state, groat_error *error)
{
    size_t count = 0;
    int code = state->comgr.amd_comgr_get_isa_count(&count);

    if (code != 0)
        return groat__fail_vendor(error, GROAT_NO_DEVICE,
                                  "amd_comgr_get_isa_count", code,
                                  "amd_comgr_get_isa_count of %s said %d",
                                  state->comgr_dl.path, code);
    for (size_t i = 0; i < count; i++) {
        const char *isa = NULL;

        code = state->comgr.amd_comgr_get_isa_name(i, &isa);
        if (code != 0 || isa == NULL)
            return groat__fail_vendor(
                error, GROAT_NO_DEVICE, "amd_comgr_get_isa_name", code,
                "amd_comgr_get_isa_name(%zu) of %s said %d", i,
                state->comgr_dl.path, code);
        add_known(state, isa);
    }
    if (state->known.failed)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "no memory for the archs of %s",
                           state->comgr_dl.path);
    return GROAT_OK;
}

static void rtc_close(void *user)
{
    rtc_state *state = user;

    if (state == NULL)
        return;
    groat__dl_close(&state->llvm_dl);
    groat__dl_close(&state->comgr_dl);
    groat__dl_close(&state->rtc_dl);
    groat__str_free(&state->known);
    (void)pthread_mutex_destroy(&state->lock);
    free(state);
}

static groat_status rtc_search(const groat__env *env, void **out,
                               groat_error *error)
{
    rtc_state *state = calloc(1, sizeof(*state));
    groat_status status;

    *out = NULL;
    if (state == NULL || pthread_mutex_init(&state->lock, NULL) != 0) {
        free(state);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for hipRTC");
    }
    *out = state;
    state->env = *env;
    status = open_rtc(state, error);
    if (status == GROAT_OK)
        status = open_comgr(state, error);
    if (status == GROAT_OK)
        status = list_known(state, error);
    return status;
}

static const char *known_text(const rtc_state *state)
{
    return state->known.data != NULL ? state->known.data : " none ";
}

static groat_status check_arch(const rtc_state *state, const groat__arch *arch,
                               groat_error *error)
{
    char token[64];

    (void)snprintf(token, sizeof(token), " %s ", arch->name);
    if (strstr(known_text(state), token) != NULL)
        return GROAT_OK;
    return groat__fail(error, GROAT_NO_DEVICE,
                       "hipRTC %s does not know the arch %s; it knows:%s",
                       state->version, arch->name, known_text(state));
}

static groat_status rtc_identify(void *user, const groat__arch *arch,
                                 groat__str *who, groat_error *error)
{
    const rtc_state *state = user;
    groat_status status = check_arch(state, arch, error);
    rtc_options options;

    if (status != GROAT_OK)
        return status;
    groat__str_addf(who, "compiler hiprtc %s build %s comgr %s", state->version,
                    state->rtc_dl.build_id, state->comgr_dl.build_id);
    if (state->llvm_dl.handle != NULL)
        groat__str_addf(who, " llvm %s", state->llvm_dl.build_id);
    groat__str_add(who, "\n");
    make_options(arch, &options);
    for (size_t i = 0; i < OPTIONS; i++)
        groat__str_addf(who, "option %s\n", options.list[i]);
    return GROAT_OK;
}

static groat_status fail_rtc(const rtc_state *state, const char *call, int code,
                             const char *source_name, groat_error *error)
{
    const char *text = state->rtc.hiprtcGetErrorString(code);

    return groat__fail_vendor(error,
                              code == GROAT__HIPRTC_OUT_OF_MEMORY
                                  ? GROAT_NO_MEMORY
                                  : GROAT_COMPILE_FAILED,
                              call, code, "%s said %d (%s) on %s", call, code,
                              text != NULL ? text : "no text", source_name);
}

/* Returns the log, malloc'd; NULL if it is empty or cannot be read. */
static char *read_log(const rtc_state *state, groat__hiprtc_program program)
{
    size_t bytes = 0;
    char *log;

    if (state->rtc.hiprtcGetProgramLogSize(program, &bytes) !=
            GROAT__HIPRTC_SUCCESS ||
        bytes <= 1 || bytes > OUTPUT_BYTES_MAX)
        return NULL;
    log = calloc(1, bytes + 1);
    if (log != NULL && (state->rtc.hiprtcGetProgramLog(program, log) !=
                            GROAT__HIPRTC_SUCCESS ||
                        log[0] == '\0')) {
        free(log);
        log = NULL;
    }
    if (log != NULL)
        groat__drop_times(log);
    return log;
}

/* comgr works in a folder below $TMPDIR and fails without a log if it cannot.
 */
static const char *temp_dir(const rtc_state *state)
{
    return state->env.tmpdir != NULL ? state->env.tmpdir : "/tmp";
}

/* Returns why the folder for temporary files cannot be used; NULL: it can. */
static const char *temp_dir_problem(const rtc_state *state)
{
    struct statvfs space;
    struct stat st;
    const char *dir = temp_dir(state);

    if (stat(dir, &st) != 0)
        return strerror(errno);
    if (!S_ISDIR(st.st_mode))
        return strerror(ENOTDIR);
    if (access(dir, W_OK | X_OK) != 0)
        return strerror(errno);
    if (statvfs(dir, &space) == 0 && space.f_blocks > 0 && space.f_bavail == 0)
        return strerror(ENOSPC);
    return NULL;
}

static groat_status fail_compile(const rtc_state *state,
                                 groat__hiprtc_program program, int code,
                                 const char *source_name, groat_error *error)
{
    static const char call[] = "hiprtcCompileProgram";
    char *log = read_log(state, program);
    const char *problem = NULL;
    groat_status status;

    if (log == NULL)
        problem = temp_dir_problem(state);
    if (code != GROAT__HIPRTC_COMPILATION && problem == NULL)
        status = fail_rtc(state, call, code, source_name, error);
    else if (log != NULL)
        status = groat__fail_vendor(error, GROAT_COMPILE_FAILED, call, code,
                                    "%s: hipRTC says: %.*s", source_name,
                                    (int)strcspn(log, "\n"), log);
    else if (problem != NULL)
        status = groat__fail_vendor(
            error, GROAT_COMPILE_FAILED, call, code,
            "%s: hipRTC failed without a log: its folder for temporary files, "
            "%s, cannot be used (%s); set TMPDIR to a writable one",
            source_name, temp_dir(state), problem);
    else
        status = groat__fail_vendor(
            error, GROAT_COMPILE_FAILED, call, code,
            "%s: hipRTC said %d without a log, and %s is writable", source_name,
            code, temp_dir(state));
    groat__error_take_log(error, log);
    return status;
}

static groat_status read_code(const rtc_state *state,
                              groat__hiprtc_program program,
                              const char *source_name, groat__binary *out,
                              groat_error *error)
{
    size_t bytes = 0;
    int code = state->rtc.hiprtcGetCodeSize(program, &bytes);
    char *data;

    if (code != GROAT__HIPRTC_SUCCESS)
        return fail_rtc(state, "hiprtcGetCodeSize", code, source_name, error);
    if (bytes == 0 || bytes > OUTPUT_BYTES_MAX)
        return groat__fail(error, GROAT_COMPILE_FAILED,
                           "%s: hipRTC made %zu bytes; expected 1 to %zu",
                           source_name, bytes, OUTPUT_BYTES_MAX);
    data = malloc(bytes);
    if (data == NULL)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "no memory for a code object of %zu bytes", bytes);
    code = state->rtc.hiprtcGetCode(program, data);
    if (code != GROAT__HIPRTC_SUCCESS) {
        free(data);
        return fail_rtc(state, "hiprtcGetCode", code, source_name, error);
    }
    out->data = data;
    out->bytes = bytes;
    return GROAT_OK;
}

static groat_status read_facts(groat__binary *out, const char *entry,
                               const char *source_name, groat_error *error)
{
    groat__amdgpu_kernel kernel;
    groat_facts facts = {-1, -1, -1, -1, (int64_t)out->bytes, -1};

    if (!groat__amdgpu_elf_whole(out->data, out->bytes))
        return groat__fail(
            error, GROAT_COMPILE_FAILED,
            "%s: hipRTC made %zu bytes that are not an AMDGPU ELF", source_name,
            out->bytes);
    switch (groat__amdgpu_elf_kernel(out->data, out->bytes, entry, &kernel)) {
    case GROAT__AMDGPU_NO_KERNEL:
        return groat__fail(error, GROAT_COMPILE_FAILED,
                           "%s: the source has no kernel named %s", source_name,
                           entry);
    case GROAT__AMDGPU_NO_NOTES: /* a future format: no facts, no failure */
        break;
    case GROAT__AMDGPU_FOUND:
        facts.registers = kernel.vgprs;
        facts.sgprs = kernel.sgprs;
        facts.spill_bytes = kernel.scratch_bytes;
        facts.shared_bytes = kernel.lds_bytes;
        facts.max_threads = kernel.max_threads;
        break;
    }
    out->facts = facts;
    return GROAT_OK;
}

/* With the lock held. */
static groat_status make(const rtc_state *state, rtc_options *options,
                         const char *source_name, const char *source,
                         const char *entry, groat__binary *out,
                         groat_error *error)
{
    groat__hiprtc_program program = NULL;
    groat__binary made = {0};
    groat_status status;
    int code = state->rtc.hiprtcCreateProgram(&program, source, source_name, 0,
                                              NULL, NULL);

    if (code != GROAT__HIPRTC_SUCCESS)
        return fail_rtc(state, "hiprtcCreateProgram", code, source_name, error);
    code = state->rtc.hiprtcCompileProgram(program, OPTIONS, options->list);
    if (code != GROAT__HIPRTC_SUCCESS) {
        status = fail_compile(state, program, code, source_name, error);
        goto destroy_program;
    }
    status = read_code(state, program, source_name, &made, error);
    if (status == GROAT_OK)
        status = read_facts(&made, entry, source_name, error);
    if (status != GROAT_OK) {
        free(made.data);
        goto destroy_program;
    }
    made.log = read_log(state, program);
    *out = made;
destroy_program:
    (void)state->rtc.hiprtcDestroyProgram(&program);
    return status;
}

static groat_status rtc_compile(void *user, const groat__arch *arch,
                                const char *source_name, const char *source,
                                const char *entry, groat__binary *out,
                                groat_error *error)
{
    rtc_state *state = user;
    groat_status status = check_arch(state, arch, error);
    rtc_options options;

    if (status != GROAT_OK)
        return status;
    make_options(arch, &options);
    (void)pthread_mutex_lock(&state->lock);
    status = make(state, &options, source_name, source, entry, out, error);
    (void)pthread_mutex_unlock(&state->lock);
    return status;
}

/* Reports a runtime of another major version: it may refuse hipRTC's code. */
static void tell_match(const rtc_state *state, const groat__env *env,
                       groat__str *out)
{
    const groat__rocm_library library = {env->hip, "GROAT_HIP",
                                         groat__rocm_hip_files};
    int (*get_version)(int *);
    groat__dl dl;
    char version[48];
    int packed = 0;
    void *symbol;

    if (groat__rocm_open(env, &library, &dl, NULL) == GROAT_OK) {
        symbol = groat__dl_symbol(&dl, "hipRuntimeGetVersion");
        memcpy(&get_version, &symbol, sizeof(symbol));
        if (symbol != NULL && get_version(&packed) != GROAT__HIP_SUCCESS)
            packed = 0;
        groat__rocm_version(&dl, packed, version, sizeof(version));
        if (atoi(version) != 0 && atoi(state->version) != 0 &&
            atoi(version) != atoi(state->version))
            groat__finding(out, "libhiprtc", false,
                           "version %s does not match %s of %s: it may "
                           "refuse what is compiled here",
                           state->version, version, dl.path);
    }
    groat__dl_close(&dl);
}

static void tell_comgr(const rtc_state *state, groat__str *out)
{
    groat__finding(out, "libamd_comgr", true, "%s build %s, targets:%s",
                   state->comgr_dl.path, state->comgr_dl.build_id,
                   known_text(state));
    groat__finding(out, "libamd_comgr", true,
                   "since 7.0 it keeps a cache of its own; "
                   "AMD_COMGR_CACHE=0 switches it off");
    if (state->llvm_dl.handle != NULL)
        groat__finding(out, "libLLVM", true, "%s build %s", state->llvm_dl.path,
                       state->llvm_dl.build_id);
    if (temp_dir_problem(state) != NULL)
        groat__finding(out, "hiprtc TMPDIR", false, "%s: %s", temp_dir(state),
                       temp_dir_problem(state));
}

static void rtc_report(void *user, const groat__env *env,
                       const groat_error *failed, groat__str *out)
{
    const rtc_state *state = user;

    if (state == NULL || state->version[0] == '\0') {
        groat__finding(out, "libhiprtc", false, "%s",
                       groat__library_problem(
                           state == NULL ? NULL : &state->rtc_dl, failed));
        return;
    }
    groat__finding(out, "libhiprtc", true, "%s version %s build %s",
                   state->rtc_dl.path, state->version, state->rtc_dl.build_id);
    tell_match(state, env, out);
    if (failed != NULL)
        groat__finding(out, "libamd_comgr", false, "%s",
                       groat__library_problem(&state->comgr_dl, failed));
    else
        tell_comgr(state, out);
}

const groat__compiler groat__compiler_hiprtc = {
    .name = "hiprtc",
    .part = {rtc_search, rtc_close, rtc_report},
    .identify = rtc_identify,
    .predict = groat__predict_nothing,
    .compile = rtc_compile,
};
