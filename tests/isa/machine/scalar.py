# SPDX-License-Identifier: Apache-2.0
"""Control flow, waits, scalar arithmetic and scalar loads."""
import re
import struct

from codeobject import branch_target

from .decode import define, pattern
from .faults import Fault
from .operands import (M32, M64, SCALAR, VCC, base, literal, scalar32,
                       scalar64, to_scalar32, to_scalar64)
from .operation import Operation


def signed(x, bits=32):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


# ---- nothing to do, ends, barriers, waits

@define('s_nop', 's_setprio', 's_sleep', 's_dcache_wb', 's_dcache_inv',
        's_icache_inv', 's_inst_prefetch', 's_sethalt', 'v_nop',
        'buffer_wbl2', 'buffer_inv', 'buffer_wbinvl1', 'buffer_wbinvl1_vol',
        's_incperflevel', 's_decperflevel', 's_code_end')
def nothing(d):
    return lambda w: None


@define('s_endpgm')
def end(d):
    return lambda w: w.end()


@define('s_barrier')
def barrier(d):
    source = d.source.index

    def run(w):
        w.waiting = True
        w.fences.add((source, None))
        w.block.machine.executed.add(source)
        w.counts['barrier'] = w.counts.get('barrier', 0) + 1
    return run


@define('s_trap')
def trap(d):
    def run(w):
        raise Fault(f'{w.who(d.source)}: the program gives up')
    return run


@define('s_waitcnt')
def wait(d):
    d.registers = set()
    text = d.source.text
    if re.fullmatch(r'(0x)?[0-9a-f]+', text):
        bits = int(text, 0)
        vm = (bits & 15) | (bits >> 14 & 3) << 4
        lgkm = bits >> 8 & 15
    else:
        found = dict(re.findall(r'(vmcnt|lgkmcnt)\((\d+)\)', text))
        vm = int(found.get('vmcnt', 63))
        lgkm = int(found.get('lgkmcnt', 15))
    source = d.source.index

    def run(w):
        machine = w.block.machine
        machine.executed.add(source)
        if len(w.vm) > vm:
            some = w.wait_vm(vm)
            if some:
                (machine.waited if some == 'copies' else
                 machine.stored).add((source, 'vmcnt'))
        if lgkm == 0:
            # What earlier ones waited for would be waited for here.
            w.fences.clear()
        if len(w.lgkm) > lgkm and w.wait_lgkm(lgkm):
            machine.waited.add((source, 'lgkmcnt'))
            w.fences.add((source, 'lgkmcnt'))
    return run


# ---- branches

def _vcc(w):
    return w.s[VCC] | w.s[VCC + 1] << 32


TAKEN = {
    's_branch': lambda w: True,
    's_cbranch_scc0': lambda w: not w.scc,
    's_cbranch_scc1': lambda w: w.scc,
    's_cbranch_vccz': lambda w: not _vcc(w),
    's_cbranch_vccnz': lambda w: _vcc(w),
    's_cbranch_execz': lambda w: not w.exec,
    's_cbranch_execnz': lambda w: w.exec,
}


@define(*TAKEN)
def branch(d):
    to = d.program.index[branch_target(d.source)]
    taken = TAKEN[d.op]

    def run(w):
        if taken(w):
            w.pc = to
    return run


# ---- moves and one operand

@define('s_mov_b32', 's_mov_b64', 's_movk_i32', 's_cmov_b32', 's_cmov_b64',
        's_cmovk_i32')
def move(d):
    if d.op.endswith('k_i32'):
        value = signed(literal(d.args[1]), 16) & M32
        put = to_scalar32(d.args[0])

        def get(w):
            return value
    elif d.op.endswith('b64'):
        get, put = scalar64(d.args[1]), to_scalar64(d.args[0])
    else:
        get, put = scalar32(d.args[1], 'f32'), to_scalar32(d.args[0])
    if 'cmov' in d.op:
        def run(w):
            if w.scc:
                put(w, get(w))
    else:
        def run(w):
            put(w, get(w))
    return run


def _ff1(x, bits):
    return (x & -x).bit_length() - 1 if x else M32


def _flbit(x, bits):
    return bits - x.bit_length() if x else M32


def _flbit_i(x, bits):
    x = signed(x, bits)
    return _flbit(x if x >= 0 else ~x, bits) if x not in (0, -1) else M32


