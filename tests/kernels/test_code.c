/* SPDX-License-Identifier: Apache-2.0
 *
 * test_code.c compiles random expressions into a kernel and compares its
 * results with values that C computes while the texts are made.  Numbers are
 * small multiples of 1/8, so that all is exact; ints wrap around.  Runs on cpu
 * targets, and on the device of GROAT_TEST_TARGET.
 */
#include <math.h>

#include "tests/pipe/rig.h"

static const char probe_params[] =
    "family probe \"an expression of four numbers\"\n"
    "param f code x:float|y:float|i:int|j:int x - \"the expression\"\n"
    "launch block_x = 64\n"
    "launch args = 32\n"
    "entry probe\n";

static const char probe_args[] =
    "#pragma once\n"
    "struct probe_args {\n"
    "    unsigned long long input, output, array;\n"
    "    unsigned count;\n"
    "    float by;\n"
    "};\n";

static const char probe_kernel[] =
    "#include \"params.h\"\n"
    "#include \"../common/code.h\"\n"
    "#include \"args.h\"\n"
    "\n"
    "namespace groat {\n"
    "struct inputs {\n"
    "    const probe_args &args;\n"
    "    float x, y;\n"
    "    int i, j;\n"
    "    GROAT_DEVICE float scalar(u32) const { return args.by; }\n"
    "    GROAT_DEVICE float element(u32, int at) const\n"
    "    {\n"
    "        return static_cast<u32>(at) < args.count\n"
    "                   ? bits_float(global_load4(args.array + at * 4ull)) : "
    "0;\n"
    "    }\n"
    "};\n"
    "GROAT_DEVICE void compute(const probe_args &args)\n"
    "{\n"
    "    u64 at = block_index() * 64ull + thread_index();\n"
    "    vec4 v = global_load16(args.input + at * 16);\n"
    "    inputs in = {args, bits_float(v.x), bits_float(v.y),\n"
    "                 static_cast<int>(v.z), static_cast<int>(v.w)};\n"
    "    float f = GROAT_CODE_f(in);\n"
    "    global_store4(args.output + at * 4, float_bits(f));\n"
    "}\n"
    "}\n"
    "\n"
    "GROAT_KERNEL(probe_args)\n"
    "{\n"
    "    groat::compute(args);\n"
    "}\n";

enum { POINTS = 256, EXPRESSIONS = 12, ELEMENTS = 16, DEPTH = 4, ROOM = 230 };

/* One point, as the kernel reads it. */
typedef struct point {
    float x, y;
    int32_t i, j;
} point;

typedef struct args {
    uint64_t input, output, array;
    uint32_t count;
    float by;
} args;

static rig fix;
static point points[POINTS];
static float elements[ELEMENTS];
static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % below;
}

static float eighth(void)
{
    return (float)((int)draw(65) - 32) / 8;
}

static void setup(void)
{
    rig_make(&fix);
    rig_write_source(&fix, "probe", "params.def", probe_params);
    rig_write_source(&fix, "probe", "args.h", probe_args);
    rig_write_source(&fix, "probe", "probe.h", probe_kernel);
    random_state = 1;
    for (size_t k = 0; k < POINTS; k++)
        points[k] =
            (point){eighth(), eighth(),
                    draw(4) == 0 ? (int32_t)(draw(65536) << 16 | draw(65536))
                                 : (int32_t)draw(9) - 4,
                    (int32_t)draw(9) - 4};
    for (size_t k = 0; k < ELEMENTS; k++)
        elements[k] = eighth();
}

static void teardown(void)
{
    rig_drop(&fix);
}

/* ---- random expressions -------------------------------------------------- */

/* A value for each point; a double holds an int exactly. */
typedef struct column {
    double at[POINTS];
} column;

static void make_int(groat__str *text, int depth, column *out);
static void make_real(groat__str *text, int depth, column *out);

static int32_t wrap(int64_t value)
{
    return (int32_t)(uint32_t)(uint64_t)value;
}

/* Makes one of the inputs, or the float of the launch. */
static void make_leaf(groat__str *text, column *out)
{
    static const char *const names[] = {"x", "y", "by"};
    uint32_t which = draw(COUNT(names));

    groat__str_add(text, names[which]);
    for (size_t p = 0; p < POINTS; p++)
        out->at[p] = which == 0   ? (double)points[p].x
                     : which == 1 ? (double)points[p].y
                                  : 1.25;
}

