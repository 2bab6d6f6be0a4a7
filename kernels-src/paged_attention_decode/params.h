// SPDX-License-Identifier: Apache-2.0
// The defaults of params.def, for editors: made by defaults.sh.  A build of
// a kernel never reads this file; it gets the constants of its spec.
#pragma once

// Constants of family paged_attention_decode, made by groat from its params.def.
namespace groat {
namespace arch { // sm_90a
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
} // namespace arch
namespace params {
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype = dtype_bf16; // -: of queries and output
static_assert(dtype == 0 || dtype == 1, "dtype: allowed bf16|f16");
constexpr int kv_dtype_same = 0;
constexpr int kv_dtype_e4m3 = 1;
constexpr int kv_dtype = kv_dtype_same; // -: of keys and values: as dtype, or e4m3 with scales
static_assert(kv_dtype == 0 || kv_dtype == 1, "kv_dtype: allowed same|e4m3");
constexpr int kv_scale_tensor = 0;
constexpr int kv_scale_head = 1;
constexpr int kv_scale_token = 2;
constexpr int kv_scale = kv_scale_tensor; // -: what an e4m3 scale is of: all keys (or values), those of a KV head, each of a head
static_assert(kv_scale == 0 || kv_scale == 1 || kv_scale == 2, "kv_scale: allowed tensor|head|token");
constexpr int head_dim = 128; // elements: of a head, of queries and keys
static_assert((head_dim >= 64 && head_dim <= 512 && (head_dim - 64) % 16 == 0), "head_dim: allowed 64..512/16");
constexpr int value_dim = 128; // elements: of a head, of values and output
static_assert((value_dim >= 64 && value_dim <= 512 && (value_dim - 64) % 16 == 0), "value_dim: allowed 64..512/16");
constexpr int group = 8; // heads: query heads of a KV head
static_assert((group >= 1 && group <= 64), "group: allowed 1..64");
constexpr int q_len = 1; // queries: of a sequence; the last one is at its last key, each sees the keys up to its own
static_assert((q_len >= 1 && q_len <= 16), "q_len: allowed 1..16");
constexpr int page_size = 16; // keys: of a page; 0: a sequence is one block, in the order of sequences
static_assert((page_size >= 0 && page_size <= 1024), "page_size: allowed 0..1024");
constexpr bool head_page = false; // -: blocks are [heads, page, dim], else [page, heads, dim]
static_assert((head_page >= 0 && head_page <= 1), "head_page: allowed 0|1");
constexpr int mask_causal = 0;
constexpr int mask_window = 1;
constexpr int mask_chunk = 2;
constexpr int mask = mask_causal; // -: a query sees all keys up to its own; the last of them, as many as the launch says; those of its own chunk of as many keys
static_assert(mask == 0 || mask == 1 || mask == 2, "mask: allowed causal|window|chunk");
constexpr bool tree = false; // -: which of the last q_len keys a query sees is told by bits, else by their order
static_assert((tree >= 0 && tree <= 1), "tree: allowed 0|1");
constexpr bool alibi = false; // -: a query head's slope times the distance from the query is added to scores
static_assert((alibi >= 0 && alibi <= 1), "alibi: allowed 0|1");
constexpr bool soft_cap = false; // -: scores pass through cap * tanh(score / cap)
static_assert((soft_cap >= 0 && soft_cap <= 1), "soft_cap: allowed 0|1");
// what becomes of a score, in quotes: of its query's and key's places, query head and sequence, and of floats and arrays that the launch names
#define GROAT_CODE_score(in) in.score
constexpr bool sink = false; // -: each query head has one more score, whose value is 0
static_assert((sink >= 0 && sink <= 1), "sink: allowed 0|1");
constexpr bool lse = false; // -: the logarithms of the sums are written, too
static_assert((lse >= 0 && lse <= 1), "lse: allowed 0|1");
constexpr int warps = 4; // warps: of a block; 2 and 4 share keys where there are more rows than a warp has
static_assert(warps == 1 || warps == 2 || warps == 4 || warps == 8, "warps: allowed 1|2|4|8");
constexpr int stages = 2; // slots: of keys and values that a warp, or those that share keys, have on their way or read
static_assert((stages >= 2 && stages <= 8), "stages: allowed 2..8");
constexpr int cluster = 1; // blocks: that share out a strip's keys and add up their sums in their own shared memory; 1: all blocks share out all keys, and sums go through the workspace
static_assert((cluster >= 1 && cluster <= 16), "cluster: allowed 1..16");
constexpr bool overlap = false; // -: a launch starts while the one ahead of it on its stream ends, which writes neither lengths nor page table, and of each sequence no keys but the last q_len
static_assert((overlap >= 0 && overlap <= 1), "overlap: allowed 0|1");
constexpr int split = 0; // tiles: of a part of a sequence that is summed up alone, whatever else is in the batch; 0: parts are what blocks share out
static_assert((split >= 0 && split <= 4096), "split: allowed 0..4096");
constexpr int rows = 8; // rows: of queries that share a KV head
constexpr int slices = 1; // -: of the columns of values; a warp has one
constexpr int slice_dim = 128; // elements: of a slice
constexpr int warp_rows = 16; // rows: of a warp
constexpr int bands = 1; // bands: of warp_rows rows
constexpr int strip_bands = 1; // -: whose warps share keys; 8 warps are for few sequences, where each band by itself ends sooner
constexpr int team = 1; // warps: that share keys: those of a strip's bands and slices
constexpr int rings = 4; // rings: of slots in a block, one for each team
constexpr int strip_rows = 16; // rows: of a strip at most, which reads the keys once
constexpr int tile_rows = 8; // rows: of a strip
constexpr int strips = 1; // strips: of rows, each of which reads the keys
constexpr int q_bytes = 256; // bytes: of a query
constexpr int out_bytes = 256; // bytes: of a query's output
constexpr int row_bytes = 256; // bytes: of a key
constexpr int value_bytes = 256; // bytes: of a value
constexpr int has_scales = 0; // -: 1: keys come with scales of their own
constexpr int has_score = 0; // -: 1: scores pass through an expression
constexpr int slot_keys = 16; // keys: of a slot, and as many values
constexpr int slot_bytes = 8192; // bytes: of keys and values
constexpr int ring_bytes = 65536; // bytes: of all rings
constexpr int kept_rows = 8; // rows: of sums that a warp keeps
constexpr int sums_row_bytes = 528; // bytes: of a query's sums, so that four of them lie on all banks
constexpr int sums_bytes = 4288; // bytes: of a warp's sums
constexpr int part_bytes = 4288; // bytes: of a team's sums, or of a part in the workspace
constexpr int used_bytes = 82704; // bytes: in all
constexpr int tile_keys = 64; // keys: of a step of all warps
constexpr int unit_keys = 64; // keys: that work is shared out by
} // namespace params
} // namespace groat
#define GROAT_BLOCK_THREADS 128
#define GROAT_SHARED_BYTES 82704
#define GROAT_ARGS_BYTES 296
#define GROAT_ENTRY paged_attention_decode_bf16_d128_g8_q1_p16
