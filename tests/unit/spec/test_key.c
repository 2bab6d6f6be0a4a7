/* SPDX-License-Identifier: Apache-2.0
 *
 * test_key.c: the identity contains all that shapes a binary and nothing else;
 * any change in it changes the key.  The digests here were computed by another
 * program (xxhsum -H2).
 */
#include "fixture.h"

#include <xxhash.h>

#include "spec/key.h"
#include "spec/render.h"

#define COMPILER                                                               \
    "compiler hiprtc 7.0.2 build 3f9a\n"                                       \
    "option -O3\n"                                                             \
    "option -std=c++17\n"

static groat_family *toy;

static void setup(void)
{
    toy = load_toy();
}

static void teardown(void)
{
    groat__family_free(toy);
}

static char *identity_of(const groat__params *params, const char *compiler)
{
    groat__str text = {0};

    groat__key_identity(params, compiler, &text);
    ck_assert(!text.failed);
    return groat__str_take(&text);
}

static groat__digest key_of(const groat__params *params, const char *compiler)
{
    groat__str text = {0};
    groat__digest key;

    groat__key_identity(params, compiler, &text);
    key = groat__key_of(&text);
    groat__str_free(&text);
    return key;
}

static bool same(groat__digest a, groat__digest b)
{
    return memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

static groat__digest toy_key(const char *spec, const char *target,
                             const char *compiler)
{
    groat__params params = parsed(toy, spec, target);

    return key_of(&params, compiler);
}

/* ---- known answers ------------------------------------------------------- */

START_TEST(test_known_digests)
{
    static const struct {
        const char *text;
        const char *digest;
    } cases[] = {{"", "99aa06d3014798d86001c324468d497f"},
                 {"groat-identity 1\n", "056084fea5ffa507fa190959a78b3ee9"},
                 {"groat-identity 1\nfamily toy closure "
                  "00000000000000000000000000000000\nparam dtype bf16\nparam "
                  "rows 16\ntarget hip:gfx950\n" COMPILER,
                  "a3d26b58cf5b4c3f20d0bf7fd75defef"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        groat__str text = {0};
        XXH128_canonical_t canonical;
        groat__digest key;
        char hex[33];

        groat__str_add(&text, cases[i].text);
        key = groat__key_of(&text);
        groat__hex(hex, key.bytes, sizeof(key.bytes));
        ck_assert_str_eq(hex, cases[i].digest);
        XXH128_canonicalFromHash(&canonical, XXH3_128bits(text.data, text.len));
        ck_assert_mem_eq(key.bytes, canonical.digest, sizeof(key.bytes));
        groat__str_free(&text);
    }
}
END_TEST

/* The whole identity of one key, as stored with existing binaries: if this test
 * fails, every stored binary is lost, and the number in the first line must be
 * changed. */
START_TEST(test_identity_text)
{
    groat__params params =
        parsed(toy, "toy:dtype=f32,wide=1,shift=-3", "cpu:gfx950");
    groat__str expected = {0};
    char *text = identity_of(&params, COMPILER);

    groat__str_addf(&expected,
                    "groat-identity 1\n"
                    "family toy closure %s\n"
                    "param dtype f32\n"
                    "param rows 16\n"
                    "param cols 32\n"
                    "param wide 1\n"
                    "param shift -3\n"
                    "param mode plain\n"
                    "target cpu:gfx950\n"
                    "arch arch_wave_lanes=64 arch_shared_bytes=163840 "
                    "arch_shared_banks=64 arch_lds_dma_bytes=16 "
                    "arch_cp_async=0 arch_tma=0 arch_max_cluster=1 "
                    "arch_tr_read=1 arch_is_amd=1 arch_mfma_16bit_bytes=16 "
                    "arch_mfma_8bit_bytes=32 arch_fp8_fnuz=0 "
                    "arch_wgmma=0 arch_cta_group=0\n%s",
                    toy->closure.of[GROAT__CPU], COMPILER);
    ck_assert_str_eq(text, expected.data);
    groat__str_free(&expected);
    free(text);
}
END_TEST

/* The closure of this family as a constant: it may change only with the text
 * that the compiler gets. */
START_TEST(test_closure)
{
    groat__target where = {GROAT__CPU, groat__arch_at(0), "cpu"};
    groat__params params;
    groat__str all = {0};
    groat__digest digest;
    char closure[33];

    ck_assert_int_eq(groat__params_defaults(toy, &where, &params, NULL),
                     GROAT_OK);
    groat__render_source(&params, &all);
    groat__str_add(&all, TOY_PARAMS);
    digest = groat__hash128(all.data, all.len);
    groat__hex(closure, digest.bytes, sizeof(digest.bytes));
    for (int i = 0; i < GROAT__BACKENDS; i++)
        ck_assert_str_eq(toy->closure.of[i], closure);
    groat__str_free(&all);
}
END_TEST

/* ---- what does not change a key ------------------------------------------ */

START_TEST(test_order_and_spelling_do_not_matter)
{
    static const char *const same_spec[] = {
        "toy",
        "toy:",
        "toy:rows=16",
        "toy:cols=32,rows=016",
        "toy:wide=false,mode=plain,shift=-0",
        "toy:mode=plain,shift=0,wide=0,cols=32,rows=16,dtype=bf16"};
    groat__digest key = toy_key(same_spec[0], "hip:gfx950", COMPILER);

    for (size_t i = 1; i < COUNT(same_spec); i++)
        ck_assert(same(key, toy_key(same_spec[i], "hip:gfx950", COMPILER)));
    ck_assert(
        same(key, toy_key("toy", "hip:gfx950:sramecc+:xnack-", COMPILER)));
}
END_TEST

/* The same texts, loaded again at another time and from another place. */
START_TEST(test_load_does_not_matter)
{
    files f = toy_files();
    files moved = {{{NULL, NULL}}};
    groat_family *other;
    groat__params one = parsed(toy, "toy", "hip:gfx950");
    groat__params two;
    char *first;
    char *second;

    /* Files that the family does not include are not in its closure. */
    moved.at[0].path = "toy/other.h";
    moved.at[0].text = "int other;\n";
    for (size_t i = 0; i < 4; i++)
        moved.at[4 - i] = f.at[i];
    other = load(&moved, "toy");
    two = parsed(other, "toy", "hip:gfx950");
    first = identity_of(&one, COMPILER);
    second = identity_of(&two, COMPILER);
    ck_assert_str_eq(first, second);
    free(first);
    free(second);
    groat__family_free(other);
}
END_TEST

/* No field of ours contains a path or anything that looks like a time. */
START_TEST(test_no_path_and_no_time)
{
    groat_family *families[FAMILIES_MAX];
    size_t count = load_embedded(families);

    for (size_t i = 0; i < count; i++) {
        groat__target target = target_of("cuda:sm_90a");
        groat__params params;
        char *text;

        ck_assert_int_eq(
            groat__params_defaults(families[i], &target, &params, NULL),
            GROAT_OK);
        text = identity_of(&params, "");
        ck_assert_ptr_null(strchr(text, '/'));
        ck_assert_ptr_null(strstr(text, ".h"));
        for (const char *line = text; *line != '\0';) {
            size_t len = strcspn(line, "\n");

            ck_assert_int_eq(line[len], '\n');
            ck_assert_msg(strncmp(line, "groat-identity 1", 16) == 0 ||
                              strncmp(line, "family ", 7) == 0 ||
                              strncmp(line, "param ", 6) == 0 ||
                              strncmp(line, "target ", 7) == 0 ||
                              strncmp(line, "arch ", 5) == 0,
                          "%s", line);
            line += len + 1;
        }
        free(text);
        groat__family_free(families[i]);
    }
}
END_TEST

/* ---- what changes a key -------------------------------------------------- */

START_TEST(test_each_parameter)
{
    static const char *const others[] = {"toy:dtype=fp8",      "toy:dtype=f32",
                                         "toy:rows=8,cols=32", "toy:cols=48",
                                         "toy:wide=1",         "toy:shift=1",
                                         "toy:shift=-1",       "toy:mode=fast"};
    groat__digest keys[COUNT(others) + 1];

    keys[0] = toy_key("toy", "hip:gfx950", COMPILER);
    for (size_t i = 0; i < COUNT(others); i++) {
        keys[i + 1] = toy_key(others[i], "hip:gfx950", COMPILER);
        for (size_t k = 0; k <= i; k++)
            ck_assert_msg(!same(keys[i + 1], keys[k]), "%s", others[i]);
    }
}
END_TEST

/* Sets every parameter of each embedded family to another of its values. */
START_TEST(test_each_parameter_of_the_families)
{
    groat_family *families[FAMILIES_MAX];
    size_t count = load_embedded(families);

    for (size_t i = 0; i < count; i++) {
        groat_family *family = families[i];
        groat__target target = target_of("hip:gfx950");
        groat__params params;
        groat__digest key;

        ck_assert_int_eq(groat__params_defaults(family, &target, &params, NULL),
                         GROAT_OK);
        key = key_of(&params, COMPILER);
        for (size_t k = 0; k < family->param_count; k++) {
            groat__params other = params;

            other.values[family->params[k]] += 1;
            ck_assert_msg(!same(key, key_of(&other, COMPILER)), "%s",
                          family->slots[family->params[k]].name);
        }
        groat__family_free(family);
    }
}
END_TEST

/* The spec and target can be read back from an identity. */
START_TEST(test_identities_are_read)
{
    static const char *const bad[] = {
        "",
        "groat-identity 2\nfamily toy closure 0\ntarget cpu:gfx950\n",
        "groat-identity 1\n",
        "groat-identity 1\nfamily toy closure 0\n",
        "groat-identity 1\nfamily toy closure 0\nparam x\ntarget y\n",
        "groat-identity 1\nparam x 1\ntarget y\n",
        "groat-tuned 1\nfamily toy\n",
        "seed",
    };
    groat_family *families[FAMILIES_MAX];
    size_t count = load_embedded(families);

    for (size_t i = 0; i < count; i++) {
        groat__target on = target_of(i % 2 == 0 ? "cpu:gfx950" : "cuda:sm_90a");
        groat__params params;
        const char *maker;
        char *identity;
        size_t len;
        groat__str want = {0};
        groat__str spec = {0};
        groat__str target = {0};

        ck_assert_int_eq(
            groat__params_defaults(families[i], &on, &params, NULL), GROAT_OK);
        identity = identity_of(&params, COMPILER);
        groat__params_text(&params, &want);
        ck_assert(groat__key_read(identity, &spec, &target));
        ck_assert_str_eq(spec.data, want.data);
        ck_assert_str_eq(target.data, params.target.text);
        maker = groat__key_maker(identity, &len);
        ck_assert_uint_eq(len, strlen("hiprtc 7.0.2 build 3f9a"));
        ck_assert_int_eq(strncmp(maker, "hiprtc 7.0.2 build 3f9a\n", len + 1),
                         0);
        groat__str_free(&want);
        groat__str_free(&spec);
        groat__str_free(&target);
        free(identity);
        groat__family_free(families[i]);
    }
    {
        groat__str spec = {0};
        groat__str target = {0};

        ck_assert(groat__key_read(
            "groat-tuned 1\nfamily toy closure 0\ntarget cpu:x\ndevice D\n",
            &spec, &target));
        ck_assert_uint_eq(spec.len, 0);
        ck_assert_str_eq(target.data, "cpu:x");
        groat__str_free(&target);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        groat__str spec = {0};
        groat__str target = {0};

        ck_assert(!groat__key_read(bad[i], &spec, &target));
        ck_assert_str_eq(groat__key_maker(bad[i], &(size_t){1}), "");
        groat__str_free(&spec);
        groat__str_free(&target);
    }
}
END_TEST

START_TEST(test_each_target)
{
    groat__digest keys[64];
    char names[64][64];
    size_t count = 0;

    for (size_t i = 0; groat__arch_at(i) != NULL; i++) {
        const groat__arch *arch = groat__arch_at(i);

        (void)snprintf(names[count++], 64, "%s:%s",
                       groat__backend_name(arch->vendor), arch->name);
        (void)snprintf(names[count++], 64, "cpu:%s", arch->name);
        ck_assert_uint_le(count, 62);
    }
    for (size_t i = 0; i < count; i++) {
        keys[i] = toy_key("toy:mode=plain", names[i], COMPILER);
        for (size_t k = 0; k < i; k++)
            ck_assert_msg(!same(keys[i], keys[k]), "%s and %s", names[i],
                          names[k]);
    }
}
END_TEST

/* A corrected number in the arch table changes the key, though not the name. */
START_TEST(test_each_arch_number)
{
    groat__params params = parsed(toy, "toy", "hip:gfx950");
    groat__digest key = key_of(&params, COMPILER);

    for (size_t i = 0; i < GROAT__ARCH_SLOTS; i++) {
        groat__params other = params;

        other.values[i] += 1;
        ck_assert_msg(!same(key, key_of(&other, COMPILER)), "%s",
                      toy->slots[i].name);
    }
}
END_TEST

START_TEST(test_compiler_and_options)
{
    static const char *const others[] = {
        "",
        "compiler hiprtc 7.0.2 build 3f9a\n",
        "compiler hiprtc 7.0.3 build 3f9a\noption -O3\noption -std=c++17\n",
        "compiler hiprtc 7.0.2 build 3f9b\noption -O3\noption -std=c++17\n",
        "compiler nvrtc 7.0.2 build 3f9a\noption -O3\noption -std=c++17\n",
        "compiler hiprtc 7.0.2 build 3f9a\noption -O2\noption -std=c++17\n",
        "compiler hiprtc 7.0.2 build 3f9a\noption -std=c++17\noption -O3\n",
        "compiler hiprtc 7.0.2 build 3f9a\noption -O3 -std=c++17\n",
        "compiler hiprtc 7.0.2 build 3f9a\noption -O3\noption -std=c++17",
        COMPILER "option -g\n"};
    groat__digest keys[COUNT(others) + 1];

    keys[0] = toy_key("toy", "hip:gfx950", COMPILER);
    for (size_t i = 0; i < COUNT(others); i++) {
        keys[i + 1] = toy_key("toy", "hip:gfx950", others[i]);
        for (size_t k = 0; k <= i; k++)
            ck_assert_msg(!same(keys[i + 1], keys[k]), "%s", others[i]);
    }
}
END_TEST

/* Returns a letter or digit other than this one. */
static char other_than(char c)
{
    return c == 'z' ? 'y' : c == 'Z' ? 'Y' : c == '9' ? '8' : (char)(c + 1);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
}

/* The key of a family's defaults, even if they are not allowed. */
static groat__digest default_key(const groat_family *family)
{
    groat__target target = target_of("hip:gfx950");
    groat__params params;

    if (groat__params_defaults(family, &target, &params, NULL) != GROAT_OK)
        return groat__hash128(family->closure.of[GROAT__HIP], 33); /* no key */
    return key_of(&params, COMPILER);
}

/* Whether a place in TOY_SOURCE is in its comment, which is its first line. */
static bool is_comment(const char *text, const char *at)
{
    return strncmp(text, "//", 2) == 0 && memchr(text, '\n', at - text) == NULL;
}

/* Changes each letter and digit of a file in turn.  Either the family no longer
 * loads, or its closure and its keys change, but not by a comment. */
static size_t ck_every_byte(size_t file, size_t *loads)
{
    files f = toy_files();
    char *text = strdup(f.at[file].text);
    groat__digest key = default_key(toy);
    size_t tries = 0;

    ck_assert_ptr_nonnull(text);
    f.at[file].text = text;
    for (char *at = text; *at != '\0'; at++) {
        groat_family *family = NULL;
        char before = *at;

        if (!is_word(before))
            continue;
        *at = other_than(before);
        tries++;
        if (groat__family_load("toy", files_read, &f, &family, NULL) ==
            GROAT_OK) {
            bool comment = is_comment(text, at);

            ck_assert_msg((strcmp(family->closure.of[GROAT__HIP],
                                  toy->closure.of[GROAT__HIP]) == 0) == comment,
                          "%s at '%s'", f.at[file].path, at);
            ck_assert_msg(same(default_key(family), key) == comment,
                          "%s at '%s'", f.at[file].path, at);
            *loads += 1;
            groat__family_free(family);
        }
        *at = before;
    }
    free(text);
    return tries;
}

START_TEST(test_each_byte_of_each_file)
{
    for (size_t file = 0; file < 4; file++) {
        size_t loads = 0;
        size_t tries = ck_every_byte(file, &loads);

        ck_assert_uint_gt(tries, 15);
        ck_assert_uint_gt(loads, tries / 4);
    }
}
END_TEST

/* A compiler gets the files of common/ for its backend alone, with what they
 * are the first to include; a family's own files are for all. */
START_TEST(test_files_of_one_backend)
{
    static const char *const targets[] = {"cuda:sm_90a", "hip:gfx950",
                                          "cpu:gfx950"};
    static const char *const words[] = {"cuda", "hip", "cpu"};
    files f = {{{"f/params.def", "family f \"s\"\nlaunch block_x = 1\n"
                                 "launch args = 0\nentry f\n"},
                {"f/f.h", "#include \"params.h\"\n"
                          "#include \"../common/v.h\"\nint f;\n"},
                {"common/v.h", "#include \"v_cuda.h\"\n#include \"v_hip.h\"\n"
                               "#include \"v_cpu.h\"\n"
                               "#include \"../f/own_cpu.h\"\nint v;\n"},
                {"common/v_cuda.h", "int v_cuda;\n"},
                {"common/v_hip.h", "#include \"more.h\"\nint v_hip;\n"},
                {"common/v_cpu.h", "int v_cpu;\n"},
                {"common/more.h", "int more_hip;\n"},
                {"f/own_cpu.h", "int own;\n"}}};
    groat_family *family = load(&f, "f");
    groat_family *other;

    for (size_t i = 0; i < 3; i++) {
        groat__params params = parsed(family, "f", targets[i]);
        groat__str out = {0};

        groat__render_source(&params, &out);
        for (size_t j = 0; j < 3; j++) {
            char text[32];

            (void)snprintf(text, sizeof(text), "int v_%s;", words[j]);
            ck_assert_int_eq(strstr(out.data, text) != NULL, i == j);
        }
        ck_assert_int_eq(strstr(out.data, "more_hip") != NULL, i == 1);
        ck_assert_ptr_nonnull(strstr(out.data, "#line 5 \"common/v.h\"\n"
                                               "int v;\n"));
        ck_assert_ptr_nonnull(strstr(out.data, "int own;"));
        ck_assert_ptr_nonnull(strstr(out.data, "int f;"));
        groat__str_free(&out);
    }
    f.at[6].text = "int more_other;\n";
    other = load(&f, "f");
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(strcmp(other->closure.of[i], family->closure.of[i]) ==
                             0,
                         i != GROAT__HIP);
    groat__family_free(other);
    groat__family_free(family);
}
END_TEST

/* Moving text from one file to the next changes the closure. */
START_TEST(test_names_of_files)
{
    files f = toy_files();
    groat_family *family;

    f.at[1].text = "// The kernel of a test.\n#pragma once\n"
                   "#include \"params.h\"\n#include \"brgs.h\"\n"
                   "#include \"../common/tool.h\"\n\nint toy_main = 1;\n";
    f.at[2].path = "toy/brgs.h";
    family = load(&f, "toy");
    ck_assert(strcmp(family->closure.of[GROAT__HIP],
                     toy->closure.of[GROAT__HIP]) != 0);
    groat__family_free(family);
    f = toy_files();
    f.at[1].text = "// The kernel of a test.\n#pragma once\n"
                   "#include \"params.h\"\n" TOY_ARGS "#include \"args.h\"\n"
                   "#include \"../common/tool.h\"\n\nint toy_main = 1;\n";
    f.at[2].text = "";
    family = load(&f, "toy");
    ck_assert(strcmp(family->closure.of[GROAT__HIP],
                     toy->closure.of[GROAT__HIP]) != 0);
    groat__family_free(family);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("key");
    TCase *tcase = tcase_create("key");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_known_digests);
    tcase_add_test(tcase, test_identity_text);
    tcase_add_test(tcase, test_closure);
    tcase_add_test(tcase, test_order_and_spelling_do_not_matter);
    tcase_add_test(tcase, test_load_does_not_matter);
    tcase_add_test(tcase, test_no_path_and_no_time);
    tcase_add_test(tcase, test_each_parameter);
    tcase_add_test(tcase, test_each_parameter_of_the_families);
    tcase_add_test(tcase, test_identities_are_read);
    tcase_add_test(tcase, test_each_target);
    tcase_add_test(tcase, test_each_arch_number);
    tcase_add_test(tcase, test_compiler_and_options);
    tcase_add_test(tcase, test_each_byte_of_each_file);
    tcase_add_test(tcase, test_names_of_files);
    tcase_add_test(tcase, test_files_of_one_backend);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
