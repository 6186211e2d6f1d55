#!/usr/bin/env python3
"""Stacks of samples, one by one, against `perf script --no-inline` and hotspot-perfparser (libdw).

usage: samples_right.py [--only NAME,...] [--keep DIR] [--show N] FRAMEWALK     (make oracle-samples)
                                     recordings and programs are kept in --keep's folder and taken from there
       samples_right.py --check FRAMEWALK                      (testdata/stacks, in make check)
       samples_right.py FRAMEWALK RECORDING...                 (recordings that are there)
       samples_right.py --store RECORDING                      (what --check needs of perf and perfparser)

Except for --check, which asks no other tool and gives the same on every machine, programs are
built and recorded here, where perf, compilers and the rest are to be had; what is not there is
skipped. A sample's frames are places in files (path, offset), so that nobody's symbols
decide. Prints TAP and a table; exit status 1: a sample is wrong or not explained.

Kernel frames were recorded, nobody unwinds them: ours must be perf's, and count as nothing.
The user part is one of

  equal     Ours is perf's.
  nowhere   Equal but for a last frame of perf's where nothing was mapped: what libunwind's last rule or
            frame pointer led to, minus one (0xffffffffffffffff where it read 0 past the copy's end).
            Perf's list without it is what is compared from here on.
  longer    Perf's is the beginning of ours.
  skipped   Perf's frames are all in ours in their order, beginning with the first; ours has more in
            between. (libunwind falls back to the frame pointer where it looks in vain for rules: it
            takes a library's rules from the lowest mapping of the name the process ever had, also
            before exec, and then loses frames; static programs and .debug_frame have none at all.)
  other     Perf's has frames that ours has not.
  shorter   Ours is the beginning of perf's.
  pc only   Perf has no user frame, ours has the recorded program counter and nothing above: between
            exec and the first mapping of the new program nothing is mapped there.

and longer, skipped and other are right only if proved, by either of
  libdw     perfparser has exactly our frames (as far as it goes: it does not take more than 1024).
  chain     each caller's address in ours has a call instruction before it in the file's bytes, a
            direct call leads to the callee's function (FDE), or to one that jumps, through others
            or a table, to it (tail calls, stubs, cold parts; where capstone is there), and the last one is
            the outermost there is: in the entry function of a program or ld.so (ELF's e_entry), or
            behind code that has zeroed the frame pointer, which is how the psABI (3.4.1) marks the
            outermost frame and clone and clone3 of glibc do. Or the stack copy ended, and ours says so.
Where it ends in memory of no file (a JIT's, a memfd's) and neither has it, nobody can tell: "no code".
A shorter one is right only where perf's next frame is refuted: no call stands before it.
"""
import argparse
import bisect
import collections
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PERFPARSER = "/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser"
C = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C", "DEBUGINFOD_URLS": ""}
KERNEL = 1 << 63


# ---- files ----

class Elf:
    """What the proofs need of a file: bytes by offset, its entry, executable segments."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        if self.data[:4] != b"\x7fELF":
            raise ValueError
        wide = self.data[4] == 2
        h = struct.unpack_from("<HHIQQQIHHHHHH" if wide else "<HHIIIIIHHHHHH", self.data, 16)
        self.machine, self.entry, off, size, n = h[1], h[3], h[4], h[8], h[9]
        self.loads, self.wide, self.has_table, self.starts = [], wide, False, None
        for i in range(n):
            if wide:
                kind, flags, o, v, _, fs, _, _ = struct.unpack_from("<IIQQQQQQ", self.data, off + i * size)
            else:
                kind, o, v, _, fs, _, flags, _ = struct.unpack_from("<8I", self.data, off + i * size)
            if kind == 1:
                self.loads.append((o, v, fs, flags))
            if kind == 0x6474e550:                       # PT_GNU_EH_FRAME
                self.has_table, self.table = True, (o, v)

    def function(self, address):
        """The range of the FDE there by .eh_frame_hdr's table (LSB core 5, 10.6.2)."""
        if self.starts is None:
            o, v = self.table
            self.starts = []
            if self.data[o:o + 4] == b"\x01\x1b\x03\x3b":
                n, = struct.unpack_from("<I", self.data, o + 8)
                self.starts = struct.unpack_from("<%di" % (2 * n), self.data, o + 12)
            self.fdes, self.starts, self.base = self.starts[1::2], self.starts[::2], v
        i = bisect.bisect_right(self.starts, address - self.base) - 1
        fde = self.offset(self.base + self.fdes[i]) if i >= 0 else None
        if fde is None:
            return None
        start = self.base + self.starts[i]
        size, = struct.unpack_from("<I", self.data, fde + 12)
        return (start, start + size) if address < start + size else None

    def offset(self, address):
        for o, v, size, _ in self.loads:
            if v <= address < v + size:
                return address - v + o
        return None

    def address(self, offset):
        for o, v, size, flags in self.loads:
            if o <= offset < o + size and flags & 1:
                return offset - o + v
        return None


