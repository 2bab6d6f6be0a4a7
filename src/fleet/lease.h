/* SPDX-License-Identifier: Apache-2.0
 *
 * lease.h - leases in Redis or Valkey: one host of a fleet compiles a key.
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
    GROAT__LEASE_NONE,  /* no answer from the server: compile without */
    GROAT__LEASE_HELD,  /* the caller has it until it gives it back   */
    GROAT__LEASE_TAKEN, /* another host has it                        */
    GROAT__LEASE_FREE   /* no host has it; from groat__lease_look()   */
} groat__lease_state;

typedef struct groat__lease_counts {
    uint64_t held, taken, errors;
    bool open; /* the breaker */
} groat__lease_counts;

/* Parses redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE] or unix:///SOCKET;
 * connects to nothing.  Errors: INVALID, NO_MEMORY. */
groat_status groat__lease_open(const char *url, const groat__log *log,
                               groat__lease **out, groat_error *error);
/* NULL is allowed. */
void groat__lease_close(groat__lease *lease);

/* Takes the lease of a key for ms milliseconds. */
groat__lease_state groat__lease_take(groat__lease *lease,
                                     const groat__digest *key, unsigned ms);
/* Whether any host has it: TAKEN (perhaps by the caller), FREE or NONE.  If
 * TAKEN, *holder is a hash of its name. */
groat__lease_state groat__lease_look(groat__lease *lease,
                                     const groat__digest *key,
                                     uint64_t *holder);
/* Gives back a lease that was HELD.  If it has expired and another host has it
 * now, nothing is done.  Returns false if the server refuses it. */
bool groat__lease_give(groat__lease *lease, const groat__digest *key);

enum { GROAT__LEASE_PROBLEM = 96 };

/* What the server said of the last command, if that failed; else "". */
void groat__lease_problem(groat__lease *lease, char out[GROAT__LEASE_PROBLEM]);

/* Milliseconds until a server that gave no answer is tried again; 0: now; -1:
 * the server is in use. */
double groat__lease_wait_ms(groat__lease *lease);
/* Tries the server; for a background thread. */
void groat__lease_try(groat__lease *lease);

/* The server's URL without its password, for messages. */
const char *groat__lease_shown(const groat__lease *lease);
void groat__lease_count(groat__lease *lease, groat__lease_counts *out);

#endif
