/* SPDX-License-Identifier: Apache-2.0
 *
 * backend.h - the two function tables that a vendor's backend consists of.
 *
 * A compiler turns source into bytes; a device turns bytes into running
 * kernels.  They are separate because a build host may have no GPU, and a
 * serving host no compiler.  No slot is NULL.  A table is const; all state is
 * in the handle that open returns.  Handles may be used from any thread unless
 * a slot says otherwise.
 */
#ifndef GROAT_BACKEND_H
#define GROAT_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/str.h"
#include "groat.h"
#include "groat_tensor.h"
#include "groat_tools.h"
#include "spec/arch.h"

/* The environment at groat_open; an unset variable is NULL, never "".  All
 * strings outlive every handle. */
typedef struct groat__env {
    const char *home;         /* $HOME                                      */
    const char *nvrtc;        /* $GROAT_NVRTC: path of libnvrtc              */
    const char *cuda;         /* $GROAT_CUDA: path of libcuda                */
    const char *hiprtc;       /* $GROAT_HIPRTC: path of libhiprtc            */
    const char *hip;          /* $GROAT_HIP: path of libamdhip64             */
    const char *comgr;        /* $GROAT_COMGR: path of libamd_comgr          */
    const char *cxx;          /* $GROAT_CXX: C++ compiler of cpu targets     */
    const char *cxx_timeout;  /* $GROAT_CXX_TIMEOUT: seconds a run may take  */
    const char *cuda_home;    /* $CUDA_HOME, else $CUDA_PATH                 */
    const char *rocm_path;    /* $ROCM_PATH, else $HIP_PATH                  */
    const char *virtual_env;  /* $VIRTUAL_ENV                                */
    const char *conda_prefix; /* $CONDA_PREFIX                               */
    const char *path;         /* $PATH, for the C++ compiler               */
    const char *tmpdir;       /* $TMPDIR                                     */
    char *const *all;         /* all variables, for the C++ compiler, with   *
                               * LC_ALL=C; NULL-terminated                   */
    int device;               /* ordinal wanted                              */
    bool sanitize;            /* cpu: compile with ASan + UBSan              */
    bool pointers;            /* cpu: kernels report their pointer accesses  */
    bool zero_locals;         /* cpu: unset local variables hold zeros       */
    uint64_t seed;            /* cpu: seed of the order of threads           */
    unsigned judge_seconds;   /* cpu: time limit of a launch; 0: none        */
    unsigned judge_jobs;      /* cpu: host threads of a launch; 0: 1         */
    groat_trace_fn *trace;    /* cpu: called for each shared access, or NULL */
    void *trace_user;
    groat_judge_progress_fn *progress; /* cpu: or NULL */
    void *progress_user;
    groat__log log;
} groat__env;

/* A finished compile.  data and log are malloc'd; log may be NULL. */
typedef struct groat__binary {
    void *data;
    size_t bytes;
    char *log;
    groat_facts facts;
} groat__binary;

void groat__binary_free(groat__binary *binary);
/* False without memory; *to is empty then. */
bool groat__binary_copy(groat__binary *to, const groat__binary *from);

/* Appends the compiler's identity lines of a binary that this compiler build
 * has made for the target before; false if no such binary is known. */
typedef bool groat__made_by_fn(void *user, const char *build_id,
                               groat__str *lines);

/* A vendor's library, or program, that is looked for and opened. */
typedef struct groat__part {
    /* Finds and opens it.  On failure, too, *state is what was set up until
     * then, for report; NULL without memory.  Free with close.  Errors:
     * NO_DEVICE with what was looked for, NO_MEMORY. */
    groat_status (*search)(const groat__env *env, void **state,
                           groat_error *error);
    /* All modules must be unloaded and all launches done.  NULL is allowed. */
    void (*close)(void *state);

    /* Appends one line per finding to `out` for groat doctor ("subject\tusable
     * 0/1\ttext\n", see groat__finding).  failed is the error of the search,
     * or NULL; only with an error may state be NULL. */
    void (*report)(void *state, const groat__env *env,
                   const groat_error *failed, groat__str *out);
} groat__part;

