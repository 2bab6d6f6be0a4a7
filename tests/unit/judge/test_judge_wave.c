/* SPDX-License-Identifier: Apache-2.0
 *
 * test_judge_wave.c: wave-wide operations of the judge, called through the
 * hooks of a compiled kernel: transpose reads and matrix multiply-accumulate
 * against plain loops over the layouts of the ISA guides, which lanes may take
 * part, what register loads count, and what the trace reports.
 */
#include "tests/pipe/rig.h"

#include <math.h>

#include "judge/judge.h"
#include "kernels-src/common/cpu_hooks.h"

enum { LANES = 64, STACK = 256 << 10, SHARED = 8192, OPERAND = 32, ACC = 16 };

/* State of the entries below; one launch at a time. */
typedef struct probe {
    _Alignas(256) unsigned char a[LANES][OPERAND];
    _Alignas(256) unsigned char b[LANES][OPERAND];
    float acc[LANES][ACC];
    unsigned char got[LANES][8];
    unsigned address[LANES];
    unsigned number, m, k, width, records, count;
    bool absent[LANES];
} probe;

static struct groat_cpu_env *env;
static probe work;
static groat_error error;
static groat__judge_range ranges[1];

/* Events that the trace reported, in order. */
enum { TOLD = 64 };
static groat_trace told[TOLD];
static uint32_t told_shared[TOLD][LANES];
static size_t told_count;
static unsigned waits[GROAT_ACCESS_STORE + 1];

static unsigned bind(struct groat_cpu_env *to)
{
    env = to;
    return GROAT_CPU_HOOKS_VERSION;
}

/* Of LOADs: the events, the active lanes of them all, and those left out. */
static size_t loads, load_lanes, loads_left_out;

static void listen(void *user, const groat_trace *event)
{
    ck_assert_ptr_eq(user, &told_count);
    if (event->access > GROAT_ACCESS_TRANSPOSE) {
        ck_assert_int_eq(event->bytes > 0, event->access >= GROAT_ACCESS_LOAD);
        ck_assert_uint_eq(event->passes, 0);
        ck_assert_uint_eq(event->mbarrier, ~0u);
        waits[event->access]++;
        loads_left_out += event->left_out;
        if (event->access == GROAT_ACCESS_LOAD) {
            loads++;
            load_lanes += (size_t)__builtin_popcountll(event->active);
        }
        return;
    }
    if (told_count >= TOLD)
        return;
    told[told_count] = *event;
    memcpy(told_shared[told_count++], event->shared,
           event->lanes * sizeof(event->shared[0]));
}

static groat_status judge(const char *arch, void (*entry)(const void *),
                          unsigned threads)
{
    groat__judge_launch trial = {0};

    ranges[0] = (groat__judge_range){(uint64_t)(uintptr_t)&work, sizeof(work)};
    trial.arch = groat__arch_find(arch, strlen(arch));
    ck_assert_ptr_nonnull(trial.arch);
    trial.kernel = "probe";
    trial.entry = entry;
    trial.bind = bind;
    trial.args = &work;
    trial.grid[0] = trial.grid[1] = trial.grid[2] = 1;
    trial.block[0] = threads;
    trial.block[1] = trial.block[2] = 1;
    trial.cluster[0] = trial.cluster[1] = trial.cluster[2] = 1;
    trial.shared_bytes = SHARED;
    trial.ranges = ranges;
    trial.range_count = 1;
    trial.stack_bytes = STACK;
    trial.seed = 7;
    trial.trace = listen;
    trial.trace_user = &told_count;
    told_count = 0;
    memset(waits, 0, sizeof(waits));
    loads = load_lanes = loads_left_out = 0;
    groat_error_clear(&error);
    return groat__judge_run(&trial, &error);
}

static void ck_reports(const char *arch, void (*entry)(const void *),
                       unsigned threads, const char *words)
{
    groat_status status = judge(arch, entry, threads);

    ck_assert_msg(status == GROAT_JUDGED, "%s: not found", words);
    ck_assert_msg(strstr(error.text, words) != NULL, "'%s' is not in '%s'",
                  words, error.text);
}

