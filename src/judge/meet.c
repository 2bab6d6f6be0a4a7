/* SPDX-License-Identifier: Apache-2.0
 *
 * meet.c makes threads wait for each other: AMD's waves at waits and fences,
 * NVIDIA's warps and warpgroups at the instructions that need all of their
 * lanes, blocks and clusters at their barriers.  schedule.c decides which
 * threads run meanwhile, and when a barrier opens.
 */
#include "judge/meet.h"

#include <string.h>

#include "judge/fiber.h"
#include "judge/order.h"
#include "judge/trace.h"

static const struct {
    const char *name;
    size_t waves; /* that take part: 1 is a warp, 4 a warpgroup */
} joints[] = {
    [GROAT__ELECT] = {"elect", 1},
    [GROAT__SHUFFLE] = {"a shuffle or vote", 1},
    [GROAT__WARP_BARRIER] = {"warp_barrier", 1},
    [GROAT__NAMED_BARRIER] = {"a barrier of a part of the block", 1},
    [GROAT__WARP_MATRIX] = {"a matrix operation", 1},
    [GROAT__WGMMA_FENCE] = {"wgmma_fence", 1},
    [GROAT__WGMMA_COMMIT] = {"wgmma_commit", 1},
    [GROAT__WGMMA_WAIT] = {"wgmma_wait", 1},
    [GROAT__WGMMA] = {"wgmma", GROAT__JUDGE_WARPGROUP},
};

/* ---- waves that meet --------------------------------------------------- */

/* No lane of an AMD wave continues before all have arrived. */
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

const char *groat__judge_joint_name(const groat__judge *j, groat__joint joint)
{
    return groat__judge_call(j, joints[joint].name);
}

/* The fibers of [first, end) that take part: those with bit n of mask for fiber
 * first + n, or all if mask is 0. */
typedef struct party {
    size_t first, end;
    uint64_t mask;
    size_t needed;
    groat__meeting *meeting;
} party;

static bool is_in(const party *p, size_t fiber)
{
    return p->mask == 0 || (p->mask >> (fiber - p->first) & 1) != 0;
}

/* Returns the fiber that arrived first at the meeting of a mask: one that waits
 * there, or `fiber` if none does. */
static size_t host_of(const groat__judge *j, const party *p, size_t fiber)
{
    for (size_t t = p->first; t < p->end; t++)
        if (is_in(p, t) && j->meetings[2 * j->wave_count + t].came > 0 &&
            j->fibers[t].mask == p->mask)
            return t;
    return fiber;
}

/* Returns the fibers that must join with this one, and their meeting. */
static party partners(const groat__judge *j, groat__joint joint, size_t fiber)
{
    size_t waves = joints[joint].waves;
    size_t wave = groat__judge_wave_of(j, fiber);
    size_t in_block = wave % j->block_waves;
    bool some = joint == GROAT__SHUFFLE || joint == GROAT__WARP_BARRIER ||
                joint == GROAT__NAMED_BARRIER;
    party p = {.mask = some ? j->fibers[fiber].mask : 0};

    wave -= in_block % waves;
    p.end = groat__judge_lanes(j, wave, waves, &p.first);
    p.meeting = &j->meetings[waves == 1 ? wave : j->wave_count + wave];
    /* A block's last warp may be short. */
    p.needed =
        some ? p.end - p.first : waves * (size_t)j->launch->arch->wave_lanes;
    if (p.mask != 0) {
        p.needed = (size_t)__builtin_popcountll(p.mask);
        p.meeting = &j->meetings[2 * j->wave_count + host_of(j, &p, fiber)];
    }
    return p;
}

const groat__meeting *groat__judge_meeting_of(const groat__judge *j,
                                              size_t fiber)
{
    const groat__meeting *meeting = partners(j, GROAT__SHUFFLE, fiber).meeting;

    return meeting->came != 0 ? meeting
                              : partners(j, GROAT__WGMMA, fiber).meeting;
}

