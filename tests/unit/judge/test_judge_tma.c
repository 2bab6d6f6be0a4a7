/* SPDX-License-Identifier: Apache-2.0
 *
 * test_judge_tma.c: the judge's copy engine.  Images of boxes of every rank and
 * swizzle are compared with closed forms over (row, column).  Also: copies in
 * flight and when they land, bad operands, multicast, pairs and the trace.
 */
#include "judge_rig.h"

#include "tests/kernels/tma_forms.h"
#include "groat_tensor.h"

enum { FULL = 0, OTHER = 8, SLOT = 1024 };

/* ---- images -------------------------------------------------------------- */

static struct {
    unsigned boxes;
    int at[16][5];
    unsigned to[16];
    unsigned bytes; /* bytes that dump() writes out */
} work;

static void prefill(unsigned bytes)
{
    for (unsigned i = 4 * thread(); i < bytes; i += 4 * rig_j.threads)
        write4(SLOT + i, 0xCDCDCDCD);
    proxy_fence();
}

static unsigned volume(void)
{
    unsigned bytes = rig_j.map.elem_bytes;

    for (unsigned d = 0; d < rig_j.map.rank; d++)
        bytes *= rig_j.map.box[d];
    return bytes;
}

/* Copies all boxes of `work` and writes the image out. */
static void copy_boxes(const void *args)
{
    (void)args;
    prefill(work.bytes);
    make(FULL, 1);
    made();
    if (thread() == 0) {
        expect(FULL, work.boxes * volume());
        for (unsigned i = 0; i < work.boxes; i++)
            load(SLOT + work.to[i], FULL, work.at[i]);
    }
    await(FULL, 0);
    dump(SLOT, SLOT + work.bytes, 0);
}

/* A cache of `rows` rows of `heads` heads of `depth` numbers. */
typedef struct cache {
    unsigned rows, heads, depth, size;
} cache;

static unsigned char cache_byte(const cache *c, int row, unsigned head,
                                unsigned byte)
{
    if (row < 0 || (unsigned)row >= c->rows || byte >= c->depth * c->size)
        return 0;
    return rig_j
        .device[((unsigned)row * c->heads + head) * c->depth * c->size + byte];
}

static void ck_tile(const cache *c, unsigned swizzle, unsigned rows, int first,
                    unsigned head)
{
    unsigned span = 16u << swizzle;
    unsigned chunks = (c->depth * c->size + span - 1) / span;
    unsigned char *seen = calloc(1, work.bytes);

    ck_assert_ptr_nonnull(seen);
    for (unsigned row = 0; row < rows; row++)
        for (unsigned byte = 0; byte < chunks * span; byte++) {
            unsigned at =
                tile_byte(swizzle, rows, row, byte / span, byte % span);
            unsigned want = cache_byte(c, first + (int)row, head, byte);

            ck_assert_uint_lt(at, work.bytes);
            ck_assert_msg(rig_j.out[at] == want,
                          "swizzle %u, row %u, byte %u at %u: %u, not %u",
                          swizzle, row, byte, at, rig_j.out[at], want);
            seen[at] = 1;
        }
    for (unsigned i = 0; i < work.bytes; i++)
        ck_assert_msg(seen[i] || rig_j.out[i] == 0xCD, "byte %u was written",
                      i);
    free(seen);
}

/* Rank 3, one box for each chunk: D that is not a multiple of the chunk; boxes
 * that start before the tensor, end after it, or are completely outside. */
