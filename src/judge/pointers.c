/* SPDX-License-Identifier: Apache-2.0
 *
 * pointers.c judges the accesses through pointers that a kernel reports: it
 * finds the memory that an address lies in.  The thread's stack, the arguments
 * and the kernel's image (code and constants) are not judged.
 */
#include "judge/pointers.h"

#include "judge/device.h"
#include "judge/fiber.h"
#include "judge/held.h"
#include "judge/memory.h"
#include "judge/trace.h"
#include "judge/unwritten.h"
#include "judge/wgmma.h"

enum { NEAR = 64 << 10 }; /* bytes; how far a wrong index may miss */

/* Whether [address, address + bytes) begins in an object. */
static bool is_in(uint64_t address, const void *object, uint64_t bytes)
{
    return address - (uint64_t)(uintptr_t)object < bytes;
}

/* Bytes between the address and an object; 0 inside. */
static uint64_t gap(uint64_t address, uint64_t object, uint64_t bytes)
{
    if (address < object)
        return object - address;
    return address - object < bytes ? 0 : address - object - bytes + 1;
}

/* The distance of an address from the start of shared memory, which is small if
 * it lies there.  Families address theirs by offsets, not by pointers. */
static uint64_t offset_of(const groat__judge *j, uint64_t address)
{
    return j->env.shared == NULL ? UINT64_MAX
                                 : address - (uint64_t)(uintptr_t)j->env.shared;
}

/* Whether the address is near shared memory, and nearer than to any buffer. */
static bool is_near_shared(const groat__judge *j, uint64_t address)
{
    uint64_t far = gap(address, (uint64_t)(uintptr_t)j->env.shared,
                       j->launch->shared_bytes);

    if (j->env.shared == NULL || far > NEAR)
        return false;
    for (size_t i = 0; i < j->launch->range_count; i++)
        if (gap(address, j->launch->ranges[i].address,
                j->launch->ranges[i].bytes) <= far)
            return false;
    return true;
}

/* Reports an address outside of shared memory, at `offset` from its start. */
_Noreturn static void report_shared(groat__judge *j, int64_t offset,
                                    unsigned long bytes, const char *verb)
{
    groat__judge_report(j,
                        "%s %lu bytes at byte %lld of shared memory; the block "
                        "has %u bytes",
                        verb, bytes, (long long)offset,
                        j->launch->shared_bytes);
}

/* Returns whether the address is in memory that is not judged: the thread's
 * stack, the arguments, the kernel's image.  Reports an access past its end.  A
 * variable of the image holds what a block that is run again finds there. */
static bool is_own(groat__judge *j, uint64_t address, unsigned long bytes,
                   const char *verb, bool written)
{
    const groat__judge_launch *launch = j->launch;
    const stack_t *stack = &groat__judge_fiber(j)->stand.context.uc_stack;
    const struct {
        const char *name;
        const void *object;
        uint64_t bytes;
    } own[] = {
        {"local memory", stack->ss_sp, stack->ss_size},
        {"constants and globals", launch->plain.image,
         launch->plain.image_bytes},
        {"arguments", launch->args, launch->args_bytes},
    };

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        uint64_t at = address - (uint64_t)(uintptr_t)own[i].object;

        if (at >= own[i].bytes)
            continue;
        if (bytes > own[i].bytes - at)
            groat__judge_report(j, "%s %lu bytes of its %s, past their end",
                                verb, bytes, own[i].name);
        if (own[i].object == stack->ss_sp)
            groat__judge_wgmma_touch(j, address, bytes, written);
        if (written && own[i].object == launch->plain.image)
            groat__judge_unwritten_keep(j, address, bytes);
        return true;
    }
    return false;
}

static bool is_load(unsigned kind)
{
    return kind == GROAT_CPU_READ || kind == GROAT_CPU_VOLATILE_READ;
}

/* Makes atomic and volatile accesses to memory that blocks share wait for the
 * earlier blocks. */
static void await_turn(groat__judge *j, uint64_t address, unsigned kind)
{
    const stack_t *stack = &groat__judge_fiber(j)->stand.context.uc_stack;

    if (kind >= GROAT_CPU_ATOMIC &&
        offset_of(j, address) >= j->launch->shared_bytes &&
        !is_in(address, stack->ss_sp, stack->ss_size) &&
        !groat__judge_grid_await(j->grid, j->number))
        groat__judge_abandon(j);
}

/* Judges the order of an access to device memory. */
static void order_device(groat__judge *j, uint64_t address, unsigned long bytes,
                         unsigned kind)
{
    if (!is_load(kind))
        groat__judge_device_keep(j, address, bytes);
    if (kind == GROAT_CPU_READ)
        groat__judge_device_load(j, address, bytes);
    else if (kind == GROAT_CPU_WRITE)
        groat__judge_hold(j, (void *)(uintptr_t)address, bytes, true);
    else if (kind == GROAT_CPU_VOLATILE_READ)
        groat__judge_device_meet(j, true);
    else
        groat__judge_device_atomic(j, address, bytes);
}

