/* SPDX-License-Identifier: Apache-2.0
 *
 * test_draw.c: the picture of `groat draw`, against placements and conflicts
 * that were worked out by hand: the text of each cell, what is hatched, what is
 * outlined, and that the whole is XML of a bounded size.
 */
#include "tests/unit/cli/bank_rig.h"

#include <ctype.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "cli/draw/draw.h"

enum { CELLS = BANK_RIG_SHARED / 16, TILE_CELLS = BANK_RIG_TILE / 16 };

static rig fix;
static groat__record record;
static groat__subject subject;
static groat__str svg;
static groat__drawn drawn;

static void setup(void)
{
    rig_make(&fix);
}

static void teardown(void)
{
    groat__record_free(&record);
    groat__str_free(&svg);
    rig_drop(&fix);
}

static void listen(void *user, const groat_trace *event)
{
    groat__record_add(user, event);
}

/* ---- searching a picture ------------------------------------------------- */

static size_t count(const char *words)
{
    size_t found = 0;

    for (const char *at = svg.data; (at = strstr(at, words)) != NULL; at++)
        found++;
    return found;
}

static void ck_has(const char *words)
{
    ck_assert_msg(count(words) == 1, "%zu of '%s'", count(words), words);
}

/* Asserts that elements nest and close properly, and that no "&" is bare. */
static void ck_well_formed(void)
{
    const char *open[64];
    size_t depth = 0;

    for (const char *at = svg.data; *at; at++) {
        ck_assert_msg(*at != '&' || strncmp(at, "&lt;", 4) == 0 ||
                          strncmp(at, "&gt;", 4) == 0 ||
                          strncmp(at, "&amp;", 5) == 0,
                      "a bare & in '%.30s'", at);
        if (*at != '<' || at[1] == '?')
            continue;
        if (at[1] == '/') {
            size_t len = strcspn(at + 2, ">");

            ck_assert_uint_gt(depth, 0);
            depth--;
            ck_assert_msg(strncmp(open[depth], at + 2, len) == 0 &&
                              !isalpha((unsigned char)open[depth][len]),
                          "'%.20s' ends '%.20s'", at, open[depth]);
            continue;
        }
        ck_assert_uint_lt(depth, COUNT(open));
        open[depth++] = at + 1;
        at = strchr(at, '>');
        ck_assert_ptr_nonnull(at);
        if (at[-1] == '/')
            depth--;
    }
    ck_assert_uint_eq(depth, 0);
}

static void draw(void)
{
    ck_assert(groat__draw(&record, &subject, &svg, &drawn));
    ck_assert_uint_eq(svg.len, strlen(svg.data));
    ck_well_formed();
    ck_assert_uint_lt(svg.len, 2 << 20);
    ck_assert_uint_eq(count("<script"), 0);
    ck_assert_uint_eq(count("href"), 0);
}

static void run(const char *target, unsigned waves, struct bank_probe_args args)
{
    bank_run with = {target, waves, args, listen, &record};

    bank_launch(&fix, &with);
    subject = (groat__subject){.spec = "bank_probe:waves=8",
                               .target = target,
                               .threads = 64 * waves,
                               .shared_bytes = BANK_RIG_SHARED,
                               .grid = {1, 1, 1},
                               .buffer_count = 1};
    subject.pitch = args.what == BANK_PROBE_BF16 ? 256 : 128;
    subject.buffers[0].name = "tile";
    subject.buffers[0].input = true;
    subject.buffers[0].address = with.args.source;
    subject.buffers[0].bytes = BANK_RIG_TILE;
    draw();
}

/* Tells whether lane a conflicts with a lane that is served at the same time:
 * the same bank, another dword. */
static bool meets(const groat__step *s, unsigned a)
{
    for (unsigned b = a / s->together * s->together;
         b < (a / s->together + 1) * s->together; b++)
        for (uint32_t x = s->shared[a]; x < s->shared[a] + s->bytes; x++)
            for (uint32_t y = s->shared[b]; y < s->shared[b] + s->bytes; y++)
                if (groat__step_has(s, b) && x / 4 != y / 4 &&
                    x / 4 % record.banks == y / 4 % record.banks)
                    return true;
    return false;
}

