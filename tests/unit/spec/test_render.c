/* SPDX-License-Identifier: Apache-2.0
 *
 * test_render.c: the generated header is valid C++ on its own, has the values
 * of the spec and asserts that they are allowed; and #line directives give each
 * line of the source its true place.
 */
#include "fixture.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/fs.h"
#include "spec/render.h"

static groat_family *toy;
static char dir[200];

static void setup(void)
{
    toy = load_toy();
    make_folder(dir, sizeof(dir));
}

static void teardown(void)
{
    groat__family_free(toy);
    remove_folder(dir);
}

static char *constants_of(const groat__params *params)
{
    groat__str text = {0};

    groat__render_constants(params, &text);
    ck_assert(!text.failed);
    return groat__str_take(&text);
}

static char *source_of(const groat__params *params)
{
    groat__str text = {0};

    groat__render_source(params, &text);
    ck_assert(!text.failed);
    return groat__str_take(&text);
}

static size_t count_of(const char *text, const char *words)
{
    size_t count = 0;

    while ((text = strstr(text, words)) != NULL) {
        text += strlen(words);
        count++;
    }
    return count;
}

/* Returns the exit status of the C++ compiler for head and tail. */
static int compile(const char *head, const char *tail)
{
    extern char **environ;
    const char *cxx = getenv("CXX");
    posix_spawn_file_actions_t actions;
    char file[300];
    groat__str text = {0};
    pid_t pid = 0;
    int status = 0;
    char *argv[] = {(char *)(uintptr_t)(cxx == NULL ? "c++" : cxx),
                    (char[]){"-std=c++17"}, (char[]){"-fsyntax-only"},
                    (char[]){"-Wall"}, (char[]){"-Wextra"},
                    (char[]){"-Wpedantic"}, (char[]){"-Werror"},
                    /* clang warns of constants that are not used yet */
                    (char[]){"-Wno-unused-const-variable"}, file, NULL};

    (void)snprintf(file, sizeof(file), "%s/constants.cc", dir);
    groat__str_addf(&text, "%s%s", head, tail);
    ck_assert_int_eq(groat__fs_write(file, text.data, text.len, 0600, NULL),
                     GROAT_OK);
    groat__str_free(&text);
    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    ck_assert_int_eq(
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0),
        0);
    ck_assert_msg(posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) ==
                      0,
                  "cannot start %s", argv[0]);
    (void)posix_spawn_file_actions_destroy(&actions);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- the header -------------------------------------------------------- */

