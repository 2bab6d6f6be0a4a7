# SPDX-License-Identifier: Apache-2.0
"""Small kernels of samples/*.hip on the machine: what the tests of the machine
and of the checks themselves share."""
import os
import random

import numpy as np

from codeobject import CodeObject
from machine import Machine, Memory
from objects import make

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Sample:
    """The code objects of one file for one arch, a kernel at a time."""

    def __init__(self, tools, clang, file, arch):
        self.tools = tools
        self.arch = arch
        text = ''
        for part in ('functions.h', file):
            with open(os.path.join(FOLDER, part), encoding='utf-8') as opened:
                body = opened.read()
            if part == file:
                text = body.replace('#include "functions.h"\n', text)
            else:
                text = body
        self.path = make(tools, clang, file, arch, text)

    def kernels(self):
        first = CodeObject(self.path, self.tools)
        return [n[:-3] for n in first.symbols if n.endswith('.kd')]

    def kernel(self, name):
        return CodeObject(self.path, self.tools, name)

    def run(self, name, buffers, threads=64, extra=b'', early=False, seed=1,
            code=None, limit=200_000):
        """Runs one block; buffers are (name, array or bytes); their bytes
        afterwards."""
        object_ = self.kernel(name)
        memory = Memory()
        at = [memory.add(n, np.ascontiguousarray(b).tobytes()
                         if isinstance(b, np.ndarray) else b)
              for n, b in buffers]
        machine = Machine(object_, memory, code, early=early)
        packed = b''.join(a.to_bytes(8, 'little') for a in at) + extra
        machine.launch((1, 1, 1), threads, packed, random.Random(seed),
                       limit=limit)
        return [memory.bytes_of(a) for a in at]
