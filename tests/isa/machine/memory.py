# SPDX-License-Identifier: Apache-2.0
"""Device memory: named buffers far apart; a byte outside every one of them
faults.  Addresses of the 64 lanes come as arrays.  Each byte that a launch
writes knows which wave wrote it, and since when that wave may rely on it: waves
of a block are ordered by its barriers, blocks by nothing."""
import numpy as np

from .faults import Fault, Race

GAP = 1 << 20
IN_FLIGHT = 1 << 30


class Written:
    """Who wrote each byte of a buffer: block and wave, counted from 1, and the
    epoch of the block in which the write was waited for."""

    def __init__(self, size):
        self.block = np.zeros(size, np.int32)
        self.wave = np.zeros(size, np.int32)
        self.epoch = np.zeros(size, np.int32)

    def others(self, index, wave):
        """Bytes that another wave wrote, or None; and those of them that
        nothing orders with this one."""
        block = self.block[index]
        if not block.any():
            return None, None
        strange = (block != 0) & (block != wave.block.number)
        theirs = strange | (block != 0) & (self.wave[index] != wave.number)
        if not theirs.any():
            return None, None
        return theirs, strange | theirs & (self.epoch[index] >= wave.epoch)


class Memory:
    def __init__(self):
        self.buffers = []
        self.written = {}       # start of a buffer -> Written
        self.shared = False     # did a wave come upon what another wrote?
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

    def _shadow(self, addresses, size):
        """(start, byte indices) for each buffer touched."""
        for lanes, data, index in self._pieces(addresses, size):
            start = int(addresses[lanes][0]) - int(index[0, 0])
            yield start, len(data), index

    def check_order(self, addresses, size, wave, who, what):
        """Faults on bytes that another wave wrote without order."""
        if not self.written or len(addresses) == 0:
            return
        for start, _, index in self._shadow(addresses, size):
            if start not in self.written:
                continue
            theirs, bad = self.written[start].others(index, wave)
            self.shared = self.shared or theirs is not None
            if theirs is not None and bad.any():
                name = next(b[3] for b in self.buffers if b[0] == start)
                raise Race(f'{who}: {what} byte {int(index[bad].min())} of '
                           f'{name}, which another wave writes, in no order')

    def write_starts(self, addresses, size, wave, who):
        """The wave's own write of these bytes is under way."""
        self.check_order(addresses, size, wave, who, 'writes')
        self._mark(addresses, size, wave, IN_FLIGHT)

    def write_ends(self, addresses, size, wave):
        self._mark(addresses, size, wave, wave.epoch)

    def _mark(self, addresses, size, wave, epoch):
        if len(addresses) == 0:
            return
        for start, length, index in self._shadow(addresses, size):
            written = self.written.get(start)
            if written is None:
                written = self.written[start] = Written(length)
            written.block[index] = wave.block.number
            written.wave[index] = wave.number
            written.epoch[index] = epoch

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