START_TEST(test_header)
{
    static const char expected[] =
        "namespace groat {\n"
        "namespace arch {\n"
        "constexpr int wave_lanes = 64;\n"
        "constexpr int shared_bytes = 163840;\n"
        "constexpr int shared_banks = 64;\n"
        "constexpr int lds_dma_bytes = 16;\n"
        "constexpr int cp_async = 0;\n"
        "constexpr int tma = 0;\n"
        "constexpr int max_cluster = 1;\n"
        "constexpr int tr_read = 1;\n"
        "constexpr int is_amd = 1;\n"
        "constexpr int mfma_16bit_bytes = 16;\n"
        "constexpr int mfma_8bit_bytes = 32;\n"
        "constexpr int fp8_fnuz = 0;\n"
        "constexpr int wgmma = 0;\n"
        "constexpr int cta_group = 0;\n"
        "}\n"
        "namespace params {\n"
        "constexpr int dtype_bf16 = 0;\n"
        "constexpr int dtype_fp8 = 1;\n"
        "constexpr int dtype_f32 = 7;\n"
        "constexpr int dtype = dtype_f32;\n"
        "static_assert(dtype == 0 || dtype == 1 || dtype == 7, "
        "\"dtype: allowed bf16|fp8|f32=7\");\n"
        "constexpr int elem = 4;\n"
        "constexpr int rows = 16;\n"
        "static_assert(rows == 1 || rows == 2 || "
        "(rows >= 8 && rows <= 64 && (rows - 8) % 8 == 0), "
        "\"rows: allowed 1|2|8..64/8\");\n"
        "constexpr int cols = 32;\n"
        "static_assert((cols >= 16 && cols <= 128 && (cols - 16) % 16 == 0), "
        "\"cols: allowed 16..128/16\");\n"
        "constexpr bool wide = true;\n"
        "static_assert((wide >= 0 && wide <= 1), \"wide: allowed 0|1\");\n"
        "constexpr int shift = -3;\n"
        "static_assert((shift >= -4 && shift <= 4), "
        "\"shift: allowed -4..4\");\n"
        "constexpr int mode_plain = 0;\n"
        "constexpr int mode_fast = 1;\n"
        "constexpr int mode = mode_plain;\n"
        "static_assert(mode == 0 || mode == 1, "
        "\"mode: allowed plain|fast\");\n"
        "constexpr int bytes = 2048;\n"
        "constexpr long long huge = 2199023255552;\n"
        "}\n"
        "}\n"
        "#define GROAT_BLOCK_THREADS 128\n"
        "#define GROAT_SHARED_BYTES 2048\n"
        "#define GROAT_ARGS_BYTES 16\n"
        "#define GROAT_ENTRY toy_f32_16x32_sm3_4\n";
    groat__params params =
        parsed(toy, "toy:dtype=f32,wide=1,shift=-3", "hip:gfx950");
    char *text = constants_of(&params);

    ck_assert_str_eq(text, expected);
    free(text);
}
END_TEST

/* Checks that each parameter has one static_assert and each name one
 * definition; a code parameter has one macro. */
static void ck_asserts(const groat__params *params)
{
    const groat_family *family = params->family;
    char *text = constants_of(params);

    ck_assert_uint_eq(count_of(text, "static_assert("),
                      family->param_count - (family->code > 0));
    for (size_t i = GROAT__ARCH_SLOTS; i < family->slot_count; i++) {
        const groat__slot *slot = &family->slots[i];
        groat__str words = {0};

        if (i == family->code) {
            ck_assert_uint_eq(count_of(text, "\n#define GROAT_CODE_"), 1);
            continue;
        }

        groat__str_addf(&words, " %s = ", slot->name);
        ck_assert_uint_eq(count_of(text, words.data), 1);
        groat__str_clear(&words);
        groat__str_addf(&words, ", \"%s: allowed ", slot->name);
        ck_assert_uint_eq(count_of(text, words.data), slot->is_param);
        groat__str_free(&words);
    }
    free(text);
}

START_TEST(test_every_parameter_is_asserted)
{
    groat_family *families[FAMILIES_MAX];
    size_t count = load_embedded(families);
    groat__params params = parsed(toy, "toy", "cuda:sm_80");

    ck_asserts(&params);
    for (size_t i = 0; i < count; i++) {
        groat__target target = target_of("cpu:gfx950");

        ck_assert_int_eq(
            groat__params_defaults(families[i], &target, &params, NULL),
            GROAT_OK);
        ck_asserts(&params);
        groat__family_free(families[i]);
    }
}
END_TEST

/* Returns static_asserts that hold if the header has the spec's values. */
static char *expectations(const groat__params *params)
{
    const groat_family *family = params->family;
    groat__str text = {0};

    for (size_t i = 0; i < family->slot_count; i++) {
        const char *name = family->slots[i].name;
        bool arch = i < GROAT__ARCH_SLOTS;

        if (!arch && i == family->code)
            continue; /* no constant */
        groat__str_addf(
            &text, "static_assert(groat::%s::%s == %lldLL, \"\");\n",
            arch ? "arch" : "params", arch ? name + strlen("arch_") : name,
            (long long)params->values[i]);
    }
    groat__str_add(&text, "extern \"C\" void GROAT_ENTRY();\n"
                          "static_assert(GROAT_BLOCK_THREADS > 0, \"\");\n"
                          "char shared[GROAT_SHARED_BYTES + 1];\n"
                          "char args[GROAT_ARGS_BYTES + 1];\n");
    return groat__str_take(&text);
}

