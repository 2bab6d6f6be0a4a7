/* SPDX-License-Identifier: Apache-2.0
 *
 * test_st_8x32_mutants.c: the source of subtile_loader_st_8x32 with each wait,
 * barrier, fence and commit taken out in turn, or with a count that is one too
 * large, and with faults in its arithmetic.
 */
#include "tests/kernels/mutants.h"
#include "tests/unit/suite.h"

/* Five tiles of one head from the third key on, the last of them partial. */
#define FAMILY "subtile_loader_st_8x32:"
#define LAUNCH " soffset=384 row_tiles=5 col_tiles=1 row_step=1 queries=70"
#define SMALL                                                                  \
    "tile_keys=32,depth=64,src_cols=64,num_warps=2 valid_rows=155" LAUNCH
#define FP8                                                                    \
    "dtype=fp8,tile_keys=128,src_cols=128,num_warps=4 valid_rows=635" LAUNCH
#define IMAGE    FAMILY "entry=image," SMALL
#define IMAGE7   FAMILY "entry=image,placement=v227," FP8
#define PIECES   FAMILY "entry=fragments," SMALL
#define PIECES7  FAMILY "entry=fragments,placement=v227," FP8
#define STREAM   FAMILY "entry=stream,stages=3," SMALL
#define STREAM7  FAMILY "entry=stream,stages=3,placement=v227," FP8
#define PRODUCT  FAMILY "entry=output," SMALL
#define PRODUCT8 FAMILY "entry=output," FP8

#define IN_IMAGE  "void image("
#define IN_PIECES "void fragments("
#define IN_OUTPUT "void output("

