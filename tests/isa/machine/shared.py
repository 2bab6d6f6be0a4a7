# SPDX-License-Identifier: Apache-2.0
"""ds_* instructions.  A wave's own keep their order; each has its effect no
sooner than at its issue and no later than at the wait that covers it, so the
shadow of the shared memory is asked at both ends."""
import re

import numpy as np

from .access import active, bytes_of, words_of
from .decode import define, pattern
from .faults import Fault
from .operands import registers, vector, vector32
from .operation import Operation

# name -> (bytes, signed, half)
READS = {
    'b32': (4, False, None), 'b64': (8, False, None),
    'b96': (12, False, None), 'b128': (16, False, None),
    'u8': (1, False, None), 'i8': (1, True, None),
    'u16': (2, False, None), 'i16': (2, True, None),
    'u8_d16': (1, False, 0), 'u8_d16_hi': (1, False, 16),
    'i8_d16': (1, True, 0), 'i8_d16_hi': (1, True, 16),
    'u16_d16': (2, False, 0), 'u16_d16_hi': (2, False, 16),
}
WRITES = {
    'b32': (4, None), 'b64': (8, None), 'b96': (12, None), 'b128': (16, None),
    'b8': (1, None), 'b16': (2, None), 'b8_d16_hi': (1, 16),
    'b16_d16_hi': (2, 16),
}


def _alignment(w, size):
    if size == 12:
        return 4
    return min(size, 16 if w.block.machine.strict_alignment else 4)


def _index(w, d, addresses, size, alignment=None):
    """Byte indices of one access of the active lanes."""
    return w.block.lds.index(addresses, size, alignment or
                             _alignment(w, size), w.who(d.source))


def read(w, d, index, land, rows):
    """Issues a read of the bytes; land(data) puts them into registers.  The
    wave's own earlier copies into these bytes must have been waited for."""
    lds = w.block.lds
    since = w.epoch
    who = w.who(d.source)
    lds.read_starts(index, w.number, since, who)

    def settle():
        lds.check_read(index, w.number, since, who)
        if w.epoch != since:
            lds.read_by(index, w.number, w.epoch)
    w.issue(Operation('lds', d.source, lambda: land(lds.data[index]), settle,
                      registers=rows, reads=index), [w.lgkm])


def write(w, d, index, data):
    lds = w.block.lds
    operation = Operation('lds', d.source, None, reads=index)

    def land():
        lds.data[index] = data

    def settle():
        lds.write_ends(index, w.number, w.epoch, operation.number)
    operation.land, operation.settle = land, settle
    w.issue(operation, [w.lgkm])
    lds.write_starts(index, w.number, w.epoch, operation.number, False,
                     w.who(d.source))


