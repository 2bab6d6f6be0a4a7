# SPDX-License-Identifier: Apache-2.0
"""kv_buffer_pipelined: K and V through two stages by counted waits.  Which bytes
lie in a stage, by the closed form of kv.py; O in float64, with scores rounded
in between."""
import struct

import numpy as np

from attention import (Matrix, copies_of_burst, dtype_of, fold, free_waves,
                       numbers_to_bytes)
from families import Case, Expect, Family, Spec
from kv import (BY_2, BY_4, copies_of_tile, floats, image_of, numbers,
                products_of, reads_of, rows_of, slack)
from lint import VECTOR_REGISTERS

POISON = 0xEE
SMALL = 'BN=32,depth=64,src_cols=128,ld=136,num_warps=2'
SPECS = [
    Spec(f'{SMALL},{BY_4}', quick=True),
    Spec('BN=32,BK=64,depth=128,src_cols=256,num_warps=2',
         archs=('gfx942', 'gfx950')),
    Spec('dtype=f16,BN=64,BK=64,depth=64,num_warps=4,mma=m16x16x16,'
         f'{BY_2}'),
    Spec(f'{SMALL},mma=m16x16x32,{BY_2}', archs=('gfx950',)),
    # The narrow instructions, where there are wide ones.
    Spec(f'dtype=f16,{SMALL},mma=m32x32x8', archs=('gfx950',)),
    Spec('', listed=True),
    Spec(f'entry=image,{SMALL},{BY_4}', quick=True),
    Spec(f'entry=image,BN=64,BK=64,depth=128,num_warps=4,{BY_2}',
         archs=('gfx950',)),
    Spec(f'entry=stream,{SMALL}', quick=True),
    Spec('entry=stream', listed=True),
]
# Largest whole number of K, V and Q: scores must be rounded, sums be exact.
MOST = 16


def rounded(x, dtype):
    """To the nearest 16-bit number, ties to even."""
    if dtype == 'f16' and (np.abs(x) >= 65504).any():
        raise ValueError('f16 has no such number')
    digits, lowest = (11, -24) if dtype == 'f16' else (8, -133)
    unit = 2.0 ** np.maximum(np.frexp(x)[1] - digits, lowest)
    return np.rint(x / unit) * unit


