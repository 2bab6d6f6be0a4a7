/* SPDX-License-Identifier: Apache-2.0
 *
 * number.h - bf16, f16 and fp8.
 */
#ifndef GROAT_JUDGE_NUMBER_H
#define GROAT_JUDGE_NUMBER_H

#include "judge/model.h"

/* Returns element `index` of an operand; `number` is its type, GROAT_CPU_BF16,
 * _F16 or _FP8. */
float groat__judge_number(unsigned number, bool fnuz,
                          const unsigned char *operand, unsigned index);

#endif
