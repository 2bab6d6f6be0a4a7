/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_SEALED_H
#define GROAT_CORE_SEALED_H

#include "core/lookup.h"

/* Answers a get of values that are not in memory in a sealed context: gives the
 * fallback of their family, else SEALED. */
groat_status groat__sealed_get_values(groat_context *context,
                                      const groat__params *params,
                                      groat_kernel **out, groat_origin *origin,
                                      groat_error *error);
/* The same for a text that is not in the look-up; it may be another spelling of
 * a kernel in memory.  Errors: also INVALID. */
groat_status groat__sealed_get_text(groat_context *context, groat__hit untimed,
                                    const char *spec, const char *target,
                                    groat_kernel **out, groat_origin *origin,
                                    groat_error *error);

#endif