START_TEST(test_header_compiles_alone)
{
    static const char *const specs[] = {"toy", "toy:dtype=f32,wide=1,shift=-3",
                                        "toy:rows=1,cols=128,shift=4"};
    static const char *const targets[] = {"cuda:sm_90a", "hip:gfx950"};

    for (size_t i = 0; i < COUNT(specs); i++) {
        groat__params params = parsed(toy, specs[i], targets[i % 2]);
        char *header = constants_of(&params);
        char *tail = expectations(&params);

        ck_assert_msg(compile(header, tail) == 0, "%.2000s", header);
        free(header);
        free(tail);
    }
    ck_assert_int_ne(compile("static_assert(1 == 2, \"\");\n", ""), 0);
}
END_TEST

START_TEST(test_embedded_headers_compile_alone)
{
    static const char *const targets[] = {"cuda:sm_80", "cuda:sm_100a",
                                          "hip:gfx90a"};
    groat_family *families[FAMILIES_MAX];
    size_t count = load_embedded(families);

    for (size_t i = 0; i < count; i++) {
        groat__target target = target_of(targets[i % COUNT(targets)]);
        groat__params params;
        char *header;
        char *tail;

        ck_assert_int_eq(
            groat__params_defaults(families[i], &target, &params, NULL),
            GROAT_OK);
        header = constants_of(&params);
        tail = expectations(&params);
        ck_assert_msg(compile(header, tail) == 0, "%.2000s", header);
        free(header);
        free(tail);
        groat__family_free(families[i]);
    }
}
END_TEST

/* A header that was edited to a value that is not allowed does not compile. */
START_TEST(test_assertions_hold)
{
    static const struct {
        const char *from;
        const char *to;
        bool good;
    } cases[] = {
        {"int rows = 16;", "int rows = 64;", true},
        {"int rows = 16;", "int rows = 2;", true},
        {"int rows = 16;", "int rows = 72;", false},
        {"int rows = 16;", "int rows = 12;", false},
        {"int rows = 16;", "int rows = 0;", false},
        {"int shift = 0;", "int shift = -4;", true},
        {"int shift = 0;", "int shift = -5;", false},
        {"int dtype = dtype_bf16;", "int dtype = 7;", true},
        {"int dtype = dtype_bf16;", "int dtype = 2;", false},
    };
    groat__params params = parsed(toy, "toy", "hip:gfx950");
    char *header = constants_of(&params);

    for (size_t i = 0; i < COUNT(cases); i++) {
        char *at = strstr(header, cases[i].from);
        groat__str changed = {0};

        ck_assert_ptr_nonnull(at);
        groat__str_addn(&changed, header, (size_t)(at - header));
        groat__str_addf(&changed, "%s%s", cases[i].to,
                        at + strlen(cases[i].from));
        ck_assert_msg((compile(changed.data, "") == 0) == cases[i].good, "%s",
                      cases[i].to);
        groat__str_free(&changed);
    }
    free(header);
}
END_TEST

/* Both ends of the int range, with a step. */
START_TEST(test_widest_range)
{
    static const files f = {
        {{"f/params.def",
          "family f \"s\"\n"
          "param x int -2147483647..2147483647/2 2147483647 - \"m\"\n"
          "derive d = x * 1073741824 ; - \"m\"\n"
          "launch block_x = 1\nlaunch args = 0\nentry f\n"},
         {"f/f.h", "#include \"params.h\"\n"}}};
    groat_family *family = load(&f, "f");
    groat__params params = parsed(family, "f", "hip:gfx950");
    char *header = constants_of(&params);
    char *tail = expectations(&params);

    ck_assert_msg(compile(header, tail) == 0, "%.2000s", header);
    free(header);
    free(tail);
    groat__family_free(family);
}
END_TEST

