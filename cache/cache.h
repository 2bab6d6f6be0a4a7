/* SPDX-License-Identifier: Apache-2.0
 *
 * cache.h - the store: binaries and identity texts on disk, by 16-byte key.
 *
 * The store knows nothing of families or GPUs.  A fault never fails a look-up:
 * it is counted, logged once per kind, and answered as a miss.
 */
#ifndef GROAT_CACHE_H
#define GROAT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/ranges.h"
#include "base/str.h"
#include "groat.h"
#include "groat_store.h"

typedef struct groat__store groat__store;

typedef struct groat__store_options {
    const char *dir;    /* folder of the database; made 0700 if absent        */
    uint64_t max_bytes; /* upper bound on the database file's size            */
    groat__log log;
    const char *local; /* NULL, or a local folder to use instead if dir is on *
                        * a network file system; logged                       */
    bool share_group;  /* dir is a group's store: 2770, its files 0660        */
} groat__store_options;

/* An entry that was read: data and log are malloc'd (log "" if none). */
typedef struct groat__store_blob {
    void *data;
    size_t bytes;
    char *log;
    groat_facts facts;
    uint64_t verify_ns; /* time to compare the identity and to check checksum *
                         * and signature                                     */
} groat__store_blob;

void groat__store_blob_free(groat__store_blob *blob);

/* An entry that is passed to a function; all of it is borrowed. */
typedef struct groat__entry {
    groat__digest key;
    const char *identity;
    const char *log;
    const void *data;
    size_t bytes;
    groat_facts facts;
} groat__entry;

/* Opens or creates dir/groat.sqlite (0600, WAL).
 *
 * A damaged file is renamed (the log names it once) and replaced.  A read-only
 * file serves gets, and puts are dropped.  Temporary faults, such as a lock or
 * a full disk, are not errors: later calls try again.
 *
 * Errors: IO, with path and remedy (a newer schema; a folder that another user
 * owns, that others can write or replace, or that cannot be made), NO_MEMORY.
 * Free with groat__store_close(). */
groat_status groat__store_open(const groat__store_options *options,
                               groat__store **out, groat_error *error);
/* Writes the times of last use that are still in memory, and closes the store.
 * NULL is allowed. */
void groat__store_close(groat__store *store);
const char *groat__store_path(const groat__store *store);
/* Returns whether a folder has no store yet, so that every get will miss. */
bool groat__store_is_new(const char *dir);
/* Shows the verification of entries as profiler ranges.  Call it before the
 * first get; ranges must outlive the store. */
void groat__store_show(groat__store *store, const groat__ranges *ranges);

/* Checks that this process has not opened path as a store.  Call it before a
 * file is opened without SQLite: closing it would release the store's POSIX
 * locks.  Errors: IO. */
groat_status groat__store_is_not(const char *path, groat_error *error);

/* Reads the entry of a key.  True is a hit: the whole identity is equal and the
 * checksum matches.  An entry that fails either check is dropped, counted, and
 * a miss.  A hit writes nothing: its time of use is kept in memory until a put,
 * a gc or the close. */
bool groat__store_get(groat__store *store, const groat__digest *key,
                      const char *identity, groat__store_blob *out);

/* Finds the newest good entry whose identity begins with a text and that was
 * not built for a sanitizer; writes its identity to *out, which is cleared
 * first.  Scans all entries; meant for hosts without a compiler.  Damaged
 * entries are dropped; a fault is counted and logged. */
bool groat__store_newest(groat__store *store, const char *begin,
                         groat__str *out);

/* Searches the most recently used entries for one whose identity contains both
 * texts, and appends that identity to *out.  A fault is counted and logged. */
bool groat__store_recent(groat__store *store, const char *one,
                         const char *other, groat__str *out);

typedef struct groat__sought {
    groat__digest key;
    const char *identity; /* NULL: any */
} groat__sought;

