/* SPDX-License-Identifier: Apache-2.0
 *
 * internal.h - declarations shared by the files of the store.
 *
 * place.c       folder and file: owners, modes, setting aside; no SQLite
 * handle.c      hardening and schema of every SQLite handle
 * connection.c  opens and checks the connection; statements; faults
 * glance.c      first look-ups, without locks
 * fork.c        connections that a child process has inherited
 * row.c         reads, checksums, judges and binds rows
 * counters.c    faults and evictions
 * guard.c       count of the threads that are in SQLite
 * get.c         looks rows up
 * store.c       open, close, put, evict
 * claim.c       one process compiles, the others wait: claim, release
 * stamps.c      times of last use, buffered in memory
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
#include <sys/stat.h>
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
/* Mark of GROAT__STORE_SCHEMA, see groat__handle_same_schema(). */
#define GROAT__STORE_MARK "98da6d9102529320c39c60e8d97cd783"

enum {
    GROAT__STORE_SCHEMA = 4,
    GROAT__STORE_ID = 0x67726f74, /* application_id of schema.sql       */
    GROAT__STORE_BUSY_MS = 2000,  /* longest wait for another process   */
    GROAT__STORE_REST_MS = 60000, /* pause after locks have failed      */
    GROAT__STORE_SLOTS = 1024,    /* stamps buffered in memory          */
    GROAT__FACTS = 6,             /* numbers of groat_facts             */
    GROAT__STORE_WAYS = 8,        /* slots that a row's stamp can take  */
    GROAT__CLAIM_WAIT_MS = 30000  /* longest wait for another's compile */
};

/* Rows, entries and checksums have the facts in the order of their members. */
_Static_assert(sizeof(groat_facts) == GROAT__FACTS * sizeof(int64_t),
               "the facts are numbers of 64 bits without gaps");

/* The prepared statements that a connection caches. */
typedef enum groat__sql {
    GROAT__SQL_BEGIN,
    GROAT__SQL_BEGIN_READING,
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

/* Statements for the row of an id, for the first row at or after an id, and the
 * end of an INSERT for groat__row_insert. */
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

/* Kinds of warnings; each is logged once per store. */
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
    int64_t uses;     /* not yet written to the file */
    int64_t first_us; /* latency of the first use; -1: unknown */
} groat__stamp;

/* The claims of a store; see claim.c. */
typedef struct groat__claims {
    int wait_ms;  /* GROAT__CLAIM_WAIT_MS, or a test's   */
    char *path;   /* dir/groat.lock                      */
    int fd;       /* -1: not open                        */
    dev_t device; /* identity of the open file           */
    ino_t inode;
    uint64_t waits, takeovers, timeouts;
} groat__claims;

/* Whether a group shares the store, and which group. */
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
    struct groat__store *next; /* in the list of fork.c */
    bool inherited;            /* from the parent, by fork() */

    sqlite3 *db; /* NULL while the file cannot be used */
    sqlite3_stmt *statements[GROAT__SQLS]; /* NULL: not prepared yet */
    dev_t device;                          /* identity of db's file, */
    ino_t inode;                           /* to notice its replacement */
    ino_t wal; /* inodes of its -wal and -shm; 0: none */
    ino_t shm;
    int64_t page_bytes;
    int64_t synced_from; /* groat__store_now() from which writes wait for the *
                          * disk; 0: they do                                */
    bool read_only;
    bool glancing;      /* db is only a view, see glance.c */
    bool checked;       /* glancing: the view's schema is known to be ours */
    struct stat seen;   /* glancing: the file when it was opened */
    bool suspected;     /* the pages were checked after a FULL */
    bool doubted;       /* a call has found damage, and none succeeded since */
    bool impatient;     /* busy timeout is cut down after a long wait */
    int busy_puts;      /* puts in a row that failed as busy          */
    int64_t puts_after; /* groat__store_now() before which no put is tried */
    int64_t rest_until; /* groat__store_now() before which no file is opened */
    groat__fs_limit limit; /* while it is locked */
    unsigned said;         /* groat__note bits already logged */
    groat__str pending;    /* lines to log once unlocked */
    int64_t last_us;       /* newest stamp given; stamps of a store ascend */
    bool stamped;          /* some stamp is not written yet */
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

