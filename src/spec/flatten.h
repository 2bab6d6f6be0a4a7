/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_FLATTEN_H
#define GROAT_SPEC_FLATTEN_H

#include "spec/family.h"

/* Follows the quoted includes of NAME/NAME.h and fills family->pieces: one text
 * with #line directives that name the files, with the generated constants for
 * the family's "params.h".  Each file is taken once, even under an #if.  Files
 * common/X_cuda.h, _hip.h and _cpu.h, and what they include first, are for
 * their backend alone; what others need, too, is included elsewhere first.
 * Errors: INVALID for an include that cannot be found, for anything else that
 * may make a compiler read a file (reads.h), and for a family that does not
 * include "params.h" exactly once. */
groat_status groat__flatten(groat_family *family, groat__file_fn *read,
                            void *user, groat_error *error);

#endif
