/* SPDX-License-Identifier: Apache-2.0
 *
 * wave.c models wave-wide operations: shuffles and ballots, and on AMD
 * transpose reads of shared memory (ds_read_b64_tr) and matrix
 * multiply-accumulate (MFMA) with the operand and accumulator layouts of CDNA.
 * Each lane stores its operands and meets the others; then each computes its
 * own result.  A lane's operands stay until the wave has met once more, so a
 * lane that runs ahead cannot change what others still read.
 *
 * Formulas: CDNA3 and CDNA4 ISA guides, matrix operand layouts and transpose
 * loads.
 */
#include "judge/wave.h"

#include <string.h>

#include "judge/fiber.h"
#include "judge/meet.h"
#include "judge/memory.h"
#include "judge/number.h"
#include "judge/uniform.h"

/* Kinds of operation; that of a transpose read is its width, that of MFMA its
 * type and shape. */
enum { SHUFFLED = 0x10000001, VOTED /* and the two that follow */ };

/* Result of a shuffle from a lane that the mask leaves out: an arbitrary value
 * that is a NaN as a float. */
enum { NOTHING = 0x7FC5A5A5 };

/* ---- operations of all lanes ------------------------------------------- */

const groat__brought *groat__judge_brought(const groat__judge *j, size_t lane)
{
    size_t first = j->current - groat__judge_lane(j);

    /* All lanes have met equally often, so this lane's turn selects. */
    return &j->fibers[first + lane].brought[groat__judge_fiber(j)->turn ^ 1];
}

groat__brought *groat__judge_bring(groat__judge *j, uint32_t kind)
{
    groat__fiber *f = groat__judge_fiber(j);
    groat__brought *mine = &f->brought[f->turn];

    groat__judge_uniform(j, kind, "an operation of the whole wave");
    f->turn ^= 1;
    mine->kind = kind;
    return mine;
}

void groat__judge_come_together(groat__judge *j)
{
    static const uint64_t nothing[4] = {0};

    if (groat__judge_is_amd(j))
        groat__judge_meet(j, GROAT__JOINED);
    else
        (void)groat__judge_join(j, GROAT__WARP_MATRIX, nothing);
}

/* A block's last wave may be short. */
static size_t lanes_here(const groat__judge *j)
{
    size_t first;
    size_t end =
        groat__judge_lanes(j, groat__judge_wave_of(j, j->current), 1, &first);

    return end - first;
}

/* Shuffle or vote of NVIDIA's lanes, all or those of a mask: the last lane to
 * arrive computes the results of all.  Returns this lane's result. */
static uint64_t exchange(groat__judge *j, uint32_t kind, uint32_t value,
                         uint32_t lane)
{
    const uint64_t detail[4] = {kind, 0, 0, 0};
    groat__fiber *f = groat__judge_fiber(j);
    groat__fiber *lanes = f - groat__judge_lane(j);
    uint64_t mask = f->mask ? f->mask : ~(uint64_t)0;
    uint64_t votes = 0;

    f->given = value;
    f->asked = lane;
    if (groat__judge_join(j, GROAT__SHUFFLE, detail)) {
        for (size_t i = 0; i < lanes_here(j); i++)
            if ((mask >> i & 1) != 0 && lanes[i].state != GROAT__DONE)
                votes |= (uint64_t)(lanes[i].given != 0) << i;
        for (size_t i = 0; i < lanes_here(j); i++)
            if (mask >> i & 1)
                lanes[i].answer =
                    kind != SHUFFLED ? votes
                    : (mask >> lanes[i].asked & 1) != 0 &&
                            lanes[lanes[i].asked].state != GROAT__DONE
                        ? lanes[lanes[i].asked].given
                        : NOTHING;
    }
    f->mask = 0;
    return f->answer;
}

unsigned groat__judge_shuffle(struct groat_cpu_env *env, unsigned value,
                              unsigned lane)
{
    groat__judge *j = groat__judge_enter(env);
    groat__brought *mine;

    if (lane >= lanes_here(j))
        groat__judge_report(j,
                            "shuffles from lane %u; this wave has lanes 0 to "
                            "%zu",
                            lane, lanes_here(j) - 1);
    if (!groat__judge_is_amd(j))
        return (unsigned)exchange(j, SHUFFLED, value, lane);
    mine = groat__judge_bring(j, SHUFFLED);
    memcpy(mine->a, &value, sizeof(value));
    groat__judge_come_together(j);
    memcpy(&value, groat__judge_brought(j, lane)->a, sizeof(value));
    return value;
}