void groat__judge_take_lanes(struct groat_cpu_env *env, unsigned long long mask)
{
    groat__judge *j = groat__judge_enter(env);
    groat__fiber *f = groat__judge_fiber(j);
    party all;
    uint64_t here;

    f->mask = 0;
    all = partners(j, GROAT__SHUFFLE, j->current);
    here = all.needed < 64 ? ((uint64_t)1 << all.needed) - 1 : ~(uint64_t)0;
    if ((mask & here) == here)
        return;
    if ((mask >> groat__judge_lane(j) & 1) == 0)
        groat__judge_report(j,
                            "calls a warp operation with the mask 0x%llx, "
                            "which lacks its own lane",
                            mask);
    f->mask = mask & here;
}

unsigned groat__judge_active_lanes(struct groat_cpu_env *env)
{
    groat__judge *j = groat__judge_enter(env);

    groat__judge_stop(j, GROAT__GATHERING);
    return (unsigned)groat__judge_fiber(j)->answer;
}

bool groat__judge_gather(groat__judge *j)
{
    bool any = false;

    for (size_t wave = 0; wave < j->wave_count; wave++) {
        size_t first;
        size_t end = groat__judge_lanes(j, wave, 1, &first);
        uint64_t lanes = 0;
        int32_t site = 0;

        for (size_t t = first; t < end; t++) {
            if (j->fibers[t].state != GROAT__GATHERING)
                continue;
            site = lanes == 0 ? j->fibers[t].site : site;
            if (j->fibers[t].site == site)
                lanes |= (uint64_t)1 << (t - first);
        }
        for (size_t t = first; t < end; t++)
            if ((lanes >> (t - first) & 1) != 0) {
                j->fibers[t].answer = lanes;
                j->fibers[t].state = GROAT__READY;
            }
        any = any || lanes != 0;
    }
    return any;
}

static const char *group_name(groat__joint joint)
{
    return joints[joint].waves == 1 ? "wave" : "warpgroup";
}

static void check_party(groat__judge *j, groat__joint joint, const party *p,
                        const uint64_t detail[4])
{
    const groat__meeting *meeting = p->meeting;
    size_t other = groat__judge_thread_of(j, meeting->first);

    if (meeting->joint == joint &&
        memcmp(meeting->detail, detail, sizeof(meeting->detail)) == 0)
        return;
    groat__judge_add_place(j, j->fibers[meeting->first].site, "thread %zu",
                           other);
    if (meeting->joint != joint)
        groat__judge_report(
            j, "comes to %s where thread %zu of its %s came to %s",
            groat__judge_joint_name(j, joint), other, group_name(joint),
            groat__judge_joint_name(j, meeting->joint));
    groat__judge_report(
        j,
        "brings other operands to %s than thread %zu of its %s, or comes to "
        "another one: all lanes must come to the same one, with equal operands",
        groat__judge_joint_name(j, joint), other, group_name(joint));
}

bool groat__judge_join(groat__judge *j, groat__joint joint,
                       const uint64_t detail[4])
{
    party p = partners(j, joint, j->current);
    groat__meeting *meeting = p.meeting;

    if (p.end - p.first < p.needed)
        groat__judge_report(j,
                            "comes to %s, which needs all %zu lanes of a %s; "
                            "this one has %zu",
                            groat__judge_joint_name(j, joint), p.needed,
                            group_name(joint), p.end - p.first);
    if (meeting->came == 0) {
        meeting->joint = joint;
        meeting->first = j->current;
        memcpy(meeting->detail, detail, sizeof(meeting->detail));
    }
    check_party(j, joint, &p, detail);
    if (++meeting->came < p.needed) {
        groat__judge_stop(j, GROAT__JOINED);
        if (!groat__judge_fiber(j)->leads)
            return false;
        groat__judge_fiber(j)->leads = false;
    }
    meeting->came = 0;
    meeting->before[0] = meeting->before[1] = j->fibers[j->current].site;
    for (size_t t = p.first; t < p.end; t++) {
        if (t == j->current || !is_in(&p, t) ||
            j->fibers[t].state != GROAT__JOINED)
            continue;
        j->fibers[t].state = GROAT__READY;
        if (j->fibers[t].site != meeting->before[0])
            meeting->before[1] = j->fibers[t].site;
    }
    return true;
}