/* Combines two floats: sum, difference, minimum or maximum. */
static void make_pair(groat__str *text, int depth, column *out)
{
    static const char *const forms[][3] = {{"", " + (", ")"},
                                           {"", "-(", ")"},
                                           {"min(", ", ", ")"},
                                           {"max(", ",", ")"}};
    uint32_t form = draw(COUNT(forms));
    column a, b;

    groat__str_add(text, forms[form][0]);
    make_real(text, depth - 1, &a);
    groat__str_add(text, forms[form][1]);
    make_real(text, depth - 1, &b);
    groat__str_add(text, forms[form][2]);
    for (size_t p = 0; p < POINTS; p++)
        out->at[p] = form == 0   ? a.at[p] + b.at[p]
                     : form == 1 ? a.at[p] - b.at[p]
                     : form == 2 ? fmin(a.at[p], b.at[p])
                                 : fmax(a.at[p], b.at[p]);
}

static void make_choice(groat__str *text, int depth, column *out)
{
    column a, b, asked;

    groat__str_add(text, "(");
    make_int(text, depth - 1, &asked);
    groat__str_add(text, " ? ");
    make_real(text, depth - 1, &a);
    groat__str_add(text, " : ");
    make_real(text, depth - 1, &b);
    groat__str_add(text, ")");
    for (size_t p = 0; p < POINTS; p++)
        out->at[p] = asked.at[p] != 0 ? a.at[p] : b.at[p];
}

/* Makes a float from an int: its remainder, or the element at that index. */
static void make_of_int(groat__str *text, int depth, column *out)
{
    bool element = draw(2) == 0;
    column a;

    groat__str_add(text, element ? "v[" : "((");
    make_int(text, depth - 1, &a);
    groat__str_add(text, element ? "]" : ") % 100 + 0.125)");
    for (size_t p = 0; p < POINTS; p++)
        if (!element)
            out->at[p] = fmod(a.at[p], 100) + 0.125;
        else
            out->at[p] = a.at[p] >= 0 && a.at[p] < ELEMENTS
                             ? (double)elements[(int)a.at[p]]
                             : 0;
}

static void make_real(groat__str *text, int depth, column *out)
{
    static const char *const factors[] = {"0.5", "2", "-1.0"};
    static const double by[] = {0.5, 2, -1};
    uint32_t kind = draw(6), factor = draw(3);

    if (depth == 0) {
        make_leaf(text, out);
    } else if (kind < 3) {
        make_pair(text, depth, out);
    } else if (kind == 3) {
        make_of_int(text, depth, out);
    } else if (kind == 4) {
        make_choice(text, depth, out);
    } else {
        groat__str_addf(text, "%s * (", factors[factor]);
        make_real(text, depth - 1, out);
        groat__str_add(text, ")");
        for (size_t p = 0; p < POINTS; p++)
            out->at[p] *= by[factor];
    }
}

/* Makes two ints in brackets, and an operator between them. */
static void make_binary(groat__str *text, int depth, column *out)
{
    static const char *const signs[] = {"+",  "-",  "*",  "/",  "%",  "<", ">",
                                        "==", "!=", "<=", ">=", "&&", "||"};
    uint32_t sign = draw(COUNT(signs));
    column a, b;

    groat__str_add(text, "((");
    make_int(text, depth - 1, &a);
    groat__str_addf(text, ")%s(", signs[sign]);
    make_int(text, depth - 1, &b);
    groat__str_add(text, "))");
    for (size_t p = 0; p < POINTS; p++) {
        int64_t l = (int64_t)a.at[p], r = (int64_t)b.at[p];
        const int64_t results[] = {l + r,
                                   l - r,
                                   (int64_t)((uint64_t)l * (uint64_t)r),
                                   r == 0 ? 0 : l / r,
                                   r == 0 ? 0 : l % r,
                                   l<r, l>
                                       r,
                                   l == r,
                                   l != r,
                                   l <= r,
                                   l >= r,
                                   l && r,
                                   l || r};

        out->at[p] = wrap(results[sign]);
    }
}

