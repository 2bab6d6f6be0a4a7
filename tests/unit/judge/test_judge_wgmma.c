/* SPDX-License-Identifier: Apache-2.0
 *
 * test_judge_wgmma.c: the judge's warpgroup products.  Every operand layout and
 * number format against sums of integers; operands that are not ready or
 * overwritten too early, registers touched too early, and warps that do not
 * take part.
 */
#include "judge_rig.h"

#include <math.h>

#include "tests/kernels/tma_forms.h"

enum { K_MAX = 128, N_MAX = 256, A_AT = 1024, B_AT = A_AT + 64 * K_MAX * 2 };

static struct {
    signed char a[64][K_MAX];
    signed char b[N_MAX][K_MAX];
    unsigned number;
    unsigned n;
    unsigned k; /* length of the whole sum */
    operand_form la, lb;
} work;

static unsigned size_of(void)
{
    return number_bytes(work.number);
}

static operand_form form_of(operand_form form, unsigned rows)
{
    form.rows = rows;
    form.k = work.k;
    form.number = work.number;
    return form;
}

static uint64_t descriptor(unsigned at, unsigned lbo, unsigned sbo,
                           unsigned swizzle)
{
    static const uint64_t codes[] = {0, 3, 2, 1};

    return at >> 4 | (uint64_t)(lbo >> 4) << 16 | (uint64_t)(sbo >> 4) << 32 |
           codes[swizzle] << 62;
}

/* Returns the descriptor of the operand's numbers from k on. */
static uint64_t descriptor_of(operand_form form, unsigned base, unsigned rows,
                              unsigned k)
{
    operand_form whole = form_of(form, rows);
    operand_words words = describe(&whole, k);

    return descriptor(base + words.start, words.lbo, words.sbo, form.swizzle);
}

static void store(unsigned at, int value)
{
    unsigned bits = number_bits(work.number, value);

    env->ops->shared_store(env, at, &bits, size_of());
}

static void store_operands(void)
{
    operand_form a = form_of(work.la, 64);
    operand_form b = form_of(work.lb, work.n);

    for (unsigned i = thread(); i < 64 * work.k; i += rig_j.threads)
        store(A_AT + operand_byte(&a, i / work.k, i % work.k),
              work.a[i / work.k][i % work.k]);
    for (unsigned i = thread(); i < work.n * work.k; i += rig_j.threads)
        store(B_AT + operand_byte(&b, i / work.k, i % work.k),
              work.b[i / work.k][i % work.k]);
}

static void product(unsigned k, bool accumulate, float *acc)
{
    env->ops->wgmma(env, work.number, work.n, is_mn(&work.la), is_mn(&work.lb),
                    descriptor_of(work.la, A_AT, 64, k), NULL,
                    descriptor_of(work.lb, B_AT, work.n, k), accumulate, acc);
}

/* Writes a thread's results at their rows and columns in the warp's 16 rows. */
static void put_result(const float *acc)
{
    unsigned t = thread() % 128;
    unsigned group = thread() / 128;

    for (unsigned i = 0; i < work.n / 2; i++) {
        unsigned row = t / 32 * 16 + t % 32 / 4 + (i & 2 ? 8 : 0);
        unsigned column = i / 4 * 8 + t % 4 * 2 + (i & 1);
        uint32_t bits;

        memcpy(&bits, &acc[i], 4);
        put((group * 64 + row) * work.n + column, bits);
    }
}

enum { ADDS = 1, CHANGES_BETWEEN };

/* Adds 1 to each sum between two products. */
static void change(float *acc)
{
    env->ops->wgmma_commit(env);
    env->ops->wgmma_wait(env, 0);
    for (unsigned i = 0; i < work.n / 2; i++)
        acc[i] += 1;
    env->ops->wgmma_fence(env);
}

static void multiply(const void *args)
{
    float acc[N_MAX / 2];
    unsigned step = 32 / size_of();

    (void)args;
    store_operands();
    proxy_fence();
    block_barrier();
    for (unsigned i = 0; i < work.n / 2; i++)
        acc[i] = 3;
    env->ops->wgmma_fence(env);
    for (unsigned k = 0; k < work.k; k += step) {
        if (rig_j.mode == CHANGES_BETWEEN && k > 0)
            change(acc);
        product(k, rig_j.mode >= ADDS || k > 0, acc);
    }
    env->ops->wgmma_commit(env);
    env->ops->wgmma_wait(env, 0);
    put_result(acc);
}

