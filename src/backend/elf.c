/* SPDX-License-Identifier: Apache-2.0
 *
 * elf.c reads ELF files of 64 bits: whether one is whole, its segments and its
 * notes.  The contents of AMDGPU notes are amdgpu_elf.c's.  It is pure: no
 * allocation and no state, so it needs no locking.
 */
#include "backend/elf.h"

#include <stdint.h>
#include <string.h>

static bool inside(size_t bytes, uint64_t offset, uint64_t len)
{
    return offset <= bytes && len <= bytes - offset;
}

bool groat__elf_header(const void *data, size_t bytes, Elf64_Ehdr *head)
{
    if (bytes < sizeof(*head))
        return false;
    memcpy(head, data, sizeof(*head));
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
           head->e_ident[EI_CLASS] == ELFCLASS64 &&
           head->e_ident[EI_DATA] == ELFDATA2LSB;
}

bool groat__elf_segment(const void *data, size_t bytes, const Elf64_Ehdr *head,
                        size_t index, Elf64_Phdr *out)
{
    if (head->e_phentsize != sizeof(*out) ||
        !inside(bytes, head->e_phoff, (index + 1) * sizeof(*out)))
        return false;
    memcpy(out, (const char *)data + head->e_phoff + index * sizeof(*out),
           sizeof(*out));
    return inside(bytes, out->p_offset, out->p_filesz);
}

static bool read_section(const void *data, size_t bytes, const Elf64_Ehdr *head,
                         size_t index, Elf64_Shdr *out)
{
    if (head->e_shentsize != sizeof(*out) ||
        !inside(bytes, head->e_shoff, (index + 1) * sizeof(*out)))
        return false;
    memcpy(out, (const char *)data + head->e_shoff + index * sizeof(*out),
           sizeof(*out));
    return out->sh_type == SHT_NULL || out->sh_type == SHT_NOBITS ||
           inside(bytes, out->sh_offset, out->sh_size);
}

bool groat__elf_whole(const void *data, size_t bytes)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    Elf64_Shdr section;

    if (!groat__elf_header(data, bytes, &head))
        return false;
    for (size_t i = 0; i < head.e_phnum; i++)
        if (!groat__elf_segment(data, bytes, &head, i, &segment))
            return false;
    for (size_t i = 0; i < head.e_shnum; i++)
        if (!read_section(data, bytes, &head, i, &section))
            return false;
    return true;
}

bool groat__elf_take(groat__elf_rest *in, uint64_t bytes,
                     const unsigned char **out)
{
    if (bytes > in->left)
        return false;
    *out = in->at;
    in->at += bytes;
    in->left -= (size_t)bytes;
    return true;
}

bool groat__elf_next_note(groat__elf_rest *notes, groat__elf_note *out)
{
    const unsigned char *at;
    Elf64_Nhdr head;

    if (!groat__elf_take(notes, sizeof(head), &at))
        return false;
    memcpy(&head, at, sizeof(head));
    if (!groat__elf_take(notes, ((uint64_t)head.n_namesz + 3) & ~3ull,
                         &out->name) ||
        head.n_descsz > notes->left)
        return false;
    out->desc = notes->at;
    out->name_bytes = head.n_namesz;
    out->desc_bytes = head.n_descsz;
    out->type = head.n_type;
    /* The last note may lack its padding. */
    if (!groat__elf_take(notes, ((uint64_t)head.n_descsz + 3) & ~3ull, &at))
        notes->left = 0;
    return true;
}

/* Returns the GNU build id among the notes, borrowed from them, or NULL. */
static const unsigned char *build_id(groat__elf_rest notes, size_t *bytes)
{
    static const char owner[] = "GNU";
    groat__elf_note note;

    while (groat__elf_next_note(&notes, &note))
        if (note.type == NT_GNU_BUILD_ID && note.name_bytes == sizeof(owner) &&
            memcmp(note.name, owner, sizeof(owner)) == 0) {
            *bytes = note.desc_bytes;
            return note.desc;
        }
    return NULL;
}

static bool is_zero(const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != 0)
            return false;
    return true;
}

const unsigned char *groat__elf_file_id(const void *data, size_t bytes,
                                        size_t *id_bytes)
{
    const unsigned char *id = NULL;
    size_t left = bytes; /* of all notes: segments may overlap */
    Elf64_Ehdr head;
    Elf64_Phdr segment;

    if (!groat__elf_whole(data, bytes) ||
        !groat__elf_header(data, bytes, &head))
        return NULL;
    for (size_t i = 0; i < head.e_phnum && id == NULL; i++)
        if (groat__elf_segment(data, bytes, &head, i, &segment) &&
            segment.p_type == PT_NOTE) {
            if (segment.p_filesz > left)
                return NULL;
            left -= (size_t)segment.p_filesz;
            id = build_id((groat__elf_rest){(const unsigned char *)data +
                                                segment.p_offset,
                                            (size_t)segment.p_filesz},
                          id_bytes);
        }
    return id == NULL || is_zero(id, *id_bytes) ? NULL : id;
}

/* Counts those of the entries of a dynamic section. */
static size_t count_initializers(groat__elf_rest entries)
{
    const unsigned char *at;
    size_t count = 0;
    Elf64_Dyn entry;

    while (groat__elf_take(&entries, sizeof(entry), &at)) {
        memcpy(&entry, at, sizeof(entry));
        if (entry.d_tag == DT_INIT_ARRAYSZ)
            count += (size_t)(entry.d_un.d_val / sizeof(Elf64_Addr));
        else if (entry.d_tag == DT_INIT)
            count++;
        else if (entry.d_tag == DT_NULL)
            break;
    }
    return count;
}

size_t groat__elf_initializers(const void *data, size_t bytes)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    size_t count = 0;

    if (!groat__elf_header(data, bytes, &head))
        return 0;
    for (size_t i = 0; i < head.e_phnum; i++)
        if (groat__elf_segment(data, bytes, &head, i, &segment) &&
            segment.p_type == PT_DYNAMIC)
            count += count_initializers((groat__elf_rest){
                (const unsigned char *)data + segment.p_offset,
                (size_t)segment.p_filesz});
    return count;
}
