/* SPDX-License-Identifier: Apache-2.0
 *
 * test_attention_mutants.c: the source of paged_attention_decode with each
 * wait, barrier and commit taken out in turn, or with a count that is one too
 * large, and with faults in its arithmetic and in how tiles are shared out.
 */
#include "tests/kernels/mutants.h"
#include "tests/unit/suite.h"

/* Several segments per block, parts of sequences, partial last pages, a
 * sequence without keys. */
#define FAMILY "paged_attention_decode:"
#define ONE    FAMILY "head_dim=64,stages=3 sequences=5 keys=300 blocks=6"
#define MANY                                                                   \
    FAMILY "head_dim=64,page_size=5,q_len=2,group=5,mask=window,lse=1"         \
           " sequences=4 keys=200 blocks=7 seen=90"
#define BENT FAMILY "head_dim=64,soft_cap=1,sink=1,lse=1 sequences=3 keys=150"
#define LARGE                                                                  \
    FAMILY "head_dim=80,group=16,warps=2 sequences=3 keys=200 blocks=9"

/* Blocks that begin with a sequence; three parts of each; no keys; one key less
 * than whole slots. */
#define EVEN                                                                   \
    FAMILY "head_dim=64 sequences=8 kv_heads=1 keys=128 varied=0 blocks=8"
#define TINY                                                                   \
    FAMILY "head_dim=64 sequences=2 kv_heads=1 keys=192 varied=0 blocks=6"
#define NONE  FAMILY "head_dim=64 sequences=3 keys=0"
#define EMPTY FAMILY "head_dim=64 sequences=0 keys=64"
#define ODD                                                                    \
    FAMILY                                                                     \
    "head_dim=64 sequences=1 kv_heads=1 keys=15 varied=0 scale=0 blocks=1"

#define SPLIT                                                                  \
    FAMILY "head_dim=64,split=1,warps=1 sequences=3 kv_heads=1 keys=90 "       \
           "blocks=4"
#define CHUNKS                                                                 \
    FAMILY "head_dim=64,mask=chunk,q_len=3,warps=1"                            \
           " sequences=3 keys=200 varied=0 seen=33"
#define TREE                                                                   \
    FAMILY "head_dim=64,tree=1,q_len=5,group=3 sequences=4 keys=70 seen=33"
#define TREE_SCORED                                                            \
    FAMILY "head_dim=64,tree=1,q_len=5,group=3,"                               \
           "score=\"score+b[(q_pos*3+kv_pos)%60]\" sequences=4 keys=70"
#define SLOPES FAMILY "head_dim=64,alibi=1,lse=1 sequences=3 keys=90"
#define SCORED                                                                 \
    FAMILY                                                                     \
    "head_dim=64,group=3,q_len=2,lse=1,score=\"score*by+b[(q_pos*3+kv_pos)%"   \
    "80]*0.5"                                                                  \
    "+a[head]*k+float(kv_pos)*0.01*float(batch)\""                             \
    " sequences=3 keys=90 kv_heads=2"
#define HIDDEN                                                                 \
    FAMILY                                                                     \
    "head_dim=64,lse=1,score=\"kv_pos<64||batch==1?log(-1.0):score\""          \
    " sequences=3 keys=90"
#define STRIPS                                                                 \
    FAMILY "head_dim=64,group=7,q_len=3,warps=1 sequences=3 keys=150 blocks=7"
/* Two rings of two warps. */
#define TEAMS                                                                  \
    FAMILY "head_dim=64,group=8,q_len=4,lse=1 sequences=3 keys=150 blocks=7"
/* Two strips, whose last one has rows for one of two warps. */
#define APART                                                                  \
    FAMILY "head_dim=64,group=8,q_len=5,warps=2 sequences=3 keys=150 blocks=7"
/* Four warps, of which one has no rows. */
#define IDLE                                                                   \
    FAMILY "head_dim=80,group=44,page_size=5 sequences=2 keys=90 kv_heads=1"   \
           " blocks=3"
/* Slots of 32 keys with scales, from pages of one slot. */
#define SHARED                                                                 \
    FAMILY "head_dim=64,group=20,kv_dtype=e4m3,kv_scale=token,page_size=32"    \
           " sequences=2 keys=90 kv_heads=1 blocks=3"
/* Two bands of two warps, each with half of the columns of values. */
#define WIDE                                                                   \
    FAMILY "head_dim=320,group=12,lse=1 sequences=2 keys=70 kv_heads=1"        \
           " blocks=3"
