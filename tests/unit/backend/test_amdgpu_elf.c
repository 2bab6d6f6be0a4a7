/* SPDX-License-Identifier: Apache-2.0
 *
 * test_amdgpu_elf.c: what is read from a code object's notes, and that no
 * damaged object makes the reader step outside it.  Each damaged copy has an
 * allocation of exactly its size, so that a sanitizer or valgrind detects any
 * read past it.  test_hiprtc.c does the same to real objects.
 */
#include "../suite.h"

#include "exact.h"
#include "tests/shim/amdgpu_object.h"

static const amdgpu_object usual = {"copy_tile_f16", 240,  100,  3, 70000,
                                    163840,          1024, NULL, 0};

static size_t make(unsigned char *data, const amdgpu_object *object)
{
    size_t bytes = amdgpu_object_make(data, object);

    ck_assert_uint_gt(bytes, 200);
    return bytes;
}

static groat__amdgpu_finding read_exact(const unsigned char *data, size_t bytes)
{
    return exact_kernel(data, bytes, usual.entry);
}

START_TEST(facts_are_read)
{
    unsigned char data[AMDGPU_OBJECT_ROOM];
    size_t bytes = make(data, &usual);
    groat__amdgpu_kernel kernel;

    ck_assert(groat__amdgpu_elf_whole(data, bytes));
    ck_assert_int_eq(
        groat__amdgpu_elf_kernel(data, bytes, "copy_tile_f16", &kernel),
        GROAT__AMDGPU_FOUND);
    ck_assert_int_eq(kernel.vgprs, 240);
    ck_assert_int_eq(kernel.sgprs, 100);
    ck_assert_int_eq(kernel.scratch_bytes, 70000);
    ck_assert_int_eq(kernel.lds_bytes, 163840);
    ck_assert_int_eq(kernel.max_threads, 1024);
}
END_TEST

/* Values of unknown keys: each kind of MessagePack is passed to its end, behind
 * which the kernel's facts are.  The last one's tag is no kind. */
