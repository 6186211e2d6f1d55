#!/usr/bin/env python3
"""Stacks that --repair completes, against the same samples whose stacks were copied whole.

usage: samples_repaired.py FRAMEWALK [RECORDING...]      (make oracle-repair)

Without RECORDING programs are built and recorded here, where there are compilers and perf. A
RECORDING is perf's, with whole stacks (--call-graph dwarf,65528, one layout of samples). Copies of it whose samples
have only the first bytes of their stacks are walked with --repair, and each sample's frames are compared
with what the whole stack gives: places in files, innermost first. Some get a call chain such as the kernel
records, which perf leaves out with --call-graph dwarf. A repaired sample is

  right     Its frames are the whole stack's, or the first of them and said to be truncated.
  wrong     Anything else.

Exit status 1: one is wrong.
"""
import collections
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE, USER = 9, (1 << 64) - 512
# PERF_SAMPLE_*: u64s in front of the chain, u64s behind the stack
FIRST = 1 << 16 | 1 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 9 | 1 << 7 | 1 << 8
BEHIND = 1 << 14 | 1 << 15 | 1 << 17
BEFORE = FIRST | 1 << 5 | 1 << 12 | 1 << 13
FP = ("-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer")


def popcount(x):
    return bin(x).count("1")


def chain_of(regs, mask, stack):
    """What the kernel's perf_callchain_user() of x86-64 records: the pc, then what stands beside each frame record."""
    bp, sp, ip = (regs[popcount(mask & ((1 << i) - 1))] for i in (6, 7, 8))
    chain = [ip]
    while len(chain) < 127 and 0 <= bp - sp <= len(stack) - 16:
        bp, ra = struct.unpack_from("<QQ", stack, bp - sp)
        chain.append(ra)
    return chain


def cut(data, size, with_chain):
    """perf.data in file mode, one layout of samples, with no more than the first bytes of their stacks."""
    attrs, attrs_size, at, length = struct.unpack_from("<QQQQ", data, 24)
    step = struct.unpack_from("<Q", data, 16)[0]
    kinds = {(struct.unpack_from("<Q", data, attr + 24)[0], struct.unpack_from("<Q", data, attr + 80)[0])
             for attr in range(attrs, attrs + attrs_size, step)}
    (kind, mask), = kinds
    assert not kind & ~(BEHIND | BEFORE), hex(kind)
    out, end = bytearray(data[:at]), at + length
    while at < end:
        number, misc, record = struct.unpack_from("<IHH", data, at)
        body = data[at + 8:at + record]
        at += record
        if number == SAMPLE:
            to = 8 * popcount(kind & FIRST)
            chain = struct.unpack_from("<%dQ" % struct.unpack_from("<Q", body, to)[0], body, to + 8)
            regs = to + 8 + 8 * len(chain)
            stack = regs + 8
            if struct.unpack_from("<Q", body, regs)[0]:
                stack += 8 * popcount(mask)
            n = struct.unpack_from("<Q", body, stack)[0]
            if n:
                good = struct.unpack_from("<Q", body, stack + 8 + n)[0]
                words = body[stack + 8:stack + 8 + good]
                if with_chain:
                    chain += (USER, *chain_of(struct.unpack_from("<%dQ" % popcount(mask), body, regs + 8), mask, words))
                words = words[:size]
                body = body[:to] + struct.pack("<%dQ" % (len(chain) + 1), len(chain), *chain) + body[regs:stack] + \
                    struct.pack("<Q", size) + words.ljust(size, b"\xee") + struct.pack("<Q", len(words)) + \
                    body[stack + 16 + n:]
        out += struct.pack("<IHH", number, misc, 8 + len(body)) + body
    struct.pack_into("<Q", out, 48, len(out) - struct.unpack_from("<Q", out, 40)[0])
    # the features' table follows the data; nothing of them is needed
    out[72:104] = bytes(32)
    return out


