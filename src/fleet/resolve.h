/* SPDX-License-Identifier: Apache-2.0
 *
 * resolve.h - the addresses of a host, in a time that the caller sets.
 */
#ifndef GROAT_FLEET_RESOLVE_H
#define GROAT_FLEET_RESOLVE_H

#include <netdb.h>

/* Zeros at first; one call at a time. */
typedef struct groat__resolver {
    struct groat__look_up *pending; /* took too long, and goes on */
} groat__resolver;

/* Looks up a host for ms milliseconds at most, and goes on with the look-up
 * that an earlier call gave up.  NULL: *why says why; else free the addresses
 * with freeaddrinfo(). */
struct addrinfo *groat__resolve(groat__resolver *resolver, const char *host,
                                unsigned ms, const char **why);
/* Waits for nothing: a look-up that goes on ends by itself. */
void groat__resolver_close(groat__resolver *resolver);

#endif
