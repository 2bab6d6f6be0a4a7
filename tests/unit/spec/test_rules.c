/* SPDX-License-Identifier: Apache-2.0
 *
 * test_rules.c: every rule of every embedded family is there for something.
 * For each there is a spec that breaks it and is refused with its reason; or
 * it follows from the allowed values, and then no grid over those breaks it.
 * A family that is added needs its lines in both tables.
 */
#include "fixture.h"

/* A spec that breaks one rule, and at most one other that cannot but break with
 * it. */
typedef struct breaker {
    const char *family;
    const char *rule;
    const char *target;
    const char *spec;
    const char *other; /* a rule that breaks with it, or NULL */
} breaker;

static const breaker breakers[] = {
    {"kv_buffer_lds", "dtype != fp8", "hip:gfx950", "dtype=fp8", NULL},
    {"kv_buffer_lds", "BN % WN == 0", "hip:gfx950", "WN=96", NULL},
    {"kv_buffer_lds", "WN % mma_n == 0", "hip:gfx950", "BN=64,BK=64,WN=16",
     NULL},
    {"kv_buffer_lds", "role == K || depth % (warps_n * mma_n) == 0",
     "hip:gfx950", "role=V,BK=64,depth=64", NULL},
    {"kv_buffer_lds", "role == V || depth % BK == 0", "hip:gfx950",
     "BK=64,depth=160", NULL},
    {"kv_buffer_lds", "role == K || BN % BK == 0", "hip:gfx950",
     "role=V,BN=96,BK=64,depth=96", NULL},
    {"kv_buffer_lds", "squares % num_warps == 0", "cuda:sm_90a", "num_warps=8",
     NULL},
    {"kv_buffer_lds", "num_warps % warps_n == 0", "cuda:sm_90a", "num_warps=2",
     NULL},
    {"kv_buffer_lds", "src_cols >= depth", "hip:gfx950", "src_cols=64", NULL},
    {"kv_buffer_lds", "ld >= src_cols", "hip:gfx950", "src_cols=256,ld=128",
     NULL},
    {"kv_buffer_lds",
     "swizzle_bits > 0 || (swizzle_base == 0 && swizzle_shift == 0)",
     "hip:gfx950", "swizzle_shift=3", NULL},
    {"kv_buffer_lds",
     "swizzle_bits > 0 || (swizzle_base == 0 && swizzle_shift == 0)",
     "hip:gfx950", "swizzle_base=1", NULL},
    {"kv_buffer_lds", "abs(swizzle_shift) >= swizzle_bits", "hip:gfx950",
     "swizzle_bits=2,swizzle_base=1,swizzle_shift=1", NULL},
    {"kv_buffer_lds",
     "swizzle_base + max(-swizzle_shift, 0) + swizzle_bits <= 6", "hip:gfx950",
     "swizzle_bits=1,swizzle_base=1,swizzle_shift=-5", NULL},
    {"kv_buffer_lds",
     "swizzle_base + max(swizzle_shift, 0) + swizzle_bits <= 7", "hip:gfx950",
     "swizzle_bits=3,swizzle_base=1,swizzle_shift=4", NULL},
    {"kv_buffer_lds", "tile_bytes <= arch_shared_bytes", "hip:gfx90a",
     "role=V,BK=128,depth=512", NULL},
    {"kv_buffer_lds", "arch_is_amd || (entry != scores && entry != output)",
     "cuda:sm_90a", "entry=scores", NULL},
    {"kv_buffer_lds", "arch_is_amd || (entry != scores && entry != output)",
     "cuda:sm_90a", "entry=output", NULL},
    {"kv_buffer_lds", "!arch_is_amd || mma_bytes <= arch_mfma_16bit_bytes",
     "hip:gfx942", "mma=m32x32x16", NULL},
    {"kv_buffer_lds", "!arch_is_amd || mma_bytes <= arch_mfma_16bit_bytes",
     "hip:gfx90a", "mma=m16x16x32", NULL},
    {"kv_buffer_lds", "entry != scores || role == K", "hip:gfx950",
     "entry=scores,role=V", NULL},
    {"kv_buffer_lds", "entry != output || role == V", "hip:gfx950",
     "entry=output,role=K", NULL},
    {"kv_buffer_lds",
     "(entry != scores && entry != output) || lane_registers + "
     "max(256 / divup(num_warps, 4), 72) <= 512 / divup(num_warps, 4)",
     "hip:gfx950", "entry=output,WN=128,depth=512,num_warps=4", NULL},
    {"kv_buffer_lds",
     "(entry != scores && entry != output) || lane_registers + "
     "max(256 / divup(num_warps, 4), 72) <= 512 / divup(num_warps, 4)",
     "hip:gfx950", "entry=scores,BN=512,WN=128,num_warps=16", NULL},
    {"kv_buffer_pipelined", "dtype != fp8", "hip:gfx950", "dtype=fp8", NULL},
    {"kv_buffer_pipelined", "depth % BK == 0", "hip:gfx950",
     "BK=64,depth=160,num_warps=2", NULL},
    {"kv_buffer_pipelined", "squares % num_warps == 0", "cuda:sm_90a",
     "entry=image,num_warps=3", NULL},
    {"kv_buffer_pipelined", "src_cols >= depth", "hip:gfx950", "src_cols=64",
     NULL},
    {"kv_buffer_pipelined", "ld >= src_cols", "hip:gfx950",
     "src_cols=256,ld=128", NULL},
    {"kv_buffer_pipelined",
     "swizzle_bits > 0 || (swizzle_base == 0 && swizzle_shift == 0)",
     "hip:gfx950", "swizzle_shift=3", NULL},
    {"kv_buffer_pipelined",
     "swizzle_bits > 0 || (swizzle_base == 0 && swizzle_shift == 0)",
     "hip:gfx950", "swizzle_base=1", NULL},
    {"kv_buffer_pipelined", "abs(swizzle_shift) >= swizzle_bits", "hip:gfx950",
     "swizzle_bits=2,swizzle_base=1,swizzle_shift=1", NULL},
    {"kv_buffer_pipelined",
     "swizzle_base + max(-swizzle_shift, 0) + swizzle_bits <= 6", "hip:gfx950",
     "swizzle_bits=1,swizzle_base=1,swizzle_shift=-5", NULL},
    {"kv_buffer_pipelined",
     "swizzle_base + max(swizzle_shift, 0) + swizzle_bits <= 7", "hip:gfx950",
     "swizzle_bits=3,swizzle_base=1,swizzle_shift=4", NULL},
    {"kv_buffer_pipelined", "2 * stage_bytes <= arch_shared_bytes",
     "hip:gfx90a", "BN=96", NULL},
    {"kv_buffer_pipelined", "!arch_is_amd || 2 * vm_instrs_per_load <= 63",
     "hip:gfx90a", "num_warps=2", NULL},
    {"kv_buffer_pipelined", "arch_is_amd || entry != attention", "cuda:sm_90a",
     "entry=attention", NULL},
    {"kv_buffer_pipelined",
     "!arch_is_amd || mma_bytes <= arch_mfma_16bit_bytes", "hip:gfx942",
     "mma=m32x32x16", NULL},
    {"kv_buffer_pipelined",
     "!arch_is_amd || mma_bytes <= arch_mfma_16bit_bytes", "hip:gfx90a",
     "mma=m16x16x32", NULL},
    {"kv_buffer_pipelined",
     "entry != attention || lane_registers + 128 <= 512 / divup(num_warps, 4)",
     "hip:gfx950", "BN=32,depth=512", NULL},
    {"kv_buffer_reg", "dtype != fp8", "hip:gfx950", "dtype=fp8", NULL},
    {"kv_buffer_reg", "BN % WN == 0", "hip:gfx950", "WN=96", NULL},
    {"kv_buffer_reg", "WN % mma_n == 0", "hip:gfx950", "BN=64,BK=64,WN=16",
     NULL},
    {"kv_buffer_reg", "role == K || depth % (warps_n * mma_n) == 0",
     "hip:gfx950", "role=V,BK=64,depth=64", NULL},
    {"kv_buffer_reg", "role == V || depth % BK == 0", "hip:gfx950",
     "BK=64,depth=160", NULL},
    {"kv_buffer_reg", "role == K || BN % BK == 0", "hip:gfx950",
     "role=V,BN=96,BK=64,depth=96", NULL},
    {"kv_buffer_reg", "squares * 2 % num_warps == 0", "cuda:sm_90a",
     "num_warps=16", NULL},
    {"kv_buffer_reg", "held <= 16", "hip:gfx950",
     "role=V,BK=128,WN=128,depth=512", NULL},
    {"kv_buffer_reg", "num_warps % warps_n == 0", "cuda:sm_90a", "num_warps=2",
     NULL},
    {"kv_buffer_reg", "src_cols >= depth", "hip:gfx950", "src_cols=64", NULL},
    {"kv_buffer_reg", "ld >= src_cols", "hip:gfx950", "src_cols=256,ld=128",
     NULL},
    {"kv_buffer_reg",
     "swizzle_bits > 0 || (swizzle_base == 0 && swizzle_shift == 0)",
     "hip:gfx950", "swizzle_shift=3", NULL},
    {"kv_buffer_reg",
     "swizzle_bits > 0 || (swizzle_base == 0 && swizzle_shift == 0)",
     "hip:gfx950", "swizzle_base=1", NULL},
    {"kv_buffer_reg", "abs(swizzle_shift) >= swizzle_bits", "hip:gfx950",
     "swizzle_bits=2,swizzle_base=1,swizzle_shift=1", NULL},
    {"kv_buffer_reg",
     "swizzle_base + max(-swizzle_shift, 0) + swizzle_bits <= 6", "hip:gfx950",
     "swizzle_bits=1,swizzle_base=1,swizzle_shift=-5", NULL},
    {"kv_buffer_reg",
     "swizzle_base + max(swizzle_shift, 0) + swizzle_bits <= 7", "hip:gfx950",
     "swizzle_bits=3,swizzle_base=1,swizzle_shift=4", NULL},
    {"kv_buffer_reg", "tile_bytes <= arch_shared_bytes", "hip:gfx90a",
     "role=V,BK=128,depth=512,num_warps=8", NULL},
    {"kv_buffer_reg", "arch_is_amd || (entry != scores && entry != output)",
     "cuda:sm_90a", "entry=scores", NULL},
    {"kv_buffer_reg", "arch_is_amd || (entry != scores && entry != output)",
     "cuda:sm_90a", "entry=output", NULL},
    {"kv_buffer_reg", "!arch_is_amd || mma_bytes <= arch_mfma_16bit_bytes",
     "hip:gfx942", "mma=m32x32x16", NULL},
    {"kv_buffer_reg", "!arch_is_amd || mma_bytes <= arch_mfma_16bit_bytes",
     "hip:gfx90a", "mma=m16x16x32", NULL},
    {"kv_buffer_reg", "entry != scores || role == K", "hip:gfx950",
     "entry=scores,role=V", NULL},
    {"kv_buffer_reg", "entry != output || role == V", "hip:gfx950",
     "entry=output,role=K", NULL},
    {"kv_buffer_reg",
     "(entry != scores && entry != output) || lane_registers + "
     "max(256 / divup(num_warps, 4), 88) <= 512 / divup(num_warps, 4)",
     "hip:gfx950", "entry=output,WN=128,depth=512,num_warps=4", NULL},
    {"kv_buffer_reg",
     "(entry != scores && entry != output) || lane_registers + "
     "max(256 / divup(num_warps, 4), 88) <= 512 / divup(num_warps, 4)",
     "hip:gfx950", "entry=scores,BN=512,WN=128,num_warps=16", NULL},
    {"kv_producer_pipeline", "arch_tma", "cuda:sm_80", "mode=single", NULL},
    {"kv_producer_pipeline", "mode == single || arch_max_cluster >= 2",
     "cuda:sm_80", "mode=pair_local", "arch_tma"},
    {"kv_producer_pipeline", "mode != pair_sm100 || arch_cta_group",
     "cuda:sm_90a", "mode=pair_sm100", NULL},
    {"kv_producer_pipeline", "slots >= 2", "cuda:sm_90a", "slots=1", NULL},
    {"kv_producer_pipeline", "slots >= 2", "cuda:sm_90a",
     "depth=192,config=fa4,page_size=0",
     "config != fa4 || (depth >= 64 && depth <= 128)"},
    {"kv_producer_pipeline", "config != fa4 || (depth >= 64 && depth <= 128)",
     "cuda:sm_90a", "config=fa4,depth=32", NULL},
    {"kv_producer_pipeline",
     "config != fa4_paged || (depth >= 64 && depth <= 192)", "cuda:sm_90a",
     "config=fa4_paged,depth=32", NULL},
    {"kv_producer_pipeline",
     "config != fa4_512 || depth == 256 || depth == 512", "cuda:sm_90a",
     "config=fa4_512,depth=128", NULL},
    {"kv_producer_pipeline", "config != fa3 || (depth >= 64 && depth <= 256)",
     "cuda:sm_90a", "config=fa3,depth=32", NULL},
    {"kv_producer_pipeline",
     "page_size == 0 || page_size % BN == 0 || BN % page_size == 0",
     "cuda:sm_90a", "page_size=192", NULL},
    {"kv_producer_pipeline", "page_size > 0 || !head_page", "cuda:sm_90a",
     "page_size=0,head_page=1", NULL},
    {"kv_producer_pipeline",
     "ctas == 1 || num_pages == 1 || num_pages % 2 == 0", "cuda:sm_90a",
     "mode=pair_local,BN=48", NULL},
    {"kv_producer_pipeline", "padded_depth % (pieces * granule) == 0",
     "cuda:sm_90a", "pieces=4", NULL},
    {"kv_producer_pipeline", "!in_slots || pieces % 2 == 0", "cuda:sm_90a",
     "order=split,pieces=1", NULL},
    {"kv_producer_pipeline", "in_slots || BN % (8 * pieces) == 0",
     "cuda:sm_90a", "depth=256,BN=16,pieces=4", NULL},
    {"kv_producer_pipeline", "num_pages == 1 || v_rows % page_rows == 0",
     "cuda:sm_90a", "depth=256,BN=128,pieces=4,page_size=64", NULL},
    {"kv_producer_pipeline",
     "mode == single || padded_depth % (2 * granule) == 0", "cuda:sm_90a",
     "mode=pair_local,depth=64", NULL},
    {"kv_producer_pipeline", "!in_slots || mode != pair_multicast",
     "cuda:sm_90a", "order=split,mode=pair_multicast", NULL},
    {"kv_producer_pipeline", "!k_inner || swizzle == 128", "cuda:sm_90a",
     "k_inner=1,swizzle=64", NULL},
    {"kv_producer_pipeline", "!v_inner || swizzle == 128 || swizzle == 16",
     "cuda:sm_90a", "v_inner=1,swizzle=32", NULL},
    {"kv_producer_pipeline",
     "!(k_inner || v_inner) || copies == cells || page_size % 8 == 0",
     "cuda:sm_90a", "v_inner=1,page_size=4,copies=boxes", NULL},
    {"kv_producer_pipeline", "!fold || !(k_inner || v_inner) || page_size > 0",
     "cuda:sm_90a", "fold=1,k_inner=1,v_inner=1,page_size=0", NULL},
    {"kv_producer_pipeline",
     "!fold || (k_cols / granule >= 2 && depth % k_cols == 0 && (mode == "
     "pair_multicast ? k_inner : k_inner || num_pages == 1))",
     "cuda:sm_90a", "fold=1",
     "!fold || ((mode == pair_multicast ? padded_depth / 2 : v_cols) / granule "
     ">= 2 && depth % (mode == pair_multicast ? padded_depth / 2 : v_cols) == "
     "0 && (v_inner || num_pages == 1))"},
    {"kv_producer_pipeline",
     "!fold || ((mode == pair_multicast ? padded_depth / 2 : v_cols) / granule "
     ">= 2 && depth % (mode == pair_multicast ? padded_depth / 2 : v_cols) == "
     "0 && (v_inner || num_pages == 1))",
     "cuda:sm_90a", "fold=1,k_inner=1", NULL},
    {"kv_producer_pipeline", "copies == boxes || mode == single", "cuda:sm_90a",
     "copies=cells,mode=pair_local", NULL},
    {"kv_producer_pipeline", "copies == boxes || producers >= 4", "cuda:sm_90a",
     "copies=cells,producers=1", NULL},
    {"kv_producer_pipeline", "copies == cells || producers == 1", "cuda:sm_90a",
     "producers=4", NULL},
    {"kv_producer_pipeline",
     "copies == boxes || (entry != issues && entry != trace && policy == "
     "normal)",
     "cuda:sm_90a", "copies=cells,entry=issues", NULL},
    {"kv_producer_pipeline",
     "copies == boxes || (entry != issues && entry != trace && policy == "
     "normal)",
     "cuda:sm_90a", "page_size=1,policy=first", NULL},
    {"kv_producer_pipeline", "copies == boxes || !fold", "cuda:sm_90a",
     "copies=cells,fold=1,k_inner=1,v_inner=1", NULL},
    {"kv_producer_pipeline",
     "copies == cells || num_pages == 1 || page_rows * swizzle % 128 == 0",
     "cuda:sm_90a", "swizzle=16,page_size=4,copies=boxes", NULL},
    {"kv_producer_pipeline", "lanes == 1 || num_pages <= 32", "cuda:sm_90a",
     "BN=256,page_size=4,copies=boxes,lanes=32", NULL},
    {"kv_producer_pipeline", "BM > 0 || q_tiles == 1", "cuda:sm_90a",
     "q_tiles=2", NULL},
    {"kv_producer_pipeline",
     "BM % q_tiles == 0 && q_rows % 64 == 0 && q_rows <= 256", "cuda:sm_90a",
     "BM=64,q_tiles=2", NULL},
    {"kv_producer_pipeline",
     "(entry != scores && entry != output) || (arch_wgmma && BM > 0 && copies "
     "== boxes && tail == zeros)",
     "cuda:sm_90", "entry=scores", NULL},
    {"kv_producer_pipeline",
     "(entry != scores && entry != output) || (arch_wgmma && BM > 0 && copies "
     "== boxes && tail == zeros)",
     "cuda:sm_90a", "entry=output,tail=count", NULL},
    {"kv_producer_pipeline",
     "(entry != scores && entry != output) || (consumers % 4 == 0 && consumers "
     "/ 4 % row_groups == 0)",
     "cuda:sm_90a", "entry=scores,consumers=5", NULL},
    {"kv_producer_pipeline",
     "entry != scores || k_rows % (16 * col_groups) == 0", "cuda:sm_90a",
     "entry=scores,BN=16,consumers=8", NULL},
    {"kv_producer_pipeline", "entry != output || dtype != fp8", "cuda:sm_90a",
     "entry=output,dtype=fp8,consumers=4", NULL},
    {"kv_producer_pipeline",
     "entry != output || (v_rows % 16 == 0 && v_cols % (granule * col_groups) "
     "== 0 && padded_depth / halves / col_groups <= 256)",
     "cuda:sm_90a", "entry=output,depth=512,consumers=4", NULL},
    {"kv_producer_pipeline",
     "after_at + 8 * ring_pieces + 8 <= arch_shared_bytes", "cuda:sm_90a",
     "slots=8", NULL},
    {"paged_row_indices", "arch_tma", "cuda:sm_80", "", NULL},
    {"paged_row_indices", "pair != sm100 || arch_cta_group", "cuda:sm_90a",
     "pair=sm100", NULL},
    {"paged_row_indices", "head_dim * elem_bytes % 16 == 0", "cuda:sm_90a",
     "dtype=fp8,head_dim=72", NULL},
    {"paged_row_indices",
     "page_size == 0 || BN % page_size == 0 || page_size % BN == 0",
     "cuda:sm_90a", "page_size=192", NULL},
    {"paged_row_indices", "(page_size > 0) == (from == paged)", "cuda:sm_90a",
     "from=ragged", NULL},
    {"paged_row_indices",
     "page_size == 0 || page_size >= 8 || issue == threads", "cuda:sm_90a",
     "page_size=4,issue=one", NULL},
    {"paged_row_indices", "page_size == 0 || num_pages > 1 || alignment == BN",
     "cuda:sm_90a", "page_size=256,alignment=16", NULL},
    {"paged_row_indices",
     "page_size == 0 || num_pages == 1 || alignment % page_size == 0",
     "cuda:sm_90a", "alignment=8", NULL},
    {"paged_row_indices", "BN % alignment == 0", "cuda:sm_90a",
     "BN=96,alignment=64", NULL},
    {"paged_row_indices", "BN % (8 * halves) == 0", "cuda:sm_90a",
     "BN=8,pair=local", NULL},
    {"paged_row_indices",
     "pair == alone || num_pages == 1 || num_pages % 2 == 0", "cuda:sm_90a",
     "BN=96,page_size=32,pair=local", NULL},
    {"paged_row_indices", "BN % (8 * v_sub_tiles) == 0", "cuda:sm_90a",
     "BN=8,v_sub_tiles=2", NULL},
    {"paged_row_indices", "num_pages == 1 || num_pages % v_sub_tiles == 0",
     "cuda:sm_90a", "BN=64,v_sub_tiles=8", NULL},
    {"paged_row_indices", "k_tile_cols % chunk == 0", "cuda:sm_90a",
     "k_tile_cols=96", NULL},
    {"paged_row_indices", "v_tile_cols % chunk == 0", "cuda:sm_90a",
     "head_dim=64,pair=multicast", NULL},
    {"paged_row_indices", "k_tile_cols <= padded_dim", "cuda:sm_90a",
     "k_tile_cols=192", NULL},
    {"paged_row_indices", "v_slot_cols <= padded_dim", "cuda:sm_90a",
     "pair=multicast,v_tile_cols=128", NULL},
    {"paged_row_indices",
     "k_slot_rows >= (pair == multicast ? BN : k_tile_rows)", "cuda:sm_90a",
     "k_slot_rows=64", NULL},
    {"paged_row_indices", "k_layout == outer || swizzle == 128", "cuda:sm_90a",
     "k_layout=inner,swizzle=16", NULL},
    {"paged_row_indices",
     "v_layout == outer || swizzle == 128 || swizzle == 16", "cuda:sm_90a",
     "v_layout=inner,swizzle=64", NULL},
    {"paged_row_indices",
     "k_layout == outer || k_slot_rows == (pair == multicast ? BN : "
     "k_tile_rows)",
     "cuda:sm_90a", "k_layout=inner,k_slot_rows=136", NULL},
    {"paged_row_indices",
     "issue == threads || k_layout == outer || k_page_rows % 8 == 0",
     "cuda:sm_90a", "k_layout=inner,v_layout=outer,BN=96,page_size=12", NULL},
    {"paged_row_indices",
     "issue == threads || v_layout == outer || v_page_rows % 8 == 0",
     "cuda:sm_90a", "v_layout=inner,BN=96,page_size=12", NULL},
    {"paged_row_indices",
     "issue == threads || num_pages == 1 || page_size * swizzle % 128 == 0",
     "cuda:sm_90a", "swizzle=16,BN=96,page_size=12", NULL},
    {"paged_row_indices",
     "!k_fold || (k_tile_cols >= 2 * chunk && head_dim % k_tile_cols == 0)",
     "cuda:sm_90a", "k_fold=1,v_fold=0,page_size=128,head_dim=80", NULL},
    {"paged_row_indices",
     "!v_fold || (v_tile_cols >= 2 * chunk && head_dim % v_tile_cols == 0)",
     "cuda:sm_90a", "v_fold=1,page_size=128,v_tile_cols=64", NULL},
    {"paged_row_indices", "k_form != 1 || k_page_rows == k_slot_rows",
     "cuda:sm_90a", "k_fold=1,v_fold=0", NULL},
    {"paged_row_indices", "v_form != 1 || v_page_rows == v_slot_rows",
     "cuda:sm_90a", "v_fold=1", NULL},
    {"paged_row_indices",
     "(k_form != 2 && v_form != 2) || (page_size > 0 && page_size % 8 == 0 && "
     "alignment % 8 == 0)",
     "cuda:sm_90a", "page_size=0,k_layout=inner,k_fold=1", NULL},
    {"paged_row_indices", "pair != multicast || v_form != 2", "cuda:sm_90a",
     "pair=multicast,head_dim=256,BN=64,k_layout=inner,v_fold=1", NULL},
    {"paged_row_indices", "partial || (!k_fill && !v_fill)", "cuda:sm_90a",
     "v_fill=1", NULL},
    {"paged_row_indices", "issue != threads || pair == alone", "cuda:sm_90a",
     "page_size=4,pair=local", NULL},
    {"paged_row_indices", "issue != threads || (!k_fold && !v_fold)",
     "cuda:sm_90a", "issue=threads,page_size=128,k_fold=1", NULL},
    {"paged_row_indices",
     "issue != threads || (k_evict == normal && v_evict == normal)",
     "cuda:sm_90a", "page_size=4,k_evict=first", NULL},
    {"paged_row_indices", "issue != threads || entry != issues", "cuda:sm_90a",
     "page_size=4,entry=issues", NULL},
    {"paged_row_indices", "issue != threads || num_warps % 2 == 0",
     "cuda:sm_90a", "page_size=4,num_warps=3", NULL},
    {"paged_row_indices", "pair != sm100 || entry != stream", "cuda:sm_100a",
     "pair=sm100,entry=stream", NULL},
    {"paged_row_indices", "entry != stream || stages >= 2", "cuda:sm_90a",
     "entry=stream,stages=1", NULL},
    {"paged_row_indices", "entry == stream || stages == 1", "cuda:sm_90a",
     "stages=3", NULL},
    {"paged_row_indices",
     "entry != stream || issue == threads || num_warps >= 2", "cuda:sm_90a",
     "entry=stream,num_warps=1", NULL},
    {"paged_row_indices", "ring_bytes + 16 * stages <= arch_shared_bytes",
     "cuda:sm_90a", "head_dim=512", NULL},
    {"subtile_loader", "chunks % num_warps == 0", "hip:gfx950", "num_warps=3",
     NULL},
    {"subtile_loader", "src_cols >= depth", "hip:gfx950", "src_cols=64", NULL},
    {"subtile_loader", "ld >= src_cols", "cuda:sm_90a", "ld=1016", NULL},
    {"subtile_loader", "src_cols * elem_bytes % 16 == 0", "hip:gfx950",
     "dtype=fp8,src_cols=1032,ld=1040", NULL},
    {"subtile_loader", "ld * elem_bytes % 16 == 0", "hip:gfx950",
     "dtype=fp8,ld=1032", NULL},
    {"subtile_loader", "stages * tile_bytes <= arch_shared_bytes",
     "cuda:sm_90a", "BN=512,depth=256", NULL},
    {"subtile_loader", "stages * tile_bytes <= arch_shared_bytes", "hip:gfx942",
     "BN=288", NULL},
    {"subtile_loader", "entry == stream || stages == 1", "hip:gfx950",
     "stages=2", NULL},
    {"subtile_loader",
     "!arch_is_amd || (stages - 1) * iterations * copies_per_chunk <= 63",
     "hip:gfx90a", "entry=stream,depth=64,num_warps=2,stages=8", NULL},
    {"subtile_loader",
     "entry == fragments || entry == scores || (reader == swizzle && mma_m == "
     "32)",
     "hip:gfx950", "reader=hipkittens", NULL},
    {"subtile_loader",
     "entry == fragments || entry == scores || (reader == swizzle && mma_m == "
     "32)",
     "hip:gfx950", "entry=stream,mma_m=16", NULL},
    {"subtile_loader", "depth % fragment_cols == 0", "cuda:sm_90a",
     "entry=fragments,dtype=fp8,depth=64,num_warps=4,mma_m=16", NULL},
    {"subtile_loader", "entry == scores || mma_k == mma_k_widest", "hip:gfx950",
     "entry=fragments,mma_k=8", NULL},
    {"subtile_loader", "entry != scores || arch_is_amd", "cuda:sm_90a",
     "entry=scores", NULL},
    {"subtile_loader",
     "entry != scores || dtype != fp8 || !arch_is_amd || arch_mfma_8bit_bytes "
     "> 0",
     "hip:gfx90a", "entry=scores,dtype=fp8", NULL},
    {"subtile_loader",
     "entry != scores || operand_bytes == 8 || operand_bytes == mma_widest",
     "hip:gfx950", "entry=scores,mma_k=32", NULL},
    {"subtile_loader",
     "entry != scores || operand_bytes == 8 || operand_bytes == mma_widest",
     "hip:gfx942", "entry=scores,mma_k=16", NULL},
    {"subtile_loader_st_8x32", "tile_bytes % (1024 * num_warps) == 0",
     "hip:gfx950", "num_warps=7", NULL},
    {"subtile_loader_st_8x32", "src_cols >= depth", "hip:gfx942", "src_cols=64",
     NULL},
    {"subtile_loader_st_8x32", "ld >= src_cols", "cuda:sm_90a", "ld=1016",
     NULL},
    {"subtile_loader_st_8x32", "ld * elem_bytes % 16 == 0", "hip:gfx950",
     "dtype=fp8,ld=1032", NULL},
    {"subtile_loader_st_8x32", "!uses_v227 || dtype == fp8", "hip:gfx950",
     "placement=v227,tile_keys=128,slot_bytes=32768",
     "!uses_v227 || num_warps * iterations == 16"},
    {"subtile_loader_st_8x32",
     "!uses_v227 || (tile_keys == 128 && depth == 128)", "hip:gfx950",
     "dtype=fp8,placement=v227,tile_keys=64,depth=256", NULL},
    {"subtile_loader_st_8x32", "!uses_v227 || num_warps * iterations == 16",
     "cuda:sm_90a", "dtype=fp8,placement=v227,tile_keys=64",
     "!uses_v227 || (tile_keys == 128 && depth == 128)"},
    {"subtile_loader_st_8x32", "slot_bytes >= tile_bytes", "hip:gfx950",
     "slot_bytes=16368", NULL},
    {"subtile_loader_st_8x32", "!uses_v227 || slot_bytes >= 16624",
     "hip:gfx950", "dtype=fp8,placement=v227,slot_bytes=16608", NULL},
    {"subtile_loader_st_8x32", "stages * slot_bytes <= arch_shared_bytes",
     "hip:gfx90a", "slot_bytes=65552", NULL},
    {"subtile_loader_st_8x32", "stages * slot_bytes <= arch_shared_bytes",
     "cuda:sm_86", "slot_bytes=101392", NULL},
    {"subtile_loader_st_8x32", "entry == stream || stages == 1", "hip:gfx950",
     "stages=2", NULL},
    {"subtile_loader_st_8x32",
     "!arch_is_amd || (stages - 1) * iterations * copies_per_chunk <= 63",
     "hip:gfx90a", "entry=stream,tile_keys=32,num_warps=2,stages=5", NULL},
    {"subtile_loader_st_8x32",
     "reader == placement || entry == fragments || entry == output",
     "hip:gfx950", "dtype=fp8,reader=v227", NULL},
    {"subtile_loader_st_8x32",
     "(entry != fragments && entry != output) || tile_keys % strip_keys == 0",
     "hip:gfx950", "entry=output,tile_keys=8,num_warps=2", NULL},
    {"subtile_loader_st_8x32",
     "(entry != fragments && entry != output) || tile_keys % strip_keys == 0",
     "cuda:sm_90a", "dtype=fp8,entry=fragments,tile_keys=32,num_warps=4", NULL},
    {"subtile_loader_st_8x32", "entry != output || arch_mfma_16bit_bytes > 0",
     "cuda:sm_90a", "entry=output", NULL},
    {"subtile_loader_st_8x32",
     "entry != output || dtype != fp8 || arch_mfma_8bit_bytes > 0",
     "hip:gfx90a", "dtype=fp8,entry=output", NULL},
    {"subtile_loader_st_8x32",
     "entry != output || num_warps <= 8 || depth <= 128", "hip:gfx950",
     "entry=output,depth=256,num_warps=16", NULL},
    {"tile_loader_lds", "lane_bytes == 4 || lane_bytes == 16", "hip:gfx950",
     "load_width=1", NULL},
    {"tile_loader_lds", "full_width || tile_cols % 32 == 0", "hip:gfx950",
     "tile_cols=16", NULL},
    {"tile_loader_lds", "threads_per_row <= 64 && 64 % threads_per_row == 0",
     "hip:gfx950", "tile_cols=1024,full_width=1",
     "64 * load_width % tile_cols == 0"},
    {"tile_loader_lds", "num_loading_warps % warp_cols == 0", "hip:gfx950",
     "tile_cols=512", NULL},
    {"tile_loader_lds", "64 * load_width % tile_cols == 0", "hip:gfx950",
     "dtype=f32,tile_cols=128,load_width=1", NULL},
    {"tile_loader_lds", "tile_rows % thread_rows == 0", "hip:gfx90a",
     "tile_rows=504", NULL},
    {"tile_loader_lds", "num_warps >= num_loading_warps", "cuda:sm_90a",
     "num_warps=2", NULL},
    {"tile_loader_lds", "src_cols % tile_cols == 0", "cuda:sm_90a",
     "src_cols=1040", NULL},
    {"tile_loader_lds", "ld >= src_cols", "cuda:sm_90a", "ld=1008", NULL},
    {"tile_loader_lds",
     "swizzle_bits > 0 || (swizzle_base == 0 && swizzle_shift == 0)",
     "hip:gfx950", "swizzle_shift=-3", NULL},
    {"tile_loader_lds",
     "swizzle_bits > 0 || (swizzle_base == 0 && swizzle_shift == 0)",
     "hip:gfx950", "swizzle_base=1", NULL},
    {"tile_loader_lds", "abs(swizzle_shift) >= swizzle_bits", "cuda:sm_90a",
     "swizzle_bits=2,swizzle_base=4", NULL},
    {"tile_loader_lds",
     "swizzle_bits == 0 || full_width || 1 << swizzle_period_log2 <= "
     "chunk_bytes",
     "hip:gfx950", "swizzle_bits=6,swizzle_shift=-7", NULL},
    {"tile_loader_lds",
     "swizzle_bits == 0 || tile_bytes % (1 << swizzle_period_log2) == 0",
     "hip:gfx950", "full_width=1,swizzle_bits=6,swizzle_shift=-8", NULL},
    {"tile_loader_lds",
     "swizzle_bits == 0 || 1 << (swizzle_base + max(-swizzle_shift, 0)) >= "
     "lane_bytes",
     "hip:gfx950", "swizzle_bits=2,swizzle_shift=-2", NULL},
    {"tile_loader_lds", "stages * tile_bytes <= arch_shared_bytes",
     "cuda:sm_86", "dtype=f32,tile_rows=512", NULL},
    {"tile_loader_lds", "stages * tile_bytes <= arch_shared_bytes",
     "hip:gfx942", "dtype=f32,tile_rows=264", NULL},
    {"tile_loader_lds", "entry == stream || stages == 1", "hip:gfx950",
     "stages=5", NULL},
    {"tile_loader_lds", "stages == 1 || chunks % num_loading_warps == 0",
     "hip:gfx950", "entry=stream,tile_rows=16,stages=8", NULL},
    {"tile_loader_lds",
     "!arch_is_amd || (stages - 1) * iterations * copies_per_chunk <= 63",
     "hip:gfx90a", "entry=stream,num_loading_warps=2,stages=8", NULL},
};

