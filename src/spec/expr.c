/* SPDX-License-Identifier: Apache-2.0
 *
 * expr.c compiles the integer expressions of params.def to a short program
 * for a stack machine and runs it.  Names are resolved once, at compile time,
 * so that checking the rules of a changed spec costs about a microsecond.
 * Invariant: a compiled program never needs more than GROAT__EXPR_DEPTH
 * values; compile counts them.  No state, no locking.
 */
#include "spec/expr.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "spec/scan.h"

enum {
    OP_CONST,
    OP_SLOT,
    OP_NEG,
    OP_NOT,
    OP_INV,
    OP_ABS,
    OP_BOOL,
    OP_JUMP,
    OP_JUMP_FALSE, /* pops */
    OP_AND,        /* jumps, keeping 0, when the top is false; else pops */
    OP_OR,         /* jumps, keeping 1, when the top is true; else pops */
    OP_BINARY      /* from here on: two operands */
};

enum {
    BIN_ADD = OP_BINARY,
    BIN_SUB,
    BIN_MUL,
    BIN_DIV,
    BIN_MOD,
    BIN_SHL,
    BIN_SHR,
    BIN_LT,
    BIN_LE,
    BIN_GT,
    BIN_GE,
    BIN_EQ,
    BIN_NE,
    BIN_BITAND,
    BIN_BITXOR,
    BIN_BITOR,
    BIN_MIN,
    BIN_MAX,
    BIN_DIVUP
};

enum { SHOWN_MAX = 200 }; /* bytes of an expression in messages */

typedef struct parser {
    groat__scan scan;
    groat__name_fn *find;
    void *user;
    groat__step steps[GROAT__EXPR_STEPS];
    size_t count;
    int depth; /* values on the stack after the steps so far */
} parser;

typedef struct binary {
    const char *text;
    int op;
    int level;
} binary;

/* Longer operators first, so that "<<" is not read as "<". */
static const binary binaries[] = {
    {"==", BIN_EQ, 4},   {"!=", BIN_NE, 4},    {"<<", BIN_SHL, 6},
    {">>", BIN_SHR, 6},  {"<=", BIN_LE, 5},    {">=", BIN_GE, 5},
    {"<", BIN_LT, 5},    {">", BIN_GT, 5},     {"+", BIN_ADD, 7},
    {"-", BIN_SUB, 7},   {"*", BIN_MUL, 8},    {"/", BIN_DIV, 8},
    {"%", BIN_MOD, 8},   {"&", BIN_BITAND, 3}, {"^", BIN_BITXOR, 2},
    {"|", BIN_BITOR, 1},
};

static void parse_ternary(parser *p);

static size_t emit(parser *p, int op, int64_t value, int change)
{
    if (p->count == GROAT__EXPR_STEPS) {
        groat__scan_fail(&p->scan, "the expression is too long");
        return 0;
    }
    p->depth += change;
    if (p->depth > GROAT__EXPR_DEPTH)
        groat__scan_fail(&p->scan, "the expression is nested too deeply");
    p->steps[p->count].op = op;
    p->steps[p->count].value = value;
    return p->count++;
}

static void parse_number(parser *p)
{
    int64_t value = 0;

    for (; groat__is_digit(groat__scan_next(&p->scan)); p->scan.at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, groat__scan_next(&p->scan) - '0',
                                   &value)) {
            groat__scan_fail(&p->scan, "a number is too large");
            return;
        }
    emit(p, OP_CONST, value, 1);
}

static void parse_call(parser *p, int op, bool two)
{
    parse_ternary(p);
    if (two) {
        if (!groat__scan_take(&p->scan, ","))
            groat__scan_fail(&p->scan, "',' expected");
        parse_ternary(p);
    }
    if (!groat__scan_take(&p->scan, ")"))
        groat__scan_fail(&p->scan, "')' expected");
    emit(p, op, 0, two ? -1 : 0);
}

static void parse_name(parser *p)
{
    static const struct {
        const char *name;
        int op;
        bool two;
    } calls[] = {{"min", BIN_MIN, true},
                 {"max", BIN_MAX, true},
                 {"divup", BIN_DIVUP, true},
                 {"abs", OP_ABS, false}};
    const char *name = p->scan.text + p->scan.at;
    groat__name found;
    size_t len = 0;

    for (; groat__is_word(groat__scan_next(&p->scan)); p->scan.at++)
        len++;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (groat__is_text(name, len, calls[i].name) &&
            groat__scan_take(&p->scan, "(")) {
            parse_call(p, calls[i].op, calls[i].two);
            return;
        }
    if (!p->find(p->user, name, len, &found)) {
        p->scan.at -= len;
        groat__scan_fail(&p->scan, "unknown name");
        return;
    }
    emit(p, found.is_constant ? OP_CONST : OP_SLOT, found.value, 1);
}

