# SPDX-License-Identifier: Apache-2.0
"""subtile_loader_st_8x32: where each byte of V lies in a slot, by the closed
forms of its README; what a lane reads, by the addresses of the transposing reads
and their exchange among 16 lanes; O, by the product of whole numbers."""
import struct
import zlib

import numpy as np

from attention import (LANE, Matrix, copies_of_burst, dtype_of, fold,
                       free_waves, is_spec, mfma_name, numbers_to_bytes,
                       operand_bytes, pattern, stream_expect, tile_expect,
                       transposed, unrolled)
from families import Case, Family, Spec
from inputs import encode, small_numbers

HOLE = 0xEE
CELL, LAST = 1040, 16624  # of v227: bytes of a cell, bytes of the whole

# The specification's images: parameters, valid rows, CRC-32 of the image of its
# pattern (of v227: of the 16624 bytes that it reaches).
ST_A = 'dtype=bf16,tile_keys=64,depth=128,src_cols=128'
ST_B = 'dtype=bf16,tile_keys=64,depth=64,src_cols=512'
ST_C = 'dtype=fp8,tile_keys=128,depth=128,src_cols=576,placement=default'
ST_D = 'dtype=fp8,tile_keys=128,depth=128,src_cols=128,placement=v227'
ST_E = 'dtype=fp8,tile_keys=128,depth=128,src_cols=576,placement=v227'
ST_F = 'dtype=bf16,tile_keys=64,depth=256,src_cols=256'
VECTORS = {ST_A: (64, 0x4ba97c02), ST_B: (50, 0x5b5d0650),
           ST_C: (128, 0x38f98411), ST_D: (128, 0xec95a066),
           ST_E: (77, 0x05ad1232), ST_F: (64, 0xb6281f31)}

FP8 = ('gfx942', 'gfx950')  # those that multiply it
SPECS = [
    Spec(ST_A), Spec(ST_B, archs=('gfx90a',)), Spec(ST_C, archs=('gfx942',)),
    Spec(ST_D, quick=True, listed=True), Spec(ST_E, archs=('gfx942',)),
    Spec(ST_F, archs=('gfx950',)),
    Spec('entry=fragments,tile_keys=32,depth=64,src_cols=128,num_warps=2',
         quick=True),
    Spec('entry=fragments,dtype=fp8,placement=v227,src_cols=256,num_warps=4'),
    Spec('entry=fragments,dtype=fp8,placement=v227,reader=default,'
         'src_cols=128,num_warps=4', quick=True, archs=FP8),
    Spec('entry=fragments,dtype=fp8,reader=v227,src_cols=128',
         archs=('gfx950',)),
    Spec('entry=stream,tile_keys=32,depth=64,src_cols=128,num_warps=2,'
         'stages=2'),
    Spec('entry=stream,dtype=fp8,placement=v227,src_cols=256,num_warps=4,'
         'stages=3', quick=True, listed=True),
    Spec('entry=stream,tile_keys=32,depth=64,src_cols=64,num_warps=4',
         archs=('gfx950',)),
    Spec('entry=output,tile_keys=32,depth=64,src_cols=128,num_warps=2',
         quick=True),
    Spec('entry=output,dtype=f16,tile_keys=16,depth=64,src_cols=128,'
         'num_warps=1'),
    Spec('entry=output,dtype=fp8,tile_keys=64,depth=64,src_cols=128,'
         'num_warps=2', quick=True, archs=FP8),
    Spec('entry=output,dtype=fp8,placement=v227,src_cols=128,num_warps=8',
         listed=True, archs=FP8),
    Spec('entry=output,src_cols=128', listed=True),
]


# ---- the slot

