# SPDX-License-Identifier: Apache-2.0
"""What the kv buffers share in their tests: where a number lies in the squares
that tiles are cut into, by the closed form of their README; what lanes hold of
a tile, by rows and columns and again by the addresses that they read; products
in float64.  KvFamily has the launches of struct kv_args."""
import struct
import zlib

import numpy as np

from attention import (LANE, Matrix, copies_of_burst, dtype_of, fold,
                       free_waves, is_spec, mfma_name, numbers_to_bytes,
                       pattern, transposed)
from families import Case, Family, Spec
from inputs import encode, real_numbers, small_numbers, swizzled
from lint import GRANULE, VECTOR_REGISTERS

# The specification's tiles: parameters, valid rows, tile, CRC-32 of the image
# of its pattern.
VECTORS = {
    'role=K,BN=128,BK=32,WN=32,depth=128,src_cols=128':
        (128, 0, 0x01a5ba84),
    'role=K,BN=128,BK=32,WN=32,depth=128,src_cols=1024,swizzle_bits=3,'
    'swizzle_shift=4': (100, 2, 0x1f1a9333),
    'role=K,BN=64,BK=32,WN=32,depth=64,src_cols=256,swizzle_bits=2,'
    'swizzle_shift=2': (64, 1, 0x9058c405),
    'role=V,BN=128,BK=32,WN=32,depth=128,src_cols=256,swizzle_bits=3,'
    'swizzle_shift=4': (60, 1, 0xa1623f75)}
IMAGE_A, IMAGE_B, IMAGE_C, IMAGE_V = VECTORS

# Swizzles that read the bits 4 and 2 above those that they change.
BY_4, BY_2 = 'swizzle_bits=3,swizzle_shift=4', 'swizzle_bits=2,swizzle_shift=2'
SMALL = 'BN=64,BK=64,depth=64,src_cols=128,ld=136,num_warps=2'
# One tile a key block, so that a block may take any number of them, or three.
ONE = 'BK=32,src_cols=128,ld=136,num_warps=2'
THREE = 'BK=32,src_cols=192,num_warps=2'
SPECS = [
    Spec(IMAGE_A, listed=True), Spec(IMAGE_B, archs=('gfx90a',)),
    Spec(IMAGE_C, quick=True), Spec(IMAGE_V, archs=('gfx942', 'gfx950')),
    Spec(f'entry=fragments,{SMALL},{BY_4}', quick=True),
    Spec(f'entry=fragments,{SMALL},mma=m16x16x16,{BY_2}'),
    Spec(f'entry=fragments,role=V,WN=64,{SMALL},{BY_4}', quick=True),
    Spec(f'entry=fragments,role=V,{SMALL},mma=m16x16x16,{BY_2}'),
    # The field of the swizzle goes upwards.
    Spec(f'entry=fragments,role=V,{SMALL},swizzle_bits=1,swizzle_shift=-3',
         archs=('gfx942', 'gfx950')),
    Spec(f'entry=stream,BN=64,depth=64,src_cols=128,num_warps=2,{BY_4}',
         quick=True),
    Spec(f'entry=stream,role=V,{SMALL}', archs=('gfx942',)),
    Spec('entry=stream', listed=True),
    Spec(f'entry=scores,{ONE},BN=64,WN=64,depth=32,{BY_4}', quick=True),
    Spec(f'entry=scores,{THREE},BN=64,WN=64,depth=96'),
    Spec(f'entry=scores,dtype=f16,{SMALL},WN=64,mma=m16x16x16,{BY_2}'),
    Spec(f'entry=scores,{SMALL},mma=m16x16x32,{BY_2}', archs=('gfx950',)),
    # The narrow instructions, where there are wide ones.
    Spec(f'entry=scores,dtype=f16,{SMALL},mma=m32x32x8', archs=('gfx950',)),
    Spec('entry=scores', listed=True),
    Spec(f'entry=output,{ONE},BN=32,depth=64,{BY_4}', quick=True),
    Spec(f'entry=output,{THREE},BN=96,WN=96,depth=64'),
    Spec(f'entry=output,dtype=f16,{SMALL},mma=m16x16x16,{BY_2}'),
    Spec(f'entry=output,{SMALL},mma=m16x16x32,{BY_4}', archs=('gfx950',)),
    Spec('entry=output', listed=True),
    # As near to a lane's registers as the rules let them come.
    Spec('entry=output,BN=256,BK=64,WN=128,depth=192,num_warps=4,mma=m32x32x8'),
    Spec('entry=output,BN=512,BK=128,WN=512,depth=64,num_warps=8,'
         f'mma=m16x16x16,{BY_2}'),
]