/* The outlined lanes are those that conflict; both models count the passes. */
static void ck_figure(const groat__figure *figure)
{
    const groat__step *step = &record.steps[figure->step];
    unsigned passes = 0;

    for (unsigned l = 0; l < record.lanes; l++)
        ck_assert_msg((figure->conflicting >> l & 1) == meets(step, l),
                      "lane %u", l);
    for (unsigned first = 0; first < record.lanes; first += step->together) {
        unsigned worst = 0;

        for (unsigned bank = 0; bank < record.banks; bank++) {
            unsigned load = groat__step_load(step, record.banks, first, bank);

            worst = load > worst ? load : worst;
        }
        passes += worst;
    }
    ck_assert_uint_eq(passes, step->passes);
}

/* ---- panels ------------------------------------------------------------- */

/* Shared memory byte; row and byte of the tile; wave, copy and lane. */
typedef struct position {
    unsigned shared, row, byte, wave, copy, lane;
} position;

/* The v227 placement; burst 2w + i is copy i of wave w. */
static const position v227[] = {
    {0, 0, 0, 0, 0, 0},         {112, 0, 112, 0, 0, 7},
    {128, 1, 0, 0, 0, 8},       {256, 16, 0, 0, 0, 16},
    {1008, 49, 112, 0, 0, 63},  {1040, 4, 0, 0, 1, 0},
    {1120, 4, 80, 0, 1, 5},     {1680, 37, 0, 0, 1, 40},
    {2080, 2, 0, 1, 0, 0},      {4160, 8, 0, 2, 0, 0},
    {8320, 64, 0, 4, 0, 0},     {15632, 78, 32, 7, 1, 2},
    {16608, 127, 112, 7, 1, 63}};

/* The tile's default placement: burst b is copy b / 8 of wave b % 8. */
static const position fp8[] = {
    {0, 0, 0, 0, 0, 0},      {64, 1, 0, 0, 0, 4},
    {512, 0, 64, 0, 0, 32},  {1008, 7, 112, 0, 0, 63},
    {1024, 8, 0, 1, 0, 0},   {8192, 64, 0, 0, 1, 0},
    {8272, 65, 16, 0, 1, 5}, {16368, 127, 112, 7, 1, 63}};

/* Checks the titles of a vector's cells in both panels. */
static void ck_cell(const position *p)
{
    unsigned bank = p->shared / 16 % 16 * 4;
    char line[256];

    (void)snprintf(line, sizeof(line),
                   "id=\"lds-%u\"><title>shared memory %u-%u, banks %u-%u: "
                   "wave %u, copy %u, lane %u, from row %u, byte %u of tile<",
                   p->shared, p->shared, p->shared + 15, bank, bank + 3,
                   p->wave, p->copy, p->lane, p->row, p->byte);
    ck_has(line);
    (void)snprintf(line, sizeof(line),
                   "id=\"in0-%u\"><title>row %u, byte %u of tile: wave %u, "
                   "copy %u, lane %u, to shared memory %u, banks %u-%u<",
                   p->row * 128 + p->byte, p->row, p->byte, p->wave, p->copy,
                   p->lane, p->shared, bank, bank + 3);
    ck_has(line);
}

