/* SPDX-License-Identifier: Apache-2.0
 *
 * test_expr.c: expressions mean what they mean in C.  The compiler of this file
 * evaluates a table; an evaluator of trees, without precedence, steps or jumps,
 * evaluates random ones; and every refusal has a case.
 */
#include "../suite.h"

#include "base/str.h"
#include "spec/expr.h"

#define RANGE    "a number out of range"
#define DIVISION "division by zero"
#define SHIFT    "a shift out of range"

enum { SLOT_A, SLOT_B, SLOT_LONG_NAME, SLOTS };

static bool find_name(void *user, const char *name, size_t len,
                      groat__name *out)
{
    static const char *const slots[SLOTS] = {"a", "b", "long_name_2"};

    (void)user;
    for (int i = 0; i < SLOTS; i++)
        if (strlen(slots[i]) == len && memcmp(slots[i], name, len) == 0) {
            *out = (groat__name){false, i};
            return true;
        }
    if (len == 5 && memcmp(name, "seven", 5) == 0) {
        *out = (groat__name){true, 7};
        return true;
    }
    if (len == 3 && memcmp(name, "min", 3) == 0) {
        *out = (groat__name){true, 11};
        return true;
    }
    return false;
}

static groat_status compile(const char *text, groat__expr *expr,
                            groat_error *error)
{
    return groat__expr_compile(text, strlen(text), find_name, NULL, expr,
                               error);
}

/* Evaluates text with a = -5, b = 12, long_name_2 = 1000. */
static bool evaluate(const char *text, int64_t *result, const char **why)
{
    static const int64_t values[SLOTS] = {-5, 12, 1000};
    groat_error error = GROAT_ERROR_INIT;
    groat__expr expr = {0};
    bool good;

    ck_assert_msg(compile(text, &expr, &error) == GROAT_OK, "%s", error.text);
    *why = NULL;
    good = groat__expr_eval(&expr, values, result, why);
    ck_assert_int_eq(good, *why == NULL);
    groat__expr_free(&expr);
    ck_assert_ptr_null(expr.steps);
    return good;
}

static void ck_gives(const char *text, int64_t expected)
{
    int64_t result = 0;
    const char *why;

    ck_assert_msg(evaluate(text, &result, &why), "%s: %s", text, why);
    ck_assert_msg(result == expected, "%s is %lld, not %lld", text,
                  (long long)expected, (long long)result);
}

static void ck_breaks(const char *text, const char *expected)
{
    int64_t result = 12345;
    const char *why;

    ck_assert_msg(!evaluate(text, &result, &why), "%s is %lld", text,
                  (long long)result);
    ck_assert_str_eq(why, expected);
    ck_assert_int_eq(result, 12345);
}

/* ---- against the compiler ---------------------------------------------- */

typedef struct c_case {
    const char *text;
    int64_t value;
} c_case;

/* clang-format off */
#pragma GCC diagnostic push
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wconstant-logical-operand"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#else
#pragma GCC diagnostic ignored "-Wbool-compare"
#endif
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"

#define C(expression) {#expression, (expression)}