# ---- squares

def places(k, rows, cols, panel):
    """(row, column byte) of each byte of rows x cols numbers."""
    across = panel // 32
    in_panel = rows // 32 * across
    b = np.arange(rows * cols * 2)
    square, v = b // 2048, swizzled(k, b % 2048 // 16)
    row = square % in_panel // across * 32 + v // 4
    column = square // in_panel * panel + square % across * 32
    return row, column * 2 + v % 4 * 16 + b % 16


def image_of(k, tile, panel=None):
    """The image of a tile (rows, bytes)."""
    rows, cols = tile.shape[0], tile.shape[1] // 2
    return tile[places(k, rows, cols, panel or cols)]


def address(k, rows, panel, row, col):
    """Where a reader finds a number."""
    across = panel // 32
    square = (col // panel * (rows // 32 * across) + row // 32 * across +
              col % panel // 32)
    return (square * 2048 +
            swizzled(k, row % 32 * 4 + col % 32 // 8) * 16 + col % 8 * 2)


# ---- what lanes hold

def held_keys(k, tile, strip, first):
    """(64, 8) numbers of K, of m rows from `first` on."""
    m = k['mma_n']
    col = strip * (512 // m) + LANE[:, None] // m * 8 + np.arange(8)
    return tile[first + LANE[:, None] % m, col]


def held_values(k, tile, strip, first):
    """(64, 8) numbers of V, of m columns from `first` on."""
    m, e = k['mma_n'], np.arange(8)
    row = (strip * (512 // m) + 256 // m * (e // 4) +
           4 * (LANE[:, None] // m) + e % 4)
    return tile[row, first + LANE[:, None] % m]


def read_keys(k, image, rows, panel, strip, first):
    """(64, 16) bytes, by one read of 16 each."""
    m = k['mma_n']
    at = address(k, rows, panel, first + LANE % m,
                 strip * (512 // m) + LANE // m * 8)
    return image[at[:, None] + np.arange(16)]


def read_values(k, image, rows, panel, strip, first):
    """(64, 16) bytes, by two transposing reads."""
    m = k['mma_n']
    parts = []
    for half in range(2):
        row = (strip * (512 // m) + 256 // m * half + 4 * (LANE // m) +
               LANE % 16 // 4)
        col = first + LANE % m // 16 * 16 + LANE % 4 * 4
        at = address(k, rows, panel, row, col)
        parts.append(transposed(image, at, 2))
    return np.concatenate(parts, axis=1)


def fragment(k, keys, tile, image, panel, strip, first):
    """(64, 16) bytes; both ways must come to the same."""
    numbers = np.ascontiguousarray(tile).view(np.uint16)
    held = (held_keys if keys else held_values)(k, numbers, strip, first)
    held = np.ascontiguousarray(held).view(np.uint8)
    read = (read_keys if keys else read_values)(
        k, image, len(tile), panel, strip, first)
    if not np.array_equal(held, read):
        raise ValueError('the readers of this file are wrong')
    return held


# ---- products

def numbers(dtype, arch, shape, seed, real=False, most=4):
    """16-bit codes and their values: whole numbers whose products sum up
    exactly in every order, or real ones."""
    if real:
        return real_numbers(shape, seed, dtype)
    values = small_numbers(shape, seed, most)
    return encode(values, dtype, arch), values


def slack(terms, total):
    """How far a float32 sum of so many products may be from the true one;
    total is that of their sizes."""
    return (terms + 2) * 2.0 ** -23 * total


def floats(values):
    return (values + 0.0).astype(np.float32)


def rows_of(values, first, count, column, width):
    """`count` rows and `width` columns of a slab, zeros behind its end."""
    out = np.zeros((count, width))
    valid = values[first:first + count, column:column + width]
    out[:len(valid)] = valid
    return out


# ---- instructions

def copies_of_tile(k, arch, size):
    """Copy instructions of a wave for so many bytes."""
    return size // 1024 // k['num_warps'] * copies_of_burst(arch)


def reads_of(keys, arch, fragments):
    """tr_reads and ops of Expect: reads of one of these numbers of fragments
    and no other."""
    if keys:
        return {'tr_reads': 0,
                'ops': {'ds_read_b128': fragments, 'ds_read.*': fragments}}
    if arch == 'gfx950':
        tr = {2 * n for n in fragments}
        return {'tr_reads': tr,
                'ops': {'ds_read_b64_tr_b16': tr, 'ds_read.*': tr}}
    each = {8 * n for n in fragments}
    return {'tr_reads': 0, 'ops': {'ds_read_u16.*': each, 'ds_read.*': each}}


def products_of(k, arch, fragments):
    """mfma and ops of Expect for one of these numbers of fragments."""
    counts = {n * k['group'] for n in fragments}
    name = mfma_name(dtype_of(k), k['mma_n'], k['mma_bytes'], arch)
    return {'mfma': counts, 'ops': {name: counts}}


class KvFamily(Family):
    """The launches of struct kv_args.  A family says how tiles come into
    shared memory."""

    def specs(self):
        return SPECS

    def tile_copies(self, k, arch):
        """Copy instructions of a wave for a tile."""
        raise NotImplementedError

    def bringer(self, k, chunk):
        """The wave that writes a KiB of the tile."""
        raise NotImplementedError

    # ---- constants

    @staticmethod
    def is_keys(k):
        return k['role'] == k['role_K']

    @staticmethod
    def fragments(k):
        """Of a wave and a tile."""
        return k['num_k_tiles'] * k['num_mmas']

    def operand_loads(self, k):
        """Of a tile's strips of Q or P."""
        return k['num_k_tiles'] * (1 if self.is_keys(k) else 2)

    def waves(self, k, arch, results, staged, other):
        """Waves per SIMD that registers leave room for: `results` times the
        accumulators, strips of the operand, fragments, those gathered with a
        register for each number, `staged` vectors of tiles and `other`
        registers."""
        gathered = not self.is_keys(k) and arch != 'gfx950'
        kept = (results * k['num_mmas'] * k['mma_n'] ** 2 // 64 +
                4 * k['num_k_tiles'] + 4 * staged + other +
                self.fragments(k) * (8 if gathered else 4))
        room = VECTOR_REGISTERS // (-(-kept // GRANULE) * GRANULE)
        return min(free_waves(k, arch), room)

    # ---- what barriers prove

    def readers(self, k, square):
        """Waves that read of a square."""
        rows = k['num_warps'] // k['warps_n']
        across = k['tile_cols'] // 32
        first = (square // across if self.is_keys(k) else
                 square % across) * 32
        size = k['wave_size']
        columns = range(first // size, -(-(first + 32) // size))
        return {row * k['warps_n'] + c for row in range(rows)
                for c in columns}

    def crosses(self, k):
        """Does a wave touch what another one brings?  Tiles are written out
        and summed up KiB by KiB, waves in turn."""
        chunks = range(2 * k['squares'])
        if k['entry'] in (k['entry_image'], k['entry_stream']):
            return any(self.bringer(k, c) != c % k['num_warps']
                       for c in chunks)
        return any(self.readers(k, c // 2) != {self.bringer(k, c)}
                   for c in chunks)

    def equivalents(self, k, arch):
        if self.crosses(k):
            return {}
        return {r'(barrier \d+|lgkmcnt wait \d+ for 0 at a barrier) .*':
                'each wave touches only what it brings itself, and its own '
                'accesses are in order'}

    # ---- launches

    def cases(self, k, arch):
        block, last = k['BN'], k['src_cols'] - k['depth']
        heads = min(2, k['src_cols'] // k['depth'])
        if k['entry'] in (k['entry_image'], k['entry_fragments']):
            return self._vector(k, arch) + self.mutant_cases(k, arch) + [
                # A whole, a partial and an empty key block.
                self._tiles(k, arch, 'grid', block + 9, 3,
                            min(2, k['steps']))]
        if k['entry'] == k['entry_stream']:
            return self.mutant_cases(k, arch) + [
                self._stream(k, arch, 'two heads', 2 * block + 3, 3, 2,
                             heads),
                self._stream(k, arch, 'no keys', 0, 2, 1, 1)]
        if k['num_warps'] > 2:  # many waves: one launch says as much
            return self.mutant_cases(k, arch)[:1]
        real = self._product(k, arch, 'real', block + block // 2, 1, 5,
                             key_blocks=2, first_row=1, first_col=last,
                             real=True)
        return self.mutant_cases(k, arch) + [
            real, self._product(k, arch, 'two blocks', 2 * block + 7, 2,
                                k['mma_n'] + 1, key_blocks=3,
                                block_step=2 if self.is_keys(k) else 1)]

    def mutant_cases(self, k, arch):
        """The smallest launches in which the slot is filled again; odd and
        even numbers of tiles, one and none, where they may be."""
        block, last = k['BN'], k['src_cols'] - k['depth']
        if k['entry'] in (k['entry_image'], k['entry_fragments']):
            return [self._tiles(k, arch, 'partial', block - 5, 1, 1,
                                first_row=2, first_tile=k['steps'] - 1,
                                first_col=last)]
        if k['entry'] == k['entry_stream']:
            return [self._stream(k, arch, f'every {n}', 3 * block - 5, 3, n, 1,
                                 first_row=2, first_col=last)
                    for n in (1, 2, 4) if n <= 3 * k['steps']]
        return [self._product(k, arch, f'{n} key blocks',
                              max(n * block - 5, 0), 1, 5, key_blocks=n,
                              first_row=2, first_col=last)
                for n in ((4, 3, 1, 0) if k['steps'] == 1 else (2, 1))]

    def _values(self, given):
        return {**dict.fromkeys(('first_row', 'first_col', 'first_tile',
                                 'queries'), 0),
                **dict.fromkeys(('key_blocks', 'tiles', 'block_step',
                                 'heads'), 1), **given}

    def _case(self, k, arch, name, matrix, grid, out, given, tiles, barriers,
              operand=None, near=None, **counts):
        """Outputs `out`, a list of arrays, of blocks that bring one of these
        numbers of tiles each."""
        a = self._values(given)
        expected = b''.join(np.ascontiguousarray(o).tobytes() for o in out)

        def pack(source, output, operand=0):
            return struct.pack(
                '<QQQqqIIIIIIII', source, operand, output, matrix.rows,
                *(a[n] for n in ('first_row', 'first_col', 'key_blocks',
                                 'first_tile', 'tiles', 'queries',
                                 'block_step', 'heads')), 0)
        buffers = [('source', matrix.bytes.tobytes()),
                   ('output', bytes([0xA5]) * len(expected))]
        if operand is not None:
            buffers.append(('operand', operand))
        copies = self.tile_copies(k, arch)
        return Case(
            name, (*grid, 1), buffers, pack,
            {} if near else {'output': expected},
            {'dma': {copies * n for n in tiles}, 'barrier': barriers,
             **counts}, {'output': near} if near else None)

    def _tile(self, k, matrix, a, block, step, head=0):
        row = a['first_row'] + block * k['BN']
        column = a['first_col'] + head * k['depth']
        if self.is_keys(k):
            column += step * k['BK']
        else:
            row += step * k['BK']
        return matrix.at(row * matrix.stride + column * 2, k['tile_rows'],
                         k['tile_cols'] * 2)

    def _vector(self, k, arch):
        """The specification's image of these parameters, if it has one."""
        name = next((v for v in VECTORS if is_spec(k, v)), None)
        if (name is None or k['ld'] != k['src_cols'] or
                k['entry'] != k['entry_image']):
            return []
        rows, step, crc = VECTORS[name]
        matrix = Matrix(k, rows, name, pattern(rows, k['ld'] * 2))
        case = self._tiles_of(k, arch, 'vector', matrix, 1, 1,
                              first_tile=step)
        if zlib.crc32(case.expected['output']) != crc:
            raise ValueError('the oracle differs from the specification')
        return [case]

    def _tiles(self, k, arch, name, rows, *rest, **given):
        return self._tiles_of(k, arch, name, Matrix(k, rows, name), *rest,
                              **given)

    def _tiles_of(self, k, arch, name, matrix, blocks, steps, **given):
        given = {**given, 'key_blocks': blocks, 'tiles': steps}
        a = self._values(given)
        tiles = [self._tile(k, matrix, a, b, a['first_tile'] + t)
                 for b in range(blocks) for t in range(steps)]
        image = k['entry'] == k['entry_image']
        out = [image_of(k, t) if image else self._fragments_of(k, t)
               for t in tiles]
        return self._case(k, arch, name, matrix, (blocks, steps), out, given,
                          {1}, {3 if image else 2})

    def _fragments_of(self, k, tile):
        """[wave][strip][i][lane][byte]"""
        image, keys = image_of(k, tile), self.is_keys(k)
        return np.array([
            fragment(k, keys, tile, image, k['tile_cols'], strip,
                     w % k['warps_n'] * k['wave_size'] + i * k['mma_n'])
            for w in range(k['num_warps']) for strip in range(k['num_k_tiles'])
            for i in range(k['num_mmas'])])

    def _stream(self, k, arch, name, rows, blocks, step, heads, **given):
        given = {**given, 'key_blocks': blocks, 'block_step': step,
                 'heads': heads}
        a, matrix = self._values(given), Matrix(k, rows, name)
        total = blocks * k['steps']
        out = [fold([image_of(k, self._tile(k, matrix, a,
                                            *divmod(t, k['steps']), h))
                     for t in range(x, total, step)], k['block_threads'] * 16)
               for x in range(step) for h in range(heads)]
        tiles = {len(range(x, total, step)) for x in range(step)}
        return self._case(
            k, arch, name, matrix, (step, heads),
            [np.frombuffer(o, np.uint8) for o in out], given, tiles,
            {2 * n for n in tiles})

    def _product(self, k, arch, name, rows, blocks, surplus, real=False,
                 **given):
        """Scores or outputs; `surplus` queries are missing in the last
        block."""
        dtype, a = dtype_of(k), self._values(given)
        keys, depth = a['key_blocks'] * k['BN'], k['depth']
        queries = blocks * k['wave_rows'] * k['mma_n'] - surplus
        codes, values = numbers(dtype, arch, (rows, k['ld']), name, real)
        matrix = Matrix(k, rows, name, numbers_to_bytes(codes))
        used = rows_of(values, a['first_row'], keys, a['first_col'], depth)
        right = used.T if self.is_keys(k) else used
        codes, left = numbers(dtype, arch, (queries, len(right)),
                              name + ' operand', real)
        out = left @ right
        near = (out, slack(len(right), np.abs(left) @ np.abs(right)))
        step = a['block_step']
        tiles = {k['steps'] * len(range(y, a['key_blocks'], step))
                 for y in range(step)}
        strips = {n * self.fragments(k) for n in tiles}
        transposing = arch == 'gfx950' and not self.is_keys(k)
        return self._case(
            k, arch, name, matrix, (blocks, step), [floats(out)],
            {**given, 'queries': queries}, tiles, {2 * n for n in tiles},
            numbers_to_bytes(codes).tobytes(), near if real else None,
            mfma={n * k['group'] for n in strips},
            tr_read={2 * n if transposing else 0 for n in strips})