/* Asserts that each cell of shared memory and the source is drawn once. */
static void ck_once(size_t gaps)
{
    size_t groups = 0;
    char id[32];

    for (unsigned at = 0; at < BANK_RIG_SHARED; at += 16) {
        (void)snprintf(id, sizeof(id), "id=\"lds-%u\"", at);
        ck_has(id);
    }
    for (unsigned at = 0; at < BANK_RIG_TILE; at += 16) {
        (void)snprintf(id, sizeof(id), "id=\"in0-%u\"", at);
        ck_has(id);
    }
    ck_assert_uint_eq(count("<g class=\"shared\""), CELLS);
    ck_assert_uint_eq(count("<g class=\"source\""), TILE_CELLS);
    ck_assert_uint_eq(drawn.cells, CELLS);
    ck_assert_uint_eq(drawn.vectors, TILE_CELLS);
    ck_assert_uint_eq(drawn.gaps, gaps);
    ck_assert_uint_eq(count(": never written"), gaps);
    /* One rect per gap, and one in the legend. */
    ck_assert_uint_eq(count("class=\"gap\"/>"), gaps + 1);
    for (unsigned group = 0; group < 16; group++) {
        (void)snprintf(id, sizeof(id), "\n.g%u{fill:#", group);
        groups += count(id);
    }
    ck_assert_uint_eq(groups, record.banks / 4);
}

/* Stores that fill shared memory beforehand do not change the panels. */
START_TEST(test_v227)
{
    run("cpu:gfx950", 8,
        (struct bank_probe_args){
            .what = BANK_PROBE_V227, .valid = 128, .filled = (unsigned)_i});
    for (size_t i = 0; i < COUNT(v227); i++)
        ck_cell(&v227[i]);
    ck_once(16);
    /* Rows follow each other without a gap; each has a line and a label. */
    ck_has("\">127</text>");
    for (unsigned cell = 0; cell < 16; cell++) {
        char gap[128];

        (void)snprintf(gap, sizeof(gap),
                       "id=\"lds-%u\"><title>shared memory "
                       "%u-%u, banks %u-%u: never written%s<",
                       cell * 1040 + 1024, cell * 1040 + 1024,
                       cell * 1040 + 1039, cell * 4, cell * 4 + 3,
                       _i ? ", but by a fill" : "");
        ck_has(gap);
    }
    ck_assert_uint_eq(drawn.reads.kind_count, 1);
    ck_assert_int_eq(drawn.reads.kinds[0].access, GROAT_ACCESS_TRANSPOSE);
    ck_assert_uint_eq(drawn.reads.kinds[0].worst, 1);
    ck_assert_uint_eq(drawn.reads.kinds[0].patterns, 1);
    ck_assert_uint_eq(drawn.reads.kinds[0].instructions, 4);
    ck_assert_uint_eq(count("class=\"spot\""), 64);
    ck_assert_uint_eq(count("class=\"spot conflict\""), 0);
    ck_assert_uint_eq(count(": CONFLICTS<"), 0);
    ck_assert_uint_eq(drawn.zero_cells, 0);
}
END_TEST

START_TEST(test_fp8)
{
    run("cpu:gfx950", 8,
        (struct bank_probe_args){.what = BANK_PROBE_FP8, .valid = 128});
    for (size_t i = 0; i < COUNT(fp8); i++)
        ck_cell(&fp8[i]);
    ck_once((BANK_RIG_SHARED - BANK_RIG_TILE) / 16);
    ck_assert_uint_eq(drawn.reads.kinds[0].worst, 2);
    ck_assert_uint_eq(drawn.reads.kinds[0].figures[0].hot, 64);
    ck_figure(&drawn.reads.kinds[0].figures[0]);
    ck_assert_uint_eq(count("class=\"spot conflict\""), 64);
    ck_has(": CONFLICTS<");
    /* Each of four groups of 16 lanes needs 16 banks twice. */
    ck_assert_uint_eq(count("class=\"busy\"/>"), 64);
}
END_TEST