static const c_case c_cases[] = {
    C(0), C(42), C(007 + 0), C(1 + 2 * 3), C((1 + 2) * 3), C(2 * 3 + 1),
    C(10 - 4 - 3), C(10 - (4 - 3)), C(100 / 10 / 5), C(100 / (10 / 5)),
    C(100 % 7 % 4), C(7 * 3 % 5), C(7 % 5 * 3), C(100 / 3 * 3), C(-7 / 2),
    C(7 / -2), C(-7 % 3), C(7 % -3), C(-7 * -3), C(- - 5), C(-(-5)),
    C(1 - -1), C(1 - - -1), C(~0), C(~5 + 1), C(-~5), C(~-5), C(!0), C(!7),
    C(!!7), C(!-1), C(-!0), C(!0 + 1), C(!(0 + 1)), C(~!0),
    C(1 << 3), C(1 << 2 + 1), C((1 << 2) + 1), C(1 + 1 << 3), C(256 >> 2 >> 1),
    C(256 >> (2 >> 1)), C(1 << 3 >> 1), C(5 - 3 << 2), C(1 << 4 - 2),
    C(1 < 2), C(2 < 1), C(2 < 2), C(2 <= 2), C(3 <= 2), C(3 > 2), C(2 > 2),
    C(2 >= 2), C(1 >= 2), C(1 == 1), C(1 == 2), C(1 != 2), C(1 != 1),
    C(3 > 2 > 1), C(1 < 2 == 1), C(1 == 1 < 2), C(5 == 5 == 5),
    C(5 == 5 == 1), C(1 != 2 != 3), C(4 < 2 < 1), C(1 << 3 < 9), C(9 > 1 << 3),
    C(6 & 3), C(6 | 3), C(6 ^ 3), C(6 & 3 == 3), C((6 & 3) == 3),
    C(1 | 2 & 4), C((1 | 2) & 4), C(1 ^ 3 & 2), C((1 ^ 3) & 2), C(1 | 3 ^ 2),
    C((1 | 3) ^ 2), C(4 | 2 ^ 6 & 3), C(7 & 3 + 1), C(7 & 3 << 1),
    C(1 | 4 == 4), C(5 ^ 5 == 5), C(8 | 1 && 0), C(8 & 1 || 0),
    C(0 && 0), C(0 && 1), C(1 && 0), C(1 && 1), C(0 || 0), C(0 || 1),
    C(1 || 0), C(5 && 7), C(5 || 7), C(0 || 9), C(9 || 0), C(5 && 0),
    C(1 || 0 && 0), C((1 || 0) && 0), C(0 && 0 || 1), C(0 && (0 || 1)),
    C(1 && 2 && 3), C(1 && 0 && 3), C(0 || 0 || 4), C(0 || 3 || 0),
    C(0 && 1 || 2 && 3), C(1 == 1 && 2 == 2), C(1 & 1 && 2 & 1),
    C(1 | 0 || 0), C(!1 || !0), C(1 || 1 && 0),
    C(1 ? 2 : 3), C(0 ? 2 : 3), C(7 ? 2 : 3), C(1 ? 0 : 3),
    C(1 ? 2 ? 3 : 4 : 5), C(1 ? 0 ? 3 : 4 : 5), C(0 ? 2 ? 3 : 4 : 5),
    C(0 ? 1 : 0 ? 2 : 3), C(0 ? 1 : 1 ? 2 : 3), C(1 ? 1 : 1 ? 2 : 3),
    C((1 ? 0 : 1) ? 2 : 3), C(1 + 1 ? 2 + 2 : 3 + 3), C(0 || 1 ? 5 : 6),
    C(1 && 0 ? 5 : 6), C(1 ? 5 : 6 + 10), C((1 ? 5 : 6) + 10),
    C(1 ? 2 : 3 ? 4 : 5), C(0 ? 2 : 3 ? 4 : 5), C(2 * (1 ? 3 : 4)),
    C(1 ? 1 || 0 : 0), C(0 == 0 ? 1 == 2 ? 3 : 4 : 5), C(-1 ? -2 : -3),
    C(9223372036854775807), C(-9223372036854775807 - 1),
    C(4611686018427387904 >> 62), C(4611686018427387903 * 2 + 1),
    C(((((((3))))))), C((1)+(2)*(3)), C(1+2*3-4/2%3<<1>>1&7|8^1),
};
#pragma GCC diagnostic pop
/* clang-format on */

START_TEST(test_as_in_c)
{
    for (size_t i = 0; i < COUNT(c_cases); i++)
        ck_gives(c_cases[i].text, c_cases[i].value);
}
END_TEST

/* ---- names, functions, blanks ------------------------------------------ */

