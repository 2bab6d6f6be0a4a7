/* SPDX-License-Identifier: Apache-2.0
 *
 * remote.h - the objects of a fleet: signed entries at one place.
 *
 * place.c    URL -> place
 * http.c     exchanges by HTTP and S3
 * folder.c   exchanges with a folder
 * breaker.c  whether the place may be asked
 * absent.c   keys that the place did not have
 * apart.c    exchanges on a separate thread
 * link.c     exchanges with any place; names of objects
 * lease.c    which host compiles a key
 * remote.c   open, close; asks for one entry
 * waits.c    one compile per fleet
 * background.c entries written in the background
 * tools.c     what tools do: send, fetch, list, remove
 */
#ifndef GROAT_FLEET_REMOTE_H
#define GROAT_FLEET_REMOTE_H

#include <stdatomic.h>

#include "base/log.h"
#include "cache/cache.h"
#include "fleet/absent.h"
#include "fleet/breaker.h"
#include "fleet/http.h"
#include "fleet/lease.h"
#include "fleet/object.h"
#include "fleet/place.h"
#include "groat_store.h"

enum {
    GROAT__REMOTE_TOOL_MS = 10000, /* limit of a tool's exchange */
    GROAT__REMOTE_BUDGET_MS = 950, /* longest wait of a get      */
    GROAT__REMOTE_WRITE_MS = 2000, /* of a write, and of the queue at the *
                                    * close                               */
    GROAT__REMOTE_QUEUE = 64,      /* entries that wait to be written  */
    GROAT__REMOTE_QUEUE_BYTES = 64 << 20
};

typedef struct groat__remote groat__remote;

typedef struct groat__remote_options {
    const char *url;
    const char *key;    /* file of the secret key that signs; NULL: the remote *
                         * is read-only */
    const char *leases; /* URL of the lease server; NULL: none */
    const char *ca;     /* file of trusted certificates; NULL: libcurl's */
    groat__s3 s3;
    groat__log log;
    const groat__trust *trust; /* must outlive the remote */
} groat__remote_options;

/* Opens a remote; connects to nothing.  Logs a key or lease server that cannot
 * be used.  Errors: INVALID (the URL), NO_MEMORY.  Free with
 * groat__remote_close(). */
groat_status groat__remote_open(const groat__remote_options *options,
                                groat__remote **out, groat_error *error);
/* Opens libcurl in the background, since the remote will be asked. */
void groat__remote_expect(groat__remote *remote);
/* Ends the waits for other hosts; the waiters compile.  NULL is allowed. */
void groat__remote_hurry(groat__remote *remote);
/* Writes the queued entries, for four times GROAT__REMOTE_WRITE_MS at most;
 * see background.c.  NULL is allowed. */
void groat__remote_close(groat__remote *remote);

/* Asks for an entry, for budget_ms at most; true: *out has it, signed by a
 * trusted key, with this identity.  Does not ask for a key that was absent less
 * than a minute ago, nor while the breaker is open. */
bool groat__remote_get(groat__remote *remote, const groat__digest *key,
                       const char *identity, unsigned budget_ms,
                       groat__store_blob *out);

/* Asks for an entry whose identity begins with `wanted`. */
bool groat__remote_made(groat__remote *remote, const char *wanted,
                        unsigned budget_ms, groat__arrival *out);

/* The host that compiles a key that a get has missed. */
typedef enum groat__remote_claim {
    GROAT__REMOTE_ALONE, /* the caller, without a lease */
    GROAT__REMOTE_HELD,  /* the caller; it gives the lease back */
    GROAT__REMOTE_FOUND  /* another host; *out has its entry */
} groat__remote_claim;

/* Takes the lease of a key.  While another host has it, waits for its entry,
 * for at most expected_ms, the expected time of a compile here, or half a
 * minute if that is 0, plus half a second for the transfer. */
