// SPDX-License-Identifier: Apache-2.0
// common/mma_sync.h for the host's C++ compiler: calls of the judge.
#pragma once

namespace groat {

GROAT_DEVICE vec4 matrix_load(u32 address)
{
    vec4 v;

    cpu_env->ops->matrix_load(cpu_env, address, &v, 0);
    return v;
}

GROAT_DEVICE vec4 matrix_load_transposed(u32 address)
{
    vec4 v;

    cpu_env->ops->matrix_load(cpu_env, address, &v, 1);
    return v;
}

// As matrix_transpose(), by the lane's number in its warp.
GROAT_DEVICE u32 matrix_transpose_by(u32 lane, u32 word)
{
    const u32 row = lane / 4, column = lane % 4 * 2;
    const u32 shift = row % 2 * 16;
    const u32 low = wave_shuffle(word, 4 * column + row / 2) >> shift;
    const u32 high = wave_shuffle(word, 4 * column + 4 + row / 2) >> shift;

    return (low & 0xffffu) | high << 16;
}

GROAT_DEVICE u32 matrix_transpose(u32 word)
{
    return matrix_transpose_by(thread_index() % 32, word);
}

template <mma_number type>
GROAT_DEVICE void mma_16x8(float (&acc)[4], vec4 a, vec2 b)
{
    cpu_env->ops->mma_16x8(cpu_env, type, &a, &b, acc);
}

template <mma_number type> GROAT_DEVICE u32 pack_operand(float low, float high)
{
    return pack16<type>(low, high);
}

} // namespace groat