static uint64_t numbers;

enum { MANY = 5000, TOLD_LOADS = 4096 };

/* Each lane loads more often than a wave's list has room for; lanes of odd
 * number once more.  Then all store to shared memory. */
static void load_often(const void *args)
{
    unsigned char bytes[4];
    uint64_t at = (uint64_t)(uintptr_t)&work;

    (void)args;
    for (unsigned i = 0; i < MANY + env->thread[0] % 2; i++)
        env->ops->global_load(env, at, bytes, 4);
    env->ops->shared_store(env, env->thread[0] * 4, bytes, 4);
}

START_TEST(test_many_loads)
{
    ck_assert_int_eq(judge("sm_90a", load_often, 32), GROAT_OK);
    ck_assert_uint_eq(loads, TOLD_LOADS);
    ck_assert_uint_eq(load_lanes, TOLD_LOADS * 32);
    ck_assert_uint_eq(told_count, 1);
    ck_assert_uint_eq(told[0].active, 0xffffffff);
    ck_assert_uint_eq(loads_left_out + told[0].left_out, MANY + 1 - TOLD_LOADS);
}
END_TEST

static void setup(void)
{
    error = (groat_error)GROAT_ERROR_INIT;
    memset(&work, 0, sizeof(work));
}

static void teardown(void)
{
    groat_error_clear(&error);
}

static unsigned lane(void)
{
    return env->thread[0];
}

/* ---- shuffles and ballots ------------------------------------------------ */

/* The lane that each lane asked for, the value that it got, and the ballots. */
typedef struct exchange {
    unsigned from[2 * LANES];
    unsigned got[2 * LANES];
    unsigned long long votes[2 * LANES];
} exchange;

static exchange swapped;

static void exchange_twice(const void *args)
{
    const probe *p = args;

    if (lane() < LANES && p->absent[lane()])
        return;
    swapped.got[lane()] =
        env->ops->shuffle(env, 100 + lane(), swapped.from[lane()]);
    /* A second shuffle, while lanes may still read the first one's values. */
    swapped.got[lane()] +=
        1000 * env->ops->shuffle(env, lane() / 2, swapped.from[lane()]);
    swapped.votes[lane()] = env->ops->ballot(env, lane() % 3 == 0);
}

static const char *const wave_archs[] = {"gfx950", "sm_90a", "gfx90a", "sm_80"};

START_TEST(test_shuffles)
{
    const char *arch = wave_archs[_i];
    unsigned lanes = (unsigned)groat__arch_find(arch, strlen(arch))->wave_lanes;

    for (unsigned t = 0; t < 2 * lanes; t++)
        swapped.from[t] = (t * 5 + 3) % lanes;
    ck_assert_msg(judge(arch, exchange_twice, 2 * lanes) == GROAT_OK, "%s",
                  error.text);
    for (unsigned t = 0; t < 2 * lanes; t++) {
        unsigned other = t / lanes * lanes + swapped.from[t];
        unsigned long long votes = 0;

        for (unsigned l = 0; l < lanes; l++)
            if ((t / lanes * lanes + l) % 3 == 0)
                votes |= 1ull << l;
        ck_assert_uint_eq(swapped.got[t], 100 + other + other / 2 * 1000);
        ck_assert_uint_eq(swapped.votes[t], votes);
    }
}
END_TEST

START_TEST(test_shuffle_refusals)
{
    const char *arch = wave_archs[_i];
    unsigned lanes = (unsigned)groat__arch_find(arch, strlen(arch))->wave_lanes;

    memset(&swapped, 0, sizeof(swapped));
    swapped.from[3] = lanes;
    ck_reports(arch, exchange_twice, lanes, "shuffles from lane");
    swapped.from[3] = 0;
    work.absent[5] = true;
    ck_assert_int_eq(judge(arch, exchange_twice, lanes), GROAT_JUDGED);
}
END_TEST

/* ---- transpose reads ---------------------------------------------------- */

