/* SPDX-License-Identifier: Apache-2.0
 *
 * internal.h - what the files of the store share.
 *
 * place.c       folder and file: owners, modes, setting aside; no SQLite
 * handle.c      what every SQLite handle here needs: hardening, schema
 * connection.c  file -> checked SQLite connection; statements; faults
 * fork.c        what a child process has inherited
 * row.c         what a row is: read, checksummed, judged, bound
 * counters.c    faults and evictions
 * guard.c       how many threads are in SQLite
 * get.c         looks rows up
 * store.c       open, close, put, evict
 * claim.c       one process compiles, the others wait: claim, release
 * stamps.c      times of last use, which wait in memory
 * gc.c          byte bound, shrinking, clear
 * backup.c      a copy of a store that is in use
 * verify.c      stat, listing, checking
 *
 * "Locked" below means: between groat__store_enter and groat__store_leave.
 */
#ifndef GROAT_CACHE_INTERNAL_H
#define GROAT_CACHE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/probes.h"
#include "base/str.h"
#include "cache/cache.h"

#define GROAT__STORE_FILE  "groat.sqlite"
#define GROAT__STORE_ASIDE ".damaged-" /* follows GROAT__STORE_FILE */
#define GROAT__CLAIM_FILE  "groat.lock"
/* Of GROAT__STORE_SCHEMA, see groat__handle_same_schema(). */
#define GROAT__STORE_MARK "98da6d9102529320c39c60e8d97cd783"

enum {
    GROAT__STORE_SCHEMA = 4,
    GROAT__STORE_ID = 0x67726f74, /* application_id of schema.sql       */
    GROAT__STORE_BUSY_MS = 2000,  /* longest wait for another process   */
    GROAT__STORE_REST_MS = 60000, /* without locks, until the next try  */
    GROAT__STORE_SLOTS = 1024,    /* stamps that wait in memory         */
    GROAT__FACTS = 6,             /* numbers of groat_facts             */
    GROAT__STORE_WAYS = 8,        /* places among them for one row      */
    GROAT__CLAIM_WAIT_MS = 30000  /* longest wait for another's compile */
};

/* The statements that a connection keeps. */
typedef enum groat__sql {
    GROAT__SQL_BEGIN,
    GROAT__SQL_COMMIT,
    GROAT__SQL_GET,
    GROAT__SQL_PUT,
    GROAT__SQL_DROP,
    GROAT__SQL_EVICT,
    GROAT__SQL_STAMP,
    GROAT__SQL_SETTLE,
    GROAT__SQL_OLDEST,
    GROAT__SQL_PAGES,
    GROAT__SQL_FREE_PAGES,
    GROAT__SQL_VACUUM,
    GROAT__SQL_COUNT,
    GROAT__SQL_FORGET_USES,
    GROAT__SQL_USES,
    GROAT__SQLS
} groat__sql;

/* Columns of every statement that reads rows, in this order; ", binary" may
 * follow. */
#define GROAT__ROW_COLUMNS                                                     \
    "id, key, used, created, bytes, seal, registers, sgprs, spill_bytes, "     \
    "shared_bytes, code_bytes, max_threads, identity, log"

/* The row of an id, the first from an id on, and a new one, for
 * groat__row_insert. */
#define GROAT__ROW_GET                                                         \
    "SELECT " GROAT__ROW_COLUMNS ", binary FROM entry WHERE id = ?1"
#define GROAT__ROW_NEXT                                                        \
    "SELECT " GROAT__ROW_COLUMNS                                               \
    ", binary FROM entry WHERE id >= ?1 ORDER BY id LIMIT 1"
#define GROAT__ROW_INTO                                                        \
    "INTO entry (id, key, used, created, bytes, seal, registers, sgprs, "      \
    "spill_bytes, shared_bytes, code_bytes, max_threads, identity, log, "      \
    "binary) VALUES "                                                          \
    "(?14, ?1, ?2, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"

