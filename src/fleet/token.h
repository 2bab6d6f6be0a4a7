/* SPDX-License-Identifier: Apache-2.0
 *
 * token.h - tokens, which registries want instead of a login.
 */
#ifndef GROAT_FLEET_TOKEN_H
#define GROAT_FLEET_TOKEN_H

#include "fleet/http.h"
#include "groat.h"

/* Gets the token that a challenge, 'Bearer realm="URL",...', asks for, with the
 * place's login, and replaces place->bearer.  If the place uses TLS, the URL
 * must, too.
 *
 * Errors: IO (a malformed challenge or answer; no answer), NO_MEMORY. */
groat_status groat__token_get(groat__http *http, groat__place *place,
                              const char *challenge, groat_error *error);

#endif