/* Makes dir if absent and resolves it.  Refuses a folder that another user
 * owns, or that others can write or replace.  *network names its file system if
 * that is a network's, else NULL.  Free *resolved.  share->on: the folder must
 * exist with mode 2770 and a group of this process, given in share->group. */
groat_status groat__place_prepare(const char *dir, groat__place_share *share,
                                  char **resolved, const char **network,
                                  groat_error *error);

/* Keeps other groat processes from making or setting aside the file; after
 * wait_ms it goes on without the lock.  Close the descriptor (-1: none) with
 * groat__place_unlock. */
int groat__place_lock(const char *dir, int wait_ms);
void groat__place_unlock(int fd);

/* Makes an empty 0600 file if there is none; else checks that it is a regular
 * file that we own and nobody else can write.  share->on: mode 0660, and only
 * the group can write it.  If we can write the file, its -wal and -shm are made
 * writable, too. */
groat_status groat__place_file(const char *path,
                               const groat__place_share *share, dev_t *device,
                               ino_t *inode, groat_error *error);

/* Returns whether groat__place_file() finds a file that it accepts, or whose
 * mode it can correct; leaves its -wal and -shm alone. */
bool groat__place_is_good(const char *path, const groat__place_share *share,
                          struct stat *st);

/* place_path.c: refuses a resolved folder if a parent of it belongs to another
 * user than root and us, or is writable by others without a sticky bit.  beyond
 * not NULL: a path to be made in real, which is then checked, too. */
groat_status groat__place_path(const char *real, const char *beyond,
                               const groat__place_share *share,
                               groat_error *error);
/* The same for the existing part of dir, before the rest is made. */
groat_status groat__place_path_ahead(const char *dir,
                                     const groat__place_share *share,
                                     groat_error *error);

/* Gives the inode of the -wal or -shm beside a file; 0: there is none.  False:
 * that is unknown. */
bool groat__place_companion(const char *path, const char *suffix, ino_t *inode);

/* Returns whether the -wal of a file may have rows that the file lacks. */
bool groat__place_has_journal(const char *path);

/* Returns whether path is no longer this file. */
bool groat__place_moved(const char *path, dev_t device, ino_t inode);
/* Returns whether this process has a file open; true if that is unknown.  Does
 * not open the file, since the close would release locks. */
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

/* Bytes on disk of the file with its -wal. */
uint64_t groat__place_bytes(const char *path);

/* ---- connection.c ------------------------------------------------------ */

/* Milliseconds of a monotonic clock. */
int64_t groat__store_now(void);

void groat__store_enter(groat__store *store);
/* Unlocks, then logs the pending lines. */
void groat__store_leave(groat__store *store);

/* Locked: logs a warning after the unlock, once per kind. */
void groat__store_say(groat__store *store, groat__note note, const char *format,
                      ...) GROAT_PRINTF(3, 4);

/* Locked: opens and checks the file, in a folder that was checked.  damaged:
 * the file is known to be damaged, unless another process has replaced it
 * already.  Errors: IO. */
groat_status groat__connection_open(groat__store *store, bool damaged,
                                    groat_error *error);
/* The same for a new store.  A temporary fault (a lock, a file system that
 * fails or is full) is noted and gives OK without a connection; later calls try
 * again. */
groat_status groat__connection_first(groat__store *store, groat_error *error);
void groat__connection_close(groat__store *store);

/* Locked: makes sure that there is a connection to the file that is at path
 * now.  Errors: IO. */
groat_status groat__connection_ready(groat__store *store, groat_error *error);

