/* SPDX-License-Identifier: Apache-2.0
 *
 * test_code.c: expressions that are compiled into kernels: their values, what
 * is refused and at which column, and how a spec carries one.
 */
#include "fixture.h"

#include <math.h>

#include "spec/key.h"
#include "spec/render.h"

#define INPUTS "x:float|i:int|j:int"

#define FAMILY_PARAMS(lines)                                                   \
    "family coded \"has an expression\"\n" lines                               \
    "launch block_x = 32\nlaunch args = 8\nentry coded_{n}\n"

static const char kernel[] = "#include \"params.h\"\n"
                             "void coded(in in) { GROAT_CODE_f(in); }\n";

static const files coded = {
    {{"coded/params.def",
      FAMILY_PARAMS("param n int 1..9 1 - \"m\"\n"
                    "param f code " INPUTS " x - \"what x becomes\"\n"
                    "derive has_f = f != 0 ; - \"m\"\n")},
     {"coded/coded.h", kernel}}};

static groat_family *family;

static void setup(void)
{
    family = load(&coded, "coded");
}

static void teardown(void)
{
    groat__family_free(family);
}

/* ---- values -------------------------------------------------------------- */

/* Evaluates text with x = 2.5, i = 7, j = -3, a = 0.5 and v = {1, 2, 4}. */
static double value(const char *text)
{
    static const float array[] = {1, 2, 4};
    groat__code_values values = {.inputs = {2.5, 7, -3},
                                 .scalars = {0.5F},
                                 .arrays = {array},
                                 .counts = {COUNT(array)}};
    groat_error error = GROAT_ERROR_INIT;
    groat__code code;

    ck_assert_msg(groat__code_parse(INPUTS, text, strlen(text), &code,
                                    &error) == GROAT_OK,
                  "%s", error.text);
    return groat__code_eval(&code, &values);
}

static const struct {
    const char *text;
    double value;
} known[] = {
    {"x", 2.5},
    {" i * 2 - j ", 17},
    {"i / 2", 3},
    {"j / 2", -1},
    {"j % 2", -1},
    {"i / 2.0", 3.5},
    {"i / (j + 3)", 0},
    {"i % (j + 3)", 0},
    {"2147483647 + 1", -2147483648.0},
    {"-2147483647 - 2", 2147483647},
    {"(-2147483647 - 1) / -1", -2147483648.0},
    {"abs(-2147483647 - 1)", -2147483648.0},
    {"65536 * 65536", 0},
    {"1 + 2 * 3 == 7 && !(2 > 3) || x", 1},
    {"i > j ? x : i", 2.5},
    {"0 ? 1 : 0 ? 2 : 3", 3},
    {"1 - 2 - 3", -4},
    {"- - 2 + !0", 3},
    {"x >= 2.5 && x <= 2.5 && x != 2", 1},
    {"i < 7 || j > -3", 0},
    {"a * v[1]", 1},
    {"v[0] + v[2] + v[3] + v[-1]", 5},
    {"v[int(x)]", 4},
    {"min(i, j) + max(i, 2.5)", 4},
    {"abs(j) + abs(-x)", 5.5},
    {"int(-2.9) + int(2.9)", 0},
    {"int(inf) + int(-inf)", -1},
    {"int(log(-1.0))", 0},
    {"1.0 / int(0.0 - 0.5)", (double)INFINITY},
    {"1 / abs(-0.0)", (double)INFINITY},
    {"float(i) / 2", 3.5},
    {".5 + 1.e1 + 2e-1f", 10.7},
    {"exp2(3) + log2(8) + sqrt(16) + rsqrt(4)", 15.5},
    {"exp(0) + log(1) + sin(0) + cos(0) + tanh(0)", 2},
    {"-inf", (double)-INFINITY},
};

START_TEST(test_values)
{
    double got = value(known[_i].text);

    ck_assert_msg(got == known[_i].value || fabs(got - known[_i].value) < 1e-7,
                  "%s is %.17g", known[_i].text, got);
}
END_TEST

/* ---- refused ------------------------------------------------------------- */

