/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_LOAD_H
#define GROAT_SPEC_LOAD_H

#include "spec/family.h"

/* Reads NAME/params.def and NAME/NAME.h with all its includes.  Errors: INVALID
 * with file and line.  Free with groat__family_free. */
groat_status groat__family_load(const char *name, groat__file_fn *read,
                                void *user, groat_family **out,
                                groat_error *error);

#endif