groat__remote_claim groat__remote_lease(groat__remote *remote,
                                        const groat__digest *key,
                                        const char *identity,
                                        unsigned expected_ms,
                                        groat__store_blob *out);
/* Gives back a HELD lease of a key that is not offered. */
void groat__remote_give(groat__remote *remote, const groat__digest *key);

/* Copies an entry, which a background thread signs and writes; `wanted` bytes
 * of its identity are its first half.  If the queue is full, drops the entry
 * and counts that.  Without a key, nothing is written.  leased: the caller
 * holds the key's lease, which is given back afterwards. */
void groat__remote_offer(groat__remote *remote, const groat__entry *entry,
                         size_t wanted, bool leased);

/* Fills *info except for size.  Texts are borrowed from the remote. */
void groat__remote_describe(groat__remote *remote, groat_remote_info *info);

/* ---- tools: tools.c ------------------------------------------------------ */

/* Errors: IO if there is no key to sign with. */
groat_status groat__remote_need_key(const groat__remote *remote,
                                    groat_error *error);

/* Whether the place answers; appends its URL, and the time or the error. */
bool groat__remote_answers(groat__remote *remote, groat__str *text);
/* The same of the lease server; false: there is none. */
bool groat__remote_leases(groat__remote *remote, bool *answers,
                          groat__str *text);

/* Called for each object that was sent: its name and DONE, THERE (it existed),
 * or an error. */
typedef void groat__sent_fn(void *user, const char *name,
                            groat__outcome outcome, const char *why);

enum { GROAT__SENDER_ROOM = 32 };

/* Collects entries and writes them several at a time.  Zeros except for the
 * first five fields. */
typedef struct groat__sender {
    groat__remote *remote;
    unsigned budget_ms; /* of each exchange */
    bool asks;          /* check that an object is absent before sending it */
    groat__sent_fn *fn;
    void *user;
    groat__exchange at[GROAT__SENDER_ROOM];
    groat__str bodies[GROAT__SENDER_ROOM / 2]; /* one for two objects each */
    size_t count;
} groat__sender;

/* Signs and sends an entry, as groat__remote_offer() would.  Errors: IO (no
 * key; the remote cannot be reached), NO_MEMORY. */
groat_status groat__sender_add(groat__sender *sender, const groat__entry *entry,
                               size_t wanted, groat_error *error);
/* Sends the remaining entries. */
groat_status groat__sender_end(groat__sender *sender, groat_error *error);
/* Drops the remaining entries. */
void groat__sender_drop(groat__sender *sender);

/* Called for each object that was asked for.  arrival is NULL if `why` is an
 * error; else fn may take it over and leave zeros.  Returns whether it is the
 * object of that name. */
typedef bool groat__fetched_fn(void *user, const char *name,
                               groat__arrival *arrival, groat__outcome outcome,
                               const char *why);

/* Objects to fetch by their names. */
typedef struct groat__fetch {
    char *const *names;
    size_t count;
    unsigned budget_ms; /* of each exchange */
    const atomic_bool *stop;
    groat__fetched_fn *fn;
    void (*idle)(void *user); /* no object waits to be told of */
    void *user;
} groat__fetch;

/* Fetches objects, several at a time, and checks each.  Errors: INVALID (a
 * name), IO (the remote cannot be reached), NO_MEMORY. */
groat_status groat__remote_fetch(groat__remote *remote,
                                 const groat__fetch *what, groat_error *error);
/* Calls fn for each object.  Errors: IO, INVALID (it cannot be listed). */
groat_status groat__remote_list(groat__remote *remote, groat__listed_fn *fn,
                                void *user, groat_error *error);
/* Removes objects by their names; *removed counts them.  Errors: IO. */
groat_status groat__remote_remove(groat__remote *remote, char *const *names,
                                  size_t count, uint64_t *removed,
                                  groat_error *error);

/* ---- shared by the files of the remote ---------------------------------- */

