/* SPDX-License-Identifier: Apache-2.0
 *
 * raw.c opens the vendor's libraries a second time, by their sonames, to call
 * them without groat in between.  cmd_bench.c does the measuring.
 * Invariant: a slot is NULL or a function of a library that stays open until
 * groat__raw_close.  Locking: none; filled once, read-only afterwards.
 */
#include "cli/bench/raw.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* INVALID_OPTION is NVRTC_ERROR_INVALID_OPTION. */
enum { CALLS = 11, INVALID_OPTION = 5 };

typedef struct names {
    const char *backend;
    const char *const *runtime; /* sonames */
    const char *const *compiler;
    const char *calls[CALLS]; /* in the order of `slots` */
    const char *arch_option;
    const char *no_cache; /* NULL: the compiler has no cache */
} names;

static const char *const cuda_runtime[] = {"libcuda.so.1", NULL};
static const char *const cuda_compiler[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                            NULL};
static const char *const hip_runtime[] = {
    "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", NULL};
static const char *const hip_compiler[] = {"libhiprtc.so.7", "libhiprtc.so.6",
                                           "libamdhip64.so.5", NULL};

static const names vendors[] = {
    {"cuda",
     cuda_runtime,
     cuda_compiler,
     {"cuLaunchKernel", "cuModuleLoadData", "cuModuleGetFunction",
      "cuModuleUnload", "nvrtcCreateProgram", "nvrtcCompileProgram",
      "nvrtcGetCUBINSize", "nvrtcGetCUBIN", "nvrtcDestroyProgram",
      "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"},
     "--gpu-architecture=",
     "--no-cache"},
    {"hip",
     hip_runtime,
     hip_compiler,
     {"hipModuleLaunchKernel", "hipModuleLoadData", "hipModuleGetFunction",
      "hipModuleUnload", "hiprtcCreateProgram", "hiprtcCompileProgram",
      "hiprtcGetCodeSize", "hiprtcGetCode", "hiprtcDestroyProgram", NULL, NULL},
     "--offload-arch=",
     NULL},
};

static void *open_loaded(const char *const *sonames)
{
    void *handle = NULL;

    for (size_t i = 0; sonames[i] != NULL && handle == NULL; i++)
        handle = dlopen(sonames[i], RTLD_NOW | RTLD_NOLOAD);
    return handle;
}

static void resolve(groat__raw *raw, const names *n)
{
    void *slots[CALLS] = {&raw->launch,    &raw->load,        &raw->function,
                          &raw->unload,    &raw->create,      &raw->compile,
                          &raw->code_size, &raw->code,        &raw->destroy,
                          &raw->retain,    &raw->make_current};

    for (size_t i = 0; i < CALLS; i++) {
        bool compiles = i >= 4 && i <= 8;
        void *library = compiles ? raw->compiler : raw->runtime;
        void *symbol = NULL;

        if (library != NULL && n->calls[i] != NULL)
            symbol = dlsym(library, n->calls[i]);
        memcpy(slots[i], &symbol, sizeof(symbol));
    }
}

void groat__raw_open(const char *backend, int device, groat__raw *raw)
{
    memset(raw, 0, sizeof(*raw));
    for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++) {
        if (strcmp(vendors[i].backend, backend) != 0)
            continue;
        raw->runtime = open_loaded(vendors[i].runtime);
        raw->compiler = open_loaded(vendors[i].compiler);
        raw->arch_option = vendors[i].arch_option;
        raw->no_cache = vendors[i].no_cache;
        resolve(raw, &vendors[i]);
        /* Never released: the process ends after the bench. */
        if (raw->retain != NULL && raw->retain(&raw->context, device) != 0)
            raw->context = NULL;
    }
}

void groat__raw_close(groat__raw *raw)
{
    if (raw->runtime != NULL)
        (void)dlclose(raw->runtime);
    if (raw->compiler != NULL)
        (void)dlclose(raw->compiler);
    memset(raw, 0, sizeof(*raw));
}

bool groat__raw_enter(const groat__raw *raw)
{
    if (raw->make_current == NULL)
        return true;
    return raw->context != NULL && raw->make_current(raw->context) == 0;
}

/* Returns 0, the compiler's error code, or -1. */
static int compile(const groat__raw *raw, const char *source,
                   const char **options, int count)
{
    void *program = NULL;
    char *code = NULL;
    size_t bytes = 0;
    int result;

    if (raw->create(&program, source, "empty", 0, NULL, NULL) != 0)
        return -1;
    result = raw->compile(program, count, options);
    if (result == 0 &&
        (raw->code_size(program, &bytes) != 0 ||
         (code = malloc(bytes + 1)) == NULL || raw->code(program, code) != 0))
        result = -1;
    free(code);
    (void)raw->destroy(&program);
    return result;
}

bool groat__raw_compile_empty(groat__raw *raw, const char *arch,
                              unsigned number)
{
    char source[96];
    char option[64];
    const char *options[] = {option, raw->no_cache};
    int result;

    if (raw->create == NULL || raw->code == NULL)
        return false;
    (void)snprintf(source, sizeof(source),
                   "extern \"C\" __global__ void empty_%u() {}\n", number);
    (void)snprintf(option, sizeof(option), "%s%s", raw->arch_option, arch);
    result = compile(raw, source, options, raw->no_cache == NULL ? 1 : 2);
    if (result == INVALID_OPTION && raw->no_cache != NULL) {
        raw->no_cache = NULL;
        result = compile(raw, source, options, 1);
    }
    return result == 0;
}
