#!/usr/bin/env python3
"""Functions, inlined calls, files and lines of random addresses: ours against three other tools'.

usage: oracle_names.py [--large] [--count N] [--seed N] FRAMEWALK [PROGRAM...]   (make oracle)

Without a PROGRAM it compiles tests/oracle_names.cc with gcc and clang, DWARF 4 and 5, -O2. As it
is for `make check`; with --large whole, six times under other names: over 500,000 rows of lines.
Every byte of a function is as likely as any other. Prints TAP; exit status 1: something differs
that no rule below explains. An explanation is counted, and none is "ours is good enough": each
says why ours is right.

addr2line (binutils 2.40), names, inlined calls, files and lines:
  clone           It appends "[clone .cold]" of the symbol; the function is the one without.
  no linkage name gcc gives none to functions that only their unit sees. DWARF then has the plain
                  name: addr2line prints that ("f"), ours stands behind its scopes and with the
                  parameters that the symbol table knows ("ns::f(int)").
  symbol around   Inlined code without linkage name is named by addr2line after the symbol it
                  lies in, at the innermost frame; the caller's name then comes twice.
  first file      DWARF 5 table 6.4: the line machine's file register begins as 1. addr2line
                  takes entry 0 for the rows before a sequence's first DW_LNS_set_file. The
                  others take 1; our file is asked to be theirs.
  rnglistx        It does not read DW_FORM_rnglistx (clang's DWARF 5) and so misses functions and
                  calls that have ranges. What it has stands in our chain, in that order; and the
                  whole chain is llvm-addr2line's, which is asked at the same addresses.
  line 0          A compiler's "no line"; some print 0, some "?".

eu-addr2line (elfutils 0.188): the plain name of what has no linkage name, as above. It looks
through a whole unit for each address (50 ms in the large program), so it is asked a hundredth.
  scopes          In one of a hundred answers of gcc's programs and most of clang's its chain has
                  calls less, or one that addr2line and llvm-addr2line do not see either. Taken
                  only where these two have our chain (addr2line: all of it that it can read).

llvm-addr2line (14), inlined calls, files and lines: names are not compared, its demangler is one
of its own ('lambda'(int) for {lambda(int)#1}).
  no line         Where no line program has the address (code before a sequence's first row) it
                  gives the source file that the symbol table names, without a line; ours has none.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
C = {**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}
COPIES = 6
BUILDS = [(cc, v) for cc in ("g++", "clang++") for v in (4, 5)]
MAIN = """#include <string>
%s
int main(int, char **v) { return %s; }
"""


def build(folder, compiler, version, large):
    """The program; None: the compiler is not here, or cannot."""
    path = os.path.join(folder, "%s-%d" % (compiler, version))
    flags = [compiler, "-std=c++17", "-O2", "-g", "-gdwarf-%d" % version, "-ffunction-sections"]
    if compiler == "clang++":
        flags.append("-gdwarf-aranges")     # without them eu-addr2line finds nothing
    copies = range(1, (COPIES if large else 1) + 1)
    objects = [path + "-main.cc"]
    with open(objects[0], "w") as f:
        f.write(MAIN % ("".join("long run%d(const std::string &);\n" % i for i in copies),
                        " + ".join("run%d(v[0])" % i for i in copies)))
    try:
        run = lambda *args: subprocess.run(args, check=True, capture_output=True, env=C)
        # compiled once: the others are the same code under names of the same length
        run(*flags, *(() if large else ("-DSMALL",)), "-S", os.path.join(HERE, "oracle_names.cc"),
            "-o", path + ".s")
        text = open(path + ".s").read()
        for i in copies:
            with open("%s-%d.s" % (path, i), "w") as f:
                f.write(re.sub(r"(5unit|4run|\"unit|\"run)1", r"\g<1>%d" % i, text))
            objects.append("%s-%d.o" % (path, i))
            run(compiler, "-c", "%s-%d.s" % (path, i), "-o", objects[-1])
            os.unlink("%s-%d.s" % (path, i))
        run(*flags, *objects, "-o", path, "-Wl,--gc-sections")
    except (OSError, subprocess.CalledProcessError) as e:
        print("# %s: %s" % (path, (getattr(e, "stderr", None) or b"").decode()[-200:] or e))
        return None
    finally:
        for f in objects[1:] + [path + ".s"]:
            if os.path.exists(f):
                os.unlink(f)
    return path


def addresses(path, count, seed):
    out = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, env=C).stdout
    spans = set()
    for line in out.splitlines():
        f = line.split()
        if len(f) > 7 and f[3] == "FUNC" and f[6].isdigit() and int(f[2], 0):
            spans.add((int(f[1], 16), int(f[2], 0)))
    spans = sorted(spans)
    rng = random.Random(seed)
    picks = rng.choices(spans, weights=[n for _, n in spans], k=count)
    return [start + rng.randrange(size) for start, size in picks]


def ours(framewalk, path, asked):
    """{address: [(function, file, line)], innermost first}"""
    p = subprocess.run([framewalk, "addr", "--format", "ndjson", "--no-cache", "-e", path],
                       input="".join("0x%x\n" % a for a in asked), capture_output=True, text=True,
                       env=C)
    result = {}
    for line in p.stdout.splitlines():
        answer = json.loads(line)
        result[int(answer["address"], 16)] = [(f["function"], f["file"], f["line"] or None)
                                              for f in answer["frames"]]
    return result


def theirs(program, path, asked):
    p = subprocess.run([program, "-afiC", "-e", path], input="".join("0x%x\n" % a for a in asked),
                       capture_output=True, text=True, env=C)
    result, frames, name = {}, [], None
    for line in p.stdout.splitlines():
        if re.fullmatch("0x[0-9a-f]+", line):
            frames = result.setdefault(int(line, 16), [])
            frames.clear()      # asked twice
            name = None
        elif name is None:
            name = re.sub(r" inlined at .*", "", line)
        else:
            m = re.match(r"(.*?):(\d+|\?)(?::\d+)?(?: \(discriminator \d+\))?$", line)
            number = int(m[2]) if m[2].isdigit() and int(m[2]) else None
            frames.append((name, None if m[1] == "??" else m[1], number))
            name = None
    return result


def is_short_for(short, name):
    """Is it the name without its scopes, parameters, or both?"""
    at = name.find(short)
    while at >= 0:
        before, after = name[:at], name[at + len(short):]
        if (not before or before.endswith(("::", " "))) and (not after or after[0] in "(<["):
            return True
        at = name.find(short, at + 1)
    return False


def why_name(a, b, k, binutils):
    """Set of explanations of the names of frame @k; None: there is none."""
    name, other = a[k][0] or "??", b[k][0]
    bare = re.sub(r"( \[clone [^]]*\])+$", "", other)
    if name == other:
        return set()
    if name == bare:
        return {"clone"}
    if is_short_for(bare, name):
        return {"no linkage name"}
    if binutils and k == 0 and bare in (a[-1][0], b[-1][0]):
        return {"symbol around"}
    return None


def places(frames):
    return [(os.path.realpath(f) if f else f, line) for _, f, line in frames]


def is_part(few, all_frames):
    """Are the names of @few some of the others', in that order?"""
    rest = iter(all_frames)
    return all(any(f[0] == g[0] for g in rest) for f in few)


