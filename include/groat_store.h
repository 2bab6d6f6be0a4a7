/* SPDX-License-Identifier: Apache-2.0
 *
 * groat_store.h - the store of a context, bundles and manifests, for tools and
 * operators.  A program that gets and launches kernels needs none of it.
 *
 * The store is one SQLite file of compiled kernels that all processes of a user
 * share: $GROAT_CACHE_DIR, else $XDG_CACHE_HOME/groat, else ~/.cache/groat.
 *
 * A bundle is one file of compiled kernels that is only read: made once, copied
 * anywhere, used by any number of hosts.  The same kernels and the same signing
 * key make the same bytes.  A context reads bundles beneath its store
 * (groat_options.bundles).
 *
 * A remote is a place, such as an S3 bucket, where the hosts of a fleet keep
 * each other's kernels, signed one by one.  A context asks it for what store
 * and bundles lack (groat_options.remote).
 *
 * A manifest is a JSON Lines file of the kernels that a fleet needs.
 *
 * ERRORS.  These functions name the store or a file, so unlike
 * groat_kernel_get() they fail where it cannot be used: IO with path and
 * reason.  All may also return INVALID (a size, an argument) and NO_MEMORY.
 *
 * THREADS.  Every function may be called from any thread; a callback runs on
 * the calling thread with no lock held.
 */
#ifndef GROAT_STORE_H
#define GROAT_STORE_H

#include <groat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the store --------------------------------------------------------- */

/* Figures of the store, and counts of what this context has done. */
typedef struct groat_cache_stat {
    size_t size;
    uint64_t entries;
    uint64_t payload_bytes; /* sum of the binaries                            */
    uint64_t file_bytes;    /* the database and its journal on disk           */
    uint64_t max_bytes;     /* the bound of the store                         */
    uint64_t hits;          /* kernels taken from the store                   */
    uint64_t misses;
    uint64_t memory_hits; /* groat_kernel_get() answered from memory        */
    uint64_t compiles;
    uint64_t evictions; /* entries dropped: by the bound, as damaged, or    *
                         * since the driver refused them                    */
    uint64_t faults;    /* store operations that failed and were skipped    */
    /* Kernels that another process was compiling. */
    uint64_t waits;     /* waited for                                       */
    uint64_t takeovers; /* of these: that process died, this one compiled   */
    uint64_t timeouts;  /* of these: the wait was too long, compiled here   */
    /* Kernels that were not made. */
    uint64_t sealed;    /* misses of a sealed context                       */
    uint64_t fallbacks; /* of these: the family has a fallback              */
    uint64_t refusals;  /* known compile failures, not tried again yet      */
    /* All bundles together; groat_bundle_at() has each. */
    uint64_t bundle_hits;
    uint64_t bundle_misses; /* no bundle had the kernel                     */
    uint64_t bundle_faults; /* entries that were found damaged              */
    /* Loaded kernels. */
    uint64_t loads;            /* into the driver; a reload counts again     */
    uint64_t unloads;          /* for groat_options.loaded_max_bytes         */
    uint64_t deferred_unloads; /* put off since launches were pending        */
    uint64_t loaded_bytes;     /* sum of the loaded binaries                 */
    uint64_t loaded_max_bytes; /* 0: no bound                                */
} groat_cache_stat;

/* One entry of a store or bundle; all texts are borrowed for the callback. */
typedef struct groat_cache_entry {
    size_t size;
    char key[33];
    const char *identity;
    const char *log; /* the compiler's                                   */
    uint64_t bytes;
    int64_t created_s; /* seconds since 1970                               */
    int64_t used_s;    /* last use; written in batches                     */
    groat_facts facts;
    const char *spec;   /* its canonical text; "" of a tuned choice, and if   *
                         * this groat cannot tell                             */
    const char *target; /* "" if this groat cannot tell                     */
    uint64_t uses;   /* processes that compiled it or took it from the store; *
                      * written in batches, so some are not counted          */
    double first_ms; /* milliseconds that the first of these waited for the  *
                      * compile; -1: not known                               */
    const char *differs; /* groat_bundle_diff(), BOTH: the columns that       *
                          * differ, separated by blanks; else ""             */
} groat_cache_entry;

/* Return non-zero to stop. */
typedef int groat_cache_fn(void *user, const groat_cache_entry *entry);

/* The path of the database, or NULL if this context keeps none.  Borrowed. */
GROAT_API const char *groat_cache_path(const groat_context *context);
/* Why this context has no store, or NULL if it has one.  Borrowed. */
GROAT_API const char *groat_cache_problem(const groat_context *context);
/* Fills *stat; stat->size must be set.  Unlike the functions below it also
 * serves a context without a store: figures of the store are 0 then. */
