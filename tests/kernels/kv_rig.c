/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_rig.c is the oracle of the kv tests, written from the layout's definition
 * burst by burst, and holds their common checks.  It shares nothing with the
 * kernels or the drivers, whose closed forms are a third computation.
 */
#include "tests/kernels/kv_rig.h"

#include <math.h>
#include <stdarg.h>

int64_t kv_swizzle(const kv_case *t, int64_t x)
{
    return xor_field(t->bits, t->base, t->shift, x);
}

int64_t kv_tile_rows(const kv_case *t)
{
    return t->is_v ? t->BK : t->BN;
}

int64_t kv_tile_cols(const kv_case *t)
{
    return t->is_v ? t->depth : t->BK;
}

int64_t kv_tile_bytes(const kv_case *t)
{
    return kv_tile_rows(t) * kv_tile_cols(t) * 2;
}

int64_t kv_steps(const kv_case *t)
{
    return t->is_v ? t->BN / t->BK : t->depth / t->BK;
}

int64_t kv_strips(const kv_case *t)
{
    return t->BK * t->mma_n / 512;
}

static int64_t wave_size(const kv_case *t)
{
    return t->is_v ? t->depth / (t->BN / t->WN) : t->WN;
}

int64_t kv_mmas(const kv_case *t)
{
    return wave_size(t) / t->mma_n;
}

int64_t kv_fragment_bytes(const kv_case *t)
{
    return t->warps * kv_strips(t) * kv_mmas(t) * 1024;
}

/* ---- the walk ----------------------------------------------------------- */

/* num_records of a view of the head's rows from the first key block on. */
static int64_t records(const kv_case *t)
{
    int64_t rows = t->rows - t->first_row;

    return rows <= 0 ? 0 : ((rows - 1) * t->ld + t->depth) * 2;
}

static void fill_vector(const kv_case *t, unsigned char *lds, int *hits,
                        int64_t to, int64_t offset)
{
    for (int64_t b = 0; b < 16; b++) {
        /* A dword that does not end inside the view is zero. */
        bool inside = offset + b / 4 * 4 + 4 <= records(t);
        int64_t at = offset + b;

        lds[to + b] = inside ? source_byte(t->first_row + at / (t->ld * 2),
                                           at % (t->ld * 2) + t->first_col * 2)
                             : 0;
        hits[to + b]++;
    }
}

static void walk_square(const kv_case *t, int64_t wave, int64_t square,
                        unsigned char *lds, int *hits, kv_burst *bursts)
{
    int64_t across = kv_tile_cols(t) / 32;
    int64_t row = (t->is_v ? t->tile * t->BK : 0) + square / across * 32;
    int64_t col = (t->is_v ? 0 : t->tile * t->BK) + square % across * 32;

    for (int64_t half = 0; half < 2; half++) {
        kv_burst b = {.wave = wave,
                      .m0 = square * SQUARE + half * BURST,
                      .soffset = ((row + half * 16) * t->ld + col) * 2};

        for (int64_t lane = 0; lane < LANES; lane++) {
            int64_t s = kv_swizzle(t, lane + LANES * half) % LANES;

            b.voffset[lane] = (s / 4 * t->ld + s % 4 * 8) * 2;
            fill_vector(t, lds, hits, b.m0 + lane * 16,
                        b.soffset + b.voffset[lane]);
        }
        if (bursts != NULL)
            bursts[half] = b;
    }
}

size_t kv_walk(const kv_case *t, unsigned char *lds, kv_burst *bursts)
{
    int64_t bytes = kv_tile_bytes(t);
    int64_t squares = bytes / SQUARE;
    int *hits = calloc((size_t)bytes, sizeof(*hits));
    size_t count = 0;

    ck_assert_ptr_nonnull(hits);
    memset(lds, POISON, (size_t)bytes);
    for (int64_t wave = 0; wave < t->warps; wave++)
        for (int64_t n = wave; n < squares; n += t->warps) {
            walk_square(t, wave, n, lds, hits,
                        bursts == NULL ? NULL : bursts + count);
            count += 2;
        }
    for (int64_t b = 0; b < bytes; b++)
        ck_assert_int_eq(hits[b], 1);
    free(hits);
    return count;
}

/* ---- readers ------------------------------------------------------------ */

