/* SPDX-License-Identifier: Apache-2.0
 *
 * test_family.c: a valid params.def is read as written; each invalid line is
 * refused with its file and line number; and the sources are flattened into one
 * text, from files inside the tree only.
 */
#include "fixture.h"

/* ---- what is read -------------------------------------------------------- */

static const groat__slot *slot_at(const groat_family *family, const char *name)
{
    return &family->slots[slot_of(family, name)];
}

START_TEST(test_toy)
{
    static const char *const params[] = {"dtype", "rows",  "cols",
                                         "wide",  "shift", "mode"};
    groat_family *family = load_toy();

    ck_assert_str_eq(groat_family_name(family), "toy");
    ck_assert_str_eq(groat_family_summary(family), "does nothing, in tiles");
    ck_assert_str_eq(family->entry,
                     "toy_{dtype}_{rows}x{cols}_s{shift}_{elem}");
    ck_assert_uint_eq(groat_family_param_count(family), COUNT(params));
    for (size_t i = 0; i < COUNT(params); i++) {
        ck_assert_str_eq(family->slots[family->params[i]].name, params[i]);
        ck_assert(family->slots[family->params[i]].is_param);
    }
    ck_assert_uint_eq(family->slot_count, GROAT__ARCH_SLOTS + 6 + 3);
    ck_assert(!slot_at(family, "elem")->is_param);
    ck_assert(!slot_at(family, "arch_tma")->is_param);
    ck_assert_str_eq(slot_at(family, "elem")->unit, "bytes");
    ck_assert_str_eq(slot_at(family, "elem")->meaning, "size of an element");
    ck_assert_uint_eq(groat__family_slot(family, "dtyp", 4), GROAT__SLOTS);
    ck_assert_uint_eq(groat__family_slot(family, "dtypex", 6), GROAT__SLOTS);
    ck_assert_uint_eq(groat__family_slot(family, "", 0), GROAT__SLOTS);
    ck_assert_uint_eq(groat_family_rule_count(family), 3);
    for (int i = 0; i < GROAT__LAUNCH_VALUES; i++)
        ck_assert_int_eq(family->has_launch[i], i == GROAT__BLOCK_X ||
                                                    i == GROAT__SHARED ||
                                                    i == GROAT__ARGS);
    groat__family_free(family);
    groat__family_free(NULL);
}
END_TEST

START_TEST(test_param_info)
{
    static const groat_param_info expected[] = {
        {0, "dtype", GROAT_PARAM_ENUM, "bf16|fp8|f32=7", "bf16", "-",
         "element type"},
        {0, "rows", GROAT_PARAM_INT, "1|2|8..64/8", "16", "rows",
         "rows of a tile"},
        {0, "cols", GROAT_PARAM_INT, "16..128/16", "(rows*2)", "elements",
         "columns of a tile"},
        {0, "wide", GROAT_PARAM_BOOL, "0|1", "false", "-",
         "wider than it must be"}};
    groat_param_info info = {.size = sizeof(info)};
    groat_family *family = load_toy();

    for (size_t i = 0; i < COUNT(expected); i++) {
        ck_assert_int_eq(groat_family_param(family, i, &info, NULL), GROAT_OK);
        ck_assert_str_eq(info.name, expected[i].name);
        ck_assert_int_eq(info.type, expected[i].type);
        ck_assert_str_eq(info.allowed, expected[i].allowed);
        ck_assert_str_eq(info.deflt, expected[i].deflt);
        ck_assert_str_eq(info.unit, expected[i].unit);
        ck_assert_str_eq(info.meaning, expected[i].meaning);
    }
    ck_assert_int_eq(groat_family_param(family, 6, &info, NULL), GROAT_INVALID);
    info.size = sizeof(info) - 1;
    ck_assert_int_eq(groat_family_param(family, 0, &info, NULL), GROAT_INVALID);
    groat__family_free(family);
}
END_TEST

START_TEST(test_rules)
{
    groat_family *family = load_toy();
    const char *rule = NULL;
    const char *reason = NULL;

    ck_assert_int_eq(groat_family_rule(family, 1, &rule, &reason, NULL),
                     GROAT_OK);
    ck_assert_str_eq(rule, "bytes <= arch_shared_bytes / 16");
    ck_assert_str_eq(reason, "a tile must fit");
    ck_assert_int_eq(groat_family_rule(family, 3, &rule, &reason, NULL),
                     GROAT_INVALID);
    ck_assert_str_eq(reason, "a tile must fit");
    groat__family_free(family);
}
END_TEST

