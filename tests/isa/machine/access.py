# SPDX-License-Identifier: Apache-2.0
"""Vector memory: buffer, global and flat accesses, and the copies from device
memory straight into shared memory (DMA).  A buffer's range check is dword by
dword and counts the scalar offset; a DMA burst writes lane l at M0 + offset +
l * size, zeros where the source is out of range, nothing for lanes that are
off.  ds_* instructions are in shared.py."""
import numpy as np

from .decode import pattern
from .faults import Fault
from .operands import (M0, SCALAR, base, registers, scalar32, scalar64,
                       vector, vector32, vector64)
from .operation import Operation

U6 = np.uint64
LANES = np.arange(64, dtype=np.int64)
# name -> (bytes, signed, low bit of the half it fills or None)
WIDTHS = {
    'ubyte': (1, False, None), 'sbyte': (1, True, None),
    'ushort': (2, False, None), 'sshort': (2, True, None),
    'byte': (1, False, None), 'short': (2, False, None),
    'dword': (4, False, None), 'dwordx2': (8, False, None),
    'dwordx3': (12, False, None), 'dwordx4': (16, False, None),
    'ubyte_d16': (1, False, 0), 'ubyte_d16_hi': (1, False, 16),
    'sbyte_d16': (1, True, 0), 'sbyte_d16_hi': (1, True, 16),
    'short_d16': (2, False, 0), 'short_d16_hi': (2, False, 16),
    'byte_d16_hi': (1, False, 16),
}
NAMES = '|'.join(sorted(WIDTHS, key=len, reverse=True))


def words_of(data, signed, half, old):
    """Register rows (count, lanes) from bytes (lanes, size); a d16 load keeps
    the other half of `old`."""
    size = data.shape[1]
    if size >= 4:
        return np.ascontiguousarray(data).view(np.uint32).T
    kind = {(1, False): np.uint8, (1, True): np.int8,
            (2, False): np.uint16, (2, True): np.int16}[size, signed]
    x = np.ascontiguousarray(data).view(kind).reshape(-1)
    x = x.astype(np.int32).view(np.uint32)
    if half is None:
        return x[None, :]
    x = x & np.uint32(0xffff)
    if half:
        return (old & np.uint32(0xffff) | x << np.uint32(16))[None, :]
    return (old & np.uint32(0xffff0000) | x)[None, :]


