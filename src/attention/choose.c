/* SPDX-License-Identifier: Apache-2.0
 *
 * choose.c chooses warps, stages, split and grid of a decode.  The numbers come
 * from measurements on one H200 (tests/bench/NOTES.md).
 */
#include "attention/choose.h"

#include <stdbool.h>

enum {
    SLOT_KEYS = 16,
    ROWS = 16,         /* rows of an MMA tile                               */
    LANES = 32,        /* lanes of a warp                                   */
    RESERVE = 1024,    /* shared bytes that a block takes on top of its own */
    REGISTERS = 65536, /* of a multiprocessor; threads get multiples of 8 */
    REGISTERS_MAX = 255,
    RING = 136 << 10,  /* slot bytes of a multiprocessor: more are slower     */
    SPLIT_LEAST = 256, /* keys of a split with BATCH_INVARIANT, at least      */
    SPLIT_FEW = 2048,  /* at most, with fewer strips than multiprocessors     */
    SPLIT_MOST = 4096
};

static unsigned divided_up(unsigned a, unsigned b)
{
    return (a + b - 1) / b;
}

static unsigned least_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned row_bytes(const groat_decode_shape *s)
{
    return s->head_dim * (s->kv_dtype == GROAT_DECODE_E4M3 ? 1 : 2);
}

uint64_t groat__decode_strips(const groat_decode_shape *s)
{
    return (uint64_t)s->sequences * s->kv_heads *
           divided_up(s->heads / s->kv_heads * s->q_len, ROWS);
}

unsigned groat__decode_unit_keys(const groat_decode_choice *c)
{
    return c->warps * SLOT_KEYS * (c->split > 0 ? c->split : 1);
}

static unsigned slot_bytes(const groat_decode_shape *s)
{
    bool scales = s->kv_dtype == GROAT_DECODE_E4M3 &&
                  s->kv_scale == GROAT_DECODE_OF_TOKEN;

    return 2 * SLOT_KEYS * (row_bytes(s) + (scales ? 4 : 0));
}

/* Shared memory of a block, as params.def counts it. */
static unsigned used_bytes(const groat_decode_shape *s,
                           const groat_decode_choice *c)
{
    unsigned rows = s->heads / s->kv_heads * s->q_len;
    unsigned sums = (rows > ROWS / 2 ? ROWS : ROWS / 2) * (s->head_dim + 6) * 4;

    return c->warps * (c->stages * slot_bytes(s) + sums) + 16;
}

/* Blocks that fit into a multiprocessor's shared memory. */
static unsigned blocks_by_memory(const groat_decode_shape *s,
                                 const groat__decode_device *d,
                                 const groat_decode_choice *c)
{
    return (d->shared_bytes + RESERVE) / (used_bytes(s, c) + RESERVE);
}

/* Divides few strips among as many warps as a block may have, unless that
 * leaves most multiprocessors without work. */
static unsigned choose_warps(const groat_decode_shape *s,
                             const groat__decode_device *d,
                             groat_decode_choice c)
{
    uint64_t strips = groat__decode_strips(s);
    unsigned tile = 8 * SLOT_KEYS;

    c.stages = c.stages > 0 ? c.stages : 2;
    if (strips >= d->multiprocessors)
        c.warps = row_bytes(s) < 256 ? 4 : 2;
    else
        c.warps = strips * divided_up(s->keys, tile) <= d->multiprocessors / 4
                      ? 4
                      : 8;
    /* Two blocks of few warps are faster than one of more. */
    if (strips >= d->multiprocessors && blocks_by_memory(s, d, &c) < 2)
        c.warps = 2;
    while (c.warps > 1 && blocks_by_memory(s, d, &c) < 1)
        c.warps /= 2;
    return c.warps;
}

/* One block of 8 warps with three slots each is faster than two blocks with two
 * slots each, but only if the slots are too large for two such blocks. */
static unsigned choose_stages(const groat_decode_shape *s,
                              const groat__decode_device *d,
                              groat_decode_choice c)
{
    unsigned ring = 8 * 3 * slot_bytes(s);

    c.stages = 3;
    return c.warps == 8 && ring <= RING && ring > RING / 2 &&
                   blocks_by_memory(s, d, &c) > 0
               ? 3
               : 2;
}

/* Returns the keys of a split: one split for each multiprocessor if all
 * sequences have their maximum length. */
static unsigned choose_part(const groat_decode_shape *s,
                            const groat__decode_device *d)
{
    uint64_t strips = groat__decode_strips(s);
    uint64_t keys = strips * s->keys / d->multiprocessors;
    unsigned most = strips < d->multiprocessors ? SPLIT_FEW : SPLIT_MOST;

    return keys < SPLIT_LEAST ? SPLIT_LEAST
           : keys > most      ? most
                              : (unsigned)keys;
}

void groat__decode_choose_kernel(const groat_decode_shape *s,
                                 const groat__decode_device *d,
                                 groat_decode_choice *c)
{
    if (c->warps == 0)
        c->warps = choose_warps(s, d, *c);
    if (c->stages == 0)
        c->stages = choose_stages(s, d, *c);
    if ((s->flags & GROAT_DECODE_BATCH_INVARIANT) != 0 && c->split == 0)
        c->split = divided_up(choose_part(s, d), c->warps * SLOT_KEYS);
}

static unsigned blocks_of_one(const groat_decode_shape *s,
                              const groat__decode_device *d, unsigned registers,
                              const groat_decode_choice *c)
{
    unsigned each =
        registers > 0 ? divided_up(registers, 8) * 8 : REGISTERS_MAX + 1;
    unsigned by_registers = REGISTERS / (each * c->warps * LANES);
    unsigned by_ring = RING / (c->warps * c->stages * slot_bytes(s));
    unsigned blocks = least_of(by_ring, blocks_by_memory(s, d, c));

    blocks = least_of(blocks, by_registers);
    return blocks > 0 ? blocks : 1;
}

void groat__decode_choose_grid(const groat_decode_shape *s,
                               const groat__decode_device *d,
                               unsigned registers, groat_decode_choice *c)
{
    uint64_t units = groat__decode_strips(s) *
                     divided_up(s->keys, groat__decode_unit_keys(c));

    if (c->blocks == 0)
        c->blocks = d->multiprocessors * blocks_of_one(s, d, registers, c);
    /* Splits of one or two tiles cost more than they save, unless most
     * multiprocessors have no other work. */
    if (c->least == 0)
        c->least = c->split > 0 || units <= d->multiprocessors / 2 ? 1
                   : units / c->blocks >= 3                        ? 4
                                                                   : 2;
}