static void touch_device(groat__judge *j, uint64_t address, unsigned long bytes,
                         unsigned kind, const char *verb)
{
    bool read = is_load(kind);

    groat__judge_check_device(j, address, bytes, verb);
    if (kind == GROAT_CPU_ATOMIC)
        groat__judge_check_alignment(j, address, (uint32_t)bytes, verb);
    if (!read)
        groat__judge_unwritten_keep(j, address, bytes);
    groat__judge_note(j, read ? GROAT_ACCESS_LOAD : GROAT_ACCESS_STORE, 0,
                      (uint32_t)bytes, address, true);
    order_device(j, address, bytes, kind);
}

void groat__judge_print(struct groat_cpu_env *env, const char *text,
                        unsigned long bytes)
{
    groat__judge *j = groat__judge_enter(env);

    if (!groat__judge_grid_await(j->grid, j->number))
        groat__judge_abandon(j);
    if (j->env.again == GROAT_CPU_FIRST)
        groat__judge_grid_print(j->grid, text, bytes);
}

/* Whether an access is part of what a block does: loads of device memory and
 * accesses to the thread's own variables are not. */
static bool acts(const groat__judge *j, uint64_t address, bool read)
{
    const stack_t *stack = &groat__judge_fiber(j)->stand.context.uc_stack;

    return offset_of(j, address) < j->launch->shared_bytes ||
           (!read && !is_in(address, stack->ss_sp, stack->ss_size));
}

/* gcc reports the store of a structure that is assigned, then the load, and
 * then has both made.  An atomic operation confirms what its thread loaded. */
static groat__judge *come(struct groat_cpu_env *env, const void *address,
                          unsigned long bytes, unsigned kind, const void *from)
{
    groat__judge_held *held = &groat__judge_of(env)->held;
    groat__judge *j;

    if (held->load && kind == GROAT_CPU_ATOMIC && held->at == address)
        held->bytes = 0;
    held->waits = kind == GROAT_CPU_READ && held->bytes == bytes &&
                  !held->waited && !held->load;
    held->waited = held->waits;
    j = groat__judge_at(env, from);
    held->waits = false;
    return j;
}

void groat__judge_touch(struct groat_cpu_env *env, const void *address,
                        unsigned long bytes, unsigned kind, const void *from)
{
    bool acted = groat__judge_fiber(groat__judge_of(env))->acts;
    groat__judge *j = come(env, address, bytes, kind, from);
    const groat__judge_launch *launch = j->launch;
    uint64_t at = (uint64_t)(uintptr_t)address;
    uint64_t shared = offset_of(j, at);
    bool read = is_load(kind);
    const char *verb = read ? "reads" : "writes";

    groat__judge_fiber(j)->acts = acted || acts(j, at, read);
    await_turn(j, at, kind);
    if (is_own(j, at, bytes, verb, !read)) {
        if (groat__judge_is_in_image(launch, at))
            order_device(j, at, bytes, kind);
        return;
    }
    if (shared < launch->shared_bytes && kind >= GROAT_CPU_ATOMIC)
        groat__judge_device_meet(j, false);
    if (shared < launch->shared_bytes && bytes <= launch->shared_bytes - shared)
        groat__judge_touch_shared(j, (uint32_t)shared, (uint32_t)bytes,
                                  read                       ? GROAT_CPU_READ
                                  : kind == GROAT_CPU_ATOMIC ? GROAT_CPU_ATOMIC
                                                             : GROAT_CPU_WRITE);
    else if (is_near_shared(j, at))
        report_shared(j, (int64_t)shared, bytes, verb);
    else
        touch_device(j, at, bytes, kind, verb);
}

void groat__judge_misaligned(struct groat_cpu_env *env, const void *address,
                             unsigned unit, const char *type, const void *from)
{
    groat__judge *j = groat__judge_at(env, from);
    uint64_t at = (uint64_t)(uintptr_t)address;
    uint64_t shared = offset_of(j, at);

    if (shared < j->launch->shared_bytes)
        groat__judge_report(
            j,
            "uses a pointer to %s at byte %llu of shared memory, no "
            "multiple of %u",
            type, (unsigned long long)shared, unit);
    if (is_own(j, at, 1, "uses", false))
        groat__judge_report(
            j, "uses a pointer to %s in its local memory, no multiple of %u",
            type, unit);
    groat__judge_report(
        j, "uses a pointer to %s at device address 0x%llx, no multiple of %u",
        type, (unsigned long long)at, unit);
}

void groat__judge_refuse(struct groat_cpu_env *env, const char *why,
                         const void *from)
{
    groat__judge_report(groat__judge_at(env, from), "%s", why);
}
