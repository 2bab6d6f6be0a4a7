# SPDX-License-Identifier: Apache-2.0
"""kv_buffer_lds: one slot, filled by copies, a wait for all of them and two
barriers for each tile."""
from attention import copies_of_burst, free_waves
from families import Expect
from kv import KvFamily, copies_of_tile, products_of, reads_of


class KvBufferLds(KvFamily):
    name = 'kv_buffer_lds'

    def tile_copies(self, k, arch):
        return copies_of_tile(k, arch, k['tile_bytes'])

    def bringer(self, k, chunk):
        return chunk // 2 % k['num_warps']

    def expect(self, k, arch):
        entry, copies = k['entry'], self.tile_copies(k, arch)
        wanted = {'dma': copies, 'dma_bytes': 16 // copies_of_burst(arch),
                  'waits': [0], 'waves': free_waves(k, arch)}
        if entry == k['entry_image']:
            return Expect(**wanted, barriers=3)
        if entry == k['entry_stream']:
            return Expect(**wanted, barriers=2, steady=(copies, [0]))
        count = {self.fragments(k)}
        reads = reads_of(self.is_keys(k), arch, count)
        if entry == k['entry_fragments']:
            return Expect(**wanted, barriers=2, **reads)
        # Q and P are ordinary loads in front of the copies.  The compiler does
        # not see that the wait for these is one for them.
        loads = self.operand_loads(k)
        products = products_of(k, arch, count)
        reads['ops'] |= products.pop('ops')
        wide = copies if arch == 'gfx950' else 0
        reads['ops'] |= ({'buffer_load_dwordx4': loads + wide}
                         if self.is_keys(k) else
                         {'buffer_load_dwordx4': wide,
                          'buffer_load_dwordx2': loads})
        wanted['waves'] = self.waves(k, arch, 1, 0, 40)
        return Expect(**wanted, barriers=2, added=range(loads),
                      steady=(copies, [0], range(loads)), **products, **reads)


FAMILY = KvBufferLds()