static const mutant table[] = {
    /* the family as it is */
    {IMAGE, {"", "", 0, ""}, 0, 0},
    {IMAGE7, {"", "", 0, ""}, 0, 0},
    {PIECES, {"", "", 0, ""}, 0, 0},
    {PIECES7, {"", "", 0, ""}, 0, 0},
    {STREAM, {"", "", 0, ""}, 0, 0},
    {STREAM7, {"", "", 0, ""}, 0, 0},
    {PRODUCT, {"", "", 0, ""}, 0, 0},
    {PRODUCT8, {"", "", 0, ""}, 0, 0},
    /* waits, barriers, fences, commits */
    {IMAGE, {IN_POISON, FENCE, 0, ""}, AMD, 0},
    /* By default a thread reads back its own bytes: only v227 shows it. */
    {IMAGE7, {IN_POISON, BARRIER, 0, ""}, ALL, 0},
    {IMAGE, {IN_IMAGE, COMMIT, 0, ""}, NV, 0},
    {IMAGE, {IN_IMAGE, WAIT_ALL, 0, ""}, ALL, 0},
    {IMAGE, {IN_IMAGE, WAIT_ALL, 0, WAIT_ONE}, ALL, 0},
    {IMAGE7, {IN_IMAGE, WAIT_ALL, 0, WAIT_ONE}, ALL, 0},
    {IMAGE7, {IN_IMAGE, BARRIER, 0, ""}, ALL, 0},
    {PIECES, {IN_PIECES, COMMIT, 0, ""}, NV, 0},
    {PIECES, {IN_PIECES, WAIT_ALL, 0, ""}, ALL, 0},
    {PIECES, {IN_PIECES, WAIT_ALL, 0, WAIT_ONE}, ALL, 0},
    {PIECES7, {IN_PIECES, WAIT_ALL, 0, WAIT_ONE}, ALL, 0},
    {PIECES, {IN_PIECES, BARRIER, 0, ""}, ALL, 0},
    {STREAM, {IN_STREAM, COMMIT, 0, ""}, NV, 0},
    {STREAM, {IN_STREAM, COMMIT, 1, ""}, NV, 0},
    {STREAM, {IN_STREAM, WAIT_AHEAD, 0, ";"}, ALL, 0},
    {STREAM, {IN_STREAM, WAIT_AHEAD, 0, WAIT_MORE}, ALL, 0},
    {STREAM, {IN_STREAM, WAIT_ALL, 0, ";"}, ALL, 0},
    {STREAM, {IN_STREAM, WAIT_ALL, 0, TAIL_MORE}, ALL, 0},
    {STREAM7, {IN_STREAM, BARRIER, 0, ""}, ALL, 0},
    {STREAM7, {IN_STREAM, BARRIER, 1, ""}, ALL, 0},
    /* The loaded values have been used, so only stores would need this one. */
    {STREAM, {IN_STREAM, FENCE, 0, ""}, 0, 0},
    /* AMD counts copies, not groups, and only AMD multiplies. */
    {PRODUCT, {IN_OUTPUT, COMMIT, 0, ""}, 0, 0},
    {PRODUCT, {IN_OUTPUT, WAIT_ALL, 0, ""}, AMD, 0},
    {PRODUCT, {IN_OUTPUT, WAIT_ALL, 0, WAIT_ONE}, AMD, 0},
    {PRODUCT, {IN_OUTPUT, BARRIER, 0, ""}, AMD, 0},
    {PRODUCT, {IN_OUTPUT, BARRIER, 1, ""}, AMD, 0},
    /* For the judge a read is complete when it returns. */
    {PRODUCT, {IN_OUTPUT, FENCE, 0, ""}, 0, 0},
    /* holes and slots */
    {STREAM7, {"", "fold<gap>", 0, "fold<0>"}, ALL, 0},
    {STREAM7, {"stream_tiles<stages", "slot_bytes", 0, "tile_bytes"}, ALL, 0},
    {IMAGE7, {"", "cell_pitch = 1040", 0, "cell_pitch = 1024"}, 0, ALL},
    {PIECES7, {"", "cell_pitch = 1040", 0, "cell_pitch = 1008"}, ALL, 0},
    /* the loader's arithmetic */
    {IMAGE7, {"source_of(", "8 * (chunk", 0, "16 * (chunk"}, 0, ALL},
    {IMAGE7, {"source_of(", "32 * (row", 0, "48 * (row"}, 0, ALL},
    {IMAGE, {"source_of(", "/ subtiles_per_row * 8", 0, "* 8"}, 0, ALL},
    {IMAGE, {"void load(", "i * num_warps + wave", 0, "wave"}, AMD | NV, 0},
    {IMAGE, {"tile_source(", "+ args.soffset / row_bytes + 1", 0, ""}, 0, ALL},
    {IMAGE, {"tile_soffset(", "args.soffset +", 0, ""}, 0, ALL},
    /* arithmetic of the readers */
    {PIECES7, {"u32 place(", "4 * (key >> 3 & 1)", 0, "0"}, 0, ALL},
    {PIECES, {"u32 place(", "key % 8 * 64", 0, "key % 4 * 64"}, 0, ALL},
    {PIECES, {"pv_key(", "4 * (lane / 32)", 0, "0"}, 0, ALL},
    {PIECES7, {"pv_key(", "lane % 16 / 8 * 8", 0, "0"}, 0, ALL},
    {PIECES, {"pv_col_byte(", "16 * (lane / 16 % 2)", 0, "0"}, 0, ALL},
    {PIECES, {IN_PIECES, "f += num_warps", 0, "f += 2 * num_warps"}, 0, ALL},
    /* arithmetic of the product */
    {PRODUCT, {"pv_pick16(", "== 0", 0, "!= 0"}, 0, AMD},
    {PRODUCT8, {"pv_pick8(", "== 0", 0, "!= 0"}, 0, AMD},
    {PRODUCT, {"pv_weights16(", "voffset + 16", 0, "voffset"}, 0, AMD},
    {PRODUCT8, {"pv_weights8(", "voffset + 48", 0, "voffset"}, 0, AMD},
    {PRODUCT,
     {"void store_accumulator(", "accumulator_row<m>(lane, p)", 0, "p"},
     0,
     AMD},
    {PRODUCT, {IN_OUTPUT, "tile * strips", 0, "0"}, 0, AMD},
    {PRODUCT, {"void store(", "query >= args.queries", 0, "false"}, AMD, 0},
};

int main(void)
{
    const mutants_suite suite = {.name = "st_8x32_mutants",
                                 .table = table,
                                 .count = COUNT(table),
                                 .seeds = 2};

    return mutants_main(&suite);
}