/* What is said once per store. */
typedef enum groat__note {
    GROAT__NOTE_ALWAYS, /* every time */
    GROAT__NOTE_BUSY,
    GROAT__NOTE_FULL,
    GROAT__NOTE_IO,
    GROAT__NOTE_DAMAGE,
    GROAT__NOTE_MEMORY,
    GROAT__NOTE_OTHER,
    GROAT__NOTE_READ_ONLY,
    GROAT__NOTE_ENTRY,
    GROAT__NOTE_IDENTITY,
    GROAT__NOTE_OVERSIZE,
    GROAT__NOTE_LOST,
    GROAT__NOTE_LATE,
    GROAT__NOTE_CLAIM
} groat__note;

typedef struct groat__stamp {
    int64_t id;
    int64_t used;     /* 0: the slot is free */
    int64_t uses;     /* that were not yet written */
    int64_t first_us; /* what the first took; -1: unknown */
} groat__stamp;

/* What a store needs for its claims; see claim.c. */
typedef struct groat__claims {
    int wait_ms;  /* GROAT__CLAIM_WAIT_MS, but for tests */
    char *path;   /* dir/groat.lock                      */
    int fd;       /* -1: not open                        */
    dev_t device; /* the file that fd is                 */
    ino_t inode;
    uint64_t waits, takeovers, timeouts;
} groat__claims;

/* Whether the members of a group share a store, and of which. */
typedef struct groat__place_share {
    bool on;
    gid_t group;
} groat__place_share;

struct groat__store {
    pthread_mutex_t mutex; /* guards all that follows the blank line */
    groat__log log;
    char *dir;  /* resolved: no symbolic link in it */
    char *path; /* dir/groat.sqlite                 */
    groat__place_share share;
    uint64_t max_bytes;
    int busy_ms;
    struct groat__store *next; /* in the list of fork.c, */
    bool inherited;            /* which could not close it */

    sqlite3 *db; /* NULL while the file cannot be used */
    sqlite3_stmt *statements[GROAT__SQLS]; /* NULL: not used so far */
    dev_t device;                          /* the file that db is, */
    ino_t inode;                           /* to notice another in its place */
    ino_t wal; /* its companions, likewise; 0: it had none */
    ino_t shm;
    int64_t page_bytes;
    bool read_only;
    bool suspected; /* a FULL has made us check the pages already */
    bool doubted;   /* a call has found damage, and none done well since */
    bool impatient; /* busy timeout cut down since another kept us waiting */
    int busy_puts;  /* in a row that another kept from their work */
    int64_t puts_after; /* groat__store_now() before which none is tried */
    int64_t rest_until; /* groat__store_now() before which no file is opened */
    groat__fs_limit limit; /* while it is locked */
    unsigned said;         /* bits of groat__note */
    groat__str pending;    /* lines to log once unlocked */
    int64_t last_us;       /* newest stamp given: stamps of a store ascend */
    bool stamped;          /* some stamp waits */
    groat__stamp stamps[GROAT__STORE_SLOTS];
    uint64_t hits, misses, evictions, faults;
    const groat__ranges *ranges; /* NULL: none */
    groat__claims claims;
};

/* One row; pointers are borrowed. */
typedef struct groat__row {
    int64_t id;
    groat__digest key;
    int64_t used, created;
    groat__digest checksum;
    groat_facts facts;
    const char *identity;
    size_t identity_len;
    const char *log;
    size_t log_len;
    const void *data; /* NULL when the statement does not read it */
    size_t bytes;
    uint64_t judged_ns; /* spent on judging it */
} groat__row;

/* ---- place.c ----------------------------------------------------------- */

/* Makes dir if absent, resolves it, refuses one that others own or may write,
 * or may replace.  *network names the file system if it is one of several
 * hosts, else NULL.  Free *resolved.  share->on: the folder has to be there,
 * 2770 and of a group of ours, which is given in share->group. */
groat_status groat__place_prepare(const char *dir, groat__place_share *share,
                                  char **resolved, const char **network,
                                  groat_error *error);

/* Keeps other groat processes from making or setting aside the file; waits at
 * most wait_ms and then goes on all the same.  Close the descriptor (-1: none)
 * with groat__place_unlock. */
int groat__place_lock(const char *dir, int wait_ms);
void groat__place_unlock(int fd);

/* Makes an empty 0600 file where there is none; else checks that it is a
 * regular file of ours that only we may write.  share->on: 0660, of the group,
 * which alone may write it.  What lies beside one that we may write is made so,
 * too. */
