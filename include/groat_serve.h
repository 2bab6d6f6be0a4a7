/* SPDX-License-Identifier: Apache-2.0
 *
 * groat_serve.h - the part of groat.h for programs that serve requests; groat.h
 * includes it, and its manual holds here.
 *
 * A server gets its kernels when it starts, seals the context, and from then on
 * nothing compiles, loads or waits on the path of a request.
 */
#ifndef GROAT_SERVE_H
#define GROAT_SERVE_H

#include <groat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Seals a context: groat_kernel_get() answers from memory alone.  What is not
 * there is SEALED, or the fallback of its family.  Such a miss takes no lock
 * and makes no system call, and once it was seen no memory either; it is
 * counted (groat_cache_stat.sealed).  The first miss of each kernel, of 32 at
 * most, writes a line to the log that names the nearest kernel, of memory and
 * of the store, and the first field of its identity that is another.  The store
 * is searched for the first such line only.  What is under way when the context
 * is sealed is finished.  groat_build() compiles nothing either.  Any thread;
 * sealing twice is no error. */
GROAT_API void groat_seal(groat_context *context);
/* Undoes groat_seal(). */
GROAT_API void groat_unseal(groat_context *context);

/* Makes a kernel the answer to gets of other kernels of its family and target
 * that are not in memory while the context is sealed; their origin is
 * FROM_FALLBACK.  One per family and target: the last one that was named.  The
 * context keeps it; the caller may release its own handle.  Any thread. Errors:
 * NO_MEMORY; of one that was unloaded as of groat_kernel_launch(). */
GROAT_API groat_status groat_fallback_set(groat_context *context,
                                          groat_kernel *kernel,
                                          groat_error *error);

typedef enum groat_metrics_format {
    GROAT_METRICS_PROMETHEUS = 0, /* text exposition format 0.0.4            */
    GROAT_METRICS_JSON = 1
} groat_metrics_format;

/* All figures of a context: what groat_cache_stat has, and histograms of the
 * time that lookups (one in 256), reads from store and bundles, verifying what
 * was read, compiles, puts, loads and first launches took.  Free *out with
 * groat_free().  Any thread; takes the store's lock for a moment.  Errors:
 * INVALID, IO (the store does not answer), NO_MEMORY. */
GROAT_API groat_status groat_metrics(groat_context *context,
                                     groat_metrics_format format, char **out,
                                     groat_error *error);

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
 * Any thread; not for the request path.  Errors: INVALID (out->size), NO_DEVICE
 * (no compiler), NO_MEMORY. */
GROAT_API groat_status groat_explain(groat_spec *spec, groat_explanation *out,
                                     groat_difference_fn *fn, void *user,
                                     groat_error *error);

/* A kernel that is being made on another thread. */
typedef struct groat_request groat_request;

/* Starts to make the kernel of a spec on another thread and returns at once.
 *
 * A kernel that is in memory is there when the call returns; any other is made
 * on a thread of the context, in the order of the calls.  The spec is copied.
 * On cuda and hip targets the kernel is loaded into the primary context of the
 * device of groat_open().
 *
 * fallback  what groat_request_kernel() gives until the kernel is there, and
 *           for good if it cannot be made; NULL: nothing.  The same launches
 *           must suit both kernels; groat does not check that.
 *
 * In a sealed context nothing is made: the request fails with SEALED, or, if it
 * has no fallback of its own, gives that of groat_fallback_set().
 *
 * Errors: NO_MEMORY (memory, or a thread), INVALID (called in a callback while
 * the context is being closed).  Whether the kernel could be made is no error
 * here: groat_request_wait() tells.  Free with groat_request_free() before
 * groat_close(). */
GROAT_API groat_status groat_kernel_start(groat_spec *spec,
                                          groat_kernel *fallback,
                                          groat_request **out,
                                          groat_error *error);
/* The kernel if it is there, else the fallback, else NULL.  One load from
 * memory: any thread, at any time.  Borrowed: valid until
 * groat_request_free(). */
