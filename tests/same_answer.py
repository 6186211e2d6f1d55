#!/usr/bin/env python3
"""The same stacks whether a module's symbols come from its ELF file, our `.sym` of it, or Breakpad's.

usage: same_answer.py [FRAMEWALK]      (or FRAMEWALK in the environment; also TESTDATA and CORPUS)

Every thread's frames are compared whole: module, offset, function and its offset, file and line,
inlined calls, trust, signal frames, and why the walk stopped. Ours: of all captures in TESTDATA
and CORPUS whose programs are there. Our `.sym` is what `syms dump --store` writes of the very
files; the code bytes for tests of return addresses come from the ELF files either way.

Breakpad's `.sym` (CORPUS/minidumps/deep): all but the names. dump_syms writes PUBLIC for what the
symbol table has without a size, and no end for it, so two frames have a name there in our `.sym`
and none in Breakpad's; gcc's "static" functions have parameters in ours. Prints TAP.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FRAMEWALK = os.path.abspath((sys.argv[1:] or [os.environ.get("FRAMEWALK", "build/framewalk")])[0])
TESTDATA = os.environ.get("TESTDATA", os.path.join(HERE, "..", "testdata"))
CORPUS = os.environ.get("CORPUS", "")


def run(*args):
    env = {k: v for k, v in os.environ.items() if k == "PATH" or k.endswith("SAN_OPTIONS")}
    return subprocess.run([FRAMEWALK, *args], capture_output=True, env={**env, "LC_ALL": "C"}, timeout=120)


def report(capture, *args):
    p = run("stack", "--json", "--no-cache", "--lazy", "never", capture, *args)
    return json.loads(p.stdout) if p.returncode == 0 else None


def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def differences(a, b, names=True):
    """Of two reports' threads, in words."""
    found = []
    for s, t in zip(a["threads"], b["threads"]):
        where = "thread %d" % s["thread_id"]
        if len(s["frames"]) != len(t["frames"]):
            found.append("%s: %d frames and %d" % (where, len(s["frames"]), len(t["frames"])))
        for f, g in zip(s["frames"], t["frames"]):
            for key in f:
                if f[key] != g[key] and (names or key not in ("function", "function_offset", "missing_symbols")):
                    found.append("%s frame %d: %s %s and %s" % (where, f["frame"], key, f[key], g[key]))
        if names or s["stop_reason"] != t["stop_reason"]:
            for key in ("stop_reason", "stop_detail", "candidates"):
                if s[key] != t[key]:
                    found.append("%s: %s %s and %s" % (where, key, s[key], t[key]))
    if len(a["threads"]) != len(b["threads"]):
        found.append("%d threads and %d" % (len(a["threads"]), len(b["threads"])))
    return found


class Tap:
    count = failed = 0

    def result(self, name, problems, skip=None):
        self.count += 1
        self.failed += bool(problems)
        print("%s %d - %s%s" % ("not ok" if problems else "ok", self.count, name, skip and " # SKIP " + skip or ""))
        for problem in problems[:8]:
            print("#   " + problem[:400])
        sys.stdout.flush()


def dump(store, files, places):
    """Problems of writing each file's `.sym` into a store."""
    p = run("syms", "dump", "--store", store, *places, *files)
    return ["syms dump: " + p.stderr.decode()] if p.returncode or p.stderr else []


def case(tap, name, capture, folders, sysroot):
    """Symbols from the ELF files in @folders and below @sysroot; then from what `syms dump` makes of them."""
    places = [x for f in folders for x in ("-s", f)]
    root = ["--sysroot", sysroot]
    with tempfile.TemporaryDirectory() as store:
        elf = report(capture, *places, *root)
        if elf is None:
            return tap.result(name, ["no report"])
        files = sorted({m["symbol_file"] for m in elf["modules"]
                        if m["symbol_status"] == "loaded" and m["symbol_file"] and is_elf(m["symbol_file"])})
        problems = dump(store, files, places + (["-s", sysroot] if os.listdir(sysroot) else [])) if files else []
        sym = report(capture, "-s", store, *places, *root)
        if sym is None:
            return tap.result(name, problems + ["no report with .sym files"])
        mine = [m for m in sym["modules"] if (m["symbol_file"] or "").startswith(store)]
        if len([m for m in mine if m["symbol_status"] == "loaded"]) < len(files):
            problems.append("%d modules from ELF files, %d from .sym" % (len(files), len(mine)))
        problems += differences(elf, sym)
        frames = sum(len(t["frames"]) for t in elf["threads"])
        tap.result("%s: %d frames, %d modules by .sym" % (name, frames, len(files)), problems,
                   None if files else "no program with an id")


def deep(tap, folder, empty):
    """Breakpad's own files: right but for names."""
    others = os.path.join(empty, "others")      # the store without the program, whose .sym would come first
    os.mkdir(others)
    for module in os.listdir(folder + "/symbols"):
        if module != "deep4":
            os.symlink(os.path.join(folder, "symbols", module), os.path.join(others, module))
    for name in ("deep4_100", "deep4_700"):
        capture = os.path.join(folder, name + ".dmp")
        theirs = report(capture, "-s", folder + "/symbols", "--sysroot", empty)
        ours = report(capture, "-s", folder + "/deep4", "-s", others, "--sysroot", empty)
        if theirs is None or ours is None:
            tap.result("%s: Breakpad's .sym and the program" % name, ["no report"])
            continue
        at = [m for m in ours["modules"] if (m["symbol_file"] or "").endswith("/deep4")]
        problems = [] if at else ["the program's ELF file is not used"]
        problems += differences(theirs, ours, names=False)
        tap.result("%s: Breakpad's .sym and the program" % name, problems)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as empty:
        for path in sorted(glob.glob(TESTDATA + "/*/bin")):
            folder = os.path.dirname(path)
            case(tap, os.path.basename(folder), folder + "/crash.dmp", [path], empty)
        sysroot = os.path.join(CORPUS, "sysroot")
        for folder in sorted(glob.glob(os.path.join(CORPUS, "cores", "*/"))) if CORPUS else []:
            for capture in ("core", "breakpad.dmp"):
                if os.path.exists(folder + capture):
                    name = "%s/%s" % (os.path.basename(folder[:-1]), capture)
                    case(tap, name, folder + capture, [folder], sysroot)
        folder = os.path.join(CORPUS, "minidumps", "deep")
        if CORPUS and os.path.isdir(folder):
            deep(tap, folder, empty)
        else:
            tap.result("corpus", [], "no CORPUS")
    return tap.failed > 0


sys.exit(main())