groat_status groat__place_file(const char *path,
                               const groat__place_share *share, dev_t *device,
                               ino_t *inode, groat_error *error);

/* place_path.c: refuses a resolved folder where one on the way to it belongs to
 * another than root and us, or may be written by others and has no sticky bit.
 * beyond not NULL: what is to be made in it, so that it is on the way, too. */
groat_status groat__place_path(const char *real, const char *beyond,
                               const groat__place_share *share,
                               groat_error *error);
/* The same for as much of dir as there is, before the rest is made. */
groat_status groat__place_path_ahead(const char *dir,
                                     const groat__place_share *share,
                                     groat_error *error);

/* The inode of the -wal or -shm beside a file; 0: there is none.  False where
 * that cannot be told. */
bool groat__place_companion(const char *path, const char *suffix, ino_t *inode);

/* True when path is no longer this file. */
bool groat__place_moved(const char *path, dev_t device, ino_t inode);
/* Whether this process has a file open, or cannot tell.  It opens nothing of
 * it, whose close would end locks. */
bool groat__place_is_open(dev_t device, ino_t inode);

/* Renames the file with its -wal and -shm to a fresh name, given in *aside
 * (malloc'd).  Files set aside earlier are removed: a failing disk must not
 * fill itself with copies. */
groat_status groat__place_set_aside(const char *dir, const char *path,
                                    char **aside, groat_error *error);

/* Removes every file set aside. */
void groat__place_sweep(const char *dir);

/* True when modes and mount let us write the file. */
bool groat__place_writable(const char *path);

/* True when the file system has room for 16 MiB more. */
bool groat__place_has_room(const char *dir);

/* Bytes on disk of the file with its -wal and -shm. */
uint64_t groat__place_bytes(const char *path);

/* ---- connection.c ------------------------------------------------------ */

/* Milliseconds of a monotonic clock. */
int64_t groat__store_now(void);

void groat__store_enter(groat__store *store);
/* Unlocks, then logs what was noted. */
void groat__store_leave(groat__store *store);

/* Locked: logs a warning after the unlock, once per kind. */
void groat__store_say(groat__store *store, groat__note note, const char *format,
                      ...) GROAT_PRINTF(3, 4);

/* Locked: from file to statements, in a folder that was looked at.  set_aside:
 * the file is known to be damaged, unless another process has replaced it
 * already.  Errors: IO. */
groat_status groat__connection_open(groat__store *store, bool set_aside,
                                    groat_error *error);
/* The same for a store that is new.  A fault that may pass (locked, a file
 * system that fails or is full) is noted, and the file tried again by calls to
 * come: OK, without a connection. */
groat_status groat__connection_first(groat__store *store, groat_error *error);
void groat__connection_close(groat__store *store);

/* Locked: OK when there is a connection to the file that is at path now; makes
 * one if need be.  Errors: IO. */
groat_status groat__connection_ready(groat__store *store, groat_error *error);

/* For the calls that name the store: locks it and makes the connection ready,
 * or fails and leaves it unlocked.  Errors: IO. */
groat_status groat__store_begin(groat__store *store, groat_error *error);
/* The same for those that change the file. */
groat_status groat__store_begin_writing(groat__store *store,
                                        groat_error *error);

/* Locked: counts a failed SQLite call, notes it, rolls back, and replaces a
 * damaged file.  True when the store is fit to try again. */
bool groat__connection_fault(groat__store *store, int rc, const char *doing);

/* The same, told to a caller: returns IO.  *again (may be NULL): whether the
 * store is fit to try again. */
groat_status groat__connection_fail(groat__store *store, int rc,
                                    const char *doing, bool *again,
                                    groat_error *error);

/* Locked: SQLite's own check of pages, indexes and free list: OK, CORRUPT or
 * what went wrong. */
int groat__connection_check(groat__store *store);

/* Locked: whether to wait for another process a sixteenth as long. */
void groat__connection_hurry(groat__store *store, bool hurry);

/* Prepares a fixed text, for rare work.  NULL is finalized silently. */
int groat__connection_prepare(groat__store *store, const char *sql,
                              sqlite3_stmt **out);

/* Locked: a statement that the connection keeps, prepared at its first use;
 * whoever steps it resets it.  NULL on failure: MISUSE without a connection, or
 * what SQLite said. */