/* Blocks that wait for the others of a strip, some without keys. */
#define CLUSTER                                                                \
    FAMILY "head_dim=64,cluster=4,overlap=1,q_len=2,group=3,lse=1,page_size=5" \
           " sequences=4 kv_heads=2 keys=150"
#define ALONE                                                                  \
    FAMILY "head_dim=64,cluster=9,warps=1 sequences=1 kv_heads=1 keys=200"
#define NARROW                                                                 \
    FAMILY "head_dim=64,kv_dtype=e4m3,kv_scale=token,page_size=5"              \
           " sequences=3 keys=90"
#define PAGES                                                                  \
    FAMILY "head_dim=64,kv_dtype=e4m3,kv_scale=token,page_size=32"             \
           " sequences=3 keys=90"
/* Values narrower than keys. */
#define LESS                                                                   \
    FAMILY "head_dim=96,value_dim=64,group=3,lse=1 sequences=3 keys=90"        \
           " blocks=4"
#define LESS_PAGES                                                             \
    FAMILY "head_dim=96,value_dim=64,page_size=5,head_page=1 sequences=3"      \
           " keys=90 blocks=4"

#define IN_ROWS    "void copy_rows("
#define IN_COPY    "void copy(const"
#define IN_SEEN    "bool sees("
#define IN_READ    "void read_segment("
#define IN_SLOT    "void add_slot("
#define IN_RING    "void ring_barrier("
#define IN_RUN     "GROAT_DEVICE void run_share("
#define IN_STRIP   "void run_strip("
#define IN_BLOCKS  "void combine_cluster("
#define MEETING    "cluster_barrier();"
#define IN_LAST    "bool is_last("
#define IN_COMBINE "void combine("
#define WAIT       "async_wait<stages - 2, stages - 2>();"
#define TOO_FEW    "async_wait<stages - 1, stages - 1>();"
#define WARPS      "warp_barrier();"

static const char *const calls[] = {BARRIER, "async_wait<", COMMIT,
                                    WARPS,   MEETING,       NULL};
static const char *const targets[] = {"cpu:sm_80", "cpu:sm_90a", NULL};

