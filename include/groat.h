/* SPDX-License-Identifier: Apache-2.0
 *
 * groat.h - GPU kernels made to measure, compiled once, kept, and launched.
 *
 * A *spec* names a kernel family and its compile-time parameters:
 *
 *     tile_loader_lds:dtype=bf16,tile_rows=64,tile_cols=128
 *
 * A *target* names who runs it: "cuda:sm_90a", "hip:gfx942", "cpu:gfx950".
 * "cpu:ARCH" executes the source that ARCH would get, one fiber per thread,
 * and judges its asynchronous copies and barriers.  A NULL target means the
 * best one of this machine (groat_default_target()).
 *
 * THE MANUAL IN SHORT
 *
 *   1. groat_open() a context: one per process and device is enough.
 *   2. groat_kernel_get() a handle per spec, at start-up.  It looks in memory,
 *      then in the store on disk and the bundles beneath it, and compiles what
 *      none has.
 *   3. groat_kernel_launch() the handle, or groat_kernel_lookup() it by spec.
 *   4. groat_kernel_release() the handles and groat_close() the context.
 *
 * ERRORS.  Functions that can fail return a groat_status, 0 or negative, and
 * take a groat_error, which may be NULL.  Results are written through the
 * out-parameters on success only.
 *
 * OWNERSHIP.  What comes through `T **out` belongs to the caller and is given
 * back through the one function its comment names.  `const T *` results are
 * borrowed from the object they came from and live as long as it does.
 *
 * THREADS.  Contexts and kernels may be used from any thread at any time.
 * groat_spec objects belong to one thread at a time.  Callbacks run on the
 * thread that made the call, with no lock held and nobody waiting for what it
 * makes: what is said about a kernel that threads wait for is said when it is
 * there.  A callback may make any call but groat_close() of its own context,
 * which is refused with a line in the log; those of accesses and of ranges
 * (groat_trace_fn, groat_range_push_fn) are called amid groat's work and may
 * make none.  Lines of the log about what groat_kernel_start() asked for come
 * from another thread.
 * groat_close() must be the last call on a context.
 *
 * FORK.  A child has nothing of its parent's contexts: each call with one, or
 * with a kernel, spec, request or slot of one, that would take a lock or use a
 * store, compiler or device is INVALID ("opened before fork(): open one in the
 * child") or gives NULL or 0.  What merely tells of such an object, as
 * groat_kernel_info_get() and groat_spec_text() do, tells what it was at the
 * fork; groat_close() and the other functions that free return at once.  What
 * it opens itself works on cpu targets, unless a thread of the parent was
 * loading or unloading a kernel at the fork: the C library's loader does not
 * survive that, nor do vendors' drivers survive any fork().
 *
 * GROWTH.  Structures that callers fill start with their size; set it with the
 * matching _INIT macro or to sizeof.  Fields are only ever added at the end.
 * One that is longer than the library's is taken as if it were not: no byte
 * behind what the library knows is read or written.  One that is shorter than
 * in 0.1.0, the first version, is INVALID.
 *
 * The library prints nothing, reads no environment variable after
 * groat_open(), installs no handler and runs no shell.  A context has no thread
 * of its own but those, 4 at most, that make what groat_kernel_start() asks
 * for: they end when nothing is left to make, and
 * groat_close() leaves none behind.  They take no signal.  The C++ compiler of
 * cpu targets is a child process that ends with the thread that waits for it.
 */
#ifndef GROAT_H
#define GROAT_H

#include <stddef.h>
#include <stdint.h>

#include <groat_version.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(GROAT_STATIC) || !defined(__GNUC__)
#define GROAT_API
#else
#define GROAT_API __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define GROAT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define GROAT_PRINTF(fmt, args)
#endif

/* ---- status and errors ------------------------------------------------- */

/* What a caller can do about a failure; the text says what happened. */
typedef enum groat_status {
    GROAT_OK = 0,
    GROAT_INVALID = -1,        /* an argument, spec or target is not allowed */
    GROAT_NO_MEMORY = -2,      /* host or device memory ran out              */
    GROAT_NO_DEVICE = -3,      /* no usable device, driver or compiler       */
    GROAT_COMPILE_FAILED = -4, /* the compiler refused; groat_error.log      */
    GROAT_LOAD_FAILED = -5,    /* the driver refused a fresh binary          */
    GROAT_LAUNCH_FAILED = -6,  /* launch, copy or synchronize failed         */
    GROAT_JUDGED = -7,         /* the cpu judge found a broken protocol      */
    GROAT_IO = -8,             /* a file or the store, asked for by name     */
    GROAT_SEALED = -9,         /* not in memory, and the context is sealed   */
    GROAT_TIMED_OUT = -10,     /* not there yet; it may come                 */
    GROAT_CAPTURING = -11      /* not in memory, and a graph is captured     */
} groat_status;

/* A word for a status, such as "invalid"; never NULL. */
GROAT_API const char *groat_status_name(groat_status status);

#define GROAT_ERROR_TEXT 768

/* One failure.  Start from GROAT_ERROR_INIT; reuse after groat_error_clear. */
typedef struct groat_error {
    size_t size;          /* sizeof(groat_error)                       */
    groat_status status;  /* the value that the call returned          */
    int vendor_code;      /* the vendor call's result, or 0            */
    char vendor_call[48]; /* the vendor call's name, or ""             */
    char
        text[GROAT_ERROR_TEXT]; /* one line: what failed, value seen, allowed */
    char *log;                  /* compiler or judge log, or NULL            */
} groat_error;

#define GROAT_ERROR_INIT                                                       \
    {                                                                          \
        sizeof(groat_error), GROAT_OK, 0, "", "", NULL                         \
    }

/* Frees the log and empties the rest.  NULL is allowed. */
GROAT_API void groat_error_clear(groat_error *error);

/* "MAJOR.MINOR.PATCH" of the library that is running. */
GROAT_API const char *groat_version(void);

/* ---- context ----------------------------------------------------------- */

typedef struct groat_context groat_context;

