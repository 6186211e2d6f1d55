#!/usr/bin/env python3
"""Hostile ELF files and cores through the whole program.

usage: sweep_elf.py [--count N] [--seed N] [--first N] [--kind elf] [--kind core]
       sweep_elf.py --case SEED:INDEX [--kind elf]   one of them again, alone; its files are kept
       sweep_elf.py --check                          a few of each (make check)

A mutated ELF file lies beside its unchanged companions and goes through `stack` of a capture
of it (compiled and lazily), `addr`, `rules`, `syms dump` and `syms check`; mutated cores go
through `stack` with unchanged symbols and `inspect`. Besides what sweep.py asks of every run:
frames down to the first one in the mutated module are what they were, and a module whose
file was refused or cut short says why.

Environment: as sweep.py. Without CORPUS there are no cores, and only the programs of TESTDATA.
"""
import argparse
import functools
import glob
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import elf_mutants
import sweep
from elf_mutants import Elf

MAX_SIZE = 4 << 20
SLOW = 8        # seconds, of a run that was not refused for it
ADDRESSES = ["0", "0x1000", "0x11a3", "0x1281", "0x4011a3", "0x10514", "0x2724a", "0xffffffffffffffff"]


class Case:
    """A capture and the files of one of its modules, of which one at a time is mutated."""

    def __init__(self, name, capture, files, target, options=()):
        self.name, self.capture, self.target = name, capture, target
        self.files, self.options = dict(files), list(options)
        self.others = {n: p for n, p in self.files.items() if n != target}
        self.module = next(iter(self.files))        # the program or library itself
        self.lock = threading.Lock()

    @functools.cached_property
    def data(self):
        with open(self.files[self.target], "rb") as f:
            return f.read()

    @functools.cached_property
    def elf(self):
        return Elf(self.data)

    def lay_out(self, folder, data):
        for name, path in self.others.items():
            os.symlink(path, os.path.join(folder, name))
        with open(os.path.join(folder, self.target), "wb") as out:
            out.write(data)

    def stack(self, folder, lazy):
        return ["stack", "--format", "ndjson", *sweep.SHORT, "--cache", CACHE, "--lazy", lazy,
                "-s", folder, *self.options, self.capture]

    def baseline(self, lazy):
        """The report with the files as they are."""
        with self.lock:
            known = self.__dict__.setdefault("reports", {})
            if lazy not in known:
                with tempfile.TemporaryDirectory(dir=sweep.SCRATCH) as folder:
                    self.lay_out(folder, self.data)
                    known[lazy] = sweep.run(self.stack(folder, lazy), lambda r: sweep.parse(r.out.read()))[1]
            return known[lazy]


def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def elf_cases():
    """Programs of captures; companions (debug, split files) beside them."""
    found = []
    for folder in sorted(glob.glob(sweep.TESTDATA + "/*/")):
        for program in sorted(glob.glob(folder + "bin/*")):
            if is_elf(program) and os.path.exists(folder + "crash.dmp"):
                name = os.path.basename(program)
                found.append(Case("%s/%s" % (os.path.basename(folder[:-1]), name), folder + "crash.dmp",
                                  {name: program}, name, ["--sysroot", "/nowhere"]))
    if not sweep.CORPUS:
        return found
    sysroot = os.path.join(os.path.abspath(sweep.CORPUS), "sysroot")
    for folder in sorted(glob.glob(os.path.abspath(sweep.CORPUS) + "/cores/*/")):
        case = os.path.basename(folder[:-1])
        files = {n: folder + n for n in ("a.out", "a.out.debug", "c_basic.dwo") if os.path.exists(folder + n)}
        for target, path in files.items():
            if is_elf(path) and os.path.getsize(path) <= MAX_SIZE and os.path.exists(folder + "core"):
                found.append(Case("%s/%s" % (case, target), folder + "core", files, target, ["--sysroot", sysroot]))
    for target in ("libc.so.6", "ld-linux-x86-64.so.2"):
        path = os.path.join(sysroot, "lib/x86_64-linux-gnu", target)
        capture = os.path.join(os.path.abspath(sweep.CORPUS), "cores/threads/core")
        if os.path.exists(path) and os.path.exists(capture):
            program = os.path.join(os.path.dirname(capture), "a.out")
            found.append(Case("threads/" + target, capture, {target: path, "a.out": program}, target,
                              ["--sysroot", "/nowhere"]))
    return found