typedef struct groat__waiting groat__waiting; /* background.c */

struct groat__remote {
    groat__log log;
    groat__place place;
    const groat__trust *trust;
    groat__secret secret;
    bool writes;             /* there is a secret */
    char *key_problem;       /* why there is none although a key was named */
    atomic_bool said;        /* an error was logged, breaker closed */
    groat__breaker *breaker; /* the process's */
    groat__breaker *waits;   /* likewise, of waits for other hosts */
    atomic_uint vain;        /* of these in vain, in a row */
    groat__absent absent;
    groat__lease *lease; /* NULL: none */

    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    groat__http *http;  /* NULL: not opened, or a folder */
    char *http_problem; /* why libcurl cannot be opened */
    groat__waiting *first, *last;
    size_t waiting;
    size_t writing; /* taken from the list, being written */
    size_t waiting_bytes;
    bool closing;
    bool hurry; /* waits for other hosts end */
    bool runs;  /* the thread is running */
    bool joinable;
    pthread_t thread;

    atomic_uint_fast64_t hits, misses, known, errors, late, refused, malformed,
        mistaken, skipped, puts, put_failures, put_drops, bytes_in, bytes_out,
        lease_waits, lease_timeouts;
};

/* Runs exchanges with the place; counts bytes. */
void groat__remote_run(groat__remote *remote, const groat__batch *batch);
/* The same on a separate thread.  done, which must not be NULL, is called on
 * the caller's thread; check is called before it, on the caller's thread while
 * that keeps up, else on the separate one. */
void groat__remote_run_apart(groat__remote *remote, const groat__batch *batch,
                             void (*check)(void *user, groat__exchange *x));
/* groat__remote_run() for a single exchange. */
void groat__remote_ask(groat__remote *remote, groat__exchange *x,
                       unsigned budget_ms);
/* groat__remote_get() of a key even if it was absent a moment ago. */
bool groat__remote_look(groat__remote *remote, const groat__digest *key,
                        const char *identity, unsigned budget_ms,
                        groat__store_blob *out);
/* Judges the place by an exchange: updates breaker and counts, and logs the
 * first error and each opening.  budget_ms: the time that the exchange had.
 * True: the breaker opened; see groat__background_wake(). */
bool groat__remote_judge(groat__remote *remote, const groat__exchange *x,
                         unsigned budget_ms);

/* Counts an object that is a good entry: a hit, or that of another kernel. */
void groat__remote_count_good(groat__remote *remote, const char *name,
                              bool wanted);

/* Parses and counts a fetched object, and judges the place: *out is filled if
 * *verdict is GOOD; a malformed object counts as a failure of the place.
 * Returns what groat__remote_judge() does. */
bool groat__remote_take(groat__remote *remote, groat__exchange *x,
                        unsigned budget_ms, groat__entry_verdict *verdict,
                        groat__arrival *out);
/* The place's libcurl, opened at the first call; NULL, with the reason in *why,
 * if it cannot be opened. */
groat__http *groat__remote_http(groat__remote *remote, const char **why);

/* Locked.  Sleeps for at most ms, or until remote->changed is signalled, which
 * means that something has changed, not what. */
void groat__remote_sleep(groat__remote *remote, double ms);
/* Starts or wakes the background thread, which writes entries and tries
 * a place whose breaker is open. */
void groat__background_wake(groat__remote *remote);
/* Ends the background thread. */
void groat__background_stop(groat__remote *remote);

/* Whether a text is a valid object name, or that of a file in a folder into
 * which an object is written or was written by a process that was killed. */
bool groat__remote_is_name(const char *name);
bool groat__remote_is_rest(const char *name);
/* The name of the object for a key, with the target that the identity names:
 * "v1/cuda-sm_90a/ab/abcd...". */
void groat__remote_name(const char *identity, const groat__digest *key,
                        char out[GROAT__OBJECT_NAME]);

#endif
