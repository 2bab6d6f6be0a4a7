#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""colours.py PICTURE.png: how many pixels there are of each colour, "RRGGBB N".

Reads a PNG of 8 bits to a channel, with or without alpha, not interlaced: what
a browser makes of a page.
"""
import collections
import struct
import sys
import zlib


def unfilter(how, line, above, step):
    """Undoes one row's filter (PNG specification, chapter 9)."""
    for i, byte in enumerate(line):
        left = line[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        up = above[i]
        guess = left + up - corner
        nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up),
                      (abs(guess - corner), 2, corner))[2]
        line[i] = byte + (0, left, up, (left + up) // 2, nearest)[how] & 255


with open(sys.argv[1], "rb") as f:
    data = f.read()
at, packed = 8, b""
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    if kind == b"IHDR":
        width, height, _, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
    if kind == b"IDAT":
        packed += data[at + 8:at + 8 + size]
    at += size + 12
step = {2: 3, 6: 4}[colour]
rows = zlib.decompress(packed)
count = collections.Counter()
above = bytearray(width * step)
for y in range(height):
    start = y * (width * step + 1)
    row = bytearray(rows[start + 1:start + 1 + width * step])
    unfilter(rows[start], row, above, step)
    count.update(bytes(row[i:i + 3]) for i in range(0, len(row), step))
    above = row
for colour, pixels in count.most_common():
    print(colour.hex(), pixels)