START_TEST(test_names)
{
    ck_gives("a", -5);
    ck_gives("b", 12);
    ck_gives("a * b + long_name_2", 940);
    ck_gives("seven", 7);
    ck_gives("seven * seven", 49);
    ck_gives("-a", 5);
    ck_gives("a<b", 1);
    ck_gives("b-a", 17);
    ck_gives("b--a", 7);
    ck_gives("a ? b : 0", 12);
}
END_TEST

START_TEST(test_blanks)
{
    static const char text[] = "1+2 trailing text that is not the expression";
    groat__expr expr = {0};
    int64_t result = 0;
    const char *why;

    ck_gives("  1\t+\n2  ", 3);
    ck_gives("a<=b&&b>=a", 1);
    ck_gives("min ( 1 , 2 )", 1);
    ck_assert_int_eq(groat__expr_compile(text, 3, find_name, NULL, &expr, NULL),
                     GROAT_OK);
    ck_assert(groat__expr_eval(&expr, NULL, &result, &why));
    ck_assert_int_eq(result, 3);
    groat__expr_free(&expr);
    groat__expr_free(&expr);
}
END_TEST

START_TEST(test_functions)
{
    ck_gives("min(3, 4)", 3);
    ck_gives("min(4, 3)", 3);
    ck_gives("min(-4, 3)", -4);
    ck_gives("max(3, 4)", 4);
    ck_gives("max(4, 3)", 4);
    ck_gives("max(-4, -3)", -3);
    ck_gives("abs(-4)", 4);
    ck_gives("abs(4)", 4);
    ck_gives("abs(0)", 0);
    ck_gives("abs(a - b)", 17);
    ck_gives("min(max(1, 2), abs(-3)) * 2", 4);
    ck_gives("max(1 ? 2 : 3, 0 || 0)", 2);
    /* A function's name without '(' is a name like any other. */
    ck_gives("min + 1", 12);
    ck_gives("min(min, 20)", 11);
}
END_TEST

/* Rounds up, towards larger values, whatever the signs. */
START_TEST(test_divup)
{
    ck_gives("divup(0, 4)", 0);
    ck_gives("divup(1, 4)", 1);
    ck_gives("divup(4, 4)", 1);
    ck_gives("divup(5, 4)", 2);
    ck_gives("divup(-5, 4)", -1);
    ck_gives("divup(-4, 4)", -1);
    ck_gives("divup(5, -4)", -1);
    ck_gives("divup(-5, -4)", 2);
    ck_gives("divup(-8, -4)", 2);
    ck_gives("divup(9223372036854775807, 2)", 4611686018427387904);
    ck_breaks("divup(1, 0)", DIVISION);
}
END_TEST

/* ---- failures of evaluation -------------------------------------------- */

START_TEST(test_overflow)
{
    ck_breaks("9223372036854775807 + 1", RANGE);
    ck_breaks("-9223372036854775807 - 2", RANGE);
    ck_breaks("4611686018427387904 * 2", RANGE);
    ck_breaks("-(-9223372036854775807 - 1)", RANGE);
    ck_breaks("abs(-9223372036854775807 - 1)", RANGE);
    ck_breaks("(-9223372036854775807 - 1) / -1", RANGE);
    ck_breaks("(-9223372036854775807 - 1) % -1", RANGE);
    ck_breaks("divup(-9223372036854775807 - 1, -1)", RANGE);
    ck_gives("-4611686018427387904 * 2", INT64_MIN);
    ck_gives("~(-9223372036854775807 - 1)", INT64_MAX);
    ck_gives("min(-9223372036854775807 - 1, 0)", INT64_MIN);
}
END_TEST

START_TEST(test_division_by_zero)
{
    ck_breaks("1 / 0", DIVISION);
    ck_breaks("1 % 0", DIVISION);
    ck_breaks("0 / 0", DIVISION);
    ck_breaks("b / (a + 5)", DIVISION);
    ck_breaks("1 + 2 * (3 / 0)", DIVISION);
}
END_TEST

