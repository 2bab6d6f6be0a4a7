# SPDX-License-Identifier: Apache-2.0
"""What the loaders of attention's keys and values share in their tests: the
matrix they read, what a stream folds, and the instructions that the archs have.
"""
import numpy as np

from families import Expect
from inputs import random_bytes
from lint import LDS_BYTES, LDS_GRANULE, MOST_WAVES, SIMDS

DTYPES = ('bf16', 'f16', 'fp8')
LANE = np.arange(64)


def dtype_of(k):
    return next(d for d in DTYPES if k['dtype'] == k[f'dtype_{d}'])


def is_spec(k, parameters):
    """Has a source these parameters, "NAME=VALUE,..."?"""
    return all(k[name] == k.get(f'{name}_{value}') or str(k[name]) == value
               for name, value in
               (part.split('=') for part in parameters.split(',')))


class Matrix:
    """A source of `rows` valid rows, the last cut at src_cols: random bytes,
    none of them zero, or those given.  Without elem_bytes numbers have 16
    bits."""

    def __init__(self, k, rows, seed, data=None):
        size = k.get('elem_bytes', 2)
        self.stride = k['ld'] * size
        width = k['src_cols'] * size
        size = (rows - 1) * self.stride + width if rows > 0 else 0
        self.rows = rows
        self.bytes = random_bytes(size, seed) if data is None else data[:size]
        if len(self.bytes) != size:
            raise ValueError(f'{len(self.bytes)} bytes for {size}')

    def at(self, start, rows, width):
        """The (rows, width) bytes from byte `start` on; behind the end there
        are zeros, behind the end of a row lies the next one."""
        at = (start + np.arange(rows)[:, None] * self.stride +
              np.arange(width))
        out = np.zeros(at.shape, np.uint8)
        good = at < len(self.bytes)
        out[good] = self.bytes[at[good]]
        return out


def pattern(rows, stride):
    """The specification's source: a hash of row and byte column, never 0."""
    row = np.arange(rows, dtype=np.uint64)[:, None]
    byte = np.arange(stride, dtype=np.uint64)
    hashed = (row * 0x9E3779B1 + byte * 0x85EBCA6B + 0xC2B2AE35) & 0xffffffff
    return (1 + (hashed >> np.uint64(24)) % 255).astype(np.uint8).reshape(-1)


def fold(tiles, block_bytes):
    """What a block XORs out of its tiles, 16 bytes per thread."""
    total = np.zeros(block_bytes, np.uint8)
    for tile in tiles:
        for at in range(0, len(tile), block_bytes):
            part = tile[at:at + block_bytes]
            total[:len(part)] ^= part
    return total.tobytes()


def transposed(image, addresses, size):
    """(64 lanes, 8 bytes) of a transposing read.  16 lanes name a matrix row by
    row, 16 elements of `size` bytes in a row; lane l gets column l % 16."""
    per = 8 // size  # elements of a lane, and rows of the matrix
    named = image[addresses[:, None] + np.arange(8)].reshape(64, per, size)
    n = np.arange(per)
    source = (LANE[:, None] & ~15) + LANE[:, None] % 16 // per + 16 // per * n
    return named[source, LANE[:, None] % per].reshape(64, 8)


def numbers_to_bytes(codes):
    return np.ascontiguousarray(codes).reshape(-1).view(np.uint8)


def mfma_name(dtype, m, operand_bytes, arch):
    """The mnemonic, as a regular expression, of a matrix instruction that
    takes so many bytes per lane."""
    depth = operand_bytes * 64 // m // (1 if dtype == 'fp8' else 2)
    shape = rf'{m}x{m}x{depth}'
    if dtype != 'fp8':
        return (rf'v_mfma_f32_{shape}{dtype}(_1k)?' if arch == 'gfx90a' else
                rf'v_mfma_f32_{shape}_{dtype}')
    if operand_bytes == 32:
        return rf'v_mfma_scale_f32_{shape}_f8f6f4'
    return rf'v_mfma_f32_{shape}_fp8_fp8'


def operand_bytes(dtype, arch):
    """What the arch's widest matrix instruction takes of a lane."""
    if arch == 'gfx950':
        return 32 if dtype == 'fp8' else 16
    return 8


def copies_of_burst(arch):
    """Copy instructions for a KiB."""
    return 1 if arch == 'gfx950' else 4


def unrolled(trips):
    """How many of a loop's turns the compiler may put side by side: the
    parts of a whole."""
    return {n for n in range(1, trips + 1) if trips % n == 0}


def free_waves(k, arch):
    """Waves per SIMD that shared memory alone allows, of 8."""
    per_block = k['block_threads'] // 64
    size = -(-k['shared_bytes'] // LDS_GRANULE[arch]) * LDS_GRANULE[arch]
    blocks = min(MOST_WAVES * SIMDS // per_block, LDS_BYTES[arch] // size)
    return min(MOST_WAVES, -(-blocks * per_block // SIMDS))


def tile_expect(k, arch, **more):
    """Expect of an entry that loads one tile at a time and waits for all of
    it."""
    wanted = {'dma': k['iterations'] * copies_of_burst(arch),
              'dma_bytes': 16 // copies_of_burst(arch), 'waits': [0]}
    return Expect(**{**wanted, **more})


def stream_expect(k, arch):
    """A ring of `stages` slots: a wait of the steady state, one of the tail.
    Without tiles in flight they are the same and may be merged; the first
    tiles are requested in a loop, unrolled or not."""
    copies = k['iterations'] * copies_of_burst(arch)
    ahead = k['stages'] - 1
    waits = [[0, ahead * copies]] + ([[0]] if ahead == 0 else [])
    return tile_expect(
        k, arch, dma={copies * (1 + ahead), copies * (1 + min(ahead, 1))},
        waits=waits, barriers=2, steady=(copies, waits))
