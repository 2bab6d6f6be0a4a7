/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_RENDER_H
#define GROAT_SPEC_RENDER_H

#include "base/str.h"
#include "spec/param.h"

/* Appends the generated header, without comments, as all files of a source are:
 * one constexpr line per parameter, derived constant and arch field, each
 * parameter with a static_assert of its allowed values, and the entry point's
 * name. */
void groat__render_constants(const groat__params *params, groat__str *out);

/* Appends exactly the text that the compiler gets. */
void groat__render_source(const groat__params *params, groat__str *out);

/* Fills family->closure: for each backend the XXH3-128 of every byte of ours
 * that can reach its compiler: the flattened files, params.def, and the
 * constants rendered from the defaults (so that a change of the renderer
 * changes the keys, too).
 * Errors: INVALID if the defaults have no values on any arch. */
groat_status groat__render_closure(groat_family *family, const char *params_def,
                                   groat_error *error);

#endif
