/* SPDX-License-Identifier: Apache-2.0
 *
 * core.h - where spec, cache and backend meet.  For src/core and src/attention.
 */
#ifndef GROAT_CORE_H
#define GROAT_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/probes.h"
#include "base/process.h"
#include "base/ranges.h"
#include "cache/cache.h"
#include "core/callbacks.h"
#include "core/failures.h"
#include "core/families.h"
#include "core/metrics.h"
#include "core/pool.h"
#include "core/resident.h"
#include "core/seal.h"
#include "core/table.h"
#include "core/tally.h"
#include "fleet/remote.h"
#include "spec/key.h"
#include "spec/param.h"
#include "spec/render.h"
#include "tensor/maps.h"

enum { GROAT__ARCHS = 32, GROAT__FOUND = 6 };

/* The compiler or the device of a backend, opened at first need. */
typedef struct groat__opened {
    void *state;         /* NULL: not opened                            */
    groat_error failure; /* NO_DEVICE: why it cannot be opened; else OK */
} groat__opened;

typedef struct groat__machine {
    pthread_mutex_t lock;
    _Atomic unsigned longest_ms; /* of this context's compiles */
    groat__opened compiler;
    groat__opened device;
    char *compiler_text[GROAT__ARCHS]; /* identity lines, by arch index */
    char *predicted[GROAT__ARCHS];     /* the same, computed from the file of *
                                        * a compiler before it is opened    */
} groat__machine;

/* A binary and how it was obtained. */
typedef struct groat__made {
    groat__binary binary;
    groat_origin origin;
    bool fresh; /* compiled by this process, maybe on another thread */
    double compile_ms;
} groat__made;

/* A build or load in progress that threads wait for. */
typedef struct groat__inflight {
    groat__digest key;
    unsigned users; /* leader and waiters */
    bool done;
    groat_status status;
    groat_error error;
    groat_kernel *kernel; /* a reference; NULL: not loaded, or failed */
    groat_kernel *again;  /* unloaded kernel of the key, to load again */
    groat__made made;     /* for the waiters; empty if there is none */
    struct groat__inflight *next;
} groat__inflight;

/* A bundle of a context. */
typedef struct groat__layer {
    groat__bundle *bundle; /* NULL: not used */
    char *path;
    char *problem; /* why it is not used, or NULL */
    bool trusted;
} groat__layer;

/* The bundles, searched after the store; fixed once the context is open. */
typedef struct groat__layers {
    groat__layer *at;
    size_t count;
    groat__trust trust;
    bool allow_unsigned;
    atomic_uint_fast64_t misses;
} groat__layers;

struct groat_context {
    groat__env env;
    char **environment;        /* copied at groat_open; env borrows from it, */
    char *found[GROAT__FOUND]; /* and these: relative paths made absolute */
    groat__families families;
    groat__store *store;
    char *store_problem;
    uint64_t store_max_bytes;
    groat__layers layers;
    groat__remote *remote; /* NULL: none */
    char *remote_problem;
    groat__machine machines[GROAT__BACKENDS];
    /* Guards in-flight builds, kernels, table writes, the default target. */
    pthread_mutex_t lock;
    pthread_cond_t landed;
    groat__process process; /* the process that opened it */
    groat__callbacks callbacks;
    int record; /* descriptor of a manifest; -1: none */
    groat__inflight *inflight;
    groat_kernel *kernels;
    groat__kernel_table table;
    groat__maps maps;
    groat__seal seal;
    groat__failures failures;
    groat__metrics metrics;
    groat__ranges ranges;
    groat__pool pool;
    groat__resident resident;
    char default_target[48];
    _Atomic(const char *) default_ready;
    groat__tally memory_hits;
    atomic_uint_fast64_t compiles;
};

struct groat_kernel {
    /* The fields that a launch reads come first. */
    const groat__device *device;
    void *device_state;
    groat__module *module; /* may be unloaded, see resident.c */
    groat__shape shape;
    atomic_bool direct; /* launches need no more than the device */
    atomic_bool launched;
    atomic_bool kept; /* never unloaded, whatever its references */
    atomic_uint refs; /* the context's and, with a bound, its users' */
    groat_context *context;
    atomic_uint_fast64_t used; /* number of loads at its last use */
    /* Guarded by the context's lock. */
    uint64_t bytes;
    uint64_t passed; /* last sweep that tried to unload it */
    bool leaving;    /* an unload is in progress, or given up */
    bool listed;
    /* Fixed once it is loaded. */
    char *spec;
    char *target;
    char *entry;
    char *log;
    char *identity;
    char *maker;
    groat__digest key;
    groat_origin origin;
    double compile_ms;
    double load_ms;
    groat_facts facts;
    groat_kernel *next;
};