int64_t kv_key_address(const kv_case *t, int64_t wave, int64_t k, int64_t i,
                       int64_t lane)
{
    int64_t row =
        wave % (t->BN / t->WN) * t->WN + i * t->mma_n + lane % t->mma_n;
    int64_t col = k * (512 / t->mma_n) + lane / t->mma_n * 8;
    int64_t vector = row % 32 * 4 + col % 32 / 8;

    return (row / 32 * (t->BK / 32) + col / 32) * SQUARE +
           kv_swizzle(t, vector) * 16;
}

int64_t kv_value_address(const kv_case *t, int64_t wave, int64_t k, int64_t i,
                         int64_t half, int64_t lane)
{
    int64_t q = lane / 16;
    int64_t x = lane % 16;
    int64_t col = wave % (t->BN / t->WN) * wave_size(t) + i * t->mma_n;
    int64_t strip = t->mma_n == 32 ? k / 2 : k; /* row of squares */
    int64_t o;

    if (t->mma_n == 32)
        o = (2 * (k % 2) + half) * 512 + (4 * (q / 2) + x / 4) * 64 +
            (16 * (q % 2) + 4 * (x % 4)) * 2;
    else
        o = half * 1024 + (4 * q + x / 4) * 64 + (col % 32 + 4 * (x % 4)) * 2;
    return (strip * (t->depth / 32) + col / 32) * SQUARE +
           kv_swizzle(t, o / 16) * 16 + o % 16;
}

/* Bytes that the transposing read gives to a lane: four halfwords. */
static void transposed(const kv_case *t, const unsigned char *lds, int64_t wave,
                       int64_t k, int64_t i, int64_t half, int64_t lane,
                       unsigned char *out)
{
    for (int64_t n = 0; n < 4; n++) {
        int64_t from = lane / 16 * 16 + lane / 4 % 4 + 4 * n;

        memcpy(out + 2 * n,
               lds + kv_value_address(t, wave, k, i, half, from) + lane % 4 * 2,
               2);
    }
}

void kv_read_fragments(const kv_case *t, const unsigned char *lds,
                       unsigned char *out)
{
    for (int64_t n = 0; n < kv_fragment_bytes(t) / 16; n++) {
        int64_t fragment = n / LANES % (kv_strips(t) * kv_mmas(t));
        int64_t wave = n / LANES / (kv_strips(t) * kv_mmas(t));
        int64_t k = fragment / kv_mmas(t);
        int64_t i = fragment % kv_mmas(t);
        int64_t lane = n % LANES;

        if (t->is_v) {
            transposed(t, lds, wave, k, i, 0, lane, out + n * 16);
            transposed(t, lds, wave, k, i, 1, lane, out + n * 16 + 8);
        } else {
            memcpy(out + n * 16, lds + kv_key_address(t, wave, k, i, lane), 16);
        }
    }
}

/* ---- cases and launches ------------------------------------------------- */

const char *const kv_targets[3] = {"cpu:gfx950", "cpu:gfx90a", "cpu:sm_90a"};
const char *const kv_amd_targets[3] = {"cpu:gfx950", "cpu:gfx90a",
                                       "cpu:gfx942"};

bool kv_multiplies(const char *target)
{
    return strstr(target, "gfx") != NULL;
}

kv_case kv_on(const kv_case *t, const char *target)
{
    kv_case on = *t;

    if (strstr(target, "gfx90a") != NULL || strstr(target, "gfx942") != NULL)
        on.mma_bytes = 8;
    return on;
}

void kv_spec(const char *entry, const kv_case *t, char *text, size_t room)
{
    int len = snprintf(
        text, room,
        "%s:entry=%s,BN=%d,BK=%d,depth=%d,src_cols=%d,ld=%d,num_warps=%d,"
        "mma=m%dx%dx%d,swizzle_bits=%d,swizzle_base=%d,swizzle_shift=%d",
        kv_driver->family, entry, (int)t->BN, (int)t->BK, (int)t->depth,
        (int)t->src_cols, (int)t->ld, (int)t->warps, (int)t->mma_n,
        (int)t->mma_n, (int)(t->mma_bytes * 32 / t->mma_n), (int)t->bits,
        (int)t->base, (int)t->shift);

    if (t->WN > 0)
        (void)snprintf(text + len, room - (size_t)len, ",role=%s,WN=%d",
                       t->is_v ? "V" : "K", (int)t->WN);
}