class KvBufferPipelined(Family):
    name = 'kv_buffer_pipelined'

    def specs(self):
        return SPECS

    # ---- constants

    @staticmethod
    def fragments(k):
        """Of K and of V, of a wave and a key block."""
        strip = 512 // k['mma_n']
        return (k['BN'] // k['mma_n'] * (k['depth'] // strip),
                k['BN'] // strip * (k['depth'] // k['mma_n']))

    @staticmethod
    def copies(k, arch):
        """Of a wave, for K or for V of a key block."""
        return copies_of_tile(k, arch, k['BN'] * k['depth'] * 2)

    # ---- instructions

    def expect(self, k, arch):
        copies = self.copies(k, arch)
        # K of this key block, in the last round all, V of this key block.
        waits = [copies, 0, 2 * copies]
        wanted = {'dma': 4 * copies, 'dma_bytes': 16 // copies_of_burst(arch),
                  'waits': waits, 'steady': (2 * copies, waits)}
        free = free_waves(k, arch)
        if k['entry'] != k['entry_attention']:
            image = k['entry'] == k['entry_image']
            return Expect(**wanted, barriers=3 if image else 2, waves=free)
        # What the lane keeps, and the rule that leaves 128 registers for all
        # else.
        wanted['waves'] = min(free, VECTOR_REGISTERS //
                              (k['lane_registers'] + 128))
        # Q is loaded and waited for in front of the loop.
        queries = k['depth'] * k['mma_n'] // 512
        keys, values = self.fragments(k)
        products = products_of(k, arch, {keys + values})
        reads = reads_of(False, arch, {values})
        every, = reads['ops'].pop('ds_read.*')
        return Expect(
            **wanted, barriers=2, added=range(queries), mfma=products['mfma'],
            tr_reads=reads['tr_reads'],
            ops={**products['ops'], **reads['ops'], 'ds_read_b128': keys,
                 'ds_read.*': keys + every,
                 'buffer_load_dwordx4':
                     queries + (4 * copies if arch == 'gfx950' else 0)})

    def equivalents(self, k, arch):
        if k['entry'] != k['entry_image']:
            return {}
        copies = self.copies(k, arch)
        return {
            rf'vmcnt wait \d+ for ({copies}|{2 * copies})( at a barrier)? .*':
                'an image is read behind the last round, which waits for all; '
                'either of the two waits of a round keeps copies off those '
                'still under way to the same stage',
            'lgkmcnt wait 0 for 0 at a barrier loosened':
                'the youngest write of the poison is done by the next barrier, '
                'behind which the first copies to its stage are',
            'barrier [12] removed':
                'in the last round both stand behind the wait for all, and '
                'before it nothing is read'}

    # ---- launches

    def cases(self, k, arch):
        block, last = k['BN'], k['src_cols'] - k['depth']
        heads = min(2, k['src_cols'] // k['depth'])
        cases = self.mutant_cases(k, arch)
        if k['entry'] == k['entry_image']:
            return cases + [
                self._image(k, arch, 'two blocks', 3 * block - 7, 2, 2),
                self._image(k, arch, 'one stage', block, 1, 1),
                self._image(k, arch, 'no rows', 0, 1, 2)]
        if k['entry'] == k['entry_stream']:
            return cases + [
                self._stream(k, arch, 'two heads', 4 * block + 3, 5, 2,
                             heads),
                self._stream(k, arch, 'no rows', 0, 2, 1, 1)]
        if k['num_warps'] > 2:  # many waves: one launch says as much
            return cases
        return cases + [
            self._attention(k, arch, 'two blocks', block + 9, 2, 3,
                            key_blocks=2),
            self._attention(k, arch, 'one key block', block, 1,
                            k['mma_n'] + 1),
            self._attention(k, arch, 'no key blocks', 0, 1, 0, key_blocks=0),
            self._attention(k, arch, 'real', 2 * block + 9, 1, 5, real=True,
                            key_blocks=2, first_row=9, first_col=last)]

    def mutant_cases(self, k, arch):
        """The smallest launches in which each stage is filled again."""
        rows, last = 3 * k['BN'] - 5, k['src_cols'] - k['depth']
        where = {'first_row': 2, 'first_col': last}
        if k['entry'] == k['entry_image']:
            return [self._image(k, arch, 'three', rows, 1, 3, **where)]
        if k['entry'] == k['entry_stream']:
            return [self._stream(k, arch, 'three', rows, 3, 1, 1, **where)]
        return [self._attention(k, arch, 'three', rows, 1, 5, key_blocks=3,
                                **where)]

    def _case(self, k, arch, name, slabs, grid, out, given, counts,
              queries=None, near=None):
        """Outputs `out`, a list of arrays, of blocks that bring one of these
        numbers of key blocks each."""
        a = {**dict.fromkeys(('first_row', 'first_col', 'query_count',
                              'tiles'), 0),
             **dict.fromkeys(('key_blocks', 'block_step', 'heads'), 1),
             **given}
        expected = b''.join(np.ascontiguousarray(o).tobytes() for o in out)

        def pack(keys, values, output, queries=0):
            return struct.pack(
                '<QQQQqqIIIIII', keys, values, queries, output, slabs[0].rows,
                *(a[n] for n in ('first_row', 'first_col', 'key_blocks',
                                 'query_count', 'tiles', 'block_step',
                                 'heads')))
        buffers = [('keys', slabs[0].bytes.tobytes()),
                   ('values', slabs[1].bytes.tobytes()),
                   ('output', bytes([0xA5]) * len(expected))]
        if queries is not None:
            buffers.append(('queries', queries))
        image = k['entry'] == k['entry_image']
        copies = 2 * self.copies(k, arch)
        keys, values = self.fragments(k)
        events = {'dma': {copies * n for n in counts},
                  'barrier': {2 * n + image for n in counts}}
        if queries is not None:
            tr = 2 * values if arch == 'gfx950' else 0
            events |= {'mfma': {n * (keys + values) * k['group']
                                for n in counts},
                       'tr_read': {n * tr for n in counts}}
        return Case(name, (*grid, 1), buffers, pack,
                    {} if near else {'output': expected}, events,
                    {'output': near} if near else None)

    def _slabs(self, k, name, rows):
        return [Matrix(k, rows, f'{name} {which}') for which in ('K', 'V')]

    def _stage(self, k, slabs, given, block, head=0):
        """Images of K and V of a key block."""
        row = given.get('first_row', 0) + block * k['BN']
        column = given.get('first_col', 0) + head * k['depth']
        tiles = [s.at(row * s.stride + column * 2, k['BN'], k['depth'] * 2)
                 for s in slabs]
        return [image_of(k, tiles[0], k['BK']), image_of(k, tiles[1])]

    def _image(self, k, arch, name, rows, blocks, tiles, **given):
        slabs = self._slabs(k, name, rows)
        out = np.full((blocks, 2, 2, k['BN'] * k['depth'] * 2), POISON,
                      np.uint8)
        for b in range(blocks):
            for n in range(tiles):
                out[b, n % 2] = self._stage(k, slabs, given, b * tiles + n)
        return self._case(k, arch, name, slabs, (blocks, 1), [out],
                          {**given, 'tiles': tiles}, {tiles})

    def _stream(self, k, arch, name, rows, blocks, step, heads, **given):
        slabs = self._slabs(k, name, rows)
        out = [fold([image for b in range(x, blocks, step)
                     for image in self._stage(k, slabs, given, b, h)],
                    k['block_threads'] * 16)
               for x in range(step) for h in range(heads)]
        return self._case(
            k, arch, name, slabs, (step, heads),
            [np.frombuffer(o, np.uint8) for o in out],
            {**given, 'key_blocks': blocks, 'block_step': step,
             'heads': heads}, {len(range(x, blocks, step))
                               for x in range(step)})

    def _attention(self, k, arch, name, rows, blocks, surplus, real=False,
                   **given):
        """`surplus` queries are missing in the last block."""
        dtype, depth = dtype_of(k), k['depth']
        count = given.get('key_blocks', 1)
        queries = blocks * k['num_warps'] * k['mma_n'] - surplus
        shape = (rows, k['ld'])
        made = [numbers(dtype, arch, s, f'{name} {which}', real, MOST)
                for which, s in (('K', shape), ('V', shape),
                                 ('Q', (queries, depth)))]
        slabs = [Matrix(k, rows, name, numbers_to_bytes(codes))
                 for codes, _ in made[:2]]
        keys, values = (rows_of(v, given.get('first_row', 0), count * k['BN'],
                                given.get('first_col', 0), depth)
                        for _, v in made[:2])
        q = made[2][1]
        scores = q @ keys.T
        p = rounded(scores, dtype)
        out, size = p @ values, np.abs(p) @ np.abs(values)
        near = None
        if real:
            # A score near a tie may have been rounded the other way.
            off = slack(depth, np.abs(q) @ np.abs(keys).T)
            off = rounded(scores + off, dtype) - rounded(scores - off, dtype)
            near = (out, slack(p.shape[1], size) + off @ np.abs(values))
        elif count and ((p == scores).all() or size.max() >= 1 << 24):
            raise ValueError('nothing is rounded, or sums are not exact')
        return self._case(
            k, arch, name, slabs, (blocks, 1), [floats(out)],
            {**given, 'query_count': queries}, {count},
            numbers_to_bytes(made[2][0]).tobytes(), near)


FAMILY = KvBufferPipelined()
