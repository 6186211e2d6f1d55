#!/usr/bin/env python3
"""Every row of an ELF file's call frame information, ours against readelf's.

usage: oracle_cfi.py PRINT_ROWS FILE...     (make oracle SYSTEM_LIBS='FILE ...')

Both tables are brought to one form: the addresses where the row changes, and
the row. readelf shows that an expression is one ("exp"), not what it says, and
invents no row for addresses between FDEs; its .debug_frame is compared where
.eh_frame is silent. Prints TAP. Exit status 1: some row differs.
"""
import os
import re
import shutil
import subprocess
import sys

X86_64 = "rax rdx rcx rbx rsi rdi rbp rsp".split() + ["r%d" % i for i in range(8, 16)] + ["rip"]
I386 = "eax ecx edx ebx esp ebp esi edi eip eflags".split()
ARM = ["r%d" % i for i in range(16)]
ARM64 = ["x%d" % i for i in range(31)] + ["sp", "pc"]
RISCV = ("zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 "
         "s10 s11 t3 t4 t5 t6").split()
S390X = (["r%d" % i for i in range(16)] +
         "f0 f2 f4 f6 f1 f3 f5 f7 f8 f10 f12 f14 f9 f11 f13 f15".split())
# machine: names, our slot of pc, ours of the link register, DWARF numbers that are slots, others
MACHINES = {
    "X86-64": (X86_64, 16, None, 17, {}),
    "80386": (I386, 8, None, 10, {}),
    "ARM": (ARM, 15, 14, 16, {}),
    "AArch64": (ARM64, 32, 30, 33, {}),
    "RISC-V": (RISCV, 32, 1, 32, {}),
    "S/390": (S390X, 32, 14, 32, {}),
    "PowerPC64": (["r%d" % i for i in range(32)], 33, 32, 32, {65: 32}),
    "MIPS": (["r%d" % i for i in range(32)], 32, 31, 32, {}),
}


def machine_of(path):
    out = subprocess.run(["readelf", "-hW", path], capture_output=True, text=True,
                         env={"LC_ALL": "C"}).stdout
    for line in out.splitlines():
        if "Machine:" in line:
            for key in sorted(MACHINES, key=len, reverse=True):
                if key in line:
                    return MACHINES[key]
    return None


def number(machine, name):
    """Our slot of readelf's name for a register; None: it has none."""
    names, _, _, slots, others = machine
    m = re.fullmatch(r"r(\d+)", name) if names[0] in ("rax", "eax") else None
    if m is not None and not (name in names and names.index(name) == int(m.group(1))):
        # a register as the place of another is shown by number; r8 is both
        return int(m.group(1)) if int(m.group(1)) < slots else None
    if name in names:
        return names.index(name)
    m = re.fullmatch(r"r(\d+)", name) or re.fullmatch(r".*?\(r(\d+)\)", name)
    if m is None:
        return None
    n = int(m.group(1))
    return n if n < slots else others.get(n)


def base_and_offset(machine, text):
    """"rsp+8" as "r7+8"; "exp" as it is."""
    m = re.fullmatch(r"(.*?)([+-]\d+)?", text)
    slot = number(machine, m.group(1))
    return text if slot is None else "r%d%+d" % (slot, int(m.group(2) or 0))


def row_of(machine, columns, values, ra):
    """What readelf shows, in print_rows' words, as {slot: rule}."""
    pc, lr = machine[1], machine[2]
    row = {40: base_and_offset(machine, values[0])}
    row_ra = None
    for column, value in zip(columns[1:], values[1:]):
        if re.fullmatch(r"[cv][+-]\d+|u|s|exp|vexp", value):
            rule = value
        else:
            rule = base_and_offset(machine, value)
        if column == "ra":
            row_ra = rule
            continue
        slot = number(machine, column)
        # readelf shows "u" where an FDE has not yet mentioned a register
        if slot is not None:
            row[slot] = rule
    link = ra if ra < machine[3] else machine[4].get(ra)
    if link == pc or link is None:
        row[pc] = row_ra
    else:
        row[link] = row_ra
        row[pc] = "r%d+0" % link if row_ra in (None, "s", "u?") else row_ra
    return row


class Fde:
    def __init__(self, start, end, signal, section, columns=None):
        self.start, self.end, self.signal, self.section = start, end, signal, section
        self.rows = []


def read_readelf(path, machine):
    """FDEs with rows, in file order."""
    p = subprocess.Popen(["readelf", "--debug-dump=frames-interp", "-W", "-wN", path],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                         env={"LC_ALL": "C"})
    cies, fdes, section, cie, fde, columns, ra = {}, [], "", None, None, None, 0
    in_cie = False
    for line in p.stdout:
        if line.startswith("Contents of the "):
            section = line.split()[3]
            cies = {}
            continue
        m = re.match(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE \"(.*?)\" cf=(\d+) df=(-?\d+) ra=(\d+)",
                     line)
        if m:
            cie = int(m.group(1), 16)
            cies[cie] = {"signal": "S" in m.group(2), "ra": int(m.group(5)), "row": None,
                         "columns": None}
            in_cie, fde, columns = True, None, None
            continue
        m = re.match(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) "
                     r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        if m:
            cie = int(m.group(2), 16)
            fde = Fde(int(m.group(3), 16), int(m.group(4), 16), cies[cie]["signal"], section)
            fdes.append(fde)
            in_cie, columns = False, None
            if cies[cie]["row"]:
                fde.rows.append((fde.start, cies[cie]["row"]))
            continue
        if "ZERO terminator" in line:
            columns = None
            continue
        words = re.sub(r"(r\d+) \(\w+\)", r"\1", line).split()
        if not words:
            continue
        if words[0] == "LOC":
            columns = words[1:]
        elif columns is not None and re.fullmatch(r"[0-9a-f]{8,16}", words[0]):
            row = row_of(machine, columns, words[1:], cies[cie]["ra"])
            if in_cie:
                cies[cie]["row"] = row
            elif fde is not None:
                fde.rows.append((int(words[0], 16), row))
    p.wait()
    return fdes