/* Levels of messages to groat_options.log. */
enum { GROAT_LOG_WARNING = 1, GROAT_LOG_INFO = 2 };

typedef void groat_log_fn(void *user, int level, const char *line);

/* Ways in which a wave touches shared memory. */
typedef enum groat_access {
    GROAT_ACCESS_READ = 0,
    GROAT_ACCESS_WRITE = 1,
    GROAT_ACCESS_COPY = 2, /* asynchronous copy from device memory         */
    GROAT_ACCESS_TRANSPOSE = 3 /* read with exchange among lanes (gfx950) */
} groat_access;

/* One instruction of one wave that touches shared memory, as the judge of cpu
 * targets saw it.  Arrays are borrowed for the call and have `lanes` entries;
 * those of lanes that are not active are 0. */
typedef struct groat_trace {
    size_t size;
    groat_access access;
    unsigned block[3];      /* coordinates in the grid                        */
    unsigned wave;          /* in the block                                   */
    unsigned index;         /* of the wave's accesses, in order, from 0       */
    unsigned lanes;         /* of a wave: 32 or 64                            */
    unsigned bytes;         /* per lane                                       */
    unsigned passes;        /* times that the banks are read or written       */
    unsigned passes_min;    /* the same, were there no bank conflicts         */
    unsigned reuse;         /* most different dwords wanted of a bank at once:
                             * 1 is free of conflicts                         */
    uint64_t active;        /* bit per lane                                   */
    const uint32_t *shared; /* byte address in the block's shared memory      */
    const uint64_t *source; /* copies: device address; 0: nothing but zeros   */
    unsigned banks;         /* of shared memory, 4 bytes wide                 */
    unsigned together;      /* neighbouring lanes that are served at once     */
    const uint64_t *asked;  /* copies: as source, also where that is 0        */
} groat_trace;

/* Called on the thread that launches, once per instruction, in an order that
 * each wave could have had.  It may not call groat. */
typedef void groat_trace_fn(void *user, const groat_trace *event);

/* Why a kernel was compiled. */
typedef enum groat_reason {
    GROAT_REASON_ABSENT = 0,   /* neither store nor bundles have it: see       *
                                * groat_explain()                             */
    GROAT_REASON_NO_STORE = 1, /* nor could they: there is no store           */
    GROAT_REASON_REFUSED = 2,  /* the driver did not load what they had       */
    GROAT_REASON_ALONE = 3     /* another process compiles it and took too    *
                                * long, or the store could not tell           */
} groat_reason;

/* "absent", "no store", "refused" or "alone". */
GROAT_API const char *groat_reason_name(groat_reason reason);

/* A compile that has ended; all is borrowed for the callback. */
typedef struct groat_compile_event {
    size_t size;
    const char *spec;
    const char *target;
    char key[33];
    groat_reason reason;
    groat_status status;
    double ms;
    const groat_error *error; /* of a failed one, with the log; else NULL    */
} groat_compile_event;

/* Begin and end a range of time on a profiler's timeline, nested per thread:
 * the name is "groat: miss FAMILY", or a part of it (read, verify, compile,
 * put, load), and is read during the call only.  Called amid groat's work: they
 * may not call groat. */
typedef void groat_range_push_fn(void *user, const char *name);
typedef void groat_range_pop_fn(void *user);

/* Called after each compile on the thread that did it, with no lock held; not
 * where there is no memory to keep what it is told. */
typedef void groat_compile_fn(void *user, const groat_compile_event *event);

/* groat_options.flags */
enum {
    GROAT_OPEN_NO_DISK = 1, /* keep kernels in memory only                    */
    GROAT_OPEN_SANITIZE =
        2, /* cpu targets: compile kernels with ASan + UBSan */
    GROAT_OPEN_SHARE_GROUP = 4 /* the store is a group's, whose members then
                                * run code as each other: its folder is there,
                                * named, and of mode 2770 (also
                                * $GROAT_CACHE_SHARE=group, of
                                * $GROAT_CACHE_DIR)                           */
};

/* The bytes of a bundle in the program's own memory. */
typedef struct groat_bundle_image {
    const char *name; /* what messages call it                             */
    const void *data; /* stays where it is until groat_close()             */
    size_t bytes;
} groat_bundle_image;

typedef struct groat_options {
    size_t size;              /* sizeof(groat_options)                       */
    unsigned flags;           /* GROAT_OPEN_*                                */
    int device;               /* device ordinal of cuda and hip targets      */
    const char *cache_dir;    /* NULL: $GROAT_CACHE_DIR, else                *
                               * $XDG_CACHE_HOME/groat, ~/.cache/groat       */
    uint64_t cache_max_bytes; /* 0: $GROAT_CACHE_MAX_BYTES, else 1 GiB       */
    const char *family_path;  /* colon-separated folders of more families;   *
                               * NULL: $GROAT_FAMILY_PATH                    */
    uint64_t seed;            /* cpu targets: order of legal choices         */
    groat_log_fn *log;        /* NULL: messages are dropped                  */
    void *log_user;
    groat_trace_fn *trace; /* cpu targets: NULL, or told every access     */
    void *trace_user;
    /* Bundles, which are asked in this order for what the
     * store has not, files first.  One that cannot be used is no error: one
     * warning says why, and groat_bundle_at(). */
    const char *const *bundles; /* paths; NULL: $GROAT_BUNDLES, separated *
                                 * by colons, unless NO_DISK                 */
    size_t bundle_count;
    const char *trust;  /* file of public keys, one to a line, whose bundles *
                         * are used; NULL: $GROAT_TRUST                      */
    int allow_unsigned; /* not 0: use bundles whoever has made them          */
    const groat_bundle_image *images; /* used unasked: they are the program */
    size_t image_count;
    groat_compile_fn *compiled; /* NULL: nobody is told                      */
    void *compiled_user;
    uint64_t loaded_max_bytes; /* of loaded binaries, see groat_kernel; 0:    *
                                * $GROAT_LOADED_MAX_BYTES, else no bound      */
    const char *ranges; /* "off" or "nvtx": who takes ranges of time;     *
                         * NULL: $GROAT_RANGES, else "off"                   */
    groat_range_push_fn *range_push; /* both or neither; they go before the  *
                                      * name above                           */
    groat_range_pop_fn *range_pop;
    void *range_user;
} groat_options;

