/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_JSON_H
#define GROAT_CORE_JSON_H

#include <jansson.h>

#include "base/str.h"

/* Appends the text of a value, by json_dumps()'s flags.  `out` fails if the
 * value is NULL, as it is where memory has run out. */
void groat__json_write(groat__str *out, const json_t *value, size_t flags);

#endif
