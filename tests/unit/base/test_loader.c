/* SPDX-License-Identifier: Apache-2.0
 *
 * test_loader.c: predictions about the dynamic loader match what it does, and a
 * damaged loader cache gives no answer.
 */
#include <dlfcn.h>
#include <link.h>

#include "../suite.h"
#include "base/fs.h"
#include "base/loader.h"
#include "tests/folder.h"

/* Libraries that are usually installed with a compiler, and not all of which
 * are loaded already. */
static const char *const libraries[] = {"libstdc++.so.6", "libatomic.so.1",
                                        "libquadmath.so.0", "libz.so.1"};

START_TEST(test_the_loader_opens_what_is_foretold)
{
    int foretold = 0;

    for (size_t i = 0; i < COUNT(libraries); i++) {
        groat__str path = {0};
        groat__loader_answer answer = groat__loader_find(libraries[i], &path);
        void *handle = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        struct link_map *map = NULL;
        char id[65] = "";

        if (answer == GROAT__LOADER_NONE)
            ck_assert_ptr_null(handle);
        if (answer == GROAT__LOADER_FILE) {
            char *real = realpath(path.data, NULL);
            char *opened;

            ck_assert_ptr_nonnull(handle);
            ck_assert_int_eq(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
            opened = realpath(map->l_name, NULL);
            ck_assert_str_eq(real, opened);
            ck_assert(groat__loader_build_id(path.data, id, sizeof(id)));
            ck_assert_uint_eq(strlen(id) % 2, 0);
            free(real);
            free(opened);
            foretold++;
        }
        groat__str_free(&path);
        /* It is loaded now, so there is nothing to predict. */
        if (handle != NULL)
            ck_assert_int_eq(groat__loader_find(libraries[i], &path),
                             GROAT__LOADER_UNKNOWN);
        groat__str_free(&path);
        if (handle != NULL)
            (void)dlclose(handle);
    }
    ck_assert_int_gt(foretold, 0);
}
END_TEST

START_TEST(test_there_is_none)
{
    groat__str path = {0};
    char id[65] = "x";

    ck_assert_int_eq(groat__loader_find("libgroat_no_such.so.7", &path),
                     GROAT__LOADER_NONE);
    ck_assert_uint_eq(path.len, 0);
    ck_assert(!groat__loader_build_id("/dev/null", id, sizeof(id)));
    ck_assert(!groat__loader_build_id("/", id, sizeof(id)));
    ck_assert(!groat__loader_build_id("", id, sizeof(id)));
    ck_assert_str_eq(id, "x");
    groat__str_free(&path);
}
END_TEST

/* Writes a copy of this program with one byte of its ELF header changed. */
static void write_changed(const char *path, size_t at, unsigned char to)
{
    char *data = NULL;
    size_t bytes = 0;

    ck_assert_int_eq(
        groat__fs_read("/proc/self/exe", 1 << 28, &data, &bytes, NULL),
        GROAT_OK);
    if (at < bytes)
        data[at] = (char)to;
    ck_assert_int_eq(groat__fs_write(path, data, bytes, 0600, NULL), GROAT_OK);
    free(data);
}

static bool has_id_with(size_t at, unsigned char to, const char *path)
{
    char id[65];
    bool found;

    write_changed(path, at, to);
    found = groat__loader_build_id(path, id, sizeof(id));
    ck_assert_int_eq(remove(path), 0);
    return found;
}

START_TEST(test_another_machine_has_none)
{
    char folder[256];
    char path[300];

    ck_assert(folder_make(folder, sizeof(folder), "loader"));
    (void)snprintf(path, sizeof(path), "%s/changed", folder);
    ck_assert(has_id_with(SIZE_MAX, 0, path));
    ck_assert(!has_id_with(EI_MAG0, 0, path));
    ck_assert(!has_id_with(EI_CLASS, ELFCLASSNONE, path));
    ck_assert(!has_id_with(EI_DATA, ELFDATANONE, path));
    ck_assert(!has_id_with(EI_VERSION, EV_NONE, path));
    ck_assert(!has_id_with(offsetof(ElfW(Ehdr), e_machine), 255, path));
    ck_assert(!has_id_with(offsetof(ElfW(Ehdr), e_phentsize), 1, path));
    ck_assert(!has_id_with(offsetof(ElfW(Ehdr), e_phnum) + 1, 255, path));
    folder_remove(folder);
}
END_TEST

/* ---- the loader's cache -------------------------------------------------- */

enum { HEAD = 48, ENTRY = 24, TEXTS = 2000 };

typedef struct cache {
    uint32_t words[(HEAD + 3 * ENTRY + TEXTS) / 4];
    size_t bytes;
} cache;

static uint32_t add_text(cache *c, const char *text)
{
    uint32_t at = (uint32_t)c->bytes;

    memcpy((char *)c->words + at, text, strlen(text) + 1);
    c->bytes += strlen(text) + 1;
    return at;
}

/* Builds a cache as ldconfig writes it: header, entries, texts. */
static cache make_cache(const char *const (*entries)[2], uint32_t count)
{
    cache c = {{0}, HEAD + count * ENTRY};

    memcpy(c.words, "glibc-ld.so.cache1.1", 20);
    c.words[5] = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *entry = c.words + (HEAD + i * ENTRY) / 4;

        entry[0] = 0x0303;
        entry[1] = add_text(&c, entries[i][0]);
        entry[2] = add_text(&c, entries[i][1]);
    }
    return c;
}

