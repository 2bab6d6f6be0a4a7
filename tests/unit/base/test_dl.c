/* SPDX-License-Identifier: Apache-2.0
 *
 * test_dl.c: in which order libraries are tried, what the search reports, and
 * how a library is identified.  Three libraries of the build, with build ids
 * that the linker was given, are copied to where a test wants them.
 */
#include "../suite.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include "base/dl.h"
#include "base/fs.h"
#include "base/hash.h"

#define SHORT_ID "c0ffee00112233445566778899aabbccddeeff42"
#define LONG_ID                                                                \
    "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210"
#define LIBRARY    ((size_t)64 << 20)
#define NO_LIBRARY "libgroat_test_no_such.so.9"

enum { PATH_BYTES = 400 };

typedef struct fixture {
    char dir[200];
    groat__dl dl;
    groat_error error;
} fixture;

static fixture fix;

static void setup(void)
{
    const groat_error none = GROAT_ERROR_INIT;
    char *real;

    make_folder(fix.dir, sizeof(fix.dir));
    /* groat__dl reports resolved paths. */
    real = realpath(fix.dir, NULL);
    ck_assert_ptr_nonnull(real);
    ck_assert_uint_lt(strlen(real), sizeof(fix.dir));
    memcpy(fix.dir, real, strlen(real) + 1);
    free(real);
    memset(&fix.dl, 0, sizeof(fix.dl));
    fix.error = none;
}

static void teardown(void)
{
    groat__dl_close(&fix.dl);
    groat_error_clear(&fix.error);
    remove_folder(fix.dir);
}

static void built_path(char *path, const char *name)
{
    (void)snprintf(path, PATH_BYTES, "%s/libtiny_%s.so",
                   getenv("GROAT_TEST_TINY"), name);
}

/* Writes dir/PLACE, a copy of a built library, and creates its folders. */
static void install(const char *name, const char *place)
{
    char path[PATH_BYTES];
    char *data = NULL;
    size_t bytes = 0;
    char *slash;

    (void)snprintf(path, sizeof(path), "%s/%s", fix.dir, place);
    slash = strrchr(path, '/');
    *slash = '\0';
    ck_assert_int_eq(groat__fs_make_private_dir(path, NULL), GROAT_OK);
    *slash = '/';
    if (name == NULL) {
        ck_assert_int_eq(groat__fs_write(path, "junk", 4, 0600, NULL),
                         GROAT_OK);
        return;
    }
    built_path(path, name);
    ck_assert_int_eq(groat__fs_read(path, LIBRARY, &data, &bytes, &fix.error),
                     GROAT_OK);
    (void)snprintf(path, sizeof(path), "%s/%s", fix.dir, place);
    ck_assert_int_eq(groat__fs_write(path, data, bytes, 0600, NULL), GROAT_OK);
    free(data);
}

static void search(const char *const *sonames, const char *const *patterns,
                   groat_status expected)
{
    const groat__dl_search how = {NULL, NULL, sonames, patterns};
    char predicted[GROAT__BUILD_ID_ROOM] = "";
    bool known = groat__dl_predict(&how, predicted) == GROAT__LOADER_FILE;
    groat_status status = groat__dl_open(&how, &fix.dl, &fix.error);

    /* The predicted library is the one that is opened. */
    if (known && status == GROAT_OK)
        ck_assert_str_eq(predicted, fix.dl.build_id);
    ck_assert_msg(status == expected, "%s; %s", fix.error.text,
                  fix.dl.story.data == NULL ? "" : fix.dl.story.data);
    ck_assert_int_eq(fix.dl.handle != NULL, status == GROAT_OK);
    ck_assert_int_eq(fix.dl.path != NULL, status == GROAT_OK);
}

/* Asserts that dir/PLACE was loaded. */
static void ck_loaded(const char *place)
{
    char path[PATH_BYTES];
    int (*answer)(void) = NULL;
    void *symbol = groat__dl_symbol(&fix.dl, "groat_tiny_answer");

    (void)snprintf(path, sizeof(path), "%s/%s", fix.dir, place);
    ck_assert_str_eq(fix.dl.path, path);
    ck_assert_ptr_nonnull(symbol);
    memcpy(&answer, &symbol, sizeof(answer));
    ck_assert_int_eq(answer(), 42);
}

static int lines_of(const groat__str *str)
{
    int lines = 0;

    for (size_t i = 0; i < str->len; i++)
        lines += str->data[i] == '\n';
    return lines;
}

