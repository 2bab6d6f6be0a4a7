/* SPDX-License-Identifier: Apache-2.0
 *
 * bundle.h - declarations shared by the files that implement bundles.
 *
 * bundle.c        opens and checks a file or an image; get; next row
 * bundle_write.c  writes rows to a file; walks many bundles: merge, diff
 * bundle_store.c  export and import of a store; walks entries of both
 * entry.c         one row and its signature, serialized
 * sign.c          marks, signatures, keys, the list of trusted keys
 *
 * "Locked" in bundle.c means: with the bundle's mutex held.
 */
#ifndef GROAT_CACHE_BUNDLE_H
#define GROAT_CACHE_BUNDLE_H

#include "cache/internal.h"

/* Mark of GROAT__BUNDLE_FORMAT, see groat__handle_same_schema(). */
#define GROAT__BUNDLE_MARK "8f71eea6aabc94912679b63270eb28d6"

enum {
    GROAT__BUNDLE_FORMAT = 1,
    GROAT__BUNDLE_ID = 0x67726f62, /* application_id of bundle.sql */
    GROAT__SIGNER_BYTES = 32,      /* Ed25519 public key           */
    GROAT__SIGNATURE_BYTES = 64,
    GROAT__MARK_BYTES = 48 /* key and BLAKE2b-256          */
};

struct groat__bundle {
    pthread_mutex_t mutex; /* guards all that follows the blank line */
    groat__log log;
    char *path; /* resolved; the caller's name of an image */
    uint64_t file_bytes;
    bool is_signed; /* signer and marks are set and verified */
    uint8_t signer[GROAT__SIGNER_BYTES];
    uint8_t *marks; /* ascending; NULL: not signed */
    size_t mark_count;

    sqlite3 *db;
    sqlite3_stmt *get;  /* GROAT__ROW_GET  */
    sqlite3_stmt *next; /* GROAT__ROW_NEXT */
    bool said;          /* a fault was logged */
    groat__bundle_counts counts;
    const groat__ranges *ranges; /* NULL: none */
};

/* A copy of a row, independent of its statement; free it with groat__held_drop.
 * memory is NULL if there is no row. */
typedef struct groat__held {
    groat__row row;
    bool damaged; /* its checksum is not that of the row */
    char *memory;
} groat__held;

/* Copies a row.  False: no memory. */
bool groat__held_take(groat__held *held, const groat__row *row);
/* Frees the copy; *held is empty afterwards. */
void groat__held_drop(groat__held *held);
/* Sets *from to the id after a row; false: no row, or none can follow. */
bool groat__held_step(const groat__held *held, int64_t *from);

/* A source of rows: gives the first row whose id is at least `from`, checked,
 * or an empty *out.  Errors: IO, which names file and entry; NO_MEMORY. */
typedef groat_status groat__rows_fn(void *source, int64_t from,
                                    groat__held *out, groat_error *error);

typedef struct groat__rows {
    groat__rows_fn *next;
    void *source;
} groat__rows;

/* ---- bundle.c ---------------------------------------------------------- */

/* Appends the SQL that makes a bundle's schema. */
void groat__bundle_schema(groat__str *out);

/* A groat__rows_fn whose source is a groat__bundle. */
groat_status groat__bundle_next(void *source, int64_t from, groat__held *out,
                                groat_error *error);

/* ---- sign.c ------------------------------------------------------------ */

/* Computes the mark of a row.  False: libsodium cannot be used. */
bool groat__sign_mark(const groat__row *row, uint8_t mark[GROAT__MARK_BYTES]);

/* Signs marks; also gives the public key in signer.  Errors: IO, NO_MEMORY. */
groat_status groat__sign_make(const groat__secret *secret, const uint8_t *marks,
                              size_t bytes, uint8_t signer[GROAT__SIGNER_BYTES],
                              uint8_t signature[GROAT__SIGNATURE_BYTES],
                              groat_error *error);

/* Checks the signer's signature over marks: OK, IO if it does not match, or
 * NO_MEMORY. */
groat_status groat__sign_check(const uint8_t signer[GROAT__SIGNER_BYTES],
                               const uint8_t signature[GROAT__SIGNATURE_BYTES],
                               const uint8_t *marks, size_t bytes);

/* ---- bundle_write.c ---------------------------------------------------- */

/* Writes the rows of all sources in the order of ids.  Of rows with one id, the
 * one with the least key and checksum is written, so the order of the sources
 * does not matter.  secret NULL: not signed.  The file appears whole or not at
 * all.  Errors: IO, NO_MEMORY. */
groat_status groat__bundle_compose(const groat__rows *rows, size_t count,
                                   const groat__secret *secret,
                                   const char *path, uint64_t *written,
                                   groat_error *error);

#endif
