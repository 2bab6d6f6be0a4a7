// SPDX-License-Identifier: Apache-2.0
// The defaults of params.def, for editors: made by defaults.sh.  A build of
// a kernel never reads this file; it gets the constants of its spec.
#pragma once

// Constants of family kv_producer_pipeline, made by groat from its params.def.
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
constexpr int entry_image = 0;
constexpr int entry_trace = 1;
constexpr int entry_issues = 2;
constexpr int entry_stream = 3;
constexpr int entry_scores = 4;
constexpr int entry_output = 5;
constexpr int entry = entry_image; // -: image: each slot written out as its tile comes; trace: what the producer waits for and expects; issues: what it would copy, recorded instead; stream: all bytes XORed, for bandwidth; scores: S = Q K^T; output: O = P V
static_assert(entry == 0 || entry == 1 || entry == 2 || entry == 3 || entry == 4 || entry == 5, "entry: allowed image|trace|issues|stream|scores|output");
constexpr int dtype_bf16 = 0;
constexpr int dtype_f16 = 1;
constexpr int dtype_fp8 = 2;
constexpr int dtype = dtype_bf16; // -: element type
static_assert(dtype == 0 || dtype == 1 || dtype == 2, "dtype: allowed bf16|f16|fp8");
constexpr int config_own = 0;
constexpr int config_fa4 = 1;
constexpr int config_fa4_paged = 2;
constexpr int config_fa4_512 = 3;
constexpr int config_fa3 = 4;
constexpr int config = config_own; // -: whose shape is the default of BM, BN, order, pieces, slots and swizzle: own, or a published kernel's, as the presets list
static_assert(config == 0 || config == 1 || config == 2 || config == 3 || config == 4, "config: allowed own|fa4|fa4_paged|fa4_512|fa3");
constexpr int depth = 128; // elements: head size
static_assert((depth >= 16 && depth <= 512 && (depth - 16) % 16 == 0), "depth: allowed 16..512/16");
constexpr int page_size = 16; // keys: keys of a page; 0: a sequence's keys lie one behind the other
static_assert((page_size >= 0 && page_size <= 16) || (page_size >= 20 && page_size <= 28 && (page_size - 20) % 4 == 0) || page_size == 40 || page_size == 56 || (page_size >= 32 && page_size <= 2048 && (page_size - 32) % 16 == 0), "page_size: allowed 0..16|20..28/4|40|56|32..2048/16");
constexpr bool head_page = false; // -: pages are [heads, page, depth], else [page, heads, depth]
static_assert((head_page >= 0 && head_page <= 1), "head_page: allowed 0|1");
constexpr int mode_single = 0;
constexpr int mode_pair_local = 1;
constexpr int mode_pair_multicast = 2;
constexpr int mode_pair_sm100 = 3;
constexpr int mode = mode_single; // -: single: a block for itself; pair_local: each block of a cluster of 2 has half of the keys of K and half of the columns of V; pair_multicast: both have all, each loads half for both; pair_sm100: as pair_local, the even block's barriers count for both
static_assert(mode == 0 || mode == 1 || mode == 2 || mode == 3, "mode: allowed single|pair_local|pair_multicast|pair_sm100");
constexpr int order_kv = 0;
constexpr int order_ahead = 1;
constexpr int order_one_q = 2;
constexpr int order_split = 3;
constexpr int order = order_kv; // -: kv: K0 V0 K1 V1 ...; ahead: K0 K1 V0 K2 V1 ...; one_q: K0 K1 V0 V1 ...; split: each tile in as many slots as pieces
static_assert(order == 0 || order == 1 || order == 2 || order == 3, "order: allowed kv|ahead|one_q|split");
constexpr int row_bytes = 256; // bytes: of a key and head
constexpr int streams = 0; // -: tiles and slots follow the rows: what was measured
constexpr int swizzle = 128; // bytes: swizzle span; 16: none
static_assert(swizzle == 16 || swizzle == 32 || swizzle == 64 || swizzle == 128, "swizzle: allowed 16|32|64|128");
constexpr bool k_inner = false; // -: K lies row group by row group (chunk-inner), else chunk by chunk
static_assert((k_inner >= 0 && k_inner <= 1), "k_inner: allowed 0|1");
constexpr bool v_inner = false; // -: the same of V
static_assert((v_inner >= 0 && v_inner <= 1), "v_inner: allowed 0|1");
constexpr bool fold = false; // -: one box brings all chunks of a page: maps of rank 4, chunk-inner 5
static_assert((fold >= 0 && fold <= 1), "fold: allowed 0|1");
constexpr int elem_bytes = 2; // bytes: size of one element
constexpr int granule = 64; // elements: columns of a chunk: one swizzle span
constexpr int padded_depth = 128; // elements: columns of a slot's rows
constexpr int ctas = 1; // blocks: that share the tiles
constexpr int halves = 1; // -: a slot holds one of so many parts of its tile
constexpr int mma_k = 16; // elements: depth of a matrix multiply-accumulate
constexpr int BM = 0; // rows: query rows that come with the first tile; 0: none
static_assert(BM == 0 || BM == 64 || BM == 128 || BM == 192 || BM == 256, "BM: allowed 0|64|128|192|256");
constexpr int q_tiles = 1; // tiles: of query rows: the first with the first tile of K, the second on barriers of its own
static_assert(q_tiles == 1 || q_tiles == 2, "q_tiles: allowed 1|2");
constexpr int small_pages = 0; // -: boxes would be small: 16 bytes are copied at a time
constexpr int divides_192 = 0; // -: pages allow tiles of 192 keys
constexpr int BN = 128; // keys: keys of a tile
static_assert((BN >= 16 && BN <= 256 && (BN - 16) % 16 == 0), "BN: allowed 16..256/16");
constexpr int pieces = 1; // pieces: of a tile of K (columns) and of V (keys), each with barriers of its own; order split: with a slot of its own
static_assert(pieces == 1 || pieces == 2 || pieces == 3 || pieces == 4 || pieces == 8, "pieces: allowed 1|2|3|4|8");
constexpr int in_slots = 0; // -: pieces are slots
constexpr int parts = 1; // slots: that a tile of K or of V takes
constexpr int ring_pieces = 1; // pieces: of a slot
constexpr int k_rows = 128; // keys: of K in a slot
constexpr int k_cols = 128; // elements: columns of a piece of K
constexpr int v_rows = 128; // keys: of a piece of V
constexpr int slot_bytes = 32768; // bytes: of a slot
constexpr int v_cols = 128; // elements: columns of a piece of V
constexpr int kv_bytes = 32768; // bytes: that a full barrier expects of a piece
constexpr int head_dim = 128; // elements: of the cache, for its tensor maps, as what follows
constexpr int k_form = 0; // -: of the map of K: 0 chunk by chunk, 1 and 2 all chunks of a page
constexpr int v_form = 0; // -: the same of V
constexpr int k_layout = 0; // -: of the map of K
constexpr int v_layout = 0; // -: of the map of V
constexpr int k_tile_rows = 128; // keys: of K in a block
constexpr int v_tile_rows = 128; // keys: of V in a block
constexpr int k_slot_rows = 128; // keys: of K from chunk to chunk
constexpr int v_slot_rows = 128; // keys: of V from chunk to chunk
constexpr int k_tile_cols = 128; // elements: of K in a block
constexpr int v_tile_cols = 128; // elements: of V in a block
constexpr int q_rows = 0; // rows: of a tile of queries
constexpr int q_bytes = 0; // bytes: of queries that come with a piece of K
constexpr int page_rows = 16; // keys: of a page in a tile
constexpr int num_pages = 8; // pages: of a tile
constexpr int paged_form = 0; // -: query rows and keys are those of fa4 and fa4_paged
constexpr int form_512 = 0; // -: query rows and keys are those of fa4_512
constexpr int like = 0; // -: whose number of slots is the default: own where query rows or keys differ
constexpr int own_ring = 98304; // bytes: that a ring of our own takes, if 2 to 8 slots are so much
constexpr int slots = 3; // slots: of the ring
static_assert((slots >= 1 && slots <= 32), "slots: allowed 1..32");
constexpr int copies_boxes = 0;
constexpr int copies_cells = 1;
constexpr int copies = copies_boxes; // -: boxes: by the copy engine, a page and chunk each; cells: 16 bytes each by the producer's threads, for pages so small that boxes would be
static_assert(copies == 0 || copies == 1, "copies: allowed boxes|cells");
constexpr int lanes = 32; // lanes: of the producer warp that issue boxes
static_assert(lanes == 1 || lanes == 32, "lanes: allowed 1|32");
constexpr int tail_zeros = 0;
constexpr int tail_count = 1;
constexpr int tail = tail_zeros; // -: pages behind a sequence's last: zeros are copied in their place, or nothing and fewer bytes are expected
static_assert(tail == 0 || tail == 1, "tail: allowed zeros|count");
constexpr int policy_normal = 0;
constexpr int policy_first = 1;
constexpr int policy_last = 2;
constexpr int policy = policy_normal; // -: L2 eviction policy of K and V
static_assert(policy == 0 || policy == 1 || policy == 2, "policy: allowed normal|first|last");
constexpr bool hold = true; // -: a slot is held until the next tile has come, as V is while the next K is multiplied
static_assert((hold >= 0 && hold <= 1), "hold: allowed 0|1");
constexpr int row_warps = 4; // warps: for the query rows
constexpr int out_cols = 0; // -: columns of V, or 4 for each key, that warpgroups side by side share
constexpr int col_most = 1; // -: warpgroups side by side, if threads last
constexpr int consumers = 4; // warps: that read the slots; products: 4 for each 64 query rows, times column groups
static_assert((consumers >= 1 && consumers <= 16), "consumers: allowed 1..16");
constexpr int producers = 1; // warps: that fill them
static_assert(producers == 1 || producers == 4 || producers == 8, "producers: allowed 1|4|8");
constexpr int row_groups = 1; // -: warpgroups one below the other (products)
constexpr int col_groups = 1; // -: warpgroups side by side (products)
constexpr int weight_bytes = 0; // bytes: of P of a tile
constexpr int q1_at = 0; // bytes: place of the second tile of queries
constexpr int ring_at = 0; // bytes: place of the ring
constexpr int weights_at = 98304; // bytes: place of P
constexpr int full_at = 98304; // bytes: place of the full barriers
constexpr int empty_at = 98328; // bytes: place of the empty barriers
constexpr int after_at = 98352; // bytes: place of the barriers of the second tile of queries, and of the consumers' own
} // namespace params
} // namespace groat
#define GROAT_BLOCK_THREADS 160
#define GROAT_SHARED_BYTES 98368
#define GROAT_ARGS_BYTES 512
#define GROAT_ENTRY kv_producer_pipeline_image_bf16_128x128_p16_s3
