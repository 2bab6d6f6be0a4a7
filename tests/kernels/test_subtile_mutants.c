/* SPDX-License-Identifier: Apache-2.0
 *
 * test_subtile_mutants.c: subtile_loader's own source, with each wait,
 * barrier, fence and commit taken out in turn, or with a count that is one too
 * large, and with a few wrong addresses.
 */
#include "tests/kernels/mutants.h"
#include "tests/unit/suite.h"

/* Eight tiles of one head, at an offset of a row and 32 bytes: no whole number
 * of rows.  Two of a block's waves have queries, two only load. */
#define SHAPE "BN=64,depth=64,src_cols=64,ld=80,num_warps=4"
#define LAUNCH                                                                 \
    " valid_rows=576 scalar_offset=192 row_tiles=8 heads=1 row_step=2"         \
    " queries=70"
#define IMAGE  "subtile_loader:entry=image," SHAPE LAUNCH
#define PIECES "subtile_loader:entry=fragments," SHAPE LAUNCH
#define STREAM "subtile_loader:entry=stream,stages=3," SHAPE LAUNCH
#define SCORES "subtile_loader:entry=scores," SHAPE LAUNCH

#define IN_LOAD   "void load_one("
#define IN_SCORES "void scores("
#define CHAIN     "constexpr u32 chain("

static const mutant table[] = {
    {IMAGE, {"", "", 0, ""}, 0, 0}, /* the loader as it is */
    {PIECES, {"", "", 0, ""}, 0, 0},
    {STREAM, {"", "", 0, ""}, 0, 0},
    {SCORES, {"", "", 0, ""}, 0, 0},
    {IMAGE, {IN_POISON, FENCE, 0, ""}, AMD, 0},
    /* A wave poisons only the chunks that it loads. */
    {IMAGE, {IN_POISON, BARRIER, 0, ""}, 0, 0},
    {IMAGE, {IN_LOAD, COMMIT, 0, ""}, NV, 0},
    {IMAGE, {IN_LOAD, WAIT_ALL, 0, ""}, ALL, 0},
    {IMAGE, {IN_LOAD, WAIT_ALL, 0, WAIT_ONE}, ALL, 0},
    {PIECES, {IN_LOAD, BARRIER, 0, ""}, ALL, 0},
    {PIECES, {IN_LOAD, WAIT_ALL, 0, ";"}, ALL, 0},
    {SCORES, {IN_LOAD, BARRIER, 0, ";"}, AMD, 0},
    {SCORES, {IN_LOAD, WAIT_ALL, 0, WAIT_ONE}, AMD, 0},
    /* The loaded values have been used, so only stores would need this one. */
    {SCORES, {IN_SCORES, FENCE, 0, ""}, 0, 0},
    {SCORES, {IN_SCORES, BARRIER, 0, ""}, AMD, 0},
    {STREAM, {IN_STREAM, COMMIT, 0, ""}, NV, 0},
    {STREAM, {IN_STREAM, COMMIT, 1, ""}, NV, 0},
    {STREAM, {IN_STREAM, WAIT_AHEAD, 0, ";"}, ALL, 0},
    {STREAM, {IN_STREAM, WAIT_AHEAD, 0, WAIT_MORE}, ALL, 0},
    {STREAM, {IN_STREAM, WAIT_ALL, 0, ";"}, ALL, 0},
    {STREAM, {IN_STREAM, WAIT_ALL, 0, TAIL_MORE}, ALL, 0},
    /* A wave folds the chunks that it loads: its own wait is enough. */
    {STREAM, {IN_STREAM, BARRIER, 0, ""}, 0, 0},
    {STREAM, {IN_STREAM, BARRIER, 1, ""}, 0, 0},
    {STREAM, {IN_STREAM, FENCE, 0, ""}, 0, 0},
    {STREAM, {IN_STREAM, NEXT_FILL, 0, "fill = 0;"}, ALL, 0},
    {STREAM, {IN_STREAM, NEXT_FILL, 1, ""}, ALL, 0},
    {STREAM, {IN_STREAM, NEXT_USE, 0, ""}, ALL, 0},
    /* Addresses. */
    {IMAGE, {CHAIN, "<1, 1, 4>", 0, "<1, 0, 4>"}, 0, ALL},
    {IMAGE,
     {"struct offset_in_tile", "% chunks_per_subtile", 0, "* 0"},
     0,
     ALL},
    {IMAGE, {"buffer tile_source(", "+ ld_bytes - 1", 0, ""}, 0, ALL},
    {IMAGE,
     {"buffer tile_source(", "static_cast<i64>(row_tile) * BN", 0, "row_tile"},
     0,
     ALL},
    {IMAGE, {"u32 tile_offset(", "args.scalar_offset +", 0, ""}, 0, ALL},
    {PIECES, {"u32 fragment_address(", "chain<reader>", 0, ""}, 0, ALL},
    {PIECES, {"u32 fragment_address(", "lane / mma_m", 0, "0"}, 0, ALL},
    {SCORES, {"u32 fragment_address(", "chain<reader>", 0, ""}, 0, AMD},
    {SCORES, {IN_SCORES, "row += BN * 4;", 0, ""}, 0, AMD},
    {SCORES,
     {"void store_accumulator(", "accumulator_row<m>(lane, p)", 0, "p"},
     0,
     AMD},
    {SCORES, {IN_SCORES, "query < args.queries", 0, "true"}, AMD, 0},
    {SCORES, {"struct query_vectors", "+ part * 16", 0, "+ 16"}, 0, AMD},
};

int main(void)
{
    const mutants_suite suite = {.name = "subtile_mutants",
                                 .table = table,
                                 .count = COUNT(table),
                                 .seeds = 6};

    return mutants_main(&suite);
}