void kv_open(drive *d, groat_context *context, const char *entry,
             const kv_case *t, const char *target, const char *said, ...)
{
    int64_t values[GROAT_DRIVER_ARGS];
    char more[200];
    char spec[440];
    va_list args;

    va_start(args, said);
    (void)vsnprintf(more, sizeof(more), said, args);
    va_end(args);
    drive_values(kv_driver, values,
                 "valid_rows=%d first_row=%d first_col=%d %s", (int)t->rows,
                 (int)t->first_row, (int)t->first_col, more);
    kv_spec(entry, t, spec, sizeof(spec));
    drive_open(d, context, kv_driver, spec, target, values);
}

void kv_run(groat_context *context, const char *entry, const char *target,
            const kv_case *t, int64_t key_blocks, int64_t tiles,
            unsigned char *out, size_t bytes)
{
    drive d;

    kv_open(&d, context, entry, t, target,
            "key_blocks=%d first_tile=%d tiles=%d", (int)key_blocks,
            (int)t->tile, (int)tiles);
    ck_assert_uint_eq(d.plan.buffers[1].bytes, bytes);
    source_bytes(d.host[0], d.plan.buffers[0].bytes, t->ld * 2, 0);
    drive_run(&d);
    memcpy(out, d.host[1], bytes);
    drive_close(&d);
}

void kv_check(drive *d, uint64_t seed)
{
    drive_fill(d, seed);
    drive_run(d);
    drive_ck_right(d);
}

void kv_check_product(drive *d, uint64_t seed, bool real)
{
    kv_check(d, seed);
    ck_assert_int_eq(d->allowed[d->output] != NULL, real);
}

void kv_check_bytes(const char *entry, const kv_case *t, const char *target,
                    size_t n, const unsigned char *got,
                    const unsigned char *want, size_t bytes)
{
    char spec[400];
    size_t b = 0;

    if (memcmp(got, want, bytes) == 0)
        return;
    while (got[b] == want[b])
        b++;
    kv_spec(entry, t, spec, sizeof(spec));
    ck_abort_msg("%s on %s, %d rows: byte %zu of part %zu is 0x%02x, not "
                 "0x%02x",
                 spec, target, (int)t->rows, b, n, got[b], want[b]);
}

int kv_whole(bool f16, uint16_t bits)
{
    static const uint16_t bf16_of[] = {0x0000, 0x3f80, 0x4000, 0x4040};
    static const uint16_t f16_of[] = {0x0000, 0x3c00, 0x4000, 0x4200};

    for (int n = 0; n < 4; n++)
        if ((bits & 0x7fff) == (f16 ? f16_of[n] : bf16_of[n]))
            return bits & 0x8000 ? -n : n;
    ck_abort_msg("0x%04x is no whole number from -3 to 3", bits);
    return 0;
}

/* ---- recorded accesses -------------------------------------------------- */

static void keep(void *user, const groat_trace *event)
{
    kv_tape *to = user;

    if ((to->kinds >> event->access & 1) == 0)
        return;
    ck_assert_uint_lt(to->count, COUNT(to->events));
    ck_assert_uint_eq(event->lanes, LANES);
    to->events[to->count].access = event->access;
    to->events[to->count].wave = event->wave;
    to->events[to->count].bytes = event->bytes;
    to->events[to->count].active = event->active;
    memcpy(to->events[to->count].shared, event->shared,
           sizeof(event->shared[0]) * LANES);
    memcpy(to->events[to->count++].source, event->source,
           sizeof(event->source[0]) * LANES);
}

groat_context *kv_record(kv_tape *tape, unsigned kinds)
{
    tape->kinds = kinds;
    tape->count = 0;
    return drive_open_context(keep, tape);
}

/* ---- checks ------------------------------------------------------------- */

/* The definition: two fields that do not overlap, the changed one inside the
 * six bits of a half square. */
static bool is_swizzle(int64_t bits, int64_t base, int64_t shift)
{
    int64_t to = base + (shift < 0 ? -shift : 0) + bits;
    int64_t from = base + (shift > 0 ? shift : 0) + bits;

    return (shift < 0 ? -shift : shift) >= bits && to <= 6 && from <= 7;
}

