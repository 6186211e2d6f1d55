#!/usr/bin/env python3
"""Write a Breakpad symbol file for an ELF file, from what binutils print.

Independent of framewalk's own readers: every fact comes from readelf, nm,
objdump or addr2line. (If LLVM's addr2line is there too, lines are taken from it:
binutils 2.40 misreads some file numbers of DWARF 5.) x86 and amd64. Function
extents are the symbol table's; names, lines and inline calls are asked of
addr2line at every instruction, so an INLINE range ends at an instruction and
two equal calls from one line are one record. What a .sym cannot express is
left out, as Breakpad's dump_syms does: an undefined return address and rules
that are DWARF expressions.
"""
import argparse
import bisect
import os
import re
import shutil
import subprocess
import sys

LLVM_ADDR2LINE = shutil.which("llvm-addr2line") or shutil.which("llvm-addr2line-14")
SYMBOL = re.compile(r"([0-9a-f]+) (?:([0-9a-f]+) )?[tTiWw] (.*?)(?:@+[A-Z][\w.]*)?$")
FRAME_ENTRY = re.compile(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (CIE|FDE)"
                         r"(?: cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+))?")


def run(*command, text=None):
    environment = dict(os.environ, LC_ALL="C")
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          universal_newlines=True, env=environment)
    return done.stdout.splitlines()


class Elf:
    def __init__(self, path, debug):
        self.path = path
        self.debug = debug or path
        self.machine = "x86"
        self.base = None
        self.text = []
        self.soname = os.path.basename(path)
        self.build_id = ""
        self.listing = None
        for line in run("readelf", "-hlndW", path):
            if "Machine:" in line and "X86-64" in line:
                self.machine = "x86_64"
            elif re.match(r"\s+LOAD\s", line):
                start, size = (int(line.split()[i], 16) for i in (2, 5))
                self.base = start & ~0xfff if self.base is None else self.base
                if " E " in line:
                    self.text.append((start, start + size))
            elif "Build ID:" in line:
                self.build_id = line.split()[-1]
            elif "Library soname:" in line:
                self.soname = re.search(r"\[(.*)\]", line).group(1)

    def debug_id(self):
        raw = bytes.fromhex(self.build_id)[:16].ljust(16, b"\0")
        return (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]).hex().upper() + "0"

    def symbols(self):
        """(address, size, name) of every function symbol, one an address."""
        found = {}
        for flags, path in ("-SC", self.debug), ("-SCD", self.path):
            for match in map(SYMBOL.match, run("nm", flags, "--defined-only", path)):
                address = int(match.group(1), 16) if match else -1
                if any(a <= address < b for a, b in self.text):
                    entry = (int(match.group(2) or "0", 16), match.group(3))
                    if address not in found or (found[address][0] == 0 and entry[0]):
                        found[address] = entry
        return [(address, *found[address]) for address in sorted(found)]

    def instructions(self, start, end):
        """Start addresses of the instructions in [start, end)."""
        if end <= start:
            return []
        if self.listing is None:
            return self.disassemble("--start-address=%#x" % start, "--stop-address=%#x" % end)
        first, last = (bisect.bisect_left(self.listing, x) for x in (start, end))
        return self.listing[first:last]

    def disassemble(self, *limits):
        lines = run("objdump", "-d", "-w", "--no-show-raw-insn", *limits, self.path)
        matches = (re.match(r"\s*([0-9a-f]+):\t", line) for line in lines)
        return [int(match.group(1), 16) for match in matches if match]

    def chains(self, addresses):
        """address -> [(function, file, line)], the innermost call first."""
        result = self.ask("addr2line", addresses)
        if LLVM_ADDR2LINE:
            for address, chain in self.ask(LLVM_ADDR2LINE, addresses).items():
                names = [name for name, _, _ in result[address]]
                if len(names) == len(chain):
                    chain = [(name, *place[1:]) for name, place in zip(names, chain)]
                result[address] = chain
        return result

    def ask(self, tool, addresses):
        result = {}
        lines = run(tool, "-a", "-i", "-f", "-C", "-e", self.debug,
                    text="".join("%#x\n" % a for a in addresses))
        position, address = 0, None
        while position < len(lines):
            if re.match(r"0x[0-9a-f]+$", lines[position]):
                address = int(lines[position], 16)
                result[address] = []
                position += 1
                continue
            name = re.sub(r" \(discriminator.*", "", lines[position + 1])
            path, _, number = name.rpartition(":")
            path = "" if path == "??" else os.path.normpath(path)
            result[address].append((lines[position], path, int(number) if number.isdigit() else 0))
            position += 2
        return result


