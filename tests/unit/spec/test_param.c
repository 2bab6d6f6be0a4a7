/* SPDX-License-Identifier: Apache-2.0
 *
 * test_param.c: a spec's text becomes a checked set of values and back; each
 * refusal names the parameter, the value and the allowed values, and changes
 * nothing.  test_rules.c tests the rules of the embedded families.
 */
#include "fixture.h"

static groat_family *toy;

static void setup(void)
{
    toy = load_toy();
}

static void teardown(void)
{
    groat__family_free(toy);
}

static void ck_text(const groat__params *params, const char *expected)
{
    groat__str text = {0};

    groat__params_text(params, &text);
    ck_assert_str_eq(text.data, expected);
    groat__str_free(&text);
}

/* ---- what is read -------------------------------------------------------- */

START_TEST(test_defaults)
{
    groat__params params = parsed(toy, "toy", "hip:gfx950");

    ck_assert_ptr_eq(params.family, toy);
    ck_assert_str_eq(params.target.text, "hip:gfx950");
    ck_text(&params,
            "toy:dtype=bf16,rows=16,cols=32,wide=0,shift=0,mode=plain");
    ck_assert_int_eq(value_of(&params, "elem"), 2);
    ck_assert_int_eq(value_of(&params, "bytes"), 16 * 32 * 2);
    ck_assert_int_eq(value_of(&params, "huge"), (int64_t)16 * 32 * 2 << 30);
    params = parsed(toy, "toy:", "hip:gfx950");
    ck_text(&params,
            "toy:dtype=bf16,rows=16,cols=32,wide=0,shift=0,mode=plain");
}
END_TEST

/* A derived default follows its parameters and the target. */
START_TEST(test_derived_defaults)
{
    groat__params params = parsed(toy, "toy:rows=40", "cuda:sm_90a");

    ck_text(&params, "toy:dtype=bf16,rows=40,cols=80,wide=0,shift=0,mode=fast");
    params = parsed(toy, "toy:mode=plain,rows=40", "cuda:sm_90a");
    ck_text(&params,
            "toy:dtype=bf16,rows=40,cols=80,wide=0,shift=0,mode=plain");
    params = parsed(toy, "toy:rows=8,cols=128,dtype=f32", "cuda:sm_80");
    ck_text(&params, "toy:dtype=f32,rows=8,cols=128,wide=0,shift=0,mode=plain");
    ck_assert_int_eq(value_of(&params, "bytes"), 4096);
}
END_TEST

START_TEST(test_any_order)
{
    static const char *const orders[] = {
        "toy:dtype=fp8,rows=8,cols=64,wide=1,shift=-2,mode=fast",
        "toy:mode=fast,shift=-2,wide=1,cols=64,rows=8,dtype=fp8",
        "toy:cols=64,mode=fast,dtype=fp8,wide=1,rows=8,shift=-2"};
    groat__params first = parsed(toy, orders[0], "hip:gfx942");

    ck_text(&first, orders[0]);
    for (size_t i = 1; i < COUNT(orders); i++) {
        groat__params other = parsed(toy, orders[i], "hip:gfx942");

        ck_text(&other, orders[0]);
        ck_assert_mem_eq(first.values, other.values, sizeof(first.values));
    }
}
END_TEST

START_TEST(test_spellings)
{
    static const struct {
        const char *spec;
        const char *name;
        int64_t value;
    } cases[] = {{"toy:wide=1", "wide", 1},
                 {"toy:wide=true", "wide", 1},
                 {"toy:wide=0", "wide", 0},
                 {"toy:wide=false", "wide", 0},
                 {"toy:dtype=bf16", "dtype", 0},
                 {"toy:dtype=fp8", "dtype", 1},
                 {"toy:dtype=f32", "dtype", 7},
                 {"toy:shift=-4", "shift", -4},
                 {"toy:shift=-0", "shift", 0},
                 {"toy:shift=004", "shift", 4},
                 {"toy:rows=1,cols=16", "rows", 1},
                 {"toy: shift = -4 , rows =8", "shift", -4},
                 {"toy: shift = -4 , rows =8", "rows", 8}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        groat__params params = parsed(toy, cases[i].spec, "hip:gfx950");

        ck_assert_int_eq(value_of(&params, cases[i].name), cases[i].value);
    }
}
END_TEST