/* Rows from 100 on are out of range: 28 rows of 8 cells. */
START_TEST(test_zeros)
{
    run("cpu:gfx950", 8,
        (struct bank_probe_args){.what = BANK_PROBE_FP8, .valid = 100});
    ck_once((BANK_RIG_SHARED - BANK_RIG_TILE) / 16);
    ck_assert_uint_eq(drawn.zero_cells, 224);
    ck_assert_uint_eq(drawn.zero_vectors, 224);
    ck_assert_uint_eq(count("; out of range: zeros<"), 448);
    ck_assert_uint_eq(count(">zeros</text>"), 224 + 1);
    /* The first such vector, in both panels; row 99 is in range. */
    ck_has("id=\"in0-12800\"><title>row 100, byte 0 of tile: wave 4, copy 1, "
           "lane 16, to shared memory 12544, banks 0-3; out of range: zeros<");
    ck_has("id=\"lds-12544\"><title>shared memory 12544-12559, banks 0-3: "
           "wave 4, copy 1, lane 16; out of range: zeros<");
    ck_has("row 99, byte 112 of tile: wave 4, copy 1, lane 47, to shared "
           "memory 13040, banks 60-63<");
}
END_TEST

/* Copies of four bytes: a cell belongs to four lanes of one instruction. */
START_TEST(test_dwords)
{
    run("cpu:gfx90a", 8,
        (struct bank_probe_args){.what = BANK_PROBE_V227, .valid = 128});
    ck_once(16);
    ck_has("id=\"lds-1120\"><title>shared memory 1120-1135, banks 24-27: wave "
           "0, copy 4, lanes 20-23, from row 4, byte 80 of tile<");
    ck_has(
        "id=\"in0-592\"><title>row 4, byte 80 of tile: wave 0, copy 4, lanes "
        "20-23, to shared memory 1120, banks 24-27<");
    /* No transpose reads on this arch: bytes are gathered one by one. */
    ck_assert_int_eq(drawn.reads.kinds[0].access, GROAT_ACCESS_READ);
    ck_assert_uint_eq(drawn.reads.kinds[0].bytes, 1);
    /* All lanes read bytes 0-31 and 1040-1071: half of these share banks. */
    ck_assert_uint_eq(drawn.reads.kinds[0].worst, 2);
    ck_assert_uint_eq(drawn.reads.kinds[0].figures[0].boxes, 16);
    ck_assert_uint_eq(drawn.reads.kinds[0].figures[0].hot, 8);
    ck_assert_uint_eq(count("class=\"spot conflict\""), 8);
    ck_figure(&drawn.reads.kinds[0].figures[0]);
}
END_TEST

/* ---- conflicts ---------------------------------------------------------- */

static const struct {
    const char *target;
    unsigned what, stride, bytes;
    size_t boxes, hot;
} strides[] = {
    {"cpu:gfx950", BANK_PROBE_READ, 4, 4, 64, 0},
    {"cpu:gfx950", BANK_PROBE_READ, 8, 4, 64, 64},
    {"cpu:gfx950", BANK_PROBE_READ, 0, 4, 1, 0},
    {"cpu:gfx950", BANK_PROBE_READ, 128, 4, 64, 64},
    {"cpu:gfx950", BANK_PROBE_READ, 24, 8, 64, 0},
    {"cpu:gfx950", BANK_PROBE_READ, 48, 8, 64, 64},
    {"cpu:gfx950", BANK_PROBE_READ, 8, 8, 64, 0},
    {"cpu:gfx950", BANK_PROBE_READ, 128, 16, 64, 64},
    {"cpu:gfx950", BANK_PROBE_READ_SWIZZLED, 128, 16, 64, 0},
    {"cpu:gfx950", BANK_PROBE_WRITE, 32, 16, 64, 64},
    {"cpu:gfx942", BANK_PROBE_READ, 8, 4, 64, 64},
    {"cpu:gfx942", BANK_PROBE_READ, 16, 16, 64, 0},
    {"cpu:sm_90a", BANK_PROBE_READ, 32, 16, 32, 32},
};

