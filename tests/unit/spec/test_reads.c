/* SPDX-License-Identifier: Apache-2.0
 *
 * test_reads.c: whatever makes a compiler read a file is expanded in place or
 * refused, however it is spelled; other text is left alone.  Random sources are
 * checked against the host's compiler.
 */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/fs.h"
#include "spec/reads.h"

extern char **environ;

typedef struct outcome {
    int includes;
    int onces;
    const char *why; /* reason of a refusal, or NULL */
    int line;
} outcome;

static outcome walk(const char *text)
{
    groat__read what;
    groat__reads reads;
    outcome out = {0, 0, NULL, 0};

    groat__reads_begin(&reads, text);
    while (out.why == NULL &&
           (what = groat__reads_next(&reads)) != GROAT__READ_END) {
        out.includes += what == GROAT__READ_INCLUDE;
        out.onces += what == GROAT__READ_ONCE;
        if (what == GROAT__READ_REFUSED)
            out.why = reads.why;
        out.line = reads.line;
    }
    groat__reads_end(&reads);
    return out;
}

START_TEST(placed)
{
    static const char *const texts[] = {
        "#include \"x\"",
        "\t# \tinclude\t\"x\"  \n",
        "%:include \"x\" // why\n",
        "#include \"x\" /* why */ \r\nint a;\r\n",
        "int a; /* # */\n#include \"x\"\n",
        "int a; // \"\n#include \"x\"\n",
        "int a = 1'000'000; /* '\n*/\n#include \"x\"\n",
        "char a = '\"';\n#include \"x\"\n",
        "char a = '\\'', b = '\"';\n#include \"x\"\n",
        "const char *a = \"/*\";\n#include \"x\"\n",
        "const char *a = \"\\\"/*\";\n#include \"x\"\n",
        "#error don't\n#include \"x\"\n",
        "#if 0\nisn't\n#endif\n#include \"x\"\n",
        "#define A \\\n  /* b */ 1\n#include \"x\"\n",
        "/* a *\\\n/\n#include \"x\"\n",
        "// a \\\n#include \"y\"\n#include \"x\"\n",
        "/* #include \"y\" */\n#include \"x\"\n",
        "a /\\\n* #include \"y\"\n */\n#include \"x\"\n",
        "asm(\"mov %0, 1.5; // include\");\n#include \"x\"\n",
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        outcome out = walk(texts[i]);

        ck_assert_msg(out.why == NULL, "%s: %s", texts[i], out.why);
        ck_assert_msg(out.includes == 1, "%d in %s", out.includes, texts[i]);
    }
}
END_TEST

