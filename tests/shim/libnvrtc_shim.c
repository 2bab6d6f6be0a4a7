/* SPDX-License-Identifier: Apache-2.0
 *
 * libnvrtc_shim.c stands in for libnvrtc in tests: it "compiles" any source to
 * an ELF header, checks the options it is given, counts live programs and lets
 * one call fail on demand.  Its one mutable object is the control that the
 * test holds; `lock` guards it, for tests compile from several threads.
 */
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda_abi.h"
#include "tests/shim/shim.h"

/* Exported, yet bound within the library, so that a copy in which a test has
 * hidden a name still loads. */
#define EXPORT __attribute__((visibility("protected")))

#define SYMBOL(need, result, name, args) result name args EXPORT;
#include "backend/nvrtc.def"
#undef SYMBOL

shim_nvrtc_control *shim_nvrtc(void) EXPORT;

struct _nvrtcProgram {
    char *source;
    char log[1024];
    char arch[32];
    bool compiled;
};

static shim_nvrtc_control control;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

shim_nvrtc_control *shim_nvrtc(void)
{
    return &control;
}

static int fault(const char *call)
{
    int code = 0;

    (void)pthread_mutex_lock(&lock);
    if (strcmp(control.fault.call, call) == 0 && control.fault.at > 0 &&
        --control.fault.at == 0) {
        control.fault.hit = true;
        code = control.fault.code;
    }
    (void)pthread_mutex_unlock(&lock);
    return code;
}

#define FAULT(call)                                                            \
    do {                                                                       \
        int code_ = fault(#call);                                              \
        if (code_ != 0)                                                        \
            return code_;                                                      \
    } while (0)

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    FAULT(nvrtcVersion);
    *major = control.major;
    *minor = control.minor;
    return NVRTC_SUCCESS;
}

const char *nvrtcGetErrorString(nvrtcResult result)
{
    return result == NVRTC_ERROR_COMPILATION ? "NVRTC_ERROR_COMPILATION"
                                             : "NVRTC_ERROR_OF_THE_SHIM";
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
    FAULT(nvrtcGetNumSupportedArchs);
    *count = control.arch_count;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *archs)
{
    FAULT(nvrtcGetSupportedArchs);
    for (int i = 0; i < control.arch_count; i++)
        archs[i] = control.archs[i];
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source,
                               const char *name, int headers,
                               const char *const *texts,
                               const char *const *names)
{
    nvrtcProgram made;

    FAULT(nvrtcCreateProgram);
    if (name == NULL || headers != 0 || texts != NULL || names != NULL)
        return 3;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    made->source = strdup(source);
    (void)pthread_mutex_lock(&lock);
    control.programs++;
    (void)pthread_mutex_unlock(&lock);
    *program = made;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    free((*program)->source);
    free(*program);
    *program = NULL;
    (void)pthread_mutex_lock(&lock);
    control.programs--;
    (void)pthread_mutex_unlock(&lock);
    FAULT(nvrtcDestroyProgram);
    return NVRTC_SUCCESS;
}

static bool listed(int arch)
{
    for (int i = 0; i < control.arch_count; i++)
        if (control.archs[i] == arch)
            return true;
    return false;
}

static bool has_own_cache(void)
{
    return control.major * 100 + control.minor >= 1209;
}

static bool good_option(nvrtcProgram program, const char *option)
{
    static const char arch[] = "--gpu-architecture=";
    int number = 0;

    if (strncmp(option, arch, sizeof(arch) - 1) != 0)
        return strcmp(option, "--std=c++17") == 0 ||
               strcmp(option, "--ptxas-options=-v") == 0 ||
               (strcmp(option, "--no-cache") == 0 && has_own_cache());
    (void)snprintf(program->arch, sizeof(program->arch), "%s",
                   option + sizeof(arch) - 1);
    if (sscanf(program->arch, "sm_%d", &number) != 1 &&
        sscanf(program->arch, "compute_%d", &number) != 1)
        return false;
    return listed(number);
}

static void say_builtins(nvrtcProgram program)
{
    (void)snprintf(program->log, sizeof(program->log),
                   "nvrtc: error: failed to open libnvrtc-builtins.so.%d.%d.",
                   control.major, control.minor);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count,
                                const char *const *options)
{
    bool good = true;

    (void)pthread_mutex_lock(&lock);
    control.compiles++;
    control.options[0] = '\0';
    for (int i = 0; i < count; i++) {
        size_t used = strlen(control.options);

        (void)snprintf(control.options + used, sizeof(control.options) - used,
                       "%s ", options[i]);
        good = good && good_option(program, options[i]);
    }
    (void)pthread_mutex_unlock(&lock);
    FAULT(nvrtcCompileProgram);
    if (!control.builtins) {
        say_builtins(program);
        return NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
    }
    if (!good) {
        (void)snprintf(program->log, sizeof(program->log),
                       "nvrtc: error: unrecognized option");
        return NVRTC_ERROR_INVALID_OPTION;
    }
    if (strstr(program->source, "broken") != NULL) {
        (void)snprintf(program->log, sizeof(program->log),
                       "k.cu(1): remark\nk.cu(2): error: it is broken\n");
        return NVRTC_ERROR_COMPILATION;
    }
    if (strncmp(program->arch, "sm_", 3) == 0)
        (void)snprintf(
            program->log, sizeof(program->log),
            "ptxas info    : Compile time = 66.524 ms\n"
            "ptxas info    : Compiling entry function 'k2' for '%s'\n"
            "ptxas info    : Used 99 registers, 7 bytes smem\n"
            "ptxas info    : Compiling entry function 'k' for '%s'\n"
            "ptxas info    : Function properties for helper\n"
            "    64 bytes stack frame, 60 bytes spill stores, 4 bytes spill "
            "loads\n"
            "ptxas info    : Function properties for k\n"
            "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill "
            "loads\n"
            "ptxas info    : Used 38 registers, used 1 barriers, 256 bytes "
            "smem, 380 bytes cmem[0]\n",
            program->arch, program->arch);
    program->compiled = true;
    return NVRTC_SUCCESS;
}

static size_t cubin_bytes(nvrtcProgram program)
{
    bool machine = strncmp(program->arch, "sm_", 3) == 0;

    return program->compiled && machine && !control.empty_binary
               ? sizeof(Elf64_Ehdr)
               : 0;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes)
{
    FAULT(nvrtcGetCUBINSize);
    *bytes = cubin_bytes(program);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *data)
{
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                                   ELFCLASS64, ELFDATA2LSB},
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shoff = sizeof(head),
                       .e_shnum = control.cut_binary ? 1 : 0};

    FAULT(nvrtcGetCUBIN);
    memcpy(data, &head, cubin_bytes(program));
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes)
{
    FAULT(nvrtcGetPTXSize);
    *bytes = strlen(program->arch) + sizeof("// ");
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *data)
{
    FAULT(nvrtcGetPTX);
    (void)snprintf(data, strlen(program->arch) + sizeof("// "), "// %s",
                   program->arch);
    if (control.cut_binary)
        data[strlen(data)] = '/';
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes)
{
    FAULT(nvrtcGetProgramLogSize);
    *bytes = strlen(program->log) + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *text)
{
    FAULT(nvrtcGetProgramLog);
    memcpy(text, program->log, strlen(program->log) + 1);
    return NVRTC_SUCCESS;
}