START_TEST(test_value_text)
{
    static const struct {
        const char *name;
        int64_t value;
        const char *text;
    } cases[] = {{"dtype", 7, "f32"},
                 {"dtype", 2, "2"},
                 {"wide", 1, "1"},
                 {"rows", 64, "64"},
                 {"shift", -3, "-3"}};
    groat__params params = {.family = toy};
    groat__str text = {0};

    for (size_t i = 0; i < COUNT(cases); i++) {
        groat__str_clear(&text);
        params.values[slot_of(toy, cases[i].name)] = cases[i].value;
        groat__params_value_text(&params, slot_of(toy, cases[i].name), &text);
        ck_assert_str_eq(text.data, cases[i].text);
    }
    groat__str_free(&text);
}
END_TEST

/* ---- round trip -------------------------------------------------------- */

static int64_t random_value(const groat__slot *slot, uint64_t *random)
{
    const groat__range *range =
        &slot->ranges[next_random(random) % slot->range_count];
    uint64_t count = (uint64_t)((range->high - range->low) / range->step) + 1;

    return range->low + (int64_t)(next_random(random) % count) * range->step;
}

/* Writes some parameters in random order, with allowed values. */
static void random_spec(const groat_family *family, uint64_t *random,
                        groat__str *out)
{
    groat__params params = {.family = family};
    size_t order[GROAT__SLOTS];
    size_t count = family->param_count;
    size_t keep = next_random(random) % (count + 1);

    for (size_t i = 0; i < count; i++)
        order[i] = family->params[i];
    groat__str_addf(out, "%s", family->name);
    for (size_t i = 0; i < keep; i++) {
        size_t other = i + next_random(random) % (count - i);
        size_t slot = order[other];

        order[other] = order[i];
        groat__str_addf(out, "%s%s=", i == 0 ? ":" : ",",
                        family->slots[slot].name);
        params.values[slot] = slot == family->code
                                  ? 0
                                  : random_value(&family->slots[slot], random);
        groat__params_value_text(&params, slot, out);
    }
}

static size_t round_trips(const groat_family *family, const char *target,
                          uint64_t tries)
{
    uint64_t random = 1;
    size_t good = 0;

    for (uint64_t i = 0; i < tries; i++) {
        groat_error error = GROAT_ERROR_INIT;
        groat__str spec = {0};
        groat__str text = {0};
        groat__params params;
        groat__params again;

        random_spec(family, &random, &spec);
        if (parse(family, spec.data, target, &params, &error) == GROAT_OK) {
            groat__params_text(&params, &text);
            again = parsed(family, text.data, target);
            ck_assert_mem_eq(params.values, again.values,
                             sizeof(params.values));
            ck_text(&again, text.data);
            good++;
        } else {
            ck_says(&error, family->name);
        }
        groat__str_free(&spec);
        groat__str_free(&text);
    }
    return good;
}

/* A family that needs another vendor's instructions has no legal spec here. */
static bool is_for(const groat_family *family, const char *target)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__params params;
    bool is = parse(family, family->name, target, &params, &error) == GROAT_OK;

    if (!is)
        ck_says(&error, "arch_");
    groat_error_clear(&error);
    return is;
}