START_TEST(test_conflicts)
{
    unsigned what = strides[_i].what;
    const groat__kind *kind = &drawn.reads.kinds[0];
    const groat__figure *figure;
    const groat__step *step;

    run(strides[_i].target, 1,
        (struct bank_probe_args){.what = what,
                                 .stride = strides[_i].stride,
                                 .bytes = strides[_i].bytes,
                                 .filled = what != BANK_PROBE_WRITE});
    /* The fill is a kind of its own here: no copy overwrites it. */
    kind += what != BANK_PROBE_WRITE;
    ck_assert_int_eq(kind->access, what == BANK_PROBE_WRITE
                                       ? GROAT_ACCESS_WRITE
                                       : GROAT_ACCESS_READ);
    ck_assert_uint_eq(kind->bytes, strides[_i].bytes);
    figure = &kind->figures[0];
    step = &record.steps[figure->step];
    ck_assert_uint_eq(figure->boxes, strides[_i].boxes);
    ck_assert_uint_eq(figure->hot, strides[_i].hot);
    ck_assert_uint_eq(count("class=\"spot conflict\""), strides[_i].hot);
    ck_figure(figure);
    ck_assert_uint_eq(step->reuse > 1, strides[_i].hot > 0);
}
END_TEST

/* ---- hand-made records --------------------------------------------------- */

/* Addresses of an event of 64 lanes; the tests fill them in. */
static uint32_t shared[64];
static uint64_t asked[64];

static groat_trace event_of(groat_access access, unsigned bytes)
{
    return (groat_trace){.size = sizeof(groat_trace),
                         .access = access,
                         .lanes = 64,
                         .bytes = bytes,
                         .passes = 4,
                         .passes_min = 4,
                         .reuse = 1,
                         .active = UINT64_MAX,
                         .shared = shared,
                         .source = asked,
                         .banks = 64,
                         .together = 16,
                         .asked = asked};
}

static void subject_of(unsigned shared_bytes, size_t bytes)
{
    subject = (groat__subject){.spec = "a<b&c>\x01\xff:x=1",
                               .target = "cpu:gfx950",
                               .threads = 64,
                               .shared_bytes = shared_bytes,
                               .grid = {1, 1, 1},
                               .buffer_count = 2};
    subject.buffers[1].name = "in";
    subject.buffers[1].input = true;
    subject.buffers[1].address = 1 << 20;
    subject.buffers[1].bytes = bytes;
}

/* Rows of 64 bytes, 512 apart: four lanes to a row. */
START_TEST(test_pitch)
{
    groat_trace event = event_of(GROAT_ACCESS_COPY, 16);

    for (unsigned l = 0; l < 64; l++) {
        shared[l] = 16 * l;
        asked[l] = (1 << 20) + l / 4 * 512 + l % 4 * 16 + 96;
    }
    groat__record_add(&record, &event);
    /* Events of another block are ignored. */
    event.block[1] = 1;
    groat__record_add(&record, &event);
    subject_of(1024, 8192);
    draw();
    ck_assert_uint_eq(record.count, 1);
    ck_has(
        "rows of 512 bytes: the row at the left, the byte of it at the top.");
    ck_has("to shared memory 1008, banks 60-63<");
    ck_has("<title>row 15, byte 144 of in: wave 0, copy 0, lane 63, ");
    ck_has(">15+144</text>");
    ck_assert_uint_eq(count("&lt;b&amp;c&gt;"), 4);
    ck_assert_uint_eq(count("\x01"), 0);
}
END_TEST

/* Copies of four bytes per lane.  One cell in three is partly out of range, one
 * completely; the upper half of the last cell is never written. */