/* Says in held[i] whether groat__store_get() of sought[i] would hit.  Damaged
 * entries are dropped; no use is counted.  Reads and checks each entry under
 * the lock: for tools. */
void groat__store_held(groat__store *store, const groat__sought *sought,
                       size_t count, bool *held);

/* The most candidates that a search for the newest entry tries. */
enum { GROAT__NEWEST_TRIES = 64 };

/* Returns whether there is an entry, which may be damaged.  No use is counted.
 * A fault is counted and logged. */
bool groat__store_has(groat__store *store, const groat__digest *key,
                      const char *identity);

/* Which process compiles a key that a get has missed. */
typedef enum groat__claim {
    GROAT__CLAIM_NONE, /* the caller, without a claim: there are no locks, the
                        * waits were too long, or the holder failed         */
    GROAT__CLAIM_HELD, /* the caller, which must release the key            */
    GROAT__CLAIM_FOUND /* another process, whose binary is in *out          */
} groat__claim;

/* Claims a key.  Waits while another process (or another store of this one)
 * holds it, until its binary is stored, it fails or exits, or 30 s pass.  One
 * caller gets HELD, and one more after every 30 s.  At most one thread of a
 * store may be in a call for one key.  A fault is counted and logged, and gives
 * NONE. */
groat__claim groat__store_claim(groat__store *store, const groat__digest *key,
                                const char *identity, groat__store_blob *out);
/* Releases a claim that was HELD; call it after the put. */
void groat__store_release(groat__store *store, const groat__digest *key);

/* Stores a binary.  A failure is counted and logged, not returned.  Evicts the
 * least recently used entries if the bound is exceeded. */
void groat__store_put(groat__store *store, const groat__digest *key,
                      const char *identity, const void *data, size_t bytes,
                      const char *log, const groat_facts *facts);

enum { GROAT__PUT_MOST = 8 };

/* What became of an entry that was to be added. */
typedef enum groat__addition {
    GROAT__ADD_FAILED, /* a fault, which is counted and logged, or it is too
                        * large for the store's bound                       */
    GROAT__ADD_HELD,   /* the store has a good one of its key and identity,
                        * or it has the key of one before it in its batch   */
    GROAT__ADDED
} groat__addition;

/* Stores the entries that the store does not have, GROAT__PUT_MOST per
 * batch and transaction, and says in out[i] what became of entries[i].  An
 * entry that was ADDED may have been evicted for a later one; if one fails, so
 * do later ones of its key in the batch.  Waits for a writer only if something
 * is lacking. */
void groat__store_add(groat__store *store, const groat__entry *entries,
                      size_t count, groat__addition *out);

/* Counts a use of an entry that will be put next, and records the milliseconds
 * that its compile took as the latency of its first use, if none is known. */
void groat__store_first(groat__store *store, const groat__digest *key,
                        double ms);

/* Returns the longest time in milliseconds that groat__store_first() recorded
 * for entries whose identity contains a text; -1: none is known. */
double groat__store_longest_ms(groat__store *store, const char *text);

/* Drops the entry of a key if it still has this binary, which the driver
 * refused to load. */
void groat__store_evict(groat__store *store, const groat__digest *key,
                        const void *data, size_t bytes);

/* Implement groat_cache_*().  Fields of stat that do not belong to the store
 * are left unchanged; spec and target of listed entries are "". */
groat_status groat__store_stat(groat__store *store, groat_cache_stat *stat,
                               groat_error *error);
groat_status groat__store_each(groat__store *store, const char *key_prefix,
                               groat_cache_fn *fn, void *user,
                               groat_error *error);
groat_status groat__store_verify(groat__store *store, uint64_t *checked,
                                 uint64_t *dropped, groat_error *error);
groat_status groat__store_gc(groat__store *store, uint64_t max_bytes,
                             uint64_t *evicted, groat_error *error);
groat_status groat__store_clear(groat__store *store, uint64_t *dropped,
                                groat_error *error);