START_TEST(test_round_trip)
{
    static const char *const targets[] = {"cuda:sm_90a", "hip:gfx90a",
                                          "cpu:gfx950"};
    groat_family *families[FAMILIES_MAX];
    size_t count = load_embedded(families);
    size_t served[FAMILIES_MAX] = {0};

    for (size_t t = 0; t < COUNT(targets); t++) {
        ck_assert_uint_gt(round_trips(toy, targets[t], 2000 / test_step()),
                          200 / test_step());
        for (size_t i = 0; i < count; i++) {
            size_t good =
                round_trips(families[i], targets[t], 3000 / test_step());

            ck_assert_int_eq(good > 0, is_for(families[i], targets[t]));
            served[i] += good;
        }
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_gt(served[i], 0);
    for (size_t i = 0; i < count; i++)
        groat__family_free(families[i]);
}
END_TEST

/* ---- refusals ------------------------------------------------------------ */

typedef struct refusal {
    const char *spec;
    const char *words[3];
} refusal;

static const refusal refusals[] = {
    /* family */
    {"", {"the spec names family ''; allowed: toy"}},
    {":", {"the spec names family ''; allowed: toy"}},
    {"to", {"the spec names family 'to'; allowed: toy"}},
    {"toys", {"the spec names family 'toys'; allowed: toy"}},
    {"toy,rows=8", {"the spec names family 'toy,rows=8'; allowed: toy"}},
    {" toy", {"the spec names family ' toy'; allowed: toy"}},
    /* form */
    {"toy:rows", {"toy: 'rows' is not of the form name=value"}},
    {"toy:,", {"'' is not of the form name=value"}},
    {"toy:rows=8,,cols=16", {"'' is not of the form name=value"}},
    {"toy:,rows=8", {"'' is not of the form name=value"}},
    {"toy:rows=8,", {"toy: the spec ends in a comma"}},
    {"toy::rows=8", {"toy has no parameter ':rows'"}},
    {"toy: = 8", {"toy has no parameter ''"}},
    {"toy:rows = ", {"toy: rows= is not allowed; allowed: "}},
    {"toy:rows = 8 8", {"toy: rows=8 8 is not allowed; allowed: "}},
    /* names */
    {"toy:row=8",
     {"toy has no parameter 'row'",
      "parameters: dtype, rows, cols, wide, shift, mode"}},
    {"toy:rowss=8", {"toy has no parameter 'rowss'; "}},
    {"toy:arch_wave_lanes=8",
     {"toy has no parameter 'arch_wave_lanes', a constant that follows from "
      "others; "}},
    {"toy:Rows=8", {"toy has no parameter 'Rows'"}},
    {"toy:\trows=8", {"toy has no parameter ' rows'", "did you mean 'rows'?"}},
    {"toy:row s=8", {"toy has no parameter 'row s'", "did you mean 'rows'?"}},
    {"toy: ,rows=8", {"'' is not of the form name=value"}},
    {"toy:=8", {"toy has no parameter ''"}},
    {"toy:elem=2", {"toy has no parameter 'elem'", "parameters: dtype"}},
    {"toy:arch_tma=1", {"toy has no parameter 'arch_tma'"}},
    {"toy:bf16=1", {"toy has no parameter 'bf16'"}},
    {"toy:rows=8,cols=16,rows=8", {"toy: rows is given twice"}},
    {"toy:rows=8,rows=junk", {"toy: rows is given twice"}},
    /* integers */
    {"toy:rows=", {"toy: rows= is not allowed; allowed: 1|2|8..64/8 rows"}},
    {"toy:rows=9", {"toy: rows=9 is not allowed; allowed: 1|2|8..64/8 rows"}},
    {"toy:rows=0", {"rows=0 is not allowed"}},
    {"toy:rows=72", {"rows=72 is not allowed"}},
    {"toy:rows=-8", {"rows=-8 is not allowed"}},
    {"toy:rows=+8", {"rows=+8 is not allowed"}},
    {"toy:rows=0x8", {"rows=0x8 is not allowed"}},
    {"toy:rows=8.0", {"rows=8.0 is not allowed"}},
    {"toy:rows=--8", {"rows=--8 is not allowed"}},
    {"toy:rows=-", {"rows=- is not allowed"}},
    {"toy:rows=8=8", {"rows=8=8 is not allowed"}},
    {"toy:rows=bf16", {"rows=bf16 is not allowed"}},
    {"toy:rows=9223372036854775807", {"rows=9223372036854775807 is not"}},
    {"toy:rows=9223372036854775808", {"rows=9223372036854775808 is not"}},
    {"toy:rows=-9223372036854775808", {"rows=-9223372036854775808 is not"}},
    {"toy:rows=4294967304", {"rows=4294967304 is not allowed"}},
    {"toy:rows=000000000000000000000000000008", {"is not allowed"}},
    {"toy:shift=5", {"toy: shift=5 is not allowed; allowed: -4..4 bits"}},
    {"toy:shift=-5", {"shift=-5 is not allowed"}},
    /* a default that is derived from another value */
    {"toy:rows=1", {"toy: cols=2 is not allowed; allowed: 16..128/16"}},
    /* enumerators */
    {"toy:dtype=", {"dtype= is not allowed; allowed: bf16|fp8|f32=7"}},
    {"toy:dtype=f16",
     {"dtype=f16 is not allowed; did you mean 'bf16'? allowed: bf16|fp8|f32"}},
    {"toy:dtype=bf1", {"dtype=bf1 is not allowed"}},
    {"toy:dtype=bf166", {"dtype=bf166 is not allowed"}},
    {"toy:dtype=BF16", {"dtype=BF16 is not allowed"}},
    {"toy:dtype=0", {"dtype=0 is not allowed"}},
    {"toy:dtype=7", {"dtype=7 is not allowed"}},
    {"toy:dtype=f32=7", {"dtype=f32=7 is not allowed"}},
    {"toy:dtype=fast", {"dtype=fast is not allowed"}},
    /* bools */
    {"toy:wide=", {"toy: wide= is not allowed; allowed: 0|1"}},
    {"toy:wide=2", {"wide=2 is not allowed; allowed: 0|1"}},
    {"toy:wide=True", {"wide=True is not allowed"}},
    {"toy:wide=yes", {"wide=yes is not allowed"}},
    {"toy:wide=tru", {"wide=tru is not allowed"}},
    {"toy:wide=00", {"wide=00 is not allowed"}},
    /* rules, with the values and the target that break them */
    {"toy:rows=64,cols=48",
     {"toy on hip:gfx950: cols=48 rows=64 breaks the "
      "rule 'cols >= rows': a tile is not higher"}},
    {"toy:rows=64,cols=128,dtype=f32",
     {"bytes=32768 arch_shared_bytes=163840 breaks the rule",
      "a tile must fit"}},
    {"toy:rows=8,cols=16,wide=1",
     {"wide=1 cols=16 division by zero", "wide divides"}},
};

START_TEST(test_refusals)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        const refusal *r = &refusals[i];
        groat_error error = GROAT_ERROR_INIT;
        groat__params mark;
        groat__params params;

        memset(&mark, 0x5a, sizeof(mark));
        params = mark;
        ck_assert_msg(parse(toy, r->spec, "hip:gfx950", &params, &error) ==
                          GROAT_INVALID,
                      "'%s' parses", r->spec);
        ck_assert_int_eq(error.status, GROAT_INVALID);
        for (size_t k = 0; k < 3 && r->words[k] != NULL; k++)
            ck_says(&error, r->words[k]);
        ck_assert_mem_eq(&params, &mark, sizeof(mark));
        ck_assert_int_eq(parse(toy, r->spec, "hip:gfx950", &params, NULL),
                         GROAT_INVALID);
        groat_error_clear(&error);
    }
}
END_TEST

