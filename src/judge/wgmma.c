/* SPDX-License-Identifier: Apache-2.0
 *
 * wgmma.c models matrix products of a warpgroup on operands in shared memory,
 * which matrix descriptors name, and of A in registers.  Operands are read when
 * the product is issued; no thread may write those in shared memory until a
 * wave of the warpgroup has waited for the product's group: on an H200 no
 * wave's wait returns before all four have issued it.  The accumulator
 * registers are poisoned until their own wave has waited; the wait fills them.
 *
 * Formulas: PTX ISA, wgmma: matrix descriptor, shared-memory layouts of
 * operands (k-major and mn-major, leading and stride dimension byte offsets,
 * swizzling modes), layout of the accumulator.  For mn-major operands without
 * swizzling, hardware exchanges the meaning of the two offsets.
 */
#include "judge/wgmma.h"

#include <stdlib.h>
#include <string.h>

#include "judge/copies.h"
#include "judge/fiber.h"
#include "judge/meet.h"
#include "judge/memory.h"
#include "judge/number.h"
#include "judge/order.h"
#include "judge/unwritten.h"

enum {
    WRITES_MOST = 1024, /* of its own memory that a thread notes */
    ROWS = 64,          /* of A and of the result */
    COLUMNS = 256,      /* at most */
    K_BYTES = 32,       /* of one product */
    K_NUMBERS = 32,     /* at most */
    THREADS = 128,
    POISON = 0x7fa0dead /* a signalling NaN, which arithmetic changes */
};

/* A decoded matrix descriptor; `span` is 16 without swizzling. */
typedef struct operand {
    uint32_t start;
    uint32_t leading;
    uint32_t stride;
    uint32_t span;
    uint32_t mask; /* address bits from 7 on that are XORed into those from 4 */
    bool mn_major;
} operand;

static size_t wave_here(const groat__judge *j)
{
    return groat__judge_wave_of(j, j->current);
}

/* Returns the first thread of the current one's warpgroup. */
static size_t first_here(const groat__judge *j)
{
    return j->current - groat__judge_thread_of(j, j->current) % THREADS;
}

/* Returns the agent that reads operands for the warpgroup of that thread. */
static uint32_t reader_of(const groat__judge *j, size_t first)
{
    return groat__judge_agent_wgmma(j, groat__judge_wave_of(j, first));
}

/* Gives the waves of a warpgroup the same number of groups, and returns it: one
 * may have committed an empty group more. */
static uint32_t align_groups(groat__judge *j, size_t first)
{
    groat__wgmma_wave *waves = &j->wgmma[groat__judge_wave_of(j, first)];
    uint32_t most = 0;

    for (size_t w = 0; w < GROAT__JUDGE_WARPGROUP; w++)
        most = waves[w].group > most ? waves[w].group : most;
    for (size_t w = 0; w < GROAT__JUDGE_WARPGROUP; w++)
        waves[w].group = most;
    return most;
}

static void need_wgmma(groat__judge *j, const char *what)
{
    if (!j->launch->arch->wgmma)
        groat__judge_report(j, "comes to %s; %s has none", what,
                            j->launch->arch->name);
    groat__judge_clocks_on(j);
}

/* ---- operands ---------------------------------------------------------- */

static operand take_apart(groat__judge *j, uint64_t descriptor, bool mn_major,
                          const char *name)
{
    static const uint32_t spans[] = {16, 128, 64, 32};
    uint32_t span = spans[descriptor >> 62];
    operand o = {.start = (uint32_t)(descriptor & 0x3fff) << 4,
                 .leading = (uint32_t)(descriptor >> 16 & 0x3fff) << 4,
                 .stride = (uint32_t)(descriptor >> 32 & 0x3fff) << 4,
                 .span = span,
                 .mask = span / 16 - 1,
                 .mn_major = mn_major};

    if ((descriptor & 0x3fffc000c000c000) != 0)
        groat__judge_report(
            j,
            "multiplies by the matrix descriptor 0x%llx for %s, which has bits "
            "besides address, offsets and swizzling",
            (unsigned long long)descriptor, name);
    return o;
}

/* Returns where byte `at` along k of row `row` of A (column of B) lies; an
 * element has `size` bytes. */
