/* SPDX-License-Identifier: Apache-2.0
 *
 * token.h - what a registry wants instead of a login.
 */
#ifndef GROAT_FLEET_TOKEN_H
#define GROAT_FLEET_TOKEN_H

#include "fleet/http.h"
#include "groat.h"

/* Asks for the token that a challenge names, a line 'Bearer realm="URL",...',
 * with the place's login, and puts it into place->bearer in the place of the
 * one that is there.  Where the place is asked by TLS, so is the URL.
 *
 * Errors: IO (the challenge or the answer is none; no answer), NO_MEMORY. */
groat_status groat__token_get(groat__http *http, groat__place *place,
                              const char *challenge, groat_error *error);

#endif