/* Of two mistakes, the one that comes first in params.def is reported. */
START_TEST(test_first_cause)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__params params;

    ck_assert_int_eq(
        parse(toy, "toy:cols=999,rows=999", "hip:gfx950", &params, &error),
        GROAT_INVALID);
    ck_says(&error, "rows=999 is not allowed");
}
END_TEST

/* Refuses "toy:" followed by x's, `len` bytes in all. */
static void ck_long(size_t len, const char *words)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__params params;
    char *text = malloc(len + 1);

    ck_assert_ptr_nonnull(text);
    memset(text, 'x', len);
    memcpy(text, "toy:", 4);
    text[len] = '\0';
    ck_fails(parse(toy, text, "hip:gfx950", &params, &error), GROAT_INVALID,
             &error, words);
    free(text);
}

START_TEST(test_long_specs)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__params params;
    groat__str text = {0};

    ck_long(65536, "is not of the form name=value");
    ck_long(65537, "the spec is longer than 65536 bytes");
    ck_long(1 << 20, "the spec is longer than 65536 bytes");
    groat__str_add(&text, "toy:rows=");
    for (int i = 0; i < 3000; i++)
        groat__str_add(&text, "123456789 ");
    ck_fails(parse(toy, text.data, "hip:gfx950", &params, &error),
             GROAT_INVALID, &error, "allowed: 1|2|8..64/8");
    groat__str_free(&text);
}
END_TEST

