/* SPDX-License-Identifier: Apache-2.0
 *
 * groat.h - GPU kernels made to measure: compiled once, cached, and launched.
 *
 * A *spec* names a kernel family and its compile-time parameters:
 *
 *     tile_loader_lds:dtype=bf16,tile_rows=64,tile_cols=128
 *
 * A *target* names a backend and an arch: "cuda:sm_90a", "hip:gfx942",
 * "cpu:gfx950".  "cpu:ARCH" executes the source that ARCH would get, one fiber
 * per thread, and reports the first asynchronous copy or barrier that is used
 * wrongly.  A NULL target is groat_default_target().
 *
 * THE MANUAL IN SHORT
 *
 *   1. groat_open() a context: one per process and device is enough.
 *   2. groat_kernel_get() a handle per spec, at start-up.  It looks in memory,
 *      then in the store on disk, then in the bundles, and compiles the kernel
 *      if none of them has it.
 *   3. groat_kernel_launch() the handle.
 *   4. groat_kernel_release() the handles and groat_close() the context.
 *
 *   when              calls
 *   start-up          groat_open, groat_kernel_get, groat_kernel_get_spec;
 *                     groat_warm_file, groat_fallback_set, groat_seal
 *   request path      groat_kernel_lookup, groat_kernel_lookup_spec,
 *                     groat_request_kernel, groat_kernel_retain,
 *                     groat_kernel_release, groat_kernel_launch
 *   beside it         groat_kernel_start (makes a kernel on another thread)
 *   tools             groat_build, groat_spec_source, groat_spec_key,
 *                     groat_explain, groat_kernel_time, groat_doctor,
 *                     groat_cache_*, groat_bundle_*
 *
 * Other headers, each with its own manual: groat_serve.h (sealed contexts,
 * requests, lists of kernels, metrics), groat_attention.h (decodes over a KV
 * cache), groat_tensor.h (tensor maps, KV caches), groat_store.h (store,
 * bundles, manifests).
 *
 * ERRORS.  A function that can fail returns a groat_status, 0 or negative, and
 * takes a groat_error, which may be NULL.  Out-parameters are written on
 * success only.  NULL for the object that a function is called with is INVALID
 * ("the spec is NULL"), or gives NULL or 0 where there is no status
 * (groat_default_target(): its last choice).  Other pointers may be NULL only
 * where that is said.
 *
 * OWNERSHIP.  What comes through `T **out` belongs to the caller and is
 * released by the one function that its comment names.  `const T *` results are
 * borrowed from the object they came from and live as long as it does.
 *
 * THREADS.  Contexts and kernels may be used from any thread at any time; a
 * groat_spec belongs to one thread at a time.  groat_close() must be the last
 * call on a context.  A thread needs 64 KiB of stack.
 *
 * DESCRIPTORS.  A loaded kernel of a cpu target has a file descriptor of its
 * own; what lacks one fails with NO_MEMORY.
 *
 * CALLBACKS run on the thread that made the call, or on the one that makes the
 * kernel of groat_kernel_start(), with no lock held and after the kernel they
 * report is there.  They may call anything but groat_close() of their own
 * context, which is refused, the first time with a line in the log.
 * groat_trace_fn and
 * groat_range_push_fn are called in the middle of work and may call nothing.
 *
 * FORK.  A child cannot use its parent's contexts: a call that would take a
 * lock, or use a store, compiler or device, returns INVALID ("opened before
 * fork(): open one in the child"), NULL or 0.  Functions that only describe an
 * object still work; groat_close() and the other functions that free return at
 * once.  A context that the child opens works on cpu targets, unless a thread
 * of the parent was loading or unloading a kernel during fork(): neither the C
 * library's loader nor a vendor's driver survives that.
 *
 * GROWTH.  Structures start with their size; set it with the matching _INIT
 * macro or to sizeof.  Fields are only ever added at the end.  A longer
 * structure is accepted, and bytes after the fields that the library knows are
 * neither read nor written.  One that is shorter than in 0.1.0 is INVALID; a
 * shorter groat_error is left alone.
 *
 * The library prints nothing, reads no environment variable after groat_open(),
 * installs no signal handler and runs no shell.  A context has 4 threads at
 * most, which serve groat_kernel_start(); with a remote one more, which writes
 * to it and finds out whether it is back, one in a call that fetches many
 * kernels, and one for each host name whose look-up takes too long, until it
 * ends.  They block all signals, and end when nothing is left to do.  A launch
 * on a cpu target has judge_jobs threads, which block no signal.  libcurl reads
 * the proxy variables.
 * The C++ compiler of cpu targets, and addr2line for a finding of the judge,
 * are child processes that end with the thread that waits for them.
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
    GROAT_JUDGED = -7,         /* the cpu judge found a broken rule          */
    GROAT_IO = -8,             /* a file, or the store, named by the caller  */
    GROAT_SEALED = -9,         /* not in memory, and the context is sealed   */
    GROAT_TIMED_OUT = -10,     /* not there yet; it may come                 */
    GROAT_CAPTURING = -11      /* not in memory, and a graph is captured     */
} groat_status;

