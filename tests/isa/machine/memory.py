# SPDX-License-Identifier: Apache-2.0
"""Device memory: named buffers far apart; a byte outside every one of them
faults.  Addresses of the 64 lanes come as arrays."""
import numpy as np

from .faults import Fault

GAP = 1 << 20


class Memory:
    def __init__(self):
        self.buffers = []
        self.next = 0x7F0000000000

    def add(self, name, data, alignment=4096):
        """A buffer with these bytes; its address."""
        data = np.frombuffer(bytes(data), np.uint8).copy()
        base = -(-self.next // alignment) * alignment
        self.next = base + len(data) + GAP
        self.buffers.append((base, base + len(data), data, name))
        return base

    def bytes_of(self, base):
        for start, _, data, _ in self.buffers:
            if start == base:
                return data.tobytes()
        raise KeyError(base)

    def _find(self, low, high):
        for start, end, data, _ in self.buffers:
            if start <= low and high <= end:
                return start, data
        return None

    def _fault(self, address, size):
        near = min(self.buffers, default=None,
                   key=lambda b: min(abs(address - b[0]),
                                     abs(address - b[1])))
        where = (f'{address - near[0]:+#x} from {near[3]} of '
                 f'{near[1] - near[0]:#x} bytes' if near else 'no buffers')
        raise Fault(f'device memory: {size} bytes at {address:#x} lie in no '
                    f'buffer ({where})')

    def check(self, addresses, size):
        """Faults unless all of the accesses lie in buffers."""
        if len(addresses) == 0:
            return
        low, high = int(addresses.min()), int(addresses.max()) + size
        if self._find(low, high):
            return
        for a in addresses.tolist():
            if not self._find(a, a + size):
                self._fault(a, size)

    def _pieces(self, addresses, size):
        """(lanes, data, byte indices) for each buffer touched."""
        low, high = int(addresses.min()), int(addresses.max()) + size
        found = self._find(low, high)
        span = np.arange(size, dtype=np.int64)
        if found:
            start, data = found
            at = (addresses - np.uint64(start)).astype(np.int64)
            yield slice(None), data, at[:, None] + span
            return
        for lane, a in enumerate(addresses.tolist()):
            found = self._find(a, a + size)
            if not found:
                self._fault(a, size)
            start, data = found
            yield slice(lane, lane + 1), data, (a - start) + span[None, :]

    def gather(self, addresses, size):
        """Bytes (lanes, size) at the addresses, uint64."""
        out = np.empty((len(addresses), size), np.uint8)
        if len(addresses):
            for lanes, data, index in self._pieces(addresses, size):
                out[lanes] = data[index]
        return out

    def scatter(self, addresses, values):
        """Writes the bytes (lanes, size)."""
        if len(addresses):
            for lanes, data, index in self._pieces(addresses,
                                                   values.shape[1]):
                data[index] = values[lanes]

    def read(self, address, size):
        found = self._find(address, address + size)
        if not found:
            self._fault(address, size)
        start, data = found
        return data[address - start:address - start + size].tobytes()