/* A rule that the allowed values of these parameters imply. */
typedef struct implied {
    const char *family;
    const char *rule;
    const char *params[4]; /* all that it depends on */
} implied;

static const implied implied_rules[] = {
    {"kv_buffer_lds", "BN * ld * 2 < 2147483648", {"BN", "ld"}},
    {"kv_buffer_pipelined", "BN * ld * 2 < 2147483648", {"BN", "ld"}},
    {"kv_buffer_reg", "BN * ld * 2 < 2147483648", {"BN", "ld"}},
    {"subtile_loader",
     "(BN + 2) * ld * elem_bytes < 2147483648",
     {"BN", "ld", "dtype"}},
    {"subtile_loader", "64 * num_warps <= 1024", {"num_warps"}},
    {"subtile_loader_st_8x32", "depth % subtile_cols == 0", {"depth", "dtype"}},
    {"subtile_loader_st_8x32",
     "tile_keys * ld * elem_bytes < 2147483648",
     {"tile_keys", "ld", "dtype"}},
    {"tile_loader_lds",
     "subtile_cols % load_width == 0",
     {"full_width", "tile_cols", "load_width"}},
    {"tile_loader_lds", "ld * elem_bytes % 16 == 0", {"ld", "dtype"}},
    {"tile_loader_lds",
     "tile_rows * ld * elem_bytes < 2147483648",
     {"tile_rows", "ld", "dtype"}},
    {"tile_loader_lds", "64 * num_warps <= 1024", {"num_warps"}},
};

