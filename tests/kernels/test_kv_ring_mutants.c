/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv_ring_mutants.c: kv_producer_pipeline's own sources, with each wait,
 * arrival, fence and barrier taken out in turn or given a wrong operand, and
 * with defects of published pipelines of this kind, under other family names.
 * Pairs whose bytes count in one block run on sm_100a, all else on sm_90a.
 */
#include "tests/kernels/mutants.h"
#include "tests/unit/suite.h"

#define FAMILY "kv_producer_pipeline:"

/* The expected outcome of a mutant. */
#define RIGHT  0, 0
#define JUDGED NV, 0
#define WRONG  0, NV

/* Launches that show it: more tiles than slots, and a partial tile; in LOCAL
 * the last half tile has no key. */
#define KEYS   " num_keys=97 sequences=1 kv_heads=1 group=1"
#define IMAGE  FAMILY "entry=image,BN=32,depth=64,slots=3" KEYS
#define PIECES FAMILY "entry=image,BN=32,depth=128,slots=3,pieces=2" KEYS
#define MANY                                                                   \
    FAMILY "entry=image,BN=32,depth=128,slots=2,mode=pair_multicast" KEYS
#define LOCAL                                                                  \
    FAMILY "entry=image,BN=64,depth=128,slots=2,mode=pair_local,tail=count"    \
           " num_keys=65 sequences=1 kv_heads=1"
#define PAIR                                                                   \
    FAMILY "entry=image,BN=32,depth=128,slots=2,mode=pair_sm100,BM=64" KEYS
#define QUERY                                                                  \
    FAMILY                                                                     \
    "entry=image,BN=32,depth=64,slots=3,BM=128,q_tiles=2,consumers=4" KEYS
#define CELLS  FAMILY "entry=image,BN=32,depth=64,slots=4,page_size=1" KEYS
#define SCORES FAMILY "entry=scores,BN=32,depth=64,slots=3" KEYS
#define OUTPUT FAMILY "entry=output,BN=32,depth=64,slots=4,BM=128" KEYS
#define AHEAD  FAMILY "entry=output,BN=32,depth=64,slots=4,order=ahead" KEYS
/* Three tiles: the last has no partner. */
#define LONE                                                                   \
    FAMILY "entry=output,BN=32,depth=64,slots=4,order=one_q"                   \
           " num_keys=65 sequences=1 kv_heads=1 group=1"

/* The first text behind which the change is looked for. */
#define PRODUCER "struct kv_producer"
#define CONSUMER "struct kv_consumer"
#define STATE    "struct ring_place"
#define RING     "struct kv_ring"
#define SHARED   "struct some_loader"
#define BOXES    "struct box_loader"
#define THREADS  "struct cell_loader"
#define READER   "struct consumer : by_pieces"
#define TURN     "struct tile_of_turn"
#define TIMES    "struct scores_of"
#define SUMS     "struct output_of"
#define INIT     "void init(const job"
#define MEET     "void meet_all("
#define RUN      "void run(const arguments"

#define EXPECT                                                                 \
    "at.template expect<n>(bytes, chosen && (!leader_counts || j.rank == 0));"

