/* SPDX-License-Identifier: Apache-2.0
 *
 * fixture.h - shared by the tests of specs: a small family whose files are
 * texts of the test, the embedded families, and loading that must succeed.
 */
#ifndef GROAT_TEST_SPEC_FIXTURE_H
#define GROAT_TEST_SPEC_FIXTURE_H

#include "../suite.h"

#include "base/str.h"
#include "spec/param.h"
#include "spec/load.h"

enum { FILES_MAX = 80, FAMILIES_MAX = 64 };

typedef struct files {
    struct {
        const char *path;
        const char *text;
    } at[FILES_MAX];
} files;

/* A groat__file_fn that reads from `files`. */
static inline const char *files_read(void *user, const char *path)
{
    const files *f = user;

    for (size_t i = 0; i < FILES_MAX && f->at[i].path != NULL; i++)
        if (strcmp(f->at[i].path, path) == 0)
            return f->at[i].text;
    return NULL;
}

static inline const char *embedded_read(void *user, const char *path)
{
    (void)user;
    return groat__embedded_find(path);
}

static inline groat_family *load(const files *f, const char *name)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_family *family = NULL;
    groat_status status =
        groat__family_load(name, f == NULL ? embedded_read : files_read,
                           (void *)(uintptr_t)f, &family, &error);

    ck_assert_msg(status == GROAT_OK, "%s", error.text);
    ck_assert_ptr_nonnull(family);
    return family;
}

/* Loads every embedded family and returns their number. */
static inline size_t load_embedded(groat_family *out[FAMILIES_MAX])
{
    static const char suffix[] = "/params.def";
    const groat__embedded_file *file;
    size_t count = 0;

    for (size_t i = 0; (file = groat__embedded_at(i)) != NULL; i++) {
        size_t len = strlen(file->path);
        char name[200];

        if (len <= strlen(suffix) ||
            strcmp(file->path + len - strlen(suffix), suffix) != 0)
            continue;
        ck_assert_uint_lt(count, FAMILIES_MAX);
        (void)snprintf(name, sizeof(name), "%.*s", (int)(len - strlen(suffix)),
                       file->path);
        out[count++] = load(NULL, name);
    }
    ck_assert_uint_gt(count, 0);
    return count;
}

static inline groat__target target_of(const char *text)
{
    groat__target target;

    ck_assert_int_eq(groat__target_parse(text, &target, NULL), GROAT_OK);
    return target;
}

static inline groat_status parse(const groat_family *family, const char *text,
                                 const char *target, groat__params *out,
                                 groat_error *error)
{
    groat__target where = target_of(target);

    return groat__params_parse(family, text, &where, out, error);
}

static inline groat__params parsed(const groat_family *family, const char *text,
                                   const char *target)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__params params;
    groat_status status = parse(family, text, target, &params, &error);

    ck_assert_msg(status == GROAT_OK, "%s", error.text);
    return params;
}

static inline size_t slot_of(const groat_family *family, const char *name)
{
    size_t slot = groat__family_slot(family, name, strlen(name));

    ck_assert_msg(slot != GROAT__SLOTS, "no constant %s", name);
    return slot;
}

static inline int64_t value_of(const groat__params *params, const char *name)
{
    return params->values[slot_of(params->family, name)];
}

/* ---- a family that uses every feature ------------------------------------ */

#define TOY_PARAMS                                                             \
    "# A family for tests.\n"                                                  \
    "family toy \"does nothing, in tiles\"\n"                                  \
    "\n"                                                                       \
    "param dtype enum bf16|fp8|f32=7 bf16 - \"element type\"\n"                \
    "derive elem = dtype == fp8 ? 1 : dtype == f32 ? 4 : 2 ; bytes "           \
    "\"size of an element\"\n"                                                 \
    "param rows int 1|2|8..64/8 16 rows \"rows of a tile\"\n"                  \
    "param cols int 16..128/16 (rows*2) elements \"columns of a tile\"\n"      \
    "param wide bool - false - \"wider than it must be\"\n"                    \
    "param shift int -4..4 0 bits \"moves the columns\"\n"                     \
    "param mode enum plain|fast (arch_tma?fast:plain) - \"how\"\n"             \
    "derive bytes = rows * cols * elem ; bytes \"a tile\"\n"                   \
    "derive huge = bytes << 30 ; bytes \"needs 64 bits\"\n"                    \
    "rule cols >= rows ; \"a tile is not higher than wide\"\n"                 \
    "rule bytes <= arch_shared_bytes / 16 ; \"a tile must fit\"\n"             \
    "rule !wide || 128 / (cols - 16) >= 1 ; \"wide divides\"\n"                \
    "launch block_x = arch_wave_lanes * 2\n"                                   \
    "launch shared = bytes\n"                                                  \
    "launch args = 16\n"                                                       \
    "entry toy_{dtype}_{rows}x{cols}_s{shift}_{elem}\n"

#define TOY_SOURCE                                                             \
    "// The kernel of a test.\n"                                               \
    "#pragma once\n"                                                           \
    "#include \"params.h\"\n"                                                  \
    "#include \"args.h\"\n"                                                    \
    "#include \"../common/tool.h\"\n"                                          \
    "\n"                                                                       \
    "int toy_main = 1;\n"

#define TOY_ARGS                                                               \
    "struct toy_args {\n"                                                      \
    "    int x;\n"                                                             \
    "};\n"

#define TOY_TOOL "constexpr int tool = 3;"

static inline files toy_files(void)
{
    const files f = {{{"toy/params.def", TOY_PARAMS},
                      {"toy/toy.h", TOY_SOURCE},
                      {"toy/args.h", TOY_ARGS},
                      {"common/tool.h", TOY_TOOL}}};

    return f;
}

static inline groat_family *load_toy(void)
{
    files f = toy_files();

    return load(&f, "toy");
}

#endif
