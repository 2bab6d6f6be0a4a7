/* SPDX-License-Identifier: Apache-2.0
 *
 * like.h - a family of one's own that the host code of one of the library's
 * drives: a variant of its kernel.
 */
#ifndef GROAT_CLI_FAMILY_LIKE_H
#define GROAT_CLI_FAMILY_LIKE_H

#include "groat_tools.h"
#include "kernels-src/driver/driver.h"

/* Returns the driver of the library's family `model` for another family.  It
 * reads parameters and constants by their names, so the family must have these,
 * an enum with the same values; args.h must be the same structure, of which
 * groat__trial_launch() checks the size.
 * Errors: INVALID, with what differs. */
groat_status groat__driver_like(const groat_context *context,
                                const groat_family *family, const char *model,
                                const groat_driver **driver,
                                groat_error *error);

#endif
