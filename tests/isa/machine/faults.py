# SPDX-License-Identifier: Apache-2.0
"""What a run of a code object can be guilty of."""


class Fault(Exception):
    """The program did what it may not do."""


class Race(Fault):
    """Two accesses that nothing orders, or one that came too early."""


class Unknown(Exception):
    """The machine does not model this instruction or operand."""