/* A word for a status, such as "invalid"; never NULL. */
GROAT_API const char *groat_status_name(groat_status status);

#define GROAT_ERROR_TEXT 768

/* One failure.  Start from GROAT_ERROR_INIT; a call that fails replaces what an
 * earlier one wrote. */
typedef struct groat_error {
    size_t size;          /* sizeof(groat_error)                             */
    groat_status status;  /* the value that the call returned                */
    int vendor_code;      /* the vendor call's result, or 0                  */
    char vendor_call[48]; /* the vendor call's name, or ""                   */
    char text[GROAT_ERROR_TEXT]; /* one line: what failed, seen, allowed   */
    char *log;                   /* the compiler's or judge's log, or NULL   */
} groat_error;

#define GROAT_ERROR_INIT                                                       \
    {                                                                          \
        sizeof(groat_error), GROAT_OK, 0, "", "", NULL                         \
    }

/* Frees the log and empties the rest.  NULL is allowed. */
GROAT_API void groat_error_clear(groat_error *error);

/* "MAJOR.MINOR.PATCH" of the library that is running. */
GROAT_API const char *groat_version(void);

/* ---- callbacks of a context -------------------------------------------- */

/* Levels of messages to groat_log_fn. */
enum { GROAT_LOG_WARNING = 1, GROAT_LOG_INFO = 2 };

typedef void groat_log_fn(void *user, int level, const char *line);

/* cpu targets: called on the launching thread for each access to shared memory,
 * in an order that each wave could have had.  The event is declared in
 * groat_tools.h.  May not call groat. */
typedef struct groat_trace groat_trace;
typedef void groat_trace_fn(void *user, const groat_trace *event);

/* cpu targets: called on the launching thread each time it begins a cluster;
 * `done` of the launch's `total` were begun before.  May not call groat. */
typedef void groat_judge_progress_fn(void *user, uint64_t done, uint64_t total);

/* Why a kernel was compiled. */
typedef enum groat_reason {
    GROAT_REASON_ABSENT = 0,   /* neither store, bundles nor remote have it;  *
                                * see groat_explain()                         */
    GROAT_REASON_NO_STORE = 1, /* the same, and there is no store             */
    GROAT_REASON_REFUSED = 2,  /* the driver did not load their binary        */
    GROAT_REASON_ALONE = 3     /* another process took too long to compile    *
                                * it, or the store could not tell             */
} groat_reason;

/* "absent", "no store", "refused" or "alone". */
GROAT_API const char *groat_reason_name(groat_reason reason);

/* A compile that has ended; all texts are borrowed for the callback. */
typedef struct groat_compile_event {
    size_t size;
    const char *spec;
    const char *target;
    char key[33];
    groat_reason reason;
    groat_status status;
    double ms;
    const groat_error *error; /* of a failed compile, with the log; or NULL  */
} groat_compile_event;

/* Called after each compile, unless there is no memory for the event. */
typedef void groat_compile_fn(void *user, const groat_compile_event *event);