/* Searches; a failure leaves nothing open and *state as it was. */
groat_status groat__part_open(const groat__part *part, const groat__env *env,
                              void **state, groat_error *error);
/* Reports on a state, or on NULL: the search is then repeated. */
void groat__part_report(const groat__part *part, void *state,
                        const groat__env *env, groat__str *out);

typedef struct groat__compiler {
    const char *name; /* "nvrtc", "hiprtc", "c++" */
    groat__part part;

    /* Appends to `who` the lines of the identity that name the compiler for
     * this arch, each ended by '\n':
     *     compiler nvrtc 13.0 build 65be0d...
     *     option --gpu-architecture=sm_90a      (one line each, in order)
     * and, when the stored form needs the driver to finish compiling,
     *     form ptx driver 13000
     * Reads nothing that differs between two hosts with the same libraries
     * (no paths, no times).  Errors: NO_DEVICE when the arch is one this
     * compiler does not know (the text lists those it does). */
    groat_status (*identify)(void *state, const groat__arch *arch,
                             groat__str *who, groat_error *error);

    /* Appends what identify() would append, without opening the compiler, from
     * what `made` knows of the build that search() would find.  False if that
     * is unknown; the text appended to *who is then unspecified. */
    bool (*predict)(const groat__env *env, const groat__arch *arch,
                    groat__made_by_fn *made, void *user, groat__str *who);

    /* Compiles NUL-terminated source with exactly the options that identify
     * printed.  entry is the extern "C" entry point's name, source_name what
     * diagnostics call the file.  Errors: COMPILE_FAILED with error->log;
     * NO_DEVICE as in identify. */
    groat_status (*compile)(void *state, const groat__arch *arch,
                            const char *source_name, const char *source,
                            const char *entry, groat__binary *out,
                            groat_error *error);
} groat__compiler;

/* How one kernel is launched; fixed when it is loaded. */
typedef struct groat__shape {
    unsigned block[3];
    unsigned cluster[3];
    unsigned shared_bytes;  /* total per block                               */
    unsigned dynamic_bytes; /* shared_bytes minus the binary's static part    */
    unsigned args_bytes;
    bool overlaps; /* a launch may start before the one ahead of it has ended,
                    * where the device can: the kernel waits for that itself */
} groat__shape;

/* Opaque to core: a module and its function. */
typedef struct groat__module groat__module;

