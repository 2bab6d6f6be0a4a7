/* SPDX-License-Identifier: Apache-2.0
 *
 * remote.h - the objects of a fleet: one per entry, signed, at one place.
 *
 * place.c    URL -> place
 * http.c     exchanges by HTTP and S3
 * folder.c   exchanges with a folder
 * breaker.c  whether the place is asked
 * absent.c   keys that it did not have
 * apart.c    exchanges on a thread beside the one that is told of them
 * link.c     exchanges with whichever place; names of objects
 * lease.c    which host compiles a key
 * remote.c   open, close; one entry asked for
 * waits.c    one compile per fleet
 * behind.c   entries that wait to be written
 * many.c     what tools do: send, fetch, list, remove
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
    GROAT__REMOTE_TOOL_MS = 10000,  /* of an exchange that a tool waits for */
    GROAT__REMOTE_BUDGET_MS = 950,  /* longest wait of a get            */
    GROAT__REMOTE_BEHIND_MS = 2000, /* of a write, and of those that are *
                                     * left when the remote is closed    */
    GROAT__REMOTE_QUEUE = 64,       /* entries that wait to be written  */
    GROAT__REMOTE_QUEUE_BYTES = 64 << 20
};

typedef struct groat__remote groat__remote;

typedef struct groat__remote_options {
    const char *url;
    const char *key;    /* file of the secret key that signs; NULL: nothing is
                         * written */
    const char *leases; /* URL of the lease server; NULL: none */
    const char *ca; /* file of certificates that are trusted; NULL: libcurl's */
    groat__s3 s3;
    groat__log log;
    const groat__trust *trust; /* must outlive the remote */
} groat__remote_options;

/* Opens a remote; connects to nothing.  A key or a lease server that cannot be
 * used is logged.  Errors: INVALID (the URL), NO_MEMORY.  Free with
 * groat__remote_close(). */
groat_status groat__remote_open(const groat__remote_options *options,
                                groat__remote **out, groat_error *error);
/* It is going to be asked: opens libcurl on a thread of its own. */
void groat__remote_expect(groat__remote *remote);
/* Ends the waits for other hosts: whoever waits compiles.  NULL is allowed. */
void groat__remote_hurry(groat__remote *remote);
/* Writes what waits, for GROAT__REMOTE_BEHIND_MS at most.  NULL is allowed. */
void groat__remote_close(groat__remote *remote);

/* Asks for an entry, for budget_ms at most; true: *out has it, signed by a
 * trusted key, with this identity.  A key that was not there is not asked for
 * again for a minute; nothing is while the breaker is open. */
bool groat__remote_get(groat__remote *remote, const groat__digest *key,
                       const char *identity, unsigned budget_ms,
                       groat__store_blob *out);

/* Asks for an entry whose identity begins with a text, as it was offered. */
bool groat__remote_made(groat__remote *remote, const char *wanted,
                        unsigned budget_ms, groat__arrival *out);

/* Who compiles a key that a get has missed. */
typedef enum groat__remote_claim {
    GROAT__REMOTE_ALONE, /* the caller, without a lease                      */
    GROAT__REMOTE_HELD,  /* the caller, who gives the lease back             */
    GROAT__REMOTE_FOUND  /* another host, whose entry is in *out             */
} groat__remote_claim;

/* Takes the lease of a key; while another host has it, waits for its entry, for
 * expected_ms, which is what a compile takes here, and half a second for its
 * way. */
groat__remote_claim groat__remote_lease(groat__remote *remote,
                                        const groat__digest *key,
                                        const char *identity,
                                        unsigned expected_ms,
                                        groat__store_blob *out);
/* Gives back a lease that was HELD, of a key that is not offered. */
void groat__remote_give(groat__remote *remote, const groat__digest *key);

/* Copies an entry, which another thread signs and writes; the first wanted
 * bytes of its identity say what is wanted.  One that finds no room is dropped
 * and counted.  Without a key nothing is written.  leased: the caller has the
 * lease of the key, which is given back afterwards. */
void groat__remote_offer(groat__remote *remote, const groat__entry *entry,
                         size_t wanted, bool leased);

/* Fills *info, but for size.  Texts are borrowed from the remote. */
void groat__remote_describe(groat__remote *remote, groat_remote_info *info);

/* ---- tools: many.c ------------------------------------------------------ */

/* Errors: IO: there is no key to sign with. */
groat_status groat__remote_need_key(const groat__remote *remote,
                                    groat_error *error);

/* Whether the place answers; appends what it is, and how or why not. */
bool groat__remote_answers(groat__remote *remote, groat__str *text);

/* Told of each object that was sent: its name, DONE, THERE (it was there), or
 * why not. */
typedef void groat__sent_fn(void *user, const char *name,
                            groat__outcome outcome, const char *why);

enum { GROAT__SENDER_ROOM = 32 };

/* Collects entries and writes them several at a time.  Zeros but for the first
 * five. */