class Writer:
    def __init__(self):
        self.files = {}
        self.origins = {}
        self.records = []

    def file(self, path):
        return self.files.setdefault(path, len(self.files))

    def origin(self, name):
        return self.origins.setdefault(name, len(self.origins))

    def function(self, base, start, end, name, points, chains):
        self.records.append("FUNC %x %x 0 %s" % (start - base, end - start, name))
        spans = list(zip(points, points[1:] + [end]))
        self.inlines(base, 0, spans, chains)
        last = None
        for low, high in spans:
            _, path, line = chains[low][0]
            if last and last[1] == low and last[2:] == [path, line]:
                last[1] = high
                continue
            last = [low, high, path, line]
            self.records.append(last)
        for i, record in enumerate(self.records):
            if isinstance(record, list):
                low, high, path, line = record
                self.records[i] = None if not path or not line else "%x %x %d %d" % (
                    low - base, high - low, line, self.file(path))
        self.records = [r for r in self.records if r]

    def inlines(self, base, level, spans, chains):
        """Calls inlined at this level, each followed by those inlined into it."""
        calls = {}
        for low, high in spans:
            chain = chains[low][::-1]
            if level + 1 < len(chain):
                key = (chain[level + 1][0], *chain[level][1:])
                calls.setdefault(key, []).append((low, high))
        for (name, path, line), covered in calls.items():
            ranges = []
            for low, high in covered:
                if ranges and ranges[-1][1] == low:
                    ranges[-1][1] = high
                else:
                    ranges.append([low, high])
            self.records.append("INLINE %d %d %d %d %s" % (
                level, line, self.file(path), self.origin(name),
                " ".join("%x %x" % (low - base, high - low) for low, high in ranges)))
            self.inlines(base, level + 1, covered, chains)


def rule(text):
    """One cell of readelf's frame table as a rule; None if it has none."""
    match = re.match(r"(c|v)([+-]\d+)$", text)
    if match:
        return ".cfa %d +" % int(match.group(2)) + (" ^" if match.group(1) == "c" else "")
    match = re.match(r"([a-z]\w*?)([+-]\d+)$", text)
    if match:
        return "$%s %d +" % (match.group(1), int(match.group(2)))
    return "$" + text[1:] if text[0] == "=" else None


def cfi(elf, wanted):
    """STACK CFI records from the table of .eh_frame and .debug_frame."""
    records = []
    cies = {}
    word, pc = (8, "$rip") if elf.machine == "x86_64" else (4, "$eip")
    entry = None

    def flush():
        if not entry or not entry.get("fde") or not wanted(entry["low"], entry["high"]):
            return
        columns, cells = cies[entry["cie"]]
        rows = entry["rows"] or [(entry["low"], dict(zip(columns, cells)))]
        state = {}
        for number, (address, row) in enumerate(rows):
            rules = {}
            for column, cell in row.items():
                name = {"CFA": ".cfa", "ra": ".ra"}.get(column, "$" + column)
                value = rule(cell)
                if name == ".ra" and cell == "u":
                    value = ".cfa -%d + ^" % word
                elif value is None and cell in "us" and name in state:
                    value = name
                if value is not None:
                    rules[name] = value
            if number == 0:
                rules.setdefault(".ra", pc)
            changed = {k: v for k, v in rules.items() if state.get(k) != v}
            state.update(changed)
            text = " ".join("%s: %s" % (k, changed[k]) for k in sorted(changed))
            if number == 0:
                records.append("STACK CFI INIT %x %x %s" % (
                    address - elf.base, entry["high"] - entry["low"], text))
            elif text:
                records.append("STACK CFI %x %s" % (address - elf.base, text))

    for line in run("readelf", "--debug-dump=frames-interp", elf.path):
        head = FRAME_ENTRY.match(line)
        # A value held in another register is two words: "r9 (r9)".
        fields = re.sub(r"\br\d+ \((\w+)\)", r"=\1", line).split()
        if head:
            flush()
            if head.group(2) == "CIE":
                entry = {"cie": head.group(1), "rows": []}
                cies[entry["cie"]] = ([], [])
            else:
                entry = {"fde": True, "cie": head.group(3), "rows": [],
                         "low": int(head.group(4), 16), "high": int(head.group(5), 16)}
        elif fields[:2] == ["LOC", "CFA"]:
            entry["columns"] = fields[1:]
        elif entry and re.match(r"[0-9a-f]{8,16} ", line) and "columns" in entry:
            cells = fields[1:]
            if entry.get("fde"):
                entry["rows"].append((int(fields[0], 16), dict(zip(entry["columns"], cells))))
            else:
                cies[entry["cie"]] = (entry["columns"], cells)
    flush()
    return records