elfs = {}
shipped = None        # the folder that has all files instead


def elf_of(path):
    if path not in elfs:
        try:
            elfs[path] = Elf(os.path.join(shipped, os.path.basename(path)) if shipped else path)
        except (OSError, ValueError, struct.error):
            elfs[path] = None
    return elfs[path]


def call_before(code):
    """Do the bytes end with a call? Intel's manual, volume 2: E8 rel32; FF /2 with any operand."""
    if len(code) >= 5 and code[-5] == 0xe8:
        return True
    for n in range(2, 8):
        if len(code) < n or code[-n] != 0xff or code[-n + 1] >> 3 & 7 != 2:
            continue
        mod, rm = code[-n + 1] >> 6, code[-n + 1] & 7
        size = 2
        if mod != 3 and rm == 4:
            size += 1
            if mod == 0 and code[-n + 2:-n + 3] and code[-n + 2] & 7 == 5:
                size += 4
        elif mod == 0 and rm == 5:
            size += 4
        size += {1: 1, 2: 4}.get(mod, 0)
        if size == n:
            return True
    return False


def outermost(elf, offset):
    entry = elf.offset(elf.entry)
    if entry is not None and entry <= offset < entry + 64:
        return True
    return b"\x31\xed" in elf.data[max(0, offset - 48):offset]


# ---- what the three say ----

FRAME = re.compile(r"^\t\s*([0-9a-f]+) (.*?) \(([^()]*(?: \(deleted\))?)\)$")
HEAD = re.compile(r"^\s*(.*?)\s+(\d+)\s+(?:\[\d+\]\s+)?(\d+\.\d+):\s+(?:\d+\s+)?(\S+):\s*$")


def parse_text(text):
    """Samples of perf's text in order: (tid, time, event), [(offset, path, name)]."""
    ret = []
    for line in text.splitlines():
        m = FRAME.match(line)
        if m and ret:
            ret[-1][1].append((int(m[1], 16), m[3], m[2]))
            continue
        m = HEAD.match(line)
        if m:
            ret.append(((int(m[2]), m[3], m[4]), []))
    return ret


def run(args, timeout=300, **kw):
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=C, timeout=timeout, **kw)
    return p.stdout.decode("utf-8", "replace"), p


def perf_text(path):
    return run(["perf", "script", "--no-inline", "-i", path])[0]


def stored(path, kind):
    with open(path[:-len("data")] + kind) as f:
        return f.read()


def perf_says(path):
    return parse_text(stored(path, "script") if shipped else perf_text(path))


def ours_says(framewalk, path, extra):
    text, p = run([framewalk, "samples", "--no-inline", "--no-cache", "--format", "perf", path, *extra])
    if p.returncode != 0:
        sys.exit("framewalk: " + p.stderr.decode())
    ret = parse_text(text)
    details = [json.loads(line) for line in
               run([framewalk, "samples", "--no-inline", "--no-cache", "--format", "ndjson", path, *extra])[0].splitlines()]
    assert len(details) == len(ret), "perf text and ndjson differ in number"
    cut = [any(f["kind"] == "truncated" for f in d["frames"]) for d in details]
    trust = [[f["trust"] for f in d["frames"] if f["kind"] in ("user", "jit")] for d in details]
    return ret, cut, trust