/* Begin and end a range on a profiler's timeline; ranges nest per thread.  The
 * name, valid during the call, is "groat: miss FAMILY" or a part of it: read,
 * verify, remote, compile, put, load.  May not call groat. */
typedef void groat_range_push_fn(void *user, const char *name);
typedef void groat_range_pop_fn(void *user);

/* ---- context ----------------------------------------------------------- */

typedef struct groat_context groat_context;

/* groat_options.flags */
enum {
    GROAT_OPEN_NO_DISK = 1,  /* keep kernels in memory only                 */
    GROAT_OPEN_SANITIZE = 2, /* cpu targets: compile with ASan and UBSan    */
    GROAT_OPEN_POINTERS = 8, /* cpu targets: judge what kernels access      *
                              * through pointers, too; slower               */
    GROAT_OPEN_ZERO_LOCALS = 16, /* cpu targets: a local variable that nobody *
                                  * set holds zeros, else a fixed pattern     */
    GROAT_OPEN_SHARE_GROUP = 4 /* a group shares the store, and its members   *
                                * run each other's code: cache_dir exists and *
                                * has mode 2770 (also                         *
                                * $GROAT_CACHE_SHARE=group, with              *
                                * $GROAT_CACHE_DIR)                           */
};

/* The bytes of a bundle in the program's own memory. */
typedef struct groat_bundle_image {
    const char *name; /* for messages                                      */
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
                               * NULL: $GROAT_FAMILY_PATH.  A name that      *
                               * occurs twice, in the library or in two      *
                               * folders, is an error of that family alone;  *
                               * a folder that cannot be read is logged      */
    uint64_t seed;            /* cpu targets: order of legal choices         */
    groat_log_fn *log;        /* NULL: messages are dropped                  */
    void *log_user;
    groat_trace_fn *trace; /* cpu targets: told every access, or NULL      */
    void *trace_user;
    /* Bundles are searched in this order, files first, for what the store
     * lacks.  One that cannot be used is no error: a warning and
     * groat_bundle_at() say why. */
    const char *const *bundles; /* paths; NULL: $GROAT_BUNDLES, separated by  *
                                 * colons, unless NO_DISK is set             */
    size_t bundle_count;
    const char *trust;  /* file of the public keys whose bundles are used,   *
                         * one per line; NULL: $GROAT_TRUST                  */
    int allow_unsigned; /* not 0: bundles need no trusted signature          */
    const groat_bundle_image *images; /* need no signature: they are the     *
                                       * program's own                       */
    size_t image_count;
    groat_compile_fn *compiled; /* or NULL                                   */
    void *compiled_user;
    uint64_t loaded_max_bytes; /* bound on loaded binaries, see groat_kernel; *
                                * 0: $GROAT_LOADED_MAX_BYTES, else none      */
    const char *ranges; /* receiver of ranges: "off" or "nvtx"; NULL:        *
                         * $GROAT_RANGES, else "off"                         */
    groat_range_push_fn *range_push; /* both or neither; instead of `ranges` */
    groat_range_pop_fn *range_pop;
    void *range_user;
    unsigned judge_seconds; /* cpu targets: the most that a launch may take, *
                             * then it is JUDGED; 0: no bound                */
    unsigned judge_jobs; /* cpu targets: host threads that run the blocks of *
                          * a launch; 0: the calling one alone                */
    groat_judge_progress_fn *judge_progress; /* or NULL                      */
    void *judge_progress_user;
    /* A place where the hosts of a fleet keep each other's kernels; asked for
     * what store and bundles lack.  One that fails or is slow makes no get
     * fail; groat_remote_info says how long it may delay one. */
    const char *remote; /* http[s]://HOST/PATH, s3://BUCKET/PREFIX or        *
                         * file:///FOLDER; NULL: $GROAT_REMOTE, unless       *
                         * NO_DISK is set; "": none                          */
    const char *remote_key; /* file of the secret key that signs what this   *
                             * host compiles; NULL: $GROAT_REMOTE_KEY; "":   *
                             * the remote is only read                       */
    const char *leases; /* redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE] or *
                         * unix:///SOCKET, by which one host compiles what   *
                         * others wait for; NULL: $GROAT_LEASES; "": none    */
    const char *record; /* a manifest that gets a line for each kernel that   *
                         * comes into memory; added to, by any number of     *
                         * processes; NULL: $GROAT_RECORD; "": none          */
} groat_options;