groat_status groat__store_backup(groat__store *store, const char *path,
                                 groat_error *error);

/* ---- bundles: entries in a file, or an image of one, that is only read -- */

typedef struct groat__bundle groat__bundle;

/* Opens a bundle for reading; creates no files beside it.  Errors: IO with path
 * and reason (not a bundle, written by a newer groat, damaged, a signature that
 * does not match), NO_MEMORY.  Free with groat__bundle_close(). */
groat_status groat__bundle_open(const char *path, const groat__log *log,
                                groat__bundle **out, groat_error *error);
/* Opens a bundle in memory, whose bytes must not move or change until the
 * close; name is for messages. */
groat_status groat__bundle_open_image(const void *image, size_t bytes,
                                      const char *name, const groat__log *log,
                                      groat__bundle **out, groat_error *error);
/* NULL is allowed. */
void groat__bundle_close(groat__bundle *bundle);
/* As groat__store_show().  NULL is allowed. */
void groat__bundle_show(groat__bundle *bundle, const groat__ranges *ranges);

/* As groat__store_get().  An entry that is damaged, has another identity or
 * does not match its signed mark is a miss, counted and logged once. */
bool groat__bundle_get(groat__bundle *bundle, const groat__digest *key,
                       const char *identity, groat__store_blob *out);

/* As groat__store_newest(); a bundle has no times, so the identity that sorts
 * last is taken.  Nothing is dropped, counted or logged. */
bool groat__bundle_newest(groat__bundle *bundle, const char *begin,
                          groat__str *out);
/* As groat__store_recent(); a fault is neither counted nor logged. */
bool groat__bundle_recent(groat__bundle *bundle, const char *one,
                          const char *other, groat__str *out);

/* Whether groat__bundle_get() would hit; nothing is counted or logged. */
bool groat__bundle_has(groat__bundle *bundle, const groat__digest *key,
                       const char *identity);
/* Whether a bundle may be written there: over no file but a bundle or an empty
 * one.  Programs that have a store open would go on writing to a file that no
 * longer has a name; a secret key would be lost.  Errors: IO. */
groat_status groat__bundle_check_place(const char *path, groat_error *error);

/* Counts a fault: the driver refused to load the binary of a get. */
void groat__bundle_refused(groat__bundle *bundle);

/* Counts of a bundle's gets; all 0 of a bundle NULL. */
typedef struct groat__bundle_counts {
    uint64_t hits, misses, faults;
} groat__bundle_counts;

void groat__bundle_count(groat__bundle *bundle, groat__bundle_counts *out);

/* Fills *info except problem and trusted; texts are borrowed from the bundle.
 */
groat_status groat__bundle_describe(groat__bundle *bundle,
                                    groat_bundle_info *info,
                                    groat_error *error);

/* Checks every page, checksum and mark.  Errors: IO. */
groat_status groat__bundle_verify(groat__bundle *bundle, uint64_t *checked,
                                  groat_error *error);

/* A secret Ed25519 key; wipe it after use. */
typedef struct groat__secret {
    uint8_t seed[32];
} groat__secret;

/* Trusted public keys; free with groat__trust_free(). */
typedef struct groat__trust {
    uint8_t (*keys)[32];
    size_t count;
} groat__trust;

/* Makes a key: 64 hex digits in a new file of mode 0600, and the public key in
 * hex.  Errors: IO, also if the file exists. */
groat_status groat__secret_make(const char *path, char public_key[65],
                                groat_error *error);
/* Errors: IO, also if others may read the file. */
groat_status groat__secret_read(const char *path, groat__secret *out,
                                groat_error *error);
void groat__secret_wipe(groat__secret *secret);

/* Reads public keys, 64 hex digits per line; '#' begins a comment.  Errors: IO,
 * INVALID with the line, NO_MEMORY. */
groat_status groat__trust_read(const char *path, groat__trust *out,
                               groat_error *error);
void groat__trust_free(groat__trust *trust);

