/* SPDX-License-Identifier: Apache-2.0
 *
 * amdgpu_elf.c reads AMDGPU code objects: whether one is whole, and what its
 * notes (NT_AMDGPU_METADATA, MessagePack) say about a kernel.  It leaves code
 * and relocations to the driver.  It is pure: no allocation, no recursion, no
 * state, so it needs no locking.
 *
 * Invariant: nothing is read before it was checked to lie inside the bytes,
 * and every turn of a loop consumes at least one byte of them; hostile input
 * costs time linear in its size and is answered with "no notes".
 */
#include "backend/amdgpu_elf.h"

#include <string.h>

#include "backend/elf.h"

#define MACHINE_AMDGPU       224
#define NOTE_AMDGPU_METADATA 32

typedef enum item_kind {
    ITEM_OTHER = 0,
    ITEM_INT,
    ITEM_TEXT,
    ITEM_ARRAY,
    ITEM_MAP
} item_kind;

/* One MessagePack item; of an array or a map, only the head. */
typedef struct item {
    item_kind kind;
    int64_t value;
    const unsigned char *text;
    uint64_t count; /* bytes of a text, items below an array or a map */
} item;

static bool read_header(const void *data, size_t bytes, Elf64_Ehdr *head)
{
    return groat__elf_header(data, bytes, head) &&
           head->e_machine == MACHINE_AMDGPU;
}

bool groat__amdgpu_elf_whole(const void *data, size_t bytes)
{
    Elf64_Ehdr head;

    return read_header(data, bytes, &head) && head.e_phnum > 0 &&
           groat__elf_whole(data, bytes);
}

/* A big-endian number of 1, 2, 4 or 8 bytes. */
static bool take_number(groat__elf_rest *in, unsigned bytes, uint64_t *out)
{
    const unsigned char *at;

    if (!groat__elf_take(in, bytes, &at))
        return false;
    *out = 0;
    for (unsigned i = 0; i < bytes; i++)
        *out = *out << 8 | at[i];
    return true;
}

static bool take_int(groat__elf_rest *in, unsigned bytes, bool is_signed,
                     item *out)
{
    uint64_t raw;
    unsigned shift = 64 - 8 * bytes;

    if (!take_number(in, bytes, &raw))
        return false;
    out->kind = ITEM_INT;
    out->value = is_signed ? (int64_t)(raw << shift) >> shift : (int64_t)raw;
    /* A count beyond 63 bits does not fit `value`. */
    if (!is_signed && raw > INT64_MAX)
        out->kind = ITEM_OTHER;
    return true;
}

static bool take_text(groat__elf_rest *in, uint64_t bytes, item *out)
{
    out->kind = ITEM_TEXT;
    out->count = bytes;
    return groat__elf_take(in, bytes, &out->text);
}

static bool take_opaque(groat__elf_rest *in, uint64_t bytes)
{
    const unsigned char *ignored;

    return groat__elf_take(in, bytes, &ignored);
}

/* Reads an item with one of the tags 0xc0 to 0xdf. */
static bool take_tagged(groat__elf_rest *in, unsigned tag, item *out)
{
    static const unsigned char ext_bytes[] = {1, 2, 4, 8, 16};
    unsigned width = 1u << (tag & 3);
    uint64_t len;

    if (tag >= 0xcc && tag <= 0xcf)
        return take_int(in, width, false, out);
    if (tag >= 0xd0 && tag <= 0xd3)
        return take_int(in, width, true, out);
    if (tag >= 0xd4 && tag <= 0xd8)
        return take_opaque(in, 1u + ext_bytes[tag - 0xd4]);
    if (tag >= 0xd9 && tag <= 0xdb)
        return take_number(in, 1u << (tag - 0xd9), &len) &&
               take_text(in, len, out);
    if (tag >= 0xdc) {
        out->kind = tag <= 0xdd ? ITEM_ARRAY : ITEM_MAP;
        return take_number(in, (tag & 1) ? 4 : 2, &out->count);
    }
    if (tag >= 0xc4 && tag <= 0xc6) /* bytes */
        return take_number(in, 1u << (tag - 0xc4), &len) &&
               take_opaque(in, len);
    if (tag >= 0xc7 && tag <= 0xc9) /* typed bytes */
        return take_number(in, 1u << (tag - 0xc7), &len) &&
               take_opaque(in, 1) && take_opaque(in, len);
    if (tag == 0xca || tag == 0xcb) /* float, double */
        return take_opaque(in, tag == 0xca ? 4 : 8);
    return tag != 0xc1; /* nil, false, true */
}

static bool take_item(groat__elf_rest *in, item *out)
{
    const unsigned char *at;
    unsigned tag;

    memset(out, 0, sizeof(*out));
    if (!groat__elf_take(in, 1, &at))
        return false;
    tag = *at;
    if (tag < 0x80 || tag >= 0xe0) {
        out->kind = ITEM_INT;
        out->value = tag < 0x80 ? (int64_t)tag : (int64_t)tag - 256;
        return true;
    }
    if (tag < 0x90) {
        out->kind = ITEM_MAP;
        out->count = tag & 15;
        return true;
    }
    if (tag < 0xa0) {
        out->kind = ITEM_ARRAY;
        out->count = tag & 15;
        return true;
    }
    if (tag < 0xc0)
        return take_text(in, tag & 31, out);
    return take_tagged(in, tag, out);
}

