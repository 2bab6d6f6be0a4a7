# SPDX-License-Identifier: Apache-2.0
"""Tests of the tests: the machine against the host's compiler and against
formulas written lane by lane, its faults against kernels that are wrong in one
way each, the checks of listings against listings that must not pass."""
import ctypes
import json
import os
import re
import struct
import subprocess
import sys
import types

from objects import ARCHS, Clang, Failed, Skip, Tools

try:
    import numpy as np

    import lint
    import mutants
    from codeobject import loops
    from families import Case, Expect
    from inputs import encode, small_numbers
    from machine import Fault, Race, Unknown
    from machine.decode import Program
    from samples import FOLDER, Sample
except ModuleNotFoundError as why:
    print(f'SKIP: {why}')
    sys.exit(77)

failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print(f'FAIL: {what}')


# ---- expressions, against the host

SPECIAL = {
    'words': [0, 1, 2, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0xffff,
              0x8000, 0xff, 0x80, 0xfffffffe, 0x01000000, 7, 10],
    'longs': [0, 1, 63, 64, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0xffffffff,
              1 << 32, (1 << 32) - 1, 0x8000000080000000, 3],
    'reals': [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e30, -1e30,
              float('inf'), float('nan'), 3.0e-5, 65504.0, 65520.0, 1 / 3],
}
KINDS = {'words': np.uint32, 'longs': np.uint64, 'reals': np.float32}
# The compiler may contract or reorder none of them, but results beyond what C
# defines are nobody's: a float that no integer holds.
DEFINED = {
    'whole': lambda x: (np.abs(x[:, 0]) < 2e9) & (np.abs(x[:, 1]) < 4e9),
    'scale': lambda x: np.abs(x[:, 2]) < 2e4,
}


def operands(kind, rng):
    type_ = KINDS[kind]
    if kind == 'reals':
        x = (rng.standard_normal((64, 3)) *
             2.0 ** rng.integers(-20, 20, (64, 3))).astype(type_)
    else:
        bits = 8 * np.dtype(type_).itemsize
        x = rng.integers(0, 1 << 64, (64, 3), np.uint64, endpoint=False) if (
            bits == 64) else rng.integers(0, 1 << 32, (64, 3), np.uint32)
        x >>= rng.integers(0, bits, (64, 3)).astype(type_)
    special = np.array(SPECIAL[kind], type_)
    x[32:, :] = rng.choice(special, (32, 3))
    return x


def equal(kind, got, want):
    if kind != 'reals':
        return got == want
    same = got.view(np.uint32) == want.view(np.uint32)
    return same | (np.isnan(got) & np.isnan(want))


def test_functions(tools, clang):
    library = os.path.join(tools.store, 'functions.so')
    subprocess.run([clang.path, '-x', 'c++', '-O1', '-ffp-contract=off',
                    '-shared', '-fPIC', os.path.join(FOLDER, 'functions.hip'),
                    '-o', library, '-lm'], check=True)
    host = ctypes.CDLL(library)
    rng = np.random.default_rng(5)
    count = 0
    for arch in ARCHS:
        sample = Sample(tools, clang, 'functions.hip', arch)
        for name in sample.kernels():
            plain = name.removeprefix('uniform_')
            kind = plain.split('_')[0]
            x = operands(kind, rng)
            want = np.zeros(64, KINDS[kind])
            getattr(host, plain)(ctypes.c_void_p(x.ctypes.data),
                                 ctypes.c_void_p(want.ctypes.data))
            _, out = sample.run(name, [('in', x),
                                       ('out', np.zeros_like(want))],
                                early=bool(count % 2), seed=count)
            got = np.frombuffer(out, KINDS[kind])
            good = equal(kind, got, want)
            defined = DEFINED.get(plain.split('_', 1)[1])
            if defined:
                good |= ~defined(x)
            bad = np.flatnonzero(~good)
            check(len(bad) == 0, f'{arch} {name}: lane {bad[:1]} of '
                  f'{x[bad[:1]]}: {got[bad[:1]]}, the host says '
                  f'{want[bad[:1]]}')
            count += 1
    check(count > 3 * 150, f'only {count} functions were tested')
    print(f'{count} functions')


# ---- matrix instructions, element by element