GROAT_API groat_status groat_cache_stat_get(groat_context *context,
                                            groat_cache_stat *stat,
                                            groat_error *error);
/* Calls fn for each entry whose key starts with key_prefix (hex digits; NULL:
 * all), the least recently used first. */
GROAT_API groat_status groat_cache_each(groat_context *context,
                                        const char *key_prefix,
                                        groat_cache_fn *fn, void *user,
                                        groat_error *error);
/* Checks the pages of the database and every checksum; drops damaged entries.
 * checked and dropped may be NULL. */
GROAT_API groat_status groat_cache_verify(groat_context *context,
                                          uint64_t *checked, uint64_t *dropped,
                                          groat_error *error);
/* Evicts the least recently used entries down to max_bytes (0: the bound of the
 * store) and shrinks the file.  evicted may be NULL. */
GROAT_API groat_status groat_cache_gc(groat_context *context,
                                      uint64_t max_bytes, uint64_t *evicted,
                                      groat_error *error);
/* Drops every entry.  dropped may be NULL. */
GROAT_API groat_status groat_cache_clear(groat_context *context,
                                         uint64_t *dropped, groat_error *error);
/* Copies the store into a new file while others use it.  The copy may be opened
 * as a store under the name groat.sqlite.  Never copy a file over a store in
 * use: programs that have its -shm mapped are killed by SIGBUS.  Errors: also
 * IO if path exists. */
GROAT_API groat_status groat_cache_backup(groat_context *context,
                                          const char *path, groat_error *error);

/* ---- bundles ----------------------------------------------------------- */

