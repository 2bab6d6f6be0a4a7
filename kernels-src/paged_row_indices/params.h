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
constexpr int entry_issues = 1;
constexpr int entry_stream = 2;
constexpr int entry = entry_image;
static_assert(entry == 0 || entry == 1 || entry == 2, "entry: allowed image|issues|stream");
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype_fp8 = 2;
constexpr int dtype = dtype_bf16;
static_assert(dtype == 0 || dtype == 1 || dtype == 2, "dtype: allowed bf16|f16|fp8");
constexpr int elem_bytes = 2;
constexpr int head_dim = 128;
static_assert((head_dim >= 8 && head_dim <= 576 && (head_dim - 8) % 8 == 0), "head_dim: allowed 8..576/8");
constexpr int row_bytes = 256;
constexpr int BN = 128;
static_assert((BN >= 8 && BN <= 256 && (BN - 8) % 8 == 0), "BN: allowed 8..256/8");
constexpr int page_size = 16;
static_assert((page_size >= 0 && page_size <= 1024), "page_size: allowed 0..1024");
constexpr int from_paged = 0;
constexpr int from_contiguous = 1;
constexpr int from_ragged = 2;
constexpr int from_continuous = 3;
constexpr int from = from_paged;
static_assert(from == 0 || from == 1 || from == 2 || from == 3, "from: allowed paged|contiguous|ragged|continuous");
constexpr int swizzle = 128;
static_assert(swizzle == 16 || swizzle == 32 || swizzle == 64 || swizzle == 128, "swizzle: allowed 16|32|64|128");
constexpr int alignment = 128;
static_assert((alignment >= 1 && alignment <= 256), "alignment: allowed 1..256");
constexpr int pair_alone = 0;
constexpr int pair_local = 1;
constexpr int pair_multicast = 2;
constexpr int pair_sm100 = 3;
constexpr int pair = pair_alone;
static_assert(pair == 0 || pair == 1 || pair == 2 || pair == 3, "pair: allowed alone|local|multicast|sm100");
constexpr int issue_one = 0;
constexpr int issue_lanes = 1;
constexpr int issue_threads = 2;
constexpr int issue = issue_lanes;
static_assert(issue == 0 || issue == 1 || issue == 2, "issue: allowed one|lanes|threads");
constexpr int chunk = 64;
constexpr int padded_dim = 128;
constexpr int eff_page = 16;
constexpr int num_pages = 8;
constexpr int k_tile_cols = 128;
static_assert((k_tile_cols >= 8 && k_tile_cols <= 640 && (k_tile_cols - 8) % 8 == 0), "k_tile_cols: allowed 8..640/8");
constexpr int v_tile_cols = 128;
static_assert((v_tile_cols >= 8 && v_tile_cols <= 640 && (v_tile_cols - 8) % 8 == 0), "v_tile_cols: allowed 8..640/8");
constexpr int k_layout_outer = 0;
constexpr int k_layout_inner = 1;
constexpr int k_layout = k_layout_outer;
static_assert(k_layout == 0 || k_layout == 1, "k_layout: allowed outer|inner");
constexpr int v_layout_outer = 0;
constexpr int v_layout_inner = 1;
constexpr int v_layout = v_layout_outer;
static_assert(v_layout == 0 || v_layout == 1, "v_layout: allowed outer|inner");
constexpr bool k_fold = false;
static_assert((k_fold >= 0 && k_fold <= 1), "k_fold: allowed 0|1");
constexpr bool v_fold = false;
static_assert((v_fold >= 0 && v_fold <= 1), "v_fold: allowed 0|1");
constexpr int v_sub_tiles = 1;
static_assert(v_sub_tiles == 1 || v_sub_tiles == 2 || v_sub_tiles == 4 || v_sub_tiles == 8, "v_sub_tiles: allowed 1|2|4|8");
constexpr bool partial = false;
static_assert((partial >= 0 && partial <= 1), "partial: allowed 0|1");
constexpr bool k_fill = false;
static_assert((k_fill >= 0 && k_fill <= 1), "k_fill: allowed 0|1");
constexpr bool v_fill = false;
static_assert((v_fill >= 0 && v_fill <= 1), "v_fill: allowed 0|1");
constexpr int k_evict_normal = 0;
constexpr int k_evict_first = 1;
constexpr int k_evict_last = 2;
constexpr int k_evict = k_evict_normal;
static_assert(k_evict == 0 || k_evict == 1 || k_evict == 2, "k_evict: allowed normal|first|last");
constexpr int v_evict_normal = 0;
constexpr int v_evict_first = 1;
constexpr int v_evict_last = 2;
constexpr int v_evict = v_evict_normal;
static_assert(v_evict == 0 || v_evict == 1 || v_evict == 2, "v_evict: allowed normal|first|last");
constexpr int halves = 1;
constexpr int k_tile_rows = 128;
constexpr int k_slot_rows = 128;
static_assert((k_slot_rows >= 8 && k_slot_rows <= 512 && (k_slot_rows - 8) % 8 == 0), "k_slot_rows: allowed 8..512/8");
constexpr int v_tile_rows = 128;
constexpr int v_slot_rows = 128;
constexpr int k_page_rows = 16;
constexpr int v_page_rows = 16;
constexpr int k_box_rows = 16;
constexpr int v_box_rows = 16;
constexpr int k_form = 0;
constexpr int v_form = 0;
constexpr int v_slot_cols = 128;
constexpr int k_slot_bytes = 32768;
constexpr int v_sub_bytes = 32768;
constexpr int v_slot_bytes = 32768;
constexpr int slot_bytes = 32768;
constexpr int stream_bytes = 98304;
constexpr int stages = 1;
static_assert((stages >= 1 && stages <= 32), "stages: allowed 1..32");
constexpr int num_warps = 4;
static_assert((num_warps >= 1 && num_warps <= 16), "num_warps: allowed 1..16");
constexpr int ring_bytes = 65536;
}
}
#define GROAT_BLOCK_THREADS 128
#define GROAT_SHARED_BYTES 65552
#define GROAT_ARGS_BYTES 384
#define GROAT_ENTRY paged_row_indices_image_bf16_bn128_p16_d128_alone
