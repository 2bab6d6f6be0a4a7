# SPDX-License-Identifier: Apache-2.0
"""kv_cache_append: ordinary loads and stores, and shuffles of a wave; where each
key and value lands, what it is rotated to, and what it is rounded to."""
import random
import struct

import numpy as np

from families import Case, Expect, Family, Spec
from inputs import FORMATS, random_bytes

HEADS = 3
# New tokens and keys of each sequence; the last one has no room for its keys.
NEW = (3, 0, 2, 4)
LENGTHS = (21, 7, 2, 90)
MOST = 88
ROWS = 24     # of the table of cosines: later positions use its last row
PADDING = 2   # tokens of no sequence
NO_BLOCK = 1000


def numbers(shape, seed, most):
    """Multiples of 1/8 up to `most`, so that products with multiples of 1/16 and
    their sums are exact in float32."""
    rng = np.random.default_rng(list(seed.encode()))
    return rng.integers(-8 * most, 8 * most + 1, shape).astype(np.float64) / 8


def to_16_bits(x, dtype):
    if dtype == 'f16':
        return x.astype(np.float16).view(np.uint16)
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def values_of_16_bits(codes, dtype):
    if dtype == 'f16':
        return codes.view(np.float16).astype(np.float64)
    return (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def to_8_bits(x, fnuz):
    """To the nearest, of two the even one, clamped to the largest."""
    _, mantissa, bias = FORMATS['fp8']
    bias += fnuz
    codes = np.arange(128)
    exponent, fraction = codes >> mantissa, codes & 7
    values = np.where(exponent == 0, fraction * 2.0 ** (1 - bias - 3),
                      (8 + fraction) * 2.0 ** (exponent - bias - 3))
    count = 128 if fnuz else 127        # 0x7f is a NaN of the other one
    values, codes = values[:count], codes[:count]
    size = np.minimum(np.abs(x), values[-1])
    above = np.searchsorted(values, size)
    below = np.maximum(above - 1, 0)
    up, down = values[above] - size, size - values[below]
    pick = np.where((up < down) | ((up == down) & (codes[above] % 2 == 0)),
                    above, below)
    out = codes[pick] | np.signbit(x).astype(np.int64) << 7
    if fnuz:
        out = np.where(codes[pick] == 0, 0, out)  # it has no -0
    return out.astype(np.uint8)


class KvCacheAppend(Family):
    name = 'kv_cache_append'

    def specs(self):
        return [Spec('head_dim=64,warps=2', quick=True, listed=True),
                Spec('rope=halves,head_dim=96,rotary=64,page_size=3,warps=1',
                     quick=True),
                Spec('rope=pairs,dtype=f16,page_size=0', quick=True),
                Spec('rope=halves,head_dim=256,warps=1'),
                Spec('rope=halves,head_dim=512,value_dim=272,rotary=96,warps=1',
                     quick=True),
                Spec('kv_dtype=e4m3,kv_scale=token,head_dim=384,rope=pairs',
                     archs=('gfx950',)),
                Spec('rope=halves,head_dim=192,value_dim=128,warps=2',
                     quick=True),
                Spec('kv_dtype=e4m3,kv_scale=token,head_dim=96,value_dim=64',
                     archs=('gfx950',)),
                Spec('kv_dtype=e4m3,kv_scale=head,head_dim=80', quick=True,
                     archs=('gfx950',)),
                Spec('kv_dtype=e4m3,kv_scale=tensor,rope=pairs,warps=1',
                     archs=('gfx950',)),
                Spec('kv_dtype=e4m3fnuz,kv_scale=head,rope=halves,warps=2',
                     archs=('gfx942',)),
                Spec('kv_dtype=e4m3,kv_scale=token,head_dim=112,warps=1',
                     archs=('gfx90a', 'gfx950'))]

    def expect(self, k, arch):
        return Expect(dma=0, dma_bytes=0, waits=None, barriers=0)

    def cases(self, k, arch):
        return [self._case(k, 'a ragged batch', True),
                self._case(k, 'as many of each', False)]

    # ---- the oracle

    def _rotate(self, k, x, position, table):
        count = k['rotated']
        if count == 0:
            return x
        half = count // 2
        row = table[min(position, ROWS - 1)]
        cosines, sines = row[:half], row[half:]
        out = x.copy()
        first, second = ((slice(0, half), slice(half, count))
                         if k['rope'] == k['rope_halves']
                         else (slice(0, count, 2), slice(1, count, 2)))
        out[..., first] = x[..., first] * cosines - x[..., second] * sines
        out[..., second] = x[..., second] * cosines + x[..., first] * sines
        return out

    def _store(self, k, plane, scales, at, x, given, fnuz):
        """x is [heads, elements]; plane [blocks, keys, heads, bytes]."""
        block, key = at
        dtype = 'f16' if k['dtype'] == k['dtype_f16'] else 'bf16'
        if k['kv_dtype'] == k['kv_dtype_same']:
            plane[block, key] = to_16_bits(x, dtype).view(np.uint8)
            return
        scale = np.asarray(given, np.float64)[:, None]
        if k['kv_scale'] == k['kv_scale_token']:
            most = np.abs(x).max(axis=1, keepdims=True)
            largest = 240.0 if fnuz else 448.0
            scale = np.where(most == 0, 1, (most / largest).astype(np.float32))
            scales[block, key] = scale[:, 0].astype(np.float32)
        by = (1 / scale.astype(np.float32)).astype(np.float32)
        product = (x.astype(np.float32) * by).astype(np.float32)
        plane[block, key] = to_8_bits(product.astype(np.float64), fnuz)

    def _case(self, k, name, ragged):
        seed = f'{name} {k["head_dim"]} {k["page_size"]} {k["rope"]}'
        dice = random.Random(seed)
        dtype = 'f16' if k['dtype'] == k['dtype_f16'] else 'bf16'
        fnuz = int(k['kv_dtype'] == k['kv_dtype_e4m3fnuz'])
        of_token = k['kv_scale'] == k['kv_scale_token']
        dims = k['head_dim'], k['value_dim']
        new = NEW if ragged else (2,) * len(NEW)
        tokens = sum(new) + (PADDING if ragged else 0)
        starts = np.cumsum((0,) + new).astype(np.uint32)
        page = k['page_size'] or MOST
        pitch = -(-MOST // page)
        blocks = len(NEW) * pitch + 2 if k['page_size'] else len(NEW)
        table = np.array(dice.sample(range(blocks), len(NEW) * pitch)
                         if k['page_size'] else range(len(NEW)), np.uint32)
        if k['page_size']:
            table[LENGTHS[2] // page if page <= 2 else 2 * pitch] = NO_BLOCK
        positions = np.array([dice.randrange(2 * ROWS) for _ in range(tokens)],
                             np.uint32)
        k_new, v_new = (to_16_bits(numbers((tokens, HEADS, dim), seed + side, 8),
                                   dtype) for side, dim in zip('kv', dims))
        rope = numbers((ROWS, max(k['rotated'], 1)), seed + 'r', 2) / 2
        narrow = k['kv_dtype'] != k['kv_dtype_same']
        sizes = [dim * (1 if narrow else 2) for dim in dims]
        planes = [random_bytes(blocks * page * HEADS * size, seed + side)
                  .reshape(blocks, page, HEADS, size).copy()
                  for side, size in zip('KV', sizes)]
        scales = [np.full((blocks, page, HEADS), -7, np.float32)
                  for _ in 'kv']
        of_head = [np.array([2.0 ** (i - j) for i in range(HEADS)], np.float32)
                   for j in range(2)]
        before = [x.copy() for x in planes + scales]
        for s, count in enumerate(new):
            for i in range(count):
                token = int(starts[s]) + i
                key = LENGTHS[s] - count + i
                if not 0 <= key < MOST:
                    continue
                block = (int(table[s * pitch + key // page])
                         if k['page_size'] else s)
                if block >= blocks:
                    continue
                position = int(positions[token]) if ragged else key
                for side, codes in enumerate((k_new, v_new)):
                    x = values_of_16_bits(codes[token], dtype)
                    if side == 0:
                        x = self._rotate(k, x, position, rope)
                    given = (of_head[side] if k['kv_scale'] ==
                             k['kv_scale_head'] else (0.5, 4.0)[side:side + 1]
                             * HEADS)
                    self._store(k, planes[side], scales[side],
                                (block, key % page), x, given, fnuz)
        given = before[2:] if of_token else of_head
        buffers = [('new_k', k_new.tobytes()), ('new_v', v_new.tobytes()),
                   ('k', before[0].tobytes()), ('v', before[1].tobytes()),
                   ('table', table.tobytes()),
                   ('lengths', np.array(LENGTHS, np.uint32).tobytes()),
                   ('starts', starts.tobytes()),
                   ('positions', positions.tobytes()),
                   ('rope', rope.astype(np.float32).tobytes()),
                   ('k_scales', given[0].tobytes()),
                   ('v_scales', given[1].tobytes())]

        def pack(new_k, new_v, k_at, v_at, table, lengths, starts, positions,
                 rope, k_scales, v_scales):
            return struct.pack(
                '<19Q11I2f4x', new_k, new_v, k_at, v_at, table, lengths,
                starts if ragged else 0, positions if ragged else 0, rope,
                k_scales, v_scales, *(HEADS * dim * 2 for dim in dims),
                *(step for size in sizes
                  for step in (page * HEADS * size, HEADS * size, size)),
                page * HEADS, HEADS, 1,
                len(NEW), HEADS, tokens, 0 if ragged else 2, pitch, MOST,
                blocks, ROWS, 0.5, 4.0)

        expected = {'k': planes[0].tobytes(), 'v': planes[1].tobytes()}
        if of_token:
            expected['k_scales'] = scales[0].tobytes()
            expected['v_scales'] = scales[1].tobytes()
        grid = -(-tokens * HEADS // k['block_heads'])
        return Case(name, (grid, 1, 1), buffers, pack, expected,
                    {'dma': {0}, 'barrier': {0}})


FAMILY = KvCacheAppend()
