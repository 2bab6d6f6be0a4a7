/* SPDX-License-Identifier: Apache-2.0
 *
 * groat_tools.h - what tools ask: which families, parameters and devices there
 * are, where a kernel would come from, how long a launch takes, how a kernel
 * uses shared memory.  Nothing here is for the request path.
 *
 *   groat_family_at()    families, their parameters, defaults and rules
 *   groat_arch_at()      archs; neither needs a device or a compiler
 *   groat_explain()      where a kernel would come from, and why
 *   groat_kernel_time()  the time of a launch
 *   groat_trace          the accesses that a cpu target reports
 *   groat_device_at()    devices; groat_doctor() says why there is none
 *
 * THREADS.  Every function may be called from any thread; a groat_spec belongs
 * to one thread at a time.
 */
#ifndef GROAT_TOOLS_H
#define GROAT_TOOLS_H

#include <groat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- families, parameters, archs (no device needed) -------------------- */

typedef struct groat_family groat_family;

typedef enum groat_param_type {
    GROAT_PARAM_INT = 0,
    GROAT_PARAM_BOOL = 1,
    GROAT_PARAM_ENUM = 2,
    GROAT_PARAM_CODE = 3 /* an expression that is compiled into the kernel */
} groat_param_type;

typedef struct groat_param_info {
    size_t size;
    const char *name;
    groat_param_type type;
    const char *allowed; /* as in params.def: "16..256/16", "bf16|fp8";       *
                          * of a bool "0|1"; of code its inputs               */
    const char *deflt;   /* default, a value or an expression of parameters   */
    const char *unit;    /* "rows", "elements", "bytes", "-" ...              */
    const char *meaning;
} groat_param_info;

/* The number of families: the library's, then those of family_path.  A family
 * lives as long as its context; texts and infos are borrowed from it. */
GROAT_API size_t groat_family_count(const groat_context *context);
/* Reads a family of family_path at its first use.  NULL: there is no such
 * family, or no memory. */
GROAT_API const groat_family *groat_family_at(const groat_context *context,
                                              size_t index);
GROAT_API const groat_family *groat_family_find(const groat_context *context,
                                                const char *name);
GROAT_API const char *groat_family_name(const groat_family *family);
GROAT_API const char *groat_family_summary(const groat_family *family);
/* NULL, or why a family of family_path cannot be used: file, line and reason.
 * Such a family has a name and nothing else; its specs are INVALID. */
GROAT_API const char *groat_family_problem(const groat_family *family);
GROAT_API size_t groat_family_param_count(const groat_family *family);
/* info->size must be set.  Errors: INVALID (index, info). */
GROAT_API groat_status groat_family_param(const groat_family *family,
                                          size_t index, groat_param_info *info,
                                          groat_error *error);
/* The folder of a family of family_path; NULL for one of the library. */
GROAT_API const char *groat_family_folder(const groat_family *family);
/* Derived constants, in params.def's order: `allowed` is NULL, `deflt` the
 * expression.  groat_spec_get() gives their values.  info->size must be set.
 * Errors: INVALID (index, info). */
GROAT_API size_t groat_family_derived_count(const groat_family *family);
GROAT_API groat_status groat_family_derived(const groat_family *family,
                                            size_t index,
                                            groat_param_info *info,
                                            groat_error *error);
GROAT_API size_t groat_family_rule_count(const groat_family *family);
/* The index-th rule that several parameters must meet, and its reason.
 * Errors: INVALID (index). */
GROAT_API groat_status groat_family_rule(const groat_family *family,
                                         size_t index, const char **rule,
                                         const char **reason,
                                         groat_error *error);

/* The index-th arch that groat knows: "sm_80", "gfx950"; NULL past the end. */
GROAT_API const char *groat_arch_at(size_t index);
/* "cuda" or "hip": the backend that runs the index-th arch on hardware. */
GROAT_API const char *groat_arch_backend(size_t index);

/* ---- explanations ------------------------------------------------------ */

/* Where a kernel would come from, and why. */
typedef struct groat_explanation {
    size_t size;
    groat_origin origin; /* MEMORY, DISK, BUNDLE, or COMPILER: none has it   */
    char key[33];
    uint64_t fields; /* of COMPILER: lines of the identity in which the      *
                      * nearest kernel differs; 0: none was compared         */
    char text[GROAT_ERROR_TEXT]; /* one line of words                        */
} groat_explanation;

/* A line of two identities that differs: which ("param tile_rows", "compiler
 * nvrtc" or "" where they share no name), what is wanted, and what the nearest
 * kernel has; "absent" where there is no such line. */
typedef void groat_difference_fn(void *user, const char *field,
                                 const char *wanted, const char *found);

/* Tells where groat_kernel_get() would take the kernel of a spec from now, and
 * if it would compile it, why.
 *
 * fn  called for each line of the identity in which the nearest kernel of
 *     memory and store differs; the whole list of the store is read for it.
 *     NULL: nothing is compared.
 *
 * Compiles, loads and counts nothing; drops a damaged entry, as a get would.
 * Looks neither at a seal nor at compiles that failed a moment ago.  Any
 * thread; not for the request path.  Errors: INVALID (out->size), NO_DEVICE (no
 * compiler), NO_MEMORY. */
