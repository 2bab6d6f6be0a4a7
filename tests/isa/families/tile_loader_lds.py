# SPDX-License-Identifier: Apache-2.0
"""tile_loader_lds: which source byte lies at each byte of a tile, by the
closed form of its README; no arithmetic is shared with the kernel or its
host.c."""
import struct

import numpy as np

from families import Case, Expect, Family, Spec
from inputs import random_bytes, swizzled

# The parameter sets of two matrix shapes and two layouts, with and without
# swizzle, then what is rare: lanes of 4 bytes, waves that only wait, waves
# without a burst, one wave, more rows than waves load at once.
IMAGES = [
    Spec('dtype=bf16,tile_rows=128,tile_cols=64,src_cols=4096,'
         'num_loading_warps=8,swizzle_bits=1,swizzle_base=5,swizzle_shift=4',
         listed=True),
    Spec('dtype=fp8,tile_rows=128,tile_cols=128,src_cols=1024,full_width=1,'
         'num_loading_warps=8,swizzle_bits=3,swizzle_base=4,swizzle_shift=4',
         quick=True, listed=True),
    Spec('dtype=fp8,tile_rows=128,tile_cols=128,src_cols=1024,full_width=1,'
         'num_loading_warps=8,swizzle_bits=2,swizzle_base=5,swizzle_shift=4'),
    Spec('dtype=bf16,tile_rows=64,tile_cols=128,src_cols=512'),
    Spec('dtype=fp8,tile_rows=64,tile_cols=128,src_cols=384,full_width=1'),
    Spec('dtype=bf16,tile_rows=64,tile_cols=64,src_cols=1024,'
         'num_loading_warps=8,swizzle_bits=1,swizzle_base=5,'
         'swizzle_shift=4'),
    Spec('dtype=bf16,tile_rows=32,tile_cols=64,src_cols=128,ld=160,'
         'load_width=2,num_loading_warps=8', quick=True),
    Spec('dtype=bf16,tile_rows=32,tile_cols=64,src_cols=192,'
         'num_loading_warps=2,num_warps=4', quick=True),
    Spec('dtype=f32,tile_rows=48,tile_cols=32,src_cols=96,'
         'num_loading_warps=4'),
    Spec('dtype=f32,tile_rows=8,tile_cols=32,src_cols=64,'
         'num_loading_warps=4'),
    Spec('dtype=fp8,tile_rows=64,tile_cols=64,src_cols=64,full_width=1,'
         'num_loading_warps=1,swizzle_bits=2,swizzle_base=4,swizzle_shift=-3'),
]
STREAMS = [
    Spec('entry=stream,tile_rows=32,tile_cols=64,src_cols=128'),
    Spec('entry=stream,tile_rows=32,tile_cols=64,src_cols=128,stages=2'),
    Spec('entry=stream,tile_rows=32,tile_cols=64,src_cols=128,stages=2,'
         'num_loading_warps=2,num_warps=4', quick=True),
    Spec('entry=stream,dtype=fp8,tile_rows=64,tile_cols=128,src_cols=256,'
         'full_width=1,stages=3,swizzle_bits=3,swizzle_base=4,'
         'swizzle_shift=4', quick=True, listed=True),
    Spec('entry=stream,dtype=f32,tile_rows=16,tile_cols=32,src_cols=64,'
         'num_loading_warps=1,num_warps=4,stages=4,full_width=1',
         quick=True),
]


def places(k):
    """(row, column byte) of each byte of a tile."""
    b = np.arange(k['tile_rows'] * k['tile_cols'] * k['elem_bytes'])
    row_bytes = k['tile_cols'] * k['elem_bytes']
    if k['full_width']:
        s = swizzled(k, b)
        return s // row_bytes, s % row_bytes
    burst = 64 * k['load_width'] * k['elem_bytes']
    strip = 32 * k['elem_bytes']
    chunk, s = b // burst, swizzled(k, b % burst)
    across = k['tile_cols'] // 32
    return (chunk // across * (burst // strip) + s // strip,
            chunk % across * strip + s % strip)


class Matrix:
    """A source with `rows` valid rows, none of its bytes zero."""

    def __init__(self, k, rows, seed):
        self.k = k
        self.rows = rows
        self.stride = k['ld'] * k['elem_bytes']
        width = k['src_cols'] * k['elem_bytes']
        size = max(rows - 1, 0) * self.stride + (width if rows > 0 else 0)
        self.bytes = random_bytes(size, seed)

    def tile(self, first_row, first_col):
        """Bytes of the image of a tile; invalid rows are zero."""
        row, column = places(self.k)
        row = row + first_row
        at = row * self.stride + first_col * self.k['elem_bytes'] + column
        good = row < self.rows
        image = np.zeros(len(row), np.uint8)
        image[good] = self.bytes[at[good]]
        return image


