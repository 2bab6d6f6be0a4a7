/* SPDX-License-Identifier: Apache-2.0
 *
 * warp_mma.c models the matrix product of an NVIDIA warp on operands in
 * registers, and how it loads them: mma.sync and ldmatrix.
 *
 * Formulas: PTX ISA, fragments of ldmatrix, mma.m16n8k16 and mma.m16n8k32; they
 * are written down in common/mma_sync.h.
 */
#include "judge/warp_mma.h"

#include <stdlib.h>
#include <string.h>

#include "judge/fiber.h"
#include "judge/memory.h"
#include "judge/number.h"
#include "judge/wave.h"

/* Kinds of operation; that of a product has the element type added. */
enum { ROWS = 0x10000100, COLUMNS, PRODUCT = 0x10000200 };

enum {
    SM_COPIES = 80, /* least sm_ for ldmatrix and 16-bit products */
    SM_FP8 = 89,
    ROW_BYTES = 16,
    WORD_BYTES = 4
};

static void check_arch(groat__judge *j, int least, const char *what)
{
    const char *name = j->launch->arch->name;

    if (strncmp(name, "sm_", 3) != 0 || strtol(name + 3, NULL, 10) < least)
        groat__judge_report(j, "%s; %s cannot, sm_%d and up can", what, name,
                            least);
}

void groat__judge_matrix_load(struct groat_cpu_env *env, unsigned address,
                              void *to, unsigned transposed)
{
    groat__judge *j = groat__judge_enter(env);
    unsigned char *out = to;
    groat__brought *mine;
    size_t lane;

    check_arch(j, SM_COPIES, "loads matrices");
    mine = groat__judge_bring(j, transposed ? COLUMNS : ROWS);
    groat__judge_read(j, address, mine->a, ROW_BYTES, GROAT_ACCESS_READ);
    groat__judge_come_together(j);
    lane = groat__judge_lane(j);
    for (size_t i = 0; i < 4; i++, out += WORD_BYTES) {
        if (!transposed) {
            memcpy(out,
                   groat__judge_brought(j, 8 * i + lane / 4)->a +
                       WORD_BYTES * (lane % 4),
                   WORD_BYTES);
            continue;
        }
        for (size_t n = 0; n < 2; n++)
            memcpy(out + 2 * n,
                   groat__judge_brought(j, 8 * i + 2 * (lane % 4) + n)->a +
                       2 * (lane / 4),
                   2);
    }
}

/* The elements of a row of A, or of a column of B. */
typedef struct line {
    float at[32];
} line;

/* Four lanes hold a row; the words of a lane hold two rows of A, row % 8 and
 * that + 8. */
static line line_of(const groat__judge *j, unsigned number, bool of_a,
                    size_t row)
{
    size_t per_word = 4 / groat__judge_number_bytes(number);
    line out;

    for (size_t lane = 0; lane < 4; lane++) {
        const groat__brought *b = groat__judge_brought(j, row % 8 * 4 + lane);

        for (size_t half = 0; half < 2; half++)
            for (size_t i = 0; i < per_word; i++) {
                size_t word = of_a ? row / 8 + 2 * half : half;

                out.at[(4 * half + lane) * per_word + i] =
                    groat__judge_number(number, false, of_a ? b->a : b->b,
                                        (unsigned)(word * per_word + i));
            }
    }
    return out;
}

void groat__judge_mma_16x8(struct groat_cpu_env *env, unsigned number,
                           const void *a, const void *b, float *acc)
{
    groat__judge *j = groat__judge_enter(env);
    size_t deep = 32 / groat__judge_number_bytes(number);
    groat__brought *mine;
    line rows[2], columns[2];
    size_t lane;

    if (groat__judge_number_bytes(number) == 1)
        check_arch(j, SM_FP8, "multiplies 8-bit floats");
    else
        check_arch(j, SM_COPIES, "multiplies in registers");
    mine = groat__judge_bring(j, PRODUCT + number);
    memcpy(mine->a, a, 4 * WORD_BYTES);
    memcpy(mine->b, b, 2 * WORD_BYTES);
    groat__judge_come_together(j);
    lane = groat__judge_lane(j);
    for (size_t i = 0; i < 2; i++) {
        rows[i] = line_of(j, number, true, lane / 4 + 8 * i);
        columns[i] = line_of(j, number, false, 2 * (lane % 4) + i);
    }
    for (size_t p = 0; p < 4; p++)
        for (size_t k = 0; k < deep; k++)
            acc[p] += rows[p / 2].at[k] * columns[p % 2].at[k];
}
