/* SPDX-License-Identifier: Apache-2.0
 *
 * code.h - expressions of a spec that are compiled into its kernel: a parameter
 * of type `code`.
 *
 * C's operators with C's precedence over 32-bit ints and floats: ?: || &&
 * == != < <= > >= + - * / % ! and unary -, parentheses, decimal numbers, inf,
 * and the functions
 *
 *   min(a, b) max(a, b) abs(a)      of ints and floats
 *   exp exp2 log log2 sqrt rsqrt sin cos tanh      of a float
 *   float(a) int(a)                 int() rounds towards 0; of a NaN it is 0
 *
 * Names are the inputs that params.def lists, or the user's own: NAME is a
 * float argument of the launch, NAME[index] an element of an array argument.
 * As in C, an int is converted where it meets a float.  On every target, ints
 * wrap around, division by 0 gives 0, and an element out of bounds is 0.
 */
#ifndef GROAT_SPEC_CODE_H
#define GROAT_SPEC_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "groat.h"

enum {
    GROAT__CODE_BYTES = 256, /* of a text without blanks, with its NUL */
    GROAT__CODE_NODES = 256, /* a node has a byte at least */
    GROAT__CODE_INPUTS = 8,
    GROAT__CODE_SCALARS = 8,
    GROAT__CODE_ARRAYS = 4
};

typedef enum groat__code_op {
    GROAT__CODE_NUMBER,
    GROAT__CODE_INPUT,   /* `which` of the inputs                     */
    GROAT__CODE_SCALAR,  /* `which` of the user's floats              */
    GROAT__CODE_ELEMENT, /* element of[0] of the user's array `which` */
    GROAT__CODE_CALL,    /* function `which` of of[0], of[1]          */
    GROAT__CODE_NEGATE,
    GROAT__CODE_NOT,
    GROAT__CODE_BINARY, /* operator `which` of of[0], of[1]   */
    GROAT__CODE_CHOOSE  /* of[0] ? of[1] : of[2]              */
} groat__code_op;

typedef struct groat__code_node {
    groat__code_op op;
    bool real; /* a float, else an int */
    unsigned which;
    unsigned of[3]; /* indices of earlier nodes */
    double number;
} groat__code_node;

typedef struct groat__code_name {
    const char *text; /* borrowed, not terminated */
    size_t len;
    bool real; /* for inputs: a float, else an int */
} groat__code_name;

/* A checked expression; borrows from its texts.  The last node is its value. */
typedef struct groat__code {
    groat__code_node nodes[GROAT__CODE_NODES];
    size_t count;
    groat__code_name inputs[GROAT__CODE_INPUTS];
    size_t input_count;
    groat__code_name scalars[GROAT__CODE_SCALARS]; /* in order of first use */
    size_t scalar_count;
    groat__code_name arrays[GROAT__CODE_ARRAYS];
    size_t array_count;
} groat__code;

/* Operators and functions, in the order of `which`. */
enum {
    GROAT__CODE_OR,
    GROAT__CODE_AND,
    GROAT__CODE_EQ,
    GROAT__CODE_NE,
    GROAT__CODE_LE,
    GROAT__CODE_GE,
    GROAT__CODE_LT,
    GROAT__CODE_GT,
    GROAT__CODE_ADD,
    GROAT__CODE_SUB,
    GROAT__CODE_MUL,
    GROAT__CODE_DIV,
    GROAT__CODE_MOD
};
enum {
    GROAT__CODE_MIN,
    GROAT__CODE_MAX,
    GROAT__CODE_ABS,
    GROAT__CODE_INT,
    GROAT__CODE_FLOAT,
    GROAT__CODE_EXP,
    GROAT__CODE_EXP2,
    GROAT__CODE_LOG,
    GROAT__CODE_LOG2,
    GROAT__CODE_SQRT,
    GROAT__CODE_RSQRT,
    GROAT__CODE_SIN,
    GROAT__CODE_COS,
    GROAT__CODE_TANH
};

/* Reads "score:float|q_pos:int".  Returns false if it is malformed. */
bool groat__code_inputs(const char *inputs, groat__code *out);

/* Parses text[0..len) with these inputs.  Errors: INVALID, with the column and
 * what was expected. */
groat_status groat__code_parse(const char *inputs, const char *text, size_t len,
                               groat__code *out, groat_error *error);

/* Appends the text without blanks, its canonical form. */
void groat__code_text(const char *text, size_t len, groat__str *out);

/* Appends the expression, as a float, in C++ over common/code.h; inputs are
 * members of `in`, and so are scalar(i) and element(i, index). */
void groat__code_write(const groat__code *code, groat__str *out);

/* The operands of an evaluation. */
typedef struct groat__code_values {
    double inputs[GROAT__CODE_INPUTS];
    float scalars[GROAT__CODE_SCALARS];
    const float *arrays[GROAT__CODE_ARRAYS];
    uint32_t counts[GROAT__CODE_ARRAYS]; /* elements */
} groat__code_values;

/* Evaluates the expression, with floats in float64. */
double groat__code_eval(const groat__code *code,
                        const groat__code_values *values);

#endif