GROAT_API groat_kernel *groat_request_kernel(const groat_request *request);
/* Waits until the kernel is there, timeout_ms milliseconds at most: 0 does not
 * wait, a negative number waits without limit.  out and origin may be NULL;
 * release *out with groat_kernel_release().  Any thread, any number of times.
 * In a callback it makes a kernel itself that no thread has begun, which takes
 * as long as it takes.  Errors: TIMED_OUT; INVALID (in a forked child); as of
 * groat_kernel_get(). */
GROAT_API groat_status groat_request_wait(groat_request *request,
                                          int timeout_ms, groat_kernel **out,
                                          groat_origin *origin,
                                          groat_error *error);
/* Gives the request up.  A kernel that no thread has begun is not made then;
 * one that was begun is finished and stays in memory.  No thread may be waiting
 * for the request.  NULL is allowed. */
GROAT_API void groat_request_free(groat_request *request);

/* One kernel of a list. */
typedef struct groat_warm_item {
    size_t size; /* sizeof(groat_warm_item), the same in all of a list */
    const char *spec;
    const char *target; /* NULL: the default target */
} groat_warm_item;

/* What came of it. */
typedef struct groat_warm_event {
    size_t size;
    size_t index; /* in the list, */
    size_t count; /* which has so many */
    const groat_warm_item *item;
    groat_status status;
    groat_origin origin;      /* if status is OK                            */
    double ms;                /* that it took                               */
    const groat_error *error; /* borrowed for the callback                  */
    size_t failed; /* so far, this one among them; index + 1 are done       */
    size_t line;   /* of the manifest, from 1; 0: it is a program's list    */
} groat_warm_event;

/* Return non-zero to stop. */
typedef int groat_warm_fn(void *user, const groat_warm_event *event);

typedef struct groat_warm_result {
    size_t size;
    size_t compiled;
    size_t from_disk;
    size_t from_bundle;
    size_t from_memory;
    size_t failed;
} groat_warm_result;

/* groat_warm(): flags */
enum {
    GROAT_WARM_BUILD = 1 /* into the store, loading nothing: needs no device */
};

/* Makes the kernels of a list, in its order, on the calling thread, and calls
 * fn (may be NULL) after each.  One that fails does not stop it; the first
 * such failure is what the call returns, and its error.  *result (may be NULL)
 * is written then, too.  Errors: INVALID (a size, flags); as of
 * groat_kernel_get() and groat_build(). */
GROAT_API groat_status groat_warm(groat_context *context,
                                  const groat_warm_item *items, size_t count,
                                  unsigned flags, groat_warm_fn *fn, void *user,
                                  groat_warm_result *result,
                                  groat_error *error);

/* groat_warm() of a manifest, which is read as a whole before the first kernel
 * is made.  Lines that name no target are for this one (NULL: the default).
 * What is said of a kernel that fails begins with "PATH:LINE: ".  Errors: as
 * of groat_manifest_read(); as of groat_warm(). */
GROAT_API groat_status groat_warm_file(groat_context *context, const char *path,
                                       const char *target, unsigned flags,
                                       groat_warm_fn *fn, void *user,
                                       groat_warm_result *result,
                                       groat_error *error);

/* A kernel that a manifest wants; texts are borrowed for the callback. */
typedef struct groat_manifest_entry {
    size_t size;
    size_t line;        /* from 1; a line may want several             */
    const char *spec;   /* as it stands there: not looked at yet       */
    const char *target; /* NULL: the line names none                   */
} groat_manifest_entry;

/* Return non-zero to stop. */
typedef int groat_manifest_fn(void *user, const groat_manifest_entry *entry);

/* Reads a manifest ("-": stdin) from its first line to its last, and calls fn
 * for each kernel: JSON Lines, each an object
 *
 *     {"spec": "tile_loader_lds:dtype=fp8", "targets": ["cuda:sm_90a"]}
 *
 * or with "target" for one, or with neither; "note" is for readers.  No other
 * member is allowed.  Errors: IO (path and reason); INVALID, which begins with
 * "PATH:LINE: "; NO_MEMORY. */
GROAT_API groat_status groat_manifest_read(const char *path,
                                           groat_manifest_fn *fn, void *user,
                                           groat_error *error);

#ifdef __cplusplus
}
#endif

#endif /* GROAT_SERVE_H */