#define GROAT_OPTIONS_INIT                                                     \
    {                                                                          \
        sizeof(groat_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                        \
    }

/* Opens a context.
 *
 * options  may be NULL.
 *
 * Opens no vendor library before a target needs it.  A store that cannot be
 * opened is no error: kernels are then kept in memory, and one warning says so.
 * Errors: INVALID (options), NO_MEMORY.  Free with
 * groat_close(). */
GROAT_API groat_status groat_open(const groat_options *options,
                                  groat_context **out, groat_error *error);

/* Unloads every kernel, closes the store and frees the context.  The caller's
 * current CUDA or HIP context is left as it was.  NULL is allowed. */
GROAT_API void groat_close(groat_context *context);

/* ---- specs ------------------------------------------------------------- */

/* A parsed spec with its target: every parameter has a value and every rule
 * holds.  Belongs to one thread at a time. */
typedef struct groat_spec groat_spec;

/* Parses "family:name=value,...", in any order; a parameter that is absent
 * takes its default.  target NULL: groat_default_target().  Errors: INVALID
 * (names the parameter, the value seen and the values allowed), NO_MEMORY. Free
 * with groat_spec_free(). */
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

/* Reads a parameter or derived constant: a number, a bool's 0 or 1, or an
 * enumerator's number, which is its place in groat_param_info.allowed, from 0,
 * unless that says "name=number".  Errors: INVALID (no such name). */
GROAT_API groat_status groat_spec_get(const groat_spec *spec, const char *name,
                                      int64_t *value, groat_error *error);
/* The text of the parameter of type code: an expression, without its blanks.
 * Borrowed: valid until groat_spec_free().  Errors: INVALID (the family has
 * none). */
GROAT_API groat_status groat_spec_code(const groat_spec *spec,
                                       const char **text, groat_error *error);

/* Changes one parameter and checks every rule again; on failure the spec is
 * unchanged.  A parameter whose default follows this one keeps its value.
 * Errors: INVALID (name, value, a rule). */
GROAT_API groat_status groat_spec_set(groat_spec *spec, const char *name,
                                      int64_t value, groat_error *error);

/* Renders the text that the compiler gets.  Needs no compiler.  Free with
 * groat_free().  Errors: NO_MEMORY. */
GROAT_API groat_status groat_spec_source(groat_spec *spec, char **out,
                                         groat_error *error);

/* Computes the key: 32 hex digits and NUL, the XXH3-128 of the identity.
 * identity may be NULL; else free *identity, a text, with groat_free().
 * Errors: NO_DEVICE (no compiler: its version and build id are part of the
 * identity), NO_MEMORY. */
GROAT_API groat_status groat_spec_key(groat_spec *spec, char key[33],
                                      char **identity, groat_error *error);

/* Frees texts and binaries that a function gave to the caller. */
GROAT_API void groat_free(void *memory);

/* ---- kernels ----------------------------------------------------------- */

/* A kernel: a handle that is good until groat_close(), with a reference count.
 * Each get and retain is matched by one release.
 *
 * With groat_options.loaded_max_bytes, a load that exceeds the bound unloads
 * the least recently used kernels with no references and no pending launches;
 * it waits for nothing, so the bound may be exceeded meanwhile.  Kernels of
 * fallbacks and requests, and kernels whose launch a graph has captured, stay.
 * Nothing is unloaded while the driver says that a graph is captured, or while
 * the context is sealed.
 *
 * A launch of an unloaded kernel loads it first, as groat_kernel_get() does.
 *
 * With a bound, launches are tracked by an event on their stream: every few
 * milliseconds on cuda targets; after each launch on hip targets and on
 * per-thread default streams.  The last launches of a stream are known to be
 * done once later ones are, or after groat_synchronize().  64 streams of a
 * device are tracked; kernels launched on further ones stay loaded. */
typedef struct groat_kernel groat_kernel;

typedef enum groat_origin {
    GROAT_FROM_COMPILER = 0,
    GROAT_FROM_DISK = 1,
    GROAT_FROM_MEMORY = 2,
    GROAT_FROM_FALLBACK = 3, /* another kernel, of groat_fallback_set()    */
    GROAT_FROM_BUNDLE = 4,
    GROAT_FROM_REMOTE = 5 /* another host, through groat_options.remote      */
} groat_origin;

/* "compiled", "disk", "memory", "fallback", "bundle" or "remote". */
GROAT_API const char *groat_origin_name(groat_origin origin);

/* What the compiler reports of a binary; -1: it does not report this. */
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
    const char *log;  /* the compiler's; "" if it was silent              */
    char key[33];
    groat_origin origin; /* of the load; a later get answers FROM_MEMORY     */
    double compile_ms;   /* 0 if not compiled by this process                */
    double load_ms;      /* from binary to launchable function               */
    unsigned block[3];   /* threads per block, fixed by the spec             */
    unsigned cluster[3]; /* blocks per cluster, 1 1 1 without clusters       */
    unsigned shared_bytes; /* shared memory per block, static and dynamic    */
    unsigned args_bytes;   /* size of the launch-argument structure          */
    groat_facts facts;
    const char *maker; /* the compiler that made it: "nvrtc 13.0 build ..."  */
} groat_kernel_info;

