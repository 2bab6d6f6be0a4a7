/* SPDX-License-Identifier: Apache-2.0
 *
 * test_paged_row_mutants.c: the family's own sources, with each barrier, wait,
 * fence, arrival and step taken out in turn or with a wrong count, and with
 * addresses changed, under families of other names.  The judge must report the
 * fault, or bytes must differ; a mutant without something that is not needed
 * must pass with the right bytes.
 */
#include "tests/kernels/mutants.h"
#include "tests/unit/suite.h"

#define FAMILY "paged_row_indices:"

/* The expected outcome of a mutant. */
#define RIGHT  0, 0
#define JUDGED NV, 0
#define WRONG  0, NV

/* Launches that show it. */
#define KEYS  " batch=2 heads=1 tiles=2 first_key=64"
#define IMAGE FAMILY "BN=64,page_size=32,head_dim=64" KEYS
#define ONE                                                                    \
    FAMILY "BN=64,page_size=8,head_dim=80,issue=one,partial=1,k_fill=1" KEYS   \
           " keys=141 heads=2 head_page=1"
#define PART                                                                   \
    FAMILY "BN=64,page_size=16,partial=1,v_fill=0,v_sub_tiles=2" KEYS          \
           " keys=141"
#define WIDE  FAMILY "BN=64,page_size=128,v_sub_tiles=2,issue=one" KEYS
#define PARTS FAMILY "BN=64,page_size=128,v_sub_tiles=2" KEYS
#define CUT                                                                    \
    FAMILY                                                                     \
    "BN=64,page_size=16,partial=1,v_fill=0,v_sub_tiles=2,issue=one" KEYS       \
    " keys=141"
#define INNER FAMILY "BN=64,page_size=16,k_layout=inner,k_fold=1" KEYS
#define LOOSE FAMILY "BN=64,page_size=16,k_layout=inner" KEYS
#define OUTER FAMILY "BN=64,page_size=64,k_fold=1" KEYS
#define BOTH  FAMILY "BN=64,page_size=16,pair=multicast" KEYS
#define LOCAL FAMILY "BN=64,page_size=16,pair=local,issue=one" KEYS
#define SMALL                                                                  \
    FAMILY "BN=64,page_size=4,partial=1,swizzle=64,v_sub_tiles=2" KEYS         \
           " keys=141"
#define ENDS                                                                   \
    FAMILY "BN=64,page_size=0,from=ragged,issue=threads,partial=1"             \
           " batch=1 heads=1 tiles=2 keys=70"
#define STREAM                                                                 \
    FAMILY "entry=stream,BN=64,page_size=32,head_dim=64,stages=3,num_warps="   \
           "3" KEYS " blocks=1 tiles=3"
#define RING                                                                   \
    FAMILY "entry=stream,BN=64,page_size=32,pair=multicast,stages=2,num_"      \
           "warps=2" KEYS " blocks=1 tiles=3"
#define TURNS                                                                  \
    FAMILY                                                                     \
    "entry=stream,BN=64,page_size=4,head_dim=64,stages=3,num_warps=2" KEYS     \
    " blocks=1 tiles=3"
#define LIST FAMILY "entry=issues,BN=64,page_size=16" KEYS

#define PREPARE    "void prepare("
#define OF_ENGINE  "void image_of_engine("
#define OF_THREADS "void image_of_threads("
#define PRODUCE    "void produce("
#define CONSUME    "void consume("
#define WARP       "void stream_of_engine("
#define IN_TURN    "void stream_of_threads("
#define BOXES      "struct kv_boxes {"
#define EVERY      "struct row_indices {"
#define LANE       "struct lane_rows {"
#define KEY        "struct key_rows {"

