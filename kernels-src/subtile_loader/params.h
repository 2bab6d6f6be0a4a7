// SPDX-License-Identifier: Apache-2.0
// The defaults of params.def, for editors: made by defaults.sh.  A build of
// a kernel never reads this file; it gets the constants of its spec.
#pragma once

// Constants of family subtile_loader, made by groat from its params.def.
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
constexpr int entry_stream = 2;
constexpr int entry_scores = 3;
constexpr int entry = entry_image; // -: image: one tile per block, its shared memory written out; fragments: the same tile as its lanes read it for the matrix instruction; stream: tiles through a ring, XOR-reduced, for bandwidth; scores: S = K Q^T over all tiles, AMD
static_assert(entry == 0 || entry == 1 || entry == 2 || entry == 3, "entry: allowed image|fragments|stream|scores");
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype_fp8 = 2;
constexpr int dtype = dtype_bf16; // -: element type; only the scores entry computes with it, the others move bytes
static_assert(dtype == 0 || dtype == 1 || dtype == 2, "dtype: allowed bf16|f16|fp8");
constexpr int elem_bytes = 2; // bytes: size of one element
constexpr int BN = 64; // rows: keys of a tile
static_assert((BN >= 32 && BN <= 512 && (BN - 32) % 32 == 0), "BN: allowed 32..512/32");
constexpr int depth = 128; // elements: elements of a key that are loaded: the head size
static_assert(depth == 64 || depth == 128 || depth == 256, "depth: allowed 64|128|256");
constexpr int src_cols = 1024; // elements: columns of the matrix: heads * depth of a KV slab
static_assert((src_cols >= 64 && src_cols <= 65536 && (src_cols - 64) % 8 == 0), "src_cols: allowed 64..65536/8");
constexpr int ld = 1024; // elements: row stride of the matrix
static_assert((ld >= 64 && ld <= 65536 && (ld - 64) % 8 == 0), "ld: allowed 64..65536/8");
constexpr int num_warps = 8; // waves: waves of 64 lanes in a block; all of them load
static_assert((num_warps >= 1 && num_warps <= 16), "num_warps: allowed 1..16");
constexpr int swizzle_chained = 0;
constexpr int swizzle_hipkittens = 1;
constexpr int swizzle = swizzle_chained; // -: image: the two XORs on a vector's index in its subtile; chained (1,0,4) then (1,1,4), hipkittens (1,1,4) then (1,0,6)
static_assert(swizzle == 0 || swizzle == 1, "swizzle: allowed chained|hipkittens");
constexpr int reader_chained = 0;
constexpr int reader_hipkittens = 1;
constexpr int reader = reader_chained; // -: XORs that fragments are read with; any but the image's scrambles them
static_assert(reader == 0 || reader == 1, "reader: allowed chained|hipkittens");
constexpr int mma_m = 32; // rows: keys and queries of one matrix instruction: the map from lanes to fragments
static_assert(mma_m == 16 || mma_m == 32, "mma_m: allowed 16|32");
constexpr int mma_widest = 16; // bytes: widest operand of the arch's matrix instructions, per lane; 0: none
constexpr int mma_k_widest = 16; // elements: depth of the widest matrix instruction
constexpr int mma_k = 16; // elements: depth of one matrix instruction (scores entry)
static_assert(mma_k == 8 || mma_k == 16 || mma_k == 32 || mma_k == 64 || mma_k == 128, "mma_k: allowed 8|16|32|64|128");
constexpr int stages = 1; // slots: tiles in flight per block (stream entry)
static_assert((stages >= 1 && stages <= 8), "stages: allowed 1..8");
constexpr int row_bytes = 256; // bytes: one key of a tile
constexpr int tile_bytes = 16384; // bytes: one tile in shared memory
constexpr int subtile_cols = 32; // elements: columns of a subtile: 64 bytes
constexpr int subtiles_per_row = 4; // subtiles: subtiles side by side
constexpr int chunks = 16; // bursts: bursts of a tile; a subtile is two
constexpr int iterations = 2; // bursts: bursts per wave
constexpr int copies_per_chunk = 1; // copies: copy instructions per burst on this arch
constexpr int fragment_bytes = 16; // bytes: what a lane holds of a fragment
constexpr int fragment_cols = 16; // elements: columns of a fragment
constexpr int k_steps = 8; // fragments: fragments side by side
constexpr int tile_fragments = 16; // fragments: fragments of a tile
constexpr int operand_bytes = 16; // bytes: operand of one matrix instruction, per lane
} // namespace params
} // namespace groat
#define GROAT_BLOCK_THREADS 512
#define GROAT_SHARED_BYTES 16384
#define GROAT_ARGS_BYTES 64
#define GROAT_ENTRY subtile_loader_image_bf16_64x128_chained_ld1024