/* The smallest 64-bit number cannot be written as a literal. */
START_TEST(test_least_number)
{
    static const files f = {
        {{"f/params.def", "family f \"s\"\n"
                          "derive least = -9223372036854775807 - 1 ; - \"m\"\n"
                          "derive most = 9223372036854775807 ; - \"m\"\n"
                          "launch block_x = 1\nlaunch args = 0\nentry f\n"},
         {"f/f.h", "#include \"params.h\"\n"}}};
    groat_family *family = load(&f, "f");
    groat__params params = parsed(family, "f", "hip:gfx950");
    char *header = constants_of(&params);

    ck_assert_int_eq(compile(header,
                             "static_assert(groat::params::least + 1 == "
                             "-groat::params::most, \"\");\n"),
                     0);
    free(header);
    groat__family_free(family);
}
END_TEST

/* A launch shape that no device takes is rendered as zeros. */
START_TEST(test_launch_out_of_range)
{
    static const files f = {
        {{"f/params.def", "family f \"s\"\n"
                          "launch block_x = 1024\n"
                          "launch block_y = 9223372036854775807\n"
                          "launch block_z = 9223372036854775807\n"
                          "launch args = 8\nentry f\n"},
         {"f/f.h", "#include \"params.h\"\n"}}};
    groat_family *family = load(&f, "f");
    groat__params params = parsed(family, "f", "hip:gfx950");
    char *header = constants_of(&params);

    ck_assert_ptr_nonnull(strstr(header, "#define GROAT_BLOCK_THREADS 0\n"));
    ck_assert_ptr_nonnull(strstr(header, "#define GROAT_ARGS_BYTES 0\n"));
    free(header);
    groat__family_free(family);
}
END_TEST

/* A default that is no enumerator only ever occurs in a closure. */
START_TEST(test_default_that_is_no_enumerator)
{
    static const files f = {
        {{"f/params.def", "family f \"s\"\nparam e enum a|b (5) - \"m\"\n"
                          "launch block_x = 1\nlaunch args = 0\nentry f_{e}\n"},
         {"f/f.h", "#include \"params.h\"\n"}}};
    groat_family *family = load(&f, "f");
    groat__target target = target_of("hip:gfx950");
    groat__params params;
    char *header;

    ck_assert_int_eq(groat__params_defaults(family, &target, &params, NULL),
                     GROAT_OK);
    header = constants_of(&params);
    ck_assert_ptr_nonnull(strstr(header, "constexpr int e = 5;"));
    ck_assert_ptr_nonnull(strstr(header, "#define GROAT_ENTRY f_5\n"));
    free(header);
    groat__family_free(family);
}
END_TEST

/* ---- the source -------------------------------------------------------- */

START_TEST(test_source)
{
    groat__params params = parsed(toy, "toy", "hip:gfx950");
    char *header = constants_of(&params);
    char *source = source_of(&params);
    groat__str expected = {0};

    groat__str_addf(&expected, "%s#line 1 \"toy/params.h\"\n%s%s",
                    toy->pieces[0].text, header, toy->pieces[2].text);
    ck_assert_str_eq(source, expected.data);
    groat__str_free(&expected);
    free(header);
    free(source);
}
END_TEST

START_TEST(test_same_spec_same_source)
{
    groat_family *again = load_toy();
    groat__params one =
        parsed(toy, "toy:rows=8,cols=64,dtype=fp8", "cuda:sm_90a");
    groat__params two =
        parsed(again, "toy:dtype=fp8,cols=64,wide=0,rows=8", "cuda:sm_90a");
    groat__params other = parsed(toy, "toy:rows=8,cols=64", "cuda:sm_90a");
    char *first = source_of(&one);
    char *second = source_of(&two);
    char *third = source_of(&other);

    ck_assert_str_eq(first, second);
    ck_assert_str_ne(first, third);
    free(first);
    free(second);
    free(third);
    groat__family_free(again);
}
END_TEST

