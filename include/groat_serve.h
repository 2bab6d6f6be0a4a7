/* SPDX-License-Identifier: Apache-2.0
 *
 * groat_serve.h - for servers: lists of kernels at start-up, sealed contexts,
 * kernels that are made beside the request path, and metrics.
 *
 * THE MANUAL IN SHORT
 *
 *   1. At start-up, groat_warm_file() makes every kernel of a manifest.
 *   2. groat_fallback_set() names, for a family, the kernel that answers for
 *      kernels that are missing.
 *   3. groat_seal() the context: from here on no request compiles, loads or
 *      waits.
 *   4. A server that does not seal calls groat_kernel_start() and launches
 *      groat_request_kernel(), which is the fallback until the kernel is there.
 *   5. groat_metrics() gives the figures to scrape.
 *
 * THREADS.  Every function may be called from any thread; a groat_spec belongs
 * to one thread at a time.
 */
#ifndef GROAT_SERVE_H
#define GROAT_SERVE_H

#include <groat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- lists of kernels at start-up -------------------------------------- */

typedef struct groat_warm_item {
    size_t size; /* sizeof(groat_warm_item), the same for the whole list */
    const char *spec;
    const char *target; /* NULL: groat_default_target() */
} groat_warm_item;

/* The outcome of one item; all texts are borrowed for the callback. */
typedef struct groat_warm_event {
    size_t size;
    size_t index; /* of the item in the list, from 0                        */
    size_t count; /* of the list                                            */
    const groat_warm_item *item;
    groat_status status;
    groat_origin origin; /* if status is OK                                  */
    double ms;           /* time that the item took                          */
    const groat_error *error;
    size_t failed; /* items that failed so far, this one included            */
    size_t line;   /* of the manifest, from 1; 0: a list of the program      */
} groat_warm_event;

/* Return non-zero to stop. */
typedef int groat_warm_fn(void *user, const groat_warm_event *event);

/* Items by outcome. */
typedef struct groat_warm_result {
    size_t size;
    size_t compiled;
    size_t from_disk;
    size_t from_bundle;
    size_t from_memory;
    size_t failed;
    size_t from_remote;
} groat_warm_result;

/* flags of groat_warm() and groat_warm_file() */
enum {
    GROAT_WARM_BUILD = 1 /* into the store, loading nothing: needs no device */
};

/* Makes the kernels of a list, in order, on the calling thread.  Those that the
 * remote has are put into the store first, many at a time.  With leases the
 * list begins at any item and goes around, also for fn, so that hosts that
 * start together compile different kernels.
 *
 * fn      called after each; may be NULL.
 * result  may be NULL; else result->size must be set.  Also written when an
 *         item fails.
 *
 * An item that fails does not stop the list; the call returns the first failure
 * and its error.  Errors: INVALID (a size, flags); as of groat_kernel_get() and
 * groat_build(). */
GROAT_API groat_status groat_warm(groat_context *context,
                                  const groat_warm_item *items, size_t count,
                                  unsigned flags, groat_warm_fn *fn, void *user,
                                  groat_warm_result *result,
                                  groat_error *error);

/* groat_warm() of a manifest (groat_store.h has its form), which is read to its
 * end before the first kernel is made.
 *
 * target  for lines that name none; NULL: groat_default_target().
 *
 * Gets kernels alone: the "tuned" choice of a line comes to the store by groat
 * prewarm, and without it groat_decode_open() may choose another kernel.  The
 * error of a kernel that fails begins with "PATH:LINE: ".  Errors: as of
 * groat_manifest_read() and groat_warm(). */
GROAT_API groat_status groat_warm_file(groat_context *context, const char *path,
                                       const char *target, unsigned flags,
                                       groat_warm_fn *fn, void *user,
                                       groat_warm_result *result,
                                       groat_error *error);

/* ---- sealed contexts --------------------------------------------------- */

/* Seals a context: groat_kernel_get() answers from memory alone.  A kernel that
 * is not there is SEALED, or the fallback of its family; groat_build() compiles
 * nothing either.  Builds in flight are finished, and requests that were
 * started before are still answered, by a compile if need be: wait for them
 * before this call.
 *
 * A miss takes no lock, makes no system call and, after the first of a kernel,
 * allocates nothing.  The first of each of 32 kernels does more: it takes
 * locks, looks the kernel up in the store, and writes a line to the log that
 * names the nearest kernel and the first field of its identity that differs;
 * all entries of the store are compared for the first such line only.
 * groat_cache_stat.sealed counts misses. Sealing twice is no error. */
GROAT_API void groat_seal(groat_context *context);
/* Undoes groat_seal(). */
GROAT_API void groat_unseal(groat_context *context);

/* Makes a kernel the answer to gets of missing kernels of its family and target
 * while the context is sealed; their origin is FROM_FALLBACK.  The calls of
 * groat_attention.h do not take it, as its kernels fit one shape: they return
 * SEALED.  A family and target have one fallback: the last one set.  The
 * context keeps a reference.  Errors: NO_MEMORY; of an unloaded kernel as of
 * groat_kernel_launch(). */
GROAT_API groat_status groat_fallback_set(groat_context *context,
                                          groat_kernel *kernel,
                                          groat_error *error);

/* ---- kernels made on another thread ------------------------------------ */

/* A kernel that is being made on another thread. */
typedef struct groat_request groat_request;

/* Starts to make the kernel of a spec on another thread and returns at once.
 *
 * fallback  what groat_request_kernel() gives until the kernel is there, and
 *           for good if it cannot be made; NULL: nothing.  The same launches
 *           must suit both kernels; groat does not check that.
 *
 * A kernel that is in memory is there when the call returns; others are made in
 * the order of the calls.  The spec is copied.  On cuda and hip targets the
 * kernel is loaded into the primary context of groat_options.device.
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
 * memory.  Borrowed: valid until groat_request_free(). */
GROAT_API groat_kernel *groat_request_kernel(const groat_request *request);
/* Waits until the kernel is there.
 *
 * timeout_ms   milliseconds to wait at most; 0: none; negative: no limit.
 * out, origin  may be NULL; release *out with groat_kernel_release().
 *
 * May be called any number of times.  In a callback, unless timeout_ms is
 * 0, it makes a kernel that no thread has begun itself, however long.  Errors:
 * TIMED_OUT; INVALID (in a forked child); as of groat_kernel_get(). */
GROAT_API groat_status groat_request_wait(groat_request *request,
                                          int timeout_ms, groat_kernel **out,
                                          groat_origin *origin,
                                          groat_error *error);
/* Gives the request up.  A kernel that no thread has begun is not made then;
 * one that was begun is finished and stays in memory.  No thread may be waiting
 * for the request.  NULL is allowed. */
GROAT_API void groat_request_free(groat_request *request);

/* ---- metrics ----------------------------------------------------------- */

typedef enum groat_metrics_format {
    GROAT_METRICS_PROMETHEUS = 0, /* text exposition format 0.0.4            */
    GROAT_METRICS_JSON = 1
} groat_metrics_format;

/* Writes every figure of a context as text: those of groat_cache_stat, and
 * histograms of the seconds that lookups (one in 256), reads, checks of
 * checksums, questions to a remote, leases, compiles, puts, loads and first
 * launches took.  Takes the store's lock for a moment.  Free *out with
 * groat_free().  Errors: INVALID, IO (the store does not answer), NO_MEMORY. */
GROAT_API groat_status groat_metrics(groat_context *context,
                                     groat_metrics_format format, char **out,
                                     groat_error *error);

#ifdef __cplusplus
}
#endif

#endif /* GROAT_SERVE_H */