def _reverse(x, bits):
    return int(f'{x:0{bits}b}'[::-1], 2)


# name -> (function of (x, source bits), does it set SCC, result bits or None)
ONE_OPERAND = {
    's_not': (lambda x, b: ~x, True, None),
    's_brev': (_reverse, False, None),
    's_abs_i32': (lambda x, b: abs(signed(x)), True, 32),
    's_sext_i32_i8': (lambda x, b: signed(x, 8), False, 32),
    's_sext_i32_i16': (lambda x, b: signed(x, 16), False, 32),
    's_bcnt0_i32': (lambda x, b: b - bin(x).count('1'), True, 32),
    's_bcnt1_i32': (lambda x, b: bin(x).count('1'), True, 32),
    's_ff0_i32': (lambda x, b: _ff1(~x & ((1 << b) - 1), b), False, 32),
    's_ff1_i32': (_ff1, False, 32),
    's_flbit_i32': (_flbit, False, 32),
    's_flbit_i32_i': (_flbit_i, False, 32),
}


@pattern(r's_(not|brev|abs|sext|bcnt0|bcnt1|ff0|ff1|flbit)_.*')
def one_operand(d, match):
    bits = 64 if d.op.endswith(('b64', 'i64')) else 32
    name = d.op
    if name not in ONE_OPERAND:
        name = re.sub(r'_[bi](32|64)$', '', name)
    if d.op == 's_flbit_i32_i64':
        name = 's_flbit_i32_i'
    if name not in ONE_OPERAND:
        raise d.bad(f'{d.op} is not modelled')
    function, sets, wide = ONE_OPERAND[name]
    get = (scalar64 if bits == 64 else scalar32)(d.args[1])
    result = wide or bits
    put = (to_scalar64 if result == 64 else to_scalar32)(d.args[0])
    limit = (1 << result) - 1

    def run(w):
        r = function(get(w), bits) & limit
        put(w, r)
        if sets:
            w.scc = int(r != 0)
    return run


@pattern(r's_(and|or|xor|andn2|orn2|andn1|orn1|nand|nor|xnor)_saveexec_b64')
def save_exec(d, match):
    function = LOGIC[match[1]]
    get, put = scalar64(d.args[1]), to_scalar64(d.args[0])

    def run(w):
        old, value = w.exec, get(w)
        put(w, old)
        w.set_exec(function(value, old) & M64)
        w.scc = int(w.exec != 0)
    return run


# ---- two operands; each returns (result, SCC or None)

LOGIC = {
    'and': lambda a, b: a & b,
    'or': lambda a, b: a | b,
    'xor': lambda a, b: a ^ b,
    'andn2': lambda a, b: a & ~b,
    'orn2': lambda a, b: a | ~b,
    'andn1': lambda a, b: ~a & b,
    'orn1': lambda a, b: ~a | b,
    'nand': lambda a, b: ~(a & b),
    'nor': lambda a, b: ~(a | b),
    'xnor': lambda a, b: ~(a ^ b),
}


@pattern(r's_(and|or|xor|andn2|orn2|nand|nor|xnor)_b(32|64)')
def logic(d, match):
    function = LOGIC[match[1]]
    if match[2] == '64':
        x, y = scalar64(d.args[1]), scalar64(d.args[2])
        put, limit = to_scalar64(d.args[0]), M64
    else:
        x, y = scalar32(d.args[1]), scalar32(d.args[2])
        put, limit = to_scalar32(d.args[0]), M32

    def run(w):
        r = function(x(w), y(w)) & limit
        put(w, r)
        w.scc = int(r != 0)
    return run


def _shift(left, arithmetic):
    def function(a, b, bits):
        b &= bits - 1
        if left:
            return a << b
        return signed(a, bits) >> b if arithmetic else a >> b
    return function


@pattern(r's_(lshl|lshr|ashr)_(b32|b64|i32|i64)')
def shift(d, match):
    bits = int(match[2][1:])
    function = _shift(match[1] == 'lshl', match[1] == 'ashr')
    x = (scalar64 if bits == 64 else scalar32)(d.args[1])
    y = scalar32(d.args[2])
    put = (to_scalar64 if bits == 64 else to_scalar32)(d.args[0])
    limit = (1 << bits) - 1

    def run(w):
        r = function(x(w), y(w), bits) & limit
        put(w, r)
        w.scc = int(r != 0)
    return run