typedef struct groat__sender {
    groat__remote *remote;
    unsigned budget_ms; /* of each exchange */
    bool asks;          /* whether an object is there, before it is sent */
    groat__sent_fn *fn;
    void *user;
    groat__exchange at[GROAT__SENDER_ROOM];
    groat__str bodies[GROAT__SENDER_ROOM / 2]; /* each of two objects */
    size_t count;
} groat__sender;

/* Signs and sends an entry, as groat__remote_offer() would.  Errors: IO (no
 * key; the remote cannot be reached), NO_MEMORY. */
groat_status groat__sender_add(groat__sender *sender, const groat__entry *entry,
                               size_t wanted, groat_error *error);
/* Sends what is left. */
groat_status groat__sender_end(groat__sender *sender, groat_error *error);
/* Forgets what is left. */
void groat__sender_drop(groat__sender *sender);

/* Told of each object that was asked for: arrival is NULL where `why` says why
 * not, and may be taken: zeros stay. */
typedef void groat__fetched_fn(void *user, const char *name,
                               groat__arrival *arrival, groat__outcome outcome,
                               const char *why);

/* Fetches objects by their names, several at a time, and checks each.  Errors:
 * IO (the remote cannot be reached). */
groat_status groat__remote_fetch(groat__remote *remote, char *const *names,
                                 size_t count, unsigned budget_ms,
                                 const atomic_bool *stop, groat__fetched_fn *fn,
                                 void *user, groat_error *error);
/* Calls fn for each object.  Errors: IO, INVALID (it cannot be listed). */
groat_status groat__remote_list(groat__remote *remote, groat__listed_fn *fn,
                                void *user, groat_error *error);
/* Removes objects by their names; *removed counts them.  Errors: IO. */
groat_status groat__remote_remove(groat__remote *remote, char *const *names,
                                  size_t count, uint64_t *removed,
                                  groat_error *error);

/* ---- what the files share ----------------------------------------------- */

typedef struct groat__waiting groat__waiting; /* behind.c */

struct groat__remote {
    groat__log log;
    groat__place place;
    const groat__trust *trust;
    groat__secret secret;
    bool writes;             /* there is a secret */
    atomic_bool said;        /* an error that opened no breaker */
    groat__breaker *breaker; /* the process' */
    groat__absent absent;
    groat__lease *lease; /* NULL: none */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    groat__http *http;  /* NULL: not opened, or a folder */
    char *http_problem; /* why it cannot be              */
    groat__waiting *first, *last;
    size_t waiting;
    size_t writing; /* taken from them, and under way */
    size_t waiting_bytes;
    bool closing;
    bool hurry; /* nobody waits for other hosts any more */
    bool runs;  /* the thread */
    bool joinable;
    pthread_t thread;

    atomic_uint_fast64_t hits, misses, known, errors, late, refused, malformed,
        mistaken, skipped, puts, put_failures, put_drops, bytes_in, bytes_out,
        lease_waits, lease_timeouts;
};

/* Runs exchanges with the place; counts bytes. */
void groat__remote_run(groat__remote *remote, const groat__batch *batch);
/* The same on a thread of its own; done, which is not NULL, is called on the
 * caller's.  Before that check is called for each, on either: on the caller's
 * while it keeps up. */
void groat__remote_run_apart(groat__remote *remote, const groat__batch *batch,
                             void (*check)(void *user, groat__exchange *x));
/* The same for one. */
void groat__remote_ask(groat__remote *remote, groat__exchange *x,
                       unsigned budget_ms);
/* groat__remote_get() of a key that may be there by now. */
bool groat__remote_look(groat__remote *remote, const groat__digest *key,
                        const char *identity, unsigned budget_ms,
                        groat__store_blob *out);
/* What an exchange says of the place: to the breaker, the counts, and, once, to
 * the log.  hasty: it had less time than a place may take.  True: the breaker
 * opened; see groat__behind_wake(). */
bool groat__remote_judge(groat__remote *remote, const groat__exchange *x,
                         bool hasty);

/* Reads what an exchange has fetched, counts what it is, and judges: *out is
 * filled when *verdict is GOOD; what is no entry is a failure of the place.
 * Returns what groat__remote_judge() does. */
bool groat__remote_take(groat__remote *remote, groat__exchange *x, bool hasty,
                        groat__entry_verdict *verdict, groat__arrival *out);
/* The place's libcurl, opened at the first call; NULL, and why, where it cannot
 * be had. */
groat__http *groat__remote_http(groat__remote *remote, const char **why);

/* Locked: sleeps, until something changes. */
void groat__remote_sleep(groat__remote *remote, double ms);
/* Sees to it that the thread runs which writes, and tries a place whose breaker
 * is open. */
void groat__behind_wake(groat__remote *remote);
/* Ends it. */
void groat__behind_stop(groat__remote *remote);

/* Whether a text is the name of an object. */
bool groat__remote_is_name(const char *name);
/* The name of an object with a key, for the target that an identity names:
 * "v1/cuda-sm_90a/ab/abcd...". */
void groat__remote_name(const char *identity, const groat__digest *key,
                        char out[GROAT__OBJECT_NAME]);

#endif
