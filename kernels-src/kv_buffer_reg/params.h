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
constexpr int entry_scores = 2;
constexpr int entry_output = 3;
constexpr int entry_stream = 4;
constexpr int entry = entry_image;
static_assert(entry == 0 || entry == 1 || entry == 2 || entry == 3 || entry == 4, "entry: allowed image|fragments|scores|output|stream");
constexpr int role_K = 0;
constexpr int role_V = 1;
constexpr int role = role_K;
static_assert(role == 0 || role == 1, "role: allowed K|V");
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype_fp8 = 2;
constexpr int dtype = dtype_bf16;
static_assert(dtype == 0 || dtype == 1 || dtype == 2, "dtype: allowed bf16|f16|fp8");
constexpr int BN = 128;
static_assert((BN >= 32 && BN <= 512 && (BN - 32) % 32 == 0), "BN: allowed 32..512/32");
constexpr int BK = 32;
static_assert(BK == 32 || BK == 64 || BK == 128, "BK: allowed 32|64|128");
constexpr int WN = 32;
static_assert((WN >= 16 && WN <= 512 && (WN - 16) % 16 == 0), "WN: allowed 16..512/16");
constexpr int depth = 128;
static_assert((depth >= 32 && depth <= 1024 && (depth - 32) % 32 == 0), "depth: allowed 32..1024/32");
constexpr int src_cols = 128;
static_assert((src_cols >= 32 && src_cols <= 65536 && (src_cols - 32) % 8 == 0), "src_cols: allowed 32..65536/8");
constexpr int ld = 128;
static_assert((ld >= 32 && ld <= 65536 && (ld - 32) % 8 == 0), "ld: allowed 32..65536/8");
constexpr int num_warps = 4;
static_assert((num_warps >= 1 && num_warps <= 16), "num_warps: allowed 1..16");
constexpr int mma_m32x32x16 = 0;
constexpr int mma_m32x32x8 = 1;
constexpr int mma_m16x16x32 = 2;
constexpr int mma_m16x16x16 = 3;
constexpr int mma = mma_m32x32x16;
static_assert(mma == 0 || mma == 1 || mma == 2 || mma == 3, "mma: allowed m32x32x16|m32x32x8|m16x16x32|m16x16x16");
constexpr int swizzle_bits = 0;
static_assert((swizzle_bits >= 0 && swizzle_bits <= 6), "swizzle_bits: allowed 0..6");
constexpr int swizzle_base = 0;
static_assert((swizzle_base >= 0 && swizzle_base <= 6), "swizzle_base: allowed 0..6");
constexpr int swizzle_shift = 0;
static_assert((swizzle_shift >= -7 && swizzle_shift <= 7), "swizzle_shift: allowed -7..7");
constexpr int elem_bytes = 2;
constexpr int mma_n = 32;
constexpr int mma_bytes = 16;
constexpr int mma_k = 16;
constexpr int group = 1;
constexpr int tile_rows = 128;
constexpr int tile_cols = 32;
constexpr int tile_bytes = 8192;
constexpr int steps = 4;
constexpr int warps_n = 4;
constexpr int wave_rows = 1;
constexpr int wave_size = 32;
constexpr int num_mmas = 1;
constexpr int num_k_tiles = 2;
constexpr int squares = 4;
constexpr int held = 2;
constexpr int lane_registers = 60;
}
}
#define GROAT_BLOCK_THREADS 256
#define GROAT_SHARED_BYTES 8192
#define GROAT_ARGS_BYTES 72
#define GROAT_ENTRY kv_buffer_reg_image_K_bf16_128x32_d128