static void ck_entry(const groat_family *family, const char *spec,
                     const char *target, const char *want)
{
    groat__params params = parsed(family, spec, target);
    groat__str entry = {0};

    groat__params_entry(&params, &entry);
    ck_assert_str_eq(entry.data, want);
    groat__str_free(&entry);
}

/* The first preset that holds gives the default; the user's value comes before
 * them, and a value is seen by the presets below. */
START_TEST(test_presets)
{
    static const files f = {
        {{"f/params.def", "family f \"s\"\n"
                          "param n int 0..9 3 - \"m\"\n"
                          "preset n == 1 ; x=16\te=b  wide=true\n"
                          "preset n <= 2 ; x=8\n"
                          "param x int 1|8|16 1 - \"m\"\n"
                          "preset x == 8 && n > 2 ; y=(n==5?4:2)\n"
                          "preset x==8 ; y=7\n"
                          "param y int 0..9 (x/4) - \"m\"\n"
                          "param e enum a|b=5 a - \"m\"\n"
                          "param wide bool - false - \"m\"\n"
                          "launch block_x = 1\nlaunch args = 0\n"
                          "entry f_{x}_{y}_{e}_{wide}\n"},
         {"f/f.h", "#include \"params.h\"\n"}}};
    static const struct {
        const char *spec, *entry;
    } of[] = {{"f", "f_1_0_a_0"},
              {"f:n=1", "f_16_4_b_1"},
              {"f:n=2", "f_8_7_a_0"},
              {"f:n=2,x=16", "f_16_4_a_0"},
              {"f:n=1,e=a,wide=0,y=1", "f_16_1_a_0"},
              {"f:n=5,x=8", "f_8_4_a_0"}};
    groat_family *family = load(&f, "f");
    groat_param_info info = {.size = sizeof(info)};

    for (size_t i = 0; i < COUNT(of); i++)
        ck_entry(family, of[i].spec, "cpu:sm_90a", of[i].entry);
    ck_assert_int_eq(groat_family_param(family, 4, &info, NULL), GROAT_OK);
    ck_assert_str_eq(info.deflt, "((n == 1)?1:0)");
    groat__family_free(family);
}
END_TEST

/* The largest number of enumerators: a word after the last is none of them, not
 * even one that the family stores there internally. */
START_TEST(test_all_enumerators)
{
    static const files f = {
        {{"f/params.def",
          "family f \"s\"\n"
          "param p enum a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|q a - \"m\"\n"
          "launch block_x = 64\nlaunch args = 4\nentry k\n"},
         {"f/f.h", "#include \"params.h\"\n"}}};
    groat_family *family = load(&f, "f");
    groat_error error = GROAT_ERROR_INIT;
    groat__params params = parsed(family, "f:p=q", "cpu:gfx950");

    ck_assert_int_eq(value_of(&params, "p"), 15);
    ck_fails(parse(family, "f:p=r", "cpu:gfx950", &params, &error),
             GROAT_INVALID, &error, "p");
    ck_fails(parse(family, "f:p=param p", "cpu:gfx950", &params, &error),
             GROAT_INVALID, &error, "p=param p is not");
    groat__family_free(family);
}
END_TEST

