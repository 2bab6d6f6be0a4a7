/* SPDX-License-Identifier: Apache-2.0
 *
 * args_struct.h - the fields of a family's launch arguments, read from args.h.
 */
#ifndef GROAT_CLI_FAMILY_ARGS_STRUCT_H
#define GROAT_CLI_FAMILY_ARGS_STRUCT_H

#include "groat.h"

enum { GROAT__ARGS_FIELDS = 64, GROAT__FIELD_NAME = 64 };

typedef enum groat__field_kind {
    GROAT__FIELD_SIGNED,
    GROAT__FIELD_UNSIGNED,
    GROAT__FIELD_FLOAT,
    GROAT__FIELD_MAP /* struct groat_tensor_map */
} groat__field_kind;

typedef struct groat__field {
    char name[GROAT__FIELD_NAME];
    groat__field_kind kind;
    size_t bytes;
    size_t at; /* byte offset in the structure */
} groat__field;

typedef struct groat__args_struct {
    groat__field fields[GROAT__ARGS_FIELDS];
    size_t count;
    size_t bytes; /* of the structure, its padding included */
} groat__args_struct;

/* Reads struct FAMILY_args from C source, or else its first struct.  Fields are
 * integers, float, double or struct groat_tensor_map, one or more per
 * declaration.  Errors: INVALID,
 * "FAMILY/args.h:N: what was expected, at '...'". */
groat_status groat__args_struct_read(const char *family, const char *text,
                                     groat__args_struct *out,
                                     groat_error *error);

#endif
