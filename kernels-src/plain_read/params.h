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
constexpr int num_warps = 8;
static_assert(num_warps == 1 || num_warps == 2 || num_warps == 4 || num_warps == 8 || num_warps == 16, "num_warps: allowed 1|2|4|8|16");
constexpr int unroll = 4;
static_assert(unroll == 1 || unroll == 2 || unroll == 4 || unroll == 8 || unroll == 16, "unroll: allowed 1|2|4|8|16");
constexpr int block_bytes = 8192;
constexpr int step_bytes = 32768;
}
}
#define GROAT_BLOCK_THREADS 512
#define GROAT_SHARED_BYTES 0
#define GROAT_ARGS_BYTES 24
#define GROAT_ENTRY plain_read_8x64_u4
