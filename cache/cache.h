/* SPDX-License-Identifier: Apache-2.0
 *
 * cache.h - the store: 16-byte keys, identity texts and bytes, on disk.
 *
 * The store knows nothing of families or GPUs.  Whatever goes wrong with it,
 * a caller that asks for a kernel still gets one: every fault is counted,
 * logged once per kind, and answered as a miss.
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
    uint64_t max_bytes; /* bound of the database file                         */
    groat__log log;
    const char *local; /* NULL, or a folder of this host: taken, with a line *
                        * in the log, where dir is on a network file system   */
    bool share_group;  /* dir is a group's: 2770, its files 0660              */
} groat__store_options;

/* What a get gives: data, log are malloc'd (log "" if none). */
typedef struct groat__store_blob {
    void *data;
    size_t bytes;
    char *log;
    groat_facts facts;
    uint64_t verify_ns; /* of the get: what it took to compare the identity and
                         * to check digest and signature                     */
} groat__store_blob;

void groat__store_blob_free(groat__store_blob *blob);

/* Opens or makes dir/groat.sqlite (0600, WAL).  A corrupt file is set aside
 * under a new name (named once in the log) and replaced; one that can only be
 * read is read, and puts are dropped.  A file of a newer schema, a folder of
 * another owner, one that others may write or replace, or one that cannot be
 * made is IO with a text that names path and remedy: the caller then goes on in
 * memory.  What may pass, as a lock or a full disk, is no error: later calls
 * try again.  Free with close. */
groat_status groat__store_open(const groat__store_options *options,
                               groat__store **out, groat_error *error);
/* Writes the times of last use that wait in memory.  NULL is allowed. */
void groat__store_close(groat__store *store);
const char *groat__store_path(const groat__store *store);
/* Verifying is a range from now on; before the first get.  ranges outlive the
 * store. */
void groat__store_show(groat__store *store, const groat__ranges *ranges);

/* For a file that is to be opened by other means than SQLite's: not one that
 * this process has open as a store, since the close would end its locks.
 * Errors: IO. */
groat_status groat__store_is_not(const char *path, groat_error *error);

/* True on a hit: key found, identity equal in full, digest right.  A damaged
 * or mistaken entry is dropped, counted and answered as a miss.  A hit writes
 * nothing: its time of use waits in memory for a put, a gc or the close. */
bool groat__store_get(groat__store *store, const groat__digest *key,
                      const char *identity, groat__store_blob *out);

/* The identity of the newest entry that groat__store_get would give, not made
 * for a sanitizer, whose identity begins with a text; in *out, which is cleared
 * first.  It walks over all entries: for who has no compiler to ask for the
 * rest.  What is damaged is dropped; a fault is counted and logged. */
bool groat__store_newest(groat__store *store, const char *begin,
                         groat__str *out);

/* The identity of one of the entries used last, some of them, that has both
 * texts in it; appended to *out.  A fault is counted and logged. */
bool groat__store_recent(groat__store *store, const char *one,
                         const char *other, groat__str *out);

/* Whether groat__store_get would give it; what is damaged is dropped, nothing
 * is counted as a use. */
bool groat__store_holds(groat__store *store, const groat__digest *key,
                        const char *identity);

/* How many that are damaged a search for the newest goes past. */
enum { GROAT__NEWEST_TRIES = 64 };

/* Whether there is an entry, which may be damaged; it is no use of it.  A fault
 * is counted and logged. */
bool groat__store_has(groat__store *store, const groat__digest *key,
                      const char *identity);

/* Who compiles a key that a get has missed. */
typedef enum groat__claim {
    GROAT__CLAIM_NONE, /* the caller, unguarded: locks are not to be had, the
                        * waits were too long, or nothing came of it        */
    GROAT__CLAIM_HELD, /* the caller, until it releases the key             */
    GROAT__CLAIM_FOUND /* another has done so: *out                         */
} groat__claim;

/* Asks for the right to compile a key, and waits while another process (or
 * another store of this one) has it: until its binary is there, it gives up or
 * dies, or 30 s are over.  Of all that ask at once, one is answered HELD, and
 * one more each 30 s.  Threads of one store ask for a key one at a time.  A
 * fault is counted, logged and answered NONE. */
groat__claim groat__store_claim(groat__store *store, const groat__digest *key,
                                const char *identity, groat__store_blob *out);
/* Ends a claim that was HELD, after the put if there was one. */
void groat__store_release(groat__store *store, const groat__digest *key);

/* Keeps a binary.  Failure is counted and logged, never returned: the caller
 * has what it built.  Evicts by last use when the bound is passed. */
void groat__store_put(groat__store *store, const groat__digest *key,
                      const char *identity, const void *data, size_t bytes,
                      const char *log, const groat_facts *facts);

/* Before the put: counts a use of the entry to come, and keeps what it took to
 * make it as the latency of its first use, unless one is known. */
void groat__store_first(groat__store *store, const groat__digest *key,
                        double ms);

/* Drops the entry of a key whose binary is this one (the driver refused it);
 * another one that has come in its place stays. */