static const struct {
    const char *text;
    int line;
    const char *why;
} refusals[] = {
    {"/* c */ #include \"x\"\n", 1, "on lines of their own"},
    {"a\n/* c\n */ #include \"x\"\n", 3, "on lines of their own"},
    {"#/**/include \"x\"\n", 1, "on lines of their own"},
    {"#include/**/\"x\"\n", 1, "on lines of their own"},
    {"#include \"x\" /* a\n*/\n", 1, "on lines of their own"},
    {"#include \"x\" a\n", 1, "on lines of their own"},
    {"#inc\\\nlude \"x\"\n", 2, "on lines of their own"},
    {"\\\n#include \"x\"\n", 2, "on lines of their own"},
    {"# \\\ninclude \"x\"\n", 2, "on lines of their own"},
    {"#include \\\n\"x\"\n", 1, "on lines of their own"},
    {"#include \"a\\\nx\"\n", 1, "on lines of their own"},
    {"\f#include \"x\"\n", 1, "on lines of their own"},
    {"\v#include \"x\"\n", 1, "on lines of their own"},
    {"#\finclude \"x\"\n", 1, "on lines of their own"},
    {"%\\\n:include \"x\"\n", 2, "on lines of their own"},
    {"#include <x>\n", 1, "in double quotes"},
    {"#include X\n", 1, "in double quotes"},
    {"#include \"x\n", 1, "in double quotes"},
    {"#include\n", 1, "in double quotes"},
    {"#import \"x\"\n", 1, "neither #import"},
    {"#/**/import \"x\"\n", 1, "neither #import"},
    {"#embed \"x\"\n", 1, "nor #embed"},
    {"#include_next \"x\"\n", 1, "nor #include_next"},
    {"#if __has_include(\"x\")\n", 1, "which files there are"},
    {"int i = __TIME__[7];\n", 1, "when it is compiled"},
    {"const char *s = __DA\\\nTE__;\n", 2, "when it is compiled"},
    {"#define T __TIMESTAMP__\n", 1, "when it is compiled"},
    {"#define A __has_inc\\\nlude\n", 2, "which files there are"},
    {"#if 1 && __has_include_next(<x>)\n", 1, "which files there are"},
    {"#if __has_embed(\"x\")\n", 1, "which files there are"},
    {"#pragma GCC dependency \"x\"\n", 1, "a pragma may not"},
    {"# pragma /**/ GCC dep\\\nendency \"x\"\n", 2, "a pragma may not"},
    {"#pragma GCC pch_preprocess \"x\"\n", 1, "a pragma may not"},
    {"#pragma clang module import x\n", 1, "a pragma may not"},
    {"_Pragma(\"GCC dependency \\\"x\\\"\")\n", 1, "a pragma may not"},
    {"auto a = R\"(\n#include \"x\"\n)\";\n", 1, "raw strings"},
    {"auto a = u8R\"b()b\";\n", 1, "raw strings"},
    {"auto a = L\\\nR\"b()b\";\n", 2, "raw strings"},
    {"asm(\".incbin \\\"x\\\"\");\n", 1, ".incbin"},
    {"asm(\".InCbin 'x'\");\n", 1, ".incbin"},
    {"asm(\".inc\" /* a */\n\"bin 'x'\");\n", 2, ".incbin"},
    {"asm(\".inc\\x62in 'x'\");\n", 1, ".incbin"},
    {"asm(\"\\056include 'x'\");\n", 1, ".incbin"},
    {"asm(\"\\u002eincbin 'x'\");\n", 1, ".incbin"},
    {"asm(\".in\\\ncbin 'x'\");\n", 2, ".incbin"},
    {"asm(u8\".inc\" \"bin 'x'\");\n", 1, ".incbin"},
    {"asm(\".inc\" u8\"bin 'x'\");\n", 1, ".incbin"},
    {"asm(\"a:\\n\\t.macro b\");\n", 1, ".incbin"},
    {"asm(\".irp a, inc\");\n", 1, ".incbin"},
    {"\?\?=include \"x\"\n", 1, "trigraphs"},
    {"// a \?\?/\n#include \"x\"\n", 1, "trigraphs"},
    {"// a \\ \n#include \"x\"\n", 1, "two ways"},
    {"a\n// a \\\t\r\n#include \"x\"\n", 2, "two ways"},
    {"int a;\r#include \"x\"\n", 1, "a carriage return"},
    {"\xEF\xBB\xBF#include \"x\"\n", 1, "byte order mark"},
    {"int a; /* a\n", 1, "does not end"},
    {"# /* a\n", 1, "does not end"},
    {"int a; // \\\n", 1, "ends amid a line"},
    {"int a; \\", 1, "ends amid a line"},
};

START_TEST(refused)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        outcome out = walk(refusals[i].text);

        ck_assert_msg(out.why != NULL, "%s", refusals[i].text);
        ck_assert_msg(strstr(out.why, refusals[i].why) != NULL, "%s: %s",
                      refusals[i].text, out.why);
        ck_assert_msg(out.line == refusals[i].line, "%s: line %d",
                      refusals[i].text, out.line);
        ck_assert_int_eq(out.includes, 0);
    }
}
END_TEST

START_TEST(left_alone)
{
    static const char *const texts[] = {
        "",
        "\n",
        "int a # include\n",
        "a %:include \"x\"\n",
        "#\n# 7 \"x\"\n#line 7 \"x\"\n",
        "#define include\n#includes\n#define import 1\n",
        "/* #include \"x\"\n#import \"x\" */\n",
        "// #include \"x\" \\\n#include \"y\"\n",
        "const char *a = \"#include \\\"x\\\"\\\n#include\";\n",
        "#pragma unroll 4\n#pragma GCC diagnostic push\n",
        "_Pragma(\"unroll\") for (;;) {}\n",
        "int dependency, module;\n",
        "auto Ra = \"a\"; auto R = 1;\n",
        "asm volatile(\"cp.async.bulk;\\n\" \"mbarrier.init.shared::cta;\");\n",
        "int a = 1 ? 2 : 3; // really??\n",
        /* One number each, signs and quotes included, then a string. */
        "#define A 0x1e+R\"(b)\"\n#define B 1.p-R\"(b)\"\n",
        "#define A 1'0e-R\"(b)\"\n",
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        outcome out = walk(texts[i]);

        ck_assert_msg(out.why == NULL, "%s: %s", texts[i], out.why);
        ck_assert_msg(out.includes == 0, "%s", texts[i]);
    }
    ck_assert_int_eq(walk("#pragma once\n# pragma once // b\n").onces, 2);
}
END_TEST

