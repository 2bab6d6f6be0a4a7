/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_MISS_H
#define GROAT_CORE_MISS_H

#include "core/core.h"

/* Makes the kernel of values, or waits for the thread that makes it, and adds
 * its name to the look-up.  sealed: whether a seal binds the caller.  *out is
 * retained; origin may be NULL.  Errors: as of groat_kernel_get(). */
groat_status groat__kernel_make(groat_context *context,
                                const groat__params *params, bool sealed,
                                groat_kernel **out, groat_origin *origin,
                                groat_error *error);

#endif