/* Fills shared memory with its own addresses, in halfwords or bytes. */
static void fill_shared(unsigned width)
{
    for (unsigned at = lane() * 16; at < SHARED; at += LANES * 16) {
        unsigned char vector[16];

        for (unsigned i = 0; i < 16; i += width) {
            unsigned value = (at + i) / width;

            memcpy(vector + i, &value, width);
        }
        env->ops->shared_store(env, at, vector, 16);
    }
    env->ops->shared_fence(env);
    env->ops->block_barrier(env, 0);
}

static void read_transposed(const void *args)
{
    const probe *p = args;
    unsigned char got[8];

    fill_shared(p->width);
    if (p->absent[lane()])
        return;
    env->ops->transpose_load(env, p->address[lane()], got, p->width);
    env->ops->global_store(env, (uint64_t)(uintptr_t)work.got[lane()], got, 4);
    env->ops->global_store(env, (uint64_t)(uintptr_t)work.got[lane()] + 4,
                           got + 4, 4);
}

/* Halfword n of lane l is halfword l & 3 of what lane g + ((l >> 2) & 3) + 4n
 * addresses; byte n is byte l & 7 of what lane g + ((l >> 3) & 1) + 2n does. */
START_TEST(test_transpose)
{
    unsigned width = _i == 0 ? 2 : 1;

    work.width = width;
    for (unsigned l = 0; l < LANES; l++)
        work.address[l] = (unsigned)(next_random(&numbers) % (SHARED / 8)) * 8;
    ck_assert_msg(judge("gfx950", read_transposed, LANES) == GROAT_OK, "%s",
                  error.text);
    for (unsigned l = 0; l < LANES; l++)
        for (unsigned n = 0; n < 8 / width; n++) {
            unsigned from = width == 2 ? (l & ~15u) + ((l >> 2) & 3) + 4 * n
                                       : (l & ~15u) + ((l >> 3) & 1) + 2 * n;
            unsigned at = work.address[from] / width + (l & (8 / width - 1));
            unsigned got = 0;

            memcpy(&got, work.got[l] + (size_t)n * width, width);
            ck_assert_uint_eq(got, width == 2 ? at : at & 0xff);
        }
}
END_TEST

START_TEST(test_transpose_refusals)
{
    work.width = 2;
    ck_reports("gfx942", read_transposed, LANES, "gfx942");
    ck_reports("sm_90a", read_transposed, LANES, "sm_90a");
    work.address[5] = 4;
    ck_reports("gfx950", read_transposed, LANES, "misaligned");
    work.address[5] = SHARED;
    ck_reports("gfx950", read_transposed, LANES, "the block has");
    work.address[5] = 0;
    work.absent[17] = true;
    ck_reports("gfx950", read_transposed, LANES,
               "lane 17) is missing from an operation that needs all lanes");
    memset(work.absent, 0, sizeof(work.absent));
    ck_reports("gfx950", read_transposed, 48, "has 48 lanes only");
}
END_TEST

/* ---- matrices ----------------------------------------------------------- */

static void multiply(const void *args)
{
    const probe *p = args;
    float acc[ACC];

    memcpy(acc, p->acc[lane()], sizeof(acc));
    if (p->absent[lane()])
        return;
    for (unsigned i = 0; i < p->count; i++)
        env->ops->mfma(env, p->number, p->m, p->k, p->a[lane()], p->b[lane()],
                       acc);
    for (unsigned i = 0; i < p->m * p->m / 64; i++)
        env->ops->global_store(env, (uint64_t)(uintptr_t)&work.acc[lane()][i],
                               &acc[i], 4);
}

