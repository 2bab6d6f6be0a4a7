/* SPDX-License-Identifier: Apache-2.0
 *
 * test_judge_mbarrier.c: the judge's mbarriers, elections and warp barriers.
 * Each rule has a kernel that keeps it and one that breaks it; a
 * deadlock is a finding that says which thread waits for what.
 */
#include "judge_rig.h"

enum {
    FULL = 0, /* mbarriers */
    EMPTY = 8,
    SLOT = 1024 /* the bytes after them */
};

/* ---- initialisation ------------------------------------------------------ */

static void make_one(const void *args)
{
    (void)args;
    if (thread() == 0)
        init(rig_j.mode, rig_j.arg);
}

START_TEST(test_init)
{
    static const struct {
        unsigned bar, count;
        const char *words; /* NULL: none */
    } cases[] = {
        {0, 1, NULL},
        {8, (1 << 20) - 1, NULL},
        {J_SHARED - 8, 3, NULL},
        {0, 0, "an mbarrier of 0 arrivals at byte 0; 1 to 1048575"},
        {0, 1 << 20, "an mbarrier of 1048576 arrivals at byte 0"},
        {4, 1, "makes an mbarrier at byte 4 of shared memory, no multiple of"},
        {J_SHARED, 1, "the block has 65536 bytes"},
        {J_SHARED - 4, 1, "the block has 65536 bytes"},
        {0xfffffff8u, 1, "the block has 65536 bytes"},
    };

    rig_j.mode = cases[_i].bar;
    rig_j.arg = cases[_i].count;
    if (cases[_i].words == NULL)
        j_passes(make_one);
    else
        j_reports(make_one, cases[_i].words);
}
END_TEST

static void make_twice(const void *args)
{
    (void)args;
    if (thread() == 0)
        init(FULL, 1);
    if (rig_j.mode == 1)
        block_barrier();
    if (thread() == rig_j.arg)
        init(rig_j.mode == 2 ? EMPTY : FULL, 1);
}

START_TEST(test_init_twice)
{
    rig_j.mode = 2;
    j_passes(make_twice);
    rig_j.mode = 0;
    j_reports(make_twice,
              "at byte 0, where thread 0 made one that is still in use");
    rig_j.mode = 1;
    rig_j.arg = 33;
    j_reports(make_twice,
              "at byte 0, where thread 0 made one that is still in use");
}
END_TEST

/* Makes an mbarrier over bytes that another thread has just accessed. */
static void make_on_data(const void *args)
{
    (void)args;
    if (thread() == 1)
        write4(0, 7);
    if (rig_j.mode == 1)
        block_barrier();
    if (thread() == 0)
        init(0, 1);
    if (rig_j.mode == 2) {
        block_barrier();
        write4(4, 1);
    }
    if (rig_j.mode == 3) {
        block_barrier();
        (void)read4(0);
    }
}

START_TEST(test_bytes_of_a_barrier)
{
    rig_j.mode = 1;
    j_passes(make_on_data);
    rig_j.threads = 2;
    rig_j.mode = 0;
    j_reports(make_on_data, "makes an mbarrier of byte 0 of shared memory, "
                            "which thread 1 wrote|writes byte 0 of shared "
                            "memory, which is part of the mbarrier at byte 0");
    rig_j.mode = 2;
    j_reports(make_on_data, "wrote|is part of the mbarrier at byte 0");
}
END_TEST

static void touch_barrier(const void *args)
{
    (void)args;
    make(FULL, 1);
    made();
    if (thread() == 5 && rig_j.mode == 0)
        write4(4, 1);
    if (thread() == 5 && rig_j.mode == 1)
        (void)read4(0);
}

START_TEST(test_barriers_are_not_data)
{
    j_reports(touch_barrier,
              "thread 5 (wave 0 lane 5) writes byte 4 of shared memory, which "
              "is part of the mbarrier at byte 0");
    rig_j.mode = 1;
    j_reports(touch_barrier, "reads byte 0 of shared memory, which is part of "
                             "the mbarrier at byte 0");
}
END_TEST