static void ck_products(int start)
{
    for (unsigned group = 0; group < rig_j.threads / 128; group++)
        for (unsigned row = 0; row < 64; row++)
            for (unsigned column = 0; column < work.n; column++) {
                int sum = start;
                float got;

                for (unsigned k = 0; k < work.k; k++)
                    sum += work.a[row][k] * work.b[column][k];
                memcpy(&got,
                       rig_j.out + 4 * ((group * 64 + row) * work.n + column),
                       4);
                ck_assert_msg(got == (float)sum,
                              "group %u row %u column %u: %g, not %d", group,
                              row, column, (double)got, sum);
            }
}

static void setup(void)
{
    uint32_t x = 12345;

    j_setup();
    rig_j.threads = 128;
    rig_j.shared = 128 << 10;
    memset(&work, 0, sizeof(work));
    for (unsigned i = 0; i < sizeof(work.a) + sizeof(work.b); i++) {
        x = x * 1664525u + 1013904223u;
        (&work.a[0][0])[i] = (signed char)((int)(x >> 20) % 9 - 4);
    }
    work.number = GROAT_CPU_BF16;
    work.n = 64;
    work.k = 64;
    work.la = work.lb = (operand_form){.form = FORM_K, .swizzle = 3};
}

static const operand_form layouts[] = {
    {.form = FORM_K, .swizzle = 3},       {.form = FORM_K, .swizzle = 2},
    {.form = FORM_K, .swizzle = 1},       {.form = FORM_K, .swizzle = 0},
    {.form = FORM_K_DENSE, .swizzle = 3}, {.form = FORM_MN, .swizzle = 3},
    {.form = FORM_MN, .swizzle = 2},      {.form = FORM_MN, .swizzle = 1},
    {.form = FORM_MN, .swizzle = 0},      {.form = FORM_MN_INNER, .swizzle = 3},
};

/* _i: a layout, for A or for B. */
START_TEST(test_layouts)
{
    operand_form l = layouts[(unsigned)_i / 2];

    *(_i % 2 == 0 ? &work.la : &work.lb) = l;
    work.n = 128;
    work.k = 128;
    ck_assert_msg(j_judge(multiply, (uint64_t)_i) == GROAT_OK, "%s",
                  rig_j.error.text);
    ck_products(0);
    if (is_mn(&l))
        return;
    work.number = GROAT_CPU_FP8;
    ck_assert_msg(j_judge(multiply, (uint64_t)_i) == GROAT_OK, "%s",
                  rig_j.error.text);
    ck_products(0);
}
END_TEST

START_TEST(test_shapes)
{
    static const unsigned ns[] = {16, 32, 64, 128, 256};
    static const unsigned numbers[] = {FORM_BF16, FORM_F16, FORM_FP8};

    work.n = ns[_i % 5];
    work.number = numbers[_i / 5];
    rig_j.mode = (unsigned)_i % 2; /* replaces the 3s, or adds to them */
    ck_assert_msg(j_judge(multiply, (uint64_t)_i) == GROAT_OK, "%s",
                  rig_j.error.text);
    ck_products(rig_j.mode == 0 ? 0 : 3);
}
END_TEST

START_TEST(test_registers_that_a_fence_has_passed)
{
    rig_j.mode = CHANGES_BETWEEN;
    work.k = 32; /* two products of bf16 */
    j_passes(multiply);
    ck_products(3 + 1);
}
END_TEST

START_TEST(test_two_warpgroups)
{
    rig_j.threads = 256;
    work.n = 32;
    j_passes(multiply);
    ck_products(0);
}
END_TEST

/* Unswizzled mn-major operands exchange the two offsets: with the offsets in
 * the order of the other forms the product is a different one. */
static void multiply_swapped(const void *args)
{
    float acc[N_MAX / 2];

    (void)args;
    store_operands();
    proxy_fence();
    block_barrier();
    env->ops->wgmma_fence(env);
    env->ops->wgmma(env, work.number, work.n, 0, 1,
                    descriptor_of(work.la, A_AT, 64, 0), NULL,
                    descriptor(B_AT, work.k * 16, 128, 0), 0, acc);
    env->ops->wgmma_commit(env);
    env->ops->wgmma_wait(env, 0);
    put_result(acc);
}

