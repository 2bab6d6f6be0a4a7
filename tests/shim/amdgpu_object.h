/* SPDX-License-Identifier: Apache-2.0
 *
 * amdgpu_object.h - makes the smallest AMDGPU code object with a kernel's
 * metadata, for stand-ins and tests.  It holds no code.
 */
#ifndef GROAT_TESTS_AMDGPU_OBJECT_H
#define GROAT_TESTS_AMDGPU_OBJECT_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { AMDGPU_OBJECT_ROOM = 2048 };

/* Facts of the one kernel. */
typedef struct amdgpu_object {
    const char *entry;
    uint32_t vgprs;
    uint32_t sgprs;
    uint32_t spills;
    uint32_t scratch_bytes;
    uint32_t lds_bytes;
    uint32_t max_threads;
    /* The value of one more key of the kernel's, as it is written; NULL: no
     * such key. */
    const unsigned char *item;
    size_t item_bytes;
} amdgpu_object;

typedef struct amdgpu_writer {
    unsigned char *at;
    size_t used;
} amdgpu_writer;

/* Not inline: gcc 12 loses the bound when it merges the calls. */
static __attribute__((noinline, unused)) void
amdgpu_put(amdgpu_writer *out, const void *data, size_t bytes)
{
    if (bytes <= AMDGPU_OBJECT_ROOM && out->used <= AMDGPU_OBJECT_ROOM - bytes)
        memcpy(out->at + out->used, data, bytes);
    out->used += bytes;
}

static inline void amdgpu_byte(amdgpu_writer *out, unsigned value)
{
    unsigned char byte = (unsigned char)value;

    amdgpu_put(out, &byte, 1);
}

static inline void amdgpu_text(amdgpu_writer *out, const char *text)
{
    size_t len = strlen(text);

    if (len >= 32)
        amdgpu_byte(out, 0xd9);
    amdgpu_byte(out, len < 32 ? 0xa0 | (unsigned)len : (unsigned)len);
    amdgpu_put(out, text, len);
}

/* Writes a number in the shortest form, as LLVM does. */
static inline void amdgpu_number(amdgpu_writer *out, uint32_t value)
{
    unsigned bytes = value < 0x100 ? 1 : value < 0x10000 ? 2 : 4;

    if (value < 0x80) {
        amdgpu_byte(out, value);
        return;
    }
    amdgpu_byte(out, bytes == 1 ? 0xcc : bytes == 2 ? 0xcd : 0xce);
    while (bytes-- > 0)
        amdgpu_byte(out, value >> 8 * bytes & 0xff);
}

static inline void amdgpu_pair(amdgpu_writer *out, const char *key,
                               uint32_t value)
{
    amdgpu_text(out, key);
    amdgpu_number(out, value);
}

static inline void amdgpu_metadata(amdgpu_writer *out,
                                   const amdgpu_object *object)
{
    amdgpu_byte(out, 0x83);
    amdgpu_text(out, "amdhsa.kernels");
    amdgpu_byte(out, 0x91);
    amdgpu_byte(out, 0xde); /* a map of 11 or 12, in the long form */
    amdgpu_byte(out, 0);
    amdgpu_byte(out, 11 + (object->item != NULL));
    if (object->item != NULL) {
        amdgpu_text(out, ".more");
        amdgpu_put(out, object->item, object->item_bytes);
    }
    amdgpu_pair(out, ".agpr_count", 0);
    amdgpu_text(out, ".args");
    amdgpu_byte(out, 0x91);
    amdgpu_byte(out, 0x83);
    amdgpu_pair(out, ".offset", 0);
    amdgpu_pair(out, ".size", 48);
    amdgpu_text(out, ".value_kind");
    amdgpu_text(out, "by_value");
    amdgpu_pair(out, ".group_segment_fixed_size", object->lds_bytes);
    amdgpu_pair(out, ".kernarg_segment_size", 48);
    amdgpu_pair(out, ".max_flat_workgroup_size", object->max_threads);
    amdgpu_text(out, ".name");
    amdgpu_text(out, object->entry);
    amdgpu_pair(out, ".private_segment_fixed_size", object->scratch_bytes);
    amdgpu_pair(out, ".sgpr_count", object->sgprs);
    amdgpu_text(out, ".uses_dynamic_stack");
    amdgpu_byte(out, 0xc2);
    amdgpu_pair(out, ".vgpr_count", object->vgprs);
    amdgpu_pair(out, ".vgpr_spill_count", object->spills);
    amdgpu_text(out, "amdhsa.target");
    amdgpu_text(out, "amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-");
    amdgpu_text(out, "amdhsa.version");
    amdgpu_byte(out, 0x92);
    amdgpu_number(out, 1);
    amdgpu_number(out, 2);
}

/* Writes the object; data has AMDGPU_OBJECT_ROOM bytes.  Returns its size, or 0
 * when entry is too long for it. */
static inline size_t amdgpu_object_make(unsigned char *data,
                                        const amdgpu_object *object)
{
    Elf64_Ehdr head = {0};
    Elf64_Phdr segment = {0};
    Elf64_Nhdr note = {7, 0, 32};
    amdgpu_writer out = {data, sizeof(head) + sizeof(segment) + sizeof(note)};
    size_t start;

    memset(data, 0, AMDGPU_OBJECT_ROOM);
    amdgpu_put(&out, "AMDGPU\0", 8);
    start = out.used;
    amdgpu_metadata(&out, object);
    note.n_descsz = (Elf64_Word)(out.used - start);
    while (out.used % 4 != 0)
        amdgpu_byte(&out, 0);
    if (out.used > AMDGPU_OBJECT_ROOM)
        return 0;
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    head.e_ident[EI_OSABI] = 64;
    head.e_type = ET_DYN;
    head.e_machine = 224;
    head.e_version = EV_CURRENT;
    head.e_phoff = sizeof(head);
    head.e_ehsize = sizeof(head);
    head.e_phentsize = sizeof(segment);
    head.e_phnum = 1;
    segment.p_type = PT_NOTE;
    segment.p_offset = sizeof(head) + sizeof(segment);
    segment.p_filesz = out.used - segment.p_offset;
    memcpy(data, &head, sizeof(head));
    memcpy(data + sizeof(head), &segment, sizeof(segment));
    memcpy(data + segment.p_offset, &note, sizeof(note));
    return out.used;
}

#endif
