/* SPDX-License-Identifier: Apache-2.0
 *
 * code.c parses and checks the expressions of code.h.  The text itself never
 * goes into a kernel: code_write.c writes the parsed tree as C++.
 * Invariant: a node's operands come before it.  No state.
 */
#include "spec/code.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "spec/scan.h"

enum { SHOWN_MAX = 120 };

typedef struct parser {
    groat__scan scan;
    groat__code *out;
} parser;

static const struct {
    const char *text;
    unsigned level; /* a higher one binds tighter */
} operators[] = {
    [GROAT__CODE_OR] = {"||", 1}, [GROAT__CODE_AND] = {"&&", 2},
    [GROAT__CODE_EQ] = {"==", 3}, [GROAT__CODE_NE] = {"!=", 3},
    [GROAT__CODE_LE] = {"<=", 4}, [GROAT__CODE_GE] = {">=", 4},
    [GROAT__CODE_LT] = {"<", 4},  [GROAT__CODE_GT] = {">", 4},
    [GROAT__CODE_ADD] = {"+", 5}, [GROAT__CODE_SUB] = {"-", 5},
    [GROAT__CODE_MUL] = {"*", 6}, [GROAT__CODE_DIV] = {"/", 6},
    [GROAT__CODE_MOD] = {"%", 6},
};

/* The type of a function's result. */
typedef enum kind { SAME, TO_INT, TO_REAL } kind;