START_TEST(test_allowed_values)
{
    groat_family *family = load_toy();

    for (int64_t v = -10; v < 200; v++) {
        ck_assert_int_eq(groat__slot_allows(slot_at(family, "rows"), v),
                         v == 1 || v == 2 || (v >= 8 && v <= 64 && v % 8 == 0));
        ck_assert_int_eq(groat__slot_allows(slot_at(family, "shift"), v),
                         v >= -4 && v <= 4);
        ck_assert_int_eq(groat__slot_allows(slot_at(family, "wide"), v),
                         v == 0 || v == 1);
        ck_assert_int_eq(groat__slot_allows(slot_at(family, "dtype"), v),
                         v == 0 || v == 1 || v == 7);
        ck_assert(!groat__slot_allows(slot_at(family, "elem"), v));
    }
    ck_assert(!groat__slot_allows(slot_at(family, "rows"), INT64_MAX));
    ck_assert(!groat__slot_allows(slot_at(family, "shift"), INT64_MIN));
    ck_assert_str_eq(groat__slot_enumerator(slot_at(family, "dtype"), 7),
                     "f32");
    ck_assert_str_eq(groat__slot_enumerator(slot_at(family, "dtype"), 0),
                     "bf16");
    ck_assert_ptr_null(groat__slot_enumerator(slot_at(family, "dtype"), 2));
    ck_assert_ptr_null(groat__slot_enumerator(slot_at(family, "rows"), 8));
    groat__family_free(family);
}
END_TEST

START_TEST(test_arch_values)
{
    groat_family *family = load_toy();
    groat__params params = parsed(family, "toy", "hip:gfx950");

    ck_assert_int_eq(value_of(&params, "arch_wave_lanes"), 64);
    ck_assert_int_eq(value_of(&params, "arch_shared_bytes"), 163840);
    ck_assert_int_eq(value_of(&params, "arch_shared_banks"), 64);
    ck_assert_int_eq(value_of(&params, "arch_lds_dma_bytes"), 16);
    ck_assert_int_eq(value_of(&params, "arch_cp_async"), 0);
    ck_assert_int_eq(value_of(&params, "arch_tma"), 0);
    ck_assert_int_eq(value_of(&params, "arch_max_cluster"), 1);
    ck_assert_int_eq(value_of(&params, "arch_tr_read"), 1);
    ck_assert_int_eq(value_of(&params, "arch_is_amd"), 1);
    params = parsed(family, "toy", "cpu:sm_90a");
    ck_assert_int_eq(value_of(&params, "arch_wave_lanes"), 32);
    ck_assert_int_eq(value_of(&params, "arch_cp_async"), 1);
    ck_assert_int_eq(value_of(&params, "arch_tma"), 1);
    ck_assert_int_eq(value_of(&params, "arch_max_cluster"), 16);
    ck_assert_int_eq(value_of(&params, "arch_is_amd"), 0);
    groat__family_free(family);
}
END_TEST

/* ---- refusals ------------------------------------------------------------ */

#define HEAD  "family f \"s\"\n"
#define TAIL  "launch block_x = 1\nlaunch args = 0\nentry f\n"
#define ENUM  "param e enum a|b=5 a - \"m\"\n"
#define INT   "param i int 1..9 3 - \"m\"\n"
#define LINES 6 /* of HEAD ENUM INT TAIL */

static void ck_refused(const char *params_def, const char *source, int line,
                       const char *words)
{
    const files f = {{{"f/params.def", params_def}, {"f/f.h", source}}};
    groat_error error = GROAT_ERROR_INIT;
    groat_family *family = NULL;
    groat_status status = groat__family_load(
        "f", files_read, (void *)(uintptr_t)&f, &family, &error);

    ck_assert_msg(status == GROAT_INVALID, "loaded: %s", params_def);
    ck_assert_ptr_null(family);
    if (line > 0) {
        char place[64];

        (void)snprintf(place, sizeof(place), "f/params.def:%d: ", line);
        ck_assert_msg(strncmp(error.text, place, strlen(place)) == 0,
                      "'%s' does not start with '%s'", error.text, place);
    }
    ck_fails(status, GROAT_INVALID, &error, words);
    ck_assert_int_eq(groat__family_load("f", files_read, (void *)(uintptr_t)&f,
                                        &family, NULL),
                     GROAT_INVALID);
}

typedef struct bad_line {
    const char *line;
    const char *words;
} bad_line;

