# SPDX-License-Identifier: Apache-2.0
"""What the instructions and the metadata of a code object must be: the copies,
waits and barriers that the family's formulas say and no other, no scratch, no
spill, no waterfall loop, the wait states that inline assembly has to keep by
itself, registers that leave room for the waves wanted."""
import re
from collections import Counter

from codeobject import loops, predecessors
from machine.operands import M0, SCALAR, base, parse

# Of one compute unit: waves per SIMD, vector registers of a lane's SIMD slot
# (vector and accumulation ones together), and shared memory.
SIMDS, MOST_WAVES, VECTOR_REGISTERS, GRANULE = 4, 8, 512, 8
SCALAR_REGISTERS, SCALAR_GRANULE = 800, 16
LDS_BYTES = {'gfx90a': 65536, 'gfx942': 65536, 'gfx950': 163840}
LDS_GRANULE = {'gfx90a': 512, 'gfx942': 512, 'gfx950': 1280}
# A vector memory instruction reads a scalar register five wait states after a
# vector instruction wrote it; a copy into LDS reads M0 one after its write.
VALU_TO_VMEM, TO_M0 = 5, 1


def is_dma(i):
    return (i.op.startswith('buffer_load') and
            re.search(r'\blds\b', i.text) is not None or
            i.op.startswith('global_load_lds'))


def is_vmem(i):
    return i.op.startswith(('buffer_', 'global_', 'flat_')) and not re.match(
        r'buffer_(wb|inv)', i.op)


def is_valu(i):
    return i.op.startswith('v_') and i.op != 'v_nop'


def is_mfma(i):
    return i.op.startswith(('v_mfma', 'v_smfmac'))


def vmcnt(i):
    """The vmcnt of an s_waitcnt, or None."""
    m = re.search(r'vmcnt\((\d+)\)', i.text) if i.op == 's_waitcnt' else None
    return int(m[1]) if m else None


def scalars_written(i):
    """Scalar registers that an instruction writes, numbered as hardware
    does."""
    args = parse(i.text)[0]
    if is_valu(i):
        if re.match(r'v_read(first)?lane|v_cmp', i.op):
            args = args[:1]
        elif re.match(r'v_(add|sub|subrev|addc|subb|subbrev)_co_|'
                      r'v_mad_[ui]64|v_div_scale', i.op):
            args = args[1:2]
        else:
            return set()
    elif i.op.startswith('s_') and not re.match(
            r's_(cmp|bitcmp|branch|cbranch|waitcnt|barrier|nop|endpgm|store|'
            r'setprio|sleep|setreg)', i.op):
        args = args[:1]
    else:
        return set()
    return scalars(args)


def scalars(args):
    found = set()
    for token in args:
        at = base(token)
        if at and at[0] >= SCALAR:
            found.update(range(at[0] - SCALAR, at[0] - SCALAR + at[1]))
    return found


def wait_states(i):
    """Wait states that an instruction takes, at least."""
    return int(i.text, 0) + 1 if i.op == 's_nop' else 1


def _too_close(code, before, at, registers, states, by_valu):
    """The writer of one of the registers less than `states` wait states ahead
    of instruction `at`, over every path, or None."""
    work = [(p, states, frozenset(registers)) for p in before[at]]
    seen = set()
    while work:
        node, left, wanted = work.pop()
        if left <= 0 or not wanted or (node, left, wanted) in seen:
            continue
        seen.add((node, left, wanted))
        i = code[node]
        written = scalars_written(i) & wanted
        if written and (is_valu(i) or not by_valu):
            return i
        for p in before[node]:
            work.append((p, left - wait_states(i), wanted - written))
    return None


# ---- occupancy