static const mutant table[] = {
    /* the family as it is */
    {ONE, {"", "", 0, ""}, 0, 0},
    {MANY, {"", "", 0, ""}, 0, 0},
    {BENT, {"", "", 0, ""}, 0, 0},
    {LARGE, {"", "", 0, ""}, 0, 0},
    {EVEN, {"", "", 0, ""}, 0, 0},
    {TINY, {"", "", 0, ""}, 0, 0},
    {NONE, {"", "", 0, ""}, 0, 0},
    {EMPTY, {"", "", 0, ""}, 0, 0},
    {ODD, {"", "", 0, ""}, 0, 0},
    {SPLIT, {"", "", 0, ""}, 0, 0},
    {CHUNKS, {"", "", 0, ""}, 0, 0},
    {TREE, {"", "", 0, ""}, 0, 0},
    {SLOPES, {"", "", 0, ""}, 0, 0},
    {SCORED, {"", "", 0, ""}, 0, 0},
    {HIDDEN, {"", "", 0, ""}, 0, 0},
    {STRIPS, {"", "", 0, ""}, 0, 0},
    {TEAMS, {"", "", 0, ""}, 0, 0},
    {APART, {"", "", 0, ""}, 0, 0},
    {IDLE, {"", "", 0, ""}, 0, 0},
    {SHARED, {"", "", 0, ""}, 0, 0},
    {WIDE, {"", "", 0, ""}, 0, 0},
    {NARROW, {"", "", 0, ""}, 0, 0},
    {PAGES, {"", "", 0, ""}, 0, 0},
    {CLUSTER, {"", "", 0, ""}, 0, 0},
    {ALONE, {"", "", 0, ""}, 0, 0},
    {LESS, {"", "", 0, ""}, 0, 0},
    {LESS_PAGES, {"", "", 0, ""}, 0, 0},
    /* waits, barriers, commits */
    {ONE, {IN_READ, WAIT, 0, ""}, NV, 0},
    {ONE, {IN_READ, WAIT, 0, TOO_FEW}, NV, 0},
    {ONE, {IN_RING, WARPS, 0, ""}, NV, 0},
    {TEAMS, {IN_RING, BARRIER, 0, ""}, NV, 0},
    {ONE, {"void produce(", COMMIT, 0, ""}, NV, 0},
    {ONE, {IN_RUN, BARRIER, 0, ""}, NV, 0},
    {ONE, {IN_RUN, BARRIER, 1, ""}, NV, 0},
    {ONE, {IN_LAST, BARRIER, 1, ""}, NV, 0},
    /* On the judge blocks do atomic operations in order, with all threads at
     * one place; only the hardware needs the barrier. */
    {ONE, {IN_LAST, BARRIER, 0, ""}, NV, 0},
    /* No copy is in flight any more. */
    {ONE, {IN_RUN, WAIT_ALL, 0, ""}, 0, 0},
    /* blocks of a cluster */
    {CLUSTER, {IN_STRIP, MEETING, 0, ""}, NV, 0},
    {CLUSTER, {IN_STRIP, MEETING, 1, ""}, NV, 0},
    {CLUSTER, {IN_STRIP, BARRIER, 0, ""}, NV, 0},
    {CLUSTER, {IN_BLOCKS, "cluster_rank() * each", 0, "0"}, 0, NV},
    {ALONE, {"void load_peers(", "first + p < cluster", 0, "true"}, NV, 0},
    {CLUSTER, {"void lay_down_block(", "column == 0", 0, "false"}, NV, 0},
    {CLUSTER, {"u32 block_facts_of(", "row * 8", 0, "0"}, NV, 0},
    {ALONE, {IN_STRIP, "from < to ? to", 0, "true ? to + 1"}, 0, NV},
    {CLUSTER, {IN_STRIP, "sequence >= args.sequences", 0, "false"}, 0, 0},
    /* distribution of the work */
    {ONE, {"block_sets(const", "block_index() % width", 0, "0"}, NV, 0},
    {ONE, {"block_sets(const", "block_index() / width", 0, "0"}, NV, 0},
    /* The same sums, by sets of one block. */
    {ONE, {"block_sets(const", "> args.blocks", 0, "+ 1 > 0"}, 0, 0},
    {ONE, {"segment next(", "before + member", 0, "before"}, NV, 0},
    {LARGE, {"segment next(", "before + 1 == depth", 0, "true"}, NV, 0},
    {ONE, {"u64 at(", "* width + member", 0, ""}, NV, 0},
    /* The same sums, shared out differently. */
    {EVEN, {"u32 even_sets(", "16ull", 0, "0ull"}, 0, 0},
    {EVEN, {"place find(", "wanted >= up_to", 0, "wanted > up_to"}, 0, NV},
    {EVEN, {"place find(", "wanted >= first", 0, "wanted > first"}, NV, 0},
    {ONE, {"u32 begin(", "least_of(set, more)", 0, "0"}, NV, 0},
    /* An additional part: the same sums. */
    {EVEN, {"segment next(", "unit == seg.ends", 0, "unit > seg.ends"}, 0, 0},
    {TINY, {"parts_of(const segment", "ends - 1)", 0, "ends)"}, 0, NV},
    {SPLIT, {"parts_of(const segment", "ends - 1 :", 0, "ends :"}, 0, NV},
    {SPLIT, {"parts_of(const segment", "seg.unit", 0, "sets.own"}, NV, 0},
    {SPLIT, {"segment next(", "unit + 1 : end", 0, "end : end"}, 0, NV},
    {ONE, {IN_LAST, "global_store4(counter, 0)", 0, "(void)0"}, 0, NV},
    {ONE, {"u64 at(", "2 * own", 0, "1 * own"}, NV, 0},
    {TINY,
     {"void load(const launch_args &args, const parts",
      "first + p < parts.count", 0, "true"},
     NV,
     0},
    {NONE, {"u32 units_of(", "length == 0", 0, "false"}, 0, NV},
    /* keys */
    {ONE, {"bool has(", "key + mine < end", 0, "true"}, 0, NV},
    /* Entries behind the last key exist, and are not used. */
    {MANY, {"void ask(", "least_of(mine, last)", 0, "mine"}, 0, 0},
    {MANY, {"bool has(", "key + mine >= begin", 0, "true"}, NV, 0},
    {ONE, {IN_ROWS, "mixed<all>(mine, at % all)", 0, "at % all"}, 0, NV},
    {ONE, {"void score(", "lane % 16", 0, "lane % 8"}, 0, NV},
    {ONE, {"void score(", "k + lane / 16", 0, "k"}, 0, NV},
    {ONE, {"void add_values(", "lane / 16 * 8", 0, "0"}, 0, NV},
    {ONE, {"vec2 as_columns(", "s[2], s[3]", 0, "s[3], s[2]"}, 0, NV},
    {ONE, {"float over_keys(", ", 16", 0, ", 8"}, 0, NV},
    {LARGE, {"void load_sight(", "8 * n", 0, "0"}, 0, 0},
    {ONE, {IN_SLOT, ">= q.all_first", 0, ">= 0"}, 0, 0},
    {ONE, {IN_SLOT, "<= q.all_end", 0, "<= q.all_end + 16"}, 0, NV},
    /* masks and sums */
    {MANY, {"sight(const", "end(own + 1)", 0, "end(own)"}, 0, NV},
    {MANY, {IN_SEEN, "at >= q.end[n][j] ||", 0, ""}, 0, NV},
    {MANY, {"sight(const", "end - seen", 0, "end - seen - 1"}, 0, NV},
    /* Where end == seen, first is 0 either way. */
    {MANY, {"sight(const", "end > seen", 0, "end >= seen"}, 0, 0},
    {ODD, {IN_SEEN, "at >= q.end[n][j] || key >= length", 0, "false"}, 0, NV},
    {CHUNKS, {"sight(const", "(end - 1) /", 0, "end /"}, 0, NV},
    {CHUNKS, {"u32 first_seen(", "length, 0", 0, "length, rows - 1"}, 0, NV},
    {CHUNKS, {"segment next(", "- skipped(args, at.length)", 0, ""}, 0, NV},
    {TREE, {IN_SEEN, "+ q_len >= length", 0, "+ q_len > length"}, 0, NV},
    {TREE, {"sight(const", "if constexpr (tree)", 0, "if (false)"}, 0, NV},
    {TREE_SCORED, {"", "", 0, ""}, 0, 0},
    {TREE_SCORED, {"void weigh(", "tree ? q.own[n][j] :", 0, ""}, 0, NV},
    {TREE_SCORED,
     {"void load_sight(", "own[n][j] = seen.own", 0,
      "own[n][j] = seen.end - 1"},
     0,
     NV},
    {TREE, {"void load_sight(", "q_len + row / group", 0, "q_len"}, 0, NV},
    {SLOPES, {"void weigh(", "x += q.slope", 0, "x -= q.slope"}, 0, NV},
    {SLOPES, {"void load_sight(", "(seg.head * group", 1, "(0 * group"}, 0, NV},
    /* expressions of scores */
    {SCORED,
     {"void load_sight(", "seg.head * group + row % group);", 0,
      "seg.head * group + row);"},
     0,
     NV},
    {SCORED, {"float score_unit", "1.0f", 0, "log2e"}, 0, NV},
    {SCORED, {"void weigh(", "q.end[n][j] - 1,", 0, "q.end[n][j],"}, 0, NV},
    {SCORED, {"void weigh(", "q.sequence", 0, "0"}, 0, NV},
    {SCORED, {"float expressed(", "x * log2e", 0, "x"}, 0, NV},
    {SCORED,
     {"float element(", "place < args.score_counts[i]", 0,
      "place < 2 * args.score_counts[i]"},
     0,
     NV},
    {SCORED,
     {"float element(", "args.score_arrays[i]", 0, "args.score_arrays[0]"},
     0,
     NV},
    {SCORED, {"float scalar(", "[i]", 0, "[0]"}, 0, NV},
    {HIDDEN, {"void weigh(", "asked || has_score != 0", 0, "asked"}, 0, NV},
    {HIDDEN,
     {"float expressed(", "fmax(x * log2e, nothing)", 0, "x * log2e"},
     0,
     NV},
    /* rows of several products */
    {STRIPS,
     {"void load(const launch", "first_row(seg) + lane", 0, "lane"},
     0,
     NV},
    {STRIPS, {"u32 strips_of(", "* strips", 0, "* 1"}, 0, NV},
    /* warps that share keys */
    {TEAMS, {"u32 first_row(", "member() / slices", 0, "0"}, 0, NV},
    {TEAMS, {"u32 steps_of(", "alone ?", 0, "true ?"}, NV, 0},
    {TEAMS, {"u32 first_key(", "ring_index()", 0, "0"}, 0, NV},
    {TEAMS, {IN_ROWS, "j * team + member()", 0, "j"}, NV, 0},
    {TEAMS, {"u32 slot(u32", "ring_index()", 0, "0"}, NV, 0},
    {TEAMS, {"void lay_down(", "member() * sums_bytes", 0, "0"}, NV, 0},
    {TEAMS, {"u32 value_of(", "row / warp_rows", 0, "0"}, 0, NV},
    {TEAMS, {"u32 facts_of(", "row / warp_rows", 0, "0"}, 0, NV},
    {APART, {"segment next(", "* strip_rows", 0, "* 64"}, 0, NV},
    {TEAMS, {"u64 at(", "part_bytes", 0, "sums_bytes"}, NV, 0},
    {TEAMS,
     {"void load(const launch", "first_row(seg)).end", 0, "rows).end"},
     0,
     NV},
    {TEAMS, {IN_SLOT, "score(q, slot, i *", 0, "score(q, slot, 0 *"}, 0, NV},
    {TEAMS,
     {IN_SLOT, "add_values(s[i], slot, i", 0, "add_values(s[i], slot, 0"},
     0,
     NV},
    {IDLE, {IN_ROWS, "chunk >= chunks", 0, "false"}, NV, 0},
    /* What has no rows is not written. */
    {IDLE, {IN_READ, "!idle", 0, "true"}, 0, 0},
    {WIDE, {"u32 slice_index(", "member() % slices", 0, "0"}, 0, NV},
    {WIDE, {"u32 first_row(", "member() / slices", 0, "member()"}, 0, NV},
    {WIDE, {"void add_values(", "slice_index() * slice_pieces", 0, "0"}, 0, NV},
    {WIDE, {"u32 value_of(", "column / slice_dim", 0, "0"}, 0, NV},
    {WIDE, {"u32 value_of(", "column % slice_dim", 0, "column"}, NV, 0},
    {SHARED, {"void copy_scales(", "j += 32", 0, "j += 64"}, NV, 0},
    {SHARED, {"void scale_keys(", "2 * products", 0, "2"}, 0, NV},
    /* e4m3 */
    {NARROW, {"vec2 widened(", "x << 7", 0, "x << 6"}, 0, NV},
    {NARROW,
     {"vec2 widened(", "& 0x80008000u) | (x >> 1", 0, "& 0u) | (x >> 1"},
     0,
     NV},
    {NARROW, {"void lay_down_columns(", "8 * g", 0, "4 * g"}, NV, 0},
    {PAGES, {"void copy_scales(", "one_page ? mine : 0", 0, "0"}, 0, NV},
    {NARROW, {"void copy_scales(", "in_block()", 0, "key"}, NV, 0},
    {NARROW, {IN_SLOT, "slot_keys * 4", 0, "0"}, 0, NV},
    {NARROW, {"void scale_keys(", "i % 2 * 2 + j", 0, "j"}, 0, NV},
    {ONE, {"void read_segment(", "if (!reads)", 0, "if (false)"}, NV, 0},
    {ONE, {"void read_segment(", "stages - 1;", 0, "stages - 2;"}, NV, 0},
    {BENT, {"void load(const launch_args", "/ args.cap", 0, ""}, 0, NV},
    {BENT, {"float capped(", "- 2", 0, "- 1"}, 0, NV},
    {BENT, {"float capped(", "exp2(x) + 1", 0, "exp2(x)"}, 0, NV},
    {BENT, {"void write_out(", "m.add(one, none)", 0, "(void)0"}, 0, NV},
    {BENT, {"void write_out(", "m.most + log2", 0, "log2"}, 0, NV},
    {ONE, {"void weigh(", "o.sum[n][j] *= factor[n][j]", 0, "(void)0"}, 0, NV},
    {ONE, {"void weigh(", "wave_any(changed)", 0, "changed"}, 0, 0},
    {LARGE, {"row_of(", "seg.head * group", 0, "seg.head"}, NV, 0},
    {LARGE, {"void lay_down(", "8 * n +", 0, "0 * n +"}, NV, 0},
    /* values narrower than keys */
    {LESS, {IN_COPY, "args.value_block_bytes", 0, "0"}, 0, NV},
    {LESS, {IN_COPY, "value_token_bytes", 0, "token_bytes"}, 0, NV},
    {LESS_PAGES, {IN_COPY, "slot(count) + values_at", 0, "slot(count)"}, NV, 0},
    {LESS_PAGES,
     {"void enter(", "args.value_head_bytes", 0, "args.head_bytes"},
     NV,
     0},
    {LESS,
     {"void add_values(", "key * value_bytes", 0, "key * row_bytes"},
     NV,
     0},
    {LESS,
     {"void add_values(", "mixed<value_pieces>", 0, "mixed<pieces>"},
     0,
     NV},
    {LESS, {"void write_out(", "at * out_bytes", 0, "at * q_bytes"}, NV, 0},
};

int main(void)
{
    const mutants_suite suite = {.name = "attention_mutants",
                                 .table = table,
                                 .count = COUNT(table),
                                 .seeds = 2,
                                 .calls = calls,
                                 .targets = targets,
                                 .once = true};

    return mutants_main(&suite);
}
