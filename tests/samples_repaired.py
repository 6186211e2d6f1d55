#!/usr/bin/env python3
"""Stacks that --repair completes, against the same samples whose stacks were copied whole.

usage: samples_repaired.py FRAMEWALK [RECORDING...]      (make oracle-repair)

Without RECORDING programs are built and recorded here, where there are compilers and perf. A
RECORDING is perf's, with whole stacks (--call-graph dwarf,65528, one layout of samples). Copies of it whose samples
have only the first bytes of their stacks are walked with --repair, and each sample's frames are compared
with what the whole stack gives: places in files, innermost first. A repaired sample is

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
SAMPLE = 9
# of PERF_SAMPLE_*: u64s that may follow the stack, and what else may be there and precedes it
BEHIND, BEFORE = 1 << 14 | 1 << 15 | 1 << 17, (1 << 14) - 1 | 1 << 16


def cut(data, size):
    """perf.data in file mode, one layout of samples: their stacks end with a u64, how many bytes are good."""
    data = bytearray(data)
    attrs, attrs_size, at, length = struct.unpack_from("<QQQQ", data, 24)
    kinds = {struct.unpack_from("<Q", data, attr + 24)[0]
             for attr in range(attrs, attrs + attrs_size, struct.unpack_from("<Q", data, 16)[0])}
    assert len(kinds) == 1 and not min(kinds) & ~(BEHIND | BEFORE), kinds
    behind = 8 + 8 * bin(min(kinds) & BEHIND).count("1")
    end = at + length
    while at < end:
        kind, _, record = struct.unpack_from("<IHH", data, at)
        if kind == SAMPLE and struct.unpack_from("<Q", data, at + record - behind)[0] > size:
            struct.pack_into("<Q", data, at + record - behind, size)
        at += record
    return data


def walk(framewalk, path, *options):
    out = subprocess.run([framewalk, "samples", "--no-cache", "--no-kernel", "--no-inline", "--format", "ndjson",
                          *options, path], stdout=subprocess.PIPE, check=True).stdout
    for line in out.splitlines():
        sample = json.loads(line)
        frames = [(f["module"], f["module_offset"] or f["address"], f["trust"]) for f in sample["frames"]
                  if f["kind"] != "truncated"]
        yield sample["index"], len(frames) != len(sample["frames"]), frames


def judge(framewalk, data, truth, size, show):
    n = collections.Counter()
    with tempfile.NamedTemporaryFile(suffix=".data") as f:
        f.write(cut(data, size))
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
    """(recording, sizes) of programs here: a loop with a deep stack, recursion, one that is not ours."""
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": folder}
    source = os.path.join(folder, "x.cc")
    with open(source, "w") as f:
        f.write("#include <map>\n#include <regex>\n#include <string>\nstd::map<std::string, std::regex> m;\n")
    for name, command, sizes in (("work", ["./work", "1500", "6"], (512, 1024, 2048)),
                                 ("recursion", ["./recursion"], (256, 512, 1024)),
                                 ("g++", ["g++", "-O1", "-c", source, "-o", "/dev/null"], (1024, 2048, 4096))):
        if command[0].startswith("./"):
            program = os.path.join(folder, name)
            subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-o", program,
                            os.path.join(HERE, "samples", name + ".c")], check=True)
        out = os.path.join(folder, name + ".data")
        subprocess.run(["perf", "record", "-q", "--no-buildid-cache", "-F", "4999", "-e", "cpu-clock:u",
                        "--call-graph", "dwarf,65528", "-o", out, *command],
                       cwd=folder, env=env, stdout=subprocess.DEVNULL, check=True)
        yield out, sizes
        os.remove(out)


def main():
    framewalk, given = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if not given and not (shutil.which("perf") and shutil.which("cc")):
        print("1..0 # SKIP no perf or no compiler")
        return 0
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for path, sizes in ((x, (1024, 2048, 4096)) for x in given) if given else record(folder):
            with open(path, "rb") as f:
                data = f.read()
            truth = {i: (truncated, frames) for i, truncated, frames in walk(framewalk, path)}
            for size in sizes:
                n = judge(framewalk, data, truth, size, int(os.environ.get("SHOW", "0")))
                bad += n["wrong"]
                print("%s, %d bytes: %d samples, %d cut off, %d repaired (%d to the end), %d wrong" %
                      (os.path.basename(path), size, n["samples"], n["cut"], n["repaired"], n["to the end"],
                       n["wrong"]), flush=True)
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
