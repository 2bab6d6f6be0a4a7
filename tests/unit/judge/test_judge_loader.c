/* SPDX-License-Identifier: Apache-2.0
 *
 * test_judge_loader.c: the tile loader's own source, with each wait, barrier,
 * fence and commit removed in turn, or with a count that is one too high.
 */
#include "tests/kernels/mutants.h"
#include "tests/unit/suite.h"

/* Eight tiles.  Two of four waves load, so that every wave reads what another
 * wave copied. */
#define SHAPE                                                                  \
    "tile_rows=32,tile_cols=64,src_cols=64,num_loading_warps=2,num_warps=4"    \
    " valid_rows=256 row_tiles=8 row_step=2"
#define IMAGE  "tile_loader_lds:entry=image," SHAPE
#define STREAM "tile_loader_lds:entry=stream,stages=3," SHAPE

#define GATE "wave >= num_loading_warps"

static const mutant table[] = {
    {IMAGE, {"", "", 0, ""}, 0, 0}, /* the loader as it is */
    {STREAM, {"", "", 0, ""}, 0, 0},
    {IMAGE, {IN_POISON, FENCE, 0, ""}, AMD, 0},
    {IMAGE, {IN_POISON, BARRIER, 0, ""}, ALL, 0},
    {IMAGE, {"void image(", COMMIT, 0, ""}, NV, 0},
    {IMAGE, {"void image(", WAIT_ALL, 0, ""}, ALL, 0},
    {IMAGE, {"void image(", WAIT_ALL, 0, WAIT_ONE}, ALL, 0},
    {IMAGE, {"void image(", BARRIER, 0, ""}, ALL, 0},
    {IMAGE, {"void load(", GATE, 0, "wave >= num_warps"}, ALL, 0},
    {STREAM, {IN_STREAM, COMMIT, 0, ""}, NV, 0},
    {STREAM, {IN_STREAM, COMMIT, 1, ""}, NV, 0},
    {STREAM, {IN_STREAM, WAIT_AHEAD, 0, ";"}, ALL, 0},
    {STREAM, {IN_STREAM, WAIT_AHEAD, 0, WAIT_MORE}, ALL, 0},
    {STREAM, {IN_STREAM, WAIT_ALL, 0, ";"}, ALL, 0},
    /* In the tail NVIDIA counts empty groups too: `ahead` may remain. */
    {STREAM, {IN_STREAM, WAIT_ALL, 0, WAIT_ONE}, AMD, 0},
    {STREAM, {IN_STREAM, WAIT_ALL, 0, "async_wait<0, ahead>();"}, 0, 0},
    {STREAM, {IN_STREAM, WAIT_ALL, 0, TAIL_MORE}, ALL, 0},
    {STREAM, {IN_STREAM, BARRIER, 0, ""}, ALL, 0},
    {STREAM, {IN_STREAM, BARRIER, 1, ""}, ALL, 0},
    /* The loaded values were used: only stores would need this fence. */
    {STREAM, {IN_STREAM, FENCE, 0, ""}, 0, 0},
    {STREAM, {IN_STREAM, NEXT_FILL, 0, "fill = 0;"}, ALL, 0},
    {STREAM, {IN_STREAM, NEXT_FILL, 1, ""}, ALL, 0},
    {STREAM, {IN_STREAM, NEXT_USE, 0, ""}, ALL, 0},
};

int main(void)
{
    const mutants_suite suite = {.name = "judge_loader",
                                 .table = table,
                                 .count = COUNT(table),
                                 .seeds = 6};

    return mutants_main(&suite);
}
