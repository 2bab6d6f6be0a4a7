// SPDX-License-Identifier: Apache-2.0
// The defaults of params.def, for editors: made by defaults.sh.  A build of
// a kernel never reads this file; it gets the constants of its spec.
#pragma once

// Constants of family kv_buffer_lds, made by groat from its params.def.
namespace groat {
namespace arch { // gfx950
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
} // namespace arch
namespace params {
constexpr int entry_image = 0;
constexpr int entry_fragments = 1;
constexpr int entry_scores = 2;
constexpr int entry_output = 3;
constexpr int entry_stream = 4;
constexpr int entry = entry_image; // -: image: one tile per block, its shared memory written out; fragments: what each lane reads of it; scores: S = K.Q^T; output: O = P.V; stream: all tiles, XOR-reduced, for bandwidth
static_assert(entry == 0 || entry == 1 || entry == 2 || entry == 3 || entry == 4, "entry: allowed image|fragments|scores|output|stream");
constexpr int role_K = 0;
constexpr int role_V = 1;
constexpr int role = role_K; // -: K: tiles of BN x BK that go on along the head; V: tiles of BK x depth that go on along the keys
static_assert(role == 0 || role == 1, "role: allowed K|V");
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype_fp8 = 2;
constexpr int dtype = dtype_bf16; // -: element type
static_assert(dtype == 0 || dtype == 1 || dtype == 2, "dtype: allowed bf16|f16|fp8");
constexpr int BN = 128; // keys: keys of a key block
static_assert((BN >= 32 && BN <= 512 && (BN - 32) % 32 == 0), "BN: allowed 32..512/32");
constexpr int BK = 32; // elements: k step: columns of a K tile, keys of a V tile
static_assert(BK == 32 || BK == 64 || BK == 128, "BK: allowed 32|64|128");
constexpr int WN = 32; // keys: keys of a wave column; BN / WN wave columns share a tile
static_assert((WN >= 16 && WN <= 512 && (WN - 16) % 16 == 0), "WN: allowed 16..512/16");
constexpr int depth = 128; // elements: head size
static_assert((depth >= 32 && depth <= 1024 && (depth - 32) % 32 == 0), "depth: allowed 32..1024/32");
constexpr int src_cols = 128; // elements: columns of the slab: heads * depth
static_assert((src_cols >= 32 && src_cols <= 65536 && (src_cols - 32) % 8 == 0), "src_cols: allowed 32..65536/8");
constexpr int ld = 128; // elements: row stride of the slab; rows start on 16-byte boundaries
static_assert((ld >= 32 && ld <= 65536 && (ld - 32) % 8 == 0), "ld: allowed 32..65536/8");
constexpr int num_warps = 4; // waves: waves of 64 lanes in a block; all load
static_assert((num_warps >= 1 && num_warps <= 16), "num_warps: allowed 1..16");
constexpr int mma_m32x32x16 = 0;
constexpr int mma_m32x32x8 = 1;
constexpr int mma_m16x16x32 = 2;
constexpr int mma_m16x16x16 = 3;
constexpr int mma = mma_m32x32x16; // -: shape of the multiply-accumulate: rows, columns, depth
static_assert(mma == 0 || mma == 1 || mma == 2 || mma == 3, "mma: allowed m32x32x16|m32x32x8|m16x16x32|m16x16x16");
constexpr int swizzle_bits = 0; // bits: width of the XORed field; 0: no swizzle
static_assert((swizzle_bits >= 0 && swizzle_bits <= 6), "swizzle_bits: allowed 0..6");
constexpr int swizzle_base = 0; // bits: lowest bit of the index of a 16-byte vector in its 32 x 32 square that the swizzle changes or reads
static_assert((swizzle_base >= 0 && swizzle_base <= 6), "swizzle_base: allowed 0..6");
constexpr int swizzle_shift = 0; // bits: distance between the two fields; negative: from low to high
static_assert((swizzle_shift >= -7 && swizzle_shift <= 7), "swizzle_shift: allowed -7..7");
constexpr int elem_bytes = 2; // bytes: size of one element
constexpr int mma_n = 32; // elements: rows and columns of the multiply-accumulate
constexpr int mma_bytes = 16; // bytes: of an operand per lane and instruction
constexpr int mma_k = 16; // elements: depth of the multiply-accumulate
constexpr int group = 1; // instructions: that one 16-byte read per lane supplies
constexpr int tile_rows = 128; // rows: rows of a tile
constexpr int tile_cols = 32; // elements: columns of a tile
constexpr int tile_bytes = 8192; // bytes: one tile in shared memory
constexpr int steps = 4; // tiles: tiles of a key block
constexpr int warps_n = 4; // waves: wave columns
constexpr int wave_rows = 1; // waves: waves of one column: each has queries of its own
constexpr int wave_size = 32; // elements: keys (K) or columns (V) of a tile that are a wave's
constexpr int num_mmas = 1; // fragments: of a wave, side by side
constexpr int num_k_tiles = 2; // fragments: of a wave, along k: strips
constexpr int squares = 4; // squares: of 32 x 32 elements in a tile
constexpr int copies_per_chunk = 1; // copies: copy instructions per 1 KiB burst on this arch
constexpr int vm_instrs_per_load = 2; // copies: copy instructions per wave and tile
constexpr int lane_registers = 28; // registers: of a lane for results, a fragment beside each, and the other operand (scores, output)
} // namespace params
} // namespace groat
#define GROAT_BLOCK_THREADS 256
#define GROAT_SHARED_BYTES 8192
#define GROAT_ARGS_BYTES 72
#define GROAT_ENTRY kv_buffer_lds_image_K_bf16_128x32_d128