static uint32_t byte_of(const operand *o, uint32_t row, uint32_t at,
                        uint32_t size)
{
    uint32_t k = at / size;
    uint32_t in = row * size; /* mn-major: along the memory row */
    uint32_t address = o->start;

    if (!o->mn_major && o->span == 16)
        address +=
            row / 8 * o->stride + row % 8 * 16 + at / 16 * o->leading + at % 16;
    else if (!o->mn_major)
        address += row / 8 * o->stride + row % 8 * o->span + at;
    else if (o->span == 16)
        address += in / 16 * o->stride + k / 8 * o->leading + k % 8 * 16 +
                   in % 16 + at % size;
    else
        address += in / o->span * o->leading + k / 8 * o->stride +
                   k % 8 * o->span + in % o->span + at % size;
    return address ^ ((address >> 7 & o->mask) << 4);
}

/* Returns a fiber of the warpgroup that does not know what the agent did. */
static size_t ignorant(const groat__judge *j, size_t first, uint32_t agent,
                       uint32_t clock)
{
    for (size_t t = first; t < first + THREADS; t++)
        if (groat__judge_clock(j, t)[agent] < clock)
            return t;
    return first;
}

static void report_operand(groat__judge *j, size_t first, uint32_t at,
                           const char *name)
{
    const groat__shadow *s = &j->block->shadows[at];
    uint32_t phase = s->write_clock - 1;
    char copy[GROAT__JUDGE_SAID];
    size_t who;

    if (s->state == GROAT__UNWRITTEN) {
        groat__judge_unwritten_note(
            j, first, j->block, at,
            "multiplies by %s with byte %u of shared memory, which nobody "
            "has written yet",
            name, at);
        return;
    }
    if (s->state == GROAT__BARRIER)
        groat__judge_report(
            j,
            "multiplies by %s with byte %u of shared memory, which is part of "
            "an mbarrier",
            name, at);
    if (groat__judge_is_barrier(j, s->writer)) {
        who = ignorant(j, first, s->writer, s->write_clock);
        groat__judge_name_copy(j, j->block, at, copy);
        groat__judge_blame(
            j, who,
            "multiplies by %s with byte %u of shared memory, which %s %s: it "
            "did not wait for phase %u (parity %u) of the mbarrier at byte %u",
            name, at, copy,
            s->state == GROAT__IN_FLIGHT ? "is about to fill" : "filled", phase,
            phase % 2,
            j->barriers[s->writer - groat__judge_agent_barrier(j, 0)].address);
    } else if (j->meet[s->writer] < s->write_clock ||
               s->state == GROAT__IN_FLIGHT) {
        groat__judge_blame(
            j, ignorant(j, first, s->writer, s->write_clock),
            "multiplies by %s with byte %u of shared memory, which thread %zu "
            "wrote and nothing made visible here: a barrier is missing",
            name, at, groat__judge_thread_of(j, s->writer));
    } else {
        groat__judge_blame(
            j, s->writer,
            "stored to byte %u of shared memory, which wgmma reads as part of "
            "%s: %s between is missing",
            at, name, groat__judge_call(j, "async_proxy_fence"));
    }
    groat__judge_leave(j);
}

/* Checks one byte of an operand and makes the warpgroup a reader of it until
 * one of its waves has waited. */
static void read_operand(groat__judge *j, size_t first, uint32_t at,
                         const char *name)
{
    groat__shadow *s;
    bool good;

    groat__judge_check_inside(j, at, 1, "multiplies by");
    s = &j->block->shadows[at];
    good = s->state == GROAT__WRITTEN && j->meet[s->writer] >= s->write_clock;
    if (good && groat__judge_is_thread(j, s->writer))
        good =
            j->meet[groat__judge_agent_fenced(j, s->writer)] >= s->write_clock;
    if (!good)
        report_operand(j, first, at, name);
    s->readers = groat__judge_add_reader(
        j, s->readers, reader_of(j, first),
        j->wgmma[groat__judge_wave_of(j, first)].group, j->fibers[first].site);
}