START_TEST(test_hostile_bytes)
{
    static const char *const specs[] = {
        "toy:rows=\033[2J", "toy:\n\r\t=8", "\177\x01",
        "toy:rows=%s%n",    "toy:rows=8\n", "toy:dtype=\xff\xfe"};

    for (size_t i = 0; i < COUNT(specs); i++) {
        groat_error error = GROAT_ERROR_INIT;
        groat__params params;

        ck_fails(parse(toy, specs[i], "hip:gfx950", &params, &error),
                 GROAT_INVALID, &error, "");
    }
}
END_TEST

/* The reason of a rule is reported however long the rule is. */
START_TEST(test_reason_of_a_long_rule)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__str text = {0};
    files f = {{{"f/params.def", NULL}, {"f/f.h", "#include \"params.h\"\n"}}};
    groat_family *family;
    groat__params params;

    groat__str_add(&text, "family f \"s\"\nlaunch block_x = 1\nlaunch args = "
                          "0\nentry f\n");
    for (int i = 0; i < 40; i++)
        groat__str_addf(
            &text, "param a_parameter_of_a_long_name_%d int 0 0 - \"m\"\n", i);
    groat__str_add(&text, "rule 0");
    for (int i = 0; i < 40; i++)
        groat__str_addf(&text, " + a_parameter_of_a_long_name_%d", i);
    groat__str_add(&text, " ; \"this is the reason\"\n");
    f.at[0].text = text.data;
    family = load(&f, "f");
    ck_fails(parse(family, "f", "hip:gfx950", &params, &error), GROAT_INVALID,
             &error, "this is the reason");
    groat__family_free(family);
    groat__str_free(&text);
}
END_TEST

/* The error for a default that cannot be computed names it. */
START_TEST(test_no_value)
{
    static const files f = {
        {{"f/params.def", "family f \"s\"\n"
                          "param d int 0..9 1 - \"m\"\n"
                          "derive q = 9 / d ; - \"m\"\n"
                          "launch block_x = 1\nlaunch args = 0\nentry f\n"},
         {"f/f.h", "#include \"params.h\"\n"}}};
    groat_error error = GROAT_ERROR_INIT;
    groat_family *family = load(&f, "f");
    groat__params params;

    ck_fails(parse(family, "f:d=0", "hip:gfx950", &params, &error),
             GROAT_INVALID, &error, ": q cannot be computed: division by");
    params = parsed(family, "f:d=2", "hip:gfx950");
    ck_assert_int_eq(value_of(&params, "q"), 4);
    groat__family_free(family);
}
END_TEST

/* ---- set --------------------------------------------------------------- */

START_TEST(test_set)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__params params = parsed(toy, "toy", "hip:gfx950");

    ck_assert_int_eq(
        groat__params_set(&params, slot_of(toy, "dtype"), 7, &error), GROAT_OK);
    ck_assert_int_eq(value_of(&params, "elem"), 4);
    ck_assert_int_eq(value_of(&params, "bytes"), 16 * 32 * 4);
    /* Former defaults stay; only derived constants follow. */
    ck_assert_int_eq(
        groat__params_set(&params, slot_of(toy, "rows"), 8, &error), GROAT_OK);
    ck_text(&params, "toy:dtype=f32,rows=8,cols=32,wide=0,shift=0,mode=plain");
    ck_assert_int_eq(value_of(&params, "bytes"), 8 * 32 * 4);
    ck_assert_int_eq(error.status, GROAT_OK);
}
END_TEST