static groat_family *families[FAMILIES_MAX];
static size_t family_count;

static void setup(void)
{
    family_count = load_embedded(families);
}

static void teardown(void)
{
    for (size_t i = 0; i < family_count; i++)
        groat__family_free(families[i]);
}

static groat_family *family_of(const char *name)
{
    for (size_t i = 0; i < family_count; i++)
        if (strcmp(families[i]->name, name) == 0)
            return families[i];
    ck_abort_msg("the table names family %s, which is not there", name);
    return NULL;
}

static size_t rule_of(const groat_family *family, const char *text)
{
    for (size_t i = 0; i < family->rule_count; i++)
        if (strcmp(family->rules[i].text, text) == 0)
            return i;
    ck_abort_msg("the table names a rule that %s has not: %s", family->name,
                 text);
    return 0;
}

static bool holds(const groat__params *params, size_t rule)
{
    int64_t value = 0;
    const char *why;

    return groat__expr_eval(&params->family->rules[rule].expr, params->values,
                            &value, &why) &&
           value != 0;
}

/* The values of a spec, whatever the rules say of them. */
static groat__params without_rules(groat_family *family, const char *spec,
                                   const char *target)
{
    size_t count = family->rule_count;
    groat__params params;

    family->rule_count = 0;
    params = parsed(family, spec, target);
    family->rule_count = count;
    return params;
}