/* ---- by name ----------------------------------------------------------- */

START_TEST(test_soname)
{
    static const char *const names[] = {NO_LIBRARY, "libc.so.6", NULL};

    search(names, NULL, GROAT_OK);
    ck_assert_int_eq(fix.dl.path[0], '/');
    ck_assert_int_eq(access(fix.dl.path, R_OK), 0);
    ck_assert_ptr_nonnull(groat__dl_symbol(&fix.dl, "malloc"));
    ck_assert_ptr_null(groat__dl_symbol(&fix.dl, "groat_no_such_symbol"));
    ck_assert_int_eq(lines_of(&fix.dl.story), 1);
    ck_assert_ptr_nonnull(strstr(fix.dl.story.data, NO_LIBRARY));
    ck_assert_int_eq(fix.error.status, GROAT_OK);
}
END_TEST

START_TEST(test_nothing_found)
{
    static const char *const names[] = {NO_LIBRARY, "libgroat_other.so", NULL};
    char pattern[PATH_BYTES];
    const char *patterns[] = {pattern, NULL};

    (void)snprintf(pattern, sizeof(pattern), "%s/none-*/lib.so", fix.dir);
    search(names, patterns, GROAT_NO_DEVICE);
    ck_says(&fix.error, NO_LIBRARY " was not found");
    ck_says(&fix.error, "groat doctor");
    ck_assert_ptr_nonnull(strstr(fix.dl.story.data, "libgroat_other.so"));
    ck_assert_ptr_nonnull(strstr(fix.dl.story.data, pattern));
    ck_assert_ptr_nonnull(strstr(fix.dl.story.data, "no such file"));
    ck_assert_int_eq(lines_of(&fix.dl.story), 3);
    ck_assert_ptr_null(groat__dl_symbol(&fix.dl, "malloc"));
    ck_assert_str_eq(fix.dl.build_id, "");
    groat__dl_close(&fix.dl);
    ck_assert_ptr_null(fix.dl.story.data);
}
END_TEST

/* One that is there is named, though others are not. */
START_TEST(test_nothing_loads)
{
    static const char *const names[] = {NO_LIBRARY, NULL};
    char pattern[PATH_BYTES];
    const char *patterns[] = {pattern, NULL};

    (void)snprintf(pattern, sizeof(pattern), "%s/lib?.so*", fix.dir);
    install(NULL, "libx.so.2");
    search(names, patterns, GROAT_NO_DEVICE);
    ck_says(&fix.error, NO_LIBRARY " cannot be opened: ");
    ck_says(&fix.error, "libx.so.2");
    ck_says(&fix.error, "groat doctor");
}
END_TEST

START_TEST(test_lines_of_the_story)
{
    static const char *const names[] = {"/no\nsuch/lib.so", NULL};
    static const char *const patterns[] = {"/no\033such/*.so", NULL};

    search(names, patterns, GROAT_NO_DEVICE);
    ck_assert_int_eq(lines_of(&fix.dl.story), 2);
    ck_assert_ptr_nonnull(strstr(fix.dl.story.data, "/no such/lib.so"));
    ck_assert_ptr_nonnull(strstr(fix.dl.story.data, "/no such/*.so: no such"));
}
END_TEST

START_TEST(test_nowhere_to_look)
{
    static const char *const none[] = {NULL};

    search(NULL, NULL, GROAT_NO_DEVICE);
    ck_says(&fix.error, "the library");
    search(none, none, GROAT_NO_DEVICE);
    ck_says(&fix.error, "the library");
    ck_assert_ptr_null(fix.dl.story.data);
}
END_TEST

/* ---- by path ----------------------------------------------------------- */

START_TEST(test_override_alone_is_tried)
{
    static const char *const names[] = {"libc.so.6", NULL};
    char path[PATH_BYTES];
    groat__dl_search how = {path, "GROAT_SOMETHING", names, NULL};

    (void)snprintf(path, sizeof(path), "%s/own.so", fix.dir);
    ck_assert_int_eq(groat__dl_open(&how, &fix.dl, &fix.error),
                     GROAT_NO_DEVICE);
    ck_assert_ptr_null(fix.dl.handle);
    ck_says(&fix.error, "GROAT_SOMETHING=");
    ck_says(&fix.error, path);
    ck_says(&fix.error, "No such file");
    groat__dl_close(&fix.dl);
    install(NULL, "own.so");
    ck_assert_int_eq(groat__dl_open(&how, &fix.dl, &fix.error),
                     GROAT_NO_DEVICE);
    ck_says(&fix.error, "own.so");
    groat__dl_close(&fix.dl);
    install("short", "own.so");
    ck_assert_int_eq(groat__dl_open(&how, &fix.dl, &fix.error), GROAT_OK);
    ck_loaded("own.so");
    ck_assert_ptr_null(fix.dl.story.data);
}
END_TEST