START_TEST(test_set_fails_and_changes_nothing)
{
    static const struct {
        const char *name;
        int64_t value;
        const char *words;
    } cases[] = {
        {"rows", 9, "rows=9 is not allowed; allowed: 1|2|8..64/8 rows"},
        {"rows", INT64_MIN, "rows=-9223372036854775808 is not allowed"},
        {"rows", INT64_MAX, "rows=9223372036854775807 is not allowed"},
        {"rows", 40, "cols=32 rows=40 breaks the rule"},
        {"dtype", 2, "dtype=2 is not allowed; allowed: bf16|fp8|f32"},
        {"wide", 2, "wide=2 is not allowed"},
        {"wide", -1, "wide=-1 is not allowed"}};
    groat_error error = GROAT_ERROR_INIT;
    groat__params params = parsed(toy, "toy", "hip:gfx950");
    groat__params before = params;

    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_fails(groat__params_set(&params, slot_of(toy, cases[i].name),
                                   cases[i].value, &error),
                 GROAT_INVALID, &error, cases[i].words);
        ck_assert_mem_eq(&params, &before, sizeof(params));
        ck_assert_int_eq(groat__params_set(&params, slot_of(toy, cases[i].name),
                                           cases[i].value, NULL),
                         GROAT_INVALID);
    }
    /* Constants derived from the parameters and the target cannot be set. */
    ck_assert_int_eq(
        groat__params_set(&params, slot_of(toy, "bytes"), 1, &error), GROAT_OK);
    ck_assert_int_eq(
        groat__params_set(&params, slot_of(toy, "arch_tma"), 1, &error),
        GROAT_OK);
    ck_assert_mem_eq(&params, &before, sizeof(params));
}
END_TEST

/* ---- launch and entry -------------------------------------------------- */

START_TEST(test_launch)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__params params = parsed(toy, "toy:dtype=fp8", "hip:gfx950");
    groat__launch_values launch;

    ck_assert_int_eq(groat__params_launch(&params, &launch, &error), GROAT_OK);
    ck_assert_int_eq(launch.of[GROAT__BLOCK_X], 128);
    ck_assert_int_eq(launch.of[GROAT__BLOCK_Y], 1);
    ck_assert_int_eq(launch.of[GROAT__BLOCK_Z], 1);
    ck_assert_int_eq(launch.of[GROAT__CLUSTER_X], 1);
    ck_assert_int_eq(launch.of[GROAT__CLUSTER_Y], 1);
    ck_assert_int_eq(launch.of[GROAT__CLUSTER_Z], 1);
    ck_assert_int_eq(launch.of[GROAT__SHARED], 16 * 32);
    ck_assert_int_eq(launch.of[GROAT__ARGS], 16);
    ck_assert_int_eq(launch.of[GROAT__OVERLAP], 0);
}
END_TEST

START_TEST(test_launch_limits)
{
    static const struct {
        const char *name;
        int64_t low;
        int64_t high;
    } cases[GROAT__LAUNCH_VALUES] = {
        {"block_x", 1, 1024},   {"block_y", 1, 1024}, {"block_z", 1, 64},
        {"cluster_x", 1, 16},   {"cluster_y", 1, 16}, {"cluster_z", 1, 16},
        {"shared", 0, 1 << 20}, {"args", 0, 4096},    {"overlap", 0, 1}};
    groat__str text = {0};
    files f = {{{"f/params.def", NULL}, {"f/f.h", "#include \"params.h\"\n"}}};

    for (int i = 0; i < GROAT__LAUNCH_VALUES; i++) {
        const int64_t values[] = {cases[i].low, cases[i].high, cases[i].low - 1,
                                  cases[i].high + 1, INT64_MAX};

        for (size_t k = 0; k < COUNT(values); k++) {
            groat_error error = GROAT_ERROR_INIT;
            groat__launch_values launch;
            groat__params params;
            groat_family *family;
            groat_status status;

            groat__str_clear(&text);
            groat__str_addf(&text,
                            "family f \"s\"\nentry f\nlaunch %s = %lld\n",
                            cases[i].name, (long long)values[k]);
            if (i != GROAT__BLOCK_X)
                groat__str_add(&text, "launch block_x = 1\n");
            if (i != GROAT__ARGS)
                groat__str_add(&text, "launch args = 0\n");
            f.at[0].text = text.data;
            family = load(&f, "f");
            params = parsed(family, "f", "hip:gfx950");
            status = groat__params_launch(&params, &launch, &error);
            ck_assert_int_eq(status, k < 2 ? GROAT_OK : GROAT_INVALID);
            if (status == GROAT_OK) {
                ck_assert_int_eq(launch.of[i], values[k]);
            } else {
                ck_says(&error, cases[i].name);
                ck_says(&error, "allowed: ");
            }
            groat__family_free(family);
        }
    }
    groat__str_free(&text);
}
END_TEST

