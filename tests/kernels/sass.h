/* SPDX-License-Identifier: Apache-2.0
 *
 * sass.h - counts tensor copies in the machine code of a cubin.  An
 * instruction is 16 bytes; the encodings were taken from nvdisasm 13.0.
 */
#ifndef GROAT_TESTS_SASS_H
#define GROAT_TESTS_SASS_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

typedef struct sass_copies {
    int all;       /* UTMALDG                           */
    int rank[6];   /* by rank                           */
    int multicast; /* .MULTICAST                        */
    int pair;      /* .2CTA: the form of cta_group::2   */
    int hint;      /* with a policy for L2              */
} sass_copies;

static inline void sass_look(uint64_t low, uint64_t high, sass_copies *c)
{
    if ((low & 0x1ff) != 0x1b4)
        return;
    c->all++;
    c->rank[(((high >> 15) & 7) + 1) % 6]++;
    c->multicast += (high >> 11 & 1) != 0;
    c->hint += (high >> 12 & 1) != 0;
    c->pair += (high >> 21 & 1) != 0;
}

/* Counts over all executable sections; all 0 if this is no ELF file. */
static inline sass_copies sass_count(const void *cubin, size_t bytes)
{
    const unsigned char *data = cubin;
    sass_copies c = {0};
    Elf64_Ehdr head;

    if (bytes < sizeof(head) || memcmp(data, ELFMAG, SELFMAG) != 0)
        return c;
    memcpy(&head, data, sizeof(head));
    for (size_t i = 0; i < head.e_shnum; i++) {
        size_t at = head.e_shoff + i * sizeof(Elf64_Shdr);
        Elf64_Shdr section;

        if (at + sizeof(section) > bytes)
            break;
        memcpy(&section, data + at, sizeof(section));
        if (section.sh_type != SHT_PROGBITS ||
            (section.sh_flags & SHF_EXECINSTR) == 0 ||
            section.sh_offset + section.sh_size > bytes)
            continue;
        for (size_t k = 0; k + 16 <= section.sh_size; k += 16) {
            uint64_t word[2];

            memcpy(word, data + section.sh_offset + k, sizeof(word));
            sass_look(word[0], word[1], &c);
        }
    }
    return c;
}

#endif
