#!/usr/bin/env python3
"""Functions, inlined calls, files and lines of random addresses: ours against three other tools'.

usage: oracle_names.py [--large] [--count N] [--seed N] [--only PROGRAM] FRAMEWALK [PROGRAM...]
(make oracle-names ONLY=g++-5: one of g++-4, g++-5, clang++-4, clang++-5; all without)

Without a PROGRAM it compiles tests/oracle_names.cc with gcc and clang, DWARF 4 and 5: one small
unit for `make check`; with --large 64 units that differ, at several levels of optimizing. Objects
and the others' answers are then kept in a folder below /tmp: eu-addr2line looks through a whole
unit for each address, 8 ms and a quarter of an hour for 100,000. Prints TAP; exit status 1:
something differs that no rule below explains. An explanation is counted, and none is "ours is
good enough": each says why ours is right.

addr2line (binutils 2.40), names, inlined calls, files and lines:
  clone           It appends "[clone .cold]" of the symbol; the function is the one without.
  no linkage name gcc gives none to functions that only their unit sees. DWARF then has the plain
                  name: addr2line prints that ("f"), ours stands behind its scopes and with the
                  parameters that the symbol table knows ("ns::f(int)").
  symbol around   Inlined code without linkage name is named by addr2line after the symbol it
                  lies in, at the innermost frame; the caller's name then comes twice.
  alias           Two symbols at one address: theirs is the other one.
  first file      DWARF 5 table 6.4: the line machine's file register begins as 1. addr2line
                  takes entry 0 for the rows before a sequence's first DW_LNS_set_file. The
                  others take 1; our file is asked to be theirs.
  rnglistx        It does not read DW_FORM_rnglistx (clang's DWARF 5) and so misses functions and
                  calls that have ranges. What it has stands in our chain, in that order; and the
                  whole chain is llvm-addr2line's, which is asked at the same addresses.
  line 0          A compiler's "no line"; some print 0, some "?".
  no line         Where no line program has the address it gives the file that the symbol table
                  names, which may be an empty one (clang's __clang_call_terminate), without a
                  line; ours has none.
  no function     Ours is wrong: a symbol that no DIE stands for (gcc's thunks) has no line yet.

eu-addr2line (elfutils 0.188): the plain name of what has no linkage name, as above.
  row             It looks up calls not at the address but where the address's line row begins:
                  dwfl_lineinfo overwrites the address (seen under gdb: dwarf_getscopes is asked
                  for 0x221c98, then for 0x221c89, the row's). Taken where its chain below the
                  innermost frame is ours at that row, and ours there is llvm-addr2line's.
  nested          dwarf_getscopes does not look below DIEs without addresses, and so misses
                  functions whose DIE stands within a namespace (clang's), a class or another
                  function. It gives the symbol's name and no calls; the place is right.

llvm-addr2line (14), mangled names, inlined calls, files and lines:
  clone, no linkage name, alias   as above.
  no line         Where no line program has the address (code before a sequence's first row) it
                  gives the source file that the symbol table names, without a line; ours has none.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from oracle_programs import BUILDS, C, build, cache_folder
from oracle_tools import Tool, addresses, find, row_starts

LAZILY = 4000       # addresses after which a module would be compiled whole


def ours(framewalk, path, asked, *options):
    """{address: [(function, file, line)], innermost first}"""
    p = subprocess.run([framewalk, "addr", "--format", "ndjson", *options, "-e", path],
                       input="".join("0x%x\n" % a for a in asked), capture_output=True, text=True,
                       env=C)
    result = {}
    for line in p.stdout.splitlines():
        answer = json.loads(line)
        result[int(answer["address"], 16)] = [(f["function"], f["file"], f["line"] or None)
                                              for f in answer["frames"]]
    return result


def ours_lazily(framewalk, path, asked):
    result = {}
    for i in range(0, len(asked), LAZILY):
        result.update(ours(framewalk, path, asked[i:i + LAZILY], "--no-cache"))
    return result


def ours_compiled(framewalk, path, asked, *options):
    """The second time that a module is asked for it is compiled."""
    with tempfile.TemporaryDirectory() as cache:
        ours(framewalk, path, asked[:1], "--cache", cache, *options)
        result = ours(framewalk, path, asked, "--cache", cache, *options)
        images = [f for _, _, files in os.walk(cache) for f in files if f.endswith(".img")]
        if not images:
            raise SystemExit("%s: was not compiled" % path)
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


def places(frames):
    return [(os.path.normpath(f) if f else f, line) for _, f, line in frames]


def is_part(few, all_frames):
    """Are the names of @few some of the others', in that order?"""
    rest = iter(all_frames)
    return all(any(f[0] == g[0] for g in rest) for f in few)