class Maps:
    """What each process had mapped when, by perf's own list of events."""
    EVENT = re.compile(r"(\d+)\.(\d+): PERF_RECORD_(MMAP2?|FORK|COMM exec|EXIT)[:(]? ?(.*)")

    def __init__(self, path):
        self.of = collections.defaultdict(list)      # pid -> [(time, kind, what)]
        text = run(["perf", "script", "--no-inline", "--ns", "--show-mmap-events", "--show-task-events", "-F",
                    "comm,tid,time", "-i", path])[0]
        for line in text.splitlines():
            m = self.EVENT.search(line)
            if not m:
                continue
            time = int(m[1]) * 10 ** 9 + int(m[2].ljust(9, "0"))
            if m[3].startswith("MMAP"):
                x = re.match(r"(-?\d+)/(-?\d+): \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+)(?: .*\]|\]): (\S{4}|\S) (.*)", m[4])
                if x and "x" in x[6]:
                    start, size = int(x[3], 16), int(x[4], 16)
                    self.of[int(x[1])].append((time, "map", (start, start + size, int(x[5], 16), x[7])))
            elif m[3] == "FORK":
                x = re.match(r"\((\d+):\d+\):\((\d+):\d+\)", "(" + m[4].lstrip("("))
                if x and x[1] != x[2]:
                    self.of[int(x[1])].append((time, "fork", int(x[2])))
            elif m[3] == "COMM exec":
                x = re.search(r":(\d+)/", m[4])
                if x:
                    self.of[int(x[1])].append((time, "exec", None))
        for events in self.of.values():
            events.sort(key=lambda e: e[0])
        self.cache = {}

    def at(self, pid, time, depth=0):
        events = self.of.get(pid, [])
        n = bisect.bisect_right(events, time, key=lambda e: e[0])
        if (pid, n) in self.cache:
            return self.cache[pid, n]
        maps = []
        for when, kind, what in events[:n]:
            if kind == "exec":
                maps = []
            elif kind == "fork":
                maps = list(self.at(what, when, depth + 1)) if depth < 16 else []
            else:
                maps.append(what)
        self.cache[pid, n] = maps
        return maps

    def bases(self, pid, time, path, depth=0):
        """Where the file lay at any time up to now: perf keeps what was before exec, and of the parent."""
        ret = set()
        for when, kind, what in self.of.get(pid, []):
            if when > time:
                break
            if kind == "fork" and depth < 16:
                ret |= self.bases(what, when, path, depth + 1)
            elif kind == "map" and what[3] == path:
                ret.add(what[0] - what[2])
        return ret

    def place(self, pid, time, address):
        for start, end, offset, path in reversed(self.at(pid, time)):
            if start <= address < end:
                return address - start + offset, path
        return address, None


def pids_of(path):
    text = run(["perf", "script", "--no-inline", "-F", "pid,tid", "-G", "-i", path])[0]
    return {int(tid): int(pid) for pid, tid in re.findall(r"(\d+)/(\d+)", text)}


