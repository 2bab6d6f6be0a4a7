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
constexpr int entry_fragments = 1;
constexpr int entry_stream = 2;
constexpr int entry_output = 3;
constexpr int entry = entry_image;
static_assert(entry == 0 || entry == 1 || entry == 2 || entry == 3, "entry: allowed image|fragments|stream|output");
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype_fp8 = 2;
constexpr int dtype = dtype_bf16;
static_assert(dtype == 0 || dtype == 1 || dtype == 2, "dtype: allowed bf16|f16|fp8");
constexpr int elem_bytes = 2;
constexpr int subtile_cols = 32;
constexpr int tile_keys = 64;
static_assert((tile_keys >= 8 && tile_keys <= 3632 && (tile_keys - 8) % 8 == 0), "tile_keys: allowed 8..3632/8");
constexpr int depth = 128;
static_assert(depth == 64 || depth == 128 || depth == 256, "depth: allowed 64|128|256");
constexpr int src_cols = 1024;
static_assert((src_cols >= 64 && src_cols <= 65536 && (src_cols - 64) % 8 == 0), "src_cols: allowed 64..65536/8");
constexpr int ld = 1024;
static_assert((ld >= 64 && ld <= 65536 && (ld - 64) % 8 == 0), "ld: allowed 64..65536/8");
constexpr int num_warps = 8;
static_assert((num_warps >= 1 && num_warps <= 16), "num_warps: allowed 1..16");
constexpr int placement_default = 0;
constexpr int placement_v227 = 1;
constexpr int placement = placement_default;
static_assert(placement == 0 || placement == 1, "placement: allowed default|v227");
constexpr int reader_default = 0;
constexpr int reader_v227 = 1;
constexpr int reader = reader_default;
static_assert(reader == 0 || reader == 1, "reader: allowed default|v227");
constexpr int tile_bytes = 16384;
constexpr int uses_v227 = 0;
constexpr int slot_bytes = 16384;
static_assert((slot_bytes >= 1024 && slot_bytes <= 232448 && (slot_bytes - 1024) % 16 == 0), "slot_bytes: allowed 1024..232448/16");
constexpr int stages = 1;
static_assert((stages >= 1 && stages <= 8), "stages: allowed 1..8");
constexpr int subtiles_per_row = 4;
constexpr int chunks = 16;
constexpr int iterations = 2;
constexpr int copies_per_chunk = 1;
constexpr int strip_keys = 16;
constexpr int strips = 4;
constexpr int depth_tiles = 4;
constexpr int fragment_bytes = 16;
}
}
#define GROAT_BLOCK_THREADS 512
#define GROAT_SHARED_BYTES 16384
#define GROAT_ARGS_BYTES 56
#define GROAT_ENTRY subtile_loader_st_8x32_image_bf16_64x128_ld1024_default