void groat__store_evict(groat__store *store, const groat__digest *key,
                        const void *data, size_t bytes);

/* The public operations of groat_cache_*; fields of stat and of entries that
 * are not the store's (spec and target: "") are left alone. */
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

/* Opens a file, which is not written and gets no companions.  Errors: IO with
 * path and reason (no bundle, of a newer groat, damaged, a signature that is
 * not of what is in it), NO_MEMORY.  Free with close. */
groat_status groat__bundle_open(const char *path, const groat__log *log,
                                groat__bundle **out, groat_error *error);
/* The same for the bytes of one, which stay where they are and as they are
 * until the close; name is what messages call it. */
groat_status groat__bundle_open_image(const void *image, size_t bytes,
                                      const char *name, const groat__log *log,
                                      groat__bundle **out, groat_error *error);
/* NULL is allowed. */
void groat__bundle_close(groat__bundle *bundle);
/* As groat__store_show.  NULL is allowed. */
void groat__bundle_show(groat__bundle *bundle, const groat__ranges *ranges);

/* As groat__store_get.  What is damaged, not signed with the rest, or mistaken
 * is counted, logged once and a miss. */
bool groat__bundle_get(groat__bundle *bundle, const groat__digest *key,
                       const char *identity, groat__store_blob *out);

/* As groat__store_newest; a bundle has no times, so it is the last in the order
 * of texts.  Nothing is dropped, counted or logged. */
bool groat__bundle_newest(groat__bundle *bundle, const char *begin,
                          groat__str *out);
/* As groat__store_recent. */
bool groat__bundle_recent(groat__bundle *bundle, const char *one,
                          const char *other, groat__str *out);

/* Whether groat__bundle_get would give it; nothing is counted or logged. */
bool groat__bundle_has(groat__bundle *bundle, const groat__digest *key,
                       const char *identity);
/* What a get gave is of no use to the driver: a fault. */
void groat__bundle_refused(groat__bundle *bundle);

/* What a bundle has answered; NULL: nothing. */
typedef struct groat__bundle_counts {
    uint64_t hits, misses, faults;
} groat__bundle_counts;

void groat__bundle_count(groat__bundle *bundle, groat__bundle_counts *out);

/* Fills all of info but its problem and trusted; texts are the bundle's. */
groat_status groat__bundle_describe(groat__bundle *bundle,
                                    groat_bundle_info *info,
                                    groat_error *error);

/* Checks every page, checksum and mark.  Errors: IO. */
groat_status groat__bundle_verify(groat__bundle *bundle, uint64_t *checked,
                                  groat_error *error);

/* An Ed25519 key to sign with; wipe it after use. */
typedef struct groat__secret {
    uint8_t seed[32];
} groat__secret;

/* The public keys that are trusted; free with groat__trust_free. */
typedef struct groat__trust {
    uint8_t (*keys)[32];
    size_t count;
} groat__trust;

/* Makes a key: 64 hex digits in a new file that only its owner may read, and
 * the public key in as many.  Errors: IO, also when the file is there. */
groat_status groat__secret_make(const char *path, char public_key[65],
                                groat_error *error);
/* Errors: IO, also when others may read it. */
groat_status groat__secret_read(const char *path, groat__secret *out,
                                groat_error *error);
void groat__secret_wipe(groat__secret *secret);

/* Reads public keys, one to a line, 64 hex digits; behind a # is comment.
 * Errors: IO, INVALID with the line, NO_MEMORY. */
groat_status groat__trust_read(const char *path, groat__trust *out,
                               groat_error *error);
void groat__trust_free(groat__trust *trust);

/* Whether one of the keys has signed.  Errors: IO, in words: not signed, or by
 * which key. */
groat_status groat__trust_check(const groat__trust *trust,
                                const groat__bundle *bundle,
                                groat_error *error);

/* Writes the entries of all bundles into one; of two with one key always the
 * same one, whatever the order.  Damaged ones are refused.  secret NULL: not
 * signed.  path may be one of theirs.  Errors: IO, NO_MEMORY. */
groat_status groat__bundle_merge(groat__bundle *const *bundles, size_t count,
                                 const groat__secret *secret, const char *path,
                                 uint64_t *written, groat_error *error);

/* Tells, by key, what only one of two bundles has, or both in different form.
 * Errors: IO, NO_MEMORY. */
groat_status groat__bundle_diff(groat__bundle *a, groat__bundle *b,
                                groat_bundle_diff_fn *fn, void *user,
                                groat_error *error);

/* Writes those entries of a store whose identity has one of the lines (count 0:
 * all).  Errors: IO, NO_MEMORY. */
groat_status groat__store_export(groat__store *store, const char *const *lines,
                                 size_t count, const groat__secret *secret,
                                 const char *path, uint64_t *written,
                                 groat_error *error);
/* Puts what the store lacks.  Errors: IO, NO_MEMORY. */
groat_status groat__store_import(groat__store *store, groat__bundle *bundle,
                                 uint64_t *imported, groat_error *error);

#endif
