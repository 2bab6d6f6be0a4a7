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

/* From now on the at-th call of `call` (1: the next) answers `code`, once. */
typedef struct shim_fault {
    char call[64];
    int at;
    int code;
    bool hit; /* set by the shim when it has answered so */
} shim_fault;

enum { SHIM_ARCHS = 16, SHIM_OPTIONS_BYTES = 512 };

typedef struct shim_nvrtc_control {
    shim_fault fault;
    int major;
    int minor;
    int archs[SHIM_ARCHS];
    int arch_count;
    bool builtins;     /* false: compiles say that they are missing      */
    bool empty_binary; /* results are of 0 bytes                         */
    bool cut_binary;   /* results end before they say they do            */
    int programs;      /* live                                           */
    int compiles;
    char options[SHIM_OPTIONS_BYTES]; /* of the last compile, ' ' after each  */
} shim_nvrtc_control;

typedef shim_nvrtc_control *shim_nvrtc_fn(void);

/* What a launch passed on. */
typedef struct shim_launch {
    unsigned grid[3];
    unsigned block[3];
    unsigned cluster[3];
    unsigned shared;
    void *stream;
    void *context; /* that was current */
    int arg;       /* first bytes of the parameter; 0 when there is none */
    bool extended; /* by cuLaunchKernelEx */
} shim_launch;

/* What cuTensorMapEncodeTiled was given. */
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
    void *context; /* that was current */
} shim_tensor;

typedef struct shim_cuda_control {
    shim_fault fault;
    int driver;
    int devices;
    int capability[2];
    int shared_optin;
    int static_shared; /* of every function                              */
    bool proc_address; /* false: cuGetProcAddress knows no optional call  */
    int capture;       /* CUstreamCaptureStatus of every stream           */
    int mode;          /* CUstreamCaptureMode of the thread               */
    bool gone;         /* from now on, a call ends the process            */
    bool running;      /* what was recorded on a stream is not done       */
    bool numbers;      /* streams have some; another of the same handle   */
    int streams_made;  /* has another one                                 */
    /* live objects */
    int modules;
    int retained;
    int allocations;
    int events;
    /* seen */
    int loads;       /* cuFuncLoad                                       */
    int waits;       /* cuStreamWaitEvent                                */
    int dynamic_max; /* last CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_...           */
    int wide_cluster;
    int launches;
    int pushes;
    int calls; /* of anything, to prove what a launch costs        */
    shim_launch last;
    int encodes; /* cuTensorMapEncodeTiled */
    shim_tensor tensor;
} shim_cuda_control;

typedef shim_cuda_control *shim_cuda_fn(void);
/* Depth and top of the calling thread's context stack. */
typedef int shim_cuda_depth_fn(void **top);
/* Drops what is live: objects that a failure left out of reach. */
typedef void shim_cuda_reap_fn(void);
/* A context of the user's own, to be pushed and popped by the test. */
typedef void *shim_cuda_user_fn(void);

#endif