START_TEST(test_launch_without_a_value)
{
    static const files f = {
        {{"f/params.def", "family f \"s\"\nparam d int 0..9 1 - \"m\"\n"
                          "launch block_x = 64\nlaunch cluster_y = 4 / d\n"
                          "launch args = 0\nentry f\n"},
         {"f/f.h", "#include \"params.h\"\n"}}};
    groat_error error = GROAT_ERROR_INIT;
    groat_family *family = load(&f, "f");
    groat__params params = parsed(family, "f:d=0", "hip:gfx950");
    groat__launch_values launch;

    ck_fails(groat__params_launch(&params, &launch, &error), GROAT_INVALID,
             &error, ": launch cluster_y cannot be computed: division by zero");
    params = parsed(family, "f:d=2", "hip:gfx950");
    ck_assert_int_eq(groat__params_launch(&params, &launch, &error), GROAT_OK);
    ck_assert_int_eq(launch.of[GROAT__CLUSTER_Y], 2);
    groat__family_free(family);
}
END_TEST

START_TEST(test_entry)
{
    static const struct {
        const char *spec;
        const char *entry;
    } cases[] = {{"toy", "toy_bf16_16x32_s0_2"},
                 {"toy:dtype=f32,shift=4", "toy_f32_16x32_s4_4"},
                 /* a minus sign is not valid in an identifier */
                 {"toy:shift=-4,rows=8", "toy_bf16_8x16_sm4_2"}};

    for (size_t i = 0; i < COUNT(cases); i++)
        ck_entry(toy, cases[i].spec, "hip:gfx950", cases[i].entry);
}
END_TEST

/* A closure uses defaults that need not be allowed on every target. */
START_TEST(test_unchecked_defaults)
{
    static const files f = {
        {{"f/params.def", "family f \"s\"\nparam d int 1..9 (arch_tma*20) - "
                          "\"m\"\nrule d < 0 ; \"never\"\n"
                          "launch block_x = 64\nlaunch args = 0\nentry f\n"},
         {"f/f.h", "#include \"params.h\"\n"}}};
    groat_error error = GROAT_ERROR_INIT;
    groat_family *family = load(&f, "f");
    groat__target target = target_of("cuda:sm_90");
    groat__params params;

    ck_assert_int_eq(groat__params_defaults(family, &target, &params, &error),
                     GROAT_OK);
    ck_assert_int_eq(value_of(&params, "d"), 20);
    ck_assert_str_eq(params.target.text, "cuda:sm_90");
    ck_fails(parse(family, "f", "cuda:sm_90", &params, &error), GROAT_INVALID,
             &error, "d=20 is not allowed");
    groat__family_free(family);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("param");
    TCase *tcase = tcase_create("param");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, test_defaults);
    tcase_add_test(tcase, test_derived_defaults);
    tcase_add_test(tcase, test_any_order);
    tcase_add_test(tcase, test_spellings);
    tcase_add_test(tcase, test_value_text);
    tcase_add_test(tcase, test_round_trip);
    tcase_add_test(tcase, test_refusals);
    tcase_add_test(tcase, test_first_cause);
    tcase_add_test(tcase, test_long_specs);
    tcase_add_test(tcase, test_presets);
    tcase_add_test(tcase, test_all_enumerators);
    tcase_add_test(tcase, test_hostile_bytes);
    tcase_add_test(tcase, test_reason_of_a_long_rule);
    tcase_add_test(tcase, test_no_value);
    tcase_add_test(tcase, test_set);
    tcase_add_test(tcase, test_set_fails_and_changes_nothing);
    tcase_add_test(tcase, test_launch);
    tcase_add_test(tcase, test_launch_limits);
    tcase_add_test(tcase, test_launch_without_a_value);
    tcase_add_test(tcase, test_entry);
    tcase_add_test(tcase, test_unchecked_defaults);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