START_TEST(test_rank_3)
{
    static const cache caches[] = {
        {40, 3, 64, 2}, {40, 2, 80, 2}, {24, 4, 128, 1},
        {40, 1, 32, 4}, {24, 2, 16, 8}, {16, 2, 48, 1},
    };
    static const int firsts[] = {0,   8,    -5,          30,
                                 -16, 1000, -2147483647, 2147480000};
    const cache *c = &caches[_i % 6];
    unsigned swizzle = (unsigned)_i / 6;
    unsigned span = 16u << swizzle;
    const unsigned dims[] = {c->depth, c->heads, c->rows};
    const unsigned strides[] = {c->depth * c->size,
                                c->heads * c->depth * c->size};
    const unsigned box[] = {span / c->size, 1, 16};

    j_map(3, c->size, swizzle, dims, strides, box);
    work.boxes = (c->depth * c->size + span - 1) / span;
    work.bytes = (work.boxes + 1) * 16 * span;
    for (unsigned f = 0; f < COUNT(firsts); f++) {
        unsigned head = f % c->heads;

        for (unsigned i = 0; i < work.boxes; i++) {
            const int at[5] = {(int)(i * span / c->size), (int)head, firsts[f]};

            memcpy(work.at[i], at, sizeof(at));
            work.to[i] = i * 16 * span;
        }
        ck_assert_msg(j_judge(copy_boxes, f) == GROAT_OK, "%s",
                      rig_j.error.text);
        ck_tile(c, swizzle, 16, firsts[f], head);
    }
}
END_TEST

/* Rank 4: all chunks of a row range in one box, chunk after chunk. */
START_TEST(test_rank_4)
{
    static const cache c = {64, 3, 128, 2};
    unsigned swizzle = (unsigned)_i;
    unsigned span = 16u << swizzle;
    unsigned g = span / c.size;
    const unsigned dims[] = {g, c.rows, c.depth / g, c.heads};
    const unsigned strides[] = {c.heads * c.depth * c.size, span,
                                c.depth * c.size};
    const unsigned box[] = {g, 32, c.depth / g, 1};

    j_map(4, c.size, swizzle, dims, strides, box);
    work.boxes = 1;
    work.bytes = 32 * c.depth * c.size;
    memcpy(work.at[0], (int[5]){0, 40, 0, 2}, sizeof(work.at[0]));
    j_passes(copy_boxes);
    ck_tile(&c, swizzle, 32, 40, 2);
}
END_TEST

/* Rank 5: groups of 8 rows, the chunks of a group side by side. */
START_TEST(test_rank_5)
{
    static const cache c = {64, 2, 128, 2};
    const unsigned dims[] = {64, 8, 2, c.rows / 8, c.heads};
    const unsigned strides[] = {c.heads * c.depth * c.size, 128,
                                8 * c.heads * c.depth * c.size,
                                c.depth * c.size};
    const unsigned box[] = {64, 8, 2, 4, 1};

    j_map(5, c.size, GROAT_CPU_SWIZZLE_128B, dims, strides, box);
    work.boxes = 1;
    work.bytes = 32 * c.depth * c.size;
    memcpy(work.at[0], (int[5]){0, 0, 0, 2, 1}, sizeof(work.at[0]));
    j_passes(copy_boxes);
    for (unsigned key = 0; key < 32; key++)
        for (unsigned byte = 0; byte < 256; byte++) {
            unsigned at = dense_byte(256, key, byte / 128, byte % 128);

            ck_assert_uint_eq(rig_j.out[at],
                              cache_byte(&c, 16 + (int)key, 1, byte));
        }
}
END_TEST

/* Ranks 1 and 2; and a slot that is only 128-byte aligned, because swizzling
 * depends on address bits. */
START_TEST(test_low_ranks)
{
    const unsigned dims[] = {64, 100};
    const unsigned strides[] = {128};
    const unsigned line[] = {128};
    const unsigned box[] = {64, 8};

    work.boxes = 1;
    work.bytes = 4096;
    j_map(1, 1, GROAT_CPU_SWIZZLE_NONE, (unsigned[]){200}, strides, line);
    memcpy(work.at[0], (int[5]){96}, sizeof(work.at[0]));
    j_passes(copy_boxes);
    ck_assert_mem_eq(rig_j.out, rig_j.device + 96, 104);
    for (unsigned i = 104; i < 128; i++)
        ck_assert_uint_eq(rig_j.out[i], 0);
    ck_assert_uint_eq(rig_j.out[128], 0xCD);
    j_map(2, 2, GROAT_CPU_SWIZZLE_128B, dims, strides, box);
    memcpy(work.at[0], (int[5]){0, 3}, sizeof(work.at[0]));
    work.to[0] = 384;
    j_passes(copy_boxes);
    for (unsigned row = 0; row < 8; row++)
        for (unsigned cc = 0; cc < 128; cc++) {
            unsigned line_at = 384 + 128 * row;
            unsigned at =
                line_at + (((cc >> 4) ^ (line_at / 128 % 8)) << 4) + (cc & 15);

            ck_assert_uint_eq(rig_j.out[at],
                              rig_j.device[(3 + row) * 128 + cc]);
        }
}
END_TEST

