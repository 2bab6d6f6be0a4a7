/* SPDX-License-Identifier: Apache-2.0
 *
 * http.h - exchanges with an HTTP or S3 server, by libcurl.
 */
#ifndef GROAT_FLEET_HTTP_H
#define GROAT_FLEET_HTTP_H

#include "fleet/object.h"
#include "fleet/place.h"

typedef struct groat__http groat__http;

/* Opens libcurl; connects to nothing.  place must outlive it.  Errors:
 * NO_DEVICE (no libcurl), NO_MEMORY. */
groat_status groat__http_open(const groat__place *place, groat__http **out,
                              groat_error *error);
/* No thread may be inside groat__http_run().  NULL is allowed. */
void groat__http_close(groat__http *http);

/* Runs the exchanges of a batch, several at a time; fills their outcomes.
 * After an exchange that found no server or timed out, those not begun stay
 * UNTRIED.  Any thread. */
void groat__http_run(groat__http *http, const groat__batch *batch);

/* Appends a text, percent-encoded for a URL's query. */
void groat__http_encode(groat__str *url, const char *text, size_t len);

/* Calls fn for the objects of an S3 place.  Errors: IO, INVALID (the place is
 * not S3), NO_MEMORY. */
groat_status groat__http_list(groat__http *http, unsigned budget_ms,
                              groat__listed_fn *fn, void *user,
                              groat_error *error);

#endif
