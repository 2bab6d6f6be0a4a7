# SPDX-License-Identifier: Apache-2.0
"""procs.py: processes as /proc tells of them."""
import os
import time


class Broken(Exception):
    """What was seen and must not be."""


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def pids():
    return [int(name) for name in os.listdir('/proc') if name.isdigit()]


def children(parent):
    found = []
    for pid in pids():
        try:
            stat = read(f'/proc/{pid}/stat').rpartition(b')')[2].split()
        except OSError:
            continue  # it has ended
        if int(stat[1]) == parent and stat[0] != b'Z':
            found.append(pid)
    return found


def marked(token):
    """Processes that have the token in their environment, but this one."""
    found = []
    for pid in pids():
        try:
            if pid != os.getpid() and token in read(f'/proc/{pid}/environ'):
                found.append((pid, read(f'/proc/{pid}/cmdline').replace(
                    b'\0', b' ').decode(errors='replace')))
        except OSError:
            continue
    return found


def none_left(token, seconds):
    """The marked processes that have not ended by themselves in that time."""
    deadline = time.monotonic() + seconds
    while (left := marked(token)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def size_of(pid):
    """(resident MiB, threads, open files) of a process."""
    fields = dict(line.split(':', 1) for line in
                  read(f'/proc/{pid}/status').decode().splitlines())
    return (int(fields['VmRSS'].split()[0]) / 1024, int(fields['Threads']),
            len(os.listdir(f'/proc/{pid}/fd')))