static void copy_bulk(const void *args)
{
    (void)args;
    prefill(work.bytes);
    make(FULL, 1);
    made();
    if (thread() == 0) {
        expect(FULL, rig_j.mode);
        bulk(SLOT + rig_j.arg, 48, rig_j.mode, FULL);
    }
    await(FULL, 0);
    dump(SLOT, SLOT + work.bytes, 0);
}

START_TEST(test_bulk)
{
    work.bytes = 4096;
    rig_j.arg = 16;
    for (rig_j.mode = 16; rig_j.mode <= 2064; rig_j.mode *= 2) {
        j_passes(copy_bulk);
        ck_assert_mem_eq(rig_j.out + 16, rig_j.device + 48, rig_j.mode);
        for (unsigned i = 0; i < work.bytes; i++)
            if (i < 16 || i >= 16 + rig_j.mode)
                ck_assert_uint_eq(rig_j.out[i], 0xCD);
    }
}
END_TEST

/* ---- bad operands -------------------------------------------------------- */

enum { TO, BAR, RANK_OF, TIMES, COLUMN, KNOBS };

static unsigned knob[KNOBS];

static void copy_one(const void *args)
{
    const int at[5] = {(int)knob[COLUMN]};

    (void)args;
    make(FULL, 1);
    made();
    if (thread() == 0) {
        expect(FULL, volume());
        for (unsigned i = 0; i < knob[TIMES]; i++)
            env->ops->tma_load(env, &rig_j.map, knob[TO] + i * volume(),
                               knob[BAR], at, knob[RANK_OF], GROAT_CPU_TMA_ONE,
                               0);
        await(FULL, 0);
    }
}

static void reset(void)
{
    j_rows(64, 16);
    knob[TO] = SLOT;
    knob[BAR] = FULL;
    knob[RANK_OF] = 2;
    knob[TIMES] = 1;
    knob[COLUMN] = 0;
}

START_TEST(test_refusals)
{
    reset();
    j_passes(copy_one);
    knob[TO] = SLOT + 64;
    j_reports(copy_one, "copies at byte 1088 of shared memory, which is no "
                        "multiple of 128");
    knob[TO] = J_SHARED - 1024;
    j_reports(copy_one, "copies a box of 2048 bytes at byte 64512 of shared "
                        "memory; the block has 65536 bytes");
    reset();
    knob[RANK_OF] = 3;
    j_reports(copy_one, "copies a box of rank 3 of a tensor map of rank 2");
    reset();
    knob[BAR] = 16;
    j_reports(copy_one, "copies on an mbarrier at byte 16 of shared memory, "
                        "where none was made");
    reset();
    knob[COLUMN] = 4;
    j_reports(copy_one,
              "copies a box from byte 8 of rows on, coordinate 4 of 2-byte "
              "elements; boxes begin at multiples of 16 bytes");
    reset();
    rig_j.map.magic++;
    j_reports(copy_one, "copies a box of a tensor map that "
                        "groat_tensor_map_make() did not make for a cpu");
    reset();
    rig_j.map.box[0] = 3;
    j_reports(copy_one, "did not make for a cpu target");
    reset();
    rig_j.map.address = 4096;
    j_reports(copy_one, "copies 16 bytes at address 0x1000, a null pointer");
    reset();
    rig_j.map.dims[1] = 1 << 20;
    rig_j.map.address = device(rig_j.out) + J_OUT - 128;
    j_reports(copy_one, ": byte 131072 of a buffer of 131072 bytes");
    reset();
    rig_j.arch = "sm_80";
    j_reports(copy_one, "sm_80 has none|sm_80 has no clusters");
}
END_TEST