/* Encodes a small whole number, which every format represents exactly. */
static void put_number(unsigned char *at, unsigned number, int value)
{
    int magnitude = value < 0 ? -value : value;
    unsigned sign = value < 0;
    int exponent = magnitude == 0 ? 0 : (int)log2((double)magnitude);
    unsigned bits = 0;
    uint16_t half;

    if (number == GROAT_CPU_FP8 || number == GROAT_CPU_BF8) {
        int mantissa = number == GROAT_CPU_FP8 ? 3 : 2;
        /* One more in the FNUZ forms of gfx942. */
        int bias = (number == GROAT_CPU_FP8 ? 7 : 15) + (work.records == 1);

        if (magnitude != 0)
            bits = (unsigned)(exponent + bias) << mantissa |
                   (((unsigned)magnitude << mantissa >> exponent) &
                    ((1U << mantissa) - 1));
        *at = (unsigned char)(bits | (magnitude != 0 ? sign << 7 : 0));
        return;
    }
    if (number == GROAT_CPU_F16 && magnitude != 0)
        bits = (unsigned)(exponent + 15) << 10 |
               (((unsigned)magnitude << 10 >> exponent) & 0x3ff);
    if (number == GROAT_CPU_BF16 && magnitude != 0)
        bits = (unsigned)(exponent + 127) << 7 |
               (((unsigned)magnitude << 7 >> exponent) & 0x7f);
    half = (uint16_t)(bits | sign << 15);
    memcpy(at, &half, sizeof(half));
}

static const struct {
    const char *arch;
    unsigned number, m, k;
} shapes[] = {
    {"gfx90a", GROAT_CPU_BF16, 32, 8},  {"gfx90a", GROAT_CPU_BF16, 16, 16},
    {"gfx90a", GROAT_CPU_F16, 32, 8},   {"gfx90a", GROAT_CPU_F16, 16, 16},
    {"gfx942", GROAT_CPU_BF16, 32, 8},  {"gfx942", GROAT_CPU_FP8, 32, 16},
    {"gfx942", GROAT_CPU_FP8, 16, 32},  {"gfx950", GROAT_CPU_BF16, 32, 8},
    {"gfx950", GROAT_CPU_BF16, 32, 16}, {"gfx950", GROAT_CPU_BF16, 16, 32},
    {"gfx950", GROAT_CPU_F16, 32, 16},  {"gfx950", GROAT_CPU_F16, 16, 32},
    {"gfx950", GROAT_CPU_FP8, 32, 16},  {"gfx950", GROAT_CPU_FP8, 16, 32},
    {"gfx950", GROAT_CPU_FP8, 32, 64},  {"gfx950", GROAT_CPU_FP8, 16, 128},
    {"gfx942", GROAT_CPU_BF8, 32, 16},  {"gfx942", GROAT_CPU_BF8, 16, 32},
    {"gfx950", GROAT_CPU_BF8, 32, 64},  {"gfx950", GROAT_CPU_BF8, 16, 128},
};

START_TEST(test_mfma)
{
    static int a[32][128];
    static int b[32][128];
    unsigned m = shapes[_i].m;
    unsigned k = shapes[_i].k;
    unsigned per_lane = k * m / 64;
    unsigned size = shapes[_i].number >= GROAT_CPU_FP8 ? 1 : 2;

    work.number = shapes[_i].number;
    work.m = m;
    work.k = k;
    work.count = 3;
    work.records = strcmp(shapes[_i].arch, "gfx942") == 0;
    for (unsigned r = 0; r < m; r++)
        for (unsigned c = 0; c < k; c++) {
            a[r][c] = (int)(next_random(&numbers) % 17) - 8;
            b[r][c] = (int)(next_random(&numbers) % 17) - 8;
            put_number(&work.a[c / per_lane * m + r][c % per_lane * size],
                       work.number, a[r][c]);
            put_number(&work.b[c / per_lane * m + r][c % per_lane * size],
                       work.number, b[r][c]);
        }
    for (unsigned l = 0; l < LANES; l++)
        for (unsigned p = 0; p < ACC; p++)
            work.acc[l][p] = (float)(l + p);
    ck_assert_msg(judge(shapes[_i].arch, multiply, LANES) == GROAT_OK, "%s",
                  error.text);
    for (unsigned l = 0; l < LANES; l++)
        for (unsigned p = 0; p < m * m / 64; p++) {
            unsigned row =
                m == 32 ? 8 * (p / 4) + 4 * (l / 32) + p % 4 : 4 * (l / 16) + p;
            int sum = 0;

            for (unsigned c = 0; c < k; c++)
                sum += a[row][c] * b[l % m][c];
            ck_assert_float_eq(work.acc[l][p], (float)(3 * sum + (int)(l + p)));
        }
}
END_TEST

