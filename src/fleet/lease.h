/* SPDX-License-Identifier: Apache-2.0
 *
 * lease.h - which host of a fleet compiles a key: a lease in Redis or Valkey.
 */
#ifndef GROAT_FLEET_LEASE_H
#define GROAT_FLEET_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/log.h"
#include "groat.h"

typedef struct groat__lease groat__lease;

typedef enum groat__lease_state {
    GROAT__LEASE_NONE,  /* the server cannot tell: compile without one   */
    GROAT__LEASE_HELD,  /* the caller's, until it gives it back          */
    GROAT__LEASE_TAKEN, /* another's                                     */
    GROAT__LEASE_FREE   /* nobody's, as of groat__lease_look()           */
} groat__lease_state;

typedef struct groat__lease_counts {
    uint64_t held, taken, errors;
    bool open; /* the breaker */
} groat__lease_counts;

/* Reads redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE] or
 * unix:///SOCKET; connects to nothing.  Errors: INVALID, NO_MEMORY. */
groat_status groat__lease_open(const char *url, const groat__log *log,
                               groat__lease **out, groat_error *error);
/* NULL is allowed. */
void groat__lease_close(groat__lease *lease);

/* Takes the lease of a key for ms milliseconds. */
groat__lease_state groat__lease_take(groat__lease *lease,
                                     const groat__digest *key, unsigned ms);
/* Whose it is: TAKEN (by whomever), FREE or NONE. */
groat__lease_state groat__lease_look(groat__lease *lease,
                                     const groat__digest *key);
/* Gives back one that was HELD; one that has run out may be another's by now
 * and stays. */
void groat__lease_give(groat__lease *lease, const groat__digest *key);

/* The server gave no answer a while ago: milliseconds until it may be tried
 * again; 0: now; -1: it is in use. */
double groat__lease_wait_ms(groat__lease *lease);
/* Tries it: for a thread that nobody waits for. */
void groat__lease_try(groat__lease *lease);

/* For messages: without a password. */
const char *groat__lease_shown(const groat__lease *lease);
void groat__lease_count(groat__lease *lease, groat__lease_counts *out);

#endif