/* ---- use before initialisation ------------------------------------------- */

enum { NO_INIT, NO_BARRIER, NO_FENCE, LATE_FENCE, SOUND };

static void use_early(const void *args)
{
    (void)args;
    if (thread() == 0 && rig_j.mode != NO_INIT) {
        init(FULL, 1);
        if (rig_j.mode != NO_FENCE && rig_j.mode != LATE_FENCE)
            init_fence();
    }
    if (rig_j.mode != NO_BARRIER)
        block_barrier();
    if (thread() == 0 && rig_j.mode == LATE_FENCE)
        init_fence();
    if (thread() != 40)
        return;
    if (rig_j.arg == 0)
        arrive(FULL);
    if (rig_j.arg == 1)
        expect(FULL, 0);
    if (rig_j.arg == 2)
        await(FULL, 1);
    if (rig_j.arg == 3) {
        bulk(SLOT, 0, 16, FULL);
        expect(FULL, 16);
        await(FULL, 0);
    }
}

START_TEST(test_use_before_init)
{
    static const char *const verbs[] = {"arrives on", "expects bytes on",
                                        "waits for", "copies on"};
    char words[200];

    rig_j.arg = (unsigned)_i;
    rig_j.mode = SOUND;
    j_passes(use_early);
    rig_j.mode = NO_INIT;
    (void)snprintf(words, sizeof(words),
                   "%s an mbarrier at byte 0 of shared memory, where none was "
                   "made",
                   verbs[_i]);
    j_reports(use_early, words);
    /* Either thread may run first. */
    rig_j.mode = NO_BARRIER;
    (void)snprintf(words, sizeof(words),
                   "%s an mbarrier at byte 0 of shared memory, where none was "
                   "made|which thread 0 made and did not make visible",
                   verbs[_i]);
    j_reports(use_early, words);
}
END_TEST

/* Threads of the block need the barrier; the engine needs the fence as well. */
START_TEST(test_use_without_fence)
{
    for (rig_j.mode = NO_FENCE; rig_j.mode <= LATE_FENCE; rig_j.mode++)
        for (rig_j.arg = 0; rig_j.arg < 4; rig_j.arg++)
            if (rig_j.arg < 3)
                j_passes(use_early);
            else
                j_reports(use_early,
                          "did not make visible to the engine: "
                          "mbarrier_init_fence or a barrier is missing");
}
END_TEST

static void use_elsewhere(const void *args)
{
    (void)args;
    make(FULL, 1);
    made();
    if (thread() == 0)
        await(rig_j.mode, rig_j.arg);
}

START_TEST(test_wait_operands)
{
    rig_j.arg = 1;
    j_passes(use_elsewhere);
    rig_j.arg = 2;
    j_reports(use_elsewhere,
              "waits for parity 2 of the mbarrier at byte 0; 0 and 1");
    rig_j.arg = 1;
    rig_j.mode = 8;
    j_reports(use_elsewhere, "where none was made");
    rig_j.mode = 4;
    j_reports(use_elsewhere, "no multiple of 8");
    rig_j.mode = J_SHARED;
    j_reports(use_elsewhere, "the block has 65536 bytes");
    rig_j.arch = "sm_89";
    j_reports(use_elsewhere,
              "makes an mbarrier; sm_89 has none|sm_89 has no clusters");
    rig_j.arch = "gfx950";
    j_reports(use_elsewhere,
              "makes an mbarrier; gfx950 has none|gfx950 has no clusters");
}
END_TEST

/* ---- counts ------------------------------------------------------------- */

/* `mode` threads arrive, `arg` times each, on a phase of 4. */
static void arrive_often(const void *args)
{
    (void)args;
    make(FULL, 4);
    made();
    for (unsigned i = 0; thread() < rig_j.mode && i < rig_j.arg; i++)
        arrive(FULL);
    await(FULL, rig_j.mode * rig_j.arg / 4 % 2 == 0);
}

