# SPDX-License-Identifier: Apache-2.0
"""plain_read: ordinary loads only, so that all waits are the compiler's."""
import struct

import numpy as np

from families import Case, Expect, Family, Spec
from inputs import random_bytes


class PlainRead(Family):
    name = 'plain_read'

    def specs(self):
        return [Spec('num_warps=2,unroll=4', quick=True, listed=True),
                Spec('num_warps=1,unroll=1')]

    def expect(self, k, arch):
        return Expect(dma=0, dma_bytes=0, waits=None, barriers=0)

    def cases(self, k, arch):
        return [self._case(k, 'three blocks', 7, 3),
                self._case(k, 'nothing', 0, 1)]

    def _case(self, k, name, steps, blocks):
        source = random_bytes(steps * k['step_bytes'], name)
        sums = np.zeros((blocks, k['block_bytes']), np.uint8)
        for step in range(steps):
            at = step * k['step_bytes']
            parts = source[at:at + k['step_bytes']].reshape(k['unroll'], -1)
            sums[step % blocks] ^= np.bitwise_xor.reduce(parts)
        return Case(
            name, (blocks, 1, 1),
            [('source', source.tobytes()), ('sums', bytes(sums.size))],
            lambda source, sums: struct.pack('<QQII', source, sums, steps,
                                             blocks),
            {'sums': sums.tobytes()}, {'dma': {0}, 'barrier': {0}})


FAMILY = PlainRead()