static void parse_unary(parser *p)
{
    static const struct {
        const char *text;
        int op;
    } prefixes[] = {{"-", OP_NEG}, {"!", OP_NOT}, {"~", OP_INV}};

    if (!groat__scan_descend(&p->scan))
        return;
    groat__scan_blanks(&p->scan);
    for (size_t i = 0; i < 3; i++)
        if (groat__scan_take(&p->scan, prefixes[i].text)) {
            parse_unary(p);
            emit(p, prefixes[i].op, 0, 0);
            goto done;
        }
    if (groat__scan_take(&p->scan, "(")) {
        parse_ternary(p);
        if (!groat__scan_take(&p->scan, ")"))
            groat__scan_fail(&p->scan, "')' expected");
    } else if (groat__is_digit(groat__scan_next(&p->scan))) {
        parse_number(p);
    } else if (groat__is_word(groat__scan_next(&p->scan))) {
        parse_name(p);
    } else {
        groat__scan_fail(&p->scan, "a number, a name or '(' expected");
    }
done:
    p->scan.nesting--;
}

static const binary *peek_binary(parser *p, int level)
{
    groat__scan_blanks(&p->scan);
    for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++) {
        const binary *b = &binaries[i];
        size_t len = strlen(b->text);

        if (p->scan.len - p->scan.at < len ||
            memcmp(p->scan.text + p->scan.at, b->text, len) != 0)
            continue;
        /* parse_and() and parse_or() take "&&" and "||". */
        if (len == 1 && p->scan.len - p->scan.at > 1 &&
            (b->text[0] == '&' || b->text[0] == '|') &&
            p->scan.text[p->scan.at + 1] == b->text[0])
            return NULL;
        return b->level >= level ? b : NULL;
    }
    return NULL;
}

static void parse_binary(parser *p, int level)
{
    const binary *b;

    parse_unary(p);
    while (p->scan.failure == NULL && (b = peek_binary(p, level)) != NULL) {
        p->scan.at += strlen(b->text);
        parse_binary(p, b->level + 1);
        emit(p, b->op, 0, -1);
    }
}

static void parse_and(parser *p)
{
    parse_binary(p, 1);
    while (p->scan.failure == NULL && groat__scan_take(&p->scan, "&&")) {
        size_t jump = emit(p, OP_AND, 0, -1);

        parse_binary(p, 1);
        emit(p, OP_BOOL, 0, 0);
        p->steps[jump].value = (int64_t)p->count;
    }
}

static void parse_or(parser *p)
{
    parse_and(p);
    while (p->scan.failure == NULL && groat__scan_take(&p->scan, "||")) {
        size_t jump = emit(p, OP_OR, 0, -1);

        parse_and(p);
        emit(p, OP_BOOL, 0, 0);
        p->steps[jump].value = (int64_t)p->count;
    }
}

static void parse_ternary(parser *p)
{
    size_t to_else;
    size_t to_end;

    if (!groat__scan_descend(&p->scan))
        return;
    parse_or(p);
    if (p->scan.failure == NULL && groat__scan_take(&p->scan, "?")) {
        to_else = emit(p, OP_JUMP_FALSE, 0, -1);
        parse_ternary(p);
        if (!groat__scan_take(&p->scan, ":"))
            groat__scan_fail(&p->scan, "':' expected");
        to_end = emit(p, OP_JUMP, 0, -1);
        p->steps[to_else].value = (int64_t)p->count;
        parse_ternary(p);
        p->steps[to_end].value = (int64_t)p->count;
    }
    p->scan.nesting--;
}

/* Tells of the expression, the column, and the word that is there. */
static groat_status fail_at(const groat__scan *scan, groat_error *error)
{
    const char *word = scan->text + scan->at;
    size_t len = 0;

    while (scan->at + len < scan->len && len < 32 && groat__is_word(word[len]))
        len++;
    return groat__fail(
        error, GROAT_INVALID, "expression '%.*s', column %zu: %s%s%.*s%s",
        (int)(scan->len < SHOWN_MAX ? scan->len : SHOWN_MAX), scan->text,
        scan->at + 1, scan->failure, len > 0 ? ", at '" : "", (int)len, word,
        len > 0 ? "'" : "");
}

