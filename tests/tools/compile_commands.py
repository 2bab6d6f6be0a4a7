#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints compile_commands.json for editors: how each C file of the tree is
compiled.  Called by make: compile_commands.py SOURCE_FOLDER COMPILER OPTION..."""
import json
import os
import sys


def main():
    top = os.path.abspath(sys.argv[1])
    entries = []
    for room in ('src', 'cache', 'kernels-src', 'examples', 'tests'):
        for folder, _, names in sorted(os.walk(os.path.join(top, room))):
            for name in sorted(names):
                if name.endswith('.c'):
                    path = os.path.join(folder, name)
                    entries.append({'directory': os.getcwd(), 'file': path,
                                    'arguments': sys.argv[2:] + ['-c', path]})
    json.dump(entries, sys.stdout, indent=1)
    print()


if __name__ == '__main__':
    main()