struct groat_spec {
    groat_context *context;
    groat__params params;
    groat__str text; /* canonical, when text_fresh */
    bool text_fresh;
    groat__str entry; /* borrowed by groat_build's info */
    char *log;
    char *maker;
};

/* machine.c: opens the compiler or device of a backend at the first call.
 * Errors: NO_DEVICE, remembered for good; NO_MEMORY (memory or file descriptors
 * ran out): the next call tries again. */
groat_status groat__machine_compiler(groat_context *context,
                                     groat__backend_id id, void **state,
                                     groat_error *error);
groat_status groat__machine_device(groat_context *context, groat__backend_id id,
                                   void **state, groat_error *error);
/* The identity lines that a target's compiler would give, without opening it,
 * from an entry that its build has made: in the store, in a bundle, or, unless
 * wanted is NULL, at the remote, whose entry then begins with `wanted`.  NULL:
 * it is open, cannot be found, or its lines cannot be predicted.  Borrowed from
 * the context. */
const char *groat__machine_predict(groat_context *context,
                                   const groat__target *target,
                                   const char *wanted);
/* The identity lines of a target's compiler; borrowed from the context. */
groat_status groat__machine_identity(groat_context *context,
                                     const groat__target *target,
                                     const char **text, groat_error *error);
/* Notes that a compile took ms milliseconds. */
void groat__machine_compiled(groat__machine *machine, double ms);
groat_status groat__machine_init(groat__machine *machine, groat_error *error);
void groat__machine_close(groat__machine *machine, groat__backend_id id);

/* The target of the backend's device that the context was opened for; false: no
 * device is usable. */
bool groat__device_target(groat_context *context, groat__backend_id id,
                          char out[48]);

/* Parses text; NULL is the default target. */
groat_status groat__context_target(groat_context *context, const char *text,
                                   groat__target *out, groat_error *error);

/* The device that the context was opened for, of a target's backend; the cpu
 * judge is not one.  info->size must be set.  Errors: NO_DEVICE. */
groat_status groat__context_device(groat_context *context,
                                   const groat__target *target,
                                   groat_device_info *info, groat_error *error);

/* inflight.c: the kernel of a key in memory, or NULL; with the lock held. */
groat_kernel *groat__kernel_known(const groat_context *context,
                                  const groat__digest *key);
/* Joins the in-flight build of a key.
 *
 * kernel    the kernel, retained, if it is in memory or the leader made it.
 * inflight  set if the caller is the leader of a new in-flight build: it must
 *           call groat__inflight_end().
 * made      the binary that a groat_build() of the same key left, or empty.
 * sealed    whether the seal binds the caller.  A caller that it does not bind
 *           goes on by itself if the leader was refused by the seal.
 *
 * Errors: the leader's. */
groat_status groat__inflight_enter(groat_context *context,
                                   const groat__digest *key, bool sealed,
                                   groat__inflight **inflight,
                                   groat_kernel **kernel, groat__made *made,
                                   groat_error *error);
/* The same for the binary alone.  If *inflight and *made stay empty, the leader
 * could not load its binary or ran out of memory, and the caller makes its own.
 * COMPILE_FAILED goes to all waiters. */
groat_status groat__inflight_enter_build(groat_context *context,
                                         const groat__digest *key,
                                         groat__inflight **inflight,
                                         groat__made *made, groat_error *error);
/* Ends an in-flight build and wakes its waiters.
 *
 * kernel  joins the context's list, which keeps it until groat_close(); NULL
 *         for a build and on failure.
 * made    copied if a thread waits for it. */
void groat__inflight_end(groat_context *context, groat__inflight *inflight,
                         groat_status status, const groat_error *error,
                         groat_kernel *kernel, const groat__made *made);

/* spec.c: parses the text of a spec; allocates only when it fails.  Errors:
 * INVALID. */
groat_status groat__spec_params(groat_context *context, const char *text,
                                const groat__target *target, groat__params *out,
                                groat_error *error);

/* Where the second half of an identity comes from; from ABSENT on, there is no
 * compiler. */
typedef enum groat__maker {
    GROAT__MAKER_OPEN,      /* the compiler, which is open                  */
    GROAT__MAKER_PREDICTED, /* the compiler's file, by its build id         */
    GROAT__MAKER_ABSENT,    /* the newest entry of the store or the bundles */
    GROAT__MAKER_REMOTE     /* an entry that the remote had                 */
} groat__maker;

/* Writes the identity text of a spec on its target, and its key.  The first
 * half says what is wanted, the second which compiler makes it.  Without a
 * compiler the second half is that of the newest entry with the same first
 * half.  maker may be NULL: an entry of the remote is not stored then.  Errors:
 * NO_DEVICE (no compiler and no such entry),
 * NO_MEMORY. */
groat_status groat__spec_identity(groat_context *context,
                                  const groat__params *params, groat__str *text,
                                  groat__digest *key, groat__maker *maker,
                                  groat_error *error);