START_TEST(test_arrivals)
{
    rig_j.mode = 4;
    rig_j.arg = 1;
    j_passes(arrive_often);
    rig_j.mode = 1;
    rig_j.arg = 4;
    j_passes(arrive_often);
    rig_j.mode = 4;
    rig_j.arg = 2; /* two phases */
    j_passes(arrive_often);
}
END_TEST

/* While bytes are expected the phase stays open, but takes no more arrivals. */
static void arrive_too_often(const void *args)
{
    (void)args;
    make(FULL, 2);
    made();
    if (thread() == 0)
        expect(FULL, 64);
    if (thread() < rig_j.mode)
        arrive(FULL);
    if (thread() == 1) {
        bulk(SLOT, 0, 64, FULL);
        await(FULL, 0);
    }
}

START_TEST(test_too_many_arrivals)
{
    rig_j.mode = 1;
    j_passes(arrive_too_often);
    rig_j.mode = 2;
    j_reports(arrive_too_often, "arrives on the mbarrier at byte 0, of which "
                                "phase 0 has had all of its 2 arrivals");
}
END_TEST

static void expect_much(const void *args)
{
    (void)args;
    make(FULL, 3);
    made();
    if (thread() != 0)
        return;
    expect(FULL, rig_j.mode);
    expect(FULL, 64);
    bulk(SLOT, 0, 64, FULL);
}

START_TEST(test_too_many_bytes)
{
    rig_j.mode = (1 << 20) - 64;
    j_reports(
        expect_much,
        "expects 64 bytes on the mbarrier at byte 0: "
        "together with earlier ones 1048576 bytes; a phase counts at most "
        "1048575");
    rig_j.mode = 1 << 20;
    j_reports(expect_much, "expects 1048576 bytes");
    rig_j.mode = (1 << 20) - 65;
    j_reports(expect_much, "to end, with a bulk copy of thread 0 into byte");
}
END_TEST

/* ---- happens-before ------------------------------------------------------ */

enum {
    HANDS_OVER,
    READS_AT_ONCE,
    ARRIVES_BEFORE_IT_WRITES,
    WAITS_IN_ANOTHER_THREAD,
    SHARES_BEHIND_A_BARRIER
};

/* Thread 0 writes, thread 33 reads. */
static void hand_over(const void *args)
{
    (void)args;
    make(FULL, 1);
    made();
    if (thread() == 0) {
        if (rig_j.mode == ARRIVES_BEFORE_IT_WRITES)
            arrive(FULL);
        write4(SLOT, 99);
        if (rig_j.mode != ARRIVES_BEFORE_IT_WRITES)
            arrive(FULL);
    }
    if (thread() == 33 && rig_j.mode != READS_AT_ONCE &&
        rig_j.mode < WAITS_IN_ANOTHER_THREAD)
        await(FULL, 0);
    if (thread() == 34 && rig_j.mode >= WAITS_IN_ANOTHER_THREAD)
        await(FULL, 0);
    if (rig_j.mode == SHARES_BEHIND_A_BARRIER)
        block_barrier();
    if (thread() == 33)
        put(0, read4(SLOT));
}

START_TEST(test_visibility)
{
    uint32_t got;

    rig_j.mode = HANDS_OVER;
    j_passes(hand_over);
    memcpy(&got, rig_j.out, 4);
    ck_assert_uint_eq(got, 99);
    rig_j.mode = SHARES_BEHIND_A_BARRIER;
    j_passes(hand_over);
    for (rig_j.mode = READS_AT_ONCE; rig_j.mode < SHARES_BEHIND_A_BARRIER;
         rig_j.mode++)
        j_reports(
            hand_over,
            "reads byte 1024 of shared memory, which thread 0 wrote and "
            "nothing made visible here|which nobody has written|writes byte "
            "1024 of shared memory, which thread 33 read and has not "
            "released");
}
END_TEST