START_TEST(test_parts)
{
    groat_trace event = event_of(GROAT_ACCESS_COPY, 4);
    static uint64_t source[64];

    for (unsigned l = 0; l < 64; l++) {
        shared[l] = 4 * l;
        asked[l] = (1 << 20) + 4 * l;
        source[l] = l / 4 % 3 == 1   ? 0
                    : l / 4 % 3 == 2 ? (l % 4 < 2 ? asked[l] : 0)
                                     : asked[l];
    }
    event.source = source;
    event.active = UINT64_MAX >> 2;
    groat__record_add(&record, &event);
    subject_of(256, 1024);
    subject.pitch = 128;
    draw();
    ck_assert_uint_eq(drawn.cells, 16);
    ck_assert_uint_eq(drawn.zero_cells, 5);
    ck_assert_uint_eq(drawn.zero_vectors, 5);
    ck_assert_uint_eq(drawn.gaps, 1);
    ck_has("shared memory 16-31, banks 4-7: wave 0, copy 0, lanes 4-7; out of "
           "range: zeros<");
    ck_has("shared memory 32-47, banks 8-11: wave 0, copy 0, lanes 8-11, from "
           "row 0, byte 32 of in<");
    ck_has("shared memory 240-255, banks 60-63: wave 0, copy 0, lanes 60-61, "
           "from row 1, byte 112 of in; not written in part<");
    ck_assert_uint_eq(count(": never written"), 0);
    ck_assert_uint_eq(count("class=\"gap\"/>"), 1 + 1);
}
END_TEST

/* A store that is read before a copy comes is no fill; any other is. */
START_TEST(test_fill)
{
    groat_trace store = event_of(GROAT_ACCESS_WRITE, 16);
    groat_trace read = event_of(GROAT_ACCESS_READ, 16);
    groat_trace copy = event_of(GROAT_ACCESS_COPY, 16);

    for (unsigned l = 0; l < 64; l++) {
        shared[l] = 16 * l;
        asked[l] = (1 << 20) + 16 * l;
    }
    groat__record_add(&record, &store);
    if (_i)
        groat__record_add(&record, &read);
    shared[63] = 1024; /* the copy leaves out the last lane's cell */
    groat__record_add(&record, &copy);
    subject_of(1040, 1024);
    draw();
    ck_assert(record.steps[0].fill == !_i);
    ck_assert_uint_eq(drawn.gaps, _i ? 0 : 1);
    ck_assert_uint_eq(count("wave 0, write 0, lane 63<"), _i ? 1 : 0);
    ck_assert_uint_eq(count("never written, but by a fill<"), _i ? 0 : 1);
    /* Where both wrote, the first is shown: the store, unless it is a fill. */
    ck_assert_uint_eq(count("wave 0, write 0, lane 5<"), _i ? 1 : 0);
    ck_assert_uint_eq(count("Filled more than once"), _i ? 1 : 0);
}
END_TEST

static void add_moment(groat_access access, unsigned mbarrier, unsigned phase,
                       unsigned base)
{
    groat_trace event = event_of(access, 16);

    for (unsigned l = 0; l < 64; l++) {
        shared[l] = base + 16 * l;
        asked[l] = (1 << 20) + 16 * l;
    }
    event.mbarrier = mbarrier;
    event.phase = phase;
    groat__record_add(&record, &event);
}

/* Copies to two slots of 1 KiB, 16 bytes apart, which land one after the other:
 * by counted waits, or by phases of mbarriers.  The first is filled twice. */