static const mutant table[] = {
    /* the family as it is */
    {IMAGE, {"", "", 0, ""}, RIGHT},
    {ONE, {"", "", 0, ""}, RIGHT},
    {PART, {"", "", 0, ""}, RIGHT},
    {WIDE, {"", "", 0, ""}, RIGHT},
    {PARTS, {"", "", 0, ""}, RIGHT},
    {CUT, {"", "", 0, ""}, RIGHT},
    {INNER, {"", "", 0, ""}, RIGHT},
    {LOOSE, {"", "", 0, ""}, RIGHT},
    {OUTER, {"", "", 0, ""}, RIGHT},
    {BOTH, {"", "", 0, ""}, RIGHT},
    {LOCAL, {"", "", 0, ""}, RIGHT},
    {SMALL, {"", "", 0, ""}, RIGHT},
    {ENDS, {"", "", 0, ""}, RIGHT},
    {STREAM, {"", "", 0, ""}, RIGHT},
    {RING, {"", "", 0, ""}, RIGHT},
    {TURNS, {"", "", 0, ""}, RIGHT},
    {LIST, {"", "", 0, ""}, RIGHT},
    /* barriers, waits, fences and counts of images */
    {IMAGE, {PREPARE, "mbarrier_init(barriers + 8 * i, 1);", 0, ""}, JUDGED},
    {IMAGE, {PREPARE, "8 * i, 1);", 0, "8 * i, 2);"}, JUDGED},
    /* the engine's proxy is fenced behind it, too */
    {IMAGE, {PREPARE, "mbarrier_init_fence();", 0, ""}, RIGHT},
    {IMAGE, {PREPARE, "async_proxy_fence();", 0, ""}, JUDGED},
    {IMAGE, {PREPARE, "meet();", 0, ""}, JUDGED},
    {IMAGE, {"void meet(", "block_barrier();", 0, ";"}, JUDGED},
    {BOTH, {"void meet(", "cluster_barrier();", 0, ";"}, JUDGED},
    {BOTH, {"void meet(", "cluster_barrier();", 0, "block_barrier();"}, JUDGED},
    {IMAGE, {OF_ENGINE, "elected && counts", 0, "false"}, JUDGED},
    {IMAGE, {OF_ENGINE, "elected && counts", 0, "true"}, JUDGED},
    {IMAGE, {OF_ENGINE, "elected && counts", 1, "false"}, JUDGED},
    {IMAGE, {OF_ENGINE, "k_expected(load.at, load.rank)", 0, "64"}, JUDGED},
    {IMAGE,
     {OF_ENGINE, "v_expected(load.at)", 0, "v_expected(load.at) + 16"},
     JUDGED},
    {IMAGE, {OF_ENGINE, "mbarrier_wait(k_bar, 0);", 0, ""}, JUDGED},
    {IMAGE, {OF_ENGINE, "mbarrier_wait(v_bar, 0);", 0, ""}, JUDGED},
    {IMAGE,
     {OF_ENGINE, "mbarrier_wait(v_bar, 0);", 0, "mbarrier_wait(v_bar, 1);"},
     JUDGED},
    {BOTH, {OF_ENGINE, "cluster_barrier();", 0, ";"}, RIGHT},
    {SMALL, {OF_THREADS, "async_commit();", 0, ""}, JUDGED},
    {SMALL, {OF_THREADS, "async_wait<0, 0>();", 0, ""}, JUDGED},
    {SMALL,
     {OF_THREADS, "async_wait<0, 0>();", 0, "async_wait<0, 1>();"},
     JUDGED},
    {SMALL, {OF_THREADS, "block_barrier();", 0, ""}, JUDGED},
    {LIST, {"void issues(", "block_barrier();", 0, ""}, JUDGED},
    /* the ring */
    {STREAM, {PRODUCE, "to.acquire();", 0, ""}, JUDGED},
    {STREAM, {PRODUCE, "to.acquire();", 1, ""}, JUDGED},
    {STREAM, {PRODUCE, "to.step();", 0, ""}, JUDGED},
    {STREAM, {PRODUCE, "to.step();", 1, ""}, JUDGED},
    {STREAM, {PRODUCE, "elected);", 0, "false);"}, JUDGED},
    {STREAM,
     {PRODUCE, "k_expected(load.at, load.rank)", 0, "v_expected(load.at) / 2"},
     JUDGED},
    {STREAM, {CONSUME, "from.wait();", 0, ""}, JUDGED},
    {STREAM, {CONSUME, "warp_barrier();", 0, ""}, JUDGED},
    {STREAM,
     {CONSUME, "from.release(from.index, lane_index() == 0);", 0, ""},
     JUDGED},
    {STREAM, {CONSUME, "lane_index() == 0", 0, "true"}, JUDGED},
    {STREAM, {CONSUME, "from.step();", 0, ""}, JUDGED},
    {STREAM, {WARP, "meet();", 0, ""}, JUDGED},
    {STREAM,
     {WARP, "slots.init(1, readers / 32);", 0, "slots.init(1, 1);"},
     JUDGED},
    {RING, {WARP, "cluster_barrier();", 0, ";"}, JUDGED},
    {RING,
     {"kv_ring<stages, 1, slot_bytes", "shared_slots ? 2 : 1", 0, "1"},
     JUDGED},
    /* the turns */
    {TURNS, {IN_TURN, "async_commit();", 0, ""}, JUDGED},
    {TURNS, {IN_TURN, "async_wait<ahead, ahead>();", 0, ""}, JUDGED},
    {TURNS,
     {IN_TURN, "async_wait<ahead, ahead>();", 0,
      "async_wait<ahead + 1, ahead + 1>();"},
     JUDGED},
    {TURNS, {IN_TURN, "block_barrier();", 0, ""}, JUDGED},
    {TURNS, {IN_TURN, "block_barrier();", 1, ""}, JUDGED},
    {TURNS,
     {IN_TURN, "fill = fill + 1 == stages ? 0 : fill + 1;", 0, "fill = 0;"},
     JUDGED},
    {TURNS, {IN_TURN, "turn < turns)", 0, "turn < turns + 2)"}, JUDGED},
    /* rows */
    {IMAGE, {"u32 kv_row_of(", "table.stride", 2, "1"}, WRONG},
    {IMAGE, {"u32 kv_row_of(", "table.pitch", 0, "8"}, WRONG},
    {WIDE, {"u32 kv_row_of(", "key % shape::page", 0, "0"}, WRONG},
    {ONE, {EVERY, "+ more;", 0, ";"}, WRONG},
    {ONE, {EVERY, "from + i * 4", 0, "from"}, WRONG},
    {ONE, {EVERY, "block[3] = v.w;", 0, "block[3] = v.z;"}, WRONG},
    {WIDE, {EVERY, "+ sub * next.intra", 0, ""}, WRONG},
    {CUT, {EVERY, "sub * next.first + q", 0, "q"}, WRONG},
    {LOCAL, {EVERY, "rows[peer.first + q]", 0, "rows[own.first + q]"}, WRONG},
    {IMAGE, {LANE, "lane_index() / lanes;", 0, "0;"}, WRONG},
    {PART, {LANE, "/ lanes - first", 0, "/ lanes"}, WRONG},
    {BOTH, {LANE, "first ? own.first : peer.first", 0, "own.first"}, WRONG},
    {PART, {LANE, "sub * next.first", 0, "0"}, WRONG},
    {PARTS, {LANE, "sub * next.intra", 0, "0"}, WRONG},
    {PARTS, {LANE, "row + intra", 0, "row"}, WRONG},
    {SMALL,
     {KEY, "i * step + thread / lanes", 0, "i * step + thread % lanes"},
     WRONG},
    {SMALL, {KEY, "- begin", 0, ""}, WRONG},
    {SMALL, {KEY, "first % 8, lane * 16", 0, "0, lane * 16"}, JUDGED},
    {SMALL, {KEY, "r < valid", 0, "true"}, WRONG},
    {ENDS, {KEY, "&& rows[i] < cache.rows", 0, ""}, JUDGED},
    /* boxes */
    {IMAGE, {BOXES, "q * page_rows + group", 0, "q + group"}, JUDGED},
    {PART, {BOXES, "column * copy::slot_rows + row", 0, "row"}, JUDGED},
    {LOOSE, {BOXES, "x / chunks * rows", 0, "0"}, JUDGED},
    {LOOSE, {BOXES, "x % chunks", 0, "0"}, JUDGED},
    {INNER, {BOXES, "r >> 3", 0, "r"}, WRONG},
    {OUTER, {BOXES, "d / chunk", 1, "d"}, RIGHT},
    {ONE, {BOXES, "0u - page_rows", 0, "row"}, WRONG},
    {ONE, {BOXES, "0u - page_rows", 0, "1u << 30"}, RIGHT},
    {PART, {BOXES, "|| there;", 0, "|| true;"}, JUDGED},
    {PART,
     {BOXES, "written(valid) * page_bytes", 0, "pages * page_bytes"},
     RIGHT},
    {BOTH,
     {"struct loader {", "k_boxes::place(rank * k_tile_rows, 0)", 0, "0"},
     JUDGED},
    {BOTH, {"struct loader {", "rank * v_boxes::chunks", 0, "0"}, JUDGED},
    {BOTH, {"struct loader {", "rank * v_tile_cols", 0, "0"}, WRONG},
    /* counts */
    {PART, {"int kv_valid_pages(", "left <= 0", 0, "left < 0"}, RIGHT},
    {PART, {"int kv_valid_pages(", "+ box - 1", 0, ""}, WRONG},
    {PART, {"kv_part kv_part_v(", "sub * (tile / box)", 0, "0"}, WRONG},
    {WIDE, {"kv_part kv_part_v(", "sub * tile", 0, "0"}, WRONG},
};

/* Calls of the family's own file; other files have their mutants elsewhere. */
static const char *const calls[] = {"meet();",       "async_commit();",
                                    "async_wait<",   "from.wait();",
                                    "to.acquire();", NULL};
static const char *const targets[] = {"cpu:sm_90a", NULL};

int main(void)
{
    static const mutants_suite suite = {.name = "paged_row_mutants",
                                        .table = table,
                                        .count = COUNT(table),
                                        .seeds = 3,
                                        .calls = calls,
                                        .targets = targets};

    return mutants_main(&suite);
}