enum {
    RELEASES,
    RELEASES_EARLY,
    RELEASES_NEVER,
    WRITES_AT_ONCE,
    RELEASES_FOR_THE_WARP,
    RELEASES_FOR_OTHERS
};

/* Thread 0 writes, warp 1 reads, and thread 0 overwrites the bytes. */
static void take_back(const void *args)
{
    bool early = rig_j.mode == RELEASES_EARLY;
    bool one = rig_j.mode >= RELEASES_FOR_THE_WARP;

    (void)args;
    if (thread() == 0) {
        init(FULL, 1);
        init(EMPTY, one ? 1 : 32);
    }
    made();
    if (thread() == 0) {
        write4(SLOT, 1);
        arrive(FULL);
        if (rig_j.mode != WRITES_AT_ONCE && rig_j.mode != RELEASES_NEVER)
            await(EMPTY, 0);
        if (rig_j.mode == RELEASES_NEVER)
            await(EMPTY, 1);
        write4(SLOT, 2);
    } else if (thread() >= 32) {
        await(FULL, 0);
        if (early)
            arrive(EMPTY);
        put(thread(), read4(SLOT));
        if (rig_j.mode == RELEASES_FOR_THE_WARP)
            warp_barrier();
        if (!early && rig_j.mode != RELEASES_NEVER && (!one || thread() == 32))
            arrive(EMPTY);
    }
}

START_TEST(test_release)
{
    const char *words = "writes byte 1024 of shared memory, which thread |"
                        "reads byte 1024 of shared memory, which thread 0 "
                        "wrote and nothing made visible here";

    rig_j.mode = RELEASES;
    j_passes(take_back);
    rig_j.mode = RELEASES_FOR_THE_WARP;
    j_passes(take_back);
    rig_j.mode = RELEASES_EARLY;
    j_reports(take_back, words);
    rig_j.mode = RELEASES_NEVER;
    j_reports(take_back, words);
    rig_j.mode = WRITES_AT_ONCE;
    j_reports(take_back, words);
    rig_j.mode = RELEASES_FOR_OTHERS;
    j_reports(take_back, words);
}
END_TEST

/* A ring of `arg` slots: one thread fills them, 32 threads read.  Two mbarriers
 * per slot; each round of the slot is a phase of both. */
static void ring(const void *args)
{
    enum { TILES = 23 };
    unsigned slots = rig_j.arg;

    (void)args;
    for (unsigned s = 0; s < slots && thread() == 0; s++) {
        init(16 * s, 1);
        init(16 * s + 8, 32);
    }
    made();
    for (unsigned t = 0; t < TILES; t++) {
        unsigned bar = t % slots * 16;
        unsigned slot = SLOT + t % slots * 128;
        unsigned round = t / slots;

        if (thread() == 0) {
            await(bar + 8, (round & 1) ^ 1);
            bulk(slot, 128 * t, 128, bar);
            expect(bar, 128);
        } else if (thread() >= 32) {
            await(bar, round & 1);
            put(32 * t + thread() - 32, read4(slot + 4 * (thread() - 32)));
            arrive(bar + 8);
        }
    }
}

START_TEST(test_ring)
{
    for (rig_j.arg = 1; rig_j.arg <= 5; rig_j.arg++) {
        memset(rig_j.out, 0, J_OUT);
        j_passes(ring);
        ck_assert_mem_eq(rig_j.out, rig_j.device, 23 * 128);
    }
}
END_TEST

/* ---- deadlocks ----------------------------------------------------------- */

enum {
    LACKS_AN_ARRIVAL,
    LACKS_EXPECT,
    EXPECTS_TOO_MUCH,
    WRONG_PARITY,
    ONE_SLOT,
    BARRIER_AND_WAIT,
    LACKS_LANES,
    STUCKS
};

