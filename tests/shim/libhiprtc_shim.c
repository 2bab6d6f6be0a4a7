/* SPDX-License-Identifier: Apache-2.0
 *
 * libhiprtc_shim.c stands in for libhiprtc of ROCm 6 and 7 in tests.  It makes
 * real, if empty, code objects, counts programs, and aborts on an arch that it
 * does not know, as old releases do.  libamdhip64_shim.c includes it for the
 * layouts whose runtime holds hipRTC.  -DSHIM_LACKS_SYMBOL leaves hiprtcGetCode
 * out.  Its control is its only mutable object.  Like hipRTC 5.2 it is not
 * thread-safe, but it counts calls that overlap.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/hip_abi.h"
#include "tests/shim/amdgpu_object.h"
#include "tests/shim/shim_hip.h"

#ifndef EXPORT
#define EXPORT __attribute__((visibility("default")))
#endif
#define RTC(name, needed, result, parameters, names)                           \
    result name parameters EXPORT;
#include "backend/hiprtc.def"

shim_hiprtc_control *shim_hiprtc(void) EXPORT;

struct _hiprtcProgram {
    char entry[64];
    const char *log;
    unsigned char code[AMDGPU_OBJECT_ROOM];
    size_t bytes;
};

static const char broken_log[] =
    "broken.hip:1:1: error: unknown type name 'nonsense'\n1 error generated.\n";
static const char warning_log[] = "warned.hip:1:1: warning: unused\n";

static shim_hiprtc_control rtc_control;

#define RTC_FAULT(call)                                                        \
    do {                                                                       \
        if (shim_answers(&rtc_control.fault, #call))                           \
            return rtc_control.fault.code;                                     \
    } while (0)

shim_hiprtc_control *shim_hiprtc(void)
{
    return &rtc_control;
}

const char *hiprtcGetErrorString(int result)
{
    if (shim_answers(&rtc_control.fault, "hiprtcGetErrorString"))
        return NULL;
    return result == 6 ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR_OTHER";
}

/* Finds the name behind "void ", which is the entry in every test source. */
static void find_entry(const char *source, char *out, size_t room)
{
    const char *at = strstr(source, "void ");
    size_t len = at != NULL ? strcspn(at + 5, "(") : 0;

    (void)snprintf(out, room, "%.*s", (int)len, at != NULL ? at + 5 : "");
}

int hiprtcCreateProgram(groat__hiprtc_program *program, const char *source,
                        const char *name, int headers,
                        const char **header_texts, const char **header_names)
{
    (void)header_texts;
    (void)header_names;
    RTC_FAULT(hiprtcCreateProgram);
    if (source == NULL || name == NULL || headers != 0)
        return 3;
    *program = calloc(1, sizeof(**program));
    if (*program == NULL)
        return 1;
    find_entry(source, (*program)->entry, sizeof((*program)->entry));
    (*program)->log = strstr(source, "nonsense") != NULL ? broken_log : NULL;
    rtc_control.programs++;
    return 0;
}

static size_t make_code(groat__hiprtc_program program)
{
    amdgpu_object object = {program->entry, 37, 24, 2, 16, 4096, 256, NULL, 0};

    if (rtc_control.output == SHIM_OUTPUT_EMPTY)
        return 0;
    if (rtc_control.output == SHIM_OUTPUT_OTHER_KERNEL)
        object.entry = "another_kernel";
    if (rtc_control.output == SHIM_OUTPUT_GARBAGE)
        return 100;
    return amdgpu_object_make(program->code, &object);
}

static int compile(groat__hiprtc_program program, int count,
                   const char **options)
{
    char *text = rtc_control.options;
    size_t used = 0;

    rtc_control.compiles++;
    memset(text, 0, sizeof(rtc_control.options));
    for (int i = 0; i < count && used < SHIM_OPTIONS_BYTES; i++)
        used += (size_t)snprintf(text + used, SHIM_OPTIONS_BYTES - used, "%s ",
                                 options[i]);
    if (strstr(text, "gfx90a") == NULL && strstr(text, "gfx942") == NULL &&
        strstr(text, "gfx950") == NULL)
        abort();
    RTC_FAULT(hiprtcCompileProgram);
    if (rtc_control.silent || program->log != NULL) {
        if (rtc_control.silent)
            program->log = NULL;
        return 6;
    }
    if (rtc_control.warns)
        program->log = warning_log;
    program->bytes = make_code(program);
    return 0;
}

int hiprtcCompileProgram(groat__hiprtc_program program, int count,
                         const char **options)
{
    int result;

    if (atomic_fetch_add(&rtc_control.inside, 1) != 0)
        (void)atomic_fetch_add(&rtc_control.overlaps, 1);
    for (int i = 0; i < 20; i++)
        (void)sched_yield();
    result = compile(program, count, options);
    (void)atomic_fetch_sub(&rtc_control.inside, 1);
    return result;
}

int hiprtcDestroyProgram(groat__hiprtc_program *program)
{
    bool answers = shim_answers(&rtc_control.fault, "hiprtcDestroyProgram");

    free(*program);
    *program = NULL;
    rtc_control.programs--;
    return answers ? rtc_control.fault.code : 0;
}

int hiprtcGetProgramLogSize(groat__hiprtc_program program, size_t *bytes)
{
    RTC_FAULT(hiprtcGetProgramLogSize);
    *bytes = program->log != NULL ? strlen(program->log) + 1 : 0;
    return 0;
}

int hiprtcGetProgramLog(groat__hiprtc_program program, char *log)
{
    RTC_FAULT(hiprtcGetProgramLog);
    memcpy(log, program->log, strlen(program->log) + 1);
    return 0;
}

int hiprtcGetCodeSize(groat__hiprtc_program program, size_t *bytes)
{
    RTC_FAULT(hiprtcGetCodeSize);
    *bytes = program->bytes;
    return 0;
}

#ifndef SHIM_LACKS_SYMBOL
int hiprtcGetCode(groat__hiprtc_program program, char *code)
{
    RTC_FAULT(hiprtcGetCode);
    memcpy(code, program->code, program->bytes);
    return 0;
}
#endif
