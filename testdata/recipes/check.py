#!/usr/bin/env python3
"""Check fixture folders: do the .sym files name every frame of truth.txt?

usage: check.py CASE-FOLDER ...
The truth was written by gdb, the .sym files by elf2sym.py over binutils, so
this compares two readers of the same debug information, neither of them ours.
"""
import bisect
import glob
import os
import sys


def read_sym(path):
    sym = {"files": {}, "origins": {}, "functions": [], "publics": []}
    for line in open(path, encoding="utf-8"):
        fields = line.split()
        if fields[0] == "FILE":
            sym["files"][int(fields[1])] = line.split(None, 2)[2].strip()
        elif fields[0] == "INLINE_ORIGIN":
            sym["origins"][int(fields[1])] = line.split(None, 2)[2].strip()
        elif fields[0] == "FUNC":
            start = int(fields[1], 16)
            name = line.split(None, 4)[4].strip()
            sym["functions"].append((start, start + int(fields[2], 16), name, [], []))
        elif fields[0] == "INLINE":
            numbers = [int(x, 16) for x in fields[5:]]
            ranges = [(a, a + b) for a, b in zip(numbers[::2], numbers[1::2])]
            sym["functions"][-1][4].append((*map(int, fields[1:5]), ranges))
        elif fields[0] == "PUBLIC":
            sym["publics"].append((int(fields[1], 16), line.split(None, 3)[3].strip()))
        elif fields[0] not in ("MODULE", "INFO", "STACK"):
            start, size = int(fields[0], 16), int(fields[1], 16)
            sym["functions"][-1][3].append((start, start + size, int(fields[2]), int(fields[3])))
    sym["functions"].sort(key=lambda f: f[:2])
    sym["publics"].sort()
    return sym


def frames_at(sym, address):
    """[(name, place)] innermost first."""
    i = bisect.bisect([f[0] for f in sym["functions"]], address) - 1
    if i < 0 or address >= sym["functions"][i][1]:
        j = bisect.bisect([p[0] for p in sym["publics"]], address) - 1
        return [(sym["publics"][j][1] if j >= 0 else "-", "-")]
    _, _, name, lines, inlines = sym["functions"][i]
    place = "-"
    for start, end, line, file in lines:
        if start <= address < end:
            place = "%s:%d" % (sym["files"][file], line)
    chain = [x for x in inlines if any(a <= address < b for a, b in x[4])]
    result = []
    for _, line, file, origin, _ in sorted(chain, key=lambda x: -x[0]):
        result.append((sym["origins"][origin], place))
        place = "%s:%d" % (sym["files"][file], line)
    return result + [(name, place)]


def check(folder):
    syms = {os.path.basename(p)[:-4]: read_sym(p) for p in glob.glob(folder + "/symbols/*/*/*.sym")}
    wrong = 0
    exact, pending = True, []
    for line in open(folder + "/truth.txt"):
        if line.startswith("thread "):
            exact = line.split()[-1] == "crashed"
            first = True
            pending = []
            continue
        fields = line.rstrip("\n").split("\t")
        place, name, source, flags = fields[0], fields[1], fields[2], fields[3:]
        pending.append((name, source))
        if flags == ["inline"]:
            continue
        module, _, offset = place.rpartition("+0x")
        # A context's pc, a trampoline's first byte and the pc that a signal
        # interrupted are exact; all others are return addresses.
        address = int(offset, 16) - (0 if first or exact or flags == ["signal"] else 1)
        first, exact = False, flags == ["signal"]
        if module in syms:
            found = frames_at(syms[module], address)
            if flags == ["signal"]:
                found = [(found[0][0], "-")]
            nameless = len(pending) == 1 and pending[0][0] == "-"
            # The .sym has the return types of C++ templates, gdb does not.
            same = len(found) == len(pending) and all(
                f[0].endswith(p[0]) and f[1] == p[1] for f, p in zip(found, pending))
            if not same and not nameless:
                print("%s: %s: truth %s, symbols %s" % (folder, place, pending, found))
                wrong += 1
        pending = []
    return wrong


sys.exit(1 if sum([check(folder) for folder in sys.argv[1:]]) else 0)