static const bad_line bad_lines[] = {
    /* words */
    {"foo", "family, param, derive, preset, rule, launch or entry expected, at "
            "'foo"},
    {"Param x int 1 1 - \"m\"", "expected, at 'Param"},
    {"params x int 1 1 - \"m\"", "expected, at 'params"},
    {"\"param\"", "expected"},
    {"param x int 1 1 -\r \"m\"", "control characters"},
    {"\x01", "control characters"},
    {"param x int 1 1 - \"ends in a \\\"", "backslashes"},
    {"rule 1 ; \"a\\b\"", "backslashes"},
    {"param x int 1 1 - \"\xff\"", "no UTF-8 are not allowed"},
    {"param x int 1 1 - \"gr\xfc"
     "n\"",
     "no UTF-8 are not allowed"},
    {"rule 1 ; \"cut \xc3\"", "no UTF-8 are not allowed"},
    {"param gr\xc3\xbcn int 1 1 - \"m\"", "a name expected"},
    {"entry g\xc3\xbc", "once"},
    /* family and entry, once each */
    {"family f \"s\"", "once"},
    {"family", "once"},
    {"entry g", "once"},
    {"entry", "once"},
    /* param: name */
    {"param", "a name expected"},
    {"param 1x int 1 1 - \"m\"", "a name expected, at '1x"},
    {"param x-y int 1 1 - \"m\"", "a name expected, at 'x-y"},
    {"param _x int 1 1 - \"m\"", "a name expected"},
    {"param i int 1 1 - \"m\"", "the name is taken, at 'i int"},
    {"param a int 1 1 - \"m\"", "the name is taken"},
    {"param arch_tma int 1 1 - \"m\"", "the name is taken"},
    {"param alignas int 1 1 - \"m\"", "the name is a word of C++, at"},
    /* param: type */
    {"param x", "the type must be int, bool, enum or code"},
    {"param x float 1 1 - \"m\"", "int, bool, enum or code, at 'float"},
    {"param x Int 1 1 - \"m\"", "int, bool, enum or code, at 'Int"},
    /* param: fields */
    {"param x int",
     "allowed values, default, unit and \"meaning\" of x expected"},
    {"param x int 1", "\"meaning\" of x expected"},
    {"param x int 1 1", "\"meaning\" of x expected"},
    {"param x int 1 1 -", "\"meaning\" of x expected"},
    {"param x int 1 1 - meaning", "\"meaning\" of x expected, at 'meaning"},
    {"param x int 1 1 - \"meaning", "\"meaning\" of x expected, at '\"meaning"},
    {"param x int 1 1 \"m\"", "\"meaning\" of x expected"},
    {"param x int 1 1 - \"m\" more", "the end of the line expected, at 'more"},
    {"param x int 1 1 - \"m\"\"", "the end of the line expected"},
    /* param: allowed values */
    {"param x int a 1 - \"m\"", "allowed values are malformed"},
    {"param x int 1|a 1 - \"m\"", "allowed values are malformed"},
    {"param x int | 1 - \"m\"", "expected between |, at '|"},
    {"param x int 1| 1 - \"m\"", "allowed values are malformed"},
    {"param x int |1 1 - \"m\"", "allowed values are malformed"},
    {"param x int 1||2 1 - \"m\"", "allowed values are malformed"},
    {"param x int 1..0 1 - \"m\"", "allowed values are malformed"},
    {"param x int 1.. 1 - \"m\"", "allowed values are malformed"},
    {"param x int ..1 1 - \"m\"", "allowed values are malformed"},
    {"param x int 1...4 1 - \"m\"", "allowed values are malformed"},
    {"param x int 1..4..6 1 - \"m\"", "allowed values are malformed"},
    {"param x int 1..4/0 1 - \"m\"", "allowed values are malformed"},
    {"param x int 1..4/-1 1 - \"m\"", "allowed values are malformed"},
    {"param x int 1..4/ 1 - \"m\"", "allowed values are malformed"},
    {"param x int 1..4/2x 1 - \"m\"", "allowed values are malformed"},
    {"param x int 1x 1 - \"m\"", "allowed values are malformed"},
    {"param x int +1 1 - \"m\"", "allowed values are malformed"},
    {"param x int 0x1 1 - \"m\"", "allowed values are malformed"},
    {"param x int - 1 - \"m\"", "allowed values are malformed"},
    {"param x int 2147483648 1 - \"m\"", "allowed values are malformed"},
    {"param x int 0..2147483648 1 - \"m\"", "allowed values are malformed"},
    {"param x int -2147483649..1 1 - \"m\"", "allowed values are malformed"},
    {"param x int 99999999999999999999 1 - \"m\"", "values are malformed"},
    {"param x int 1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17 1 - \"m\"",
     "more than 16"},
    {"param x bool 0|1 0 - \"m\"", "the allowed values of a bool are '-'"},
    {"param x enum p|1q p - \"m\"", "allowed values are malformed"},
    {"param x enum p|q-r p - \"m\"", "allowed values are malformed"},
    {"param x enum p|=1 p - \"m\"", "allowed values are malformed"},
    {"param x enum p=|q p - \"m\"", "allowed values are malformed"},
    {"param x enum p=x|q p - \"m\"", "allowed values are malformed"},
    {"param x enum p=1=2|q p - \"m\"", "allowed values are malformed"},
    {"param x enum p=4294967296 p - \"m\"", "allowed values are malformed"},
    {"param x enum p=-2147483649 p - \"m\"", "allowed values are malformed"},
    {"param x enum p|p p - \"m\"", "a name that means another value"},
    {"param x enum p=1|q|p=1 p - \"m\"", "a name that means another value"},
    /* an enumerator that already means something else */
    {"param x enum b|a a - \"m\"", "a name that means another value"},
    {"param x enum p|b b - \"m\"", "a name that means another value"},
    {"param x enum p|i p - \"m\"", "a name that means another value"},
    {"param x enum p|x p - \"m\"", "a name that means another value"},
    {"param x enum p|arch_tma p - \"m\"", "a name that means another value"},
    /* param: default */
    {"param x int 1 2 - \"m\"", "the value is 2, allowed are 1, at '2"},
    {"param x int 1|2 1/0 - \"m\"", "the value is 1/0, allowed are 1|2"},
    {"param x int 1|2 a - \"m\"", "the value is a, allowed are 1|2"},
    {"param x bool - 2 - \"m\"", "the value is 2, allowed are 0|1"},
    {"param x bool - yes - \"m\"", "unknown name"},
    {"param x enum p|q r - \"m\"", "the value is r, allowed are p|q"},
    {"param x int 1..9 i - \"m\"", "in parentheses over what stands above"},
    {"param x int 1..9 (x) - \"m\"", "in parentheses over what stands above"},
    {"param x int 1..9 (x+1) - \"m\"", "over what stands above"},
    {"param x int 1..9 (y) - \"m\"", "unknown name"},
    {"param x int 1..9 (i - \"m\"", "')' expected"},
    {"param x int 1..9 (2 + y) - \"m\"", "unknown name"},
    {"param f int 1 1 - \"m\"", "the name is the family's"},
    /* derive */
    {"derive", "a name expected"},
    {"derive f = 1 ; - \"m\"", "the name is the family's"},
    {"derive i = 1 ; - \"m\"", "the name is taken"},
    {"derive b = 1 ; - \"m\"", "the name is taken"},
    {"derive x", "'= expression ; unit \"meaning\"' expected"},
    {"derive x 1 ; - \"m\"", "'= expression ; unit \"meaning\"' expected"},
    {"derive u32 x = 1 ; - \"m\"", "after the name, without a type"},
    {"derive register = 1 ; - \"m\"", "the name is a word of C++, at"},
    {"derive xor_eq = 1 ; - \"m\"", "the name is a word of C++, at"},
    {"derive x = 1 - \"m\"", "'= expression ; unit \"meaning\"' expected"},
    {"derive x = 1 ;", "unit and \"meaning\" of x expected"},
    {"derive x = 1 ; -", "unit and \"meaning\" of x expected"},
    {"derive x = 1 ; \"m\"", "unit and \"meaning\" of x expected"},
    {"derive x = ; - \"m\"", "a number, a name or '(' expected"},
    {"derive x = x ; - \"m\"", "unknown name"},
    {"derive x = 1 ; - \"m\" ;", "the end of the line expected, at ';"},
    /* preset */
    {"preset", "'expression ; name=value ...' expected"},
    {"preset 1", "'expression ; name=value ...' expected"},
    {"preset 1 ;", "'name=value ...' expected"},
    {"preset 1 ; x", "'name=value ...' expected"},
    {"preset 1 ; x=", "'name=value ...' expected"},
    {"preset 1 ; =1", "'name=value ...' expected"},
    {"preset ; x=1", "a number, a name or '(' expected"},
    {"preset x ; x=1", "column 1: unknown name"},
    {"preset 1 ; x=1", "that stand below, each once, at ' x=1"},
    {"preset 1 ; i=4", "that stand below, each once, at ' i=4"},
    /* rule */
    {"rule", "'expression ; \"reason\"' expected"},
    {"rule 1", "'expression ; \"reason\"' expected"},
    {"rule 1 \"r\"", "'expression ; \"reason\"' expected"},
    {"rule 1 ;", "a \"reason\" expected"},
    {"rule 1 ; r", "a \"reason\" expected, at 'r"},
    {"rule 1 ; \"r", "a \"reason\" expected"},
    {"rule ; \"r\"", "a number, a name or '(' expected"},
    {"rule 1 + ; \"r\"", "a number, a name or '(' expected"},
    {"rule x == 1 ; \"r\"", "column 1: unknown name"},
    {"rule 1 ; \"r\" # why", "the end of the line expected, at '# why"},
    {"rule 1 ; \"r\" ; brakes a=1", "'breaks TARGET name=value,...' or"},
    {"rule 1 ; \"r\" ; breaks", "'breaks TARGET name=value,...' or"},
    {"rule 1 ; \"r\" ; breaks t a=1 ;", "'breaks TARGET name=value,...' or"},
    {"rule 1 ; \"r\" ; follows ; breaks t a=1", "'follows NAME ...' expected"},
    {"rule i < 9 ; \"r\" ; breaks cuda:sm_80 i=9 ; breaks cuda:sm_80 i=8",
     "'breaks cuda:sm_80 i=8' is no counter-example of its rule: the rule "
     "holds there"},
    {"rule i < 3 ; \"r\" ; breaks sm_80",
     "its rule: target 'sm_80' is unknown"},
    {"rule i < 3 ; \"r\" ; breaks cuda:sm_80 i=10", "i=10 is not allowed"},
    {"rule i < 3 ; \"r\" ; breaks cuda:sm_80 k=1", "no parameter 'k'"},
    {"rule 1 ; \"r\" ; follows i nothing",
     "a rule follows from 'nothing', which is no parameter or constant"},
    /* launch */
    {"launch", "block_*, cluster_*, shared, args or overlap"},
    {"launch grid_x = 1", "block_*, cluster_*, shared, args or overlap"},
    {"launch block_w = 1", "args or overlap, once, with '=', at 'block_w"},
    {"launch block_y", "block_*, cluster_*, shared, args or overlap"},
    {"launch block_y 1", "block_*, cluster_*, shared, args or overlap"},
    {"launch block_y =", "a number, a name or '(' expected"},
    {"launch block_y = 1 ;", "an operator or the end expected"},
    {"launch block_y = z", "unknown name"},
    {"launch block_x = 1", "once"},
    {"launch args = 1", "once"},
};