SOURCE = """
#include <stdlib.h>
struct pair { int a, b; struct pair *next; };
static inline int twice(int x) { return x < 3 ? 2 * x : x + abs(x - 7); }
__attribute__((noinline)) int sum(struct pair *p) { int n = 0; for (; p; p = p->next) n += twice(p->a) + p->b; return n; }
__attribute__((noinline, cold)) int out(int x) { if (x > 4) abort(); return twice(x); }
int main(int argc, char **argv) { struct pair p = { argc, 2, 0 }; return sum(&p) + out(argc); }
"""
FORMS = [
    ("dwarf2", ["-gdwarf-2", "-gstrict-dwarf"]), ("dwarf4-types", ["-gdwarf-4", "-fdebug-types-section"]),
    ("dwarf5", ["-gdwarf-5", "-ffunction-sections"]), ("dwarf64", ["-gdwarf-5", "-gdwarf64"]),
    ("zlib", ["-gdwarf-5", "-gz"]), ("zlib-gnu", ["-gdwarf-4", "-gz=zlib-gnu"]),
    ("static", ["-gdwarf-5", "-nostdlib", "-static", "-Wl,-e,main", "-fno-builtin", "-Dabort=main", "-Dabs="]),
]


def build(folder, *args):
    try:
        return subprocess.run(args, cwd=folder, capture_output=True).returncode == 0
    except OSError:
        return False        # without this tool there is no such form


def built_cases(folder):
    """Forms of debug information that no capture's program has; there is no capture of them."""
    found = []
    cc = os.environ.get("CC", "cc").split()
    with open(os.path.join(folder, "a.c"), "w") as f:
        f.write(SOURCE)
    for name, flags in FORMS:
        if build(folder, *cc, "-O2", *flags, "a.c", "-o", name):
            found.append(Case("built/" + name, None, {name: os.path.join(folder, name)}, name))
    if build(folder, *cc, "-O2", "-gdwarf-5", "-gsplit-dwarf", "-c", "a.c", "-o", "split.o") and \
            build(folder, *cc, "split.o", "-o", "split"):
        files = {"split": os.path.join(folder, "split"), "split.dwo": os.path.join(folder, "split.dwo")}
        found += [Case("built/" + n, None, files, n) for n in files if os.path.exists(files[n])]
        if build(folder, "dwp", "split.dwo", "-o", "split.dwp"):
            files = {"split": files["split"], "split.dwp": os.path.join(folder, "split.dwp")}
            found.append(Case("built/split.dwp", None, files, "split.dwp"))
    for n in ("one", "two"):
        shutil.copy(os.path.join(folder, "dwarf4-types"), os.path.join(folder, n))
    if build(folder, "dwz", "-m", "shared", "one", "two"):
        files = {n: os.path.join(folder, n) for n in ("one", "shared")}
        found += [Case("built/dwz-" + n, None, files, n) for n in files]
    return found


def core_cases():
    found = []
    if sweep.CORPUS:
        base = os.path.abspath(sweep.CORPUS)
        for path in sorted(glob.glob(base + "/cores/*/core")):
            if os.path.getsize(path) <= MAX_SIZE:
                found.append(Case(path.split(os.sep)[-2], path, {"core": path}, "core",
                                  ["-s", os.path.dirname(path), "--sysroot", base + "/sysroot"]))
    return found


# --- what is asked of a run ------------------------------------------------------------


def frames_before(thread, module):
    frames = thread["frames"]
    return list(itertools.takewhile(lambda f: f["module"] != module, frames))


def check_neighbours(report, want, module):
    """Frames above the first one of @module depend on nothing that was mutated."""
    for got, old in zip(report["threads"], want["threads"]):
        kept = frames_before(old, module)
        if got["frames"][:len(kept)] != kept:
            return ["thread %s: frames of healthy modules changed" % old["thread_id"]]
    return [] if len(report["threads"]) == len(want["threads"]) else ["threads are missing"]


def named(report, module):
    return sum(1 for t in report["threads"] for f in t["frames"] if f["module"] == module and f["function"])


def check_reason(report, want, case, cut):
    module = next((m for m in report["modules"] if m["filename"] == case.module), None)
    if module is None or case.target != case.module:
        return []
    if not module["debug_id"].strip("0"):
        return []       # nothing in the capture says whose file it is
    if module["symbol_status"] not in ("loaded", "found"):
        if not module["symbol_message"]:
            return ["%s is %s without a reason" % (case.module, module["symbol_status"])]
        if os.path.basename(module["symbol_file"] or "") != case.target:
            return ["%s is %s, but its file is not named" % (case.module, module["symbol_status"])]
    elif cut and named(report, case.module) < named(want, case.module) and not module["symbol_message"] and \
            not any(d["count"] for d in (module["diagnostics"] or {}).values()):
        return ["%s lost names by a cut, and no reason stands there" % case.module]
    return []


