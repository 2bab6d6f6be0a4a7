/* SPDX-License-Identifier: Apache-2.0
 *
 * choose.c chooses warps, stages, clusters, split and grid of a decode.  The
 * numbers come from measurements on one H200 (tests/bench/NOTES.md).
 */
#include "attention/choose.h"

#include <stdbool.h>

#include "attention/spec.h"

enum {
    SLOT_KEYS = 16,    /* twice as many for warps that read the same        */
    WARPS_MOST = 8,    /* of a block                                        */
    TEAM_MOST = 4,     /* of a block whose bands may read the same keys     */
    SLICE = 256,       /* columns of values that a warp may have            */
    LANES = 32,        /* lanes of a warp                                   */
    RESERVE = 1024,    /* shared bytes that a block takes on top of its own */
    REGISTERS = 65536, /* of a multiprocessor; threads get multiples of 8   */
    QUARTERS = 4,      /* of a multiprocessor; one has a warp's registers    */
    REGISTERS_MAX = 255,
    RING = 136 << 10, /* slot bytes of a multiprocessor: more are slower   */
    RING_MOST = 160 << 10, /* the most where blocks have whole strips        */
    RING_FULL = 112 << 10, /* enough for all                                 */
    RING_LEAST = 64 << 10, /* they need more than these                      */
    LINE = 128,            /* bytes of memory that are read at a time        */
    TEAM_RING = 32 << 10,  /* slot bytes of warps that read the same keys    */
    FEW_BYTES = 256 << 10, /* of keys and values for each multiprocessor     */
    WHOLE_DEVICE = 128, /* multiprocessors of one with clusters of 16        */
    WAVES_LEAST = 4,    /* of blocks with one strip each                     */
    WAVES_MOST = 8,     /* each block needs workspace                        */
    BLOCKS_USUAL = 4,   /* of a multiprocessor that registers suffice for    */
    STRIPS_FEW = 6,     /* for each multiprocessor                           */
    STRIP_LONG = 2 << 20, /* bytes of keys and values of such a strip        */
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

static unsigned elem_bytes(const groat_decode_shape *s)
{
    return s->kv_dtype == GROAT_DECODE_E4M3 ? 1 : 2;
}

/* Bytes of a key. */
static unsigned row_bytes(const groat_decode_shape *s)
{
    return s->head_dim * elem_bytes(s);
}

/* Bytes of a key and its value. */
static unsigned pair_bytes(const groat_decode_shape *s)
{
    return row_bytes(s) + groat__decode_value_dim(s) * elem_bytes(s);
}

static unsigned rows_of(const groat_decode_shape *s)
{
    return s->heads / s->kv_heads * s->q_len;
}

/* Warps that divide the columns of a value: a warp has registers for all 256
 * with 8 rows, not with 16. */
static unsigned slices_of(const groat_decode_shape *s)
{
    return s->head_dim > SLICE || (s->head_dim == SLICE && rows_of(s) > 8) ? 2
                                                                           : 1;
}

/* Rows of a warp. */
static unsigned band_rows(const groat_decode_shape *s)
{
    return s->head_dim > SLICE ? 8 : 16;
}

/* Bands of rows whose warps read the same keys, as params.def counts them. */
static unsigned bands_of(const groat_decode_shape *s, unsigned warps)
{
    unsigned bands = 1;

    while (warps <= TEAM_MOST && bands * slices_of(s) < warps &&
           bands * band_rows(s) < rows_of(s))
        bands *= 2;
    return bands;
}

/* Rings of slots of a block.  The family's rules refuse fewer warps than a team
 * has, later. */
static unsigned rings_of(const groat_decode_shape *s, unsigned warps)
{
    unsigned team = bands_of(s, warps) * slices_of(s);

    return team < warps ? warps / team : 1;
}

uint64_t groat__decode_strips(const groat_decode_shape *s, unsigned warps)
{
    return (uint64_t)s->sequences * s->kv_heads *
           divided_up(rows_of(s), band_rows(s) * bands_of(s, warps));
}

static unsigned slot_keys(const groat_decode_shape *s, unsigned warps)
{
    return bands_of(s, warps) > 1 && row_bytes(s) <= 256 ? 2 * SLOT_KEYS
                                                         : SLOT_KEYS;
}

/* Keys of a step of all warps. */
static unsigned tile_keys(const groat_decode_shape *s, unsigned warps)
{
    return rings_of(s, warps) * slot_keys(s, warps);
}

static unsigned unit_keys(const groat_decode_shape *s,
                          const groat_decode_choice *c)
{
    return tile_keys(s, c->warps) * (c->split > 0 ? c->split : 1);
}

static unsigned slot_bytes(const groat_decode_shape *s, unsigned warps)
{
    bool scales = s->kv_dtype == GROAT_DECODE_E4M3 &&
                  s->kv_scale == GROAT_DECODE_OF_TOKEN;

    return slot_keys(s, warps) * (pair_bytes(s) + (scales ? 8 : 0));
}

/* Shared memory of a block, as params.def counts it. */
static unsigned used_bytes(const groat_decode_shape *s,
                           const groat_decode_choice *c)
{
    unsigned kept = rows_of(s) > 8 ? band_rows(s) : 8;
    unsigned sums = kept * (groat__decode_value_dim(s) / slices_of(s) + 6) * 4;

    return rings_of(s, c->warps) * c->stages * slot_bytes(s, c->warps) +
           c->warps * sums + 16;
}

/* Blocks that fit into a multiprocessor's shared memory. */
static unsigned blocks_by_memory(const groat_decode_shape *s,
                                 const groat__decode_device *d,
                                 const groat_decode_choice *c)
{
    return (d->shared_bytes + RESERVE) / (used_bytes(s, c) + RESERVE);
}

/* Whether each block gets the same number of whole strips, of which a sequence
 * has `of_one`: block_sets and even_sets() of the kernel decide so, too, and
 * also for several blocks to each strip. */
static bool are_whole(uint64_t blocks, uint64_t strips, uint64_t of_one)
{
    uint64_t width = 16 * (blocks % of_one) <= blocks ? of_one : 1;
    uint64_t sets = blocks / width;
    uint64_t each = (strips / width + sets - 1) / sets;

    return 16 * (strips / width / each) >= 15 * sets;
}

static unsigned ring_bytes(const groat_decode_shape *s,
                           const groat_decode_choice *c)
{
    return rings_of(s, c->warps) * c->stages * slot_bytes(s, c->warps);
}

/* Blocks of a multiprocessor, up to `most`, whose slots are not too many; 0 if
 * they are too few. */
static unsigned blocks_by_slots(unsigned ring, unsigned most)
{
    unsigned blocks = least_of(RING_MOST / ring, most);

    return blocks * ring > RING_LEAST ? blocks : 0;
}

/* Returns the largest number of blocks of a multiprocessor, up to `most`, at
 * which every block gets whole strips; 0 if there is none, or if the shape is
 * BATCH_INVARIANT, whose blocks get splits. */
static unsigned whole_blocks(const groat_decode_shape *s,
                             const groat__decode_device *d,
                             const groat_decode_choice *c, unsigned most)
{
    uint64_t strips = groat__decode_strips(s, c->warps);
    unsigned ring = ring_bytes(s, c);
    unsigned blocks = blocks_by_slots(ring, most);

    if ((s->flags & GROAT_DECODE_BATCH_INVARIANT) != 0)
        return 0;
    while (blocks * ring > RING_LEAST &&
           !are_whole((uint64_t)blocks * d->multiprocessors, strips,
                      strips / s->sequences))
        blocks--;
    return blocks * ring > RING_LEAST ? blocks : 0;
}

/* Whether blocks of one long strip each, that start when others end, fill the
 * device several times, so that few are left in the end. */
static bool fills_waves(const groat_decode_shape *s,
                        const groat__decode_device *d,
                        const groat_decode_choice *c, unsigned most)
{
    uint64_t strips = groat__decode_strips(s, c->warps);
    uint64_t held = (uint64_t)d->multiprocessors *
                    least_of(most, blocks_by_memory(s, d, c));
    uint64_t waves = held > 0 ? (strips + held - 1) / held : 0;

    return (s->flags & GROAT_DECODE_BATCH_INVARIANT) == 0 &&
           waves >= WAVES_LEAST && waves <= WAVES_MOST &&
           (uint64_t)s->keys * pair_bytes(s) >= STRIP_LONG &&
           20 * strips >= 19 * waves * held;
}

/* Whether heads share lines of memory with their neighbours, so that blocks of
 * two warps should read all heads of a sequence at the same time.  With numbers
 * of 8 bits two warps are slower than four. */
static bool shares_lines(const groat_decode_shape *s,
                         const groat__decode_device *d)
{
    return s->layout == GROAT_KV_PAGE_HEAD && s->kv_heads > 1 &&
           elem_bytes(s) > 1 && row_bytes(s) % LINE != 0 &&
           groat__decode_strips(s, WARPS_MOST) > 2 * d->multiprocessors;
}

/* Whether no grid gives every block whole strips, and strips are so few that
 * blocks of WARPS_MOST warps cut them into fewer parts.  False if those that
 * fit have too few slots. */
static bool cuts_less(const groat_decode_shape *s,
                      const groat__decode_device *d, groat_decode_choice c)
{
    unsigned most;

    c.warps = WARPS_MOST;
    most = blocks_by_memory(s, d, &c);
    return (s->flags & GROAT_DECODE_BATCH_INVARIANT) == 0 &&
           bands_of(s, TEAM_MOST) == 1 &&
           blocks_by_slots(ring_bytes(s, &c), most) > 0 &&
           whole_blocks(s, d, &c, most) == 0 &&
           groat__decode_strips(s, c.warps) <=
               (uint64_t)STRIPS_FEW * d->multiprocessors;
}

/* Chooses warps where strips occupy the device: 4 if their blocks can have one
 * strip each in turn; 2 or 4, whose blocks get whole strips, if only one of the
 * two does; all if neither does and strips are few; else 2 for a strip each and
 * what suits the rows. */
static unsigned choose_few_warps(const groat_decode_shape *s,
                                 const groat__decode_device *d,
                                 groat_decode_choice c)
{
    /* Many small blocks of the next launch would not spread evenly. */
    bool overlaps = (s->flags & GROAT_DECODE_OVERLAP) != 0;
    bool splits = (s->flags & GROAT_DECODE_BATCH_INVARIANT) != 0;
    uint64_t strips = groat__decode_strips(s, 2);
    unsigned blocks;
    bool by_two, by_four, one_each;

    c.warps = 4;
    if (bands_of(s, 4) == 1 && fills_waves(s, d, &c, BLOCKS_USUAL))
        return 4;
    c.warps = 2;
    blocks = whole_blocks(s, d, &c, blocks_by_memory(s, d, &c));
    by_two = blocks > 0;
    one_each = blocks * ring_bytes(s, &c) >= RING_FULL &&
               strips <= (uint64_t)blocks * d->multiprocessors;
    c.warps = 4;
    by_four = whole_blocks(s, d, &c, blocks_by_memory(s, d, &c)) > 0;
    if (by_two != by_four)
        return by_two ? 2 : 4;
    if (shares_lines(s, d))
        return 2;
    if (!by_two && cuts_less(s, d, c))
        return WARPS_MOST;
    return !overlaps &&
                   (one_each || ((by_two || splits) && row_bytes(s) >= 256))
               ? 2
               : 4;
}

/* Bands share keys if their strips still occupy half of the multiprocessors; a
 * block is one team if there are two strips for each.  Else divides few strips
 * among as many warps as a block may have, unless that leaves most
 * multiprocessors without work. */
static unsigned choose_warps(const groat_decode_shape *s,
                             const groat__decode_device *d,
                             groat_decode_choice c)
{
    uint64_t strips = groat__decode_strips(s, WARPS_MOST);
    uint64_t shared = groat__decode_strips(s, TEAM_MOST);
    unsigned bands = bands_of(s, TEAM_MOST);
    unsigned tile = tile_keys(s, WARPS_MOST);

    c.stages = c.stages > 0 ? c.stages : 2;
    if (bands > 1 && shared >= d->multiprocessors / 2)
        c.warps =
            shared >= 2 * d->multiprocessors ? bands * slices_of(s) : TEAM_MOST;
    else if (strips >= d->multiprocessors)
        c.warps = choose_few_warps(s, d, c);
    else
        c.warps = strips * divided_up(s->keys, tile) <= d->multiprocessors / 4
                      ? WARPS_MOST / 2
                      : WARPS_MOST;
    /* Two blocks of few warps are faster than one of more. */
    if (bands == 1 && strips >= d->multiprocessors && c.warps < WARPS_MOST &&
        blocks_by_memory(s, d, &c) < 2)
        c.warps = 2;
    while (c.warps > slices_of(s) && blocks_by_memory(s, d, &c) < 1)
        c.warps /= 2;
    return c.warps;
}

/* Blocks of a multiprocessor that registers suffice for. */
static unsigned blocks_by_registers(unsigned registers, unsigned warps)
{
    unsigned each =
        registers > 0 ? divided_up(registers, 8) * 8 : REGISTERS_MAX + 1;

    return QUARTERS * (REGISTERS / QUARTERS / (each * LANES)) / warps;
}

/* One block of 8 warps with three slots each is faster than two blocks with two
 * slots each, but only if the slots are too large for two such blocks, and
 * there are fewer strips than multiprocessors.  Warps that read the same keys
 * have up to four small slots: more blocks would cut strips into more parts. */
static unsigned choose_stages(const groat_decode_shape *s,
                              const groat__decode_device *d,
                              groat_decode_choice c)
{
    unsigned slot = slot_bytes(s, c.warps);
    unsigned ring = rings_of(s, c.warps) * 3 * slot;

    if (bands_of(s, c.warps) > 1) {
        c.stages = slot <= TEAM_RING / 4 ? 4 : slot <= TEAM_RING / 3 ? 3 : 2;
        while (c.stages > 2 && blocks_by_memory(s, d, &c) < 1)
            c.stages--;
        return c.stages;
    }
    c.stages = 3;
    return c.warps == WARPS_MOST && ring <= RING && ring > RING / 2 &&
                   groat__decode_strips(s, c.warps) < d->multiprocessors &&
                   blocks_by_memory(s, d, &c) > 0
               ? 3
               : 2;
}

/* Clusters that a device holds at once, one block to a multiprocessor.  A
 * cluster lies within one part of the device, where some multiprocessors are
 * left over: two of them for pairs, a tenth for larger clusters.  Parts of
 * smaller devices may have no room for more than 8 blocks. */
static unsigned clusters_held(const groat__decode_device *d, unsigned cluster)
{
    if (cluster > d->cluster_most || d->multiprocessors < 4 ||
        (cluster > 8 && d->multiprocessors < WHOLE_DEVICE))
        return 0;
    return cluster == 2 ? d->multiprocessors / 2 - 2
                        : 9 * d->multiprocessors / (10 * cluster);
}

/* Bytes of keys and values up to which clusters on half of the multiprocessors
 * gain more than they lose; half as many where they may lose more: clusters of
 * a launch that starts early may come to lie closer, unless each fills its part
 * of the device, and several sequences may be unequally long. */
static uint64_t few_bytes(const groat_decode_shape *s,
                          const groat__decode_device *d, unsigned cluster)
{
    bool closer = (s->flags & GROAT_DECODE_OVERLAP) != 0 && cluster < 16;
    bool fewer = closer || s->sequences > 1;

    return (uint64_t)(fewer ? FEW_BYTES / 2 : FEW_BYTES) * d->multiprocessors;
}

/* Few strips have a cluster each where adding up takes longer than reading, or
 * where those of one sequence occupy most multiprocessors.  The strips of
 * several may be unequally long, which only blocks without clusters even out.
 */
static unsigned choose_cluster(const groat_decode_shape *s,
                               const groat__decode_device *d,
                               const groat_decode_choice *c)
{
    static const unsigned sizes[] = {16, 8, 4, 3, 2};
    uint64_t strips = groat__decode_strips(s, c->warps);
    uint64_t bytes = strips * s->keys * pair_bytes(s);
    size_t i = 0;

    while (i < sizeof(sizes) / sizeof(sizes[0]) &&
           strips > clusters_held(d, sizes[i]))
        i++;
    if (i == sizeof(sizes) / sizeof(sizes[0]))
        return 1;
    return bytes <= few_bytes(s, d, sizes[i]) ||
                   (s->sequences == 1 &&
                    4 * strips * sizes[i] >= 3 * d->multiprocessors)
               ? sizes[i]
               : 1;
}

/* Returns the keys of a split: one split for each multiprocessor if all
 * sequences have their maximum length. */
static unsigned choose_part(const groat_decode_shape *s,
                            const groat__decode_device *d,
                            const groat_decode_choice *c)
{
    uint64_t strips = groat__decode_strips(s, c->warps);
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
    /* A split and a grid are not those of clusters. */
    if (c->cluster == 0)
        c->cluster = c->split > 0 || c->blocks > 0 || c->least > 0
                         ? 1
                         : choose_cluster(s, d, c);
    /* A cluster's parts depend on its own sequence alone. */
    if ((s->flags & GROAT_DECODE_BATCH_INVARIANT) != 0 && c->split == 0 &&
        c->cluster == 1)
        c->split = divided_up(choose_part(s, d, c), tile_keys(s, c->warps));
}

/* Blocks of the grid, if registers suffice for `most` of a multiprocessor. */
static unsigned choose_blocks(const groat_decode_shape *s,
                              const groat__decode_device *d,
                              const groat_decode_choice *c, unsigned most)
{
    unsigned blocks;

    if (fills_waves(s, d, c, most))
        return (unsigned)groat__decode_strips(s, c->warps);
    most = least_of(most, blocks_by_memory(s, d, c));
    blocks = whole_blocks(s, d, c, most);
    if (blocks == 0)
        blocks = least_of(RING / ring_bytes(s, c), most);
    return d->multiprocessors * (blocks > 0 ? blocks : 1);
}

void groat__decode_choose_grid(const groat_decode_shape *s,
                               const groat__decode_device *d,
                               unsigned registers, groat_decode_choice *c)
{
    uint64_t units = groat__decode_strips(s, c->warps) *
                     divided_up(s->keys, unit_keys(s, c));

    if (c->cluster > 1)
        c->blocks = (unsigned)groat__decode_strips(s, c->warps) * c->cluster;
    else if (c->blocks == 0)
        c->blocks =
            choose_blocks(s, d, c, blocks_by_registers(registers, c->warps));
    /* Splits of one or two tiles cost more than they save, unless most
     * multiprocessors have no other work. */
    if (c->least == 0)
        c->least = c->split > 0 || units <= d->multiprocessors / 2 ? 1
                   : units / c->blocks >= 3                        ? 4
                                                                   : 2;
}