static void prefetch(const void *args)
{
    (void)args;
    env->ops->tma_prefetch(env, (const char *)&rig_j.map + rig_j.mode);
}

START_TEST(test_prefetch)
{
    reset();
    j_passes(prefetch);
    rig_j.mode = 8;
    j_reports(prefetch, "prefetches a tensor map at 0x");
    rig_j.mode = 0;
    memset(&rig_j.map, 0, sizeof(rig_j.map));
    j_reports(prefetch, "did not make for a cpu target");
    rig_j.arch = "sm_89";
    j_reports(prefetch, "prefetches a tensor map; sm_89 has none");
}
END_TEST

static void bulk_one(const void *args)
{
    (void)args;
    make(FULL, 1);
    made();
    if (thread() == 0) {
        expect(FULL, work.bytes);
        bulk(work.to[0], work.to[1], work.bytes, FULL);
        await(FULL, 0);
    }
}

START_TEST(test_bulk_refusals)
{
    static const struct {
        unsigned to, from, bytes;
        const char *words;
    } cases[] = {
        {SLOT + 8, 0, 16,
         "copies at byte 1032 of shared memory, which is no "
         "multiple"},
        {SLOT, 8, 16, "in bulk; multiples of 16 are possible"},
        {SLOT, 0, 24, "copies 24 bytes at device address 0x"},
        {J_SHARED - 16, 0, 32, "copies a box of 32 bytes at byte 65520"},
        {SLOT, J_DEVICE + J_OUT - 16, 32,
         "byte 131056 of a buffer of 131072 bytes"},
        {0, 0, 16,
         "copies into byte 0 of shared memory, which is part of the "
         "mbarrier at byte 0"},
    };

    work.to[0] = cases[_i].to;
    work.to[1] = cases[_i].from;
    work.bytes = cases[_i].bytes;
    j_reports(bulk_one, cases[_i].words);
}
END_TEST

/* ---- copies in flight ---------------------------------------------------- */

enum {
    WAITS,
    READS_IN_FLIGHT,
    WRITES_IN_FLIGHT,
    COPIES_IN_FLIGHT,
    WRONG_PARITY,
    ANOTHER_WAITS,
    WAITS_AND_SHARES,
    NO_EXPECT,
    SMALL_EXPECT,
    ENDS,
    NO_PROXY_FENCE,
    FENCE_BY_ANOTHER,
    READ_BEFORE,
    FLIGHTS
};

/* Thread 0 copies rows 16..31, thread 40 reads them. */
static void fly(const void *args)
{
    static const int at[] = {0, 16};
    unsigned m = rig_j.mode;

    (void)args;
    make(FULL, 1);
    if (m == NO_PROXY_FENCE || m == FENCE_BY_ANOTHER)
        write4(SLOT + 4 * thread(), 1);
    if (m == READ_BEFORE) {
        write4(SLOT + 4 * thread(), 1);
        proxy_fence();
    }
    made();
    if (m == FENCE_BY_ANOTHER && thread() == 0)
        proxy_fence();
    if (m == READ_BEFORE && thread() == 40)
        (void)read4(SLOT);
    if (thread() == 0) {
        if (m == NO_EXPECT)
            arrive(FULL);
        else
            expect(FULL, m == SMALL_EXPECT ? 1024 : 2048);
        if (m == SMALL_EXPECT) {
            bulk(SLOT + 4096, 0, 1024, FULL);
            load(SLOT, FULL, at);
        } else {
            load(SLOT, FULL, at);
        }
        if (m == WRITES_IN_FLIGHT)
            write4(SLOT + 2044, 1);
        if (m == COPIES_IN_FLIGHT)
            bulk(SLOT + 1024, 0, 128, FULL);
    }
    if (m == ENDS)
        return;
    if (m == WAITS_AND_SHARES && thread() == 0)
        await(FULL, 0);
    if (m == ANOTHER_WAITS && thread() == 41)
        await(FULL, 0);
    if (m == WAITS_AND_SHARES || m == READS_IN_FLIGHT)
        block_barrier();
    if (thread() != 40)
        return;
    if (m == WRONG_PARITY)
        await(FULL, 1);
    else if (m != READS_IN_FLIGHT && m != ANOTHER_WAITS &&
             m != WAITS_AND_SHARES)
        await(FULL, 0);
    put(0, read4(SLOT + 128));
}