static uint64_t children(const item *head)
{
    if (head->kind == ITEM_MAP)
        return 2 * head->count;
    return head->kind == ITEM_ARRAY ? head->count : 0;
}

/* Skips all items below head. */
static bool skip_below(groat__elf_rest *in, const item *head)
{
    uint64_t due = children(head);
    item next;

    while (due > 0) {
        if (due > in->left || !take_item(in, &next))
            return false;
        due += children(&next) - 1;
    }
    return true;
}

static bool is_text(const item *key, const char *text)
{
    return key->kind == ITEM_TEXT && key->count == strlen(text) &&
           memcmp(key->text, text, (size_t)key->count) == 0;
}

static void keep_fact(const item *key, int64_t value, groat__amdgpu_kernel *out)
{
    const struct {
        const char *name;
        int64_t *to;
    } fields[] = {
        {".vgpr_count", &out->vgprs},
        {".sgpr_count", &out->sgprs},
        {".private_segment_fixed_size", &out->scratch_bytes},
        {".group_segment_fixed_size", &out->lds_bytes},
        {".max_flat_workgroup_size", &out->max_threads},
    };

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (is_text(key, fields[i].name))
            *fields[i].to = value;
}

/* Reads one element of amdhsa.kernels; *match: whether it is entry. */
static bool take_kernel(groat__elf_rest *in, const char *entry,
                        groat__amdgpu_kernel *out, bool *match)
{
    item map, key, value;

    *match = false;
    memset(out, 0xff, sizeof(*out)); /* every field -1 */
    if (!take_item(in, &map) || map.kind != ITEM_MAP)
        return false;
    for (uint64_t i = 0; i < map.count; i++) {
        if (!take_item(in, &key) || !skip_below(in, &key) ||
            !take_item(in, &value) || !skip_below(in, &value))
            return false;
        if (value.kind == ITEM_INT && value.value >= 0)
            keep_fact(&key, value.value, out);
        else if (is_text(&key, ".name"))
            *match = is_text(&value, entry);
    }
    return true;
}

static groat__amdgpu_finding take_kernels(groat__elf_rest *in, uint64_t count,
                                          const char *entry,
                                          groat__amdgpu_kernel *out)
{
    groat__amdgpu_kernel kernel;
    bool match;

    for (uint64_t i = 0; i < count; i++) {
        if (!take_kernel(in, entry, &kernel, &match))
            return GROAT__AMDGPU_NO_NOTES;
        if (match) {
            *out = kernel;
            return GROAT__AMDGPU_FOUND;
        }
    }
    return GROAT__AMDGPU_NO_KERNEL;
}

static groat__amdgpu_finding
read_metadata(groat__elf_rest in, const char *entry, groat__amdgpu_kernel *out)
{
    item root, key, value;

    if (!take_item(&in, &root) || root.kind != ITEM_MAP)
        return GROAT__AMDGPU_NO_NOTES;
    for (uint64_t i = 0; i < root.count; i++) {
        if (!take_item(&in, &key) || !skip_below(&in, &key) ||
            !take_item(&in, &value))
            break;
        if (is_text(&key, "amdhsa.kernels") && value.kind == ITEM_ARRAY)
            return take_kernels(&in, value.count, entry, out);
        if (!skip_below(&in, &value))
            break;
    }
    return GROAT__AMDGPU_NO_NOTES;
}

/* Finds the metadata note; false if there is none. */
static bool find_metadata(groat__elf_rest notes, groat__elf_rest *out)
{
    static const char owner[] = "AMDGPU";
    groat__elf_note note;

    while (groat__elf_next_note(&notes, &note))
        if (note.type == NOTE_AMDGPU_METADATA &&
            note.name_bytes == sizeof(owner) &&
            memcmp(note.name, owner, sizeof(owner)) == 0) {
            *out = (groat__elf_rest){note.desc, note.desc_bytes};
            return true;
        }
    return false;
}

groat__amdgpu_finding groat__amdgpu_elf_kernel(const void *data, size_t bytes,
                                               const char *entry,
                                               groat__amdgpu_kernel *out)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    groat__elf_rest notes;
    groat__elf_rest metadata;
    size_t left = bytes; /* of all notes: segments may overlap */

    if (!read_header(data, bytes, &head))
        return GROAT__AMDGPU_NO_NOTES;
    for (size_t i = 0; i < head.e_phnum; i++) {
        if (!groat__elf_segment(data, bytes, &head, i, &segment))
            return GROAT__AMDGPU_NO_NOTES;
        if (segment.p_type != PT_NOTE)
            continue;
        if (segment.p_filesz > left)
            return GROAT__AMDGPU_NO_NOTES;
        left -= (size_t)segment.p_filesz;
        notes.at = (const unsigned char *)data + segment.p_offset;
        notes.left = (size_t)segment.p_filesz;
        if (find_metadata(notes, &metadata))
            return read_metadata(metadata, entry, out);
    }
    return GROAT__AMDGPU_NO_NOTES;
}