/* ---- against a compiler -------------------------------------------------- */

static const char *const pieces[] = {
    "#",        "%:",      "include",     " ",
    "\t",       "\f",      "\"x.h\"",     "<x.h>",
    "\n",       "\n",      "\n",          "\n",
    "\\\n",     "/*",      "*/",          "//",
    "/",        "*",       "\"",          "'",
    "a",        "1'000",   "define X ",   "X",
    "if 0\n",   "endif",   "R\"(",        ")\"",
    "\\",       "\r\n",    "#include",    "\v",
    "u8",       "if 1\n",  "else\n",      "#include \"x.h\"",
    "/**/",     "%\\\n:",  "inc\\\nlude", "'\"'",
    "\"\\\"\"", "import",  "#define A ",  "0x1e+1",
    ".5",       "\?\?/\n", "\\ \n",       "#error don't",
};

/* Tells whether the compiler reads x.h for a source. */
static bool is_read(const char *folder, const char *text)
{
    posix_spawn_file_actions_t actions;
    char source[300];
    char list[300];
    char include[300];
    char *const argv[] = {"c++",   "-E", "-std=c++17", "-nostdinc", "-iquote",
                          include, "-I", include,      "-MD",       "-MF",
                          list,    "-x", "c++",        source,      NULL};
    char *seen = NULL;
    size_t bytes = 0;
    int status = 0;
    bool read;
    pid_t pid;

    (void)snprintf(source, sizeof(source), "%s/source", folder);
    (void)snprintf(list, sizeof(list), "%s/list", folder);
    (void)snprintf(include, sizeof(include), "%s/include", folder);
    ck_assert_int_eq(groat__fs_write(source, text, strlen(text), 0600, NULL),
                     GROAT_OK);
    (void)unlink(list);
    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    for (int fd = 1; fd < 3; fd++)
        ck_assert_int_eq(posix_spawn_file_actions_addopen(
                             &actions, fd, "/dev/null", O_WRONLY, 0),
                         0);
    ck_assert_int_eq(posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ),
                     0);
    (void)posix_spawn_file_actions_destroy(&actions);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    read = groat__fs_read(list, 1 << 20, &seen, &bytes, NULL) == GROAT_OK &&
           strstr(seen, "x.h") != NULL;
    free(seen);
    return read;
}

START_TEST(against_the_compiler)
{
    int count = getenv("GROAT_TEST_ALL") != NULL ? 20000 : 150;
    uint64_t seed = 5;
    char folder[200];
    char path[300];
    int read = 0;

    make_folder(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/include", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/include/x.h", folder);
    ck_assert_int_eq(groat__fs_write(path, "int x;\n", 7, 0600, NULL),
                     GROAT_OK);
    for (int i = 0; i < count; i++) {
        groat__str text = {0};
        outcome out;

        for (uint64_t n = 2 + next_random(&seed) % 14; n > 0; n--)
            groat__str_add(&text, pieces[next_random(&seed) % COUNT(pieces)]);
        groat__str_add(&text, "\n");
        ck_assert(!text.failed);
        out = walk(text.data);
        /* Includes that are expanded or refused need no check by a compiler. */
        if (out.includes == 0 && out.why == NULL)
            ck_assert_msg(!is_read(folder, text.data), "seed 5, %d:\n%s", i,
                          text.data);
        else
            read++;
        groat__str_free(&text);
    }
    ck_assert_int_gt(read, count / 20);
    remove_folder(folder);
}
END_TEST

/* Time grows with the length: at its square each of these takes minutes. */
START_TEST(long_texts)
{
    enum { PIECES = 1 << 20 };
    static const struct {
        const char *piece, *end;
        bool refused;
    } texts[] = {{"\\\n", "int a;\n", false},
                 {"\"a.b\"\n", ";\n", false},
                 {"\"a.b\"\n", "\".inc\" \"bin\";\n", true}};

    for (size_t i = 0; i < COUNT(texts); i++) {
        groat__str text = {0};

        for (int n = 0; n < PIECES; n++)
            groat__str_add(&text, texts[i].piece);
        groat__str_add(&text, texts[i].end);
        ck_assert(!text.failed);
        ck_assert_int_eq(walk(text.data).why != NULL, texts[i].refused);
        groat__str_free(&text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reads");
    TCase *tests = tcase_create("reads");

    tcase_set_timeout(tests, 3600);
    tcase_add_test(tests, placed);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, left_alone);
    tcase_add_test(tests, long_texts);
    tcase_add_test(tests, against_the_compiler);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
