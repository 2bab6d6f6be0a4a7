/* SPDX-License-Identifier: Apache-2.0
 *
 * code_write.c writes a checked expression as C++.  Int arithmetic goes through
 * functions of common/code.h, since overflow and division by 0 are undefined in
 * C++.  No state.
 */
#include "spec/code.h"

#include <math.h>
#include <string.h>

static void write_node(const groat__code *c, unsigned node, groat__str *out);

/* Writes the node, converted to a float if real is set. */
static void write_as(const groat__code *c, unsigned node, bool real,
                     groat__str *out)
{
    bool turn = real && !c->nodes[node].real;

    if (turn)
        groat__str_add(out, "static_cast<float>(");
    write_node(c, node, out);
    if (turn)
        groat__str_add(out, ")");
}

static void write_call(const groat__code *c, const char *function,
                       const unsigned *of, unsigned count, bool real,
                       groat__str *out)
{
    groat__str_addf(out, "%s(", function);
    for (unsigned i = 0; i < count; i++) {
        if (i > 0)
            groat__str_add(out, ", ");
        write_as(c, of[i], real, out);
    }
    groat__str_add(out, ")");
}

static void write_number(const groat__code_node *n, groat__str *out)
{
    groat__str digits = {0};

    if (!n->real) {
        groat__str_add_int(out, (int64_t)n->number);
        return;
    }
    if (isinf(n->number)) {
        groat__str_add(out, "bits_float(0x7f800000u)");
        return;
    }
    groat__str_addf(&digits, "%.9g", n->number);
    if (!digits.failed) {
        char *comma = strchr(digits.data, ','); /* from the locale */

        if (comma != NULL)
            *comma = '.';
        groat__str_addf(out, "%s%sf", digits.data,
                        strpbrk(digits.data, ".e") == NULL ? ".0" : "");
    }
    out->failed = out->failed || digits.failed;
    groat__str_free(&digits);
}

/* Writes an operator, which has its own blanks, between two nodes. */
static void write_between(const groat__code *c, const char *sign,
                          const groat__code_node *n, bool real, groat__str *out)
{
    groat__str_add(out, "(");
    write_as(c, n->of[0], real, out);
    groat__str_add(out, sign);
    write_as(c, n->of[1], real, out);
    groat__str_add(out, ")");
}

static void write_binary(const groat__code *c, const groat__code_node *n,
                         groat__str *out)
{
    static const char *const signs[] = {
        [GROAT__CODE_OR] = " != 0 || ", [GROAT__CODE_AND] = " != 0 && ",
        [GROAT__CODE_EQ] = " == ",      [GROAT__CODE_NE] = " != ",
        [GROAT__CODE_LE] = " <= ",      [GROAT__CODE_GE] = " >= ",
        [GROAT__CODE_LT] = " < ",       [GROAT__CODE_GT] = " > ",
        [GROAT__CODE_ADD] = " + ",      [GROAT__CODE_SUB] = " - ",
        [GROAT__CODE_MUL] = " * ",      [GROAT__CODE_DIV] = " / "};
    static const char *const of_ints[] = {[GROAT__CODE_ADD] = "code_add",
                                          [GROAT__CODE_SUB] = "code_sub",
                                          [GROAT__CODE_MUL] = "code_mul",
                                          [GROAT__CODE_DIV] = "code_div",
                                          [GROAT__CODE_MOD] = "code_mod"};
    bool real = c->nodes[n->of[0]].real || c->nodes[n->of[1]].real;

    if (n->which >= GROAT__CODE_ADD && !real) {
        write_call(c, of_ints[n->which], n->of, 2, false, out);
    } else if (n->which >= GROAT__CODE_ADD) {
        write_between(c, signs[n->which], n, true, out);
    } else if (n->which >= GROAT__CODE_EQ) {
        groat__str_add(out, "static_cast<int>");
        write_between(c, signs[n->which], n, real, out);
    } else {
        groat__str_add(out, "static_cast<int>((");
        write_node(c, n->of[0], out);
        groat__str_add(out, signs[n->which]);
        write_node(c, n->of[1], out);
        groat__str_add(out, " != 0))");
    }
}

static void write_function(const groat__code *c, const groat__code_node *n,
                           groat__str *out)
{
    static const char *const names[] = {
        [GROAT__CODE_MIN] = "code_min", [GROAT__CODE_MAX] = "code_max",
        [GROAT__CODE_ABS] = "code_abs", [GROAT__CODE_INT] = "code_int",
        [GROAT__CODE_FLOAT] = "float",  [GROAT__CODE_EXP] = "code_exp",
        [GROAT__CODE_EXP2] = "exp2",    [GROAT__CODE_LOG] = "code_log",
        [GROAT__CODE_LOG2] = "log2",    [GROAT__CODE_SQRT] = "sqrt",
        [GROAT__CODE_RSQRT] = "rsqrt",  [GROAT__CODE_SIN] = "sin",
        [GROAT__CODE_COS] = "cos",      [GROAT__CODE_TANH] = "tanh"};
    unsigned count = n->which <= GROAT__CODE_MAX ? 2 : 1;
    bool real = n->real || n->which == GROAT__CODE_INT;

    write_call(c, names[n->which], n->of, count, real, out);
}

static void write_name(const groat__code *c, const groat__code_node *n,
                       groat__str *out)
{
    const groat__code_name *input = &c->inputs[n->which];

    if (n->op == GROAT__CODE_INPUT)
        groat__str_addf(out, "in.%.*s", (int)input->len, input->text);
    else if (n->op == GROAT__CODE_SCALAR)
        groat__str_addf(out, "in.scalar(%u)", n->which);
    else {
        groat__str_addf(out, "in.element(%u, ", n->which);
        write_node(c, n->of[0], out);
        groat__str_add(out, ")");
    }
}

static void write_node(const groat__code *c, unsigned node, groat__str *out)
{
    const groat__code_node *n = &c->nodes[node];

    switch (n->op) {
    case GROAT__CODE_NUMBER:
        write_number(n, out);
        break;
    case GROAT__CODE_CALL:
        write_function(c, n, out);
        break;
    case GROAT__CODE_NEGATE:
        groat__str_add(out, n->real ? "(-" : "code_sub(0, ");
        write_node(c, n->of[0], out);
        groat__str_add(out, ")");
        break;
    case GROAT__CODE_NOT:
        groat__str_add(out, "static_cast<int>(");
        write_node(c, n->of[0], out);
        groat__str_add(out, " == 0)");
        break;
    case GROAT__CODE_BINARY:
        write_binary(c, n, out);
        break;
    case GROAT__CODE_CHOOSE:
        groat__str_add(out, "(");
        write_node(c, n->of[0], out);
        groat__str_add(out, " != 0 ? ");
        write_as(c, n->of[1], n->real, out);
        groat__str_add(out, " : ");
        write_as(c, n->of[2], n->real, out);
        groat__str_add(out, ")");
        break;
    default:
        write_name(c, n, out);
    }
}

void groat__code_write(const groat__code *code, groat__str *out)
{
    write_as(code, (unsigned)code->count - 1, true, out);
}