START_TEST(test_shifts)
{
    ck_gives("1 << 62", (int64_t)1 << 62);
    ck_gives("9223372036854775807 >> 62", 1);
    ck_gives("0 << 62", 0);
    ck_gives("5 << 0", 5);
    ck_breaks("1 << 63", SHIFT);
    ck_breaks("1 >> 63", SHIFT);
    ck_breaks("1 << -1", SHIFT);
    ck_breaks("1 >> -1", SHIFT);
    ck_breaks("2 << 62", SHIFT);
    ck_breaks("3 << 62", SHIFT);
    ck_breaks("a << 1", SHIFT);
    ck_breaks("a >> 1", SHIFT);
    ck_breaks("1 << 4294967296", SHIFT);
}
END_TEST

START_TEST(test_short_circuit)
{
    ck_gives("0 && 1 / 0", 0);
    ck_gives("1 || 1 / 0", 1);
    ck_gives("5 || 1 / 0", 1);
    ck_gives("0 && 1 / 0 || 3", 1);
    ck_gives("1 || 1 / 0 && 1 / 0", 1);
    ck_gives("0 && (1 / 0 || 1 / 0)", 0);
    ck_gives("1 ? 2 : 1 / 0", 2);
    ck_gives("0 ? 1 / 0 : 2", 2);
    ck_gives("1 ? 0 ? 1 / 0 : 3 : 1 / 0", 3);
    ck_gives("b && (b > 0 ? 144 / b : 1 / 0) == 12", 1);
    ck_breaks("1 && 1 / 0", DIVISION);
    ck_breaks("0 || 1 / 0", DIVISION);
    ck_breaks("1 / 0 && 0", DIVISION);
    ck_breaks("1 / 0 || 1", DIVISION);
    ck_breaks("1 / 0 ? 1 : 2", DIVISION);
    ck_breaks("0 && 1 || 1 / 0", DIVISION);
    ck_breaks("1 ? 1 / 0 : 2", DIVISION);
}
END_TEST

/* ---- failures of compilation ------------------------------------------- */

static void ck_refused(const char *text, const char *words)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__step mark;
    groat__expr expr = {&mark, 77};

    ck_fails(compile(text, &expr, &error), GROAT_INVALID, &error, words);
    ck_assert_ptr_eq(expr.steps, &mark);
    ck_assert_uint_eq(expr.count, 77);
    ck_assert_int_eq(compile(text, &expr, NULL), GROAT_INVALID);
}

START_TEST(test_malformed)
{
    static const char operand[] = "a number, a name or '(' expected";
    static const char end[] = "an operator or the end expected";

    ck_refused("", operand);
    ck_refused("   ", operand);
    ck_refused("()", operand);
    ck_refused("1 +", operand);
    ck_refused("* 2", operand);
    ck_refused("+2", operand);
    ck_refused("1 + + 2", operand);
    ck_refused("1 & & 2", operand);
    ck_refused("1 ||| 2", operand);
    ck_refused("1 &&& 2", operand);
    ck_refused("1 ? : 2", operand);
    ck_refused("1 ? 2 :", operand);
    ck_refused("-", operand);
    ck_refused("!", operand);
    ck_refused("min(1, )", operand);
    ck_refused("abs()", operand);
    ck_refused("\"1\"", operand);
    ck_refused("1 2", end);
    ck_refused("1)", end);
    ck_refused("1 = 2", end);
    ck_refused("1 ! 2", end);
    ck_refused("12abc", end);
    ck_refused("0x10", end);
    ck_refused("1.5", end);
    ck_refused("1, 2", end);
    ck_refused("a b", end);
    ck_refused("a(1)", end);
    ck_refused("1 ? 2 : 3 : 4", end);
    ck_refused("1\x01", end);
    ck_refused("(1", "')' expected");
    ck_refused("(1 2)", "')' expected");
    ck_refused("((1)", "')' expected");
    ck_refused("abs(1, 2)", "')' expected");
    ck_refused("min(1, 2, 3)", "')' expected");
    ck_refused("min(1)", "',' expected");
    ck_refused("divup(1 2)", "',' expected");
    ck_refused("1 ? 2", "':' expected");
    ck_refused("1 ? 2, 3", "':' expected");
    ck_refused("9223372036854775808", "a number is too large");
    ck_refused("99999999999999999999999", "a number is too large");
}
END_TEST

