/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_PROOFS_H
#define GROAT_SPEC_PROOFS_H

#include "spec/family.h"

/* Checks that each "breaks TARGET name=value,..." of params.def has allowed
 * values that break its rule, and that each "follows NAME ..." names parameters
 * or constants.  Errors: INVALID with file and line. */
groat_status groat__family_try_rules(groat_family *family, groat_error *error);

#endif
