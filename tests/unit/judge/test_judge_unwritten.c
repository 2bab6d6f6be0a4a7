/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared memory that no thread wrote: a read is no fault until the value
 * reaches an output, a branch or an address.
 */
#include <float.h>

#include "tests/unit/judge/judge_rig.h"

/* Offsets that no thread writes, unless a test says so. */
enum { HARMLESS = 512, GUILTY = 1024 };

static float as_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static void add(unsigned index, unsigned x)
{
    (void)env->ops->global_atomic(env, device(rig_j.out) + 4ull * index,
                                  GROAT_CPU_ATOMIC_ADD, x, 0);
}

/* ---- no fault ---------------------------------------------------------- */

/* Rows of a product that no thread stores. */
static void read_padding(const void *args)
{
    uint32_t mine;

    (void)args;
    if (thread() < 16)
        write4(4 * thread(), thread());
    block_barrier();
    mine = read4(4 * thread());
    if (thread() < 16)
        put(thread(), mine);
}

/* A change of device memory takes effect once, however often it is rerun. */
static void change_in_place(const void *args)
{
    uint32_t x;

    (void)args;
    (void)read4(HARMLESS);
    env->ops->global_load(env, device(rig_j.out) + 4ull * thread(), &x, 4);
    put(thread(), x + 1);
    put(thread(), 2 * (x + 1));
    add(1024, 3);
}

START_TEST(unused_values_are_no_fault)
{
    const uint32_t before = 0xA5A5A5A5u;

    j_passes(read_padding);
    for (unsigned t = 0; t < rig_j.threads; t++) {
        uint32_t got;

        memcpy(&got, rig_j.out + 4 * t, 4);
        ck_assert_uint_eq(got, t < 16 ? t : before);
    }
}
END_TEST

START_TEST(memory_changes_once)
{
    const uint32_t before = 0xA5A5A5A5u;
    uint32_t got;

    ck_assert_msg(j_judge(change_in_place, (unsigned)_i) == GROAT_OK, "%s",
                  rig_j.error.text);
    for (unsigned t = 0; t < rig_j.threads; t++) {
        memcpy(&got, rig_j.out + 4 * t, 4);
        ck_assert_uint_eq(got, 2 * (before + 1));
    }
    memcpy(&got, rig_j.out + 4096, 4);
    ck_assert_uint_eq(got, before + 3 * rig_j.threads);
}
END_TEST

static unsigned events;

static void count_event(void *user, const groat_trace *event)
{
    (void)user;
    events += event->access == GROAT_ACCESS_READ;
}

/* Accesses of a cluster that runs again are traced once. */
START_TEST(accesses_are_told_once)
{
    events = 0;
    rig_j.trace = count_event;
    ck_assert_msg(j_judge(read_padding, 0) == GROAT_OK, "%s", rig_j.error.text);
    ck_assert_uint_eq(events, rig_j.threads / 32);
}
END_TEST

/* ---- a fault ----------------------------------------------------------- */

static void to_output(const void *args)
{
    (void)args;
    put(thread(), read4(GUILTY + 4 * thread()));
}

static void to_atomic(const void *args)
{
    (void)args;
    add(0, read4(GUILTY + 4 * thread()));
}

static void to_branch(const void *args)
{
    (void)args;
    if (as_float(read4(GUILTY + 4 * thread())) > 0.0f)
        put(thread(), 1);
}

static void to_zero_test(const void *args)
{
    (void)args;
    if (read4(GUILTY) != 0 && thread() == 0)
        put(0, 1);
}

static void to_address(const void *args)
{
    (void)args;
    put(0, read4(read4(GUILTY) % 64 * 4));
}

static void to_device_address(const void *args)
{
    uint32_t x;

    (void)args;
    env->ops->global_load(
        env, device(rig_j.device) + read4(GUILTY + 4 * thread()) % 256 * 4ull,
        &x, 4);
}

/* Multiplying by zero does not hide a value that may be a NaN. */
static void to_product(const void *args)
{
    float x = as_float(read4(GUILTY + 4 * thread())) * 0.0f + 1.0f;

    (void)args;
    put(thread(), x > FLT_MAX || x != x ? 2 : (uint32_t)x);
}