def _bfe(wide, sign):
    bits = 64 if wide else 32

    def function(a, b):
        at, count = b & (bits - 1), b >> 16 & 0x7f
        if count == 0:
            return 0
        count = min(count, bits)
        r = a >> at & ((1 << count) - 1)
        if sign and count < bits:
            r = signed(r, min(count, bits - at) if at + count > bits
                       else count)
        return r
    return function


@pattern(r's_bfe_(u32|i32|u64|i64)')
def bit_field(d, match):
    wide = match[1].endswith('64')
    function = _bfe(wide, match[1][0] == 'i')
    x = (scalar64 if wide else scalar32)(d.args[1])
    y = scalar32(d.args[2])
    put = (to_scalar64 if wide else to_scalar32)(d.args[0])
    limit = M64 if wide else M32

    def run(w):
        r = function(x(w), y(w)) & limit
        put(w, r)
        w.scc = int(r != 0)
    return run


def _overflow(x):
    return int(not -(1 << 31) <= x < 1 << 31)


def _shifted_add(n):
    def function(a, b, c):
        r = (a << n) + b
        return r, int(r > M32)
    return function


TWO_OPERANDS = {
    's_add_u32': lambda a, b, c: (a + b, (a + b) >> 32),
    's_addc_u32': lambda a, b, c: (a + b + c, (a + b + c) >> 32),
    's_sub_u32': lambda a, b, c: (a - b, int(b > a)),
    's_subb_u32': lambda a, b, c: (a - b - c, int(b + c > a)),
    's_add_i32': lambda a, b, c: (a + b, _overflow(signed(a) + signed(b))),
    's_sub_i32': lambda a, b, c: (a - b, _overflow(signed(a) - signed(b))),
    's_mul_i32': lambda a, b, c: (a * b, None),
    's_mul_hi_u32': lambda a, b, c: (a * b >> 32, None),
    's_mul_hi_i32': lambda a, b, c: (signed(a) * signed(b) >> 32, None),
    's_min_u32': lambda a, b, c: (min(a, b), int(a < b)),
    's_max_u32': lambda a, b, c: (max(a, b), int(a > b)),
    's_min_i32': lambda a, b, c: (min(signed(a), signed(b)),
                                  int(signed(a) < signed(b))),
    's_max_i32': lambda a, b, c: (max(signed(a), signed(b)),
                                  int(signed(a) > signed(b))),
    's_absdiff_i32': lambda a, b, c: (abs(signed(a) - signed(b)),
                                      int(a != b)),
    's_bfm_b32': lambda a, b, c: (((1 << (a & 31)) - 1) << (b & 31), None),
    's_lshl1_add_u32': _shifted_add(1),
    's_lshl2_add_u32': _shifted_add(2),
    's_lshl3_add_u32': _shifted_add(3),
    's_lshl4_add_u32': _shifted_add(4),
    's_pack_ll_b32_b16': lambda a, b, c: (a & 0xffff | (b & 0xffff) << 16,
                                          None),
    's_pack_lh_b32_b16': lambda a, b, c: (a & 0xffff | b & 0xffff0000, None),
    's_pack_hh_b32_b16': lambda a, b, c: (a >> 16 | b & 0xffff0000, None),
}


@define(*TWO_OPERANDS)
def two_operands(d):
    function = TWO_OPERANDS[d.op]
    x, y, put = (scalar32(d.args[1]), scalar32(d.args[2]),
                 to_scalar32(d.args[0]))

    def run(w):
        r, carry = function(x(w), y(w), w.scc)
        put(w, r)
        if carry is not None:
            w.scc = carry
    return run


@define('s_addk_i32', 's_mulk_i32')
def with_constant(d):
    k = signed(literal(d.args[1]), 16)
    x, put = scalar32(d.args[0]), to_scalar32(d.args[0])
    if d.op == 's_mulk_i32':
        return lambda w: put(w, x(w) * k)

    def run(w):
        r = signed(x(w)) + k
        put(w, r)
        w.scc = _overflow(r)
    return run


