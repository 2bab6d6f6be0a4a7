/* SPDX-License-Identifier: Apache-2.0
 *
 * test_append_mutants.c: the source of kv_cache_append with faults in token
 * placement, rotations, scales and codes; each must be found.
 */
#include "tests/kernels/mutants.h"
#include "tests/unit/suite.h"

#define FAMILY "kv_cache_append:"
/* Ragged, with partial pages and tokens that belong to no sequence. */
#define PLAIN FAMILY "head_dim=80,page_size=5 sequences=6 keys=30 kv_heads=3"
#define EVEN                                                                   \
    FAMILY "head_dim=64,page_size=7 sequences=5 keys=12 each=4 ragged=0"       \
           " head_page=1"
#define WHOLE                                                                  \
    FAMILY "head_dim=96,page_size=0,rope=pairs sequences=9 keys=20 each=9"
#define HALVES FAMILY "head_dim=96,rope=halves,rotary=64 sequences=4 keys=20"
#define PAIRS  FAMILY "dtype=f16,head_dim=64,rope=pairs sequences=4 keys=20"
#define TOKEN                                                                  \
    FAMILY "head_dim=112,kv_dtype=e4m3,kv_scale=token,page_size=3"             \
           " sequences=4 keys=20 kv_heads=2"
#define FNUZ                                                                   \
    FAMILY "head_dim=64,kv_dtype=e4m3fnuz,kv_scale=token sequences=2 keys=9"
#define HEADS                                                                  \
    FAMILY "head_dim=64,kv_dtype=e4m3,kv_scale=head sequences=2 keys=9"
#define ALL_OF FAMILY "head_dim=64,kv_dtype=e4m3,rope=halves sequences=2 keys=9"
/* Values narrower than keys. */
#define LESS                                                                   \
    FAMILY "head_dim=96,value_dim=64,page_size=5 sequences=4 keys=20"          \
           " kv_heads=2"

#define WIDE                                                                   \
    FAMILY "head_dim=320,value_dim=272,rope=halves,rotary=64,warps=1"          \
           " sequences=2 keys=9 kv_heads=1"
#define WIDE_CODES                                                             \
    FAMILY "head_dim=320,kv_dtype=e4m3,kv_scale=token,warps=1"                 \
           " sequences=2 keys=9 kv_heads=1"

#define IN_SEQUENCE "u32 find_sequence("
#define IN_KEY      "void find_key("
#define IN_BLOCK    "void find_block("
#define IN_PLACE    "void find_place("
#define IN_CHUNK    "place take_chunk("
#define IN_HALVES   "numbers rotate_halves("
#define IN_PAIRS    "numbers rotate_pairs("
#define IN_PARTNER  "codes load_partner("
#define IN_SCALE    "float scale_of("
#define IN_LARGEST  "float largest_of("
#define IN_RUN      "GROAT_DEVICE void run("

static const char *const calls[] = {NULL};
static const char *const targets[] = {"cpu:sm_90a", "cpu:gfx950", NULL};

