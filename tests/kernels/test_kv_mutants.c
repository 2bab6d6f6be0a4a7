/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv_mutants.c: the kv families' own sources, with each wait, barrier,
 * fence and commit taken out in turn, or with a count that is one too large,
 * and with addresses changed.
 */
#include "tests/kernels/mutants.h"
#include "tests/unit/suite.h"

/* Two waves, each of which reads what the other one copied; a few key blocks
 * and a partial one. */
#define SHAPE  "depth=64,num_warps=2,swizzle_bits=3,swizzle_shift=4"
#define TILES  ",BN=64,WN=64," SHAPE " valid_rows=300"
#define STAGES ",BN=32," SHAPE " valid_rows=230"

#define LDS_IMAGE      "kv_buffer_lds:entry=image" TILES
#define LDS_PIECES     "kv_buffer_lds:entry=fragments" TILES
#define LDS_VALUES     "kv_buffer_lds:entry=fragments,role=V" TILES
#define LDS_SCORES     "kv_buffer_lds:entry=scores" TILES
#define LDS_OUTPUT     "kv_buffer_lds:entry=output" TILES
#define LDS_STREAM     "kv_buffer_lds:entry=stream" TILES " block_step=4"
#define REG_IMAGE      "kv_buffer_reg:entry=image" TILES
#define REG_VALUES     "kv_buffer_reg:entry=fragments,role=V" TILES
#define REG_SCORES     "kv_buffer_reg:entry=scores" TILES
#define REG_OUTPUT     "kv_buffer_reg:entry=output" TILES
#define REG_STREAM     "kv_buffer_reg:entry=stream" TILES " block_step=4"
#define PIPE_IMAGE     "kv_buffer_pipelined:entry=image" STAGES
#define PIPE_STREAM    "kv_buffer_pipelined:entry=stream" STAGES " block_step=2"
#define PIPE_ATTENTION "kv_buffer_pipelined:entry=attention" STAGES

#define WAIT_KEYS "async_wait<vm, 1>();"
#define WAIT_VALS "async_wait<2 * vm, 2>();"
#define RUN       "struct pipeline {"
#define LDS_RUN   "struct single_buffer {"
#define REG_RUN   "struct register_buffer {"
#define USE       "void use_tile("