/* Whether all who have not come to the meeting of a shuffle, vote or warp
 * barrier are absent. */
static bool lacks_nobody(const groat__judge *j, const party *p)
{
    size_t absent = 0;

    for (size_t t = p->first; t < p->end; t++)
        absent += is_in(p, t) && groat__judge_is_absent(j, t);
    return p->meeting->came > 0 && p->meeting->came + absent == p->needed;
}

bool groat__judge_go_without(groat__judge *j)
{
    bool any = false;

    for (size_t t = 0; t < j->fiber_count; t++) {
        party p;

        if (j->fibers[t].state != GROAT__JOINED || j->env.cuda == 0)
            continue;
        p = partners(j, GROAT__SHUFFLE, t);
        if (p.meeting->first != t || !lacks_nobody(j, &p))
            continue;
        j->fibers[t].leads = true;
        j->fibers[t].state = GROAT__READY;
        any = true;
    }
    return any;
}

/* Elects the same lane of a wave each time; the seed chooses it, because no
 * kernel may rely on which one it is. */
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

    if (groat__judge_is_amd(j))
        groat__judge_report(j, "comes to warp_barrier; %s has none",
                            j->launch->arch->name);
    groat__judge_clocks_on(j);
    if (groat__judge_join(j, GROAT__WARP_BARRIER, nothing)) {
        party p = partners(j, GROAT__WARP_BARRIER, j->current);

        groat__judge_clock_sync(j, p.first, p.end, p.mask);
    }
    groat__judge_fiber(j)->mask = 0;
}

/* ---- barriers ---------------------------------------------------------- */

static void wait_at(groat__judge *j, groat__fiber_state where)
{
    groat__judge_note_wait(j, GROAT_ACCESS_WAIT, GROAT__JUDGE_NO_MBARRIER, 0);
    groat__judge_stop(j, where);
    groat__judge_note_wait(j, GROAT_ACCESS_RESUME, GROAT__JUDGE_NO_MBARRIER, 0);
}

/* Reports if a part of the block is at barrier 0, which is the block's. */
static void check_zero(groat__judge *j)
{
    const uint32_t number = j->block->named[0];
    const groat__mbarrier *bar = number ? &j->barriers[number - 1] : NULL;

    if (bar != NULL && bar->pending != bar->count)
        groat__judge_report(j,
                            "comes to the block's barrier, which is barrier 0, "
                            "to which others have come as to one of %u threads",
                            bar->count);
}

void groat__judge_block_barrier(struct groat_cpu_env *env, unsigned line)
{
    groat__judge *j = groat__judge_enter(env);
    groat__fiber *f = groat__judge_fiber(j);

    if (groat__judge_is_amd(j) && f->unfenced)
        groat__judge_report(
            j, "reaches a barrier with stores to shared memory that no "
               "shared_fence completed");
    f->unfenced = false;
    f->line = line;
    check_zero(j);
    wait_at(j, GROAT__AT_BARRIER);
}

unsigned groat__judge_block_vote(struct groat_cpu_env *env, unsigned predicate,
                                 unsigned line)
{
    groat__judge *j = groat__judge_enter(env);
    unsigned *votes = &j->block->votes[j->block->epoch & 1];

    check_zero(j);
    *votes += predicate != 0;
    groat__judge_fiber(j)->line = line;
    wait_at(j, GROAT__AT_BARRIER);
    return *votes;
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
