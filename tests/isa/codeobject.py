# SPDX-License-Identifier: Apache-2.0
"""An AMDGPU code object as the tests see it: its loaded image, its kernel
descriptor, its metadata and its instructions, decoded by llvm-objdump.  It
knows nothing of what an instruction means; blocks() and loops() give the shape
of the control flow."""
import functools
import re
import struct
import subprocess

LINE = re.compile(r'^\t(\S+)\s*(.*?)\s*// ([0-9A-F]+): ((?:[0-9A-F]{8} ?)+)')


class BadObject(Exception):
    """The file is no code object that the tests can read."""


class Instruction:
    """One instruction: address, mnemonic without encoding suffix, operands."""
    __slots__ = ('index', 'address', 'name', 'op', 'text', 'size')

    def __init__(self, index, address, name, text, size):
        self.index = index
        self.address = address
        self.name = name
        self.op = re.sub(r'_(e32|e64|sdwa|dpp)$', '', name)
        self.text = text
        self.size = size

    def __str__(self):
        return f'{self.address:#x}: {self.name} {self.text}'.rstrip()

    def replaced(self, name, text):
        """The same place with another instruction in it."""
        return Instruction(self.index, self.address, name, text, self.size)


@functools.lru_cache(maxsize=8)
def _run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        raise BadObject(f'{arguments[0]}: {done.stderr.strip()}')
    return done.stdout


@functools.lru_cache(maxsize=8)
def _lines(objdump, path):
    """(address, name, operands, size) of every instruction of a file."""
    return [(int(m[3], 16), m[1], m[2], 4 * len(m[4].split()))
            for m in map(LINE.match, _run(objdump, '-d', path).splitlines())
            if m]


class CodeObject:
    """The first kernel of a file, or the one of the given name."""

    def __init__(self, path, tools, kernel=None):
        self.path = path
        with open(path, 'rb') as file:
            self.bytes = file.read()
        if self.bytes[:4] != b'\x7fELF':
            raise BadObject(f'{path} is no ELF file')
        version = re.search(rb'clang version (\d+)', self.bytes)
        self.llvm = int(version[1]) if version else 0
        self._load()
        self._symbols()
        kernels = [n[:-3] for n in self.symbols if n.endswith('.kd')]
        self.kernel = kernel or (kernels[0] if kernels else None)
        if self.kernel not in kernels:
            raise BadObject(f'{path}: no kernel {kernel}; it has {kernels}')
        self._descriptor()
        self._notes(_run(tools.readelf, '-n', path))
        self._decode(_lines(tools.objdump, path))

    def _load(self):
        data = self.bytes
        self.flags, = struct.unpack_from('<I', data, 48)
        offset, = struct.unpack_from('<Q', data, 32)
        count, = struct.unpack_from('<H', data, 56)
        loads = []
        for i in range(count):
            kind, _, off, va, _, size, memory, _ = struct.unpack_from(
                '<IIQQQQQQ', data, offset + i * 56)
            if kind == 1:
                loads.append((off, va, size, memory))
        self.image = bytearray(max(va + m for _, va, _, m in loads))
        for off, va, size, _ in loads:
            self.image[va:va + size] = data[off:off + size]

    def _symbols(self):
        data = self.bytes
        offset, = struct.unpack_from('<Q', data, 40)
        count, = struct.unpack_from('<H', data, 60)
        sections = [struct.unpack_from('<IIQQQQIIQQ', data, offset + i * 64)
                    for i in range(count)]
        self.symbols = {}
        for _, kind, _, _, off, size, link, _, _, _ in sections:
            if kind not in (2, 11):
                continue
            names = sections[link][4]
            for k in range(size // 24):
                name, _, _, _, value, length = struct.unpack_from(
                    '<IBBHQQ', data, off + k * 24)
                start = names + name
                text = data[start:data.index(b'\0', start)].decode()
                self.symbols[text] = (value, length)

    def _descriptor(self):
        at = self.symbols[self.kernel + '.kd'][0]
        lds, private, self.kernarg_bytes, _, entry = struct.unpack_from(
            '<IIIIq', self.image, at)
        rsrc3, rsrc1, rsrc2, self.user_props, preload = struct.unpack_from(
            '<IIIHH', self.image, at + 44)
        self.lds_bytes = lds
        self.private_bytes = private
        self.entry = at + entry
        self.user_sgprs = (rsrc2 >> 1) & 31
        self.group_ids = [rsrc2 >> (7 + i) & 1 for i in range(3)]
        self.scratch_enabled = rsrc2 & 1
        self.vgprs_allocated = ((rsrc1 & 63) + 1) * 8
        self.agpr_offset = ((rsrc3 & 63) + 1) * 4
        self.preload = preload

    def _notes(self, text):
        block = ''
        for part in re.split(r'\n  - (?=\.)', text):
            if re.search(rf'\.name: +{re.escape(self.kernel)}\n', part):
                block = part
        self.meta = {k: int(v) for k, v in re.findall(
            r'\.(\w+): +(\d+)\n', block)}
        target = re.search(r'amdhsa\.target: +\S*--(gfx\w+)', text)
        if not target or 'vgpr_count' not in self.meta:
            raise BadObject(f'{self.path}: no AMDGPU metadata')
        self.arch = target[1]

    def _decode(self, lines):
        start, length = self.symbols[self.kernel]
        self.code = [
            Instruction(at, *fields) for at, fields in enumerate(
                f for f in lines if start <= f[0] < start + length)]
        if not self.code:
            raise BadObject(f'{self.path}: nothing disassembled')
        while self.code[-1].op in ('s_nop', 's_code_end'):
            self.code.pop()
        self.code_bytes = self.code[-1].address + self.code[-1].size - start


def branch_target(instruction):
    """Address a branch goes to, or None."""
    if not re.match(r's_c?branch', instruction.op):
        return None
    delta = int(instruction.text.split()[0], 0) & 0xffff
    delta -= (delta & 0x8000) << 1
    return instruction.address + 4 + 4 * delta


def successors(code):
    """For each instruction the indices of those that may follow it."""
    index = {i.address: i.index for i in code}
    follow = []
    for i in code:
        target = branch_target(i)
        after = []
        if i.op not in ('s_endpgm', 's_branch') and i.index + 1 < len(code):
            after.append(i.index + 1)
        if target is not None:
            after.append(index[target])
        follow.append(after)
    return follow


def predecessors(code):
    before = [[] for _ in code]
    for at, after in enumerate(successors(code)):
        for to in after:
            before[to].append(at)
    return before


def loops(code):
    """The outermost loops, each a sorted list of instruction indices: the
    strongly connected parts of the control flow (Tarjan, without recursion).
    """
    follow = successors(code)
    number, low, on, stack, found = {}, {}, set(), [], []
    for root in range(len(code)):
        if root in number:
            continue
        work = [(root, 0)]
        while work:
            node, step = work.pop()
            if step == 0:
                number[node] = low[node] = len(number)
                stack.append(node)
                on.add(node)
            if step < len(follow[node]):
                work.append((node, step + 1))
                to = follow[node][step]
                if to not in number:
                    work.append((to, 0))
                elif to in on:
                    low[node] = min(low[node], number[to])
                continue
            for to in follow[node]:
                if to in on:
                    low[node] = min(low[node], low[to])
            if low[node] == number[node]:
                part = []
                while not part or part[-1] != node:
                    part.append(stack.pop())
                    on.discard(part[-1])
                if len(part) > 1 or node in follow[node]:
                    found.append(sorted(part))
    return sorted(found)