static const struct {
    const char *name;
    unsigned operands;
    kind gives;
} functions[] = {
    [GROAT__CODE_MIN] = {"min", 2, SAME},
    [GROAT__CODE_MAX] = {"max", 2, SAME},
    [GROAT__CODE_ABS] = {"abs", 1, SAME},
    [GROAT__CODE_INT] = {"int", 1, TO_INT},
    [GROAT__CODE_FLOAT] = {"float", 1, TO_REAL},
    [GROAT__CODE_EXP] = {"exp", 1, TO_REAL},
    [GROAT__CODE_EXP2] = {"exp2", 1, TO_REAL},
    [GROAT__CODE_LOG] = {"log", 1, TO_REAL},
    [GROAT__CODE_LOG2] = {"log2", 1, TO_REAL},
    [GROAT__CODE_SQRT] = {"sqrt", 1, TO_REAL},
    [GROAT__CODE_RSQRT] = {"rsqrt", 1, TO_REAL},
    [GROAT__CODE_SIN] = {"sin", 1, TO_REAL},
    [GROAT__CODE_COS] = {"cos", 1, TO_REAL},
    [GROAT__CODE_TANH] = {"tanh", 1, TO_REAL},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static unsigned parse_choice(parser *p);

/* ---- characters ---------------------------------------------------------- */

static void expect(parser *p, const char *token, const char *why)
{
    if (p->scan.failure == NULL && !groat__scan_take(&p->scan, token))
        groat__scan_fail(&p->scan, why);
}

/* ---- nodes --------------------------------------------------------------- */

static bool is_real(const parser *p, unsigned node)
{
    return p->out->nodes[node].real;
}

static unsigned add(parser *p, groat__code_node node)
{
    if (p->out->count == GROAT__CODE_NODES)
        groat__scan_fail(&p->scan, "the expression is too long");
    if (p->scan.failure != NULL)
        return 0;
    p->out->nodes[p->out->count] = node;
    return (unsigned)p->out->count++;
}

static unsigned add_pair(parser *p, groat__code_op op, unsigned which,
                         bool real, unsigned a, unsigned b)
{
    return add(p, (groat__code_node){
                      .op = op, .real = real, .which = which, .of = {a, b, 0}});
}

/* ---- numbers and names --------------------------------------------------- */

/* Reads digits; false if there is none. */
static bool take_digits(parser *p, long double *value, int *count)
{
    *count = 0;
    for (; groat__is_digit(groat__scan_next(&p->scan)); p->scan.at++, ++*count)
        *value = *value * 10 + (groat__scan_next(&p->scan) - '0');
    return *count > 0;
}

/* Reads "e-3"; 0 if there is no exponent. */
static int take_exponent(parser *p)
{
    long double value = 0;
    bool negative;
    int digits;

    if (groat__scan_next(&p->scan) != 'e' && groat__scan_next(&p->scan) != 'E')
        return 0;
    p->scan.at++;
    negative = groat__scan_next(&p->scan) == '-';
    if (negative || groat__scan_next(&p->scan) == '+')
        p->scan.at++;
    if (!take_digits(p, &value, &digits) || value > 99)
        groat__scan_fail(&p->scan, "an exponent of one or two digits expected");
    return p->scan.failure != NULL ? 0 : negative ? -(int)value : (int)value;
}

static unsigned parse_number(parser *p)
{
    groat__code_node node = {.op = GROAT__CODE_NUMBER};
    long double value = 0;
    size_t start = p->scan.at;
    int digits, behind = 0;
    bool some = take_digits(p, &value, &digits);

    if (groat__scan_next(&p->scan) == '.') {
        p->scan.at++;
        some = take_digits(p, &value, &behind) || some;
        node.real = true;
    }
    if (groat__scan_next(&p->scan) == 'e' || groat__scan_next(&p->scan) == 'E')
        node.real = true;
    value *= powl(10, take_exponent(p) - behind);
    if (node.real && groat__scan_next(&p->scan) == 'f')
        p->scan.at++;
    node.number = node.real ? (double)(float)value : (double)value;
    if (!some || groat__is_word(groat__scan_next(&p->scan)) ||
        groat__scan_next(&p->scan) == '.')
        groat__scan_fail(&p->scan, "a decimal number expected");
    else if (node.real ? !isfinite(node.number) : node.number > INT32_MAX)
        groat__scan_fail(&p->scan, "the number is too large");
    if (p->scan.failure != NULL)
        p->scan.at = start;
    return add(p, node);
}

static bool is_name(const groat__code_name *name, const char *text, size_t len)
{
    return name->len == len && memcmp(name->text, text, len) == 0;
}

static size_t find(const groat__code_name *names, size_t count,
                   const char *text, size_t len)
{
    size_t i = 0;

    while (i < count && !is_name(&names[i], text, len))
        i++;
    return i;
}

/* The index of a user's name, which is added at its first use. */
static unsigned number_of(parser *p, groat__code_name *names, size_t *count,
                          size_t most, const char *text, size_t len,
                          const char *why)
{
    size_t i = find(names, *count, text, len);

    if (i == most)
        groat__scan_fail(&p->scan, why);
    else if (i == *count)
        names[(*count)++] = (groat__code_name){text, len, true};
    return (unsigned)i;
}

static unsigned parse_element(parser *p, const char *name, size_t len)
{
    groat__code *c = p->out;
    unsigned which, index;

    if (find(c->scalars, c->scalar_count, name, len) < c->scalar_count ||
        find(c->inputs, c->input_count, name, len) < c->input_count)
        groat__scan_fail(&p->scan, "this name is no array");
    which = number_of(p, c->arrays, &c->array_count, GROAT__CODE_ARRAYS, name,
                      len, "there are more than 4 arrays");
    index = parse_choice(p);
    if (p->scan.failure == NULL && is_real(p, index))
        groat__scan_fail(&p->scan, "the index is no int; int(...) makes one");
    expect(p, "]", "']' expected");
    return add_pair(p, GROAT__CODE_ELEMENT, which, true, index, 0);
}

static unsigned parse_call(parser *p, unsigned which)
{
    unsigned of[2] = {0, 0};
    bool real = functions[which].gives == TO_REAL;

    for (unsigned i = 0; i < functions[which].operands; i++) {
        if (i > 0)
            expect(p, ",", "',' expected");
        of[i] = parse_choice(p);
        if (functions[which].gives == SAME && p->scan.failure == NULL)
            real = real || is_real(p, of[i]);
    }
    expect(p, ")", "')' expected");
    return add_pair(p, GROAT__CODE_CALL, which, real, of[0], of[1]);
}

static unsigned parse_name(parser *p)
{
    const char *name = p->scan.text + p->scan.at;
    groat__code *c = p->out;
    size_t start = p->scan.at, len = 0, i;

    for (; groat__is_word(groat__scan_next(&p->scan)); p->scan.at++)
        len++;
    for (unsigned f = 0; f < COUNT(functions); f++)
        if (groat__is_text(name, len, functions[f].name)) {
            expect(p, "(", "this is a function: '(' expected");
            return parse_call(p, f);
        }
    if (groat__scan_take(&p->scan, "(")) {
        p->scan.at = start;
        groat__scan_fail(
            &p->scan,
            "there is no such function; there are min max abs int float "
            "exp exp2 log log2 sqrt rsqrt sin cos tanh");
    }
    if (len == 3 && memcmp(name, "inf", 3) == 0)
        return add(p, (groat__code_node){.op = GROAT__CODE_NUMBER,
                                         .real = true,
                                         .number = (double)INFINITY});
    if (groat__scan_take(&p->scan, "["))
        return parse_element(p, name, len);
    i = find(c->inputs, c->input_count, name, len);
    if (i < c->input_count)
        return add_pair(p, GROAT__CODE_INPUT, (unsigned)i, c->inputs[i].real, 0,
                        0);
    if (find(c->arrays, c->array_count, name, len) < c->array_count)
        groat__scan_fail(&p->scan, "this name is an array: '[' expected");
    i = number_of(p, c->scalars, &c->scalar_count, GROAT__CODE_SCALARS, name,
                  len, "there are more than 8 names of floats");
    return add_pair(p, GROAT__CODE_SCALAR, (unsigned)i, true, 0, 0);
}

/* ---- operators ----------------------------------------------------------- */

static unsigned parse_unary(parser *p)
{
    unsigned node = 0;

    if (!groat__scan_descend(&p->scan))
        return 0;
    groat__scan_blanks(&p->scan);
    if (groat__scan_take(&p->scan, "-")) {
        node = parse_unary(p);
        node = add_pair(p, GROAT__CODE_NEGATE, 0, is_real(p, node), node, 0);
    } else if (groat__scan_take(&p->scan, "!")) {
        node = add_pair(p, GROAT__CODE_NOT, 0, false, parse_unary(p), 0);
    } else if (groat__scan_take(&p->scan, "(")) {
        node = parse_choice(p);
        expect(p, ")", "')' expected");
    } else if (groat__is_digit(groat__scan_next(&p->scan)) ||
               groat__scan_next(&p->scan) == '.') {
        node = parse_number(p);
    } else if (groat__is_word(groat__scan_next(&p->scan))) {
        node = parse_name(p);
    } else {
        groat__scan_fail(&p->scan,
                         "a number, a name, a function or '(' expected");
    }
    p->scan.nesting--;
    return node;
}

/* The operator at this place if it binds at least as tight as level, else
 * COUNT. */
static unsigned peek(parser *p, unsigned level)
{
    groat__scan_blanks(&p->scan);
    for (unsigned i = 0; i < COUNT(operators); i++) {
        size_t len = strlen(operators[i].text);

        if (p->scan.len - p->scan.at >= len &&
            memcmp(p->scan.text + p->scan.at, operators[i].text, len) == 0)
            return operators[i].level >= level ? i : COUNT(operators);
    }
    return COUNT(operators);
}

static unsigned parse_binary(parser *p, unsigned level)
{
    unsigned node = parse_unary(p);
    unsigned which;

    while (p->scan.failure == NULL &&
           (which = peek(p, level)) < COUNT(operators)) {
        unsigned right;
        bool real;

        p->scan.at += strlen(operators[which].text);
        right = parse_binary(p, operators[which].level + 1);
        if (p->scan.failure != NULL)
            break;
        real = is_real(p, node) || is_real(p, right);
        if (which == GROAT__CODE_MOD && real)
            groat__scan_fail(&p->scan, "'%' is of ints");
        node = add_pair(p, GROAT__CODE_BINARY, which,
                        real && which >= GROAT__CODE_ADD, node, right);
    }
    return node;
}

static unsigned parse_choice(parser *p)
{
    groat__code_node node = {.op = GROAT__CODE_CHOOSE};

    if (!groat__scan_descend(&p->scan))
        return 0;
    node.of[0] = parse_binary(p, 1);
    if (p->scan.failure == NULL && groat__scan_take(&p->scan, "?")) {
        node.of[1] = parse_choice(p);
        expect(p, ":", "':' expected");
        node.of[2] = parse_choice(p);
        node.real = p->scan.failure == NULL &&
                    (is_real(p, node.of[1]) || is_real(p, node.of[2]));
        node.of[0] = add(p, node);
    }
    p->scan.nesting--;
    return node.of[0];
}

/* ---- the whole ----------------------------------------------------------- */

bool groat__code_inputs(const char *inputs, groat__code *out)
{
    out->input_count = 0;
    for (const char *at = inputs;; at++) {
        size_t len = strcspn(at, ":|");
        size_t type = at[len] == ':' ? strcspn(at + len + 1, "|") : 0;
        bool real = type == 5 && memcmp(at + len + 1, "float", 5) == 0;

        if (len == 0 || out->input_count == GROAT__CODE_INPUTS ||
            !(real || (type == 3 && memcmp(at + len + 1, "int", 3) == 0)))
            return false;
        for (size_t i = 0; i < len; i++)
            if (!groat__is_word(at[i]) || (i == 0 && groat__is_digit(at[i])))
                return false;
        out->inputs[out->input_count++] = (groat__code_name){at, len, real};
        at += len + 1 + type;
        if (*at == '\0')
            return true;
    }
}

groat_status groat__code_parse(const char *inputs, const char *text, size_t len,
                               groat__code *out, groat_error *error)
{
    parser p = {.scan = {.text = text, .len = len, .blanks = " \t"},
                .out = out};

    memset(out, 0, sizeof(*out));
    if (!groat__code_inputs(inputs, out))
        return groat__fail(error, GROAT_INVALID,
                           "the inputs '%.48s' are malformed", inputs);
    (void)parse_choice(&p);
    groat__scan_blanks(&p.scan);
    if (p.scan.failure == NULL && p.scan.at < len)
        groat__scan_fail(&p.scan, "an operator or the end expected");
    if (p.scan.failure != NULL)
        return groat__fail(error, GROAT_INVALID,
                           "expression '%.*s', column %zu: %s",
                           (int)(len < SHOWN_MAX ? len : SHOWN_MAX), text,
                           p.scan.at + 1, p.scan.failure);
    return GROAT_OK;
}

void groat__code_text(const char *text, size_t len, groat__str *out)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != ' ' && text[i] != '\t')
            groat__str_addn(out, text + i, 1);
}
