// SPDX-License-Identifier: Apache-2.0
// The defaults of params.def, for editors: made by defaults.sh.  A build of
// a kernel never reads this file; it gets the constants of its spec.
#pragma once

// Constants of family kv_cache_append, made by groat from its params.def.
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
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype = dtype_bf16; // -: of new keys and values
static_assert(dtype == 0 || dtype == 1, "dtype: allowed bf16|f16");
constexpr int kv_dtype_same = 0;
constexpr int kv_dtype_e4m3 = 1;
constexpr int kv_dtype_e4m3fnuz = 2;
constexpr int kv_dtype = kv_dtype_same; // -: of the cache: as dtype, or of 8 bits with scales
static_assert(kv_dtype == 0 || kv_dtype == 1 || kv_dtype == 2, "kv_dtype: allowed same|e4m3|e4m3fnuz");
constexpr int kv_scale_tensor = 0;
constexpr int kv_scale_head = 1;
constexpr int kv_scale_token = 2;
constexpr int kv_scale = kv_scale_tensor; // -: what a scale of 8 bits is of: all keys (or values) and those of a KV head are given; that of each token's head is chosen and written
static_assert(kv_scale == 0 || kv_scale == 1 || kv_scale == 2, "kv_scale: allowed tensor|head|token");
constexpr int head_dim = 128; // elements: of a head, of keys
static_assert((head_dim >= 64 && head_dim <= 512 && (head_dim - 64) % 16 == 0), "head_dim: allowed 64..512/16");
constexpr int value_dim = 128; // elements: of a head, of values
static_assert((value_dim >= 64 && value_dim <= 512 && (value_dim - 64) % 16 == 0), "value_dim: allowed 64..512/16");
constexpr int page_size = 16; // keys: of a page; 0: a sequence is one block, in the order of sequences
static_assert((page_size >= 0 && page_size <= 1024), "page_size: allowed 0..1024");
constexpr int rope_none = 0;
constexpr int rope_halves = 1;
constexpr int rope_pairs = 2;
constexpr int rope = rope_none; // -: keys are rotated: element i with i + rotated / 2, or element 2i with 2i + 1
static_assert(rope == 0 || rope == 1 || rope == 2, "rope: allowed none|halves|pairs");
constexpr int rotary = 0; // elements: of a key that are rotated, the first ones; 0: all
static_assert((rotary >= 0 && rotary <= 512 && (rotary - 0) % 16 == 0), "rotary: allowed 0..512/16");
constexpr int warps = 4; // warps: of a block
static_assert(warps == 1 || warps == 2 || warps == 4 || warps == 8, "warps: allowed 1|2|4|8");
constexpr int rotated = 0; // elements: of a key that are rotated
constexpr int lane_elements = 8; // elements: of a key that a lane puts away, and of a value
constexpr int chunks = 16; // chunks: of a key, one for a lane
constexpr int value_chunks = 16; // chunks: of a value, likewise
constexpr int head_lanes = 16; // lanes: that share a head: the next power of two
constexpr int threads = 256; // lanes: of a block
constexpr int block_heads = 16; // heads: that a block puts away
} // namespace params
} // namespace groat
#define GROAT_BLOCK_THREADS 256
#define GROAT_SHARED_BYTES 0
#define GROAT_ARGS_BYTES 208
#define GROAT_ENTRY kv_cache_append_bf16_same_d128_p16_none