/* Reads the operand's elements into rows of K_NUMBERS. */
static void read_matrix(groat__judge *j, size_t first, const operand *o,
                        unsigned number, uint32_t rows, const char *name,
                        float *out)
{
    uint32_t size = groat__judge_number_bytes(number);

    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t k = 0; k < K_BYTES / size; k++) {
            unsigned char bytes[2];

            for (uint32_t i = 0; i < size; i++) {
                uint32_t at = byte_of(o, row, k * size + i, size);

                read_operand(j, first, at, name);
                bytes[i] = j->block->shared[at];
            }
            out[row * K_NUMBERS + k] =
                groat__judge_number(number, false, bytes, 0);
        }
}

/* Reads A from the registers of the warpgroup's lanes: word i of a lane has
 * bytes of row lane / 4 + 8 (i % 2) of its wave's 16, 4 (lane % 4) + 16 (i / 2)
 * along k. */
static void read_registers(groat__judge *j, size_t first, unsigned number,
                           float *out)
{
    uint32_t size = groat__judge_number_bytes(number);

    for (uint32_t t = 0; t < THREADS; t++)
        for (uint32_t byte = 0; byte < GROAT__WGMMA_A_BYTES; byte += size) {
            uint32_t word = byte / 4;
            uint32_t row = 16 * (t / 32) + t % 32 / 4 + 8 * (word % 2);
            uint32_t k = 4 * (t % 4) + 16 * (word / 2) + byte % 4;

            out[row * K_NUMBERS + k / size] = groat__judge_number(
                number, false, j->fibers[first + t].a + byte, 0);
        }
}

/* Sets j->meet to what all lanes of the warpgroup know: the minimum of their
 * clocks. */
static void meet_clocks(groat__judge *j, size_t first)
{
    memcpy(j->meet, groat__judge_clock(j, first),
           j->clock_width * sizeof(*j->meet));
    for (size_t t = first + 1; t < first + THREADS; t++) {
        const uint32_t *clock = groat__judge_clock(j, t);

        for (size_t i = 0; i < j->clock_width; i++)
            j->meet[i] = j->meet[i] < clock[i] ? j->meet[i] : clock[i];
    }
}

/* ---- registers --------------------------------------------------------- */

static bool is_poisoned(const groat__product *p)
{
    const uint32_t poison = POISON;

    for (uint32_t i = 0; i < p->count; i++)
        if (memcmp(&p->registers[i], &poison, sizeof(poison)) != 0)
            return false;
    return true;
}

static void check_poison(groat__judge *j, const groat__product *p)
{
    if (!is_poisoned(p))
        groat__judge_report(
            j,
            "changed registers that a wgmma was adding to: they may be "
            "touched behind its %s only",
            groat__judge_call(j, "wgmma_wait"));
}

static groat__product *product_at(groat__judge *j, float *registers,
                                  uint32_t count)
{
    groat__fiber *f = groat__judge_fiber(j);
    groat__product *more;

    for (size_t i = 0; i < f->product_count; i++)
        if (f->products[i].registers == registers &&
            f->products[i].count == count)
            return &f->products[i];
    more = realloc(f->products, (f->product_count + 1) * sizeof(*more));
    if (more == NULL)
        groat__judge_starve(j);
    f->products = more;
    more = &f->products[f->product_count];
    *more = (groat__product){.registers = registers, .count = count};
    more->values = malloc(count * sizeof(*more->values));
    if (more->values == NULL)
        groat__judge_starve(j);
    f->product_count++;
    memcpy(more->values, registers, count * sizeof(*more->values));
    return more;
}

/* Whether the thread may have written registers since its last fence. */
static bool is_unfenced(const groat__judge *j, const float *acc, size_t bytes,
                        const groat__product *p, bool known)
{
    const groat__fiber *f = groat__judge_fiber(j);
    uint64_t from = (uint64_t)(uintptr_t)acc;

    if (j->env.cuda == 0)
        return !f->wgmma_fenced &&
               (!known || memcmp(p->values, acc, bytes) != 0);
    for (size_t i = 0; i < f->write_count; i++)
        if (f->writes[i].from < from + bytes && from < f->writes[i].to)
            return true;
    return !f->wgmma_fenced;
}