START_TEST(test_flights)
{
    static const char *const words[FLIGHTS] = {
        [READS_IN_FLIGHT] =
            "thread 40 (wave 1 lane 8) reads byte 1152 of shared memory while "
            "a copy of thread 0 (box at 0, 16) into it is in flight: phase 0 "
            "(parity 0) of the mbarrier at byte 0 has not completed",
        [WRITES_IN_FLIGHT] =
            "thread 0 (wave 0 lane 0) writes byte 3068 of shared memory while "
            "a copy of thread 0 (box at 0, 16) into it is in flight",
        [COPIES_IN_FLIGHT] =
            "copies into byte 2048 of shared memory while a copy of thread 0 "
            "(box at 0, 16) into it is in flight",
        [WRONG_PARITY] = "reads byte 1152 of shared memory while a copy|reads "
                         "byte 1152 of shared memory, which nobody has written",
        [ANOTHER_WAITS] =
            "reads byte 1152 of shared memory, which a copy of thread 0 (box "
            "at 0, 16) filled: this thread did not wait for phase 0 (parity 0) "
            "of the mbarrier at byte 0|in flight|which nobody has written",
        [NO_EXPECT] = "is in flight on it|(box at 0, 16) into it is in flight|"
                      "with a copy of thread 0 (box at 0, 16) into byte 1024",
        [SMALL_EXPECT] =
            "completes phase 0 of the mbarrier at byte 0 while a copy of "
            "thread 0 into byte 1024 is in flight on it: copies of 3072 bytes "
            "were issued, 1024 expected|waits for ever",
        [ENDS] = "is the last thread of its block to end, with a copy of "
                 "thread 0 (box at 0, 16) into byte 1024 of shared memory in "
                 "flight",
        [NO_PROXY_FENCE] =
            "copies into byte 1024 of shared memory, which thread 0 stored to: "
            "async_proxy_fence between is missing",
        [READ_BEFORE] =
            "copies into byte 1024 of shared memory, which thread 40 read and "
            "has not released|reads byte 1024 of shared memory while a copy",
    };

    rig_j.mode = (unsigned)_i;
    j_rows(64, 16);
    if (words[_i] != NULL) {
        j_reports(fly, words[_i]);
        return;
    }
    j_passes(fly);
    ck_assert_mem_eq(rig_j.out, rig_j.device + 17 * 128, 4);
}
END_TEST

/* The engine reads device memory when a copy lands, which is as late as
 * possible: a store to the source after the issue is seen. */
static void change_source(const void *args)
{
    static const uint32_t fresh = 0x600dda7a;

    (void)args;
    make(FULL, 1);
    made();
    if (thread() == 0) {
        expect(FULL, 64);
        bulk(SLOT, 0, 64, FULL);
        env->ops->global_store(env, device(rig_j.device), &fresh, 4);
    }
    await(FULL, 0);
    if (thread() == 1)
        put(0, read4(SLOT));
}

START_TEST(test_copies_land_late)
{
    const uint32_t fresh = 0x600dda7a;

    j_passes(change_source);
    ck_assert_mem_eq(rig_j.out, &fresh, 4);
}
END_TEST

/* Copies of two mbarriers: the seed decides which phase completes first. */
static void two_at_once(const void *args)
{
    (void)args;
    if (thread() == 0) {
        init(FULL, 1);
        init(OTHER, 1);
    }
    made();
    if (thread() == 0) {
        expect(FULL, 16);
        bulk(SLOT, 0, 16, FULL);
        expect(OTHER, 16);
        bulk(SLOT + 16, 0, 16, OTHER);
    }
    if (thread() == 20 || thread() == 50) {
        await(thread() == 20 ? FULL : OTHER, 0);
        work.at[0][work.boxes++ % 2] = (int)thread();
    }
}

