/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BACKEND_ELF_H
#define GROAT_BACKEND_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

/* Readers of 64-bit little-endian ELF files.  Any bytes are allowed: nothing
 * is read before it was checked to lie inside of them. */

/* Reads the ELF header; false if this is no such file. */
bool groat__elf_header(const void *data, size_t bytes, Elf64_Ehdr *head);

/* Reads program header `index`; false if it or its segment is not inside. */
bool groat__elf_segment(const void *data, size_t bytes, const Elf64_Ehdr *head,
                        size_t index, Elf64_Phdr *out);

/* Whether every header, segment and section lies inside the bytes: a loader
 * that is told no size can then read it. */
bool groat__elf_whole(const void *data, size_t bytes);

/* The bytes that a walk has not read yet. */
typedef struct groat__elf_rest {
    const unsigned char *at;
    size_t left;
} groat__elf_rest;

/* Takes the next bytes; false if fewer are left. */
bool groat__elf_take(groat__elf_rest *in, uint64_t bytes,
                     const unsigned char **out);

typedef struct groat__elf_note {
    const unsigned char *name;
    const unsigned char *desc;
    size_t name_bytes;
    size_t desc_bytes;
    unsigned type;
} groat__elf_note;

/* Reads the next note; false at the end, and if the notes are malformed. */
bool groat__elf_next_note(groat__elf_rest *notes, groat__elf_note *out);

/* The build id of a file, borrowed from it; NULL if the file is not whole, or
 * its build id is missing or all zeros (linkers write it last). */
const unsigned char *groat__elf_file_id(const void *data, size_t bytes,
                                        size_t *id_bytes);

/* The number of functions that the loader calls when it loads a whole file. */
size_t groat__elf_initializers(const void *data, size_t bytes);

#endif