void groat__judge_wgmma_touch(groat__judge *j, uint64_t address, uint64_t bytes,
                              bool written)
{
    groat__fiber *f = groat__judge_fiber(j);

    for (size_t i = 0; i < f->product_count; i++) {
        const groat__product *p = &f->products[i];
        uint64_t from = (uint64_t)(uintptr_t)p->registers;

        if (p->in_flight && address < from + p->count * sizeof(float) &&
            from < address + bytes)
            groat__judge_report(
                j, "%s sums that a wgmma is still adding to: %s comes later",
                written ? "writes" : "reads",
                groat__judge_call(j, "wgmma_wait"));
    }
    if (!written || !f->wgmma_fenced || f->write_count == WRITES_MOST)
        return;
    if (f->write_count > 0 && f->writes[f->write_count - 1].to == address) {
        f->writes[f->write_count - 1].to += bytes;
        return;
    }
    f->writes = groat__judge_grow(j, f->writes, f->write_count, &f->write_cap,
                                  sizeof(*f->writes));
    f->writes[f->write_count++] = (groat__own_write){address, address + bytes};
}

/* Saves this lane's registers (or zeros) in `values` and poisons them. */
static groat__product *begin(groat__judge *j, float *acc, uint32_t count,
                             bool accumulate)
{
    groat__fiber *f = groat__judge_fiber(j);
    size_t known = f->product_count;
    groat__product *p = product_at(j, acc, count);
    size_t bytes = count * sizeof(*acc);
    const uint32_t poison = POISON;

    if (p->in_flight)
        check_poison(j, p);
    else if (is_unfenced(j, acc, bytes, p, f->product_count == known))
        groat__judge_report(j,
                            "comes to wgmma with registers that it wrote since "
                            "the last %s: one is missing",
                            groat__judge_call(j, "wgmma_fence"));
    else
        memcpy(p->values, acc, bytes);
    if (!accumulate)
        memset(p->values, 0, bytes);
    for (uint32_t i = 0; i < count; i++)
        memcpy(&acc[i], &poison, sizeof(poison));
    p->in_flight = true;
    return p;
}

void groat__judge_drop_products(groat__fiber *fiber)
{
    for (size_t i = 0; i < fiber->product_count; i++)
        free(fiber->products[i].values);
    fiber->product_count = 0;
    fiber->wgmma_fenced = false;
    fiber->write_count = 0;
}

/* ---- products ---------------------------------------------------------- */

/* Adds A x B to all values of one thread; rows and columns of its registers are
 * as in wgmma_layout.h. */
static void multiply(const float *a, const float *b, uint32_t numbers,
                     uint32_t thread, groat__product *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2 % 2);
        uint32_t column = 8 * (i / 4) + 2 * (thread % 4) + i % 2;
        float sum = p->values[i];

        for (uint32_t k = 0; k < numbers; k++)
            sum += a[row * K_NUMBERS + k] * b[column * K_NUMBERS + k];
        p->values[i] = sum;
    }
}

static void check_shape(groat__judge *j, unsigned number, unsigned n,
                        bool mn_major)
{
    if (n < 8 || n > COLUMNS || n % 8 != 0)
        groat__judge_report(j,
                            "multiplies %d x %u; n is a multiple of 8 up to %d",
                            ROWS, n, COLUMNS);
    if (groat__judge_number_bytes(number) == 1 && mn_major)
        groat__judge_report(
            j, "multiplies mn-major 8-bit floats; these are k-major");
}

static size_t index_of(const groat__fiber *f, const groat__product *p)
{
    return (size_t)(p - f->products);
}