/* The same for the name of a remote's object: the compiler is not opened if an
 * entry of its build is known, here or at the remote. */
groat_status groat__spec_named(groat_context *context,
                               const groat__params *params, groat__str *text,
                               groat__digest *key, groat_error *error);

/* seal.c: answers and counts a miss of a sealed context: gives the family's
 * fallback (retained), else SEALED. */
groat_status groat__seal_refuse(groat_context *context, const char *spec,
                                size_t spec_len, const char *target,
                                groat_kernel **out, groat_origin *origin,
                                groat_error *error);
/* sealed_log.c: logs the first miss of a name with this hash, for a limited
 * number of names. */
void groat__sealed_log(groat_context *context, const groat__params *params,
                       uint64_t hash);

/* machine.c: the identity lines of a target's compiler if a call has read them
 * before, else NULL. */
const char *groat__machine_known(groat_context *context,
                                 const groat__target *target);
/* layers.c: opens bundles and logs those that cannot be used.  names: paths,
 * separated by colons, or NULL; bundles of options follow.  trust: file of
 * public keys, or NULL. */
void groat__layers_open(groat_context *context, const groat_options *options,
                        const char *names, const char *trust);
/* Shows verification as a range in the context's profiler. */
void groat__layers_show(groat_context *context);
void groat__layers_close(groat__layers *layers);
/* Reads an entry from the first bundle that has it; NULL: no bundle has it. */
groat__bundle *groat__layers_get(groat_context *context,
                                 const groat__digest *key, const char *identity,
                                 groat__store_blob *out);
/* Whether any bundle has the entry; counts no hit or miss. */
bool groat__layers_have(const groat_context *context, const groat__digest *key,
                        const char *identity);
/* groat__bundle_newest() of the first bundle that has a match. */
bool groat__layers_newest(const groat_context *context, const char *begin,
                          groat__str *out);
/* groat__bundle_recent() of the first bundle that has a match. */
bool groat__layers_recent(const groat_context *context, const char *one,
                          const char *other, groat__str *out);
/* Adds the counts of the bundles. */
void groat__layers_stat(groat_context *context, groat_cache_stat *stat);

/* remote.c: opens the remote that options name; logs a warning if it cannot be
 * used. */
void groat__context_open_remote(groat_context *context,
                                const groat__remote_options *options);
/* Asks the remote for an entry whose identity begins with `wanted`, and appends
 * its identity to *identity; take_made() puts it into the store, too. */
bool groat__context_made_elsewhere(groat_context *context, const char *wanted,
                                   groat__str *identity);
bool groat__context_take_made(groat_context *context, const char *wanted,
                              groat__str *identity);

/* remote_objects.c: fetches the named objects that the remote has into the
 * store, many at a time.  The context must have a store. */
void groat__objects_prefetch(groat_context *context, char *const *names,
                             size_t count);

/* bundle.c: the identity lines of targets.  Free them with
 * groat__target_lines_free(). */
groat_status groat__target_lines(groat_context *context,
                                 const char *const *targets, size_t count,
                                 char ***lines, groat_error *error);
void groat__target_lines_free(char **lines, size_t count);

/* stored.c: checks that there is a store.  Errors: IO with the reason for its
 * absence, INVALID in a forked child. */
groat_status groat__need_store(const groat_context *context,
                               groat_error *error);
/* Fails with INVALID for NULL. */
groat_status groat__need_path(const char *path, groat_error *error);

/* handle.c: fills the fields of *info that do not depend on loading.  The
 * caller has checked its size. */
void groat__info_fill(groat_kernel_info *info, const groat__shape *shape,
                      const groat__digest *key);

/* handle.c */
void groat__kernel_free(groat_kernel *kernel);

/* kernel.c: groat_kernel_get_spec() for values.  sealed: whether the seal binds
 * this call. */
groat_status groat__kernel_get(groat_context *context,
                               const groat__params *params, bool sealed,
                               groat_kernel **out, groat_origin *origin,
                               groat_error *error);

/* reload.c: adds a reference to a kernel for a launch on a stream, and loads it
 * again if it was unloaded.  Errors: CAPTURING, SEALED, as of
 * groat_kernel_get(). */
groat_status groat__reload(groat_kernel *kernel, void *stream,
                           groat_error *error);

/* Whether a call may use the context: it is not NULL, and was not opened before
 * fork().  Other calls are refused before they take a lock or use a connection
 * or a device. */
static inline bool groat__is_usable(const groat_context *context)
{
    return context != NULL && groat__process_is_mine(&context->process);
}

/* The context of an object, NULL if there is none. */
static inline const groat_context *groat__spec_context(const groat_spec *spec)
{
    return spec != NULL ? spec->context : NULL;
}

static inline const groat_context *
groat__kernel_context(const groat_kernel *kernel)
{
    return kernel != NULL ? kernel->context : NULL;
}

#endif
