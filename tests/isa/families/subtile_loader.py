# SPDX-License-Identifier: Apache-2.0
"""subtile_loader: where each byte of a tile of keys lies, by the byte form of the
two XORs; what a lane reads, by rows and columns; S, by the product of whole
numbers."""
import struct

import numpy as np

from attention import (Matrix, copies_of_burst, dtype_of, fold, free_waves,
                       mfma_name, numbers_to_bytes, stream_expect,
                       tile_expect, unrolled)
from families import Case, Family, Spec
from inputs import encode, small_numbers

FP8 = ('gfx942', 'gfx950')  # those that multiply it
SPECS = [
    Spec('src_cols=256', listed=True),
    Spec('BN=32,depth=64,src_cols=128,num_warps=2', quick=True),
    Spec('BN=64,depth=64,src_cols=128,num_warps=2,swizzle=hipkittens'),
    Spec('dtype=fp8,BN=32,depth=256,src_cols=256,ld=288,num_warps=4',
         archs=('gfx942',)),
    Spec('dtype=f16,BN=96,depth=128,src_cols=128,num_warps=3,'
         'swizzle=hipkittens', archs=('gfx950',)),
    Spec('entry=fragments,BN=32,depth=64,src_cols=128,num_warps=2',
         quick=True),
    Spec('entry=fragments,BN=64,depth=64,src_cols=128,num_warps=2,mma_m=16,'
         'swizzle=hipkittens'),
    Spec('entry=fragments,dtype=fp8,BN=32,depth=128,src_cols=256,num_warps=4,'
         'mma_m=16', quick=True),
    Spec('entry=fragments,dtype=fp8,BN=64,depth=64,src_cols=64,num_warps=2',
         archs=FP8),
    Spec('entry=fragments,BN=64,depth=64,src_cols=64,num_warps=4,'
         'reader=hipkittens'),
    Spec('entry=fragments,BN=32,depth=128,src_cols=128,num_warps=2,mma_m=16,'
         'swizzle=hipkittens,reader=chained', archs=('gfx950',)),
    Spec('entry=stream,BN=32,depth=64,src_cols=128,num_warps=2,stages=3',
         quick=True, listed=True),
    Spec('entry=stream,dtype=fp8,BN=64,depth=128,src_cols=128,num_warps=8,'
         'swizzle=hipkittens', archs=('gfx942', 'gfx950')),
    Spec('entry=scores,BN=32,depth=64,src_cols=128,num_warps=2', quick=True),
    Spec('entry=scores,dtype=f16,BN=64,depth=64,src_cols=128,num_warps=2,'
         'mma_m=16,swizzle=hipkittens'),
    Spec('entry=scores,dtype=fp8,BN=32,depth=64,src_cols=128,num_warps=2',
         quick=True, archs=FP8),
    Spec('entry=scores,dtype=fp8,BN=32,depth=128,src_cols=128,num_warps=2,'
         'mma_m=16', archs=FP8),
    # The narrow instructions, where there are wide ones.
    Spec('entry=scores,BN=32,depth=64,src_cols=128,num_warps=2,mma_k=8',
         archs=('gfx950',)),
    Spec('entry=scores,dtype=fp8,BN=32,depth=128,src_cols=128,num_warps=2,'
         'mma_m=16,mma_k=32', archs=('gfx950',)),
    Spec('entry=scores,BN=32,depth=64,src_cols=64,num_warps=2,'
         'reader=hipkittens', archs=('gfx90a',)),
    Spec('entry=scores,src_cols=128', listed=True),
]


# ---- the image

def exchanged(k, which, b):
    """The XORs on byte addresses; each is its own inverse."""
    if which == k['swizzle_chained']:
        return b ^ (b >> 8 & 3) << 4
    b = b ^ b % 1024 >> 9 << 5
    return b ^ b % 2048 >> 10 << 4


def places(k, which):
    """(row, column byte) of each byte of a tile."""
    across = k['depth'] * k['elem_bytes'] // 64
    b = np.arange(k['tile_bytes'])
    subtile, s = b // 2048, exchanged(k, which, b % 2048)
    return (subtile // across * 32 + s // 64,
            subtile % across * 64 + s % 64)


def image_of(k, tile):
    return tile[places(k, k['swizzle'])]


def seen_by(k, image):
    """The tile as a reader sees it: what it takes to be a row and column."""
    row, column = places(k, k['reader'])
    tile = np.zeros((k['BN'], k['depth'] * k['elem_bytes']), image.dtype)
    tile[row, column] = image
    return tile


def seen(k, tile):
    """A tile, loaded and read; only the image's own reader sees it again."""
    read = seen_by(k, image_of(k, tile))
    same = np.array_equal(read, tile)
    if same != (k['reader'] == k['swizzle']) and tile.any():
        raise ValueError('the readers of this file are wrong')
    return read