@define('s_cselect_b32', 's_cselect_b64')
def select(d):
    if d.op.endswith('64'):
        x, y = scalar64(d.args[1]), scalar64(d.args[2])
        put = to_scalar64(d.args[0])
    else:
        x, y = scalar32(d.args[1], 'f32'), scalar32(d.args[2], 'f32')
        put = to_scalar32(d.args[0])
    return lambda w: put(w, x(w) if w.scc else y(w))


# ---- compares

ORDER = {
    'eq': lambda a, b: a == b,
    'lg': lambda a, b: a != b,
    'gt': lambda a, b: a > b,
    'ge': lambda a, b: a >= b,
    'lt': lambda a, b: a < b,
    'le': lambda a, b: a <= b,
}


@pattern(r's_cmp(k?)_(eq|lg|gt|ge|lt|le)_([iu])(32|64)')
def compare(d, match):
    function = ORDER[match[2]]
    if match[4] == '64':
        x, y = scalar64(d.args[0]), scalar64(d.args[1])
        return _compare(function, x, y)
    x = scalar32(d.args[0])
    if match[1]:
        k = literal(d.args[1])
        k = (signed(k, 16) if match[3] == 'i' else k & 0xffff) & M32

        def y(w):
            return k
    else:
        y = scalar32(d.args[1])
    if match[3] == 'i':
        return _compare(lambda a, b: function(signed(a), signed(b)), x, y)
    return _compare(function, x, y)


def _compare(function, x, y):
    def run(w):
        w.scc = int(function(x(w), y(w)))
    return run


@pattern(r's_bitcmp([01])_b(32|64)')
def bit_compare(d, match):
    x = (scalar64 if match[2] == '64' else scalar32)(d.args[0])
    y = scalar32(d.args[1])
    want, bits = int(match[1]), int(match[2])

    def run(w):
        w.scc = int((x(w) >> (y(w) & (bits - 1)) & 1) == want)
    return run


@pattern(r's_bitset([01])_b32')
def bit_set(d, match):
    x, y = scalar32(d.args[0]), scalar32(d.args[1])
    put, on = to_scalar32(d.args[0]), match[1] == '1'

    def run(w):
        bit = 1 << (y(w) & 31)
        put(w, x(w) | bit if on else x(w) & ~bit)
    return run


# ---- the mode register: rounding and denormals are not modelled

@define('s_setreg_imm32_b32', 's_setreg_b32')
def set_mode(d):
    if 'HW_REG_MODE' not in d.source.text:
        raise d.bad('only HW_REG_MODE may be set')
    d.registers = set()
    return lambda w: None


# ---- loads

@pattern(r's_(buffer_)?load_dword(x2|x4|x8|x16)?')
def load(d, match):
    words = int((match[2] or 'x1')[1:])
    first, count = base(d.args[0])
    if count != words:
        raise d.bad(f'{count} destination registers for {words} words')
    offset = scalar32(d.args[2]) if len(d.args) > 2 else None
    fixed = d.mods.get('offset', 0)
    d.kind = 'scalar'
    if match[1]:
        return _buffer_load(d, first, words, offset, fixed)
    address = scalar64(d.args[1])

    def run(w):
        at = address(w) + (offset(w) if offset else 0) + fixed & ~3
        _issue(w, d, first, words, lambda: w.block.memory.read(at, 4 * words))
    return run


def _buffer_load(d, first, words, offset, fixed):
    descriptor = base(d.args[1])[0] - SCALAR

    def run(w):
        start = w.s[descriptor] | (w.s[descriptor + 1] & 0xffff) << 32
        records = w.s[descriptor + 2]
        at = (offset(w) if offset else 0) + fixed & ~3

        def get():
            return b''.join(
                w.block.memory.read(start + at + 4 * i, 4)
                if at + 4 * i + 4 <= records else bytes(4)
                for i in range(words))
        _issue(w, d, first, words, get)
    return run


def _issue(w, d, first, words, get):
    at = first - SCALAR

    def land():
        w.s[at:at + words] = struct.unpack(f'<{words}I', get())
    w.issue(Operation('scalar', d.source, land,
                      registers=range(first, first + words)), [w.lgkm])


@define('s_memtime', 's_memrealtime')
def clock(d):
    first, _ = base(d.args[0])
    d.kind = 'scalar'

    def run(w):
        _issue(w, d, first, 2,
               lambda: struct.pack('<Q', w.block.rng.getrandbits(48)))
    return run
