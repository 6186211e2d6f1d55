#!/usr/bin/env python3
"""Write a realistic Breakpad symbol file of a given size, streaming.

    gen_sym.py MEGABYTES [--seed N] [-o FILE] [--id HEX33]

By bytes about 40 % line records, 30 % STACK CFI, 15 % FUNC, the rest INLINE,
INLINE_ORIGIN, FILE and PUBLIC. Addresses ascend, as dump_syms writes them; names
do not repeat. The same seed and size give the same bytes.

A block of functions is made once by a random generator; later blocks repeat its
shape at other addresses, with other names, lines and files, so that 500 MB take a
minute and no two records are equal. STACK CFI comes last in a real file, so its
text is made in a second pass over the same seeds.
"""
import argparse
import random
import sys

WORDS = ("alloc buffer cache chain channel client codec column config context convert core "
         "cursor decode device dispatch document driver element encode engine entry error event "
         "factory field filter frame graph group handler index input insert iterator kernel key "
         "layer layout list loader lookup manager map matrix memory message model module network "
         "node object observer offset option output packet page parser path pipeline pixel point "
         "pool process proxy query queue range reader record region registry render request "
         "resource result router scanner schema scope section segment session shader signal slot "
         "socket source stack state storage stream string style surface symbol table target task "
         "template texture thread timer token tracker transform tree update value vector version "
         "view visitor widget window worker writer").split()
SAVED = ("$rbp", "$rbx", "$r12", "$r13", "$r14", "$r15")
BLOCK = 256		# functions of a template


class Block:
    """Functions in a stretch of text: what is the same wherever it is put."""

    def __init__(self, rng):
        self.funcs = []
        at = 0x10
        for _ in range(BLOCK):
            lines, size = [], 0
            for _ in range(max(1, int(rng.expovariate(1 / 18)))):
                n = rng.choice((1, 2, 3, 4, 5, 5, 7, 8, 8, 11, 16, 24, 37))
                lines.append((size, n, rng.randrange(-9, 40), rng.random() < 0.3))
                size += n
            self.funcs.append((at, size, lines, self.inlines(rng, lines, size),
                               self.cfi(rng, size), self.name(rng)))
            at += (size + 31) & ~15
        self.size = (at + 0xfff) & ~0xfff

    @staticmethod
    def name(rng):
        parts = [rng.choice(WORDS) for _ in range(rng.randrange(3, 7))]
        args = ", ".join(rng.choice(("int", "char const*", "unsigned long", "bool",
                                     f"std::vector<{rng.choice(WORDS)}> const&",
                                     f"std::unordered_map<{rng.choice(WORDS)}, std::string>"))
                         for _ in range(rng.randrange(0, 6)))
        return "::".join(parts) + "_", f"({args})"

    @staticmethod
    def inlines(rng, lines, size):
        found, free = [], 0
        for _ in range(rng.choice((0, 1, 2, 3, 3, 4))):
            start = rng.randrange(0, size)
            if start < free:
                continue
            n = min(size - start, rng.randrange(1, 40))
            free = start + n
            found.append((0, start, n, rng.randrange(1, 900), rng.randrange(0, 50)))
            if n > 8 and rng.random() < 0.5:
                found.append((1, start + 2, n - 4, rng.randrange(1, 900), rng.randrange(0, 50)))
        return found

    @staticmethod
    def cfi(rng, size):
        rows, at, depth = [], 0, 8
        for reg in SAVED[:rng.choice((0, 1, 1, 2, 3, 3, 5))]:
            at += rng.choice((1, 2, 2, 4))
            depth += 8
            rows.append((at, f".cfa: $rsp {depth} + {reg}: .cfa {-depth} + ^"))
        if rng.random() < 0.7:
            at += rng.choice((4, 7))
            rows.append((at, f".cfa: $rsp {depth + 8 * rng.randrange(1, 40)} +"))
        if rows:
            end = size - 1 - len(rows)
            while end > at and depth >= 8:
                rows.append((end, f".cfa: $rsp {depth} +"))
                end += 2
                depth -= 8
                if end >= size:
                    break
        return [r for r in rows if r[0] < size]


def functions(block, number, base, num_files, num_origins):
    """FUNC, INLINE and line records of one block put at @p base."""
    out = []
    for i, (at, size, lines, inlines, _, (head, tail)) in enumerate(block.funcs):
        start = base + at
        out.append(f"FUNC {start:x} {size:x} 0 {head}{number * BLOCK + i:x}{tail}\n")
        for depth, off, n, line, origin in inlines:
            out.append(f"INLINE {depth} {line} {(number + line) % num_files} "
                       f"{(number * 31 + origin) % num_origins} {start + off:x} {n:x}\n")
        line, file = 20 + number * 7 % 3000, (number + i) % num_files
        for off, n, step, other in lines:
            line = max(1, line + step)
            f = (file * 13 + 7) % num_files if other else file
            out.append(f"{start + off:x} {n:x} {line} {f}\n")
    return "".join(out)


def unwind(block, base):
    out = []
    for at, size, _, _, rows, _ in block.funcs:
        start = base + at
        out.append(f"STACK CFI INIT {start:x} {size:x} .cfa: $rsp 8 + .ra: .cfa -8 + ^\n")
        for off, rules in rows:
            out.append(f"STACK CFI {start + off:x} {rules}\n")
    return "".join(out)


def names(megabytes, rng):
    """FILE and INLINE_ORIGIN records."""
    num_files, num_origins = 50 + int(40 * megabytes), 100 + int(420 * megabytes)
    for i in range(num_files):
        yield f"FILE {i} /build/src/{rng.choice(WORDS)}/{rng.choice(WORDS)}_{i}.cc\n"
    for i in range(num_origins):
        head, tail = Block.name(rng)
        yield f"INLINE_ORIGIN {i} {head}inl{i:x}{tail}\n"


def publics(count, rng, base):
    for i in range(count):
        yield f"PUBLIC {base + i * 0x30:x} 0 _ZN{rng.choice(WORDS)}{i:x}Ev_{rng.choice(WORDS)}\n"


def write(out, megabytes, seed, ident):
    rng = random.Random(seed)
    blocks = [Block(rng) for _ in range(8)]
    num_files, num_origins = 50 + int(40 * megabytes), 100 + int(420 * megabytes)
    total = int(megabytes * 1000000)
    done = out.write(f"MODULE Linux x86_64 {ident} generated-{seed}\n"
                     f"INFO CODE_ID {ident[:32]}00000000\n")
    for text in names(megabytes, rng):
        done += out.write(text)
    num_publics = int(950 * megabytes)
    middle = int(megabytes * 0x28000)
    for b in blocks:	# how much text a block's two halves are, at middling addresses
        b.weight = len(functions(b, 100, middle, num_files, num_origins)) + \
            len(unwind(b, middle))
    done += num_publics * 39
    placed, base, number = [], 0x1000, 0
    while done < total:
        b = blocks[number % len(blocks)]
        out.write(functions(b, number, base, num_files, num_origins))
        placed.append((b, base))
        done += b.weight
        base += b.size
        number += 1
    for text in publics(num_publics, rng, base):
        out.write(text)
    for b, at in placed:
        out.write(unwind(b, at))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("megabytes", type=float)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--id", default="5A9832E5287241C1838ED98914E9B7FF0")
    p.add_argument("-o", "--output")
    a = p.parse_args()
    if a.output:
        with open(a.output, "w", encoding="ascii", buffering=1 << 20) as out:
            write(out, a.megabytes, a.seed, a.id)
    else:
        write(sys.stdout, a.megabytes, a.seed, a.id)


if __name__ == "__main__":
    main()