static groat__loader_answer ask(const cache *c, size_t bytes, const char *name,
                                groat__str *path)
{
    char *copy = calloc(1, bytes + 1); /* exact size, to detect reads past it */
    groat__loader_answer answer;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, c->words, bytes);
    groat__str_clear(path);
    answer = groat__loader_search_cache(copy, bytes, name, path);
    free(copy);
    return answer;
}

/* The path of this program, an ELF file for this machine. */
static const char *own_path(void)
{
    static char path[600];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

    ck_assert_int_gt(len, 0);
    path[len] = '\0';
    return path;
}

START_TEST(test_cache)
{
    const char *entries[3][2] = {{"liba.so.1", own_path()},
                                 {"libb.so.1", "/dev/null"},
                                 {"liba.so.1", own_path()}};
    cache c = make_cache((const char *const(*)[2])entries, 2);
    groat__str path = {0};

    ck_assert_int_eq(ask(&c, c.bytes, "liba.so.1", &path), GROAT__LOADER_FILE);
    ck_assert_str_eq(path.data, own_path());
    ck_assert_int_eq(ask(&c, c.bytes, "liba.so", &path), GROAT__LOADER_NONE);
    /* An entry that is no library for this machine is skipped. */
    ck_assert_int_eq(ask(&c, c.bytes, "libb.so.1", &path), GROAT__LOADER_NONE);
    c = make_cache((const char *const(*)[2])entries, 3);
    ck_assert_int_eq(ask(&c, c.bytes, "liba.so.1", &path),
                     GROAT__LOADER_UNKNOWN);
    groat__str_free(&path);
}
END_TEST

static groat__loader_answer ask_for(const char *entry)
{
    const char *entries[1][2] = {{"liba.so.1", entry}};
    cache c = make_cache((const char *const(*)[2])entries, 1);
    groat__str path = {0};
    groat__loader_answer answer = ask(&c, c.bytes, "liba.so.1", &path);

    groat__str_free(&path);
    return answer;
}

/* The loader skips a missing file.  If a file cannot be opened for another
 * reason, its behaviour cannot be predicted. */
START_TEST(test_cache_of_what_is_not_there)
{
    char folder[256];
    char path[700];

    ck_assert(folder_make(folder, sizeof(folder), "loader"));
    (void)snprintf(path, sizeof(path), "%s/none", folder);
    ck_assert_int_eq(ask_for(path), GROAT__LOADER_NONE);
    ck_assert_int_eq(symlink(path, path), 0);
    ck_assert_int_eq(ask_for(path), GROAT__LOADER_UNKNOWN);
    (void)snprintf(path, sizeof(path), "%s/none", own_path());
    ck_assert_int_eq(ask_for(path), GROAT__LOADER_NONE);
    folder_remove(folder);
}
END_TEST

/* The loader also skips a file for another machine. */
START_TEST(test_cache_of_other_machines)
{
    char folder[256];
    char path[300];

    ck_assert(folder_make(folder, sizeof(folder), "loader"));
    (void)snprintf(path, sizeof(path), "%s/changed", folder);
    write_changed(path, SIZE_MAX, 0);
    ck_assert_int_eq(ask_for(path), GROAT__LOADER_FILE);
    write_changed(path, EI_CLASS, ELFCLASSNONE);
    ck_assert_int_eq(ask_for(path), GROAT__LOADER_NONE);
    write_changed(path, offsetof(ElfW(Ehdr), e_machine), 255);
    ck_assert_int_eq(ask_for(path), GROAT__LOADER_NONE);
    /* A file for this machine that the loader may accept or refuse. */
    write_changed(path, offsetof(ElfW(Ehdr), e_phentsize), 1);
    ck_assert_int_eq(ask_for(path), GROAT__LOADER_UNKNOWN);
    folder_remove(folder);
}
END_TEST

START_TEST(test_damaged_cache)
{
    const char *entries[1][2] = {{"liba.so.1", own_path()}};
    cache c = make_cache((const char *const(*)[2])entries, 1);
    groat__str path = {0};

    for (size_t bytes = 0; bytes < c.bytes; bytes++)
        ck_assert_int_ne(ask(&c, bytes, "liba.so.1", &path),
                         bytes < c.bytes - 1 ? GROAT__LOADER_FILE : -1);
    for (size_t bit = 0; bit < HEAD * 8 + ENTRY * 8; bit++) {
        cache other = c;

        other.words[bit / 32] ^= 1u << bit % 32;
        (void)ask(&other, other.bytes, "liba.so.1", &path);
    }
    groat__str_free(&path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loader");
    TCase *tests = tcase_create("loader");

    tcase_add_test(tests, test_the_loader_opens_what_is_foretold);
    tcase_add_test(tests, test_there_is_none);
    tcase_add_test(tests, test_another_machine_has_none);
    tcase_add_test(tests, test_cache);
    tcase_add_test(tests, test_cache_of_what_is_not_there);
    tcase_add_test(tests, test_cache_of_other_machines);
    tcase_add_test(tests, test_damaged_cache);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
