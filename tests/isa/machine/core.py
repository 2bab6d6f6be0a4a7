# SPDX-License-Identifier: Apache-2.0
"""Waves, their queues of outstanding memory operations, and the block that
runs them in random bursts.

An operation lands (has its effect) as late as possible: when a wait of its wave
covers it.  With early=True it may land sooner, in the order that its queue
keeps.  Either way it is settled, and its registers may be used, only by the
wait: a program that is right by luck faults.  LDS operations and vector memory
keep their order; scalar loads keep none."""
import numpy as np

from . import decode
from .faults import Fault, Race
from .lds import Lds
from .operands import M32, M64, SCALAR, mask_array


# What registers and memory hold before they are written: pieces of this, from
# random places.
NOISE = np.random.default_rng(20).integers(0, 256, 1 << 20, np.uint8)


def noise(rng, size):
    """`size` bytes, at most half of NOISE; not to be written."""
    at = rng.randrange(0, len(NOISE) - size, 4)
    return NOISE[at:at + size]


class Wave:
    def __init__(self, block, number, pc):
        rng = block.rng
        self.block = block
        self.number = number
        self.pc = pc
        self.s = noise(rng, 128 * 4).view(np.uint32).tolist()
        self.v = noise(rng, 512 * 64 * 4).view(np.uint32).reshape(
            512, 64).copy()
        self.vf = self.v.view(np.float32)
        self.vi = self.v.view(np.int32)
        self.scc = rng.getrandbits(1)
        self.set_exec(M64)
        self.vm = []            # vmcnt, oldest first
        self.lgkm = []          # lgkmcnt
        self.pending = {}       # register -> operation that will write it
        self.epoch = 0
        self.done = False
        self.waiting = False
        self.steps = 0
        self.fences = set()     # waits for LDS and the barrier, since the last
        self.counts = {}

    def set_exec(self, value):
        self.exec = value
        self.mask = mask_array(value)
        self.full = value == M64

    def where(self):
        return f'block {self.block.place}, wave {self.number}'

    def who(self, instruction):
        return f'{self.where()}, {instruction}'

    # ---- outstanding operations

    def issue(self, operation, queues):
        block = self.block
        block.operations += 1
        operation.number = block.operations
        if block.passed and operation.kind != 'scalar' and (
                operation.kind == 'lds' or operation.registers or
                operation.writes_lds):
            block.machine.ordered |= block.passed
            block.passed.clear()
        for queue in queues:
            queue.append(operation)
        for register in operation.registers:
            self.pending[register] = operation

    def _land(self, operation):
        if not operation.landed:
            operation.landed = True
            operation.land()

    def _retire(self, operation, queue):
        queue.remove(operation)
        operation.tokens -= 1
        # A flat access stands in both queues; vmcnt says that it is done, its
        # registers may be used when both do.
        if operation.kind != 'vm' or queue is self.vm:
            self._land(operation)
            if operation.settle:
                operation.settle()
        if operation.tokens:
            return
        for register in operation.registers:
            if self.pending.get(register) is operation:
                del self.pending[register]

    def wait_vm(self, left):
        """What there was to wait for but loads of registers, which fault by
        themselves when one is used too early: 'copies', 'stores' or ''."""
        some = ''
        while len(self.vm) > left:
            operation = self.vm[0]
            if operation.writes_lds:
                some = 'copies'
            elif not operation.registers:
                some = some or 'stores'
            self._retire(operation, self.vm)
        return some

    def wait_lgkm(self, left):
        """The counter says how many are left, not which.  LDS operations keep
        their order, so all but the youngest `left` of those are done; scalar
        loads and flat accesses keep none, so only 0 says anything of them."""
        done = [o for o in self.lgkm if o.kind == 'lds' or left == 0]
        done = done[:len(done) - left] if left else done
        for operation in done:
            self._retire(operation, self.lgkm)
        return any(o.kind == 'lds' or not o.registers for o in done)

    def land_some(self):
        """Early completion: the next of a queue has its effect now."""
        rng = self.block.rng
        if self.vm and rng.random() < 0.3:
            for operation in self.vm:
                if not operation.landed:
                    self._land(operation)
                    break
        if self.lgkm and rng.random() < 0.3:
            for operation in self.lgkm:
                if not operation.landed and operation.kind != 'vm':
                    self._land(operation)
                    break

    def check_pending(self, instruction, allowed_kind):
        """Faults on a register that an outstanding operation will write."""
        for register in instruction.registers:
            operation = self.pending.get(register)
            if operation is None:
                continue
            if (register in instruction.merged and
                    operation.kind == allowed_kind):
                continue
            raise Fault(f'{self.who(instruction.source)}: '
                        f'{register_name(register)} is used while '
                        f'"{operation.instruction}" may still write it')

    def end(self):
        """s_endpgm: what is outstanding lands; a copy into shared memory must
        not, the memory may be another block's by then."""
        for operation in self.vm:
            if operation.writes_lds:
                raise Race(f'{self.where()} ends while '
                           f'"{operation.instruction}" is in flight')
        self.wait_vm(0)
        self.wait_lgkm(0)
        self.done = True


def register_name(number):
    if number >= SCALAR:
        number -= SCALAR
        return {106: 'vcc_lo', 107: 'vcc_hi', 124: 'm0'}.get(number,
                                                             f's{number}')
    return f'v{number}' if number < 256 else f'a{number - 256}'