def occupancy(object_, threads):
    """Waves per SIMD that registers and shared memory allow."""
    vgprs = -(-max(object_.meta['vgpr_count'], 1) // GRANULE) * GRANULE
    sgprs = -(-object_.meta['sgpr_count'] // SCALAR_GRANULE) * SCALAR_GRANULE
    waves = min(MOST_WAVES, VECTOR_REGISTERS // vgprs,
                SCALAR_REGISTERS // max(sgprs, 1))
    per_block = -(-threads // 64)
    blocks = waves * SIMDS // per_block
    if object_.lds_bytes:
        granule = LDS_GRANULE[object_.arch]
        size = -(-object_.lds_bytes // granule) * granule
        blocks = min(blocks, LDS_BYTES[object_.arch] // size)
    return min(waves, -(-blocks * per_block // SIMDS))


# ---- checks: each yields what is wrong

def check_resources(built, expect):
    o, k = built.object, built.constants
    for name in ('private_segment_fixed_size', 'vgpr_spill_count',
                 'sgpr_spill_count'):
        if o.meta[name]:
            yield f'{name} is {o.meta[name]}, not 0'
    if o.scratch_enabled:
        yield 'the kernel descriptor enables scratch'
    if o.meta['group_segment_fixed_size'] != k['shared_bytes']:
        yield (f'shared memory is {o.meta["group_segment_fixed_size"]} bytes, '
               f'the launch says {k["shared_bytes"]}')
    if o.lds_bytes != k['shared_bytes']:
        yield f'the kernel descriptor says {o.lds_bytes} bytes of LDS'
    if o.meta['max_flat_workgroup_size'] != k['block_threads']:
        yield (f'blocks of {o.meta["max_flat_workgroup_size"]} threads, the '
               f'launch has {k["block_threads"]}')
    if o.meta['kernarg_segment_size'] != k['args_bytes']:
        yield (f'{o.meta["kernarg_segment_size"]} bytes of arguments, the '
               f'launch has {k["args_bytes"]}')
    waves = -(-k['block_threads'] // 64)
    wanted = expect.waves or -(-waves // SIMDS)
    limit = VECTOR_REGISTERS // wanted // GRANULE * GRANULE
    if o.meta['vgpr_count'] > limit:
        yield (f'{o.meta["vgpr_count"]} vector registers, {limit} leave room '
               f'for {wanted} waves per SIMD')
    got = occupancy(o, k['block_threads'])
    if got < wanted:
        yield f'{got} waves per SIMD, wanted {wanted}'


def _allowed(value, wanted):
    return value in wanted if isinstance(wanted, set) else value == wanted


def _waits_allowed(waits, wanted, added):
    """Are these one of the lists that are wanted, and some of `added`?"""
    choices = wanted if wanted and isinstance(wanted[0], list) else [wanted]
    for choice in map(Counter, choices):
        seen = Counter(waits)
        if not choice - seen and not seen - choice - Counter(added):
            return True
    return False


def _expected(waits, added):
    more = f' and of {list(added)}' if added else ''
    return f'expected {waits}{more}'


def check_counts(built, expect):
    code = built.object.code
    copies = [i for i in code if is_dma(i)]
    if not _allowed(len(copies), expect.dma):
        yield f'{len(copies)} copies, expected {expect.dma}'
    for i in copies:
        wide = 16 if 'dwordx4' in i.op else 4 if i.op.endswith('dword') else 0
        if wide != expect.dma_bytes:
            yield f'{i}: not a copy of {expect.dma_bytes} bytes per lane'
        if 'offset:' in i.text:
            yield f'{i}: an offset moves both sides of a copy'
    waits = sorted(v for v in map(vmcnt, code) if v is not None)
    if expect.waits is not None and not _waits_allowed(waits, expect.waits,
                                                       expect.added):
        yield (f'waits for vmcnt {waits}, '
               f'{_expected(expect.waits, expect.added)}')
    barriers = sum(i.op == 's_barrier' for i in code)
    if not _allowed(barriers, expect.barriers):
        yield f'{barriers} barriers, expected {expect.barriers}'
    for name, wanted, test in (
            ('matrix instructions', expect.mfma, is_mfma),
            ('transposed reads', expect.tr_reads,
             lambda i: '_tr_b' in i.op)):
        seen = sum(map(test, code))
        if wanted is not None and not _allowed(seen, wanted):
            yield f'{seen} {name}, expected {wanted}'
    for pattern, wanted in expect.ops.items():
        seen = sum(re.fullmatch(pattern, i.op) is not None for i in code)
        if not _allowed(seen, wanted):
            yield f'{seen} of {pattern}, expected {wanted}'


def check_steady(built, expect):
    """The loop with barriers: its copies, and nothing but its own waits."""
    code = built.object.code
    found = []
    for loop in loops(code):
        inside = [code[n] for n in loop]
        if any(i.op == 's_barrier' for i in inside):
            waits = sorted(v for v in map(vmcnt, inside) if v is not None)
            found.append((sum(map(is_dma, inside)), waits))
    if expect.steady is None:
        if found:
            yield f'a loop with barriers: {found}'
        return
    copies, waits, *more = expect.steady
    added = list(more[0]) if more else []
    if len(found) != 1:
        yield f'{len(found)} loops with barriers, expected 1'
    for seen, seen_waits in found:
        if not _allowed(seen, copies):
            yield f'{seen} copies in the steady state, expected {copies}'
        if waits is not None and not _waits_allowed(seen_waits, waits, added):
            yield (f'waits for vmcnt {seen_waits} in the steady state, '
                   f'{_expected(waits, added)}')
        if min(seen_waits, default=expect.least) < expect.least:
            yield (f'waits for vmcnt {seen_waits} in the steady state, '
                   f'{expect.least} have to stay in flight')


def check_drained(built, expect):
    """At a barrier a wave is done with shared memory: behind it others write
    what it read and read what it wrote."""
    code = built.object.code
    before = predecessors(code)
    for barrier in code:
        work = list(before[barrier.index]) if barrier.op == 's_barrier' else []
        seen = set(work)
        while work:
            i = code[work.pop()]
            if i.op.startswith('ds_'):
                yield (f'{barrier}: no lgkmcnt(0) stands between it and '
                       f'"{i}"')
                break
            if i.op == 's_waitcnt' and 'lgkmcnt(0)' in i.text:
                continue
            work += [p for p in before[i.index] if p not in seen]
            seen.update(before[i.index])


def check_hazards(built, expect):
    code = built.object.code
    before = predecessors(code)
    for i in code:
        if is_dma(i):
            writer = _too_close(code, before, i.index, {M0}, TO_M0, False)
            if writer:
                yield f'{i}: M0 was written just before, by "{writer}"'
        if is_vmem(i):
            writer = _too_close(code, before, i.index,
                                scalars(parse(i.text)[0]), VALU_TO_VMEM, True)
            if writer:
                yield (f'{i}: reads a scalar register less than '
                       f'{VALU_TO_VMEM} wait states after "{writer}"')


def check_waterfall(built, expect):
    """A loop that takes one value of a vector register at a time: it reads
    the first lane, compares all lanes with that and masks."""
    code = built.object.code
    for loop in loops(code):
        firsts = set()
        for n in loop:
            i = code[n]
            args = parse(i.text)[0]
            if i.op == 'v_readfirstlane_b32':
                firsts |= scalars(args[:1])
            elif re.match(r'v_cmpx?_eq_u(32|64)', i.op) and (
                    scalars(args[1:]) & firsts):
                yield f'{i}: a waterfall loop'


def check_scratch(built, expect):
    for i in built.object.code:
        if i.op.startswith('scratch_') or re.match(
                r'buffer_(load|store)_.*', i.op) and re.search(
                    r', 0 offen.*\bscratch\b', i.text):
            yield f'{i}: scratch memory'


CHECKS = (check_resources, check_counts, check_steady, check_drained,
          check_hazards, check_waterfall, check_scratch)


def lint(built):
    """Lines of what is wrong with one code object."""
    expect = built.family.expect(built.constants, built.arch)
    return [f'{built.name}: {said}' for check in CHECKS
            for said in check(built, expect)]


def summary(object_):
    """{column: figure} for the table."""
    code = object_.code
    waits = [v for v in map(vmcnt, code) if v is not None]
    return {
        'DMA': sum(map(is_dma, code)),
        'tr': sum('_tr_b' in i.op for i in code),
        'MFMA': sum(map(is_mfma, code)),
        'vmcnt': ' '.join(map(str, waits)) or '-',
        'barriers': sum(i.op == 's_barrier' for i in code),
        'VGPR': object_.meta['vgpr_count'] - object_.meta['agpr_count'],
        'AGPR': object_.meta['agpr_count'],
        'SGPR': object_.meta['sgpr_count'],
        'LDS': object_.lds_bytes,
        'scratch': object_.meta['private_segment_fixed_size'],
        'code': object_.code_bytes,
    }