START_TEST(test_unknown_names)
{
    ck_refused("c", "column 1: unknown name");
    ck_refused("a + aa", "column 5: unknown name");
    ck_refused("long_name", "unknown name");
    ck_refused("long_name_22", "unknown name");
    ck_refused("A", "unknown name");
    ck_refused("_", "unknown name");
    ck_refused("max", "unknown name");
    ck_refused("max + 1", "unknown name");
    ck_refused("maximum(1, 2)", "unknown name");
}
END_TEST

/* Returns `times` of left, then middle, then `times` of right. */
static char *repeat(size_t times, const char *left, const char *middle,
                    const char *right)
{
    groat__str str = {0};

    for (size_t i = 0; i < times; i++)
        groat__str_add(&str, left);
    groat__str_add(&str, middle);
    for (size_t i = 0; i < times; i++)
        groat__str_add(&str, right);
    return groat__str_take(&str);
}

/* Ever deeper nesting is refused from some depth on, which is at least 10: no
 * depth of nesting crashes the program. */
START_TEST(test_nesting)
{
    static const struct {
        const char *left;
        const char *middle;
        const char *right;
    } cases[] = {
        {"(", "1", ")"},     {"-", "1", ""},        {"!~", "1", ""},
        {"abs(", "1", ")"},  {"1 ? ", "1", " : 1"}, {"0 ? 1 : ", "1", ""},
        {"1 + (", "1", ")"}, {"min(1, ", "1", ")"}, {"1 || (", "1", ")"}};
    groat_error error = GROAT_ERROR_INIT;
    groat__expr expr = {0};
    size_t refused = 0;

    for (size_t times = 1; times < 3000; times += times < 150 ? 1 : 600) {
        char *text =
            repeat(times, cases[_i].left, cases[_i].middle, cases[_i].right);
        groat_status status = compile(text, &expr, &error);

        if (status == GROAT_OK) {
            int64_t result = 0;
            const char *why;

            ck_assert_msg(refused == 0, "%s", text);
            ck_assert(groat__expr_eval(&expr, NULL, &result, &why));
            groat__expr_free(&expr);
        } else {
            refused += refused == 0 ? times : 0;
            ck_says(&error, "expression '");
            ck_assert(strstr(error.text, "nested too deeply") != NULL ||
                      strstr(error.text, "too long") != NULL);
        }
        free(text);
    }
    ck_assert_uint_gt(refused, 10);
}
END_TEST

/* The greatest depth that fits, in values on the stack and in nested parser
 * calls: two for each parenthesis and two more. */
START_TEST(test_deepest)
{
    char *parser_fits = repeat(31, "(", "7", ")");
    char *parser_over = repeat(32, "(", "7", ")");
    char *fits = repeat(GROAT__EXPR_DEPTH - 1, "min(9, ", "7", ")");
    char *over = repeat(GROAT__EXPR_DEPTH, "min(9, ", "7", ")");

    ck_gives(fits, 7);
    ck_refused(over, "nested too deeply");
    ck_gives(parser_fits, 7);
    ck_refused(parser_over, "nested too deeply");
    free(parser_fits);
    free(parser_over);
    free(fits);
    free(over);
}
END_TEST