static const mutant table[] = {
    /* the family as it is */
    {PLAIN, {"", "", 0, ""}, 0, 0},
    {EVEN, {"", "", 0, ""}, 0, 0},
    {WHOLE, {"", "", 0, ""}, 0, 0},
    {HALVES, {"", "", 0, ""}, 0, 0},
    {PAIRS, {"", "", 0, ""}, 0, 0},
    {TOKEN, {"", "", 0, ""}, 0, 0},
    {FNUZ, {"", "", 0, ""}, 0, 0},
    {HEADS, {"", "", 0, ""}, 0, 0},
    {ALL_OF, {"", "", 0, ""}, 0, 0},
    {LESS, {"", "", 0, ""}, 0, 0},
    {WIDE, {"", "", 0, ""}, 0, 0},
    {WIDE_CODES, {"", "", 0, ""}, 0, 0},
    /* where tokens go */
    {PLAIN, {IN_SEQUENCE, "<= token", 0, "< token"}, 0, ALL},
    {PLAIN, {IN_KEY, "at.token < end", 0, "true"}, 0, ALL},
    {EVEN, {IN_KEY, "&& at.key < args.most", 0, ""}, ALL, 0},
    {PLAIN, {IN_KEY, "(end - at.token)", 0, "(end - at.token) + 1"}, 0, ALL},
    {PLAIN, {IN_BLOCK, "at.key % page", 0, "at.key % (page + 1)"}, ALL, 0},
    {PLAIN, {IN_BLOCK, "* args.pitch", 0, "* (args.pitch - 8)"}, ALL, 0},
    {EVEN,
     {IN_PLACE, "at.token / args.each", 0, "at.token / (args.each + 1)"},
     0,
     ALL},
    {PLAIN, {IN_CHUNK, "item % args.kv_heads", 0, "0"}, 0, ALL},
    {PLAIN,
     {IN_CHUNK, "at.chunk < static_cast", 0, "at.chunk <= static_cast"},
     ALL,
     0},
    {PLAIN, {"u64 distance(", "at.head * head_bytes", 0, "0"}, ALL, 0},
    {EVEN,
     {IN_RUN, "args.new_v, args.new_v_bytes", 0,
      "args.new_k, args.new_v_bytes"},
     0,
     ALL},
    /* rotations */
    {HALVES,
     {IN_HALVES, "is_first ? -product : product", 0, "product"},
     0,
     ALL},
    {HALVES, {IN_HALVES, "chunk - half", 0, "chunk"}, 0, ALL},
    {HALVES, {IN_PARTNER, "? half", 0, "? 0"}, 0, ALL},
    {HALVES,
     {"numbers rotate(", ">= rotated_chunks", 0, "> rotated_chunks"},
     0,
     ALL},
    {PAIRS, {IN_PAIRS, "-(b * sines[i])", 0, "b * sines[i]"}, 0, ALL},
    {PAIRS, {IN_PAIRS, "rotated * 2", 0, "rotated"}, 0, ALL},
    {WHOLE,
     {"u64 rope_row(", "position < last ? position : last", 0, "position"},
     ALL,
     0},
    {WHOLE, {"u64 rope_row(", "args.positions == 0", 0, "true"}, 0, ALL},
    /* scales and codes */
    {TOKEN,
     {IN_LARGEST, "x.of[i] < 0 ? -x.of[i] : x.of[i]", 0, "x.of[i]"},
     0,
     ALL},
    {TOKEN, {IN_LARGEST, "head_lanes / 2", 0, "head_lanes / 4"}, 0, ALL},
    {TOKEN, {IN_SCALE, "most == 0 ? 1.0f :", 0, ""}, 0, ALL},
    {TOKEN, {IN_RUN, "args.token_scales", 0, "1"}, ALL, 0},
    {FNUZ, {"", "240.0f : 448.0f", 0, "448.0f : 448.0f"}, 0, ALL},
    {HEADS, {IN_SCALE, "(at.head) * 4", 0, "(0u) * 4"}, 0, ALL},
    {ALL_OF, {IN_RUN, "y, args.v_scale", 0, "y, args.k_scale"}, 0, ALL},
    {ALL_OF, {"void store_narrow(", "1.0f / scale", 0, "scale"}, 0, ALL},
    /* values narrower than keys */
    {LESS, {IN_RUN, "args.value_block_bytes", 0, "0"}, ALL, 0},
    {LESS, {IN_RUN, "value_token_bytes", 0, "token_bytes"}, 0, ALL},
    {LESS, {IN_RUN, "value_head_bytes", 0, "head_bytes"}, ALL, 0},
    {LESS, {IN_RUN, "<u32>(value_chunks)", 0, "<u32>(chunks)"}, ALL, 0},
    {LESS,
     {"codes load_new(", "at.head) * dim", 0, "at.head) * head_dim"},
     0,
     ALL},
    /* 16 elements to a lane */
    {WIDE, {"codes load_new(", "address + i * 16", 0, "address"}, 0, ALL},
    {WIDE, {"void store_wide(", "address + i * 16", 0, "address"}, 0, ALL},
    {WIDE, {"codes pack(", "x.of + 8 * i", 0, "x.of"}, 0, ALL},
    {WIDE, {IN_HALVES, "* chunk_elements * 4", 0, "* 32"}, 0, ALL},
    {WIDE_CODES,
     {"void store_narrow(", "address + i * 8", 0, "address"},
     0,
     ALL},
    {WIDE_CODES, {"void store_narrow(", "x.of + 8 * i", 0, "x.of"}, 0, ALL},
    {WIDE_CODES, {"numbers unpack(", "c.of[i / 8]", 0, "c.of[0]"}, 0, ALL},
};

int main(void)
{
    const mutants_suite suite = {.name = "append_mutants",
                                 .table = table,
                                 .count = COUNT(table),
                                 .seeds = 1,
                                 .calls = calls,
                                 .targets = targets};

    return mutants_main(&suite);
}