START_TEST(test_bad_lines)
{
    for (size_t i = 0; i < COUNT(bad_lines); i++) {
        groat__str text = {0};

        groat__str_addf(&text, HEAD ENUM INT TAIL "%s\n", bad_lines[i].line);
        ck_refused(text.data, "#include \"params.h\"\n", LINES + 1,
                   bad_lines[i].words);
        /* The last line needs no line break. */
        text.data[--text.len] = '\0';
        ck_refused(text.data, "#include \"params.h\"\n", LINES + 1,
                   bad_lines[i].words);
        groat__str_free(&text);
    }
}
END_TEST

/* Valid lines that are close to the invalid ones above. */
START_TEST(test_good_lines)
{
    static const char *const good[] = {
        "", "   \t ", "# param", "  #param x \\ \x01",
        /* Latin-1, but in a comment. */
        "# gr\xfc n", "param x int 1 1 - \"\"",
        "param x int 1 1 - \"gr\xc3\xbcn \xe2\x82\xac\"",
        "\tparam\tx  int 1\t1 -   \"m\"  \t",
        "param x int -3..-1/2|5 5 - \"m\"", "param x int 0 (0) - \"m\"",
        "param x int -2147483648..2147483647 -1 - \"m\"",
        "param x int 1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16 16 - \"m\"",
        "param x int 1..9 (i+i) - \"m\"", "param x int 1..9 (arch_tma) - \"m\"",
        "param x bool - true - \"m\"", "param x bool - 0 - \"m\"",
        "param x bool - (arch_tma) - \"m\"", "param x enum a|p=9|b=5 b - \"m\"",
        "param x enum p=3|q=3 q - \"m\"",
        "param x enum p|q (arch_tma?p:q) - \"m\"", "derive x = i * 2 ; - \"m\"",
        "derive x =1;- \"m\"",
        "rule i == 3 || e == b ; \"r;\" ; breaks cpu:sm_80 i=4 ;follows i  e",
        "rule arch_tma ; \"r\" ; breaks cuda:sm_80 ;breaks cpu:gfx950",
        "rule 1;\"\"", "launch cluster_z = 1", "launch shared = i * e"};

    for (size_t i = 0; i < COUNT(good); i++) {
        groat__str text = {0};
        files f = {
            {{"f/params.def", NULL}, {"f/f.h", "#include \"params.h\""}}};

        groat__str_addf(&text, HEAD ENUM INT TAIL "%s\n", good[i]);
        f.at[0].text = text.data;
        groat__family_free(load(&f, "f"));
        groat__str_free(&text);
    }
}
END_TEST