typedef struct groat_bundle_info {
    size_t size;
    const char *path;    /* borrowed: from the context (groat_bundle_at()) or *
                          * the caller (groat_bundle_verify())               */
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

/* Describes the index-th bundle of a context.  info->size must be set.
 * Errors: INVALID (index). */
GROAT_API groat_status groat_bundle_at(groat_context *context, size_t index,
                                       groat_bundle_info *info,
                                       groat_error *error);

/* Checks every page and checksum of a bundle, and its signature: all bytes that
 * a get reads.  Bytes of the file that hold nothing may differ.
 *
 * trust  file of public keys; NULL: none.  A signer that is not in the file is
 *        reported as info->trusted == 0; that is no error.
 * info   may be NULL; else info->size must be set. */
GROAT_API groat_status groat_bundle_verify(const char *path, const char *trust,
                                           groat_bundle_info *info,
                                           groat_error *error);

/* Writes the entries of the store to a bundle.  Of files that exist, only an
 * empty one or another bundle is replaced, as by each call that writes one.
 *
 * targets  which to write; count 0: all.
 * key      file of the secret key to sign with; NULL: the bundle is not signed.
 * written  number of entries; may be NULL. */
GROAT_API groat_status groat_bundle_export(
    groat_context *context, const char *path, const char *const *targets,
    size_t count, const char *key, uint64_t *written, groat_error *error);

/* Puts the entries of a bundle that the store lacks into it.  The bundle must
 * be one that the context would use: signed by a key it trusts, unless
 * groat_options.allow_unsigned is set.
 *
 * imported  how many of them the store has in the end; the log says if its
 *           bound evicted some for others.  May be NULL. */
GROAT_API groat_status groat_bundle_import(groat_context *context,
                                           const char *path, uint64_t *imported,
                                           groat_error *error);

/* Writes the entries of several bundles to one, which may be one of them; their
 * order does not matter.  Signatures are neither checked nor kept: look at what
 * you sign.  With one bundle this signs it.  key and written are as in
 * groat_bundle_export(). */
GROAT_API groat_status groat_bundle_merge(const char *const *paths,
                                          size_t count, const char *to,
                                          const char *key, uint64_t *written,
                                          groat_error *error);

/* Which of two bundles has an entry. */
typedef enum groat_bundle_side {
    GROAT_BUNDLE_FIRST = 0,
    GROAT_BUNDLE_SECOND = 1,
    GROAT_BUNDLE_BOTH = 2 /* and the entries differ; fn gets the first    */
} groat_bundle_side;

/* Return non-zero to stop.  Times of the entry are 0. */
typedef int groat_bundle_diff_fn(void *user, groat_bundle_side side,
                                 const groat_cache_entry *entry);

/* Calls fn for each entry in which two bundles differ, in the order of keys. */
GROAT_API groat_status groat_bundle_diff(const char *first, const char *second,
                                         groat_bundle_diff_fn *fn, void *user,
                                         groat_error *error);

/* Makes a secret key in a new file that only its owner may read, and writes the
 * public key in hex. */
GROAT_API groat_status groat_bundle_keygen(const char *path,
                                           char public_key[65],
                                           groat_error *error);

/* Sends a bundle to a registry, as an artifact of the OCI distribution
 * specification.
 *
 * url     oci://[USER:PASSWORD@]HOST/NAME[:TAG]; oci+http:// is without TLS.
 *         %XX is a byte of the login, %2F a slash; NAME is of a-z 0-9 . _ - /.
 * digest  of the artifact: "sha256:" and 64 hex digits.
 *
 * Errors: also NO_DEVICE (no libcurl), INVALID (the URL, more than 256 MiB). */
GROAT_API groat_status groat_bundle_push(const char *path, const char *url,
                                         char digest[72], groat_error *error);
/* Fetches it back into a file, by HOST/NAME@DIGEST, or by a tag, "latest" where
 * none is given.  Every digest is checked; the signature is not. */
GROAT_API groat_status groat_bundle_pull(const char *url, const char *path,
                                         groat_error *error);

/* ---- remotes ----------------------------------------------------------- */

/* What the remote of a context has answered, groat_options.remote.
 *
 * A remote is asked after store and bundles, before a compile; on a host
 * without a compiler also to learn what a kernel's entry is called.  A context
 * that is sealed, or that has the kernel, does not ask it.  An exchange takes a
 * second at most, or what a compile takes if that is less.  A remote that has
 * cost a second without an answer is not asked again, by any context of the
 * process, until a background thread has seen it answer.  The folder of a
 * file system that hangs holds its callers up.  An object is
 * used only if a key of groat_options.trust signed it and its identity is, to
 * the byte, the one that was asked for; any other is a miss. */
typedef struct groat_remote_info {
    size_t size;
    const char *url; /* without a password; NULL: there is no remote         */
    const char *problem;   /* why there is none although one was named; NULL */
    int writes;            /* 1: what is compiled here is signed and sent    */
    uint64_t trusted_keys; /* 0: nothing of it is used                       */
    uint64_t hits;         /* entries that were taken, of lists, too         */
    uint64_t misses;       /* answers that there is no such object           */
    uint64_t known_misses; /* not asked for again within a minute            */
    uint64_t skipped;      /* not asked for: it gave no answer before        */
    uint64_t errors;       /* exchanges that failed                          */
    uint64_t timeouts;     /* exchanges that were too slow                   */
    uint64_t refused;      /* objects without a trusted signature            */
    uint64_t malformed;    /* not an object of groat, or not whole           */
    uint64_t mistaken;     /* signed objects of another kernel               */
    uint64_t puts;
    uint64_t put_failures;
    uint64_t put_drops; /* not sent: too many waited, or it gave no answer   */
    uint64_t waiting;   /* kernels that are still to be sent                 */
    uint64_t bytes_in;
    uint64_t bytes_out;
    int breaker_open; /* 1: it is not asked at present, by the whole process */
    uint64_t breaker_opens;
    /* The lease server, groat_options.leases. */
    const char *leases;      /* without a password; NULL: there is none      */
    uint64_t leases_held;    /* kernels that this context compiled with one  */
    uint64_t lease_waits;    /* kernels that another host was compiling      */
    uint64_t lease_timeouts; /* of these: it took too long, compiled here    */
    uint64_t lease_errors;   /* commands without an answer, or that waited   *
                              * too long for those of other threads          */
    int lease_breaker_open;
} groat_remote_info;

/* Fills *info; info->size must be set.  Texts are borrowed from the context. */
GROAT_API groat_status groat_remote_stat(groat_context *context,
                                         groat_remote_info *info,
                                         groat_error *error);

/* An object of a remote; all texts are borrowed for the callback. */
typedef struct groat_remote_object {
    size_t size;
    const char *name;    /* "v1/TARGET/KK/KEY", in hex                       */
    const char *problem; /* why it is not used, or was not sent; or NULL     */
    int absent;          /* 1: the problem is that it is not there           */
    int done;            /* 1: put into the store, or sent                   */
    int refused;         /* 1: it came, and no trusted key signed it, it is  *
                          * cut short, or it is the entry of another kernel  */
    uint64_t bytes;      /* 0: not told                                      */
    int64_t modified_s;  /* seconds since 1970; of a list                    */
    /* Of an object that was fetched and is good. */
    char key[33];
    char signer[65]; /* public key in hex */
    const char *spec;
    const char *target;
} groat_remote_object;

/* Return non-zero to stop. */
typedef int groat_remote_fn(void *user, const groat_remote_object *object);

/* A kernel has two objects: one under its key, and one under the key of the
 * first half of its identity, for hosts without a compiler. */
typedef struct groat_remote_names {
    size_t size;
    char name[96];
    char any[96]; /* of any compiler */
} groat_remote_names;

/* The names of a spec's objects.  May ask the remote, for a second at most,
 * what this host's compiler is called.  Errors: as of groat_spec_key(). */
GROAT_API groat_status groat_remote_names_get(groat_spec *spec,
                                              groat_remote_names *names,
                                              groat_error *error);
/* Calls fn for each object.  Files of a folder in which an object is being
 * written, or whose writer was killed, have a problem; their names are for
 * groat_remote_remove() alone.  Errors: INVALID (plain HTTP has no listing),
 * IO.
 */
GROAT_API groat_status groat_remote_list(groat_context *context,
                                         groat_remote_fn *fn, void *user,
                                         groat_error *error);

/* flags of groat_remote_fetch() */
enum {
    GROAT_REMOTE_KEEP = 1, /* put into the store what it lacks             */
    GROAT_REMOTE_BRIEF = 2 /* an exchange takes a second at most, not ten  */
};

/* Fetches objects by their names, several at a time, checks them, and calls fn,
 * which may be NULL, for each.  To keep, an object whose key's entry the store
 * has is not fetched.  An object that is not good is no error.  Errors: INVALID
 * (flags, a name), IO (no remote, or it cannot be reached), NO_MEMORY. */
GROAT_API groat_status groat_remote_fetch(groat_context *context,
                                          char *const *names, size_t count,
                                          unsigned flags, groat_remote_fn *fn,
                                          void *user, groat_error *error);
/* Which entries groat_remote_push() sends. */
typedef struct groat_remote_choice {
    size_t size;        /* sizeof(groat_remote_choice)                     */
    const char *bundle; /* path; NULL: the store.  Its signature is not    *
                         * checked: look at what you sign                  */
    const char *const *targets; /* of the store                            */
    size_t target_count;        /* 0: all                                  */
    const char *const *names;   /* groat_remote_names.name of each; one    *
                                 * that is absent is skipped; NULL: all    */
    size_t name_count;
} groat_remote_choice;

/* Signs and sends the chosen entries that the remote lacks, and calls fn for
 * each of their objects; fn cannot stop it.
 *
 * choice  NULL: all of the store.
 *
 * Errors: INVALID (size), IO (no remote, no key, no store or bundle, or the
 * remote cannot be reached), NO_MEMORY. */
GROAT_API groat_status groat_remote_push(groat_context *context,
                                         const groat_remote_choice *choice,
                                         groat_remote_fn *fn, void *user,
                                         groat_error *error);
/* Removes objects by their names, as groat_remote_list() told them.  removed
 * may be NULL.  Errors: INVALID (a name), IO, NO_MEMORY. */
GROAT_API groat_status groat_remote_remove(groat_context *context,
                                           char *const *names, size_t count,
                                           uint64_t *removed,
                                           groat_error *error);

/* ---- manifests --------------------------------------------------------- */

/* A kernel that a manifest names; all texts are borrowed for the callback. */
typedef struct groat_manifest_entry {
    size_t size;
    size_t line;        /* from 1; a line may name several targets     */
    const char *spec;   /* as it is written: not parsed yet            */
    const char *target; /* NULL: the line names none                   */
    /* The choice that was measured for the kernel, or NULLs: */
    const char *tuned_device; /* as groat_decode_put_tuned() has it    */
    const char *tuned_decode; /* shape and choice, as `groat attention` *
                               * takes them                            */
    const char *tuned_score;  /* the shape's score; NULL: none         */
} groat_manifest_entry;

/* Return non-zero to stop. */
typedef int groat_manifest_fn(void *user, const groat_manifest_entry *entry);

/* Reads a manifest ("-": stdin) and calls fn for each kernel.  Each line is an
 * object with "spec" and either "targets", "target" for one, or neither;
 * "tuned" is an object of texts, "device", "decode" and maybe "score"; "note"
 * is for readers, and no other member is allowed:
 *
 *     {"spec": "tile_loader_lds:dtype=fp8", "targets": ["cuda:sm_90a"]}
 *
 * Errors: IO (path and reason); INVALID, whose text begins with "PATH:LINE: ";
 * NO_MEMORY. */
GROAT_API groat_status groat_manifest_read(const char *path,
                                           groat_manifest_fn *fn, void *user,
                                           groat_error *error);

#ifdef __cplusplus
}
#endif

#endif /* GROAT_STORE_H */
