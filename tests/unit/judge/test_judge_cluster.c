/* SPDX-License-Identifier: Apache-2.0
 *
 * test_judge_cluster.c: clusters on the judge: ranks and barriers, mbarriers
 * and shared memory of other blocks, and blocks that end too early.
 */
#include "judge_rig.h"

enum {
    FULL = 0, /* mbarriers */
    EMPTY = 8,
    SLOT = 1024 /* the bytes after them */
};

static void tell_ranks(const void *args)
{
    (void)args;
    cluster_barrier();
    if (thread() == 0)
        put(env->block[0], rank() + 100 * env->block[0]);
}

START_TEST(test_ranks)
{
    rig_j.blocks = 8;
    for (rig_j.cluster = 1; rig_j.cluster <= 8; rig_j.cluster *= 2) {
        j_passes(tell_ranks);
        for (unsigned b = 0; b < 8; b++) {
            uint32_t got;

            memcpy(&got, rig_j.out + 4 * b, 4);
            ck_assert_uint_eq(got, b % rig_j.cluster + 100 * b);
        }
    }
}
END_TEST

/* Each block reads what the other one wrote. */
enum { RIGHT, NOT_WRITTEN_YET, ENDED, NO_SUCH_BLOCK, MISALIGNED, OVERWRITTEN };

static void read_peer(const void *args)
{
    unsigned got = 0;

    (void)args;
    if (thread() == 0)
        write4(SLOT, 100 + rank());
    if (rig_j.mode != NOT_WRITTEN_YET)
        cluster_barrier();
    if (thread() == 33)
        env->ops->cluster_load(env, SLOT + (rig_j.mode == MISALIGNED ? 2 : 0),
                               rig_j.mode == NO_SUCH_BLOCK ? 2 : 1 - rank(),
                               &got, 4);
    if (rig_j.mode == OVERWRITTEN && thread() == 1)
        write4(SLOT, 7);
    if (rig_j.mode != ENDED)
        cluster_barrier();
    if (thread() == 33)
        put(env->block[0], got);
}

START_TEST(test_reads_of_a_peer)
{
    static const char *const words[] = {
        NULL,
        "which nobody has written|which thread 0 wrote and nothing made "
        "visible here",
        NULL,
        "reads shared memory of block 2 of its cluster of 2",
        "reads 4 bytes at byte 1026 of shared memory, misaligned",
        "which thread 33 read and has not released|which thread 1 wrote and "
        "nothing made visible here",
    };
    uint32_t got[2];

    rig_j.blocks = rig_j.cluster = 2;
    j_passes(read_peer);
    memcpy(got, rig_j.out, sizeof(got));
    ck_assert_uint_eq(got[0], 101);
    ck_assert_uint_eq(got[1], 100);
    for (rig_j.mode = NOT_WRITTEN_YET; rig_j.mode <= OVERWRITTEN; rig_j.mode++)
        if (rig_j.mode != ENDED)
            j_reports(read_peer, words[rig_j.mode]);
}
END_TEST

/* Whether a block has ended before the other reads it depends on the order. */
START_TEST(test_reads_of_a_block_that_ended)
{
    unsigned found = 0;

    rig_j.blocks = rig_j.cluster = 2;
    rig_j.mode = ENDED;
    for (uint64_t seed = 0; seed < 40; seed++)
        if (j_judge(read_peer, seed) == GROAT_JUDGED) {
            ck_says(&rig_j.error, "of its cluster, which has ended: "
                                  "cluster_barrier is missing");
            found++;
        }
    ck_assert_uint_gt(found, 0);
}
END_TEST

START_TEST(test_cluster_shapes)
{
    rig_j.blocks = 1u << 31;
    ck_fails(j_judge(tell_ranks, 0), GROAT_INVALID, &rig_j.error,
             "a grid of 2147483648,1,1 blocks; sm_90a allows 2147483647 of x");
    rig_j.blocks = 1;
    rig_j.rows = 65536;
    ck_fails(j_judge(tell_ranks, 0), GROAT_INVALID, &rig_j.error,
             "a grid of 1,65536,65536 blocks; sm_90a allows 2147483647 of x, "
             "65535 of y and of z");
    rig_j.blocks = 1u << 22;
    rig_j.rows = 1u << 21;
    rig_j.arch = "gfx950";
    ck_fails(j_judge(tell_ranks, 0), GROAT_INVALID, &rig_j.error,
             "gfx950 allows 2147483647 of each, 2^32 - 1 threads of each, "
             "2^64 - 1 blocks together");
    rig_j.rows = 1;
    /* HIP takes less than 2^32 work-items of a dimension. */
    rig_j.blocks = 1u << 26;
    ck_fails(j_judge(tell_ranks, 0), GROAT_INVALID, &rig_j.error,
             "a grid of 67108864,1,1 blocks; gfx950 allows");
    rig_j.arch = "sm_90a";
    rig_j.blocks = 3;
    rig_j.cluster = 2;
    ck_fails(j_judge(tell_ranks, 0), GROAT_INVALID, &rig_j.error,
             "a grid of 3,1,1 blocks is not a multiple of clusters of 2,1,1");
    rig_j.blocks = rig_j.cluster = 32;
    ck_fails(j_judge(tell_ranks, 0), GROAT_INVALID, &rig_j.error,
             "clusters of 32,1,1 blocks; sm_90a allows 16");
    rig_j.blocks = rig_j.cluster = 2;
    rig_j.arch = "sm_80";
    ck_fails(j_judge(tell_ranks, 0), GROAT_INVALID, &rig_j.error,
             "sm_80 allows 1");
    rig_j.cluster = 1;
    j_reports(tell_ranks, "comes to cluster_barrier; sm_80 has no clusters");
}
END_TEST