START_TEST(test_too_long)
{
    char *fits = repeat((GROAT__EXPR_STEPS - 1) / 2, "1+", "1", "");
    char *over = repeat((GROAT__EXPR_STEPS - 1) / 2 + 1, "1+", "1", "");
    char *jumps = repeat(200, "1&&", "1", "");
    char *giant = repeat(100000, "1+", "1", "");

    ck_gives(fits, (GROAT__EXPR_STEPS - 1) / 2 + 1);
    ck_refused(over, "too long");
    ck_refused(jumps, "too long");
    ck_refused(giant, "too long");
    free(fits);
    free(over);
    free(jumps);
    free(giant);
}
END_TEST

START_TEST(test_column)
{
    ck_refused("1 + $", "'1 + $', column 5:");
    ck_refused("$", "column 1:");
    ck_refused("1 + 2 2", "column 7:");
}
END_TEST

/* ---- random trees ------------------------------------------------------ */

enum { NODES = 40, UNARY = 4, BINARY = 21 };

/* kind: 0 number, 1 slot, 2 unary, 3 binary, 4 ternary. */
typedef struct node {
    int kind;
    int op;
    int64_t value;
    const struct node *child[3];
} node;

typedef struct tree {
    node nodes[NODES];
    int count;
    uint64_t random;
} tree;

static const char *const unary_text[UNARY] = {"-", "!", "~", "abs("};

/* 0: a function; else the precedence in C, higher binds tighter. */
static const struct {
    const char *text;
    int level;
} binary_text[BINARY] = {
    {"||", 1},   {"&&", 2},   {"|", 3},     {"^", 4},  {"&", 5},  {"==", 6},
    {"!=", 6},   {"<", 7},    {"<=", 7},    {">", 7},  {">=", 7}, {"<<", 8},
    {">>", 8},   {"+", 9},    {"-", 9},     {"*", 10}, {"/", 10}, {"%", 10},
    {"min(", 0}, {"max(", 0}, {"divup(", 0}};

static unsigned pick(tree *t, unsigned count)
{
    return (unsigned)(next_random(&t->random) % count);
}

static int64_t pick_number(tree *t)
{
    switch (pick(t, 8)) {
    case 0:
        return INT64_MAX - pick(t, 2);
    case 1:
        return (int64_t)1 << pick(t, 63);
    case 2:
    case 3:
        return 0;
    default:
        return pick(t, 70);
    }
}

static const node *grow(tree *t, int depth)
{
    node *n = &t->nodes[t->count++];
    int kind = depth == 0 || t->count > NODES / 3 ? 0 : (int)pick(t, 10);

    n->kind = kind < 2 ? kind : kind < 4 ? 2 : kind < 9 ? 3 : 4;
    if (n->kind == 0)
        n->value = pick_number(t);
    if (n->kind == 0 && pick(t, 3) == 0)
        n->kind = 1;
    if (n->kind == 1)
        n->value = pick(t, SLOTS);
    if (n->kind >= 2)
        n->op = (int)pick(t, n->kind == 2 ? UNARY : BINARY);
    for (int i = 0; i < n->kind - 1; i++)
        n->child[i] = grow(t, depth - 1);
    return n;
}

static int level_of(const node *n)
{
    if (n->kind == 4)
        return 0;
    if (n->kind == 3 && binary_text[n->op].level > 0)
        return binary_text[n->op].level;
    return n->kind == 2 && n->op < 3 ? 11 : 12;
}

static void add_blank(tree *t, groat__str *out)
{
    groat__str_addn(out, "  ", pick(t, 3));
}

static void write_node(tree *t, const node *n, int level, groat__str *out);