static void make_int(groat__str *text, int depth, column *out)
{
    uint32_t kind = depth == 0 ? draw(3) : 3 + draw(7);
    int constant = (int)draw(1000);
    column a;

    switch (kind) {
    case 0:
    case 1:
        groat__str_add(text, kind == 0 ? "i" : "j");
        for (size_t p = 0; p < POINTS; p++)
            out->at[p] = kind == 0 ? points[p].i : points[p].j;
        break;
    case 2:
        groat__str_addf(text, "%d", constant);
        for (size_t p = 0; p < POINTS; p++)
            out->at[p] = constant;
        break;
    case 3:
        groat__str_add(text, "int(");
        make_real(text, depth - 1, &a);
        groat__str_add(text, ")");
        for (size_t p = 0; p < POINTS; p++)
            out->at[p] = trunc(a.at[p]);
        break;
    case 4:
        groat__str_add(text, "abs(");
        make_int(text, depth - 1, &a);
        groat__str_add(text, ")");
        for (size_t p = 0; p < POINTS; p++)
            out->at[p] = wrap(llabs((long long)a.at[p]));
        break;
    case 5:
        groat__str_add(text, draw(2) ? "-(" : "- (");
        make_int(text, depth - 1, &a);
        groat__str_add(text, ")");
        for (size_t p = 0; p < POINTS; p++)
            out->at[p] = wrap(-(int64_t)a.at[p]);
        break;
    case 6:
        groat__str_add(text, "!(");
        make_int(text, depth - 1, &a);
        groat__str_add(text, ")");
        for (size_t p = 0; p < POINTS; p++)
            out->at[p] = a.at[p] == 0;
        break;
    default:
        make_binary(text, depth, out);
    }
}

/* ---- kernels ------------------------------------------------------------- */

static void check(groat_context *context, const char *target, const char *text,
                  const column *wanted)
{
    uint64_t input = rig_upload(context, target, points, sizeof(points));
    uint64_t array = rig_upload(context, target, elements, sizeof(elements));
    float got[POINTS] = {0};
    uint64_t output = rig_upload(context, target, got, sizeof(got));
    const args a = {input, output, array, ELEMENTS, 1.25F};
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_kernel *kernel = NULL;
    groat__str spec = {0};

    groat__str_addf(&spec, "probe:f=\"%s\"", text);
    ck_assert_msg(groat_kernel_get(context, spec.data, target, &kernel, NULL,
                                   &fix.error) == GROAT_OK,
                  "%s: %s", spec.data, fix.error.text);
    launch.grid[0] = POINTS / 64;
    ck_assert_msg(groat_kernel_launch(kernel, &launch, &a, sizeof(a),
                                      &fix.error) == GROAT_OK,
                  "%s: %s", spec.data, fix.error.text);
    ck_assert_int_eq(groat_memory_read(context, target, got, output,
                                       sizeof(got), &fix.error),
                     GROAT_OK);
    for (size_t p = 0; p < POINTS; p++)
        ck_assert_msg((double)got[p] == wanted->at[p],
                      "%s on %s with x=%g y=%g i=%d j=%d is %.9g, not %.9g",
                      text, target, (double)points[p].x, (double)points[p].y,
                      points[p].i, points[p].j, (double)got[p], wanted->at[p]);
    groat_kernel_release(kernel);
    groat_memory_free(context, target, input);
    groat_memory_free(context, target, output);
    groat_memory_free(context, target, array);
    groat__str_free(&spec);
}

START_TEST(random_expressions)
{
    const char *device = getenv("GROAT_TEST_TARGET");
    const char *target = device != NULL ? device : rig_targets[2 * _i];
    groat_context *context = rig_open(&fix);

    random_state = (uint64_t)_i + 100;
    for (int e = 0; e < EXPRESSIONS;) {
        groat__str text = {0};
        column wanted;

        make_real(&text, DEPTH, &wanted);
        ck_assert(!text.failed);
        if (text.len < ROOM) {
            check(context, target, text.data, &wanted);
            e++;
        }
        groat__str_free(&text);
    }
    groat_close(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("code");
    TCase *tests = tcase_create("code");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, random_expressions, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