START_TEST(test_slots)
{
    /* E: empty, F: in flight, T: there; a letter for each moment. */
    static const char *const expected[] = {"FFFTTTTFF", "EEFFFTTTT"};
    const unsigned a = _i ? 2064 : ~0u;
    const unsigned b = _i ? 2072 : ~0u;
    const groat_access landed = _i ? GROAT_ACCESS_RESUME : GROAT_ACCESS_LAND;
    groat__slot_state states[9];
    groat__slots slots;

    add_moment(GROAT_ACCESS_COPY, a, 0, 0);
    add_moment(GROAT_ACCESS_READ, ~0u, 0, 2080); /* else one moment copies */
    add_moment(GROAT_ACCESS_COPY, b, 0, 1040);
    add_moment(landed, a, _i ? 0 : 1, 0);
    add_moment(GROAT_ACCESS_READ, ~0u, 0, 0);
    add_moment(landed, b, _i ? 0 : 1, 0);
    add_moment(GROAT_ACCESS_READ, ~0u, 0, 1040);
    add_moment(GROAT_ACCESS_COPY, a, 1, 0);
    add_moment(landed, a, 0, 0); /* too weak: the copy does not land */
    ck_assert_uint_eq(record.moment_count, COUNT(states));
    ck_assert(groat__slots_make(&slots, &record, 2080));
    ck_assert_uint_eq(slots.count, 2);
    ck_assert_uint_eq(slots.left_out, 0);
    for (size_t k = 0; k < slots.count; k++) {
        ck_assert_uint_eq(slots.at[k].from, 1040 * k);
        ck_assert_uint_eq(slots.at[k].to, 1040 * k + 1024);
        groat__slot_follow(&slots, k, &record, COUNT(states), states);
        for (size_t i = 0; i < COUNT(states); i++)
            ck_assert_msg("EFT"[states[i]] == expected[k][i],
                          "slot %zu, moment %zu: %d", k, i, (int)states[i]);
    }
    ck_assert(groat__slot_has(&slots.at[0], &record, 4));
    ck_assert(!groat__slot_has(&slots.at[0], &record, 6));
    ck_assert(groat__slot_has(&slots.at[1], &record, 6));
    groat__slots_free(&slots);
}
END_TEST

/* 160 KiB of shared memory, copies of as many bytes, and reads of more patterns
 * than can be drawn, each with the most conflicts possible. */
START_TEST(test_bounds)
{
    groat_trace copy = event_of(GROAT_ACCESS_COPY, 16);
    groat_trace read = event_of(GROAT_ACCESS_READ, 4);

    for (unsigned i = 0; i < 160; i++) {
        for (unsigned l = 0; l < 64; l++) {
            shared[l] = 1024 * i + 16 * l;
            asked[l] = (1 << 20) + 1024 * i + 16 * l;
        }
        copy.wave = i % 16;
        groat__record_add(&record, &copy);
    }
    read.reuse = 32;
    for (unsigned kind = 0; kind < 12; kind++)
        for (unsigned i = 0; i < 100; i++) {
            for (unsigned l = 0; l < 64; l++)
                shared[l] = l * 256 + (l + i) % 63 * 4;
            read.bytes = kind + 4;
            read.together = 64;
            groat__record_add(&record, &read);
        }
    subject_of(160 << 10, 160 << 10);
    draw();
    ck_assert_uint_eq(drawn.cells, GROAT__DRAW_BYTES / 16);
    ck_assert_uint_eq(drawn.vectors, GROAT__DRAW_BYTES / 16);
    ck_has("Drawn are the first 32768 of the block's 163840 bytes.");
    ck_has("Drawn are the first 32768 of the 163840 bytes that block 0 copies "
           "from it.");
    ck_assert_uint_gt(drawn.pages, 4);
    ck_assert_uint_eq(drawn.reads.kind_count, GROAT__DRAW_KINDS);
    ck_has("400 more instructions are of kinds that found no room here.");
}
END_TEST

/* Counts the lines of shared memory on each page, by the addresses in front of
 * them; returns how many there are. */
static unsigned count_lines(unsigned *of_page, size_t pages)
{
    const char *at = svg.data;
    unsigned lines = 0;
    char mark[32];
    double y;

    memset(of_page, 0, pages * sizeof(*of_page));
    for (;; lines++) {
        (void)snprintf(mark, sizeof(mark), ">%u</text>", 256 * lines);
        do {
            if ((at = strstr(at, "<text class=\"mark\"")) == NULL)
                return lines;
            at += strcspn(at, ">");
        } while (strncmp(at, mark, strlen(mark)) != 0);
        while (strncmp(at, "y=", 2) != 0)
            at--;
        y = strtod(at + 3, NULL);
        ck_assert(y / GROAT__PAGE_HEIGHT < (double)pages);
        ck_assert(fmod(y, GROAT__PAGE_HEIGHT) < GROAT__PAGE_BOTTOM);
        of_page[(size_t)(y / GROAT__PAGE_HEIGHT)]++;
        at += strcspn(at, ">");
    }
}

