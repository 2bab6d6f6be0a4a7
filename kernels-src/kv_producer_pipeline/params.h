// SPDX-License-Identifier: Apache-2.0
// The defaults of params.def, which has their units and meanings, for editors:
// made by defaults.sh.  A build of a kernel never reads this file; it gets the
// constants of its spec.
#pragma once

namespace groat {
namespace arch {
constexpr int wave_lanes = 32;
constexpr int shared_bytes = 232448;
constexpr int shared_banks = 32;
constexpr int lds_dma_bytes = 0;
constexpr int cp_async = 1;
constexpr int tma = 1;
constexpr int max_cluster = 16;
constexpr int tr_read = 0;
constexpr int is_amd = 0;
constexpr int mfma_16bit_bytes = 0;
constexpr int mfma_8bit_bytes = 0;
constexpr int fp8_fnuz = 0;
constexpr int wgmma = 1;
constexpr int cta_group = 0;
}
namespace params {
constexpr int entry_image = 0;
constexpr int entry_trace = 1;
constexpr int entry_issues = 2;
constexpr int entry_stream = 3;
constexpr int entry_scores = 4;
constexpr int entry_output = 5;
constexpr int entry = entry_image;
static_assert(entry == 0 || entry == 1 || entry == 2 || entry == 3 || entry == 4 || entry == 5, "entry: allowed image|trace|issues|stream|scores|output");
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype_fp8 = 2;
constexpr int dtype = dtype_bf16;
static_assert(dtype == 0 || dtype == 1 || dtype == 2, "dtype: allowed bf16|f16|fp8");
constexpr int config_own = 0;
constexpr int config_fa4 = 1;
constexpr int config_fa4_paged = 2;
constexpr int config_fa4_512 = 3;
constexpr int config_fa3 = 4;
constexpr int config = config_own;
static_assert(config == 0 || config == 1 || config == 2 || config == 3 || config == 4, "config: allowed own|fa4|fa4_paged|fa4_512|fa3");
constexpr int depth = 128;
static_assert((depth >= 16 && depth <= 512 && (depth - 16) % 16 == 0), "depth: allowed 16..512/16");
constexpr int page_size = 16;
static_assert((page_size >= 0 && page_size <= 16) || (page_size >= 20 && page_size <= 28 && (page_size - 20) % 4 == 0) || page_size == 40 || page_size == 56 || (page_size >= 32 && page_size <= 2048 && (page_size - 32) % 16 == 0), "page_size: allowed 0..16|20..28/4|40|56|32..2048/16");
constexpr bool head_page = false;
static_assert((head_page >= 0 && head_page <= 1), "head_page: allowed 0|1");
constexpr int mode_single = 0;
constexpr int mode_pair_local = 1;
constexpr int mode_pair_multicast = 2;
constexpr int mode_pair_sm100 = 3;
constexpr int mode = mode_single;
static_assert(mode == 0 || mode == 1 || mode == 2 || mode == 3, "mode: allowed single|pair_local|pair_multicast|pair_sm100");
constexpr int order_kv = 0;
constexpr int order_ahead = 1;
constexpr int order_one_q = 2;
constexpr int order_split = 3;
constexpr int order = order_kv;
static_assert(order == 0 || order == 1 || order == 2 || order == 3, "order: allowed kv|ahead|one_q|split");
constexpr int row_bytes = 256;
constexpr int streams = 0;
constexpr int swizzle = 128;
static_assert(swizzle == 16 || swizzle == 32 || swizzle == 64 || swizzle == 128, "swizzle: allowed 16|32|64|128");
constexpr bool k_inner = false;
static_assert((k_inner >= 0 && k_inner <= 1), "k_inner: allowed 0|1");
constexpr bool v_inner = false;
static_assert((v_inner >= 0 && v_inner <= 1), "v_inner: allowed 0|1");
constexpr bool fold = false;
static_assert((fold >= 0 && fold <= 1), "fold: allowed 0|1");
constexpr int elem_bytes = 2;
constexpr int granule = 64;
constexpr int padded_depth = 128;
constexpr int ctas = 1;
constexpr int halves = 1;
constexpr int mma_k = 16;
constexpr int BM = 0;
static_assert(BM == 0 || BM == 64 || BM == 128 || BM == 192 || BM == 256, "BM: allowed 0|64|128|192|256");
constexpr int q_tiles = 1;
static_assert(q_tiles == 1 || q_tiles == 2, "q_tiles: allowed 1|2");
constexpr int small_pages = 0;
constexpr int divides_192 = 0;
constexpr int BN = 128;
static_assert((BN >= 16 && BN <= 256 && (BN - 16) % 16 == 0), "BN: allowed 16..256/16");
constexpr int pieces = 1;
static_assert(pieces == 1 || pieces == 2 || pieces == 3 || pieces == 4 || pieces == 8, "pieces: allowed 1|2|3|4|8");
constexpr int in_slots = 0;
constexpr int parts = 1;
constexpr int ring_pieces = 1;
constexpr int k_rows = 128;
constexpr int k_cols = 128;
constexpr int v_rows = 128;
constexpr int slot_bytes = 32768;
constexpr int v_cols = 128;
constexpr int kv_bytes = 32768;
constexpr int head_dim = 128;
constexpr int k_form = 0;
constexpr int v_form = 0;
constexpr int k_layout = 0;
constexpr int v_layout = 0;
constexpr int k_tile_rows = 128;
constexpr int v_tile_rows = 128;
constexpr int k_slot_rows = 128;
constexpr int v_slot_rows = 128;
constexpr int k_tile_cols = 128;
constexpr int v_tile_cols = 128;
constexpr int q_rows = 0;
constexpr int q_bytes = 0;
constexpr int page_rows = 16;
constexpr int num_pages = 8;
constexpr int paged_form = 0;
constexpr int form_512 = 0;
constexpr int like = 0;
constexpr int own_ring = 98304;
constexpr int slots = 3;
static_assert((slots >= 1 && slots <= 32), "slots: allowed 1..32");
constexpr int copies_boxes = 0;
constexpr int copies_cells = 1;
constexpr int copies = copies_boxes;
static_assert(copies == 0 || copies == 1, "copies: allowed boxes|cells");
constexpr int lanes = 32;
static_assert(lanes == 1 || lanes == 32, "lanes: allowed 1|32");
constexpr int tail_zeros = 0;
constexpr int tail_count = 1;
constexpr int tail = tail_zeros;
static_assert(tail == 0 || tail == 1, "tail: allowed zeros|count");
constexpr int policy_normal = 0;
constexpr int policy_first = 1;
constexpr int policy_last = 2;
constexpr int policy = policy_normal;
static_assert(policy == 0 || policy == 1 || policy == 2, "policy: allowed normal|first|last");
constexpr bool hold = true;
static_assert((hold >= 0 && hold <= 1), "hold: allowed 0|1");
constexpr int row_warps = 4;
constexpr int out_cols = 0;
constexpr int col_most = 1;
constexpr int consumers = 4;
static_assert((consumers >= 1 && consumers <= 16), "consumers: allowed 1..16");
constexpr int producers = 1;
static_assert(producers == 1 || producers == 4 || producers == 8, "producers: allowed 1|4|8");
constexpr int row_groups = 1;
constexpr int col_groups = 1;
constexpr int weight_bytes = 0;
constexpr int q1_at = 0;
constexpr int ring_at = 0;
constexpr int weights_at = 98304;
constexpr int full_at = 98304;
constexpr int empty_at = 98328;
constexpr int after_at = 98352;
}
}
#define GROAT_BLOCK_THREADS 160
#define GROAT_SHARED_BYTES 98368
#define GROAT_ARGS_BYTES 512
#define GROAT_ENTRY kv_producer_pipeline_image_bf16_128x128_p16_s3