START_TEST(test_offsets_are_not_exchanged)
{
    unsigned wrong = 0;

    work.lb = (operand_form){.form = FORM_MN};
    work.k = 16;
    work.la.swizzle = GROAT_CPU_SWIZZLE_32B;
    j_passes(multiply);
    ck_products(0);
    ck_assert_int_eq(j_judge(multiply_swapped, 0), GROAT_OK);
    for (unsigned i = 0; i < 64 * work.n; i++) {
        int sum = 0;
        float got;

        for (unsigned k = 0; k < work.k; k++)
            sum += work.a[i / work.n][k] * work.b[i % work.n][k];
        memcpy(&got, rig_j.out + 4 * i, 4);
        wrong += got != (float)sum;
    }
    ck_assert_uint_gt(wrong, 64 * work.n / 2);
}
END_TEST

/* ---- operands that are not ready ----------------------------------------- */

enum {
    SOUND,
    NO_PROXY_FENCE,
    NO_BARRIER,
    NOT_WRITTEN,
    FENCE_AFTER_BARRIER,
    NO_WGMMA_FENCE,
    NO_COMMIT,
    NO_WAIT,
    WAIT_LEAVES_ONE,
    TOUCHES_REGISTERS,
    STORES_BEFORE_WAIT,
    STORES_AFTER_WAIT,
    NO_SECOND_FENCE,
    FAULTS
};

static void go_wrong(const void *args)
{
    unsigned m = rig_j.mode;
    float acc[N_MAX / 2] = {0};

    (void)args;
    if (m != NOT_WRITTEN || thread() != 77)
        store_operands();
    if (m != NO_PROXY_FENCE && m != FENCE_AFTER_BARRIER)
        proxy_fence();
    if (m != NO_BARRIER)
        block_barrier();
    if (m == FENCE_AFTER_BARRIER)
        proxy_fence();
    if (m != NO_WGMMA_FENCE)
        env->ops->wgmma_fence(env);
    product(0, true, acc);
    if (m != NO_COMMIT)
        env->ops->wgmma_commit(env);
    if (m == TOUCHES_REGISTERS && thread() == 99)
        acc[3] += 1;
    if (m == STORES_BEFORE_WAIT && thread() == 5)
        store(A_AT, 1);
    if (m != NO_WAIT)
        env->ops->wgmma_wait(env, m == WAIT_LEAVES_ONE ? 1 : 0);
    if (m == STORES_AFTER_WAIT && thread() == 5)
        store(B_AT, 1);
    if (m == NO_SECOND_FENCE) {
        acc[1] += 1;
        product(16, true, acc);
        env->ops->wgmma_commit(env);
        env->ops->wgmma_wait(env, 0);
    }
    put_result(acc);
}

START_TEST(test_faults)
{
    static const char *const words[FAULTS] = {
        [NO_PROXY_FENCE] = "of shared memory, which wgmma reads as part of A: "
                           "async_proxy_fence between is missing",
        [NO_BARRIER] = "multiplies by A with byte|which nobody has written",
        [NOT_WRITTEN] = "multiplies by A with byte|of shared memory, which "
                        "nobody has written",
        [NO_WGMMA_FENCE] = "comes to wgmma with registers that it wrote since "
                           "the last wgmma_fence: one is missing",
        [NO_COMMIT] = "ends with a wgmma that no wgmma_wait waited for",
        [NO_WAIT] = "ends with a wgmma that no wgmma_wait waited for",
        [WAIT_LEAVES_ONE] = "ends with a wgmma that no wgmma_wait waited for",
        [TOUCHES_REGISTERS] = "thread 99 (wave 3 lane 3) changed registers "
                              "that a wgmma was adding to",
        [STORES_BEFORE_WAIT] =
            "thread 5 (wave 0 lane 5) writes byte 1024 of shared memory, which "
            "a wgmma of waves 0 to 3 still reads: one's wgmma_wait, or a "
            "release behind it, is missing",
        /* No fault: one warp's wait is for the whole warpgroup's product. */
        [STORES_AFTER_WAIT] = NULL,
        [NO_SECOND_FENCE] = "comes to wgmma with registers that it wrote since "
                            "the last wgmma_fence",
    };

    rig_j.mode = (unsigned)_i;
    if (words[_i] == NULL)
        j_passes(go_wrong);
    else
        j_reports(go_wrong, words[_i]);
}
END_TEST

