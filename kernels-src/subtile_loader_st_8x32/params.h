// SPDX-License-Identifier: Apache-2.0
// The defaults of params.def, for editors: made by defaults.sh.  A build of
// a kernel never reads this file; it gets the constants of its spec.
#pragma once

// Constants of family subtile_loader_st_8x32, made by groat from its params.def.
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
constexpr int entry_output = 3;
constexpr int entry = entry_image; // -: image: one slot per block, written out; fragments: the lanes' registers after the transposing reads; stream: tiles through a ring, XOR-reduced, for bandwidth; output: O = P V by matrix instructions
static_assert(entry == 0 || entry == 1 || entry == 2 || entry == 3, "entry: allowed image|fragments|stream|output");
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype_fp8 = 2;
constexpr int dtype = dtype_bf16; // -: element type; loader and readers move bits, only the output entry multiplies
static_assert(dtype == 0 || dtype == 1 || dtype == 2, "dtype: allowed bf16|f16|fp8");
constexpr int elem_bytes = 2; // bytes: size of one element
constexpr int subtile_cols = 32; // elements: columns of a subtile (BK)
constexpr int tile_keys = 64; // keys: keys, that is rows, of a tile (BN)
static_assert((tile_keys >= 8 && tile_keys <= 3632 && (tile_keys - 8) % 8 == 0), "tile_keys: allowed 8..3632/8");
constexpr int depth = 128; // elements: columns of a tile, the head size
static_assert(depth == 64 || depth == 128 || depth == 256, "depth: allowed 64|128|256");
constexpr int src_cols = 1024; // elements: columns of the matrix: heads * depth of a KV slab
static_assert((src_cols >= 64 && src_cols <= 65536 && (src_cols - 64) % 8 == 0), "src_cols: allowed 64..65536/8");
constexpr int ld = 1024; // elements: row stride of the matrix
static_assert((ld >= 64 && ld <= 65536 && (ld - 64) % 8 == 0), "ld: allowed 64..65536/8");
constexpr int num_warps = 8; // waves: waves of 64 lanes in a block; all of them load
static_assert((num_warps >= 1 && num_warps <= 16), "num_warps: allowed 1..16");
constexpr int placement_default = 0;
constexpr int placement_v227 = 1;
constexpr int placement = placement_default; // -: default: subtiles one behind the other; v227: cells of 1040 bytes, for fp8 reads without bank conflicts
static_assert(placement == 0 || placement == 1, "placement: allowed default|v227");
constexpr int reader_default = 0;
constexpr int reader_v227 = 1;
constexpr int reader = reader_default; // -: placement that the readers of fragments assume; another one than the loader's scrambles V
static_assert(reader == 0 || reader == 1, "reader: allowed default|v227");
constexpr int tile_bytes = 16384; // bytes: one tile without holes
constexpr int uses_v227 = 0; // -: 1: the slot must hold the holes of v227
constexpr int slot_bytes = 16384; // bytes: shared memory of one tile
static_assert((slot_bytes >= 1024 && slot_bytes <= 232448 && (slot_bytes - 1024) % 16 == 0), "slot_bytes: allowed 1024..232448/16");
constexpr int stages = 1; // slots: tiles in flight per block (stream entry)
static_assert((stages >= 1 && stages <= 8), "stages: allowed 1..8");
constexpr int subtiles_per_row = 4; // subtiles: subtiles side by side
constexpr int chunks = 16; // bursts: bursts of a tile
constexpr int iterations = 2; // bursts: bursts per wave and tile
constexpr int copies_per_chunk = 1; // copies: copy instructions per burst on this arch
constexpr int strip_keys = 16; // keys: keys of a fragment
constexpr int strips = 4; // strips: fragments below each other
constexpr int depth_tiles = 4; // tiles: fragments side by side
constexpr int fragment_bytes = 16; // bytes: a lane's part of a fragment
} // namespace params
} // namespace groat
#define GROAT_BLOCK_THREADS 512
#define GROAT_SHARED_BYTES 16384
#define GROAT_ARGS_BYTES 56
#define GROAT_ENTRY subtile_loader_st_8x32_image_bf16_64x128_ld1024_default
