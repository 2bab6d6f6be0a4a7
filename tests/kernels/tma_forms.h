/* SPDX-License-Identifier: Apache-2.0
 *
 * tma_forms.h - closed forms of shared memory that no kernel and no part of
 * the judge uses: tiles as the copy engine writes them, and operands of wgmma
 * with the fields of their matrix descriptors.  Swizzles are numbered as in
 * groat_swizzle: none, 32, 64, 128 bytes.
 */
#ifndef GROAT_TEST_TMA_FORMS_H
#define GROAT_TEST_TMA_FORMS_H

#include <stdbool.h>
#include <stdint.h>

/* Offset of byte `cc` of chunk `ch` of a row in a tile of `rows` rows, with all
 * rows of a chunk side by side. */
static inline unsigned tile_byte(unsigned swizzle, unsigned rows, unsigned row,
                                 unsigned ch, unsigned cc)
{
    switch (swizzle) {
    case 3:
        return ch * rows * 128 + row * 128 + (((cc >> 4) ^ (row & 7)) << 4) +
               (cc & 15);
    case 2:
        return ch * rows * 64 + row * 64 +
               (((cc >> 4) ^ ((row >> 1) & 3)) << 4) + (cc & 15);
    case 1:
        return ch * rows * 32 + row * 32 +
               (((cc >> 4) ^ ((row >> 2) & 1)) << 4) + (cc & 15);
    default:
        return ch * rows * 16 + row * 16 + cc;
    }
}

/* The same with the chunks of 8 rows side by side, 128-byte swizzle. */
static inline unsigned dense_byte(unsigned row_bytes, unsigned row, unsigned ch,
                                  unsigned cc)
{
    return (row >> 3) * 8 * row_bytes + ch * 1024 + (row & 7) * 128 +
           (((cc >> 4) ^ (row & 7)) << 4) + (cc & 15);
}

/* ---- numbers ---------------------------------------------------------------
 */

enum { FORM_BF16, FORM_F16, FORM_FP8, FORM_BF8 };

static inline unsigned number_bytes(unsigned number)
{
    return number >= FORM_FP8 ? 1 : 2;
}

/* Encodes small integers in each format. */
static inline unsigned number_bits(unsigned number, int x)
{
    unsigned sign = x < 0;
    unsigned m = (unsigned)(x < 0 ? -x : x);
    unsigned e = 0;

    if (m == 0)
        return 0;
    while (m >> (e + 1) != 0)
        e++;
    switch (number) {
    case FORM_FP8:
        return sign << 7 | (e + 7) << 3 | ((m << 3 >> e) & 7);
    case FORM_BF8:
        return sign << 7 | (e + 15) << 2 | ((m << 2 >> e) & 3);
    case FORM_F16:
        return sign << 15 | (e + 15) << 10 | ((m << 10 >> e) & 0x3ff);
    default:
        return sign << 15 | (e + 127) << 7 | ((m << 7 >> e) & 0x7f);
    }
}

/* ---- operands of wgmma ------------------------------------------------------
 */

/* k-major tiles are chunk after chunk of k, mn-major ones have rows of k and
 * chunks of mn; DENSE and INNER: chunks of 8 rows side by side, 128 bytes. */
enum { FORM_K, FORM_K_DENSE, FORM_MN, FORM_MN_INNER };

typedef struct operand_form {
    unsigned form;
    unsigned swizzle;
    unsigned rows; /* of A, or columns of B */
    unsigned k;    /* length of the whole sum */
    unsigned number;
} operand_form;

static inline bool is_mn(const operand_form *o)
{
    return o->form >= FORM_MN;
}

/* Byte of number (row, k). */
static inline unsigned operand_byte(const operand_form *o, unsigned row,
                                    unsigned k)
{
    unsigned size = number_bytes(o->number);
    unsigned span = 16u << o->swizzle;
    unsigned line = is_mn(o) ? k : row;
    unsigned byte = (is_mn(o) ? row : k) * size;

    if (o->form == FORM_K_DENSE || o->form == FORM_MN_INNER)
        return dense_byte((is_mn(o) ? o->rows : o->k) * size, line, byte / 128,
                          byte % 128);
    return tile_byte(o->swizzle, is_mn(o) ? o->k : o->rows, line, byte / span,
                     byte % span);
}

/* The descriptor of the numbers from k on. */
typedef struct operand_words {
    unsigned start; /* bytes from the tile's first */
    unsigned lbo;
    unsigned sbo;
} operand_words;

static inline operand_words describe(const operand_form *o, unsigned k)
{
    unsigned size = number_bytes(o->number);
    unsigned span = 16u << o->swizzle;
    unsigned in = k * size % span;
    unsigned chunk = k * size / span;

    switch (o->form) {
    case FORM_K:
        if (o->swizzle == 0)
            return (operand_words){chunk * o->rows * 16, o->rows * 16, 128};
        return (operand_words){in + chunk * o->rows * span, 16, 8 * span};
    case FORM_K_DENSE:
        return (operand_words){in + chunk * 1024, 16, 8 * o->k * size};
    case FORM_MN:
        if (o->swizzle == 0)
            return (operand_words){k * 16, 128, o->k * 16};
        return (operand_words){k * span, o->k * span, 8 * span};
    default:
        return (operand_words){k * o->rows * size, 1024, 8 * o->rows * size};
    }
}

#endif