class Answers:
    """What all said of a program's addresses."""

    def __init__(self, mine, raw, aliases):
        self.mine, self.raw = mine, raw
        self.aliases = aliases      # name -> names of the same address
        self.llvm = {}
        self.rows = {}              # address -> (ours, llvm's) where its line row begins

    def no_function(self, a, b):
        return len(a) == len(b) == 1 and a[0][1] is None and "thunk to" in b[0][0] + a[0][0] + (
            "thunk to" if b[0][0].startswith("_ZT") else "")

    def why_name(self, a, b, k, tool):
        """Set of explanations of the names of frame @k; None: there is none."""
        name, other = a[k][0] or "??", b[k][0]
        bare = re.sub(r"( \[clone [^]]*\])+$", "", other)
        if name == other:
            return set()
        if name == bare:
            return {"clone"}
        if is_short_for(bare, name):
            return {"no linkage name"}
        if tool == "addr2line" and k == 0 and bare in (a[-1][0], b[-1][0]):
            return {"symbol around"}
        if k == len(a) - 1 and bare in self.aliases.get(name, ()):
            return {"alias"}
        return None

    def why_raw(self, address, b):
        """The same of all mangled names."""
        a, shown, reasons = self.raw[address], self.mine[address], set()
        for k, (x, y) in enumerate(zip(a, b)):
            name, other = x[0] or "??", y[0]
            bare = other.split(".")[0]
            if name == other:
                continue
            if name.split(".")[0] == bare:
                reasons.add("clone")
            elif not other.startswith("_Z") and is_short_for(other, shown[k][0] or "??"):
                reasons.add("no linkage name")
            elif k == len(a) - 1 and other in self.aliases.get(name, ()):
                reasons.add("alias")
            else:
                return None
        return reasons

    def explain_llvm(self, address, b):
        a = self.mine[address]
        reasons = set()
        if len(a) != len(b):
            return None
        if self.no_function(a, b):
            return {"no function"}
        if places(a) != places(b):
            if places(a)[1:] != places(b)[1:] or a[0][1:] != (None, None) or b[0][2] is not None:
                return None
            reasons.add("no line")
        names = self.why_raw(address, b)
        return None if names is None else reasons | names

    def explain_addr2line(self, address, b):
        a, witness = self.mine[address], self.llvm.get(address)
        if len(b) < len(a) and witness is not None and places(a) == places(witness):
            return {"rnglistx"} if is_part(b[1:], a) else None
        if len(a) != len(b):
            return None
        if self.no_function(a, b):
            return {"no function"}
        reasons = set()
        for k, (x, y) in enumerate(zip(places(a), places(b))):
            name = self.why_name(a, b, k, "addr2line")
            if name is None:
                return None
            reasons |= name
            if x == y:
                continue
            if len(a) == 1 and x == (None, None) and y[1] is None:
                reasons.add("no line")
                continue
            if k > 0 or x[1] != y[1] or witness is None or places(witness)[0] != x:
                return None
            reasons.add("first file")
        return reasons

    def same_chain(self, a, b):
        if places(a) != places(b):
            return None
        reasons = set()
        for k in range(len(a)):
            name = self.why_name(a, b, k, "eu-addr2line")
            if name is None:
                return None
            reasons |= name
        return reasons

    def explain_eu(self, address, b):
        a = self.mine[address]
        reasons = self.same_chain(a, b)
        if reasons is not None:
            return reasons
        if self.no_function(a, b):
            return {"no function"}
        if len(b) == 1 and places(b) == places(a)[:1] and "::" in (a[-1][0] or ""):
            name = self.why_name([a[-1]], b, 0, "eu-addr2line")
            return None if name is None else {"nested"} | name
        if address not in self.rows:
            return None
        at_row, witness = self.rows[address]
        if places(at_row) != places(witness):
            return None
        reasons = self.same_chain([a[0]] + at_row[1:], b)
        return None if reasons is None else {"row"} | reasons


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


