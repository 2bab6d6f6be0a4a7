/* SPDX-License-Identifier: Apache-2.0
 *
 * shim_hip.h - how a test steers the stand-ins for ROCm and reads them back.
 *
 * A test opens the very files that the backend opens and asks each for its
 * control with dlsym: shim_hiprtc(), shim_comgr() and shim_hip().
 */
#ifndef GROAT_TESTS_SHIM_HIP_H
#define GROAT_TESTS_SHIM_HIP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/shim/shim.h"

/* Returns true once, for the chosen call. */
static inline bool shim_answers(shim_fault *fault, const char *call)
{
    if (strcmp(fault->call, call) != 0 || fault->at <= 0 || --fault->at != 0)
        return false;
    fault->hit = true;
    return true;
}

typedef enum shim_output {
    SHIM_OUTPUT_GOOD = 0,
    SHIM_OUTPUT_EMPTY,       /* 0 bytes                                      */
    SHIM_OUTPUT_GARBAGE,     /* bytes that are no ELF                        */
    SHIM_OUTPUT_OTHER_KERNEL /* the entry is missing                         */
} shim_output;

typedef struct shim_hiprtc_control {
    shim_fault fault;
    shim_output output;
    bool silent;  /* compiles fail with 6 and no log                         */
    bool warns;   /* compiles succeed with a log                             */
    int programs; /* live                                                    */
    int compiles;
    atomic_int inside;   /* compiles that run                                */
    atomic_int overlaps; /* compiles begun while another ran                 */
    char options[SHIM_OPTIONS_BYTES]; /* of the last compile, ' ' after each */
} shim_hiprtc_control;

typedef struct shim_comgr_control {
    shim_fault fault;
    int isas; /* number of list entries to report                           */
} shim_comgr_control;

typedef struct shim_hip_launch {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared;
    void *stream;
    int device;
    int arg; /* first bytes of the one parameter                             */
} shim_hip_launch;

typedef struct shim_hip_control {
    shim_fault fault;
    int init;         /* result of hipInit                                    */
    int devices;      /* hipGetDeviceCount; 0 is reported as 100              */
    const char *arch; /* full target id of every device                      */
    int current;      /* the thread's device                                  */
    int static_lds;   /* of every function                                    */
    int capture;      /* status of every stream                               */
    bool running;     /* recorded work of streams is not done                 */
    int optin_lds;    /* attribute 75; 0: refused, as some releases do        */
    /* live objects */
    int modules;
    int allocations;
    int events;
    /* seen so far */
    int dynamic_max; /* last hipFuncSetAttribute                             */
    int launches;
    int properties_r0600;
    int waits; /* hipStreamWaitEvent                                         */
    shim_hip_launch last;
} shim_hip_control;

typedef shim_hiprtc_control *shim_hiprtc_fn(void);
typedef shim_comgr_control *shim_comgr_fn(void);

/* Of libLLVM_shim. */
void shim_llvm(void);
typedef shim_hip_control *shim_hip_fn(void);

#endif
