/* SPDX-License-Identifier: Apache-2.0
 *
 * shim.h - how a test steers a stand-in vendor library and reads it back.
 *
 * A test opens the very file that the backend opens, so that both see one
 * copy, and asks it for its control with dlsym: shim_nvrtc() and shim_cuda().
 */
#ifndef GROAT_TESTS_SHIM_H
#define GROAT_TESTS_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* From now on the at-th call of `call` (1: the next) returns `code`, once. */
typedef struct shim_fault {
    char call[64];
    int at;
    int code;
    bool hit; /* set by the shim when it has returned `code` */
} shim_fault;

enum { SHIM_ARCHS = 16, SHIM_OPTIONS_BYTES = 512 };

typedef struct shim_nvrtc_control {
    shim_fault fault;
    int major;
    int minor;
    int archs[SHIM_ARCHS];
    int arch_count;
    bool builtins;     /* false: compiles report them as missing         */
    bool empty_binary; /* results are of 0 bytes                         */
    bool cut_binary;   /* results end before their stated size           */
    int programs;      /* live                                           */
    int compiles;
    char options[SHIM_OPTIONS_BYTES]; /* of the last compile, ' ' after each  */
} shim_nvrtc_control;

typedef shim_nvrtc_control *shim_nvrtc_fn(void);

/* The values that a launch passed on. */
typedef struct shim_launch {
    unsigned grid[3];
    unsigned block[3];
    unsigned cluster[3];
    unsigned shared;
    void *stream;
    void *context; /* current at the call */
    int arg;       /* first bytes of the parameter; 0 when there is none */
    bool extended; /* by cuLaunchKernelEx */
    bool overlaps; /* may start before the launch ahead of it has ended */
} shim_launch;

/* The values that cuTensorMapEncodeTiled got. */
typedef struct shim_tensor {
    int type;
    unsigned rank;
    uint64_t address;
    uint64_t dims[5];
    uint64_t strides[4];
    unsigned box[5];
    unsigned element_strides[5];
    int interleave;
    int swizzle;
    int promotion;
    int fill;
    void *context; /* current at the call */
} shim_tensor;

typedef struct shim_cuda_control {
    shim_fault fault;
    int driver;
    int devices;
    int capability[2];
    int shared_optin;
    int static_shared; /* of every function                              */
    bool proc_address; /* false: cuGetProcAddress finds no optional call  */
    int capture;       /* CUstreamCaptureStatus of every stream           */
    int mode;          /* CUstreamCaptureMode of the thread               */
    bool gone;         /* from now on, a call ends the process            */
    bool running;      /* recorded work of streams is not done            */
    bool numbers;      /* streams have ids, made of their handle and ...  */
    int streams_made;  /* ... this: a change is another stream            */
    void (*unloading)(void); /* called at the start of an unload; NULL: none */
    /* live objects */
    int modules;
    int retained;
    int allocations;
    int events;
    /* seen so far */
    int loads;       /* cuFuncLoad                                       */
    int waits;       /* cuStreamWaitEvent                                */
    int dynamic_max; /* last CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_...           */
    int wide_cluster;
    int launches;
    int pushes;
    int calls; /* all calls, to check the cost of a launch         */
    shim_launch last;
    int encodes; /* cuTensorMapEncodeTiled */
    shim_tensor tensor;
} shim_cuda_control;

/* Two devices of compute capability 9.0 and a driver 13.0. */
static inline void shim_cuda_reset(shim_cuda_control *control)
{
    memset(control, 0, sizeof(*control));
    control->driver = 13000;
    control->devices = 2;
    control->capability[0] = 9;
    control->shared_optin = 232448;
    control->static_shared = 1024;
    control->proc_address = true;
}

typedef shim_cuda_control *shim_cuda_fn(void);
/* Returns the depth, and sets the top, of the thread's context stack. */
typedef int shim_cuda_depth_fn(void **top);
/* Frees live objects that a failure made unreachable. */
typedef void shim_cuda_reap_fn(void);
/* Returns a context of the user's own, for the test to push and pop. */
typedef void *shim_cuda_user_fn(void);

#endif