typedef struct groat__device {
    const char *name; /* "cuda", "hip", "cpu" */
    groat__part part; /* the driver; close() releases a context that was
                       * retained, and leaves the caller's alone             */

    /* Number of devices; 0 is no error. */
    size_t (*count)(void *state);

    /* Facts of one device; the target says its arch ("cuda:sm_90a").
     * Errors: INVALID (index), NO_DEVICE. */
    groat_status (*facts)(void *state, size_t index, groat_device_info *info,
                          groat_error *error);

    /* Loads a binary, resolves entry eagerly (no lazy loading at the first
     * launch), raises the dynamic shared memory limit, fills
     * shape->dynamic_bytes from shape->shared_bytes and the function's static
     * size.  The current context of the calling thread is the same before and
     * after.  Errors: LOAD_FAILED when the driver refuses the bytes (core then
     * evicts them and compiles once more), NO_DEVICE, NO_MEMORY. */
    groat_status (*load)(void *state, const groat__arch *arch, const void *data,
                         size_t bytes, const char *entry, groat__shape *shape,
                         groat__module **out, groat_error *error);
    /* Whether a kernel for this stream may be loaded now: OK if the driver
     * cannot tell.  Errors: CAPTURING (a graph is captured from it),
     * LAUNCH_FAILED (the query or the capture failed), NO_DEVICE, NO_MEMORY. */
    groat_status (*may_load)(void *state, void *stream, groat_error *error);
    /* No launch of the module may be running. */
    void (*unload)(void *state, groat__module *module);

    /* The vendor's function handle, or NULL where there is none. */
    void *(*native)(groat__module *module);

    /* Resource facts as the driver sees them; fills only fields that are -1. */
    void (*facts_of)(void *state, groat__module *module, groat_facts *facts);

    /* The hot path: enqueue and return.  args is a structure of
     * shape->args_bytes bytes, passed by value as the one parameter.
     * Errors: LAUNCH_FAILED, JUDGED, NO_MEMORY, NO_DEVICE. */
    groat_status (*launch)(void *state, groat__module *module,
                           const groat__shape *shape,
                           const groat_launch *launch, const void *args,
                           groat_error *error);

    /* The same for a module that may be unloaded before its device is closed:
     * idle() takes the launch into account.  *captured is set if a graph is,
     * or may be, captured from the stream: idle() does not see such a launch,
     * and the module must stay loaded. */
    groat_status (*launch_noted)(void *state, groat__module *module,
                                 const groat__shape *shape,
                                 const groat_launch *launch, const void *args,
                                 bool *captured, groat_error *error);
    /* Whether all launches by launch_noted() are done.  Does not wait; false
     * also if the driver cannot tell, and while a graph is captured. */
    bool (*idle)(void *state, groat__module *module);

    /* Mean time of one of `repeats` launches, in microseconds, by events; makes
     * no other launch.  Errors: as of launch. */
    groat_status (*time)(void *state, groat__module *module,
                         const groat__shape *shape, const groat_launch *launch,
                         const void *args, unsigned repeats, double *us,
                         groat_error *error);

    /* Blocks until all work of the current context (else the state's own) is
     * done.  Errors: LAUNCH_FAILED, NO_DEVICE. */
    groat_status (*sync)(void *state, groat_error *error);
    /* Device memory in that context, aligned to 256 bytes; 0 bytes is no
     * error.  Errors: NO_MEMORY, NO_DEVICE (and for a device that an earlier
     * launch broke). */
    groat_status (*alloc)(void *state, size_t bytes, uint64_t *address,
                          groat_error *error);
    /* An address that alloc gave, or 0.  No launch may be using it. */
    void (*release)(void *state, uint64_t address);
    /* Copies between host and device and returns when it is done; 0 bytes is
     * no error.  Errors: LAUNCH_FAILED, NO_DEVICE. */
    groat_status (*write)(void *state, uint64_t to, const void *from,
                          size_t bytes, groat_error *error);
    groat_status (*read)(void *state, void *to, uint64_t from, size_t bytes,
                         groat_error *error);

    /* Writes the map of a tensor that core has checked.  Errors: INVALID (hip,
     * or the driver refuses it nevertheless), NO_DEVICE (a driver without
     * tensor maps), NO_MEMORY. */
    groat_status (*tensor_map)(void *state, const groat_tensor *tensor,
                               groat_tensor_map *out, groat_error *error);
    /* groat_kernel_interrupt(); NULL where the code does not run on the host.
     */
    void (*interrupt)(groat__module *module, const void *context,
                      const char *why);
} groat__device;

typedef struct groat__backend {
    groat__backend_id id;
    const groat__compiler *compiler;
    const groat__device *device;
} groat__backend;

extern const groat__compiler groat__compiler_nvrtc;  /* nvrtc.c */
extern const groat__compiler groat__compiler_hiprtc; /* hiprtc.c */
extern const groat__compiler groat__compiler_cxx;    /* cxx.c   */
extern const groat__device groat__device_cuda;
extern const groat__device groat__device_hip;
extern const groat__device groat__device_cpu;

/* Never NULL for a valid id. */
const groat__backend *groat__backend_get(groat__backend_id id);

#endif