static void refuse_shape(const char *arch, unsigned number, unsigned m,
                         unsigned k)
{
    work.number = number;
    work.m = m;
    work.k = k;
    work.count = 1;
    ck_reports(arch, multiply, LANES, "has no such instruction");
}

START_TEST(test_mfma_refusals)
{
    refuse_shape("gfx90a", GROAT_CPU_FP8, 32, 16);
    refuse_shape("gfx90a", GROAT_CPU_BF16, 32, 16);
    refuse_shape("gfx942", GROAT_CPU_FP8, 32, 64);
    refuse_shape("gfx942", GROAT_CPU_F16, 16, 32);
    refuse_shape("gfx950", GROAT_CPU_BF16, 32, 32);
    refuse_shape("gfx950", GROAT_CPU_BF16, 64, 4);
    refuse_shape("sm_90a", GROAT_CPU_BF16, 32, 8);
    /* No whole number of elements for each lane, and none that m * k is. */
    refuse_shape("gfx950", GROAT_CPU_FP8, 16, 129);
    refuse_shape("gfx950", GROAT_CPU_FP8, 32, 65);
    refuse_shape("gfx950", GROAT_CPU_FP8, 16, (1U << 28) + 128);
    work.m = 32;
    work.k = 8;
    work.number = GROAT_CPU_BF16;
    work.absent[63] = true;
    ck_reports("gfx90a", multiply, LANES, "lane 63) is missing");
}
END_TEST

/* Subnormals, the largest numbers, infinities and NaNs. */
START_TEST(test_numbers)
{
    static const struct {
        const char *arch;
        unsigned number;
        unsigned bits;
        double value;
    } known[] = {
        {"gfx950", GROAT_CPU_FP8, 0x01, 1.0 / 512},
        {"gfx950", GROAT_CPU_FP8, 0x7e, 448},
        {"gfx950", GROAT_CPU_FP8, 0x80, 0},
        {"gfx950", GROAT_CPU_FP8, 0x7f, NAN},
        {"gfx950", GROAT_CPU_FP8, 0xff, NAN},
        {"gfx942", GROAT_CPU_FP8, 0x01, 1.0 / 1024},
        {"gfx942", GROAT_CPU_FP8, 0x7f, 240},
        {"gfx942", GROAT_CPU_FP8, 0x80, NAN},
        {"gfx950", GROAT_CPU_BF8, 0x01, 1.0 / 65536},
        {"gfx950", GROAT_CPU_BF8, 0x7b, 57344},
        {"gfx950", GROAT_CPU_BF8, 0x7c, INFINITY},
        {"gfx950", GROAT_CPU_BF8, 0xfc, -INFINITY},
        {"gfx950", GROAT_CPU_BF8, 0x7d, NAN},
        {"gfx942", GROAT_CPU_BF8, 0x01, 1.0 / 131072},
        {"gfx942", GROAT_CPU_BF8, 0x7f, 57344},
        {"gfx942", GROAT_CPU_BF8, 0x80, NAN},
        {"gfx950", GROAT_CPU_F16, 0x0001, 1.0 / 16777216},
        {"gfx950", GROAT_CPU_F16, 0x7bff, 65504},
        {"gfx950", GROAT_CPU_F16, 0x7c00, INFINITY},
        {"gfx950", GROAT_CPU_BF16, 0x3f80, 1},
        {"gfx950", GROAT_CPU_BF16, 0xff80, -INFINITY},
    };

    for (size_t i = 0; i < COUNT(known); i++) {
        double got;

        memset(&work, 0, sizeof(work));
        work.number = known[i].number;
        work.m = 32;
        work.k = known[i].number >= GROAT_CPU_FP8 ? 16 : 8;
        work.count = 1;
        work.records = strcmp(known[i].arch, "gfx942") == 0;
        memcpy(work.a[0], &known[i].bits, 2);
        /* B is all ones: an infinity times a zero in B would be a NaN. */
        for (unsigned l = 0; l < LANES; l++)
            put_number(work.b[l], work.number, 1);
        ck_assert_msg(judge(known[i].arch, multiply, LANES) == GROAT_OK, "%s",
                      error.text);
        got = (double)work.acc[0][0];
        ck_assert_msg(isnan(known[i].value) ? isnan(got)
                                            : got == known[i].value,
                      "0x%x is %g, not %g", known[i].bits, got, known[i].value);
    }
}
END_TEST