static const struct {
    unsigned char at[18];
    size_t bytes;
} items[] = {
    {{0xc0}, 1},
    {{0xc3}, 1},
    {{0xc4, 2, 1, 1}, 4},
    {{0xc5, 0, 2, 1, 1}, 5},
    {{0xc6, 0, 0, 0, 2, 1, 1}, 7},
    {{0xc7, 2, 9, 1, 1}, 5},
    {{0xc8, 0, 2, 9, 1, 1}, 6},
    {{0xc9, 0, 0, 0, 2, 9, 1, 1}, 8},
    {{0xca, 1, 1, 1, 1}, 5},
    {{0xcb, 1, 1, 1, 1, 1, 1, 1, 1}, 9},
    {{0xcc, 0xff}, 2},
    {{0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 9},
    {{0xd0, 0xff}, 2},
    {{0xd1, 0xff, 0xff}, 3},
    {{0xd2, 0xff, 0xff, 0xff, 0xff}, 5},
    {{0xd3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 9},
    {{0xd4, 9, 1}, 3},
    {{0xd5, 9, 1, 1}, 4},
    {{0xd6, 9, 1, 1, 1, 1}, 6},
    {{0xd7, 9, 1, 1, 1, 1, 1, 1, 1, 1}, 10},
    {{0xd8, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 18},
    {{0xd9, 2, 'a', 'b'}, 4},
    {{0xda, 0, 2, 'a', 'b'}, 5},
    {{0xdb, 0, 0, 0, 2, 'a', 'b'}, 7},
    {{0xdc, 0, 2, 1, 0xc0}, 5},
    {{0xdd, 0, 0, 0, 2, 1, 0xc0}, 7},
    {{0xde, 0, 1, 0xa1, 'a', 1}, 6},
    {{0xdf, 0, 0, 0, 1, 0xa1, 'a', 1}, 8},
    {{0x80}, 1},
    {{0x81, 0xa1, 'a', 0x90}, 4},
    {{0x90}, 1},
    {{0x92, 0x7f, 0xe0}, 3},
    {{0xa0}, 1},
    {{0xff}, 1},
    {{0xc1}, 1},
};

START_TEST(every_kind_of_value_is_passed)
{
    amdgpu_object object = usual;
    unsigned char data[AMDGPU_OBJECT_ROOM];
    groat__amdgpu_kernel kernel = {0};
    groat__amdgpu_finding found;

    object.item = items[_i].at;
    object.item_bytes = items[_i].bytes;
    found = groat__amdgpu_elf_kernel(data, make(data, &object), usual.entry,
                                     &kernel);
    if (items[_i].at[0] == 0xc1) {
        ck_assert_int_ne(found, GROAT__AMDGPU_FOUND);
        return;
    }
    ck_assert_int_eq(found, GROAT__AMDGPU_FOUND);
    ck_assert_int_eq(kernel.vgprs, 240);
    ck_assert_int_eq(kernel.sgprs, 100);
    ck_assert_int_eq(kernel.max_threads, 1024);
}
END_TEST

START_TEST(other_kernels_are_not_taken_for_it)
{
    static const char *const names[] = {"copy_tile", "copy_tile_f16x", "",
                                        ".name"};
    unsigned char data[AMDGPU_OBJECT_ROOM];
    size_t bytes = make(data, &usual);
    groat__amdgpu_kernel kernel = {.vgprs = 7};

    for (size_t i = 0; i < COUNT(names); i++)
        ck_assert_int_eq(
            groat__amdgpu_elf_kernel(data, bytes, names[i], &kernel),
            GROAT__AMDGPU_NO_KERNEL);
    ck_assert_int_eq(kernel.vgprs, 7);
}
END_TEST

START_TEST(long_names_are_found)
{
    static const char name[] = "paged_attention_decode_bf16_d128_p16_g8_w4";
    amdgpu_object object = usual;
    unsigned char data[AMDGPU_OBJECT_ROOM];
    groat__amdgpu_kernel kernel;
    size_t bytes;

    object.entry = name;
    bytes = make(data, &object);
    ck_assert_int_eq(groat__amdgpu_elf_kernel(data, bytes, name, &kernel),
                     GROAT__AMDGPU_FOUND);
}
END_TEST

START_TEST(strangers_are_refused)
{
    unsigned char data[AMDGPU_OBJECT_ROOM];
    size_t bytes = make(data, &usual);
    groat__amdgpu_kernel kernel;
    static const size_t identity[] = {0, 4, 5, 18}; /* magic to machine */

    for (size_t i = 0; i < COUNT(identity); i++) {
        data[identity[i]] ^= 0x03;
        ck_assert(!groat__amdgpu_elf_whole(data, bytes));
        ck_assert_int_eq(
            groat__amdgpu_elf_kernel(data, bytes, "copy_tile_f16", &kernel),
            GROAT__AMDGPU_NO_NOTES);
        data[identity[i]] ^= 0x03;
    }
    ck_assert(groat__amdgpu_elf_whole(data, bytes));
    ck_assert(!groat__amdgpu_elf_whole("", 0));
}
END_TEST

/* Notes with another owner, owner length or type are skipped. */
START_TEST(other_notes_are_passed)
{
    unsigned char data[AMDGPU_OBJECT_ROOM];
    size_t bytes = make(data, &usual);
    const unsigned char *name = memmem(data, bytes, "AMDGPU", 7);
    groat__amdgpu_kernel kernel;
    size_t at;

    ck_assert_ptr_nonnull(name);
    at = (size_t)(name - data);
    for (int i = 0; i < 3; i++) {
        /* The owner's last letter; its length, 8 with the padding; the type. */
        const size_t places[] = {at + 5, at - sizeof(Elf64_Nhdr), at - 4};
        const unsigned char values[] = {'V', 8, 31};
        unsigned char copy[AMDGPU_OBJECT_ROOM];

        memcpy(copy, data, sizeof(copy));
        ck_assert_uint_ne(copy[places[i]], values[i]);
        copy[places[i]] = values[i];
        ck_assert_int_eq(
            groat__amdgpu_elf_kernel(copy, bytes, "copy_tile_f16", &kernel),
            GROAT__AMDGPU_NO_NOTES);
    }
    ck_assert_int_eq(
        groat__amdgpu_elf_kernel(data, bytes, "copy_tile_f16", &kernel),
        GROAT__AMDGPU_FOUND);
}
END_TEST

/* The metadata must be a map; a list with as many items is refused. */
START_TEST(metadata_is_a_map)
{
    unsigned char data[AMDGPU_OBJECT_ROOM];
    size_t bytes = make(data, &usual);
    unsigned char *name = memmem(data, bytes, "AMDGPU", 7);
    groat__amdgpu_kernel kernel;

    ck_assert_ptr_nonnull(name);
    ck_assert_uint_eq(name[8] & 0xf0, 0x80);
    name[8] = (unsigned char)(0x90 | (name[8] & 0x0f));
    ck_assert_int_eq(
        groat__amdgpu_elf_kernel(data, bytes, "copy_tile_f16", &kernel),
        GROAT__AMDGPU_NO_NOTES);
}
END_TEST

START_TEST(offsets_cannot_wrap)
{
    static const uint64_t far[] = {UINT64_MAX, UINT64_MAX - 63, 1ull << 63,
                                   AMDGPU_OBJECT_ROOM};
    unsigned char data[AMDGPU_OBJECT_ROOM];
    size_t bytes = make(data, &usual);
    const size_t fields[] = {
        offsetof(Elf64_Ehdr, e_phoff),
        sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_offset),
        sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz)};

    for (size_t f = 0; f < COUNT(fields); f++)
        for (size_t i = 0; i < COUNT(far); i++) {
            unsigned char copy[AMDGPU_OBJECT_ROOM];

            memcpy(copy, data, sizeof(copy));
            memcpy(copy + fields[f], &far[i], sizeof(far[i]));
            ck_assert(!groat__amdgpu_elf_whole(copy, bytes));
            ck_assert_int_eq(read_exact(copy, bytes), GROAT__AMDGPU_NO_NOTES);
        }
}
END_TEST

START_TEST(every_truncation_is_survived)
{
    unsigned char data[AMDGPU_OBJECT_ROOM];
    size_t bytes = make(data, &usual);

    for (size_t cut = 0; cut < bytes; cut++) {
        ck_assert(!groat__amdgpu_elf_whole(data, cut));
        ck_assert_int_eq(read_exact(data, cut), GROAT__AMDGPU_NO_NOTES);
    }
    ck_assert_int_eq(read_exact(data, bytes), GROAT__AMDGPU_FOUND);
}
END_TEST

/* Sets each byte to every value in turn. */
START_TEST(every_flip_is_survived)
{
    unsigned char data[AMDGPU_OBJECT_ROOM];
    size_t bytes = make(data, &usual);
    size_t found = 0;

    for (size_t at = 0; at < bytes; at++) {
        unsigned char kept = data[at];

        for (unsigned value = 0; value < 256; value += test_step()) {
            data[at] = (unsigned char)value;
            if (read_exact(data, bytes) == GROAT__AMDGPU_FOUND)
                found++;
        }
        data[at] = kept;
    }
    /* A damaged number is still a number; a damaged key no longer matches. */
    ck_assert_uint_gt(found, bytes);
    ck_assert_uint_lt(found, 256 * bytes);
}
END_TEST

/* Metadata that repeats one tag: nested up to the end of the bytes. */
START_TEST(deep_and_wide_metadata_is_survived)
{
    unsigned char data[AMDGPU_OBJECT_ROOM];
    size_t bytes = make(data, &usual);
    const size_t start = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 12 + 8;

    for (unsigned tag = 0; tag < 256; tag++) {
        memset(data + start, (int)tag, bytes - start);
        ck_assert_int_ne(read_exact(data, bytes), GROAT__AMDGPU_FOUND);
        data[start] = 0xdf; /* map32; the following tags are its count */
        ck_assert_int_ne(read_exact(data, bytes), GROAT__AMDGPU_FOUND);
    }
}
END_TEST

static Suite *amdgpu_elf_suite(void)
{
    Suite *suite = suite_create("amdgpu_elf");
    TCase *tcase = tcase_create("amdgpu_elf");

    tcase_set_timeout(tcase, 0); /* valgrind is slow */
    tcase_add_test(tcase, facts_are_read);
    tcase_add_loop_test(tcase, every_kind_of_value_is_passed, 0,
                        (int)COUNT(items));
    tcase_add_test(tcase, other_kernels_are_not_taken_for_it);
    tcase_add_test(tcase, long_names_are_found);
    tcase_add_test(tcase, strangers_are_refused);
    tcase_add_test(tcase, other_notes_are_passed);
    tcase_add_test(tcase, metadata_is_a_map);
    tcase_add_test(tcase, offsets_cannot_wrap);
    tcase_add_test(tcase, every_truncation_is_survived);
    tcase_add_test(tcase, every_flip_is_survived);
    tcase_add_test(tcase, deep_and_wide_metadata_is_survived);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(amdgpu_elf_suite());
}
