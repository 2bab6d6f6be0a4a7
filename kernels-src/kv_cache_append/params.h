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
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype = dtype_bf16;
static_assert(dtype == 0 || dtype == 1, "dtype: allowed bf16|f16");
constexpr int kv_dtype_same = 0;
constexpr int kv_dtype_e4m3 = 1;
constexpr int kv_dtype_e4m3fnuz = 2;
constexpr int kv_dtype = kv_dtype_same;
static_assert(kv_dtype == 0 || kv_dtype == 1 || kv_dtype == 2, "kv_dtype: allowed same|e4m3|e4m3fnuz");
constexpr int kv_scale_tensor = 0;
constexpr int kv_scale_head = 1;
constexpr int kv_scale_token = 2;
constexpr int kv_scale = kv_scale_tensor;
static_assert(kv_scale == 0 || kv_scale == 1 || kv_scale == 2, "kv_scale: allowed tensor|head|token");
constexpr int head_dim = 128;
static_assert((head_dim >= 64 && head_dim <= 512 && (head_dim - 64) % 16 == 0), "head_dim: allowed 64..512/16");
constexpr int value_dim = 128;
static_assert((value_dim >= 64 && value_dim <= 512 && (value_dim - 64) % 16 == 0), "value_dim: allowed 64..512/16");
constexpr int page_size = 16;
static_assert((page_size >= 0 && page_size <= 1024), "page_size: allowed 0..1024");
constexpr int rope_none = 0;
constexpr int rope_halves = 1;
constexpr int rope_pairs = 2;
constexpr int rope = rope_none;
static_assert(rope == 0 || rope == 1 || rope == 2, "rope: allowed none|halves|pairs");
constexpr int rotary = 0;
static_assert((rotary >= 0 && rotary <= 512 && (rotary - 0) % 16 == 0), "rotary: allowed 0..512/16");
constexpr int warps = 4;
static_assert(warps == 1 || warps == 2 || warps == 4 || warps == 8, "warps: allowed 1|2|4|8");
constexpr int rotated = 0;
constexpr int lane_elements = 8;
constexpr int chunks = 16;
constexpr int value_chunks = 16;
constexpr int head_lanes = 16;
constexpr int threads = 256;
constexpr int block_heads = 16;
}
}
#define GROAT_BLOCK_THREADS 256
#define GROAT_SHARED_BYTES 0
#define GROAT_ARGS_BYTES 208
#define GROAT_ENTRY kv_cache_append_bf16_same_d128_p16_none