/* ---- register loads ------------------------------------------------------ */

static void load_buffer(const void *args)
{
    const probe *p = args;
    unsigned char vector[16];

    env->ops->buffer_load(env, (uint64_t)(uintptr_t)p->a, p->records,
                          16 * lane(), 0, vector, 16);
    for (unsigned i = 0; i < 16; i += 4)
        env->ops->global_store(
            env, (uint64_t)(uintptr_t)work.b + 16 * lane() + i, vector + i, 4);
}

START_TEST(test_buffer_load)
{
    const unsigned char *from = work.a[0];
    const unsigned char *to = work.b[0];

    for (unsigned i = 0; i < sizeof(work.a); i++)
        work.a[i / OPERAND][i % OPERAND] = (unsigned char)(1 + i % 255);
    memset(work.b, 0xA5, sizeof(work.b));
    work.records = 16 * 40 + 7;
    ck_assert_msg(judge("gfx942", load_buffer, LANES) == GROAT_OK, "%s",
                  error.text);
    for (unsigned i = 0; i < 16 * LANES; i++)
        ck_assert_uint_eq(to[i], i < 16 * 40 + 4 ? from[i] : 0);
}
END_TEST

/* A load between a copy and its wait is counted: with a wait count of one the
 * copy has landed, with two it may still be in flight. */
static void load_between(const void *args)
{
    const probe *p = args;
    unsigned char vector[16];

    env->ops->async_copy(env, (uint64_t)(uintptr_t)p->a, sizeof(p->a), 0,
                         lane(), 16 * lane(), 0, 16);
    if (p->records == 0)
        env->ops->global_load(env, (uint64_t)(uintptr_t)p->b, vector, 16);
    else
        env->ops->buffer_load(env, (uint64_t)(uintptr_t)p->b, p->records, 0, 0,
                              vector, 16);
    env->ops->async_wait(env, p->count, p->count);
    env->ops->shared_load(env, 16 * lane(), vector, 16);
    env->ops->async_wait(env, 0, 0);
}

/* _i: a global load, a buffer load. */
START_TEST(test_loads_count)
{
    work.records = _i == 0 ? 0 : 64;
    work.count = 1;
    ck_assert_msg(judge("gfx950", load_between, LANES) == GROAT_OK, "%s",
                  error.text);
    work.count = 2;
    ck_reports("gfx950", load_between, LANES, "in flight");
}
END_TEST

/* ---- the trace ----------------------------------------------------------- */

/* Lane l reads `width` bytes at l * k, after all bytes have been written. */
static void read_stride(const void *args)
{
    const probe *p = args;
    unsigned char vector[16];

    fill_shared(2);
    env->ops->shared_load(env, lane() * p->k % SHARED, vector, p->width);
    env->ops->shared_fence(env);
}

static const struct {
    const char *arch;
    unsigned stride, bytes, passes, least, reuse;
} strides[] = {
    /* 64 banks: 64 lanes of 4 bytes per pass, or 16 lanes of 16 bytes. */
    {"gfx950", 4, 4, 1, 1, 1},
    {"gfx950", 0, 4, 1, 1, 1}, /* one dword for all lanes */
    {"gfx950", 8, 4, 2, 1, 2},
    {"gfx950", 128, 4, 32, 1, 32},
    {"gfx950", 256, 4, 32, 1, 32}, /* 8192 bytes: 32 different dwords */
    {"gfx950", 16, 16, 4, 4, 1},
    {"gfx950", 32, 16, 8, 4, 2},
    /* 32 banks: half as many lanes per pass. */
    {"gfx942", 4, 4, 2, 2, 1},
    {"gfx942", 8, 4, 4, 2, 2},
    {"gfx942", 128, 4, 64, 2, 32},
    {"gfx942", 8, 8, 4, 4, 1},
    {"gfx942", 16, 16, 8, 8, 1},
    {"gfx942", 64, 16, 32, 8, 4},
    {"gfx942", 1, 1, 1, 1, 1},
    {"gfx942", 2, 2, 1, 1, 1},
};