@pattern(rf'ds_read_({"|".join(READS)})')
def ds_read(d, match):
    size, signed, half = READS[match[1]]
    d.kind = 'lds'
    get, (first, count) = vector32(d.args[1]), vector(d.args[0])
    if count != max(1, size // 4):
        raise d.bad(f'{count} registers for {size} bytes')
    d.merged = registers(d.args[:1]) - registers(d.args[1:])
    offset = np.uint32(d.mods.get('offset', 0))

    def run(w):
        lanes = active(w)
        index = _index(w, d, get(w)[lanes] + offset, size)

        def land(data):
            rows = words_of(data, signed, half, w.v[first][lanes])
            for i in range(count):
                w.v[first + i][lanes] = rows[i]
        read(w, d, index, land, range(first, first + count))
    return run


@pattern(rf'ds_write_({"|".join(WRITES)})')
def ds_write(d, match):
    size, half = WRITES[match[1]]
    d.kind = 'lds'
    get, (first, _) = vector32(d.args[0]), vector(d.args[1])
    offset = np.uint32(d.mods.get('offset', 0))

    def run(w):
        lanes = active(w)
        index = _index(w, d, get(w)[lanes] + offset, size)
        write(w, d, index, bytes_of(w, first, size, half, lanes))
    return run


def _two_offsets(d, match):
    size = int(match[2]) // 8
    scale = size * (64 if match[1] else 1)
    return size, [np.uint32(d.mods.get(n, 0) * scale)
                  for n in ('offset0', 'offset1')]


@pattern(r'ds_read2(st64)?_b(32|64)')
def ds_read2(d, match):
    size, offsets = _two_offsets(d, match)
    d.kind = 'lds'
    get, (first, count) = vector32(d.args[1]), vector(d.args[0])
    d.merged = registers(d.args[:1]) - registers(d.args[1:])

    def run(w):
        lanes = active(w)
        at = get(w)[lanes]
        index = np.concatenate([_index(w, d, at + o, size) for o in offsets],
                               axis=1)

        def land(data):
            rows = words_of(data, False, None, None)
            for i in range(count):
                w.v[first + i][lanes] = rows[i]
        read(w, d, index, land, range(first, first + count))
    return run


@pattern(r'ds_write2(st64)?_b(32|64)')
def ds_write2(d, match):
    size, offsets = _two_offsets(d, match)
    d.kind = 'lds'
    get = vector32(d.args[0])
    firsts = [vector(t)[0] for t in d.args[1:3]]

    def run(w):
        lanes = active(w)
        at = get(w)[lanes]
        for o, first in zip(offsets, firsts):
            # Two operations of the model, one of the counter.
            index = _index(w, d, at + o, size)
            write(w, d, index, bytes_of(w, first, size, None, lanes))
        second = w.lgkm.pop()
        one = w.lgkm[-1]
        _join(one, second)
    return run


def _join(one, second):
    land, settle = one.land, one.settle

    def both_land():
        land()
        second.land()

    def both_settle():
        settle()
        second.settle()
    one.land, one.settle = both_land, both_settle
    one.reads = np.concatenate([one.reads, second.reads])


@pattern(r'ds_read_b64_tr_b(16|8|4)')
def ds_read_transposed(d, match):
    """Sixteen lanes address a matrix row by row; each receives a column."""
    if d.arch != 'gfx950':
        raise d.bad(f'{d.arch} has no transposed reads')
    bits = int(match[1])
    d.kind = 'lds'
    get, (first, _) = vector32(d.args[1]), vector(d.args[0])
    d.merged = registers(d.args[:1]) - registers(d.args[1:])
    offset = np.uint32(d.mods.get('offset', 0))
    per = 64 // bits                      # elements in a lane's eight bytes
    lane = np.arange(64)[:, None]
    element = np.arange(per)[None, :]
    source = (lane & ~15) + (lane & 15) // per + element * (16 // per)
    which = np.broadcast_to(lane % per, source.shape)

    def spread(data):
        """Bytes (64, 8) to elements (64, per)."""
        if bits == 16:
            return data.view(np.uint16)
        if bits == 8:
            return data
        return np.stack([data & 15, data >> 4], axis=2).reshape(64, 16)

    def gather(elements):
        if bits == 4:
            pairs = elements.reshape(64, 8, 2)
            elements = pairs[:, :, 0] | pairs[:, :, 1] << 4
        return np.ascontiguousarray(elements).view(np.uint32).reshape(64, 2)

    def run(w):
        if not w.full:
            raise Fault(f'{w.who(d.source)}: needs all lanes active')
        index = _index(w, d, get(w) + offset, 8)

        def land(data):
            words = gather(spread(np.ascontiguousarray(data))[source, which])
            w.v[first] = words[:, 0]
            w.v[first + 1] = words[:, 1]
        w.counts['tr_read'] = w.counts.get('tr_read', 0) + 1
        read(w, d, index, land, range(first, first + 2))
    return run


# ---- lane exchanges: no memory behind them, but the same counter

def _exchange(d, function):
    first, _ = vector(d.args[0])
    d.kind = 'lds'
    tokens = d.args[1:]
    gets = [vector32(t) for t in tokens]

    def run(w):
        out, lanes = function(w, *[g(w).copy() for g in gets])

        def land():
            np.copyto(w.v[first], out, where=lanes)
        w.issue(Operation('lds', d.source, land, registers=(first,)),
                [w.lgkm])
    return run


@define('ds_bpermute_b32')
def pull(d):
    offset = d.mods.get('offset', 0)

    def function(w, at, data):
        source = ((at + np.uint32(offset)) >> np.uint32(2)) & np.uint32(63)
        # Lanes that are off give zero.
        return np.where(w.mask[source], data[source], np.uint32(0)), (
            w.mask.copy())
    return _exchange(d, function)


@define('ds_permute_b32')
def push(d):
    offset = d.mods.get('offset', 0)

    def function(w, at, data):
        to = ((at + np.uint32(offset)) >> np.uint32(2)) & np.uint32(63)
        out = np.zeros(64, np.uint32)
        for lane in range(64):
            if w.mask[lane]:
                out[to[lane]] = data[lane]
        return out, w.mask.copy()
    return _exchange(d, function)


def _bit_masks(keep, over, flip):
    lane = np.arange(64)
    return (lane & 32) | ((((lane & 31) & keep) | over) ^ flip)


def _swizzle_source(value):
    """Source lanes of a ds_swizzle offset, a number or as it is printed."""
    lane = np.arange(64)
    if isinstance(value, int):
        if not value & 0x8000:
            return _bit_masks(value & 31, value >> 5 & 31, value >> 10 & 31)
        if value & 0xff00 == 0x8000:
            quad = np.array([value >> 2 * i & 3 for i in range(4)])
            return (lane & ~3) + quad[lane & 3]
        return None
    name, *rest = re.findall(r'[A-Z_]+|"[01pi]+"|\d+', value)
    if name == 'SWAP':
        return lane ^ int(rest[0])
    if name == 'REVERSE':
        return lane ^ (int(rest[0]) - 1)
    if name == 'BROADCAST':
        return (lane & ~(int(rest[0]) - 1)) + int(rest[1])
    if name == 'QUAD_PERM':
        return (lane & ~3) + np.array([int(r) for r in rest])[lane & 3]
    if name == 'BITMASK_PERM':
        masks = [0, 0, 0]
        for c in rest[0].strip('"'):
            masks = [2 * m + (c in on) for m, on in zip(masks,
                                                        ('pi', '1', 'i'))]
        return _bit_masks(*masks)
    return None


@define('ds_swizzle_b32')
def swizzle(d):
    source = _swizzle_source(d.mods.get('offset', 0))
    if source is None:
        raise d.bad('this swizzle')

    def function(w, data):
        return np.where(w.mask[source], data[source], np.uint32(0)), (
            w.mask.copy())
    return _exchange(d, function)


@pattern(r'ds_(add|max|min|or|and)_(rtn_)?[uib]32')
def ds_atomic(d, match):
    """Atomics of several waves do not race with each other; they are done at
    once here and count as ordered writes."""
    raise d.bad(f'{d.op} is not modelled')