START_TEST(test_bad_heads_and_entries)
{
    static const struct {
        const char *text;
        int line;
        const char *words;
    } cases[] = {
        {"family g \"s\"\n" TAIL, 1,
         "the family's name, 'g', is not its folder's"},
        {"family\n" TAIL, 1, "once"},
        {"family f\n" TAIL, 1, "once"},
        {"family f s\n" TAIL, 1, "once"},
        {"family f \"s\" t\n" TAIL, 1, "the end of the line expected"},
        {"", 0, "there is no line 'family'"},
        {TAIL, 0, "no line 'family'"},
        {HEAD "launch block_x = 1\nlaunch args = 0\n", 0, "no line 'entry'"},
        {HEAD "launch args = 0\nentry f\n", 0, "no line 'launch block_x'"},
        {HEAD "launch block_x = 1\nentry f\n", 0, "no line 'launch args'"},
        {HEAD "entry 1f\nlaunch block_x = 1\nlaunch args = 0\n", 2,
         "letters, digits, '_' and {constant} expected, at '1f"},
        {HEAD "entry {i}\nlaunch block_x = 1\nlaunch args = 0\n" INT, 2,
         "letters, digits"},
        {HEAD "entry f-g\nlaunch block_x = 1\nlaunch args = 0\n", 2,
         "letters, digits"},
        {HEAD "preset 1 ; i=10\n" INT TAIL, 2,
         "the value is 10, allowed are 1..9, at '10'"},
        {HEAD "preset 1 ; i=z\n" INT TAIL, 2, "unknown name"},
        {HEAD "preset 1 ; i=(i)\n" INT TAIL, 3,
         "what stands above, expected, at '3 - "},
        {HEAD "preset 1 ; i=1 i=2\n" INT TAIL, 2, "each once, at ' i=1 i=2'"},
        {HEAD "entry f_{x}\nlaunch block_x = 1\nlaunch args = 0\n", 2,
         "no such constant, at 'x}'"},
        {HEAD "entry f_{i\nlaunch block_x = 1\nlaunch args = 0\n" INT, 2,
         "letters, digits"},
        {HEAD "entry f_{}\nlaunch block_x = 1\nlaunch args = 0\n" INT, 2,
         "no such constant"},
        {HEAD "entry f_i}\nlaunch block_x = 1\nlaunch args = 0\n" INT, 2,
         "letters, digits"},
        {HEAD "entry f x\nlaunch block_x = 1\nlaunch args = 0\n", 2,
         "the end of the line expected"},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        ck_refused(cases[i].text, "#include \"params.h\"\n", cases[i].line,
                   cases[i].words);
    /* An entry may precede the parameters that it names. */
    groat__family_free(
        load(&(files){{{"f/params.def", HEAD "entry _{i}_{d}\n" INT
                                             "derive d = 1 ; - \"m\"\nlaunch "
                                             "block_x = 1\nlaunch args = 0\n"},
                       {"f/f.h", "#include \"params.h\"\n"}}},
             "f"));
}
END_TEST

START_TEST(test_no_params_def)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_family *family = NULL;
    files f = {{{"f/f.h", "#include \"params.h\"\n"}}};

    ck_fails(groat__family_load("f", files_read, &f, &family, &error),
             GROAT_INVALID, &error, "family 'f' has no params.def");
    ck_assert_ptr_null(family);
}
END_TEST

