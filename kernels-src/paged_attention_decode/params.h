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
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype = dtype_bf16;
static_assert(dtype == 0 || dtype == 1, "dtype: allowed bf16|f16");
constexpr int kv_dtype_same = 0;
constexpr int kv_dtype_e4m3 = 1;
constexpr int kv_dtype = kv_dtype_same;
static_assert(kv_dtype == 0 || kv_dtype == 1, "kv_dtype: allowed same|e4m3");
constexpr int kv_scale_tensor = 0;
constexpr int kv_scale_head = 1;
constexpr int kv_scale_token = 2;
constexpr int kv_scale = kv_scale_tensor;
static_assert(kv_scale == 0 || kv_scale == 1 || kv_scale == 2, "kv_scale: allowed tensor|head|token");
constexpr int head_dim = 128;
static_assert((head_dim >= 64 && head_dim <= 512 && (head_dim - 64) % 16 == 0), "head_dim: allowed 64..512/16");
constexpr int value_dim = 128;
static_assert((value_dim >= 64 && value_dim <= 512 && (value_dim - 64) % 16 == 0), "value_dim: allowed 64..512/16");
constexpr int group = 8;
static_assert((group >= 1 && group <= 64), "group: allowed 1..64");
constexpr int q_len = 1;
static_assert((q_len >= 1 && q_len <= 16), "q_len: allowed 1..16");
constexpr int page_size = 16;
static_assert((page_size >= 0 && page_size <= 1024), "page_size: allowed 0..1024");
constexpr bool head_page = false;
static_assert((head_page >= 0 && head_page <= 1), "head_page: allowed 0|1");
constexpr int mask_causal = 0;
constexpr int mask_window = 1;
constexpr int mask_chunk = 2;
constexpr int mask = mask_causal;
static_assert(mask == 0 || mask == 1 || mask == 2, "mask: allowed causal|window|chunk");
constexpr bool tree = false;
static_assert((tree >= 0 && tree <= 1), "tree: allowed 0|1");
constexpr bool alibi = false;
static_assert((alibi >= 0 && alibi <= 1), "alibi: allowed 0|1");
constexpr bool soft_cap = false;
static_assert((soft_cap >= 0 && soft_cap <= 1), "soft_cap: allowed 0|1");
#define GROAT_CODE_score(in) in.score
constexpr bool sink = false;
static_assert((sink >= 0 && sink <= 1), "sink: allowed 0|1");
constexpr bool lse = false;
static_assert((lse >= 0 && lse <= 1), "lse: allowed 0|1");
constexpr int warps = 4;
static_assert(warps == 1 || warps == 2 || warps == 4 || warps == 8, "warps: allowed 1|2|4|8");
constexpr int stages = 2;
static_assert((stages >= 2 && stages <= 8), "stages: allowed 2..8");
constexpr int cluster = 1;
static_assert((cluster >= 1 && cluster <= 16), "cluster: allowed 1..16");
constexpr bool overlap = false;
static_assert((overlap >= 0 && overlap <= 1), "overlap: allowed 0|1");
constexpr int split = 0;
static_assert((split >= 0 && split <= 4096), "split: allowed 0..4096");
constexpr int rows = 8;
constexpr int slices = 1;
constexpr int slice_dim = 128;
constexpr int warp_rows = 16;
constexpr int bands = 1;
constexpr int strip_bands = 1;
constexpr int team = 1;
constexpr int rings = 4;
constexpr int strip_rows = 16;
constexpr int tile_rows = 8;
constexpr int strips = 1;
constexpr int q_bytes = 256;
constexpr int out_bytes = 256;
constexpr int row_bytes = 256;
constexpr int value_bytes = 256;
constexpr int has_scales = 0;
constexpr int has_score = 0;
constexpr int slot_keys = 16;
constexpr int slot_bytes = 8192;
constexpr int ring_bytes = 65536;
constexpr int kept_rows = 8;
constexpr int sums_row_bytes = 528;
constexpr int sums_bytes = 4288;
constexpr int part_bytes = 4288;
constexpr int used_bytes = 82704;
constexpr int tile_keys = 64;
constexpr int unit_keys = 64;
}
}
#define GROAT_BLOCK_THREADS 128
#define GROAT_SHARED_BYTES 82704
#define GROAT_ARGS_BYTES 296
#define GROAT_ENTRY paged_attention_decode_bf16_d128_g8_q1_p16