/* However many lines there are, all are drawn, and no page has fewer than
 * three of them. */
START_TEST(test_page_ends)
{
    groat_trace store = event_of(GROAT_ACCESS_WRITE, 16);

    for (unsigned l = 0; l < 64; l++)
        shared[l] = 16 * l;
    groat__record_add(&record, &store);
    for (unsigned lines = 4; lines <= GROAT__DRAW_BYTES / 256; lines++) {
        unsigned of_page[8];

        subject_of(256 * lines, 0);
        subject.buffer_count = 0;
        groat__str_clear(&svg);
        draw();
        ck_assert_uint_eq(count_lines(of_page, COUNT(of_page)), lines);
        for (size_t i = 0; i < COUNT(of_page); i++)
            ck_assert_msg(of_page[i] == 0 || of_page[i] >= 3,
                          "%u lines: %u on page %zu", lines, of_page[i], i + 1);
    }
}
END_TEST

START_TEST(test_left_out)
{
    groat_trace read = event_of(GROAT_ACCESS_READ, 16);

    for (unsigned i = 0; i < GROAT__DRAW_STEPS + 7; i++)
        groat__record_add(&record, &read);
    subject_of(1024, 0);
    draw();
    ck_assert_uint_eq(record.count, GROAT__DRAW_STEPS);
    ck_has(
        "At least 7 instructions or waits are not drawn: there are too many.");
    /* The sums include the instructions that are not drawn. */
    ck_assert_uint_eq(record.sums.sum[GROAT_ACCESS_READ][16].instructions,
                      GROAT__DRAW_STEPS + 7);
}
END_TEST

START_TEST(test_names_of_lanes)
{
    static const struct {
        unsigned lane, at;
    } lanes[] = {{0, 0},    {1, 0},    {2, 0},    {8, 64},  {10, 64},
                 {20, 128}, {22, 128}, {24, 128}, {40, 192}};
    groat_trace read = event_of(GROAT_ACCESS_READ, 4);

    read.active = 0;
    for (size_t i = 0; i < COUNT(lanes); i++) {
        shared[lanes[i].lane] = lanes[i].at;
        read.active |= (uint64_t)1 << lanes[i].lane;
    }
    groat__record_add(&record, &read);
    subject_of(1024, 0);
    draw();
    ck_has("lane 0-2, shared memory 0-3");
    ck_has("lane 8,10, shared memory 64-67");
    ck_has("lane 20,22.., shared memory 128-131");
    ck_has("lane 40, shared memory 192-195");
}
END_TEST

/* A map of 16 GiB cannot be allocated, so there is no picture. */
START_TEST(test_no_memory)
{
    const struct rlimit limit = {1u << 30, 1u << 30};
    int status = 0;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        subject_of(UINT32_MAX, 0);
        if (setrlimit(RLIMIT_AS, &limit) != 0)
            _exit(2);
        _exit(groat__draw(&record, &subject, &svg, &drawn));
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("draw");
    TCase *tests = tcase_create("draw");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, test_v227, 0, 2);
    tcase_add_test(tests, test_fp8);
    tcase_add_test(tests, test_zeros);
    tcase_add_test(tests, test_dwords);
    tcase_add_loop_test(tests, test_conflicts, 0, COUNT(strides));
    tcase_add_test(tests, test_pitch);
    tcase_add_test(tests, test_parts);
    tcase_add_loop_test(tests, test_fill, 0, 2);
    tcase_add_loop_test(tests, test_slots, 0, 2);
    tcase_add_test(tests, test_bounds);
    tcase_add_test(tests, test_page_ends);
    tcase_add_test(tests, test_left_out);
    tcase_add_test(tests, test_names_of_lanes);
    if (!is_tsan() && !is_asan()) /* sanitizers abort when memory runs out */
        tcase_add_test(tests, test_no_memory);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