START_TEST(test_banks)
{
    const groat_trace *last;

    work.k = strides[_i].stride;
    work.width = strides[_i].bytes;
    ck_assert_msg(judge(strides[_i].arch, read_stride, LANES) == GROAT_OK, "%s",
                  error.text);
    /* 8 writes fill 8 KiB, 64 lanes of 16 bytes each; then comes the read. */
    ck_assert_uint_eq(told_count, 9);
    ck_assert_uint_eq(waits[GROAT_ACCESS_WAIT], 1);
    ck_assert_uint_eq(waits[GROAT_ACCESS_RESUME], 1);
    ck_assert_uint_eq(waits[GROAT_ACCESS_ARRIVE] + waits[GROAT_ACCESS_LAND], 0);
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_int_eq(told[i].access, GROAT_ACCESS_WRITE);
        ck_assert_uint_eq(told[i].index, i);
        ck_assert_uint_eq(told[i].bytes, 16);
        ck_assert_uint_eq(told[i].reuse, 1);
        ck_assert_uint_eq(told_shared[i][3], i * 1024 + 48);
    }
    last = &told[8];
    ck_assert_int_eq(last->access, GROAT_ACCESS_READ);
    ck_assert_uint_eq(last->lanes, LANES);
    ck_assert(last->active == UINT64_MAX);
    ck_assert_uint_eq(last->bytes, strides[_i].bytes);
    ck_assert_uint_eq(last->passes, strides[_i].passes);
    ck_assert_uint_eq(last->passes_min, strides[_i].least);
    ck_assert_uint_eq(last->reuse, strides[_i].reuse);
}
END_TEST

/* Lanes diverge: half of them write 4 bytes, the others 8, and all read 4. */
static void diverge(const void *args)
{
    const probe *p = args;
    unsigned char bytes[8] = {0};
    unsigned width = lane() % 2 == p->k ? 4 : 8;

    env->ops->shared_store(env, lane() * 8, bytes, width);
    env->ops->shared_fence(env);
    env->ops->shared_load(env, lane() * 8, bytes, 4);
    env->ops->shared_fence(env);
}

START_TEST(test_lanes_that_diverge)
{
    const uint64_t narrow = UINT64_MAX / 3 << _i;
    bool seen[2] = {false, false};

    work.k = (unsigned)_i;
    ck_assert_msg(judge("gfx950", diverge, LANES) == GROAT_OK, "%s",
                  error.text);
    ck_assert_uint_eq(told_count, 3);
    for (int i = 0; i < 2; i++) {
        bool wide = told[i].bytes == 8;

        ck_assert_int_eq(told[i].access, GROAT_ACCESS_WRITE);
        ck_assert_uint_eq(told[i].bytes, wide ? 8 : 4);
        ck_assert(told[i].active == (wide ? ~narrow : narrow));
        seen[wide] = true;
    }
    ck_assert(seen[0] && seen[1]);
    ck_assert_int_eq(told[2].access, GROAT_ACCESS_READ);
    ck_assert(told[2].active == UINT64_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("judge_wave");
    TCase *tests = tcase_create("judge_wave");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, test_shuffles, 0, COUNT(wave_archs));
    tcase_add_loop_test(tests, test_shuffle_refusals, 0, COUNT(wave_archs));
    tcase_add_loop_test(tests, test_transpose, 0, 2);
    tcase_add_test(tests, test_transpose_refusals);
    tcase_add_loop_test(tests, test_mfma, 0, COUNT(shapes));
    tcase_add_test(tests, test_mfma_refusals);
    tcase_add_test(tests, test_numbers);
    tcase_add_test(tests, test_buffer_load);
    tcase_add_test(tests, test_many_loads);
    tcase_add_loop_test(tests, test_loads_count, 0, 2);
    tcase_add_loop_test(tests, test_banks, 0, COUNT(strides));
    tcase_add_loop_test(tests, test_lanes_that_diverge, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
