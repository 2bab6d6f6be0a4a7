/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_PARAM_H
#define GROAT_SPEC_PARAM_H

#include "base/str.h"
#include "spec/code.h"
#include "spec/family.h"

enum { GROAT__CODE_WORDS = GROAT__CODE_BYTES / 8 };

/* A spec: a value for every slot of its family, on one target.  The text of its
 * code follows the family's values, so that a spec's content is contiguous; the
 * rest is zeros. */
typedef struct groat__params {
    const groat_family *family;
    groat__target target;
    int64_t values[GROAT__SLOTS + GROAT__CODE_WORDS];
} groat__params;

/* How a spec is launched, from the launch lines of params.def. */
typedef struct groat__launch_values {
    int64_t of[GROAT__LAUNCH_VALUES];
} groat__launch_values;

/* Parses "family:name=value,..." of that family for a target, fills defaults,
 * checks every value and rule.  Errors: INVALID with one line: family,
 * parameter, value and allowed values, or the rule and its reason. */
groat_status groat__params_parse(const groat_family *family, const char *text,
                                 const groat__target *target,
                                 groat__params *out, groat_error *error);

/* Sets one parameter, recomputes the constants that depend on it and checks the
 * whole; on failure params is unchanged.  Errors: INVALID. */
groat_status groat__params_set(groat__params *params, size_t slot,
                               int64_t value, groat_error *error);

/* Fills every default without checks, for the closure. */
groat_status groat__params_defaults(const groat_family *family,
                                    const groat__target *target,
                                    groat__params *out, groat_error *error);

/* Appends "family:name=value,...": every parameter, in params.def's order. */
void groat__params_text(const groat__params *params, groat__str *out);
/* Appends the value of one slot as it is written in a spec. */
void groat__params_value_text(const groat__params *params, size_t slot,
                              groat__str *out);
/* The text of the family's expression, or NULL.  Borrowed. */
const char *groat__params_code_text(const groat__params *params);
/* Words that its text takes after the values; 0 for the default. */
size_t groat__params_code_words(const groat__params *params);
/* Parses the family's expression; borrows from params.  False: it has none. */
bool groat__params_code(const groat__params *params, groat__code *out);
/* Appends the entry point's name. */
void groat__params_entry(const groat__params *params, groat__str *out);

/* Errors: INVALID when a launch value is out of range for any device. */
groat_status groat__params_launch(const groat__params *params,
                                  groat__launch_values *out,
                                  groat_error *error);

#endif