static const struct {
    const char *text;
    size_t column;
    const char *words;
} bad[] = {
    {"", 1, "a number, a name, a function or '(' expected"},
    {"x +", 4, "a number, a name"},
    {"x y", 3, "an operator or the end expected"},
    {"(x", 3, "')' expected"},
    {"x ? 1", 6, "':' expected"},
    {"v[1", 4, "']' expected"},
    {"v[x]", 4, "the index is no int"},
    {"x[1]", 3, "this name is no array"},
    {"a + a[1]", 7, "this name is no array"},
    {"v[1] + v", 9, "this name is an array"},
    {"min(1)", 6, "',' expected"},
    {"sin 1", 5, "this is a function: '(' expected"},
    {"system(1)", 1, "there is no such function; there are min"},
    {"x % 2", 6, "'%' is of ints"},
    {"x = 2", 3, "an operator or the end"},
    {"x & 1", 3, "an operator or the end"},
    {"x; y", 2, "an operator or the end"},
    {"x\n", 2, "an operator or the end"},
    {"\"x\"", 1, "a number, a name"},
    {"1.2.3", 1, "a decimal number expected"},
    {"0x10", 1, "a decimal number expected"},
    {"2147483648", 1, "the number is too large"},
    {"1e39", 1, "the number is too large"},
    {"1e", 1, "an exponent of one or two digits"},
    {"a+b+c+d+e+f+g+h+k", 18, "there are more than 8 names"},
    {"a[0]+b[0]+c[0]+d[0]+e[0]", 23, "there are more than 4 arrays"},
};

START_TEST(test_refusals)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__code code;
    char column[32];

    (void)snprintf(column, sizeof(column), "column %zu: ", bad[_i].column);
    ck_assert_int_eq(groat__code_parse(INPUTS, bad[_i].text,
                                       strlen(bad[_i].text), &code, &error),
                     GROAT_INVALID);
    ck_assert_msg(strstr(error.text, bad[_i].words) != NULL &&
                      strstr(error.text, column) != NULL,
                  "'%s': %s", bad[_i].text, error.text);
    groat_error_clear(&error);
}
END_TEST

/* The number of nodes and the depth are limited. */
START_TEST(test_limits)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__str text = {0};
    groat__code code;

    groat__str_add(&text, "x");
    for (int i = 0; i < GROAT__CODE_NODES; i++)
        groat__str_add(&text, "+x");
    ck_assert_int_eq(
        groat__code_parse(INPUTS, text.data, text.len, &code, &error),
        GROAT_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "the expression is too long"));
    groat__str_clear(&text);
    for (int i = 0; i < 100000; i++)
        groat__str_add(&text, i % 2 == 0 ? "(" : "-");
    ck_assert_int_eq(
        groat__code_parse(INPUTS, text.data, text.len, &code, &error),
        GROAT_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "nested too deeply"));
    groat__str_free(&text);
    groat_error_clear(&error);
}
END_TEST

/* ---- in a spec ----------------------------------------------------------- */

/* Blanks and quotes make no difference: one spec.  Another expression is
 * another spec, even if it is of the same length. */
START_TEST(test_spellings)
{
    groat__params one =
        parsed(family, "coded:f=\"max(x, 2) * i\",n=2", "cpu:sm_90a");
    groat__params same =
        parsed(family, "coded:n=2, f=\" max( x,2 )*i\"", "cpu:sm_90a");
    groat__params other =
        parsed(family, "coded:n=2,f=\"max(x,3)*i\"", "cpu:sm_90a");
    groat__params plain = parsed(family, "coded:f= x ", "cpu:sm_90a");
    groat__str text = {0};

    ck_assert_mem_eq(one.values, same.values, sizeof(one.values));
    ck_assert_mem_ne(one.values, other.values, sizeof(one.values));
    ck_assert_int_eq(value_of(&one, "f"), 10);
    ck_assert_int_eq(value_of(&one, "has_f"), 1);
    ck_assert_int_eq(value_of(&plain, "has_f"), 0);
    groat__params_text(&one, &text);
    ck_assert_str_eq(text.data, "coded:n=2,f=\"max(x,2)*i\"");
    groat__str_clear(&text);
    groat__params_text(&plain, &text);
    ck_assert_str_eq(text.data, "coded:n=1,f=\"x\"");
    groat__str_clear(&text);
    groat__key_identity(&one, "compiler\n", &text);
    ck_assert_ptr_nonnull(
        strstr(text.data, "\nparam f \"max(x,2)*i\"\ntarget "));
    groat__str_free(&text);
}
END_TEST