/* Gets the kernel of a spec, loaded: from memory, else from the store, else
 * from a bundle, else from the remote, else compiled.
 *
 * target  NULL: groat_default_target().
 * origin  where it came from; may be NULL.
 *
 * A kernel is compiled once, however many threads ask, and once among all
 * processes that share the store.  A process that dies while it compiles is not
 * waited for, unless a child that it forked meanwhile lives on; one that stops
 * is waited for at most half a minute.
 *
 * A compile that failed is not repeated for a second: the same error is
 * returned.  After each further failure this time doubles, up to a minute.  The
 * last 128 kernels that failed are remembered.
 *
 * Without the target's compiler, the newest kernel that store or bundles have
 * for the same spec, source and target is used (groat_kernel_info.maker).
 *
 * Errors: INVALID, NO_DEVICE, COMPILE_FAILED, LOAD_FAILED, NO_MEMORY, SEALED.
 * Any thread.  Release with groat_kernel_release(). */
GROAT_API groat_status groat_kernel_get(groat_context *context,
                                        const char *spec, const char *target,
                                        groat_kernel **out,
                                        groat_origin *origin,
                                        groat_error *error);

/* groat_get_options.flags */
enum {
    GROAT_GET_ON_STREAM = 1 /* fail with CAPTURING rather than load a kernel *
                             * while a graph is captured from `stream`       */
};

typedef struct groat_get_options {
    size_t size;
    unsigned flags; /* GROAT_GET_*                                           */
    void *stream;   /* CUstream or hipStream_t; NULL: the default stream.    *
                     * Not looked at on cpu targets                          */
} groat_get_options;

/* groat_kernel_get() for a parsed spec, on its context and target.
 *
 * options  may be NULL.
 *
 * A driver that cannot say whether it captures (CUDA before 10.0) is taken not
 * to.  A load on one thread does not disturb what another captures, and loading
 * resolves the kernel's function.  Errors: INVALID (options), CAPTURING,
 * LAUNCH_FAILED (no such stream, or its capture has failed); as of
 * groat_kernel_get(). */
GROAT_API groat_status groat_kernel_get_spec(groat_spec *spec,
                                             const groat_get_options *options,
                                             groat_kernel **out,
                                             groat_origin *origin,
                                             groat_error *error);

/* Looks a kernel up by the texts that groat_kernel_get() was called with; NULL:
 * it is not loaded.  For the request path: takes no lock, allocates nothing,
 * never compiles.  A context keeps 65,536 names: texts that come later are not
 * found here, and groat_kernel_get() parses them.  Borrowed: valid until
 * groat_close(), though with a bound the kernel may be unloaded.  Any thread.
 */