/* Asserts that `count` lines are read and that one more is refused. */
static void ck_bound(size_t count, const char *line, const char *words)
{
    groat__str text = {0};
    files f = {{{"f/params.def", NULL}, {"f/f.h", "#include \"params.h\""}}};

    groat__str_add(&text, HEAD TAIL);
    for (size_t i = 0; i < count; i++)
        groat__str_addf(&text, line, (int)i);
    f.at[0].text = text.data;
    groat__family_free(load(&f, "f"));
    groat__str_addf(&text, line, (int)count);
    ck_refused(text.data, "#include \"params.h\"", (int)count + 5, words);
    groat__str_free(&text);
}

START_TEST(test_too_many)
{
    ck_bound(GROAT__SLOTS - GROAT__ARCH_SLOTS, "param p%d int 1 1 - \"m\"\n",
             "more than 90");
    ck_bound(GROAT__SLOTS - GROAT__ARCH_SLOTS, "derive d%d = 1 ; - \"m\"\n",
             "more than 90");
    ck_bound(GROAT__RULES, "rule 1 ; \"r%d\"\n", "64 rules at most");
}
END_TEST

/* A line cannot use names that are defined below it. */
START_TEST(test_order)
{
    ck_refused(HEAD "rule i ; \"r\"\n" INT TAIL, "", 2, "unknown name");
    ck_refused(HEAD "derive d = i ; - \"m\"\n" INT TAIL, "", 2, "unknown name");
    ck_refused(HEAD "launch shared = i\n" INT TAIL, "", 2, "unknown name");
}
END_TEST

START_TEST(test_long_lines)
{
    groat__str text = {0};

    groat__str_add(&text, HEAD TAIL "rule ");
    for (int i = 0; i < 20000; i++)
        groat__str_add(&text, "1 + ");
    groat__str_add(&text, "1 ; \"r\"\n");
    ck_refused(text.data, "", 5, "too long");
    groat__str_clear(&text);
    groat__str_add(&text, HEAD TAIL);
    for (int i = 0; i < 20000; i++)
        groat__str_add(&text, "word");
    ck_refused(text.data, "", 5, "family, param, derive");
    groat__str_free(&text);
}
END_TEST

/* ---- flattening -------------------------------------------------------- */

#define MINIMAL HEAD TAIL

/* The source before and after the constants, of a family without files for one
 * backend. */
static const char *before(const groat_family *family)
{
    ck_assert_uint_eq(family->piece_count, 3);
    ck_assert_ptr_null(family->pieces[1].text);
    return family->pieces[0].text;
}

static const char *after(const groat_family *family)
{
    ck_assert_uint_eq(family->piece_count, 3);
    return family->pieces[2].text;
}

START_TEST(test_flat_text)
{
    groat_family *family = load_toy();

    ck_assert_str_eq(before(family), "#line 1 \"toy/toy.h\"\n"
                                     "\n"
                                     "\n");
    ck_assert_str_eq(after(family), "#line 4 \"toy/toy.h\"\n"
                                    "#line 1 \"toy/args.h\"\n" TOY_ARGS
                                    "#line 5 \"toy/toy.h\"\n"
                                    "#line 1 \"common/tool.h\"\n" TOY_TOOL "\n"
                                    "#line 6 \"toy/toy.h\"\n"
                                    "\n"
                                    "int toy_main = 1;\n");
    groat__family_free(family);
}
END_TEST

/* Files that include each other, or themselves, are included once. */
START_TEST(test_cycles)
{
    files f = {{{"f/params.def", MINIMAL},
                {"f/f.h", "#include \"a.h\"\nint f;\n"},
                {"f/a.h", "#include \"b.h\"\nint a;\n#include \"params.h\"\n"},
                {"f/b.h", "#include \"a.h\"\n#include \"f.h\"\n"
                          "#include \"b.h\"\nint b;\n"}}};
    groat_family *family = load(&f, "f");

    ck_assert_str_eq(before(family), "#line 1 \"f/f.h\"\n"
                                     "#line 1 \"f/a.h\"\n"
                                     "#line 1 \"f/b.h\"\n"
                                     "#line 2 \"f/b.h\"\n"
                                     "#line 3 \"f/b.h\"\n"
                                     "#line 4 \"f/b.h\"\n"
                                     "int b;\n"
                                     "#line 2 \"f/a.h\"\n"
                                     "int a;\n");
    ck_assert_str_eq(after(family), "#line 4 \"f/a.h\"\n"
                                    "#line 2 \"f/f.h\"\n"
                                    "int f;\n");
    groat__family_free(family);
}
END_TEST