def libdw_says(path, maps):
    """perfparser's stream: size, kind, Qt's big endian fields. User frames as offsets in files."""
    with tempfile.NamedTemporaryFile() as out:
        try:
            run([PERFPARSER, "--max-frames", "1024", "--input", path, "--output", out.name], timeout=200)
        except subprocess.TimeoutExpired:
            return None
        data = out.read()
    at, where, new, ret = 16, {}, [], collections.defaultdict(list)
    while at + 4 <= len(data):
        size, = struct.unpack_from("<I", data, at)
        b = data[at + 4:at + 4 + size]
        at += 4 + size
        if b[0] == 3:                                # a place: other processes' frames there are it, too
            number, address, _, pid = struct.unpack_from(">iQii", b, 1)
            new.append((number, pid, address))
        elif b[0] == 13:
            pid, tid, time, _, n = struct.unpack_from(">IIQII", b, 1)
            for number, owner, address in new:
                where[number] = maps.place(owner, time, address)[0] if address < KERNEL else None
            new = []
            frames = [where.get(number, 0) for number in struct.unpack_from(">%di" % n, b, 25)]
            ret[tid, "%d.%06d" % (time // 10 ** 9, time // 1000 % 10 ** 6)].append(
                [f for f in frames if f is not None])
    return ret


def store(path):
    """Beside the recording: perf's text, and a line a sample of perfparser's offsets."""
    with open(path[:-len("data")] + "script", "w") as f:
        f.write("\n".join(line.rstrip() for line in perf_text(path).splitlines()) + "\n")
    with open(path[:-len("data")] + "libdw", "w") as f:
        for (tid, time), stacks in sorted(libdw_says(path, Maps(path)).items()):
            for frames in stacks:
                f.write("%d %s %s\n" % (tid, time, " ".join("%x" % a for a in frames)))


def libdw_stored(path):
    ret = collections.defaultdict(list)
    for line in stored(path, "libdw").splitlines():
        tid, time, *frames = line.split()
        ret[int(tid), time].append([int(a, 16) for a in frames])
    return ret


# ---- judging ----

def is_kernel(frame):
    return frame[0] >= KERNEL and frame[1] != "[unknown]"


def user(frames):
    return [f[:2] for f in frames if not is_kernel(f)]


def kernel(frames):
    return [f[0] for f in frames if is_kernel(f)]


def subsequence(short, long):
    it = iter(long)
    return all(x in it for x in short)


def jumps(elf, start, end):
    """Where a function's jumps go; None among them: through a register or table. Nothing if capstone is not there."""
    if (elf, start) not in known_jumps:
        ret, at = set(), elf.offset(start)
        for _, _, name, operand in DISASSEMBLER.disasm_lite(elf.data[at:at + end - start], start):
            if name[0] == "j" or name == "bnd jmp":
                ret.add(int(operand, 16) if operand.startswith("0x") else None)
        known_jumps[elf, start] = ret
    return known_jumps[elf, start]


sys.path.append("/usr/lib/python3/dist-packages")         # Debian's, also for another python3
try:
    import capstone
    DISASSEMBLER = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    DISASSEMBLER.skipdata = True
except ImportError:
    DISASSEMBLER = None
known_jumps = {}


def leads(elf, target, callee, seen=()):
    """Does code at target get to the function at callee (None: in another file) by jumps only?"""
    function = elf.function(target)
    if function is None:
        at = elf.offset(target)                              # a stub, or code of an assembler
        return not seen or (at is not None and b"\xff\x25" in elf.data[at:at + 8])
    if callee is not None and function[0] <= callee < function[1]:
        return True
    for to in jumps(elf, *function):
        if to is None:
            return True
        if function[0] <= to < function[1] or to in seen:
            continue
        if len(seen) < 4 and leads(elf, to, callee, (*seen, to)):
            return True
    return False


known_links = {}


def linked(elf, path, after, callee, callee_path):
    """A direct call before this offset: does it lead to the callee? True also where nobody can tell."""
    code = elf.data[max(0, after - 8):after]
    if len(code) < 5 or code[-5] != 0xe8 or call_before(code[:-5] + b"\0" + code[-4:]):
        return True
    address = elf.address(after)
    inside = elf.address(callee) if callee_path == path else None
    if address is None or DISASSEMBLER is None or not elf.wide or not elf.has_table or (callee_path == path and (inside is None or not elf.function(inside))):
        return True
    target = address + struct.unpack_from("<i", code, len(code) - 4)[0]
    key = path, target, elf.function(inside) if inside is not None else callee_path
    if key not in known_links:
        known_links[key] = leads(elf, target, inside)
    return known_links[key]


def proved(ours, cut):
    """'' or what is wrong with a chain of (offset of the call's last byte, path)."""
    for i, (offset, path) in enumerate(ours):
        elf = elf_of(path)
        if elf is None:
            if path in ("[vdso]", "//anon") or path.startswith("/tmp/perf-"):
                continue
            return "no file %s" % path
        if i and not call_before(elf.data[max(0, offset + 1 - 8):offset + 1]):
            return "no call before %x of %s" % (offset + 1, path)
        if i and not linked(elf, path, offset + 1, *ours[i - 1]):
            return "the call before %x of %s leads elsewhere" % (offset + 1, path)
    if not ours:
        return "nothing"
    elf = elf_of(ours[-1][1])
    if cut or (elf is not None and outermost(elf, ours[-1][0] + 1)):
        return ""
    return "ends at %x of %s" % ours[-1]


def refuted(frame):
    offset, path = frame
    elf = elf_of(path)
    return elf is not None and not call_before(elf.data[max(0, offset + 1 - 8):offset + 1])


def judge(perf, ours, cut, libdw):
    """The class, whether it is right, and why not."""
    kind = ""
    if len(perf) > 1 and perf[-1][1] == "[unknown]" and perf != ours[:len(perf)]:
        perf = perf[:-1]
        kind = "nowhere"
    p, o = user(perf), user(ours)
    if kernel(perf) != kernel(ours):
        return "kernel", False, "kernel frames differ"
    if not p and not o:
        return "equal, kernel only", True, ""
    if p == o:
        return kind or "equal", True, ""
    if o[:len(p)] == p:
        kind = "longer"
    elif p[:len(o)] == o:
        if len(p) > len(o) and refuted(p[len(o)]):
            return "shorter", True, ""
        return "shorter", False, "perf goes on at %x of %s" % p[len(o)]
    else:
        kind = "skipped" if p[:1] == o[:1] and subsequence(p, o) else "other"
    if not p and len(o) == 1 and o[0][1] == "[unknown]":
        return "pc only", True, ""
    why = proved(o, cut)
    if not why:
        return kind + ", chain", True, ""
    if libdw is not None and libdw(o):
        return kind + ", libdw", True, ""
    if o and o[-1][1].startswith("/tmp/perf-"):
        return kind + ", no code", True, ""
    return kind, False, why


def cause(perf, ours, trust, cut, pid, when, maps):
    """Why perf has not what ours has behind the first difference, from what is known of the frame there."""
    if len(perf) > 1 and perf[-1][1] == "[unknown]" and perf != ours[:len(perf)]:
        perf = perf[:-1]                             # "nowhere"
    p, o = user(perf), user(ours)
    i = 0
    while i < len(p) and i < len(o) and p[i] == o[i]:
        i += 1
    if i >= len(o):
        return "other"
    if len(perf) >= 127:
        return "127 frames"                          # its --max-stack
    if cut and i == len(p) == len(o) - 1:
        return "last word of the copy"               # access_mem: addr + 8 >= end
    offset, path = o[max(i - 1, 0)]
    elf = elf_of(path)
    if elf and not elf.wide:
        return "32 bits"
    if i == 0:
        return "pc"
    if trust[i] == "leaf" or trust[i] == "prologue":
        return "no rules, by code"
    if trust[i] == "frame_pointer":
        return "no rules, frame record" if elf else "JIT"
    if trust[i] == "scan":
        return "no rules, scan"
    if elf is None:
        return "vdso" if path.startswith("[vdso") else "no file"
    if not elf.has_table:
        return "no .eh_frame_hdr"
    if not elf.function(elf.address(offset)):
        return "not in .eh_frame_hdr"
    if len(p) == 2 and re.match(rb"(\x41?[\x58-\x5f])*\xc3", elf_bytes(*o[0])):
        return "saved below sp"                      # of what was popped the copy has nothing
    if maps is None:
        return "other"
    return "stale map" if len(maps.bases(pid, when, path)) > 1 else "other"


def elf_bytes(offset, path):
    elf = elf_of(path)
    return elf.data[offset:offset + 16] if elf else b""


def rewritten(frames, agreed):
    """libgcc's uw_install_context writes the handler over the return address of its caller, which
    moves sp as its last act: from there on the rules, and so libdw, lead nowhere."""
    return agreed and any("libgcc_s" in f[1] and re.match(r"_Unwind_(RaiseException|Resume|ForcedUnwind)", f[2])
                          for f in [f for f in frames if not is_kernel(f)][:2])


def compare(framewalk, path, extra=(), libdw=True, show=3):
    perf = collections.defaultdict(list)
    count = 0
    for key, frames in perf_says(path):
        perf[key].append(frames)
    ours, cut, trust = ours_says(framewalk, path, list(extra))
    dw = None
    maps, pids = (None, {}) if shipped else (Maps(path), pids_of(path))
    if shipped:
        dw = libdw_stored(path)
    elif libdw and os.path.exists(PERFPARSER):
        dw = libdw_says(path, maps)
    table, shown = collections.Counter(), []
    complete = agreed = asked = scans = torn = 0
    causes = collections.Counter()
    names = collections.Counter()
    for i, (key, frames) in enumerate(ours):
        count += 1
        theirs = perf[key].pop(0) if perf[key] else None
        if theirs is None:
            table["not perf's"] += 1
            continue
        judged = dw.get(key[:2]) if dw else None
        check = None
        if judged:
            check = lambda o, j=judged: [x[0] for x in o] in j
            asked += 1
            agreed += check(user(frames))
        kind, right, why = judge(theirs, frames, cut[i], check)
        table[kind + ("" if right else ": WRONG")] += 1
        if not cut[i] and not proved(user(frames), False):
            complete += 1
        elif judged and not cut[i]:
            torn += rewritten(frames, check(user(frames)))
        if kind.startswith(("longer", "skipped", "other")):
            when = int(key[1].replace(".", "")) * 1000 + 999
            causes[cause(theirs, frames, trust[i], cut[i], pids.get(key[0], key[0]), when, maps)] += 1
        scans += "scan" in trust[i]
        for a, b in zip(theirs, frames):
            if a[:2] == b[:2]:
                names[name_class(a, b)] += 1
        if not right and len(shown) < show:
            shown.append((key, why, theirs, frames, judged and judged[0], trust[i]))
    missing = sum(map(len, perf.values()))
    if missing:
        table["missing: WRONG"] += missing
    return {"count": count, "table": table, "complete": complete, "asked": asked, "agreed": agreed,
            "cut": sum(cut), "torn": torn, "causes": causes, "scans": scans, "names": names, "shown": shown}


def name_class(a, b):
    """Of one place: both named alike, or from the same start (another name of it), or not."""
    def split(text):
        m = re.match(r"(.*)\+0x([0-9a-f]+)$", text)
        return (m[1], int(m[2], 16)) if m else (text, 0)
    (x, dx), (y, dy) = split(a[2]), split(b[2])
    if x == y and dx == dy:
        return "same"
    if x == "[unknown]":
        return "ours only"
    if y == "[unknown]":
        return "perf's only"
    return "same start" if dx == dy else "other start"


# ---- recordings ----

def tool(*names):
    return all(shutil.which(n) for n in names)


def build(folder, output, *command):
    """The program's path, built once; None: it cannot be."""
    path = os.path.join(folder, output)
    if not os.path.exists(path):
        if not tool(command[0]) or run([*command, "-o", path])[1].returncode != 0:
            return None
    return path


def source(name):
    return os.path.join(HERE, "samples", name)


def c(folder, output, *flags):
    return build(folder, output, "gcc", "-O2", "-g", *flags, source("work.c"))


def cxx(folder, compiler="g++"):
    return build(folder, "work-cxx", compiler, "-O2", "-g", "-pthread", source("work.cc"))


JSON_WORK = "import json\nfor i in range(%d): json.loads(json.dumps({str(n): [n, str(n)] for n in range(300)}))"
NODE_WORK = """const c = require('crypto'); let m = {};
function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
for (let i = 0; i < %d; i++) { m[c.createHash('sha256').update('x' + i).digest('hex')] = f(12);
  if (i %% 100 == 0) { m = JSON.parse(JSON.stringify(m)); [...Object.keys(m)].sort((a, b) => a < b ? 1 : -1); } }"""


def inputs(folder):
    """name -> (options of perf record, command, every stack must reach the root). None: not here."""
    n = 20
    plain, two = c(folder, "work"), cxx(folder)
    shell = "for i in 1 2 3 4; do %s %d; %s %d; done" % (plain, 8 * n, two, 10 * n)
    yield "C", (), plain and [plain, str(80 * n)], True
    yield "C++ threads", (), two and [two, str(60 * n)], True
    static = c(folder, "work-static", "-static")
    yield "static", (), static and [static, str(40 * n)], True
    frame = c(folder, "work-frame", "-fno-asynchronous-unwind-tables")
    yield ".debug_frame", (), frame and [frame, str(40 * n)], True
    narrow = c(folder, "work-i386", "-m32")
    yield "i386", (), narrow and [narrow, str(60 * n)], True
    yield "exec", (), plain and two and ["sh", "-c", shell], True
    yield "cut", ("--call-graph", "dwarf,1024"), plain and [plain, str(30 * n)], False
    rust = build(folder, "work-rs", "rustc", "-O", "-g", "--edition", "2021", source("work.rs"))
    yield "Rust", (), rust and [rust, "300"], True
    stripped = build(folder, "work-rs-s", "rustc", "-O", "-C", "strip=symbols", "--edition", "2021", source("work.rs"))
    yield "Rust stripped", (), stripped and [stripped, "300"], True
    big = os.path.join(HERE, "oracle_names.cc")
    yield "gcc", ("--call-graph", "dwarf,32768"), tool("g++") and [
        "g++", "-O2", "-g", "-DUNIT=1", "-c", "-o", "/dev/null", big], False
    yield "gcc 8 KB", (), tool("g++") and ["g++", "-O2", "-g", "-c", "-o", "/dev/null", source("work.cc")], False
    yield "clang", ("--call-graph", "dwarf,65528"), tool("clang++") and [
        "clang++", "-O2", "-g", "-c", "-o", "/dev/null", source("work.cc")], False
    yield "rustc", ("--call-graph", "dwarf,32768"), tool("rustc") and [
        "rustc", "-O", "--edition", "2021", "--emit", "obj", "-o", os.path.join(folder, "x.o"), source("work.rs")], False
    yield "python", ("--call-graph", "dwarf,32768"), tool("python3") and ["python3", "-c", JSON_WORK % 1000], False
    yield "node", ("--call-graph", "dwarf,16384"), tool("node") and ["node", "-e", NODE_WORK % 30000], False
    yield "many", ("-F", "9973"), two and [two, "15000"], True
    yield "everything", ("-a",), two and ["sh", "-c", shell], False
    yield "-z", ("-z",), two and [two, "300"], True
    yield "pipe", ("-o", "-"), two and [two, "300"], True
    yield "lost", ("-F", "20000", "-m", "16", "--call-graph", "dwarf,16384"), two and [two, "200"], True
    yield "two events", ("-e", "cpu-clock,page-faults"), two and [two, "200"], True
    yield "one register", ("-e", "cpu-clock:u", "--user-regs=ip,sp,bp"), plain and [plain, "300"], True
    yield "--threads", ("--threads",), two and [two, "200"], True


def record(folder, name, options, command):
    """A recording; None: perf could not."""
    path = os.path.join(folder, re.sub(r"\W", "-", name) + ".data")
    if os.path.exists(path):
        return path
    options = list(options)
    if "-F" not in options:
        options += ["-F", "997"]
    if "--call-graph" not in options:
        options += ["--call-graph", "dwarf"]
    if "-o" in options:
        with open(path, "wb") as f:
            p = subprocess.run(["perf", "record", "-q", *options, "--no-buildid-cache", "--", *command], stdout=f,
                               stderr=subprocess.DEVNULL, env=C, cwd=folder, timeout=120)
    else:
        p = run(["perf", "record", "-q", *options, "--no-buildid-cache", "-o", path, "--", *command], cwd=folder)[1]
    return path if p.returncode == 0 and os.path.exists(path) else None


def report(number, name, r, whole):
    """One line of TAP. False: not right."""
    wrong = sum(n for k, n in r["table"].items() if k.endswith("WRONG"))
    ok = r["count"] > 0 and wrong * 1000 <= r["count"]
    unwound = r["count"] - r["table"]["pc only"] - r["table"]["equal, kernel only"]
    if whole and (r["complete"] + r["cut"] + r["torn"] < unwound or r["cut"] * 20 > unwound):
        ok = False
    line = ", ".join("%s %d" % kv for kv in sorted(r["table"].items(), key=lambda kv: -kv[1]))
    print("%s %d - samples %s: %d: %s; to the root %d, cut %d, libdw the same %d of %d; names %s%s%s%s" % (
        "ok" if ok else "not ok", number, name, r["count"], line, r["complete"], r["cut"], r["agreed"], r["asked"],
        ", ".join("%s %d" % kv for kv in sorted(r["names"].items())),
        ", %d with scan" % r["scans"] if r["scans"] else "",
        ", %d while an exception's handler is installed" % r["torn"] if r["torn"] else "",
        "; perf: " + ", ".join("%s %d" % kv for kv in sorted(r["causes"].items())) if r["causes"] else ""))
    for key, why, theirs, frames, judged, trust in r["shown"]:
        print("#   %s: %s" % (" ".join(map(str, key)), why))
        print("#     perf  " + " ".join("%x(%s)" % (f[0], os.path.basename(f[1])) for f in theirs))
        print("#     ours  " + " ".join("%x(%s)" % (f[0], os.path.basename(f[1])) for f in frames))
        print("#     trust " + " ".join(trust))
        if judged:
            print("#     libdw " + " ".join("%x" % a for a in judged))
    sys.stdout.flush()
    return ok


def table(rows):
    """What the issue asks: equal, longer and right, anything else, by input."""
    print("# %-16s %8s %8s %8s %8s %8s %8s %8s %8s  %s" % (
        "input", "samples", "equal", "longer", "skipped", "shorter", "wrong", "root", "cut", "why perf's are shorter"))
    for name, r in rows:
        sums = collections.Counter()
        for kind, n in r["table"].items():
            sums["wrong" if kind.endswith("WRONG") else kind.split(",")[0]] += n
        print("# %-16s %8d %8d %8d %8d %8d %8d %8d %8d  %s" % (
            name, r["count"], sums["equal"] + sums["nowhere"], sums["longer"] + sums["pc only"],
            sums["skipped"] + sums["other"], sums["shorter"], sums["wrong"], r["complete"], r["cut"],
            ", ".join("%s %d" % kv for kv in sorted(r["causes"].items(), key=lambda kv: -kv[1]))))


def usable():
    if not tool("perf", "gcc"):
        return False
    with tempfile.NamedTemporaryFile() as f:
        return run(["perf", "record", "-q", "-e", "cpu-clock:u", "--call-graph", "dwarf,512", "-o", f.name, "true"])[1].returncode == 0


def check(framewalk, show):
    """The recordings of testdata/stacks: what perf and perfparser say of them is there, too."""
    global shipped
    shipped = os.path.join(os.environ.get("TESTDATA", os.path.join(HERE, "../testdata")), "stacks")
    paths = sorted(os.path.join(shipped, f) for f in os.listdir(shipped) if f.endswith(".data"))
    print("1..%d" % len(paths))
    options = ["-s", shipped, "--sysroot", shipped]
    return all([report(i + 1, os.path.basename(path), compare(framewalk, path, options, True, show), "cut" not in path)
                for i, path in enumerate(paths)])


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--check", action="store_true")
    a.add_argument("--only", default="")
    a.add_argument("--keep")
    a.add_argument("--show", type=int, default=3)
    a.add_argument("--store", action="store_true")
    a.add_argument("framewalk")
    a.add_argument("recordings", nargs="*")
    args = a.parse_args()
    if args.store:
        for path in [args.framewalk, *args.recordings]:
            store(path)
        return
    framewalk = os.path.abspath(args.framewalk)
    if args.check:
        sys.exit(not check(framewalk, args.show))
    if args.recordings:
        print("1..%d" % len(args.recordings))
        sys.exit(not all([report(i + 1, os.path.basename(path), compare(framewalk, path, (), True, args.show), False)
                          for i, path in enumerate(args.recordings)]))
    if not usable():
        print("1..1\nok 1 - samples # SKIP no perf, or none that may record")
        return
    number, good, rows = 0, True, []
    with tempfile.TemporaryDirectory() as folder:
        folder = args.keep or folder
        os.makedirs(folder, exist_ok=True)
        for name, options, command, whole in inputs(folder):
            if args.only and name not in args.only.split(","):
                continue
            number += 1
            path = command and record(folder, name, options, command)
            if not path:
                print("ok %d - samples %s # SKIP cannot be recorded here" % (number, name))
                continue
            r = compare(framewalk, path, (), "-z" not in options, args.show)
            good &= report(number, name, r, whole)
            rows.append((name, r))
    table(rows)
    print("1..%d" % number)
    sys.exit(not good)


main()
