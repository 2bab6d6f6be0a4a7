# SPDX-License-Identifier: Apache-2.0
"""A machine that runs AMD code objects of gfx90a, gfx942 and gfx950, with
memory that is as late as it may be and a memory of who touched what.  See
../README.md for what is modelled and what is not."""
from .core import Machine
from .faults import Fault, Race, Unknown
from .memory import Memory

__all__ = ['Machine', 'Memory', 'Fault', 'Race', 'Unknown']