enum { FAR, FAR_NO_FENCE, FAR_NO_RANK, FAR_LACKS };

/* Thread 0 of each block arrives on the mbarrier of both blocks. */
static void arrive_far(const void *args)
{
    (void)args;
    make(FULL, 2);
    if (rig_j.mode == FAR_NO_FENCE)
        cluster_barrier();
    else
        made();
    if (thread() == 0 && rig_j.mode != FAR_LACKS) {
        arrive_peer(FULL, 0);
        arrive_peer(FULL, rig_j.mode == FAR_NO_RANK ? 2 : 1);
    }
    await(FULL, 0);
    put(rank(), rank() + 1);
    cluster_barrier();
}

START_TEST(test_remote_arrivals)
{
    uint32_t got[2];

    rig_j.blocks = rig_j.cluster = 2;
    j_passes(arrive_far);
    memcpy(got, rig_j.out, sizeof(got));
    ck_assert_uint_eq(got[0], 1);
    ck_assert_uint_eq(got[1], 2);
    rig_j.mode = FAR_NO_FENCE;
    j_reports(arrive_far, "which thread 0 made and did not make visible: "
                          "mbarrier_init_fence or a barrier is missing");
    rig_j.mode = FAR_NO_RANK;
    j_reports(arrive_far,
              "arrives on an mbarrier of block 2 of its cluster of 2");
    rig_j.mode = FAR_LACKS;
    j_reports(arrive_far,
              "in block 0 of the cluster thread 0-63 for phase 0 (parity 0) "
              "of the mbarrier at byte 0, which has 0 of 2 arrivals "
              "(nobody arrives in this phase: an arrival is missing, or the "
              "wait should be for parity 1, which a new mbarrier has behind "
              "it); in block 1 of the cluster thread 0-63 for phase 0");
}
END_TEST

/* Blocks of a cluster run concurrently, and end in any order. */
static void end_early(const void *args)
{
    (void)args;
    make(FULL, 1);
    make(EMPTY, 1);
    made();
    if (rank() == 1)
        return;
    if (thread() == 0) {
        expect(EMPTY, 16);
        bulk(SLOT, 0, 16, EMPTY);
        await(EMPTY, 0);
        arrive_peer(FULL, 1);
    }
}

START_TEST(test_blocks_that_ended)
{
    rig_j.blocks = rig_j.cluster = 2;
    j_reports(end_early, "arrives on the mbarrier at byte 0 of block 1 of its "
                         "cluster, which has ended: cluster_barrier is "
                         "missing");
}
END_TEST

enum { ENDS_AT_ONCE, WAITS_FOR_IT, MEETS };

/* Block 0 arrives on block 1's mbarrier; block 1 must not end before that. */
static void end_unaware(const void *args)
{
    (void)args;
    make(FULL, 1);
    made();
    if (rank() == 0 && thread() == 7)
        arrive_peer(FULL, 1);
    if (rank() == 1 && thread() == 40 && rig_j.mode == WAITS_FOR_IT)
        await(FULL, 0);
    if (rig_j.mode == MEETS)
        cluster_barrier();
}

START_TEST(test_arrivals_at_the_end)
{
    rig_j.blocks = rig_j.cluster = 2;
    j_reports(end_unaware,
              "of the arrival of thread 7 of block 0 of its cluster on the "
              "mbarrier at byte 0: cluster_barrier is missing|of block 1 of "
              "its cluster, which has ended: cluster_barrier is missing");
    rig_j.mode = WAITS_FOR_IT;
    j_passes(end_unaware);
    rig_j.mode = MEETS;
    j_passes(end_unaware);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("judge_cluster");
    TCase *t = tcase_create("all");

    tcase_add_checked_fixture(t, j_setup, j_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_ranks);
    tcase_add_test(t, test_reads_of_a_peer);
    tcase_add_test(t, test_reads_of_a_block_that_ended);
    tcase_add_test(t, test_cluster_shapes);
    tcase_add_test(t, test_remote_arrivals);
    tcase_add_test(t, test_blocks_that_ended);
    tcase_add_test(t, test_arrivals_at_the_end);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