def check_stack(r, want, case, cut):
    try:
        report = sweep.parse(r.out.read())
        if report["status"] != "OK" or r.status != 0:
            return ["the capture is sound, status %s, exit %d" % (report["status"], r.status)]
        return sweep.check_report(report) + check_neighbours(report, want, case.module) + \
            check_reason(report, want, case, cut)
    except (ValueError, KeyError, TypeError) as e:
        return ["%s: %s" % (type(e).__name__, e)]


def check_told(r, path):
    """Refused: the file and a cause. Not refused: no line that says so."""
    lines = r.err.decode("utf-8", "replace").splitlines()
    if r.status == 1 and not any(re.match(r"framewalk: %s: .+" % re.escape(path), line) for line in lines):
        return ["exit status 1, and no cause for %s" % os.path.basename(path)]
    return []


def check_output(r, path, json=False):
    return check_told(r, path) + (sweep.check_json(r, []) if json else sweep.check_text(r, []))


def check_check(r, path):
    """`syms check` says in its output what is wrong."""
    text = r.out.read()
    r.out.seek(0)
    if r.status == 1 and b"unusable: " not in text and b"no symbol files" not in text + r.err:
        return ["syms check: exit status 1, nothing is unusable"]
    return sweep.check_text(r, [])


def check_own(r):
    """What we write we read whole."""
    text = r.out.read().decode("utf-8", "replace")
    if "it has no id" in text:
        return []
    # rules that no text has are "?"; functions overlap where DWARF says so
    dropped = re.search(r"ignored or cut: \d+ (?!rule|overlap)", text)
    return [] if r.status == 0 and not dropped else ["of syms dump: " + text[-300:]]


# --- running them ----------------------------------------------------------------------


class Runs:
    def __init__(self):
        self.lock = threading.Lock()
        self.failures, self.kinds = [], {}
        self.runs = self.files = self.peak = 0
        self.slowest = (0, "")
        self.refused = {}

    def attempt(self, m, args, check):
        def everything(r):
            problems = sweep.check_run(r)
            if SANITIZER.search(r.err):
                problems.append("sanitizer report")
            return problems if r.late or r.status not in (0, 1) else problems + check(r)

        begun = time.monotonic()
        r, problems = sweep.run(args, everything)
        seconds = time.monotonic() - begun
        with self.lock:
            self.runs += 1
            self.peak = max(self.peak, r.rss)
            self.slowest = max(self.slowest, (seconds, m.label))
        if problems:
            self.fail(m, args, problems)

    def fail(self, m, args, problems):
        kept = os.path.join(sweep.KEEP, re.sub(r"[^0-9a-z]+", "-", "%s-%s" % (m.kind, m.label)))
        os.makedirs(kept, exist_ok=True)
        with open(os.path.join(kept, m.case.target), "wb") as out:
            out.write(m.data)
        with self.lock:
            if len(self.failures) >= sweep.MAX_FAILURES:
                raise RuntimeError("too many failures")
            self.failures.append("%s %s (%s, %s): %s; kept in %s; %s" % (
                m.kind, m.label, m.case.name, m.what, "; ".join(problems[:3])[:400], kept, " ".join(args)[:160]))

    def elf(self, m):
        with tempfile.TemporaryDirectory(dir=sweep.SCRATCH) as folder:
            case, program = m.case, os.path.join(folder, m.case.module)
            target = os.path.join(folder, case.target)
            case.lay_out(folder, m.data)
            if case.capture:
                for lazy in ("never", "always"):
                    self.attempt(m, case.stack(folder, lazy), functools.partial(
                        check_stack, want=case.baseline(lazy), case=case, cut=m.cut))
            places = case.addresses()
            for lazy in ("never", "always"):
                json = (m.index + (lazy == "never")) % 2
                self.attempt(m, ["addr", "-e", program, "--no-cache", "--lazy", lazy,
                                 *(["--json"] if json else []), *places],
                             functools.partial(check_output, path=program, json=json))
            self.attempt(m, ["rules", program, "--no-cache", *places], functools.partial(check_output, path=program))
            dumped = os.path.join(folder, "out.sym")
            self.attempt(m, ["syms", "dump", program, "-o", dumped], functools.partial(check_told, path=program))
            if os.path.exists(dumped):
                self.attempt(m, ["syms", "check", dumped], check_own)
                os.unlink(dumped)
            self.attempt(m, ["syms", "check", folder], functools.partial(check_check, path=target))
        with self.lock:
            self.files += 1

    def core(self, m):
        with tempfile.TemporaryDirectory(dir=sweep.SCRATCH) as folder:
            path = os.path.join(folder, "core")
            with open(path, "wb") as out:
                out.write(m.data)
            options = [*sweep.SHORT, "--cache", CACHE, *m.case.options]
            check = functools.partial(sweep.check_ndjson, files=[path])
            lazy = ("always", "never")[m.index % 2]
            self.attempt(m, ["stack", "--format", "ndjson", "--lazy", lazy, *options, path], check)
            other = m.index % 4
            if other == 0:
                self.attempt(m, ["stack", *options, path], lambda r: sweep.check_text(r, []))
            elif other == 1:
                self.attempt(m, ["inspect", "--json", path], lambda r: sweep.check_json(r, []))
            elif other == 2:
                self.attempt(m, ["inspect", path], lambda r: sweep.check_text(r, []))
            else:
                self.attempt(m, ["stack", "--format", "ndjson", "--registers", "--cache", CACHE, path], check)
        with self.lock:
            self.files += 1