/* Fails with the reason why a store that was opened read-only cannot be
 * written, and the remedy. */
groat_status groat__connection_read_only(const groat__store *store,
                                         groat_error *error);

/* For calls that report errors: locks the store and makes the connection ready,
 * or fails and leaves it unlocked.  Errors: IO. */
groat_status groat__store_begin(groat__store *store, groat_error *error);
/* The same for calls that write; a read-only file is an error. */
groat_status groat__store_begin_writing(groat__store *store,
                                        groat_error *error);

/* Locked: counts and notes a failed SQLite call, rolls back, and reopens or
 * replaces a damaged file.  True: the caller may try again. */
bool groat__connection_fault(groat__store *store, int rc, const char *doing);

/* The same, with an error for the caller: IO, or NO_MEMORY, which is no fault
 * of the store.  *again (may be NULL): the caller may try again. */
groat_status groat__connection_fail(groat__store *store, int rc,
                                    const char *doing, bool *again,
                                    groat_error *error);

/* Locked: cuts the busy timeout to a sixteenth (hurry) or restores it. */
void groat__connection_hurry(groat__store *store, bool hurry);

/* Locked: lowers the bound of the page cache while many rows are put, which
 * drops pages that were read, or restores the bound. */
void groat__connection_keep_less(groat__store *store, bool less);

/* Prepares a statement that is not cached; *out is NULL on failure. */
int groat__connection_prepare(groat__store *store, const char *sql,
                              sqlite3_stmt **out);

/* Locked: gives a cached statement, prepared at its first use; a caller that
 * steps it resets it.  NULL on failure: MISUSE without a connection, or
 * SQLite's error. */
int groat__connection_statement(groat__store *store, groat__sql which,
                                sqlite3_stmt **out);
/* The same, and runs it to its end. */
int groat__connection_run(groat__store *store, groat__sql which);
/* Ends a transaction that has failed, if there is one. */
void groat__connection_roll_back(const groat__store *store);

/* ---- glance.c ---------------------------------------------------------- */

/* Locked: begins with a view if the file looks like a store that nobody
 * writes. */
bool groat__glance_begin(groat__store *store);
/* Locked: returns whether db is a view that can be asked; what it does not find
 * must be looked for again after groat__connection_ready(). */
bool groat__glance(groat__store *store);

/* ---- guard.c ----------------------------------------------------------- */

/* Enclose every use of SQLite by a thread; may be nested. */
void groat__sqlite_enter(void);
void groat__sqlite_leave(void);
/* Returns whether any thread is in SQLite. */
bool groat__sqlite_is_used(void);

/* ---- fork.c ------------------------------------------------------------ */

/* Call it before SQLite opens anything: closes the connections that this
 * process has inherited, and enters.  Errors: IO if SQLite cannot be used in
 * this process. */
groat_status groat__sqlite_begin(groat_error *error);
/* Checks that this process has no inherited connection to the file that could
 * not be closed.  Errors: IO. */
groat_status groat__store_may_open(const char *path, groat_error *error);
/* Add a store once it is open, and remove it before it is freed. */
void groat__store_enlist(groat__store *store);
void groat__store_delist(groat__store *store);

/* ---- handle.c ---------------------------------------------------------- */

/* Hardens a handle against a hostile file: defensive mode, untrusted schema, no
 * triggers, no views, no attached databases; extended result codes. */
void groat__handle_harden(sqlite3 *db);

/* Opens a file, by a path without links, that nobody writes or of which an
 * older or torn state does no harm: reads without a lock and without its -wal.
 */
int groat__handle_open_immutable(const char *path, sqlite3 **out);

/* Sets whether a close leaves the -wal as it is.  Otherwise SQLite deletes the
 * -wal of a file that it could not read, with its rows, and by name: even that
 * of another file that has taken its place. */
void groat__handle_keep_wal(sqlite3 *db, bool keep);