def bytes_of(w, first, size, half, lanes):
    """Bytes (lanes, size) of the data registers of a store."""
    if size >= 4:
        rows = w.v[first:first + size // 4][:, lanes]
        return np.ascontiguousarray(rows.T).view(np.uint8)
    x = w.v[first][lanes] >> np.uint32(half or 0)
    return np.ascontiguousarray(x[:, None]).view(np.uint8)[:, :size].copy()


def load_registers(w, d, queues, kind, first, size, signed, half, lanes, get):
    """Issues a load of `size` bytes per lane into registers."""
    count = max(1, size // 4)

    def land():
        rows = words_of(get(), signed, half, w.v[first][lanes])
        for i in range(count):
            w.v[first + i][lanes] = rows[i]
    w.issue(Operation(kind, d.source, land, tokens=len(queues),
                      registers=range(first, first + count)), queues)


def dma(w, d, size, lanes, get, offset):
    """Issues a copy of `size` bytes per lane into shared memory."""
    block = w.block
    lds = block.lds
    start = w.s[M0]
    stride = 4 if size == 4 else 16
    who = w.who(d.source)
    if start >= 1 << 16 and block.arch != 'gfx950':
        raise Fault(f'{who}: M0 is {start:#x}, {block.arch} takes 16 bits')
    if size == 12:
        raise d.bad('the stride of dwordx3 copies is not modelled')
    index = lds.index((start + offset + lanes * stride), size, stride, who)
    epoch = w.epoch
    for operation in w.lgkm:
        if operation.reads is not None and len(index) and (
                np.isin(operation.reads, index).any()):
            raise Fault(f'{who}: "{operation.instruction}" of the same wave '
                        'may still use these bytes')
    operation = Operation('vm', d.source, None, writes_lds=True)

    def land():
        lds.data[index] = get()

    def settle():
        lds.write_ends(index, w.number, w.epoch, operation.number)
    operation.land, operation.settle = land, settle
    w.issue(operation, [w.vm])
    lds.write_starts(index, w.number, epoch, operation.number, True, who)
    # Until it lands the destination may hold anything.
    lds.data[index] ^= 0x5a
    w.counts['dma'] = w.counts.get('dma', 0) + 1


def active(w):
    return LANES if w.full else LANES[w.mask]


# ---- buffers

def _buffer_address(d, at):
    """Function of a wave: byte offsets of the active lanes, descriptor, and
    the scalar offset, of the operands from `at` on."""
    if 'idxen' in d.mods or 'addr64' in d.mods:
        raise d.bad('only offset addressing')
    get = vector32(d.args[at]) if 'offen' in d.mods else None
    descriptor = base(d.args[at + 1])[0] - SCALAR
    soffset = scalar32(d.args[at + 2])
    fixed = d.mods.get('offset', 0)

    def address(w, lanes):
        word = w.s[descriptor:descriptor + 4]
        if word[1] >> 16 & 0x3fff:
            raise Fault(f'{w.who(d.source)}: the descriptor has a stride')
        start = word[0] | (word[1] & 0xffff) << 32
        offset = (get(w)[lanes].astype(np.int64) if get else
                  np.zeros(len(lanes), np.int64)) + fixed + soffset(w)
        return start, word[2], offset
    return address


def _in_range(offset, size, records):
    """(lanes, pieces): which dwords (or smaller wholes) are in range."""
    piece = min(size, 4)
    ends = offset[:, None] + np.arange(0, size, piece) + piece
    return ends <= records, piece


def _buffer_read(w, start, records, offset, size):
    good, piece = _in_range(offset, size, records)
    memory = w.block.memory
    if good.all():
        return memory.gather((offset + start).astype(U6), size)
    out = np.zeros((len(offset), size), np.uint8)
    for i in range(good.shape[1]):
        lanes = good[:, i]
        at = (offset[lanes] + start + i * piece).astype(U6)
        out[lanes, i * piece:(i + 1) * piece] = memory.gather(at, piece)
    return out


@pattern(rf'buffer_load_({NAMES})')
def buffer_load(d, match):
    size, signed, half = WIDTHS[match[1]]
    d.kind = 'vm'
    if 'lds' in d.mods:
        # Without a data register; the address may also be "off".
        address = _buffer_address(d, 0)
        offset = d.mods.get('offset', 0)
        if size not in (4, 12, 16):
            raise d.bad('sub-dword copies to shared memory')
        if size != 4 and d.arch != 'gfx950':
            raise d.bad(f'{d.arch} has no such copy')

        def run(w):
            lanes = active(w)
            start, records, at = address(w, lanes)
            _ordered(w, d, _check_range(w, d, start, records, at, size))
            dma(w, d, size, lanes,
                lambda: _buffer_read(w, start, records, at, size), offset)
        return run
    address = _buffer_address(d, 1)
    first, count = vector(d.args[0])
    if count != max(1, size // 4):
        raise d.bad(f'{count} registers for {size} bytes')
    d.merged = registers(d.args[:1])

    def run(w):
        lanes = active(w)
        start, records, at = address(w, lanes)
        _ordered(w, d, _check_range(w, d, start, records, at, size))
        load_registers(w, d, [w.vm], 'vm', first, size, signed, half, lanes,
                       lambda: _buffer_read(w, start, records, at, size))
    return run


def _check_range(w, d, start, records, offset, size):
    """What is in range of the descriptor must be device memory.  Yields what
    is, as addresses, a size, the lanes and the place in their data."""
    good, piece = _in_range(offset, size, records)
    if good.all():
        at = (offset + start).astype(U6)
        _check(w, d, at, size)
        return [(at, size, slice(None), slice(0, size))]
    parts = []
    for i in range(good.shape[1]):
        lanes = good[:, i]
        at = (offset[lanes] + start + i * piece).astype(U6)
        _check(w, d, at, piece)
        parts.append((at, piece, lanes, slice(i * piece, (i + 1) * piece)))
    return parts


def _store(w, d, parts, data, queues):
    """Issues the store of data (lanes, size) to the parts."""
    memory = w.block.memory
    who = w.who(d.source)
    for at, size, _, _ in parts:
        memory.write_starts(at, size, w, who)

    def land():
        for at, _, lanes, span in parts:
            memory.scatter(at, data[lanes, span])

    def settle():
        for at, size, _, _ in parts:
            memory.write_ends(at, size, w)
    w.issue(Operation('vm', d.source, land, settle, tokens=len(queues)),
            queues)


def _ordered(w, d, parts):
    """A load may not race with the stores of other waves."""
    for at, size, _, _ in parts:
        w.block.memory.check_order(at, size, w, w.who(d.source), 'reads')


@pattern(rf'buffer_store_({NAMES})')
def buffer_store(d, match):
    size, _, half = WIDTHS[match[1]]
    d.kind = 'vm'
    if 'lds' in d.mods:
        raise d.bad('stores from shared memory')
    address = _buffer_address(d, 1)
    first, _ = vector(d.args[0])

    def run(w):
        lanes = active(w)
        start, records, at = address(w, lanes)
        parts = _check_range(w, d, start, records, at, size)
        _store(w, d, parts, bytes_of(w, first, size, half, lanes), [w.vm])
    return run


# ---- global and flat

def _global_address(d, at, flat):
    """Function (wave, lanes) -> uint64 addresses."""
    fixed = d.mods.get('offset', 0)
    token = d.args[at + 1] if not flat and len(d.args) > at + 1 else 'off'
    if token == 'off':
        get = vector64(d.args[at])
        return lambda w, lanes: (get(w)[lanes].astype(np.int64) +
                                 fixed).astype(U6)
    start = scalar64(token)
    get = vector32(d.args[at])
    return lambda w, lanes: (get(w)[lanes].astype(np.int64) +
                             (start(w) + fixed)).astype(U6)


@pattern(rf'(global|flat)_load_({NAMES})')
def global_load(d, match):
    size, signed, half = WIDTHS[match[2]]
    d.kind = 'vm'
    flat = match[1] == 'flat'
    address = _global_address(d, 1, flat)
    first, count = vector(d.args[0])
    if count != max(1, size // 4):
        raise d.bad(f'{count} registers for {size} bytes')
    d.merged = frozenset() if flat else registers(d.args[:1])

    def run(w):
        lanes = active(w)
        at = address(w, lanes)
        _check(w, d, at, size)
        _ordered(w, d, [(at, size, None, None)])
        load_registers(w, d, [w.vm, w.lgkm] if flat else [w.vm], 'vm', first,
                       size, signed, half, lanes,
                       lambda: w.block.memory.gather(at, size))
    return run


def _check(w, d, at, size):
    try:
        w.block.memory.check(at, size)
    except Fault as why:
        raise Fault(f'{w.who(d.source)}: {why}') from None


@pattern(r'global_load_lds_(dword|dwordx3|dwordx4|ubyte|ushort|sbyte|sshort)')
def global_dma(d, match):
    size = WIDTHS[match[1]][0]
    d.kind = 'vm'
    if size < 4:
        raise d.bad('sub-dword copies to shared memory')
    if d.arch == 'gfx90a' or (size != 4 and d.arch != 'gfx950'):
        raise d.bad(f'{d.arch} has no such copy')
    address = _global_address(d, 0, False)
    offset = d.mods.get('offset', 0)

    def run(w):
        lanes = active(w)
        at = address(w, lanes)
        _check(w, d, at, size)
        _ordered(w, d, [(at, size, None, None)])
        dma(w, d, size, lanes, lambda: w.block.memory.gather(at, size),
            offset)
    return run


@pattern(rf'(global|flat)_store_({NAMES})')
def global_store(d, match):
    size, _, half = WIDTHS[match[2]]
    d.kind = 'vm'
    flat = match[1] == 'flat'
    # address, data, base
    token = d.args[2] if not flat and len(d.args) > 2 else 'off'
    d_args = [d.args[0], token]
    fixed = d.mods.get('offset', 0)
    if token == 'off':
        get = vector64(d_args[0])

        def address(w, lanes):
            return (get(w)[lanes].astype(np.int64) + fixed).astype(U6)
    else:
        start, get32 = scalar64(token), vector32(d_args[0])

        def address(w, lanes):
            return (get32(w)[lanes].astype(np.int64) +
                    (start(w) + fixed)).astype(U6)
    first, _ = vector(d.args[1])

    def run(w):
        lanes = active(w)
        at = address(w, lanes)
        _check(w, d, at, size)
        _store(w, d, [(at, size, slice(None), slice(0, size))],
               bytes_of(w, first, size, half, lanes),
               [w.vm, w.lgkm] if flat else [w.vm])
    return run


# ---- read, modify, write: at once, in lane order

ATOMICS = {
    'add': lambda a, b: a + b,
    'umax': np.maximum,
    'umin': np.minimum,
    'or': lambda a, b: a | b,
    'and': lambda a, b: a & b,
    'swap': lambda a, b: b,
    'add_f32': lambda a, b: (a.view(np.float32) +
                             b.view(np.float32)).view(np.uint32),
}


@pattern(r'global_atomic_(add|umax|umin|or|and|swap|add_f32)')
def atomic(d, match):
    function = ATOMICS[match[1]]
    d.kind = 'vm'
    if d.mods.keys() & {'glc', 'sc0'}:
        raise d.bad('atomics that return the old value')
    token = d.args[2]
    get = vector64(d.args[0]) if token == 'off' else vector32(d.args[0])
    start = None if token == 'off' else scalar64(token)
    fixed = d.mods.get('offset', 0)
    first, _ = vector(d.args[1])

    def run(w):
        lanes = active(w)
        at = (get(w)[lanes].astype(np.int64) + fixed +
              (start(w) if start else 0)).astype(U6)
        _check(w, d, at, 4)
        data = w.v[first][lanes].copy()

        def land():
            memory = w.block.memory
            for i in range(len(at)):
                old = memory.gather(at[i:i + 1], 4).view(np.uint32)[0]
                new = function(old, data[i:i + 1])
                memory.scatter(at[i:i + 1], new.view(np.uint8).reshape(1, 4))
        w.issue(Operation('vm', d.source, land), [w.vm])
    return run


@pattern(r'scratch_.*')
def scratch(d, match):
    raise d.bad('scratch memory: no kernel may spill')