START_TEST(test_source)
{
    static const struct {
        const char *spec, *line;
    } cases[] = {
        {"coded", "#define GROAT_CODE_f(in) in.x\n"},
        {"coded:f=x*2", "GROAT_CODE_f(in) (in.x * static_cast<float>(2))\n"},
        {"coded:f=i", "GROAT_CODE_f(in) static_cast<float>(in.i)\n"},
        {"coded:f=i/j", "(in) static_cast<float>(code_div(in.i, in.j))\n"},
        {"coded:f=1e10", "(in) 1e+10f\n"},
        {"coded:f=2.", "(in) 2.0f\n"},
        {"coded:f=k*v[i]", "(in) (in.scalar(0) * in.element(0, in.i))\n"},
        {"coded:f=x&&i?-x:-inf",
         "(in) (static_cast<int>((in.x != 0 && in.i != 0)) != 0 ? (-in.x) : "
         "(-bits_float(0x7f800000u)))\n"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        groat__params params = parsed(family, cases[i].spec, "cpu:sm_90a");
        groat__str text = {0};

        groat__render_source(&params, &text);
        ck_assert_msg(strstr(text.data, cases[i].line) != NULL,
                      "%s is not in %s", cases[i].line, text.data);
        groat__str_free(&text);
    }
}
END_TEST

START_TEST(test_bad_specs)
{
    static const struct {
        const char *spec, *words;
    } cases[] = {
        {"coded:f=", "coded: f: expression '', column 1"},
        {"coded:f=\"x", "coded: f: expression '\"x', column 1"},
        {"coded:f=x,f=x", "f is given twice"},
        {"coded:f=\"x\",", "the spec ends in a comma"},
    };
    groat_error error = GROAT_ERROR_INIT;
    groat__str text = {0};
    groat__params params;

    for (size_t i = 0; i < COUNT(cases); i++)
        ck_fails(parse(family, cases[i].spec, "cpu:sm_90a", &params, &error),
                 GROAT_INVALID, &error, cases[i].words);
    groat__str_add(&text, "coded:f=");
    for (int i = 0; i < 36; i++)
        groat__str_add(&text, "1.00000+");
    groat__str_add(&text, "x");
    ck_fails(parse(family, text.data, "cpu:sm_90a", &params, &error),
             GROAT_INVALID, &error,
             "f has 289 characters without blanks; allowed: 255");
    groat__str_free(&text);
}
END_TEST

START_TEST(test_bad_families)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {FAMILY_PARAMS("param f code x:double x - \"m\"\n"),
         "params.def:2: up to 8 inputs expected, as in score:float|q_pos:int"},
        {FAMILY_PARAMS("param f code x:float| x - \"m\"\n"), "up to 8 inputs"},
        {FAMILY_PARAMS("param f code - x - \"m\"\n"), "up to 8 inputs"},
        {FAMILY_PARAMS("param f code 1x:int 1x - \"m\"\n"), "up to 8 inputs"},
        {FAMILY_PARAMS("param f code x:float y - \"m\"\n"),
         "the default must be one of the inputs, at 'y"},
        {FAMILY_PARAMS("param f code x:float x*2 - \"m\"\n"),
         "the default must be one of the inputs"},
        {FAMILY_PARAMS("param f code x:float x - \"m\"\n"
                       "param g code x:float x - \"m\"\n"),
         "params.def:3: a family has one parameter of type code"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const files f = {
            {{"coded/params.def", cases[i].text}, {"coded/coded.h", kernel}}};
        groat_error error = GROAT_ERROR_INIT;
        groat_family *none = NULL;

        ck_fails(groat__family_load("coded", files_read, (void *)(uintptr_t)&f,
                                    &none, &error),
                 GROAT_INVALID, &error, cases[i].words);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("code");
    TCase *tests = tcase_create("code");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, test_values, 0, (int)COUNT(known));
    tcase_add_loop_test(tests, test_refusals, 0, (int)COUNT(bad));
    tcase_add_test(tests, test_limits);
    tcase_add_test(tests, test_spellings);
    tcase_add_test(tests, test_source);
    tcase_add_test(tests, test_bad_specs);
    tcase_add_test(tests, test_bad_families);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