/* Returns whether a public key is trusted. */
bool groat__trust_has(const groat__trust *trust, const uint8_t signer[32]);
/* Checks that a trusted key has signed the bundle.  Errors: IO, which says that
 * it is not signed, or names the key that signed it. */
groat_status groat__trust_check(const groat__trust *trust,
                                const groat__bundle *bundle,
                                groat_error *error);

/* Writes the entries of all bundles into one; the order of the bundles does not
 * matter.  secret NULL: not signed.  path may be one of the bundles.  Errors:
 * IO (also a damaged entry), NO_MEMORY. */
groat_status groat__bundle_merge(groat__bundle *const *bundles, size_t count,
                                 const groat__secret *secret, const char *path,
                                 uint64_t *written, groat_error *error);

/* Calls fn for each entry in which two bundles differ, in the order of keys.
 * Errors: IO, NO_MEMORY. */
groat_status groat__bundle_diff(groat__bundle *a, groat__bundle *b,
                                groat_bundle_diff_fn *fn, void *user,
                                groat_error *error);

/* ---- entries sent between hosts ----------------------------------------- */

enum {
    GROAT__ENTRY_MAX = 16 << 20 /* most bytes of an entry that is sent */
};

/* A status other than OK ends the walk, which returns it. */
typedef groat_status groat__entry_fn(void *user, const groat__entry *entry,
                                     groat_error *error);

/* Calls fn for each entry of a bundle whose identity contains one of the lines
 * (count 0: each entry), in the order of keys.  Errors: those of fn, IO (a
 * damaged entry), NO_MEMORY. */
groat_status groat__bundle_walk(groat__bundle *bundle, const char *const *lines,
                                size_t count, groat__entry_fn *fn, void *user,
                                groat_error *error);
/* The same for a store; data of a damaged entry is NULL, which is no error. */
groat_status groat__store_walk(groat__store *store, const char *const *lines,
                               size_t count, groat__entry_fn *fn, void *user,
                               groat_error *error);

/* Appends an entry in serialized form to *out, with the signature of a bundle
 * that holds this one entry.  Errors: INVALID (more than GROAT__ENTRY_MAX
 * bytes), IO (libsodium), NO_MEMORY. */
groat_status groat__entry_write(const groat__entry *entry,
                                const groat__secret *secret, groat__str *out,
                                groat_error *error);

/* What groat__entry_read() finds. */
typedef enum groat__entry_verdict {
    GROAT__ENTRY_GOOD,
    GROAT__ENTRY_MALFORMED, /* not an entry, or cut short                   */
    GROAT__ENTRY_REFUSED,   /* not signed by a trusted key, or changed      */
    GROAT__ENTRY_NO_MEMORY
} groat__entry_verdict;

/* An entry received from another host; free it with groat__arrival_free(). */
typedef struct groat__arrival {
    groat__digest key; /* of the identity */
    char *identity;
    groat__store_blob blob;
    uint8_t signer[32]; /* the public key that signed it */
} groat__arrival;

/* Reads the output of groat__entry_write() if a trusted key has signed it.
 * GOOD: *out is filled and has taken over the text's memory; the text is empty.
 * Else *out is empty. */
groat__entry_verdict groat__entry_read(groat__str *text,
                                       const groat__trust *trust,
                                       groat__arrival *out);
void groat__arrival_free(groat__arrival *arrival);

/* Writes the entries of a store whose identity contains one of the lines (count
 * 0: all entries) to a bundle.  Errors: IO, NO_MEMORY. */
groat_status groat__store_export(groat__store *store, const char *const *lines,
                                 size_t count, const groat__secret *secret,
                                 const char *path, uint64_t *written,
                                 groat_error *error);
/* Puts the entries that the store lacks.  Errors: IO, NO_MEMORY. */
groat_status groat__store_import(groat__store *store, groat__bundle *bundle,
                                 uint64_t *imported, groat_error *error);

#endif
