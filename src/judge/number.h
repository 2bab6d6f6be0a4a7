/* SPDX-License-Identifier: Apache-2.0
 *
 * number.h - bf16, f16, fp8 and bf8.
 */
#ifndef GROAT_JUDGE_NUMBER_H
#define GROAT_JUDGE_NUMBER_H

#include "judge/model.h"

/* Returns the bytes of a number; `number` is its type, GROAT_CPU_BF16, _F16,
 * _FP8 or _BF8. */
static inline unsigned groat__judge_number_bytes(unsigned number)
{
    return number == GROAT_CPU_FP8 || number == GROAT_CPU_BF8 ? 1 : 2;
}

/* Returns element `index` of an operand. */
float groat__judge_number(unsigned number, bool fnuz,
                          const unsigned char *operand, unsigned index);

#endif