/* Copies line `number` of text, without its end; "" past the end. */
static void line_of(const char *text, int number, char *out, size_t size)
{
    size_t len;

    for (int i = 1; i < number && text != NULL; i++) {
        text = strchr(text, '\n');
        text = text == NULL ? NULL : text + 1;
    }
    len = text == NULL ? 0 : strcspn(text, "\n");
    (void)snprintf(out, size, "%.*s", (int)len, text == NULL ? "" : text);
}

typedef struct place {
    char path[200];
    int line;
    size_t compared;
} place;

/* Whether the rest of a line is a comment, or the inside of one. */
static bool is_comment(const char *rest)
{
    rest += strspn(rest, " ");
    return *rest == '\0' || *rest == '*' || strncmp(rest, "//", 2) == 0 ||
           strncmp(rest, "/*", 2) == 0;
}

/* Checks one line of a source: a #line, or the line at its stated place without
 * its comment. */
static void ck_line(place *at, const char *line, groat__file_fn *read,
                    void *user)
{
    const char *text;
    char original[400];

    if (strncmp(line, "#line ", 6) == 0) {
        ck_assert_int_eq(
            sscanf(line, "#line %d \"%199[^\"]\"", &at->line, at->path), 2);
        return;
    }
    text = read(user, at->path);
    if (text != NULL) {
        line_of(text, at->line, original, sizeof(original));
        /* This line is replaced by an empty one. */
        if (strcmp(original, "#pragma once") == 0)
            original[0] = '\0';
        ck_assert_msg(strncmp(original, line, strlen(line)) == 0 &&
                          is_comment(original + strlen(line)),
                      "%s:%d is '%s', not '%s'", at->path, at->line, original,
                      line);
        at->compared++;
    } else {
        ck_assert_ptr_nonnull(strstr(at->path, "/params.h"));
    }
    at->line++;
}

static size_t ck_places(const groat__params *params, groat__file_fn *read,
                        void *user)
{
    char *source = source_of(params);
    place at = {"", 0, 0};

    for (const char *line = source; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        char copy[400];

        ck_assert_uint_lt(len, sizeof(copy));
        ck_assert_int_eq(line[len], '\n');
        (void)snprintf(copy, sizeof(copy), "%.*s", (int)len, line);
        ck_line(&at, copy, read, user);
        line += len + 1;
    }
    free(source);
    return at.compared;
}

START_TEST(test_line_numbers)
{
    files f = toy_files();
    groat_family *families[FAMILIES_MAX];
    size_t count = load_embedded(families);
    groat__params params = parsed(toy, "toy", "hip:gfx950");

    ck_assert_uint_eq(ck_places(&params, files_read, &f), 8);
    for (size_t i = 0; i < count; i++) {
        groat__target target = target_of("hip:gfx950");

        ck_assert_int_eq(
            groat__params_defaults(families[i], &target, &params, NULL),
            GROAT_OK);
        ck_assert_uint_gt(ck_places(&params, embedded_read, NULL), 50);
        groat__family_free(families[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("render");
    TCase *tcase = tcase_create("render");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, test_header);
    tcase_add_test(tcase, test_every_parameter_is_asserted);
    tcase_add_test(tcase, test_header_compiles_alone);
    tcase_add_test(tcase, test_embedded_headers_compile_alone);
    tcase_add_test(tcase, test_assertions_hold);
    tcase_add_test(tcase, test_widest_range);
    tcase_add_test(tcase, test_least_number);
    tcase_add_test(tcase, test_launch_out_of_range);
    tcase_add_test(tcase, test_default_that_is_no_enumerator);
    tcase_add_test(tcase, test_source);
    tcase_add_test(tcase, test_same_spec_same_source);
    tcase_add_test(tcase, test_line_numbers);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