def aliases(path):
    """{function symbol: the others at its address}, mangled and not."""
    result = {}
    for options in ([], ["-C"]):
        at = {}
        out = subprocess.run(["nm", *options, path], capture_output=True, text=True, env=C).stdout
        for line in out.splitlines():
            f = line.split(" ", 2)
            if len(f) == 3 and f[1] in "tTwWi":
                at.setdefault(f[0], set()).add(f[2])
        for names in at.values():
            for name in names if len(names) > 1 else ():
                result.setdefault(name, set()).update(names)
    return result


def judge(tap, name, tool, answers, asked, other, explain):
    bad, counts = [], {}
    for address in asked:
        b = other.get(address, [])
        reasons = explain(address, b) if answers.mine.get(address) else None
        if reasons is None:
            bad.append(address)
        for r in reasons or ():
            counts[r] = counts.get(r, 0) + 1
    told = "".join(", %d %s" % (n, r) for r, n in sorted(counts.items()))
    tap.result(asked and not bad, "%s against %s: %d addresses, %d differ%s" % (
        name, tool, len(asked), len(bad), told))
    for address in bad[:5]:
        mine = answers.raw if tool == "llvm-addr2line" else answers.mine
        show(address, mine.get(address, []), other.get(address, []))


def ask_rows(answers, framewalk, path, asked, other):
    """Both chains where the rows of those addresses begin that eu-addr2line differs at."""
    odd = [a for a in asked if places(answers.mine.get(a, [])) != places(other.get(a, []))
           and len(other.get(a, [])) > 0]
    starts = row_starts(path, odd)
    if not starts:
        return
    wanted = sorted(set(starts.values()))
    mine = ours(framewalk, path, wanted, "--no-cache")
    theirs = Tool(find("llvm-addr2line"), path, "-afi").answers(wanted)
    for address, start in starts.items():
        if start in mine and start in theirs:
            answers.rows[address] = (mine[start], theirs[start])


def compare(tap, framewalk, path, args, folder):
    name = os.path.basename(path)
    asked = addresses(path, args.count, args.seed)
    if args.large:
        mine = ours_compiled(framewalk, path, asked)
        lazily = ours_lazily(framewalk, path, asked)
        differ = [a for a in asked if mine.get(a) != lazily.get(a)]
        tap.result(not differ, "%s compiled and lazily: %d addresses, %d differ" % (
            name, len(asked), len(differ)))
        for a in differ[:5]:
            show(a, mine.get(a, []), lazily.get(a, []))
        raw = ours_compiled(framewalk, path, asked, "--no-demangle")
    else:
        mine = ours(framewalk, path, asked, "--no-cache")
        raw = ours(framewalk, path, asked, "--no-cache", "--no-demangle")
    answers = Answers(mine, raw, aliases(path))
    for tool, options, explain in (("llvm-addr2line", "-afi", answers.explain_llvm),
                                   ("addr2line", "-afiC", answers.explain_addr2line),
                                   ("eu-addr2line", "-afiC", answers.explain_eu)):
        program = find(tool)
        # classes that ask llvm-addr2line too: "first file", "rnglistx", "row"
        if program is None or (not answers.llvm and tool != "llvm-addr2line" and
                               (tool != "addr2line" or name.endswith("-5"))):
            tap.result(True, "%s against %s # SKIP not here" % (name, tool))
            continue
        some = asked if args.large or tool != "eu-addr2line" else asked[::10]
        other = Tool(program, path, options, folder).answers(some, args.kept)
        some = [a for a in some if a in other] if args.kept else some
        if tool == "llvm-addr2line":
            answers.llvm = other
        elif tool == "eu-addr2line":
            ask_rows(answers, framewalk, path, some, other)
        judge(tap, name, tool, answers, some, other, explain)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--large", action="store_true")
    p.add_argument("--count", type=int)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", help="one of the programs it compiles")
    p.add_argument("--kept", action="store_true", help="ask only what others answered before")
    p.add_argument("framewalk")
    p.add_argument("programs", nargs="*")
    args = p.parse_args()
    args.count = args.count or (100000 if args.large else 2000)
    tap = Tap()
    with tempfile.TemporaryDirectory() as temporary:
        folder = cache_folder() if args.large else temporary
        for path in args.programs or BUILDS:
            if isinstance(path, tuple):
                name = "%s-%d" % path
                if args.only and args.only != name:
                    continue
                path = build(folder, *path, args.large) if shutil.which(path[0]) else None
            if path is None:
                tap.result(True, "%s # SKIP not built" % name)
                continue
            compare(tap, args.framewalk, path, args, folder if args.large else None)
    return tap.failed > 0


sys.exit(main())