START_TEST(test_breakers)
{
    for (size_t i = 0; i < COUNT(breakers); i++) {
        const breaker *b = &breakers[i];
        groat_family *family = family_of(b->family);
        size_t rule = rule_of(family, b->rule);
        size_t other = b->other == NULL ? rule : rule_of(family, b->other);
        groat_error error = GROAT_ERROR_INIT;
        groat__params params;
        groat__str spec = {0};

        groat__str_addf(&spec, "%s:%s", b->family, b->spec);
        params = without_rules(family, spec.data, b->target);
        for (size_t k = 0; k < family->rule_count; k++)
            ck_assert_msg(holds(&params, k) == (k != rule && k != other),
                          "%s on %s: rule '%s'", spec.data, b->target,
                          family->rules[k].text);
        ck_assert_int_eq(parse(family, spec.data, b->target, &params, &error),
                         GROAT_INVALID);
        ck_says(&error, family->rules[rule].reason);
        ck_says(&error, b->target);
        groat__str_free(&spec);
    }
}
END_TEST

/* All values of a parameter, or 64 of them from the first to the last. */
static size_t grid_of(const groat__slot *slot, int64_t grid[64])
{
    int64_t total = 0;
    size_t count = 0;

    for (size_t i = 0; i < slot->range_count; i++)
        total += (slot->ranges[i].high - slot->ranges[i].low) /
                     slot->ranges[i].step +
                 1;
    for (size_t n = 0; n < 64; n++) {
        int64_t at = total <= 64 ? (int64_t)n : (int64_t)n * (total - 1) / 63;

        for (size_t i = 0; i < slot->range_count && at >= 0; i++) {
            const groat__range *range = &slot->ranges[i];
            int64_t size = (range->high - range->low) / range->step + 1;

            if (at < size)
                grid[count++] = range->low + at * range->step;
            at -= size;
        }
    }
    return count;
}