class TileLoader(Family):
    name = 'tile_loader_lds'

    def specs(self):
        return IMAGES + STREAMS

    # ---- instructions

    def expect(self, k, arch):
        wide = k['lane_bytes'] == 16 and arch == 'gfx950'
        copies = k['iterations'] * k['copies_per_chunk']
        if k['entry'] == k['entry_image']:
            return Expect(dma=copies, dma_bytes=16 if wide else 4, waits=[0],
                          barriers=2)
        ahead = k['stages'] - 1
        # The wait of the steady state and that of the tail; without tiles in
        # flight they are the same and may be merged.
        waits = [0, 0] if ahead == 0 else [0, ahead * copies]
        return Expect(
            # The first tiles are requested in a loop, unrolled or not.
            dma={copies * (1 + ahead), copies * (1 + min(ahead, 1))},
            dma_bytes=16 if wide else 4,
            waits=[waits, [0]] if ahead == 0 else [waits], barriers=2,
            steady=(copies, [waits, [0]] if ahead == 0 else [waits]))

    # ---- launches

    def cases(self, k, arch):
        if k['entry'] == k['entry_image']:
            return self._images(k)
        return self._streams(k)

    def mutant_cases(self, k, arch):
        if k['entry'] == k['entry_image']:
            return self._images(k)[:1]
        return self._streams(k)[:1]

    def equivalents(self, k, arch):
        # Threads take the tile in vectors of 16 bytes, in their order.
        if (k['num_warps'] != k['num_loading_warps'] or
                k['lane_bytes'] != 16):
            return {}
        reason = ('each wave touches only the bytes that its own copies '
                  'bring, so its waits order them')
        return {'barrier 0 removed': reason, 'barrier 1 removed': reason}

    def _images(self, k):
        t, last = k['tile_rows'], k['src_cols'] - k['tile_cols']
        return [
            # A partial tile in the last columns.
            self._image(k, 'partial', t + t // 2 + 1, t, last, 1, 1),
            # Whole, partial and empty tiles, side by side where they fit.
            self._image(k, 'grid', t + 1, 0, 0, 3,
                        min(2, k['src_cols'] // k['tile_cols'])),
            self._image(k, 'no rows', 0, 0, 0, 1, 1),
        ]

    def _arguments(self, source, output, matrix, row, col, down, across,
                   step):
        return struct.pack('<QQqqIIII', source, output, matrix.rows, row, col,
                           down, across, step)

    def _dma(self, k):
        """Copies that one wave does for a tile: surplus waves fewer."""
        waves = [len(range(w, k['chunks'], k['num_loading_warps']))
                 if w < k['num_loading_warps'] else 0
                 for w in range(k['num_warps'])]
        return {n * k['copies_per_chunk'] for n in waves}

    def _image(self, k, name, rows, first_row, first_col, down, across):
        matrix = Matrix(k, rows, name)
        images = [matrix.tile(first_row + r * k['tile_rows'],
                              first_col + c * k['tile_cols'])
                  for r in range(down) for c in range(across)]
        image = b''.join(i.tobytes() for i in images)
        return Case(
            name, (down, across, 1),
            [('source', matrix.bytes.tobytes()),
             ('image', bytes([0xA5]) * len(image))],
            lambda source, output: self._arguments(
                source, output, matrix, first_row, first_col, down, across,
                1),
            {'image': image}, {'dma': self._dma(k), 'barrier': {2}})

    def _streams(self, k):
        t = k['tile_rows']
        across = min(2, k['src_cols'] // k['tile_cols'])
        return [
            self._stream(k, 'two columns', 4 * t + t // 2, 0, 0, 5, across,
                         1),
            self._stream(k, 'two rows of blocks', 4 * t + 3, 8, 0, 5, 1, 2),
            self._stream(k, 'no rows', 0, 0, 0, 2, 1, 1),
            # More tiles in flight than there are.
            self._stream(k, 'one tile', t, 0, 0, 1, 1, 1),
        ]

    def _stream(self, k, name, rows, first_row, first_col, down, across,
                step):
        matrix = Matrix(k, rows, name)
        wide = k['num_warps'] * 64 * 16
        sums = np.zeros((step, across, wide), np.uint8)
        for r in range(down):
            for c in range(across):
                tile = matrix.tile(first_row + r * k['tile_rows'],
                                   first_col + c * k['tile_cols'])
                for at in range(0, len(tile), wide):
                    part = tile[at:at + wide]
                    sums[r % step, c, :len(part)] ^= part
        tiles = {len(range(x, down, step)) for x in range(step)}
        return Case(
            name, (step, across, 1),
            [('source', matrix.bytes.tobytes()),
             ('sums', bytes([0xA5]) * sums.size)],
            lambda source, output: self._arguments(
                source, output, matrix, first_row, first_col, down, across,
                step),
            {'sums': sums.tobytes()},
            {'dma': {n * m for n in self._dma(k) for m in tiles},
             'barrier': {2 * n for n in tiles}})


FAMILY = TileLoader()
