/* SPDX-License-Identifier: Apache-2.0
 *
 * reference.h - reference.c of a family's folder: a C function that computes
 * the expected output of a kernel.
 */
#ifndef GROAT_CLI_FAMILY_REFERENCE_H
#define GROAT_CLI_FAMILY_REFERENCE_H

#include "base/str.h"
#include "groat_tools.h"
#include "kernels-src/driver/driver.h"

/* What reference() finds in the bytes of an output that is no float; floats are
 * NaNs. */
enum { GROAT__REFERENCE_FILL = 0x5A };

/* Start from {0} with source and seconds set. */
typedef struct groat__reference {
    groat__str source;  /* path of reference.c */
    unsigned seconds;   /* time limit */
    groat__str folder;  /* of its program, once compiled */
    unsigned char *map; /* its buffers, once it ran for this launch; or NULL */
    size_t map_bytes;
} groat__reference;

/* Appends run.h: the spec's constants, and struct run with the arguments, the
 * grid and the buffers of the plan. */
void groat__reference_header(const groat_family *family, const groat_spec *spec,
                             const groat_plan *plan, groat__str *out);

/* Writes the reference's output buffer `index` to data, in the buffer's dtype.
 * The first call compiles reference.c; the first call of a launch runs it, in a
 * process of its own.  inputs[i] is NULL for a buffer that is no input.
 * Errors: INVALID (it does not compile, crashes, takes too long), IO (or no
 * compiler), TIMED_OUT (compiling), NO_MEMORY. */
groat_status groat__reference_run(groat__reference *reference,
                                  const groat_family *family,
                                  const groat_spec *spec,
                                  const groat_plan *plan,
                                  const void *const *inputs, size_t index,
                                  void *data, groat_error *error);
/* Drops the outputs, so that the next launch runs the reference again. */
void groat__reference_forget(groat__reference *reference);
void groat__reference_close(groat__reference *reference);

#endif