/* Returns SQLite's message for a failure; db may be NULL. */
const char *groat__handle_words(sqlite3 *db, int rc);
/* Returns what the system said when SQLite failed to open, read or write, such
 * as "Too many open files"; else "". */
const char *groat__handle_cause(sqlite3 *db, int rc);

/* Steps a statement without rows and resets it: SQLITE_DONE becomes OK. */
int groat__handle_run(sqlite3_stmt *statement);
/* Read the first column of a one-row statement, prepared or as fixed SQL. */
int groat__handle_step_number(sqlite3_stmt *statement, int64_t *out);
int groat__handle_number(sqlite3 *db, const char *sql, int64_t *out);

/* Whether a result, also an extended one, says that there was no memory. */
static inline bool groat__handle_no_memory(int rc)
{
    return (rc & 0xff) == SQLITE_NOMEM;
}

/* Whether a column's text or blob was NULL for want of memory; ask before the
 * next call of SQLite. */
bool groat__handle_starved(sqlite3_stmt *statement);

/* Runs SQLite's check of pages, indexes and free list: OK, CORRUPT or another
 * error. */
int groat__handle_check(sqlite3 *db);

/* Appends "file:", the path with URI characters escaped, "?" and query. */
void groat__handle_uri(groat__str *uri, const char *path, const char *query);

/* Gives a schema's mark: the XXH3-128, in hex, of all of sqlite_master. */
int groat__handle_schema(sqlite3 *db, char mark[33]);

/* Checks that a file's schema is to the byte that of a fresh database after
 * `steps`: a foreign one may carry expressions that run when rows are read or
 * written.  A file with the usual mark passes without making that database. */
int groat__handle_same_schema(sqlite3 *db, const char *steps, const char *usual,
                              bool *same);

/* Parts of schema.sql: return the steps that a file of this version lacks;
 * append the steps up to that version; append that of table entry. */
const char *groat__schema_after(int64_t version);
void groat__schema_steps(groat__str *out, int64_t version);
void groat__schema_entry(groat__str *out);

/* ---- row.c ------------------------------------------------------------- */

/* Returns the row id of a key: its first half, so that ids are in key order.
 * Keys with the same first half share a row; a put replaces the other's. */
int64_t groat__row_id(const groat__digest *key);
/* Makes a row of an entry, without its checksum; it borrows from the entry. */
groat__row groat__row_of(const groat__entry *entry);

/* Reads a row of GROAT__ROW_COLUMNS: OK, CORRUPT when a column is not what the
 * schema says, as in a damaged file, or NOMEM. */
int groat__row_read(sqlite3_stmt *statement, groat__row *row);
/* XXH3-128 over key, identity, log, facts and binary. */
groat__digest groat__row_checksum(const groat__row *row);

/* Reads a row and checks that it has the right checksum, and the id of its key:
 * OK, CORRUPT or NOMEM. */
int groat__row_read_good(sqlite3_stmt *statement, groat__row *row);
/* Whether a row has the checksum and the id that it was put with. */
bool groat__row_is_good(const groat__row *row);

typedef enum groat__finding {
    GROAT__ROW_NONE,
    GROAT__ROW_GOOD,
    GROAT__ROW_DAMAGED,
    GROAT__ROW_MISTAKEN, /* another identity than the one asked for */
    GROAT__ROW_UNREAD    /* there was no memory to read it */
} groat__finding;

/* Reads and judges the current row of a GROAT__ROW_GET; an identity of NULL
 * stands for any.  The judging is shown as a range, and judged_ns is its
 * time. */
groat__finding groat__row_judge(sqlite3_stmt *get, const groat__digest *key,
                                const char *identity,
                                const groat__ranges *ranges, groat__row *row);

/* Returns the bytes of a row without its fixed-size columns. */
uint64_t groat__row_room(const groat__row *row);

/* Copies the parts of a row that a get returns: OK or NOMEM. */
int groat__row_copy(const groat__row *row, groat__store_blob *out);