unsigned long long groat__judge_ballot(struct groat_cpu_env *env,
                                       unsigned predicate)
{
    groat__judge *j = groat__judge_enter(env);
    groat__brought *mine;
    unsigned long long votes = 0;

    if (!groat__judge_is_amd(j))
        return exchange(j, VOTED + (predicate >> 1), predicate & 1, 0);
    mine = groat__judge_bring(j, VOTED);
    mine->a[0] = predicate & 1;
    groat__judge_come_together(j);
    for (size_t lane = 0; lane < lanes_here(j); lane++)
        votes |= (unsigned long long)groat__judge_brought(j, lane)->a[0]
                 << lane;
    return votes;
}

void groat__judge_transpose_load(struct groat_cpu_env *env, unsigned address,
                                 void *to, unsigned width)
{
    groat__judge *j = groat__judge_enter(env);
    unsigned char *out = to;
    unsigned per_row = 8 / width; /* elements that one lane addresses */
    groat__brought *mine;
    size_t lane;

    if (!j->launch->arch->tr_read)
        groat__judge_report(j, "reads transposed; %s cannot",
                            j->launch->arch->name);
    mine = groat__judge_bring(j, width);
    groat__judge_read(j, address, mine->a, 8, GROAT_ACCESS_TRANSPOSE);
    groat__judge_meet(j, GROAT__JOINED);
    lane = groat__judge_lane(j);
    /* Lane l receives column l % 16 of the rows that its 16 lanes address. */
    for (unsigned n = 0; n < per_row; n++) {
        size_t row = (lane & ~(size_t)15) + lane % 16 / per_row +
                     (size_t)n * (16 / per_row);

        memcpy(out + (size_t)n * width,
               groat__judge_brought(j, row)->a + lane % per_row * width, width);
    }
}

/* ---- matrices ---------------------------------------------------------- */

/* The deepest product of any arch. */
enum { K_MOST = 128 };

/* The elements of a row of A, or of a column of B; k of them. */
typedef struct line {
    float at[K_MOST];
} line;

/* Block h of lanes holds the h-th part of k, of A and of B alike. */
static line line_of(const groat__judge *j, unsigned number, bool of_a,
                    unsigned m, unsigned k, size_t place)
{
    bool fnuz = j->launch->arch->fp8_fnuz != 0;
    unsigned per_lane = k * m / 64;
    line out;

    for (size_t h = 0; h < 64 / m; h++) {
        const groat__brought *b = groat__judge_brought(j, h * m + place);

        for (unsigned n = 0; n < per_lane; n++)
            out.at[h * per_lane + n] =
                groat__judge_number(number, fnuz, of_a ? b->a : b->b, n);
    }
    return out;
}

static void check_mfma(groat__judge *j, unsigned number, unsigned m, unsigned k)
{
    const groat__arch *arch = j->launch->arch;
    static const char *const names[] = {"bf16", "f16", "fp8", "bf8"};
    unsigned size = groat__judge_number_bytes(number);
    uint64_t bytes = (uint64_t)m * k * size; /* of all lanes */
    uint64_t widest = 64 * (uint64_t)(size == 1 ? arch->mfma_8bit_bytes
                                                : arch->mfma_16bit_bytes);

    if ((m == 16 || m == 32) && (bytes == 64 * 8 || bytes == widest) &&
        bytes <= widest)
        return;
    groat__judge_report(j,
                        "multiplies %s matrices %u x %u x %u; %s has no such "
                        "instruction",
                        names[number], m, m, k, arch->name);
}

/* Row of the accumulator that register p of a lane holds; its column is
 * lane % m. */
static size_t accumulator_row(unsigned m, size_t lane, size_t p)
{
    return m == 32 ? 8 * (p / 4) + 4 * (lane / 32) + p % 4
                   : 4 * (lane / 16) + p;
}

void groat__judge_mfma(struct groat_cpu_env *env, unsigned number, unsigned m,
                       unsigned k, const void *a, const void *b, float *acc)
{
    groat__judge *j = groat__judge_enter(env);
    unsigned per_lane;
    groat__brought *mine;
    line column;
    size_t lane;

    check_mfma(j, number, m, k);
    per_lane = k * m / 64;
    mine = groat__judge_bring(j, number << 16 | m << 8 | k);
    memcpy(mine->a, a, (size_t)per_lane * groat__judge_number_bytes(number));
    memcpy(mine->b, b, (size_t)per_lane * groat__judge_number_bytes(number));
    groat__judge_meet(j, GROAT__JOINED);
    lane = groat__judge_lane(j);
    column = line_of(j, number, false, m, k, lane % m);
    for (size_t p = 0; p < (size_t)m * m / 64; p++) {
        line row = line_of(j, number, true, m, k, accumulator_row(m, lane, p));

        for (unsigned n = 0; n < k; n++)
            acc[p] += row.at[n] * column.at[n];
    }
}