static void get_stuck(const void *args)
{
    (void)args;
    if (thread() == 0) {
        init(FULL, rig_j.mode == LACKS_AN_ARRIVAL ? 2 : 1);
        init(EMPTY, 1);
    }
    made();
    switch (rig_j.mode) {
    case LACKS_AN_ARRIVAL:
        if (thread() == 0)
            arrive(FULL);
        await(FULL, 0);
        break;
    case LACKS_EXPECT:
        if (thread() == 0)
            bulk(SLOT, 0, 256, FULL);
        await(FULL, 0);
        break;
    case EXPECTS_TOO_MUCH:
        if (thread() == 0) {
            expect(FULL, 512);
            bulk(SLOT, 0, 256, FULL);
        }
        if (thread() >= 32)
            await(FULL, 0);
        break;
    case WRONG_PARITY:
        if (thread() == 0)
            arrive(FULL);
        block_barrier();
        if (thread() == 40)
            await(FULL, 1);
        break;
    case ONE_SLOT:
        /* The reader keeps K until V has come: one slot is too few. */
        if (thread() == 0)
            for (unsigned i = 0; i < 2; i++) {
                await(EMPTY, (i & 1) ^ 1);
                expect(FULL, 128);
                bulk(SLOT, 0, 128, FULL);
            }
        if (thread() == 32) {
            await(FULL, 0);
            await(FULL, 1);
            arrive(EMPTY);
        }
        break;
    case BARRIER_AND_WAIT:
        if (thread() < 8)
            await(FULL, 0);
        block_barrier();
        break;
    default: /* LACKS_LANES */
        if (thread() == 7)
            await(FULL, 0);
        (void)elect();
        break;
    }
}

START_TEST(test_deadlocks)
{
    static const char *const words[STUCKS] = {
        [LACKS_AN_ARRIVAL] =
            "waits for ever, as nobody can go on: thread 0-63 for phase 0 "
            "(parity 0) of the mbarrier at byte 0, which has 1 of 2 arrivals",
        [LACKS_EXPECT] =
            "thread 0-63 for phase 0 (parity 0) of the mbarrier at byte 0, "
            "which has 0 of 1 arrivals, 256 of 0 expected bytes (bytes came "
            "that nobody expects: an expect is missing or too small)",
        [EXPECTS_TOO_MUCH] =
            "thread 32-63 for phase 0 (parity 0) of the mbarrier at byte 0, "
            "which has 1 of 1 arrivals, 256 of 512 expected bytes (bytes are "
            "expected that no copy brings)",
        [WRONG_PARITY] =
            "thread 40 (wave 1 lane 8) waits for ever, as nobody can go on: "
            "thread 40 for phase 1 (parity 1) of the mbarrier at byte 0, which "
            "has 0 of 1 arrivals (phase 0 has completed and this thread did "
            "not wait for it: the parity is wrong",
        [ONE_SLOT] =
            "thread 0 for phase 0 (parity 0) of the mbarrier at byte 8, which "
            "has 0 of 1 arrivals (nobody arrives in this phase: an arrival is "
            "missing, or the wait should be for parity 1, which a new mbarrier "
            "has behind it); thread 32 for phase 1 (parity 1) of the "
            "mbarrier at byte 0, which has 0 of 1 arrivals (nobody arrives in "
            "this phase: an arrival is missing, or the wait is for a phase too "
            "late)",
        [BARRIER_AND_WAIT] =
            "thread 0-7 for phase 0 (parity 0) of the mbarrier at byte 0, "
            "which has 0 of 1 arrivals (nobody arrives in this phase: an "
            "arrival is missing, or the wait should be for parity 1, which a "
            "new mbarrier has behind it); thread 8-63 at the block's barrier "
            "for "
            "8 others",
        [LACKS_LANES] = "thread 0-6, 8-31 at elect for other lanes (31 came); "
                        "thread 7 for phase 0",
    };

    rig_j.mode = (unsigned)_i;
    j_reports(get_stuck, words[_i]);
}
END_TEST

/* ---- warps --------------------------------------------------------------- */

