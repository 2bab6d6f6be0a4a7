/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_KEY_H
#define GROAT_SPEC_KEY_H

#include "base/str.h"
#include "spec/param.h"

/* Fills what all identity texts of a family have in common. */
groat_status groat__key_prepare(groat_family *family, groat_error *error);

/* Appends the identity text: everything that shaped a binary, one field per
 * line, no paths, no times.  compiler is what groat__compiler.identify gave
 * for the target's arch. */
void groat__key_identity(const groat__params *params, const char *compiler,
                         groat__str *out);

/* How the identity of a tuned choice begins; its lines are those of
 * attention/tuned.c. */
#define GROAT__TUNED_LEAD "groat-tuned 1\n"

/* Back: appends the canonical text of the spec and the target of an identity,
 * of a tuned choice the target alone; false when it is none of ours. */
bool groat__key_read(const char *identity, groat__str *spec,
                     groat__str *target);

/* The lines of an identity that are its compiler's; "" when it has none. */
const char *groat__key_second_half(const char *identity);

/* How many bytes of an identity are its first half; all, where it names no
 * compiler. */
size_t groat__key_wanted(const char *identity);

/* The compiler that an identity names, as in "nvrtc 13.0 build ..."; its *len
 * bytes are followed by more.  "" when it names none. */
const char *groat__key_maker(const char *identity, size_t *len);

/* The key: XXH3-128 of the identity text. */
groat__digest groat__key_of(const groat__str *identity);

#endif