int groat__connection_statement(groat__store *store, groat__sql which,
                                sqlite3_stmt **out);
/* The same, run to its end. */
int groat__connection_run(groat__store *store, groat__sql which);

/* ---- guard.c ----------------------------------------------------------- */

/* Around all that a thread does in SQLite; may be nested. */
void groat__sqlite_enter(void);
void groat__sqlite_leave(void);
/* Whether a thread is there. */
bool groat__sqlite_is_used(void);

/* ---- fork.c ------------------------------------------------------------ */

/* Before SQLite is used for something that is to be opened: closes what this
 * process has inherited, and enters.  Errors: IO where SQLite cannot be used in
 * this process. */
groat_status groat__sqlite_begin(groat_error *error);
/* Errors: IO where this process has inherited a connection to a file that
 * cannot be closed. */
groat_status groat__store_may_open(const char *path, groat_error *error);
/* A store is open, and is about to be freed. */
void groat__store_enlist(groat__store *store);
void groat__store_delist(groat__store *store);

/* ---- handle.c ---------------------------------------------------------- */

/* For a file that may be hostile: defensive mode, untrusted schema, no
 * triggers, no views, no further databases; extended result codes. */
void groat__handle_harden(sqlite3 *db);

/* Whether a close leaves the -wal as it is.  SQLite removes that of a file it
 * could not read, with all that is in it, and by its name: that of another
 * file that has come in its place, too. */
void groat__handle_keep_wal(sqlite3 *db, bool keep);

/* What SQLite says of a failure; db may be NULL. */
const char *groat__handle_words(sqlite3 *db, int rc);

/* Steps a statement without rows and resets it: SQLITE_DONE becomes OK. */
int groat__handle_run(sqlite3_stmt *statement);
/* The first column of a one-row statement, of a fixed text. */
int groat__handle_step_number(sqlite3_stmt *statement, int64_t *out);
int groat__handle_number(sqlite3 *db, const char *sql, int64_t *out);

/* SQLite's own check of pages, indexes and free list: OK, CORRUPT or what went
 * wrong. */
int groat__handle_check(sqlite3 *db);

/* "file:", the path with what a URI gives a meaning to in hex, "?", query. */
void groat__handle_uri(groat__str *uri, const char *path, const char *query);

/* All that SQLite keeps of a file's schema: the hex of its XXH3-128. */
int groat__handle_schema(sqlite3 *db, char mark[33]);

/* A schema may carry expressions that run when rows are read or written, so a
 * file's must be ours to the byte: as a fresh database has it after `steps`.
 * The usual mark, that of what most files have, spares making that. */
int groat__handle_same_schema(sqlite3 *db, const char *steps, const char *usual,
                              bool *same);

/* Of schema.sql: where the steps that a file of this version lacks begin;
 * appends those up to that version; appends that of table entry. */
const char *groat__schema_after(int64_t version);
void groat__schema_steps(groat__str *out, int64_t version);
void groat__schema_entry(groat__str *out);

/* ---- row.c ------------------------------------------------------------- */

/* The row of a key: its first half, so that ids are in the order of keys.  Two
 * keys that share it share the row; the later one replaces the other. */
int64_t groat__row_id(const groat__digest *key);
/* An entry as a row, without its checksum; it borrows from the entry. */
groat__row groat__row_of(const groat__entry *entry);

/* Reads a row of GROAT__ROW_COLUMNS; false when a column is not what the
 * schema says, as in a damaged file. */
bool groat__row_read(sqlite3_stmt *statement, groat__row *row);
/* The facts in the order of their columns, which is that of checksums, too. */
void groat__row_facts(const groat__row *row, int64_t out[GROAT__FACTS]);
/* XXH3-128 over key, identity, log, facts and binary. */
groat__digest groat__row_checksum(const groat__row *row);

/* Whether a row that was read has the checksum of what is in it, and the id of
 * its key. */
bool groat__row_good(const groat__row *row);

typedef enum groat__finding {
    GROAT__ROW_NONE,
    GROAT__ROW_GOOD,
    GROAT__ROW_DAMAGED,
    GROAT__ROW_MISTAKEN /* another identity than the one asked for */
} groat__finding;

/* Reads and judges the row that a GROAT__ROW_GET stands on; judged_ns is the
 * time that the second took, which is a range. */