/* By version, not alphabetically: 13.10 is above 13.2, and 9 below both. */
START_TEST(test_newest_first)
{
    static const char *const places[] = {
        "tool-13.10/lib/libx.so", "tool-13.2/lib/libx.so",
        "tool-12.4/lib/libx.so", "tool-9.2/lib/libx.so"};
    char pattern[PATH_BYTES];
    const char *patterns[] = {pattern, NULL};
    char path[PATH_BYTES];

    (void)snprintf(pattern, sizeof(pattern), "%s/tool-*/lib/libx.so", fix.dir);
    for (size_t i = 0; i < COUNT(places); i++)
        install("short", places[i]);
    for (size_t i = 0; i < COUNT(places); i++) {
        search(NULL, patterns, GROAT_OK);
        ck_loaded(places[i]);
        ck_assert_ptr_null(fix.dl.story.data);
        groat__dl_close(&fix.dl);
        (void)snprintf(path, sizeof(path), "%s/%s", fix.dir, places[i]);
        ck_assert_int_eq(remove(path), 0);
    }
    search(NULL, patterns, GROAT_NO_DEVICE);
}
END_TEST

START_TEST(test_what_does_not_load_is_told_and_passed)
{
    static const char *const names[] = {NO_LIBRARY, NULL};
    char first[PATH_BYTES];
    char second[PATH_BYTES];
    const char *patterns[] = {first, second, NULL};

    (void)snprintf(first, sizeof(first), "%s/none/*.so", fix.dir);
    (void)snprintf(second, sizeof(second), "%s/lib?.so*", fix.dir);
    install("short", "libx.so.1");
    install(NULL, "libx.so.2");
    install(NULL, "libx.so.3");
    search(names, patterns, GROAT_OK);
    ck_loaded("libx.so.1");
    ck_assert_int_eq(lines_of(&fix.dl.story), 4);
    ck_assert_ptr_nonnull(strstr(fix.dl.story.data, NO_LIBRARY));
    ck_assert_ptr_nonnull(strstr(fix.dl.story.data, first));
    ck_assert_ptr_nonnull(strstr(fix.dl.story.data, "libx.so.2"));
    ck_assert(strstr(fix.dl.story.data, "libx.so.3") <
              strstr(fix.dl.story.data, "libx.so.2"));
}
END_TEST

START_TEST(test_names_before_places)
{
    static const char *const names[] = {"libc.so.6", NULL};
    char pattern[PATH_BYTES];
    const char *patterns[] = {pattern, NULL};

    (void)snprintf(pattern, sizeof(pattern), "%s/*.so", fix.dir);
    install("short", "libx.so");
    search(names, patterns, GROAT_OK);
    ck_assert_ptr_nonnull(strstr(fix.dl.path, "libc"));
    ck_assert_ptr_null(strstr(fix.dl.path, fix.dir));
}
END_TEST

START_TEST(test_path_is_resolved)
{
    char link[PATH_BYTES];
    const char *patterns[] = {link, NULL};

    install("short", "real/libx.so.1.2.3");
    (void)snprintf(link, sizeof(link), "%s/libx.so", fix.dir);
    ck_assert_int_eq(symlink("./real/../real/libx.so.1.2.3", link), 0);
    search(NULL, patterns, GROAT_OK);
    ck_loaded("real/libx.so.1.2.3");
}
END_TEST

/* ---- identity ------------------------------------------------------------ */

START_TEST(test_build_id)
{
    static const struct {
        const char *library;
        const char *id;
    } cases[] = {{"short", SHORT_ID}, {"long", LONG_ID}};
    char path[PATH_BYTES];
    const char *patterns[] = {path, NULL};
    const groat__dl_search how = {NULL, NULL, NULL, patterns};
    char predicted[GROAT__BUILD_ID_ROOM] = "";

    built_path(path, cases[_i].library);
    ck_assert_int_eq(groat__dl_predict(&how, predicted), GROAT__LOADER_FILE);
    ck_assert_str_eq(predicted, cases[_i].id);
    search(NULL, patterns, GROAT_OK);
    ck_assert_str_eq(fix.dl.build_id, cases[_i].id);
}
END_TEST

