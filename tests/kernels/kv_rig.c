/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_rig.c is the oracle of the kv tests, written from the layout's definition
 * burst by burst, and their launches.  It shares nothing with the kernels nor
 * with the drivers, whose closed forms are a third computation.
 */
#include "tests/kernels/kv_rig.h"

#include <math.h>

unsigned char kv_source_byte(int64_t row, int64_t col_byte)
{
    uint32_t h = (uint32_t)row * 0x9E3779B1u +
                 (uint32_t)col_byte * 0x85EBCA6Bu + 0xC2B2AE35u;

    return (unsigned char)(1 + (h >> 24) % 255);
}

int64_t kv_swizzle(const kv_case *t, int64_t x)
{
    int64_t mask = ((int64_t)1 << t->bits) - 1;
    int64_t from = t->base + (t->shift > 0 ? t->shift : 0);
    int64_t field = (x >> from) & mask;

    return x ^ (field << (t->base + (t->shift < 0 ? -t->shift : 0)));
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
        /* A dword that does not end inside is zero. */
        bool inside = offset + b / 4 * 4 + 4 <= records(t);
        int64_t at = offset + b;

        lds[to + b] = inside
                          ? kv_source_byte(t->first_row + at / (t->ld * 2),
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

/* What the transpose read gives to a lane: halfword n of four. */
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

/* ---- digests ------------------------------------------------------------ */

uint32_t kv_crc32(const unsigned char *data, size_t bytes)
{
    uint32_t crc = 0xFFFFFFFFu;

    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return ~crc;
}

uint64_t kv_fnv1a(const unsigned char *data, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * 0x100000001b3u;
    return hash;
}

/* ---- launches ----------------------------------------------------------- */

groat_context *kv_open(groat_trace_fn *trace, void *user)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context = NULL;

    options.flags = GROAT_OPEN_NO_DISK;
    options.trace = trace;
    options.trace_user = user;
    ck_assert_msg(groat_open(&options, &context, &error) == GROAT_OK, "%s",
                  error.text);
    return context;
}

void kv_spec(const char *family, const char *entry, const kv_case *t,
             char *text, size_t room)
{
    (void)snprintf(
        text, room,
        "%s:entry=%s,role=%s,BN=%d,BK=%d,WN=%d,depth=%d,src_cols=%d,ld=%d,"
        "num_warps=%d,mma=m%dx%dx%d,swizzle_bits=%d,swizzle_base=%d,"
        "swizzle_shift=%d",
        family, entry, t->is_v ? "V" : "K", (int)t->BN, (int)t->BK, (int)t->WN,
        (int)t->depth, (int)t->src_cols, (int)t->ld, (int)t->warps,
        (int)t->mma_n, (int)t->mma_n, (int)(t->mma_bytes * 32 / t->mma_n),
        (int)t->bits, (int)t->base, (int)t->shift);
}

unsigned char *kv_make_source(const kv_case *t, size_t *bytes)
{
    unsigned char *source;

    *bytes =
        t->rows == 0 ? 0 : (size_t)(((t->rows - 1) * t->ld + t->src_cols) * 2);
    source = malloc(*bytes + 1);
    ck_assert_ptr_nonnull(source);
    for (size_t i = 0; i < *bytes; i++)
        source[i] =
            kv_source_byte((int64_t)i / (t->ld * 2), (int64_t)i % (t->ld * 2));
    return source;
}

static uint64_t upload(groat_context *context, const char *target,
                       const void *data, size_t bytes)
{
    uint64_t address = 0;
    groat_error error = GROAT_ERROR_INIT;

    ck_assert_msg(groat_memory_alloc(context, target, bytes, &address,
                                     &error) == GROAT_OK,
                  "%s", error.text);
    ck_assert_msg(groat_memory_write(context, target, address, data, bytes,
                                     &error) == GROAT_OK,
                  "%s", error.text);
    return address;
}

static groat_status launch(groat_context *context, const char *spec,
                           const char *target, const unsigned grid[3],
                           const void *args, size_t args_bytes,
                           groat_error *error)
{
    groat_launch how = GROAT_LAUNCH_INIT;
    groat_kernel *kernel = NULL;
    groat_status status;

    memcpy(how.grid, grid, sizeof(how.grid));
    ck_assert_msg(groat_kernel_get(context, spec, target, &kernel, NULL,
                                   error) == GROAT_OK,
                  "%s on %s: %s %s", spec, target, error->text,
                  error->log == NULL ? "" : error->log);
    status = groat_kernel_launch(kernel, &how, args, args_bytes, error);
    groat_kernel_release(kernel);
    return status;
}

void kv_run(groat_context *context, const char *spec, const char *target,
            const kv_case *t, int64_t key_blocks, int64_t tiles,
            unsigned char *out, size_t bytes)
{
    unsigned grid[3] = {(unsigned)key_blocks, (unsigned)tiles, 1};
    struct kv_args args = {0};
    size_t source_bytes;
    unsigned char *source = kv_make_source(t, &source_bytes);
    groat_error error = GROAT_ERROR_INIT;

    memset(out, 0xA5, bytes);
    args.source = upload(context, target, source, source_bytes);
    args.output = upload(context, target, out, bytes);
    args.valid_rows = t->rows;
    args.first_row = t->first_row;
    args.first_col = (unsigned)t->first_col;
    args.key_blocks = (unsigned)key_blocks;
    args.first_tile = (unsigned)t->tile;
    args.tiles = (unsigned)tiles;
    ck_assert_msg(launch(context, spec, target, grid, &args, sizeof(args),
                         &error) == GROAT_OK,
                  "%s on %s: %s", spec, target, error.text);
    ck_assert_int_eq(
        groat_memory_read(context, target, out, args.output, bytes, NULL),
        GROAT_OK);
    groat_memory_free(context, target, args.source);
    groat_memory_free(context, target, args.output);
    free(source);
}

/* ---- by the driver ------------------------------------------------------ */

void kv_defaults(const groat_driver *driver, int64_t *values)
{
    for (size_t i = 0; driver->args[i].name != NULL; i++)
        values[i] = driver->args[i].deflt;
}

size_t kv_argument(const groat_driver *driver, const char *name)
{
    size_t i = 0;

    while (driver->args[i].name != NULL &&
           strcmp(driver->args[i].name, name) != 0)
        i++;
    ck_assert_msg(driver->args[i].name != NULL, "no argument %s", name);
    return i;
}

static const void *const *inputs_of(const kv_driven *d, const void **inputs)
{
    for (size_t i = 0; i < d->plan.buffer_count; i++)
        inputs[i] = d->plan.buffers[i].output ? NULL : d->buffers[i];
    return inputs;
}

static void expect(const groat_driver *driver, kv_driven *d)
{
    size_t last = d->plan.buffer_count - 1;
    const void *inputs[GROAT_PLAN_BUFFERS];
    groat_error error = GROAT_ERROR_INIT;

    d->want = malloc(d->plan.buffers[last].bytes);
    d->allowed = malloc(d->plan.buffers[last].bytes);
    ck_assert(d->want != NULL && d->allowed != NULL);
    ck_assert_msg(driver->expect(d->spec, &d->plan, inputs_of(d, inputs), last,
                                 d->want, &error) == GROAT_OK,
                  "%s", error.text);
    if (!driver->bound(d->spec, &d->plan, inputs_of(d, inputs), last,
                       d->allowed)) {
        free(d->allowed);
        d->allowed = NULL;
    }
}

static void place(groat_context *context, const groat_driver *driver,
                  const char *target, uint64_t seed, kv_driven *d,
                  uint64_t *places)
{
    for (size_t i = 0; i < d->plan.buffer_count; i++) {
        size_t bytes = d->plan.buffers[i].bytes;

        d->buffers[i] = malloc(bytes + 1);
        ck_assert_ptr_nonnull(d->buffers[i]);
        if (d->plan.buffers[i].output)
            memset(d->buffers[i], 0xA5, bytes);
        else
            driver->fill(d->spec, &d->plan, i, seed, d->buffers[i]);
        places[i] = upload(context, target, d->buffers[i], bytes);
    }
}

groat_status kv_try(groat_context *context, const groat_driver *driver,
                    const char *spec, const char *target, const int64_t *values,
                    uint64_t seed, kv_driven *d, groat_error *error)
{
    uint64_t places[GROAT_PLAN_BUFFERS] = {0};
    groat_status status;
    size_t last;

    memset(d, 0, sizeof(*d));
    ck_assert_msg(groat_spec_parse(context, spec, target, &d->spec, error) ==
                      GROAT_OK,
                  "%s", error->text);
    ck_assert_msg(driver->plan(d->spec, values, &d->plan, error) == GROAT_OK,
                  "%s", error->text);
    last = d->plan.buffer_count - 1;
    place(context, driver, target, seed, d, places);
    ck_assert_msg(driver->bind(context, d->spec, &d->plan, places, error) ==
                      GROAT_OK,
                  "%s", error->text);
    status = launch(context, spec, target, d->plan.grid, d->plan.args,
                    d->plan.args_bytes, error);
    if (status == GROAT_OK)
        ck_assert_int_eq(groat_memory_read(context, target, d->buffers[last],
                                           places[last],
                                           d->plan.buffers[last].bytes, NULL),
                         GROAT_OK);
    for (size_t i = 0; i <= last; i++)
        groat_memory_free(context, target, places[i]);
    expect(driver, d);
    return status;
}

void kv_drive(groat_context *context, const groat_driver *driver,
              const char *spec, const char *target, const int64_t *values,
              uint64_t seed, kv_driven *d)
{
    groat_error error = GROAT_ERROR_INIT;

    ck_assert_msg(kv_try(context, driver, spec, target, values, seed, d,
                         &error) == GROAT_OK,
                  "%s on %s: %s", spec, target, error.text);
}

size_t kv_wrong_float(const kv_driven *d)
{
    size_t last = d->plan.buffer_count - 1;
    const float *got = d->buffers[last];
    const float *want = d->want;

    for (size_t i = 0; i < d->plan.buffers[last].bytes / sizeof(float); i++)
        if (d->allowed == NULL ? memcmp(&got[i], &want[i], sizeof(float)) != 0
                               : !(fabsf(got[i] - want[i]) <= d->allowed[i]))
            return i;
    return SIZE_MAX;
}

void kv_free(kv_driven *d)
{
    for (size_t i = 0; i < d->plan.buffer_count; i++)
        free(d->buffers[i]);
    free(d->want);
    free(d->allowed);
    groat_spec_free(d->spec);
}