groat__finding groat__row_judge(sqlite3_stmt *get, const groat__digest *key,
                                const char *identity,
                                const groat__ranges *ranges, groat__row *row);

/* Bytes of a row, but for its columns of fixed size. */
uint64_t groat__row_room(const groat__row *row);

/* Copies what a get gives: OK or NOMEM. */
int groat__row_copy(const groat__row *row, groat__store_blob *out);

/* Binds and runs "INSERT ... " GROAT__ROW_INTO; stamp is the time of making and
 * of last use. */
int groat__row_insert(sqlite3_stmt *put, const groat__row *row, int64_t stamp);

/* Locked: looks for the row of a key by GROAT__SQL_GET, whose statement the
 * caller resets: ROW, DONE, or what went wrong. */
int groat__row_seek(groat__store *store, const groat__digest *key,
                    sqlite3_stmt **out);

/* Locked: drops a row by id; *dropped grows by the rows that went. */
int groat__row_drop(groat__store *store, int64_t id, uint64_t *dropped);
/* What groat__store_newest() looks at, good or not, behind `skip` others: ROW,
 * DONE where there is none, or what went wrong. */
int groat__row_newest(sqlite3 *db, const char *begin, unsigned skip,
                      groat__str *out);
/* groat__store_longest_ms() on a handle, likewise; leaves *ms alone where there
 * is none. */
int groat__row_longest(sqlite3 *db, const char *text, double *ms);
/* groat__store_recent() and groat__store_has() on a handle, likewise. */
int groat__row_recent(sqlite3 *db, const char *one, const char *other,
                      groat__str *out);
int groat__row_has(sqlite3 *db, const groat__digest *key, const char *identity);

/* ---- store.c ----------------------------------------------------------- */

/* open with another busy timeout, for tests. */
groat_status groat__store_open_patient(const groat__store_options *options,
                                       int busy_ms, groat__store **out,
                                       groat_error *error);

/* ---- get.c ------------------------------------------------------------- */

/* Of a get or a put: on the file as it was opened, when it looked damaged on
 * another connection, and when it was set aside on the one in its place. */
enum { GROAT__STORE_TRIES = 3, GROAT__STORE_BUSY_PUTS = 10 };

/* Locked: groat__store_get but for the lock. */
bool groat__store_find(groat__store *store, const groat__digest *key,
                       const char *identity, groat__store_blob *out);

/* ---- counters.c -------------------------------------------------------- */

/* Locked: count, and tell who probes: entries that are gone, and why; an
 * operation that failed. */
void groat__store_evicted(groat__store *store, const char *why, uint64_t count);
void groat__store_faulted(groat__store *store, const char *what);

/* ---- claim.c ----------------------------------------------------------- */

/* Ends all claims; the next one opens the file again. */
void groat__claims_close(groat__store *store);

/* ---- stamps.c ---------------------------------------------------------- */

/* Locked: microseconds since 1970, later than any this store has given. */
int64_t groat__stamp_now(groat__store *store);

/* Locked: notes in memory that a row is used now.  Writes nothing. */
void groat__stamp_use(groat__store *store, int64_t id);

/* Locked: the use of a row that waits in memory; 0: none. */
int64_t groat__stamp_of(groat__store *store, int64_t id);

/* Locked: how often a row was used, and what the first use took (-1: unknown):
 * what is in the file and what waits. */
int groat__uses_of(groat__store *store, int64_t id, uint64_t *uses,
                   double *first_ms);

/* Locked, in a transaction: writes what waits; nothing waits afterwards. */
int groat__stamps_write(groat__store *store);

/* Locked: drops what waits. */
void groat__stamps_forget(groat__store *store);

/* ---- gc.c -------------------------------------------------------------- */

/* Locked, in a transaction: when more than `high` bytes of pages are in use,
 * drops the least recently used rows, but never `keep` (NULL: none), until
 * `low` are. SQLITE_TOOBIG: only `keep` is left and it is too much. */
int groat__gc_trim(groat__store *store, uint64_t high, uint64_t low,
                   const int64_t *keep, uint64_t *dropped);

/* Locked, outside: gives free pages back to the file system. */
int groat__gc_shrink(groat__store *store);

#endif