static const mutant table[] = {
    /* the family as it is */
    {IMAGE, {"", "", 0, ""}, RIGHT},
    {PIECES, {"", "", 0, ""}, RIGHT},
    {MANY, {"", "", 0, ""}, RIGHT},
    {LOCAL, {"", "", 0, ""}, RIGHT},
    {PAIR, {"", "", 0, ""}, RIGHT},
    {QUERY, {"", "", 0, ""}, RIGHT},
    {CELLS, {"", "", 0, ""}, RIGHT},
    {SCORES, {"", "", 0, ""}, RIGHT},
    {OUTPUT, {"", "", 0, ""}, RIGHT},
    {AHEAD, {"", "", 0, ""}, RIGHT},
    {LONE, {"", "", 0, ""}, RIGHT},
    /* parities, and places of barriers */
    {IMAGE, {PRODUCER, "{in, 0, 1}", 0, "{in, 0, 0}"}, JUDGED},
    {IMAGE, {CONSUMER, "{in, 0, 0}", 0, "{in, 0, 1}"}, JUDGED},
    {IMAGE, {STATE, "parity ^= 1;", 0, ""}, JUDGED},
    {IMAGE,
     {RING, "full(index, piece) + 8 * slots * pieces", 0, "full(index, piece)"},
     JUDGED},
    {PIECES,
     {RING, "8 * (pieces * index + piece)", 0, "8 * (index + piece)"},
     JUDGED},
    /* the producer */
    {IMAGE, {BOXES, "at.template acquire<n>();", 0, ""}, JUDGED},
    {IMAGE, {BOXES, EXPECT, 0, ""}, JUDGED},
    {IMAGE, {BOXES, "expect<n>(bytes, ", 0, "expect<n>(bytes + 16, "}, JUDGED},
    {IMAGE, {BOXES, "at.step();", 0, ""}, JUDGED},
    {LOCAL,
     {BOXES, "kv_valid_k<tiles, k_copy>(p.keys, p.first, j.rank)", 0, "2"},
     JUDGED},
    /* consumers */
    {IMAGE, {READER, "at.template wait<n>();", 0, ""}, JUDGED},
    {IMAGE, {READER, "warp_barrier();", 0, ""}, JUDGED},
    {IMAGE, {READER, "release(held);", 0, ";"}, JUDGED},
    {IMAGE, {READER, "held = at.index;", 0, ""}, JUDGED},
    {IMAGE, {READER, "at.step();", 0, ""}, JUDGED},
    {PIECES,
     {READER, "if constexpr (n + 1 < ring_pieces)", 0, "if constexpr (false)"},
     JUDGED},
    /* initialisation of barriers */
    {IMAGE, {RING, "mbarrier_init_fence();", 0, ""}, JUDGED},
    {IMAGE, {RUN, "async_proxy_fence();", 0, ""}, JUDGED},
    {IMAGE, {RUN, "meet_all();", 0, ""}, JUDGED},
    {IMAGE, {INIT, "readers);", 0, "readers - 1);"}, JUDGED},
    /* two blocks */
    {MANY, {MEET, "cluster_barrier();", 0, ";"}, JUDGED},
    {MANY, {RUN, "cluster_barrier();", 0, ";"}, JUDGED},
    {MANY, {RING, "readers * ctas", 0, "readers"}, JUDGED},
    {MANY, {CONSUMER, "mbarrier_arrive_peer(empty, 1, issue);", 0, ""}, JUDGED},
    {MANY, {BOXES, "to += own_bytes<kind>();", 0, ""}, JUDGED},
    {PAIR,
     {READER, "mbarrier_arrive_peer(at.in.full(at.index, n), 1,", 0,
      "mbarrier_arrive_peer(at.in.full(at.index, n), 1, false &&"},
     JUDGED},
    {PAIR, {BOXES, "(!leader_counts || j.rank == 0)", 0, "true"}, JUDGED},
    {PAIR, {BOXES, "q_bytes * (leader_counts ? 2 : 1)", 0, "q_bytes"}, JUDGED},
    {PAIR,
     {SHARED, "copy_queries<leader_counts>", 0, "copy_queries<false>"},
     JUDGED},
    /* queries */
    {QUERY,
     {SHARED, "mbarrier_expect(j.q1_bar(n), q_bytes, chosen);", 0, ""},
     JUDGED},
    {QUERY, {READER, "mbarrier_wait(j.q1_bar(n), 0);", 0, ";"}, JUDGED},
    /* cells */
    {CELLS, {THREADS, "at.template acquire<n>();", 0, ""}, JUDGED},
    {CELLS, {THREADS, "async_commit();", 0, ""}, JUDGED},
    {CELLS, {THREADS, "async_wait<0, ahead>();", 0, ""}, JUDGED},
    {CELLS, {THREADS, "async_wait<0, 0>();", 0, ""}, JUDGED},
    {CELLS,
     {THREADS, "mbarrier_arrive(full, !queries);", 0,
      "mbarrier_arrive(full, chosen);"},
     JUDGED},
    {CELLS, {THREADS, "at.step();", 0, ""}, JUDGED},
    {CELLS, {THREADS, "ahead = slots - 2", 0, "ahead = slots"}, JUDGED},
    /* products */
    {AHEAD, {TURN, " || turn + 1 == 2 * count", 0, ""}, WRONG},
    {AHEAD, {TURN, "(turn - 1) / 2", 0, "turn / 2"}, WRONG},
    {LONE, {TURN, "turn / 4 * 2 + 1 < count", 0, "true"}, WRONG},
    {LONE, {TURN, "turn % 4 >= 2", 0, "turn % 2 != 0"}, WRONG},
    {SCORES, {TIMES, "wgmma_fence();", 0, ""}, JUDGED},
    {SCORES, {TIMES, "wgmma_commit();", 0, ""}, JUDGED},
    {SCORES, {TIMES, "wgmma_wait<0>(sums[b]);", 0, ";"}, JUDGED},
    {OUTPUT, {SUMS, "async_proxy_fence();", 0, ""}, JUDGED},
    {OUTPUT, {SUMS, "meet();", 0, ""}, JUDGED},
    {OUTPUT, {SUMS, "meet();", 1, ";"}, JUDGED},
    {OUTPUT, {SUMS, "wgmma_fence();", 0, ""}, JUDGED},
    {OUTPUT, {SUMS, "wgmma_commit();", 0, ""}, JUDGED},
    {OUTPUT, {SUMS, "wgmma_wait<0>(sums[part][b]);", 0, ";"}, JUDGED},
    /* defects of published pipelines: the producer's place of a piece is not
     * its consumer's; the slot is released before the product has read it; the
     * number of pages of a tile behind the last key wraps */
    {PIECES,
     {PRODUCER, "return this->in.slot_ptr(this->index, piece);", 0,
      "return this->in.memory + (this->index * ring::piece_bytes + piece * "
      "ring::slot_bytes) % ring::bytes;"},
     JUDGED},
    {SCORES,
     {READER, "use.template take", 0, "release(at.index); use.template take"},
     JUDGED},
    {LOCAL, {"int kv_valid_pages(", "left <= 0 ", 0, "false "}, WRONG},
};

/* The waits and signals of the ring, its users and the loaders; boxes and rows
 * have their mutants in test_paged_row_mutants.c. */
static const char *const calls[] = {"at.template acquire<n>();",
                                    "at.template wait<n>();",
                                    "at.step();",
                                    "async_commit();",
                                    "async_wait<",
                                    "async_proxy_fence();",
                                    "meet_all();",
                                    "meet();",
                                    "cluster_barrier();",
                                    "warp_barrier();",
                                    "mbarrier_init_fence();",
                                    "mbarrier_wait(j.q1_bar",
                                    "wgmma_fence();",
                                    "wgmma_commit();",
                                    "wgmma_wait<0>(sums",
                                    NULL};
static const char *const targets[] = {"cpu:sm_90a", "cpu:sm_100a", NULL};

int main(void)
{
    static const mutants_suite suite = {.name = "kv_ring_mutants",
                                        .table = table,
                                        .count = COUNT(table),
                                        .seeds = 1,
                                        .calls = calls,
                                        .targets = targets,
                                        .once = true};

    return mutants_main(&suite);
}