START_TEST(test_no_build_id)
{
    char path[PATH_BYTES];
    const char *patterns[] = {path, NULL};
    char *data = NULL;
    size_t bytes = 0;
    char expected[33];

    built_path(path, "none");
    ck_assert_int_eq(groat__fs_read(path, LIBRARY, &data, &bytes, NULL),
                     GROAT_OK);
    groat__hex(expected, groat__hash128(data, bytes).bytes, 16);
    free(data);
    search(NULL, patterns, GROAT_OK);
    ck_assert_str_eq(fix.dl.build_id, expected);
}
END_TEST

/* A library without an identity is not used: its binaries would share a key
 * with another library's. */
START_TEST(test_no_name_at_all)
{
    char large[PATH_BYTES];
    char named[PATH_BYTES];
    const char *patterns[] = {large, named, NULL};

    (void)snprintf(large, sizeof(large), "%s/large.so", fix.dir);
    (void)snprintf(named, sizeof(named), "%s/named.so", fix.dir);
    install("none", "large.so");
    ck_assert_int_eq(truncate(large, ((off_t)1 << 30) + 1), 0);
    search(NULL, patterns, GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(fix.dl.story.data, "at most 1073741824"));
    groat__dl_close(&fix.dl);
    install("short", "named.so");
    search(NULL, patterns, GROAT_OK);
    ck_loaded("named.so");
    ck_assert_str_eq(fix.dl.build_id, SHORT_ID);
    ck_assert_ptr_nonnull(strstr(fix.dl.story.data, large));
}
END_TEST

/* The note's address is outside the loaded segments, as after some tools. */
START_TEST(test_build_id_out_of_memory)
{
    char path[PATH_BYTES];
    const char *patterns[] = {path, NULL};
    char *data = NULL;
    size_t bytes = 0;
    char expected[33];
    int moved = 0;
    ElfW(Ehdr) head;

    built_path(path, "short");
    ck_assert_int_eq(groat__fs_read(path, LIBRARY, &data, &bytes, NULL),
                     GROAT_OK);
    memcpy(&head, data, sizeof(head));
    for (size_t i = 0; i < head.e_phnum; i++) {
        char *at = data + head.e_phoff + i * head.e_phentsize;
        ElfW(Phdr) segment;

        memcpy(&segment, at, sizeof(segment));
        /* The loader itself reads notes of other alignments. */
        if (segment.p_type != PT_NOTE || segment.p_align != 4)
            continue;
        segment.p_vaddr = 0x70000000;
        memcpy(at, &segment, sizeof(segment));
        moved++;
    }
    ck_assert_int_gt(moved, 0);
    groat__hex(expected, groat__hash128(data, bytes).bytes, 16);
    (void)snprintf(path, sizeof(path), "%s/moved.so", fix.dir);
    ck_assert_int_eq(groat__fs_write(path, data, bytes, 0600, NULL), GROAT_OK);
    free(data);
    search(NULL, patterns, GROAT_OK);
    ck_loaded("moved.so");
    ck_assert_str_eq(fix.dl.build_id, expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dl");
    TCase *tcase = tcase_create("dl");

    if (getenv("GROAT_TEST_TINY") == NULL) {
        puts("SKIP: GROAT_TEST_TINY names no folder; make check sets it");
        return 77;
    }
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, test_soname);
    tcase_add_test(tcase, test_nothing_found);
    tcase_add_test(tcase, test_nothing_loads);
    tcase_add_test(tcase, test_lines_of_the_story);
    tcase_add_test(tcase, test_nowhere_to_look);
    tcase_add_test(tcase, test_override_alone_is_tried);
    tcase_add_test(tcase, test_newest_first);
    tcase_add_test(tcase, test_what_does_not_load_is_told_and_passed);
    tcase_add_test(tcase, test_names_before_places);
    tcase_add_test(tcase, test_path_is_resolved);
    tcase_add_loop_test(tcase, test_build_id, 0, 2);
    tcase_add_test(tcase, test_no_build_id);
    tcase_add_test(tcase, test_no_name_at_all);
    tcase_add_test(tcase, test_build_id_out_of_memory);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
