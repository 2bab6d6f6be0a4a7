/* SPDX-License-Identifier: Apache-2.0
 *
 * expr.h - integer expressions of params.def: defaults, derived constants,
 * rules and launch shapes.
 *
 * C operators with C precedence over 64-bit integers: ?: || && | ^ & == != <
 * <= > >= << >> + - * / % ! ~ and unary -, parentheses, decimal numbers, and
 * the functions min(a,b) max(a,b) abs(a) divup(a,b).  Overflow, division by
 * zero, shifts by less than 0 or more than 62 and shifts of negative numbers
 * are errors, never undefined.
 */
#ifndef GROAT_SPEC_EXPR_H
#define GROAT_SPEC_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "groat.h"

enum { GROAT__EXPR_STEPS = 320, GROAT__EXPR_DEPTH = 24 };

typedef struct groat__step {
    int op;
    int64_t value; /* constant, slot, or jump target */
} groat__step;

/* A compiled expression; owns its steps, but those of a family of the library.
 */
typedef struct groat__expr {
    const groat__step *steps;
    size_t count;
} groat__expr;

/* The meaning of a name: a slot of the values array or a constant. */
typedef struct groat__name {
    bool is_constant;
    int64_t value;
} groat__name;

/* Returns false if the name is unknown. */
typedef bool groat__name_fn(void *user, const char *name, size_t len,
                            groat__name *out);

/* Compiles text[0..len).  Errors: INVALID naming the column and what was
 * expected.  Free with groat__expr_free. */
groat_status groat__expr_compile(const char *text, size_t len,
                                 groat__name_fn *find, void *user,
                                 groat__expr *out, groat_error *error);
void groat__expr_free(groat__expr *expr);

/* Whether the step reads a slot (its number is the step's value). */
bool groat__expr_is_slot(const groat__step *step);

/* False on overflow, division by zero or a bad shift; *why tells which. */
bool groat__expr_eval(const groat__expr *expr, const int64_t *values,
                      int64_t *result, const char **why);

#endif