static const mutant table[] = {
    /* ---- kv_buffer_lds as it is, and without one thing */
    {LDS_IMAGE, {"", "", 0, ""}, 0, 0},
    {LDS_PIECES, {"", "", 0, ""}, 0, 0},
    {LDS_VALUES, {"", "", 0, ""}, 0, 0},
    {LDS_SCORES, {"", "", 0, ""}, 0, 0},
    {LDS_OUTPUT, {"", "", 0, ""}, 0, 0},
    {LDS_STREAM, {"", "", 0, ""}, 0, 0},
    {LDS_IMAGE, {IN_POISON, FENCE, 0, ""}, AMD, 0},
    {LDS_IMAGE, {IN_POISON, BARRIER, 0, ""}, ALL, 0},
    {LDS_STREAM, {"void load_from_dram(", COMMIT, 0, ""}, NV, 0},
    {LDS_SCORES, {"void copy_to_shared(", WAIT_ALL, 0, ""}, AMD, 0},
    {LDS_STREAM, {"void copy_to_shared(", WAIT_ALL, 0, ";"}, ALL, 0},
    {LDS_STREAM, {"void copy_to_shared(", WAIT_ALL, 0, WAIT_ONE}, ALL, 0},
    {LDS_SCORES, {LDS_RUN, BARRIER, 0, ""}, AMD, 0},
    {LDS_OUTPUT, {LDS_RUN, BARRIER, 0, ";"}, AMD, 0},
    {LDS_IMAGE, {LDS_RUN, BARRIER, 0, " ;"}, ALL, 0},
    {LDS_SCORES, {LDS_RUN, BARRIER, 1, ""}, AMD, 0},
    {LDS_STREAM, {LDS_RUN, BARRIER, 1, " ;"}, ALL, 0},
    /* The values that were read have been used: only stores need the fence. */
    {LDS_STREAM, {LDS_RUN, FENCE, 0, ""}, 0, 0},
    /* ---- addresses, tested with this family only */
    {LDS_IMAGE,
     {"half_source", "permute(64 * half + place) % 64", 0, "place"},
     0,
     ALL},
    {LDS_IMAGE, {"void copy(buffer", "half * (16 * ld * 2)", 0, "0"}, 0, ALL},
    /* Whichever wave copies a square, its place is the same. */
    {LDS_IMAGE,
     {"void copy(buffer", "square = t * waves + wave", 0,
      "square = t * waves + waves - 1 - wave"},
     0,
     0},
    {LDS_IMAGE, {"vector_source(", "vector % 4 * 8", 0, "vector % 4"}, ALL, 0},
    /* The swizzle computed from the strip instead of the square. */
    {LDS_PIECES,
     {"key_fragment(", "tile::address(row0 + lane % m, col0 + lane / m * 8)", 0,
      "tile::address(row0 + lane % m, lane / m * 8) + col0 * 2"},
     ALL,
     0},
    {LDS_VALUES,
     {"struct value_address", "lane % m / 16 * 16", 0, "0"},
     0,
     ALL},
    {LDS_VALUES, {"value_fragment(", "row0 + 256 / m", 0, "row0 + 4"}, 0, ALL},
    {LDS_OUTPUT, {"weight_fragment(", "col0 + 256 / m", 0, "col0 + 4"}, 0, AMD},
    {LDS_SCORES, {"query_fragment(", "lane / m * 16", 0, "0"}, 0, AMD},
    {LDS_SCORES, {"void take(u32 n", "clear();", 0, ""}, 0, AMD},
    {LDS_STREAM, {"key_block_rows(", "rows - row;", 0, "rows;"}, ALL, 0},
    /* ---- kv_buffer_reg */
    {REG_IMAGE, {"", "", 0, ""}, 0, 0},
    {REG_VALUES, {"", "", 0, ""}, 0, 0},
    {REG_SCORES, {"", "", 0, ""}, 0, 0},
    {REG_OUTPUT, {"", "", 0, ""}, 0, 0},
    {REG_STREAM, {"", "", 0, ""}, 0, 0},
    {REG_IMAGE, {IN_POISON, FENCE, 0, ""}, AMD, 0},
    /* The same wave poisons and stores, or stores and folds, a place. */
    {REG_IMAGE, {IN_POISON, BARRIER, 0, ""}, NV, 0},
    {REG_STREAM, {"void copy_to_shared(", FENCE, 0, ""}, AMD, 0},
    {REG_STREAM, {USE, BARRIER, 0, ""}, NV, 0},
    {REG_SCORES, {USE, BARRIER, 0, ";"}, AMD, 0},
    {REG_STREAM, {USE, BARRIER, 1, ""}, NV, 0},
    {REG_OUTPUT, {USE, BARRIER, 1, ";"}, AMD, 0},
    /* As above. */
    {REG_STREAM, {USE, FENCE, 0, ""}, 0, 0},
    {REG_STREAM,
     {"void use_and_load(", "use.place(n + 1)", 0, "use.place(n)"},
     0,
     ALL},
    {REG_STREAM,
     {REG_RUN, "use_and_load(use, n + 1, odd, even)", 0,
      "use_and_load(use, n + 1, even, odd)"},
     0,
     ALL},
    {REG_STREAM, {REG_RUN, "use_last(use, n + 1, odd)", 0, "(void)0"}, 0, ALL},
    {REG_SCORES,
     {"void use_and_load(", "use.fetch(n);", 0, "use.fetch(n + 1);"},
     0,
     AMD},
    {REG_IMAGE, {"void store(u32", "permute(n % 128)", 0, "n % 128"}, 0, ALL},
    {REG_IMAGE, {"void load(buffer", "square_source(n / 128)", 0, "0"}, 0, ALL},
    /* ---- kv_buffer_pipelined */
    {PIPE_ATTENTION, {"", "", 0, ""}, 0, 0},
    {PIPE_IMAGE, {"", "", 0, ""}, 0, 0},
    {PIPE_STREAM, {"", "", 0, ""}, 0, 0},
    {PIPE_IMAGE, {IN_POISON, FENCE, 0, ""}, AMD, 0},
    {PIPE_IMAGE, {IN_POISON, BARRIER, 0, ""}, ALL, 0},
    {PIPE_STREAM, {"void load(const block_place", COMMIT, 0, ""}, NV, 0},
    {PIPE_STREAM, {"void load(const block_place", COMMIT, 1, ""}, NV, 0},
    {PIPE_STREAM, {RUN, WAIT_KEYS, 0, ";"}, ALL, 0},
    {PIPE_ATTENTION, {RUN, WAIT_KEYS, 0, " ;"}, AMD, 0},
    {PIPE_STREAM, {RUN, WAIT_KEYS, 0, "async_wait<vm + 1, 2>();"}, ALL, 0},
    {PIPE_ATTENTION, {RUN, WAIT_KEYS, 0, "async_wait<vm + 1, 2>();"}, AMD, 0},
    {PIPE_STREAM, {RUN, WAIT_ALL, 0, ";"}, ALL, 0},
    {PIPE_ATTENTION, {RUN, WAIT_ALL, 0, " ;"}, AMD, 0},
    {PIPE_STREAM, {RUN, WAIT_ALL, 0, WAIT_KEYS}, ALL, 0},
    {PIPE_STREAM, {RUN, WAIT_ALL, 0, WAIT_ONE}, ALL, 0},
    {PIPE_IMAGE, {RUN, WAIT_ALL, 0, WAIT_KEYS}, ALL, 0},
    {PIPE_STREAM, {RUN, WAIT_VALS, 0, ";"}, ALL, 0},
    {PIPE_ATTENTION, {RUN, WAIT_VALS, 0, " ;"}, AMD, 0},
    {PIPE_STREAM, {RUN, WAIT_VALS, 0, "async_wait<2 * vm + 1, 3>();"}, ALL, 0},
    {PIPE_ATTENTION,
     {RUN, WAIT_VALS, 0, "async_wait<2 * vm + 1, 3>();"},
     AMD,
     0},
    {PIPE_STREAM, {RUN, BARRIER, 0, ""}, ALL, 0},
    {PIPE_ATTENTION, {RUN, BARRIER, 0, ";"}, AMD, 0},
    {PIPE_STREAM, {RUN, BARRIER, 1, ""}, ALL, 0},
    {PIPE_ATTENTION, {RUN, BARRIER, 1, ";"}, AMD, 0},
    /* As above. */
    {PIPE_STREAM, {RUN, FENCE, 0, ""}, 0, 0},
    /* A wait for more than is needed is no fault. */
    {PIPE_STREAM, {RUN, WAIT_KEYS, 0, "async_wait<vm - 1, 0>();"}, 0, 0},
    {PIPE_STREAM, {RUN, WAIT_VALS, 0, "async_wait<vm, 1>();"}, 0, 0},
    {PIPE_STREAM, {"u32 stage(u32 n)", "n % 2", 0, "0"}, ALL, 0},
    {PIPE_STREAM, {RUN, "use.place(n + 1)", 0, "use.place(n)"}, 0, ALL},
    {PIPE_STREAM, {RUN, "stage(n + 1)", 0, "stage(n)"}, ALL, 0},
    {PIPE_IMAGE, {"void load(const block_place", "slot_bytes", 0, "0"}, ALL, 0},
    {PIPE_ATTENTION,
     {"void make_weights()\n    {\n        GROAT_UNROLL",
      "score(8 * i), score(8 * i + 1)", 0, "score(8 * i + 1), score(8 * i)"},
     0,
     AMD},
    {PIPE_ATTENTION,
     {"void take_keys(u32 at)\n    {\n        GROAT_UNROLL",
      "scores[i] = zero_accumulator<m>();", 0, ""},
     0,
     AMD},
};

int main(void)
{
    const mutants_suite suite = {.name = "kv_mutants",
                                 .table = table,
                                 .count = COUNT(table),
                                 .seeds = 3};

    return mutants_main(&suite);
}