START_TEST(test_include_spellings)
{
    static const char *const good[] = {
        "#include \"sub/x.h\"\n",        "  #\tinclude\t\"sub/x.h\"\n",
        "#include\"sub/x.h\"\n",         "#include \"./sub/x.h\"\n",
        "#include \"../f/sub/x.h\"\n",   "#include \".././f/sub/x.h\"\n",
        "#include \"sub/x.h\" // why\n", "#include \"sub/x.h\""};

    for (size_t i = 0; i < COUNT(good); i++) {
        files f = {{{"f/params.def", MINIMAL},
                    {"f/f.h", NULL},
                    {"f/sub/x.h", "int once;\n#include \"../y.h\"\n"},
                    {"f/y.h", "#include \"params.h\"\n"}}};
        groat_family *family;

        f.at[1].text = good[i];
        family = load(&f, "f");
        ck_assert_ptr_nonnull(strstr(before(family), "int once;\n"));
        ck_assert_ptr_nonnull(
            strstr(before(family), "#line 1 \"f/sub/x.h\"\n"));
        groat__family_free(family);
    }
}
END_TEST

/* params.h with the defaults exists for editors and is never read. */
START_TEST(test_spellings_of_params_h)
{
    static const char *const good[] = {
        "#include \"params.h\"\n", "#include \"./params.h\"\n",
        "#include \"../f/params.h\"\n", "%:include \"params.h\"\n",
        "#include \"sub/x.h\"\n"};

    for (size_t i = 0; i < COUNT(good); i++) {
        files f = {{{"f/params.def", MINIMAL},
                    {"f/f.h", NULL},
                    {"f/sub/x.h", "#include \"../params.h\"\n"},
                    {"f/params.h", "defaults\n"}}};
        groat_family *family;

        f.at[1].text = good[i];
        family = load(&f, "f");
        ck_assert_ptr_null(strstr(before(family), "defaults"));
        ck_assert_ptr_null(strstr(after(family), "defaults"));
        groat__family_free(family);
    }
}
END_TEST

START_TEST(test_bad_sources)
{
    static const struct {
        const char *source;
        const char *words;
    } cases[] = {
        {"int x;\n", "f/f.h does not include \"params.h\""},
        {"", "f/f.h does not include \"params.h\""},
        {"#include \"params.h\"\n\n#include \"params.h\"\n",
         "f/f.h includes params.h a second time"},
        {"\n#include <params.h>\n", "f/f.h:2: generated source reads"},
        {"#include <stdint.h>\n", "includes stand in double quotes"},
        {"#include params\n", "includes stand in double quotes"},
        {"#include \"params.h\n", "includes stand in double quotes"},
        {"#include\n\"params.h\"\n", "includes stand in double quotes"},
        {"#include", "includes stand in double quotes"},
        {"%:include <stdint.h>\n", "includes stand in double quotes"},
        {"#import \"params.h\"\n", "neither #import nor #embed"},
        {"# embed \"params.h\"\n", "neither #import nor #embed"},
        {"#include \"\"\n", "includes stand in double quotes"},
        {"#include_next \"params.h\"\n", "nor #include_next"},
        {"\n\n#include \"none.h\"\n", "f/f.h:3: file 'f/none.h' was not"},
        {"#include \"../none/x.h\"\n", "file 'none/x.h' was not found"},
        {"#include \"../../x.h\"\n",
         "f/f.h:1: cannot resolve include '../../x.h'"},
        {"#include \"../../../../../etc/passwd\"\n", "cannot resolve"},
        {"#include \"/etc/passwd\"\n", "cannot resolve include '/etc/passwd'"},
        {"#include \".//etc/passwd\"\n", "cannot resolve"},
        {"#include \"..//etc/passwd\"\n", "cannot resolve"},
        {"#include \"sub/../x.h\"\n", "cannot resolve"},
        {"#include \"sub/./x.h\"\n", "cannot resolve"},
        {"#include \"sub//x.h\"\n", "cannot resolve"},
        {"#include \"sub/../../../x.h\"\n", "cannot resolve"},
        {"#include \"sub/params.h\"\n", "'f/sub/params.h' was not"},
        {"#include \"../g/params.h\"\n", "'g/params.h' was not found"},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        ck_refused(MINIMAL, cases[i].source, 0, cases[i].words);
    ck_refused(MINIMAL, NULL, 0, "file 'f/f.h' was not found");
}
END_TEST

/* Makes a chain of includes: file n includes file n + 1. */
static void make_chain(files *f, char text[][2][32], size_t count)
{
    f->at[0].path = "f/params.def";
    f->at[0].text = MINIMAL;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(text[i][0], 32, i == 0 ? "f/f.h" : "f/c%zu.h", i);
        (void)snprintf(text[i][1], 32,
                       i + 1 == count ? "#include \"params.h\"\n"
                                      : "#include \"c%zu.h\"\n",
                       i + 1);
        f->at[i + 1].path = text[i][0];
        f->at[i + 1].text = text[i][1];
    }
}

START_TEST(test_depth)
{
    for (size_t count = 1; count < 30; count++) {
        char text[30][2][32];
        files f = {{{NULL, NULL}}};
        groat_error error = GROAT_ERROR_INIT;
        groat_family *family = NULL;
        groat_status status;

        make_chain(&f, text, count);
        status = groat__family_load("f", files_read, &f, &family, &error);
        ck_assert_int_eq(status, count <= 16 ? GROAT_OK : GROAT_INVALID);
        if (status != GROAT_OK)
            ck_says(&error, "16 levels of includes");
        groat__family_free(family);
        groat_error_clear(&error);
    }
}
END_TEST

