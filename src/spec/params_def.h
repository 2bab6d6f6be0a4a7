/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_PARAMS_DEF_H
#define GROAT_SPEC_PARAMS_DEF_H

#include "spec/family.h"

/* Reads the text of NAME/params.def into the tables of an empty family. Errors:
 * INVALID, with file and line; NO_MEMORY. */
groat_status groat__params_def_read(groat_family *family, const char *name,
                                    const char *text, groat_error *error);

#endif