#define GROAT_OPTIONS_INIT                                                     \
    {                                                                          \
        sizeof(groat_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0, 0                                                \
    }

/* Opens a context.  options may be NULL.  No vendor library is touched before
 * a target needs it.  A store that cannot be opened is no error: kernels then
 * live in memory and one warning says so.  Errors: INVALID (options, a folder
 * of family_path), NO_MEMORY.  Free with groat_close(). */
GROAT_API groat_status groat_open(const groat_options *options,
                                  groat_context **out, groat_error *error);

/* Unloads every kernel, closes the store, frees the context.  NULL is allowed.
 * The caller's CUDA or HIP context is left as it was found. */
GROAT_API void groat_close(groat_context *context);

/* ---- families, parameters, targets (no device needed) ------------------ */

typedef struct groat_family groat_family;

typedef enum groat_param_type {
    GROAT_PARAM_INT = 0,
    GROAT_PARAM_BOOL = 1,
    GROAT_PARAM_ENUM = 2
} groat_param_type;

typedef struct groat_param_info {
    size_t size;
    const char *name;
    groat_param_type type;
    const char *allowed; /* as in params.def: "16..256/16", "bf16|fp8";       *
                          * of a bool "0|1"                                   */
    const char *deflt;   /* default, a value or an expression of parameters   */
    const char *unit;    /* "rows", "elements", "bytes", "-" ...              */
    const char *meaning;
} groat_param_info;

/* Families of the library and of family_path, in the order they were found.
 * One of family_path is read from its files at its first use. */
GROAT_API size_t groat_family_count(const groat_context *context);
/* NULL past the end, and without memory.  Families live as long as their
 * context. */
GROAT_API const groat_family *groat_family_at(const groat_context *context,
                                              size_t index);
/* NULL when there is no such family, and without memory. */
GROAT_API const groat_family *groat_family_find(const groat_context *context,
                                                const char *name);
/* Borrowed from the family, as are all texts below. */
GROAT_API const char *groat_family_name(const groat_family *family);
GROAT_API const char *groat_family_summary(const groat_family *family);
/* NULL, or what is wrong with a family of family_path: file, line and reason.
 * It has a name then and nothing else, and each spec of it is INVALID. */
GROAT_API const char *groat_family_problem(const groat_family *family);
GROAT_API size_t groat_family_param_count(const groat_family *family);
/* Errors: INVALID (index). info->size must be set. */
GROAT_API groat_status groat_family_param(const groat_family *family,
                                          size_t index, groat_param_info *info,
                                          groat_error *error);
GROAT_API size_t groat_family_rule_count(const groat_family *family);
/* The index-th cross-parameter rule and its reason; borrowed.  Errors: INVALID
 * (index). */
GROAT_API groat_status groat_family_rule(const groat_family *family,
                                         size_t index, const char **rule,
                                         const char **reason,
                                         groat_error *error);

/* Every arch groat knows, in order; NULL past the end: "sm_80", "gfx950". */
GROAT_API const char *groat_arch_at(size_t index);
/* "cuda" or "hip": the backend that runs the index-th arch on hardware. */
GROAT_API const char *groat_arch_backend(size_t index);

/* ---- specs ------------------------------------------------------------- */

/* A parsed spec with its target: every parameter has a value and every rule
 * holds.  Belongs to one thread at a time. */
typedef struct groat_spec groat_spec;

/* Parses "family:name=value,...".  Order is free; what is absent takes its
 * default.  target NULL: groat_default_target().  Errors: INVALID with one
 * line that names the parameter, the value seen and what is allowed.
 * Free with groat_spec_free(). */
GROAT_API groat_status groat_spec_parse(groat_context *context,
                                        const char *text, const char *target,
                                        groat_spec **out, groat_error *error);
GROAT_API void groat_spec_free(groat_spec *spec);

/* The canonical text: every parameter, in the order of params.def.  Written by
 * the first call after a change; "" without memory for it.  Borrowed: valid
 * until groat_spec_set() or groat_spec_free(). */
GROAT_API const char *groat_spec_text(groat_spec *spec);
GROAT_API const char *groat_spec_target(const groat_spec *spec);
/* The name of its family; valid until groat_close(). */
GROAT_API const char *groat_spec_family(const groat_spec *spec);

/* Value of a parameter or derived constant: a number, a bool's 0 or 1, an
 * enumerator's number (its place in `allowed`, from 0, unless that says
 * "name=number").  Errors: INVALID (no such name). */
GROAT_API groat_status groat_spec_get(const groat_spec *spec, const char *name,
                                      int64_t *value, groat_error *error);

/* Changes one parameter and checks the whole again; on failure the spec stays
 * as it was.  Parameters whose default follows another keep their value. */
GROAT_API groat_status groat_spec_set(groat_spec *spec, const char *name,
                                      int64_t value, groat_error *error);

/* The text that the compiler gets, NUL-terminated; free with groat_free().
 * Needs no compiler.  Errors: NO_MEMORY. */
GROAT_API groat_status groat_spec_source(groat_spec *spec, char **out,
                                         groat_error *error);

/* 32 hex digits and NUL of the key, and (identity may be NULL) the readable
 * text it is the XXH3-128 of; free identity with groat_free().  Errors:
 * NO_DEVICE where the target's compiler is not to be had: its version and
 * build id are part of the identity. */
GROAT_API groat_status groat_spec_key(groat_spec *spec, char key[33],
                                      char **identity, groat_error *error);

/* Frees text and blobs that a function gave to the caller. */
GROAT_API void groat_free(void *memory);

/* ---- kernels ----------------------------------------------------------- */

/* A runnable kernel.  Counted: get and retain are each matched by one release.
 * A handle is good until groat_close(), and a kernel stays loaded until then
 * unless options.loaded_max_bytes bounds the bytes of loaded binaries.  When a
 * load passes that bound, kernels are unloaded by last use (told apart by the
 * loads between them), of those that nobody has a count of and whose launches
 * are done: nothing is waited for, and what still runs is unloaded after the
 * next load, last release or groat_synchronize().  What is not to be unloaded
 * may pass the bound.  A kernel that was launched while a graph was captured
 * from the stream stays for good, as do the fallbacks of groat_fallback_set()
 * and the kernels of requests until they are freed.  Nothing is
 * unloaded while the driver says that a graph is captured, or the context is
 * sealed.  A launch of an unloaded kernel first loads it as groat_kernel_get()
 * does, so get what is to be launched in time and release it when done.  With a
 * bound an event is recorded on a stream, behind a launch every few
 * milliseconds; on hip targets, and on streams that each thread has of its own,
 * behind each launch.  So the last launches on a stream are known to be done
 * once others have followed there, or groat_synchronize() has waited.  Of a
 * device 64 streams are known: what was launched on a 65th stays loaded. */
typedef struct groat_kernel groat_kernel;

typedef enum groat_origin {
    GROAT_FROM_COMPILER = 0,
    GROAT_FROM_DISK = 1,
    GROAT_FROM_MEMORY = 2,
    GROAT_FROM_FALLBACK = 3, /* not the one that was asked for             */
    GROAT_FROM_BUNDLE = 4
} groat_origin;

/* "compiled", "disk", "memory", "fallback" or "bundle". */
GROAT_API const char *groat_origin_name(groat_origin origin);

/* What the compiler said of a binary; -1 where it did not say. */
typedef struct groat_facts {
    int64_t registers;    /* per thread (cuda) or VGPRs per lane (hip)        */
    int64_t sgprs;        /* scalar registers per wave (hip)                  */
    int64_t spill_bytes;  /* bytes per thread that went to scratch            */
    int64_t shared_bytes; /* static shared memory per block, bytes            */
    int64_t code_bytes;   /* size of the binary, bytes                        */
    int64_t max_threads;  /* largest block the binary may be launched with    */
} groat_facts;

typedef struct groat_kernel_info {
    size_t size;
    const char *spec; /* canonical text                                   */
    const char *target;
    const char *name; /* entry point, as a profiler shows it              */
    const char *log;  /* compiler's log, "" if it was silent              */
    char key[33];
    groat_origin origin; /* of the load; a later get answers FROM_MEMORY     */
    double compile_ms;   /* 0 if not compiled by this process                */
    double load_ms;      /* from binary to launchable function               */
    unsigned block[3];   /* threads per block, fixed by the spec             */
    unsigned cluster[3]; /* blocks per cluster, 1 1 1 where there is none    */
    unsigned shared_bytes; /* shared memory per block, static and dynamic */
    unsigned args_bytes; /* size of the launch-argument structure            */
    groat_facts facts;
    const char *maker; /* "nvrtc 13.0 build ...", the compiler that made it  */
} groat_kernel_info;

/* The kernel of a spec, loaded: from memory, else from the store, else from a
 * bundle, else compiled: once, however many threads ask, and once among all
 * processes that share the store.  A process that compiles and then dies is
 * not waited for, but where a child lives on that it had forked meanwhile; one
 * that stops or goes on and on is for half a minute; then the kernel is
 * compiled here.  Errors: INVALID, NO_DEVICE,
 * COMPILE_FAILED, LOAD_FAILED, NO_MEMORY, SEALED.  What failed to compile is
 * not compiled again for a second: it fails with the same text and log until
 * then; for two after the second failure, and so on, up to a minute.  Release
 * with groat_kernel_release().  origin may be NULL.  Without the target's
 * compiler the newest kernel that store or bundles have for the same spec,
 * source and target is used, whoever made it (info.maker). */
GROAT_API groat_status groat_kernel_get(groat_context *context,
                                        const char *spec, const char *target,
                                        groat_kernel **out,
                                        groat_origin *origin,
                                        groat_error *error);
/* groat_get_options.flags */
enum {
    GROAT_GET_ON_STREAM = 1 /* nothing is loaded while a graph is captured   *
                             * from options.stream: CAPTURING                */
};

typedef struct groat_get_options {
    size_t size;
    unsigned flags; /* GROAT_GET_* */
    void *stream;   /* CUstream or hipStream_t; NULL: the default stream; not
                     * looked at on cpu targets */
} groat_get_options;

/* groat_kernel_get() for a parsed spec, on its context and target.
 *
 * options  NULL: none.  With GROAT_GET_ON_STREAM only a kernel in memory is
 *          given while a graph is captured from the stream, and nothing is
 *          compiled or loaded.  A driver that cannot tell (CUDA before 10.0) is
 *          taken not to capture.
 *
 * A load on one thread does not disturb what another captures; a kernel's
 * function is resolved when it is loaded, not at its first launch.  Errors:
 * INVALID (options), CAPTURING; LAUNCH_FAILED (the stream does not exist, or
 * its capture has failed); as of groat_kernel_get(). */
GROAT_API groat_status groat_kernel_get_spec(groat_spec *spec,
                                             const groat_get_options *options,
                                             groat_kernel **out,
                                             groat_origin *origin,
                                             groat_error *error);

/* The request path: the kernel if it is in memory, else NULL.  Takes no lock,
 * allocates nothing, never compiles.  Borrowed: valid until groat_close(),
 * though with a bound it may be unloaded.  Finds what groat_kernel_get() was
 * asked for in the same words, up to 65,536 names per context; for more, keep
 * the handles. */
GROAT_API groat_kernel *groat_kernel_lookup(const groat_context *context,
                                            const char *spec,
                                            const char *target);
GROAT_API groat_kernel *groat_kernel_lookup_spec(const groat_spec *spec);

GROAT_API groat_kernel *groat_kernel_retain(groat_kernel *kernel);
GROAT_API void groat_kernel_release(groat_kernel *kernel);

/* Errors: INVALID (info->size).  Pointers in info live as long as kernel. */
GROAT_API groat_status groat_kernel_info_get(const groat_kernel *kernel,
                                             groat_kernel_info *info,
                                             groat_error *error);

/* The vendor's own function handle, for launches that groat does not make
 * (graph nodes, cooperative launches): CUfunction, hipFunction_t, or NULL on
 * cpu and where it is unloaded.  Borrowed: valid until the kernel's last
 * release, before which what it was given to must be done. */
GROAT_API void *groat_kernel_native(const groat_kernel *kernel);

/* Compiles into the store without loading or running, once, as
 * groat_kernel_get() does: needs no device.  binary and bytes may both be NULL;
 * else free *binary with groat_free().  info (may be NULL): its texts are the
 * spec's and live until its next groat_build() or groat_spec_set(); its origin
 * is MEMORY where another thread has just made it.  Errors: INVALID, NO_DEVICE
 * (no compiler), COMPILE_FAILED, NO_MEMORY, SEALED (not in the store). */
GROAT_API groat_status groat_build(groat_spec *spec, void **binary,
                                   size_t *bytes, groat_kernel_info *info,
                                   groat_error *error);

/* ---- launch, memory, devices ------------------------------------------- */

typedef struct groat_launch {
    size_t size;
    unsigned grid[3]; /* blocks                                               */
    void *stream; /* CUstream or hipStream_t; NULL: the default stream     */
} groat_launch;

#define GROAT_LAUNCH_INIT                                                      \
    {                                                                          \
        sizeof(groat_launch), {1, 1, 1}, NULL                                  \
    }

/* Enqueues one launch.  args points to the family's structure of args.h and
 * must be as large as it.  Asynchronous on cuda and hip; on cpu it returns when
 * the grid is done and answers JUDGED, with the finding in error->text, when
 * the kernel broke a rule.  Errors: INVALID, LAUNCH_FAILED, JUDGED, NO_MEMORY,
 * NO_DEVICE (it is gone); of an unloaded kernel CAPTURING, SEALED, and as of
 * groat_kernel_get(). */
GROAT_API groat_status groat_kernel_launch(groat_kernel *kernel,
                                           const groat_launch *launch,
                                           const void *args, size_t args_bytes,
                                           groat_error *error);

/* Launches `repeats` times and gives the time of one launch in microseconds,
 * by device events where there are some.  Synchronizes.  Errors: as of
 * groat_kernel_launch(). */
GROAT_API groat_status groat_kernel_time(groat_kernel *kernel,
                                         const groat_launch *launch,
                                         const void *args, size_t args_bytes,
                                         unsigned repeats, double *us,
                                         groat_error *error);

/* Device memory for a target; 0 bytes is allowed.  The address goes into the
 * argument structure.  Free with groat_memory_free().  Errors: INVALID
 * (target), NO_DEVICE, NO_MEMORY. */
GROAT_API groat_status groat_memory_alloc(groat_context *context,
                                          const char *target, size_t bytes,
                                          uint64_t *address,
                                          groat_error *error);
/* No launch may be using it.  0 is allowed. */
GROAT_API void groat_memory_free(groat_context *context, const char *target,
                                 uint64_t address);
/* Copies to or from the device and returns when it is done.  Errors: INVALID
 * (target), NO_DEVICE, LAUNCH_FAILED (the address lies in no buffer, or an
 * earlier launch faulted). */
GROAT_API groat_status groat_memory_write(groat_context *context,
                                          const char *target, uint64_t to,
                                          const void *from, size_t bytes,
                                          groat_error *error);
GROAT_API groat_status groat_memory_read(groat_context *context,
                                         const char *target, void *to,
                                         uint64_t from, size_t bytes,
                                         groat_error *error);
/* Waits for all work of the target's device.  Errors: INVALID (target),
 * NO_DEVICE, LAUNCH_FAILED (a launch faulted). */
GROAT_API groat_status groat_synchronize(groat_context *context,
                                         const char *target,
                                         groat_error *error);

/* The best target of this machine: a cuda device, a hip device, else
 * "cpu:gfx950".  Never NULL; borrowed from the context. */
GROAT_API const char *groat_default_target(groat_context *context);

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

/* Number of devices over all backends; the cpu judge is not one. */
GROAT_API size_t groat_device_count(groat_context *context);
/* Errors: INVALID (index, info->size), NO_DEVICE. */
GROAT_API groat_status groat_device_at(groat_context *context, size_t index,
                                       groat_device_info *info,
                                       groat_error *error);

/* One line of `groat doctor`: a library that was looked for, or a fact. */
typedef void groat_doctor_fn(void *user, const char *subject, int usable,
                             const char *line);
/* Calls fn for each finding: what was looked for, what was loaded from where
 * with which version and build id, and why not. */
GROAT_API void groat_doctor(groat_context *context, groat_doctor_fn *fn,
                            void *user);

/* ---- tensor maps -------------------------------------------------------
 *
 * A tensor map tells the copy engine of NVIDIA's sm_90 and later (TMA) of a
 * tensor in device memory and of the box that one copy takes out of it.  It is
 * a field of the launch arguments, made before the launch: on cuda targets it
 * is what the driver made, on cpu targets what the judge reads.  Both refuse
 * the same tensors, before the driver is asked, and the text names the field,
 * the value seen and what is allowed.
 *
 * Dimensions stand fastest first.  What a box reads outside of the tensor is
 * zeros, and counts as bytes that were copied. */

/* What groat_tensor_map_make() wrote; the words are the target's own.  Kernels
 * have it from common/tensor_map.h; whichever comes first stands. */
#ifndef GROAT_TENSOR_MAP
#define GROAT_TENSOR_MAP
#ifdef __cplusplus
struct alignas(64) groat_tensor_map {
    unsigned long long words[16];
};
#else
typedef struct groat_tensor_map {
    _Alignas(64) unsigned long long words[16];
} groat_tensor_map;
#endif
#endif

/* Which 16-byte pieces of a row change places in shared memory: none, or those
 * of a span of 32, 64 or 128 bytes. */
typedef enum groat_swizzle {
    GROAT_SWIZZLE_NONE = 0,
    GROAT_SWIZZLE_32 = 1,
    GROAT_SWIZZLE_64 = 2,
    GROAT_SWIZZLE_128 = 3
} groat_swizzle;

typedef struct groat_tensor {
    size_t size;
    uint64_t address;    /* in device memory; a multiple of 16              */
    unsigned elem_bytes; /* 1, 2, 4 or 8                                    */
    unsigned rank;       /* 1 to 5                                          */
    uint64_t dims[5];    /* elements; 1 to 2^32                             */
    uint64_t strides[4]; /* bytes, of dims[1] and on; multiples of 16 below *
                          * 2^40, so that no two elements share a byte      */
    unsigned box[5];     /* elements; 1 to 256; box[0] is a multiple of 16  *
                          * bytes, within the swizzle's span if it has one; *
                          * the whole box at most 232448 bytes, which is    *
                          * what a block's shared memory holds              */
    groat_swizzle swizzle;
} groat_tensor;

#define GROAT_TENSOR_INIT                                                      \
    {                                                                          \
        sizeof(groat_tensor), 0, 0, 0, {0}, {0}, {0}, GROAT_SWIZZLE_NONE       \
    }

/* Makes the map of a tensor for a target (NULL: groat_default_target()).  out
 * is aligned to 64 bytes; it is the caller's and holds nothing to free.  It
 * names the memory and does not keep it.  Errors: INVALID (a field of tensor;
 * a target whose arch copies no tensors, as all of hip), NO_DEVICE (a driver
 * older than CUDA 12.0), NO_MEMORY. */
GROAT_API groat_status groat_tensor_map_make(groat_context *context,
                                             const char *target,
                                             const groat_tensor *tensor,
                                             groat_tensor_map *out,
                                             groat_error *error);

/* How a KV cache lies in memory, slowest dimension first. */
typedef enum groat_kv_layout {
    GROAT_KV_PAGE_HEAD = 0, /* [blocks, planes, layers, page, heads, dim] */
    GROAT_KV_HEAD_PAGE = 1  /* [blocks, planes, layers, heads, page, dim] */
} groat_kv_layout;

/* A cache.  One that is not paged is a cache as well: a block per sequence, of
 * as many tokens as the longest has room for; ragged sequences are one block.
 * K and V in buffers of their own are two caches of one plane. */
typedef struct groat_kv_cache {
    size_t size;
    uint64_t address; /* a multiple of 16                                */
    groat_kv_layout layout;
    unsigned elem_bytes;   /* 1, 2, 4 or 8                                    */
    uint64_t blocks;       /* 1 or more                                       */
    unsigned planes;       /* 2: K and V; 1: one that serves as both (MLA)    */
    unsigned layers;       /* 1 or more                                       */
    unsigned page;         /* tokens of a block; 1 or more                    */
    unsigned heads;        /* 1 or more                                       */
    unsigned dim;          /* elements of a head; a multiple of 16 bytes      */
    uint64_t block_stride; /* bytes from one to the next; 0: packed.  Those   */
    uint64_t plane_stride; /* of blocks, and of heads in HEAD_PAGE, are whole */
    uint64_t layer_stride; /* rows, multiples of token_stride; all are        */
    uint64_t token_stride; /* multiples of 16                                 */
    uint64_t head_stride;
} groat_kv_cache;

#define GROAT_KV_CACHE_INIT                                                    \
    {                                                                          \
        sizeof(groat_kv_cache), 0, GROAT_KV_PAGE_HEAD, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0                                                         \
    }

/* Plane of a cache.  A cache of one plane has it twice. */
enum { GROAT_KV_KEYS = 0, GROAT_KV_VALUES = 1 };

/* The rows of one plane of one layer.  A row is the dim elements of a token (of
 * all heads in PAGE_HEAD, of one in HEAD_PAGE); token t of a sequence and head
 * h are in row
 *
 *     table[t / page] * block_rows + h * head_rows + t % page
 *
 * which is what a kernel gives as coordinate. */
typedef struct groat_kv_view {
    size_t size;
    uint64_t address;    /* of row 0                                        */
    uint64_t rows;       /* that a copy may name; less than 2^31            */
    uint64_t block_rows; /* from one block to the next                      */
    uint64_t head_rows;  /* from one head to the next; 0 in PAGE_HEAD       */
} groat_kv_view;

/* Errors: INVALID (a field of the cache, plane, layer, view->size). */
GROAT_API groat_status groat_kv_view_get(const groat_kv_cache *cache,
                                         unsigned plane, unsigned layer,
                                         groat_kv_view *view,
                                         groat_error *error);

/* Which elements a box takes together.  A chunk is the elements of one span (16
 * bytes where nothing is swizzled), g of them; a tile is tile_rows keys of
 * tile_cols elements, its slot the shared memory that it lands in, r the rows
 * of a page that belong to one tile.
 *
 *   form, order         dimensions                  box            coordinates
 *   BASE                dim, heads, rows            g, 1, r        col, head,
 *                                                                  row
 *   BASE, INNER         the same                    g, 1, 8        the same
 *   FOLDED, OUTER       g, rows, dim/g, heads       g, r, F, 1     0, row,
 *                                                                  col/g, head
 *   FOLDED, INNER       g, 8, dim/g, rows/8, heads  g, 8, F, r/8,  0, 0, col/g,
 *                                                   1              row/8, head
 *   FLAT                heads*dim, rows             g, r           head*dim +
 *                                                                  col, row
 *   FLAT, INNER         the same                    g, 8           the same
 *
 * with F chunks to a tile's row.  In HEAD_PAGE a map has one head, 0: the head
 * is part of the row. */
typedef enum groat_kv_form {
    GROAT_KV_BASE = 0,
    GROAT_KV_FOLDED = 1, /* one box brings all chunks                       */
    GROAT_KV_FLAT = 2    /* heads side by side in one dimension             */
} groat_kv_form;

/* How a slot holds the chunks of its rows. */
typedef enum groat_kv_order {
    GROAT_KV_CHUNK_OUTER = 0, /* all rows of a chunk, then the next chunk     */
    GROAT_KV_CHUNK_INNER = 1  /* all chunks of 8 rows, then the next 8 rows   */
} groat_kv_order;

typedef struct groat_kv_box {
    size_t size;
    groat_kv_form form;
    groat_kv_order order;
    groat_swizzle swizzle; /* of FLAT, INNER: none or 128                    */
    unsigned page;         /* the cache's; 0: rows follow each other and a   *
                            * tile may start anywhere (not FOLDED, INNER)    */
    unsigned tile_rows; /* a multiple of 8; divides page or is divided by it; *
                         * of FLAT no more than page                         */
    unsigned tile_cols; /* whole chunks; 0: dim, rounded up to chunks        */
    unsigned slot_rows; /* OUTER: rows from chunk to chunk of the slot, a     *
                         * multiple of 8; 0: tile_rows                       */
    unsigned rows;      /* of a box: r (page, where that is less than        *
                         * tile_rows, else tile_rows), of INNER unfolded 8;  *
                         * 0: just that                                      */
} groat_kv_box;

#define GROAT_KV_BOX_INIT                                                      \
    {                                                                          \
        sizeof(groat_kv_box), GROAT_KV_BASE, GROAT_KV_CHUNK_OUTER,             \
            GROAT_SWIZZLE_NONE, 0, 0, 0, 0, 0                                  \
    }

/* F, the chunks that one folded box may take: those of a tile's row where tile,
 * page and dim let it, else 1.  Nothing else is checked, form does not count.
 */
GROAT_API unsigned groat_kv_fold(const groat_kv_cache *cache,
                                 const groat_kv_box *box);

/* Describes one plane of one layer, and the box, as a tensor.  out->size must
 * be set.  Errors: INVALID, naming a field of cache or box, also where the form
 * is FOLDED and groat_kv_fold() is 1, where pages of a tile would land at what
 * is no multiple of 128 bytes of shared memory (few rows of a short span: no
 * copy by tensor map can), and where a tile has 2^20 bytes or more. */
GROAT_API groat_status groat_kv_tensor(const groat_kv_cache *cache,
                                       unsigned plane, unsigned layer,
                                       const groat_kv_box *box,
                                       groat_tensor *out, groat_error *error);

/* The map of one plane of one layer for the kernel of a spec, on its target.
 * box NULL: it follows from these constants of the spec, parameters or derived:
 *
 *     BN          tile_rows
 *     page_size   page
 *     head_dim    the cache's dim
 *     elem_bytes  the cache's
 *     swizzle     bytes of the span: 16 or 0 (none), 32, 64, 128
 *
 * and, where it has them, from these, the first of a pair for keys and the
 * second for values:
 *
 *     k_tile_rows v_tile_rows  tile_rows, else BN
 *     k_tile_cols v_tile_cols  tile_cols, else all of head_dim
 *     k_slot_rows v_slot_rows  slot_rows, else those of the tile
 *     k_box_rows v_box_rows    rows, else box_rows, else what follows
 *     k_form v_form            0: BASE, 1: FOLDED and OUTER (rank 4), 2: FOLDED
 *                              and INNER (rank 5); else fold, the same numbers
 *     k_layout v_layout        of BASE, 1: INNER
 *
 * What was asked before is answered from a table of the context, which keeps
 * the last 256 maps; another address is another question.  Errors: as of
 * groat_kv_tensor() and groat_tensor_map_make(); INVALID where the spec lacks
 * a constant or has another value than the cache. */
GROAT_API groat_status groat_kv_tensor_map(const groat_spec *spec,
                                           const groat_kv_cache *cache,
                                           unsigned plane, unsigned layer,
                                           const groat_kv_box *box,
                                           groat_tensor_map *out,
                                           groat_error *error);

/* ---- the store ---------------------------------------------------------
 *
 * These name the store, so unlike groat_kernel_get() they fail where there is
 * none: IO with the reason.  Other errors: INVALID (a size, a key prefix that
 * is not hex), NO_MEMORY.  groat_cache_stat_get() alone also serves a context
 * that never had one: the counts of the context are then all it gives. */

typedef struct groat_cache_stat {
    size_t size;
    uint64_t entries;
    uint64_t payload_bytes; /* sum of the binaries                            */
    uint64_t file_bytes;    /* the database and its journal on disk           */
    uint64_t max_bytes;
    uint64_t hits; /* of this context, from disk                     */
    uint64_t misses;
    uint64_t memory_hits; /* groat_kernel_get answered from memory          */
    uint64_t compiles;
    uint64_t evictions; /* entries dropped by bound, damage or driver     */
    uint64_t faults;    /* store operations that failed and were skipped  */
    /* What other processes compiled, or began to. */
    uint64_t waits;     /* kernels that another was seen to compile       */
    uint64_t takeovers; /* of these, it died: compiled here               */
    uint64_t timeouts;  /* waits that were too long: compiled here, too   */
    /* What was not made. */
    uint64_t sealed;    /* misses of a sealed context                     */
    uint64_t fallbacks; /* of these, answered with a fallback             */
    uint64_t refusals;  /* failures to compile that were known            */
    /* Of the bundles together; groat_bundle_at() has each. */
    uint64_t bundle_hits;
    uint64_t bundle_misses; /* no bundle had it                            */
    uint64_t bundle_faults; /* entries that were there and not used        */
    /* Of this context's kernels. */
    uint64_t loads;            /* into the driver, again ones counted again */
    uint64_t unloads;          /* for options.loaded_max_bytes              */
    uint64_t deferred_unloads; /* put off: its launches were not done       */
    uint64_t loaded_bytes;     /* sum of the loaded binaries                */
    uint64_t loaded_max_bytes; /* 0: no bound                               */
} groat_cache_stat;

typedef struct groat_cache_entry {
    size_t size;
    char key[33];
    const char *identity; /* borrowed for the callback                        */
    const char *log;
    uint64_t bytes;
    int64_t created_s; /* seconds since 1970                               */
    int64_t used_s;    /* last use, batched                                */
    groat_facts facts;
    const char *spec; /* its canonical text; "" if this groat cannot tell  */
    const char *target;
    uint64_t uses;   /* times that a process compiled it or took it from the *
                      * store; batched, so some are missed                   */
    double first_ms; /* what the first of these had to wait for its compile; *
                      * -1: not known                                        */
    const char *differs; /* groat_bundle_diff(), BOTH: columns, with blanks  *
                          * between them; else ""                            */
} groat_cache_entry;

/* Return non-zero to stop. */
typedef int groat_cache_fn(void *user, const groat_cache_entry *entry);

/* Path of the database, or NULL when this context keeps none; borrowed. */
GROAT_API const char *groat_cache_path(const groat_context *context);
/* Why there is none, or NULL; borrowed. */
GROAT_API const char *groat_cache_problem(const groat_context *context);
GROAT_API groat_status groat_cache_stat_get(groat_context *context,
                                            groat_cache_stat *stat,
                                            groat_error *error);
/* Entries whose key starts with key_prefix (NULL: all), by last use. */
GROAT_API groat_status groat_cache_each(groat_context *context,
                                        const char *key_prefix,
                                        groat_cache_fn *fn, void *user,
                                        groat_error *error);
/* Checks database pages and every digest; drops what is damaged. */
GROAT_API groat_status groat_cache_verify(groat_context *context,
                                          uint64_t *checked, uint64_t *dropped,
                                          groat_error *error);
/* Evicts the least recently used down to max_bytes (0: the context's bound)
 * and shrinks the file. */
GROAT_API groat_status groat_cache_gc(groat_context *context,
                                      uint64_t max_bytes, uint64_t *evicted,
                                      groat_error *error);
GROAT_API groat_status groat_cache_clear(groat_context *context,
                                         uint64_t *dropped, groat_error *error);
/* Copies the store into a new file, whole, while others use it: what may be
 * opened as a store where it is called groat.sqlite.  A file that is copied
 * back over one that is in use, or a -shm that is cut, ends the programs that
 * have it mapped (SIGBUS): export, import and this are what may be done to a
 * live store. Errors: also IO where path is there already. */
GROAT_API groat_status groat_cache_backup(groat_context *context,
                                          const char *path, groat_error *error);

/* ---- bundles -----------------------------------------------------------
 *
 * A bundle is a file of kernels that is only read: made once, copied anywhere,
 * used by any number of hosts.  The same kernels and key make the same bytes.
 * Errors of all: IO with file and reason, NO_MEMORY. */

typedef struct groat_bundle_info {
    size_t size;
    const char *path;    /* borrowed: of groat_bundle_at() from the context; *
                          * of groat_bundle_verify() the caller's            */
    const char *problem; /* why it is not used, or NULL; borrowed            */
    uint64_t entries;
    uint64_t payload_bytes; /* sum of the binaries                           */
    uint64_t file_bytes;
    char signer[65]; /* public key in hex, or ""                          */
    int trusted;     /* 1: signed by a key of the trust file, or an image */
    uint64_t hits;   /* of this context                                   */
    uint64_t misses;
    uint64_t faults;
} groat_bundle_info;

/* The index-th bundle of a context.  Errors: INVALID (size, past the end). */
GROAT_API groat_status groat_bundle_at(groat_context *context, size_t index,
                                       groat_bundle_info *info,
                                       groat_error *error);

/* Checks every page, digest and mark of a file and who signed it.  trust is the
 * file of public keys, NULL: none; who is not in it has trusted 0 and is no
 * error.  info may be NULL.  Errors: INVALID (info->size, trust). */
GROAT_API groat_status groat_bundle_verify(const char *path, const char *trust,
                                           groat_bundle_info *info,
                                           groat_error *error);

/* Writes what is in the store to path: the kernels of the targets (count 0: of
 * all).  key is the file of a secret key to sign with, NULL: not signed.
 * written may be NULL.  Errors: INVALID (a target). */
GROAT_API groat_status groat_bundle_export(
    groat_context *context, const char *path, const char *const *targets,
    size_t count, const char *key, uint64_t *written, groat_error *error);

/* Puts what the store lacks into it, of a bundle that the context would use:
 * signed by a key it trusts, unless it allows others.  That is no use of it.
 * *imported, which may be NULL, is how many of them the store has in the end:
 * where its bound drops some for others, a line of the log says so. */
GROAT_API groat_status groat_bundle_import(groat_context *context,
                                           const char *path, uint64_t *imported,
                                           groat_error *error);

/* Writes what any of some bundles has to `to`, which may be one of them; their
 * order does not matter.  What they were signed with is not asked, and lost:
 * sign what you have looked at.  key and written as of groat_bundle_export().
 * With one bundle this signs it. */
GROAT_API groat_status groat_bundle_merge(const char *const *paths,
                                          size_t count, const char *to,
                                          const char *key, uint64_t *written,
                                          groat_error *error);

typedef enum groat_bundle_side {
    GROAT_BUNDLE_FIRST = 0,  /* only the first has it             */
    GROAT_BUNDLE_SECOND = 1, /* only the second                   */
    GROAT_BUNDLE_BOTH = 2    /* both, in different form: the first's */
} groat_bundle_side;

/* Return non-zero to stop.  Times of the entry are 0. */
typedef int groat_bundle_diff_fn(void *user, groat_bundle_side side,
                                 const groat_cache_entry *entry);

/* Tells what differs, by key. */
GROAT_API groat_status groat_bundle_diff(const char *first, const char *second,
                                         groat_bundle_diff_fn *fn, void *user,
                                         groat_error *error);

/* Makes a secret key in a new file that only its owner may read, and gives the
 * public key in hex. */
GROAT_API groat_status groat_bundle_keygen(const char *path,
                                           char public_key[65],
                                           groat_error *error);

#ifdef __cplusplus
}
#endif

#include <groat_serve.h>

#endif /* GROAT_H */