/* Binds and runs "INSERT ... " GROAT__ROW_INTO; stamp is the time of creation
 * and of last use. */
int groat__row_insert(sqlite3_stmt *put, const groat__row *row, int64_t stamp);

/* Locked: looks for the row of a key with GROAT__SQL_GET, which the caller
 * resets: ROW, DONE or an error. */
int groat__row_seek(groat__store *store, const groat__digest *key,
                    sqlite3_stmt **out);

/* Locked: drops a row by id; adds the number of rows dropped to *dropped. */
int groat__row_drop(groat__store *store, int64_t id, uint64_t *dropped);
/* Gives a candidate of groat__store_newest(), good or not, after skipping
 * `skip` others: ROW, DONE if there is none, or an error. */
int groat__row_newest(sqlite3 *db, const char *begin, unsigned skip,
                      groat__str *out);
/* groat__store_longest_ms() on a handle, likewise; leaves *ms unchanged if
 * there is none. */
int groat__row_longest(sqlite3 *db, const char *text, double *ms);
/* groat__store_recent() on a handle, likewise. */
int groat__row_recent(sqlite3 *db, const char *one, const char *other,
                      groat__str *out);
/* Locked: groat__store_has(), likewise. */
int groat__row_has(groat__store *store, const groat__digest *key,
                   const char *identity);

/* ---- store.c ----------------------------------------------------------- */

/* groat__store_open() with another busy timeout, for tests. */
groat_status groat__store_open_patient(const groat__store_options *options,
                                       int busy_ms, groat__store **out,
                                       groat_error *error);

/* ---- get.c ------------------------------------------------------------- */

/* Tries of a get or a put (on the open connection; on a new one if the file
 * looked damaged; on a new file); busy puts in a row until puts pause. */
enum { GROAT__STORE_TRIES = 3, GROAT__STORE_BUSY_PUTS = 10 };

/* Locked: groat__store_get() without its locking. */
bool groat__store_find(groat__store *store, const groat__digest *key,
                       const char *identity, groat__store_blob *out);

/* ---- counters.c -------------------------------------------------------- */

/* Locked: count, and pass to the probes, dropped entries with the reason, and a
 * failed operation. */
void groat__store_evicted(groat__store *store, const char *why, uint64_t count);
void groat__store_faulted(groat__store *store, const char *what);

/* ---- claim.c ----------------------------------------------------------- */

/* Releases all claims; the next one opens the file again. */
void groat__claims_close(groat__store *store);

/* ---- stamps.c ---------------------------------------------------------- */

/* Locked: microseconds since 1970, later than any this store has given. */
int64_t groat__stamp_now(groat__store *store);

/* Locked: notes in memory that a row is used now.  Writes nothing. */
void groat__stamp_use(groat__store *store, int64_t id);

/* Locked: returns the unwritten stamp of a row; 0: none. */
int64_t groat__stamp_of(groat__store *store, int64_t id);

/* Locked: gives how often a row was used, and the latency of its first use (-1:
 * unknown), from the file and from memory. */
int groat__uses_of(groat__store *store, int64_t id, uint64_t *uses,
                   double *first_ms);

/* Locked, in a transaction: writes the stamps in memory and clears them. */
int groat__stamps_write(groat__store *store);

/* Locked: clears the stamps in memory. */
void groat__stamps_forget(groat__store *store);

/* ---- gc.c -------------------------------------------------------------- */

/* Locked, in a transaction: when more than `high` bytes of pages are in use,
 * drops the least recently used rows, but never `keep` (NULL: none), until
 * `low` are.  SQLITE_TOOBIG: only `keep` is left and exceeds `high`. */
int groat__gc_trim(groat__store *store, uint64_t high, uint64_t low,
                   const int64_t *keep, uint64_t *dropped);

/* Locked, outside a transaction: gives free pages back to the file system. */
int groat__gc_shrink(groat__store *store);

#endif
