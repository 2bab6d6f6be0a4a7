/* SPDX-License-Identifier: Apache-2.0
 *
 * code_eval.c evaluates a checked expression on the host: ints as on the
 * device, floats in float64.  No state.
 */
#include "spec/code.h"

#include <math.h>

/* Wraps an int to 32 bits. */
static double wrapped(int64_t value)
{
    return (double)(int32_t)(uint32_t)(uint64_t)value;
}

static double towards_zero(double x)
{
    if (isnan(x))
        return 0;
    return x >= (double)INT32_MAX   ? (double)INT32_MAX
           : x <= (double)INT32_MIN ? (double)INT32_MIN
                                    : trunc(x) + 0.0; /* -0 is no int */
}

static double of_ints(unsigned which, int64_t a, int64_t b)
{
    switch (which) {
    case GROAT__CODE_ADD:
        return wrapped(a + b);
    case GROAT__CODE_SUB:
        return wrapped(a - b);
    case GROAT__CODE_MUL:
        return wrapped(a * b);
    case GROAT__CODE_DIV:
        return b == 0 ? 0 : wrapped(a / b);
    default:
        return b == 0 ? 0 : wrapped(a % b);
    }
}

static double of_floats(unsigned which, double a, double b)
{
    switch (which) {
    case GROAT__CODE_OR:
        return a != 0 || b != 0;
    case GROAT__CODE_AND:
        return a != 0 && b != 0;
    case GROAT__CODE_EQ:
        return a == b;
    case GROAT__CODE_NE:
        return a != b;
    case GROAT__CODE_LE:
        return a <= b;
    case GROAT__CODE_GE:
        return a >= b;
    case GROAT__CODE_LT:
        return a < b;
    case GROAT__CODE_GT:
        return a > b;
    case GROAT__CODE_ADD:
        return a + b;
    case GROAT__CODE_SUB:
        return a - b;
    case GROAT__CODE_MUL:
        return a * b;
    default:
        return a / b;
    }
}

static double call(const groat__code_node *n, double a, double b)
{
    switch (n->which) {
    case GROAT__CODE_MIN:
        return fmin(a, b);
    case GROAT__CODE_MAX:
        return fmax(a, b);
    case GROAT__CODE_ABS:
        return n->real ? fabs(a) : wrapped(a < 0 ? -(int64_t)a : (int64_t)a);
    case GROAT__CODE_INT:
        return towards_zero(a);
    case GROAT__CODE_FLOAT:
        return a;
    case GROAT__CODE_EXP:
        return exp(a);
    case GROAT__CODE_EXP2:
        return exp2(a);
    case GROAT__CODE_LOG:
        return log(a);
    case GROAT__CODE_LOG2:
        return log2(a);
    case GROAT__CODE_SQRT:
        return sqrt(a);
    case GROAT__CODE_RSQRT:
        return 1 / sqrt(a);
    case GROAT__CODE_SIN:
        return sin(a);
    case GROAT__CODE_COS:
        return cos(a);
    default:
        return tanh(a);
    }
}

static double element(const groat__code_values *v, unsigned which, double index)
{
    return index >= 0 && index < v->counts[which]
               ? (double)v->arrays[which][(uint32_t)index]
               : 0;
}

static double value_of(const groat__code *c, const groat__code_values *v,
                       const groat__code_node *n, const double *known)
{
    double a = known[n->of[0]], b = known[n->of[1]];
    bool ints = !c->nodes[n->of[0]].real && !c->nodes[n->of[1]].real;

    switch (n->op) {
    case GROAT__CODE_NUMBER:
        return n->number;
    case GROAT__CODE_INPUT:
        return v->inputs[n->which];
    case GROAT__CODE_SCALAR:
        return (double)v->scalars[n->which];
    case GROAT__CODE_ELEMENT:
        return element(v, n->which, a);
    case GROAT__CODE_CALL:
        return call(n, a, b);
    case GROAT__CODE_NEGATE:
        return n->real ? -a : wrapped(-(int64_t)a);
    case GROAT__CODE_NOT:
        return a == 0;
    case GROAT__CODE_CHOOSE:
        return a != 0 ? b : known[n->of[2]];
    default:
        return ints && n->which >= GROAT__CODE_ADD
                   ? of_ints(n->which, (int64_t)a, (int64_t)b)
                   : of_floats(n->which, a, b);
    }
}

double groat__code_eval(const groat__code *code,
                        const groat__code_values *values)
{
    double known[GROAT__CODE_NODES] = {0};

    for (size_t i = 0; i < code->count; i++)
        known[i] = value_of(code, values, &code->nodes[i], known);
    return known[code->count - 1];
}