/* Copying an unwritten value within shared memory does not hide it. */
static void to_copy(const void *args)
{
    (void)args;
    write4(4 * thread(), read4(GUILTY + 4 * thread()));
    block_barrier();
    put(thread(), read4(4 * (63 - thread())));
}

/* The finding names the read that matters, not an earlier harmless one. */
static void behind_harmless(const void *args)
{
    (void)args;
    (void)read4(HARMLESS);
    block_barrier();
    put(thread(), read4(GUILTY));
}

static const struct {
    void (*entry)(const void *args);
    const char *words;
} faults[] = {
    {to_output, "reads byte 1024 of|reads byte 1"},
    {to_atomic, "reads byte 1"},
    {to_branch, "reads byte 1"},
    {to_zero_test, "reads byte 1024 of"},
    {to_address, "reads byte 1024 of"},
    {to_device_address, "reads byte 1"},
    {to_product, "reads byte 1"},
    {to_copy, "reads byte 1"},
    {behind_harmless, "reads byte 1024 of"},
};

START_TEST(used_values_are_found)
{
    j_reports(faults[_i].entry, faults[_i].words);
    ck_assert_msg(strstr(rig_j.error.text, "which nobody has written") != NULL,
                  "%s", rig_j.error.text);
}
END_TEST

/* The last wave reads what the first one writes, with no barrier in between.
 * The read is named whichever runs first. */
static void read_too_early(const void *args)
{
    (void)args;
    if (thread() >= 32)
        (void)read4(4 * (thread() - 32));
    else
        write4(4 * thread(), 1);
}

START_TEST(early_reads_are_found)
{
    j_reports(read_too_early, "reads byte ");
}
END_TEST

/* A fault that does not depend on the unwritten value. */
static void fail_otherwise(const void *args)
{
    (void)args;
    (void)read4(HARMLESS);
    if (thread() == 5)
        put(J_OUT, 0);
}

/* A fault that the unwritten value causes. */
static void fail_thereby(const void *args)
{
    (void)args;
    put(J_OUT + (read4(GUILTY) & 0xff), 0);
}

/* The cluster deadlocks before it can use the unwritten value. */
static void wait_for_ever(const void *args)
{
    uint32_t x;

    (void)args;
    make(0, 2);
    made();
    x = read4(GUILTY);
    arrive(0);
    await(0, thread() == 0 ? 0 : 1);
    block_barrier();
    put(thread(), x);
}

/* Blocks before it read the same bytes in another order, to no harm. */
static void one_block_of_eight(const void *args)
{
    uint32_t x;

    (void)args;
    if (env->block[0] % 8 == 7) {
        x = read4(GUILTY);
        (void)read4(HARMLESS);
        put(thread(), x);
    } else {
        (void)read4(HARMLESS);
        (void)read4(GUILTY);
    }
}

START_TEST(each_block_is_tried_alone)
{
    rig_j.blocks = 64;
    j_reports(one_block_of_eight, "reads byte 1024 of");
}
END_TEST

START_TEST(other_findings_stand)
{
    rig_j.threads = 1;
    j_reports(wait_for_ever, "reads byte 1024 of");
    rig_j.threads = 64;
    j_reports(fail_otherwise, "writes 4 bytes at device address");
    j_reports(fail_thereby, "reads byte 1024 of");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("judge_unwritten");
    TCase *tests = tcase_create("judge_unwritten");

    tcase_add_checked_fixture(tests, j_setup, j_teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, unused_values_are_no_fault);
    tcase_add_loop_test(tests, memory_changes_once, 0, 3);
    tcase_add_test(tests, accesses_are_told_once);
    tcase_add_loop_test(tests, used_values_are_found, 0,
                        (int)(sizeof(faults) / sizeof(*faults)));
    tcase_add_test(tests, early_reads_are_found);
    tcase_add_test(tests, each_block_is_tried_alone);
    tcase_add_test(tests, other_findings_stand);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