/* Before the wait the accumulators hold nothing of use. */
static void look_early(const void *args)
{
    float acc[N_MAX / 2] = {0};

    (void)args;
    store_operands();
    proxy_fence();
    block_barrier();
    env->ops->wgmma_fence(env);
    product(0, true, acc);
    env->ops->wgmma_commit(env);
    put_result(acc);
    env->ops->wgmma_wait(env, 0);
}

START_TEST(test_registers_are_poisoned)
{
    j_passes(look_early);
    for (unsigned i = 0; i < 64 * work.n; i++) {
        float got;

        memcpy(&got, rig_j.out + 4 * i, 4);
        ck_assert(isnan(got));
    }
}
END_TEST

/* Two groups: a wait that leaves one in flight frees the older one's operands,
 * not the younger one's. */
static void two_groups(const void *args)
{
    float first[N_MAX / 2] = {0};
    float second[N_MAX / 2] = {0};

    (void)args;
    make(0, 128);
    store_operands();
    proxy_fence();
    made();
    env->ops->wgmma_fence(env);
    product(0, true, first);
    env->ops->wgmma_commit(env);
    product(64, true, second);
    env->ops->wgmma_commit(env);
    env->ops->wgmma_wait(env, 1);
    arrive(0);
    await(0, 0);
    if (thread() == 9) {
        operand_form b = form_of(work.lb, work.n);

        store(B_AT + operand_byte(&b, 0, rig_j.mode), 3);
    }
    env->ops->wgmma_wait(env, 0);
    put_result(second);
}

START_TEST(test_groups)
{
    work.k = 128;
    rig_j.mode = 5;
    j_passes(two_groups);
    rig_j.mode = 66;
    j_reports(two_groups, "which a wgmma of waves 0 to 3 still reads: one's "
                          "wgmma_wait, or a release behind it, is missing");
}
END_TEST

/* ---- wgmma and the copy engine ------------------------------------------- */

enum {
    TMA_SOUND,
    TMA_NO_WAIT,
    TMA_ONE_WAITS,
    TMA_EARLY_RELEASE,
    TMA_ONE_RELEASES
};

/* Warps 0-3 multiply what warp 4 loads, twice through one slot. */
static void with_engine(const void *args)
{
    enum { FULL = 8, EMPTY = 0 };
    static const int at[] = {0, 0};
    unsigned m = rig_j.mode;
    float acc[N_MAX / 2] = {0};

    (void)args;
    if (thread() == 128) {
        init(FULL, 1);
        init(EMPTY, m == TMA_ONE_RELEASES ? 1 : 4);
        init_fence();
    }
    block_barrier();
    for (unsigned t = 0; t < 2; t++) {
        if (thread() == 128) {
            await(EMPTY, (t & 1) ^ 1);
            expect(FULL, 2 * 64 * 128);
            load(A_AT, FULL, at);
            load(B_AT, FULL, at);
        } else if (thread() < 128) {
            if (m != TMA_NO_WAIT && (m != TMA_ONE_WAITS || thread() % 32 == 0))
                await(FULL, t & 1);
            env->ops->wgmma_fence(env);
            product(0, true, acc);
            env->ops->wgmma_commit(env);
            if (m == TMA_EARLY_RELEASE && thread() % 32 == 0)
                arrive(EMPTY);
            env->ops->wgmma_wait(env, 0);
            if (m != TMA_EARLY_RELEASE && thread() % 32 == 0 &&
                (m != TMA_ONE_RELEASES || thread() == 64))
                arrive(EMPTY);
        }
    }
    if (thread() < 128)
        put_result(acc);
}