def place(k, which, key, byte):
    """Where a placement puts byte column `byte` of `key`."""
    if which == k['placement_default']:
        across = k['depth'] * k['elem_bytes'] // 64
        return ((key // 8 * across + byte // 64) * 512 + key % 8 * 64 +
                byte % 64)

    def bit(n):
        return key >> n & 1
    cell = bit(2) + 2 * bit(1) + 4 * bit(3) + 8 * bit(6)
    return CELL * cell + 128 * (bit(0) + 2 * bit(4) + 4 * bit(5)) + byte


def slot_of(k, tile):
    """The image of a tile (keys, bytes); what no copy writes is HOLE."""
    image = np.full(k['slot_bytes'], HOLE, np.uint8)
    key, byte = np.indices(tile.shape)
    image[place(k, k['placement'], key, byte)] = tile
    return image


def packed(k, image):
    """The bytes of a slot without its holes, in their order."""
    if k['placement'] == k['placement_default']:
        return image[:k['tile_bytes']]
    return image[:16 * CELL].reshape(16, CELL)[:, :1024].reshape(-1)


# ---- what lanes read


def addresses16(k, i, j, half):
    """Of a lane's 8 bytes for ds_read_b64_tr_b16."""
    across = k['depth'] * 2 // 64
    quarter, x = LANE // 16, LANE % 16
    return (((2 * i + half) * across + j) * 512 +
            (4 * (quarter // 2) + x // 4) * 64 +
            (16 * (quarter % 2) + 4 * (x % 4)) * 2)


def addresses8(k, i, j, r):
    """Of a lane's 8 bytes for ds_read_b64_tr_b8."""
    if k['reader'] == k['reader_v227']:
        return ((LANE >> 1 & 1) * 0x80 + (LANE >> 2 & 3) * 0x820 +
                (LANE & 1) * 8 + (LANE >> 4 & 1) * 16 +
                (LANE >> 5 & 1) * 0x410 + i * 0x2080 + j * 0x20 + r * 0x100)
    across = k['depth'] // 64
    pair, odd = LANE % 16 // 2, LANE % 2
    row = pair % 4 + pair // 4 * 8 + 4 * (LANE // 32)
    first = 64 * i + 16 * r
    return (row // 8 * across * 512 + row % 8 * 64 + LANE // 16 % 2 * 16 +
            odd * 8 + first // 8 * across * 512 + 32 * j // 64 * 512 +
            32 * j % 64)


def fragment(k, image, i, j):
    """(64 lanes, fragment_bytes) of strip i, depth tile j."""
    if k['elem_bytes'] == 2:
        reads = [transposed(image, addresses16(k, i, j, half), 2)
                 for half in range(2)]
    else:
        reads = [transposed(image, addresses8(k, i, j, r), 1)
                 for r in range(4)]
    return np.concatenate(reads, axis=1)


def columns(k, tile, i, j):
    """The same from the tile: lane l has column l % 32 of these keys."""
    column = 32 * j + LANE % 32
    if k['elem_bytes'] == 2:
        e = np.arange(8)
        key = 16 * i + 8 * (e // 4) + e % 4 + 4 * (LANE[:, None] // 32)
        elements = tile.reshape(len(tile), -1, 2)
    else:
        e = np.arange(32)
        key = (64 * i + 16 * (e // 8) + e % 4 + 8 * (e % 8 // 4) +
               4 * (LANE[:, None] // 32))
        elements = tile.reshape(len(tile), -1, 1)
    return elements[key, column[:, None]].reshape(64, -1)


def fragments(k, tile, image):
    """All fragments as the lanes have them.  With the slot's own reader they
    are columns of the tile; with another, they must be something else."""
    pairs = [(i, j) for i in range(k['strips'])
             for j in range(k['depth_tiles'])]
    read = np.array([fragment(k, image, i, j) for i, j in pairs])
    straight = np.array([columns(k, tile, i, j) for i, j in pairs])
    same = np.array_equal(read, straight)
    if same != (k['reader'] == k['placement']) and tile.any():
        raise ValueError('the readers of this file are wrong')
    return read


class SubtileLoaderSt8x32(Family):
    name = 'subtile_loader_st_8x32'

    def specs(self):
        return SPECS

    # ---- instructions

    def expect(self, k, arch):
        entry = k['entry']
        if entry == k['entry_image']:
            return tile_expect(k, arch, barriers=2, waves=free_waves(k, arch))
        if entry == k['entry_stream']:
            return stream_expect(k, arch)
        poisoned = int(k['reader'] != k['placement'])
        if entry == k['entry_fragments']:
            return tile_expect(k, arch, barriers=1 + poisoned,
                               waves=free_waves(k, arch),
                               **self._reads(k, arch, {1}))
        # The weights are ordinary loads, with waits of the compiler's own.
        # As many strips of them are asked for as the compiler unrolls.
        copies = k['iterations'] * copies_of_burst(arch)
        turns = unrolled(k['strips'])
        loads = copies if arch == 'gfx950' else 0
        reads = self._reads(k, arch, {n * k['depth_tiles'] for n in turns})
        width = operand_bytes(dtype_of(k), arch)
        parts = k['fragment_bytes'] // width
        products = {n * k['depth_tiles'] * parts for n in turns}
        reads['ops'] |= {
            mfma_name(dtype_of(k), 32, width, arch): products,
            'buffer_load_dwordx4': {
                loads + n * k['fragment_bytes'] // 8 for n in turns}}
        return tile_expect(k, arch, barriers=2 + poisoned, waits=None,
                           steady=(copies, None), mfma=products, **reads)

    def _reads(self, k, arch, fragments):
        """Reads of one of these numbers of fragments, and nothing else."""
        half = k['elem_bytes'] == 2
        instructions = k['fragment_bytes'] // 8
        if arch == 'gfx950':
            name = 'ds_read_b64_tr_b16' if half else 'ds_read_b64_tr_b8'
            tr = {n * instructions for n in fragments}
            return {'tr_reads': tr, 'ops': {name: tr, 'ds_read.*': tr}}
        each = {n * instructions * (4 if half else 8) for n in fragments}
        name = 'ds_read_u16.*' if half else 'ds_read_u8.*'
        return {'tr_reads': 0, 'ops': {name: each, 'ds_read.*': each}}

    def equivalents(self, k, arch):
        # Threads poison, write out and sum up a slot in vectors of 16 bytes, in
        # their order, in which the copies of v227 are not.
        if (k['placement'] == k['placement_v227'] or
                k['entry'] == k['entry_output']):
            return {}
        reason = ('each wave touches only the bytes that its own copies '
                  'bring, so its waits order them')
        if k['entry'] == k['entry_fragments']:
            return ({'barrier 0 removed': reason}
                    if k['reader'] != k['placement'] else {})
        return {'barrier 0 removed': reason, 'barrier 1 removed': reason}

    # ---- launches

    def cases(self, k, arch):
        row = k['ld'] * k['elem_bytes']
        keys, across = k['tile_keys'], k['src_cols'] // k['depth']
        if k['entry'] == k['entry_image']:
            return self._vector(k) + [
                # Partial and empty tiles, side by side where they fit.
                self._image(k, 'grid', keys // 2 + 1, 0, 2, min(2, across)),
                # Five keys on, from the last head.
                self._image(k, 'offset', keys, 5 * row + self._last(k), 1, 1)]
        if k['entry'] == k['entry_fragments']:
            return [self._fragments(k, 'partial', 2 * keys - 3,
                                    row * 2 + self._last(k), 2, 1),
                    self._fragments(k, 'side by side', keys, 0, 1,
                                    min(2, across))]
        if k['entry'] == k['entry_stream']:
            return self.mutant_cases(k, arch) + [
                # One or two tiles a block: fewer than may be in flight.
                self._stream(k, 'two rows of blocks', 2 * keys + 3, row, 3,
                             min(2, across), 2),
                self._stream(k, 'no keys', 0, 0, 2, 1, 1)]
        if k['num_warps'] > 4:  # many waves: one tile says as much
            return [self._output(k, arch, 'partial', keys - 3, row * 2, 1, 1,
                                 1, 18)]
        return [self._output(k, arch, 'partial', 2 * keys - 3,
                             row * 2 + self._last(k), 2, 1, 1, 18),
                self._output(k, arch, 'two blocks', keys, 0, 1,
                             min(2, across), 2, 9)]

    def mutant_cases(self, k, arch):
        """The smallest launches in which every slot is filled again."""
        row, keys = k['ld'] * k['elem_bytes'], k['tile_keys']
        if k['entry'] == k['entry_stream']:
            tiles = k['stages'] + 1
            return [self._stream(k, 'refilled', tiles * keys - 3, row, tiles,
                                 1, 1)]
        if k['entry'] == k['entry_image']:
            return [self._image(k, 'partial', keys, 5 * row, 1, 1)]
        if k['entry'] == k['entry_fragments']:
            return [self._fragments(k, 'partial', keys, 5 * row, 1, 1)]
        return self.cases(k, arch)[:1]

    def _last(self, k):
        """Byte of the last head of a row."""
        return (k['src_cols'] - k['depth']) * k['elem_bytes']

    def _tile(self, k, matrix, soffset, r, c):
        width = k['depth'] * k['elem_bytes']
        return matrix.at(r * k['tile_keys'] * matrix.stride + soffset +
                         c * width, k['tile_keys'], width)

    def _arguments(self, matrix, soffset, down, across, step=1, queries=0):
        def pack(source, output, weights=0):
            return struct.pack('<QQQqIIIIII', source, output, weights,
                               matrix.rows, soffset, down, across, step,
                               queries, 0)
        return pack

    def _case(self, k, name, matrix, soffset, grid, out, arguments, tiles,
              **counts):
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

    def _vector(self, k):
        """The specification's image of these parameters, if it has one."""
        if k['num_warps'] != 8 or k['ld'] != k['src_cols']:
            return []
        name = next((v for v in VECTORS if is_spec(k, v)), None)
        if name is None:
            return []
        rows, crc = VECTORS[name]
        matrix = Matrix(k, rows, name,
                        pattern(rows, k['ld'] * k['elem_bytes']))
        case = self._image_of(k, 'vector', matrix, 0, 1, 1)
        reached = (LAST if k['placement'] == k['placement_v227'] else
                   k['tile_bytes'])
        if zlib.crc32(case.expected['output'][:reached]) != crc:
            raise ValueError('the oracle differs from the specification')
        return [case]

    def _image(self, k, name, rows, *rest):
        return self._image_of(k, name, Matrix(k, rows, name), *rest)

    def _image_of(self, k, name, matrix, soffset, down, across):
        out = [slot_of(k, self._tile(k, matrix, soffset, r, c))
               for r in range(down) for c in range(across)]
        return self._case(k, name, matrix, soffset, (down, across), out,
                          self._arguments(matrix, soffset, down, across), [1],
                          barrier={2})

    def _fragments(self, k, name, rows, soffset, down, across):
        matrix = Matrix(k, rows, name)
        out = []
        for r in range(down):
            for c in range(across):
                tile = self._tile(k, matrix, soffset, r, c)
                out.append(fragments(k, tile, slot_of(k, tile)))
        return self._case(k, name, matrix, soffset, (down, across), out,
                          self._arguments(matrix, soffset, down, across), [1],
                          barrier={1 + (k['reader'] != k['placement'])})

    def _stream(self, k, name, rows, soffset, down, across, step):
        matrix = Matrix(k, rows, name)
        out = [fold([packed(k, slot_of(k, self._tile(k, matrix, soffset, r,
                                                     c)))
                     for r in range(x, down, step)], k['block_threads'] * 16)
               for x in range(step) for c in range(across)]
        tiles = {len(range(x, down, step)) for x in range(step)}
        return self._case(
            k, name, matrix, soffset, (step, across),
            [np.frombuffer(o, np.uint8) for o in out],
            self._arguments(matrix, soffset, down, across, step), tiles,
            barrier={2 * n for n in tiles})

    def _output(self, k, arch, name, rows, soffset, down, across, blocks,
                surplus):
        """P and V of whole numbers; `surplus` queries are missing in the last
        wave."""
        dtype, keys = dtype_of(k), down * k['tile_keys']
        queries = blocks * k['num_warps'] * 32 - surplus
        v = small_numbers((rows, k['ld']), name)
        matrix = Matrix(k, rows, name, numbers_to_bytes(
            encode(v, dtype, arch))[:(rows - 1) * k['ld'] * k['elem_bytes'] +
                                    k['src_cols'] * k['elem_bytes']])
        p = small_numbers((across, queries, keys), name + ' weights')
        first, column = divmod(soffset // k['elem_bytes'], k['ld'])
        used = np.zeros((keys, k['ld']))
        valid = v[first:first + keys]
        used[:len(valid)] = valid
        out = [p[c] @ used[:, column + c * k['depth']:][:, :k['depth']]
               for c in range(across)]
        strips = down * k['strips'] * k['depth_tiles']
        width = operand_bytes(dtype, arch)
        case = self._case(
            k, name, matrix, soffset, (blocks, across),
            [o.astype(np.float32) for o in out],
            self._arguments(matrix, soffset, down, across, 1, queries), [down],
            barrier={2 * down},
            mfma={strips * k['fragment_bytes'] // width},
            tr_read={strips * k['fragment_bytes'] // 8
                     if arch == 'gfx950' else 0})
        case.buffers.append(('weights', numbers_to_bytes(
            encode(p, dtype, arch)).tobytes()))
        return case


FAMILY = SubtileLoaderSt8x32()
