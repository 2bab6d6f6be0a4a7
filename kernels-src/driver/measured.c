/* SPDX-License-Identifier: Apache-2.0
 *
 * measured.c lists the kernels that the tool shows and measures by itself.
 */
#include "measured.h"

#include <stdio.h>
#include <string.h>

/* One layer's K of each model is a matrix of kv_heads * head_dim columns
 * (DeepSeek's is the latent of 512 + 64), with a row per token; a block loads
 * one tile of it.  Models with the same shape get different loaders. */
const groat_demo_kernel groat_demo_kernels[GROAT_DEMO_KERNELS] = {
    {"Llama 3 8B", "64x128 of 1024 bf16",
     "tile_loader_lds:dtype=bf16,tile_rows=64,tile_cols=128,src_cols=1024,"
     "full_width=true"},
    {"Llama 3 70B fp8", "64x128 of 1024 fp8, subtiles",
     "tile_loader_lds:dtype=fp8,tile_rows=64,tile_cols=128,src_cols=1024"},
    {"Qwen3 8B", "128x128 of 1024 bf16, swizzled",
     "tile_loader_lds:dtype=bf16,tile_rows=128,tile_cols=128,src_cols=1024,"
     "full_width=true,swizzle_bits=3,swizzle_base=4,swizzle_shift=4"},
    {"Qwen3 30B-A3B", "32x128 of 512 bf16, ring of 4",
     "tile_loader_lds:entry=stream,dtype=bf16,tile_rows=32,tile_cols=128,"
     "src_cols=512,full_width=true,stages=4"},
    {"Mistral 7B", "16x128 of 1024 bf16, subtiles",
     "tile_loader_lds:dtype=bf16,tile_rows=16,tile_cols=128,src_cols=1024"},
    {"DeepSeek V3 MLA", "64x64 of 576 bf16",
     "tile_loader_lds:dtype=bf16,tile_rows=64,tile_cols=64,src_cols=576,"
     "full_width=true"},
    {"Gemma 3 27B", "32x128 of 2048 bf16, ring of 2",
     "tile_loader_lds:entry=stream,dtype=bf16,tile_rows=32,tile_cols=128,"
     "src_cols=2048,full_width=true,stages=2"},
    {"Gemma 3 4B", "32x256 of 1024 bf16, 8 waves",
     "tile_loader_lds:dtype=bf16,tile_rows=32,tile_cols=256,src_cols=1024,"
     "num_loading_warps=8"},
};

const char *const groat_plain_reads[GROAT_PLAIN_READS] = {
    "plain_read:num_warps=8,unroll=4",  "plain_read:num_warps=8,unroll=8",
    "plain_read:num_warps=16,unroll=4", "plain_read:num_warps=4,unroll=8",
    "plain_read:num_warps=4,unroll=16",
};

const char *const groat_streams[GROAT_STREAMS] = {
    "tile_loader_lds:entry=stream,tile_rows=64,tile_cols=128,full_width=1,"
    "src_cols=1024,stages=4",
    "tile_loader_lds:entry=stream,tile_rows=64,tile_cols=128,full_width=1,"
    "src_cols=128,stages=4",
    "tile_loader_lds:entry=stream,tile_rows=128,tile_cols=64,src_cols=1024,"
    "num_loading_warps=8,swizzle_bits=1,swizzle_base=5,swizzle_shift=4,"
    "stages=4",
    "tile_loader_lds:entry=stream,dtype=fp8,tile_rows=128,tile_cols=128,"
    "full_width=1,src_cols=1024,num_loading_warps=8,swizzle_bits=3,"
    "swizzle_base=4,swizzle_shift=4,stages=4",
};

const char groat_built_kernel[] = "tile_loader_lds";

const char groat_smallest_kernel[] =
    "tile_loader_lds:tile_rows=16,tile_cols=32,num_loading_warps=1";

/* No valid rows, and one tile. */
const int64_t groat_smallest_values[GROAT_DRIVER_ARGS] = {0, 0, 0, 1, 1, 1};

void groat_number_kernel(char spec[GROAT_NUMBERED], unsigned number)
{
    (void)snprintf(spec, GROAT_NUMBERED,
                   "tile_loader_lds:tile_rows=64,tile_cols=64,src_cols=1024,"
                   "ld=%u,swizzle_bits=1,swizzle_base=5,swizzle_shift=4",
                   2048 + 16 * number);
}

const groat_driver *groat_driver_of(const char *spec)
{
    char family[64];

    (void)snprintf(family, sizeof(family), "%.*s", (int)strcspn(spec, ":"),
                   spec);
    return groat_driver_find(family);
}