START_TEST(test_engine)
{
    static const char *const words[] = {
        [TMA_NO_WAIT] = "multiplies by A with byte 1024 of shared memory, "
                        "which a copy of thread 128 (box at 0, 0) is about to "
                        "fill|which nobody has written",
        [TMA_ONE_WAITS] =
            "(wave 0 lane 1) multiplies by A with byte 1024 of shared memory, "
            "which a copy of thread 128 (box at 0, 0) filled: it did not wait "
            "for phase 0 (parity 0) of the mbarrier at byte 8",
        [TMA_EARLY_RELEASE] =
            "copies into byte 1024 of shared memory, which a wgmma of waves 0",
        /* No fault: one warp releases for all four. */
        [TMA_ONE_RELEASES] = NULL,
    };

    rig_j.threads = 160;
    rig_j.mode = (unsigned)_i;
    j_rows(64, 64);
    rig_j.map.swizzle = GROAT_CPU_SWIZZLE_128B;
    /* Keep all numbers finite. */
    for (unsigned i = 0; i < J_DEVICE; i += 2) {
        unsigned bits = number_bits(FORM_BF16, (int)(i / 2 % 7) - 3);

        memcpy(rig_j.device + i, &bits, 2);
    }
    if (words[_i] != NULL)
        j_reports(with_engine, words[_i]);
    else
        j_passes(with_engine);
}
END_TEST

/* ---- descriptors and shapes ---------------------------------------------- */

static struct {
    uint64_t a, b;
    unsigned number, n, a_mn;
    unsigned absent; /* first thread that does not take part */
    unsigned odd;    /* a thread that passes another descriptor */
} call;

static void call_once(const void *args)
{
    float acc[N_MAX / 2 + 8] = {0};

    (void)args;
    store_operands();
    proxy_fence();
    block_barrier();
    env->ops->wgmma_fence(env);
    if (thread() >= call.absent)
        return;
    env->ops->wgmma(env, call.number, call.n, call.a_mn, 0,
                    call.a + (thread() == call.odd), NULL, call.b, 1, acc);
    env->ops->wgmma_commit(env);
    env->ops->wgmma_wait(env, 0);
}

static void reset_call(void)
{
    call.a = descriptor_of(work.la, A_AT, 64, 0);
    call.b = descriptor_of(work.lb, B_AT, work.n, 0);
    call.number = work.number;
    call.n = work.n;
    call.a_mn = 0;
    call.absent = call.odd = 1000;
}

START_TEST(test_refusals)
{
    reset_call();
    j_passes(call_once);
    call.a |= (uint64_t)1 << 49;
    j_reports(call_once, "which has bits besides address, offsets and "
                         "swizzling");
    reset_call();
    call.b = descriptor(B_AT, 16, 112 << 10, 3);
    j_reports(call_once, "the block has 131072 bytes");
    reset_call();
    call.n = 20;
    j_reports(call_once, "multiplies 64 x 20; n is a multiple of 8 up to 256");
    reset_call();
    call.number = GROAT_CPU_FP8;
    call.a_mn = 1;
    j_reports(call_once, "multiplies mn-major 8-bit floats");
    reset_call();
    call.odd = 64;
    j_reports(call_once, "brings other operands to wgmma than thread");
    reset_call();
    call.absent = 96;
    j_reports(call_once, "at wgmma for other lanes (96 came)");
    reset_call();
    rig_j.threads = 96;
    j_reports(call_once, "comes to wgmma, which needs all 128 lanes of a "
                         "warpgroup; this one has 96");
    rig_j.threads = 128;
    rig_j.arch = "sm_90";
    j_reports(call_once, "comes to wgmma_fence; sm_90 has none");
    rig_j.arch = "sm_100a";
    j_reports(call_once, "comes to wgmma_fence; sm_100a has none");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("judge_wgmma");
    TCase *t = tcase_create("all");

    tcase_add_checked_fixture(t, setup, j_teardown);
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, test_layouts, 0, 2 * (int)COUNT(layouts));
    tcase_add_loop_test(t, test_shapes, 0, 15);
    tcase_add_test(t, test_registers_that_a_fence_has_passed);
    tcase_add_test(t, test_two_warpgroups);
    tcase_add_test(t, test_offsets_are_not_exchanged);
    tcase_add_loop_test(t, test_faults, 0, FAULTS);
    tcase_add_test(t, test_registers_are_poisoned);
    tcase_add_test(t, test_groups);
    tcase_add_loop_test(t, test_engine, 0, 5);
    tcase_add_test(t, test_refusals);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