static void elect_twice(const void *args)
{
    unsigned first = elect();
    unsigned second;

    (void)args;
    warp_barrier();
    second = elect();
    put(2 * thread(), first);
    put(2 * thread() + 1, second);
}

START_TEST(test_elect)
{
    uint32_t got[128][2];
    unsigned leaders = 0;

    rig_j.threads = 128;
    for (uint64_t seed = 0; seed < 8; seed++) {
        ck_assert_int_eq(j_judge(elect_twice, seed), GROAT_OK);
        memcpy(got, rig_j.out, sizeof(got));
        for (unsigned w = 0; w < 4; w++) {
            unsigned chosen = 0;

            for (unsigned l = 0; l < 32; l++) {
                chosen += got[32 * w + l][0];
                ck_assert_uint_eq(got[32 * w + l][0], got[32 * w + l][1]);
                leaders |= got[32 * w + l][0] << l;
            }
            ck_assert_uint_eq(chosen, 1);
        }
    }
    /* Not always the same lane is elected. */
    ck_assert((leaders & (leaders - 1)) != 0);
}
END_TEST

static void elect_in_a_branch(const void *args)
{
    (void)args;
    if (rig_j.mode == 0 && thread() % 2 == 0)
        (void)elect();
    if (rig_j.mode == 1 && thread() == 9)
        warp_barrier();
    if (rig_j.mode >= 1)
        (void)elect();
}

START_TEST(test_elect_needs_its_warp)
{
    j_reports(elect_in_a_branch, "at elect for other lanes (16 came)");
    rig_j.mode = 1;
    j_reports(elect_in_a_branch,
              "where thread 9 of its wave came to warp_barrier|comes to "
              "warp_barrier where thread");
    rig_j.mode = 2;
    rig_j.threads = 48;
    j_reports(elect_in_a_branch, "comes to elect, which needs all 32 lanes of "
                                 "a wave; this one has 16");
    rig_j.threads = 32;
    rig_j.arch = "sm_80";
    j_reports(elect_in_a_branch, "elects a lane; sm_80 cannot");
}
END_TEST

static void exchange(const void *args)
{
    (void)args;
    write4(4 * thread(), thread());
    if (rig_j.mode == 0)
        warp_barrier();
    put(thread(), read4(4 * (thread() ^ rig_j.arg)));
}

START_TEST(test_warp_barrier)
{
    rig_j.arg = 21;
    j_passes(exchange);
    for (unsigned t = 0; t < 64; t++) {
        uint32_t got;

        memcpy(&got, rig_j.out + 4 * t, 4);
        ck_assert_uint_eq(got, t ^ 21);
    }
    rig_j.mode = 1;
    j_reports(exchange, "wrote|which nobody has written");
    rig_j.mode = 0;
    rig_j.arg = 32;
    j_reports(exchange, "wrote and nothing made visible here|which nobody has "
                        "written");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("judge_mbarrier");
    TCase *t = tcase_create("all");

    tcase_add_checked_fixture(t, j_setup, j_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, test_init, 0, 9);
    tcase_add_test(t, test_init_twice);
    tcase_add_test(t, test_bytes_of_a_barrier);
    tcase_add_test(t, test_barriers_are_not_data);
    tcase_add_loop_test(t, test_use_before_init, 0, 4);
    tcase_add_test(t, test_use_without_fence);
    tcase_add_test(t, test_wait_operands);
    tcase_add_test(t, test_arrivals);
    tcase_add_test(t, test_too_many_arrivals);
    tcase_add_test(t, test_too_many_bytes);
    tcase_add_test(t, test_visibility);
    tcase_add_test(t, test_release);
    tcase_add_test(t, test_ring);
    tcase_add_loop_test(t, test_deadlocks, 0, STUCKS);
    tcase_add_test(t, test_elect);
    tcase_add_test(t, test_elect_needs_its_warp);
    tcase_add_test(t, test_warp_barrier);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