def matrix_case(name):
    """(rows, depth, kinds, scaled)"""
    m = re.fullmatch(r'(zero_|one_|scaled_|held_)?([a-z]+\d+?)(bf8)?_'
                     r'(32|16)x(\d+)',
                     name)
    first = m[2]
    return (int(m[4]), int(m[5]), (first, m[3] or first), m[1] or '')


def test_matrix(tools, clang):
    rng = np.random.default_rng(6)
    count = 0
    for arch in ARCHS:
        sample = Sample(tools, clang, 'matrix.hip', arch)
        for name in sample.kernels():
            rows, depth, kinds, special = matrix_case(name)
            per = rows * depth // 64
            value = [small_numbers((64, per), f'{name} {i}') for i in range(2)]
            raw = [encode(v, k, arch) for v, k in zip(value, kinds)]
            scales = rng.integers(0, 1 << 32, 128, np.uint32)
            factors = np.ones((2, 64))
            if special == 'scaled_':
                # Near one, in every byte.
                scales = rng.integers(125, 130, (128, 4)).astype(
                    np.uint8).view(np.uint32).reshape(-1)
                which = (1, 2) if rows == 32 else (3, 0)
                for i in range(2):
                    byte = scales[64 * i:64 * i + 64] >> (8 * which[i]) & 255
                    factors[i] = 2.0 ** (byte.astype(int) - 127)
            whole = name.startswith('i8')
            c = rng.integers(-9, 9, (64, rows * rows // 64)).astype(
                np.int32 if whole else np.float32)
            packed = [pack_four(r) if kinds[0] == 'fp4' else r for r in raw]
            out = sample.run(name, [('a', packed[0]), ('b', packed[1]),
                                    ('c', c), ('s', scales), ('d', c * 0)])
            got = np.frombuffer(out[4], c.dtype).reshape(c.shape)
            if special == 'held_':
                factors[0] = 2
            want = by_elements(rows, depth, value, factors,
                               c * 0 if special == 'zero_' else c)
            check((got == want).all(), f'{arch} {name}: {got[got != want][:4]}'
                  f' for {want[got != want][:4]}')
            count += 1
    check(count > 30, f'only {count} matrix instructions were tested')
    print(f'{count} matrix instructions')


def pack_four(raw):
    return raw[:, 0::2] | raw[:, 1::2] << 4


def by_elements(rows, depth, value, factors, c):
    """D = A B + C, each number by where the layout puts it."""
    per = rows * depth // 64
    a, b = np.zeros((rows, depth)), np.zeros((depth, rows))
    for lane in range(64):
        for n in range(per):
            k = lane // rows * per + n
            a[lane % rows][k] = value[0][lane][n] * factors[0][lane]
            b[k][lane % rows] = value[1][lane][n] * factors[1][lane]
    product = a @ b
    want = np.zeros(c.shape)
    for lane in range(64):
        for p in range(c.shape[1]):
            row = (8 * (p // 4) + 4 * (lane // 32) + p % 4 if rows == 32 else
                   4 * (lane // 16) + p)
            want[lane][p] = c[lane][p] + product[row][lane % rows]
    return want


# ---- lanes and memory

def lane_oracle(name, x, arch):
    """Words that a kernel of lanes.hip writes, from the words it reads."""
    y, z = x[64:128], x[128:192]
    lane = np.arange(64)
    row = lane & ~15
    with np.errstate(over='ignore'):
        if name == 'read_lane':
            return x[:64] + x[17] * np.uint32(3) + x[0]
        if name == 'quad':
            return x[lane ^ 3]
        if name == 'row_shift':
            return np.where(lane % 16 >= 3, x[np.maximum(lane - 3, 0)], y)
        if name == 'row_shift_zero':
            return np.where(lane % 16 < 13, x[lane + 3], 0)
        if name == 'row_rotate':
            return x[row + (lane - 5) % 16]
        if name == 'mirror':
            return x[lane ^ 15] + np.uint32(2) * x[lane ^ 7]
        if name == 'masked_rows':
            on = (lane // 16 % 2 == 1) & (lane // 4 % 2 == 0)
            return np.where(on, x[lane ^ 3], y)
        if name == 'pull':
            return x[y & 63]
        if name == 'push':
            out = np.zeros(64, np.uint32)
            out[(lane * 5 + 3) & 63] = x[:64]
            return out
        if name == 'swizzle':
            return x[lane ^ 1] + x[(lane & 32) | (lane & 15) | 16]
        if name == 'below':
            odd = x[:64] & 1
            return np.cumsum(odd) - odd
        if name == 'diverge':
            out = np.zeros(64, np.uint32)
            for i in range(64):
                for k in range(x[i] % 7):
                    out[i] += y[(i + k) % 64]
                if i % 3 == 0:
                    out[i] ^= 0x55555555
                elif i > 40:
                    out[i] += 9
            return out
        if name == 'perm':
            return np.array([permute(int(a), int(b), int(s)) for a, b, s in
                             zip(x[:64], y, z)], np.uint32)
    return None


def permute(a, b, select):
    data = b | a << 32
    out = 0
    for i in range(4):
        k = select >> 8 * i & 255
        if k < 8:
            byte = data >> 8 * k & 255
        elif k < 12:
            byte = 255 * (data >> (16 * (k - 8) + 15) & 1)
        else:
            byte = 0 if k == 12 else 255
        out |= byte << 8 * i
    return out


def transposed(x, bits):
    """tr_b16, b8, b4: lane l gets column l % 16 of its group's matrix."""
    data = x[:1024].tobytes()
    per = 64 // bits
    out = []
    for lane in range(64):
        value = 0
        for n in range(per):
            source = (lane & ~15) + (lane & 15) // per + n * (16 // per)
            at = int(x[1024 + source])
            word = int.from_bytes(data[at:at + 8], 'little')
            element = word >> bits * (lane % per) & ((1 << bits) - 1)
            value |= element << bits * n
        out += [value & 0xffffffff, value >> 32]
    return np.array(out, np.uint32)


def test_lanes(tools, clang):
    rng = np.random.default_rng(7)
    count = 0
    for arch in ARCHS:
        sample = Sample(tools, clang, 'lanes.hip', arch)
        names = sample.kernels()
        for name in names:
            x = rng.integers(0, 1 << 32, 2048, np.uint32)
            if name == 'perm':
                x[128:192] &= 0x0f0f0f0f
            if name.startswith('transposed'):
                x[1024:1088] = 8 * rng.permutation(512)[:64]
            test = globals().get(f'lanes_{name}')
            early = count % 2 == 1
            if test:
                x, want = test(x, arch)
            elif name.startswith('transposed'):
                want = transposed(x, int(name[10:]))
            else:
                want = lane_oracle(name, x, arch)
            if want is None:
                raise Failed(f'lanes.hip: nothing is known of {name}')
            want = np.asarray(want).astype(np.uint32)
            _, out = sample.run(name, [('in', x), ('out', want * 0)],
                                early=early, seed=count)
            got = np.frombuffer(out, np.uint32)
            bad = np.flatnonzero(got != want)
            check(len(bad) == 0, f'{arch} {name}: word {bad[:3]} is '
                  f'{[hex(v) for v in got[bad[:3]]]}, not '
                  f'{[hex(v) for v in want[bad[:3]]]}')
            count += 1
    print(f'{count} kernels of lanes and memory')


def lanes_swap32(x, arch):
    a, b = x[:64].copy(), x[64:128].copy()
    a[32:], b[:32] = x[64:96], x[32:64]
    return x, np.concatenate([a, b])


def lanes_swap16(x, arch):
    a, b = x[:64].copy(), x[64:128].copy()
    for row in (0, 32):
        a[row + 16:row + 32] = x[64 + row:80 + row]
        b[row:row + 16] = x[row + 16:row + 32]
    return x, np.concatenate([a, b])


def lanes_select_part(x, arch):
    a, b = x[:64], x[64:128]
    return x, np.where(a < b, b, a >> 16) << 24 & 0xffffffff


def halves(x):
    return x.view(np.float16).reshape(-1, 2)


def half_inputs(x):
    rng = np.random.default_rng(8)
    values = (rng.integers(-64, 64, 384) / 8).astype(np.float16)
    x[:192] = values.view(np.uint32)
    return x


def lanes_half_math(x, arch):
    a, b, c = (halves(half_inputs(x)[64 * i:64 * i + 64]).astype(np.float64)
               for i in range(3))

    def words(h):
        return h.astype(np.float16).view(np.uint32).reshape(-1)
    # Without contraction, each operation rounds.
    product = (a[:, 0] * b[:, 1]).astype(np.float16).astype(np.float64)
    one = (product + c[:, 0]).astype(np.float16)
    return x, np.concatenate([
        words(a * b + c), words(a + b[:, ::-1]),
        words(np.maximum(a, b) * c), one.view(np.uint16).astype(np.uint32)])


def lanes_pair_math(x, arch):
    rng = np.random.default_rng(9)
    values = rng.integers(-99, 99, 256).astype(np.float32) / 4
    x[:256] = values.view(np.uint32)
    a, b = values[:128].reshape(64, 2), values[128:].reshape(64, 2)
    d = a * b + b[:, ::-1] + a * b[:, :1]
    return x, d.astype(np.float32).view(np.uint32).reshape(-1)


def lanes_pack_half(x, arch):
    """Toward zero, unlike numpy."""
    rng = np.random.default_rng(10)
    values = (rng.standard_normal(128) * 100).astype(np.float32)
    x[:128] = values.view(np.uint32)
    cut = (values.view(np.uint32) & 0xffffe000).view(np.float32)
    h = cut.astype(np.float16).view(np.uint16).astype(np.uint32)
    return x, h[:64] | h[64:] << 16


def lanes_widths(x, arch):
    wide, pairs = x[:256], x[:128]
    by = {n: np.frombuffer(wide.tobytes(), t) for n, t in (
        ('u32', np.uint32), ('u16', np.uint16))}
    lane = np.arange(64)
    double = np.frombuffer(pairs.tobytes(), np.uint8)
    signed = np.frombuffer(pairs.tobytes(), np.int8).astype(np.int64)
    low = (x[:64] & 0xffff).astype(np.uint16)
    return x, np.concatenate([
        by['u32'][63 - lane],
        by['u16'][lane].astype(np.uint32) +
        (by['u16'][63 - lane].astype(np.uint32) << 16),
        double[lane], signed[63 - lane] & 0xffffffff,
        low.view(np.int16)[63 - lane].astype(np.int64) & 0xffffffff,
        x[lane ^ 21] & 255, x[lane] ^ x[lane ^ 9], x[lane ^ 1] >> 16])


def lanes_twins(x, arch):
    a, b = x[63::-1], x[127:63:-1]
    return x, np.concatenate([a - b, a + b + (a ^ b)])


def lanes_narrow(x, arch):
    data = x.tobytes()
    lane = np.arange(64)
    u8, u16 = (np.frombuffer(data, t).astype(np.int64)
               for t in (np.uint8, np.uint16))
    s8 = np.frombuffer(data, np.int8).astype(np.int64)
    s16 = np.frombuffer(data, np.int16).astype(np.int64)
    a, b = u8[3 * lane], s8[5 * lane + 1]
    c, d = u16[2 * lane + 1], s16[3 * lane]
    small = np.frombuffer((((a ^ c) & 255).astype(np.uint8)).tobytes(),
                          np.uint32)
    short = np.frombuffer((((b + c) & 0xffff).astype(np.uint16)).tobytes(),
                          np.uint32)
    return x, np.concatenate([
        (a + 3 * b) & 0xffffffff, (c - 5 * d) & 0xffffffff, small, short,
        u16[lane] | u16[64 + lane] << 16])


def eight_bit_value(code, kind, arch):
    """By the definition of the format."""
    mantissa = 3 if kind == 'fp8' else 2
    fnuz = arch == 'gfx942'
    bias = (7 if kind == 'fp8' else 15) + fnuz
    sign, e = code >> 7, code >> mantissa & ((1 << (7 - mantissa)) - 1)
    m = code & ((1 << mantissa) - 1)
    top = (1 << (7 - mantissa)) - 1
    if fnuz and code == 0x80:
        return float('nan')
    if not fnuz and e == top and (kind == 'bf8' or m == 7):
        return float('nan') if m or kind == 'fp8' else (
            float('-inf') if sign else float('inf'))
    value = (m / 2 ** mantissa * 2.0 ** (1 - bias) if e == 0 else
             (1 + m / 2 ** mantissa) * 2.0 ** (e - bias))
    return -value if sign else value


def lanes_from_fp8(x, arch):
    # No NaN: its bits are nobody's business.
    for i in range(64):
        for byte in range(4):
            code = (i * 4 + byte * 53) & 255
            if any(np.isnan(eight_bit_value(code, k, arch))
                   for k in ('fp8', 'bf8')):
                code = 0x31
            x[i] = x[i] & ~np.uint32(255 << 8 * byte) | np.uint32(
                code << 8 * byte)
    plan = (('fp8', 0), ('fp8', 1), ('bf8', 2), ('fp8', 3), ('fp8', 0),
            ('fp8', 1), ('bf8', 2), ('bf8', 3))
    return x, np.concatenate([
        np.array([eight_bit_value(int(v) >> 8 * byte & 255, kind, arch)
                  for v in x[:64]], np.float32).view(np.uint32)
        for kind, byte in plan])


def nearest_code(value, kind, arch):
    """The finite code nearest to a value, an even one where two are."""
    best = None
    for code in range(256):
        v = eight_bit_value(code, kind, arch)
        if not np.isfinite(v) or (v == 0 and code != 0):
            continue
        key = (abs(v - value), code & 1)
        if best is None or key < best[0]:
            best = (key, code)
    return best[1]


def lanes_to_fp8(x, arch):
    rng = np.random.default_rng(11)
    values = (rng.standard_normal(128) * 2.0 ** rng.integers(
        -5, 6, 128)).astype(np.float32)
    # Ties between neighbours.
    values[:6] = [1.0625, 1.1875, 2.125, -3.25, 17.0, 19.0]
    x[:128] = values.view(np.uint32)
    out = []
    for i in range(64):
        pair = [values[i], values[64 + i]]
        fp8 = [nearest_code(v, 'fp8', arch) for v in pair]
        bf8 = [nearest_code(v, 'bf8', arch) for v in pair]
        out.append(fp8[0] | fp8[1] << 8 | bf8[0] << 16 | bf8[1] << 24)
    return x, np.array(out, np.uint32)


def lanes_to_bf16(x, arch):
    rng = np.random.default_rng(12)
    values = (rng.standard_normal(128) * 3).astype(np.float32)
    bits = values.view(np.uint32)
    bits[:4] = [0x3f808000, 0x3f818000, 0x3f808001, 0xbf80ffff]
    x[:128] = bits
    out = []
    for b in bits.tolist():
        down, rest = b >> 16, b & 0xffff
        out.append(down + (rest > 0x8000 or (rest == 0x8000 and down & 1)))
    out = np.array(out, np.uint32)
    return x, out[:64] | out[64:] << 16


# ---- what the machine must refuse

WRONG = {
    'no_wait': 'in flight',
    'no_barrier': '(was never written|in the epoch in which it is written)',
    'wait_after_barrier': '(in flight|in the epoch in which it is written)',
    'no_second_barrier': '(in the epoch in which it is read|in flight|'
                         'in the epoch in which it is written)',
    'read_pending': 'may still use these bytes',
    'register_pending': 'is used while',
    'store_unwaited': '(in flight|in the epoch in which it is written)',
    'read_unwaited': '(in flight|in the epoch in which it is (written|read))',
    'ends_in_flight': 'ends while',
    'never_written': 'was never written',
    'outside_shared': 'of a shared memory of 1024',
    'outside_device': 'lie in no buffer',
    'records_too_large': 'lie in no buffer',
    'misaligned': 'not a multiple of 4',
    'endless': 'does not end',
    'written_twice': 'which another wave writes',
    'read_unordered': 'which another wave writes',
}


def run_wrong(sample, name, **more):
    words = np.arange(1, 257, dtype=np.uint32)
    return sample.run(name, [('in', words), ('out', words[:128] * 0)],
                      threads=128, extra=(1024).to_bytes(4, 'little'), **more)


def test_faults(tools, clang):
    count = 0
    for arch in ARCHS:
        sample = Sample(tools, clang, 'wrong.hip', arch)
        for early in (False, True):
            for seed in range(4):
                for name, said in WRONG.items():
                    count += 1
                    try:
                        run_wrong(sample, name, early=early, seed=seed,
                                  limit=3000)
                        check(False, f'{arch} {name}: went through, early '
                              f'{early}, seed {seed}')
                    except (Fault, Race) as why:
                        check(re.search(said, str(why)), f'{arch} {name}: '
                              f'{why}, expected "{said}"')
                test_right(sample, early, seed)
        refuses_unknown(sample)
    print(f'{count} runs of wrong kernels')


def test_right(sample, early, seed):
    thread = np.arange(128)
    for name, want in (('right', 128 - thread),
                       ('right_masked', np.where((127 - thread) % 3 != 0,
                                                 128 - thread, 0)),
                       ('right_exchange', 127 - thread)):
        out = np.frombuffer(run_wrong(sample, name, early=early,
                                      seed=seed)[1], np.uint32)
        check((out == want).all(), f'{sample.arch} {name}: {out}')
    # Dword by dword, what is out of range arrives as zero.
    words = np.arange(1, 257, dtype=np.uint32)
    _, out = sample.run('right', [('in', words), ('out', words[:128] * 0)],
                        threads=128, extra=(402).to_bytes(4, 'little'),
                        early=early, seed=seed)
    want = np.where(127 - thread < 100, 128 - thread, 0)
    check((np.frombuffer(out, np.uint32) == want).all(),
          f'{sample.arch} right, 402 bytes in range')


def refuses_unknown(sample):
    object_ = sample.kernel('right')
    code = list(object_.code)
    code[0] = code[0].replaced('v_wonder_b32', 'v0, v1')
    try:
        Program(object_, code)
        check(False, 'an unknown mnemonic went through')
    except Unknown as why:
        check('v_wonder_b32' in str(why), f'unknown mnemonic: {why}')


# ---- what the checks must refuse

LISTINGS = {
    'right': None,
    'm0_at_once': 'M0 was written just before',
    'scalar_at_once': 'reads a scalar register less than',
    'offset_on_copy': 'an offset moves both sides',
    'waterfall': 'a waterfall loop',
    'scratch': '(private_segment|scratch)',
    'no_wait': r'waits for vmcnt \[\], expected \[0\]',
    'no_barrier': '1 barriers, expected 2',
    'extra_wait': r'waits for vmcnt \[0, 1\] in the steady state',
    'store_unwaited': r'no lgkmcnt\(0\) stands between it and "[^"]*ds_write',
    'read_unwaited': r'no lgkmcnt\(0\) stands between it and "[^"]*ds_read',
    'good_ring': None,
}


def test_lint(tools, clang):
    for arch in ARCHS:
        sample = Sample(tools, clang, 'wrong.hip', arch)
        for name, said in LISTINGS.items():
            ring = name in ('extra_wait', 'good_ring')
            built = listing(sample, name)
            expect = Expect(dma=1, dma_bytes=4, waits=[0, 1] if ring else [0],
                            barriers=2, steady=(1, [1]) if ring else None)
            found = findings(built, expect)
            if said is None:
                check(not found, f'{arch} {name}: {found}')
            else:
                check(any(re.search(said, line) for line in found),
                      f'{arch} {name}: {found}, expected "{said}"')
        check_figures(sample)
    print(f'{len(LISTINGS) * len(ARCHS)} listings')


def findings(built, expect):
    return [line for c in lint.CHECKS for line in c(built, expect)]


def listing(sample, name):
    object_ = sample.kernel(name)
    return types.SimpleNamespace(
        object=object_, name=name, arch=sample.arch,
        constants={'shared_bytes': object_.lds_bytes, 'block_threads': 128,
                   'args_bytes': 20})


def check_figures(sample):
    """Launch figures that differ, registers that leave no room."""
    expect = Expect(dma=2, dma_bytes=16, waits=[0], barriers=2, mfma=1,
                    tr_reads=1, steady=(1, [0]))
    built = listing(sample, 'right')
    built.constants = {'shared_bytes': 8, 'block_threads': 64,
                       'args_bytes': 8}
    text = '\n'.join(findings(built, expect))
    for said in ('the launch says 8', 'the launch has 64', '1 copies, exp',
                 'not a copy of 16', '0 matrix', '0 transposed', '0 loops',
                 'bytes of arguments'):
        check(said in text, f'{sample.arch}: "{said}" is not in {text}')
    built = listing(sample, 'right')
    built.object.meta['vgpr_count'] = 264
    expect = Expect(dma=1, dma_bytes=4, waits=[0], barriers=2, waves=2)
    text = '\n'.join(lint.check_resources(built, expect))
    check('264 vector registers' in text and '1 waves' in text, text)
    check_added(sample)
    check(loops(sample.kernel('right').code) == [], 'a loop in "right"')
    check(len(loops(sample.kernel('good_ring').code)) == 1, 'no loop in ring')


def check_added(sample):
    """Waits of the compiler's own, in a loop that waits for 1 and 0."""
    built = listing(sample, 'extra_wait')
    for waits, added, least, good in (
            ([1], (), 0, False), ([1], (0,), 0, True),
            ([1, 0], (), 0, True), ([0], (2, 3), 0, False),
            ([2], (0, 1), 0, False), (None, (), 0, True),
            (None, (), 1, False), ([], (0, 1, 2), 0, True)):
        expect = Expect(dma=1, dma_bytes=4, waits=None, barriers=2,
                        steady=(1, waits, added), least=least)
        found = findings(built, expect)
        check(bool(found) != good, f'{sample.arch}: waits {waits} and '
              f'{added}, least {least}: {found}')


# ---- what the mutants must come to

JUDGED = {
    # The first barrier keeps words apart that nobody shares.
    'right': ('caught: vmcnt wait 0 for 0 at a barrier removed',
              'caught: vmcnt wait 0 for 0 at a barrier loosened',
              'caught: barrier 1 removed',
              'bad: "barrier 0 removed" was not caught'),
    'right_ending': ('caught: barrier 1 removed', 'idle: barrier 2 removed',
                     'idle: lgkmcnt wait . for 0 at a barrier removed',
                     'bad: "vmcnt wait 1 for 0 removed" .*no run comes'),
    # A wait for stores that others read, and one for stores that none does.
    'right_exchange': ('caught: vmcnt wait 0 for 0.* removed',
                       'caught: barrier 1 removed'),
    'read_stored': ('idle: vmcnt wait 0 for 0 removed',),
    'right, {"barrier 0 .*": "apart"}': ('equivalent: barrier 0 removed: ap',),
    'right, {"barrier 1 .*": "apart"}':
        ('bad: "barrier 1 removed" is listed as equivalent and was caught',),
    'right, {"barrier 7 .*": "apart"}': ('bad: there is no mutant "barrier 7',),
}


def test_mutants(tools, clang):
    words = np.arange(1, 257, dtype=np.uint32)
    buffers = [('in', words.tobytes()), ('out', bytes(512))]
    case = Case('once', (1, 1, 1), buffers, lambda *at: struct.pack(
        '<QQI', *at, 1024), {})
    for arch in ARCHS:
        sample = Sample(tools, clang, 'wrong.hip', arch)
        for name, lines in JUDGED.items():
            name, _, equivalents = name.partition(', ')
            family = types.SimpleNamespace(
                allow_uninitialised=False, mutant_cases=lambda k, a: [case],
                equivalents=lambda k, a, e=equivalents: json.loads(e or '{}'),
                expect=lambda k, a: Expect(dma=1, dma_bytes=4, waits=None,
                                           barriers=2))
            built = listing(sample, name)
            built.family = family
            shown, bad = mutants.judge(built, {'late': (1, 3), 'early': (2,)})
            said = shown + ['bad: ' + b.split(': ', 1)[1] for b in bad]
            for line in lines:
                check(any(re.match(line, s) for s in said),
                      f'{arch} {name}: no "{line}" in {said}')
    print(f'{len(JUDGED) * len(ARCHS)} kernels mutated')


def main():
    try:
        tools = Tools()
        clang = Clang(tools)
        for test in (test_functions, test_matrix, test_lanes, test_faults,
                     test_lint, test_mutants):
            test(tools, clang)
    except Skip as why:
        print(f'SKIP: {why}')
        return 77
    except Failed as why:
        print(f'FAIL: {why}')
        return 1
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