class Mutant:
    """Number @index of @seed: the same whatever was made before it."""

    def __init__(self, kind, seed, index, cases):
        self.kind, self.index, self.label = kind, index, "%d:%d" % (seed, index)
        rng = random.Random("%d:%d:%s" % (seed, index, kind))
        weights = [1 if os.path.getsize(c.files[c.target]) < 1 << 20 or kind == "core" else 0.25 for c in cases]
        self.case = rng.choices(cases, weights=weights)[0]
        others = [c.elf for c in rng.sample(cases, min(3, len(cases)))]
        self.data, self.what = elf_mutants.mutate(rng, self.case.elf, others, kind)
        self.cut = self.what == "truncate" and len(self.data) < len(self.case.data)


def addresses(self):
    """Addresses that are asked: fixed ones, and some of the functions of the file as it was."""
    with self.lock:
        if "asked" not in self.__dict__:
            starts = self.elf.function_addresses()
            self.asked = ADDRESSES + ["0x%x" % a for a in starts[::max(1, len(starts) // 8)][:8]]
        return self.asked


Case.addresses = addresses


def sweep_kind(runs, kind, cases, seed, first, count, jobs):
    def one(index):
        m = Mutant(kind, seed, index, cases)
        (runs.elf if kind == "elf" else runs.core)(m)

    sweep.drive(jobs, (functools.partial(one, i) for i in range(first, first + count)))


def main():
    global CACHE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2500, help="of each kind")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=("elf", "core"))
    parser.add_argument("--case")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    args = parser.parse_args()
    sweep.resource.setrlimit(sweep.resource.RLIMIT_CORE, (0, 0))
    sweep.TIMEOUT = 120 if sweep.SANITIZED else 20
    CACHE = os.path.join(sweep.SCRATCH, "cache")
    built = os.path.join(sweep.SCRATCH, "built")
    os.mkdir(built)
    cases = {"elf": elf_cases() + built_cases(built), "core": core_cases()}
    failed, number = False, 0
    for number, kind in enumerate(args.kind or ("elf", "core"), 1):
        runs = Runs()
        if not cases[kind]:
            print("ok %d - %s # SKIP no corpus" % (number, kind))
            continue
        begun = time.monotonic()
        try:
            if args.case:
                seed, index = map(int, args.case.split(":"))
                sweep_kind(runs, kind, cases[kind], seed, index, 1, 1)
            else:
                sweep_kind(runs, kind, cases[kind], args.seed, args.first, 12 if args.check else args.count, args.jobs)
        except RuntimeError as e:
            runs.failures.append(str(e))
        failed |= bool(runs.failures)
        print("%s %d - %s: %d mutants of %d files, seed %d, %d runs, at most %d MB, slowest %.1f s (%s), %.0f s" % (
            "not ok" if runs.failures else "ok", number, kind, runs.files, len(cases[kind]), args.seed, runs.runs,
            runs.peak >> 20, *runs.slowest, time.monotonic() - begun))
        for line in sorted(runs.failures)[:40]:
            print("#   " + line)
        if len(runs.failures) > 40:
            print("#   ... and %d more" % (len(runs.failures) - 40))
        sys.stdout.flush()
    print("1..%d" % number)
    return 1 if failed else 0


SANITIZER = re.compile(rb"AddressSanitizer|runtime error:|LeakSanitizer")
CACHE = ""
if __name__ == "__main__":
    sweep.finish(main)
