/* SPDX-License-Identifier: Apache-2.0
 *
 * test_elf.c: recognising complete ELF files, and their build ids.
 */
#include "backend/elf.h"

#include "tests/unit/suite.h"

enum { ID_BYTES = 20 };

/* A file with one segment that holds a note, and one section at its end. */
typedef struct object {
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    struct {
        Elf64_Nhdr head;
        char name[4];
        unsigned char id[ID_BYTES];
    } note;
    char code[12];
    Elf64_Shdr section;
} object;

static object make(void)
{
    object o;

    memset(&o, 0, sizeof(o));
    memcpy(o.head.e_ident, ELFMAG, SELFMAG);
    o.head.e_ident[EI_CLASS] = ELFCLASS64;
    o.head.e_ident[EI_DATA] = ELFDATA2LSB;
    o.head.e_phoff = offsetof(object, segment);
    o.head.e_phentsize = sizeof(o.segment);
    o.head.e_phnum = 1;
    o.head.e_shoff = offsetof(object, section);
    o.head.e_shentsize = sizeof(o.section);
    o.head.e_shnum = 1;
    o.segment.p_type = PT_NOTE;
    o.segment.p_offset = offsetof(object, note);
    o.segment.p_filesz = sizeof(o.note);
    o.note.head.n_namesz = sizeof(o.note.name);
    o.note.head.n_descsz = ID_BYTES;
    o.note.head.n_type = NT_GNU_BUILD_ID;
    memcpy(o.note.name, "GNU", 4);
    memset(o.note.id, 7, ID_BYTES);
    o.section.sh_type = SHT_PROGBITS;
    o.section.sh_offset = offsetof(object, code);
    o.section.sh_size = sizeof(o.code);
    return o;
}

/* Copies exactly these bytes, so that a sanitizer detects a read past them. */
static bool has_id(const object *o, size_t bytes)
{
    unsigned char *copy = malloc(bytes + (bytes == 0));
    const unsigned char *id;
    size_t id_bytes = 0;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, o, bytes);
    id = groat__elf_file_id(copy, bytes, &id_bytes);
    if (id != NULL)
        ck_assert_mem_eq(id, o->note.id, id_bytes);
    free(copy);
    return id != NULL;
}

START_TEST(a_whole_file)
{
    object o = make();

    ck_assert(groat__elf_whole(&o, sizeof(o)));
    ck_assert(has_id(&o, sizeof(o)));
    o.section.sh_type = SHT_NOBITS; /* takes no room in the file */
    o.section.sh_size = 1 << 20;
    ck_assert(has_id(&o, sizeof(o)));
}
END_TEST

START_TEST(every_cut)
{
    object o = make();

    for (size_t bytes = 0; bytes < sizeof(o); bytes++) {
        ck_assert(!groat__elf_whole(&o, bytes));
        ck_assert(!has_id(&o, bytes));
    }
}
END_TEST

/* Linkers fill in the build id last. */
START_TEST(a_build_id_that_was_not_written)
{
    object o = make();

    memset(o.note.id, 0, ID_BYTES);
    ck_assert(groat__elf_whole(&o, sizeof(o)));
    ck_assert(!has_id(&o, sizeof(o)));
    o = make();
    o.note.head.n_type = NT_GNU_ABI_TAG;
    ck_assert(!has_id(&o, sizeof(o)));
    o = make();
    o.note.name[1] = 'X';
    ck_assert(!has_id(&o, sizeof(o)));
    o = make();
    o.note.head.n_descsz = ID_BYTES + 1;
    ck_assert(!has_id(&o, sizeof(o)));
}
END_TEST

START_TEST(numbers_that_wrap)
{
    static const uint64_t far[] = {UINT64_MAX, UINT64_MAX - 63, 1ull << 63,
                                   sizeof(object)};

    for (size_t i = 0; i < COUNT(far); i++) {
        object o = make();

        o.section.sh_offset = far[i];
        ck_assert(!has_id(&o, sizeof(o)));
        o = make();
        o.section.sh_size = far[i];
        ck_assert(!has_id(&o, sizeof(o)));
        o = make();
        o.head.e_shoff = far[i];
        ck_assert(!has_id(&o, sizeof(o)));
        o = make();
        o.segment.p_filesz = far[i];
        ck_assert(!has_id(&o, sizeof(o)));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elf");
    TCase *tests = tcase_create("files");

    tcase_add_test(tests, a_whole_file);
    tcase_add_test(tests, every_cut);
    tcase_add_test(tests, a_build_id_that_was_not_written);
    tcase_add_test(tests, numbers_that_wrap);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