void kv_every_swizzle(const kv_case *t,
                      void (*check)(const kv_case *t, const char *target))
{
    int legal = 0;

    for (int64_t bits = 1; bits <= 6; bits++)
        for (int64_t base = 0; base <= 6; base++)
            for (int64_t shift = -7; shift <= 7; shift++) {
                const char *target = kv_targets[legal % 3];
                kv_case with = kv_on(t, target);
                char text[400];

                with.bits = bits;
                with.base = base;
                with.shift = shift;
                kv_spec("image", &with, text, sizeof(text));
                ck_assert_msg(drive_allows(drive_context, text, target) ==
                                  is_swizzle(bits, base, shift),
                              "%s", text);
                if (!is_swizzle(bits, base, shift))
                    continue;
                check(&with, target);
                legal++;
            }
    /* 34 from high to low, 22 from low to high */
    ck_assert_int_eq(legal, 56);
}

void kv_tight_bound(const char *entry, const kv_case *t, double limit)
{
    double worst = 0;
    size_t last;
    float *got;
    drive d;

    kv_open(&d, drive_context, entry, t, "cpu:gfx950", "real=1");
    kv_check_product(&d, 1, true);
    last = d.output;
    got = d.host[last];
    for (size_t i = 0; i < d.plan.buffers[last].bytes / sizeof(float); i++) {
        double off = fabs((double)got[i] - (double)((float *)d.want[last])[i]);

        worst = off > worst ? off : worst;
        ck_assert(d.allowed[last][i] < limit);
    }
    ck_assert(worst > 0);
    got[7] += 2 * d.allowed[last][7];
    ck_assert_uint_eq(drive_wrong(&d, last), 7 * sizeof(float));
    drive_close(&d);
}

void kv_check_refusals(const kv_refusal *bad, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t values[GROAT_DRIVER_ARGS];
        char text[100];
        drive d;

        (void)snprintf(text, sizeof(text), "%s:entry=%s", kv_driver->family,
                       bad[i].entry);
        drive_values(kv_driver, values, "%s", "");
        drive_open(&d, drive_context, kv_driver, text, "cpu:gfx950", values);
        drive_close(&d);
        drive_values(kv_driver, values, "%s", bad[i].said);
        drive_ck_refused(drive_context, kv_driver, text, values, bad[i].words);
    }
}

int64_t kv_pick(uint64_t *state, int64_t below)
{
    return (int64_t)(next_random(state) % (uint64_t)below);
}

kv_case kv_random_case(uint64_t *state, int64_t squares, int64_t depths,
                       int64_t waves)
{
    kv_case t = {0};

    t.BN = 32 * (1 + kv_pick(state, squares));
    t.BK = (int64_t)32 << kv_pick(state, 3);
    t.depth = 32 * (1 + kv_pick(state, depths));
    t.src_cols = t.depth + 8 * kv_pick(state, 20);
    t.ld = t.src_cols + 8 * kv_pick(state, 4);
    t.warps = 1 + kv_pick(state, waves);
    t.mma_n = 16 << kv_pick(state, 2);
    t.mma_bytes = 8 << kv_pick(state, 2);
    if (kv_pick(state, 4) != 0) {
        t.bits = 1 + kv_pick(state, 3);
        t.base = kv_pick(state, 4);
        t.shift = t.bits + kv_pick(state, 3);
        if (kv_pick(state, 4) == 0)
            t.shift = -t.shift;
    }
    t.first_col = kv_pick(state, (t.src_cols - t.depth) / 8 + 1) * 8;
    return t;
}

void kv_random_specs(uint64_t seed, int count, const char *entry,
                     kv_case (*draw)(uint64_t *random),
                     void (*check)(const kv_case *t, const char *target,
                                   uint64_t *random))
{
    uint64_t random = seed;
    int legal = 0;

    for (int draws = 0; legal < count; draws++) {
        kv_case t = draw(&random);
        const char *target = kv_targets[kv_pick(&random, COUNT(kv_targets))];
        char text[400];

        ck_assert_int_lt(draws, 40000);
        kv_spec(kv_multiplies(target) ? entry : "image", &t, text,
                sizeof(text));
        if (!drive_allows(drive_context, text, target))
            continue;
        check(&t, target, &random);
        legal++;
    }
}
