/* SPDX-License-Identifier: Apache-2.0
 *
 * resolve.h - looks up a host's addresses, with a timeout.
 */
#ifndef GROAT_FLEET_RESOLVE_H
#define GROAT_FLEET_RESOLVE_H

#include <netdb.h>

/* Start from zeros; one call at a time. */
typedef struct groat__resolver {
    struct groat__look_up *pending; /* timed out, and still running */
} groat__resolver;

/* Looks up a host for at most ms milliseconds; continues a look-up that an
 * earlier call gave up.  NULL: *why is the reason; else free the addresses with
 * freeaddrinfo(). */
struct addrinfo *groat__resolve(groat__resolver *resolver, const char *host,
                                unsigned ms, const char **why);
/* Does not wait: a look-up in progress ends by itself. */
void groat__resolver_close(groat__resolver *resolver);

#endif