def explain(a, b, witness, tool, second=None):
    """Set of explanations of all that differs between chains @a, ours, and @b; None."""
    if tool == "llvm-addr2line":
        if places(a) == places(b):
            return set()
        same = len(a) == len(b) and places(a)[1:] == places(b)[1:]
        return {"no line"} if same and a[0][1:] == (None, None) and b[0][2] is None else None
    binutils = tool == "addr2line"
    if binutils and len(b) < len(a) and witness is not None and places(a) == places(witness):
        return {"rnglistx"} if is_part(b[1:], a) else None
    if not binutils and witness is not None and second is not None and places(a) != places(b):
        agree = places(a) == places(witness) and explain(a, second, witness, "addr2line") is not None
        return {"scopes"} if agree and a[0][1:] == b[0][1:] else None
    if len(a) != len(b):
        return None
    reasons = set()
    for k, (x, y) in enumerate(zip(places(a), places(b))):
        name = why_name(a, b, k, binutils)
        if name is None:
            return None
        reasons |= name
        if x == y:
            continue
        if not binutils or k > 0 or x[1] != y[1] or witness is None or places(witness)[0] != x:
            return None
        reasons.add("first file")
    return reasons


def short(frame):
    if frame is None:
        return "-"
    name = frame[0] or "??"
    return "%s%s %s:%s" % (name[:50], ".." + name[-60:] if len(name) > 110 else name[50:],
                           os.path.basename(frame[1] or "-"), frame[2])