def read_truth(path, module):
    """Offsets in a module that a truth file names."""
    offsets = set()
    for line in open(path):
        name, _, offset = line.split("\t")[0].rpartition("+0x")
        if name == module:
            offsets.add(int(offset, 16))
    return [(offset - 1, offset + 1) for offset in sorted(offsets)]


def convert(elf, only, with_cfi):
    writer = Writer()
    publics = []

    def wanted(low, high):
        return only is None or any(low < b and a < high for a, b in only)

    symbols = elf.symbols()
    if only is None:
        elf.listing = sorted(elf.disassemble())
    chosen = []
    for i, (address, size, name) in enumerate(symbols):
        following = symbols[i + 1][0] if i + 1 < len(symbols) else address + max(size, 1)
        # The symbol before a nameless place is kept: readers must not use it.
        if wanted(address, max(address + size, following)):
            chosen.append((address, min(address + size, following) if size else address, name))
    points = {start: elf.instructions(start, end) for start, end, _ in chosen}
    chains = elf.chains([p for address in points for p in points[address]])
    for address, end, name in chosen:
        here = [p for p in points[address] if p in chains and chains[p]]
        if not here or not any(line for p in here for _, _, line in chains[p]):
            publics.append("PUBLIC %x 0 %s" % (address - elf.base, name))
            continue
        writer.function(elf.base, address, end, chains[here[0]][-1][0], here, chains)
    head = ["MODULE Linux %s %s %s" % (elf.machine, elf.debug_id(), elf.soname),
            "INFO CODE_ID %s" % elf.build_id.upper()]
    head += ["FILE %d %s" % (number, path) for path, number in writer.files.items()]
    head += ["INLINE_ORIGIN %d %s" % (number, name) for name, number in writer.origins.items()]
    return head + writer.records + publics + (cfi(elf, wanted) if with_cfi else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("elf")
    parser.add_argument("--debug", help="file with symbols and DWARF, if not the ELF file")
    parser.add_argument("--only", help="LOW-HIGH[,...]: only what covers these addresses")
    parser.add_argument("--truth", help="only what covers the addresses that this truth file names")
    parser.add_argument("--no-cfi", action="store_true", help="no STACK CFI records")
    parser.add_argument("--store", help="write STORE/name/ID/name.sym, not standard output")
    options = parser.parse_args()
    elf = Elf(options.elf, options.debug)
    only = None
    if options.only:
        only = [tuple(int(x, 16) for x in pair.split("-")) for pair in options.only.split(",")]
    elif options.truth:
        only = read_truth(options.truth, elf.soname)
    text = "\n".join(convert(elf, only, not options.no_cfi)) + "\n"
    if not options.store:
        sys.stdout.write(text)
        return
    folder = os.path.join(options.store, elf.soname, elf.debug_id())
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, elf.soname + ".sym"), "w", encoding="utf-8") as file:
        file.write(text)


main()