class Block:
    """One block of the grid on its own compute unit."""

    def __init__(self, machine, place, number, grid, threads, kernarg, rng):
        self.machine = machine
        self.memory = machine.memory
        self.place = ','.join(map(str, place))
        self.number = number        # from 1 on, in a launch
        self.rng = rng
        self.arch = machine.object.arch
        self.operations = 0
        self.passed = set()         # of machine.ordered, if something follows
        self.lds = Lds(noise(rng, machine.object.lds_bytes),
                       machine.allow_uninitialised)
        self.waves = []
        for number in range(-(-threads // 64)):
            wave = Wave(self, number, machine.program.entry)
            self._set_up(wave, place, grid, threads, kernarg)
            self.waves.append(wave)

    def _set_up(self, wave, place, grid, threads, kernarg):
        object_ = self.machine.object
        at = 0
        # In the order of the kernel descriptor's bits.
        for bit, size, value in (
                (0, 4, None), (1, 2, self.machine.packet), (2, 2, None),
                (3, 2, kernarg), (4, 2, None), (5, 2, None), (6, 1, None)):
            if not object_.user_props >> bit & 1:
                continue
            if value is not None:
                wave.s[at] = value & M32
                wave.s[at + 1] = value >> 32
            at += size
        if object_.preload:
            raise decode.Unknown('preloaded kernel arguments')
        at = object_.user_sgprs
        for axis in range(3):
            if object_.group_ids[axis]:
                wave.s[at] = place[axis]
                at += 1
        first = wave.number * 64
        # gfx90a and later pack the three thread indices; blocks are rows.
        wave.v[0] = np.arange(first, first + 64, dtype=np.uint32)
        if threads - first < 64:
            wave.set_exec((1 << (threads - first)) - 1)

    def run(self, limit):
        rng = self.rng
        early = self.machine.early
        steps = 0
        while True:
            ready = [w for w in self.waves if not w.done and not w.waiting]
            if not ready:
                live = [w for w in self.waves if not w.done]
                if not live:
                    return
                for wave in self.waves:
                    self.passed |= wave.fences
                    wave.fences.clear()
                for wave in live:
                    wave.waiting = False
                    wave.epoch += 1
                continue
            wave = ready[0] if len(ready) == 1 else rng.choice(ready)
            # In half of the bursts the others fall behind as far as they may.
            burst = rng.randrange(1, 60) if rng.random() < 0.5 else limit
            steps += self._burst(wave, burst, early)
            if steps > limit:
                raise Fault(f'block {self.place}: more than {limit} '
                            'instructions; it does not end')

    def _burst(self, wave, count, early):
        program = self.machine.program.instructions
        start = wave.steps
        while count and not wave.done and not wave.waiting:
            count -= 1
            wave.steps += 1
            instruction = program[wave.pc]
            wave.pc += 1
            if wave.pending and not instruction.registers.isdisjoint(
                    wave.pending):
                wave.check_pending(instruction, instruction.kind)
            instruction.run(wave)
            if early and (wave.vm or wave.lgkm):
                wave.land_some()
        return wave.steps - start


class Machine:
    """Runs one code object.  `code`: its instruction list, or a mutant of it.
    early: operations may land before their wait.
    allow_uninitialised: shared memory may be read before it is written."""

    def __init__(self, object_, memory, code=None, early=False,
                 allow_uninitialised=False, strict_alignment=True):
        self.object = object_
        self.memory = memory
        self.early = early
        self.allow_uninitialised = allow_uninitialised
        self.strict_alignment = strict_alignment
        self.program = decode.Program(object_, code or object_.code)
        self.packet = None
        # Of waits and barriers: the indices of those that were executed.
        self.executed = set()
        # (index, counter) of waits that waited for something, loads of
        # registers apart, and of those, if not in there, that waited for
        # stores.
        self.waited = set()
        self.stored = set()
        # The same of waits for LDS that are the last in front of a barrier
        # behind which some wave touched LDS or loaded something, and (index,
        # None) of such barriers.
        self.ordered = set()
        self.counts = {}

    def _dispatch_packet(self, grid, threads):
        packet = np.zeros(64, np.uint8)
        words = packet.view(np.uint16)
        words[2], words[3], words[4] = threads, 1, 1
        sizes = packet[12:24].view(np.uint32)
        sizes[0], sizes[1], sizes[2] = grid[0] * threads, grid[1], grid[2]
        return self.memory.add('dispatch packet', packet)

    def launch(self, grid, threads, kernarg, rng, limit=2_000_000):
        if len(kernarg) != self.object.meta['kernarg_segment_size']:
            # Hidden arguments follow the explicit ones.
            if len(kernarg) > self.object.meta['kernarg_segment_size']:
                raise Fault(f'{len(kernarg)} bytes of arguments, the kernel '
                            'takes '
                            f'{self.object.meta["kernarg_segment_size"]}')
            kernarg += bytes(self.object.meta['kernarg_segment_size'] -
                             len(kernarg))
        self.packet = self._dispatch_packet(grid, threads)
        address = self.memory.add('arguments', kernarg)
        places = [(x, y, z) for z in range(grid[2]) for y in range(grid[1])
                  for x in range(grid[0])]
        rng.shuffle(places)
        self.memory.written.clear()
        for number, place in enumerate(places, 1):
            block = Block(self, place, number, grid, threads, address, rng)
            block.run(limit)
            for wave in block.waves:
                for name, count in wave.counts.items():
                    best = self.counts.setdefault(name, set())
                    best.add(count)
        # Who waits for a store that nobody else comes upon orders nothing.
        if self.memory.shared:
            self.waited |= self.stored