void groat__judge_wgmma(struct groat_cpu_env *env, unsigned number, unsigned n,
                        unsigned a_mn_major, unsigned b_mn_major,
                        unsigned long long desc_a, const unsigned *a_words,
                        unsigned long long desc_b, unsigned accumulate,
                        float *acc)
{
    groat__judge *j = groat__judge_enter(env);
    const uint64_t detail[4] = {(uint64_t)number << 32 | n << 8 |
                                    (a_mn_major != 0) << 2 |
                                    (b_mn_major != 0) << 1 | (accumulate != 0),
                                desc_a, desc_b, a_words != NULL};
    uint32_t numbers = K_BYTES / groat__judge_number_bytes(number);
    groat__fiber *f = groat__judge_fiber(j);
    operand a;
    operand b;
    float *values;
    uint32_t group;
    size_t first;

    need_wgmma(j, groat__judge_call(j, "wgmma"));
    check_shape(j, number, n, a_mn_major || b_mn_major);
    f->target = index_of(f, begin(j, acc, n / 2, accumulate != 0));
    if (a_words != NULL)
        memcpy(f->a, a_words, sizeof(f->a));
    if (!groat__judge_join(j, GROAT__WGMMA, detail))
        return;
    if (j->operands == NULL)
        j->operands =
            malloc((ROWS + COLUMNS) * K_NUMBERS * sizeof(*j->operands));
    values = j->operands;
    if (values == NULL)
        groat__judge_starve(j);
    first = first_here(j);
    group = align_groups(j, first);
    meet_clocks(j, first);
    b = take_apart(j, desc_b, b_mn_major != 0, "B");
    if (a_words == NULL) {
        a = take_apart(j, desc_a, a_mn_major != 0, "A");
        read_matrix(j, first, &a, number, ROWS, "A", values);
    } else {
        read_registers(j, first, number, values);
    }
    read_matrix(j, first, &b, number, n, "B", values + ROWS * K_NUMBERS);
    for (uint32_t t = 0; t < THREADS; t++) {
        groat__fiber *lane = &j->fibers[first + t];

        lane->products[lane->target].group = group;
        multiply(values, values + ROWS * K_NUMBERS, numbers, t,
                 &lane->products[lane->target]);
    }
}

/* ---- groups ------------------------------------------------------------ */

void groat__judge_wgmma_fence(struct groat_cpu_env *env)
{
    static const uint64_t nothing[4] = {0};
    groat__judge *j = groat__judge_enter(env);

    need_wgmma(j, groat__judge_call(j, "wgmma_fence"));
    groat__judge_fiber(j)->wgmma_fenced = true;
    groat__judge_fiber(j)->write_count = 0;
    (void)groat__judge_join(j, GROAT__WGMMA_FENCE, nothing);
}

void groat__judge_wgmma_commit(struct groat_cpu_env *env)
{
    static const uint64_t nothing[4] = {0};
    groat__judge *j = groat__judge_enter(env);

    need_wgmma(j, groat__judge_call(j, "wgmma_commit"));
    if (groat__judge_join(j, GROAT__WGMMA_COMMIT, nothing))
        j->wgmma[wave_here(j)].group++;
}

void groat__judge_wgmma_wait(struct groat_cpu_env *env, unsigned groups)
{
    const uint64_t detail[4] = {groups, 0, 0, 0};
    groat__judge *j = groat__judge_enter(env);
    groat__fiber *f = groat__judge_fiber(j);
    groat__wgmma_wave *wave;
    uint32_t *known;

    need_wgmma(j, groat__judge_call(j, "wgmma_wait"));
    wave = &j->wgmma[wave_here(j)];
    if (groat__judge_join(j, GROAT__WGMMA_WAIT, detail) &&
        wave->group - 1 > groups && wave->group - 1 - groups > wave->retired)
        wave->retired = wave->group - 1 - groups;
    for (size_t i = 0; i < f->product_count; i++) {
        groat__product *p = &f->products[i];

        if (!p->in_flight || p->group > wave->retired)
            continue;
        check_poison(j, p);
        memcpy(p->registers, p->values, p->count * sizeof(*p->values));
        p->in_flight = false;
        f->wgmma_fenced = f->wgmma_fenced && j->env.cuda != 0;
    }
    known = &groat__judge_clock(j, j->current)[reader_of(j, first_here(j))];
    *known = *known > wave->retired ? *known : wave->retired;
}

void groat__judge_wgmma_check_end(groat__judge *j)
{
    const groat__fiber *f = groat__judge_fiber(j);

    for (size_t i = 0; i < f->product_count; i++)
        if (f->products[i].in_flight)
            groat__judge_report(j, "ends with a wgmma that no %s waited for",
                                groat__judge_call(j, "wgmma_wait"));
}