static void write_plain(tree *t, const node *n, groat__str *out)
{
    static const char *const slots[SLOTS] = {"a", "b", "long_name_2"};
    int level = level_of(n);

    if (n->kind == 0) {
        groat__str_add_int(out, n->value);
    } else if (n->kind == 1) {
        groat__str_add(out, slots[n->value]);
    } else if (n->kind == 2) {
        groat__str_add(out, unary_text[n->op]);
        write_node(t, n->child[0], n->op == 3 ? 0 : 11, out);
        groat__str_add(out, n->op == 3 ? ")" : "");
    } else if (n->kind == 4) {
        write_node(t, n->child[0], 1, out);
        groat__str_add(out, "?");
        write_node(t, n->child[1], 0, out);
        groat__str_add(out, ":");
        write_node(t, n->child[2], 0, out);
    } else if (binary_text[n->op].level == 0) {
        groat__str_add(out, binary_text[n->op].text);
        write_node(t, n->child[0], 0, out);
        groat__str_add(out, ",");
        write_node(t, n->child[1], 0, out);
        groat__str_add(out, ")");
    } else {
        write_node(t, n->child[0], level, out);
        groat__str_add(out, binary_text[n->op].text);
        write_node(t, n->child[1], level + 1, out);
    }
}

/* Writes no more parentheses than C needs, or now and then one pair more. */
static void write_node(tree *t, const node *n, int level, groat__str *out)
{
    bool wrap = level_of(n) < level || pick(t, 12) == 0;

    add_blank(t, out);
    groat__str_add(out, wrap ? "(" : "");
    add_blank(t, out);
    write_plain(t, n, out);
    add_blank(t, out);
    groat__str_add(out, wrap ? ")" : "");
    add_blank(t, out);
}

__extension__ typedef __int128 wide;

static const char *narrow(wide value, int64_t *out)
{
    if (value > INT64_MAX || value < INT64_MIN)
        return RANGE;
    *out = (int64_t)value;
    return NULL;
}

static const char *divide(const char *op, int64_t a, int64_t b, int64_t *out)
{
    wide quotient;
    wide rest;

    if (b == 0)
        return DIVISION;
    if (a == INT64_MIN && b == -1)
        return RANGE;
    quotient = (wide)a / b;
    rest = (wide)a % b;
    if (op[0] == '%')
        return narrow(rest, out);
    if (op[0] == 'd' && rest != 0 && (rest > 0) == (b > 0))
        quotient++;
    return narrow(quotient, out);
}

static const char *compute(const char *op, int64_t a, int64_t b, int64_t *out)
{
    if (strcmp(op, "<<") == 0 || strcmp(op, ">>") == 0) {
        if (a < 0 || b < 0 || b > 62)
            return SHIFT;
        if (op[0] == '<')
            return narrow((wide)a << b, out) == NULL ? NULL : SHIFT;
        return narrow((wide)a >> b, out);
    }
    if (strcmp(op, "+") == 0)
        return narrow((wide)a + b, out);
    if (strcmp(op, "-") == 0)
        return narrow((wide)a - b, out);
    if (strcmp(op, "*") == 0)
        return narrow((wide)a * b, out);
    if (op[0] == '/' || op[0] == '%' || op[0] == 'd')
        return divide(op, a, b, out);
    *out = strcmp(op, "|") == 0    ? (a | b)
           : strcmp(op, "^") == 0  ? (a ^ b)
           : strcmp(op, "&") == 0  ? (a & b)
           : strcmp(op, "==") == 0 ? a == b
           : strcmp(op, "!=") == 0 ? a != b
           : strcmp(op, "<") == 0  ? a < b
           : strcmp(op, "<=") == 0 ? a <= b
           : strcmp(op, ">") == 0  ? a > b
           : strcmp(op, ">=") == 0 ? a >= b
           : op[1] == 'i'          ? (a < b ? a : b)
                                   : (a > b ? a : b);
    return NULL;
}

