/* SPDX-License-Identifier: Apache-2.0
 *
 * meet.c is where threads come together: AMD's waves at waits and fences,
 * NVIDIA's warps and warpgroups at the instructions that need all of their
 * lanes, blocks and clusters at their barriers.  Who runs meanwhile, and when a
 * barrier opens, is schedule.c's.
 */
#include "judge/meet.h"

#include <string.h>

#include "judge/fiber.h"
#include "judge/order.h"
#include "judge/trace.h"

static const struct {
    const char *name;
    size_t waves; /* that take part; 1 a warp, else a warpgroup */
} joints[] = {
    [GROAT__ELECT] = {"elect", 1},
    [GROAT__SHUFFLE] = {"a shuffle or vote", 1},
    [GROAT__WARP_BARRIER] = {"warp_barrier", 1},
    [GROAT__WGMMA_FENCE] = {"wgmma_fence", 1},
    [GROAT__WGMMA_COMMIT] = {"wgmma_commit", 1},
    [GROAT__WGMMA_WAIT] = {"wgmma_wait", 1},
    [GROAT__WGMMA] = {"wgmma", GROAT__JUDGE_WARPGROUP},
};

/* ---- waves that meet --------------------------------------------------- */

/* No lane of an AMD wave goes on before all have come. */
void groat__judge_meet(groat__judge *j, groat__fiber_state where)
{
    if (groat__judge_is_amd(j))
        groat__judge_stop(j, where);
}

void groat__judge_shared_fence(struct groat_cpu_env *env)
{
    groat__judge *j = groat__judge_enter(env);

    groat__judge_fiber(j)->unfenced = false;
    groat__judge_meet(j, GROAT__MEETING);
}

/* ---- warps and warpgroups that come together --------------------------- */

const char *groat__judge_joint_name(groat__joint joint)
{
    return joints[joint].name;
}

/* The fibers that take part with the current one: [*first, end). */
static size_t partners(const groat__judge *j, groat__joint joint, size_t *first,
                       groat__meeting **meeting)
{
    size_t waves = joints[joint].waves;
    size_t wave = groat__judge_wave_of(j, j->current);
    size_t in_block = wave % j->block_waves;

    wave -= in_block % waves;
    *meeting = &j->meetings[waves == 1 ? wave : j->wave_count + wave];
    return groat__judge_lanes(j, wave, waves, first);
}

static const char *group_name(groat__joint joint)
{
    return joints[joint].waves == 1 ? "wave" : "warpgroup";
}

bool groat__judge_join(groat__judge *j, groat__joint joint,
                       const uint64_t detail[4])
{
    size_t needed = joints[joint].waves * (size_t)j->launch->arch->wave_lanes;
    groat__meeting *meeting;
    size_t first;
    size_t end = partners(j, joint, &first, &meeting);

    /* A block's last warp may be short. */
    if (joint == GROAT__SHUFFLE || joint == GROAT__WARP_BARRIER)
        needed = end - first;
    if (end - first != needed)
        groat__judge_report(j,
                            "comes to %s, which needs all %zu lanes of a %s; "
                            "this one has %zu",
                            joints[joint].name, needed, group_name(joint),
                            end - first);
    if (meeting->came == 0) {
        meeting->joint = joint;
        meeting->first = j->current;
        memcpy(meeting->detail, detail, sizeof(meeting->detail));
    }
    if (meeting->joint != joint)
        groat__judge_report(
            j, "comes to %s where thread %zu of its %s came to %s",
            joints[joint].name, groat__judge_thread_of(j, meeting->first),
            group_name(joint), joints[meeting->joint].name);
    if (memcmp(meeting->detail, detail, sizeof(meeting->detail)) != 0)
        groat__judge_report(
            j,
            "brings other operands to %s than thread %zu of its %s: they must "
            "be equal in all lanes",
            joints[joint].name, groat__judge_thread_of(j, meeting->first),
            group_name(joint));
    if (++meeting->came < needed) {
        groat__judge_stop(j, GROAT__JOINED);
        return false;
    }
    meeting->came = 0;
    for (size_t t = first; t < end; t++)
        if (t != j->current)
            j->fibers[t].state = GROAT__READY;
    return true;
}

/* The same lane each time, which one no kernel may know. */
unsigned groat__judge_elect(struct groat_cpu_env *env)
{
    static const uint64_t nothing[4] = {0};
    groat__judge *j = groat__judge_enter(env);
    uint64_t wave = groat__judge_wave_of(j, j->current);
    uint64_t leader =
        j->launch->seed == 0
            ? 0
            : (j->launch->seed * 0x9E3779B97F4A7C15u + wave * 0x94D049BBu) >>
                  32;

    if (!j->launch->arch->tma)
        groat__judge_report(j, "elects a lane; %s cannot",
                            j->launch->arch->name);
    (void)groat__judge_join(j, GROAT__ELECT, nothing);
    return groat__judge_lane(j) == leader % (size_t)j->launch->arch->wave_lanes;
}

void groat__judge_warp_barrier(struct groat_cpu_env *env)
{
    static const uint64_t nothing[4] = {0};
    groat__judge *j = groat__judge_enter(env);
    groat__meeting *meeting;
    size_t first;
    size_t end;

    if (groat__judge_is_amd(j))
        groat__judge_report(j, "comes to warp_barrier; %s has none",
                            j->launch->arch->name);
    groat__judge_clocks_on(j);
    if (!groat__judge_join(j, GROAT__WARP_BARRIER, nothing))
        return;
    end = partners(j, GROAT__WARP_BARRIER, &first, &meeting);
    groat__judge_clock_sync(j, first, end);
}

/* ---- barriers ---------------------------------------------------------- */

static void wait_at(groat__judge *j, groat__fiber_state where)
{
    groat__judge_note_wait(j, GROAT_ACCESS_WAIT, GROAT__JUDGE_NO_MBARRIER, 0);
    groat__judge_stop(j, where);
    groat__judge_note_wait(j, GROAT_ACCESS_RESUME, GROAT__JUDGE_NO_MBARRIER, 0);
}

void groat__judge_block_barrier(struct groat_cpu_env *env)
{
    groat__judge *j = groat__judge_enter(env);
    groat__fiber *f = groat__judge_fiber(j);

    if (groat__judge_is_amd(j) && f->unfenced)
        groat__judge_report(
            j, "reaches a barrier with stores to shared memory that no "
               "shared_fence completed");
    f->unfenced = false;
    wait_at(j, GROAT__AT_BARRIER);
}

void groat__judge_cluster_barrier(struct groat_cpu_env *env)
{
    groat__judge *j = groat__judge_enter(env);

    if (!j->launch->arch->tma)
        groat__judge_report(j, "comes to cluster_barrier; %s has no clusters",
                            j->launch->arch->name);
    groat__judge_clocks_on(j);
    wait_at(j, GROAT__AT_CLUSTER);
}