START_TEST(test_order_of_arrival)
{
    unsigned firsts = 0;

    for (uint64_t seed = 0; seed < 16; seed++) {
        work.boxes = 0;
        ck_assert_int_eq(j_judge(two_at_once, seed), GROAT_OK);
        ck_assert_uint_eq(work.boxes, 2);
        firsts |= work.at[0][0] == 20 ? 1 : 2;
        if (seed == 0)
            ck_assert_int_eq(work.at[0][0], 20);
    }
    ck_assert_uint_eq(firsts, 3);
}
END_TEST

/* ---- several blocks ------------------------------------------------------ */

enum { ALL, ONE_HALF, NO_MASK, MASK_TOO_FAR, LATE_PEER, PEER_IN_USE, GONE };

/* Each block of a pair loads 16 rows and multicasts them to both. */
static void share(const void *args)
{
    const int at[] = {0, (int)(16 * rank())};
    unsigned m = rig_j.mode;
    unsigned mask = m == NO_MASK ? 0 : m == MASK_TOO_FAR ? 5 : 3;

    (void)args;
    make(FULL, 1);
    if (m == PEER_IN_USE && rank() == 1 && thread() == 3)
        write4(SLOT, 5);
    if (m == LATE_PEER)
        block_barrier();
    else
        made();
    if (m == GONE && rank() == 1)
        return;
    if (m == GONE) {
        make(OTHER, 1);
        if (thread() == 0) {
            init_fence();
            expect(OTHER, 16);
            bulk(SLOT + 8192, 0, 16, OTHER);
            await(OTHER, 0);
        }
    }
    if (thread() == 0) {
        if (m == ONE_HALF)
            expect(FULL, 2048);
        else
            expect(FULL, 4096);
        load_multicast(SLOT + 2048 * rank(), FULL, at, mask);
    }
    await(FULL, 0);
    dump(SLOT, SLOT + 4096, 4096 * rank());
    cluster_barrier();
}

START_TEST(test_multicast)
{
    rig_j.blocks = rig_j.cluster = 2;
    j_rows(64, 16);
    j_passes(share);
    ck_assert_mem_eq(rig_j.out, rig_j.device, 4096);
    ck_assert_mem_eq(rig_j.out + 4096, rig_j.device, 4096);
    rig_j.mode = ONE_HALF;
    j_reports(share, "completes phase 0 of the mbarrier at byte 0 while a "
                     "copy|waits for ever|in flight|where none was made");
    rig_j.mode = NO_MASK;
    j_reports(share, "copies to the blocks of mask 0x0; its cluster has 2");
    rig_j.mode = MASK_TOO_FAR;
    j_reports(share, "copies to the blocks of mask 0x5; its cluster has 2");
    rig_j.mode = LATE_PEER;
    j_reports(share, "copies on an mbarrier at byte 0 of shared memory of "
                     "another block, where none was made|which thread 0 made "
                     "and did not make visible to the engine");
    rig_j.mode = PEER_IN_USE;
    j_reports(share, "which thread 3 stored to: async_proxy_fence");
    rig_j.mode = GONE;
    j_reports(share, "of its cluster, which has ended: cluster_barrier is "
                     "missing");
}
END_TEST

/* Each block of a pair copies its half; the even block counts the bytes. */
static void pair(const void *args)
{
    const int at[] = {0, (int)(16 * rank())};

    (void)args;
    make(FULL, 1);
    made();
    if (thread() == 0) {
        if (rank() % 2 == 0)
            expect(FULL, 4096);
        env->ops->tma_load(env, &rig_j.map, SLOT, FULL, at, 2,
                           GROAT_CPU_TMA_PAIR, 0);
    }
    if (rank() % 2 == 0) {
        await(FULL, 0);
        dump(SLOT, SLOT + 2048, 4096 * env->block[0]);
    }
    cluster_barrier();
    if (rank() % 2 == 1)
        dump(SLOT, SLOT + 2048, 4096 * env->block[0] - 2048);
}