def show(address, a, b):
    print("#   %#x" % address)
    for k in range(max(len(a), len(b))):
        x, y = (f[k] if k < len(f) else None for f in (a, b))
        if x != y:
            print("#     %d ours %s\n#       their %s" % (k, short(x), short(y)))


class Tap:
    count = failed = 0

    def result(self, ok, text):
        self.count += 1
        self.failed += not ok
        print("%s %d - %s" % ("ok" if ok else "not ok", self.count, text), flush=True)


def find(name):
    return shutil.which(name) or shutil.which(name + "-14")


def compare(tap, framewalk, path, count, seed):
    name = os.path.basename(path)
    asked = addresses(path, count, seed)
    mine = ours(framewalk, path, asked)
    llvm = find("llvm-addr2line")
    witness = theirs(llvm, path, asked) if llvm else {}
    second = {}
    for tool in ("addr2line", "llvm-addr2line", "eu-addr2line"):
        if llvm is None and (tool == "eu-addr2line" or name.endswith("-5")):
            # classes of differences that ask llvm-addr2line too: "first file", "rnglistx", "scopes"
            tap.result(True, "%s against %s # SKIP without llvm-addr2line" % (name, tool))
            continue
        program = find(tool)
        if program is None:
            tap.result(True, "%s against %s # SKIP not here" % (name, tool))
            continue
        some = asked[:max(len(asked) // 100, 200)] if tool == "eu-addr2line" else asked
        other = witness if tool == "llvm-addr2line" else theirs(program, path, some)
        if tool == "addr2line":
            second = other
        bad, counts = [], {}
        for address in some:
            a, b = mine.get(address, []), other.get(address, [])
            reasons = explain(a, b, witness.get(address), tool, second.get(address))
            if reasons is None or not a:
                bad.append(address)
            for r in reasons or ():
                counts[r] = counts.get(r, 0) + 1
        told = "".join(", %d %s" % (n, r) for r, n in sorted(counts.items()))
        tap.result(some and not bad, "%s against %s: %d addresses, %d differ%s" % (
            name, tool, len(some), len(bad), told))
        for address in bad[:5]:
            show(address, mine.get(address, []), other.get(address, []))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--large", action="store_true")
    p.add_argument("--count", type=int)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("framewalk")
    p.add_argument("programs", nargs="*")
    args = p.parse_args()
    count = args.count or (100000 if args.large else 3000)
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for path in args.programs or BUILDS:
            if isinstance(path, tuple):
                name = "%s-%d" % path
                path = build(folder, *path, args.large) if shutil.which(path[0]) else None
            if path is None:
                tap.result(True, "%s # SKIP not built" % name)
                continue
            compare(tap, args.framewalk, path, count, args.seed)
            if not args.programs:
                os.unlink(path)
    return tap.failed > 0


sys.exit(main())
