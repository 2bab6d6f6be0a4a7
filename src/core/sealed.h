/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_SEALED_H
#define GROAT_CORE_SEALED_H

#include "core/lookup.h"

/* The answer of a sealed context to values that are not in memory: the fallback
 * of their family, else SEALED. */
groat_status groat__sealed_get_values(groat_context *context,
                                      const groat__params *params,
                                      groat_kernel **out, groat_origin *origin,
                                      groat_error *error);
/* The same to a text that is no name; it may be another text of a kernel that
 * is in memory.  Errors: INVALID besides. */
groat_status groat__sealed_get_text(groat_context *context, groat__hit untimed,
                                    const char *spec, const char *target,
                                    groat_kernel **out, groat_origin *origin,
                                    groat_error *error);

#endif
