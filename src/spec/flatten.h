/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_FLATTEN_H
#define GROAT_SPEC_FLATTEN_H

#include "spec/family.h"

/* Follows the quoted includes of NAME/NAME.h and fills family->before and
 * ->after: one text with #line back to the files, cut where the family
 * includes its "params.h" (there the generated constants go).  Each file is
 * taken once, be it under an #if.  Errors: INVALID for an include that cannot
 * be found, for all else that may make a compiler read a file (reads.h), and
 * for a family that does not include "params.h" once. */
groat_status groat__flatten(groat_family *family, groat__file_fn *read,
                            void *user, groat_error *error);

#endif