/* Evaluates a tree; returns NULL, or why it has no value. */
static const char *walk(const node *n, const int64_t *values, int64_t *out)
{
    const char *why = NULL;
    int64_t a = 0;
    int64_t b = 0;

    if (n->kind <= 1) {
        *out = n->kind == 0 ? n->value : values[n->value];
        return NULL;
    }
    why = walk(n->child[0], values, &a);
    if (why != NULL)
        return why;
    if (n->kind == 4)
        return walk(n->child[a != 0 ? 1 : 2], values, out);
    if (n->kind == 2) {
        *out = n->op == 1 ? !a : ~a;
        return n->op == 0   ? narrow(-(wide)a, out)
               : n->op == 3 ? narrow(a < 0 ? -(wide)a : a, out)
                            : NULL;
    }
    if (n->op <= 1) { /* || && */
        *out = a != 0;
        if ((a != 0) == (n->op == 0))
            return NULL;
        why = walk(n->child[1], values, &b);
        *out = b != 0;
        return why;
    }
    why = walk(n->child[1], values, &b);
    return why != NULL ? why : compute(binary_text[n->op].text, a, b, out);
}

static void try_tree(tree *t, size_t *worked, size_t *broke)
{
    static const int64_t values[SLOTS] = {-5, 12, 1000};
    groat_error error = GROAT_ERROR_INIT;
    groat__expr expr = {0};
    groat__str text = {0};
    const node *root = grow(t, 6);
    const char *expected_why;
    const char *why = NULL;
    int64_t expected = 0;
    int64_t result = 0;
    bool good;

    write_node(t, root, 0, &text);
    ck_assert_msg(compile(text.data, &expr, &error) == GROAT_OK, "%s",
                  error.text);
    good = groat__expr_eval(&expr, values, &result, &why);
    expected_why = walk(root, values, &expected);
    ck_assert_msg(good == (expected_why == NULL), "%s: %s, not %s", text.data,
                  good ? "a value" : why, good ? expected_why : "a value");
    if (good)
        ck_assert_msg(result == expected, "%s is %lld, not %lld", text.data,
                      (long long)expected, (long long)result);
    else
        ck_assert_msg(strcmp(why, expected_why) == 0, "%s: %s, not %s",
                      text.data, expected_why, why);
    *(good ? worked : broke) += 1;
    groat__expr_free(&expr);
    groat__str_free(&text);
}

START_TEST(test_random)
{
    size_t worked = 0;
    size_t broke = 0;

    for (uint64_t i = 0; i < 60000; i += test_step()) {
        tree t = {.random = i};

        try_tree(&t, &worked, &broke);
    }
    /* Both outcomes occurred often enough to make the comparison meaningful. */
    ck_assert_uint_gt(worked, 20000 / test_step());
    ck_assert_uint_gt(broke, 5000 / test_step());
}
END_TEST

START_TEST(test_is_slot)
{
    groat__expr expr = {0};
    int64_t slots = 0;

    ck_assert_int_eq(compile("a + seven * b + 1", &expr, NULL), GROAT_OK);
    for (size_t i = 0; i < expr.count; i++)
        if (groat__expr_is_slot(&expr.steps[i]))
            slots = slots * 10 + 1 + expr.steps[i].value;
    ck_assert_int_eq(slots, 12);
    groat__expr_free(&expr);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expr");
    TCase *tcase = tcase_create("expr");

    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, test_as_in_c);
    tcase_add_test(tcase, test_names);
    tcase_add_test(tcase, test_blanks);
    tcase_add_test(tcase, test_functions);
    tcase_add_test(tcase, test_divup);
    tcase_add_test(tcase, test_overflow);
    tcase_add_test(tcase, test_division_by_zero);
    tcase_add_test(tcase, test_shifts);
    tcase_add_test(tcase, test_short_circuit);
    tcase_add_test(tcase, test_malformed);
    tcase_add_test(tcase, test_unknown_names);
    tcase_add_loop_test(tcase, test_nesting, 0, 9);
    tcase_add_test(tcase, test_deepest);
    tcase_add_test(tcase, test_too_long);
    tcase_add_test(tcase, test_column);
    tcase_add_test(tcase, test_random);
    tcase_add_test(tcase, test_is_slot);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