def laid_flat(fdes):
    """[(address, row or None)] of the addresses where the row changes."""
    eh = sorted((f for f in fdes if f.section == ".eh_frame"), key=lambda f: f.start)
    debug = sorted((f for f in fdes if f.section != ".eh_frame"), key=lambda f: f.start)
    covered = [(f.start, f.end) for f in eh]
    pieces = [(f, f.start, f.end) for f in eh]
    k = 0
    for f in debug:
        if f.start in (0, 1) or f.start == f.end:
            continue
        start = f.start
        while k < len(covered) and covered[k][1] <= start:
            k += 1
        i = k
        while start < f.end:
            if i < len(covered) and covered[i][0] <= start:
                start = max(start, covered[i][1])
                i += 1
                continue
            end = min(f.end, covered[i][0]) if i < len(covered) else f.end
            pieces.append((f, start, end))
            start = end
    pieces.sort(key=lambda p: p[1])
    changes = []
    for n, (f, start, end) in enumerate(pieces):
        if n + 1 < len(pieces):
            end = min(end, pieces[n + 1][1])
        if start >= end:
            continue
        for at, row in f.rows:
            if at < end:
                changes.append((max(at, start), (f.signal, row)))
        changes.append((end, None))
    flat = []
    for at, row in changes:
        if flat and flat[-1][0] == at:
            flat.pop()
        flat.append((at, row))
    return flat


def read_ours(program, path):
    out = subprocess.run([program, path], capture_output=True, text=True)
    if out.returncode:
        raise SystemExit("%s %s: %s" % (program, path, out.stderr))
    changes = []
    for line in out.stdout.splitlines():
        words = line.split()
        row = {}
        for word in words[1:]:
            if word != "signal":
                target, rule = word.split("=", 1)
                row[int(target)] = rule
        changes.append((int(words[0], 16), (words[1:2] == ["signal"], row) if row else None))
    return changes


def same_rule(theirs, ours):
    if theirs == ours:
        return True
    if theirs in ("exp", "vexp"):   # shapes that need no program are rules of their own
        return ours is not None and ours not in ("u", "s", "?")
    # "u" of readelf: not mentioned yet in this FDE, or really undefined
    return theirs == "u" and ours in (None, "u")


def same_row(theirs, ours, pc, lr):
    if theirs is None or ours is None:
        return theirs is ours
    (their_signal, a), (our_signal, b) = theirs, ours
    if their_signal != our_signal:
        return False
    for slot in set(a) | set(b):
        x, y = a.get(slot), b.get(slot)
        if lr is not None and slot in (pc, lr) and x in (None, "u", "s"):
            # the link register's column before it is saved
            if ((slot == lr and y in (None, "u", "s")) or
                    (slot == pc and y and re.fullmatch(r"r\d+\+0|u", y))):
                continue
        if x is None and y is None:
            continue
        if x is None or not same_rule(x, y):
            return False
    return True


def compare(program, path):
    machine = machine_of(path)
    if machine is None:
        return None
    theirs, ours = laid_flat(read_readelf(path, machine)), read_ours(program, path)
    # rows differ where at any address of change of either the rows in force differ
    i = k = differ = 0
    a = b = None
    rows = len([1 for _, row in theirs if row])
    while i < len(theirs) or k < len(ours):
        at = min(theirs[i][0] if i < len(theirs) else 1 << 64,
                 ours[k][0] if k < len(ours) else 1 << 64)
        if i < len(theirs) and theirs[i][0] == at:
            a = theirs[i][1]
            i += 1
        if k < len(ours) and ours[k][0] == at:
            b = ours[k][1]
            k += 1
        if not same_row(a, b, machine[1], machine[2]):
            differ += 1
            if differ <= 8:
                print("# %x: readelf %s, ours %s" % (at, a, b))
    return rows, differ


def main():
    status, n = 0, 0
    program = sys.argv[1]
    for path in sys.argv[2:]:
        n += 1
        name = os.path.basename(path)
        here = os.path.exists(path) and shutil.which("readelf")
        result = compare(program, path) if here else None
        if result is None:
            print("ok %d - rows of %s # SKIP not here" % (n, name))
            continue
        rows, differ = result
        bad = differ != 0 or rows == 0
        status |= bad
        print("%s %d - rows of %s: %d compared, %d differ" % ("not ok" if bad else "ok", n, name,
                                                            rows, differ), flush=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
