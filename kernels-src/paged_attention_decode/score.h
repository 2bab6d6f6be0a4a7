// SPDX-License-Identifier: Apache-2.0
// A spec's expression that computes a score from a score, the positions of the
// query and the key, and floats and arrays of the launch.
#pragma once

#include "../common/code.h"
#include "work.h"

namespace groat
{
namespace paged_attention_decode
{

constexpr float log2e = 1.4426950408889634f;
constexpr float nothing = -1e30f; // the score of a masked key: its weight is 0

// The inputs of the expression.
struct score_inputs {
    const launch_args &args;
    float score;
    int q_pos, kv_pos, head, batch;

    GROAT_DEVICE float scalar(u32 i) const
    {
        return args.score_scalars[i];
    }

    // An element of an array; 0 outside of it.
    GROAT_DEVICE float element(u32 i, int at) const
    {
        const u32 place = static_cast<u32>(at);

        return at >= 0 && place < args.score_counts[i]
                   ? bits_float(
                         global_load4(args.score_arrays[i] + place * 4ull))
                   : 0;
    }
};

// The expression's value, times log2 e.  A NaN or -inf masks the key.
GROAT_DEVICE float expressed(const score_inputs &in)
{
    const float x = GROAT_CODE_score(in);

    return fmin(fmax(x * log2e, nothing), -nothing);
}

} // namespace paged_attention_decode
} // namespace groat
