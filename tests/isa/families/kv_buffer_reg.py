# SPDX-License-Identifier: Apache-2.0
"""kv_buffer_reg: one slot, filled from registers that were loaded a tile ahead.
All waits for device memory are the compiler's, and in the steady state each of
them leaves the tile to come in flight."""
from attention import free_waves
from families import Expect
from kv import KvFamily, products_of, reads_of


class KvBufferReg(KvFamily):
    name = 'kv_buffer_reg'

    def tile_copies(self, k, arch):
        return 0

    def bringer(self, k, chunk):
        return chunk % k['num_warps']

    def expect(self, k, arch):
        entry, held = k['entry'], k['tile_bytes'] // 16 // k['block_threads']
        wanted = {'dma': 0, 'dma_bytes': 0, 'waves': free_waves(k, arch)}
        if entry in (k['entry_image'], k['entry_fragments']):
            image = entry == k['entry_image']
            more = {} if image else reads_of(self.is_keys(k), arch,
                                             {self.fragments(k)})
            # Each vector is stored when it has come; an image is poisoned.
            ops = {'buffer_load_dwordx4': held,
                   'ds_write_b128': held + image, **more.pop('ops', {})}
            return Expect(**wanted, waits=[0], added=range(1, held),
                          barriers=3 if image else 2, ops=ops, **more)
        # Two tiles a round and a last one, or a first and a last one of each
        # parity.
        turns = (3, 4)
        loads = (0 if entry == k['entry_stream'] else self.operand_loads(k))
        wanted |= {'waits': None, 'barriers': {2 * n for n in turns},
                   **self._steady(k, held, loads)}
        ops = {'ds_write_b128': {n * held for n in turns}}
        if entry == k['entry_stream']:
            return Expect(**wanted, ops=ops)
        count = {n * self.fragments(k) for n in turns}
        reads = reads_of(self.is_keys(k), arch, count)
        products = products_of(k, arch, count)
        reads['ops'] |= ops | products.pop('ops')
        # Two tiles, and results that go from one register to another in a
        # round of two.
        wanted['waves'] = self.waves(k, arch, 2, 2 * held, 56)
        return Expect(**wanted, **products, **reads)

    @staticmethod
    def _steady(k, held, loads):
        """Of each of two tiles: the wait for its last vector and that for the
        last load of its operand, and as many as the compiler wants for
        earlier ones; the `held` loads of the next tile stay in flight.  LLVM
        before 22 may wait for some vectors of a tile before it asks for the
        next one, but not for all."""
        if k['llvm'] < 22:
            return {'steady': (0, None), 'least': 1}
        last = {held + loads, held}
        return {'steady': (0, sorted(last) * 2,
                           [n for n in range(held, 2 * held + loads)
                            if n not in last] * 2), 'least': held}


FAMILY = KvBufferReg()