START_TEST(test_pairs)
{
    rig_j.blocks = rig_j.cluster = 4;
    rig_j.arch = "sm_100a";
    j_rows(64, 16);
    j_passes(pair);
    ck_assert_mem_eq(rig_j.out, rig_j.device, 4096);
    ck_assert_mem_eq(rig_j.out + 8192, rig_j.device + 4096, 4096);
    rig_j.arch = "sm_90a";
    j_reports(pair, "copies as a pair of blocks; sm_90a cannot");
}
END_TEST

/* ---- the trace ----------------------------------------------------------- */

enum { TOLD = 64 };
static groat_trace told[TOLD];
static uint32_t told_shared[TOLD][32];
static uint64_t told_source[TOLD][32];
static uint64_t told_asked[TOLD][32];
static size_t told_count;

static void listen(void *user, const groat_trace *event)
{
    (void)user;
    if (event->access != GROAT_ACCESS_COPY || told_count == TOLD)
        return;
    told[told_count] = *event;
    memcpy(told_shared[told_count], event->shared, sizeof(told_shared[0]));
    memcpy(told_source[told_count], event->source, sizeof(told_source[0]));
    memcpy(told_asked[told_count++], event->asked, sizeof(told_asked[0]));
}

/* A box of 12 rows of which 8 are inside: 96 vectors, 3 events. */
static void copy_edge(const void *args)
{
    static const int at[] = {0, 56};

    (void)args;
    make(FULL, 1);
    made();
    if (thread() == 33) {
        expect(FULL, 12 * 128);
        load(SLOT, FULL, at);
    }
    await(FULL, 0);
}

START_TEST(test_trace)
{
    rig_j.trace = listen;
    j_rows(64, 12);
    rig_j.map.swizzle = GROAT_CPU_SWIZZLE_128B;
    ck_assert_msg(j_judge(copy_edge, 0) == GROAT_OK, "%s", rig_j.error.text);
    ck_assert_uint_eq(told_count, 3);
    for (unsigned i = 0; i < 96; i++) {
        const groat_trace *event = &told[i / 32];
        unsigned row = i / 8;
        uint64_t from = device(rig_j.device) + (56 + row) * 128 + i % 8 * 16;

        ck_assert_uint_eq(event->bytes, 16);
        ck_assert_uint_eq(event->wave, 1);
        ck_assert_uint_eq(event->mbarrier, FULL);
        ck_assert_uint_eq(event->phase, 0);
        ck_assert_uint_eq(event->index, i / 32);
        ck_assert_uint_eq(event->active, 0xffffffff);
        ck_assert_uint_eq(told_shared[i / 32][i % 32],
                          SLOT + row * 128 + ((i % 8) ^ (row & 7)) * 16);
        ck_assert_uint_eq(told_asked[i / 32][i % 32], from);
        ck_assert_uint_eq(told_source[i / 32][i % 32], row < 8 ? from : 0);
        ck_assert_uint_eq(event->passes, 4);
        ck_assert_uint_eq(event->passes_min, 4);
        ck_assert_uint_eq(event->reuse, 1);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("judge_tma");
    TCase *t = tcase_create("all");

    tcase_add_checked_fixture(t, j_setup, j_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, test_rank_3, 0, 24);
    tcase_add_loop_test(t, test_rank_4, 0, 4);
    tcase_add_test(t, test_rank_5);
    tcase_add_test(t, test_low_ranks);
    tcase_add_test(t, test_bulk);
    tcase_add_test(t, test_refusals);
    tcase_add_test(t, test_prefetch);
    tcase_add_loop_test(t, test_bulk_refusals, 0, 6);
    tcase_add_loop_test(t, test_flights, 0, FLIGHTS);
    tcase_add_test(t, test_copies_land_late);
    tcase_add_test(t, test_order_of_arrival);
    tcase_add_test(t, test_multicast);
    tcase_add_test(t, test_pairs);
    tcase_add_test(t, test_trace);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