/* Gives the parameters from `depth` on every value; the number of points. */
static size_t walk(const implied *m, size_t rule, size_t depth,
                   const groat__params *params)
{
    int64_t grid[64];
    size_t count;
    size_t step;
    size_t slot;
    size_t points = 0;

    if (depth == COUNT(m->params) || m->params[depth] == NULL) {
        ck_assert_msg(holds(params, rule), "%s is not implied", m->rule);
        return 1;
    }
    slot = slot_of(params->family, m->params[depth]);
    count = grid_of(&params->family->slots[slot], grid);
    step = count > 16 ? test_step() : 1;
    for (size_t i = 0; i < count; i += step) {
        groat__params next = *params;

        ck_assert_int_eq(groat__params_set(&next, slot, grid[i], NULL),
                         GROAT_OK);
        points += walk(m, rule, depth + 1, &next);
    }
    return points;
}

START_TEST(test_implied)
{
    for (size_t i = 0; i < COUNT(implied_rules); i++) {
        const implied *m = &implied_rules[i];
        groat_family *family = family_of(m->family);
        size_t rule = rule_of(family, m->rule);
        groat__params params = without_rules(family, m->family, "hip:gfx950");
        size_t rules = family->rule_count;

        family->rule_count = 0;
        ck_assert_uint_gt(walk(m, rule, 0, &params), 1);
        family->rule_count = rules;
    }
}
END_TEST

START_TEST(test_every_rule_stands_in_a_table)
{
    for (size_t i = 0; i < family_count; i++)
        for (size_t k = 0; k < families[i]->rule_count; k++) {
            const char *rule = families[i]->rules[k].text;
            const char *name = families[i]->name;
            bool broken = false;
            bool is_implied = false;

            for (size_t n = 0; n < COUNT(breakers); n++)
                broken |= strcmp(breakers[n].family, name) == 0 &&
                          strcmp(breakers[n].rule, rule) == 0;
            for (size_t n = 0; n < COUNT(implied_rules); n++)
                is_implied |= strcmp(implied_rules[n].family, name) == 0 &&
                              strcmp(implied_rules[n].rule, rule) == 0;
            ck_assert_msg(broken != is_implied,
                          "%s, rule '%s': a spec that breaks it is needed, or "
                          "that it is implied",
                          name, rule);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rules");
    TCase *tcase = tcase_create("rules");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, test_breakers);
    tcase_add_test(tcase, test_implied);
    tcase_add_test(tcase, test_every_rule_stands_in_a_table);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