START_TEST(test_many_files)
{
    for (size_t count = 60; count < 70; count++) {
        char paths[70][32];
        groat__str main_text = {0};
        files f = {{{"f/params.def", MINIMAL}, {"f/f.h", NULL}}};
        groat_error error = GROAT_ERROR_INIT;
        groat_family *family = NULL;
        groat_status status;

        groat__str_add(&main_text, "#include \"params.h\"\n");
        for (size_t i = 0; i + 1 < count; i++) {
            (void)snprintf(paths[i], sizeof(paths[i]), "f/c%zu.h", i);
            groat__str_addf(&main_text, "#include \"c%zu.h\"\n", i);
            f.at[2 + i].path = paths[i];
            f.at[2 + i].text = "\n";
        }
        f.at[1].text = main_text.data;
        status = groat__family_load("f", files_read, &f, &family, &error);
        ck_assert_int_eq(status, count <= 64 ? GROAT_OK : GROAT_INVALID);
        if (status != GROAT_OK)
            ck_says(&error, "more than 64 files");
        groat__family_free(family);
        groat_error_clear(&error);
        groat__str_free(&main_text);
    }
}
END_TEST

/* Comments, and includes in them, leave blanks and line ends; `include` as a
 * name is ignored. */
START_TEST(test_what_is_no_include)
{
    static const char source[] = "#include \"params.h\"\n"
                                 "// #include <x.h>\n"
                                 "/* a\n * b */ /* c */ int a;\n"
                                 "int include = 1;  // include <x.h>\n"
                                 "#define include/* 3\n*/ 3 // \\\n4\n"
                                 "#if/**/1\n"
                                 "#def\\// 5\nine x \\\t/* 6 */\n"
                                 "const char *no = \"/* // */\";\n"
                                 "#endif // last";
    files f = {{{"f/params.def", MINIMAL}, {"f/f.h", source}}};
    groat_family *family = load(&f, "f");

    ck_assert_str_eq(after(family), "#line 2 \"f/f.h\"\n"
                                    "\n"
                                    "\n   int a;\n"
                                    "int include = 1;\n"
                                    "#define include/* 3\n*/ 3 // \\\n4\n"
                                    "#if 1\n"
                                    "#def\\// 5\nine x \\\t/* 6 */\n"
                                    "const char *no = \"/* // */\";\n"
                                    "#endif\n");
    groat__family_free(family);
}
END_TEST

/* A family for one vendor may divide by a constant that is 0 elsewhere; a
 * family without values on any arch is refused. */
START_TEST(test_values_on_some_arch)
{
    static const struct {
        const char *derive;
        const char *good;
        const char *bad;
    } cases[] = {
        {"derive d = 64 / arch_lds_dma_bytes ; - \"m\"\n", "hip:gfx90a",
         "cuda:sm_80"},
        {"derive d = 64 / arch_tma ; - \"m\"\n", "cuda:sm_90", "cuda:sm_80"},
        {"derive d = 64 / arch_tr_read ; - \"m\"\n", "cpu:gfx950",
         "cpu:gfx942"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        groat__str text = {0};
        groat_error error = GROAT_ERROR_INIT;
        files f = {
            {{"f/params.def", NULL}, {"f/f.h", "#include \"params.h\""}}};
        groat__params params;
        groat_family *family;

        groat__str_addf(&text, MINIMAL "%s", cases[i].derive);
        f.at[0].text = text.data;
        family = load(&f, "f");
        params = parsed(family, "f", cases[i].good);
        ck_assert_int_gt(value_of(&params, "d"), 0);
        ck_fails(parse(family, "f", cases[i].bad, &params, &error),
                 GROAT_INVALID, &error, "d cannot be computed: division");
        groat__family_free(family);
        groat__str_free(&text);
    }
    ck_refused(MINIMAL "derive d = 1 / 0 ; - \"m\"\n",
               "#include \"params.h\"\n", 0,
               "f/params.def:5: d cannot be computed: division by zero");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("family");
    TCase *tcase = tcase_create("family");

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_toy);
    tcase_add_test(tcase, test_param_info);
    tcase_add_test(tcase, test_rules);
    tcase_add_test(tcase, test_allowed_values);
    tcase_add_test(tcase, test_arch_values);
    tcase_add_test(tcase, test_bad_lines);
    tcase_add_test(tcase, test_good_lines);
    tcase_add_test(tcase, test_bad_heads_and_entries);
    tcase_add_test(tcase, test_no_params_def);
    tcase_add_test(tcase, test_too_many);
    tcase_add_test(tcase, test_order);
    tcase_add_test(tcase, test_long_lines);
    tcase_add_test(tcase, test_flat_text);
    tcase_add_test(tcase, test_cycles);
    tcase_add_test(tcase, test_include_spellings);
    tcase_add_test(tcase, test_spellings_of_params_h);
    tcase_add_test(tcase, test_bad_sources);
    tcase_add_test(tcase, test_depth);
    tcase_add_test(tcase, test_many_files);
    tcase_add_test(tcase, test_what_is_no_include);
    tcase_add_test(tcase, test_values_on_some_arch);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