GROAT_API groat_kernel *groat_kernel_lookup(const groat_context *context,
                                            const char *spec,
                                            const char *target);
/* The same by the values of a parsed spec. */
GROAT_API groat_kernel *groat_kernel_lookup_spec(const groat_spec *spec);

/* Add a reference and return the kernel; drop a reference.  NULL is allowed. */
GROAT_API groat_kernel *groat_kernel_retain(groat_kernel *kernel);
GROAT_API void groat_kernel_release(groat_kernel *kernel);

/* Fills *info; info->size must be set.  Texts live as long as the kernel.
 * Errors: INVALID (info). */
GROAT_API groat_status groat_kernel_info_get(const groat_kernel *kernel,
                                             groat_kernel_info *info,
                                             groat_error *error);

/* The vendor's function, CUfunction or hipFunction_t, for launches that groat
 * does not make (graph nodes, cooperative launches); NULL on cpu targets and
 * while the kernel is unloaded.  Borrowed: valid until the kernel's last
 * release, before which that work must be done. */
GROAT_API void *groat_kernel_native(const groat_kernel *kernel);

/* Compiles a kernel into the store, once, as groat_kernel_get() does, and loads
 * nothing: needs no device.
 *
 * binary, bytes  both or neither NULL; free *binary with groat_free().
 * info           may be NULL; its texts are borrowed from the spec until its
 *                next groat_build() or groat_spec_set().  Its origin is MEMORY
 *                if another thread has just made it.
 *
 * Errors: INVALID, NO_DEVICE (no compiler), COMPILE_FAILED, NO_MEMORY, SEALED
 * (not in the store). */
GROAT_API groat_status groat_build(groat_spec *spec, void **binary,
                                   size_t *bytes, groat_kernel_info *info,
                                   groat_error *error);

/* ---- launch and memory ------------------------------------------------- */

typedef struct groat_launch {
    size_t size;
    unsigned grid[3]; /* blocks; 1 or more each, at most what devices take   */
    void *stream; /* CUstream or hipStream_t; NULL: the default stream       */
} groat_launch;

#define GROAT_LAUNCH_INIT                                                      \
    {                                                                          \
        sizeof(groat_launch), {1, 1, 1}, NULL                                  \
    }

/* Enqueues one launch.
 *
 * args  the structure of the family's args.h; args_bytes is its size.
 *
 * Asynchronous on cuda and hip.  On cpu targets it returns when the grid is
 * done, or with JUDGED and the finding in error->text when the kernel breaks a
 * rule.  Errors: INVALID, LAUNCH_FAILED, JUDGED, NO_MEMORY, NO_DEVICE (the
 * device is gone); of an unloaded kernel CAPTURING, SEALED, and as of
 * groat_kernel_get(). */
GROAT_API groat_status groat_kernel_launch(groat_kernel *kernel,
                                           const groat_launch *launch,
                                           const void *args, size_t args_bytes,
                                           groat_error *error);

/* Allocates device memory of a target; 0 bytes are allowed, and their address
 * may be 0.  The address goes into launch arguments.  Free with
 * groat_memory_free().  Errors: INVALID (target), NO_DEVICE, NO_MEMORY. */
GROAT_API groat_status groat_memory_alloc(groat_context *context,
                                          const char *target, size_t bytes,
                                          uint64_t *address,
                                          groat_error *error);
/* No launch may be using it.  0 is allowed. */
GROAT_API void groat_memory_free(groat_context *context, const char *target,
                                 uint64_t address);
/* Copies to the device, or from it, and returns when the copy is done.  Writes
 * zeros if `from` is NULL; after an error some of them may be written.  Errors:
 * INVALID (target), NO_DEVICE, NO_MEMORY, LAUNCH_FAILED (the address is in no
 * buffer, or an earlier launch faulted). */
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

/* The best target of this machine: a cuda device, else a hip device, else
 * "cpu:gfx950".  Never NULL; borrowed from the context. */
GROAT_API const char *groat_default_target(groat_context *context);

#ifdef __cplusplus
}
#endif

#endif /* GROAT_H */
