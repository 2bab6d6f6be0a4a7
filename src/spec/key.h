/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_KEY_H
#define GROAT_SPEC_KEY_H

#include "base/str.h"
#include "spec/param.h"

/* Fills the parts that all identity texts of a family share. */
groat_status groat__key_prepare(groat_family *family, groat_error *error);

/* Appends the identity text: everything that shapes a binary, one field per
 * line, without paths and times.  compiler is the text from
 * groat__compiler.identify for the target's arch. */
void groat__key_identity(const groat__params *params, const char *compiler,
                         groat__str *out);

/* How the identity of a tuned choice begins; its lines are those of
 * attention/tuned.c. */
#define GROAT__TUNED_LEAD "groat-tuned 1\n"

/* Reverse: appends the spec's canonical text and the target of an identity (the
 * target alone for a tuned choice); false if it is malformed. */
bool groat__key_read(const char *identity, groat__str *spec,
                     groat__str *target);

/* The compiler's lines of an identity; "" if it has none. */
const char *groat__key_second_half(const char *identity);

/* The number of bytes of an identity's first half; all of them if it names no
 * compiler. */
size_t groat__key_wanted(const char *identity);

/* The compiler that an identity names, as in "nvrtc 13.0 build ...": *len
 * bytes, not terminated.  "" if it names none. */
const char *groat__key_maker(const char *identity, size_t *len);

/* The key: XXH3-128 of the identity text. */
groat__digest groat__key_of(const groat__str *identity);

#endif
