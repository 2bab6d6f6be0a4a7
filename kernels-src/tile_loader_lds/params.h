// SPDX-License-Identifier: Apache-2.0
// The defaults of params.def, which has their units and meanings, for editors:
// made by defaults.sh.  A build of a kernel never reads this file; it gets the
// constants of its spec.
#pragma once

namespace groat {
namespace arch {
constexpr int wave_lanes = 64;
constexpr int shared_bytes = 163840;
constexpr int shared_banks = 64;
constexpr int lds_dma_bytes = 16;
constexpr int cp_async = 0;
constexpr int tma = 0;
constexpr int max_cluster = 1;
constexpr int tr_read = 1;
constexpr int is_amd = 1;
constexpr int mfma_16bit_bytes = 16;
constexpr int mfma_8bit_bytes = 32;
constexpr int fp8_fnuz = 0;
constexpr int wgmma = 0;
constexpr int cta_group = 0;
}
namespace params {
constexpr int entry_image = 0;
constexpr int entry_stream = 1;
constexpr int entry = entry_image;
static_assert(entry == 0 || entry == 1, "entry: allowed image|stream");
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype_fp8 = 2;
constexpr int dtype_f32 = 3;
constexpr int dtype = dtype_bf16;
static_assert(dtype == 0 || dtype == 1 || dtype == 2 || dtype == 3, "dtype: allowed bf16|f16|fp8|f32");
constexpr int elem_bytes = 2;
constexpr int tile_rows = 64;
static_assert((tile_rows >= 8 && tile_rows <= 512 && (tile_rows - 8) % 8 == 0), "tile_rows: allowed 8..512/8");
constexpr int tile_cols = 64;
static_assert(tile_cols == 16 || tile_cols == 32 || tile_cols == 64 || tile_cols == 128 || tile_cols == 256 || tile_cols == 512 || tile_cols == 1024, "tile_cols: allowed 16|32|64|128|256|512|1024");
constexpr bool full_width = false;
static_assert((full_width >= 0 && full_width <= 1), "full_width: allowed 0|1");
constexpr int src_cols = 1024;
static_assert((src_cols >= 16 && src_cols <= 65536 && (src_cols - 16) % 16 == 0), "src_cols: allowed 16..65536/16");
constexpr int ld = 1024;
static_assert((ld >= 16 && ld <= 65536 && (ld - 16) % 16 == 0), "ld: allowed 16..65536/16");
constexpr int num_loading_warps = 4;
static_assert(num_loading_warps == 1 || num_loading_warps == 2 || num_loading_warps == 4 || num_loading_warps == 8 || num_loading_warps == 16, "num_loading_warps: allowed 1|2|4|8|16");
constexpr int num_warps = 4;
static_assert(num_warps == 1 || num_warps == 2 || num_warps == 4 || num_warps == 8 || num_warps == 16, "num_warps: allowed 1|2|4|8|16");
constexpr int load_width = 8;
static_assert(load_width == 1 || load_width == 2 || load_width == 4 || load_width == 8 || load_width == 16, "load_width: allowed 1|2|4|8|16");
constexpr int swizzle_bits = 0;
static_assert((swizzle_bits >= 0 && swizzle_bits <= 6), "swizzle_bits: allowed 0..6");
constexpr int swizzle_base = 0;
static_assert((swizzle_base >= 0 && swizzle_base <= 12), "swizzle_base: allowed 0..12");
constexpr int swizzle_shift = 0;
static_assert((swizzle_shift >= -8 && swizzle_shift <= 8), "swizzle_shift: allowed -8..8");
constexpr int stages = 1;
static_assert((stages >= 1 && stages <= 8), "stages: allowed 1..8");
constexpr int lane_bytes = 16;
constexpr int chunk_bytes = 1024;
constexpr int subtile_cols = 32;
constexpr int threads_per_row = 4;
constexpr int thread_rows = 16;
constexpr int warp_cols = 2;
constexpr int row_bytes = 128;
constexpr int tile_bytes = 8192;
constexpr int chunks = 8;
constexpr int iterations = 2;
constexpr int copies_per_chunk = 1;
constexpr int swizzle_period_log2 = 0;
}
}
#define GROAT_BLOCK_THREADS 256
#define GROAT_SHARED_BYTES 8192
#define GROAT_ARGS_BYTES 48
#define GROAT_ENTRY tile_loader_lds_image_bf16_64x64_ld1024