def fragments(k, tile):
    """[fragment][lane][bytes]: a lane has key lane % mma_m of a row block and
    of its row the lane / mma_m-th part."""
    m, size = k['mma_m'], k['fragment_bytes']
    lanes = tile.reshape(k['BN'] // m, m, -1, 64 // m, size)
    return lanes.transpose(0, 2, 3, 1, 4)


class SubtileLoader(Family):
    name = 'subtile_loader'

    def specs(self):
        return SPECS

    # ---- instructions

    def expect(self, k, arch):
        entry = k['entry']
        if entry == k['entry_image']:
            return tile_expect(k, arch, barriers=2, waves=free_waves(k, arch))
        if entry == k['entry_stream']:
            return stream_expect(k, arch)
        parts = k['fragment_bytes'] // 16
        if entry == k['entry_fragments']:
            reads = {parts}
            return tile_expect(k, arch, barriers=1, waves=free_waves(k, arch),
                               ops={'ds_read_b128': reads, 'ds_read.*': reads})
        # Queries are ordinary loads, all before the first tile: the compiler
        # waits for them there at once, or one by one where they are used.
        copies = k['iterations'] * copies_of_burst(arch)
        steps = k['depth'] * k['elem_bytes'] // (64 // k['mma_m'] *
                                                 k['fragment_bytes'])
        blocks = unrolled(k['BN'] // k['mma_m'])
        reads = {n * steps * parts for n in blocks}
        products = {n * steps * k['fragment_bytes'] // self._operand(k)
                    for n in blocks}
        queries = steps * parts
        loads = queries + (copies if arch == 'gfx950' else 0)
        return tile_expect(
            k, arch, barriers=2, added=range(queries),
            steady=(copies, [0], range(queries)), mfma=products,
            ops={'ds_read_b128': reads, 'ds_read.*': reads,
                 'buffer_load_dwordx4': loads,
                 mfma_name(dtype_of(k), k['mma_m'], self._operand(k), arch):
                     products})

    def _operand(self, k):
        return k['mma_k'] * k['mma_m'] * k['elem_bytes'] // 64

    def equivalents(self, k, arch):
        # There is no other order: burst (i, w) is KiB i * num_warps + w, which
        # is also what wave w takes in turn i.
        if k['entry'] not in (k['entry_image'], k['entry_stream']):
            return {}
        reason = ('each wave touches only the bytes that its own copies '
                  'bring, so its waits order them')
        return {'barrier 0 removed': reason, 'barrier 1 removed': reason}

    # ---- launches

    def cases(self, k, arch):
        rows, heads = k['BN'], k['src_cols'] // k['depth']
        if k['entry'] == k['entry_image']:
            return [
                # Whole and partial tiles, side by side where they fit.
                self._tiles(k, 'grid', rows + 9, 0, 0, 2, min(2, heads)),
                # From row 3 of the last head, 5 rows on.
                self._tiles(k, 'offset', rows, 3, 5, 1, 1)]
        if k['entry'] == k['entry_fragments']:
            return [self._tiles(k, 'partial', rows + 3, 5, 1, 1, 1),
                    self._tiles(k, 'grid', rows + 9, 0, 0, 2, min(2, heads))]
        if k['entry'] == k['entry_stream']:
            return self.mutant_cases(k, arch) + [
                # One or two tiles a block: fewer than may be in flight.
                self._stream(k, 'two rows of blocks', 2 * rows + 3, 2, 3,
                             min(2, heads), 2),
                self._stream(k, 'no keys', 0, 0, 2, 1, 1)]
        # Some lanes of the last wave have no query.
        if k['num_warps'] > 4:  # many waves: one tile says as much
            return [self._scores(k, arch, 'partial', rows - 3, 0, 1, 1, 1,
                                 11)]
        return [self._scores(k, arch, 'partial', 2 * rows, 7, 2, 1, 1, 11),
                self._scores(k, arch, 'two blocks', rows, 0, 1, min(2, heads),
                             2, k['mma_m'] + 1)]

    def mutant_cases(self, k, arch):
        """The smallest launches in which every slot is filled again."""
        rows = k['BN']
        if k['entry'] == k['entry_image']:
            return [self._tiles(k, 'partial', rows, 3, 5, 1, 1)]
        if k['entry'] == k['entry_stream']:
            tiles = k['stages'] + 1
            return [self._stream(k, 'refilled', tiles * rows - 3, 2, tiles, 1,
                                 1)]
        return self.cases(k, arch)[:1]

    def _tile(self, k, matrix, start, r, h):
        width = k['depth'] * k['elem_bytes']
        return matrix.at(start + r * k['BN'] * matrix.stride + h * width,
                         k['BN'], width)

    def _start(self, k, matrix, first_row, first_col, offset):
        """Byte where tile (0, 0) starts."""
        return (first_row * matrix.stride + first_col * k['elem_bytes'] +
                offset)

    def _arguments(self, matrix, first_row, first_col, offset, down, heads,
                   step=1, queries=0):
        def pack(source, output, query=0):
            return struct.pack('<QQQqqIIIIII', source, query, output,
                               matrix.rows, first_row, first_col, offset,
                               down, heads, step, queries)
        return pack

    def _case(self, k, name, matrix, grid, out, arguments, tiles, **counts):
        """Outputs `out`, a list of arrays, of blocks that load so many tiles
        each."""
        expected = b''.join(np.ascontiguousarray(o).tobytes() for o in out)
        copies = k['iterations'] * k['copies_per_chunk']
        return Case(
            name, (*grid, 1),
            [('source', matrix.bytes.tobytes()),
             ('output', bytes([0xA5]) * len(expected))],
            arguments, {'output': expected},
            {'dma': {copies * n for n in tiles}, **counts})

    def _tiles(self, k, name, rows, first_row, beyond, down, heads):
        """Images or fragments; the tiles start in the last head if one is
        alone, and `beyond` rows on by the scalar offset, which also does 16
        bytes of the way to that head."""
        matrix = Matrix(k, rows, name)
        column = k['src_cols'] - k['depth'] if heads == 1 else 0
        offset = beyond * matrix.stride
        if beyond and column:
            column -= 16 // k['elem_bytes']
            offset += 16
        start = self._start(k, matrix, first_row, column, offset)
        tiles = [self._tile(k, matrix, start, r, h) for r in range(down)
                 for h in range(heads)]
        image = k['entry'] == k['entry_image']
        out = [image_of(k, t) if image else fragments(k, seen(k, t))
               for t in tiles]
        return self._case(k, name, matrix, (down, heads), out,
                          self._arguments(matrix, first_row, column, offset,
                                          down, heads), [1],
                          barrier={2 if image else 1})

    def _stream(self, k, name, rows, first_row, down, heads, step):
        matrix = Matrix(k, rows, name)
        start = self._start(k, matrix, first_row, 0, 0)
        out = [fold([image_of(k, self._tile(k, matrix, start, r, h))
                     for r in range(x, down, step)], k['block_threads'] * 16)
               for x in range(step) for h in range(heads)]
        tiles = {len(range(x, down, step)) for x in range(step)}
        return self._case(
            k, name, matrix, (step, heads),
            [np.frombuffer(o, np.uint8) for o in out],
            self._arguments(matrix, first_row, 0, 0, down, heads, step),
            tiles, barrier={2 * n for n in tiles})

    def _scores(self, k, arch, name, rows, first_row, down, heads, blocks,
                surplus):
        """Keys and queries of whole numbers; `surplus` queries are missing at
        the end."""
        dtype, depth, keys = dtype_of(k), k['depth'], down * k['BN']
        queries = blocks * k['num_warps'] * k['mma_m'] - surplus
        numbers = small_numbers((rows, k['ld']), name)
        codes = numbers_to_bytes(encode(numbers, dtype, arch))
        matrix = Matrix(k, rows, name, codes)
        column = k['src_cols'] - depth if heads == 1 else 0
        q = small_numbers((heads, queries, depth), name + ' queries')
        used = np.zeros((keys + k['BN'], k['ld']))
        valid = numbers[first_row:first_row + keys]
        used[:len(valid)] = valid
        out = []
        for h in range(heads):
            head = used[:keys, column + h * depth:][:, :depth]
            out.append((q[h] @ self._scrambled(k, head).T)
                       .astype(np.float32))
        fragments_ = down * k['BN'] // k['mma_m'] * k['k_steps']
        case = self._case(
            k, name, matrix, (blocks, heads), out,
            self._arguments(matrix, first_row, column, 0, down, heads, 1,
                            queries), [down], barrier={2 * down})
        # A wave without a query multiplies nothing.
        product = fragments_ * k['fragment_bytes'] // self._operand(k)
        case.counts['mfma'] = {0, product}
        case.buffers.append(('query', numbers_to_bytes(
            encode(q, dtype, arch)).tobytes()))
        return case

    def _scrambled(self, k, keys):
        """The numbers of keys as the reader sees them."""
        place = np.arange(k['tile_bytes']).reshape(k['BN'], -1)
        order = (seen_by(k, image_of(k, place))[:, ::k['elem_bytes']] //
                 k['elem_bytes'])
        return np.concatenate([
            keys[r:r + k['BN']].reshape(-1)[order]
            for r in range(0, len(keys), k['BN'])])


FAMILY = SubtileLoader()