GROAT_API groat_status groat_explain(groat_spec *spec, groat_explanation *out,
                                     groat_difference_fn *fn, void *user,
                                     groat_error *error);

/* ---- times and traces -------------------------------------------------- */

/* Launches `repeats` times, waits, and gives the time of one launch in
 * microseconds, by device events where there are some.  Errors: as of
 * groat_kernel_launch(). */
GROAT_API groat_status groat_kernel_time(groat_kernel *kernel,
                                         const groat_launch *launch,
                                         const void *args, size_t args_bytes,
                                         unsigned repeats, double *us,
                                         groat_error *error);

/* Ends the launch of a kernel on a cpu target from the handler of a signal that
 * interrupted the thread which runs it, and does not return: the launch fails
 * with JUDGED, the thread's source line and WHY ("divides by 0"), or that its
 * time is over if that is NULL.  context is the handler's third argument.
 * Returns and does nothing if the signal interrupted other code than the
 * kernel's own, if the time is not over, and for other targets.  The handler
 * runs on a stack of its own (SA_ONSTACK) with its signal let through
 * (SA_NODEFER). */
GROAT_API void groat_kernel_interrupt(const groat_kernel *kernel,
                                      const void *context, const char *why);

/* How an instruction accesses shared memory; from ARRIVE on, how waves wait for
 * each other and for copies; from LOAD on, how one accesses device memory. */
typedef enum groat_access {
    GROAT_ACCESS_READ = 0,
    GROAT_ACCESS_WRITE = 1,
    GROAT_ACCESS_COPY = 2,      /* asynchronous copy from device memory       */
    GROAT_ACCESS_TRANSPOSE = 3, /* read with exchange among lanes (gfx950)   */
    GROAT_ACCESS_ARRIVE = 4,    /* arrives on an mbarrier                    */
    GROAT_ACCESS_WAIT = 5,   /* begins to wait for a phase of an mbarrier or, *
                              * where there is none, at a barrier            */
    GROAT_ACCESS_RESUME = 6, /* goes on after that wait                      */
    GROAT_ACCESS_LAND = 7,   /* has waited for copies of its own             */
    GROAT_ACCESS_LOAD = 8,   /* from device memory to registers              */
    GROAT_ACCESS_STORE = 9   /* from registers, atomic operations, too       */
} groat_access;

/* One instruction of one wave that accesses memory or waits, as the
 * judge of cpu targets executed it.  Arrays are borrowed for the call and have
 * `lanes` entries; those of inactive lanes are 0.  Of waits, bytes, passes and
 * arrays are 0; of LOAD and STORE, passes and shared. */
struct groat_trace {
    size_t size;
    groat_access access;
    unsigned block[3];   /* coordinates in the grid                        */
    unsigned wave;       /* in the block                                   */
    unsigned index;      /* of the wave's accesses to shared memory, from 0 */
    unsigned lanes;      /* of a wave: 32 or 64                            */
    unsigned bytes;      /* per lane                                       */
    unsigned passes;     /* times that the banks are read or written       */
    unsigned passes_min; /* the same without bank conflicts                */
    unsigned reuse;      /* most different dwords that one bank serves at  *
                          * once; 1: no conflict                           */
    uint64_t active;     /* bit per lane                                   */
    const uint32_t *shared; /* byte address in the block's shared memory      */
    const uint64_t *source; /* copies, LOAD, STORE: device address; of copies *
                             * 0: zeros are written                           */
    unsigned banks;         /* of shared memory, 4 bytes wide                 */
    unsigned together;      /* neighbouring lanes that are served at once     */
    const uint64_t *asked;  /* copies: the address in the instruction, also   *
                             * where source is 0                              */
    unsigned mbarrier; /* byte of the one that counts the copy, that is       *
                        * arrived on or waited for; ~0u: none                 */
    unsigned phase;    /* of the mbarrier, from 0; of LAND: copies of a lane  *
                        * that have landed                                    */
    unsigned left_out; /* LOADs and STOREs behind this event that are not     *
                        * told, as the wave has thousands between two waits:  *
                        * those of its lane that has most of them             */
};

/* ---- devices ----------------------------------------------------------- */

typedef struct groat_device_info {
    size_t size;
    char target[48]; /* "cuda:sm_90a"                                    */
    char name[128];
    int ordinal;
    uint64_t memory_bytes;
    int multiprocessors;  /* SMs or compute units                             */
    int shared_bytes_max; /* per block, with opt-in                           */
    int clock_khz;
} groat_device_info;

/* The number of devices of all backends; the cpu judge is not one. */
GROAT_API size_t groat_device_count(groat_context *context);
/* info->size must be set.  Errors: INVALID (index, info), NO_DEVICE. */
GROAT_API groat_status groat_device_at(groat_context *context, size_t index,
                                       groat_device_info *info,
                                       groat_error *error);

/* One finding of groat_doctor(). */
typedef void groat_doctor_fn(void *user, const char *subject, int usable,
                             const char *line);
/* Calls fn for each library and device that was looked for: where it was found,
 * its version and build id, or why it cannot be used. */
GROAT_API void groat_doctor(groat_context *context, groat_doctor_fn *fn,
                            void *user);

#ifdef __cplusplus
}
#endif

#endif /* GROAT_TOOLS_H */
