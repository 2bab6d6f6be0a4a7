# SPDX-License-Identifier: Apache-2.0
"""The shared memory of a block and what is known of each byte: who wrote it
last, in which epoch (barriers passed since the start), who read it, and whether
a write of it is in flight.  Two accesses of different waves in the same epoch,
one of them a write, are a race, whatever values they saw.  A write is in flight
from its issue to the wait that covers it, even when its data landed before.
"""
import numpy as np

from .faults import Fault, Race

NOBODY, SEVERAL = -1, -2


class Lds:
    def __init__(self, content, allow_uninitialised=False):
        size = len(content)
        self.size = size
        self.data = content.copy()
        self.allow_uninitialised = allow_uninitialised
        self.flight = np.zeros(size, np.int32)       # operation, 0: none
        self.flight_wave = np.full(size, NOBODY, np.int16)
        self.flight_dma = np.zeros(size, bool)
        self.writer = np.full(size, NOBODY, np.int16)
        self.written = np.full(size, -1, np.int32)   # epoch
        self.reader = np.full(size, NOBODY, np.int16)
        self.read_at = np.full(size, -1, np.int32)
        self.known = np.zeros(size, bool)            # was ever written

    def index(self, addresses, size, alignment, who):
        """Byte indices (lanes, size) of the addresses, checked."""
        if len(addresses) == 0:
            return np.zeros((0, size), np.int64)
        at = addresses.astype(np.int64)
        if int(at.max()) + size > self.size:
            raise Fault(f'{who}: byte {int(at.max()) + size - 1} of a shared '
                        f'memory of {self.size}')
        if (at & (alignment - 1)).any():
            bad = int(at[(at & (alignment - 1)) != 0][0])
            raise Fault(f'{who}: address {bad} is not a multiple of '
                        f'{alignment}')
        return at[:, None] + np.arange(size, dtype=np.int64)

    def _report(self, what, index, bad, who, by=None):
        byte = int(index[bad].min())
        by = '' if by is None else f' by wave {int(by[byte])}'
        raise Race(f'{who}: byte {byte} {what}{by}')

    def check_read(self, index, wave, since, who):
        """The bytes may be read by this wave if every write of another wave
        lies before epoch `since` and none is in flight."""
        flight = self.flight[index] != 0
        if flight.any():
            bad = flight & ((self.flight_wave[index] != wave) |
                            self.flight_dma[index])
            if bad.any():
                self._report('is read while a write of it is in flight,',
                             index, bad, who, self.flight_wave)
        bad = (self.written[index] >= since) & (self.writer[index] != wave)
        if bad.any():
            self._report('is read in the epoch in which it is written', index,
                         bad, who, self.writer)

    def read_starts(self, index, wave, epoch, who):
        self.check_read(index, wave, epoch, who)
        if not self.allow_uninitialised:
            bad = ~(self.known[index] | (self.flight[index] != 0))
            if bad.any():
                self._report('is read and was never written', index, bad, who)
        self.read_by(index, wave, epoch)

    def read_by(self, index, wave, epoch):
        """A read may have its effect in this epoch: that of its issue, and
        that of the wait for it."""
        same = self.read_at[index] == epoch
        other = same & (self.reader[index] != wave)
        self.reader[index] = np.where(other, SEVERAL, wave)
        self.read_at[index] = epoch

    def write_starts(self, index, wave, epoch, number, dma, who):
        flight = self.flight[index] != 0
        if flight.any():
            bad = flight & ((self.flight_wave[index] != wave) |
                            self.flight_dma[index] | dma)
            if bad.any():
                self._report('is written while another write of it is in '
                             'flight,', index, bad, who, self.flight_wave)
        bad = (self.written[index] == epoch) & (self.writer[index] != wave)
        if bad.any():
            self._report('is written twice in one epoch, first', index, bad,
                         who, self.writer)
        bad = (self.read_at[index] == epoch) & (self.reader[index] != wave)
        if bad.any():
            self._report('is written in the epoch in which it is read', index,
                         bad, who)
        self.flight[index] = number
        self.flight_wave[index] = wave
        self.flight_dma[index] = dma

    def write_ends(self, index, wave, epoch, number):
        mine = index[self.flight[index] == number]
        self.flight[mine] = 0
        self.flight_dma[mine] = False
        self.writer[mine] = wave
        self.written[mine] = epoch
        self.known[mine] = True