def walk(framewalk, path, *options):
    out = subprocess.run([framewalk, "samples", "--no-cache", "--no-kernel", "--no-inline", "--format", "ndjson",
                          *options, path], stdout=subprocess.PIPE, check=True).stdout
    for line in out.splitlines():
        sample = json.loads(line)
        frames = [(f["module"], f["module_offset"] or f["address"], f["trust"]) for f in sample["frames"]
                  if f["kind"] != "truncated"]
        yield sample["index"], len(frames) != len(sample["frames"]), frames


def judge(framewalk, data, truth, size, chain, show):
    n = collections.Counter()
    with tempfile.NamedTemporaryFile(suffix=".data") as f:
        f.write(cut(data, size, chain))
        f.flush()
        for index, truncated, frames in walk(framewalk, f.name, "--repair"):
            was_truncated, true = truth[index]
            repaired = any(trust == "repaired" for _, _, trust in frames)
            n["samples"] += 1
            n["cut"] += repaired or truncated
            n["repaired"] += repaired
            if not repaired:
                continue
            n["to the end"] += not truncated
            places = [f[:2] for f in frames]
            whole = [f[:2] for f in true]
            if places == whole[:len(places)] and (truncated or (len(places) == len(whole) and not was_truncated)):
                continue
            n["wrong"] += 1
            if show:
                show -= 1
                print("# %d: %d frames of %d" % (index, len(places), len(whole)))
                for i in range(max(len(frames), len(true))):
                    print("#", i, frames[i] if i < len(frames) else "-", true[i] if i < len(true) else "-")
    return n


def record(folder):
    """(recording, sizes, with a chain) of programs: a loop with a deep stack, recursion, one that is not ours."""
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": folder}
    source = os.path.join(folder, "x.cc")
    with open(source, "w") as f:
        f.write("#include <map>\n#include <regex>\n#include <string>\nstd::map<std::string, std::regex> m;\n")
    for name, source_name, flags, command, sizes, chain in (
            ("work", "work.c", (), ["./work", "1500", "6"], (512, 1024, 2048), False),
            ("recursion", "recursion.c", (), ["./recursion"], (256, 512, 1024), False),
            ("work, chain", "work.c", FP, ["./work, chain", "1500", "6"], (512, 1024, 2048), True),
            ("recursion, chain", "recursion.c", FP, ["./recursion, chain"], (256, 512, 1024), True),
            ("g++", None, (), ["g++", "-O1", "-c", source, "-o", "/dev/null"], (1024, 2048, 4096), False)):
        if source_name is not None:
            program = os.path.join(folder, name)
            subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", *flags, "-o", program,
                            os.path.join(HERE, "samples", source_name)], check=True)
        out = os.path.join(folder, name + ".data")
        subprocess.run(["perf", "record", "-q", "--no-buildid-cache", "-F", "4999", "-e", "cpu-clock:u",
                        "--call-graph", "dwarf,65528", "-o", out, *command],
                       cwd=folder, env=env, stdout=subprocess.DEVNULL, check=True)
        yield out, sizes, chain
        os.remove(out)


def main():
    framewalk, given = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if not given and not (shutil.which("perf") and shutil.which("cc")):
        print("1..0 # SKIP no perf or no compiler")
        return 0
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for path, sizes, chain in ((x, (1024, 2048, 4096), False) for x in given) if given else record(folder):
            with open(path, "rb") as f:
                data = f.read()
            truth = {i: (truncated, frames) for i, truncated, frames in walk(framewalk, path)}
            for size in sizes:
                n = judge(framewalk, data, truth, size, chain, int(os.environ.get("SHOW", "0")))
                bad += n["wrong"]
                print("%s, %d bytes: %d samples, %d cut off, %d repaired (%d to the end), %d wrong" %
                      (os.path.basename(path), size, n["samples"], n["cut"], n["repaired"], n["to the end"],
                       n["wrong"]), flush=True)
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
