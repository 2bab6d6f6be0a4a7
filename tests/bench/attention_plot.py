#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws times of decode attention over those of a plain read of the same bytes.

    python3 attention_plot.py attention.jsonl > attention.svg

The input has a line of JSON for each measurement: {"sequences", "heads",
"kv_heads", "keys", "page", "head_dim", "kv", "who", "us", "read_us"}, and
"choice" where groat's was set by hand, whose row gets a star.  Drawn are
shapes of page 16, head_dim 128 and 16-bit keys with 8 query heads of a KV head
or equal heads, a row each, in the order of the file.
"""
import json
import sys

# The colours are told apart by eyes that see no red or green, and in dark mode.
WHO = [('groat, overlap', '#0072b2', 'diamond'), ('groat', '#0072b2', 'dot'),
       ('cuDNN, paged', '#d55e00', 'dot'),
       ('Triton (ours), paged', '#e69f00', 'dot'),
       ('FlashInfer, paged', '#cc79a7', 'dot'),
       ('XQA, paged', '#56b4e9', 'diamond'),
       ('FlexAttention, paged', '#8c564b', 'dot'),
       ('TileLang, contiguous', '#8c564b', 'ring'),
       ('PyTorch SDPA (cuDNN), contiguous', '#009e73', 'ring')]
LEFT, TOP, ROW, WIDE, MOST = 190, 86, 26, 520, 5.0


def x_of(ratio):
    return LEFT + (ratio - 1) / (MOST - 1) * WIDE


def mark(shape, x, y, colour):
    if shape == 'diamond':
        return (f'<path d="M{x:.1f} {y - 6}l6 6l-6 6l-6-6z" fill="{colour}"/>')
    fill = 'none' if shape == 'ring' else colour
    return (f'<circle cx="{x:.1f}" cy="{y}" r="4.5" fill="{fill}" '
            f'stroke="{colour}" stroke-width="2"/>')


def rows_of(lines):
    rows, stars = {}, set()
    for line in lines:
        one = json.loads(line)
        if (one['page'], one['head_dim'], one.get('value_dim', 128),
                one['kv']) != (16, 128, 128, 'bf16') or \
                one['heads'] // one['kv_heads'] not in (1, 4, 8) or \
                (one['heads'], one['kv_heads']) == (8, 8):
            continue
        name = (f"{one['sequences']} x {one['keys']:,} keys, "
                f"{one['heads']}/{one['kv_heads']}")
        rows.setdefault(name, {})[one['who']] = one['us'] / one['read_us']
        if 'choice' in one:
            stars.add(name)
    return {name + (' *' if name in stars else ''): seen
            for name, seen in rows.items()}


def text(x, y, words, more=''):
    return f'<text x="{x:.1f}" y="{y}"{more}>{words}</text>'


def draw(rows):
    high = TOP + ROW * len(rows) + 48
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDE + 30}" '
           f'height="{high}" font-family="sans-serif" font-size="12">',
           '<title>Time of decode attention over that of a plain read</title>',
           '<style>svg{background:#fff}text{fill:#222}.line{stroke:#ddd}'
           '@media (prefers-color-scheme:dark){svg{background:#16191d}'
           'text{fill:#ddd}.line{stroke:#3a3f46}}</style>']
    for i, (name, colour, shape) in enumerate(WHO):
        x, y = 20 + i % 3 * 230, 20 + i // 3 * 20
        out += [mark(shape, x, y - 4, colour), text(x + 12, y, name)]
    for tick in range(1, int(MOST) + 1):
        x = x_of(tick)
        out += [f'<path class="line" d="M{x:.1f} {TOP - 8}V{high - 44}"/>',
                text(x, high - 28, f'{tick}', ' text-anchor="middle"')]
    stars = any(name.endswith('*') for name in rows)
    out.append(text(20, high - 8, 'time / plain read of the same keys and '
                    'values (1 is as fast as memory)' +
                    ('; * clusters set by hand' if stars else '')))
    for i, (name, seen) in enumerate(rows.items()):
        y = TOP + ROW * i + 8
        out.append(text(LEFT - 12, y + 4, name, ' text-anchor="end"'))
        out += [mark(shape, x_of(min(seen[who], MOST)), y, colour)
                for who, colour, shape in reversed(WHO) if who in seen]
    return '\n'.join(out + ['</svg>'])


if __name__ == '__main__':
    with open(sys.argv[1], encoding='utf-8') as file:
        print(draw(rows_of(file)))