groat_status groat__expr_compile(const char *text, size_t len,
                                 groat__name_fn *find, void *user,
                                 groat__expr *out, groat_error *error)
{
    parser p = {.scan = {.text = text, .len = len, .blanks = " \t\n"},
                .find = find,
                .user = user};
    groat__step *steps;

    parse_ternary(&p);
    groat__scan_blanks(&p.scan);
    if (p.scan.failure == NULL && p.scan.at < p.scan.len)
        groat__scan_fail(&p.scan, "an operator or the end expected");
    if (p.scan.failure != NULL)
        return fail_at(&p.scan, error);
    steps = malloc(p.count * sizeof(*steps));
    if (steps == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for expressions");
    memcpy(steps, p.steps, p.count * sizeof(*steps));
    out->steps = steps;
    out->count = p.count;
    return GROAT_OK;
}

bool groat__expr_is_slot(const groat__step *step)
{
    return step->op == OP_SLOT;
}

void groat__expr_free(groat__expr *expr)
{
    free((void *)(uintptr_t)expr->steps);
    expr->steps = NULL;
    expr->count = 0;
}

static bool divide(int op, int64_t a, int64_t b, int64_t *out, const char **why)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        *why = b == 0 ? "division by zero" : "a number out of range";
        return false;
    }
    *out = op == BIN_MOD ? a % b : a / b;
    if (op == BIN_DIVUP && a % b != 0 && (a > 0) == (b > 0))
        *out += 1;
    return true;
}

static bool shift(int op, int64_t a, int64_t b, int64_t *out, const char **why)
{
    if (b < 0 || b > 62 || a < 0 || (op == BIN_SHL && a > INT64_MAX >> b)) {
        *why = "a shift out of range";
        return false;
    }
    *out = op == BIN_SHL ? a << b : a >> b;
    return true;
}

static bool apply(int op, int64_t a, int64_t b, int64_t *out, const char **why)
{
    bool overflow = false;

    switch (op) {
    case BIN_ADD:
        overflow = __builtin_add_overflow(a, b, out);
        break;
    case BIN_SUB:
        overflow = __builtin_sub_overflow(a, b, out);
        break;
    case BIN_MUL:
        overflow = __builtin_mul_overflow(a, b, out);
        break;
    case BIN_DIV:
    case BIN_MOD:
    case BIN_DIVUP:
        return divide(op, a, b, out, why);
    case BIN_SHL:
    case BIN_SHR:
        return shift(op, a, b, out, why);
    case BIN_LT:
        *out = a < b;
        break;
    case BIN_LE:
        *out = a <= b;
        break;
    case BIN_GT:
        *out = a > b;
        break;
    case BIN_GE:
        *out = a >= b;
        break;
    case BIN_EQ:
        *out = a == b;
        break;
    case BIN_NE:
        *out = a != b;
        break;
    case BIN_BITAND:
        *out = a & b;
        break;
    case BIN_BITXOR:
        *out = a ^ b;
        break;
    case BIN_BITOR:
        *out = a | b;
        break;
    case BIN_MIN:
        *out = a < b ? a : b;
        break;
    default:
        *out = a > b ? a : b;
        break;
    }
    if (overflow)
        *why = "a number out of range";
    return !overflow;
}

static bool apply_unary(int op, int64_t *top, const char **why)
{
    if ((op == OP_NEG || op == OP_ABS) && *top == INT64_MIN) {
        *why = "a number out of range";
        return false;
    }
    if (op == OP_NEG)
        *top = -*top;
    else if (op == OP_ABS)
        *top = *top < 0 ? -*top : *top;
    else if (op == OP_NOT)
        *top = !*top;
    else if (op == OP_INV)
        *top = ~*top;
    else
        *top = *top != 0;
    return true;
}

bool groat__expr_eval(const groat__expr *expr, const int64_t *values,
                      int64_t *result, const char **why)
{
    int64_t stack[GROAT__EXPR_DEPTH + 1];
    size_t top = 0; /* values on the stack */

    for (size_t i = 0; i < expr->count; i++) {
        const groat__step *step = &expr->steps[i];

        if (step->op == OP_CONST) {
            stack[top++] = step->value;
        } else if (step->op == OP_SLOT) {
            stack[top++] = values[step->value];
        } else if (step->op == OP_JUMP) {
            i = (size_t)step->value - 1;
        } else if (step->op == OP_JUMP_FALSE) {
            if (stack[--top] == 0)
                i = (size_t)step->value - 1;
        } else if (step->op == OP_AND || step->op == OP_OR) {
            stack[top - 1] = stack[top - 1] != 0;
            if (stack[top - 1] == (step->op == OP_OR))
                i = (size_t)step->value - 1;
            else
                top--;
        } else if (step->op >= OP_BINARY) {
            top--;
            if (!apply(step->op, stack[top - 1], stack[top], &stack[top - 1],
                       why))
                return false;
        } else if (!apply_unary(step->op, &stack[top - 1], why)) {
            return false;
        }
    }
    *result = stack[0];
    return true;
}
